"""Score logs of events, and write the scores as a table and as JSON.

Only the log is read, so any program may have written it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from reeltalk.errors import BenchmarkError
from reeltalk.metrics import agree
from reeltalk.metrics.draws import Statistic, draw_videos, ratio_of_sums
from reeltalk.metrics.proactive import MEASURES, RIGHT, SIGNATURE, UNBOUNDED, Play, ProactiveReply, Share
from reeltalk.schema.intervals import no_later
from reeltalk.schema.runs import GroupRow, SummaryRow, is_withheld, value_fields
from reeltalk.schema.scoring import plain_value, short_hash
from reeltalk.schema.stream import Moment, ProactiveTask
from reeltalk.store.documents import write_json
from reeltalk.store.event_log import SLACK_S, SessionLog

EMPTY: Final = "there is nothing that it could be a share of"


@dataclass
class ProactiveScores:
    """All scores of some logs."""

    summary: list[SummaryRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    """Rows by kind of task."""
    unscored: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each model, tasks without a whole play, with the reason."""


def judge_reply(text: str, moment: Moment) -> int:
    """How right a reply is for a moment, from words alone: 2, 1 or 0.

    2 if it says the same as a reference; 1 if it says that and something else, or says it in a different context.
    """
    if agree.agrees(text, moment.references):
        return RIGHT
    return 1 if any(agree.states(text, reference) for reference in moment.references) else 0


def play_of(session: SessionLog, task: ProactiveTask) -> Play:
    """Convert a session into the record that is measured."""
    replies = [
        ProactiveReply(
            min(event.at_s, task.until_s),
            event.text,
            tuple(judge_reply(event.text, moment) for moment in task.moments),
        )
        for event in session.replies
    ]
    return Play(
        moments=tuple(moment.interval for moment in task.moments),
        replies=tuple(replies),
        until_s=task.until_s,
        asked_at_s=task.asked_at_s,
    )


def score_sessions(sessions: Sequence[SessionLog], tasks: Sequence[ProactiveTask]) -> ProactiveScores:
    """All measures of all models of some logs, pooled over tasks, with intervals by video.

    Args:
        sessions: The sessions of the logs.
        tasks: The tasks that should have been played. Sessions of other tasks are left out.

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
        signature = _signature(model, [played[task.id] for task in tasks if task.id in played], tasks)
        reasons = {task.id: why for task in tasks if (why := _why_not(played.get(task.id), task)) is not None}
        scores.unscored[model] = reasons
        plays = {task.id: play_of(played[task.id], task) for task in tasks if task.id not in reasons}
        by_kind: dict[str, list[ProactiveTask]] = defaultdict(list)
        for task in tasks:
            by_kind[task.kind].append(task)
        for name in MEASURES:
            whole = _pooled(name, tasks, plays)
            withheld = is_withheld(len(tasks) - len(reasons), len(reasons))
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
            for kind, some in sorted(by_kind.items()):
                part = _pooled(name, some, plays)
                failed = sum(task.id in reasons for task in some)
                scores.groups.append(
                    GroupRow(
                        model=model,
                        metric=name,
                        by="kind",
                        group=kind,
                        n=part.n,
                        unscored=failed,
                        **value_fields(
                            part.value, part.low, part.high, withheld=is_withheld(len(some) - failed, failed)
                        ),
                    )
                )
    return scores


def _pooled(name: str, tasks: Sequence[ProactiveTask], plays: Mapping[str, Play]) -> Statistic:
    scored = [task for task in tasks if task.id in plays]
    shares: list[Share] = [MEASURES[name](plays[task.id]) for task in scored]
    draws = draw_videos([task.video_id for task in scored])
    earned = np.array([share.earned for share in shares], np.float64)
    possible = np.array([share.possible for share in shares], np.float64)
    return ratio_of_sums(earned, possible, draws, reason=EMPTY, scale=None if name in UNBOUNDED else (0.0, 1.0))


def _why_not(session: SessionLog | None, task: ProactiveTask) -> str | None:
    """The reason why a task has no session that can be scored; None if it has one."""
    if session is None:
        return "it was not played"
    last = session.events[-1]
    if last.kind == "failed":
        return last.text or "it failed"
    if last.kind != "ended":
        return "it was broken off"
    return None if no_later(task.until_s - SLACK_S, last.at_s) else f"it ended at {last.at_s:g} s of {task.until_s:g} s"


def _signature(model: str, sessions: Sequence[SessionLog], tasks: Sequence[ProactiveTask]) -> str:
    """Everything that can change the numbers of a model: the tasks, and the settings in its sessions' first events."""
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
    return "|".join([SIGNATURE, f"data:{data}", f"judge:{agree.SIGNATURE.replace(':', '-')}", *parts, f"films:{shown}"])


def _session_key(session: SessionLog) -> tuple[str, ...]:
    """The film of a session, the model's instruction and the time of the instruction."""
    told = (f"{event.at_s:g} {event.text}" for event in session.events if event.kind == "instructed")
    return (session.session, str(session.events[0].extra.get("film") or ""), *told)


BETTER: Final = {
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
}
"""Direction in which each measure is better."""
BY_KIND: Final = {
    "time_and_answer_correct": "in time and right",
    "pauc": "PAUC",
    "timeliness_f1": "F1",
    "missed": "missed",
    "false_alarms_per_hour": "false alarms/h",
}
"""Measures that are shown for each kind of task. A narration has far more moments than all other tasks."""


def scores_table(scores: ProactiveScores) -> str:
    """Values with their 95 % intervals, model by model, and the signature of each."""
    lines: list[str] = []
    for model in dict.fromkeys(row.model for row in scores.summary):
        rows = [row for row in scores.summary if row.model == model]
        lines += ["", model] if lines else [model]
        lines += [f"  {row.metric:<24} {_value_and_interval(row):<26} better {BETTER[row.metric]}" for row in rows]
        lines += [f"  {rows[0].n:,} tasks; {rows[0].signature}"]
        lines += _kind_lines(scores, model)
    return "\n".join(lines)


def _kind_lines(scores: ProactiveScores, model: str) -> list[str]:
    found = {(row.group, row.metric): row for row in scores.groups if row.model == model}
    lines = ["", f"  {'kind':<10}{'tasks':>7}" + "".join(f"{title:>19}" for title in BY_KIND.values())]
    for kind in dict.fromkeys(kind for kind, _ in found):
        values = "".join(f"{_format_number(found[kind, name].value):>19}" for name in BY_KIND)
        lines.append(f"  {kind:<10}{found[kind, 'pauc'].n:>7,}{values}")
    return lines


def _value_and_interval(row: SummaryRow) -> str:
    if row.value is None:
        withheld = f" ({_format_number(row.over_scored)} over what was scored)" if row.over_scored is not None else ""
        return f"—{withheld}"
    interval = f" [{_format_number(row.low)}, {_format_number(row.high)}]" if row.low is not None else ""
    return _format_number(row.value) + interval


def _format_number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def scores_json(scores: ProactiveScores) -> bytes:
    """All values, also by kind of task, and which tasks have none."""
    return write_json(
        {
            "summary": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.summary],
            "groups": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.groups],
            "unscored": scores.unscored,
        }
    ).encode()
