"""Work that changes no turn: people's ratings, people's answers, and the dialogues that pairs collected.

Collected dialogues are added once they are approved. Later changes to them in the benchmark, by review or by tagging,
are kept.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import DialogueId, Json, Record, VideoId, derive_id
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.schema.turn_sense import Film
from reeltalk.store.tables import ANSWERS, DIALOGUES, SCORES, Table
from reeltalk_review.applying.next_revision import ChangedRows, NextRevision
from reeltalk_review.assigning import ANNOTATOR
from reeltalk_review.collecting import approved_dialogues, collected_turn
from reeltalk_review.settling import DONE
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.tasks.rating import WHOLE

HUMAN: Final = "human"


def human_scores(session: Session) -> Iterator[JudgedScore]:
    """Every mark that people gave, in the form that `reeltalk calibrate` reads. The judge is `human:NAME`.

    Marks of incomplete units are left out: until a unit is complete nobody sees another's marks.
    """
    for person, unit, values in _submitted(session, "rating"):
        content = unit.content
        criteria = {row["name"] for row in content["scale"]["criteria"]}
        for place, value in values.items():
            for name, mark in value["marks"].items():
                if name not in criteria:
                    continue
                yield JudgedScore(
                    unit=content["unit"] if place == WHOLE else "turn",
                    unit_id=content["id"],
                    turn_index=None if place == WHOLE else int(place),
                    model=content["model"],
                    criterion=name,
                    value=mark,
                    state=ScoreState.NOT_APPLICABLE if mark is None else ScoreState.SCORED,
                    reason="does not apply, as the person says" if mark is None else None,
                    explanation=value["note"] or None,
                    judge=f"{HUMAN}:{person.name}",
                    video_id=VideoId(unit.video_id) if unit.video_id is not None else None,
                )


def human_answers(session: Session) -> Iterator[Answer]:
    """People's answers to the test. The first to submit a unit is the model `human`, the second `human 2`, and so on.

    People answer different units, so one model for each person would compare different questions.
    """
    place_of: dict[str, int] = defaultdict(int)
    for _, unit, values in _submitted(session, "test"):
        place_of[unit.id] += 1
        number = place_of[unit.id]
        for place, value in sorted(values.items(), key=lambda item: int(item[0])):
            options = unit.content["turns"][int(place)]["options"]
            chosen = options[value["choice"]] if options and value["choice"] is not None else None
            yield Answer(
                model=HUMAN if number == 1 else f"{HUMAN} {number}",
                unit=unit.content["unit"],
                unit_id=unit.content["id"],
                turn_index=int(place),
                text=chosen if chosen is not None else value["text"],
            )


def collected_id(row_id: str) -> DialogueId:
    """Identifier in a benchmark of a dialogue of the table `live_dialogues`."""
    return DialogueId(derive_id("dialogue", "collected", row_id))


def collected_dialogues(session: Session) -> Iterator[Dialogue]:
    """Approved dialogues of pairs, as records of a benchmark."""
    for row, unit, messages in approved_dialogues(session):
        film = Film(**unit.content["film"])
        if unit.video_id is None:
            continue
        yield Dialogue(
            id=collected_id(row.id),
            video_id=VideoId(unit.video_id),
            task="collected",
            turns=tuple(
                collected_turn([question.text, answer.text], map(Interval.model_validate, answer.evidence), film)
                for question, answer in zip(messages[::2], messages[1::2], strict=False)
            ),
            extra={"collected": {"investigator": row.investigator_id, "correspondent": row.correspondent_id}},
        )


def _submitted(session: Session, task: str) -> Iterator[tuple[PersonRow, UnitRow, dict[str, Json]]]:
    query = (
        select(AssignmentRow, UnitRow, PersonRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .join(PersonRow, PersonRow.id == AssignmentRow.person_id)
        .where(
            QueueRow.task == task,
            UnitRow.state == DONE,
            AssignmentRow.role == ANNOTATOR,
            AssignmentRow.state == "submitted",
        )
        .order_by(QueueRow.position, UnitRow.position, AssignmentRow.submitted_at, AssignmentRow.id)
    )
    for assignment, unit, person in session.execute(query):
        rows = session.scalars(select(EntryRow).where(EntryRow.assignment_id == assignment.id).order_by(EntryRow.place))
        yield person, unit, {row.place: row.value for row in rows if row.value is not None}


R = TypeVar("R", bound=Record)


def add_collected(made: NextRevision, session: Session) -> None:
    """Add marks, answers and dialogues. New marks and answers replace earlier ones of the same key."""
    _merge(made, "dialogues collected", made.dialogues, _unreviewed(made, collected_dialogues(session)), DIALOGUES)
    for words, rows, more, table in (
        ("marks", made.scores, human_scores(session), SCORES),
        ("answers by people", made.answers, human_answers(session), ANSWERS),
    ):
        _merge(made, words, rows, _present(made, words, more), table)


def _unreviewed(made: NextRevision, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
    """Dialogues that are new, or that changed before anybody reviewed them in the benchmark."""
    for row in dialogues:
        key = (DIALOGUES.name, row.id)
        if made.is_reviewed(key):
            continue
        made.lengths[key] = len(row.turns)
        there = made.unit(key)
        if there is None or _turn_contents(there) != _turn_contents(row):
            yield row


def _turn_contents(dialogue: Dialogue) -> list[tuple[Json, ...]]:
    return [(turn.question, turn.references, turn.evidence) for turn in dialogue.turns]


def _present(made: NextRevision, words: str, rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        key = made.key_of(row.unit, row.unit_id)
        if key in made.lengths and (row.turn_index or 0) < made.lengths[key]:
            yield row
        else:
            made.counts[f"{words} about what the benchmark does not have"] += 1


def _merge(made: NextRevision, words: str, rows: ChangedRows[R], more: Iterable[R], table: Table[R]) -> None:
    """Put rows in the places of those of the same key, or at the end."""
    assert table.key is not None
    new = {table.key(row): row for row in more}
    for place, row in rows.numbered() if new else ():
        found = new.pop(table.key(row), row)
        if found != row:
            made.counts[words] += 1
            rows.put(place, found)
    for row in new.values():
        made.counts[words] += 1
        rows.append(row)
