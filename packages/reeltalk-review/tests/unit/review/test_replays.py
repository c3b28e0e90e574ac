"""A change that is asked for again with its key, as after a reply that was lost, changes nothing twice."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from review_projects import QUEUE, small_project
from sqlalchemy import select

from reeltalk_review.app import create_app
from reeltalk_review.assigning import next_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.people import start_session
from reeltalk_review.tables import EntryRow, EventRow
from reeltalk_review.verifying import verify_history
from reeltalk_review.web import cookie_name


@pytest.fixture
def project(tmp_path: Path, database_kind: str) -> Iterator[ReviewProject]:
    found = small_project(tmp_path, units=6)
    yield found
    found.database.close()


def signed_in(project: ReviewProject, person: str) -> TestClient:
    with transaction(project.database, OPERATOR) as change:
        cookie = start_session(change, project.secret, person)
    client = TestClient(create_app(project), base_url="http://localhost", cookies={cookie_name(project): cookie})
    client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
    return client


def first_copy(project: ReviewProject, person: str) -> str:
    with transaction(project.database, person) as change:
        copy = next_unit(change, person, QUEUE, lease_minutes=30)
        assert copy is not None
        return copy.id


def kinds(project: ReviewProject) -> list[str]:
    with project.database.reading() as session:
        return list(session.scalars(select(EventRow.kind).order_by(EventRow.seq)))


def test_requests_that_are_sent_up_to_four_times_do_what_they_do_once(project: ReviewProject, full: bool) -> None:
    rng = random.Random(4)
    client, copy = signed_in(project, "ann"), first_copy(project, "ann")
    revisions = {"0": 0, "1": 0, "2": 0}
    expected = len(kinds(project))
    for number in range(400 if full else 40):
        key, place = {"Idempotency-Key": f"request-{number}"}, rng.choice("012")
        step = rng.choices(["save", "undo", "redo", "lease"], [6, 3, 2, 1])[0]
        question = f"Question {number}?"
        body = {"revision": revisions[place], "value": {"decision": "edit", "question": question, "references": ["a"]}}
        answers: list[Any] = []
        for _ in range(rng.randint(1, 4)):
            if step == "save":
                answers.append(client.put(f"/api/work/{copy}/entries/{place}", json=body, headers=key))
            else:
                answers.append(client.post(f"/api/work/{copy}/{step}", headers=key))
        assert all(answer.status_code == answers[0].status_code for answer in answers)
        assert all(answer.json() == answers[0].json() for answer in answers)
        if answers[0].status_code == 200:
            expected += step != "lease"
            if step == "save":
                revisions[place] = answers[0].json()["revision"]
            elif step != "lease":
                revisions |= {name: entry["revision"] for name, entry in answers[0].json()["entries"].items()}
        else:
            assert answers[0].json()["error"]["code"] == f"nothing_to_{step}"
        # Marks come with the step that makes them, so each change is one event.
        assert len(kinds(project)) == expected
    with project.database.reading() as session:
        rows = session.scalars(select(EntryRow)).all()
        assert {row.place: row.revision for row in rows} == {name: n for name, n in revisions.items() if n}
    assert verify_history(project.database).findings == ()


def test_handing_in_again_gives_the_same_next_unit(project: ReviewProject) -> None:
    client, copy = signed_in(project, "ann"), first_copy(project, "ann")
    for place in "012":
        body = {"revision": 0, "value": {"decision": "accept", "question": "What?", "references": ["That."]}}
        saved = client.put(
            f"/api/work/{copy}/entries/{place}", json=body, headers={"Idempotency-Key": f"save-it-{place}"}
        )
        assert saved.status_code == 200
    key = {"Idempotency-Key": "hand-it-in"}
    answers = [client.post(f"/api/work/{copy}/submit", headers=key) for _ in range(3)]
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["next"].startswith("/work/")
    assert kinds(project).count("submit") == 1
    assert kinds(project).count("take") == 2
    again = client.post(f"/api/work/{copy}/submit", headers={"Idempotency-Key": "another-key"})
    assert again.status_code == 409


def test_a_key_belongs_to_one_change_of_one_person(project: ReviewProject) -> None:
    ann, ben = signed_in(project, "ann"), signed_in(project, "ben")
    copies = first_copy(project, "ann"), first_copy(project, "ben")
    key = {"Idempotency-Key": "the-same-key"}
    body = {"revision": 0, "value": {"decision": "accept", "question": "What?", "references": ["Yes."]}}
    assert ann.put(f"/api/work/{copies[0]}/entries/0", json=body, headers=key).status_code == 200
    other = ann.put(f"/api/work/{copies[0]}/entries/1", json=body, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key_used")
    assert ben.put(f"/api/work/{copies[1]}/entries/0", json=body, headers=key).status_code == 200


def test_what_was_refused_may_be_asked_again_with_its_key(project: ReviewProject) -> None:
    client, copy = signed_in(project, "ann"), first_copy(project, "ann")
    key = {"Idempotency-Key": "first-refused"}
    assert client.post(f"/api/work/{copy}/undo", headers=key).status_code == 409
    body = {"revision": 0, "value": {"decision": "accept", "question": "What?", "references": ["Yes."]}}
    client.put(f"/api/work/{copy}/entries/0", json=body, headers={"Idempotency-Key": "something-else"})
    assert client.post(f"/api/work/{copy}/undo", headers=key).status_code == 200
    assert client.post(f"/api/work/{copy}/undo", headers=key).status_code == 200
    assert kinds(project).count("undo") == 1
