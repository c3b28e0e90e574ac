"""The gates as a step: a model that is asked without the video, runs that show what is too easy."""

import json
import shutil
from pathlib import Path

import pytest
from scripted_server import Answer, Body, serve, words

from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES, GATES
from reeltalk.store.validate import validate
from reeltalk_build.construct.gate_steps import check_gates
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.step import ConstructRun
from reeltalk_household.writer.graph_writer import GraphWriter


@pytest.fixture
def folder(constructed: Path, tmp_path: Path) -> Path:
    target = tmp_path / "gated"
    shutil.copytree(constructed, target)
    return target


def test_a_model_that_is_asked_without_the_video_finds_what_it_can_answer(folder: Path) -> None:
    asked = [turn for row in Benchmark.open(folder).read(DIALOGUES) for turn in row.turns]
    known = next(turn for turn in asked if turn.key is not None and turn.key.type in ("object", "place", "action"))

    def reply(body: Body) -> str:
        # It knows one answer.
        return known.references[0] if known.question in words(body["messages"][-1]) else "UNKNOWN"

    with serve(reply) as server:
        options = ["--probe", "parrot", "--base-url", server.base_url, "--sees", "text", "--steps", "gates"]
        assert run(["construct", str(folder), *options, "--max-leaking", "1"]) == 0
        assert server.images == 0
    gates = [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:leak.model.")]
    assert {gate.gate for gate in gates} == {"gates:leak.model.blind", "gates:leak.model.history"}
    flagged = [gate for gate in gates if gate.outcome is GateOutcome.FLAGGED]
    assert flagged
    rows: dict[str, Dialogue] = {row.id: row for row in Benchmark.open(folder).read(DIALOGUES)}
    for gate in flagged:
        if gate.unit == "dialogue":
            assert rows[gate.unit_id].turns[gate.turn_index or 0].question == known.question


def test_a_model_that_fails_leaves_turns_unchecked_never_passed(folder: Path) -> None:
    nothing = {"model": "mute", "choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
    with serve(lambda body: Answer(content=nothing)) as server:
        options = ["--probe", "mute", "--base-url", server.base_url, "--sees", "text", "--steps", "gates"]
        assert run(["construct", str(folder), *options, "--limit", "1"]) == 0
    gates = [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:leak.model.")]
    assert gates
    assert all(gate.outcome is GateOutcome.UNCHECKED and gate.reason for gate in gates)


def run_of(folder: Path, benchmark: Benchmark, *, right: bool, name: str) -> Path:
    """A run folder in which a model answers every turn of every dialogue, all right or all wrong."""
    path = folder / name
    (path / "scores").mkdir(parents=True)
    answers, scores = [], []
    for dialogue in benchmark.read(DIALOGUES):
        for index, turn in enumerate(dialogue.turns):
            item = f"{dialogue.id}/{index}"
            answers.append(
                {
                    "model": name,
                    "item_id": item,
                    "video_id": dialogue.video_id,
                    "unit_id": dialogue.id,
                    "turn_index": index,
                    "question": turn.question,
                    "references": list(turn.references),
                    "text": "x",
                }
            )
            scores.append({"model": name, "item_id": item, "scores": {"typed": 100.0 if right else 0.0}})
    (path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    (path / "scores" / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scores))
    info = {
        "kind": "score",
        "reeltalk_version": "0",
        "subject": "test",
        "models": [{"model": name, "source": "x", "sha256": "0", "rows": len(answers), "items": len(answers)}],
        "metrics": ["typed"],
        "clusters": 1,
    }
    (path / "scores" / "curves.jsonl").write_text("")
    (path / "run.json").write_text(json.dumps(info))
    (path / "summary.json").write_text("[]")
    return path


@pytest.mark.parametrize(("easy", "dropped"), [("flag", False), ("drop", True)])
def test_turns_that_most_runs_answer_are_too_easy(folder: Path, tmp_path: Path, easy: str, dropped: bool) -> None:
    benchmark = Benchmark.open(folder)
    before = benchmark.rows(DIALOGUES)
    runs = tuple(run_of(tmp_path, benchmark, right=n < 2, name=f"model{n}") for n in range(3))
    settings = ConstructSettings(easy=easy, max_leaking=1.0)
    made = check_gates(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1), runs=runs))
    turns = [gate for gate in made.gates if gate.gate == "difficulty"]
    assert turns
    assert all(gate.outcome is GateOutcome.FLAGGED for gate in turns)
    gone = {gate.unit_id for gate in made.gates if gate.outcome is GateOutcome.DROPPED}
    assert len(gone) == (before if dropped else 0)
    options = [option for path in runs for option in ("--run", str(path))]
    assert run(["construct", str(folder), "--steps", "gates", *options, "--easy", easy, "--max-leaking", "1"]) == 0
    assert Benchmark.open(folder).rows(DIALOGUES) == (0 if dropped else before)
    assert validate(Benchmark.open(folder)) == []


def test_more_runs_wanted_than_given_is_said(folder: Path, tmp_path: Path) -> None:
    benchmark = Benchmark.open(folder)
    runs = (run_of(tmp_path, benchmark, right=True, name="only"),)
    settings = ConstructSettings(easy_runs=2)
    with pytest.raises(SettingError, match="only 1"):
        check_gates(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1), runs=runs))
