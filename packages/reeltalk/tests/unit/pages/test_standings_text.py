"""The end of a command: the verdict, at most eight lines, the lowest types, and the next command."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reeltalk.analysis.standings_text import MOST_LINES, next_command, run_standings, standing_lines
from reeltalk.cli.terminal import print_run
from reeltalk.schema.runs import GroupRow, SummaryRow
from reeltalk.stages.run import report_of
from reeltalk.store.runs import GROUPS, INFO, Run, runs_beside

RunMaker = Callable[..., Run]


def played(make: RunMaker, name: str, right: float, *, seed: int = 1, **more: object) -> Run:
    """Sixteen videos with four typed answers each, right with a probability."""
    draw = np.random.default_rng(seed)
    units = {f"d{video}": [100.0 * float(draw.random() < right) for _ in range(4)] for video in range(16)}
    return make(name, units, **{"model": name, "source": name, "metric": "typed", **more})


def test_the_table_has_the_runs_beside_it_and_marks_its_own(make_played: RunMaker) -> None:
    played(make_played, "blind", 0.2, seed=2, source="baseline:blind")
    run = played(make_played, "qwen", 0.8)
    lines = standing_lines(run_standings(run), run)
    assert lines[0].startswith("qwen scores ")
    assert lines[2].split() == [
        "Typed",
        "answers",
        "(%)",
        "95",
        "%",
        "interval",
        "turns",
        "unscored",
        "above",
        "the",
        "floor",
    ]
    assert lines[3].split() == [">", "qwen", lines[3].split()[2], "%", "none", "64", "0", "yes"]
    assert lines[4].split()[:2] == ["blind", "(baseline)"]
    assert lines[4].endswith("–")


def test_the_table_has_eight_lines_at_most_and_keeps_the_hardest_baseline(make_played: RunMaker) -> None:
    for place in range(10):
        played(make_played, f"model-{place}", 0.7, seed=place)
    for place, name in enumerate(("blind", "history")):
        played(make_played, name, 0.2 + 0.3 * place, seed=20 + place, source=f"baseline:{name}")
    run = played(make_played, "weak", 0.1, seed=40)
    lines = standing_lines(run_standings(run), run)
    table = lines[2 : lines.index("", 2)]
    assert len(table) == MOST_LINES
    assert [line.split()[0] for line in table].count(">") == 1
    assert any(line.split()[:2] == ["history", "(baseline)"] for line in table)


def test_other_benchmarks_and_other_judgings_are_not_beside_it(make_played: RunMaker, tmp_path: Path) -> None:
    run = played(make_played, "qwen", 0.8)
    played(make_played, "same", 0.5)
    played(make_played, "other", 0.5, benchmark="b2")
    played(make_played, "streamed", 0.5, signed={"mode": "streaming"})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / INFO).write_text("{")
    (tmp_path / "notes").mkdir()
    assert [found.name for found in runs_beside(run, 20)] == ["same"]
    assert runs_beside(run, 0) == []


def test_a_damaged_run_beside_it_does_not_hide_its_own_numbers(make_played: RunMaker, tmp_path: Path) -> None:
    played(make_played, "other", 0.5)
    (tmp_path / "other" / "answers.jsonl").write_text("{\n")
    run = played(make_played, "qwen", 0.8)
    found = run_standings(run)
    assert [row.title for row in found.rows] == ["qwen"]
    assert found.verdict == "qwen is the only model, and there is no baseline to compare it with."


def test_the_lowest_types_have_values_intervals_and_n(make_played: RunMaker) -> None:
    run = played(make_played, "qwen", 0.8)
    rows = [
        GroupRow(model="qwen", metric="typed", by="question_type", group=group, value=value, low=low, high=90.0, n=20)
        for group, value, low in (("T-SEQ", 40.0, 20.0), ("D-LOC", 60.0, 30.0))
    ]
    (run.path / GROUPS).write_text("".join(row.model_dump_json() + "\n" for row in rows))
    lines = standing_lines(run_standings(run), run)
    assert lines[-3:] == [
        "lowest question types of qwen:",
        "   Sequence (question type): 40.0 % [20.0, 90.0], n = 20",
        "   Locations (question type): 60.0 % [30.0, 90.0], n = 20",
    ]


def test_a_withheld_number_has_its_reason_in_the_table(make_run: RunMaker) -> None:
    row = SummaryRow(
        model="alpha", metric="clair", n=90, unscored=10, over_scored=0.5, signature="s", videos=20,
        reasons={"the server is gone": 8, "no reply": 2},
    )  # fmt: skip
    run = make_run(models=("alpha",), values=(None,), metric="clair", summary=[row])
    lines = standing_lines(run_standings(run), run)
    assert lines[0] == (
        "alpha has no CLAIR score to quote: 10 of 100 turns are unscored, more than 2 % (the server is gone)."
    )
    assert "withheld" in lines[3]
    assert "10: the server is gone" in lines[3]


def test_the_next_command_retries_compares_or_reports(make_played: RunMaker) -> None:
    run = played(make_played, "qwen", 0.8)
    alone = run_standings(run)
    assert next_command(run, alone, can_retry=True) == f"ask again what failed: reeltalk retry {run.path}"
    assert next_command(run, alone, can_retry=False) == f"next: reeltalk report {run.path} --out report"
    other = played(make_played, "gemma", 0.7, seed=3)
    found = run_standings(run)
    assert next_command(run, found, can_retry=False) == f"next: reeltalk compare {run.path} {other.path}"


def test_every_number_is_printed_only_when_asked_for(make_played: RunMaker, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(make_played, "qwen", 0.8)
    assert print_run(report_of(run), verbose=False) == 0
    short = capsys.readouterr().out
    assert "typed.recovery" not in short
    assert f"run: {run.path}\n" in short
    assert print_run(report_of(run), verbose=True) == 0
    told = capsys.readouterr().out
    assert "typed.recovery" in told
    assert told.endswith(short)


def test_a_run_without_any_number_still_ends_with_its_path(
    make_run: RunMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(summary=[])
    assert print_run(report_of(run), verbose=False) == 0
    judging = f"reeltalk judge {run.path} --protocols clair --judge NAME --out judged"
    assert capsys.readouterr().out == f"run: {run.path}\nnext: {judging}\n"
