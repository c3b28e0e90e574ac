"""What a table of units needs to know of each unit's content: the words by which it is found, and its flagged turns.

Rows of units are too large to be read for a list, so this is stored when a unit is new or renewed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from sqlalchemy import delete, exists, insert, select, update
from sqlalchemy.orm import Session

from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.record import Json
from reeltalk_review.tables import EventRow, QueueRow, UnitRow, UnitWordsRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.turns import UNIT

BATCH: Final = 100
"""Units whose content is read at a time: a unit may take tens of KiB."""
LONGEST_WORDS: Final = 20_000
"""Characters of the words of a unit."""
_TEXTS: Final = ("question", "references", "options", "answer")
_PARTS: Final = ("before", "after")
"""The two chains of a unit of links."""


def describe_units(session: Session) -> int:
    """Store the words, the flagged turns and the number of disputes of all units that have no words yet.

    Returns:
        The number of such units.
    """
    lacking = ~exists().where(UnitWordsRow.unit_id == UnitRow.id)
    tasks = {queue_id: kind for queue_id, kind in session.execute(select(QueueRow.id, QueueRow.task))}
    shown = (UnitRow.id, UnitRow.queue_id, UnitRow.title, UnitRow.video_id, UnitRow.target_id)
    described, last = 0, ""
    following = select(UnitRow.id).where(lacking).order_by(UnitRow.id).limit(BATCH)
    while some := list(session.scalars(following.where(UnitRow.id > last))):
        described, last = described + len(some), some[-1]
        words, facts = [], []
        disputes = _disputes(session, some)
        for row in session.execute(select(*shown, UnitRow.content).where(UnitRow.id.in_(some))):
            found = search_words(tasks[row.queue_id], (row.title, row.video_id, row.target_id), row.content)
            words.append({"unit_id": row.id, "words": found})
            facts.append({"id": row.id, "flags": flagged_turns(row.content), "disputed": disputes.get(row.id, 0)})
        session.execute(insert(UnitWordsRow), words)
        session.execute(update(UnitRow), facts)
    return described


def forget_words(session: Session, unit_ids: Iterable[str]) -> None:
    """Forget the words of units that change or go."""
    wanted = list(unit_ids)
    for start in range(0, len(wanted), BATCH):
        session.execute(delete(UnitWordsRow).where(UnitWordsRow.unit_id.in_(wanted[start : start + BATCH])))


def search_words(kind: str, names: Iterable[str | None], content: Mapping[str, Json]) -> str:
    """The words by which a unit is found, in the form in which they are compared.

    Args:
        kind: The kind of work. Of units whose questions appear one by one, only the visible ones count.
        names: The unit's names.
        content: The unit's content.
    """
    task = TASKS.get(kind)
    shown = task.visible_content(content, {}) if task is not None else content
    return "\n".join(map(searched, [*(name for name in names if name), *_texts(shown)]))[:LONGEST_WORDS]


def searched(text: str) -> str:
    """A text in the form in which words are compared: without case, with single spaces."""
    return " ".join(text.casefold().split())


def flagged_turns(content: Mapping[str, Json]) -> int:
    """Number of turns that a check of construction flagged."""
    return sum(
        any(check["outcome"] == GateOutcome.FLAGGED for check in found)
        for part in _parts(content)
        for place, found in part.get("checks", {}).items()
        if place != UNIT
    )


def _texts(content: Mapping[str, Json]) -> Iterator[str]:
    for part in _parts(content):
        for turn in part.get("turns", ()):
            for name in _TEXTS:
                found = turn.get(name)
                yield from [found] if isinstance(found, str) else (found or ())


def _parts(content: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    return [content, *(content[name] for name in _PARTS if isinstance(content.get(name), dict))]


def _disputes(session: Session, unit_ids: Collection[str]) -> dict[str, int]:
    """The number of disputed places of each unit that was ever complete, when it was complete last."""
    completed = select(EventRow.subject, EventRow.after).where(
        EventRow.subject.in_(unit_ids), EventRow.kind == "complete"
    )
    found = session.execute(completed.order_by(EventRow.seq))
    return {unit_id: after.get("differing", len(after["disputed"])) for unit_id, after in found if after is not None}
