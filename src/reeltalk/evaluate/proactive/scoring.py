"""Score logs of events: nothing else is read of a play, so that any program may have written them."""

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
from reeltalk.schema.runs import GroupRow, SummaryRow, is_withheld, quoted
from reeltalk.schema.scoring import plain, short_hash
from reeltalk.schema.stream import Moment, ProactiveTask
from reeltalk.store.event_log import SLACK_S, SessionLog

EMPTY: Final = "there is nothing that it could be a share of"


@dataclass
class ProactiveScores:
    """What logs say."""

    summary: list[SummaryRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    """By kind of task."""
    unscored: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each model, tasks without a whole play, with the reason."""


def judged(text: str, moment: Moment) -> int:
    """How right a reply is for a moment, from words alone: 2, 1 or 0.

    2 where it says what a reference says, 1 where it holds that beside something else, or holds it in other company.
    """
    if agree.agrees(text, moment.references):
        return RIGHT
    return 1 if any(agree.states(text, reference) for reference in moment.references) else 0


def play_of(session: SessionLog, task: ProactiveTask) -> Play:
    """A session as what is measured."""
    replies = [
        ProactiveReply(
            min(event.at_s, task.until_s),
            event.text,
            tuple(judged(event.text, moment) for moment in task.moments),
        )
        for event in session.replies
    ]
    return Play(
        moments=tuple(moment.interval for moment in task.moments),
        replies=tuple(replies),
        until_s=task.until_s,
        asked_at_s=task.asked_at_s,
    )


def score(sessions: Sequence[SessionLog], tasks: Sequence[ProactiveTask]) -> ProactiveScores:
    """All measures of all models of some logs, pooled over tasks, with intervals by video.

    Args:
        sessions: Of the logs.
        tasks: That should have been played; sessions of others are left out.

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
                    **quoted(whole.value, whole.low, whole.high, withheld=withheld),
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
                        **quoted(part.value, part.low, part.high, withheld=is_withheld(len(some) - failed, failed)),
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
    """Why a task has no play that can be scored; None where it has one."""
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
    data = short_hash(sorted((plain(task) for task in tasks), key=lambda task: str(task["id"])))
    shown = short_hash(sorted(_shown(session) for session in sessions))
    return "|".join([SIGNATURE, f"data:{data}", f"judge:{agree.SIGNATURE.replace(':', '-')}", *parts, f"films:{shown}"])


def _shown(session: SessionLog) -> tuple[str, ...]:
    """The film of a session, the model's instruction and the time of the instruction."""
    told = (f"{event.at_s:g} {event.text}" for event in session.events if event.kind == "instructed")
    return (session.session, str(session.events[0].extra.get("film") or ""), *told)
