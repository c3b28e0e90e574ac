"""Policies as functions of turns and length; no video is needed."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reeltalk.evaluation.playing.policies import FixedRate, PerClip, Uniform, policy_of
from reeltalk.evaluation.playing.script import Step
from reeltalk.evaluation.settings import FramePolicy, FrameSettings
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.video.sampling import svbench

POLICIES: list[FramePolicy] = ["uniform", "fps", "per-clip", "first-turn", "none"]


def step(asked_at_s: float | None, *clips: tuple[float, float]) -> Step:
    about = tuple(Interval(start_s=start_s, end_s=end_s) for start_s, end_s in clips)
    return Step("chain", "c", 0, Turn(question="?"), asked_at_s, about)


def seconds(*times: float) -> tuple[float, ...]:
    return tuple(map(float, times))


@st.composite
def turns(draw: st.DrawFn) -> list[Step]:
    moments: list[float | None] = [*sorted(draw(st.lists(st.floats(0, 400), max_size=6)))]
    moments += [None] * draw(st.integers(0 if moments else 1, 2))
    ends = st.floats(0, 500)
    pairs = [draw(st.lists(st.tuples(ends, ends), max_size=2)) for _ in moments]
    return [step(m, *((min(p), max(p)) for p in pair)) for m, pair in zip(moments, pairs, strict=True)]


@pytest.mark.parametrize("policy", POLICIES)
@given(
    steps=turns(),
    duration_s=st.floats(0, 300),
    frames=st.integers(1, 40),
    fps=st.floats(0.01, 30),
)
def test_no_policy_asks_for_what_comes_after_a_question(
    policy: FramePolicy, steps: list[Step], duration_s: float, frames: int, fps: float
) -> None:
    chosen = policy_of(FrameSettings(policy=policy, frames=frames, fps=fps), steps, duration_s)
    seen = [chosen.times(steps[: end + 1], duration_s) for end in range(len(steps))]
    for times, now in zip(seen, steps, strict=True):
        assert len(times) == len(set(times))
        assert all(0 <= time <= duration_s for time in times)
        assert all(time <= now.asked_at_s for time in times if now.asked_at_s is not None)
        if policy != "per-clip":
            assert len(times) <= frames
            assert list(times) == sorted(times)
    if chosen.append_only:
        assert all(after[: len(before)] == before for before, after in itertools.pairwise(seen))
    assert all(seen) or policy in ("none", "per-clip")


def test_uniform_takes_the_middles_of_equal_parts_of_what_may_be_seen() -> None:
    assert Uniform(4).times([step(8.0)], 100.0) == (1, 3, 5, 7)
    assert Uniform(2).times([step(8.0), step(None)], 100.0) == (25, 75)
    assert Uniform(2).times([step(101.5)], 100.0) == (25, 75), "after the end there is nothing to see"
    assert Uniform(3).times([step(0.0)], 100.0) == (0,)


def test_first_turn_shows_everything_at_once_and_nothing_more() -> None:
    chosen = policy_of(FrameSettings(policy="first-turn", frames=2), [step(40.0), step(None)], 100.0)
    assert chosen.times([step(40.0)], 100.0) == chosen.times([step(40.0), step(None)], 100.0) == (10, 30)


def test_a_fixed_rate_holds_the_question_itself() -> None:
    assert FixedRate(2.0).times([step(1.5)], 100.0) == (0, 0.5, 1, 1.5)
    assert FixedRate(2.0).times([step(1.49)], 100.0) == (0, 0.5, 1)
    assert FixedRate(1.0).times([step(None)], 2.5) == (0, 1, 2)


@pytest.mark.parametrize(("frames", "every"), [(100, 1), (11, 1), (10, 2), (6, 2), (5, 3), (2, 6), (1, 11)])
def test_a_fixed_rate_is_thinned_once_for_the_whole_script(frames: int, every: int) -> None:
    steps = [step(3.0), step(6.0), step(10.0)]
    chosen = policy_of(FrameSettings(policy="fps", frames=frames), steps, 100.0)
    assert chosen == FixedRate(1.0, every)
    assert chosen.times(steps[:2], 100.0) == tuple(range(0, 7, every))
    assert chosen.times(steps, 100.0) == tuple(range(0, 11, every))
    assert len(chosen.times(steps, 100.0)) <= frames


def test_a_script_that_ends_earlier_is_not_thinned_for_one_that_ends_later() -> None:
    assert FixedRate.at_most(10, fps=1.0, until_s=9.9).every == 1
    assert FixedRate.at_most(10, fps=1.0, until_s=10.0).every == 2


def test_per_clip_shows_each_clip_when_a_turn_comes_to_it() -> None:
    first, second = (0.0, 5.2), (4.7, 30.0)
    steps = [step(5.2, first), step(5.2, first), step(30.0, second)]
    chosen = PerClip(10)
    assert chosen.times(steps[:1], 60.0) == chosen.times(steps[:2], 60.0) == seconds(0, 1, 2, 3, 4, 5)
    now = chosen.times(steps, 60.0)
    assert now[:6] == seconds(0, 1, 2, 3, 4, 5)
    assert now[6:] == tuple(time for time in svbench(Interval(start_s=4.7, end_s=30.0)) if time != 5)


def test_per_clip_shows_of_a_clip_only_what_has_been_and_the_rest_later() -> None:
    steps = [step(2.0, (0.0, 5.0)), step(8.0, (6.0, 9.0)), step(9.0, (6.0, 9.0))]
    assert [PerClip(10).times(steps[:n], 60.0) for n in (1, 2, 3)] == [
        seconds(0, 1, 2),
        seconds(0, 1, 2, 3, 4, 6, 7, 8),
        seconds(0, 1, 2, 3, 4, 6, 7, 8),
    ]


def test_a_turn_without_clips_is_about_what_came_since() -> None:
    steps = [step(2.0), step(2.0), step(4.5), step(None)]
    assert [PerClip(10).times(steps[:n], 6.0) for n in (1, 2, 3, 4)] == [
        seconds(0, 1),
        seconds(0, 1),
        seconds(0, 1, 2, 3, 4),
        seconds(0, 1, 2, 3, 4, 5),
    ]


@given(st.floats(0, 1e5), st.floats(0.001, 1000))
def test_the_grid_of_a_fixed_rate_ends_at_its_last_time(until_s: float, fps: float) -> None:
    every = FixedRate.at_most(50, fps=fps, until_s=until_s)
    times = every.times([step(until_s)], until_s + 1)
    assert 1 <= len(times) <= 50
    assert times[-1] <= until_s
    assert (every.every * len(times)) / fps > until_s


def test_the_signature_names_what_the_policy_uses() -> None:
    assert FrameSettings(policy="none").signature == (("policy", "none"),)
    assert dict(FrameSettings(policy="fps", frames=64).signature) == {
        "policy": "fps", "frames": "64", "fps": "1", "size": "720", "quality": "90",
    }  # fmt: skip
    assert FrameSettings(fps=2).signature == FrameSettings(fps=3).signature
    assert [FrameSettings(square_px=448).size, FrameSettings(longest_side_px=None).size] == ["square448", "full"]


@pytest.mark.parametrize(
    "wrong", [{"frames": 0}, {"fps": 0}, {"fps": float("inf")}, {"quality": 101}, {"policy": "all"}, {"frame": 1}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FrameSettings.model_validate(wrong)


def test_a_turn_without_a_clip_is_shown_what_there_is_where_all_clips_are_still_to_come() -> None:
    assert PerClip(10).times([step(0.0, (5.0, 8.0))], 60.0) == ()
    assert PerClip(10).times([step(0.0, (5.0, 8.0)), step(0.0)], 60.0) == (0.0,)
