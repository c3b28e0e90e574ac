"""Score answers with text metrics: values, per-item scores, curves over turns, and intervals clustered by video."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reeltalk import __version__
from reeltalk.errors import BenchmarkError, MissingToolError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.resampling import cluster_bootstrap
from reeltalk.metrics.scoring import MetricResult, metric_names, score_texts
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored
from reeltalk.schema.scoring import Signature


@dataclass(frozen=True)
class Scored:
    """All that a run holds, in memory."""

    info: RunInfo
    answers: list[AnsweredTurn]
    items: list[ItemScores]
    summary: list[SummaryRow]
    curves: list[CurvePoint]


def score(
    sets: Sequence[AnswerSet],
    settings: ScoreSettings,
    *,
    subject: str,
    meteor: MeteorProcess | MissingToolError | None,
    embedder: SentenceEmbedder | None = None,
    expected: frozenset[str] = frozenset(),
    progress: Callable[[str], None] = lambda _: None,
) -> Scored:
    """Score every set with every metric.

    Args:
        sets: Models' answers; their names differ.
        settings: What to compute.
        subject: First word of the signatures, as `vdact.answers`.
        embedder: Needed for `similarity`.
        meteor: A running METEOR, or why there is none; then METEOR is unscored and says so.
        expected: Items that each model should have answered, beyond those that another model answered.
        progress: Called with a line before each model.

    Raises:
        SettingError: A metric is unknown, or the language cannot be told.
        BenchmarkError: There is nothing to score.
    """
    if not sets or not any(answer_set.turns for answer_set in sets):
        raise BenchmarkError("there are no answers with references to score")
    metric_names(settings.metrics)  # an unknown name is refused before any work
    run = Scored(_info(sets, settings, subject, expected), [], [], [], [])
    unscored: list[Unscored] = []
    usable = [name for name in settings.metrics if name != "meteor" or not isinstance(meteor, MissingToolError)]
    for number, answer_set in enumerate(sets, start=1):
        progress(f"scoring {number} of {len(sets)}: {answer_set.model}, {len(answer_set.turns):,} answers")
        results = _results(
            answer_set, usable, settings, None if isinstance(meteor, MissingToolError) else meteor, embedder
        )
        run.answers.extend(answer_set.turns)
        run.items.extend(_item_scores(answer_set, results))
        for name in metric_names(settings.metrics):
            if name in results:
                run.summary.append(_summary_row(answer_set, results[name], settings, subject))
                run.curves.extend(_curve(answer_set, results[name], settings))
            else:
                reason = str(meteor) if name == "meteor" and isinstance(meteor, MissingToolError) else "no answers"
                unscored.append(Unscored(model=answer_set.model, metric=name, reason=reason))
                signature = _signature(answer_set, subject, (("metric", name), ("state", "unscored")), settings)
                run.summary.append(SummaryRow(model=answer_set.model, metric=name, n=0, signature=signature))
    return Scored(
        run.info.model_copy(update={"unscored": tuple(unscored)}), run.answers, run.items, run.summary, run.curves
    )


def _results(
    answer_set: AnswerSet,
    metrics: Sequence[str],
    settings: ScoreSettings,
    meteor: MeteorProcess | None,
    embedder: SentenceEmbedder | None,
) -> dict[str, MetricResult]:
    if not answer_set.turns or not metrics:
        return {}
    return score_texts(
        [turn.text for turn in answer_set.turns],
        [turn.references for turn in answer_set.turns],
        metrics,
        language=settings.language,
        meteor=meteor,
        embed=embedder,
        embedder=embedder.name if embedder else "",
    )


def _info(sets: Sequence[AnswerSet], settings: ScoreSettings, subject: str, expected: frozenset[str]) -> RunInfo:
    everything = expected.union(*({turn.item_id for turn in answer_set.turns} for answer_set in sets))
    first: dict[str, AnsweredTurn] = {}
    models: list[ModelInfo] = []
    for answer_set in sets:
        mismatched: list[str] = []
        for turn in answer_set.turns:
            other = first.setdefault(turn.item_id, turn)
            if (other.question, other.references) != (turn.question, turn.references):
                mismatched.append(turn.item_id)
        models.append(
            ModelInfo(
                model=answer_set.model,
                source=answer_set.source,
                sha256=answer_set.sha256,
                rows=answer_set.rows,
                items=len(answer_set.turns),
                duplicates=answer_set.duplicates,
                missing=tuple(sorted(everything - {turn.item_id for turn in answer_set.turns})),
                mismatched=tuple(mismatched),
                not_scored=answer_set.not_scored,
            )
        )
    return RunInfo(
        kind="score",
        reeltalk_version=__version__,
        subject=subject,
        models=tuple(models),
        metrics=tuple(metric_names(settings.metrics)),
        settings=settings.model_dump(mode="json"),
        clusters=len({turn.video_id for answer_set in sets for turn in answer_set.turns}),
    )


def _signature(
    answer_set: AnswerSet, subject: str, metric: tuple[tuple[str, str], ...], settings: ScoreSettings
) -> str:
    parts = (
        ("data", answer_set.data_hash),
        *answer_set.signed,
        *metric,
        *((("duplicates", f"first-of-{len(answer_set.duplicates)}"),) if answer_set.duplicates else ()),
        ("ci", f"95%-by-video-{settings.resamples}"),
        ("seed", str(settings.seed)),
        ("v", __version__),
    )
    return str(Signature(subject=subject, parts=parts))


def _metric_parts(result: MetricResult) -> tuple[tuple[str, str], ...]:
    parts = Signature.parse(f"{result.name}|{result.signature}").parts
    return (("metric", result.name), *parts)


def _summary_row(answer_set: AnswerSet, result: MetricResult, settings: ScoreSettings, subject: str) -> SummaryRow:
    videos = [turn.video_id for turn in answer_set.turns]
    interval = cluster_bootstrap(
        result.statistics, videos, result.from_sums, resamples=settings.resamples, seed=settings.seed
    )
    return SummaryRow(
        model=answer_set.model,
        metric=result.name,
        value=result.corpus,
        n=len(answer_set.turns),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        signature=_signature(answer_set, subject, _metric_parts(result), settings),
    )


def _curve(answer_set: AnswerSet, result: MetricResult, settings: ScoreSettings) -> list[CurvePoint]:
    positions = np.array([turn.turn_index for turn in answer_set.turns])
    videos = np.array([turn.video_id for turn in answer_set.turns])
    points: list[CurvePoint] = []
    for position in np.unique(positions):
        here = positions == position
        statistics: NDArray[np.float64] = result.statistics[here]
        value = float(result.from_sums(statistics.sum(axis=0, keepdims=True), np.array([len(statistics)]))[0])
        interval = cluster_bootstrap(
            statistics, videos[here].tolist(), result.from_sums, resamples=settings.resamples, seed=settings.seed
        )
        points.append(
            CurvePoint(
                model=answer_set.model,
                metric=result.name,
                turn_index=int(position),
                value=value,
                n=len(statistics),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
            )
        )
    return points


def _item_scores(answer_set: AnswerSet, results: dict[str, MetricResult]) -> list[ItemScores]:
    columns = {name: result.per_item.tolist() for name, result in results.items()}
    return [
        ItemScores(
            model=answer_set.model,
            item_id=turn.item_id,
            scores={name: values[index] for name, values in columns.items()},
        )
        for index, turn in enumerate(answer_set.turns)
    ]
