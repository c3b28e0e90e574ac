"""Scores computed by an executor are those computed here, byte for byte."""

from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.score import score_sets
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.answers import AnsweredTurn

METRICS = "bleu,meteor,rouge_l,cider,token_f1,exact_match"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_models_scored_side_by_side_have_the_same_bytes(samples: Path, tmp_path: Path) -> None:
    answers = [str(path) for path in sorted((samples / "vdact" / "results").iterdir())]
    command = ["score", *answers, "--format", "vdact", "--metrics", METRICS]
    assert run([*command, "--out", str(tmp_path / "one")]) == 0
    assert run([*command, "--out", str(tmp_path / "two"), "--workers", "2"]) == 0
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    assert one == two
    assert len(one) > 3


def test_a_set_that_cannot_be_scored_is_named() -> None:
    turns = [
        AnsweredTurn(
            model="m",
            item_id="d/01",
            video_id="v",
            unit_id="d",
            turn_index=1,
            question="?",
            text="好",
            references=(),
        )
    ]
    wrong = AnswerSet(model="unread", source="", sha256="", rows=1, turns=turns)
    with pytest.raises(BenchmarkError, match="the answers of unread cannot be scored: "):
        score_sets(
            [wrong], ScoreSettings(metrics=("bleu",)), subject="x.answers", meteor=None, executor=LocalExecutor(1)
        )
