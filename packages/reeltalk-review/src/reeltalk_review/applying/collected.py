"""Work that changes no turn: people's ratings, people's answers, and the dialogues that pairs collected.

Collected dialogues are added once they are approved. Later changes to them in the benchmark, by review or by tagging,
are kept.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import DialogueId, Json, Record, VideoId, derive_id
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.schema.turn_sense import Film
from reeltalk.store.tables import ANSWERS, DIALOGUES, SCORES
from reeltalk_review.applying.next_revision import BATCH, NextRevision
from reeltalk_review.assigning import ANNOTATOR
from reeltalk_review.collecting import approved_dialogues, collected_turn
from reeltalk_review.settling import DONE
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.tasks.rating import WHOLE

HUMAN: Final = "human"
MARKED: Final = ("rating", "test")
"""Kinds of work that add marks or answers."""


def human_scores(session: Session, among: Sequence[str] | None = None) -> Iterator[JudgedScore]:
    """Every mark that people gave, in the form that `reeltalk calibrate` reads. The judge is `human:NAME`.

    Marks of incomplete units are left out: until a unit is complete nobody sees another's marks.

    Args:
        session: The database.
        among: Ids of the units whose marks are read, in the order of their queues; by default all.
    """
    for person, unit, values in _submitted(session, "rating", among):
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


def human_answers(session: Session, among: Sequence[str] | None = None) -> Iterator[Answer]:
    """People's answers to the test. The first to submit a unit is the model `human`, the second `human 2`, and so on.

    People answer different units, so one model for each person would compare different questions.

    Args:
        session: The database.
        among: Ids of the units whose answers are read, in the order of their queues; by default all.
    """
    place_of: dict[str, int] = defaultdict(int)
    for _, unit, values in _submitted(session, "test", among):
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


def collected_dialogues(session: Session, among: Sequence[str] | None = None) -> Iterator[Dialogue]:
    """Approved dialogues of pairs, as records of a benchmark.

    Args:
        session: The database.
        among: Ids of those that are read; by default all.
    """
    for row, unit, messages in approved_dialogues(session, among):
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


def _submitted(
    session: Session, task: str, among: Sequence[str] | None
) -> Iterator[tuple[PersonRow, UnitRow, dict[str, Json]]]:
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
    for some in _batched(among):
        for assignment, unit, person in session.execute(query if some is None else query.where(UnitRow.id.in_(some))):
            rows = session.scalars(
                select(EntryRow).where(EntryRow.assignment_id == assignment.id).order_by(EntryRow.place)
            )
            yield person, unit, {row.place: row.value for row in rows if row.value is not None}


def _batched(ids: Sequence[str] | None) -> Iterator[Sequence[str] | None]:
    """Some ids at a time, as a database takes only so many values; None once for all rows."""
    if ids is None:
        yield None
    else:
        yield from (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


R = TypeVar("R", bound=Record)


def add_collected(
    made: NextRevision, session: Session, units: Mapping[str, Sequence[str]], dialogues: Sequence[str]
) -> None:
    """Add marks, answers and dialogues. New marks and answers replace earlier ones of the same key.

    Args:
        made: The revision.
        session: The database.
        units: Ids of finished units by the kind of work, in the order of their queues.
        dialogues: Ids of approved dialogues of pairs.
    """
    rated, tested = (units.get(kind, ()) for kind in MARKED)
    if not (rated or tested or dialogues):
        return
    content = made.content
    collected = _unreviewed(made, collected_dialogues(session, dialogues))
    content.dialogues = _merged(made, "dialogues collected", content.dialogues, collected, DIALOGUES.key)
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

    content.scores = _merged(made, "marks", content.scores, present(human_scores(session, rated), "marks"), SCORES.key)
    answers = present(human_answers(session, tested), "answers by people")
    content.answers = _merged(made, "answers by people", content.answers, answers, ANSWERS.key)


def _unreviewed(made: NextRevision, dialogues: Iterable[Dialogue]) -> Iterable[Dialogue]:
    """Dialogues that are new, or that changed before anybody reviewed them in the benchmark."""
    reviewed = {row.target_id for row in made.content.reviews if row.target_table == DIALOGUES.name}
    there = {row.id: row for row in made.content.dialogues}
    for row in dialogues:
        if row.id not in reviewed and (row.id not in there or _said(there[row.id]) != _said(row)):
            yield row


def _said(dialogue: Dialogue) -> list[tuple[Json, ...]]:
    return [(turn.question, turn.references, turn.evidence) for turn in dialogue.turns]


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
