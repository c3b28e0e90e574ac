"""Assignment: a queue or a unit with duties is for their people only, limits hold, and gold is not given away."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import select

from reeltalk.review.assigning import ORDER, next_unit, open_units
from reeltalk.review.database import ReviewProject
from reeltalk.review.duties import (
    Terms,
    assign_queue,
    assign_units,
    drop_duty,
    drop_group,
    duty_of,
    put_group,
    queue_assignments,
    queue_duties,
    set_deadline,
    unassign_units,
)
from reeltalk.review.errors import InvalidValue, NotFound
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.tables import DutyRow, PersonRow, QueueRow, UnitRow, moment
from reeltalk.review.verifying import verify_history


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


def queue_for(project: ReviewProject, people: Sequence[str], groups: Sequence[str] = (), **terms: Any) -> None:
    with transaction(project.database, OPERATOR) as change:
        assign_queue(change, QUEUE, people, groups, Terms(**terms))


def units_for(project: ReviewProject, units: Sequence[str], people: Sequence[str], deadline: str | None = None) -> None:
    with transaction(project.database, OPERATOR) as change:
        assign_units(change, dict.fromkeys(units, QUEUE), people, [], deadline)


def test_a_queue_with_duties_is_only_for_their_people(project: ReviewProject) -> None:
    queue_for(project, ["ann"])
    assert take(project, "ben") is None
    assert left(project, "ben") == 0
    assert take(project, "ann") == "u0"
    assert left(project, "ann") == 12


def test_a_group_is_its_members_at_the_time(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        group = put_group(change, None, "Students", ["ben"])
    queue_for(project, [], [group])
    assert take(project, "ann") is None
    with transaction(project.database, OPERATOR) as change:
        put_group(change, group, "Students", ["ann", "cai"])
    assert take(project, "ann") == "u0"
    assert take(project, "ben") is None
    with transaction(project.database, OPERATOR) as change:
        drop_group(change, group)
    assert take(project, "ben") is not None


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


def test_most_limits_what_somebody_gets_and_begun_work_can_be_finished(project: ReviewProject) -> None:
    queue_for(project, ["ann", "ben"], most=3)
    assert left(project, "ann") == 3
    assert len(work_through(project, "ann", 2)) == 2
    assert left(project, "ann") == 1
    begun = take(project, "ann")
    assert begun == "u2"
    assert left(project, "ann") == 1
    queue_for(project, ["ann"], most=1)
    assert take(project, "ann") == begun
    assert work_through(project, "ann") == [begun]
    assert left(project, "ann") == 0
    assert take(project, "ann") is None
    assert len(work_through(project, "ben")) == 3


def test_ones_own_limit_counts_before_that_of_a_group(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        first = put_group(change, None, "A", ["ann", "ben"])
        second = put_group(change, None, "B", ["ben"])
    queue_for(project, [], [first], most=2)
    queue_for(project, [], [second], most=4)
    queue_for(project, ["ann"], most=1)
    assert (left(project, "ann"), left(project, "ben")) == (1, 4)


def test_what_is_asked_of_somebody(project: ReviewProject) -> None:
    with project.database.reading() as session:
        assert duty_of(session, "ann", QUEUE) is None
    queue_for(project, ["ann"], least=2, most=5, deadline="2030-02-01")
    units_for(project, ["u4"], ["ann"], "2030-01-01")
    with project.database.reading() as session:
        duty = duty_of(session, "ann", QUEUE)
    assert duty is not None
    assert (duty.deadline, duty.least, duty.most, duty.done, duty.assigned) == ("2030-01-01", 2, 5, 0, 1)
    assert not duty.is_met
    work_through(project, "ann", 2)
    with project.database.reading() as session:
        duty = duty_of(session, "ann", QUEUE)
        assert queue_assignments(session)[0].duties[0].people == (("ann", 2),)
    assert duty is not None
    assert (duty.deadline, duty.done, duty.assigned, duty.is_met) == ("2030-02-01", 2, 0, True)


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


@pytest.mark.parametrize(
    ("people", "terms", "field"),
    [
        ([], {}, "people"),
        (["nobody"], {}, "people"),
        (["rita"], {}, "people"),
        (["ann"], {"deadline": "31.12.2030"}, "deadline"),
        (["ann"], {"deadline": "2030-02-30"}, "deadline"),
        (["ann"], {"least": 0}, "least"),
        (["ann"], {"most": 10**9}, "most"),
        (["ann"], {"least": 3, "most": 2}, "least"),
    ],
)
def test_what_cannot_be_assigned(project: ReviewProject, people: list[str], terms: dict[str, Any], field: str) -> None:
    with transaction(project.database, OPERATOR) as change:
        row = PersonRow(id="rita", name="Rita", sign_in="rita", role="reader", password="", created_at=change.at)
        change.session.add(row)
    with pytest.raises(InvalidValue) as refused:
        queue_for(project, people, **terms)
    assert refused.value.field == field


def test_groups_that_are_not_there_and_names_that_are_taken(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        put_group(change, None, "A", [])
    for name, people in (("A", []), (" ", []), ("B", ["nobody"])):
        with pytest.raises(InvalidValue), transaction(project.database, OPERATOR) as change:
            put_group(change, None, name, people)
    for do in (
        lambda change: put_group(change, "none", "C", []),
        lambda change: drop_group(change, "none"),
        lambda change: drop_duty(change, "none"),
    ):
        with pytest.raises(NotFound), transaction(project.database, OPERATOR) as change:
            do(change)


def test_the_history_leads_to_groups_and_duties(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        group = put_group(change, None, "A", ["ann"])
        put_group(change, group, "Again", ["ann", "ben"])
        gone = put_group(change, None, "B", [])
    queue_for(project, ["cai"], [group, gone], most=2)
    units_for(project, ["u1", "u2"], ["ann", "ben"])
    with transaction(project.database, OPERATOR) as change:
        set_deadline(change, ["u1"], "2030-01-01")
        unassign_units(change, ["u2"])
        drop_group(change, gone)
        drop_duty(change, queue_duties(change.session, QUEUE)[0].id)
    findings = verify_history(project.database).findings
    assert [finding for finding in findings if "duty" in finding or "group" in finding] == []
    with transaction(project.database, OPERATOR) as change:
        change.session.scalars(select(DutyRow)).first().deadline = "2031-01-01"  # type: ignore[union-attr]
    assert "duty" in " ".join(verify_history(project.database).findings)


def test_assigning_twice_changes_the_terms_and_instead_ends_the_rest(project: ReviewProject) -> None:
    units_for(project, ["u1"], ["ann"])
    units_for(project, ["u1"], ["ann", "ben"], "2030-01-01")
    with project.database.reading() as session:
        assert [row.deadline for row in session.scalars(select(DutyRow))] == ["2030-01-01"] * 2
    with transaction(project.database, OPERATOR) as change:
        assign_units(change, {"u1": QUEUE}, ["cai"], [], None, instead=True)
    with project.database.reading() as session:
        assert [(row.person_id, row.deadline) for row in session.scalars(select(DutyRow))] == [("cai", None)]
        assert session.get_one(UnitRow, "u1").state == "open"
