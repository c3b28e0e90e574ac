"""A writer of the user's own, by the name of its class."""

import shutil
from pathlib import Path

import pytest
from page_world import World

from reeltalk.cli import run
from reeltalk.schema.gates import GateOutcome
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, GATES, LINKAGES, REWRITES

WRITER = """
from reeltalk_household.writer.graph_writer import GraphWriter
from reeltalk_build.construct.writers import Unwritten
from reeltalk.schema.dialogue import Turn

class Reluctant(GraphWriter):
    signature = "reluctant:v1"

    def chain(self, video, clip, around, *, advice=()):
        written = super().chain(video, clip, around, advice=advice)
        return written if clip.interval.start_s == 0 else Unwritten("only beginnings matter")

class Copying(GraphWriter):
    signature = "copying:v1"

    def rewrite(self, video, linkage, before, after):
        written = super().rewrite(video, linkage, before, after)
        target = after.turns[linkage.target.turn_index]
        same = Turn(question=target.question, references=target.references)
        if isinstance(written, Unwritten):
            return written
        return [one.model_copy(update={"draft": same}) for one in written]

class Deaf(GraphWriter):
    def dialogue(self, video, scene, task, *, number):
        return Unwritten("never")

class Broken:
    def __init__(self, benchmark):
        self.benchmark = benchmark

class Silent:
    def __init__(self, benchmark, settings):
        self.signature, self.threads = "silent", 1
"""


@pytest.fixture(scope="module")
def household(world: World) -> Path:
    """Two told scenarios, nothing written about it yet. Copy it before writing."""
    return world.made("told/2")


def test_it_writes_in_place_of_the_graph(household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(household, tmp_path / "household")
    (tmp_path / "mine.py").write_text(WRITER, encoding="utf-8")
    benchmark, mine = str(tmp_path / "household"), f"python:{tmp_path / 'mine.py'}"
    assert run(["construct", benchmark, "--steps", "chains", "--writer", f"{mine}:Reluctant"]) == 0
    opened = Benchmark.open(tmp_path / "household")
    assert 0 < opened.rows(CHAINS) <= 2
    assert opened.manifest.files["chains.jsonl"].settings["writer"] == "reluctant:v1"
    assert run(["construct", "--plan", benchmark, "--writer", f"{mine}:Reluctant"]) == 0
    assert "asks no model of ours" in capsys.readouterr().out


def test_its_drafts_are_checked_by_rules(household: Path, tmp_path: Path) -> None:
    shutil.copytree(household, tmp_path / "household")
    (tmp_path / "mine.py").write_text(WRITER, encoding="utf-8")
    mine = f"python:{tmp_path / 'mine.py'}:Copying"
    steps = ["--steps", "chains", "--steps", "linkages"]
    assert run(["construct", str(tmp_path / "household"), *steps, "--writer", mine]) == 0
    opened = Benchmark.open(tmp_path / "household")
    assert opened.rows(LINKAGES) > 0
    assert opened.rows(REWRITES) == 0
    dropped = [gate for gate in opened.read(GATES) if gate.gate == "linkages:lint.unchanged"]
    assert {gate.outcome for gate in dropped} == {GateOutcome.DROPPED}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Broken", "cannot be made with 2 arguments"),
        ("Silent", "the class has no chain, linkages"),
        ("Other", "no class"),
        ("Deaf", "its method dialogue() does not take 'earlier'"),
    ],
)
def test_what_is_no_writer_is_refused(
    household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, problem: str
) -> None:
    (tmp_path / "mine.py").write_text(WRITER, encoding="utf-8")
    assert run(["construct", str(household), "--writer", f"python:{tmp_path / 'mine.py'}:{name}"]) == 2
    assert problem in capsys.readouterr().err
