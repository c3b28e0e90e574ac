"""Score answers with text metrics: values with intervals clustered by video, scores of items, curves over turns.

A set of answers is scored here, or by an executor in another process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.scoring import COMPUTED_ANYWHERE, MetricResult, metric_names, score_texts
from reeltalk.metrics.tokenise import Spoken, languages_by_item
from reeltalk.metrics.uncertainty import INTERVAL
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored
from reeltalk.schema.scoring import Signature

MEMORY_BYTES: Final = 4 << 30


@dataclass(frozen=True)
class MetricRows:
    """The scores of one set of answers, by metric."""

    columns: dict[str, list[float]]
    """Value of each item, in the set's order."""
    summary: dict[str, SummaryRow]
    curves: dict[str, list[CurvePoint]]
    unscored: dict[str, str] = field(default_factory=dict)
    """Why a metric could not be computed."""

    def joined(self, other: "MetricRows | None") -> "MetricRows":
        """These rows together with rows of other metrics of the same set."""
        if other is None:
            return self
        return MetricRows(
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


def score_in_processes(
    sets: Sequence[AnswerSet],
    metrics: Sequence[str],
    settings: ScoreSettings,
    subject: str,
    languages: Mapping[str, Spoken],
    executor: Executor,
    progress: Callable[[str], None],
) -> dict[int, MetricRows]:
    """Rows of each set by its position, computed by an executor.

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
    found: dict[int, MetricRows] = {}
    for place, outcome in executor.map("reeltalk.evaluate.score:score_set", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the answers of {sets[place].model} cannot be scored: {outcome}")
        found[place] = MetricRows(
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
        `MetricRows` as JSON.
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
    found = metric_results(answer_set, argument["metrics"], argument["languages"], None, None, why)
    rows = metric_rows(answer_set, found, settings, argument["subject"], why)
    return {
        "columns": rows.columns,
        "summary": {name: row.model_dump(mode="json") for name, row in rows.summary.items()},
        "curves": {name: [row.model_dump(mode="json") for row in points] for name, points in rows.curves.items()},
        "unscored": rows.unscored,
    }


def metric_rows(
    answer_set: AnswerSet,
    results: dict[str, MetricResult],
    settings: ScoreSettings,
    subject: str,
    unscored: dict[str, str],
) -> MetricRows:
    """All rows of a set, from the results of its metrics and the reasons of those that failed."""
    return MetricRows(
        {name: result.per_item.tolist() for name, result in results.items()},
        {name: _summary_row(answer_set, result, subject) for name, result in results.items()},
        {name: _curve(answer_set, result) for name, result in results.items()},
        unscored,
    )


def metric_results(
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
        metrics: Metrics, as in `score_texts`.
        languages: Language of each item of the run, by its id.
        meteor: A running METEOR.
        embedder: Needed for `similarity`.
        unscored: Receives the reason why a metric could not be computed.
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


def metric_signature(answer_set: AnswerSet, subject: str, metric: tuple[tuple[str, str], ...]) -> str:
    """All settings and files that can change one metric's number of one set."""
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
        signature=metric_signature(answer_set, subject, _metric_parts(result)),
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


@dataclass(frozen=True)
class ScoredAnswers:
    """The results of `score` in memory: everything that a run's folder holds."""

    info: RunInfo
    answers: list[AnsweredTurn]
    items: list[ItemScores]
    summary: list[SummaryRow]
    curves: list[CurvePoint]


def score_sets(
    sets: Sequence[AnswerSet],
    settings: ScoreSettings,
    *,
    subject: str,
    meteor: MeteorProcess | ReeltalkError | None,
    embedder: SentenceEmbedder | ReeltalkError | None = None,
    languages: Mapping[str, Spoken] | None = None,
    expected: frozenset[str] = frozenset(),
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
) -> ScoredAnswers:
    """Score every set with every metric.

    Args:
        sets: Models' answers; their names differ.
        settings: Metrics and languages.
        subject: First word of the signatures, as `vdact.answers`.
        embedder: Needed for `similarity`; or the reason why there is none.
        languages: Language of each item by its id; by default that of the references in `sets`.
        meteor: A running METEOR, or the reason why there is none. Then METEOR is unscored, with that reason.
        expected: Items that each model should have answered, beyond those that another model answered.
        progress: Called with a line before each model.
        executor: Scores sets in parallel. By default they are scored here, one after the other. METEOR, similarity and
            a user's own metrics are always computed here. The numbers are the same.

    Raises:
        SettingError: A metric is unknown.
        BenchmarkError: There is nothing to score, or scoring elsewhere failed.
    """
    if not sets or not any(answer_set.turns for answer_set in sets):
        raise BenchmarkError("there are no answers with references to score")
    metric_names(settings.metrics)  # an unknown name is refused before any work
    run = ScoredAnswers(_info(sets, settings, subject, expected), [], [], [], [])
    unscored: list[Unscored] = []
    spoken = (
        languages
        if languages is not None
        else languages_by_item(
            ((turn.item_id, turn.references) for answer_set in sets for turn in answer_set.turns), settings.language
        )
    )
    lacking = {
        name: str(needed)
        for name, needed in (("meteor", meteor), ("similarity", embedder))
        if isinstance(needed, ReeltalkError)
    }
    usable = [name for name in settings.metrics if name not in lacking]
    elsewhere = tuple(name for name in usable if executor is not None and name in COMPUTED_ANYWHERE)
    usable = [name for name in usable if name not in elsewhere]
    mapped = (
        score_in_processes(sets, elsewhere, settings, subject, spoken, executor, progress)
        if executor and elsewhere
        else {}
    )
    for number, answer_set in enumerate(sets, start=1):
        progress(f"scoring {number} of {len(sets)}: {answer_set.model}, {len(answer_set.turns):,} answers")
        why: dict[str, str] = {}
        results = metric_results(
            answer_set,
            usable,
            spoken,
            None if isinstance(meteor, ReeltalkError) else meteor,
            None if isinstance(embedder, ReeltalkError) else embedder,
            why,
        )
        run.answers.extend(answer_set.turns)
        rows = metric_rows(answer_set, results, settings, subject, why).joined(mapped.get(number - 1))
        run.items.extend(rows.items(answer_set, metric_names(settings.metrics)))
        for name in metric_names(settings.metrics):
            if name in rows.summary:
                run.summary.append(rows.summary[name])
                run.curves.extend(rows.curves[name])
            else:
                reason = rows.unscored.get(name) or lacking.get(name, "no answers")
                unscored.append(Unscored(model=answer_set.model, metric=name, reason=reason))
                signature = metric_signature(answer_set, subject, (("metric", name), ("state", "unscored")))
                run.summary.append(SummaryRow(model=answer_set.model, metric=name, n=0, signature=signature))
    return ScoredAnswers(
        run.info.model_copy(update={"unscored": tuple(unscored)}), run.answers, run.items, run.summary, run.curves
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
