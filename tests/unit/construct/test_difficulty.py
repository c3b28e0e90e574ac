"""Turns that many runs answer correctly are flagged or dropped."""

from pathlib import Path

import pytest

from reeltalk.construct.gate_steps import DifficultySettings, check_difficulty, read_correct
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import ItemScores, RunInfo
from reeltalk.store.runs import write_run

CORRECT = {
    "a": {("d1", 0): True, ("d1", 1): True, ("d2", 0): False},
    "b": {("d1", 0): True, ("d1", 1): False, ("d2", 0): False},
    "c": {("d1", 0): False, ("d1", 1): False},
}


def outcomes(settings: DifficultySettings) -> dict[tuple[str, int | None], str]:
    return {(r.unit_id, r.turn_index): r.outcome.value for r in check_difficulty(CORRECT, settings)}


def test_k_of_n_decide() -> None:
    assert outcomes(DifficultySettings(at_least=2)) == {
        ("d1", 0): "flagged", ("d1", 1): "passed", ("d2", 0): "passed"
    }  # fmt: skip
    assert outcomes(DifficultySettings(at_least=1, rule="drop")) == {
        ("d1", 0): "dropped", ("d1", 1): "dropped", ("d2", 0): "unchecked"
    }  # fmt: skip
    with pytest.raises(SettingError, match="only 3"):
        check_difficulty(CORRECT, DifficultySettings(at_least=4))


def write(path: Path, scores: dict[int, float], *, metric: str = "token_f1", shifted: bool = False) -> Path:
    answers = [
        AnsweredTurn(
            model="m", item_id=f"d1/{n}", video_id=VideoId("v"), unit_id="d1", turn_index=n, question="q",
            references=("r",), text="t",
        )
        for n in scores
    ]  # fmt: skip
    items = [ItemScores(model="m", item_id=f"d1/{n + shifted}", scores={metric: s}) for n, s in scores.items()]
    info = RunInfo(
        kind="score", reeltalk_version="0", subject="s", models=(), metrics=(metric,), clusters=1
    )  # fmt: skip
    write_run(path, info, answers=answers, items=items, summary=[], curves=[])
    return path


def test_runs_are_read_with_a_threshold(tmp_path: Path) -> None:
    runs = [write(tmp_path / "one", {0: 0.9, 1: 0.2}), write(tmp_path / "two", {0: 0.5, 1: 0.7})]
    correct = read_correct(runs, DifficultySettings())
    assert list(correct.values()) == [{("d1", 0): True, ("d1", 1): False}, {("d1", 0): True, ("d1", 1): True}]
    assert [r.outcome.value for r in check_difficulty(correct)] == ["flagged", "passed"]


def test_a_run_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no scores of 'token_f1'"):
        read_correct([write(tmp_path / "other", {0: 1.0}, metric="bleu")], DifficultySettings())
    with pytest.raises(BenchmarkError, match="are next to the answer of"):
        read_correct([write(tmp_path / "shifted", {0: 1.0}, shifted=True)], DifficultySettings())
    with pytest.raises(BenchmarkError, match="is not a run"):
        read_correct([tmp_path], DifficultySettings())
