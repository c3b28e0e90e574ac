"""All tables of a run: from turns and scores to values with intervals and signatures, the null row among them."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reeltalk import __version__
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.evaluation import Evaluation, Null
from reeltalk.evaluate.judging import null_row
from reeltalk.evaluate.judging.cascade import cascade
from reeltalk.evaluate.judging.judge import JudgeUnit
from reeltalk.evaluate.judging.measures import Measure
from reeltalk.evaluate.judging.units import Background, judged_units, units_of
from reeltalk.evaluate.latency import latency
from reeltalk.evaluate.score import Scored, score
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.evaluate.stage import Judging
from reeltalk.evaluate.summary import Parts, Tables, summarise
from reeltalk.metrics.agreement import agreement
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.runs import GroupRow, ItemScores, ModelInfo, RunInfo
from reeltalk.schema.scoring import JudgedScore

RIGHT_OR_WRONG: Final = frozenset({"agree", "choice", "graph"})
"""Protocols whose values are right or wrong, turn by turn: of these one can ask whether an error cascades."""


def tables_of(
    evaluation: Evaluation,
    judging: Judging,
    *,
    subject: str,
    signed: Mapping[str, Parts],
    sources: Mapping[str, tuple[str, str]],
    background: Background | None,
    settings: dict[str, Any],
    kind: str = "evaluate",
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[RunInfo, Scored, Tables]:
    """All tables of a run.

    Args:
        evaluation: Turns and scores.
        judging: By what was judged.
        subject: First word of the signatures.
        signed: For each model, how its answers came about.
        sources: For each model, where its answers are from, and a hash of that.
        background: What the benchmark knows beside the turns.
        settings: All settings, for `run.json`.
        kind: The verb that writes the run.
        progress: Told what is being computed.

    Returns:
        What becomes `run.json`, what text metrics gave, and what judges gave.
    """
    chosen = judging.settings
    sets = [_answer_set(model, evaluation.turns, sources[model], parts) for model, parts in signed.items()]
    tables = Tables()
    units = units_of(evaluation.turns, background)
    # Judged numbers rest on all turns: those of a model that failed at one compare with those of one that did not.
    data = {
        answer_set.model: dataclasses.replace(
            answer_set, turns=[turn for turn in evaluation.turns if turn.model == answer_set.model]
        ).data_hash
        for answer_set in sets
    }
    durations = {name: video.duration_s for name, video in background.videos.items()} if background else {}

    def add(model: str, measures: Sequence[Measure], *parts: tuple[str, str]) -> None:
        summarise(
            model,
            measures,
            subject=subject,
            signed=(("data", data[model]), *signed[model], *parts),
            resamples=chosen.resamples,
            seed=chosen.seed,
            tables=tables,
        )

    for model in data:
        own = [unit for unit in units if unit.model == model]
        for judge in judging.judges:
            rows = [row for row in evaluation.scores[judge.name] if row.model == model]
            measures = judge.measures(judged_units(judge, own, background), rows)
            add(model, measures, ("judge", judging.name(judge)), *judge.signature)
            if judge.name in RIGHT_OR_WRONG and measures:
                values = {e.item_id: e.value for e in measures[0].entries if e.item_id and e.value is not None}
                add(model, cascade(own, values, judge.name), *judge.signature)
        tables.groups += _agreements(model, evaluation.scores)
        add(model, latency([turn for turn in evaluation.turns if turn.model == model], durations))
    models = [_info(answer_set, evaluation.turns) for answer_set in sets]
    if null_row.NAME not in data:
        nothing = Tables()
        for judge in judging.judges:
            null = evaluation.null.get(judge.name, Null())
            summarise(
                null_row.NAME,
                judge.measures(null.units, null.scores) if null.units else [],
                subject=subject,
                signed=(("data", _unit_hash(null.units)), ("judge", judging.name(judge)), *judge.signature),
                resamples=chosen.resamples,
                seed=chosen.seed,
                tables=nothing,
            )
        tables.summary += nothing.summary
        if nothing.summary:
            turns = {turn.item_id for null in evaluation.null.values() for unit in null.units for turn in unit.turns}
            models.append(
                ModelInfo(
                    model=null_row.NAME,
                    source=null_row.SOURCE[0],
                    sha256=null_row.SOURCE[1],
                    rows=len(turns),
                    items=len(turns),
                )
            )
    scored = Scored(_no_texts(sets, subject, evaluation), [], [], [], [])
    if chosen.metrics and any(answer_set.turns for answer_set in sets):
        texts = ScoreSettings(
            metrics=chosen.metrics, language=chosen.language, resamples=chosen.resamples, seed=chosen.seed
        )
        scored = score(
            [answer_set for answer_set in sets if answer_set.turns],
            texts,
            subject=subject,
            meteor=judging.meteor,
            embedder=judging.embedder,
            progress=progress,
        )
    info = scored.info.model_copy(
        update={
            "kind": kind,
            "models": tuple(models),
            "metrics": (*tables.metrics, *(scored.info.metrics if chosen.metrics else ())),
            "settings": settings,
            "clusters": len({turn.video_id for turn in evaluation.turns}),
        }
    )
    return info, scored, tables


def _unit_hash(units: Sequence[JudgeUnit]) -> str:
    """The hash of what was asked in some units, as of any model's answers to them."""
    turns = [turn for unit in units for turn in unit.turns]
    return AnswerSet(null_row.NAME, *null_row.SOURCE, len(turns), turns).data_hash


PASSES: Final[dict[str, tuple[str, float]]] = {
    "vdeval": ("vdeval", 2.5),
    "lave": ("lave", 0.75),
    "clair": ("clair", 0.5),
    "llm-acc": ("llm_acc", 0.5),
    "gpt-score": ("accuracy", 5.0),
    "agree": ("agree", 0.5),
    "choice": ("accuracy", 0.5),
}
"""Protocols that score single turns: their criterion, and the value from which an answer counts as right."""


def _agreements(model: str, scores: Mapping[str, list[JudgedScore]]) -> list[GroupRow]:
    """How far the graph agrees with every other protocol on the turns that both have scored."""
    if "graph" not in scores:
        return []
    graph = [row for row in scores["graph"] if row.model == model]
    found: list[GroupRow] = []
    for name, (criterion, threshold) in PASSES.items():
        others = [row for row in scores.get(name, ()) if row.model == model and row.criterion == criterion]
        if others:
            both = agreement(graph, others, other_threshold=threshold)
            for metric, value in (("graph.agreement", both.raw), ("graph.kappa", both.kappa)):
                found.append(GroupRow(model=model, metric=metric, by="judge", group=name, value=value, n=both.n))
    return found


def item_rows(evaluation: Evaluation, scored: Scored, tables: Tables) -> list[ItemScores]:
    """Every turn's scores by text metrics and judges, in the order of the turns."""
    texts = {(row.model, row.item_id): row.scores for row in scored.items}
    return [
        ItemScores(
            model=turn.model,
            item_id=turn.item_id,
            scores={
                **tables.items.get((turn.model, turn.item_id), {}),
                **texts.get((turn.model, turn.item_id), {}),
            },
        )
        for turn in evaluation.turns
    ]


def _answer_set(model: str, turns: Sequence[AnsweredTurn], source: tuple[str, str], signed: Parts) -> AnswerSet:
    own = [turn for turn in turns if turn.model == model]

    def usable(turn: AnsweredTurn) -> bool:
        return bool(turn.state is AnswerState.ANSWERED and turn.references and turn.text.strip())

    answered = [turn for turn in own if usable(turn)]
    left_out = Counter(
        "no reference" if turn.state is AnswerState.ANSWERED and not turn.references else
        "the answer is empty" if turn.state is AnswerState.ANSWERED else turn.state.value
        for turn in own
        if not usable(turn)
    )  # fmt: skip
    return AnswerSet(model, source[0], source[1], len(own), answered, not_scored=dict(left_out), signed=signed)


def _info(answer_set: AnswerSet, turns: Sequence[AnsweredTurn]) -> ModelInfo:
    failed = tuple(
        turn.item_id for turn in turns if turn.model == answer_set.model and turn.state is AnswerState.FAILED
    )
    return ModelInfo(
        model=answer_set.model,
        source=answer_set.source,
        sha256=answer_set.sha256,
        rows=answer_set.rows,
        items=len(answer_set.turns),
        missing=failed,
        not_scored=answer_set.not_scored,
    )


def _no_texts(sets: Sequence[AnswerSet], subject: str, evaluation: Evaluation) -> RunInfo:
    return RunInfo(
        kind="evaluate",
        reeltalk_version=__version__,
        subject=subject,
        models=tuple(_info(answer_set, evaluation.turns) for answer_set in sets),
        metrics=(),
        clusters=0,
    )
