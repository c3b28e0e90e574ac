"""All tables of a run, from turns and scores: values with intervals and signatures, groups, curves, the null row."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reeltalk._version import __version__
from reeltalk.evaluate.answers import AnswerSet
from reeltalk.evaluate.score import ScoredAnswers, score_sets
from reeltalk.evaluate.settings import ScoreSettings
from reeltalk.evaluate.signing import asked_hash, judged_hash
from reeltalk.evaluate.stage import Evaluation, JudgingSetup, NullUnits
from reeltalk.judge.judge import NULL_MODEL, NULL_SOURCE, Background, JudgeUnit, group_units, judged_units
from reeltalk.judge.measures import MeanItem, Measure, group_measure, mean_measure
from reeltalk.judge.protocol import find_protocol, measure_info
from reeltalk.judge.turns import cascade
from reeltalk.metrics.tokenise import languages_by_item
from reeltalk.metrics.uncertainty import INTERVAL, measure_interval
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.runs import CurvePoint, GroupRow, ItemScores, ModelInfo, RunInfo, SummaryRow, value_fields
from reeltalk.schema.scoring import JudgedScore, ScoreState, Signature

LENGTHS_S: Final = (60.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1800.0, 3600.0)
"""Bounds of the groups of video length."""
ASKED_S: Final = (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""Bounds of the groups of the moment of a question."""
MIB: Final = 1 << 20


def length_group(duration_s: float | None, bounds_s: Sequence[float] = LENGTHS_S) -> str:
    """The group of a video's length or of a moment, as `60-120 s`: from its lower bound to below its upper one.

    Args:
        duration_s: Seconds. None if unknown.
        bounds_s: Bounds of the groups, rising.
    """
    if duration_s is None:
        return "unknown"
    below = 0.0
    for bound in bounds_s:
        if duration_s < bound:
            return f"{below:g}-{bound:g} s"
        below = bound
    return f"{below:g} s and more"


def latency_measures(turns: Sequence[AnsweredTurn], durations_s: Mapping[str, float | None]) -> list[Measure]:
    """Seconds, tokens, frames and memory of one model's answers, as far as they were measured.

    A question without a moment is asked at the end of its video.

    Args:
        turns: Its turns.
        durations_s: Length of each video.
    """
    found: list[Measure] = []
    for name, of in (
        ("took_s", lambda played: played.took_s),
        ("first_token_s", lambda played: played.first_token_s),
        ("prompt_tokens", lambda played: played.prompt_tokens),
        ("completion_tokens", lambda played: played.completion_tokens),
        ("frames_seen", lambda played: float(len(played.frames_s))),
        ("new_frames", lambda played: float(played.new_frames)),
        ("memory_mib", lambda played: None if played.memory_bytes is None else played.memory_bytes / MIB),
    ):
        entries = [
            MeanItem(
                turn.video_id,
                float(value),
                groups={
                    "turn": (str(turn.turn_index + 1),),
                    "video_length": (length_group(durations_s.get(turn.video_id)),),
                    "asked_at": (length_group(_asked_at(turn, durations_s), ASKED_S),),
                },
            )
            for turn in turns
            if turn.state is AnswerState.ANSWERED and turn.played and (value := of(turn.played)) is not None
        ]
        if entries:
            found.append(mean_measure(name, entries, by=("turn", "video_length", "asked_at")))
    return found


def _asked_at(turn: AnsweredTurn, durations_s: Mapping[str, float | None]) -> float | None:
    return turn.asked_at_s if turn.asked_at_s is not None else durations_s.get(turn.video_id)


TURN: Final = "turn"
"""Groups of this kind become a curve."""
UNTOLD: Final = "it was not judged"
OTHER: Final = "other reasons"
MOST_REASONS: Final = 20
"""Maximum number of different reasons in a row."""
REASON_CHARS: Final = 200
Parts = tuple[tuple[str, str], ...]


@dataclass
class Tables:
    """The tables that judging adds to a run."""

    summary: list[SummaryRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    curves: list[CurvePoint] = field(default_factory=list)
    items: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """Scores of each turn by model and item."""
    metrics: list[str] = field(default_factory=list)


def summarise(
    model: str,
    measures: Sequence[Measure],
    *,
    subject: str,
    signed: Parts,
    tables: Tables,
    reasons: Mapping[str, str] | None = None,
) -> None:
    """Add a model's numbers.

    Args:
        model: Name of the model.
        measures: Its numbers. A number without items has no row.
        subject: First word of the signatures.
        signed: Parts of the signature that describe how the answers were produced and the judge.
        tables: The tables that receive the rows.
        reasons: Why turns have no score, by item.
    """
    for measure in measures:
        if measure.n + measure.unscored + measure.not_applicable == 0:
            continue
        ending = (("ci", INTERVAL), ("v", __version__))
        parts = (*signed, ("metric", measure.name), *measure.signature, *ending)
        _add(model, measure, str(Signature(subject=subject, parts=parts)), tables, reasons or {})


def _add(model: str, measure: Measure, signature: str, tables: Tables, reasons: Mapping[str, str]) -> None:
    low, high = _interval(measure)
    if measure.name not in tables.metrics:
        tables.metrics.append(measure.name)
    tables.summary.append(
        SummaryRow(
            model=model,
            metric=measure.name,
            n=measure.n,
            videos=measure.videos,
            signature=signature,
            unscored=measure.unscored,
            not_applicable=measure.not_applicable,
            reasons=_count_reasons(measure, reasons),
            **value_fields(measure.value, low, high, withheld=measure.withheld),
        )
    )
    for entry in measure.entries:
        if entry.item_id is not None and entry.applies and entry.value is not None:
            tables.items[model, entry.item_id].setdefault(measure.name, entry.value * measure.scale + measure.offset)
    for by in measure.by:
        for group, part in sorted(group_measure(measure, by).items(), key=lambda found: _in_order(found[0])):
            low, high = _interval(part)
            if by == TURN and part.value is not None and group.isdigit():
                tables.curves.append(
                    CurvePoint(
                        model=model,
                        metric=measure.name,
                        turn_index=int(group) - 1,
                        n=part.n,
                        videos=part.videos,
                        unscored=part.unscored,
                        **value_fields(part.value, low, high, withheld=part.withheld),
                    )
                )
            elif by != TURN:
                tables.groups.append(
                    GroupRow(
                        model=model,
                        metric=measure.name,
                        by=by,
                        group=group,
                        n=part.n,
                        videos=part.videos,
                        unscored=part.unscored,
                        **value_fields(part.value, low, high, withheld=part.withheld),
                    )
                )


def _count_reasons(measure: Measure, known: Mapping[str, str]) -> dict[str, int]:
    found = Counter(
        " ".join((entry.reason or known.get(entry.item_id or "", UNTOLD)).split())[:REASON_CHARS]
        for entry in measure.entries
        if entry.applies and entry.value is None
    )
    most = dict(found.most_common(MOST_REASONS))
    rest = found.total() - sum(most.values())
    return most | ({OTHER: rest} if rest else {})


def _interval(measure: Measure) -> tuple[float, float] | tuple[None, None]:
    if measure.value is None:
        return None, None
    info = measure_info(measure.name)
    found = measure_interval(
        measure.statistics,
        measure.clusters,
        measure.from_sums,
        info.bounds if info is not None else None,
        weights=measure.weights,
    )
    return (None, None) if found.low is None or found.high is None else (found.low, found.high)


def _in_order(group: str) -> tuple[int, str]:
    return (int(group), "") if group.isdigit() else (1 << 30, group)


def tables_of(
    evaluation: Evaluation,
    judging: JudgingSetup,
    *,
    subject: str,
    signed: Mapping[str, Parts],
    sources: Mapping[str, tuple[str, str]],
    background: Background | None,
    settings: dict[str, Any],
    kind: str = "evaluate",
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[RunInfo, ScoredAnswers, Tables]:
    """All tables of a run.

    Args:
        evaluation: Turns and scores.
        judging: How the answers were judged.
        subject: First word of the signatures.
        signed: For each model, how its answers were produced.
        sources: For each model, the source of its answers and a hash of it.
        background: Data of the benchmark besides the turns.
        settings: All settings, for `run.json`.
        kind: The verb that writes the run.
        progress: Called with a line about each step.

    Returns:
        The content of `run.json`, the results of text metrics, and the results of judges.
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
            # Judged numbers use all turns. So a model with failed turns can be compared with one without.
            data = judged_hash(judged, judge)
            why = _unscored_turns(own, rows)
            add(model, data, measures, *judging.signature(judge), reasons=why)
            protocol = find_protocol(judge.name)
            if measures and protocol is not None and protocol.right_or_wrong:
                values = {e.item_id: e.value for e in measures[0].entries if e.item_id and e.value is not None}
                # The cost of an error uses the same turns.
                after = cascade(own, values, judge.name)
                withheld = measures[0].withheld
                add(model, data, [dataclasses.replace(one, part_withheld=withheld) for one in after], *judge.signature)
        answered = [turn for turn in evaluation.turns if turn.model == model]
        add(model, asked_hash(answered), latency_measures(answered, durations))
    models = [_info(answer_set, evaluation.turns) for answer_set in sets]
    if NULL_MODEL not in signed:
        nothing = Tables()
        for judge in judging.judges:
            null = evaluation.null.get(judge.name, NullUnits())
            summarise(
                NULL_MODEL,
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
                    model=NULL_MODEL,
                    source=NULL_SOURCE[0],
                    sha256=NULL_SOURCE[1],
                    rows=len(turns),
                    items=len(turns),
                )
            )
    scored = ScoredAnswers(_no_texts(sets, subject, evaluation), [], [], [], [])
    if chosen.metrics and any(answer_set.turns for answer_set in sets):
        texts = ScoreSettings(metrics=chosen.metrics, language=chosen.language)
        scored = score_sets(
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


def _unscored_turns(units: Sequence[JudgeUnit], rows: Sequence[JudgedScore]) -> dict[str, str]:
    """Why a judge gave no score to a turn, by the turn's item."""
    items = {(unit.id, turn.turn_index): turn.item_id for unit in units for turn in unit.turns}
    found: dict[str, str] = {}
    for row in rows:
        item = items.get((row.unit_id, row.turn_index)) if row.turn_index is not None else None
        if row.state is ScoreState.UNSCORED and item is not None:
            found.setdefault(item, row.reason or "the judge gave no reason")
    return found


def item_rows(evaluation: Evaluation, scored: ScoredAnswers, tables: Tables) -> list[ItemScores]:
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
