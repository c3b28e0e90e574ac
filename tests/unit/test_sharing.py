"""`reeltalk publish` as their users meet them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from reeltalk.cli import run
from reeltalk.schema.runs import ModelInfo, RunInfo, SummaryRow
from reeltalk.store.runs import write_run


def row(model: str, metric: str, value: float | None, **more: object) -> SummaryRow:
    counted = {"n": 50, "low": None if value is None else value - 5, "high": None if value is None else value + 5}
    return SummaryRow.model_validate(
        {"model": model, "metric": metric, "value": value, "signature": f"kitchen|metric:{metric}|v:1"} | counted | more
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of a model, one whose agreement is withheld, a player that says nothing, and people."""
    sources = {"alpha": "alpha", "beta": "beta", "empty": "baseline:empty", "us": "human:us.jsonl"}
    summary = [
        row("alpha", "match", 60.0),
        row("alpha", "rouge_l", 0.5),
        row("beta", "match", None, n=90, unscored=10, over_scored=70.0),
        row("empty", "match", 0.0),
        row("us", "match", 90.0),
    ]
    return made(tmp_path / "run", sources, summary)


def made(path: Path, sources: dict[str, str], summary: Sequence[SummaryRow]) -> Path:
    models = [ModelInfo(model=m, source=source, sha256="", rows=1, items=1) for m, source in sources.items()]
    info = RunInfo(
        kind="evaluate",
        reeltalk_version="1",
        subject="kitchen.dialogue",
        models=tuple(models),
        metrics=("match", "rouge_l"),
        clusters=4,
    )
    write_run(path, info, answers=[], items=[], summary=summary, curves=[])
    return path


def export(folder: Path, out: Path, *more: str) -> int:
    return run(["publish", str(folder), "--to", "hub", "--dataset", "me/kitchen", "--out", str(out), *more])


def test_a_number_carries_interval_counts_and_signature(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(folder, tmp_path / "out", "--task", "talk=match", "--task", "rouge_l") == 0
    talk, words = yaml.safe_load((tmp_path / "out/alpha/.eval_results/kitchen.yaml").read_text(encoding="utf-8"))
    assert (talk["dataset"], talk["value"]) == ({"id": "me/kitchen", "task_id": "talk"}, 60.0)
    assert talk["notes"] == (
        "95 % interval [55, 65] clustered by source video, rough as there are only 4; n = 50 turns, unscored = 0, "
        "not applicable = 0; match by reeltalk: kitchen|metric:match|v:1"
    )
    assert words["value"] == 0.5
    assert words["dataset"]["task_id"] == "rouge_l"
    assert "beta: match is not exported: withheld: 10 of 100 are unscored" in capsys.readouterr().out


def test_withheld_numbers_floors_and_people_have_no_file(folder: Path, tmp_path: Path) -> None:
    assert export(folder, tmp_path / "out", "--task", "match") == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["alpha"]
    assert export(folder, tmp_path / "floor", "--task", "match", "--model", "empty") == 0
    assert (tmp_path / "floor/empty/.eval_results/kitchen.yaml").is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--task", "chrf"], "no metric 'chrf'; they have match, rouge_l"),
        (["--task", "match", "--task", "match=rouge_l"], "appears twice"),
        (["--task", "=match"], "a task needs a name"),
        (["--task", "match", "--model", "gamma"], "they have alpha, beta, us, empty"),
        (["--task", "match", "--model", "beta"], "none of match has a number"),
        (["--task", "match", "--revision", "main"], "40 hexadecimal"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(
    folder: Path, tmp_path: Path, options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(folder, tmp_path / "out", *options) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_tracking_names_what_is_missing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", "--to", "mlflow"]) == 2
    assert "at least one run" in capsys.readouterr().err
    assert run(["publish", str(tmp_path / "none"), "--to", "mlflow"]) == 2
    assert "is not a run" in capsys.readouterr().err
    assert run(["publish", str(folder), "--to", "mlflow", "--model", "gamma"]) == 2
    assert "no model 'gamma'" in capsys.readouterr().err
