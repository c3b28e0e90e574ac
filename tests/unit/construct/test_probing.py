"""A model asked with less than the video, and with the evidence."""

from collections.abc import Sequence

import pytest

from reeltalk.construct.gate_steps import ModelProbe, ProbeSettings, middles_of
from reeltalk.errors import ModelError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import DialogueId, VideoId

DIALOGUE = Dialogue(
    id=DialogueId("d"),
    video_id=VideoId("v"),
    turns=(
        Turn(question="What does he take?", references=("The mug.",), evidence=(Interval(start_s=1, end_s=2),)),
        Turn(
            question="Where does he put it?",
            references=("On the table.",),
            options=("in the fridge", "on the table"),
            asked_at_s=20.0,
            evidence=(Interval(start_s=4, end_s=6), Interval(start_s=10, end_s=12)),
        ),
    ),
)


def frames(video_id: str, times_s: Sequence[float]) -> list[bytes]:
    return [f"{video_id}@{time:g}".encode() for time in times_s]


class Scripted:
    """Answers by how many pictures it is shown, and remembers what it was asked."""

    def __init__(self, *, pictures: str, text: str) -> None:
        self.pictures, self.text, self.seen = pictures, text, list[tuple[str, list[bytes]]]()

    def __call__(self, prompt: str, images: Sequence[bytes]) -> str:
        self.seen.append((prompt, list(images)))
        return self.pictures if images else self.text


def test_a_turn_that_needs_the_video_passes_everywhere() -> None:
    model = Scripted(pictures="It is on the table.", text="UNKNOWN")
    settings = ProbeSettings(conditions=("blind", "history", "evidence"), frames=4)
    results = ModelProbe(model, frames, settings).check(DIALOGUE, 1)
    assert [(r.gate, r.outcome.value) for r in results] == [
        ("leak.model.blind", "passed"), ("leak.model.history", "passed"), ("answerable", "passed")
    ]  # fmt: skip
    blind, history, evidence = model.seen
    assert "What does he take?" not in blind[0]
    assert "Question: What does he take?\nAnswer: The mug." in history[0]
    assert "B. on the table" in blind[0]
    assert evidence[1] == [b"v@4.5", b"v@5.5", b"v@10.5", b"v@11.5"]


def test_a_turn_that_is_answered_without_the_video_is_flagged() -> None:
    model = Scripted(pictures="UNKNOWN", text="B")
    results = {r.gate: r for r in ModelProbe(model, frames).check(DIALOGUE, 1, duration_s=16.0)}
    assert results["leak.model.blind"].outcome is GateOutcome.FLAGGED
    assert results["leak.model.blind"].raw == ("B",)
    assert results["leak.model.one_frame"].outcome is GateOutcome.PASSED
    assert results["answerable"].outcome is GateOutcome.FLAGGED
    shown = [images for _, images in model.seen]
    assert shown[2] == [b"v@8"]
    assert sorted(shown[3]) != shown[3]
    assert sorted(shown[3]) == sorted(frames("v", [n * 2 + 1 for n in range(8)]))


def test_a_model_that_fails_leaves_a_turn_unchecked() -> None:
    def fails(prompt: str, images: Sequence[bytes]) -> str:
        raise ModelError("the server is gone")

    probe = ModelProbe(fails, frames)
    results = [row for index in range(2) for row in probe.check(DIALOGUE, index, duration_s=30.0)]
    assert len(results) == 10
    assert {r.outcome for r in results} == {GateOutcome.UNCHECKED}
    assert "the server is gone" in str(results[0].reason)
    empty = ModelProbe(lambda prompt, images: " ", None, ProbeSettings(conditions=("blind",))).check(DIALOGUE, 0)
    assert empty[0].outcome is GateOutcome.UNCHECKED


def test_what_cannot_be_shown_is_unchecked() -> None:
    bare = DIALOGUE.model_copy(update={"turns": (Turn(question="What?", references=("That.",)),)})
    model = Scripted(pictures="That.", text="UNKNOWN")
    results = {r.gate: r for r in ModelProbe(model, frames).check(bare, 0)}
    assert results["answerable"].reason == "the turn has no evidence interval"
    assert results["leak.model.shuffled"].outcome is GateOutcome.UNCHECKED
    with pytest.raises(ValueError, match="one_frame"):
        ModelProbe(model)


def test_the_prompt_is_there_in_both_languages() -> None:
    model = Scripted(pictures="", text="在桌子上。")
    probe = ModelProbe(model, None, ProbeSettings(conditions=("history",), language="zh"))
    assert probe.signature.startswith("probe.v1#")
    assert probe.check(DIALOGUE, 1)[0].outcome is GateOutcome.PASSED
    assert "之前的对话" in model.seen[0][0]
    assert "{" not in model.seen[0][0]


def test_times_lie_in_the_middle_of_equal_parts() -> None:
    assert middles_of([Interval(start_s=0, end_s=10)], 2) == [2.5, 7.5]
    assert middles_of([Interval(start_s=0, end_s=1), Interval(start_s=5, end_s=6)], 2) == [0.5, 5.5]
    assert middles_of([Interval(start_s=3, end_s=3)], 4) == [3.0]
