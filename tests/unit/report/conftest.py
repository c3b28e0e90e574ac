"""A small run, made by the store and read back."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reeltalk.schema.answers import AnsweredTurn, Played
from reeltalk.schema.ids import VideoId
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored
from reeltalk.store.runs import Run, read_run, write_run

RunMaker = Callable[..., Run]


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    """Writes a run with one metric and one dialogue of two turns; every part can be set."""

    def make(
        name: str = "run",
        *,
        models: Sequence[str] = ("alpha", "beta"),
        values: Sequence[float | None] = (0.5, 0.3),
        intervals: Sequence[bool] | None = None,
        metric: str = "rouge_l",
        data: str = "d1",
        signatures: Sequence[str] | None = None,
        unit_ids: Sequence[str] = ("dialogue",),
        video_ids: Sequence[str] = ("v1",),
        question: str = "What does she hold?",
        text: str = "A cup.",
        unscored_reason: str = "the moon was in the wrong phase",
        summary: Sequence[SummaryRow] | None = None,
        answers: Sequence[AnsweredTurn] | None = None,
    ) -> Run:
        info = RunInfo(
            kind="score",
            reeltalk_version="1",
            subject="test.answers",
            models=tuple(
                ModelInfo(
                    model=model,
                    source=f"/home/someone/{model}.json",
                    sha256="0" * 64,
                    rows=3,
                    items=2,
                    duplicates=(
                        Duplicate(
                            item_id="dialogue/01",
                            kept="a at $[0]",
                            dropped=("a at $[2]",),
                            same_answer=False,
                            dropped_answers=("A bowl.",),
                        ),
                    ),
                    missing=("dialogue/03",),
                    not_scored={"failed": 1},
                )
                for model in models
            ),
            metrics=(metric,),
            clusters=1,
            unscored=tuple(
                Unscored(model=model, metric=metric, reason=unscored_reason)
                for model, value in zip(models, values, strict=True)
                if value is None
            ),
        )
        rows = [
            SummaryRow(
                model=model,
                metric=metric,
                value=value,
                n=0 if value is None else 2,
                low=None if value is None or (intervals and not intervals[place]) else value - 0.1,
                high=None if value is None or (intervals and not intervals[place]) else value + 0.1,
                signature=signatures[place] if signatures else f"test.answers|data:{data}|metric:{metric}|v:1",
            )
            for place, (model, value) in enumerate(zip(models, values, strict=True))
        ]
        turns = [
            AnsweredTurn(
                model=model,
                item_id=f"{unit_id}/{video_id}/{index + 1:02d}",
                video_id=VideoId(video_id),
                unit_id=unit_id,
                turn_index=index,
                question=question,
                references=("a reference",),
                text=text,
            )
            for model in models
            for unit_id, video_id in zip(unit_ids, video_ids, strict=True)
            for index in range(2)
        ]
        write_run(
            tmp_path / name,
            info,
            answers=turns if answers is None else answers,
            items=[ItemScores(model=turn.model, item_id=turn.item_id, scores={metric: 0.25}) for turn in turns],
            summary=rows if summary is None else summary,
            curves=[
                CurvePoint(model=model, metric=metric, turn_index=index, value=0.2, n=40, low=0.1, high=0.3)
                for model in models
                for index in range(2)
            ],
        )
        return read_run(tmp_path / name)

    return make


@pytest.fixture
def make_played(tmp_path: Path) -> RunMaker:
    """Writes a run of one model whose turns are right (100), wrong (0) or without a score (None)."""

    def make(
        name: str,
        units: dict[str, Sequence[float | None]],
        *,
        model: str = "alpha",
        source: str = "alpha",
        metric: str = "agree",
        signed: dict[str, str] | None = None,
        benchmark: str = "b1",
        judge: str = "none",
        value: float | None = None,
        planted: Sequence[str] = (),
        videos: dict[str, str] | None = None,
    ) -> Run:
        settings = signed or {"mode": "dialogue", "history": "golden"}
        parts = "|".join(f"{key}:{part}" for key, part in settings.items())
        scores = [score for unit in units.values() for score in unit if score is not None]
        mean = sum(scores) / len(scores) if value is None else value
        info = RunInfo(
            kind="evaluate",
            reeltalk_version="1",
            subject=f"test.{settings['mode']}",
            models=(ModelInfo(model=model, source=source, sha256="", rows=len(scores), items=len(scores)),),
            metrics=(metric, f"{metric}.recovery"),
            clusters=len(units),
            settings={"benchmark": benchmark, "signed": {model: [list(pair) for pair in settings.items()]}},
        )
        rows = [
            SummaryRow(
                model=model,
                metric=one,
                value=mean,
                n=len(scores),
                signature=f"test.{settings['mode']}|data:{settings['mode']}|{parts}|judge:{judge}|metric:{one}",
            )
            for one in (metric, f"{metric}.recovery")
        ]
        turns = [
            (
                AnsweredTurn(
                    model=model,
                    item_id=f"{unit_id}/{index + 1:02d}",
                    video_id=VideoId((videos or {}).get(unit_id, f"video-{unit_id}")),
                    unit_id=unit_id,
                    turn_index=index,
                    question="What does she hold?",
                    references=("a cup",),
                    text="A cup.",
                    played=Played(corrupted=f"{unit_id}/{index + 1:02d}" in planted),
                ),
                score,
            )
            for unit_id, unit in units.items()
            for index, score in enumerate(unit)
        ]
        write_run(
            tmp_path / name,
            info,
            answers=[turn for turn, _ in turns],
            items=[
                ItemScores(model=model, item_id=turn.item_id, scores={} if score is None else {metric: score})
                for turn, score in turns
            ],
            summary=rows,
            curves=[],
        )
        return read_run(tmp_path / name)

    return make
