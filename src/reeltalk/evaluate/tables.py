"""All tables of a run: from turns and scores to values with intervals and signatures, the null row among them."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reeltalk import __version__
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.evaluation import Evaluation, Null
from reeltalk.evaluate.latency import latency
from reeltalk.evaluate.score import Scored, score
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.evaluate.signing import asked_hash, judged_hash
from reeltalk.evaluate.stage import Judging
from reeltalk.evaluate.summary import Parts, Tables, summarise
from reeltalk.judge import reference_checks
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Measure
from reeltalk.judge.protocol import find_protocol
from reeltalk.judge.turns import cascade
from reeltalk.judge.units import Background, group_units, judged_units
from reeltalk.metrics.tokenise import languages_by_item
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.runs import ItemScores, ModelInfo, RunInfo
from reeltalk.schema.scoring import JudgedScore, ScoreState


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
    units = group_units(evaluation.turns, background)
    durations = {name: video.duration_s for name, video in background.videos.items()} if background else {}

    def add(
        model: str,
        data: str,
        measures: Sequence[Measure],
        *parts: tuple[str, str],
        reasons: Mapping[str, str] | None = None,
    ) -> None:
        summarise(
            model,
            measures,
            subject=subject,
            signed=(("data", data), *signed[model], *parts),
            tables=tables,
            reasons=reasons,
        )

    for model in signed:
        own = [unit for unit in units if unit.model == model]
        for judge in judging.judges:
            rows = [row for row in evaluation.scores[judge.name] if row.model == model]
            judged = judged_units(judge, own, background)
            measures = judge.measures(judged, rows)
            # Judged numbers rest on all turns: those of a model that failed at one compare with those of one that did
            # not.
            data = judged_hash(judged, judge)
            why = _reasons(own, rows)
            add(model, data, measures, *judging.signature(judge), reasons=why)
            protocol = find_protocol(judge.name)
            if measures and protocol is not None and protocol.right_or_wrong:
                values = {e.item_id: e.value for e in measures[0].entries if e.item_id and e.value is not None}
                # What an error costs rests on the same turns.
                after = cascade(own, values, judge.name)
                withheld = measures[0].withheld
                add(model, data, [dataclasses.replace(one, part_withheld=withheld) for one in after], *judge.signature)
        answered = [turn for turn in evaluation.turns if turn.model == model]
        add(model, asked_hash(answered), latency(answered, durations))
    models = [_info(answer_set, evaluation.turns) for answer_set in sets]
    if reference_checks.NULL_MODEL not in signed:
        nothing = Tables()
        for judge in judging.judges:
            null = evaluation.null.get(judge.name, Null())
            summarise(
                reference_checks.NULL_MODEL,
                judge.measures(null.units, null.scores) if null.units else [],
                subject=subject,
                signed=(("data", judged_hash(null.units, judge)), *judging.signature(judge)),
                tables=nothing,
            )
        tables.summary += nothing.summary
        if nothing.summary:
            turns = {turn.item_id for null in evaluation.null.values() for unit in null.units for turn in unit.turns}
            models.append(
                ModelInfo(
                    model=reference_checks.NULL_MODEL,
                    source=reference_checks.NULL_SOURCE[0],
                    sha256=reference_checks.NULL_SOURCE[1],
                    rows=len(turns),
                    items=len(turns),
                )
            )
    scored = Scored(_no_texts(sets, subject, evaluation), [], [], [], [])
    if chosen.metrics and any(answer_set.turns for answer_set in sets):
        texts = ScoreSettings(metrics=chosen.metrics, language=chosen.language)
        scored = score(
            [answer_set for answer_set in sets if answer_set.turns],
            texts,
            subject=subject,
            meteor=judging.meteor,
            embedder=judging.embedder,
            languages=languages_by_item(
                ((turn.item_id, turn.references) for turn in evaluation.turns), chosen.language
            ),
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


def _reasons(units: Sequence[JudgeUnit], rows: Sequence[JudgedScore]) -> dict[str, str]:
    """Why a judge gave no score to a turn, by the turn's item."""
    items = {(unit.id, turn.turn_index): turn.item_id for unit in units for turn in unit.turns}
    found: dict[str, str] = {}
    for row in rows:
        item = items.get((row.unit_id, row.turn_index)) if row.turn_index is not None else None
        if row.state is ScoreState.UNSCORED and item is not None:
            found.setdefault(item, row.reason or "the judge gave no reason")
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
    return AnswerSet(
        model,
        source[0],
        source[1],
        len(own),
        answered,
        not_scored=dict(left_out),
        signed=signed,
        played=asked_hash(own),
    )


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
