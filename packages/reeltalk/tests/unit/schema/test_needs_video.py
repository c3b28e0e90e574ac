"""Which turns need the video, by what the gates found."""

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import GateOutcome, GateResult, needs_video, turn_gates

TURN = Turn(question="What is it?", references=("A mug.",))


def found(gate: str, outcome: GateOutcome, turn_index: int | None = 0) -> GateResult:
    return GateResult(gate=gate, unit="chain", unit_id="c1", turn_index=turn_index, outcome=outcome)


def test_a_turn_that_a_leak_gate_flagged_needs_no_video() -> None:
    assert needs_video(TURN, [found("leak.blind", GateOutcome.PASSED), found("leak.history", GateOutcome.PASSED)])
    assert not needs_video(TURN, [found("leak.blind", GateOutcome.PASSED), found("leak.model.x", GateOutcome.FLAGGED)])


def test_other_gates_and_checks_that_could_not_be_made_do_not_count() -> None:
    assert needs_video(TURN, [found("lint", GateOutcome.FLAGGED), found("leak.model.x", GateOutcome.UNCHECKED)])


def test_a_turn_that_is_not_meant_to_need_the_video_does_not() -> None:
    assert not needs_video(Turn(question="What is it?"), [])
    assert not needs_video(TURN.model_copy(update={"extra": {"about": "topic"}}), [])
    assert not needs_video(TURN.model_copy(update={"labels": {"mt_video_bench.task": ("memory_recall",)}}), [])


def test_results_are_found_by_turn() -> None:
    one, other, whole = (
        found("leak.blind", GateOutcome.FLAGGED),
        found("leak.habit", GateOutcome.PASSED),
        found("leak.share", GateOutcome.DROPPED, None),
    )
    assert turn_gates([one, whole, other]) == {("c1", 0): (one, other)}
