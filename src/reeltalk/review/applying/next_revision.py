"""The next revision of a benchmark while it is built: changed rows, added reviews and rejections, and counts.

Each time reviews are applied, the benchmark's revision grows by one. Every settled place adds a `Review` whose `extra`
holds the turn's place in the first draft and what the turn became. So the benchmark alone tells which turns review took
out or rewrote; nobody needs the database to know what was applied.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from reeltalk.review.applying.settled import DoneUnit, PersonReview, SettledPlace, parse_moment, value_hash
from reeltalk.review.importing import WRITTEN, latest_revision
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import Json, Record
from reeltalk.schema.review import Decision, FieldEdit, Review
from reeltalk.store.content import Content

TASK: Final = "task"
"""Key in a review's `extra`: the kind of work."""
TURNS: Final = "turns"
PLACE: Final = "place"
"""The turn's index in the first draft, from 0; or another name of a place."""
WORDING: Final = "wording"
"""Hash of the turn's new wording, if the review settled and changed it."""
RESULT: Final = "result"
"""Hash of the settled value. It tells that the value was applied."""
SETTLED: Final = "settled"
"""How the place was settled; only in the one review of a place that counted."""


def wording_hash(turn: Turn) -> str:
    """Identifies a turn by its wording; labels and checks may change meanwhile."""
    stored = turn.model_dump(mode="json")
    return value_hash({name: stored[name] for name in WORDED})


WORDED: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option")
"""Fields of a turn's wording: all that people edit except labels."""


@dataclass(frozen=True)
class TurnRevision:
    """What one revision did to a turn."""

    revision: int
    is_kept: bool
    wording: str | None
    """Hash of the new wording; None if it did not change."""


class ReviewHistory:
    """What reviews did to the turns of each chain and dialogue.

    Args:
        reviews: The benchmark's table.
    """

    def __init__(self, reviews: Iterable[Review]) -> None:
        self._steps: dict[tuple[str, str], dict[int, list[TurnRevision]]] = defaultdict(lambda: defaultdict(list))
        self._results: dict[tuple[str, str, str, str], str] = {}
        for review in reviews:
            extra = review.extra
            if SETTLED not in extra:
                continue
            task, place, target = str(extra.get(TASK)), extra.get(PLACE), (review.target_table, review.target_id)
            self._results[task, *target, str(place)] = str(extra.get(RESULT))
            if task == TURNS and isinstance(place, int):
                self._steps[target][place].append(
                    TurnRevision(int(extra.get(WRITTEN, 0)), review.decision is not Decision.REJECT, extra.get(WORDING))
                )

    def kept(self, table: str, name: str, turns: int, revision: int | None = None) -> list[int]:
        """The turns of the first draft that a chain or dialogue still has, in order, as indices into the first draft.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many turns the first draft had, or more.
            revision: The revision; the latest by default.
        """
        steps: Mapping[int, Sequence[TurnRevision]] = self._steps.get((table, name), {})
        found = []
        for place in range(turns):
            past = [step for step in steps.get(place, ()) if revision is None or step.revision <= revision]
            if not past or past[-1].is_kept:
                found.append(place)
        return found

    def removed(self, table: str, name: str, revision: int | None = None) -> int:
        """How many turns of the first draft a chain or dialogue has lost."""
        steps: Mapping[int, Sequence[TurnRevision]] = self._steps.get((table, name), {})
        pasts = [[step for step in past if revision is None or step.revision <= revision] for past in steps.values()]
        return sum(bool(past) and not past[-1].is_kept for past in pasts)

    def wording(self, table: str, name: str, place: int) -> str | None:
        """Hash of the last wording that a review gave a turn; None if there is none."""
        past = self._steps.get((table, name), {}).get(place, ())
        return next((step.wording for step in reversed(past) if step.wording), None)

    def result(self, task: str, table: str, name: str, place: int | str) -> str | None:
        """Hash of the last settled value of a place for one kind of work; None if nothing was applied."""
        return self._results.get((task, table, name, str(place)))


UnitTable = Literal["chains", "dialogues"]
Key = tuple[str, str]
"""Table and id of a chain or dialogue."""
TABLE_OF: Final[Mapping[str, UnitTable]] = {"chain": "chains", "dialogue": "dialogues"}
"""Tables by the word in references."""


@dataclass
class NextRevision:
    """A benchmark's rows while they change."""

    before: Content
    content: Content
    history: ReviewHistory
    number: int
    """Number of this revision, from 1."""
    places: dict[Key, list[int]] = field(default_factory=dict)
    """The turns that each chain and dialogue now has, as indices into the first draft."""
    earlier_places: dict[Key, list[int]] = field(default_factory=dict)
    """The same before this revision."""
    reworded: dict[tuple[str, str, int], Turn] = field(default_factory=dict)
    """Turns with a new wording, as they were before, by table, id and place."""
    gone: set[Key] = field(default_factory=set)
    """Chains and dialogues without any turn left."""
    counts: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    """Work that cannot be applied, and why."""
    _about: dict[str, dict[tuple[str, str], list[Any]]] = field(default_factory=dict)

    @classmethod
    def after(cls, content: Content) -> "NextRevision":
        """The start: everything unchanged."""
        fresh = replace(content)
        for name, rows in content.rows():
            setattr(fresh, name, list(rows))
        history = ReviewHistory(content.reviews)
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
        """The turns of a unit's snapshot, as indices into the first draft.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many turns the snapshot shows.
            revision: Revision of the benchmark when it was taken.
        """
        first = turns + self.history.removed(table, name, revision)
        return self.history.kept(table, name, first, revision)

    def now(self, table: str, name: str, place: int) -> int | None:
        """Index in this revision of a turn of the first draft; None if it is gone."""
        places = self.places.get((table, name), [])
        return places.index(place) if place in places else None

    def moved(self, table: str, name: str, index: int) -> int | None:
        """Index in this revision of a turn that the benchmark had before; None if it was taken out."""
        earlier = self.earlier_places.get((table, name))
        if earlier is None or index >= len(earlier):
            return None
        if earlier == self.places.get((table, name)):
            return index
        return self.now(table, name, earlier[index])

    def rows_about(self, table: str, unit: str, name: str) -> Sequence[Any]:
        """Earlier rows of gates or tag proposals about a chain or dialogue and its turns."""
        if table not in self._about:
            found: dict[tuple[str, str], list[Any]] = defaultdict(list)
            for row in getattr(self.before, table):
                found[row.unit, row.unit_id].append(row)
            self._about[table] = found
        return self._about[table].get((unit, name), ())

    def reject(
        self, table: str, record_id: str, reason: str, content: Json | Record, *, place: str | None = None
    ) -> None:
        """Keep a removed row, with the reason."""
        stored = content.model_dump(mode="json", exclude_defaults=True) if isinstance(content, Record) else content
        self.content.rejected.append(
            Rejected(table=table, record_id=record_id, reason=reason, place=place, content=stored)
        )
        self.counts[f"{table} taken out"] += 1

    def review(
        self,
        unit: DoneUnit,
        verdicts: Iterable[PersonReview],
        *,
        place: int | str,
        settled: SettledPlace | None = None,
        worded: Turn | None = None,
        effects: Sequence[FieldEdit] = (),
    ) -> None:
        """Add the reviews of a place: who decided what.

        Args:
            unit: The unit.
            verdicts: One for each person.
            place: The turn's index in the first draft, or another place.
            settled: The settled value.
            worded: The turn, if its wording was settled.
            effects: Other changes that this caused in the record.
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
                    created_at=parse_moment(verdict.at),
                )
            )
