"""Proactive measures: values worked out by hand, and what holds of any play."""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.metrics.proactive import (
    EVIDENCE_S,
    MEASURES,
    Play,
    PlayedRequest,
    ProactiveReply,
    Share,
    accuracy_of_requests,
    answer_readiness,
    best_so_far,
    duplicates,
    effective_accuracy,
    false_alarms,
    false_replies,
    mean_pauc,
    missed_moments,
    pauc,
    readiness,
    reply_latency,
    right_requests,
    right_streams,
    right_turns,
    served_moments,
    streaming_bench,
    time_difference,
    timeliness,
    timeliness_f1,
)
from reeltalk.schema.intervals import Interval


def span(start_s: float, end_s: float) -> Interval:
    return Interval(start_s=start_s, end_s=end_s)


def play(
    moments: list[tuple[float, float]], replies: list[tuple[float, str, tuple[int, ...]]], *, until_s: float = 60.0
) -> Play:
    return Play(tuple(span(*m) for m in moments), tuple(ProactiveReply(*r) for r in replies), until_s)


def test_pauc_as_published() -> None:
    replies = [(2.0, 1.0), (5.0, 2.0)]
    assert pauc(span(0, 10), replies, omega=0) == pytest.approx(0.70)
    assert pauc(span(0, 10), replies) == pytest.approx(0.85)
    assert pauc(span(0, 10), []) == 0.25


def test_pauc_by_hand() -> None:
    # Right at once: the whole area. Wrong at once: none. Right at the very end: only what silence earns.
    assert pauc(span(4, 8), [(4.0, 2.0)]) == 1.0
    assert pauc(span(4, 8), [(4.0, 0.0)]) == 0.0
    assert pauc(span(4, 8), [(8.0, 2.0)], omega=0) == 0.25
    assert pauc(span(4, 8), [(6.0, 2.0)], omega=1) == 1.0
    assert pauc(span(4, 4), [(4.0, 1.0)]) == 0.5
    with pytest.raises(ValueError, match="in the span"):
        pauc(span(4, 8), [(3.0, 2.0)])
    with pytest.raises(ValueError, match="order"):
        pauc(span(4, 8), [(7.0, 2.0), (5.0, 2.0)])


def test_what_was_said_stays_said() -> None:
    one = play([(10, 20)], [(15.0, "b", (2,)), (12.0, "a", (1,)), (18.0, "c", (0,)), (25.0, "d", (2,))])
    assert best_so_far(one, 0) == [(12.0, 1.0), (15.0, 2.0), (18.0, 2.0)]
    # 1 s at 0.5, 1.5 s at 1, then 7.5 s at 2: 17 of 20.
    assert mean_pauc(one).value == pytest.approx(0.85)


def test_streaming_bench_looks_at_the_first_reply() -> None:
    right = play([(10, 15)], [(11.5, "a", (2,))])
    assert [share.earned for share in streaming_bench(right)] == [1, 1, 1]
    late = play([(10, 15)], [(12.5, "a", (2,))])
    assert [share.earned for share in streaming_bench(late)] == [0, 1, 0]
    wrong = play([(10, 15)], [(9.0, "a", (1,)), (10.0, "b", (2,))])
    assert [share.earned for share in streaming_bench(wrong)] == [1, 0, 0]
    spoilt = play([(10, 15)], [(3.0, "a", (2,)), (10.0, "a", (2,))])
    assert [share.earned for share in streaming_bench(spoilt)] == [0, 1, 0]
    after_the_polls = play([(10, 15)], [(14.5, "a", (2,))])
    assert [share.earned for share in streaming_bench(after_the_polls)] == [0, 0, 0]
    two = play([(10, 15), (20, 25)], [(12.0, "a", (2, 0)), (19.0, "b", (0, 2))])
    assert streaming_bench(two).both == Share(2, 2)


def test_timeliness_by_hand() -> None:
    assert timeliness(span(10, 12), 11.0) == 1.0
    assert timeliness(span(10, 12), 11.0 - 1.48) == pytest.approx(math.exp(-0.5))
    assert timeliness(span(10, 12), 11.0 + 0.74) == pytest.approx(math.exp(-0.5))


def test_timeliness_f1_by_hand() -> None:
    assert timeliness_f1(play([(10, 12)], [(11.0, "a", (2,))])).value == 1.0
    # One of two slots found, and one reply too many: 2 × 1 / (2 + 2).
    assert timeliness_f1(play([(10, 12), (30, 32)], [(11.0, "a", (2, 0)), (50.0, "b", (0, 0))])).value == 0.5
    # Beyond 0.74 s × sqrt(2 ln 20) = 1.81 s after its top a slot is out of reach.
    assert timeliness_f1(play([(10, 12)], [(12.8, "a", (2,))])).earned > 0
    assert timeliness_f1(play([(10, 12)], [(12.82, "a", (2,))])).value == 0
    # Half right is not right.
    assert timeliness_f1(play([(10, 12)], [(11.0, "a", (1,))])).value == 0
    # The assignment of most timeliness in all: the reply at 11 s is the only one for the second slot.
    both = play([(10, 12), (10.5, 13)], [(11.0, "a", (2, 2)), (10.5, "b", (2, 0))])
    expected = 2 * (timeliness(span(10, 12), 10.5) + timeliness(span(10.5, 13), 11.0)) / 4
    assert timeliness_f1(both).value == pytest.approx(expected)
    # A sixth reply to a slot is not looked at.
    crowd = [(10.0 + n / 10, "x", (0,)) for n in range(5)]
    assert timeliness_f1(play([(10, 12)], [*crowd, (11.0, "a", (2,))])).value == 0
    assert timeliness_f1(play([(10, 12)], [*crowd[:4], (11.0, "a", (2,))])).value == pytest.approx(2 / 6)


def test_duplicates_by_hand() -> None:
    # The same words again while nothing new is due; then for the second moment, where they are right again.
    one = play(
        [(10, 12), (20, 22)],
        [(10.0, "He jumps.", (2, 2)), (13.0, "he jumps", (2, 2)), (21.0, "He jumps.", (2, 2)), (22.0, "Hm.", (0, 0))],
    )
    assert duplicates(one) == Share(1, 4)
    assert duplicates(play([], [])).value is None


def test_false_alarms_by_hand() -> None:
    # Spans 8 to 14 and 12 to 26 with the tolerance: 18 of 60 s are due, and 42 s of silence are right.
    one = play([(10, 12), (14, 24)], [(7.9, "a", (0, 0)), (8.0, "a", (0, 0)), (26.1, "a", (2, 2)), (15.0, "b", (0, 0))])
    assert false_alarms(one).earned == 2
    assert false_alarms(one).possible * 3600 == pytest.approx(42)
    # Where nothing is ever due all of it is.
    nothing = play([], [(1.0, "a", ()), (2.0, "a", ())], until_s=120)
    assert false_alarms(nothing).value == pytest.approx(60)
    to_the_end = play([(50, 59)], [])
    assert false_alarms(to_the_end).possible * 3600 == pytest.approx(48)


def test_missed_and_latency_by_hand() -> None:
    one = play([(10, 14), (20, 24), (40, 44)], [(11.0, "a", (2, 0, 0)), (26.0, "b", (0, 2, 0)), (41.0, "c", (0, 0, 1))])
    assert served_moments(one) == {0: 1.0, 1: 6.0}
    assert missed_moments(one) == Share(1, 3)
    assert reply_latency(one) == Share(7.0, 2)
    # One reply serves one of two moments that it could; the other one serves the other, though it is farther off.
    close = play([(10, 14), (12, 16)], [(12.0, "a", (2, 2)), (15.0, "a", (2, 0))])
    assert served_moments(close) == {0: 5.0, 1: 0.0}
    early = play([(10, 14)], [(9.0, "a", (2,))])
    assert reply_latency(early) == Share(-1.0, 1)


def test_time_difference_by_hand() -> None:
    one = play([(10, 14), (20, 24)], [(12.0, "a", (0, 0)), (19.5, "b", (0, 0))])
    assert time_difference(one) == Share(2.5, 2)
    assert time_difference(play([(10, 14)], [], until_s=40)) == Share(30.0, 1)


def test_a_reply_is_judged_for_each_moment() -> None:
    with pytest.raises(ValueError, match="each of 1 moments"):
        play([(1, 2)], [(1.0, "a", ())])
    with pytest.raises(ValueError, match="0, 1 or 2"):
        play([(1, 2)], [(1.0, "a", (3,))])


def test_silence_where_silence_is_right_costs_nothing() -> None:
    silent = play([], [])
    assert {name for name, of in MEASURES.items() if of(silent).value is not None} == {"false_alarms_per_hour"}
    assert false_alarms(silent).value == 0


seconds = st.integers(0, 240).map(lambda n: n / 4)


@st.composite
def plays(draw: st.DrawFn) -> Play:
    starts = draw(st.lists(seconds, max_size=5))
    moments = [(start, start + draw(st.integers(0, 40)) / 4) for start in starts]
    replies = [
        (time, draw(st.sampled_from(["a", "b", "c"])), tuple(draw(st.integers(0, 2)) for _ in moments))
        for time in draw(st.lists(seconds, max_size=7))
    ]
    return play(moments, replies, until_s=75.0)


@given(plays())
def test_measures_are_in_range(one: Play) -> None:
    for name, of in MEASURES.items():
        value = of(one).value
        if value is None:
            continue
        if name == "latency_s":
            assert value >= -2.0
        elif name.endswith(("_s", "_hour")):
            assert value >= 0
        else:
            assert 0 <= value <= 1 + 1e-9, name


@given(plays(), st.randoms(use_true_random=False))
def test_the_order_of_moments_and_replies_does_not_matter(one: Play, draw: object) -> None:
    places = list(range(len(one.moments)))
    draw.shuffle(places)  # type: ignore[attr-defined]
    replies = [ProactiveReply(r.at_s, r.text, tuple(r.correct[p] for p in places)) for r in one.replies]
    draw.shuffle(replies)  # type: ignore[attr-defined]
    other = Play(tuple(one.moments[p] for p in places), tuple(replies), one.until_s)
    for name, of in MEASURES.items():
        # Moments that begin together and replies that come together have no order of their own.
        if name in ("time_correct", "answer_correct", "time_and_answer_correct") and (
            len({m.start_s for m in one.moments}) < len(places) or len({r.at_s for r in replies}) < len(replies)
        ):
            continue
        if name == "timeliness_f1" and len({r.at_s for r in replies}) < len(replies):
            continue
        assert of(other) == pytest.approx(of(one)), name


@given(plays(), seconds, st.sampled_from(["a", "z"]))
def test_a_wrong_reply_more_never_raises_f1_and_never_serves(one: Play, at_s: float, text: str) -> None:
    more = Play(one.moments, (*one.replies, ProactiveReply(at_s, text, (0,) * len(one.moments))), one.until_s)
    before, after = timeliness_f1(one).value, timeliness_f1(more).value
    if before is not None:
        assert after is not None
        assert after <= before + 1e-12
    assert missed_moments(more) == missed_moments(one)
    assert false_alarms(more).earned >= false_alarms(one).earned


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 2)), min_size=1, max_size=5), st.data())
def test_what_is_said_later_never_raises_pauc(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    """Where what is said is not wrong: to be silent longer is better than to be wrong."""
    times = sorted(time / 4 for time, _ in drawn)
    scores = sorted(score for _, score in drawn)
    before = list(zip(times, map(float, scores), strict=True))
    place = data.draw(st.integers(0, len(drawn) - 1))
    latest = times[place + 1] if place + 1 < len(times) else 10.0
    later = data.draw(st.floats(times[place], latest))
    after = [(later if n == place else time, score) for n, (time, score) in enumerate(before)]
    for omega in (0.0, 0.5):
        assert pauc(span(0, 10), after, omega=omega) <= pauc(span(0, 10), before, omega=omega) + 1e-9


@given(plays())
def test_nothing_said_is_nothing_earned(one: Play) -> None:
    silent = Play(one.moments, (), one.until_s)
    assert streaming_bench(silent).both.earned == 0
    assert timeliness_f1(silent).earned == 0
    assert mean_pauc(silent).earned == pytest.approx(0.25 * len(one.moments))
    assert missed_moments(silent).earned == len(one.moments)
    assert false_alarms(silent).earned == 0


TIMES_S = [n / 3 for n in range(1, 100)] + [n / 10 for n in range(1, 400)] + [n / 29.97 for n in range(1, 200)]


@pytest.mark.parametrize("kept", [lambda time_s: time_s, lambda time_s: round(time_s, 3)], ids=["as-is", "to-a-ms"])
def test_a_limit_is_met_whatever_the_rounding_of_binary_fractions_makes_of_it(kept: Callable[[float], float]) -> None:
    for due_s in TIMES_S:
        due_s = kept(due_s) + 10.0
        for late_s, in_time in ((2.0, 1), (-2.0, 1), (2.001, 0), (-2.001, 0)):
            one = play([(due_s, due_s)], [(due_s + late_s, "a", (2,))], until_s=100.0)
            assert streaming_bench(one).time == Share(in_time, 1), (due_s, late_s)
            assert missed_moments(one).earned == 1 - in_time, (due_s, late_s)
            assert false_alarms(one).earned == 1 - in_time, (due_s, late_s)
        for late_s, polled in ((4.0, 1), (4.001, 0)):
            one = play([(due_s, due_s)], [(due_s + late_s, "a", (2,))], until_s=100.0)
            assert streaming_bench(one).answer == Share(polled, 1), (due_s, late_s)


def test_frames_are_at_a_moment_that_is_kept_to_a_millisecond() -> None:
    # Every third of a second a frame; moments are rounded to 0.333, 0.667 and so on.
    for number in range(1, 200):
        at_s, due_s = number / 3, round(number / 3, 3)
        one = play([(due_s, due_s + 1)], [(at_s, "a", (2,)), (at_s + 1, "a", (2,))], until_s=100.0)
        assert len(best_so_far(one, 0)) == 2, number
        assert mean_pauc(one).value == pytest.approx(1.0, abs=1e-3), number
        again = play([(due_s, due_s + 1)], [(0.0, "a", (2,)), (at_s, "a", (2,))], until_s=100.0)
        assert duplicates(again).earned == 0, number


def test_of_two_moments_a_reply_at_the_tolerance_counts_for_the_first() -> None:
    for due_s in TIMES_S:
        two = play([(due_s, due_s), (due_s + 3.0, due_s + 3.0)], [(due_s + 2.0, "a", (2, 2))], until_s=200.0)
        assert streaming_bench(two).time == Share(1, 2), due_s


def standing(
    replies: Sequence[tuple[float, tuple[int, ...], set[int]]], answers: tuple[bool, ...] = (), until_s: float = 100
) -> Play:
    """Everything from 0 to 40 s, one person's acts from 40 to 80 s, then nothing more."""
    made = (
        PlayedRequest("watch", 0, 40, (0, 1)),
        PlayedRequest("change", 40, 80, (2,)),
        PlayedRequest("cancel", 80, until_s, ()),
    )
    spans = (span(10, 14), span(30, 34), span(60, 64))
    said = tuple(
        ProactiveReply(at_s, str(n), correct, frozenset(about)) for n, (at_s, correct, about) in enumerate(replies)
    )
    return Play(spans, said, until_s, 0, made, answers)


ALL_THREE = [(11.0, (2, 0, 0), {0}), (31.0, (0, 2, 0), {0}), (61.0, (0, 0, 2), {1})]


def test_a_request_is_right_if_all_its_moments_are_met_and_nothing_else_is_said_for_it() -> None:
    assert right_requests(standing(ALL_THREE)) == (True, True, True)
    # Silence is right only for the cancellation.
    assert right_requests(standing([])) == (False, False, True)
    assert right_requests(standing(ALL_THREE[1:])) == (False, True, True)
    # What others do is told after the change; what the person does is told after the end.
    others = (50.0, (0, 0, 0), {1})
    assert right_requests(standing([*ALL_THREE, others])) == (True, False, True)
    over = (90.0, (0, 0, 0), {1, 2})
    assert right_requests(standing([*ALL_THREE, over])) == (True, True, False)
    # What is about nothing counts for what stands; near a moment it is a wrong reply, and no false one.
    assert false_replies(standing([*ALL_THREE, (20.0, (0, 0, 0), set())])) == (1, 0, 0)
    assert false_replies(standing([*ALL_THREE, (13.0, (0, 0, 0), set())])) == (0, 0, 0)
    # Too late by more than the tolerance.
    assert right_requests(standing([*ALL_THREE[:2], (66.1, (0, 0, 2), {1})])) == (True, False, True)
    assert right_requests(standing([*ALL_THREE[:2], (66.0, (0, 0, 2), {1})])) == (True, True, True)


def test_requests_of_a_play_by_act() -> None:
    play = standing(ALL_THREE[1:])
    assert accuracy_of_requests(play) == Share(2, 3)
    assert accuracy_of_requests(play, acts=frozenset({"watch"})) == Share(0, 1)
    assert accuracy_of_requests(play, acts=frozenset({"cancel", "change"})) == Share(2, 2)


def test_a_stream_is_right_if_all_its_requests_and_answers_are() -> None:
    assert right_streams(standing(ALL_THREE, (True, True))) == Share(1, 1)
    assert right_streams(standing(ALL_THREE, (True, False))) == Share(0, 1)
    assert right_streams(standing(ALL_THREE[1:], (True, True))) == Share(0, 1)
    assert right_turns(standing([], (True, False, True))) == Share(2, 3)
    changing = Play((), (), 60, 60, (), (True, True, False))
    assert (right_turns(changing), right_streams(changing)) == (Share(2, 3), Share(0, 1))
    assert right_streams(Play((), (), 60)).value is None


def test_the_polls_for_a_moment_begin_with_its_own_request() -> None:
    made = (PlayedRequest("watch", 0, 60, (0,)), PlayedRequest("watch", 20, 60, (1,)))
    said = (ProactiveReply(10, "a", (2, 0)), ProactiveReply(15, "?", (0, 0)), ProactiveReply(30, "b", (0, 2)))
    play = Play((span(10, 12), span(30, 32)), said, 60, 0, made)
    assert streaming_bench(play).both == Share(2, 2)


def test_readiness_by_hand() -> None:
    shown = span(20, 24)
    assert readiness(shown, 20) == readiness(shown, 22) == readiness(shown, 24) == 1
    # One second early with a scale of 4 s: 2 / (1 + e^1.5).
    assert EVIDENCE_S == 4
    assert readiness(shown, 19) == pytest.approx(2 / (1 + math.exp(1.5)))
    assert readiness(shown, 19) == pytest.approx(0.365, abs=0.001)
    # One second late: 1 - 1 / 4. Never below 0.
    assert readiness(shown, 25) == 0.75
    assert readiness(shown, 40) == 0
    assert 0 <= readiness(shown, 0) < 1e-9
    # A second too early costs more than a second too late.
    assert readiness(shown, 19) < readiness(shown, 25)
    assert readiness(span(1e6, 1e6), 0) < 1e-300


def awaited(*replies: tuple[float, int]) -> Play:
    said = tuple(ProactiveReply(at_s, str(n), (correct,)) for n, (at_s, correct) in enumerate(replies))
    return Play((span(20, 24),), said, 60, 5, (PlayedRequest("await", 5, 60, (0,)),))


def test_the_first_answer_decides_about_readiness() -> None:
    assert answer_readiness(awaited((21, 2))) == effective_accuracy(awaited((21, 2))) == Share(1, 1)
    assert answer_readiness(awaited((21, 0))) == Share(1, 1)
    assert effective_accuracy(awaited((21, 0))) == Share(0, 1)
    assert answer_readiness(awaited()) == Share(0, 1)
    guessed = awaited((6, 2), (21, 2))
    assert (answer_readiness(guessed).value or 0) < 1e-6
    assert right_requests(awaited((6, 0), (21, 2))) == (False,)
    # What is said before the question is no answer to it.
    assert answer_readiness(awaited((4, 2), (21, 2))) == Share(1, 1)
    never = Play((), (), 60, 5, (PlayedRequest("await", 5, 60, ()),))
    assert answer_readiness(never).value is None
    assert right_requests(never) == (True,)


def test_messages_about_other_requests_answer_no_question() -> None:
    made = (PlayedRequest("watch", 0, 60, (0,)), PlayedRequest("await", 5, 60, (1,)))
    said = (ProactiveReply(10, "a", (2, 0), frozenset({0})), ProactiveReply(21, "b", (0, 2), frozenset({1})))
    play = Play((span(10, 12), span(20, 24)), said, 60, 0, made)
    assert effective_accuracy(play) == Share(1, 1)
