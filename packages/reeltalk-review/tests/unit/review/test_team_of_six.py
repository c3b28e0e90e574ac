"""A team of six reviews dialogues, two people each: mistakes are taken back, disputes settled, all of it applied."""

import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team, one_loop, small_content

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS
from reeltalk_review.tables import AssignmentRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.team_stats import TeamStatsCache

DIALOGUES = 60
"""In full counts, else a quarter."""
QUEUE = "turns"
ODD = ("Что она делает?", "为什么？", 'quotes " and \\ and <b>', "ends with a space ", "🎬 and é", "two\nlines")
Place = tuple[str, str]
"""A copy of a unit, and a place in it."""


@dataclass
class Annotator:
    """Somebody who decides at random, errs at times, and takes it back."""

    browser: Browser
    draw: random.Random
    entered: dict[Place, dict[str, Any]] = field(default_factory=dict)
    """What stood at each place when it was submitted last."""
    mistakes: int = 0

    def value(self, draft: dict[str, Any]) -> dict[str, Any]:
        decision = self.draw.choices(("accept", "edit", "reject"), (7, 2, 1))[0]
        value = {**draft, "decision": decision, "reasons": ["leaks"] if decision == "reject" else []}
        if decision == "edit":
            value["question"] = self.draw.choice(ODD)
        if self.draw.random() < 0.1:
            value["note"] = "=1+1 is no formula"
        return value

    def save(self, copy: str, place: str, value: dict[str, Any]) -> None:
        answer = self.browser.save(copy, place, value)
        assert answer.status_code == 200, answer.text

    def post(self, copy: str, what: str) -> None:
        answer = self.browser.api("POST", f"/api/work/{copy}/{what}")
        assert answer.status_code == 200, answer.text

    def works(self) -> bool:
        """Take the next unit and submit it; False if none is left."""
        answer = self.browser.form(f"/queues/{QUEUE}/next")
        if "/work/" not in answer.headers["location"]:
            return False
        copy = answer.headers["location"].removeprefix("/work/")
        opened = self.browser.get(f"/api/work/{copy}").json()
        content = opened["unit"]["content"]
        for place in opened["places"]:
            draft = TASKS[QUEUE].draft_value(content, place)
            if self.draw.random() < 0.3:
                self.save(copy, place, {**self.value(draft), "note": "a mistake"})
                self.post(copy, "undo")
                self.mistakes += 1
            self.entered[copy, place] = self.value(draft)
            self.save(copy, place, self.entered[copy, place])
        self.post(copy, "submit")
        return True


@dataclass
class Reviewed:
    """What a team did."""

    team: Team
    annotators: list[Annotator]
    taken: dict[Place, str]
    """The copy that the adjudicator took at each disputed place, by unit and place."""
    dialogues: int

    def values(self) -> dict[Place, dict[str, dict[str, Any]]]:
        """Everybody's values by copy, at each unit and place."""
        with self.team.project.database.reading() as session:
            rows = session.execute(select(AssignmentRow.id, AssignmentRow.unit_id)).all()
        units = {row.id: row.unit_id for row in rows}
        found: dict[Place, dict[str, dict[str, Any]]] = defaultdict(dict)
        for annotator in self.annotators:
            for (copy, place), value in annotator.entered.items():
                found[units[copy], place][copy] = value
        return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Reviewed:
    dialogues = DIALOGUES if full else DIALOGUES // 4
    team = make_team(tmp_path_factory.mktemp("six"), small_content(dialogues), overlap=2)
    taken: dict[Place, str] = {}
    with one_loop():
        people = [
            Annotator(team.member(name, "annotator"), random.Random(name)) for name in ("Ann", "Ben", "Cai", "Dee")
        ]
        judge = team.member("Jo", "adjudicator")
        team.member("Olga", "owner")
        left = list(people)
        while left:
            left = [one for one in left if one.works()]
        draw = random.Random(9)
        for _ in count():
            location = judge.form(f"/adjudicate/queues/{QUEUE}/next").headers["location"]
            if "/adjudicate/" not in location:
                break
            copy = location.removeprefix("/adjudicate/")
            shown = judge.get(f"/api/adjudicate/{copy}").json()
            for place in shown["disputed"]:
                taken[shown["unit"]["id"], place] = side = draw.choice([side["id"] for side in shown["sides"]])
                body = {"revision": 0, "value": {"take": side}}
                assert judge.api("PUT", f"/api/work/{copy}/entries/{place}", body).status_code == 200
            assert judge.api("POST", f"/api/work/{copy}/submit").status_code == 200
    return Reviewed(team, people, taken, dialogues)


def test_both_people_decided_everything_and_mistakes_are_gone(done: Reviewed) -> None:
    values = done.values()
    assert len(values) == 3 * done.dialogues
    assert all(len(own) == 2 for own in values.values())
    assert sum(annotator.mistakes for annotator in done.annotators) > done.dialogues
    assert len(done.taken) > done.dialogues / 2


def test_agreement_is_what_a_count_by_hand_gives(done: Reviewed) -> None:
    decisions = [[value["decision"] for value in own.values()] for own in done.values().values()]
    (queue,) = (task for task in TeamStatsCache(done.team.project.database).compute().tasks if task.queue_id == QUEUE)
    assert queue.main is not None
    assert queue.main.raw.n == len(decisions)
    assert queue.main.raw.value == pytest.approx(sum(one == two for one, two in decisions) / len(decisions))
    assert (queue.units, queue.people, queue.turns) == (done.dialogues, 4, 3 * done.dialogues)


def test_every_value_leaves_as_it_was_entered(done: Reviewed, tmp_path: Path) -> None:
    assert run(["review", "export", str(done.team.project.benchmark), str(tmp_path / "export")]) == 0
    lines = (tmp_path / "export" / "entries.jsonl").read_text(encoding="utf-8").splitlines()
    entries = {(row["assignment_id"], row["place"]): row["value"] for row in map(json.loads, lines)}
    entered = {key: value for annotator in done.annotators for key, value in annotator.entered.items()}
    assert entries.keys() >= entered.keys()
    for key, value in entered.items():
        # The server may turn accepting with changes into an edit, and adds fields that are empty.
        assert {name: entries[key][name] for name in value} == value


def test_what_was_settled_is_applied_and_the_benchmark_is_sound(done: Reviewed, tmp_path: Path) -> None:
    project, out = done.team.project, tmp_path / "reviewed"
    assert run(["review", "apply", str(project.benchmark), "--into", str(out)]) == 0
    assert run(["validate", str(out)]) == 0
    with project.database.reading() as session:
        chains = {unit.id: unit.target_id for unit in session.scalars(select(UnitRow))}
    expected: dict[str, list[str]] = defaultdict(list)
    for (unit, place), own in sorted(done.values().items()):
        value = own[done.taken[unit, place]] if (unit, place) in done.taken else next(iter(own.values()))
        if value["decision"] != "reject":
            expected[str(chains[unit])].append(value["question"])
    applied = {chain.id: [turn.question for turn in chain.turns] for chain in Benchmark.open(out).read(CHAINS)}
    assert applied == expected
