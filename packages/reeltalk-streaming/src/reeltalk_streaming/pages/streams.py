"""The page about streams: models that may speak unasked, measure by measure, and what was said in some streams."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment

from reeltalk.metrics.proactive import RIGHT, UNBOUNDED
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.site import write_text
from reeltalk.schema.runs import GroupRow, SummaryRow
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.event_log import SessionLog
from reeltalk_streaming.proactive.scores import (
    DIRECTIONS,
    KIND_MEASURES,
    TITLES,
    JudgeReply,
    ProactiveScores,
    replies_to_judge,
    score_sessions,
)
from reeltalk_streaming.proactive.stream_replies import JudgedReplies, correctness_of

PAGE: Final = "index.html"
STREAMS_SHOWN: Final = 2
"""Streams of each kind that are shown line by line."""
ACTS: Final = {
    "ask": "asks",
    "await": "asks, and waits for the answer",
    "watch": "requests",
    "change": "changes a request",
    "cancel": "ends a request",
}


@dataclass(frozen=True)
class StreamLine:
    """Something that is said, or due, in a stream."""

    at_s: float
    who: str
    text: str
    mark: str = ""
    """`due` for what should be said, `right` or `wrong` for what a model said; empty for the user."""


@dataclass(frozen=True)
class ShownStream:
    """A stream line by line."""

    task: ProactiveTask
    lines: tuple[StreamLine, ...]


def write_streams(
    tasks: Sequence[ProactiveTask],
    sessions: Sequence[SessionLog],
    name: str,
    folder: Path,
    environment: Environment,
    *,
    floors: Collection[str] = (),
    judged: JudgedReplies | None = None,
    page: str = PAGE,
) -> Path:
    """Write the page.

    Args:
        tasks: The tasks that should have been played.
        sessions: The sessions of all models.
        name: Name of the benchmark.
        folder: An existing folder.
        environment: Where the templates are.
        floors: Models that are floors.
        judged: What a language model said about the replies; without it words decide where a task has no keys.
        page: Name of the page.

    Returns:
        Path of the page.

    Raises:
        BenchmarkError: One model played a task twice, or with different settings.
    """
    correctness = correctness_of(tasks, judged)
    scores = score_sessions(sessions, tasks, correctness)
    models = list(dict.fromkeys(row.model for row in scores.summary))
    summary = {(row.model, row.metric): row for row in scores.summary}
    groups = {(row.model, row.by, row.group, row.metric): row for row in scores.groups}
    kinds, acts = (list(dict.fromkeys(row.group for row in scores.groups if row.by == by)) for by in ("kind", "act"))
    html = environment.get_template("streams.html").render(
        root="",
        here=page,
        name=name,
        models=models,
        floors=floors,
        polls=[(model, *scores.polls[model]) for model in models if model in scores.polls],
        tasks=tasks,
        requests=Counter(request.act for task in tasks for request in task.requests),
        videos=len({task.video_id for task in tasks}),
        rows=[
            (TITLES[name], DIRECTIONS[name], [_cell(summary[model, name]) for model in models]) for name in DIRECTIONS
        ],
        measures=[TITLES[name] for name in KIND_MEASURES],
        kinds=[
            (kind, [(model, [_cell(groups[model, "kind", kind, name]) for name in KIND_MEASURES]) for model in models])
            for kind in kinds
        ],
        acts=[(ACTS[act], [_cell(groups[model, "act", act, "request_accuracy"]) for model in models]) for act in acts],
        curves=_curve_rows(scores, models),
        signatures=[(model, summary[model, "pauc"].signature) for model in models],
        decided=_decided(tasks, judged),
        unscored=[
            (model, len(reasons), scores.unjudged.get(model, 0), next(iter(reasons.values())))
            for model in models
            if (reasons := scores.unscored[model])
        ],
        few=few_videos_warning((len({task.video_id for task in tasks}),)),
        streams=list(_shown(tasks, sessions, scores, floors, correctness.judge)),
    )
    write_text(folder / page, html)
    return folder / page


def _curve_rows(scores: ProactiveScores, models: Sequence[str]) -> tuple[list[str], list[tuple[float, list[str]]]]:
    """The models that report their readiness, and for each threshold what each would have met and disturbed."""
    ready = [model for model in models if model in scores.curves]
    rows = []
    for place, point in enumerate(scores.curves[ready[0]] if ready else ()):
        if place % 2:
            cells = []
            for model in ready:
                own = scores.curves[model][place]
                cells.append("–" if own.in_time is None else f"{100 * own.in_time:.1f}")
                cells.append("–" if own.false_alarms_per_hour is None else f"{own.false_alarms_per_hour:.1f}")
            rows.append((point.threshold, cells))
    return ready, rows


def _cell(row: SummaryRow | GroupRow) -> tuple[str, str]:
    """A value and its interval as people read them; shares are in percent."""
    times, digits = (1.0, 2) if row.metric in UNBOUNDED else (100.0, 1)
    if row.value is None:
        return "–", ""
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f"{times * row.low:.{digits}f} to {times * row.high:.{digits}f}"
    return f"{times * row.value:.{digits}f}", interval


def _decided(tasks: Sequence[ProactiveTask], judged: JudgedReplies | None) -> str:
    """How it was decided whether a reply is right, in a sentence."""
    keys = {moment.key is not None for task in tasks for request in task.requests for moment in request.moments}
    other = "compared with the references by its words" if judged is None else f"judged by {judged.judge}"
    if True not in keys:
        return f"A reply is {other}."
    typed = "A reply to a moment with a key is judged by the type of the key"
    return f"{typed}." if keys == {True} else f"{typed}; any other is {other}."


def _shown(
    tasks: Sequence[ProactiveTask],
    sessions: Sequence[SessionLog],
    scores: ProactiveScores,
    floors: Collection[str],
    judge: JudgeReply,
) -> Iterator[ShownStream]:
    """The first streams of each kind, with what every model said in them."""
    counts: Counter[str] = Counter()
    for task in tasks:
        counts[task.kind] += 1
        if counts[task.kind] <= STREAMS_SHOWN:
            own = [
                one
                for one in sessions
                if one.session == task.id and one.model not in floors and task.id not in scores.unscored[one.model]
            ]
            lines = [*_user_lines(task), *(line for session in own for line in _model_lines(session, task, judge))]
            yield ShownStream(task, tuple(sorted(lines, key=lambda line: line.at_s)))


def _user_lines(task: ProactiveTask) -> Iterator[StreamLine]:
    for request in task.requests:
        yield StreamLine(request.at_s, f"The user {ACTS[request.act]}", request.text)
        if request.act == "ask":
            yield StreamLine(request.at_s, "Right", request.moments[0].references[0], "due")
    for moment in task.moments:
        yield StreamLine(moment.interval.start_s, "Due", moment.references[0], "due")


def _model_lines(session: SessionLog, task: ProactiveTask, judge: JudgeReply) -> Iterator[StreamLine]:
    answers = {id(answer): asked.text for asked, answer in session.answers if answer is not None}
    counted = {*answers, *map(id, replies_to_judge(session, task))}
    for event in session.events:
        if event.kind != "replied":
            continue
        if id(event) not in counted:
            # The first *not yet* to a question counts as silence.
            yield StreamLine(event.at_s, session.model, event.text)
            continue
        question = answers.get(id(event))
        right = any(
            judge(event.text, moment, request) == RIGHT
            for request in task.requests
            if (request.act == "ask") == (question is not None) and question in (None, request.text)
            for moment in request.moments
            if moment.interval.reaches(event.at_s, tolerance_s=0.05 if question else 2.0)
        )
        yield StreamLine(event.at_s, session.model, event.text, "right" if right else "wrong")
