"""The names of units for people: video and place, then the number among the others: `Kitchen · clip 3 · 12 of 172`.

A copy with planted faults has the name of the unit that it copies, which nobody gets beside it. Annotators are told the
number among the tasks that they were given, so that no number gives away which of them were planted.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain
from reeltalk.schema.titles import video_titles
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by
from reeltalk_review.tables import AssignmentRow, UnitRow

BETWEEN: Final = " · "
VIDEOS_AT_ONCE: Final = 64
"""Videos whose units' names are kept in memory."""


class ContentNames:
    """Names of the videos of a benchmark, and of the chains, dialogues and paths in them.

    Args:
        content: The benchmark. What it does not hold is named by a number.
    """

    def __init__(self, content: Content) -> None:
        self._videos = video_titles(content.videos)
        self._numbers = {str(video.id): number for number, video in enumerate(content.videos, 1)}
        self._clips, self._chains = rows_by(content.clips, "video_id"), rows_by(content.chains, "video_id")
        self._dialogues, self._paths = rows_by(content.dialogues, "video_id"), rows_by(content.paths, "video_id")
        self._asked: dict[tuple[str, str], str] = {}
        """Places of units that the benchmark does not hold."""
        self._counts: dict[tuple[str, str], int] = {}
        self._placed = lru_cache(VIDEOS_AT_ONCE)(self._place_video)

    def video(self, video_id: str) -> str:
        """A video's name, as `Fry carrot`."""
        if video_id not in self._videos:
            self._videos[video_id] = self.hidden_video(video_id)
        return self._videos[video_id]

    def hidden_video(self, video_id: str) -> str:
        """A video's name that tells nothing about it, as `Video 12`: for people who should not know what it shows."""
        return f"Video {self._numbers.setdefault(video_id, len(self._numbers) + 1)}"

    def unit(self, kind: str, unit_id: str, video_id: str) -> str:
        """The name of a chain, dialogue or path, as `Fry carrot · clip 3`."""
        return BETWEEN.join(filter(None, (self.video(video_id), self._place(kind, unit_id, video_id))))

    def pair(self, before: QAChain, after: QAChain) -> str:
        """The name of two chains of a video, as `Fry carrot · clip 3 and clip 5`."""
        places = [self._place("chain", chain.id, chain.video_id) for chain in (before, after)]
        return BETWEEN.join((self.video(before.video_id), " and ".join(filter(None, places))))

    def _place(self, kind: str, unit_id: str, video_id: str) -> str:
        """Where in its video a unit is; what the benchmark does not hold is counted in the order of asking."""
        key = (kind, unit_id)
        for places in (self._placed(video_id), self._asked):
            if key in places:
                return places[key]
        if key in self._video_of:
            return self._placed(self._video_of[key])[key]
        there = len(self._paths.get(video_id, ())) if kind == "path" else 0
        self._counts[kind, video_id] = self._counts.get((kind, video_id), there) + 1
        return self._asked.setdefault(key, f"{kind} {self._counts[kind, video_id]}")

    @cached_property
    def _video_of(self) -> dict[tuple[str, str], str]:
        """The video of each unit, for those whose video the caller does not know."""
        by_kind: dict[str, Mapping[str, Sequence[QAChain | Dialogue | DialoguePath]]] = {
            "chain": self._chains,
            "dialogue": self._dialogues,
            "path": self._paths,
        }
        return {
            (kind, unit.id): video_id
            for kind, by_video in by_kind.items()
            for video_id, units in by_video.items()
            for unit in units
        }

    def _place_video(self, video_id: str) -> dict[tuple[str, str], str]:
        """Name the units of a video by their clips, and by a number where several have the same."""
        timed = [clip for clip in self._clips.get(video_id, ()) if clip.interval is not None]
        ordered = sorted((clip.interval.start_s, clip.interval.end_s, clip.id) for clip in timed if clip.interval)
        numbers: dict[str, int] = {name: number for number, (*_, name) in enumerate(ordered, 1)}
        units: list[QAChain | Dialogue] = [*self._chains.get(video_id, ()), *self._dialogues.get(video_id, ())]
        clips = [_spoken_clips(unit, numbers) for unit in units]
        counts: dict[str, int] = defaultdict(int)
        places: dict[tuple[str, str], str] = {}
        for unit, place in zip(units, clips, strict=True):
            kind = "chain" if isinstance(unit, QAChain) else "dialogue"
            alone = clips.count(place) == 1
            counts[kind + place] += 1
            numbered = "" if alone else f"{kind} {counts[kind + place]}"
            places[kind, unit.id] = ", ".join(filter(None, (place, numbered)))
        for number, path in enumerate(self._paths.get(video_id, ()), 1):
            places["path", path.id] = f"path {number}"
        return places


def _spoken_clips(unit: QAChain | Dialogue, numbers: Mapping[str, int]) -> str:
    """The clips that a unit is about, as `clip 3` or `clips 2 to 4`; empty for a whole video.

    Args:
        unit: A chain or dialogue.
        numbers: The numbers of its video's clips, from 1.
    """
    names = ((unit.clip_id,) if unit.clip_id else ()) if isinstance(unit, QAChain) else unit.clip_ids
    found = sorted({numbers[name] for name in names if name in numbers})
    if not found or (len(found) > 1 and len(found) == len(numbers)):
        return ""
    if len(found) == 1:
        return f"clip {found[0]}"
    if found[-1] - found[0] == len(found) - 1 and len(found) > 2:
        return f"clips {found[0]} to {found[-1]}"
    return f"clips {', '.join(map(str, found[:-1]))} and {found[-1]}"


def unit_names(session: Session, unit_ids: Collection[str], *, seen_by: str | None = None) -> dict[str, str]:
    """The names of some units for people, by id, as `Kitchen · clip 3 · 12 of 172`.

    Args:
        session: The database.
        unit_ids: Which units.
        seen_by: Id of the annotator who looks at their own work: the number is that among their own tasks in the queue,
            and gold looks like any other unit. Without one, it is the place in the queue, and gold is called so.
    """
    rows = _rows(session, unit_ids)
    queues = {queue_id for _, _, queue_id, _ in rows}
    totals = _totals(session, queues)
    numbers = _own_numbers(session, seen_by, queues) if seen_by is not None else _queue_numbers(session, queues)
    found = {}
    for unit_id, title, queue_id, gold in rows:
        if gold is not None and seen_by is None:
            number = "gold"
        elif unit_id in numbers:
            number = f"{numbers[unit_id]:,} of {max(totals.get(queue_id, 0), numbers[unit_id]):,}"
        else:
            number = ""
        found[unit_id] = BETWEEN.join(filter(None, (title, number)))
    return found


def unit_name(session: Session, unit: UnitRow, *, seen_by: str | None = None) -> str:
    """The name of one unit; see `unit_names`."""
    return unit_names(session, (unit.id,), seen_by=seen_by)[unit.id]


def dialogue_name(number: int, goal: int) -> str:
    """The name of a pair's dialogue; `number` counts from 0. It names no video: one of the two must not know it."""
    return f"Dialogue {number + 1} of {max(goal, number + 1)}"


_AT_ONCE: Final = 400
"""Units in one query. Databases accept a few thousand values at most."""


def _rows(session: Session, unit_ids: Iterable[str]) -> list[tuple[str, str, str, Mapping[str, object] | None]]:
    ids, found = list(unit_ids), []
    for start in range(0, len(ids), _AT_ONCE):
        query = select(UnitRow.id, UnitRow.title, UnitRow.queue_id, UnitRow.gold)
        found += [tuple(row) for row in session.execute(query.where(UnitRow.id.in_(ids[start : start + _AT_ONCE])))]
    return found


def _totals(session: Session, queue_ids: Collection[str]) -> dict[str, int]:
    """How many real units each queue has."""
    query = (
        select(UnitRow.queue_id, func.count())
        .where(UnitRow.queue_id.in_(queue_ids), UnitRow.gold.is_(None))
        .group_by(UnitRow.queue_id)
    )
    return {queue_id: count for queue_id, count in session.execute(query)}


def _queue_numbers(session: Session, queue_ids: Collection[str]) -> dict[str, int]:
    """The place of each real unit in its queue, from 1."""
    query = (
        select(UnitRow.id, UnitRow.queue_id)
        .where(UnitRow.queue_id.in_(queue_ids), UnitRow.gold.is_(None))
        .order_by(UnitRow.queue_id, UnitRow.position, UnitRow.id)
    )
    return _counted((unit, queue) for unit, queue in session.execute(query))


def _own_numbers(session: Session, person_id: str, queue_ids: Collection[str]) -> dict[str, int]:
    """The place of each unit among those of its queue that somebody was given, from 1."""
    query = (
        select(UnitRow.id, UnitRow.queue_id)
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .where(AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator")
        .order_by(UnitRow.queue_id, AssignmentRow.created_at, AssignmentRow.id)
    )
    # Queues are no condition of the query: SQLite would go through all their units, and not through this person's.
    return _counted((unit, queue) for unit, queue in session.execute(query) if queue in queue_ids)


def _counted(rows: Iterable[tuple[str, str]]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    found = {}
    for unit_id, queue_id in rows:
        counts[queue_id] += 1
        found[unit_id] = counts[queue_id]
    return found
