"""Where a team stands: counts that add up, agreement of complete units alone, speed, and what blocks a release."""

import random
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from reeltalk_review.agreement import agreement_by_variable
from reeltalk_review.assigning import ADJUDICATOR, next_unit, take_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.gold import add_known_answers
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow, VideoRow
from reeltalk_review.team_stats import (
    NOT_MEASURED,
    STATES,
    QueueAgreement,
    TeamStats,
    TeamStatsCache,
    queue_progress,
    read_decisions,
    release_blocks,
)
from reeltalk_review.work import entries, lacking_places, own_work, reopen, save_value, send_back, submit

PEOPLE = ("ann", "ben", "cai")
TURNS = 3


def add_queue(change: Transaction, name: str, *, units: int, overlap: int) -> None:
    change.session.add(QueueRow(id=name, task="turns", title=name, position=0, overlap=overlap, settings={}))
    change.session.flush()
    for unit in range(units):
        turns = [
            {"question": f"What is thing {n} of {unit}?", "references": [f"Thing {n}."], "labels": {"k": ["a"]}}
            for n in range(TURNS)
        ]
        change.session.add(
            UnitRow(
                id=f"{name}{unit}",
                queue_id=name,
                position=unit,
                title=f"{name}{unit}",
                video_id=f"v{unit % 4}",
                turns=TURNS,
                content={"video_id": f"v{unit % 4}", "turns": turns, "clips": [], "scenes": []},
                target_table="chains",
                target_id=f"{name}{unit}",
            )
        )


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    found = ReviewProject.open(tmp_path / "bench", folder=tmp_path / "review")
    with transaction(found.database, OPERATOR) as change:
        for name in (*PEOPLE, "judge"):
            role = "adjudicator" if name == "judge" else "annotator"
            row = PersonRow(id=name, name=name, sign_in=name, role=role, created_at=change.at)
            change.session.add(row)
        for video in range(4):
            change.session.add(VideoRow(id=f"v{video}"))
        change.session.flush()
        add_queue(change, "twice", units=8, overlap=2)
        add_queue(change, "once", units=3, overlap=1)
    yield found
    found.database.close()


def decide(
    project: ReviewProject,
    person: str,
    assignment_id: str,
    decision: Callable[[str], str],
    *,
    at: datetime | None = None,
) -> None:
    """Decide every place of an assignment and hand it in."""
    with transaction(project.database, person, now=at) as change:
        assignment, unit, task = own_work(change.session, person, assignment_id)
        for place in task.places(unit.content):
            value = task.draft_value(unit.content, place) | {"decision": decision(place)}
            value["reasons"] = ["leaks"] if value["decision"] == "reject" else []
            row = change.session.get(EntryRow, (assignment.id, place))
            save_value(change, assignment, unit, task, place, row.revision if row else 0, value)
        submit(change, assignment, unit, task, approval=False)


def start(project: ReviewProject, person: str, queue: str = "twice", *, at: datetime | None = None) -> str:
    with transaction(project.database, person, now=at) as change:
        found = next_unit(change, person, queue, lease_minutes=30)
        assert found is not None
        return found.id


def do_unit(project: ReviewProject, person: str, decision: Callable[[str], str] = lambda _: "accept") -> str:
    assignment = start(project, person)
    decide(project, person, assignment, decision)
    return assignment


def always(decision: str) -> Callable[[str], str]:
    return lambda _: decision


def check_counts(project: ReviewProject) -> None:
    with project.database.reading() as session:
        for queue in queue_progress(session):
            units = session.scalars(select(UnitRow).where(UnitRow.queue_id == queue.id, UnitRow.gold.is_(None))).all()
            assert tuple(queue.units) == STATES
            assert (queue.total, queue.total_turns) == (len(units), sum(unit.turns for unit in units))
            assert min(queue.units.values()) >= 0


def random_step(project: ReviewProject, rng: random.Random) -> None:
    """Something that somebody may try at any time; what the engine refuses changes nothing."""
    person = rng.choice(PEOPLE)
    with project.database.reading() as session:
        held = session.scalars(
            select(AssignmentRow).where(AssignmentRow.person_id == person).order_by(AssignmentRow.created_at)
        ).all()
        everything = session.scalars(select(AssignmentRow).order_by(AssignmentRow.id)).all()
        disputed = session.scalars(select(UnitRow).where(UnitRow.state == "adjudication").order_by(UnitRow.id)).all()
    kind = rng.choice(["next", "next", "finish", "finish", "finish", "reopen", "return", "adjudicate"])
    if kind == "next":
        with transaction(project.database, person) as change:
            next_unit(change, person, rng.choice(["twice", "once"]), lease_minutes=30)
    elif kind == "finish" and held:
        decide(project, person, rng.choice(held).id, lambda _: rng.choice(["accept", "accept", "reject"]))
    elif kind == "reopen" and held:
        with transaction(project.database, person) as change:
            assignment, unit, _ = own_work(change.session, person, rng.choice(held).id)
            reopen(change, assignment, unit)
    elif kind == "return" and everything:
        with transaction(project.database, "judge") as change:
            send_back(change, "judge", rng.choice(everything).id, "look again")
    elif kind == "adjudicate" and disputed:
        adjudicate(project, rng.choice(disputed).id)


def adjudicate(project: ReviewProject, unit_id: str) -> None:
    """Settle a unit by the work of whoever submitted first."""
    with transaction(project.database, "judge") as change:
        unit = change.session.get_one(UnitRow, unit_id)
        query = select(AssignmentRow).where(AssignmentRow.unit_id == unit_id)
        mine = change.session.scalars(query.where(AssignmentRow.person_id == "judge")).one_or_none()
        assignment = mine or take_unit(change, unit, "judge", ADJUDICATOR, lease_minutes=30)
        first = change.session.scalars(query.where(AssignmentRow.role == "annotator")).first()
        assert first is not None
        _, _, task = own_work(change.session, "judge", assignment.id)
        while lacking := lacking_places(
            unit, task, entries(change.session, assignment.id), adjudicating=True, session=change.session
        ):
            row = change.session.get(EntryRow, (assignment.id, lacking[0]))
            revision = row.revision if row else 0
            save_value(change, assignment, unit, task, lacking[0], revision, {"take": first.id, "note": ""})
            change.session.flush()
        submit(change, assignment, unit, task, approval=False)


def test_counts_add_up_to_the_total_after_any_operations(project: ReviewProject, full: bool) -> None:
    def settled() -> bool:
        with project.database.reading() as session:
            return session.scalars(select(UnitRow).where(UnitRow.state == "done")).first() is not None

    check_counts(project)
    rng = random.Random(11)
    refused = done = 0
    while done + refused < (2000 if full else 30) or not settled():
        try:
            random_step(project, rng)
            done += 1
        except ApiError:
            refused += 1
        check_counts(project)
    # The walk went somewhere: most was done, and something was refused.
    assert done > refused > 0
    with transaction(project.database, OPERATOR) as change:
        units = change.session.scalars(select(UnitRow).where(UnitRow.state == "done")).all()
        assert add_known_answers(change, units[0].queue_id, "training", 1) == 1
    check_counts(project)


def test_agreement_rests_on_complete_units_alone(project: ReviewProject) -> None:
    cache = TeamStatsCache(project.database)
    do_unit(project, "ann")
    first = cache.compute()
    assert [task.main for task in first.tasks] == [None, None]
    do_unit(project, "ben", lambda place: "reject" if place == "1" else "accept")
    found = cache.compute()
    main = next(task for task in found.tasks if task.queue_id == "twice").main
    assert main is not None
    assert (main.variable, main.raw.n) == ("decision", TURNS)
    assert main.raw.value == pytest.approx(2 / 3)


def test_known_answers_count_for_no_agreement(project: ReviewProject) -> None:
    do_unit(project, "ann")
    do_unit(project, "ben")
    with transaction(project.database, OPERATOR) as change:
        assert add_known_answers(change, "twice", "faults", 1) == 1
        assert add_known_answers(change, "twice", "training", 1) == 1
    for person in ("cai", "ann", "ben"):
        while True:
            with transaction(project.database, person) as change:
                found = next_unit(change, person, "twice", lease_minutes=30)
            if found is None:
                break
            decide(project, person, found.id, lambda _: "accept")
    stats = TeamStatsCache(project.database).compute()
    task = next(task for task in stats.tasks if task.queue_id == "twice")
    assert (task.units, task.turns, task.people, task.in_bulk) == (8, 8 * TURNS, 3, 0)
    assert {row.person for row in stats.quality if row.gold_faults or row.training_places} == {"cai"}
    with project.database.reading() as session:
        gold = session.scalars(select(UnitRow.id).where(UnitRow.gold.is_not(None))).all()
        assert list(read_decisions(session, gold)) == []


def test_agreement_says_how_many_decisions_were_made_in_bulk(project: ReviewProject) -> None:
    do_unit(project, "ann")
    with transaction(project.database, "ben") as change:
        for entry in change.session.scalars(select(EntryRow)):
            entry.value = entry.value | {"in_bulk": entry.place != "0"}
    do_unit(project, "ben")
    stats = stats_of(project)
    assert {task.queue_id: task.in_bulk for task in stats.tasks} == {"twice": TURNS - 1, "once": 0}
    assert {row.person: row.in_bulk for row in stats.quality} == {"ann": TURNS - 1, "ben": 0}


def test_what_is_read_on_is_what_is_read_at_once(project: ReviewProject) -> None:
    rng = random.Random(4)
    kept = TeamStatsCache(project.database)
    for _ in range(40):
        try:
            random_step(project, rng)
        except ApiError:
            continue
        if rng.random() < 0.3:
            kept.compute()
    found, fresh = kept.compute(), TeamStatsCache(project.database).compute()
    assert (found.seq, found.tasks) == (fresh.seq, fresh.tasks)
    assert found.quality == fresh.quality
    with project.database.reading() as session:
        rows = [row for _, queue, rows in read_decisions(session) if queue == "twice" for row in rows]
    task = next(task for task in found.tasks if task.queue_id == "twice")
    assert list(task.variables) == agreement_by_variable(rows)


def test_work_that_was_returned_counts_as_it_was_handed_in_first(project: ReviewProject) -> None:
    do_unit(project, "ann")
    assignment = do_unit(project, "ben", lambda _: "reject")
    with transaction(project.database, "judge") as change:
        send_back(change, "judge", assignment, "these are fine, I think")
    cache = TeamStatsCache(project.database)
    assert all(task.main is None for task in cache.compute().tasks)
    decide(project, "ben", assignment, lambda _: "accept")
    main = next(task for task in cache.compute().tasks if task.queue_id == "twice").main
    assert main is not None
    assert main.raw.value == 0


def test_pairs_see_only_what_both_did(project: ReviewProject) -> None:
    for first, second in (("ann", "ben"), ("ann", "cai"), ("ben", "cai")):
        assignment = start(project, first)
        with project.database.reading() as session:
            unit_id = session.get_one(AssignmentRow, assignment).unit_id
        decide(project, first, assignment, lambda _: "accept")
        with transaction(project.database, second) as change:
            other = take_unit(
                change, change.session.get_one(UnitRow, unit_id), second, "annotator", lease_minutes=30
            ).id
        decide(project, second, other, always("reject" if second == "cai" else "accept"))
    cache = TeamStatsCache(project.database)
    task = next(task for task in cache.compute().tasks if task.queue_id == "twice")
    assert [pair.people for pair in task.pairs] == [("ann", "ben"), ("ann", "cai"), ("ben", "cai")]
    assert [pair.main.raw.value for pair in task.pairs] == [1, 0, 0]


def stats_of(project: ReviewProject) -> TeamStats:
    return TeamStatsCache(project.database).compute()


def test_a_release_is_blocked_below_the_set_level_and_where_nothing_was_measured(project: ReviewProject) -> None:
    assert release_blocks(stats_of(project), None) == []
    with transaction(project.database, OPERATOR) as change:
        change.session.delete(change.session.get_one(UnitRow, "once0"))
        for name in ("once1", "once2"):
            change.session.delete(change.session.get_one(UnitRow, name))
        change.session.flush()
        change.session.delete(change.session.get_one(QueueRow, "once"))
    (blocked,) = release_blocks(stats_of(project), 0.6)
    assert NOT_MEASURED in blocked
    for unit in range(4):
        do_unit(project, "ann", lambda place: "reject" if place == "1" else "accept")
        do_unit(project, "ben", always("accept") if unit == 0 else lambda place: "reject" if place == "1" else "accept")
    (blocked,) = release_blocks(stats_of(project), 0.9)
    assert "below the 0.9" in blocked
    assert release_blocks(stats_of(project), 0.2) == []


def test_people_who_say_the_same_of_all_block_no_release(project: ReviewProject) -> None:
    do_unit(project, "ann")
    do_unit(project, "ben")
    stats = stats_of(project)
    tasks = tuple(task for task in stats.tasks if task.queue_id == "twice")
    assert isinstance(tasks[0], QueueAgreement)
    assert release_blocks(TeamStats(stats.seq, stats.at, tasks), 0.8) == []
