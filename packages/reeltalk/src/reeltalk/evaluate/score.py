"""Score answers with text metrics: values with intervals clustered by video, scores of items, curves over turns.

A set of answers is scored here, or by an executor in another process.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.epochs import mean_by_item
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.evaluate.signing import reference_count
from reeltalk.metrics.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.scoring import COMPUTED_ANYWHERE, Floats, MetricResult, metric_names, score_texts
from reeltalk.metrics.tokenise import Spoken, languages_by_item
from reeltalk.metrics.uncertainty import INTERVAL, numbered_clusters
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState, turn_counts
from reeltalk.schema.runs import (
    CurvePoint,
    Duplicate,
    ItemScores,
    ModelInfo,
    RunInfo,
    SummaryRow,
    Unscored,
    is_withheld,
    value_fields,
)
from reeltalk.schema.scoring import Signature
from reeltalk.store.rows import FieldValues, KeyIndex

MEMORY_BYTES: Final = 4 << 30


@dataclass(frozen=True)
class MetricRows:
    """The scores of one set of answers, by metric."""

    columns: dict[str, Floats]
    """(N,) value of each answer, in the set's order, by metric."""
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

    def items(self, answer_set: AnswerSet, metrics: Sequence[str]) -> "SetColumns":
        """The values of each item, by metric in the order of `metrics`."""
        return SetColumns(answer_set, {name: self.columns[name] for name in metrics if name in self.columns})


@dataclass(frozen=True)
class SetColumns:
    """The values of all answers of a set."""

    answer_set: AnswerSet
    columns: dict[str, Floats]
    """(N,) value of each answer, in the set's order, by metric."""

    def rows(self) -> Iterator[ItemScores]:
        """A row for each item."""
        for index, turn in enumerate(self.answer_set.turns):
            scores = {name: float(values[index]) for name, values in self.columns.items()}
            yield ItemScores(model=turn.model, item_id=turn.item_id, scores=scores)


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
                "lacking": [list(turn) for turn in answer_set.lacking],
                "metrics": list(metrics),
                "settings": settings.model_dump(mode="json"),
                "subject": subject,
                "languages": [languages[turn.item_id] for turn in answer_set.turns],
                "spoken": sorted(set(languages.values())),
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
            {name: np.array(values) for name, values in outcome["columns"].items()},
            {name: SummaryRow.model_validate(row) for name, row in outcome["summary"].items()},
            {name: [CurvePoint.model_validate(row) for row in rows] for name, rows in outcome["curves"].items()},
            outcome["unscored"],
        )
        progress(f"scored {len(found)} of {len(sets)}: {sets[place].model}, {len(sets[place].turns):,} answers")
    return found


def score_set(argument: dict[str, Any]) -> dict[str, Any]:
    """Score one set. Runs in a child process.

    Args:
        argument: Model, turns, duplicates, lacking turns and signed parts of an `AnswerSet`; `metrics`, `settings` and
            `subject`; the `languages` of the turns, and those `spoken` in the run.

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
        lacking=[(index, reason) for index, reason in argument["lacking"]],
    )
    settings = ScoreSettings.model_validate(argument["settings"])
    why: dict[str, str] = {}
    spoken = frozenset(argument["spoken"])
    found = metric_results(answer_set, argument["metrics"], argument["languages"], spoken, None, None, why)
    rows = metric_rows(answer_set, found, settings, argument["subject"], why)
    return {
        "columns": {name: values.tolist() for name, values in rows.columns.items()},
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
    columns = {name: result.per_item for name, result in results.items()}
    if answer_set.samples:
        items = KeyIndex((turn.item_id, place) for place, turn in enumerate(answer_set.turns))
        of_answers = np.fromiter((items.last(item) for item in FieldValues(answer_set.samples, "item_id")), np.intp)
        results = {name: mean_by_item(result, of_answers) for name, result in results.items()}
    positions = np.fromiter(FieldValues(answer_set.turns, "turn_index"), np.int64) if results else np.zeros(0, np.int64)
    videos = numbered_clusters(FieldValues(answer_set.turns, "video_id")) if results else np.zeros(0, np.intp)
    return MetricRows(
        columns,
        {name: _summary_row(answer_set, result, subject, videos) for name, result in results.items()},
        {name: _curve(answer_set, result, positions, videos) for name, result in results.items()},
        unscored,
    )


def metric_results(
    answer_set: AnswerSet,
    metrics: Sequence[str],
    languages: Sequence[Spoken],
    spoken: frozenset[Spoken],
    meteor: MeteorProcess | None,
    embedder: SentenceEmbedder | None,
    unscored: dict[str, str],
) -> dict[str, MetricResult]:
    """The results of metrics for a set; empty for an empty set.

    Args:
        answer_set: The set.
        metrics: Metrics, as in `score_texts`.
        languages: Language of each answer of the set.
        spoken: Languages of all items of the run.
        meteor: A running METEOR.
        embedder: Needed for `similarity`.
        unscored: Receives the reason why a metric could not be computed.
    """
    if not answer_set.turns or not metrics:
        return {}
    answers = answer_set.samples or answer_set.turns
    return score_texts(
        FieldValues(answers, "text"),
        FieldValues(answers, "references"),
        metrics,
        languages=languages,
        spoken=spoken,
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
        ("refs", reference_count(map(len, FieldValues(answer_set.turns, "references")))),
        *((("duplicates", f"first-of-{len(answer_set.duplicates)}"),) if answer_set.duplicates else ()),
        ("ci", INTERVAL),
        ("v", __version__),
    )
    return str(Signature(subject=subject, parts=parts))


def _metric_parts(result: MetricResult) -> tuple[tuple[str, str], ...]:
    parts = Signature.parse(f"{result.name}|{result.signature}").parts
    return (("metric", result.name), *parts)


def _summary_row(answer_set: AnswerSet, result: MetricResult, subject: str, videos: NDArray[np.intp]) -> SummaryRow:
    found = result.interval(np.ones(len(answer_set.turns), bool), videos)
    unscored = len(answer_set.lacking)
    withheld = is_withheld(len(answer_set.turns), unscored)
    return SummaryRow(
        model=answer_set.model,
        metric=result.name,
        n=len(answer_set.turns),
        videos=found.clusters,
        signature=metric_signature(answer_set, subject, _metric_parts(result)),
        unscored=unscored,
        reasons=_reasons(answer_set),
        **value_fields(result.corpus, found.low, found.high, withheld=withheld),
    )


def _reasons(answer_set: AnswerSet) -> dict[str, int]:
    return dict(Counter(reason for _, reason in answer_set.lacking).most_common())


def _curve(
    answer_set: AnswerSet, result: MetricResult, positions: NDArray[np.int64], videos: NDArray[np.intp]
) -> list[CurvePoint]:
    points: list[CurvePoint] = []
    lacking = Counter(position for position, _ in answer_set.lacking)
    for position in np.unique(positions):
        found = result.interval(positions == position, videos)
        unscored = lacking[int(position)]
        points.append(
            CurvePoint(
                model=answer_set.model,
                metric=result.name,
                turn_index=int(position),
                n=found.n,
                videos=found.clusters,
                unscored=unscored,
                **value_fields(found.value, found.low, found.high, withheld=is_withheld(found.n, unscored)),
            )
        )
    return points


@dataclass(frozen=True)
class ScoredAnswers:
    """The results of `score` in memory: everything that a run's folder holds."""

    info: RunInfo
    columns: list[SetColumns]
    """The values of each item, by set."""
    summary: list[SummaryRow]
    curves: list[CurvePoint]

    @property
    def answers(self) -> Iterator[AnsweredTurn]:
        """All answers, set by set."""
        return (turn for found in self.columns for turn in found.answer_set.turns)

    @property
    def items(self) -> Iterator[ItemScores]:
        """The scores of all answers, in the order of `answers`."""
        return (row for found in self.columns for row in found.rows())


def score_sets(
    sets: Sequence[AnswerSet],
    settings: ScoreSettings,
    *,
    subject: str,
    meteor: MeteorProcess | ReeltalkError | None,
    embedder: SentenceEmbedder | ReeltalkError | None = None,
    languages: Mapping[str, Spoken] | None = None,
    models: Sequence[ModelInfo] | None = None,
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
        models: What is known of the models; by default their items are compared here.
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
    if models is None:
        sets = _with_lacking(sets)
    infos = _model_infos(sets, expected) if models is None else models
    run = ScoredAnswers(_info(sets, settings, subject, infos), [], [], [])
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
            [spoken[item] for item in FieldValues(answer_set.samples or answer_set.turns, "item_id")],
            frozenset(spoken.values()),
            None if isinstance(meteor, ReeltalkError) else meteor,
            None if isinstance(embedder, ReeltalkError) else embedder,
            why,
        )
        rows = metric_rows(answer_set, results, settings, subject, why).joined(mapped.get(number - 1))
        run.columns.append(rows.items(answer_set, metric_names(settings.metrics)))
        for name in metric_names(settings.metrics):
            if name in rows.summary:
                run.summary.append(rows.summary[name])
                run.curves.extend(rows.curves[name])
            else:
                reason = rows.unscored.get(name) or lacking.get(name, "no answers")
                unscored.append(Unscored(model=answer_set.model, metric=name, reason=reason))
                signature = metric_signature(answer_set, subject, (("metric", name), ("state", "unscored")))
                run.summary.append(
                    SummaryRow(
                        model=answer_set.model,
                        metric=name,
                        n=0,
                        signature=signature,
                        unscored=len(answer_set.turns) + len(answer_set.lacking),
                        reasons=_reasons(answer_set) | ({reason: len(answer_set.turns)} if answer_set.turns else {}),
                    )
                )
    return replace(run, info=run.info.model_copy(update={"unscored": tuple(unscored)}))


def _with_lacking(sets: Sequence[AnswerSet]) -> list[AnswerSet]:
    """The sets, each with the due turns that have no answer: its own, and those that another model answered."""
    answered = {turn.item_id: turn.turn_index for answer_set in sets for turn in answer_set.turns}
    found = []
    for answer_set in sets:
        own = {turn.item_id for turn in answer_set.turns}
        due = {item: (place, NOT_IN_SOURCE) for item, place in answered.items() if item not in own}
        for turn in answer_set.others:
            if turn.state is AnswerState.FAILED and turn.references:
                due[turn.item_id] = (turn.turn_index, turn.reason or NOT_IN_SOURCE)
            else:
                due.pop(turn.item_id, None)
        found.append(replace(answer_set, lacking=tuple(due.values())))
    return found


def _model_infos(sets: Sequence[AnswerSet], expected: frozenset[str]) -> list[ModelInfo]:
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
                turns=turn_counts([*answer_set.turns, *answer_set.others]),
            )
        )
    return models


def _info(sets: Sequence[AnswerSet], settings: ScoreSettings, subject: str, models: Sequence[ModelInfo]) -> RunInfo:
    return RunInfo(
        kind="score",
        reeltalk_version=__version__,
        subject=subject,
        models=tuple(models),
        metrics=tuple(metric_names(settings.metrics)),
        settings=settings.model_dump(mode="json"),
        clusters=len({video for answer_set in sets for video in FieldValues(answer_set.turns, "video_id")}),
    )
