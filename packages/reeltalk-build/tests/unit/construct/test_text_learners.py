"""What the text alone gives away, by kind of question: planted biases are found, and fair kinds are not accused."""

import random
from typing import TypeVar

import pytest
from traced_memory import traced_peak

from reeltalk.metrics.text_bias import MARGIN, TextBias, text_bias_card, text_biases, text_gate
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.record import DialogueId, Record, VideoId
from reeltalk.store import rows
from reeltalk_build.construct import text_learners
from reeltalk_build.construct.text_learners import ANSWERABLE, AlikeTurns, TextTurn, measure_text_bias

R = TypeVar("R", bound=Record)
A_VIDEO_BYTES = 700
"""Of one turn and one refusal more in train, or in test; held, they take 1.5 KiB and more."""
THINGS = ("mug", "plate", "book", "lamp", "towel", "radio")
ROOMS = ("kitchen", "bedroom", "bathroom", "livingroom")


def turn(kind: str, question: str, value: str) -> Turn:
    """A turn with a typed answer."""
    key = AnswerKey(type="room" if kind != "refusal" else "refusal", values=(value,))
    # A refusal is asked in the form of another kind.
    form = "fair" if kind == "refusal" else kind
    return Turn(
        question=question, references=(f"The {value}.",), key=key, extra={"kind": kind, "form": f"{form}/forms/0"}
    )


def benchmark(kinds: tuple[str, ...], videos: int = 60) -> tuple[list[Dialogue], dict[str, str | None]]:
    """Dialogues in which the room follows from the thing (`given`), from the turn before (`told`) or from nothing."""
    draw = random.Random(5)
    dialogues: list[Dialogue] = []
    splits: dict[str, str | None] = {}
    for number in range(videos):
        turns: list[Turn] = []
        for kind in kinds:
            thing = draw.choice(THINGS)
            room = draw.choice(ROOMS)
            if kind == "given":
                room = ROOMS[THINGS.index(thing) % len(ROOMS)]
            if kind == "told":
                turns.append(turn("fair", f"Where is the {thing} now?", room))
                turns.append(turn("told", "And where is it at the end?", room))
            elif kind == "refusal":
                turns.append(turn("refusal", f"What does the violin beside the {thing} weigh?", "absent"))
            else:
                turns.append(turn(kind, f"In which room is the {thing}?", room))
        name = f"v{number}"
        splits[name] = "test" if number % 3 == 0 else "train"
        dialogues.append(Dialogue(id=DialogueId(f"d{number}"), video_id=VideoId(name), turns=tuple(turns)))
    return dialogues, splits


def measured(*kinds: str) -> dict[str, TextBias]:
    return {row.kind: row for row in measure_text_bias(*benchmark(kinds))}


def test_an_answer_that_follows_from_a_word_is_found_by_both_learners() -> None:
    row = measured("given", "fair")["given"]
    assert row.ngrams > 0.95
    assert row.nearest > 0.95
    assert row.constant < 0.6
    assert row.outcome is GateOutcome.FLAGGED
    assert row.low is not None
    assert row.low > MARGIN


def test_an_answer_that_the_dialogue_has_told_is_found() -> None:
    assert measured("told")["told"].ngrams > 0.95


def test_fair_questions_are_not_accused() -> None:
    row = measured("given", *["fair"] * 6)["fair"]
    assert row.turns == 120
    assert row.outcome is GateOutcome.PASSED


def test_refusals_are_told_apart_from_other_turns_by_their_words() -> None:
    row = measured("fair", "refusal")[ANSWERABLE]
    assert row.constant == 0.5
    assert row.ngrams == 1.0


def test_a_turn_of_the_same_video_is_taken_first_and_each_turn_once() -> None:
    draw = random.Random(5)
    for _ in range(50):
        places, left = AlikeTurns(), list[tuple[int, str]]()
        for number in range(draw.randrange(30)):
            left.append((3 * number, str(draw.randrange(6))))
            places.add(*left[-1])
        for _ in range(35):
            video = str(draw.randrange(7))
            first = next((one for one in left if one[1] == video), left[0] if left else None)
            assert places.take(video) == (None if first is None else first[0])
            if first is not None:
                left.remove(first)


def test_without_two_splits_nothing_is_measured() -> None:
    dialogues, splits = benchmark(("fair",))
    assert measure_text_bias(dialogues, dict.fromkeys(splits, "train")) == []


def test_few_turns_have_no_verdict() -> None:
    dialogues, splits = benchmark(("given",), videos=12)
    assert [row.outcome for row in measure_text_bias(dialogues, splits)] == [GateOutcome.UNCHECKED]


def test_lengths_of_time_are_right_within_their_tolerance() -> None:
    asked = TextTurn(
        kind="duration", video_id="v", question="How long?", options=(), history=(),
        key=AnswerKey(type="seconds", values=("20",), tolerance=5.0),
    )  # fmt: skip
    assert asked.accepts(("24",))
    assert not asked.accepts(("26",))


def test_a_kind_is_a_gate_result_and_a_row_of_the_card() -> None:
    rows = list(measured("given", "fair", "refusal").values())
    gates = [text_gate(row) for row in rows]
    for before, after in zip(rows, text_biases(gates), strict=True):
        assert (after.kind, after.turns, after.low) == (before.kind, before.turns, before.low)
        assert after.gain == pytest.approx(before.gain)
    card = "\n".join(text_bias_card(rows))
    assert "| given | 20 | 20 |" in card
    assert "| no |" in card
    assert text_bias_card([]) == []


def test_a_person_is_learnt_by_when_the_name_was_said() -> None:
    def asked(right: str, other: str) -> TextTurn:
        key = AnswerKey(type="person", values=(right,), among=(other,))
        return TextTurn(
            kind="who", video_id="v", question="Who takes it?", options=(), key=key,
            history=(("What does Anna do?", "She waves to Tom."),),
        )  # fmt: skip

    assert asked("Tom", "Anna").answer == asked("Tom", "Eve").answer == ("0",)
    assert asked("Anna", "Tom").answer == ("1",)
    assert asked("Eve", "Tom").answer == ("1",)
    assert asked("Zoe", "Yves").answer == ("1",), "of two who were not named, the second in the alphabet"
    assert asked("Yves", "Zoe").answer == ("0",)
    assert asked("Anna", "Tom").accepts(("1",))


def test_choosing_among_options_is_no_gain() -> None:
    """The constant answer is the most frequent one of the options too."""
    draw = random.Random(3)
    dialogues: list[Dialogue] = []
    splits: dict[str, str | None] = {}
    for number in range(150):
        shown = draw.sample(THINGS, 3)
        right = draw.randrange(3)
        asked = Turn(
            question="What is taken?",
            references=(f"The {shown[right]}.",),
            key=AnswerKey(type="object", values=(shown[right],)),
            options=tuple(f"the {thing}" for thing in shown),
            correct_option=right,
            extra={"kind": "taken"},
        )
        splits[f"v{number}"] = "test" if number % 3 == 0 else "train"
        dialogues.append(Dialogue(id=DialogueId(f"d{number}"), video_id=VideoId(f"v{number}"), turns=(asked,)))
    [row] = measure_text_bias(dialogues, splits)
    assert 0.2 < row.constant < 0.55
    assert row.outcome is GateOutcome.PASSED


def test_asking_about_many_videos_holds_few_turns_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_learners, "MOST_TURNS", 40)
    monkeypatch.setattr(text_learners, "TURNS_AT_ONCE", 8)
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1 << 12)

    def peak(videos: int) -> int:
        told = benchmark(("given", "refusal"), videos)
        return traced_peak(lambda: measure_text_bias(*told))

    peak(100)  # fills caches
    assert (peak(900) - peak(300)) / 600 < A_VIDEO_BYTES
