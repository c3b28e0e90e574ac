"""Turns that an attacker answers, or many scored runs, are too easy."""

from pathlib import Path

import pytest
from scripted_judge import scripted_judge

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.gates import GateResult, GateUnit
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import ItemScores, RunInfo
from reeltalk.store.runs import write_run
from reeltalk_build.construct.difficulty import Item, check_difficulty, read_correct
from reeltalk_build.construct.equivalence import Equivalence

RUNS: dict[str, dict[Item, bool | None]] = {
    "a": {("d1", 0): True, ("d1", 1): True, ("d2", 0): False},
    "b": {("d1", 0): True, ("d1", 1): False, ("d2", 0): False},
    "c": {("d1", 0): False, ("d1", 1): False},
}
UNITS: dict[str, GateUnit] = {"d1": "dialogue", "d2": "dialogue", "c1": "chain"}


def outcomes(found: list[GateResult]) -> dict[tuple[str, int | None], tuple[str, float | None]]:
    return {(row.unit_id, row.turn_index): (row.outcome.value, row.value) for row in found}


def test_k_of_n_runs_decide() -> None:
    assert outcomes(check_difficulty({}, RUNS, UNITS)) == {
        ("d1", 0): ("flagged", pytest.approx(2 / 3)),
        ("d1", 1): ("passed", pytest.approx(1 / 3)),
        ("d2", 0): ("passed", 0.0),
    }
    once = check_difficulty({}, RUNS, UNITS, at_least=1)
    assert [row.outcome.value for row in once] == ["flagged", "flagged", "unchecked"]
    assert "only 2 of 3 models answered it" in str(once[2].reason)
    with pytest.raises(SettingError, match="--easy-runs"):
        check_difficulty({}, RUNS, UNITS, at_least=4)


def test_one_attacker_is_enough_and_the_one_that_sees_least_is_named() -> None:
    attackers: dict[str, dict[Item, bool | None]] = {
        "a model that has only the text": {("c1", 0): False, ("c1", 1): False, ("d1", 1): False},
        "a model that sees one frame": {("c1", 0): True, ("c1", 1): False, ("d1", 1): False},
        "the attacker small": {("c1", 0): True, ("c1", 1): None, ("d1", 1): False},
    }
    found = {(row.unit_id, row.turn_index): row for row in check_difficulty(attackers, RUNS, UNITS)}
    easy = found["c1", 0]
    assert (str(easy.unit), easy.outcome.value) == ("chain", "flagged")
    assert easy.value == pytest.approx(2 / 3)
    assert easy.reason == "a model that sees one frame answers it correctly"
    assert easy.extra["right"] == ["a model that sees one frame", "the attacker small"]
    assert found["c1", 1].outcome.value == "unchecked"
    assert "the attacker small" in str(found["c1", 1].reason)
    assert found["d1", 1].outcome.value == "passed"
    assert found["d1", 1].value == pytest.approx(1 / 6)
    assert list(found) == [("d1", 0), ("d1", 1), ("d2", 0), ("c1", 0), ("c1", 1)]


def test_what_nobody_could_compare_is_unchecked() -> None:
    found = check_difficulty({"x": {("d1", 0): None}}, {}, UNITS)
    assert outcomes(found) == {("d1", 0): ("unchecked", None)}
    assert check_difficulty({"x": {("other", 0): True}}, {}, UNITS) == []


QUESTION = "What happens to the drink?"
REFERENCE = "The woman puts the cup on the worktop."


def write(
    path: Path,
    scores: dict[int, dict[str, float]],
    *,
    text: str = "A mug is set on the counter by the lady.",
    key: AnswerKey | None = None,
    shifted: bool = False,
) -> Path:
    answers = [
        AnsweredTurn(
            model="m", item_id=f"d1/{n}", video_id=VideoId("v"), unit_id="d1", turn_index=n, question=QUESTION,
            references=(REFERENCE,), text=text, key=key,
        )
        for n in scores
    ]  # fmt: skip
    items = [ItemScores(model="m", item_id=f"d1/{n + shifted}", scores=own) for n, own in scores.items()]
    metrics = tuple(sorted({name for own in scores.values() for name in own}))
    info = RunInfo(kind="score", reeltalk_version="0", subject="s", models=(), metrics=metrics, clusters=1)
    write_run(path, info, answers=answers, items=items, summary=[], curves=[])
    return path


def test_the_most_exact_score_of_an_answer_decides(tmp_path: Path) -> None:
    scores = {0: {"token_f1": 0.1, "lave": 1.0}, 1: {"token_f1": 0.9, "lave": 0.0}, 2: {"lave": 0.0, "typed": 100.0}}
    assert read_correct([write(tmp_path / "run", scores)]) == {
        "m": {("d1", 0): True, ("d1", 1): False, ("d1", 2): True}
    }  # fmt: skip


def test_shared_words_decide_nothing_about_an_open_answer(tmp_path: Path) -> None:
    run = write(tmp_path / "run", {0: {"token_f1": 0.9}, 1: {"token_f1": 0.1}})
    assert read_correct([run]) == {"m": {("d1", 0): None, ("d1", 1): None}}
    with scripted_judge() as (judge, server):
        assert read_correct([run], Equivalence(judge)) == {"m": {("d1", 0): True, ("d1", 1): True}}
        assert server.count == 1
    same = write(tmp_path / "same", {0: {"token_f1": 0.0}}, text=REFERENCE.lower())
    assert read_correct([same]) == {"m": {("d1", 0): True}}
    key = AnswerKey(type="place", values=("kitchencounter",), relation="on", about=("mug",))
    typed = write(tmp_path / "typed", {0: {}}, text="She puts it on the kitchen counter.", key=key)
    assert list(read_correct([run, typed])) == ["m", f"m ({typed})"]
    assert read_correct([typed]) == {"m": {("d1", 0): True}}


def test_a_run_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="are next to the answer of"):
        read_correct([write(tmp_path / "shifted", {0: {"lave": 1.0}}, shifted=True)])
    with pytest.raises(BenchmarkError, match="is not a run"):
        read_correct([tmp_path])
