"""People who work on units without a browser, and a benchmark in which everything points at turns."""

import random
import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import (
    AnswerKey,
    Checklist,
    ChecklistItem,
    Dialogue,
    DialoguePath,
    Linkage,
    PathStep,
    QAChain,
    Turn,
    TurnRef,
)
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import TagProposal
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import derive_id
from reeltalk.schema.rewriting import Rewrite
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk_review import assigning, work
from reeltalk_review.collecting import (
    CollectSettings,
    add_pair,
    begin_dialogue,
    collecting_drafts,
    finish_dialogue,
    judge_dialogue,
    say_in_dialogue,
)
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.people import sign_in_name
from reeltalk_review.settling import disputed_places, submitted_works
from reeltalk_review.tables import AssignmentRow, PersonRow, UnitRow
from reeltalk_review.tasks.registry import TASKS


def turn(text: str, begins_s: float = 0.0, **values: Any) -> Turn:
    """A turn that a graph wrote, about a clip that begins at some time."""
    extra = {"kind": "why", "answer_key": "open|fridge", "params": {"event": 2}, "tags_verified": False}
    return Turn(
        question=f"{text}?",
        references=(f"{text}.",),
        asked_at_s=begins_s + 9.0,
        evidence=(Interval(start_s=begins_s + 1.0, end_s=begins_s + 2.0),),
        labels={"vdact.question_type": ("EXP",)},
        key=AnswerKey(type="action", values=("open|fridge",)),
        extra=extra,
        **values,
    )


def ref(chain: str, index: int) -> TurnRef:
    """A turn of a chain."""
    return TurnRef(unit_id=chain, turn_index=index)


def full_content() -> Content:
    """One video, chains a, b and c of three turns, links, paths, checks, proposals, answers and scores about them."""
    content = Content()
    content.videos.append(Video(id="film", duration_s=30.0, split="test"))
    for number, name in enumerate("abc"):
        content.clips.append(
            Clip(id=f"clip-{name}", video_id="film", interval=Interval(start_s=10.0 * number, end_s=10.0 * number + 10))
        )
        turns = tuple(turn(f"{name}{index}", 10.0 * number) for index in range(3))
        content.chains.append(QAChain(id=name, video_id="film", clip_id=f"clip-{name}", turns=turns))
        for index in range(3):
            for gate, outcome in (("gates:lint", GateOutcome.PASSED), ("gates:leak.blind", GateOutcome.FLAGGED)):
                content.gates.append(
                    GateResult(gate=gate, unit="chain", unit_id=name, turn_index=index, outcome=outcome)
                )
            content.tag_proposals.append(
                TagProposal(
                    unit="chain",
                    unit_id=name,
                    turn_index=index,
                    vocabulary="cogme.target",
                    tags=("Object",),
                    tagger="model:x#1f2e3d4c",
                )
            )
            content.answers.append(
                Answer(model="m", unit="chain", unit_id=name, turn_index=index, text=f"said {name}{index}")
            )
            content.scores.append(
                JudgedScore(
                    unit="turn", unit_id=name, turn_index=index, model="m", criterion="right", value=1.0, judge="j"
                )
            )
    content.gates.append(GateResult(gate="gates:chain", unit="chain", unit_id="b", outcome=GateOutcome.PASSED))
    content.dialogues.append(
        Dialogue(
            id="talk",
            video_id="film",
            clip_ids=("clip-a",),
            turns=(
                turn("t0", checklist=Checklist(items=(ChecklistItem(question="is it t0?", expected=True),))),
                turn("t1"),
            ),
        )
    )
    for source, target, relation in (
        (ref("a", 2), ref("b", 0), "Events"),
        (ref("a", 0), ref("b", 1), "Plots"),
        (ref("b", 2), ref("c", 1), "Characters"),
    ):
        linkage = Linkage(source=source, target=target, relation=relation, extra={"writer": "graph"})
        content.linkages.append(linkage)
        content.rewrites.append(
            Rewrite(
                id=f"rewrite-{relation}",
                linkage=linkage,
                method=f"{relation}/x",
                skill="STS",
                draft=turn("draft"),
                coherent=True,
                writer="graph",
            )
        )
    walks = {
        "along": [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2), ("c", 1), ("c", 2)],
        "plain": [(name, index) for name in "abc" for index in range(3)],
        "jump": [("a", 0), ("b", 1), ("b", 2), ("c", 0), ("c", 1), ("c", 2)],
    }
    for name, steps in walks.items():
        content.paths.append(
            DialoguePath(
                id=name, video_id="film", steps=tuple(PathStep(ref=ref(chain, index)) for chain, index in steps)
            )
        )
        content.answers.append(Answer(model="m", unit="path", unit_id=name, turn_index=1, text="on a path"))
    return content


def member(project: ReviewProject, name: str, role: str = "annotator") -> str:
    """Somebody new, who cannot sign in; their id."""
    with transaction(project.database, OPERATOR) as change:
        row = PersonRow(
            id=secrets.token_hex(8),
            name=name,
            sign_in=sign_in_name(name),
            role=role,
            created_at=change.at,
        )
        change.session.add(row)
        change.record("join", row.id, after={"name": name, "role": role})
    return row.id


def unit_id(task: str, table: str, name: str) -> str:
    """The unit about a record."""
    return derive_id("unit", task, table, name)


def decide(
    project: ReviewProject,
    person: str,
    unit: str,
    values: Mapping[str, Any],
    *,
    role: str = "annotator",
    submit: bool = True,
) -> str:
    """Let somebody take a unit, save values at its places, and submit; the assignment's id."""
    with transaction(project.database, person) as change:
        row = change.session.get_one(UnitRow, unit)
        found = change.session.query(AssignmentRow).filter_by(unit_id=unit, person_id=person, role=role).one_or_none()
        assignment = found or assigning.take_unit(change, row, person, role, lease_minutes=30)
        task = work.task_of_unit(change.session, row)
        for place, value in values.items():
            entry = work.entries(change.session, assignment.id).get(place)
            work.save_value(change, assignment, row, task, place, entry.revision if entry is not None else 0, value)
        if submit:
            work.submit(change, assignment, row, task, approval=False)
        return assignment.id


def send_back(project: ReviewProject, person: str, assignment: str) -> None:
    """Return somebody's work."""
    with transaction(project.database, person) as change:
        work.send_back(change, person, assignment, "look again")


def verdict(project: ReviewProject, unit: str, place: str, decision: str, **values: Any) -> dict[str, Any]:
    """A value of a turn: its draft, with a decision and changes."""
    with project.database.reading() as session:
        row = session.get_one(UnitRow, unit)
        draft = TASKS["turns"].draft_value(row.content, place)
    assert isinstance(draft, dict)
    reasons = ["not_in_video"] if decision == "reject" else []
    return {**draft, "decision": decision, "reasons": reasons, **values}


def verdicts(project: ReviewProject, unit: str, decisions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Values of a unit's turns: as given, and accepted where none are."""
    with project.database.reading() as session:
        places = TASKS["turns"].places(session.get_one(UnitRow, unit).content)
    return {
        place: verdict(project, unit, place, **{"decision": "accept", **decisions.get(place, {})}) for place in places
    }


TEXTS = ("Why?", "Что?", "为什么？", "a\nb\tc", 'quotes " and \\', "1\u00a0m", "é\u0301", "🎬" * 3, "  spaces  ", "")


def random_work(project: ReviewProject, seed: int, *, steps: int = 60) -> None:
    """Let a team do whatever a team may do: take, save, undo, redo, submit, return, adjudicate."""
    draw = random.Random(seed)
    people = [member(project, f"Person {number} {draw.choice(TEXTS[:3])}") for number in range(3)]
    judge = member(project, "Judge", "adjudicator")
    with project.database.reading() as session:
        units = list(session.scalars(select(UnitRow.id).order_by(UnitRow.id)))
    for _ in range(steps):
        person = draw.choice([*people, judge])
        unit = draw.choice(units)
        try:
            _one_step(project, draw, person, unit, "adjudicator" if person == judge else "annotator")
        except ApiError:
            # What is not allowed changes nothing; the walk goes on.
            continue


def _one_step(project: ReviewProject, draw: random.Random, person: str, unit: str, role: str) -> None:
    with transaction(project.database, person) as change:
        session = change.session
        row = session.get_one(UnitRow, unit)
        task = work.task_of_unit(session, row)
        mine = session.query(AssignmentRow).filter_by(unit_id=unit, person_id=person).one_or_none()
        if role == "adjudicator" and row.state == "open":
            return
        if role == "annotator" and mine is None and row.state != "open":
            return
        mine = mine or assigning.take_unit(change, row, person, role, lease_minutes=30)
        if role == "adjudicator":
            for place in disputed_places(session, row, task):
                found = [done.id for done, _ in submitted_works(session, unit)]
                value = {"take": draw.choice(found), "note": draw.choice(TEXTS)}
                entry = work.entries(session, mine.id).get(place)
                work.save_value(change, mine, row, task, place, entry.revision if entry else 0, value)
            work.submit(change, mine, row, task, approval=False)
            return
        action = draw.choice(("save", "save", "save", "undo", "redo", "finish", "finish", "return"))
        entries = work.entries(session, mine.id)
        if action in ("undo", "redo"):
            work.undo_or_redo(change, mine, row, task, "undo" if action == "undo" else "redo")
        elif action == "return":
            others = session.query(AssignmentRow).filter_by(unit_id=unit, role="annotator").all()
            work.send_back(change, person, draw.choice(others).id, draw.choice(TEXTS))
        else:
            places = list(task.places(row.content))
            for place in places if action == "finish" else [draw.choice(places)]:
                entry = entries.get(place)
                draft = task.draft_value(row.content, place)
                decision = draw.choice(("accept", "edit", "skip"))
                value = {**draft, "decision": decision, "question": draw.choice(TEXTS[:9]), "note": draw.choice(TEXTS)}
                work.save_value(change, mine, row, task, place, entry.revision if entry else 0, value)
            if action == "finish":
                work.submit(change, mine, row, task, approval=False)


def talk_in_pairs(project: ReviewProject) -> dict[str, str]:
    """Four pairs about the same video: one dialogue each, by the state that it is in."""
    settings = CollectSettings(least_turns=1, most_turns=3, approve_first=1).model_dump(mode="json")
    with transaction(project.database, OPERATOR) as change:
        drafts = collecting_drafts(full_content())
        add_queue(change, "collect", "collect", drafts, title="Collect", overlap=4, settings=settings)
    judging, found = member(project, "Judge of dialogues", "adjudicator"), {}
    for state, verdict in (("approved", "approve"), ("dropped", "drop"), ("live", "send_back"), ("awaiting", None)):
        asks, answers = (member(project, f"{role} of {state}") for role in ("investigator", "correspondent"))
        with transaction(project.database, judging) as change:
            pair = add_pair(change, "collect", asks, answers, 2).id
        with transaction(project.database, asks) as change:
            dialogue = begin_dialogue(change, asks, pair).id
            say_in_dialogue(change, asks, dialogue, 0, "Who iss it?")
            say_in_dialogue(change, asks, dialogue, 0, "Who \u201cis\u201d it? \U0001f600")
        with transaction(project.database, answers) as change:
            say_in_dialogue(change, answers, dialogue, 1, "The cook.")
        with transaction(project.database, asks) as change:
            finish_dialogue(change, asks, dialogue)
        if verdict is not None:
            with transaction(project.database, judging) as change:
                judge_dialogue(change, judging, dialogue, verdict, "look again")
        found[state] = dialogue
    return found
