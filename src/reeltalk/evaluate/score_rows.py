"""One set of answers scored: values with intervals, curves over turns and per-item scores, here or by an executor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from reeltalk import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.scoring import MetricResult, score_texts
from reeltalk.metrics.tokenise import Spoken
from reeltalk.metrics.uncertainty import INTERVAL
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, SummaryRow
from reeltalk.schema.scoring import Signature

MEMORY_BYTES: Final = 4 << 30


@dataclass(frozen=True)
class Rows:
    """What is known of one set, by metric."""

    columns: dict[str, list[float]]
    """Value of each item, in the set's order."""
    summary: dict[str, SummaryRow]
    curves: dict[str, list[CurvePoint]]
    unscored: dict[str, str] = field(default_factory=dict)
    """Why a metric could not be computed."""

    def joined(self, other: "Rows | None") -> "Rows":
        """These metrics and others of the same set."""
        if other is None:
            return self
        return Rows(
            self.columns | other.columns,
            self.summary | other.summary,
            self.curves | other.curves,
            self.unscored | other.unscored,
        )

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
    languages: Mapping[str, Spoken],
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
                "played": answer_set.played,
                "metrics": list(metrics),
                "settings": settings.model_dump(mode="json"),
                "subject": subject,
                "languages": dict(languages),
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
            outcome["unscored"],
        )
        progress(f"scored {len(found)} of {len(sets)}: {sets[place].model}, {len(sets[place].turns):,} answers")
    return found


def score_set(argument: dict[str, Any]) -> dict[str, Any]:
    """Score one set. Runs in a child process.

    Args:
        argument: Model, turns, duplicates and signed parts of an `AnswerSet`; `metrics`, `settings`, `subject` and
            `languages`.

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
        played=argument["played"],
    )
    settings = ScoreSettings.model_validate(argument["settings"])
    why: dict[str, str] = {}
    found = results_of(answer_set, argument["metrics"], argument["languages"], None, None, why)
    rows = rows_of(answer_set, found, settings, argument["subject"], why)
    return {
        "columns": rows.columns,
        "summary": {name: row.model_dump(mode="json") for name, row in rows.summary.items()},
        "curves": {name: [row.model_dump(mode="json") for row in points] for name, points in rows.curves.items()},
        "unscored": rows.unscored,
    }


def rows_of(
    answer_set: AnswerSet,
    results: dict[str, MetricResult],
    settings: ScoreSettings,
    subject: str,
    unscored: dict[str, str],
) -> Rows:
    """All rows of a set, from the results of its metrics and the reasons of those that failed."""
    return Rows(
        {name: result.per_item.tolist() for name, result in results.items()},
        {name: _summary_row(answer_set, result, subject) for name, result in results.items()},
        {name: _curve(answer_set, result) for name, result in results.items()},
        unscored,
    )


def results_of(
    answer_set: AnswerSet,
    metrics: Sequence[str],
    languages: Mapping[str, Spoken],
    meteor: MeteorProcess | None,
    embedder: SentenceEmbedder | None,
    unscored: dict[str, str],
) -> dict[str, MetricResult]:
    """The results of metrics for a set; empty for an empty set.

    Args:
        answer_set: The set.
        metrics: As of `score_texts`.
        languages: Of each item of the run, by its id.
        meteor: A running METEOR.
        embedder: Needed for `similarity`.
        unscored: Takes why a metric could not be computed.
    """
    if not answer_set.turns or not metrics:
        return {}
    return score_texts(
        [turn.text for turn in answer_set.turns],
        [turn.references for turn in answer_set.turns],
        metrics,
        languages=[languages[turn.item_id] for turn in answer_set.turns],
        spoken=frozenset(languages.values()),
        meteor=meteor,
        embed=embedder,
        embedder=embedder.name if embedder else "",
        unscored=unscored,
    )


def signature_of(answer_set: AnswerSet, subject: str, metric: tuple[tuple[str, str], ...]) -> str:
    """Everything that can move a number of one set's one metric."""
    parts = (
        ("data", answer_set.data_hash),
        *answer_set.signed,
        *metric,
        *((("duplicates", f"first-of-{len(answer_set.duplicates)}"),) if answer_set.duplicates else ()),
        ("ci", INTERVAL),
        ("v", __version__),
    )
    return str(Signature(subject=subject, parts=parts))


def _metric_parts(result: MetricResult) -> tuple[tuple[str, str], ...]:
    parts = Signature.parse(f"{result.name}|{result.signature}").parts
    return (("metric", result.name), *parts)


def _summary_row(answer_set: AnswerSet, result: MetricResult, subject: str) -> SummaryRow:
    found = result.interval(np.ones(len(answer_set.turns), bool), [turn.video_id for turn in answer_set.turns])
    return SummaryRow(
        model=answer_set.model,
        metric=result.name,
        value=result.corpus,
        n=len(answer_set.turns),
        videos=found.clusters,
        low=found.low,
        high=found.high,
        signature=signature_of(answer_set, subject, _metric_parts(result)),
    )


def _curve(answer_set: AnswerSet, result: MetricResult) -> list[CurvePoint]:
    positions = np.array([turn.turn_index for turn in answer_set.turns])
    videos = [turn.video_id for turn in answer_set.turns]
    points: list[CurvePoint] = []
    for position in np.unique(positions):
        found = result.interval(positions == position, videos)
        points.append(
            CurvePoint(
                model=answer_set.model,
                metric=result.name,
                turn_index=int(position),
                value=found.value,
                n=found.n,
                videos=found.clusters,
                low=found.low,
                high=found.high,
            )
        )
    return points
