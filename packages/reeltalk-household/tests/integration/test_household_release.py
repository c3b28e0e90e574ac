"""A household as a release: answered by the oracle, never changed, and the same each time its recipe is followed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import KNOWN_BOXES

RECIPE = """
benchmark: benchmark
film:
  {scenarios: 4, houses: 3, dev_houses: 1, test_houses: 1, width_px: 320, fps: 2, max_duration_s: 75, boxes_fps: 0.5}
questions:
  per_video: 1
streams:
construct:
  steps: [chains, linkages, paths, scenes, dialogues, gates]
release:
  version: 1.0.0
  title: a household
"""


def test_boxes_may_be_left_out_and_nothing_else(constructed_household: Path) -> None:
    benchmark = Benchmark.open(constructed_household)
    whole, shown = benchmark.content(), benchmark.content(boxes=False)
    assert len(whole.known_boxes) == benchmark.rows(KNOWN_BOXES) > 1000
    assert shown == replace(whole, known_boxes=[], sightings=[])


def test_the_oracle_answers_all_chains(
    constructed_household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", "oracle", "--protocols", "typed", "--metrics", "none", "--units", "chain", "--frames", "1"]
    out = tmp_path / "oracle"
    assert run(["evaluate", str(constructed_household), *options, "--out", str(out)]) == 0, capsys.readouterr().err
    rows = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    [typed] = [row for row in rows if (row["model"], row["metric"]) == ("oracle", "typed")]
    assert typed["value"] == 100.0
    assert typed["n"] >= 5, "a chain of the test house"
    assert typed["unscored"] == 0


def test_nothing_is_constructed_in_a_release_before_it_is_refused(
    constructed_household: Path, copy_of: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = tmp_path / "release"
    assert run(["freeze", str(copy_of(constructed_household)), str(release), "--version", "1.0.0"]) in (0, 1)
    capsys.readouterr()
    assert run(["construct", str(release)]) == 2
    assert "is release 1.0.0, which does not change" in capsys.readouterr().err
    assert not (release / ".work").exists()


def test_a_recipe_makes_the_same_release_again(tmp_path: Path, full: bool) -> None:
    if not full:
        pytest.skip("full counts: make test-full")
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "project.yaml").write_text(RECIPE, encoding="utf-8")
        assert run(["run", str(tmp_path / name)]) == 0
        release = Benchmark.open(tmp_path / name / "releases" / "1.0.0")
        made.append(({file: entry.sha256 for file, entry in release.manifest.files.items()}, release.media.names()))
    assert made[0] == made[1]
