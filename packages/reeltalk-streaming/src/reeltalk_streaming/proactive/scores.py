"""Score logs of events, and write the scores as a table and as JSON.

Only the log is read, so any program may have written it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np

from reeltalk.errors import BenchmarkError, ModelError
from reeltalk.metrics import agree
from reeltalk.metrics.draws import Statistic, draw_videos, ratio_of_sums
from reeltalk.metrics.proactive import (
    HEADLINE,
    MEASURES,
    RIGHT,
    SIGNATURE,
    UNBOUNDED,
    Play,
    PlayedRequest,
    ProactiveReply,
    Share,
    accuracy_of_requests,
    false_alarms,
    served_moments,
)
from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import Json
from reeltalk.schema.runs import GroupRow, SummaryRow, is_withheld, value_fields
from reeltalk.schema.scoring import plain_value, short_hash
from reeltalk.schema.stream import POLL, QUESTIONS, UNREAD, Moment, ProactiveTask, RequestAct, StreamEvent, UserRequest
from reeltalk.store.documents import write_json
from reeltalk.store.event_log import SLACK_S, SessionLog

Measure = Callable[[Play], Share]
JudgeReply = Callable[[str, Moment, UserRequest], int]
"""How right a reply is for a moment of a request: 2, 1 or 0. Raises `UnjudgedError`."""
NO_SHARE: Final = "there is nothing that it could be a share of"


class UnjudgedError(ModelError):
    """Replies of a play have no judgement, so the play has no score."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.reasons = dict(reasons)
        text, why = next(iter(self.reasons.items()))
        super().__init__(f"{len(self.reasons):,} of its replies could not be judged, for example {text!r:.100}: {why}")


@dataclass
class ProactiveScores:
    """All scores of some logs."""

    summary: list[SummaryRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    """Rows by kind of task."""
    unscored: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each model, tasks without a whole play, with the reason."""
    curves: "dict[str, list[ThresholdPoint]]" = field(default_factory=dict)
    """For each model that reports its readiness, its moments and false alarms by the threshold."""
    polls: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each model that is polled, how many of its replies to polls could not be read, and how many there are."""
    unjudged: dict[str, int] = field(default_factory=dict)
    """For each model, how many of its replies could not be judged, if there are some."""


OWN_WORDS_SHARE: Final = 0.6
"""Share of the content words of a message that its reference must have."""
_NOT_YET: Final = re.compile(
    r"\bnot yet\b|\bnot (?:been )?(?:shown|seen|clear|known|visible)\b|\b(?:can ?not|can't|don't|do not|could not)\b"
    r"[^.?!]{0,20}\b(?:know|say|tell|see|answer)\b|\btoo early\b|\bwait\b",
    re.IGNORECASE,
)


def says_not_yet(text: str) -> bool:
    """True if a reply says that the answer cannot be given yet."""
    return _NOT_YET.search(text) is not None


def echoes(text: str, instruction: str) -> bool:
    """True if a reply repeats what the user said, alone or within other words."""
    said, told = " ".join(agree.words_of(text)), " ".join(agree.words_of(instruction))
    return bool(told) and f" {told} " in f" {said} "


def repeats(text: str, request: UserRequest) -> bool:
    """True if a reply only repeats a question, or repeats another request at all. No judge is asked: it is wrong."""
    if request.act in QUESTIONS:
        return agree.words_of(text) == agree.words_of(request.text)
    return echoes(text, request.text)


def judge_reply(text: str, moment: Moment, question: str = "", instruction: str = "") -> int:
    """How right a reply is for a moment, from words alone: 2, 1 or 0.

    2 if it says the same as a reference; 1 if it says that and something else, or says it in a different context. An
    answer must have the words that a reference adds to its question, as in `metrics.agree`. A message without a
    question must have all content words of a reference, so that it names who acts and on what.

    Args:
        text: The reply.
        moment: What is due.
        question: The question that the reply answers; empty for a message.
        instruction: What the user said, for a message. To repeat it is wrong.
    """
    if instruction and echoes(text, instruction):
        return 0
    if question:
        asked = agree.classed_words(question)
        adds = agree.classed_words(text) - asked
        # To repeat the question is no answer.
        own = [one for one in moment.references if adds or not agree.classed_words(one) - asked]
        if agree.agrees(text, own, question):
            return RIGHT
        return int(any(agree.states_reference(text, reference, question) for reference in moment.references))
    said, best = agree.classed_words(text), 0
    for reference in moment.references:
        due = agree.classed_words(reference)
        if due and due <= said and agree.is_negated(text) == agree.is_negated(reference):
            best = max(
                best, RIGHT if len(due) >= OWN_WORDS_SHARE * len(said) and agree.agrees(text, [reference]) else 1
            )
    return best


def judge_by_words(text: str, moment: Moment, request: UserRequest) -> int:
    """`judge_reply` of a reply to a request of a task."""
    if request.act in QUESTIONS:
        return judge_reply(text, moment, request.text)
    return judge_reply(text, moment, instruction=request.text)


@dataclass(frozen=True)
class Correctness:
    """How it is decided whether replies are right."""

    judge: JudgeReply
    signature: str
    """Its rules or its model, for signatures."""


BY_WORDS: Final = Correctness(judge_by_words, agree.SIGNATURE.replace(":", "-"))
"""A reply is compared with the references by its words."""


def replies_to_judge(session: SessionLog, task: ProactiveTask) -> list[StreamEvent]:
    """What a model said in a session without being asked at that time.

    The first reply that says *not yet* to a question whose answer is not shown yet counts as silence, and is left out.
    """
    waiting = [request for request in task.requests if request.act == "await"]
    replies = []
    for event in session.replies:
        waited = next((request for request in waiting if _is_waiting(event, request)), None)
        if waited is None:
            replies.append(event)
        else:
            waiting.remove(waited)
    return replies


def play_of(session: SessionLog, task: ProactiveTask, judge: JudgeReply = judge_by_words) -> Play:
    """Convert a session into the record that is measured.

    Raises:
        UnjudgedError: A reply could not be judged.
    """
    places = [place for place, request in enumerate(task.requests) if request.act != "ask"]
    due = [(place, moment) for place in places for moment in task.requests[place].moments]
    reasons: dict[str, str] = {}

    def judged(text: str, moment: Moment, request: UserRequest) -> int:
        try:
            return judge(text, moment, request)
        except UnjudgedError as error:
            reasons.update(error.reasons)
            return 0

    replies = [
        ProactiveReply(
            min(event.at_s, task.until_s),
            event.text,
            tuple(judged(event.text, moment, task.requests[place]) for place, moment in due),
            frozenset(
                number
                for number, place in enumerate(places)
                if RIGHT
                in [judged(event.text, moment, task.requests[place]) for moment in all_moments(task.requests[place])]
            ),
        )
        for event in replies_to_judge(session, task)
    ]
    play = Play(
        moments=tuple(moment.interval for _, moment in due),
        replies=tuple(replies),
        until_s=task.until_s,
        # If nothing is to be looked out for, silence is right all the time.
        asked_at_s=min((task.requests[place].at_s for place in places), default=0.0),
        requests=tuple(
            PlayedRequest(
                task.requests[place].act,
                task.requests[place].at_s,
                task.ends_s(place),
                tuple(number for number, (owner, _) in enumerate(due) if owner == place),
            )
            for place in places
        ),
        answers=tuple(
            None if answer is None else judged(answer.text, request.moments[0], request) == RIGHT
            for request, answer in answered(session, task)
        ),
    )
    if reasons:
        raise UnjudgedError(reasons)
    return play


def all_moments(request: UserRequest) -> tuple[Moment, ...]:
    """All moments of a request, also those at which nothing is due any more."""
    return (*request.moments, *request.quiet)


def _is_waiting(event: StreamEvent, request: UserRequest) -> bool:
    shown_s = request.moments[0].interval.start_s if request.moments else float("inf")
    return request.at_s <= event.at_s < shown_s and says_not_yet(event.text)


def answered(session: SessionLog, task: ProactiveTask) -> list[tuple[UserRequest, StreamEvent | None]]:
    """The questions of a task that were asked in a session, each with its answer; None for a question without one."""
    said = session.answers
    found: list[tuple[UserRequest, StreamEvent | None]] = []
    for request in task.immediate_questions():
        place = next(
            (
                place
                for place, (event, _) in enumerate(said)
                if event.text == request.text and no_later(abs(event.at_s - request.at_s), SLACK_S)
            ),
            None,
        )
        if place is not None:
            found.append((request, said.pop(place)[1]))
    return found


def score_sessions(
    sessions: Sequence[SessionLog], tasks: Sequence[ProactiveTask], correctness: Correctness = BY_WORDS
) -> ProactiveScores:
    """All measures of all models of some logs, pooled over tasks, with intervals by video.

    Args:
        sessions: The sessions of the logs.
        tasks: The tasks that should have been played. Sessions of other tasks are left out.
        correctness: Decides whether replies are right. A play with a reply that it could not judge is unscored.

    Raises:
        BenchmarkError: Two logs hold a play of one task by one model, or plays of a model were made with different
            settings.
    """
    by_model: dict[str, dict[str, SessionLog]] = defaultdict(dict)
    for session in sessions:
        if session.session in by_model[session.model]:
            raise BenchmarkError(
                f"{session.model!r} played task {session.session!r} twice; score the logs one after the other"
            )
        by_model[session.model][session.session] = session
    scores = ProactiveScores()
    for model, played in by_model.items():
        signature = _signature(model, [played[task.id] for task in tasks if task.id in played], tasks, correctness)
        reasons = {task.id: why for task in tasks if (why := _why_not(played.get(task.id), task)) is not None}
        scores.unscored[model] = reasons
        if (polls := _count_polls(played.values()))[1]:
            scores.polls[model] = polls
        if curve := threshold_curve(
            (played[task.id] for task in tasks if task.id in played and task.id not in reasons), tasks
        ):
            scores.curves[model] = curve
        plays: dict[str, Play] = {}
        unjudged = 0
        for task in (task for task in tasks if task.id not in reasons):
            try:
                plays[task.id] = play_of(played[task.id], task, correctness.judge)
            except UnjudgedError as error:
                reasons[task.id] = str(error)
                unjudged += len(error.reasons)
        if unjudged:
            scores.unjudged[model] = unjudged
        withheld = is_withheld(len(tasks) - len(reasons), len(reasons))
        for name, measure in MEASURES.items():
            whole = _pooled(measure, tasks, plays, bounded=name not in UNBOUNDED)
            scores.summary.append(
                SummaryRow(
                    model=model,
                    metric=name,
                    n=whole.n,
                    signature=signature,
                    unscored=len(reasons),
                    **value_fields(whole.value, whole.low, whole.high, withheld=withheld),
                )
            )
        scores.groups += _groups(model, tasks, plays, reasons)
    return scores


@dataclass(frozen=True)
class ThresholdPoint:
    """When a model would have spoken at one threshold of its readiness, whatever it would have said."""

    threshold: float
    in_time: float | None
    """Share of the moments with a message in their span, widened by 2 s."""
    false_alarms_per_hour: float | None


CURVE_THRESHOLDS: Final = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Thresholds of a curve."""
SILENCE_S: Final = 2.0
"""Silence after each message of a curve."""


def threshold_curve(sessions: Iterable[SessionLog], tasks: Sequence[ProactiveTask]) -> list[ThresholdPoint]:
    """The moments that a model would meet, against its false alarms, by the threshold of its readiness.

    It is read from one play, in which the model's own messages may have changed its later readiness.

    Returns:
        Points in the order of thresholds; empty if no play has a readiness.
    """
    known = {task.id: task for task in tasks}
    played = [(session, known[session.session]) for session in sessions if session.session in known]
    ready = [
        ([(event.at_s, event.readiness) for event in session.events if event.readiness is not None], task)
        for session, task in played
    ]
    if not any(frames for frames, _ in ready):
        return []
    found = []
    for threshold in CURVE_THRESHOLDS:
        met, alarms = Share(0.0, 0.0), Share(0.0, 0.0)
        for frames, task in ready:
            moments = tuple(moment.interval for moment in task.moments)
            right, times = (RIGHT,) * len(moments), list[float]()
            for at_s, readiness in frames:
                if readiness >= threshold and (not times or no_later(times[-1] + SILENCE_S, at_s)):
                    times.append(at_s)
            play = Play(moments, tuple(ProactiveReply(at_s, "", right) for at_s in times), task.until_s)
            served, false = len(served_moments(play)), false_alarms(play)
            met = Share(met.earned + served, met.possible + len(moments))
            alarms = Share(alarms.earned + false.earned, alarms.possible + false.possible)
        found.append(ThresholdPoint(threshold, met.value, alarms.value))
    return found


def _count_polls(sessions: Iterable[SessionLog]) -> tuple[int, int]:
    polls = [
        event.extra[POLL] for one in sessions for event in one.events if event.kind == "frame" and POLL in event.extra
    ]
    return sum(poll == UNREAD for poll in polls), len(polls)


def _groups(
    model: str, tasks: Sequence[ProactiveTask], plays: Mapping[str, Play], failed: Mapping[str, str]
) -> list[GroupRow]:
    """All measures by kind of task, and the share of right requests by their act."""

    def row(by: str, group: str, name: str, some: Sequence[ProactiveTask], measure: Measure) -> GroupRow:
        part = _pooled(measure, some, plays, bounded=name not in UNBOUNDED)
        unscored = sum(task.id in failed for task in some)
        withheld = is_withheld(len(some) - unscored, unscored)
        return GroupRow(
            model=model,
            metric=name,
            by=by,
            group=group,
            n=part.n,
            unscored=unscored,
            **value_fields(part.value, part.low, part.high, withheld=withheld),
        )

    kinds: dict[str, list[ProactiveTask]] = defaultdict(list)
    acts: dict[RequestAct, list[ProactiveTask]] = defaultdict(list)
    for task in tasks:
        kinds[task.kind].append(task)
        for act in {request.act for request in task.requests} - {"ask"}:
            acts[act].append(task)
    found = [
        row("kind", kind, name, some, measure)
        for name, measure in MEASURES.items()
        for kind, some in sorted(kinds.items())
    ]
    return found + [
        row("act", act, "request_accuracy", some, partial(accuracy_of_requests, acts=frozenset({act})))
        for act, some in sorted(acts.items())
    ]


def _pooled(measure: Measure, tasks: Sequence[ProactiveTask], plays: Mapping[str, Play], *, bounded: bool) -> Statistic:
    scored = [task for task in tasks if task.id in plays]
    shares = [measure(plays[task.id]) for task in scored]
    draws = draw_videos([task.video_id for task in scored])
    earned = np.array([share.earned for share in shares], np.float64)
    possible = np.array([share.possible for share in shares], np.float64)
    found = ratio_of_sums(earned, possible, draws, reason=NO_SHARE, scale=(0.0, 1.0) if bounded else (None, None))
    # A rate is never negative, though its interval is symmetric.
    rate = found.low is not None and not (earned < 0).any()
    return replace(found, low=max(0.0, found.low or 0.0)) if rate else found


def _why_not(session: SessionLog | None, task: ProactiveTask) -> str | None:
    """The reason why a task has no session that can be scored; None if it has one."""
    if session is None:
        return "it was not played"
    last = session.events[-1]
    if last.kind == "failed":
        return last.text or "it failed"
    if last.kind != "ended":
        return "it was broken off"
    if not no_later(task.until_s - SLACK_S, last.at_s):
        return f"it ended at {last.at_s:g} s of {task.until_s:g} s"
    asked, due = len(answered(session, task)), sum(1 for _ in task.immediate_questions())
    return None if asked == due else f"it was asked {asked:,} of {due:,} questions at their times"


def _signature(
    model: str, sessions: Sequence[SessionLog], tasks: Sequence[ProactiveTask], correctness: Correctness
) -> str:
    """Everything that can change the numbers of a model: the tasks, how replies are judged, and the settings."""
    told = {
        tuple(sorted((str(key), str(value)) for key, value in dict(first.get("settings") or {}).items()))
        for first in (session.events[0].extra for session in sessions)
        if isinstance(first.get("settings") or {}, dict)
    }
    if len(told) > 1:
        raise BenchmarkError(f"plays of {model!r} were made with different settings; score their logs one by one")
    parts = [f"{key}:{value}" for key, value in next(iter(told), ())]
    data = short_hash(sorted((plain_value(task) for task in tasks), key=lambda task: str(task["id"])))
    shown = short_hash(sorted(_session_key(session) for session in sessions))
    return "|".join([SIGNATURE, f"data:{data}", f"judge:{correctness.signature}", *parts, f"films:{shown}"])


def _session_key(session: SessionLog) -> tuple[str, ...]:
    """The film of a session, and what the model was told and asked, with the times."""
    told = (f"{event.at_s:g} {event.text}" for event in session.events if event.kind in ("instructed", "asked"))
    return (session.session, str(session.events[0].extra.get("film") or ""), *told)


DIRECTIONS: Final = {
    HEADLINE: "higher",
    "time_correct": "higher",
    "answer_correct": "higher",
    "time_and_answer_correct": "higher",
    "pauc": "higher",
    "timeliness_f1": "higher",
    "duplicate_ratio": "lower",
    "false_alarms_per_hour": "lower",
    "missed": "lower",
    "latency_s": "nearer 0",
    "time_diff_s": "lower",
    "request_accuracy": "higher",
    "turn_accuracy": "higher",
    "stream_accuracy": "higher",
    "readiness": "higher",
    "effective_accuracy": "higher",
}
"""Direction in which each measure is better."""
SIDE_MEASURES: Final = ("false_alarms_per_hour", "missed", "time_and_answer_correct", "pauc")
"""Measures that stand beside the headline, because none of them stands alone."""
TITLES: Final = {
    HEADLINE: "Right in time, F1",
    "time_correct": "In time",
    "answer_correct": "Right",
    "time_and_answer_correct": "In time and right",
    "pauc": "PAUC",
    "timeliness_f1": "Timeliness F1",
    "duplicate_ratio": "Repeated replies",
    "false_alarms_per_hour": "False alarms an hour",
    "missed": "Missed moments",
    "latency_s": "Latency, s",
    "time_diff_s": "Distance from the moment, s",
    "request_accuracy": "Requests right",
    "turn_accuracy": "Answers right",
    "stream_accuracy": "Whole streams right",
    "readiness": "Answer readiness",
    "effective_accuracy": "Effective accuracy",
}
"""Names of the measures for people."""
KIND_MEASURES: Final = {
    HEADLINE: "right F1",
    "time_and_answer_correct": "in time, right",
    "pauc": "PAUC",
    "timeliness_f1": "F1",
    "missed": "missed",
    "false_alarms_per_hour": "false/h",
    "request_accuracy": "requests",
    "turn_accuracy": "answers",
    "stream_accuracy": "streams",
    "readiness": "readiness",
    "effective_accuracy": "effective",
}
"""Measures that are shown for each kind of task. A narration has far more moments than all other tasks."""


def scores_table(scores: ProactiveScores, floors: Collection[str] = ()) -> str:
    """The headline of all models, then the values of each with their 95 % intervals and their signature."""
    models = list(dict.fromkeys(row.model for row in scores.summary))
    cells = {(row.model, row.metric): row for row in scores.summary}
    order = sorted(models, key=lambda model: (model in floors, -(cells[model, HEADLINE].value or 0.0)))
    names = {model: f"{model} (floor)" if model in floors else model for model in order}
    width = max(map(len, names.values()), default=0)
    titles = (TITLES[HEADLINE], *(TITLES[name] for name in SIDE_MEASURES))
    lines = [f"{'':<{width}}  {titles[0]:<24}{''.join(f'{title:>22}' for title in titles[1:])}"]
    for model in order:
        beside = "".join(f"{_format_number(cells[model, name].value):>22}" for name in SIDE_MEASURES)
        lines.append(f"{names[model]:<{width}}  {_value_and_interval(cells[model, HEADLINE]):<24}{beside}")
    for model in (model for model in models if model not in floors):
        rows = [row for row in scores.summary if row.model == model]
        lines += ["", model]
        lines += [f"  {row.metric:<24} {_value_and_interval(row):<26} better {DIRECTIONS[row.metric]}" for row in rows]
        if model in scores.polls:
            unread, polls = scores.polls[model]
            lines += [f"  {unread:,} of {polls:,} replies to polls could not be read, and count as silence"]
        if model in scores.unjudged:
            lines += [f"  replies that could not be judged: {scores.unjudged[model]:,}; their plays are not scored"]
        lines += [f"  {rows[0].n:,} tasks; {rows[0].signature}"]
        lines += _kind_lines(scores, model)
    return "\n".join(lines)


def _kind_lines(scores: ProactiveScores, model: str) -> list[str]:
    kinds = {(row.group, row.metric): row for row in scores.groups if row.model == model and row.by == "kind"}
    widths = {name: max(8, len(title) + 2) for name, title in KIND_MEASURES.items()}
    lines = [
        "",
        f"  {'kind':<10}{'tasks':>7}" + "".join(f"{KIND_MEASURES[name]:>{widths[name]}}" for name in KIND_MEASURES),
    ]
    for kind in dict.fromkeys(kind for kind, _ in kinds):
        values = "".join(f"{_format_number(kinds[kind, name].value):>{widths[name]}}" for name in KIND_MEASURES)
        lines.append(f"  {kind:<10}{kinds[kind, 'pauc'].n:>7,}{values}")
    acts = [row for row in scores.groups if row.model == model and row.by == "act"]
    told = ", ".join(f"{row.group} {_value_and_interval(row)}" for row in acts)
    return [*lines, "", f"  right requests: {told}"] if len(acts) > 1 else lines


def _value_and_interval(row: SummaryRow | GroupRow) -> str:
    if row.value is None:
        withheld = f" ({_format_number(row.over_scored)} over what was scored)" if row.over_scored is not None else ""
        return f"—{withheld}"
    interval = f" [{_format_number(row.low)}, {_format_number(row.high)}]" if row.low is not None else ""
    return _format_number(row.value) + interval


def _format_number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def scores_json(scores: ProactiveScores, floors: Collection[str] = (), judged: Json = None) -> bytes:
    """All values, also by kind of task, and which tasks have none."""
    return write_json(
        ({} if judged is None else {"judged": judged})
        | {
            "summary": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.summary],
            "groups": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.groups],
            "unscored": scores.unscored,
            "unjudged": scores.unjudged,
            "polls": {model: {"unread": polls[0], "of": polls[1]} for model, polls in scores.polls.items()},
            "curves": {model: [asdict(point) for point in points] for model, points in scores.curves.items()},
            "floors": sorted(floors),
        }
    ).encode()
