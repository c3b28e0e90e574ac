"""The pages of those who lead, and adjudication over HTTP: who sees what, and that nobody sees work too early."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from reeltalk.schema.record import Json
from reeltalk_review.administration import change_role, disable_account
from reeltalk_review.app import create_app
from reeltalk_review.assigning import next_unit
from reeltalk_review.database import ProjectSettings, ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.people import start_session
from reeltalk_review.tables import AssignmentRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.web import cookie_name
from reeltalk_review.work import own_work, save_value, submit

TEAM = {"ann": "annotator", "ben": "annotator", "jo": "adjudicator", "olga": "owner", "rita": "reader"}
SECRET_WORDS = {"ann": "Annsownwording", "ben": "Bensownwording"}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    """Four chains of two turns, each done by two."""
    found = ReviewProject.open(tmp_path / "bench", folder=tmp_path / "review")
    with transaction(found.database, OPERATOR) as change:
        for name, role in TEAM.items():
            row = PersonRow(id=name, name=name.title(), sign_in=name, role=role, created_at=change.at)
            change.session.add(row)
        change.session.add(QueueRow(id="turns", task="turns", title="Review turns", position=0, overlap=2, settings={}))
        change.session.flush()
        for unit in range(4):
            turns = [{"question": f"What is {n}?", "references": [f"It is {n}."]} for n in range(2)]
            change.session.add(
                UnitRow(
                    id=f"u{unit}",
                    queue_id="turns",
                    position=unit,
                    title=f"chain {unit}",
                    turns=2,
                    content={"video_id": f"v{unit}", "turns": turns, "clips": [], "scenes": []},
                    target_table="chains",
                    target_id=f"chain{unit}",
                )
            )
    yield found
    found.database.close()


class Browser:
    """Somebody who is signed in."""

    def __init__(self, project: ReviewProject, client: TestClient, name: str) -> None:
        with transaction(project.database, name) as change:
            token = start_session(change, project.secret, name)
        self._client = client
        self._headers = {"cookie": f"{cookie_name(project)}={token}"}
        home = self.get("/")
        found = re.search(r'name="csrf" content="([^"]+)"', home.text)
        assert found is not None
        self._csrf = found.group(1)
        self._keys = 0

    def get(self, path: str) -> "Answer":
        return Answer(self._client.get(path, headers=self._headers))

    def form(self, path: str, **fields: str) -> "Answer":
        data = {"csrf": self._csrf, **fields}
        return Answer(self._client.post(path, data=data, headers=self._headers, follow_redirects=False))

    def ask(self, method: str, path: str, body: Json = None) -> "Answer":
        self._keys += 1
        headers = self._headers | {"x-csrf-token": self._csrf, "idempotency-key": f"key-{self._keys:08d}-{path}"[:99]}
        return Answer(self._client.request(method, path, json=body, headers=headers))


class Answer:
    def __init__(self, response: Json) -> None:
        self.status: int = response.status_code
        self.text: str = response.text
        self.location: str = response.headers.get("location", "")

    def json(self) -> Json:
        return json.loads(self.text)


@pytest.fixture
def team(project: ReviewProject) -> Iterator[dict[str, Browser]]:
    app = create_app(project)
    with TestClient(app, base_url="http://localhost") as client:
        yield {name: Browser(project, client, name) for name in TEAM}


def hand_in(project: ReviewProject, person: str, *, differ: bool = True) -> str:
    """Do the next unit: the first turn is accepted, the second edited in the person's own words, or accepted."""
    with transaction(project.database, person) as change:
        found = next_unit(change, person, "turns", lease_minutes=30)
        assert found is not None
        assignment, unit, task = own_work(change.session, person, found.id)
        for place in task.places(unit.content):
            value = task.draft_value(unit.content, place) | {"decision": "accept"}
            if differ and place == "1":
                value["question"] = f"{SECRET_WORDS[person]}?"
            save_value(change, assignment, unit, task, place, 0, value)
        submit(change, assignment, unit, task, approval=False)
        return unit.id


@pytest.mark.parametrize("name", TEAM)
def test_pages_are_for_those_who_lead(name: str, project: ReviewProject, team: dict[str, Browser]) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    home, role = team[name].get("/").text, TEAM[name]
    pages = [path for path, label in re.findall(r'<a href="(/\w*)"[^>]*>(Work|Tasks|Quality|Project)</a>', home)]
    leads = ["/", "/units", "/quality"]
    assert pages == {"annotator": ["/"], "owner": [*leads, "/team"]}.get(role, leads)
    assert {path: team[name].get(path).status for path in ("/units", "/quality")} == dict.fromkeys(
        ("/units", "/quality"), 200 if role != "annotator" else 403
    )
    assert ('action="/quality/gold"' in team[name].get("/quality").text) == (name == "olga")
    added = team[name].form("/quality/gold", queue="turns", kind="faults", count="1").status
    assert added == (422 if name == "olga" else 403)


def test_an_owner_is_told_what_comes_next(project: ReviewProject, team: dict[str, Browser]) -> None:
    olga = team["olga"]
    assert "Nobody has begun yet." in olga.get("/").text
    hand_in(project, "ann")
    assert "People are at work." in olga.get("/").text
    hand_in(project, "ben")
    assert "Next:" not in olga.get("/").text
    assert ">Settle</button>" in olga.get("/").text
    assert "Next:" not in team["jo"].get("/").text


def test_agreement_is_on_the_page_of_quality_once_both_are_in(project: ReviewProject, team: dict[str, Browser]) -> None:
    hand_in(project, "ann")
    assert "No task was done by two people yet" in team["olga"].get("/quality").text
    hand_in(project, "ben")
    quality = team["olga"].get("/quality").text
    assert "Ann and Ben" in quality
    assert "It rests on 2 turns in 1 task that two people or more did, 2 people in all." in quality


def test_the_page_of_quality_says_that_nothing_can_be_applied(project: ReviewProject, team: dict[str, Browser]) -> None:
    project.settings = ProjectSettings(least_agreement=0.99)
    assert "Nothing can be applied" in team["rita"].get("/quality").text


def test_no_page_tells_what_somebody_wrote_before_all_is_in(project: ReviewProject, team: dict[str, Browser]) -> None:
    unit = hand_in(project, "ann")
    with project.database.reading() as session:
        assignment = session.scalars(select(AssignmentRow)).one().id
    for name, browser in team.items():
        for path in (
            "/units",
            "/quality",
            "/api/quality",
            f"/api/adjudicate/{assignment}",
        ):
            assert (name, path, SECRET_WORDS["ann"] in browser.get(path).text) == (name, path, False)
    assert unit == "u0"


def take_dispute(browser: Browser) -> str:
    found = browser.form("/adjudicate/queues/turns/next")
    assert found.status == 303
    return found.location.rpartition("/")[2]


def test_a_written_value_says_whose_its_fields_are_and_the_next_dispute_follows(
    project: ReviewProject, team: dict[str, Browser]
) -> None:
    for _ in range(2):
        for person in ("ann", "ben"):
            hand_in(project, person)
    jo = team["jo"]
    first = take_dispute(jo)
    opened = jo.get(f"/api/adjudicate/{first}").json()
    a, b = (side["id"] for side in opened["sides"])
    theirs = opened["places"]["1"]["sides"]

    def saved(value: dict[str, Any]) -> Any:
        return jo.ask("PUT", f"/api/work/{first}/entries/1", {"revision": 0, "value": value})

    mixed = theirs[a]["value"] | {"decision": "edit", "question": theirs[b]["value"]["question"] + " Really?"}
    for sources in (
        {"question": b},
        {"references": "nobody"},
        {"references": ["x"]},
        {"no such field": a},
        ["references"],
    ):
        answer = saved({"write": mixed, "from": sources})
        assert (answer.status, answer.json()["error"]["field"].partition(".")[0]) == (422, "from"), sources
    assert saved({"take": a, "from": {"references": a}}).status == 422
    # A decision that the server stores otherwise is nobody's, and what is stored can be saved again.
    drafted = opened["places"]["1"]["draft"]["value"] | {"decision": "edit"}
    answer = saved({"write": drafted, "from": {"references": a, "evidence": b, "decision": a}})
    assert answer.status == 200, answer.text
    stored = answer.json()["value"]
    assert stored["from"] == {"references": a, "evidence": b}
    assert stored["write"]["decision"] == "accept"
    again = {"revision": 1, "value": stored | {"note": "Both are right."}}
    assert jo.ask("PUT", f"/api/work/{first}/entries/1", again).status == 200
    following = jo.ask("POST", f"/api/work/{first}/submit").json()["next"]
    assert re.fullmatch(r"/adjudicate/\w+", following)
    assert jo.get(following).status == 200
    assert first not in following


def test_a_third_person_takes_writes_and_hands_in(project: ReviewProject, team: dict[str, Browser]) -> None:
    for _ in range(2):
        for person in ("ann", "ben"):
            hand_in(project, person)
    jo = team["jo"]
    first = take_dispute(jo)
    opened = jo.get(f"/api/adjudicate/{first}").json()
    assert opened["disputed"] == ["1"]
    assert [side["letter"] for side in opened["sides"]] == ["A", "B"]
    assert opened["places"]["0"]["how"] == "agreed"
    taken = opened["sides"][0]["id"]
    assert jo.ask("PUT", f"/api/work/{first}/entries/1", {"revision": 0, "value": {"take": taken}}).status == 200
    assert jo.ask("POST", f"/api/work/{first}/submit").status == 200
    second = take_dispute(jo)
    value = jo.get(f"/api/adjudicate/{second}").json()["places"]["1"]["draft"]["value"]
    written = value | {"decision": "edit", "question": "What is this, then?"}
    assert jo.ask("PUT", f"/api/work/{second}/entries/1", {"revision": 0, "value": {"write": written}}).status == 200
    assert jo.ask("POST", f"/api/work/{second}/submit").status == 200
    assert ">Settle</button>" not in jo.get("/").text
    with project.database.reading() as session:
        results = {(row.unit_id, row.place): row for row in session.scalars(select(ResultRow))}
        mine = session.get_one(AssignmentRow, taken)
    assert results["u0", "1"].how == "taken"
    assert results["u0", "1"].value["question"] == f"{SECRET_WORDS[mine.person_id]}?"
    assert results["u1", "1"].value["question"] == "What is this, then?"


def test_names_are_shown_only_to_who_asks_for_them(project: ReviewProject, team: dict[str, Browser]) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    assignment = take_dispute(team["jo"])
    hidden = team["jo"].get(f"/api/adjudicate/{assignment}")
    assert '"Ann"' not in hidden.text
    assert '"ann"' not in hidden.text
    named = team["jo"].get(f"/api/adjudicate/{assignment}?names=true").json()
    assert {side["name"] for side in named["sides"]} == {"Ann", "Ben"}
    # A stays A, whoever looks how often.
    order = [side["id"] for side in named["sides"]]
    assert [side["id"] for side in hidden.json()["sides"]] == order


def test_who_did_the_work_never_decides_it_and_one_person_decides_a_unit(
    project: ReviewProject, team: dict[str, Browser]
) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    with transaction(project.database, OPERATOR) as change:
        change.session.get_one(PersonRow, "ann").role = "adjudicator"
    assert ">Settle</button>" not in team["ann"].get("/").text
    assert team["ann"].form("/adjudicate/queues/turns/next").location == "/"
    assignment = take_dispute(team["jo"])
    assert team["olga"].form("/adjudicate/queues/turns/next").location == "/"
    assert team["olga"].get(f"/api/adjudicate/{assignment}").status == 404
    # Going on finds what was begun.
    assert take_dispute(team["jo"]) == assignment
    assert "1 that you began" not in team["olga"].get("/").text


def test_a_dispute_does_not_wait_for_whoever_may_no_longer_settle_it(
    project: ReviewProject, team: dict[str, Browser]
) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    jo, olga = team["jo"], team["olga"]
    first = take_dispute(jo)
    side = jo.get(f"/api/adjudicate/{first}").json()["sides"][0]["id"]
    assert jo.ask("PUT", f"/api/work/{first}/entries/1", {"revision": 0, "value": {"take": side}}).status == 200
    assert olga.form("/adjudicate/queues/turns/next").location == "/"
    with transaction(project.database, OPERATOR) as change:
        change_role(change, "jo", "annotator", approval=False)
    with transaction(project.database, OPERATOR) as change:
        change_role(change, "jo", "adjudicator", approval=False)
    # It waits for anybody now, jo with what they wrote included; whoever comes first has it.
    assert "1 that you began" in jo.get("/").text
    second = take_dispute(olga)
    assert second != first
    assert jo.form("/adjudicate/queues/turns/next").location == "/"
    with transaction(project.database, OPERATOR) as change:
        disable_account(change, change.session.get_one(AssignmentRow, side).person_id, approval=False)
    returned = olga.ask("POST", f"/api/adjudicate/{second}/return", {"assignment": side, "note": "again"})
    assert returned.status == 200
    # Nobody is there to do it again, so its place is free for others.
    with project.database.reading() as session:
        copy = session.get_one(AssignmentRow, side)
        assert (copy.state, session.get_one(UnitRow, copy.unit_id).submitted) == ("lapsed", 1)


def test_returned_work_is_blind_again_until_it_is_in(project: ReviewProject, team: dict[str, Browser]) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    jo = team["jo"]
    assignment = take_dispute(jo)
    side = jo.get(f"/api/adjudicate/{assignment}").json()["sides"][0]["id"]
    path = f"/api/adjudicate/{assignment}/return"
    assert jo.ask("POST", path, {"assignment": side, "note": " "}).status == 422
    assert jo.ask("POST", path, {"assignment": "another", "note": "again"}).status == 404
    assert jo.ask("POST", path, {"assignment": side, "note": "look at the second turn"}).status == 200
    assert jo.get(f"/api/adjudicate/{assignment}").status == 409
    assert jo.get(f"/adjudicate/{assignment}").status == 409
    with project.database.reading() as session:
        returned = session.get_one(AssignmentRow, side)
        assert (returned.state, returned.note) == ("returned", "look at the second turn")


@pytest.mark.parametrize("name", ["ann", "rita"])
def test_those_who_do_not_adjudicate_get_nowhere(name: str, project: ReviewProject, team: dict[str, Browser]) -> None:
    for person in ("ann", "ben"):
        hand_in(project, person)
    assignment = take_dispute(team["jo"])
    for path in (f"/adjudicate/{assignment}", f"/api/adjudicate/{assignment}"):
        assert team[name].get(path).status == 403
    assert team[name].form("/adjudicate/queues/turns/next").status == 403
