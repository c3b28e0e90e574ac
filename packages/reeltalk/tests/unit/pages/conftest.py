"""A small run, made by the store and read back."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from reeltalk.schema.answers import AnsweredTurn, PlayDetails
from reeltalk.schema.record import VideoId
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.runs import FILES, FLOOR, Run, read_run, write_run, write_tables

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
        items: Mapping[tuple[str, str], Mapping[str, float]] | None = None,
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
        turns = turns if answers is None else list(answers)
        write_run(
            tmp_path / name,
            info,
            answers=turns,
            items=[
                ItemScores(
                    model=turn.model,
                    item_id=turn.item_id,
                    scores={metric: 0.25} if items is None else dict(items.get((turn.model, turn.item_id), {})),
                )
                for turn in turns
            ],
            summary=rows if summary is None else summary,
            curves=[
                CurvePoint(model=model, metric=metric, turn_index=index, value=0.2, n=40, low=0.1, high=0.3)
                for model in models
                for index in range(2)
            ],
        )
        (tmp_path / name / FILES).unlink()  # tests add tables by hand
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
        metric: str = "match",
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
                    played=PlayDetails(corrupted=f"{unit_id}/{index + 1:02d}" in planted),
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
        (tmp_path / name / FILES).unlink()  # tests add tables by hand
        return read_run(tmp_path / name)

    return make


ScoredTurns = Mapping[str, tuple[str, Mapping[str, float]]]
"""By identifier, as `d1/01`: the video, and the scores by metric."""
PairedRunMaker = Callable[..., Run]


@pytest.fixture
def make_paired_run(tmp_path: Path) -> PairedRunMaker:
    """Writes a run from turns with scores; every number of its summary is the mean over turns, unless it is given."""

    def make(
        models: Mapping[str, ScoredTurns],
        *,
        name: str = "run",
        summary: Mapping[tuple[str, str], float | None] | None = None,
        unscored: Mapping[tuple[str, str], int] | None = None,
        signed: Mapping[str, Mapping[str, str]] | None = None,
        judged: Mapping[str, str] | None = None,
        sources: Mapping[str, str] | None = None,
        questions: Mapping[tuple[str, str], str] | None = None,
        texts: Mapping[tuple[str, str], str] | None = None,
        tasks: Mapping[str, str] | None = None,
        labels: Mapping[str, dict[str, tuple[str, ...]]] | None = None,
        rows: Mapping[str, Sequence[JudgedScore]] | None = None,
        floor: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Run:
        metrics = list(dict.fromkeys(m for turns in models.values() for _, scores in turns.values() for m in scores))
        metrics += [metric for _, metric in summary or {} if metric not in metrics]
        lines, answers, items = [], [], []
        for model, turns in models.items():
            for metric in dict.fromkeys(metrics):
                values = [scores[metric] for _, scores in turns.values() if metric in scores]
                told = (summary or {}).get((model, metric), sum(values) / len(values) if values else None)
                missing = (unscored or {}).get((model, metric), 0)
                withheld = missing > 0.02 * (missing + len(values))
                parts = {**(signed or {}).get(model, {}), **(judged or {}), "metric": metric, "v": "1"}
                words = "|".join(f"{key}:{value}" for key, value in parts.items())
                lines.append(
                    SummaryRow(
                        model=model,
                        metric=metric,
                        value=None if withheld else told,
                        n=len(values),
                        signature=f"test.answers|{words}",
                        unscored=missing,
                        over_scored=told if withheld else None,
                    )
                )
            for item, (video, scores) in turns.items():
                unit, index = item.rsplit("/", 1)
                answers.append(
                    AnsweredTurn(
                        model=model,
                        item_id=item,
                        video_id=VideoId(video),
                        unit_id=unit,
                        turn_index=int(index) - 1,
                        question=(questions or {}).get((model, item), "What?"),
                        references=("a man washes a mug",),
                        text=(texts or {}).get((model, item), "a man"),
                        task=(tasks or {}).get(unit),
                        labels=(labels or {}).get(item, {}),
                    )
                )
                items.append(ItemScores(model=model, item_id=item, scores=dict(scores)))
        info = RunInfo(
            kind="evaluate",
            reeltalk_version="1",
            subject="test.answers",
            models=tuple(
                ModelInfo(
                    model=model,
                    source=(sources or {}).get(model, f"{name}/{model}.json"),
                    sha256=f"{number:064d}",
                    rows=len(turns),
                    items=len(turns),
                )
                for number, (model, turns) in enumerate(models.items())
            ),
            metrics=tuple(metrics),
            settings={"signed": {model: [[k, v] for k, v in parts.items()] for model, parts in (signed or {}).items()}},
            clusters=len({video for turns in models.values() for video, _ in turns.values()}),
        )
        folder = tmp_path / name
        folder.mkdir()
        write_tables(folder, info, answers=answers, items=items, summary=lines, curves=[], judged=rows or {})
        (folder / FILES).unlink()  # tests add tables by hand
        if floor:
            nothing = [ItemScores(model="empty", item_id=item, scores=dict(scores)) for item, scores in floor.items()]
            (folder / FLOOR).write_text("".join(f"{row.model_dump_json()}\n" for row in nothing))
        return read_run(folder)

    return make
