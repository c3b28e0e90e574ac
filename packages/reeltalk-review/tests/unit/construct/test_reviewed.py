"""Drafts that the graph wrote, reviewed by a person: the benchmark stays whole, and is not constructed over."""

import random
import shutil
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.validate import validate
from reeltalk_review.applying.stage import apply_reviews
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import transaction
from reeltalk_review.importing import import_benchmark
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, ResultRow, UnitRow
from reeltalk_review.tasks.registry import TASKS


def turns_in(content: Content) -> int:
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    return sum(len(unit.turns) for unit in units)


def reviewed(bench: Path, seed: int) -> ReviewProject:
    """A review in which somebody decided on most units whatever the draw says."""
    draw, task = random.Random(seed), TASKS["turns"]
    project = ReviewProject.open(bench)
    import_benchmark(project, Benchmark.open(bench), serving=lambda _: {}, queues=("turns",))
    with transaction(project.database, "ada") as change:
        person = {"id": "ada", "name": "Ada", "sign_in": "ada", "role": "annotator"}
        change.session.add(PersonRow(created_at=change.at, **person))
        change.session.flush()
        for unit in change.session.query(UnitRow).all():
            if draw.random() < 0.2:
                continue
            unit.state, unit.submitted = "done", 1
            work = AssignmentRow(id=f"by-ada-{unit.id}", unit_id=unit.id, person_id="ada", role="annotator")
            work.state, work.created_at, work.lease_until = "submitted", change.at, change.at
            work.submitted_at = change.at
            change.session.add(work)
            change.session.flush()
            for place in task.places(unit.content):
                decision = draw.choice(("accept", "accept", "edit", "reject", "skip"))
                value = {**task.draft_value(unit.content, place), "decision": decision}
                if decision == "reject":
                    value["reasons"] = ["leaks"]
                if decision == "edit":
                    value["question"] = f"In other words: {value['question']}"
                row = {"place": place, "value": value, "at": change.at}
                change.session.add(EntryRow(assignment_id=work.id, revision=1, stale=False, **row))
                change.session.add(ResultRow(unit_id=unit.id, how="sole", people=["ada"], **row))
    return project


def test_reviews_of_drafts_leave_a_whole_benchmark(constructed: Path, tmp_path: Path, full: bool) -> None:
    for seed in range(10 if full else 2):
        bench = tmp_path / str(seed) / "household"
        shutil.copytree(constructed, bench)
        before = Benchmark.open(bench).content()
        project = reviewed(bench, seed)
        applied = apply_reviews(project)
        assert applied.counts["turns rejected"] > 0
        assert [str(row) for row in validate(Benchmark.open(bench)) if row.severity == "error"] == []
        after = Benchmark.open(bench).content()
        assert turns_in(after) == turns_in(before) - applied.counts["turns rejected"]
        for table in ("linkages", "rewrites", "paths"):
            gone = applied.counts.get(f"{table} taken out", 0)
            assert len(getattr(after, table)) == len(getattr(before, table)) - gone
        assert not apply_reviews(project).is_changed


def test_what_people_settled_is_not_constructed_over(
    constructed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = tmp_path / "household"
    shutil.copytree(constructed, bench)
    apply_reviews(reviewed(bench, 5))
    for step in ("chains", "dialogues", "linkages"):
        assert run(["construct", str(bench), "--steps", step]) == 2
        assert f"holds {step} that people reviewed" in capsys.readouterr().err
    before = Benchmark.open(bench).content().chains
    assert run(["construct", str(bench), "--steps", "paths", "--steps", "gates"]) == 0, capsys.readouterr().err
    assert [row for row in validate(Benchmark.open(bench)) if row.severity == "error"] == []
    assert Benchmark.open(bench).content().chains == before
