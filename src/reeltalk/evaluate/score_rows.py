"""One set of answers scored: values with intervals, curves over turns and per-item scores, here or by an executor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.resampling import cluster_bootstrap
from reeltalk.metrics.scoring import MetricResult, score_texts
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, SummaryRow
from reeltalk.schema.scoring import Signature

COMPUTED_ANYWHERE: Final = frozenset({"bleu", "rouge_l", "cider", "token_f1", "exact_match"})
"""Metrics that need nothing but the texts: no Java, no network, no file of the user's."""
MEMORY_BYTES: Final = 4 << 30


@dataclass(frozen=True)
class Rows:
    """What is known of one set, by metric."""

    columns: dict[str, list[float]]
    """Value of each item, in the set's order."""
    summary: dict[str, SummaryRow]
    curves: dict[str, list[CurvePoint]]

    def joined(self, other: "Rows | None") -> "Rows":
        """These metrics and others of the same set."""
        if other is None:
            return self
        return Rows(self.columns | other.columns, self.summary | other.summary, self.curves | other.curves)

    def items(self, answer_set: AnswerSet, metrics: Sequence[str]) -> list[ItemScores]:
        """A row for each item, its scores in the order of `metrics`."""
        columns = {name: self.columns[name] for name in metrics if name in self.columns}
        return [
            ItemScores(
                model=answer_set.model,
                item_id=turn.item_id,
                scores={name: values[index] for name, values in columns.items()},
            )
            for index, turn in enumerate(answer_set.turns)
        ]


def scored_elsewhere(
    sets: Sequence[AnswerSet],
    metrics: Sequence[str],
    settings: ScoreSettings,
    subject: str,
    executor: Executor,
    progress: Callable[[str], None],
) -> dict[int, Rows]:
    """Rows of each set by its place, as an executor gives them.

    Raises:
        BenchmarkError: A set could not be scored.
    """
    calls = (
        Call(
            {
                "model": answer_set.model,
                "turns": [turn.model_dump(mode="json") for turn in answer_set.turns],
                "duplicates": [duplicate.model_dump(mode="json") for duplicate in answer_set.duplicates],
                "signed": [list(part) for part in answer_set.signed],
                "metrics": list(metrics),
                "settings": settings.model_dump(mode="json"),
                "subject": subject,
            },
            Limits(memory_bytes=MEMORY_BYTES),
        )
        for answer_set in sets
    )
    found: dict[int, Rows] = {}
    for place, outcome in executor.map("reeltalk.evaluate.score_rows:score_set", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the answers of {sets[place].model} cannot be scored: {outcome}")
        found[place] = Rows(
            outcome["columns"],
            {name: SummaryRow.model_validate(row) for name, row in outcome["summary"].items()},
            {name: [CurvePoint.model_validate(row) for row in rows] for name, rows in outcome["curves"].items()},
        )
        progress(f"scored {len(found)} of {len(sets)}: {sets[place].model}, {len(sets[place].turns):,} answers")
    return found


def score_set(argument: dict[str, Any]) -> dict[str, Any]:
    """Score one set. Runs in a child process.

    Args:
        argument: Model, turns, duplicates and signed parts of an `AnswerSet`; `metrics`, `settings` and `subject`.

    Returns:
        `Rows` as JSON.
    """
    answer_set = AnswerSet(
        model=argument["model"],
        source="",
        sha256="",
        rows=0,
        turns=[AnsweredTurn.model_validate(turn) for turn in argument["turns"]],
        duplicates=tuple(Duplicate.model_validate(duplicate) for duplicate in argument["duplicates"]),
        signed=tuple((name, value) for name, value in argument["signed"]),
    )
    settings = ScoreSettings.model_validate(argument["settings"])
    rows = rows_of(
        answer_set, results_of(answer_set, argument["metrics"], settings, None, None), settings, argument["subject"]
    )
    return {
        "columns": rows.columns,
        "summary": {name: row.model_dump(mode="json") for name, row in rows.summary.items()},
        "curves": {name: [row.model_dump(mode="json") for row in points] for name, points in rows.curves.items()},
    }


def rows_of(answer_set: AnswerSet, results: dict[str, MetricResult], settings: ScoreSettings, subject: str) -> Rows:
    """What is told of a set, from what its metrics say."""
    return Rows(
        {name: result.per_item.tolist() for name, result in results.items()},
        {name: _summary_row(answer_set, result, settings, subject) for name, result in results.items()},
        {name: _curve(answer_set, result, settings) for name, result in results.items()},
    )


def results_of(
    answer_set: AnswerSet,
    metrics: Sequence[str],
    settings: ScoreSettings,
    meteor: MeteorProcess | None,
    embedder: SentenceEmbedder | None,
) -> dict[str, MetricResult]:
    """What metrics say of a set; nothing where it is empty."""
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


def signature_of(
    answer_set: AnswerSet, subject: str, metric: tuple[tuple[str, str], ...], settings: ScoreSettings
) -> str:
    """Everything that can move a number of one set's one metric."""
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
        signature=signature_of(answer_set, subject, _metric_parts(result), settings),
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
