"""What people do with units, and what happens where two of them meet."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import select

from reeltalk_review import work
from reeltalk_review.assigning import ADJUDICATOR, lapse_work, next_unit, open_units, take_unit
from reeltalk_review.database import Database, ReviewProject
from reeltalk_review.errors import Conflict, Forbidden, InvalidValue, NotFound
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.settling import release_work, set_overlap, submitted_works
from reeltalk_review.tables import AssignmentRow, EntryRow, EventRow, QueueRow, ResultRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.verifying import verify_history

NOW = datetime(2026, 11, 22, 4, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def project(tmp_path: Path, database_kind: str) -> Iterator[ReviewProject]:
    """One unit of three turns, which one person does."""
    found = small_project(tmp_path, units=1, annotators=("ann", "ben", "cai", "dee"))
    yield found
    assert verify_history(found.database).findings == ()
    found.database.close()


def set_k(project: ReviewProject, overlap: int) -> None:
    with transaction(project.database, OPERATOR) as change:
        queue = change.session.get_one(QueueRow, QUEUE)
        set_overlap(change, queue, TASKS["turns"], overlap, approval=False)


def given(project: ReviewProject, person: str, *, at: datetime = NOW) -> str | None:
    with transaction(project.database, person, now=at) as change:
        found = next_unit(change, person, QUEUE, lease_minutes=30)
        return found.id if found is not None else None


def saved(project: ReviewProject, copy: str, place: str, *, at: datetime = NOW, **fields: Any) -> EntryRow:
    with transaction(project.database, "", now=at) as change:
        assignment = change.session.get_one(AssignmentRow, copy)
        change.author = assignment.person_id
        _, unit, task = work.own_work(change.session, assignment.person_id, copy)
        row = change.session.get(EntryRow, (copy, place))
        value = row.value if row is not None and row.value is not None else task.draft_value(unit.content, place)
        revision = fields.pop("revision", row.revision if row is not None else 0)
        return work.save_value(change, assignment, unit, task, place, revision, value | fields)


def stepped(project: ReviewProject, copy: str, kind: work.Step) -> None:
    with transaction(project.database, "") as change:
        assignment = change.session.get_one(AssignmentRow, copy)
        work.undo_or_redo(change, assignment, *work.own_work(change.session, assignment.person_id, copy)[1:], kind)


def handed_in(project: ReviewProject, copy: str, *, approval: bool = False, **fields: Any) -> None:
    with transaction(project.database, "") as change:
        assignment = change.session.get_one(AssignmentRow, copy)
        if assignment.role != ADJUDICATOR:
            decide(change, assignment, **fields)
        submit(change, assignment, approval=approval)


def state_of(database: Database, copy: str) -> str:
    with database.reading() as session:
        return session.get_one(AssignmentRow, copy).state


def unit_of(database: Database) -> tuple[str, int]:
    with database.reading() as session:
        unit = session.get_one(UnitRow, "u0")
        return unit.state, unit.submitted


def marks(database: Database, copy: str) -> dict[str, bool]:
    with database.reading() as session:
        return {place: row.stale for place, row in work.entries(session, copy).items()}


def test_a_save_that_names_an_older_revision_is_told_what_is_there_now(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    saved(project, copy, "0", question="First?")
    saved(project, copy, "0", question="Second?")
    with pytest.raises(Conflict, match="revision 1 was read, but the current one is 2") as refused:
        saved(project, copy, "0", question="Third?", revision=1)
    assert refused.value.code == "stale_save"
    assert refused.value.more["current"]["value"]["question"] == "Second?"
    with pytest.raises(Conflict):
        saved(project, copy, "1", revision=1, note="read from nowhere")


def test_saving_what_is_there_adds_no_step_to_take_back(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    assert saved(project, copy, "0", question="First?").revision == 1
    assert saved(project, copy, "0").revision == 1


def test_taking_back_an_edit_takes_its_marks_back_too(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    for place in "012":
        saved(project, copy, place, decision="accept")
    saved(project, copy, "1", question="Changed?")
    assert marks(project.database, copy) == {"0": False, "1": False, "2": True}
    saved(project, copy, "0", question="Changed too?")
    assert marks(project.database, copy) == {"0": False, "1": True, "2": True}
    stepped(project, copy, "undo")
    assert marks(project.database, copy) == {"0": False, "1": False, "2": True}
    stepped(project, copy, "undo")
    assert marks(project.database, copy) == {"0": False, "1": False, "2": False}
    stepped(project, copy, "redo")
    stepped(project, copy, "redo")
    assert marks(project.database, copy) == {"0": False, "1": True, "2": True}
    # What was looked at again is marked no more, and marked again where that is taken back.
    saved(project, copy, "1")
    assert marks(project.database, copy) == {"0": False, "1": False, "2": True}
    stepped(project, copy, "undo")
    assert marks(project.database, copy) == {"0": False, "1": True, "2": True}


def test_undo_goes_back_to_nothing_and_no_further(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    saved(project, copy, "2", question="One?")
    stepped(project, copy, "undo")
    with project.database.reading() as session:
        assert session.get_one(EntryRow, (copy, "2")).value is None
    with pytest.raises(Conflict) as refused:
        stepped(project, copy, "undo")
    assert refused.value.code == "nothing_to_undo"
    stepped(project, copy, "redo")
    saved(project, copy, "2", question="Two?")
    with pytest.raises(Conflict) as refused:
        stepped(project, copy, "redo")
    assert refused.value.code == "nothing_to_redo"


def test_nobody_hands_in_twice(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    handed_in(project, copy)
    with pytest.raises(Conflict, match="submitted already"):
        handed_in_again(project, copy)
    assert unit_of(project.database) == ("done", 1)


def handed_in_again(project: ReviewProject, copy: str) -> None:
    with transaction(project.database, "ann") as change:
        submit(change, change.session.get_one(AssignmentRow, copy))


def test_a_place_without_work_goes_to_the_next_when_its_lease_is_over(project: ReviewProject) -> None:
    first = given(project, "ann")
    assert first is not None
    assert given(project, "ben", at=NOW + HOUR / 4) is None
    second = given(project, "ben", at=NOW + HOUR)
    assert second is not None
    assert state_of(project.database, first) == "lapsed"
    # What the first had typed meanwhile is kept, and whoever hands in first counts.
    assert saved(project, first, "0", at=NOW + HOUR, question="Mine?").revision == 1
    assert state_of(project.database, first) == "lapsed"
    handed_in(project, first)
    assert unit_of(project.database) == ("done", 1)
    assert state_of(project.database, second) == "lapsed"
    assert saved(project, second, "0", note="typed before the screen knew").revision == 1
    with pytest.raises(Conflict, match="other people finished"):
        handed_in(project, second)


def test_a_place_with_work_stays_with_its_person_for_as_long_as_it_takes(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    saved(project, copy, "0", question="Mine?")
    assert given(project, "ben", at=NOW + 1000 * HOUR) is None
    assert given(project, "ann", at=NOW + 1000 * HOUR) == copy


def test_who_lapsed_gets_the_place_again_when_it_is_free(project: ReviewProject) -> None:
    first = given(project, "ann")
    second = given(project, "ben", at=NOW + HOUR)
    assert first is not None
    assert second is not None
    with transaction(project.database, "ben") as change:
        lapse_work(change, change.session.get_one(AssignmentRow, second))
    assert given(project, "ann", at=NOW + HOUR) == first
    assert state_of(project.database, first) == "working"


def test_a_lease_that_a_wrong_clock_gave_holds_nothing(project: ReviewProject) -> None:
    assert given(project, "ann", at=NOW + 9000 * HOUR) is not None
    assert given(project, "ben", at=NOW) is not None


def test_work_of_somebody_who_leaves_goes_to_others_and_is_kept(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    saved(project, copy, "0", question="Mine?")
    with transaction(project.database, OPERATOR) as change:
        assert release_work(change, "ann", approval=False) == 1
    assert given(project, "ben") is not None
    with project.database.reading() as session:
        assert work.entries(session, copy)["0"].value["question"] == "Mine?"


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_a_unit_is_done_when_as_many_have_handed_in_as_it_needs(project: ReviewProject, overlap: int) -> None:
    set_k(project, overlap)
    copies = [given(project, person) for person in ("ann", "ben", "cai")[:overlap]]
    assert given(project, "dee") is None
    for number, copy in enumerate(copies):
        assert copy is not None
        assert unit_of(project.database) == ("open", number)
        with project.database.reading() as session:
            assert session.scalars(select(ResultRow)).all() == []
        handed_in(project, copy)
    assert unit_of(project.database) == ("done", overlap)
    with project.database.reading() as session:
        how = {row.how for row in session.scalars(select(ResultRow))}
        assert how == {"sole" if overlap == 1 else "agreed"}


def test_what_differs_goes_to_one_adjudicator_who_did_not_work_on_it(project: ReviewProject) -> None:
    set_k(project, 2)
    copies = [given(project, person) for person in ("ann", "jo")]
    with transaction(project.database, "cai") as change, pytest.raises(Conflict, match="needs nobody else"):
        take_unit(change, change.session.get_one(UnitRow, "u0"), "cai", ADJUDICATOR, lease_minutes=30)
    for copy, question in zip(copies, ("One?", "Two?"), strict=True):
        assert copy is not None
        handed_in(project, copy, question=question)
    assert unit_of(project.database) == ("adjudication", 2)
    adjudicated = {}
    for person in ("jo", "ben", "cai"):
        try:
            with transaction(project.database, person, now=NOW) as change:
                unit = change.session.get_one(UnitRow, "u0")
                adjudicated[person] = take_unit(change, unit, person, ADJUDICATOR, lease_minutes=30).id
        except Conflict:
            continue
    assert list(adjudicated) == ["ben"], "jo worked on it, and ben was before cai"
    copy = adjudicated["ben"]
    with transaction(project.database, "ben") as change:
        assignment, unit, task = work.own_work(change.session, "ben", copy)
        with pytest.raises(InvalidValue, match="no such work"):
            work.save_value(change, assignment, unit, task, "0", 0, {"take": "somebody"})
        with pytest.raises(InvalidValue, match="there is nothing to settle"):
            work.save_value(change, assignment, unit, task, "7", 0, {"take": copies[0]})
        for place, whose in (("0", 0), ("1", 1)):
            work.save_value(change, assignment, unit, task, place, 0, {"take": copies[whose]})
    with pytest.raises(InvalidValue) as refused:
        handed_in(project, copy)
    assert refused.value.more == {"places": ["2"]}
    with transaction(project.database, "ben") as change:
        assignment, unit, task = work.own_work(change.session, "ben", copy)
        written = task.draft_value(unit.content, "2") | {"decision": "accept"}
        work.save_value(change, assignment, unit, task, "2", 0, {"write": written})
    handed_in(project, copy)
    with project.database.reading() as session:
        results = {row.place: row for row in session.scalars(select(ResultRow))}
        assert [results[place].how for place in "012"] == ["taken", "taken", "written"]
        assert [results[place].value["question"] for place in "01"] == ["One?", "Two?"]
        assert results["0"].people == ["ann", "ben"]


def test_returned_work_is_redone_by_its_person_and_the_adjudicator_looks_again(project: ReviewProject) -> None:
    set_k(project, 2)
    copies = [given(project, person) for person in ("ann", "ben")]
    for copy, question in zip(copies, ("One?", "Two?"), strict=True):
        assert copy is not None
        handed_in(project, copy, question=question)
    with transaction(project.database, "jo") as change:
        mine = take_unit(change, change.session.get_one(UnitRow, "u0"), "jo", ADJUDICATOR, lease_minutes=30).id
    for place in "012":
        with transaction(project.database, "jo") as change:
            assignment, unit, task = work.own_work(change.session, "jo", mine)
            work.save_value(change, assignment, unit, task, place, 0, {"take": copies[0]})
    with transaction(project.database, "ann") as change, pytest.raises(Forbidden):
        work.send_back(change, "ann", copies[0] or "", "do it again")
    with transaction(project.database, "jo") as change, pytest.raises(InvalidValue):
        work.send_back(change, "jo", copies[0] or "", "  ")
    with transaction(project.database, "jo") as change:
        work.send_back(change, "jo", copies[0] or "", "the question leaks")
    assert unit_of(project.database) == ("open", 1)
    assert (state_of(project.database, copies[0] or ""), state_of(project.database, mine)) == ("returned", "lapsed")
    assert set(marks(project.database, mine).values()) == {True}
    with pytest.raises(Conflict, match="returned to its annotator"):
        handed_in(project, mine)
    # An adjudicator has decided about the other's work already: it cannot be taken back now.
    with transaction(project.database, "ben") as change, pytest.raises(Conflict):
        work.reopen(change, change.session.get_one(AssignmentRow, copies[1]), change.session.get_one(UnitRow, "u0"))
    assert given(project, "cai", at=NOW + 1000 * HOUR) is None, "work stays with its annotator through rework"
    assert given(project, "ann") == copies[0]
    handed_in(project, copies[0] or "", question="Two?")
    assert unit_of(project.database) == ("done", 2)
    assert state_of(project.database, mine) == "lapsed"


def test_with_approval_an_adjudicator_sees_what_nobody_disagrees_on(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None
    handed_in(project, copy, approval=True)
    assert unit_of(project.database) == ("adjudication", 1)


def test_one_may_take_back_what_one_handed_in_also_when_all_is_in(project: ReviewProject) -> None:
    set_k(project, 2)
    copies = [given(project, person) or "" for person in ("ann", "ben")]
    handed_in(project, copies[0])
    taken_back(project, copies[0])
    assert unit_of(project.database) == ("open", 0)
    handed_in(project, copies[0])
    handed_in(project, copies[1])
    assert unit_of(project.database) == ("done", 2)
    taken_back(project, copies[0])
    assert unit_of(project.database) == ("open", 1)
    with project.database.reading() as session:
        assert session.scalars(select(ResultRow)).all() == []
    assert given(project, "cai", at=NOW + 1000 * HOUR) is None, "it stays with its annotator"
    handed_in(project, copies[0], question="Another?")
    assert unit_of(project.database) == ("adjudication", 2)
    taken_back(project, copies[1])
    handed_in(project, copies[1], question="Another?")
    assert unit_of(project.database) == ("done", 2)


def taken_back(project: ReviewProject, copy: str) -> None:
    with transaction(project.database, "") as change:
        assignment = change.session.get_one(AssignmentRow, copy)
        work.reopen(change, assignment, change.session.get_one(UnitRow, assignment.unit_id))


def test_gold_goes_to_everybody_is_never_complete_and_cannot_be_told_by_reopening(tmp_path: Path) -> None:
    project = small_project(tmp_path, units=1, gold=[0])
    for person in ("ann", "ben", "cai"):
        copy = given(project, person)
        assert copy is not None
        handed_in(project, copy, decision="reject")
        taken_back(project, copy)
        handed_in(project, copy, decision="reject")
    assert unit_of(project.database) == ("open", 3)
    assert verify_history(project.database).findings == ()
    project.database.close()


def test_fewer_people_for_each_unit_completes_those_that_have_enough(project: ReviewProject) -> None:
    set_k(project, 2)
    copies = [given(project, person) for person in ("ann", "ben")]
    handed_in(project, copies[0] or "")
    set_k(project, 1)
    assert unit_of(project.database) == ("done", 1)
    assert state_of(project.database, copies[1] or "") == "lapsed"


def test_work_of_others_is_not_there(project: ReviewProject) -> None:
    copy = given(project, "ann")
    with project.database.reading() as session:
        with pytest.raises(NotFound):
            work.own_work(session, "ben", copy or "")
        with pytest.raises(NotFound):
            work.own_work(session, "ben", "nothing")
        assert submitted_works(session, "u0") == []


def test_what_is_left_counts_own_work_and_free_places(project: ReviewProject) -> None:
    def left(person: str) -> int:
        with project.database.reading() as session:
            return open_units(session, QUEUE, person, timestamp(NOW))

    assert (left("ann"), left("ben")) == (1, 1)
    copy = given(project, "ann")
    assert (left("ann"), left("ben")) == (1, 0)
    handed_in(project, copy or "")
    assert (left("ann"), left("ben")) == (0, 0)


def test_every_change_is_an_event_with_author_time_before_and_after(project: ReviewProject) -> None:
    copy = given(project, "ann") or ""
    saved(project, copy, "0", question="One?")
    saved(project, copy, "0", question="Two?")
    with project.database.reading() as session:
        event = session.scalars(select(EventRow).order_by(EventRow.seq.desc())).first()
        assert event is not None
        assert (event.kind, event.author, event.subject, event.place, event.at) == (
            "save",
            "ann",
            copy,
            "0",
            timestamp(NOW),
        )
        assert (event.before["value"]["question"], event.after["value"]["question"]) == ("One?", "Two?")


def test_seconds_of_activity_add_up_and_are_in_the_history(project: ReviewProject) -> None:
    copy = given(project, "ann")
    assert copy is not None

    def save(active_s: float, **fields: Any) -> EntryRow:
        with transaction(project.database, "ann") as change:
            assignment, unit, task = work.own_work(change.session, "ann", copy)
            row = change.session.get(EntryRow, (copy, "0"))
            value = (row.value if row is not None else task.draft_value(unit.content, "0")) | fields
            revision = row.revision if row is not None else 0
            return work.save_value(change, assignment, unit, task, "0", revision, value, active_s=active_s)

    assert save(10.1).active_s == 10.1
    assert save(0.2, decision="accept").active_s == 10.3
    # Nothing changed but the time: undo must not get a step for it.
    assert (save(5.0).active_s, save(5.0).revision) == (15.3, 2)
    stepped(project, copy, "undo")
    stepped(project, copy, "undo")
    with project.database.reading() as session:
        assert session.get_one(EntryRow, (copy, "0")).active_s == 20.3
        kinds = session.scalars(select(EventRow.kind).where(EventRow.subject == copy).order_by(EventRow.seq)).all()
    assert list(kinds) == ["take", "save", "save", "active", "active", "undo", "undo"]
    with project.database.writing() as session:
        session.get_one(EntryRow, (copy, "0")).active_s = 3600.0
    assert "entries" in verify_history(project.database).findings[0]
    with project.database.writing() as session:
        session.get_one(EntryRow, (copy, "0")).active_s = 20.3
