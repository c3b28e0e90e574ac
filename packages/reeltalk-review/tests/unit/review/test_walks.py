"""Whatever people do, in whatever order: counts add up, nothing is lost, and the history leads to what is there."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from review_projects import QUEUE, small_project
from sqlalchemy import func, select

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.assigning import ADJUDICATOR, ANNOTATOR, LIVE, next_unit, take_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.settling import ADJUDICATION, DONE, OPEN, release_work, set_overlap, submitted_works
from reeltalk_review.tables import AssignmentRow, EntryRow, EventRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.verifying import verify_history

ANNOTATORS = ("ann", "ben", "cai", "dee")
ADJUDICATORS = ("jo", "kim")
STEPS = 120
State = dict[str, tuple[Json, bool]]


@dataclass
class Walk:
    """People who do things at random, and what must be so after each."""

    project: ReviewProject
    rng: random.Random
    now: datetime = datetime(2026, 11, 22, 4, 0, tzinfo=UTC)
    before: dict[str, list[State]] = field(default_factory=dict)
    """By copy: its states before each step that can be taken back."""
    undone: dict[str, list[State]] = field(default_factory=dict)
    reopened: set[str] = field(default_factory=set)
    """Copies that were submitted once and taken back."""
    done: dict[str, int] = field(default_factory=dict)

    def step(self) -> None:
        name = self.rng.choice(
            ["next"] * 4 + ["save"] * 10 + ["decide"] * 5 + ["submit"] * 6 + ["undo"] * 5 + ["redo"] * 3
            + ["settle"] * 8 + ["send_back", "reopen", "leave", "wait", "wait", "clock", "overlap"]
        )  # fmt: skip
        with self.project.database.reading() as session:
            events = session.scalar(select(func.count()).select_from(EventRow))
        kept = [{name: list(states) for name, states in known.items()} for known in (self.before, self.undone)]
        try:
            getattr(self, f"do_{name}")()
            self.done[name] = self.done.get(name, 0) + 1
        except ApiError:
            self.before, self.undone = kept
            with self.project.database.reading() as session:
                assert session.scalar(select(func.count()).select_from(EventRow)) == events, "a refusal changes nothing"
        self.check()

    def changing(self, author: str) -> Any:
        return transaction(self.project.database, author, now=self.now)

    def someones(self, change: Transaction, *states: str) -> AssignmentRow | None:
        query = select(AssignmentRow).order_by(AssignmentRow.unit_id, AssignmentRow.person_id)
        found = change.session.scalars(query.where(AssignmentRow.state.in_(states)) if states else query).all()
        if not found:
            return None
        row = self.rng.choice(found)
        change.author = row.person_id
        return row

    def do_next(self) -> None:
        person = self.rng.choice(ANNOTATORS)
        with self.changing(person) as change:
            next_unit(change, person, QUEUE, lease_minutes=30)

    def do_wait(self) -> None:
        self.now += timedelta(minutes=self.rng.choice([1, 20, 45, 600]))

    def do_clock(self) -> None:
        self.now += timedelta(days=self.rng.choice([-3, -1, 2]))

    def do_save(self) -> None:
        with self.changing("") as change:
            copy = self.someones(change)
            if copy is not None:
                self.put(change, copy, self.rng.randrange(3))

    def do_decide(self) -> None:
        """Decide all that is still open."""
        with self.changing("") as change:
            copy = self.someones(change, "working", "returned", "lapsed")
            if copy is not None:
                for turn in range(3):
                    self.put(change, copy, turn, decided=True)

    def put(self, change: Transaction, copy: AssignmentRow, turn: int, *, decided: bool = False) -> None:
        _, unit, task = work.own_work(change.session, copy.person_id, copy.id)
        place, rng = str(turn), self.rng
        value = task.draft_value(unit.content, place)
        value["decision"] = rng.choice(["accept", "accept", "reject"] + ([] if decided else [None, "skip"]))
        value["reasons"] = ["leaks"] if value["decision"] == "reject" else []
        if rng.random() < 0.4:
            value["question"] += f" {rng.randrange(3)}"
        if copy.role == ADJUDICATOR:
            others = [row.id for row, _ in submitted_works(change.session, unit.id)]
            value["decision"] = value["decision"] or "skip"
            value = {"take": rng.choice(others)} if others and rng.random() < 0.6 else {"write": value}
        row = change.session.get(EntryRow, (copy.id, place))
        there, known = self.state(change, copy.id), len(change.events)
        entry = work.save_value(change, copy, unit, task, place, row.revision if row is not None else 0, value)
        change.session.flush()
        if any(event.kind == "save" for event in change.events[known:]):
            self.before.setdefault(copy.id, []).append(there)
            self.undone[copy.id] = []
        assert not entry.stale

    def do_undo(self) -> None:
        with self.changing("") as change:
            copy = self.someones(change)
            if copy is None:
                return
            _, unit, task = work.own_work(change.session, copy.person_id, copy.id)
            there = self.state(change, copy.id)
            work.undo_or_redo(change, copy, unit, task, "undo")
            self.same(change, copy, self.before[copy.id].pop())
            self.undone.setdefault(copy.id, []).append(there)

    def do_redo(self) -> None:
        with self.changing("") as change:
            copy = self.someones(change)
            if copy is None:
                return
            _, unit, task = work.own_work(change.session, copy.person_id, copy.id)
            there = self.state(change, copy.id)
            work.undo_or_redo(change, copy, unit, task, "redo")
            self.same(change, copy, self.undone[copy.id].pop())
            self.before.setdefault(copy.id, []).append(there)

    def same(self, change: Transaction, copy: AssignmentRow, expected: State) -> None:
        found = self.state(change, copy.id)
        if copy.role == ADJUDICATOR:
            # Work that was returned meanwhile marks all decisions, beside what can be taken back.
            assert {p: v for p, (v, _) in found.items()} == {p: v for p, (v, _) in expected.items()}
        else:
            assert found == expected

    def state(self, change: Transaction, copy_id: str) -> State:
        change.session.flush()
        return {
            place: (row.value, row.stale)
            for place, row in work.entries(change.session, copy_id).items()
            if row.value is not None
        }

    def do_submit(self) -> None:
        with self.changing("") as change:
            copy = self.someones(change)
            if copy is not None:
                _, unit, task = work.own_work(change.session, copy.person_id, copy.id)
                work.submit(change, copy, unit, task, approval=self.rng.random() < 0.2)

    def do_reopen(self) -> None:
        with self.changing("") as change:
            copy = self.someones(change, "submitted")
            if copy is not None:
                work.reopen(change, copy, change.session.get_one(UnitRow, copy.unit_id))
                self.reopened.add(copy.id)

    def do_settle(self) -> None:
        person = self.rng.choice(ADJUDICATORS)
        with self.changing(person) as change:
            query = select(UnitRow).order_by(UnitRow.id)
            waiting = change.session.scalars(query.where(UnitRow.state == ADJUDICATION)).all()
            units = waiting if waiting and self.rng.random() < 0.8 else change.session.scalars(query).all()
            take_unit(change, self.rng.choice(units), person, ADJUDICATOR, lease_minutes=30)

    def do_send_back(self) -> None:
        person = self.rng.choice(ADJUDICATORS)
        with self.changing(person) as change:
            copy = self.someones(change)
            if copy is not None:
                work.send_back(change, person, copy.id, "look again")

    def do_leave(self) -> None:
        if self.rng.random() < 0.3:
            with self.changing(OPERATOR) as change:
                release_work(change, self.rng.choice(ANNOTATORS + ADJUDICATORS), approval=False)

    def do_overlap(self) -> None:
        with self.changing(OPERATOR) as change:
            queue = change.session.get_one(QueueRow, QUEUE)
            set_overlap(change, queue, TASKS["turns"], self.rng.choice([1, 2, 3]), approval=False)

    def check(self) -> None:
        with self.project.database.reading() as session:
            overlap = session.get_one(QueueRow, QUEUE).overlap
            for unit in session.scalars(select(UnitRow)):
                copies = session.scalars(select(AssignmentRow).where(AssignmentRow.unit_id == unit.id)).all()
                people = [copy.person_id for copy in copies]
                assert len(set(people)) == len(people), "nobody works twice on a unit"
                live = [copy.state for copy in copies if copy.role == ANNOTATOR and copy.state in LIVE]
                adjudicators = [copy.state for copy in copies if copy.role == ADJUDICATOR and copy.state in LIVE]
                results = session.scalars(select(ResultRow.place).where(ResultRow.unit_id == unit.id)).all()
                assert unit.submitted == live.count("submitted")
                assert len(adjudicators) <= 1
                if unit.gold is not None:
                    assert unit.state == OPEN
                    continue
                if unit.state == OPEN:
                    # Fewer people may do a unit than did it when some of its work was returned or taken back.
                    again = sum(
                        copy.state == "returned" or (copy.state == "working" and copy.id in self.reopened)
                        for copy in copies
                        if copy.role == ANNOTATOR
                    )
                    assert len(live) <= (max(overlap, unit.submitted + again) if again else overlap)
                    assert unit.submitted < overlap or again, "what is complete is settled"
                    assert results == [], "nothing is settled before all work is in"
                    assert adjudicators == []
                else:
                    assert live == ["submitted"] * unit.submitted
                    assert (len(results) == 3) == (unit.state == DONE)
                if unit.state == ADJUDICATION:
                    assert set(adjudicators) <= {"working"}


@pytest.fixture
def project(tmp_path: Path, database_kind: str) -> Iterator[ReviewProject]:
    found = small_project(
        tmp_path, annotators=ANNOTATORS, adjudicators=ADJUDICATORS, units=3, turns=3, overlap=2, gold=[2]
    )
    yield found
    found.database.close()


def test_random_walks_keep_every_promise(project: ReviewProject, full: bool) -> None:
    walk = Walk(project, random.Random(0))
    for seed in range(20 if full else 3):
        walk.rng = random.Random(seed)
        # The walk goes on, with units of its own for each seed.
        fresh_units(project, seed)
        for _ in range(STEPS):
            walk.step()
        assert verify_history(project.database).findings == ()
    # All that can be done was done, not only refused.
    assert set(walk.done) >= {"next", "save", "decide", "submit", "undo", "redo", "settle", "overlap"}


def fresh_units(project: ReviewProject, seed: int) -> None:
    with transaction(project.database, OPERATOR) as change:
        for old in change.session.scalars(select(UnitRow).where(UnitRow.id.in_(["u0", "u1", "u2"]))).all():
            copy = {column.name: getattr(old, column.name) for column in UnitRow.__table__.columns}
            position = 1000 * (seed + 1) + old.position
            fresh = {"id": f"w{seed}{old.id}", "state": "open", "submitted": 0, "position": position}
            change.session.add(UnitRow(**(copy | fresh)))
