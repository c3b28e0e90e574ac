"""The sample in the repository: whole, answered by the oracle, and the result of its recipe."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import KNOWN_BOXES, VIDEOS
from reeltalk.store.validate import validate

SAMPLE = Path(__file__).parents[2] / "examples" / "household-sample"
RELEASE = SAMPLE / "release"


def test_the_sample_is_a_whole_release_of_twelve_videos() -> None:
    benchmark = Benchmark.open(RELEASE)
    assert benchmark.manifest.release == "1.0.0"
    assert not [finding for finding in validate(benchmark) if finding.severity == "error"]
    videos = list(benchmark.read(VIDEOS))
    assert len(videos) == 12
    assert {video.split for video in videos} == {"train", "dev", "test"}


def test_boxes_may_be_left_out_and_nothing_else() -> None:
    benchmark = Benchmark.open(RELEASE)
    whole, shown = benchmark.content(), benchmark.content(boxes=False)
    assert len(whole.known_boxes) == benchmark.rows(KNOWN_BOXES) > 1000
    assert shown == replace(whole, known_boxes=[], sightings=[])


def test_the_oracle_answers_the_chains_of_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "oracle", "--protocols", "typed", "--metrics", "none", "--units", "chain", "--frames", "1"]
    assert run(["evaluate", str(RELEASE), *options, "--out", str(tmp_path / "oracle")]) == 0, capsys.readouterr().err
    rows = json.loads((tmp_path / "oracle" / "summary.json").read_text(encoding="utf-8"))
    [typed] = [row for row in rows if (row["model"], row["metric"]) == ("oracle", "typed")]
    assert typed["value"] == 100.0
    assert typed["n"] >= 20
    assert typed["unscored"] == 0


def test_nothing_is_constructed_in_a_release_before_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["construct", str(RELEASE)]) == 2
    assert "is release 1.0.0, which does not change" in capsys.readouterr().err
    assert not (RELEASE / ".work").exists()


def test_the_recipe_makes_the_sample_again(tmp_path: Path, full: bool) -> None:
    if not full:
        pytest.skip("full counts: make test-full")
    shutil.copy(SAMPLE / "project.yaml", tmp_path)
    assert run(["run", str(tmp_path)]) == 0
    again, kept = Benchmark.open(tmp_path / "releases" / "1.0.0"), Benchmark.open(RELEASE)
    made = {name: entry.sha256 for name, entry in again.manifest.files.items()}
    assert made == {name: entry.sha256 for name, entry in kept.manifest.files.items()}
    assert again.media.names() == kept.media.names()
