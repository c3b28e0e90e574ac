"""Comments reach those who lead at once, and no annotator before all work on a unit is in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from askers import World
from sqlalchemy import select
from team import Browser, make_team, on_databases

from reeltalk_review.assigning import ADJUDICATOR, next_unit, open_units, take_unit
from reeltalk_review.comments import MOST_COMMENTS
from reeltalk_review.tables import AssignmentRow, CommentRow, UnitRow, moment
from reeltalk_review.verifying import verify_history
from reeltalk_review.work import send_back


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    assert verify_history(found.team.project.database).findings == ()
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("database_kind", on_databases(metafunc.definition.name), indirect=True)


def say(browser: Browser, assignment: str, text: str, place: str | None = None) -> list[str]:
    answer = browser.api("POST", f"/api/work/{assignment}/comments", {"place": place, "text": text})
    assert answer.status_code == 200, answer.text
    return [comment["text"] for comment in answer.json()["comments"]]


def read(browser: Browser, assignment: str) -> list[str]:
    return [comment["text"] for comment in browser.get(f"/api/work/{assignment}").json()["comments"]]


def readable(world: World, who: str, unit: str) -> list[str]:
    from reeltalk_review.comments import comments_on

    with world.team.project.database.reading() as session:
        found = comments_on(session, world.browsers[who].id, session.get_one(UnitRow, unit))
        return [comment.text for comment in found]


def test_a_question_reaches_those_who_lead_at_once_and_no_other_annotator(world: World) -> None:
    unit = world.unit()
    first, second = world.work("annotator", "decided", unit), world.work("other", "decided", unit)
    asks = world.browsers["annotator"]
    assert "Owners and adjudicators read this" in asks.get(f"/api/work/{first}").json()["comments_read_by"]
    assert say(asks, first, "Is she Ana?", "1") == ["Is she Ana?"]
    assert readable(world, "owner", unit) == readable(world, "adjudicator", unit) == ["Is she Ana?"]
    for who in ("other", "third", "reader"):
        assert readable(world, who, unit) == []
    assert read(world.browsers["other"], second) == []
    for who, assignment in (("annotator", first), ("other", second)):
        assert world.browsers[who].api("POST", f"/api/work/{assignment}/submit").status_code == 200
    # What an annotator writes stays between them and those who lead.
    assert read(world.browsers["other"], second) == []


def test_who_leads_answers_everybody_on_a_unit(world: World) -> None:
    unit = world.unit()
    first, second = world.work("annotator", "working", unit), world.work("other", "working", unit)
    owner = world.browsers["owner"]
    assert owner.form(f"/units/{unit}/comments", text="Names are in the credits.").status_code == 303
    assert owner.form(f"/units/{unit}/comments", text="Yes.", place="1").status_code == 303
    assert read(world.browsers["annotator"], first) == ["Names are in the credits.", "Yes."]
    assert read(world.browsers["other"], second) == ["Names are in the credits.", "Yes."]
    assert readable(world, "third", unit) == []


def test_who_leads_and_works_on_a_unit_reads_like_its_annotators(world: World) -> None:
    unit = world.unit()
    first, second = world.work("annotator", "decided", unit), world.work("owner", "decided", unit)
    say(world.browsers["annotator"], first, "I took the first answer.")
    say(world.browsers["owner"], second, "I took the second.")
    assert readable(world, "owner", unit) == ["I took the second."]
    assert readable(world, "annotator", unit) == ["I took the first answer."]
    assert readable(world, "adjudicator", unit) == ["I took the first answer.", "I took the second."]
    for who, assignment in (("annotator", first), ("owner", second)):
        assert world.browsers[who].api("POST", f"/api/work/{assignment}/submit").status_code == 200
    assert readable(world, "owner", unit) == ["I took the first answer.", "I took the second."]
    with world.changing() as change:
        send_back(change, world.browsers["adjudicator"].id, first, "look again")
    assert readable(world, "owner", unit) == ["I took the second."]


def test_who_could_read_what_an_annotator_wrote_does_not_do_the_unit(world: World) -> None:
    unit = world.unit()
    first = world.work("annotator", "working", unit)
    with world.changing() as change:
        change.session.get_one(UnitRow, unit).position = -1
    people = [world.browsers[who].id for who in ("owner", "other")]
    with world.team.project.database.reading() as session:
        left = [open_units(session, "turns", person, moment()) for person in people]
    say(world.browsers["annotator"], first, "Is she Ana?")
    with world.changing() as change:
        given = [next_unit(change, person, "turns", lease_minutes=30) for person in people]
        assert [row.unit_id == unit for row in given if row is not None] == [False, True]
    with world.team.project.database.reading() as session:
        assert [open_units(session, "turns", person, moment()) for person in people] == [left[0] - 1, left[1]]


def test_adjudicators_see_letters_in_place_of_names(world: World) -> None:
    unit = world.unit()
    first, second = world.work("annotator", "decided", unit), world.work("other", "decided", unit)
    say(world.browsers["annotator"], first, "Is she Ana?")
    value = world.browsers["other"].get(f"/api/work/{second}").json()["entries"]["2"]["value"]
    assert world.browsers["other"].save(second, "2", value | {"decision": "skip"}).status_code == 200
    for who, assignment in (("annotator", first), ("other", second)):
        assert world.browsers[who].api("POST", f"/api/work/{assignment}/submit").status_code == 200
    judge = world.browsers["adjudicator"]
    with world.changing() as change:
        decides = take_unit(change, change.session.get_one(UnitRow, unit), judge.id, ADJUDICATOR, lease_minutes=30).id
    shown = judge.get(f"/api/adjudicate/{decides}").json()
    letter = next(side["letter"] for side in shown["sides"] if side["id"] == first)
    assert [comment["author"] for comment in shown["comments"]] == [letter]
    assert "The annotator" not in str(shown)
    say(judge, decides, "She is.")
    assert read(world.browsers["annotator"], first) == ["Is she Ana?", "She is."]
    assert read(world.browsers["other"], second) == ["She is."]
    named = judge.get(f"/api/adjudicate/{decides}?names=true").json()
    assert [comment["author"] for comment in named["comments"]] == ["The annotator", "The adjudicator"]


def test_what_cannot_be_a_comment_is_refused(world: World) -> None:
    browser = world.browsers["annotator"]
    assignment = world.work("annotator")
    path = f"/api/work/{assignment}/comments"
    for body, field in (
        ({"text": " "}, "text"),
        ({"text": "a" * 2001}, "text"),
        ({"text": "a", "place": "9"}, "place"),
        ({"text": "a\0"}, "text"),
    ):
        answer = browser.api("POST", path, body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert browser.api("POST", f"/api/work/{world.work('other')}/comments", {"text": "a"}).status_code == 404
    assert world.browsers["owner"].form("/units/none/comments", text="a").status_code == 404
    assert browser.form(f"/units/{world.unit()}/comments", text="a").status_code == 403
    with world.changing() as change:
        unit = change.session.get_one(AssignmentRow, assignment).unit_id
        for number in range(MOST_COMMENTS):
            row = CommentRow(id=f"c{number}", unit_id=unit, author_id=browser.id, text="a", at=change.at)
            change.session.add(row)
            change.record("comment", unit, after={"id": row.id, "author": browser.id, "text": "a"})
    assert browser.api("POST", path, {"text": "a"}).json()["error"]["field"] == "text"


def test_a_comment_that_was_changed_past_the_history_is_found(world: World) -> None:
    assignment = world.work("annotator")
    say(world.browsers["annotator"], assignment, "Is she Ana?")
    with world.team.project.database.writing() as session:
        session.scalars(select(CommentRow)).one().text = "Is she Eva?"
    assert "comment" in verify_history(world.team.project.database).findings[0]
    with world.team.project.database.writing() as session:
        session.scalars(select(CommentRow)).one().text = "Is she Ana?"


def test_those_who_lead_get_all_comments_that_they_may_read(world: World) -> None:
    unit = world.unit()
    first, mine = world.work("annotator", "decided", unit), world.work("owner", "decided", unit)
    say(world.browsers["annotator"], first, "=1+1", "1")
    say(world.browsers["owner"], mine, "I wonder too.")
    rows = {who: world.browsers[who].get("/api/comments").json()["rows"] for who in ("owner", "adjudicator")}
    assert [row["text"] for row in rows["owner"]] == ["I wonder too."]
    assert [(row["author"], row["place"]) for row in rows["adjudicator"]] == [
        ("The annotator", "1"),
        ("The owner", None),
    ]
    page = world.browsers["adjudicator"].get("/comments").text
    assert page.index("I wonder too.") < page.index("=1+1")
    assert page.count(f'href="/units/{unit}#comments"') == 2
    assert "=1+1" not in world.browsers["owner"].get("/comments").text
    text = world.browsers["adjudicator"].get("/api/comments?format=csv").text
    assert "turn 2,'=1+1" in text
