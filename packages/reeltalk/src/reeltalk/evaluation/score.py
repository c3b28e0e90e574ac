"""Score answers with text metrics: values with intervals clustered by video, scores of items, curves over turns."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.evaluation.answers import AnswerSet
from reeltalk.evaluation.epochs import mean_by_item
from reeltalk.evaluation.settings import ScoreSettings
from reeltalk.evaluation.signing import reference_count
from reeltalk.metrics.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.scoring import Floats, MetricResult, metric_names, score_texts
from reeltalk.metrics.tokenise import Spoken, languages_by_item
from reeltalk.metrics.uncertainty import INTERVAL, numbered_clusters
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState, turn_counts
from reeltalk.schema.runs import (
    CurvePoint,
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


def _by_item(answer_set: AnswerSet, results: Mapping[str, MetricResult]) -> Mapping[str, MetricResult]:
    """The results with one row for each item of a set, if its items have several answers."""
    if not answer_set.samples:
        return results
    items = KeyIndex((turn.item_id, place) for place, turn in enumerate(answer_set.turns))
    of_answers = np.fromiter((items.last(item) for item in FieldValues(answer_set.samples, "item_id")), np.intp)
    return {name: mean_by_item(result, of_answers) for name, result in results.items()}


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

    Raises:
        SettingError: A metric is unknown.
        BenchmarkError: There is nothing to score.
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
    for number, answer_set in enumerate(sets, start=1):
        progress(f"scoring {number} of {len(sets)}: {answer_set.model}, {len(answer_set.turns):,} answers")
        why: dict[str, str] = {}
        answers = answer_set.samples or answer_set.turns
        results = {}
        if answers and usable:
            results = score_texts(
                FieldValues(answers, "text"),
                FieldValues(answers, "references"),
                usable,
                languages=[spoken[item] for item in FieldValues(answers, "item_id")],
                spoken=frozenset(spoken.values()),
                meteor=None if isinstance(meteor, ReeltalkError) else meteor,
                embed=None if isinstance(embedder, ReeltalkError) else embedder,
                embedder="" if embedder is None or isinstance(embedder, ReeltalkError) else embedder.name,
                unscored=why,
            )
        names = metric_names(settings.metrics)
        run.columns.append(SetColumns(answer_set, {name: results[name].per_item for name in names if name in results}))
        numbers = _by_item(answer_set, results)
        positions = np.fromiter(FieldValues(answer_set.turns, "turn_index"), np.int64)
        videos = numbered_clusters(FieldValues(answer_set.turns, "video_id"))
        for name in names:
            if name in numbers:
                run.summary.append(_summary_row(answer_set, numbers[name], subject, videos))
                run.curves.extend(_curve(answer_set, numbers[name], positions, videos))
            else:
                reason = why.get(name) or lacking.get(name, "no answers")
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
