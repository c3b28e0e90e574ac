"""A note and *unsure* on every decision, and the project's own reasons for rejecting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Linkage, QAChain, TurnRef
from reeltalk.store.content import Content
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.reasons import read_reasons
from reeltalk_review.tables import AssignmentRow, EntryRow, ResultRow, UnitRow
from reeltalk_review.tasks.answering import answer_drafts
from reeltalk_review.tasks.rating import load_scale, rating_drafts
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import REMARKS
from reeltalk_review.verifying import verify_history


def content() -> Content:
    found = small_content(1)
    second = QAChain(id="second", video_id="film0", clip_id="film0-1", turns=found.chains[0].turns)
    found.chains.append(second)
    ends = [TurnRef(unit_id=chain.id, turn_index=0) for chain in found.chains]
    found.linkages.append(Linkage(source=ends[0], target=ends[1], relation="Events"))
    return found


@pytest.fixture
def database(database_kind: str) -> str:
    """Both kinds of databases."""
    return database_kind


@pytest.fixture
def team(tmp_path: Path, database: str) -> Iterator[Team]:
    found = make_team(tmp_path, content(), overlap=2)
    answers = [
        AnsweredTurn(
            item_id="chain-film0/0",
            model="model",
            unit="chain",
            unit_id="chain-film0",
            turn_index=0,
            video_id="film0",
            question="Question?",
            references=("Answer.",),
            text="An answer.",
            state=AnswerState.ANSWERED,
        )
    ]
    with transaction(found.project.database, OPERATOR) as change:
        add_queue(change, "rating", "rating", rating_drafts(answers, load_scale("rating")), title="Rate", overlap=2)
        add_queue(change, "test", "test", answer_drafts(content(), "dialogue"), title="Test", overlap=2)
        for kind in ("tagging", "types"):
            add_queue(change, kind, kind, list(TASKS[kind].drafts(content())), title=kind, overlap=2)
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


DECIDED: dict[str, dict[str, Any]] = {
    "turns": {"decision": "accept"},
    "links": {"decision": "keep"},
    "tagging": {
        "decision": "edit",
        "labels": {"cogme.target": ["Object"], "cogme.content": ["Identity"], "cogme.thinking": ["Recall"]},
    },
    "types": {"decision": "skip"},
    "rating": {"marks": {"correctness": 5}},
    "test": {"text": "An answer.", "given": True},
}


def value_of(team: Team, browser: Browser, queue: str, assignment: str) -> tuple[str, dict[str, Any]]:
    """The first place of some work, and a value that decides it."""
    with team.project.database.reading() as session:
        unit = session.get_one(UnitRow, session.get_one(AssignmentRow, assignment).unit_id)
        place = TASKS[queue].places(unit.content)[0]
        draft = TASKS[queue].draft_value(unit.content, place)
    draft.pop("complete", None)
    return place, draft | DECIDED[queue]


@pytest.mark.parametrize("queue", list(DECIDED))
def test_every_kind_of_work_takes_a_note_and_unsure_and_neither_counts_for_agreement(team: Team, queue: str) -> None:
    browser = team.member("Ada", "annotator")
    assignment = browser.next(queue)
    place, value = value_of(team, browser, queue, assignment)
    assert value | dict(REMARKS) == value, "the draft has both, empty"
    if queue == "test":
        value["given"] = False
    plain = browser.save(assignment, place, {name: found for name, found in value.items() if name != "unsure"})
    assert plain.status_code == 200, plain.text
    assert plain.json()["value"] | dict(REMARKS) == plain.json()["value"]
    remarked = browser.save(assignment, place, {**value, "note": "Too dark.", "unsure": True}).json()["value"]
    with team.project.database.reading() as session:
        entry = session.get_one(EntryRow, (assignment, place))
        assert (entry.unsure, entry.noted) == (True, True)
        unit = session.get_one(UnitRow, session.get_one(AssignmentRow, assignment).unit_id)
        task = TASKS[queue]
        first, second = (task.essence(unit.content, place, found) for found in (plain.json()["value"], remarked))
        assert first == second
        assert list(task.codes(unit.content, place, plain.json()["value"])) == list(
            task.codes(unit.content, place, remarked)
        )
        assert ("Unsure", "yes") in task.summary(unit.content, place, remarked)
        assert ("Note", "Too dark.") in task.summary(unit.content, place, remarked)
    browser.api("POST", f"/api/work/{assignment}/undo")
    with team.project.database.reading() as session:
        entry = session.get_one(EntryRow, (assignment, place))
        assert (entry.unsure, entry.noted) == (False, False)
    browser.api("POST", f"/api/work/{assignment}/redo")
    with team.project.database.reading() as session:
        assert session.get_one(EntryRow, (assignment, place)).unsure


@pytest.mark.parametrize("wrong", ["perhaps", 3, None, []])
def test_unsure_is_true_or_false(team: Team, wrong: object) -> None:
    browser = team.member("Ada", "annotator")
    assignment = browser.next("turns")
    place, value = value_of(team, browser, "turns", assignment)
    answer = browser.save(assignment, place, {**value, "unsure": wrong})
    assert answer.status_code == 422
    assert "unsure" in answer.text


def dispute(team: Team, *works: dict[str, Any]) -> tuple[Browser, str]:
    """A unit on which people differ at the first turn, in the hands of an adjudicator."""
    for number, work in enumerate(works):
        browser = team.member(f"Person {number}", "annotator")
        assignment = browser.next("turns")
        shown = browser.get(f"/api/work/{assignment}").json()
        for place in shown["places"]:
            _, value = value_of(team, browser, "turns", assignment)
            value["question"] = shown["unit"]["content"]["turns"][int(place)]["question"]
            value["references"] = shown["unit"]["content"]["turns"][int(place)]["references"]
            browser.save(assignment, place, value | (work if place == "0" else {}))
        assert browser.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    judge = team.member("Judith", "adjudicator")
    answer = judge.form("/adjudicate/queues/turns/next")
    return judge, str(answer.headers["location"]).removeprefix("/adjudicate/")


def test_an_adjudicator_notes_and_is_unsure_too_and_only_the_note_reaches_reviews(team: Team) -> None:
    rejected = {"decision": "reject", "reasons": ["ambiguous"], "unsure": True}
    judge, assignment = dispute(team, {}, rejected)
    view = judge.get(f"/api/adjudicate/{assignment}").json()
    side = next(side["id"] for side in view["sides"] if view["places"]["0"]["sides"][side["id"]]["value"]["unsure"])
    lines = view["places"]["0"]["sides"][side]["lines"]
    assert ["Unsure", "yes"] in lines
    answer = judge.api(
        "PUT",
        f"/api/work/{assignment}/entries/0",
        {"revision": 0, "value": {"take": side, "note": "Both may be meant.", "unsure": True}},
    )
    assert answer.status_code == 200, answer.text
    with team.project.database.reading() as session:
        entry = session.get_one(EntryRow, (assignment, "0"))
        assert (entry.unsure, entry.noted) == (True, True)
    assert judge.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    with team.project.database.reading() as session:
        result = session.scalars(select(ResultRow).where(ResultRow.place == "0", ResultRow.how == "taken")).one()
    assert result.value["decision"] == "reject"


def test_owners_add_reasons_and_the_server_takes_exactly_those(team: Team) -> None:
    owner, browser = team.member("Olga", "owner"), team.member("Ada", "annotator")
    assignment = browser.next("turns")
    place, value = value_of(team, browser, "turns", assignment)
    value |= {"decision": "reject", "reasons": ["camera_shakes"]}
    refused = browser.save(assignment, place, value)
    assert refused.status_code == 422
    assert "this project has no reason 'camera_shakes'" in refused.text
    answer = owner.form("/setup/reasons", reasons="camera_shakes: The camera shakes\nNobody can be seen")
    assert answer.status_code == 303
    assert "camera_shakes: The camera shakes" in owner.get("/setup").text
    offered = browser.get(f"/api/work/{assignment}").json()["reasons"]
    assert {"name": "wrong_time", "title": "Wrong time"} in offered
    assert offered[-2:] == [
        {"name": "camera_shakes", "title": "The camera shakes"},
        {"name": "nobody_can_be_seen", "title": "Nobody can be seen"},
    ]
    assert browser.save(assignment, place, value).status_code == 200
    # The other settings stay when reasons change, and the reasons when settings change.
    owner.form("/setup/settings", lease_minutes="45")
    assert "camera_shakes: The camera shakes" in owner.get("/setup").text
    owner.form("/setup/reasons", reasons="")
    assert 'value="45"' in owner.get("/setup").text
    assert browser.save(assignment, place, {**value, "note": "More."}).status_code == 422


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("leaks: It leaks", "is there already"),
        ("a: One\na: Two", "is there already"),
        ("Bad name: Title", "small letters"),
        ("name:", "1 to 80 characters"),
        ("???", "small letters"),
        ("\n".join(f"reason_{n}: R" for n in range(31)), "at most 30"),
    ],
)
def test_reasons_that_cannot_be_used_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        read_reasons(text)
