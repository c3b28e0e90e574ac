"""What leaks is taken out where the rest keeps its rules, and checks move with the turns that they are about."""

from collections.abc import Sequence

import pytest

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk_build.construct.mending import chain_shortener, remove_leaks, shorten_dialogue

ASKED = (
    ("What is the woman in the red coat doing?", "She waters the roses."),
    ("What does the boy with the kite call out?", "He calls for his brother."),
    ("Which animal sleeps under the bench?", "A grey cat."),
    ("Who opens the garden gate?", "The postman does."),
    ("What does the old man paint?", "A sailing boat."),
    ("Where does the ladder stand?", "Against the apple tree."),
)
AGAIN = ("Under the bench, which animal sleeps?", "A grey cat.")


def turns(*said: tuple[str, str], label: str | None = None) -> tuple[Turn, ...]:
    labels = {"mt_video_bench.task": (label,)} if label else {}
    return tuple(
        Turn(question=question, references=(answer,), labels=labels if index == 1 else {}, extra={"about": "video"})
        for index, (question, answer) in enumerate(said)
    )


def a_chain(*said: tuple[str, str]) -> QAChain:
    return QAChain(id="c", video_id="v", turns=turns(*said))


def a_dialogue(task: str, *said: tuple[str, str]) -> Dialogue:
    return Dialogue(id="d", video_id="v", task=task, turns=turns(*said, label=task))


def flag(index: int) -> GateResult:
    return GateResult(gate="lint.length", unit="dialogue", unit_id="d", turn_index=index, outcome=GateOutcome.FLAGGED)


def outcomes(found: Sequence[GateResult]) -> list[tuple[str, int | None, str]]:
    return [(gate.gate, gate.turn_index, gate.outcome.value) for gate in found]


def test_a_chain_ends_before_its_first_leak() -> None:
    kept, found = remove_leaks([a_chain(*ASKED[:5], AGAIN, ASKED[5])], [], chain_shortener(5))
    assert [turn.question for turn in kept[0].turns] == [question for question, _ in ASKED[:5]]
    assert outcomes(found) == [("leak.history", 5, "dropped")]
    assert "Under the bench" in str(found[0].reason)
    assert "'A grey cat.'" in str(found[0].reason)


def test_a_chain_that_would_be_too_short_is_left_out() -> None:
    kept, found = remove_leaks([a_chain(*ASKED[:3], AGAIN, *ASKED[3:])], [], chain_shortener(5))
    assert list(kept) == []
    assert outcomes(found) == [("leak.history", 3, "dropped"), ("leak.left", None, "dropped")]
    assert found[1].reason == "3 turns would be left, fewer than 5"


def test_a_round_of_a_dialogue_is_taken_out_and_checks_move() -> None:
    said = (*ASKED[:3], AGAIN, *ASKED[3:])
    kept, found = remove_leaks([a_dialogue("object_reference", *said)], [flag(0), flag(3), flag(5)], shorten_dialogue)
    assert [turn.question for turn in kept[0].turns] == [question for question, _ in ASKED]
    assert outcomes(found) == [
        ("lint.length", 0, "flagged"), ("lint.length", 4, "flagged"), ("leak.history", 3, "dropped")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "said", "reason"),
    [
        ("object_reference", (*ASKED[:2], ASKED[2], AGAIN), "without it the rules of its task are broken: it has 3"),
        ("object_reference", (*ASKED[:3], AGAIN, ("How old is it?", "One year."), *ASKED[3:]), "the next round rests"),
        ("summary", (*ASKED[:3], AGAIN, *ASKED[3:]), "its summary tells of the round"),
        (
            "memory_recall",
            (*ASKED[:3], AGAIN, *ASKED[3:], ("What did I ask?", "In round 2 you asked for the boy.")),
            "a later round names rounds",
        ),
    ],
)
def test_a_dialogue_that_would_break_is_left_out(task: str, said: tuple[tuple[str, str], ...], reason: str) -> None:
    kept, found = remove_leaks([a_dialogue(task, *said)], [flag(0)], shorten_dialogue)
    assert list(kept) == []
    assert {gate.outcome for gate in found} == {GateOutcome.DROPPED}
    assert str(found[-1].reason).startswith(reason)


def test_a_question_that_holds_its_answer_is_taken_out_too() -> None:
    own = ("In which room is the kitchen cabinet that she closes?", "In the kitchen.")
    kept, found = remove_leaks([a_chain(*ASKED[:5], own)], [], chain_shortener(5))
    assert len(kept[0].turns) == 5
    assert outcomes(found) == [("leak.blind", 5, "dropped")]


def test_what_leaks_nowhere_stays_as_it_is() -> None:
    chain = a_chain(*ASKED)
    assert remove_leaks([chain], [], chain_shortener(5)) == ([chain], [])
    nothing: list[Dialogue] = []
    assert remove_leaks(nothing, [], shorten_dialogue) == ([], [])
