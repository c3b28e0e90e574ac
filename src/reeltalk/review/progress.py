"""Progress over time: submitted turns by day, and a forecast of the day on which all work is in.

A forecast rests on the turns that people submitted on each of the last `WINDOW` whole days, days without work
included. Its range is a t interval of their mean. Gold and adjudication are not part of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.review.assigning import ANNOTATOR
from reeltalk.review.tables import AssignmentRow, QueueRow, UnitRow
from reeltalk.review.tasks.registry import TASKS

WINDOW: Final = 14
"""Whole days that a forecast rests on, today not included."""
FEWEST_DAYS: Final = 4
"""Least number of whole days since the first submission, and least number of days with work, for a forecast."""
FARTHEST: Final = 3650
"""A forecast beyond so many days is no forecast."""


@dataclass(frozen=True)
class Forecast:
    """When all work will be in, if people go on as they did."""

    per_active_day: float
    """Turns submitted on a day with work."""
    active_days: int
    days: int
    """Whole days that it rests on."""
    end: date | None
    """None if it is too far away to be said."""
    earliest: date | None
    latest: date | None
    """None if it may take for ever."""


@dataclass(frozen=True)
class QueueOverTime:
    """Progress of one queue over time."""

    id: str
    title: str
    days: tuple[tuple[date, int], ...]
    """Turns submitted on each day, from the first submission to today, days without work included."""
    submitted: int
    """Turns submitted. A turn counts once for each person."""
    needed: int
    """Turns still to be submitted."""
    forecast: Forecast | None
    """None if there is not enough work for one, or nothing is left."""


def progress_over_time(session: Session, today: date) -> list[QueueOverTime]:
    """Progress of every queue that has units, in the order of the project. Days are in UTC."""
    day = func.substr(AssignmentRow.submitted_at, 1, 10)
    counted = (
        select(UnitRow.queue_id, day, func.sum(UnitRow.turns))
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.role == ANNOTATOR, AssignmentRow.submitted_at.is_not(None), UnitRow.gold.is_(None))
        .group_by(UnitRow.queue_id, day)
    )
    turns: dict[str, dict[date, int]] = {}
    for queue_id, at, count in session.execute(counted):
        turns.setdefault(queue_id, {})[date.fromisoformat(at)] = int(count or 0)
    lacking = (QueueRow.overlap - UnitRow.submitted) * UnitRow.turns
    left = (
        select(UnitRow.queue_id, func.sum(lacking))
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.state == "open", UnitRow.gold.is_(None), UnitRow.submitted < QueueRow.overlap)
        .group_by(UnitRow.queue_id)
    )
    needed = {queue_id: int(count or 0) for queue_id, count in session.execute(left)}
    return [
        queue_over_time(queue.id, queue.title, turns.get(queue.id, {}), needed.get(queue.id, 0), today)
        for queue in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
        if queue.task in TASKS and (queue.id in turns or queue.id in needed)
    ]


def queue_over_time(queue_id: str, title: str, turns: Mapping[date, int], needed: int, today: date) -> QueueOverTime:
    """Progress of a queue.

    Args:
        queue_id: Its id.
        title: Its title.
        turns: Turns submitted, by day.
        needed: Turns still to be submitted.
        today: The day of the forecast.
    """
    days: list[tuple[date, int]] = []
    if turns:
        # A clock that was wrong must not make a thousand days.
        first = max(min(turns), today - timedelta(days=FARTHEST))
        days = [
            (first + timedelta(days=number), turns.get(first + timedelta(days=number), 0))
            for number in range((today - first).days + 1)
        ]
    whole = [count for at, count in days if at < today][-WINDOW:]
    forecast = forecast_of(whole, needed, today) if needed else None
    return QueueOverTime(queue_id, title, tuple(days), sum(turns.values()), needed, forecast)


def forecast_of(whole: list[int], needed: int, today: date) -> Forecast | None:
    """When the rest will be submitted; None if there is not enough work to say.

    Args:
        whole: Turns submitted on each of the last whole days, 0 for a day without work.
        needed: Turns still to be submitted.
        today: From when on.
    """
    active = [count for count in whole if count]
    if len(whole) < FEWEST_DAYS or len(active) < FEWEST_DAYS:
        return None
    found = mean_interval(np.array(whole, dtype=np.float64), [str(number) for number in range(len(whole))])
    low, high = (found.low, found.high) if found.low is not None else (found.value, found.value)
    return Forecast(
        per_active_day=sum(active) / len(active),
        active_days=len(active),
        days=len(whole),
        end=_day_after(needed, found.value, today),
        earliest=_day_after(needed, high or 0.0, today),
        latest=_day_after(needed, low or 0.0, today),
    )


def _day_after(needed: int, per_day: float, today: date) -> date | None:
    if per_day <= 0 or needed / per_day > FARTHEST:
        return None
    return today + timedelta(days=int(np.ceil(needed / per_day)))
