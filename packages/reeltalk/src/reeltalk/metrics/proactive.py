"""Proactive measures: a model speaks without being asked, and its replies are compared with the moments due.

A `Play` is one stream: the requests, their moments, the replies, and how right each reply is for each moment, which
another room judges. Each measure returns a `Share`, a sum and its denominator, so that plays are pooled by sums and
resampled by video. The reference time of a moment is its start, the earliest time at which it can be known.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from reeltalk.metrics.tokenise import tokenise_coco
from reeltalk.schema.intervals import RESOLUTION_S, Interval, no_later
from reeltalk.schema.stream import RequestAct

SIGNATURE: Final = "proactive:v4"
"""Version of these rules and constants in signatures."""
RIGHT: Final = 2
"""Judgement of a right reply; 1 is partly right, 0 is wrong."""
TOLERANCE_S: Final = 2.0
"""StreamingBench's tolerance: a reply this far from its moment is in time. Times are compared to half a millisecond."""
POLLED_AFTER_S: Final = 4.0
"""StreamingBench looks for a reply until this time after the moment."""
OMEGA: Final = 0.5
"""ProactiveVideoQA's default contraction of the time before a reply."""
UNANSWERED: Final = 0.25
"""ProactiveVideoQA's PAUC of a moment without a reply."""
OFFSET_S: Final = 1.0
"""SPOT-Bench: the best time to reply, after the start of the slot."""
SIGMA_EARLY_S: Final = 1.48
SIGMA_LATE_S: Final = 0.74
LEAST_TIMELINESS: Final = 0.05
"""SPOT-Bench: least timeliness of a reply that counts for a slot."""
MOST_REPLIES: Final = 5
"""SPOT-Bench: maximum number of replies considered for a slot."""
SECONDS_AN_HOUR: Final = 3600.0
EARLY_STEEPNESS: Final = 6.0
LATE_STEEPNESS: Final = 1.0
"""StreamReady: steepness of the penalties for early and for late answers."""
EVIDENCE_S: Final = 4.0
"""Length of time by which StreamReady's penalties are scaled. There it is the median length of the spans with the
evidence; here it is constant, so that a score does not depend on which other tasks were chosen."""


@dataclass(frozen=True)
class ProactiveReply:
    """A reply without a request."""

    at_s: float
    text: str
    correct: tuple[int, ...]
    """For each moment of the play 0, 1 or 2: how right the reply is for it, whatever its time."""
    about: frozenset[int] = frozenset()
    """The requests of which it tells an event, due or not, by their places in the play."""


@dataclass(frozen=True)
class PlayedRequest:
    """A request of a play that does not ask for an answer at once."""

    act: RequestAct
    at_s: float
    ends_s: float
    """When it is changed or cancelled, or the stream ends."""
    moments: tuple[int, ...]
    """Its moments, by their places in the play."""


@dataclass(frozen=True)
class Play:
    """One stream and its replies.

    Raises:
        ValueError: A reply is not judged for each moment, or outside 0 to 2.
    """

    moments: tuple[Interval, ...]
    """Spans in which a reply was due; empty if silence is right throughout."""
    replies: tuple[ProactiveReply, ...]
    until_s: float
    """End of the stream."""
    asked_at_s: float = 0.0
    """Time of the first request."""
    requests: tuple[PlayedRequest, ...] = ()
    """All requests but questions to answer at once."""
    answers: tuple[bool | None, ...] = ()
    """Whether each question that was to be answered at once was answered right; None if it was not answered."""

    def __post_init__(self) -> None:
        for reply in self.replies:
            if len(reply.correct) != len(self.moments) or not all(0 <= c <= RIGHT for c in reply.correct):
                raise ValueError(f"a reply is judged 0, 1 or 2 for each of {len(self.moments)} moments")

    @cached_property
    def in_order(self) -> tuple[ProactiveReply, ...]:
        """Replies in order of time, then of text, so that the given order does not matter."""
        return tuple(sorted(self.replies, key=lambda reply: (reply.at_s, reply.text, reply.correct)))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indices of the moments in order of time."""
        spans = self.moments
        return tuple(sorted(range(len(spans)), key=lambda place: (spans[place].start_s, spans[place].end_s)))

    @cached_property
    def requested_s(self) -> tuple[float, ...]:
        """For each moment, when its request was made."""
        made = {place: request.at_s for request in self.requests for place in request.moments}
        return tuple(made.get(place, self.asked_at_s) for place in range(len(self.moments)))


class Share(NamedTuple):
    """A sum and its denominator."""

    earned: float
    possible: float

    @property
    def value(self) -> float | None:
        """The measure; None if the denominator is 0."""
        return self.earned / self.possible if self.possible > 0 else None


class InTime(NamedTuple):
    """StreamingBench's proactive output, over the moments of a play."""

    time: Share
    """The first reply came within the tolerance."""
    answer: Share
    """The first reply was right, whenever it came."""
    both: Share


def streaming_bench(play: Play, *, tolerance_s: float = TOLERANCE_S) -> InTime:
    """Whether the first reply to each moment was in time, and right.

    Polls begin after the instruction and end 4 s after the moment; their first reply decides, so a reply long before
    the moment makes it wrong. StreamingBench has one moment; with several, the polls for one begin when the window of
    the one before is over (ours).

    Reference:
        StreamingBench, Proactive Output: in time where |t - GT| is at most 2 s.
    """
    time = answer = both = 0
    over_s = play.asked_at_s
    for place in play.order:
        due_s = play.moments[place].start_s
        begins_s = max(over_s, play.requested_s[place])
        # Moments closer than the tolerance may each have the reply at their own time.
        first = next(
            (
                r
                for r in play.in_order
                if no_later(min(begins_s, due_s), r.at_s) and no_later(r.at_s, due_s + POLLED_AFTER_S)
            ),
            None,
        )
        if first is not None:
            in_time = no_later(abs(first.at_s - due_s), tolerance_s)
            right = first.correct[place] == RIGHT
            time, answer, both = time + in_time, answer + right, both + (in_time and right)
        # A reply exactly at the tolerance belongs to the moment before.
        over_s = due_s + tolerance_s + RESOLUTION_S
    count = len(play.moments)
    return InTime(Share(time, count), Share(answer, count), Share(both, count))


def pauc(span: Interval, replies: Sequence[tuple[float, float]], *, omega: float = OMEGA) -> float:
    """The area under the judgement of the replies to one moment over time, 0 to 1.

    Args:
        span: The moment.
        replies: Times inside the span in order, each with a judgement 0 to 2 of all replies up to it.
        omega: Contraction of the time up to each reply, 0 to 1; 0 is the plain area.

    Raises:
        ValueError: A reply lies outside the span, or replies are not in order.

    Reference:
        ProactiveVideoQA's PAUC. Before the first reply the area grows by 0.5, so silence gives 0.25. Span 0 to 10 and
        replies (2, 1), (5, 2): 0.70 with omega 0 and 0.85 with omega 0.5.
    """
    times = [time_s for time_s, _ in replies]
    if any(not span.start_s <= time_s <= span.end_s for time_s in times) or times != sorted(times):
        raise ValueError("replies must lie in the span, in the order of time")
    if not replies:
        return UNANSWERED
    if span.duration_s == 0:
        return replies[-1][1] / RIGHT
    ends = [*((1 - omega) * (time_s - span.start_s) for time_s in times), span.duration_s]
    area = ends[0] * 2 * UNANSWERED
    area += sum((end - start) * score for (start, end), (_, score) in zip(pairwise(ends), replies, strict=True))
    return area / (span.duration_s * RIGHT)


def best_so_far(play: Play, place: int) -> list[tuple[float, float]]:
    """The replies in the span of a moment, each with the best judgement up to it.

    In ProactiveVideoQA a model judges the replies so far as one text. Here each is judged alone, and the best so far
    counts (ours).
    """
    span, best = play.moments[place], 0
    found = []
    for reply in play.in_order:
        if span.reaches(reply.at_s):
            best = max(best, reply.correct[place])
            found.append((min(max(reply.at_s, span.start_s), span.end_s), float(best)))
    return found


def mean_pauc(play: Play, *, omega: float = OMEGA) -> Share:
    """PAUC summed over the moments of a play."""
    count = len(play.moments)
    total = sum(pauc(play.moments[n], best_so_far(play, n), omega=omega) for n in range(count))
    return Share(total, count)


def timeliness(span: Interval, at_s: float) -> float:
    """Timeliness of a reply to a slot, 0 to 1: a Gaussian that falls more slowly before its peak than after it.

    Reference:
        SPOT-Bench, constants: the top is 1.0 s after the slot's start, sigma 1.48 s before it and 0.74 s after it.
    """
    late_s = at_s - (span.start_s + OFFSET_S)
    sigma = SIGMA_EARLY_S if late_s < 0 else SIGMA_LATE_S
    return math.exp(-(late_s**2) / (2 * sigma**2))


def timeliness_f1(play: Play) -> Share:
    """SPOT-Bench's F1: timely and right replies against all replies and all slots.

    Twice the timeliness of the assigned replies, over the number of replies and slots, so that superfluous replies and
    missed slots both lower it. We know only the constants of the paper; the rest is ours: a slot takes one reply and a
    reply one slot, by the assignment of largest total timeliness; only right replies may be assigned; of the replies in
    reach of a slot the first 5 are considered; replies and slots without a partner count in full.
    """
    table = np.zeros((len(play.in_order), len(play.moments)))
    for column, span in enumerate(play.moments):
        weights = [timeliness(span, reply.at_s) for reply in play.in_order]
        reach = [row for row, weight in enumerate(weights) if weight >= LEAST_TIMELINESS][:MOST_REPLIES]
        for row in reach:
            if play.in_order[row].correct[column] == RIGHT:
                table[row, column] = weights[row]
    rows, columns = linear_sum_assignment(table, maximize=True)
    return Share(2 * float(table[rows, columns].sum()), len(play.replies) + len(play.moments))


def duplicates(play: Play) -> Share:
    """Replies that repeat an earlier one although no new moment began in between.

    Reference:
        ProactiveVideoQA's duplicate-reply ratio. Ours: equal words after tokenising, and that a new moment allows the
        same words again, as where each of several jumps is to be told.
    """
    starts = [span.start_s for span in play.moments]
    said: dict[tuple[str, ...], float] = {}
    repeated = 0
    for reply in play.in_order:
        words = tuple(tokenise_coco(reply.text))
        before_s = said.get(words)
        if before_s is not None and not any(
            no_later(start_s, reply.at_s) and not no_later(start_s, before_s) for start_s in starts
        ):
            repeated += 1
        said[words] = reply.at_s
    return Share(repeated, len(play.replies))


def false_alarms(play: Play, *, tolerance_s: float = TOLERANCE_S) -> Share:
    """Replies outside every moment, per hour in which silence was right.

    The span of a moment is widened by the tolerance at both ends. A wrong reply inside it is no false alarm: other
    measures count it.
    """
    silence_s, reached_s = 0.0, play.asked_at_s
    for span in sorted(play.moments, key=lambda span: (span.start_s, span.end_s)):
        silence_s += max(0.0, min(span.start_s - tolerance_s, play.until_s) - reached_s)
        reached_s = max(reached_s, span.end_s + tolerance_s)
    silence_s += max(0.0, play.until_s - reached_s)
    alarms = sum(not any(span.reaches(r.at_s, tolerance_s=tolerance_s) for span in play.moments) for r in play.replies)
    return Share(alarms, silence_s / SECONDS_AN_HOUR)


def served_moments(play: Play, *, tolerance_s: float = TOLERANCE_S) -> dict[int, float]:
    """Moments with a right reply, each with the time of the reply minus its start, in seconds.

    A reply serves one moment and a moment takes one reply, inside its widened span: as many as possible, with the least
    total distance from the starts.
    """
    allowed = np.zeros((len(play.in_order), len(play.moments)), dtype=bool)
    late = np.zeros(allowed.shape)
    for row, reply in enumerate(play.in_order):
        for column, span in enumerate(play.moments):
            inside = span.reaches(reply.at_s, tolerance_s=tolerance_s)
            allowed[row, column] = inside and reply.correct[column] == RIGHT
            late[row, column] = reply.at_s - span.start_s
    # One more served moment outweighs all distances together.
    bonus = 1.0 + float(np.abs(late).max(initial=0.0)) * (1 + min(allowed.shape))
    worth: NDArray[np.float64] = np.where(allowed, bonus - np.abs(late), 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return {int(c): float(late[r, c]) for r, c in zip(rows, columns, strict=True) if allowed[r, c]}


def stream_f1(play: Play) -> Share:
    """The headline: F1 of what was said against what was due.

    Twice the moments with a right reply in time and the questions answered right, over everything that was due and
    everything that was said. So silence has 0 where something is due, and a model that talks all the time is paid for
    few of many replies.

    Reference:
        The F1 of StreamPro-Bench and SPOT-Bench; ours: a reply counts in full within the tolerance of `served_moments`,
        so that a perfect log has 1, and questions that are to be answered at once count like moments.
    """
    right = len(served_moments(play)) + sum(answer is True for answer in play.answers)
    said = len(play.replies) + sum(answer is not None for answer in play.answers)
    return Share(2.0 * right, said + len(play.moments) + len(play.answers))


def missed_moments(play: Play, *, tolerance_s: float = TOLERANCE_S) -> Share:
    """Moments without a right reply."""
    return Share(len(play.moments) - len(served_moments(play, tolerance_s=tolerance_s)), len(play.moments))


def reply_latency(play: Play, *, tolerance_s: float = TOLERANCE_S) -> Share:
    """Seconds from the start of each served moment to its reply; negative for early replies."""
    found = served_moments(play, tolerance_s=tolerance_s)
    return Share(sum(found.values()), len(found))


def time_difference(play: Play) -> Share:
    """Seconds between the start of each moment and the nearest reply, right or wrong.

    Reference:
        VideoLLM-online's TimeDiff, |reply frame - reference frame| / fps. Its model is told the reference replies so
        far and each turn has its own stretch of video; here a model runs on its own words, so the nearest reply is
        taken, and the end of the stream where there is none (ours).
    """
    times = [reply.at_s for reply in play.replies] or [play.until_s]
    total = sum(min(abs(time_s - span.start_s) for time_s in times) for span in play.moments)
    return Share(total, len(play.moments))


def right_turns(play: Play) -> Share:
    """Questions that were answered right, of those that were to be answered at once.

    Reference:
        RTV-Bench asks one question at several times, with answers that change: its accuracy over timestamps.
    """
    return Share(sum(answer is True for answer in play.answers), len(play.answers))


def false_replies(play: Play, *, tolerance_s: float = TOLERANCE_S) -> tuple[int, ...]:
    """For each request, the number of replies that are given for it while none is due for it.

    A reply is false for the requests that stand at its time, of which it tells an event, and none of whose moments,
    widened by the tolerance, is near. If it tells no event of these and is near no moment at all, it is false for all
    that stand. A right reply to a moment is never false.
    """
    counts = [0] * len(play.requests)
    for reply in play.replies:
        standing = [
            place
            for place, request in enumerate(play.requests)
            if no_later(request.at_s, reply.at_s) and not no_later(request.ends_s, reply.at_s)
        ]
        near = {
            place
            for place, span in enumerate(play.moments)
            if span.reaches(reply.at_s, tolerance_s=tolerance_s) and no_later(play.requested_s[place], reply.at_s)
        }
        if any(reply.correct[place] == RIGHT for place in near):
            continue
        told = [place for place in standing if place in reply.about]
        for place in told or ([] if near else standing):
            if not near.intersection(play.requests[place].moments):
                counts[place] += 1
    return tuple(counts)


def right_requests(play: Play, *, tolerance_s: float = TOLERANCE_S) -> tuple[bool, ...]:
    """For each request, whether each of its moments has a right reply in time and nothing false is said for it.

    Reference:
        IPIBench counts a stream with changed, added or cancelled requests as right if every reply is in time. Its
        tolerance is 1 s; ours is that of the other measures, and each request counts by itself.
    """
    served = served_moments(play, tolerance_s=tolerance_s)
    return tuple(
        false == 0 and all(place in served for place in request.moments)
        for request, false in zip(play.requests, false_replies(play, tolerance_s=tolerance_s), strict=True)
    )


def accuracy_of_requests(play: Play, *, acts: frozenset[RequestAct] | None = None) -> Share:
    """Requests that are right."""
    right = [
        good
        for request, good in zip(play.requests, right_requests(play), strict=True)
        if acts is None or request.act in acts
    ]
    return Share(sum(right), len(right))


def right_streams(play: Play) -> Share:
    """1 if every request and every answer of the stream is right.

    Reference:
        RTV-Bench counts the last questions of a group only if the others are right; here one question at several times
        is a group, and all of them must be right. IPIBench: fully correct.
    """
    whole = all(play.answers) and all(right_requests(play))
    return Share(float(whole), 1.0 if play.requests or play.answers else 0.0)


def readiness(span: Interval, at_s: float, *, early: float = EARLY_STEEPNESS, late: float = LATE_STEEPNESS) -> float:
    """StreamReady's answer readiness score of an answer, 0 to 1.

    It is 1 in the span, with a hard penalty before it and a mild one after it: `2 / (1 + exp(early (start - at) /
    scale))` before the span, and `1 - late (at - end) / scale`, not below 0, after it, with the scale `EVIDENCE_S`.

    Reference:
        Azad et al., StreamReady (CVPR 2026), equations 10 and 11, with the constants 6 and 1. The paper uses soft forms
        of minimum and maximum; here they are exact, so that an answer in the span has 1.
    """
    before = 2 / (1 + math.exp(min(700.0, -early * (at_s - span.start_s) / EVIDENCE_S)))
    after = 1 - late * (at_s - span.end_s) / EVIDENCE_S
    return min(1.0, before) * min(1.0, max(0.0, after))


def first_answers(play: Play) -> list[tuple[int, ProactiveReply | None]]:
    """For each question that waits for its answer and whose answer is shown: its moment, and the first reply to it.

    Replies that serve moments of other requests, or that tell only of these, answer no question.
    """
    served = {place for request in play.requests if request.act != "await" for place in request.moments}
    found: list[tuple[int, ProactiveReply | None]] = []
    for number, request in enumerate(play.requests):
        if request.act != "await" or not request.moments:
            continue
        replies = (
            reply
            for reply in play.in_order
            if no_later(request.at_s, reply.at_s)
            and (number in reply.about or not reply.about)
            and not any(
                reply.correct[place] == RIGHT and play.moments[place].reaches(reply.at_s, tolerance_s=TOLERANCE_S)
                for place in served
            )
        )
        found.append((request.moments[0], next(replies, None)))
    return found


def answer_readiness(play: Play) -> Share:
    """StreamReady's answer readiness score, summed over the questions that wait for an answer; no answer has 0."""
    found = first_answers(play)
    return Share(
        sum(readiness(play.moments[place], reply.at_s) for place, reply in found if reply is not None), len(found)
    )


def effective_accuracy(play: Play) -> Share:
    """StreamReady's effective accuracy: the readiness of right answers, and 0 for wrong and absent ones."""
    found = first_answers(play)
    earned = sum(
        readiness(play.moments[place], reply.at_s)
        for place, reply in found
        if reply is not None and reply.correct[place] == RIGHT
    )
    return Share(earned, len(found))


HEADLINE: Final = "stream_f1"
"""The measure that neither silence nor constant talk can win."""
MEASURES: Final[Mapping[str, Callable[[Play], Share]]] = {
    HEADLINE: stream_f1,
    "time_correct": lambda play: streaming_bench(play).time,
    "answer_correct": lambda play: streaming_bench(play).answer,
    "time_and_answer_correct": lambda play: streaming_bench(play).both,
    "pauc": mean_pauc,
    "timeliness_f1": timeliness_f1,
    "duplicate_ratio": duplicates,
    "false_alarms_per_hour": false_alarms,
    "missed": missed_moments,
    "latency_s": reply_latency,
    "time_diff_s": time_difference,
    "request_accuracy": accuracy_of_requests,
    "turn_accuracy": right_turns,
    "stream_accuracy": right_streams,
    "readiness": answer_readiness,
    "effective_accuracy": effective_accuracy,
}
"""Measures of a play by name."""
UNBOUNDED: Final = frozenset({"false_alarms_per_hour", "latency_s", "time_diff_s"})
"""Measures without the scale 0 to 1."""
