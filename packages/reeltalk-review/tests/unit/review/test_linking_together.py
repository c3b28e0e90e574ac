"""Two annotators link the same two chains, blind to each other, and an adjudicator settles link by link."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team

from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.media import Video
from reeltalk.store.content import Content
from reeltalk_review.tables import ResultRow, UnitRow

KEPT = {"decision": "keep", "relations": ["Events"]}


@pytest.fixture
def team(tmp_path: Path) -> Team:
    turns = tuple(Turn(question=f"Question {n}?", references=("Yes.",)) for n in range(3))
    found = Content(
        videos=[Video(id="film")],
        chains=[QAChain(id=name, video_id="film", turns=turns) for name in ("one", "two")],
        linkages=[
            Linkage(
                source=TurnRef(unit_id="one", turn_index=0),
                target=TurnRef(unit_id="two", turn_index=0),
                relation="Events",
            )
        ],
    )
    return make_team(tmp_path, found, overlap=2)


def do(person: Browser, values: dict[str, Any]) -> str:
    """Their work on the pair, saved and handed in; its id."""
    assignment = person.next("links")
    for place, value in values.items():
        assert person.save(assignment, place, value).status_code == 200
    board = {"decision": "complete", "links": sorted(place for place, value in values.items() if value == KEPT)}
    assert person.save(assignment, "board", board).status_code == 200
    submitted = person.api("POST", f"/api/work/{assignment}/submit")
    assert submitted.status_code == 200, submitted.text
    return assignment


def results(team: Team) -> dict[str, Any]:
    with team.project.database.reading() as session:
        unit = session.scalars(select(UnitRow).where(UnitRow.queue_id == "links")).one()
        rows = session.scalars(select(ResultRow).where(ResultRow.unit_id == unit.id))
        return {"state": unit.state, **{row.place: row.value for row in rows}}


def test_people_who_drew_the_same_links_are_agreed(team: Team) -> None:
    for name in ("Ana", "Ben"):
        do(team.member(name, "annotator"), {"0-0": {"decision": "delete"}, "1-2": KEPT})
    found = results(team)
    assert found["state"] == "done"
    assert (found["0-0"]["decision"], found["1-2"]["relations"]) == ("delete", ["Events"])


def test_a_link_that_one_drew_and_deleted_is_none_that_the_other_lacks(team: Team) -> None:
    do(team.member("Ana", "annotator"), {"0-0": KEPT, "1-2": {"decision": "delete"}})
    do(team.member("Ben", "annotator"), {"0-0": KEPT})
    assert results(team)["state"] == "done"


def test_an_adjudicator_decides_about_the_links_that_differ_and_no_others(team: Team) -> None:
    ana = do(team.member("Ana", "annotator"), {"0-0": KEPT, "1-2": KEPT})
    ben = do(team.member("Ben", "annotator"), {"0-0": KEPT, "2-1": {**KEPT, "relations": ["People"]}})
    found = results(team)
    assert found["state"] == "adjudication"
    assert set(found) == {"state", "0-0", "board"}
    third = team.member("Cem", "adjudicator")
    assignment = third.form("/adjudicate/queues/links/next").headers["location"].removeprefix("/adjudicate/")
    shown = third.get(f"/api/adjudicate/{assignment}").json()
    assert shown["disputed"] == ["1-2", "2-1"]
    # Whoever drew no link is a side as well: taking it means that there is none.
    assert third.save(assignment, "1-2", {"take": ben}).status_code == 200
    assert third.save(assignment, "2-1", {"write": {**KEPT, "relations": ["Objects"]}}).status_code == 200
    assert third.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    found = results(team)
    assert found["state"] == "done"
    assert found["1-2"] is None
    assert found["2-1"]["relations"] == ["Objects"]
    assert ana != ben


def test_a_link_that_was_drawn_and_not_decided_keeps_the_work_open(team: Team) -> None:
    person = team.member("Ana", "annotator")
    assignment = person.next("links")
    person.save(assignment, "0-0", KEPT)
    person.save(assignment, "board", {"decision": "complete", "links": ["0-0"]})
    person.save(assignment, "1-1", {"relations": []})
    refused = person.api("POST", f"/api/work/{assignment}/submit")
    assert (refused.status_code, refused.json()["places"]) == (422, ["1-1"])
    person.api("POST", f"/api/work/{assignment}/undo")
    assert person.api("POST", f"/api/work/{assignment}/submit").status_code == 200


def test_a_link_that_comes_later_asks_for_the_board_again(team: Team) -> None:
    person = team.member("Ana", "annotator")
    assignment = person.next("links")
    person.save(assignment, "0-0", KEPT)
    person.save(assignment, "board", {"decision": "complete", "links": ["0-0"]})
    assert person.save(assignment, "1-1", KEPT).json()["stale"] == ["board"]
    refused = person.api("POST", f"/api/work/{assignment}/submit")
    assert (refused.status_code, refused.json()["places"]) == (422, ["board"])


def test_agreement_of_links_shows_on_the_page_of_quality(team: Team) -> None:
    do(team.member("Ana", "annotator"), {"0-0": KEPT, "1-2": KEPT})
    do(team.member("Ben", "annotator"), {"0-0": KEPT})
    owner = team.member("Ola", "owner")
    page = owner.get("/quality")
    assert page.status_code == 200
    assert "Link chains" in page.text
