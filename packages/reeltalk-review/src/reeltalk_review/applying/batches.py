"""A benchmark some videos at a time, with the settled work about them, and what changes in its tables.

So applying reviews holds the rows of a few videos, however large the benchmark is.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.dialogue import Linkage
from reeltalk.schema.record import Record
from reeltalk.store.content import Content
from reeltalk.store.rows import KeyIndex, SpooledRows
from reeltalk.store.tables import KNOWN_BOXES, RUBRICS, SIGHTINGS, SOURCE_FILES, TABLES, Table
from reeltalk_review.applying.collected import MARKED, collected_id
from reeltalk_review.collecting import APPROVED
from reeltalk_review.settling import DONE
from reeltalk_review.tables import LiveDialogueRow, QueueRow, UnitRow

R = TypeVar("R", bound=Record)

TOGETHER: Final = 32
"""Videos of a batch. Linkages that lead from one video to another can make it larger."""
LEFT_OUT: Final = frozenset(table.name for table in (KNOWN_BOXES, SIGHTINGS, RUBRICS, SOURCE_FILES))
"""Tables that settled work neither changes nor refers to."""
UNITS_OF: Final[Mapping[str, Sequence[str]]] = {
    "chain": ("chains",),
    "dialogue": ("dialogues",),
    "path": ("paths",),
    # The unit of a turn is a dialogue if there is one with the id, otherwise a chain.
    "turn": ("dialogues", "chains"),
    "video": ("videos",),
}
"""Tables in which the unit of a row is looked for."""


@dataclass(frozen=True)
class VideoBatch:
    """Some videos of a benchmark."""

    content: Content
    """All rows about them, in memory."""
    places: Mapping[str, Sequence[int]]
    """By table: the index of each of these rows in the benchmark's table, ascending."""
    units: Mapping[str, Sequence[str]]
    """By kind of work: ids of finished units about them, without gold, in the order of their queues."""
    dialogues: Sequence[str]
    """Ids of approved dialogues of pairs about them, in the order in which they were begun."""
    videos: int
    """Number of videos of this batch and all earlier ones."""


class VideoBatches:
    """A benchmark in batches of videos, in the order of its videos. What is about none of them is in the last batch.

    A row is in the batch of the rows that it refers to.

    Args:
        content: The benchmark's rows, which stay in their files.
        session: The database.
    """

    def __init__(self, content: Content, session: Session) -> None:
        self._content = content
        self._videos: dict[str, dict[str, int]] = {name: {} for name in ("videos", "chains", "dialogues", "paths")}
        """By table: the number of the video of each record, by its id."""
        self._name_records()
        self._batches, self._sizes = self._number_batches()
        self._units: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._dialogues: dict[int, list[str]] = defaultdict(list)
        self._share_work(session)
        self._places = {name: self._share_rows(name) for name in TABLES if name not in LEFT_OUT}

    def __iter__(self) -> Iterator[VideoBatch]:
        done = 0
        for number, size in enumerate(self._sizes):
            content, places = Content(), {}
            for name, shared in self._places.items():
                rows: Any = getattr(self._content, name)
                places[name] = shared.values(number)
                setattr(content, name, [rows[place] for place in places[name]])
            units = {kind: some[number] for kind, some in self._units.items() if number in some}
            done += size
            yield VideoBatch(content, places, units, self._dialogues.get(number, ()), done)

    def _name_records(self) -> None:
        """Note the video of each record, also of chains and dialogues that an earlier revision removed."""
        videos = self._videos["videos"]
        for row in _raw(self._content.videos):
            videos[row["id"]] = len(videos)
        for name in ("chains", "dialogues", "paths"):
            self._videos[name] = {row["id"]: videos[row["video_id"]] for row in _raw(getattr(self._content, name))}
        for row in _raw(self._content.rejected):
            kept = row.get("content")
            record = kept.get("record") if isinstance(kept, dict) else None
            number = videos.get(record.get("video_id", "")) if isinstance(record, dict) else None
            if number is not None and row["table"] in ("chains", "dialogues"):
                self._videos[row["table"]].setdefault(row["record_id"], number)

    def _number_batches(self) -> tuple[list[int], list[int]]:
        """The batch of each video, and the number of videos of each batch."""
        joined = array("q", range(len(self._videos["videos"])))

        def first_of(video: int) -> int:
            while joined[video] != video:
                joined[video] = joined[joined[video]]
                video = joined[video]
            return video

        for row in _raw(self._content.linkages):
            one, two = (
                self._video_of(ref.get("unit", "chain"), ref["unit_id"]) for ref in (row["source"], row["target"])
            )
            if one is not None and two is not None:
                first, second = sorted((first_of(one), first_of(two)))
                joined[second] = first
        batches: list[int] = []
        sizes = [0]
        for video in range(len(joined)):
            if (first := first_of(video)) < video:
                batches.append(batches[first])
            else:
                if sizes[-1] >= TOGETHER:
                    sizes.append(0)
                batches.append(len(sizes) - 1)
            sizes[batches[-1]] += 1
        return batches, sizes

    def _share_work(self, session: Session) -> None:
        query = (
            select(QueueRow.task, UnitRow.id, UnitRow.target_table, UnitRow.target_id)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(UnitRow.state == DONE, UnitRow.gold.is_(None), QueueRow.task.not_in(MARKED))
            .order_by(QueueRow.position, UnitRow.position, UnitRow.id)
        )
        for kind, unit_id, table, name in session.execute(query.execution_options(yield_per=_AT_ONCE)):
            self._units[kind][self._batch(self._video_of_target(table or "", name or ""))].append(unit_id)
        approved = (
            select(LiveDialogueRow.id, UnitRow.video_id)
            .join(UnitRow, UnitRow.id == LiveDialogueRow.unit_id)
            .where(LiveDialogueRow.state == APPROVED)
            .order_by(LiveDialogueRow.created_at, LiveDialogueRow.id)
        )
        for row_id, video_id in session.execute(approved):
            video = self._videos["videos"].get(video_id or "")
            self._dialogues[self._batch(video)].append(row_id)
            if video is not None:
                self._videos["dialogues"].setdefault(collected_id(row_id), video)
        marked = (
            select(QueueRow.task, UnitRow.id, UnitRow.content)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(UnitRow.state == DONE, QueueRow.task.in_(MARKED))
            .order_by(QueueRow.position, UnitRow.position, UnitRow.id)
        )
        for kind, unit_id, content in session.execute(marked.execution_options(yield_per=_AT_ONCE)):
            self._units[kind][self._batch(self._video_of(content["unit"], content["id"]))].append(unit_id)

    def _share_rows(self, name: str) -> KeyIndex[int]:
        rows = enumerate(_raw(getattr(self._content, name)))
        return KeyIndex((self._batch(self._video_of_row(name, row)), place) for place, row in rows)

    def _batch(self, video: int | None) -> int:
        return len(self._sizes) - 1 if video is None else self._batches[video]

    def _video_of_row(self, table: str, row: Mapping[str, Any]) -> int | None:
        match table:
            case "videos":
                return self._videos["videos"][row["id"]]
            case "linkages" | "rewrites":
                source = (row if table == "linkages" else row["linkage"])["source"]
                return self._video_of(source.get("unit", "chain"), source["unit_id"])
            case "gates" | "tag_proposals" | "answers" | "scores":
                # Fields that equal their default are not stored.
                unit = row.get("unit", TABLES[table].record.model_fields["unit"].default)
                return self._video_of(unit, row["unit_id"])
            case "reviews":
                return self._video_of_target(row["target_table"], row["target_id"])
            case "rejected":
                return self._video_of_target(row["table"], row["record_id"])
        return self._videos["videos"].get(row["video_id"])

    def _video_of(self, unit: str, name: str) -> int | None:
        found = (self._videos[table].get(name) for table in UNITS_OF.get(unit, ()))
        return next((video for video in found if video is not None), None)

    def _video_of_target(self, table: str, name: str) -> int | None:
        if table == "linkages":
            # Two chains, with a slash between them; an id may contain one, too.
            chains = self._videos["chains"]
            ends = [
                (name[:at], name[at + 1 :]) for at, letter in enumerate(name) if letter == "/" and name[:at] in chains
            ]
            return next((chains[one] for one, two in ends if two in chains), chains[ends[0][0]] if ends else None)
        return self._videos[table].get(name) if table in self._videos else None


_AT_ONCE: Final = 500


def _raw(rows: Any) -> Iterator[dict[str, Any]]:
    found: Iterator[dict[str, Any]] = rows.raw()
    return found


class TableChanges(Generic[R]):
    """What changes in a table that stays in its file: rows that go, rows that are replaced, and rows at its end.

    Args:
        table: The table.
        folder: Folder of a temporary file for new rows.
    """

    def __init__(self, table: Table[R], folder: Path) -> None:
        self._rows = SpooledRows(table.record, folder)
        self._new: dict[int, int | None] = {}
        """By index in the table: the index of the row that replaces it in `_rows`; None if it goes."""
        self._added = array("q")

    def __bool__(self) -> bool:
        return bool(self._new or self._added)

    def add(self, before: Sequence[R], after: Sequence[R], places: Sequence[int]) -> None:
        """Take in what changed in some of the table's rows.

        Args:
            before: The rows as they were.
            after: The rows as they are, in the same order, and then new ones. A changed row is about the same record.
            places: KeyIndex of each of `before` in the table.
        """
        index_of = {id(row): index for index, row in enumerate(before)}
        follows = len(before)
        """KeyIndex of the next unchanged row after the place that is looked at."""
        ends: list[int] = []
        for row in reversed(after):
            ends.append(follows)
            follows = index_of.get(id(row), follows)
        at = 0
        for row, end in zip(after, reversed(ends), strict=True):
            known = index_of.get(id(row))
            if known is None:
                known = next((index for index in range(at, end) if owner_id(before[index]) == owner_id(row)), None)
                if known is None:
                    self._added.append(self._keep(row))
                    continue
                if row != before[known]:
                    self._new[places[known]] = self._keep(row)
            assert known >= at, "rows change places"
            self._new.update((places[index], None) for index in range(at, known))
            at = known + 1
        self._new.update((place, None) for place in places[at:])

    def rows(self, table: Sequence[R]) -> Iterator[R]:
        """All rows of the changed table.

        Args:
            table: Its rows before.
        """
        for place, row in enumerate(table):
            new = self._new.get(place, _SAME)
            if new == _SAME:
                yield row
            elif new is not None:
                yield self._rows[new]
        for index in self._added:
            yield self._rows[index]

    def _keep(self, row: R) -> int:
        self._rows.append(row)
        return len(self._rows) - 1


_SAME: Final = -1


def owner_id(row: Record) -> str:
    """Id of the record that a row is, or is about."""
    if isinstance(row, Linkage):
        return f"{row.source.unit_id}/{row.target.unit_id}"
    return str(getattr(row, "unit_id", None) or getattr(row, "id", ""))
