"""Which revision a benchmark is at, and where the turns of an earlier one stand now.

Each time that reviews are applied, the benchmark's revision grows by one. Every settled place leaves a `Review` whose
`extra` names the place of its turn in the first draft, and what the turn became. So a benchmark alone tells which turns
were taken out of a chain and which were written by review, and no database is needed to know what was applied.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.review.tables import EventRow, ProjectRow, canonical
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, Review
from reeltalk.store.manifest import Manifest

APPLIED: Final = "review apply"
"""The stage that a table is written by when reviews are applied."""
TASK: Final = "task"
"""Of which kind of work a review is, in its `extra`."""
TURNS: Final = "turns"
WRITTEN: Final = "written"
"""Which revision it led to."""
PLACE: Final = "place"
"""Which turn of the first draft it is of, from 0; or another name of a place."""
WORDING: Final = "wording"
"""Hash of the wording that the turn got, where the review was settled and changed it."""
RESULT: Final = "result"
"""Hash of what was settled, by which it is known that it was applied."""
SETTLED: Final = "settled"
"""How it was settled; only in the one review of a place whose decision counted."""


def latest_revision(reviews: Iterable[Review]) -> int:
    """How often reviews have been applied to a benchmark."""
    return max((int(review.extra.get(WRITTEN, 0)) for review in reviews), default=0)


def is_of_project(session: Session, project: ProjectRow, manifest: Manifest) -> bool:
    """True where all that changed in a benchmark since it was loaded was written by applying this project's reviews."""
    before = project.files or {}
    changed = [entry for name, entry in manifest.files.items() if before.get(name, entry.sha256) != entry.sha256]
    changed += [entry for name, entry in manifest.files.items() if name.endswith(".jsonl") and name not in before]
    if not changed or any(entry.stage != APPLIED for entry in changed):
        return False
    heads = {(entry.settings.get("events"), entry.settings.get("head")) for entry in changed}
    return all(
        isinstance(seq, int) and session.scalars(select(EventRow.hash).where(EventRow.seq == seq)).one_or_none() == head
        for seq, head in heads
    )


def short_hash(value: Json) -> str:
    """64 bits of the SHA-256 of canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def wording_hash(turn: Turn) -> str:
    """By which a turn is known again as the one that review wrote; its labels and checks may change meanwhile."""
    stored = turn.model_dump(mode="json")
    return short_hash({name: stored[name] for name in WORDED})


WORDED: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option")
"""What of a turn its wording is: all that people edit but the labels."""


@dataclass(frozen=True)
class Step:
    """What one revision did to a turn."""

    revision: int
    is_kept: bool
    wording: str | None
    """Hash of the wording that it got; None where it was left as it was."""


class History:
    """What reviews did to the turns of each chain and dialogue.

    Args:
        reviews: The benchmark's table.
    """

    def __init__(self, reviews: Iterable[Review]) -> None:
        self._steps: dict[tuple[str, str], dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
        self._results: dict[tuple[str, str, str, str], str] = {}
        for review in reviews:
            extra = review.extra
            if SETTLED not in extra:
                continue
            task, place, target = str(extra.get(TASK)), extra.get(PLACE), (review.target_table, review.target_id)
            self._results[task, *target, str(place)] = str(extra.get(RESULT))
            if task == TURNS and isinstance(place, int):
                self._steps[target][place].append(
                    Step(int(extra.get(WRITTEN, 0)), review.decision is not Decision.REJECT, extra.get(WORDING))
                )

    def kept(self, table: str, name: str, turns: int, revision: int | None = None) -> list[int]:
        """The turns of the first draft that a chain or dialogue has, in order, by their place there.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many the first draft had, or more.
            revision: At which revision; the latest by default.
        """
        steps: Mapping[int, Sequence[Step]] = self._steps.get((table, name), {})
        found = []
        for place in range(turns):
            past = [step for step in steps.get(place, ()) if revision is None or step.revision <= revision]
            if not past or past[-1].is_kept:
                found.append(place)
        return found

    def removed(self, table: str, name: str, revision: int | None = None) -> int:
        """How many turns of the first draft a chain or dialogue has no longer."""
        steps: Mapping[int, Sequence[Step]] = self._steps.get((table, name), {})
        pasts = [[step for step in past if revision is None or step.revision <= revision] for past in steps.values()]
        return sum(bool(past) and not past[-1].is_kept for past in pasts)

    def wording(self, table: str, name: str, place: int) -> str | None:
        """Hash of a turn's wording as a review wrote it last; None where none did."""
        past = self._steps.get((table, name), {}).get(place, ())
        return next((step.wording for step in reversed(past) if step.wording), None)

    def result(self, task: str, table: str, name: str, place: int | str) -> str | None:
        """Hash of what was settled last about a place, of one kind of work; None where nothing was applied."""
        return self._results.get((task, table, name, str(place)))
