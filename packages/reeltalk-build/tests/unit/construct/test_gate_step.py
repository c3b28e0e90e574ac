"""The gates as a step: a model that is asked without the video."""

import json
import shutil
from pathlib import Path

import pytest
from scripted_server import Answer, Body, serve, words

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES, GATES


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


def test_turns_about_which_a_model_fails_are_unchecked_never_passed(folder: Path) -> None:
    nothing = {"model": "mute", "choices": [{"message": {"content": ""}, "finish_reason": "length"}]}

    def reply(body: Body) -> str | Answer:
        # Always the same for the same request; one that never said a word would stop the command.
        return "a kettle" if sum(json.dumps(body["messages"]).encode()) % 4 else Answer(content=nothing)

    with serve(reply) as server:
        options = ["--probe", "mute", "--base-url", server.base_url, "--sees", "text", "--steps", "gates"]
        assert run(["construct", str(folder), *options, "--limit", "1"]) == 0
    gates = [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:leak.model.")]
    unchecked = [gate for gate in gates if gate.outcome is GateOutcome.UNCHECKED]
    assert len(gates) > len(unchecked) > 0
    assert all(gate.reason for gate in unchecked)


def test_a_model_that_never_says_a_word_stops_the_command_and_checks_nothing(folder: Path) -> None:
    nothing = {"model": "mute", "choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
    with serve(lambda body: Answer(content=nothing)) as server:
        options = ["--probe", "mute", "--base-url", server.base_url, "--sees", "text", "--steps", "gates"]
        assert run(["construct", str(folder), *options, "--limit", "1"]) == 2
    assert not [gate for gate in Benchmark.open(folder).read(GATES) if gate.gate.startswith("gates:leak.model.")]
