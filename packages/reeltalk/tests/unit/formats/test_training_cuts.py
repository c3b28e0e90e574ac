"""Conversations become samples that hold their budget, are cut between segments, and see nothing of the future."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.formats.training_units import (
    CUT,
    DROPPED,
    ESCAPED,
    NO_REFERENCE,
    TOO_EARLY,
    TOO_LONG,
    Cutter,
    Segment,
    TaughtTurn,
    TrainingConversation,
    conversations,
    evenly_spaced,
)
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.sft import SampleLimits, TrainingSample, tokens_of
from reeltalk.store.content import Content

PLENTY = SampleLimits(budget=10**9, max_frames=10**6)


def segment(start_s: float, end_s: float, *questions: str, asked_at_s: float | None = None) -> Segment:
    turns = tuple(TaughtTurn(name, f"To {name}.", end_s if asked_at_s is None else asked_at_s) for name in questions)
    return Segment((Interval(start_s=start_s, end_s=end_s),), turns)


def cut(segments: list[Segment], cutter: Cutter, duration_s: float = 1000.0) -> list[TrainingSample]:
    return cutter.samples(TrainingConversation("talk", "v", tuple(segments)), duration_s=duration_s, folder="frames/v")  # type: ignore[arg-type]


def times(sample: TrainingSample) -> list[list[float | None]]:
    return [[frame.at_s for frame in turn.frames] for turn in sample.turns]


@st.composite
def drawn_segments(draw: st.DrawFn) -> list[Segment]:
    """Clips that overlap, leave gaps or repeat, as SVBench's do, with questions inside or at the end."""
    found, at_s, number = [], 0.0, 0
    for _ in range(draw(st.integers(1, 7))):
        start_s = max(0.0, at_s + draw(st.sampled_from([-1.0, 0.0, 0.0, 2.5])))
        at_s = start_s + draw(st.sampled_from([0.3, 2.0, 5.5, 9.0]))
        turns = []
        moments = sorted(draw(st.lists(st.sampled_from([0.4, 0.8, 1.0]), min_size=1, max_size=4)))
        for share in moments:
            number += 1
            words = "why " * draw(st.integers(0, 12))
            turns.append(TaughtTurn(f"Q{number} {words}", f"A{number}.", start_s + share * (at_s - start_s)))
        found.append(Segment((Interval(start_s=start_s, end_s=at_s),), tuple(turns)))
    return found


@given(
    segments=drawn_segments(),
    limits=st.builds(
        SampleLimits,
        budget=st.integers(120, 900),
        frame_tokens=st.integers(1, 60),
        max_frames=st.integers(1, 12),
        reserve=st.integers(0, 20),
    ),
    fps=st.sampled_from([0.5, 1.0, 2.0]),
    frames=st.sampled_from(["segment", "stream"]),
)  # fmt: skip
def test_every_sample_can_be_trained_on(segments: list[Segment], limits: SampleLimits, fps: float, frames: str) -> None:
    cutter = Cutter(limits, len, fps, frames)  # type: ignore[arg-type]
    samples = cut(segments, cutter)
    whole = cut(segments, Cutter(PLENTY, len, fps, frames))  # type: ignore[arg-type]
    place = {turn.question: number for number, part in enumerate(segments) for turn in part.turns}
    for sample in samples:
        assert len(sample.frames) <= limits.max_frames
        assert tokens_of(sample.turns, limits, len) <= limits.budget
        for turn in sample.turns:
            assert turn.asked_at_s is not None
            assert all(frame.at_s is not None and frame.at_s <= turn.asked_at_s for frame in turn.frames)
    # Nothing is said twice or out of order, and what is left out is counted.
    told = [turn.question for sample in samples for turn in sample.turns]
    asked = [turn.question for sample in whole for turn in sample.turns]
    assert told == [question for question in asked if question in set(told)]
    assert (len(told) == len(asked)) == (cutter.counts[TOO_LONG] == 0)
    # No segment is in two samples.
    for before, after in itertools.pairwise(samples):
        assert place[before.turns[-1].question] < place[after.turns[0].question]
    # Frames are those of the uncut conversation, but for those that were dropped.
    shown = [frame for sample in samples for frame in sample.frames]
    complete = [frame for sample in whole for frame in sample.frames]
    assert set(shown) <= set(complete)
    assert len(set(shown)) == len(shown)
    if not cutter.counts[TOO_LONG]:
        assert len(complete) - len(shown) == cutter.counts[DROPPED]


def test_frames_of_a_segment_stand_before_its_turns() -> None:
    samples = cut([segment(0, 3, "a", "b"), segment(2, 5, "c")], Cutter(PLENTY, len))
    assert [times(sample) for sample in samples] == [[[0, 1, 2], [], [3, 4]]]
    assert [frame.file for frame in samples[0].frames][-1] == "frames/v/00004000.jpg"


def test_a_question_inside_a_segment_sees_what_was_shown_by_then() -> None:
    inside = Segment(
        (Interval(start_s=0, end_s=6),),
        (TaughtTurn("a", "A.", 2.5), TaughtTurn("b", "B.", 2.5), TaughtTurn("c", "C.", 6)),
    )
    [sample] = cut([inside], Cutter(PLENTY, len))
    assert times(sample) == [[0, 1, 2], [], [3, 4, 5]]


def test_a_gap_is_shown_only_in_a_stream() -> None:
    parts = [segment(0, 2, "a"), segment(4, 6, "b")]
    assert times(cut(parts, Cutter(PLENTY, len))[0]) == [[0, 1], [4, 5]]
    assert times(cut(parts, Cutter(PLENTY, len, frames="stream"))[0]) == [[0, 1], [2, 3, 4, 5]]


def test_a_question_about_what_comes_later_sees_the_first_frame_only() -> None:
    [sample] = cut([segment(10, 20, "a", asked_at_s=4.0)], Cutter(PLENTY, len))
    assert times(sample) == [[0]]


def test_a_turn_that_is_asked_before_what_was_shown_is_left_out() -> None:
    cutter = Cutter(PLENTY, len)
    [sample] = cut([segment(0, 9, "a"), segment(0, 9, "b", asked_at_s=3.0)], cutter)
    assert ([turn.question for turn in sample.turns], cutter.counts[TOO_EARLY]) == (["a"], 1)


def test_a_segment_that_alone_is_too_long_loses_frames_evenly() -> None:
    cutter = Cutter(SampleLimits(max_frames=5), len)
    samples = cut([segment(0, 9, "a"), segment(9, 12, "b")], cutter)
    assert [times(sample) for sample in samples] == [[[0, 2, 4, 6, 8]], [[9, 10, 11]]]
    assert (cutter.counts[DROPPED], cutter.counts[CUT]) == (4, 1)
    assert [sample.id for sample in samples] == ["talk#1", "talk#2"]


def test_after_a_segment_whose_text_is_too_long_another_sample_begins() -> None:
    cutter = Cutter(SampleLimits(budget=300, frame_tokens=1, reserve=0), len)
    samples = cut([segment(0, 2, "a"), segment(2, 4, "b" * 400), segment(4, 6, "c")], cutter)
    assert [[turn.question for turn in sample.turns] for sample in samples] == [["a"], ["c"]]
    assert cutter.counts[TOO_LONG] == 1


def test_evenly_keeps_first_and_last() -> None:
    assert evenly_spaced(range(10), 4) == [0, 3, 6, 9]
    assert evenly_spaced(range(10), 1) == [9]
    assert evenly_spaced(range(3), 5) == [0, 1, 2]


def benchmark(split: str | None = "train") -> Content:
    """A video of two clips with chains, a path that words a turn anew, and a dialogue."""
    chain = {"video_id": "v", "turns": (Turn(question="a", references=("A.",)), Turn(question="b", references=()))}
    return Content(
        videos=[Video(id="v", split=split)],
        clips=[
            Clip(id=f"c{n}", video_id="v", interval=Interval(start_s=10 * n, end_s=10 * n + 10)) for n in range(2)
        ],
        chains=[QAChain(id=f"q{n}", clip_id=f"c{n}", **chain) for n in (1, 0)],
        paths=[
            DialoguePath(
                id="p", video_id="v",
                steps=(
                    PathStep(ref=TurnRef(unit_id="q0", turn_index=0)),
                    PathStep(ref=TurnRef(unit_id="q1", turn_index=1), turn=Turn(question="new", references=("N.",))),
                ),
            )
        ],
        dialogues=[
            Dialogue(
                id="d", video_id="v",
                turns=(
                    Turn(question="What is <image>?", references=("It.",), asked_at_s=3),
                    Turn(question="Which?", options=("red", "blue"), correct_option=1, asked_at_s=5),
                ),
            )
        ],
    )  # fmt: skip


def test_paths_chains_and_dialogues_become_conversations() -> None:
    path = conversations(benchmark())
    assert (path.units, path.splits) == ("path", ("train",))
    assert [[turn.question for turn in part.turns] for part in path.conversations[0].segments] == [["a"], ["new"]]
    assert [turn.asked_at_s for part in path.conversations[0].segments for turn in part.turns] == [10, 20]
    chains = conversations(benchmark(), units="chain")
    assert [part.clips[0].start_s for part in chains.conversations[0].segments] == [0, 10]
    assert chains.counts[NO_REFERENCE] == 2
    dialogue = conversations(benchmark(), units="dialogue")
    first, second = [part.turns[0] for part in dialogue.conversations[0].segments]
    assert (first.question, dialogue.counts[ESCAPED]) == ("What is < image >?", 1)
    assert (second.question, second.answer) == ("Which?\nA. red\nB. blue", "B. blue")
    open_ = conversations(benchmark(), units="dialogue", choices=False).conversations[0].segments[1].turns[0]
    assert (open_.question, open_.answer) == ("Which?", "blue")


@pytest.mark.parametrize("split", ["test", None])
def test_no_other_split_than_train_is_taken_unasked(split: str | None) -> None:
    with pytest.raises(SettingError, match="--split"):
        conversations(benchmark(split))
    assert conversations(benchmark(split), split=split or "all").splits == (split or "none",)


def test_what_there_is_not_is_told() -> None:
    with pytest.raises(SettingError, match="splits: train"):
        conversations(benchmark(), split="dev")
    with pytest.raises(SettingError, match="no dialogue has task 'x'"):
        conversations(benchmark(), units="dialogue", tasks=("x",))
    content = benchmark()
    content.paths = []
    with pytest.raises(BenchmarkError, match="no path with reference answers; it has chains, dialogues"):
        conversations(content, units="path")
