"""Construction by a language model over the network: a vision server that does all it is asked, and one that fails."""

import hashlib
import json
import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

import pytest
import scripted_vision
from launched_runs import Launcher
from page_world import World
from reliability_page import Reliability
from scripted_server import Body, faulty, serve, times_in, words

from reeltalk.cli import run
from reeltalk.llm import ReplyStore
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.labels import Task
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, LINKAGES, PATHS, REWRITES, SCENES
from reeltalk.store.validate import validate
from reeltalk_build.construct.context import frame_count
from reeltalk_build.construct.retries import FIRST
from reeltalk_build.construct.settings import AskSettings

WRITTEN = ("chains", "linkages", "rewrites", "paths", "scenes", "dialogues", "gates")
FRAMES = "4"
"""Of a clip, for the model to see."""
CONNECTIONS = AskSettings().connections


@pytest.fixture(scope="module")
def filmed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One filmed video of two clips, whose objects are found, which asks no model; copy it before writing."""
    return Path(shutil.copytree(world.made("sighted-video"), tmp_path_factory.mktemp("filmed") / "household"))


@dataclass(frozen=True)
class Written:
    """A benchmark that a vision model wrote in one go."""

    folder: Path
    requests: int
    images: int


@pytest.fixture(scope="module")
def written(filmed: Path) -> Written:
    folder = filmed.with_name("written")
    shutil.copytree(filmed, folder)
    with serve(scripted_vision.reply) as server:
        assert construct(folder, server.base_url) == 0
        return Written(folder, server.count, server.images)


def tables_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.jsonl").read_bytes() for name in WRITTEN}


def construct(folder: Path, base_url: str, *options: str) -> int:
    return run(
        [
            "construct",
            str(folder),
            "--writer",
            "vision-1",
            "--base-url",
            base_url,
            *(("--frames", FRAMES) if "text" not in options else ()),
            "--judge",
            "vision-1",
            *options,
        ]
    )


def test_a_vision_model_writes_everything(written: Written) -> None:
    assert written.images > 0
    benchmark = Benchmark.open(written.folder)
    assert [str(finding) for finding in validate(benchmark) if finding.severity == "error"] == []
    for table in (CHAINS, LINKAGES, REWRITES, PATHS, SCENES, DIALOGUES):
        assert benchmark.rows(table), table.name
    assert {row.task for row in benchmark.read(DIALOGUES)} == {task.value for task in Task}
    writers = {row.extra["writer"] for row in benchmark.read(CHAINS)}
    assert all(writer.startswith("model:vision-1#") and "text-only" not in writer for writer in writers)
    refused = [gate for gate in benchmark.read(GATES) if gate.gate == "linkages:linkage.match"]
    assert refused
    assert all(gate.reason for gate in refused)
    turns = sum(len(chain.turns) for chain in benchmark.read(CHAINS))
    verified = [gate for gate in benchmark.read(GATES) if gate.gate == "chains:verified"]
    assert [(gate.outcome, gate.value) for gate in verified] == [(GateOutcome.PASSED, 1.0)] * turns
    for clip in benchmark.read(CLIPS):
        (chain,) = [chain for chain in benchmark.read(CHAINS) if chain.clip_id == clip.id]
        assert len({turn.evidence for turn in chain.turns}) == len(chain.turns)
        assert clip.interval is not None
        assert all(
            clip.interval.start_s <= e.start_s < e.end_s <= clip.interval.end_s for t in chain.turns for e in t.evidence
        )


def test_a_second_run_asks_nothing_and_writes_the_same(filmed: Path, written: Written, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(filmed, again)
    (again / WORK).mkdir(exist_ok=True)
    shutil.copy(written.folder / WORK / "replies.sqlite", again / WORK / "replies.sqlite")
    with serve(scripted_vision.reply) as server:
        assert construct(again, server.base_url) == 0
        assert server.count == 0
    assert tables_of(again) == tables_of(written.folder)


def test_a_model_without_eyes_is_told_of_objects_and_signed_so(filmed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "blind"
    shutil.copytree(filmed, folder)
    bodies: list[Body] = []

    def reply(body: Body) -> str:
        bodies.append(body)
        return scripted_vision.reply(body)

    with serve(reply) as server:
        assert construct(folder, server.base_url, "--sees", "text", "--steps", "objects", "--steps", "chains") == 0
        assert server.images == 0
    assert "sofa" in json.dumps(bodies) or "person" in json.dumps(bodies)
    writers = {row.extra["writer"] for row in Benchmark.open(folder).read(CHAINS)}
    assert writers
    assert all("writer:text-only" in str(writer) for writer in writers)


def pictures_of(body: Body) -> list[tuple[float, str]]:
    """The pictures of the last message, each behind its second; the text comes after them."""
    *parts, last = body["messages"][-1]["content"]
    assert last["type"] == "text"
    assert [part["type"] for part in parts] == ["text", "image_url"] * (len(parts) // 2)
    urls = [part["image_url"]["url"] for part in parts[1::2]]
    return list(zip(times_in({"content": parts}), urls, strict=True))


def test_requests_about_a_clip_begin_with_the_same_frames(filmed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    shutil.copytree(filmed, folder)
    shown: dict[str, list[list[tuple[float, str]]]] = {}
    judged: list[tuple[list[tuple[float, str]], str]] = []

    def reply(body: Body) -> str:
        name = body["response_format"]["json_schema"]["name"]
        if name in ("CaptionReply", "ChainReply", "TurnCheck", "QualityReply"):
            shown.setdefault(name, []).append(pictures_of(body))
        if name == "QualityReply":
            judged.append((pictures_of(body), words(body["messages"][-1])))
        return scripted_vision.reply(body)

    with serve(reply) as server:
        options = ("--frames", "16", "--judge", "vision-2", "--connections", "1", "--no-preflight", "--no-canaries")
        command = ["construct", str(folder), "--writer", "vision-1", "--base-url", server.base_url, *options]
        assert run([*command, "--steps", "chains", "--steps", "scenes"]) == 0
    assert sorted(shown["CaptionReply"]) == sorted(shown["ChainReply"])
    # What a judge sees of a chain begins with what it sees of the caption.
    closer = {tuple(one): [own[len(one) :] for own in shown["QualityReply"] if own[: len(one)] == one]
              for one in shown["TurnCheck"]}  # fmt: skip
    assert [len(more) for more in closer.values()] == [1] * len(shown["QualityReply"])
    assert any(more for (more,) in closer.values())
    for seen, text in judged:
        stretches = re.findall(r"^   T: ([\d.]+)–([\d.]+) s → [\d.]+ s$", text, re.MULTILINE)
        assert len(stretches) >= 5
        for start_s, end_s in stretches:
            assert sum(float(start_s) - 0.1 <= time_s <= float(end_s) + 0.1 for time_s, _ in seen) >= 3
    clips = [clip for clip in Benchmark.open(folder).read(CLIPS) if clip.interval]
    lengths = sorted(clip.interval.duration_s for clip in clips if clip.interval)
    assert sorted(map(len, shown["ChainReply"])) == [frame_count(length, most=16) for length in lengths]
    assert sum(map(len, shown["QualityReply"])) > sum(map(len, shown["ChainReply"]))


def test_a_budget_stops_in_order_and_a_larger_one_goes_on(
    filmed: Path, written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "short"
    shutil.copytree(filmed, folder)
    with serve(scripted_vision.reply) as server:
        assert construct(folder, server.base_url, "--max-calls", "7", "--no-preflight") == 2
        assert server.count == 7
        said = capsys.readouterr().err
        assert "the budget is spent: 7 of 7 requests" in said
        assert said.count("vision-1 is writer and judge") == 1
        assert "chains.jsonl" not in Benchmark.open(folder).manifest.files
        assert construct(folder, server.base_url) == 0
        assert server.count == written.requests
    assert tables_of(folder) == tables_of(written.folder)


@pytest.mark.timeout(3600)
def test_a_killed_run_repeats_at_most_the_calls_under_way(
    runs: Launcher, filmed: Path, written: Written, tmp_path: Path, reliability: Reliability
) -> None:
    tally = reliability(
        "power",
        "SIGKILL of `reeltalk construct`",
        "a byte differs from an unbroken run, or more is asked again than was under way",
    )
    for number in range(reliability.count(1, full=3, release=20)):
        tally.tried += 1
        kill_once(runs, filmed, written, tmp_path / f"{number}", after=20 + 3 * number)


def kill_once(runs: Launcher, filmed: Path, written: Written, folder: Path, after: int) -> None:
    shutil.copytree(filmed, folder)

    is_killed = threading.Event()

    def slow(body: Body) -> str:
        is_killed.wait(0.05)
        return scripted_vision.reply(body)

    with serve(slow) as server:
        command = ["construct", folder, "--writer", "vision-1", "--base-url", server.base_url, "--frames", FRAMES]
        with runs.start(*command, "--judge", "vision-1", "--connections", "3", stdout=DEVNULL, stderr=DEVNULL) as child:
            until = time.monotonic() + 60
            while server.count < after and child.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            child.kill()
            child.wait()
        is_killed.set()
        assert server.count >= 20
        assert construct(folder, server.base_url, "--connections", "3") == 0
        assert server.count - written.requests <= 3
    assert tables_of(folder) == tables_of(written.folder)


def test_with_a_faulty_server_everything_is_written_or_accounted_for(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "faulty"
    shutil.copytree(filmed, folder)
    steps = ("--steps", "chains", "--steps", "scenes", "--timeout-s", "1")
    with serve(faulty(3, scripted_vision.reply, rate=0.2, hold_s=1.5)) as server:
        code = construct(folder, server.base_url, *steps)
        # Run after run, until every request has been answered once; a server that fails five times over ends one.
        while code == 2:
            assert "traceback" not in capsys.readouterr().err.lower()
            code = construct(folder, server.base_url, *steps)
    assert code in (0, 1)
    benchmark = Benchmark.open(folder)
    gates = list(benchmark.read(GATES))
    unwritten = {gate.unit_id for gate in gates if gate.outcome is GateOutcome.UNWRITTEN and gate.unit == "clip"}
    written = {chain.clip_id for chain in benchmark.read(CHAINS)}
    about_chains = {g.unit_id for g in gates if g.gate == "chains:written" and g.outcome is GateOutcome.UNWRITTEN}
    assert written | about_chains == {clip.id for clip in benchmark.read(CLIPS)}
    assert not written & about_chains
    assert about_chains <= unwritten
    assert all(gate.raw and gate.reason for gate in gates if gate.outcome is GateOutcome.UNWRITTEN)
    assert (code == 1) == any(gate.raw for gate in gates if gate.outcome is GateOutcome.UNWRITTEN)


def test_unwritten_units_are_asked_again_with_another_sample(filmed: Path, written: Written, tmp_path: Path) -> None:
    folder = tmp_path / "refusing"
    shutil.copytree(filmed, folder)
    bodies: list[Body] = []

    def refusing(body: Body) -> str:
        """Refuses the first clip's chain and some captions, always in the first sample."""
        bodies.append(body)
        name = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        draw = int(hashlib.sha256(json.dumps(body["messages"][:2]).encode()).hexdigest(), 16)
        if name in ("ChainReply", "CaptionReply") and not body["temperature"] and draw % 2:
            return "I would rather not."
        return scripted_vision.reply(body)

    steps = ("--steps", "chains", "--steps", "scenes")
    with serve(refusing) as server:
        assert construct(folder, server.base_url, *steps) == 1
        before = [gate for gate in Benchmark.open(folder).read(GATES) if gate.outcome is GateOutcome.UNWRITTEN]
        assert before
        asked = server.count
        assert construct(folder, server.base_url, *steps) == 1
        assert server.count == asked
        bodies.clear()
        assert construct(folder, server.base_url, *steps, "--retry-unwritten") == 0
        again = [body for body in bodies if body["temperature"]]
        # A chain whose neighbour has a caption now is another request, and may be refused and repaired in vain first.
        refused = [body for body in bodies if not body["temperature"] and len(body["messages"]) > 2]
        assert 0 < len(again) <= len(before) + len(refused)
        assert all(body["seed"] == 1000 for body in again)
        kept = tables_of_steps(folder)
        asked = server.count
        # All is written, so nothing is asked; and without tables the kept replies give the same bytes.
        assert construct(folder, server.base_url, *steps, "--retry-unwritten") == 0
        fresh = tmp_path / "fresh"
        shutil.copytree(filmed, fresh)
        (fresh / WORK).mkdir(exist_ok=True)
        shutil.copy(folder / WORK / "replies.sqlite", fresh / WORK / "replies.sqlite")
        assert construct(fresh, server.base_url, *steps) == 0
        assert server.count == asked
    assert tables_of_steps(fresh) == kept
    assert not [gate for gate in Benchmark.open(folder).read(GATES) if gate.outcome is GateOutcome.UNWRITTEN]


def tables_of_steps(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("chains.jsonl", "scenes.jsonl", "gates.jsonl")}


ASKING_STEPS = ("chains", "scenes", "dialogues")
"""Steps that ask for eight records or more; `linkages` and `paths` ask about fewer here."""


def test_each_step_whose_first_replies_are_useless_stops_with_code_1(
    filmed_household: Path, tmp_path: Path, full: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "stopped"
    shutil.copytree(filmed_household, folder)
    for step in ASKING_STEPS if full else ("chains",):
        options = ["--steps", step]
        before, kept = Benchmark.open(folder).manifest, replies_in(folder)
        with serve(lambda body: "I would rather not.") as useless:
            assert construct(folder, useless.base_url, *options) == 1
            said = capsys.readouterr().err
            assert f"in the step {step} cannot be used" in said
            assert "the last one, since 'there is no JSON object in it'" in said
            assert "I would rather not." in said
            # Requests that were under way end; none is sent after that. Any text is a caption of a clip.
            most = 2 * FIRST + 2 * CONNECTIONS + (Benchmark.open(folder).rows(CLIPS) if step == "scenes" else 0)
            assert 2 * FIRST <= useless.count <= most
            assert replies_in(folder) == kept + useless.count, "what was paid for is kept"
            assert construct(folder, useless.base_url, *options) == 1
            assert useless.count <= most + 2 * CONNECTIONS, "the same replies stop it again"
        assert Benchmark.open(folder).manifest == before
        with serve(scripted_vision.reply) as willing:
            assert construct(folder, willing.base_url, *options, "--retry-unwritten") in (0, 1)


def replies_in(folder: Path) -> int:
    path = folder / WORK / "replies.sqlite"
    if not path.is_file():
        return 0
    with ReplyStore(path) as store:
        return len(store)


def test_what_it_will_cost_is_said_before(filmed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["construct", "--plan", str(filmed), "--writer", "vision-1", "--limit", "1"]
    assert run([*plan, "--price-in", "0.15", "--price-out", "0.6"]) == 0
    said = capsys.readouterr().out
    assert "requests" in said
    assert "money: " in said
    assert run([*plan, "--price-in", "1"]) == 2
    assert run(["construct", "--plan", str(filmed), "--writer", "graph"]) == 0
    assert "no requests" in capsys.readouterr().out.splitlines()[-1]
    capsys.readouterr()
    assert run([*plan, "--probe", "vision-2", "--sees", "text"]) == 0
    said = capsys.readouterr().out
    assert "gates, probe: " in said
    assert "money: not known" in said


def test_a_forecast_is_near_what_a_run_asks(filmed: Path, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--writer", "vision-1", "--judge", "vision-1", "--frames", FRAMES)
    assert run(["construct", "--plan", str(filmed), *options]) == 0
    total = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("in all "))
    expected = int(total.split()[2].replace(",", ""))
    assert 0.5 < expected / written.requests < 2


def test_a_damaged_film_is_left_out_and_named_and_the_rest_goes_on(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(filmed, folder)
    (film,) = (path for path in (folder / "media").iterdir())
    whole = film.read_bytes()
    film.write_bytes(whole[: len(whole) // 2])
    with serve(scripted_vision.reply) as server:
        assert construct(folder, server.base_url, "--steps", "chains") == 1
        told = capsys.readouterr().out
        assert server.count == 0
        for clip in Benchmark.open(folder).read(CLIPS):
            assert f"left out: clip {clip.id}: its film cannot be shown: " in told
        film.write_bytes(whole)
        assert construct(folder, server.base_url, "--steps", "chains") == 0
    assert Benchmark.open(folder).rows(CHAINS) == Benchmark.open(folder).rows(CLIPS)
