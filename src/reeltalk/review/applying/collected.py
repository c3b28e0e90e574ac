"""What people add that changes no turn: marks for answers, answers of their own, dialogues that pairs collected.

A dialogue comes in once it is approved. What became of it in the benchmark since, by review or by tagging, is kept.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.review.applying.next_revision import NextRevision
from reeltalk.review.outcomes import collected_dialogues, human_answers, human_scores
from reeltalk.review.tables import QueueRow
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.record import Record
from reeltalk.store.tables import ANSWERS, DIALOGUES, SCORES

R = TypeVar("R", bound=Record)

KINDS: Final = frozenset({"rating", "test", "collect"})
"""Kinds of work that add such rows."""


def add_collected(made: NextRevision, session: Session) -> None:
    """Add marks, answers and dialogues. Marks and answers of the same key are replaced by what people say now."""
    if not KINDS & set(session.scalars(select(QueueRow.task))):
        return
    content = made.content
    dialogues = _unreviewed(made, collected_dialogues(session))
    content.dialogues = _merged(made, "dialogues collected", content.dialogues, dialogues, DIALOGUES.key)
    turns: dict[tuple[str, str], int] = {("chain", row.id): len(row.turns) for row in content.chains}
    turns |= {("dialogue", row.id): len(row.turns) for row in content.dialogues}
    turns |= {("path", row.id): len(row.steps) for row in content.paths}

    def is_there(row: Any) -> bool:
        kinds = ("dialogue", "chain") if row.unit == "turn" else (row.unit,)
        count = next((turns[kind, row.unit_id] for kind in kinds if (kind, row.unit_id) in turns), None)
        return count is not None and (row.turn_index is None or row.turn_index < count)

    def present(rows: Iterable[R], words: str) -> Iterable[R]:
        for row in rows:
            if is_there(row):
                yield row
            else:
                made.counts[f"{words} about what the benchmark does not have"] += 1

    content.scores = _merged(made, "marks", content.scores, present(human_scores(session), "marks"), SCORES.key)
    answers = present(human_answers(session), "answers by people")
    content.answers = _merged(made, "answers by people", content.answers, answers, ANSWERS.key)


def _unreviewed(made: NextRevision, dialogues: Iterable[Dialogue]) -> Iterable[Dialogue]:
    """Those that are new, or were talked about anew before anybody reviewed them in the benchmark."""
    reviewed = {row.target_id for row in made.content.reviews if row.target_table == DIALOGUES.name}
    there = {row.id: row for row in made.content.dialogues}
    for row in dialogues:
        if row.id not in reviewed and (row.id not in there or _said(there[row.id]) != _said(row)):
            yield row


def _said(dialogue: Dialogue) -> list[tuple[str, tuple[str, ...]]]:
    return [(turn.question, turn.references) for turn in dialogue.turns]


def _merged(
    made: NextRevision, words: str, rows: list[R], more: Iterable[R], key: Callable[[R], str] | None
) -> list[R]:
    assert key is not None
    found = {key(row): row for row in rows}
    for row in more:
        if found.get(key(row)) != row:
            made.counts[words] += 1
        found[key(row)] = row
    return list(found.values())
