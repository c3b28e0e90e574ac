"""Score answers with text metrics: values, per-item scores, curves over turns, and intervals clustered by video."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reeltalk import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.score_rows import results_of, rows_of, scored_elsewhere, signature_of
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.metrics.scoring import COMPUTED_ANYWHERE, metric_names
from reeltalk.metrics.tokenise import Spoken, languages_by_item
from reeltalk.parallel import Executor
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored


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
    meteor: MeteorProcess | ReeltalkError | None,
    embedder: SentenceEmbedder | ReeltalkError | None = None,
    languages: Mapping[str, Spoken] | None = None,
    expected: frozenset[str] = frozenset(),
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
) -> Scored:
    """Score every set with every metric.

    Args:
        sets: Models' answers; their names differ.
        settings: What to compute.
        subject: First word of the signatures, as `vdact.answers`.
        embedder: Needed for `similarity`; or why there is none.
        languages: Of each item, by its id; those of the references in `sets` by default.
        meteor: A running METEOR, or why there is none; then METEOR is unscored and says so.
        expected: Items that each model should have answered, beyond those that another model answered.
        progress: Called with a line before each model.
        executor: Scores sets side by side; by default they are scored here, one after the other. METEOR, similarity and
            metrics of one's own are computed here in any case. The numbers are the same.

    Raises:
        SettingError: A metric is unknown.
        BenchmarkError: There is nothing to score, or scoring elsewhere failed.
    """
    if not sets or not any(answer_set.turns for answer_set in sets):
        raise BenchmarkError("there are no answers with references to score")
    metric_names(settings.metrics)  # an unknown name is refused before any work
    run = Scored(_info(sets, settings, subject, expected), [], [], [], [])
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
        scored_elsewhere(sets, elsewhere, settings, subject, spoken, executor, progress)
        if executor and elsewhere
        else {}
    )
    for number, answer_set in enumerate(sets, start=1):
        progress(f"scoring {number} of {len(sets)}: {answer_set.model}, {len(answer_set.turns):,} answers")
        why: dict[str, str] = {}
        results = results_of(
            answer_set,
            usable,
            spoken,
            None if isinstance(meteor, ReeltalkError) else meteor,
            None if isinstance(embedder, ReeltalkError) else embedder,
            why,
        )
        run.answers.extend(answer_set.turns)
        rows = rows_of(answer_set, results, settings, subject, why).joined(mapped.get(number - 1))
        run.items.extend(rows.items(answer_set, metric_names(settings.metrics)))
        for name in metric_names(settings.metrics):
            if name in rows.summary:
                run.summary.append(rows.summary[name])
                run.curves.extend(rows.curves[name])
            else:
                reason = rows.unscored.get(name) or lacking.get(name, "no answers")
                unscored.append(Unscored(model=answer_set.model, metric=name, reason=reason))
                signature = signature_of(answer_set, subject, (("metric", name), ("state", "unscored")))
                run.summary.append(SummaryRow(model=answer_set.model, metric=name, n=0, signature=signature))
    return Scored(
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
