"""Assignment: a queue or a unit with duties is for their people only, and gold is not given away."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import select

from reeltalk_review.assigning import ORDER, next_unit, open_units
from reeltalk_review.database import ReviewProject
from reeltalk_review.duties import (
    assign_queue,
    assign_units,
    assigned_units,
    drop_duty,
    queue_assignments,
    queue_duties,
    unassign_units,
)
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.tables import DutyRow, PersonRow, QueueRow, UnitRow, moment
from reeltalk_review.verifying import verify_history


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    found = small_project(tmp_path, units=12)
    yield found
    found.database.close()


def take(project: ReviewProject, person: str) -> str | None:
    """The unit that somebody gets next."""
    with transaction(project.database, person) as change:
        found = next_unit(change, person, QUEUE, lease_minutes=30)
        return found.unit_id if found is not None else None


def work_through(project: ReviewProject, person: str, most: int = 99) -> list[str]:
    """Take and submit units until nothing is left; their ids in order."""
    done: list[str] = []
    while len(done) < most:
        with transaction(project.database, person) as change:
            found = next_unit(change, person, QUEUE, lease_minutes=30)
            if found is None:
                return done
            decide(change, found)
            submit(change, found)
            done.append(found.unit_id)
    return done


def left(project: ReviewProject, person: str) -> int:
    with project.database.reading() as session:
        return open_units(session, QUEUE, person, moment())


def queue_for(project: ReviewProject, people: Sequence[str]) -> None:
    with transaction(project.database, OPERATOR) as change:
        assign_queue(change, QUEUE, people)


def units_for(project: ReviewProject, units: Sequence[str], people: Sequence[str]) -> None:
    with transaction(project.database, OPERATOR) as change:
        assign_units(change, dict.fromkeys(units, QUEUE), people)


def test_a_queue_with_duties_is_only_for_their_people(project: ReviewProject) -> None:
    queue_for(project, ["ann"])
    assert take(project, "ben") is None
    assert left(project, "ben") == 0
    assert take(project, "ann") == "u0"
    assert left(project, "ann") == 12


def test_assigned_units_come_first_and_go_to_nobody_else(project: ReviewProject) -> None:
    units_for(project, ["u7", "u9"], ["ann"])
    assert work_through(project, "ben", 8) == ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u8"]
    assert work_through(project, "ann", 2) == ["u7", "u9"]
    assert left(project, "ann") == left(project, "ben") == 2


def test_somebody_outside_a_queue_gets_only_their_units_of_it(project: ReviewProject) -> None:
    queue_for(project, ["ben"])
    units_for(project, ["u3"], ["ann"])
    assert left(project, "ann") == 1
    assert work_through(project, "ann") == ["u3"]
    assert left(project, "ben") == 11


def test_begun_work_can_be_finished_when_a_queue_is_assigned_to_others(project: ReviewProject) -> None:
    begun = take(project, "ann")
    queue_for(project, ["ben"])
    assert left(project, "ann") == 1
    assert work_through(project, "ann") == [begun]
    assert left(project, "ann") == 0


def test_what_is_assigned_to_somebody_is_counted(project: ReviewProject) -> None:
    queue_for(project, ["ann"])
    units_for(project, ["u3", "u4"], ["ann"])
    work_through(project, "ann", 1)
    with project.database.reading() as session:
        assert (assigned_units(session, "ann", QUEUE), assigned_units(session, "ben", QUEUE)) == (1, 0)
        (queue,) = queue_assignments(session)
    assert [(duty.name, duty.done, duty.works) for duty in queue.duties] == [("ann", 1, True)]
    assert (queue.units, queue.able) == (2, 1)


def test_overlap_still_holds_for_assigned_units(project: ReviewProject) -> None:
    units_for(project, ["u0"], ["ann", "ben"])
    assert take(project, "ann") == "u0"
    assert take(project, "ben") == "u1"


@pytest.mark.parametrize("order", ["video", "random"])
def test_the_order_of_a_queue(project: ReviewProject, order: str) -> None:
    with transaction(project.database, OPERATOR) as change:
        queue = change.session.get_one(QueueRow, QUEUE)
        queue.settings, queue.overlap = {**queue.settings, ORDER: order}, 3
    found = {person: work_through(project, person) for person in ("ann", "ben")}
    given = [f"u{number}" for number in range(12)]
    assert sorted(found["ann"]) == sorted(found["ben"]) == sorted(given)
    if order == "video":
        assert found["ann"] == found["ben"] == given
    else:
        assert found["ann"] != found["ben"]
        assert given not in found.values()


def test_who_has_assigned_units_gets_gold_as_often_as_others_and_cannot_tell(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=24, gold=(0, 1, 2, 3))
    units_for(project, [f"u{number}" for number in range(12, 24)], ["ann"])
    total, order = left(project, "ann"), []
    expected = total
    while expected > 10 and (unit := take(project, "ann")) is not None:
        # What is left counts down by one whatever comes.
        assert left(project, "ann") == expected
        order += work_through(project, "ann", 1)
        assert order[-1] == unit
        expected -= 1
        assert left(project, "ann") == expected
    places = [number for number, unit in enumerate(order) if int(unit[1:]) < 4]
    assert places == [5, 11]
    assert {unit for unit in order if int(unit[1:]) >= 4} == {f"u{number}" for number in range(12, 24)}
    assert total == 24
    project.database.close()


def test_gold_is_only_for_those_who_may_work_in_its_queue(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=6, gold=(0,))
    queue_for(project, ["ann"])
    assert work_through(project, "ben") == []
    assert len(work_through(project, "ann")) == 6
    project.database.close()


@pytest.mark.parametrize("people", [[], ["nobody"], ["rita"]])
def test_what_cannot_be_assigned(project: ReviewProject, people: list[str]) -> None:
    with transaction(project.database, OPERATOR) as change:
        row = PersonRow(id="rita", name="Rita", sign_in="rita", role="reader", created_at=change.at)
        change.session.add(row)
    with pytest.raises(InvalidValue) as refused:
        queue_for(project, people)
    assert refused.value.field == "people"
    with pytest.raises(NotFound), transaction(project.database, OPERATOR) as change:
        drop_duty(change, "none")


def test_the_history_leads_to_duties(project: ReviewProject) -> None:
    queue_for(project, ["cai", "ben"])
    units_for(project, ["u1", "u2"], ["ann", "ben"])
    with transaction(project.database, OPERATOR) as change:
        unassign_units(change, ["u2"])
        drop_duty(change, queue_duties(change.session, QUEUE)[0].id)
    assert verify_history(project.database).findings == ()
    with project.database.writing() as session:
        session.scalars(select(DutyRow).where(DutyRow.person_id == "ann")).one().person_id = "cai"
    assert "duties" in " ".join(verify_history(project.database).findings)


def test_assigning_twice_changes_nothing_and_instead_ends_the_rest(project: ReviewProject) -> None:
    units_for(project, ["u1"], ["ann"])
    units_for(project, ["u1"], ["ann", "ben"])
    with project.database.reading() as session:
        assert sorted(row.person_id for row in session.scalars(select(DutyRow))) == ["ann", "ben"]
    with transaction(project.database, OPERATOR) as change:
        assign_units(change, {"u1": QUEUE}, ["cai"], instead=True)
    with project.database.reading() as session:
        assert [row.person_id for row in session.scalars(select(DutyRow))] == ["cai"]
        assert session.get_one(UnitRow, "u1").state == "open"
