"""The table of units: what is found, who sees what of it, and that nobody sees work or gold too early."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from askers import World
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import event, select, update
from team import make_team

from reeltalk_review.assigning import ANNOTATOR, next_unit, take_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.describing import content_columns, doubt_of, flagged_turns
from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.people import User
from reeltalk_review.tables import (
    AssignmentRow,
    EntryRow,
    LiveDialogueRow,
    PairRow,
    PersonRow,
    UnitRow,
    VideoRow,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import spoken_place
from reeltalk_review.unit_changes import give_units, return_units
from reeltalk_review.unit_detail import UnitDetail, unit_detail
from reeltalk_review.units import UnitPage, UnitQuery, find_units, matching_ids
from reeltalk_review.verifying import verify_history
from reeltalk_review.work import send_back

GIVEN = [f"u{number}" for number in range(8)]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    """Eight units of three turns, each done by two."""
    found = small_project(tmp_path, units=8, overlap=2)
    with transaction(found.database, OPERATOR) as change:
        for name, role in (("olga", "owner"), ("rita", "reader")):
            row = PersonRow(id=name, name=name, sign_in=name, role=role, created_at=change.at)
            change.session.add(row)
    yield found
    found.database.close()


def send_back_from(change: Transaction, person: str, units: list[str]) -> None:
    """Return one person's work on units."""
    work = select(AssignmentRow.id).where(AssignmentRow.unit_id.in_(units), AssignmentRow.person_id == person)
    for assignment in change.session.scalars(work).all():
        send_back(change, "olga", assignment, "look again")


ROLES = {"olga": "owner", "jo": "adjudicator", "rita": "reader"}


def user(name: str) -> User:
    return User(name, name, ROLES[name], "")


def find(project: ReviewProject, name: str = "olga", **query: Any) -> UnitPage:
    with project.database.reading() as session:
        return find_units(session, user(name), UnitQuery(**query))


def ids(project: ReviewProject, name: str = "olga", **query: Any) -> list[str]:
    return [unit.id for unit in find(project, name, **query).units]


def detail(project: ReviewProject, name: str, unit: str) -> UnitDetail:
    with project.database.reading() as session:
        return unit_detail(session, user(name), unit)[0]


def do(project: ReviewProject, person: str, unit: str, *, question: str | None = None, hand_in: bool = True) -> str:
    """Let somebody decide all places of a unit; the assignment's id."""
    with transaction(project.database, person) as change:
        row = change.session.get_one(UnitRow, unit)
        copy = take_unit(change, row, person, ANNOTATOR, lease_minutes=30)
        change.session.flush()
        decide(change, copy, question=question)
        if hand_in:
            submit(change, copy)
        return copy.id


def complete(project: ReviewProject, unit: str, *, differ: bool = False) -> None:
    do(project, "ann", unit)
    do(project, "ben", unit, question="Bens own wording?" if differ else None)


def test_states(project: ReviewProject) -> None:
    do(project, "ann", "u0", hand_in=False)
    do(project, "ann", "u1")
    complete(project, "u2")
    complete(project, "u3", differ=True)
    complete(project, "u4")
    with transaction(project.database, "olga") as change:
        send_back_from(change, "ann", ["u4"])
    expected = {
        "begun": ["u0"], "submitted": ["u1"], "done": ["u2"], "adjudication": ["u3"], "returned": ["u4"],
        "waiting": ["u5", "u6", "u7"],
    }  # fmt: skip
    for state, units in expected.items():
        assert ids(project, state=[state]) == units
        assert {unit.state for unit in find(project, state=[state]).units} == {state}
    assert ids(project, state=["begun", "done"]) == ["u0", "u2"]
    assert find(project).total == 8
    assert ids(project, "rita") == ["u2", "u3"]


def test_words_names_people_videos_and_tasks(project: ReviewProject) -> None:
    do(project, "ann", "u5")
    assert ids(project, q="THING 2 of u3") == ["u3"]
    assert ids(project, q="u3 nothing") == []
    assert ids(project, q="100% of_it") == []
    with pytest.raises(ValueError, match="NUL"):
        UnitQuery(q="\0")
    assert ids(project, person="ann") == ["u5"]
    assert ids(project, queue="turns") == GIVEN
    assert ids(project, queue="none") == []


def test_words_in_every_script_are_found_without_case(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        row = change.session.get_one(UnitRow, "u1")
        row.words = content_columns(None, ['Кухня "утро" 厨房 🎬 \\ %'], row.content)["words"]
    for words in ("кухня", "КУХНЯ УТРО", "厨房", "🎬", '"утро"', "\\", "%"):
        assert ids(project, q=words) == ["u1"], words


def test_flags_disagreement_notes_and_doubts(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        change.session.execute(update(UnitRow).where(UnitRow.id.in_(["u1", "u4"])).values(flags=2))
    complete(project, "u1", differ=True)
    copy = do(project, "ann", "u2")
    with transaction(project.database, OPERATOR) as change:
        for row in change.session.scalars(select(EntryRow).where(EntryRow.assignment_id == copy)):
            row.noted = row.unsure = True
    assert ids(project, only=["flagged"]) == ["u1", "u4"]
    assert ids(project, only=["disputed"]) == ["u1"]
    # Before all work is in, neither is told.
    assert ids(project, only=["noted"]) == ids(project, only=["unsure"]) == []
    assert [(unit.notes, unit.unsure, unit.disputed) for unit in find(project, q="u2").units] == [(None, None, None)]
    do(project, "ben", "u2")
    assert ids(project, only=["noted"]) == ids(project, only=["unsure"]) == ["u2"]
    assert [(unit.notes, unit.unsure, unit.disputed) for unit in find(project, q="u2").units] == [(3, 3, 0)]
    assert [unit.disputed for unit in find(project, q="u1").units] == [3]
    with transaction(project.database, "olga") as change:
        send_back_from(change, "ann", ["u1", "u2"])
    assert ids(project, only=["disputed"]) == ids(project, only=["noted"]) == []
    assert ids(project, sort="disputed", down="yes") == GIVEN


@pytest.mark.parametrize("sort", ["order", "name", "turns", "flags", "disputed"])
def test_every_order_shows_every_unit_once(project: ReviewProject, sort: str) -> None:
    complete(project, "u3", differ=True)
    for down in ("", "yes"):
        assert sorted(ids(project, sort=sort, down=down)) == GIVEN
    if sort == "disputed":
        assert ids(project, sort=sort, down="yes")[0] == "u3"


def test_pages(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=120)
    ROLES["ann"] = "owner"
    found = [find(project, "ann", page=page) for page in (1, 2, 3, 99)]
    assert [len(page.units) for page in found] == [50, 50, 20, 20]
    assert {page.total for page in found} == {120}
    assert found[3].page == found[0].pages == 3
    assert len({unit.id for page in found for unit in page.units}) == 120
    project.database.close()


def test_a_view_is_an_address(project: ReviewProject) -> None:
    query = UnitQuery(q="a b&c", state=["done", "begun"], sort="flags", down="yes", page=3)
    assert UnitQuery.of_address(query.address(page=3)) == query
    assert UnitQuery.of_address(query.address()).page == 1
    assert UnitQuery().address() == ""
    with pytest.raises(InvalidValue):
        UnitQuery.of_address("state=nonsense")


def test_a_page_takes_the_same_number_of_queries_for_one_unit_and_for_fifty(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=60, overlap=2)
    ROLES["ann"] = "owner"
    for number in range(20):
        do(project, "ben", f"u{number}")
    counts = []
    for query in (UnitQuery(queue="turns", q="u7"), UnitQuery()):
        seen: list[str] = []

        def count(*given: Any, seen: list[str] = seen) -> None:
            seen.append(given[2])

        event.listen(project.database.engine, "before_cursor_execute", count)
        with project.database.reading() as session:
            find_units(session, user("ann"), query)
        event.remove(project.database.engine, "before_cursor_execute", count)
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 12
    project.database.close()


def test_nobodys_values_before_all_work_is_in(project: ReviewProject) -> None:
    do(project, "ann", "u0", question="Anns own wording?")
    for name in ("olga", "jo"):
        found = detail(project, name, "u0")
        assert found.places == []
        assert "Anns own" not in found.model_dump_json()
        assert [person.state for person in found.unit.people] == ["submitted"]
    with pytest.raises(NotFound):
        detail(project, "rita", "u0")
    do(project, "ben", "u0", question="Bens own wording?")
    for name, sides in (("olga", True), ("jo", True), ("rita", False)):
        found = detail(project, name, "u0")
        assert found.unit.state == "adjudication"
        assert ("Anns own" in found.model_dump_json()) == sides
        assert {side for place in found.places for side in place.sides} == ({"A", "B"} if sides else set())
    with transaction(project.database, "olga") as change:
        send_back_from(change, "ben", ["u0"])
    assert "own wording" not in detail(project, "olga", "u0").model_dump_json()


def test_settled_values_are_for_all_who_see_the_unit_and_names_come_when_it_is_done(project: ReviewProject) -> None:
    complete(project, "u0")
    for name in ROLES.keys() - {"ann"}:
        found = detail(project, name, "u0")
        assert [place.how for place in found.places] == ["agreed"] * 3
        assert found.places[0].settled is not None
    assert {side for place in detail(project, "jo", "u0").places for side in place.sides} == {"ann", "ben"}
    assert all(place.sides == {} for place in detail(project, "rita", "u0").places)


def test_who_worked_on_a_unit_sees_no_others_work_on_it(project: ReviewProject) -> None:
    do(project, "ann", "u0", question="Anns own wording?")
    with transaction(project.database, "jo") as change:
        row = change.session.get_one(UnitRow, "u0")
        copy = take_unit(change, row, "jo", ANNOTATOR, lease_minutes=30)
        change.session.flush()
        decide(change, copy)
        submit(change, copy)
    found = detail(project, "jo", "u0")
    assert found.unit.state == "adjudication"
    assert "Anns own" not in found.model_dump_json()
    assert not found.may_adjudicate
    assert detail(project, "olga", "u0").may_adjudicate


def test_gold_is_for_owners_who_ask_for_it(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=6, gold=(4,), overlap=2)
    with transaction(project.database, OPERATOR) as change:
        for name, role in (("olga", "owner"), ("rita", "reader")):
            row = PersonRow(id=name, name=name, sign_in=name, role=role, created_at=change.at)
            change.session.add(row)
    real = ["u0", "u1", "u2", "u3", "u5"]
    assert ids(project, "olga") == ids(project, "jo") == real
    assert ids(project, "olga", only=["gold"]) == ["u4"]
    assert find(project, "olga", only=["gold"]).units[0].gold
    assert ids(project, "jo", only=["gold"]) == ids(project, "rita", only=["gold"]) == []
    with pytest.raises(NotFound):
        detail(project, "jo", "u4")
    # Whoever sees the table would recognise gold in their own hands: only annotators get it.
    do(project, "ann", "u4")
    for name in ("jo", "olga"):
        with pytest.raises(Conflict):
            do(project, name, "u4")
    project.database.close()


def test_who_asks_about_a_video_sees_no_unit_of_it(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        change.session.add(VideoRow(id="film"))
        change.session.flush()
        change.session.get_one(UnitRow, "u2").video_id = "film"
        change.session.add(
            PairRow(id="p", queue_id=QUEUE, first_id="olga", second_id="ben", goal=2, created_at=change.at)
        )
        change.session.flush()
        change.session.add(
            LiveDialogueRow(
                id="d",
                pair_id="p",
                number=0,
                unit_id="u2",
                investigator_id="olga",
                correspondent_id="ben",
                state="live",
                created_at=change.at,
            )
        )
    assert ids(project, "olga") == [unit for unit in GIVEN if unit != "u2"]
    assert ids(project, "jo") == GIVEN
    with pytest.raises(NotFound):
        detail(project, "olga", "u2")
    with project.database.reading() as session:
        assert "u2" not in matching_ids(session, user("olga"), UnitQuery())


def test_returning_many(project: ReviewProject) -> None:
    complete(project, "u0")
    complete(project, "u1", differ=True)
    do(project, "ann", "u2", hand_in=False)
    with transaction(project.database, "olga") as change:
        outcome = return_units(change, user("olga"), ["u0", "u1", "u2", "none"], "look again")
    assert outcome.done == 2
    assert sum(outcome.refused.values()) == 2
    assert ids(project, state=["returned"]) == ["u0", "u1"]
    with pytest.raises(InvalidValue), transaction(project.database, "olga") as change:
        return_units(change, user("olga"), ["u0"], " ")
    with pytest.raises(InvalidValue), transaction(project.database, "olga") as change:
        return_units(change, user("olga"), [], "note")
    with pytest.raises(InvalidValue), transaction(project.database, "olga") as change:
        return_units(change, user("olga"), ["u0"] * 501, "note")


def test_assigning_many(project: ReviewProject) -> None:
    complete(project, "u0")
    with transaction(project.database, "olga") as change:
        outcome = give_units(change, user("olga"), ["u0", "u1", "u2"], ["ann"])
    assert (outcome.done, outcome.refused) == (2, {"all work on it is in": 1})
    assert "fewer are named" in outcome.warning
    assert ids(project, person="ann") == ["u0", "u1", "u2"]
    assert find(project, q="u2").units[0].assigned == ["ann"]
    with transaction(project.database, "cai") as change:
        taken = next_unit(change, "cai", QUEUE, lease_minutes=30)
    assert taken is not None
    assert taken.unit_id == "u3", "two are for somebody else"
    with transaction(project.database, "olga") as change:
        give_units(change, user("olga"), ["u1", "u2"], ["ben"])
    assert ids(project, person="ann") == ["u0"]
    with transaction(project.database, "olga") as change:
        outcome = give_units(change, user("olga"), ["u1", "u2"], [])
    assert (outcome.done, outcome.warning) == (2, "")
    assert ids(project, person="ben") == ["u0"]
    with pytest.raises(InvalidValue, match="cannot work"), transaction(project.database, "olga") as change:
        give_units(change, user("olga"), ["u1"], ["rita"])
    findings = verify_history(project.database).findings
    assert [finding for finding in findings if "duty" in finding] == []


def test_a_queue_is_assigned_to_exactly_these_people(world: World) -> None:
    owner, other, third = (world.browsers[name] for name in ("owner", "other", "third"))
    queue = {"title": "Review turns", "position": "1", "overlap": "2", "is_open": "yes"}
    assert owner.form("/setup/queues/turns", **queue, people=other.id).status_code == 303
    assert f'<option value="{other.id}" selected>' in owner.get("/setup").text
    assert third.form("/queues/turns/next").headers["location"] == "/?nothing=1"
    assert other.form("/queues/turns/next").headers["location"].startswith("/work/")
    assert owner.form("/setup/queues/turns", **queue).status_code == 303
    assert third.form("/queues/turns/next").headers["location"].startswith("/work/")


def test_what_is_flagged_and_which_words_count() -> None:
    checks = {
        "0": [{"outcome": "flagged"}, {"outcome": "flagged"}],
        "1": [{"outcome": "passed"}],
        "unit": [{"outcome": "flagged"}],
    }
    assert flagged_turns({"checks": checks, "turns": []}) == 1
    assert flagged_turns({"before": {"checks": checks}, "after": {"checks": checks}}) == 2
    turns = [{"question": "First?", "options": None, "until_s": None}, {"question": "Second?", "options": None}]
    words = content_columns(TASKS["test"], ["Dialogue 1"], {"turns": turns, "mode": "dialogue"})["words"]
    # Questions of a test are asked one by one.
    assert "first?" in words
    assert "second?" not in words


def test_doubt_grows_with_flags_disagreement_and_attackers_that_answer() -> None:
    def doubt(*checks: dict[str, Any], **more: Any) -> float:
        return doubt_of({"turns": [{}, {}], "checks": {"0": list(checks)}, **more})

    flagged, passed = {"gate": "lint", "outcome": "flagged"}, {"gate": "lint", "outcome": "passed"}
    assert doubt() == doubt(passed) == 0
    assert doubt({"gate": "lint", "outcome": "unchecked"}) < doubt(flagged) < doubt(flagged, flagged)
    judged = {"gate": "verified", "outcome": "passed"}
    assert doubt(judged | {"value": 1.0}) == 0 < doubt(judged | {"value": 0.9}) < doubt(judged | {"value": 0.6})
    assert doubt({"gate": "difficulty", "outcome": "passed", "value": 0.5}) > 0
    proposals = {"1": {"cogme.target": {"margin": 0.1}, "cogme.content": {"margin": 0.4}}}
    assert doubt(proposals={"1": {"cogme.target": {"margin": 0.4}}}) < doubt(proposals=proposals) < 1
    assert doubt_of({"turns": [{}], "proposals": {"0": {"cogme.target": {"margin": None}}}}) == 1


def test_places_for_people() -> None:
    assert [spoken_place(place) for place in ("0", "1-2", "board", "whole", "x", "²")] == [
        "turn 1", "the link from turn 2 to turn 3", "all links", "the whole dialogue", "x", "²",
    ]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(make_team(tmp_path, overlap=2))


def test_a_change_of_all_that_match_is_refused_if_the_table_has_changed(world: World) -> None:
    owner, other = world.browsers["owner"], world.browsers["other"]
    assert "all 3 that match" in owner.get("/units?queue=turns").text
    fields = {"match": "queue=turns", "people": other.id, "every": "yes"}
    assert owner.form("/units/assign", count="2", **fields).status_code == 409
    assert "3 tasks were assigned" in owner.form("/units/assign", count="3", **fields).text
    assert f"for {other.name}" in owner.get("/units?queue=turns").text


def test_adjudicating_from_the_table(world: World) -> None:
    judge, owner = world.browsers["adjudicator"], world.browsers["owner"]
    assignment, work = world.dispute(judge)
    with world.team.project.database.reading() as session:
        unit = session.get_one(AssignmentRow, work).unit_id
    assert judge.form(f"/units/{unit}/adjudicate").headers["location"] == f"/adjudicate/{assignment}"
    assert owner.form(f"/units/{unit}/adjudicate").status_code == 409
    assert "Adjudicate now" in judge.get(f"/units/{unit}").text
    assert "Adjudicate now" not in owner.get(f"/units/{unit}").text


def test_numbers_of_progress_lead_to_as_many_units(world: World) -> None:
    for state in ("working", "submitted", "complete"):
        world.work("annotator", state)
    world.dispute("adjudicator")
    for name, least in (("owner", 4), ("reader", 2)):
        browser = world.browsers[name]
        found = re.findall(r'<a href="(/units\?[^"]+)">([\d,]+)</a>', browser.get("/units").text)
        assert len(found) >= least
        for address, count in found:
            assert browser.get(f"/api{unescape(address)}").json()["total"] == int(count), address
    assert world.browsers["annotator"].get("/units").status_code == 403


def test_who_could_see_all_work_on_a_unit_does_not_work_on_it_when_it_is_open_again(project: ReviewProject) -> None:
    from reeltalk_review.administration import disable_account
    from reeltalk_review.assigning import open_units
    from reeltalk_review.tables import timestamp

    complete(project, "u0")
    with transaction(project.database, "olga") as change:
        send_back_from(change, "ben", ["u0"])
    with transaction(project.database, "olga") as change:
        disable_account(change, "ben", approval=False)
    found = {}
    for person in ("jo", "olga", "cai"):
        with project.database.reading() as session:
            left = open_units(session, QUEUE, person, timestamp())
        with transaction(project.database, person) as change:
            unit = next_unit(change, person, QUEUE, lease_minutes=30)
            assert unit is not None
            found[person] = (unit.unit_id, left)
    assert found == {"jo": ("u1", 7), "olga": ("u1", 7), "cai": ("u0", 7)}
