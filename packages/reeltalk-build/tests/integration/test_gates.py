"""The gates over the network: a model that has watched the video, one that has not, and a judge."""

import re
import shutil
from pathlib import Path

import pytest
import scripted_vision
from page_world import World
from scripted_server import Body, serve, words
from scripted_viewer import viewer

from reeltalk.cli import run
from reeltalk.schema.gates import GateResult
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, GATES
from reeltalk.store.validate import validate

WRITER = ("--writer", "vision-1", "--judge", "vision-1", "--frames", "2")


@pytest.fixture(scope="module")
def chained(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filmed video with chains of a vision model; copy it before writing."""
    folder = tmp_path_factory.mktemp("chained") / "household"
    shutil.copytree(world.made("sighted-video"), folder)
    with serve(scripted_vision.reply) as server:
        options = [*WRITER, "--base-url", server.base_url, "--steps", "objects", "--steps", "chains"]
        assert run(["construct", str(folder), *options]) == 0
    return folder


def check(folder: Path, base_url: str, *options: str) -> list[GateResult]:
    probes = ("--probe", "watcher", "--attacker", "small", "--steps", "gates")
    assert run(["construct", str(folder), *WRITER, "--base-url", base_url, *probes, *options]) == 0
    return [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:")]


def test_sound_chains_pass_every_gate_and_an_easy_turn_is_named(chained: Path, tmp_path: Path, full: bool) -> None:
    chains = list(Benchmark.open(chained).read(CHAINS))
    easy = chains[0].turns[0]
    watches = viewer(chained)

    def reply(body: Body) -> str:
        answer = watches(body)
        assert isinstance(answer, str)
        if body["model"] != "small":
            return answer
        asked = re.findall(r"^Question: (.+)", words(body["messages"][-1]), re.MULTILINE)
        return answer if asked[-1:] == [easy.question] else "UNKNOWN"

    found: dict[tuple[str, str, int | None], GateResult] = {}
    tables = set()
    for connections in ("1", "6") if full else ("6",):
        folder = tmp_path / connections
        shutil.copytree(chained, folder)
        with serve(reply) as server:
            gates = check(folder, server.base_url, "--connections", connections)
            asked = server.count
            for body in server.requests:
                moments = re.search(r"seconds of the video: ([\d., ]+)\.", words(body["messages"][-1]))
                questions = re.findall(r"^Question: (.+)", words(body["messages"][-1]), re.MULTILINE)
                limits = [t.asked_at_s or 0 for chain in chains for t in chain.turns if t.question in questions[-1:]]
                assert moments is None or float(moments[1].split(", ")[-1]) <= max(limits)
            assert check(folder, server.base_url, "--connections", connections) == gates
            assert server.count == asked
        tables.add((folder / "gates.jsonl").read_bytes())
        assert validate(Benchmark.open(folder)) == []
        found = {(gate.gate.removeprefix("gates:"), gate.unit_id, gate.turn_index): gate for gate in gates}
    assert len(tables) == 1
    for chain in chains:
        for index in range(len(chain.turns)):
            own = {name: gate for (name, unit, turn), gate in found.items() if (unit, turn) == (chain.id, index)}
            for name in ("leak.model.blind", "leak.model.history", "answerable"):
                assert own[name].outcome == "passed", (name, own[name].reason)
            assert own["evidence.cut"].outcome == "passed"
            assert (own["depends"].value if index else 0) == index
            is_easy = chain is chains[0] and index == 0
            assert own["difficulty"].outcome == ("flagged" if is_easy else "passed")
            assert own["difficulty"].extra["right"] == (["the attacker small"] if is_easy else [])


def test_without_a_judge_open_replies_are_not_compared(chained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "benchmark"
    shutil.copytree(chained, folder)
    with serve(lambda body: "Something else altogether.") as server:
        options = ["--probe", "talker", "--sees", "text", "--base-url", server.base_url, "--steps", "gates"]
        assert run(["construct", str(folder), "--writer", "vision-1", *options]) == 0
    gates = [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:leak.model")]
    assert gates
    assert {gate.outcome.value for gate in gates} == {"unchecked"}
    assert all("--judge" in str(gate.reason) for gate in gates)
