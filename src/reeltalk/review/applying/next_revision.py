"""The next revision while it is made: rows that change, reviews and rejections that are added, and what is counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from reeltalk.review.applying.settled import DoneUnit, Settled, when
from reeltalk.review.applying.verdicts import Verdict
from reeltalk.review.revisions import (
    PLACE,
    RESULT,
    SETTLED,
    TASK,
    WORDING,
    WRITTEN,
    History,
    latest_revision,
    wording_hash,
)
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import Json, Record
from reeltalk.schema.review import FieldEdit, Review
from reeltalk.store.content import Content

UnitTable = Literal["chains", "dialogues"]
Key = tuple[str, str]
"""Table and id of a chain or dialogue."""
TABLE_OF: Final[Mapping[str, UnitTable]] = {"chain": "chains", "dialogue": "dialogues"}
"""Tables by the word that references use."""


@dataclass
class NextRevision:
    """A benchmark's rows as they become."""

    before: Content
    content: Content
    history: History
    number: int
    """Of this revision, from 1."""
    places: dict[Key, list[int]] = field(default_factory=dict)
    """The turns that each chain and dialogue has now, by their places in the first draft."""
    earlier_places: dict[Key, list[int]] = field(default_factory=dict)
    """The same before this revision."""
    reworded: dict[tuple[str, str, int], Turn] = field(default_factory=dict)
    """Turns of which the wording changed, as they were, by table, id and place."""
    gone: set[Key] = field(default_factory=set)
    """Chains and dialogues of which no turn is left."""
    counts: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    """Work that cannot be applied, and why."""
    _about: dict[str, dict[tuple[str, str], list[Any]]] = field(default_factory=dict)

    @classmethod
    def after(cls, content: Content) -> "NextRevision":
        """The start: all as it is."""
        fresh = replace(content)
        for name, rows in content.rows():
            setattr(fresh, name, list(rows))
        history = History(content.reviews)
        made = cls(content, fresh, history, latest_revision(content.reviews) + 1)
        units: tuple[tuple[UnitTable, Sequence[QAChain | Dialogue]], ...] = (
            ("chains", content.chains),
            ("dialogues", content.dialogues),
        )
        for table, found in units:
            for unit in found:
                first = len(unit.turns) + history.removed(table, unit.id)
                made.earlier_places[table, unit.id] = history.kept(table, unit.id, first)
        made.places = {key: list(places) for key, places in made.earlier_places.items()}
        return made

    def snapshot_places(self, table: str, name: str, turns: int, revision: int) -> list[int]:
        """The places in the first draft of the turns that a unit's snapshot shows.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many turns the snapshot shows.
            revision: Of the benchmark when it was taken.
        """
        first = turns + self.history.removed(table, name, revision)
        return self.history.kept(table, name, first, revision)

    def now(self, table: str, name: str, place: int) -> int | None:
        """Index of a turn of the first draft in this revision; None where it is not there."""
        places = self.places.get((table, name), [])
        return places.index(place) if place in places else None

    def moved(self, table: str, name: str, index: int) -> int | None:
        """Index in this revision of a turn that the benchmark had before; None where it was taken out."""
        earlier = self.earlier_places.get((table, name))
        if earlier is None or index >= len(earlier):
            return None
        if earlier == self.places.get((table, name)):
            return index
        return self.now(table, name, earlier[index])

    def rows_about(self, table: str, unit: str, name: str) -> Sequence[Any]:
        """Rows of gates or of tag proposals about a chain or dialogue and its turns, as they were before."""
        if table not in self._about:
            found: dict[tuple[str, str], list[Any]] = defaultdict(list)
            for row in getattr(self.before, table):
                found[row.unit, row.unit_id].append(row)
            self._about[table] = found
        return self._about[table].get((unit, name), ())

    def reject(
        self, table: str, record_id: str, reason: str, content: Json | Record, *, place: str | None = None
    ) -> None:
        """Keep what is taken out, with the reason."""
        stored = content.model_dump(mode="json", exclude_defaults=True) if isinstance(content, Record) else content
        self.content.rejected.append(
            Rejected(table=table, record_id=record_id, reason=reason, place=place, content=stored)
        )
        self.counts[f"{table} taken out"] += 1

    def review(
        self,
        unit: DoneUnit,
        verdicts: Iterable[Verdict],
        *,
        place: int | str,
        settled: Settled | None = None,
        worded: Turn | None = None,
        effects: Sequence[FieldEdit] = (),
    ) -> None:
        """Keep who decided what.

        Args:
            unit: Where.
            verdicts: One for each person.
            place: Which turn of the first draft, or which other place.
            settled: What counted.
            worded: The turn, where its wording was settled.
            effects: What else changed in the record by it.
        """
        for verdict in verdicts:
            said, extra = verdict.said, {TASK: unit.kind, PLACE: place, WRITTEN: self.number}
            if verdict.counts and settled is not None:
                extra |= {SETTLED: settled.how, RESULT: settled.hash}
                if worded is not None:
                    extra[WORDING] = wording_hash(worded)
            self.content.reviews.append(
                Review(
                    extra=extra,
                    target_table=unit.target_table,
                    target_id=unit.target_id,
                    revision=unit.revision,
                    reviewer=verdict.reviewer,
                    decision=said.decision,
                    reasons=tuple(said.reasons),
                    edits=(*said.edits, *(effects if verdict.counts else ())),
                    comment=verdict.comment,
                    created_at=when(verdict.at),
                )
            )
