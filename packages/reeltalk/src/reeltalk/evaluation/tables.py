"""All tables of a run, from turns and scores: values with intervals and signatures, groups, curves, the null row."""

import dataclasses
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from reeltalk._version import __version__
from reeltalk.evaluation.answers import AnswerSet
from reeltalk.evaluation.epochs import (
    ANSWERED,
    mean_of_flags,
    mean_scores,
    one_of_each_turn,
    plays_of,
    spread_within_turns,
)
from reeltalk.evaluation.score import ScoredAnswers, score_sets
from reeltalk.evaluation.settings import ScoreSettings
from reeltalk.evaluation.signing import judged_hash, questions_hash, reference_count
from reeltalk.evaluation.stage import Evaluation, JudgingSetup, NullUnits
from reeltalk.judge.judge import (
    NULL_MODEL,
    NULL_SOURCE,
    Background,
    Judge,
    JudgeUnit,
    fields_read_by,
    group_units,
    judged_units,
)
from reeltalk.judge.measures import MeanItem, Measure, group_measure, mean_measure, split_items
from reeltalk.judge.protocol import CORRECT, PER_CENT, find_protocol, measure_info
from reeltalk.judge.turns import cascade, no_answer_reason
from reeltalk.metrics.info import TIMINGS
from reeltalk.metrics.tokenise import languages_by_item
from reeltalk.metrics.uncertainty import INTERVAL, measure_interval
from reeltalk.schema.answers import AnsweredTurn, AnswerState, Outcome
from reeltalk.schema.runs import (
    EPOCHS,
    CurvePoint,
    EpochSpread,
    GroupRow,
    ItemScores,
    ModelInfo,
    RunInfo,
    SummaryRow,
    value_fields,
)
from reeltalk.schema.scoring import JudgedScore, ScoreState, Signature, short_hash
from reeltalk.store.rows import FieldValues, KeyIndex, Rows, database_errors, temporary_database
from reeltalk.store.score_frame import PLAY_COLUMNS, unit_item

T = TypeVar("T", AnsweredTurn, JudgedScore)

LENGTHS_S: Final = (60.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1800.0, 3600.0)
"""Bounds of the groups of video length."""
MOMENT_BOUNDS_S: Final = (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""Bounds of the groups of the moment of a question."""


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


def latency_measures(
    turns: Iterable[AnsweredTurn], durations_s: Callable[[str], float | None], *, repeated: bool = False
) -> list[Measure]:
    """Seconds, tokens, frames and memory of one model's answers, as far as they were measured.

    A question without a moment is asked at the end of its video.

    Args:
        durations_s: Gives the length of a video in seconds; None if it is unknown.
        repeated: True if turns were answered several times. Their answers are averaged first.
    """
    by = ("turn", "video_length", "asked_at")
    entries = split_items(_latency_items(turns, durations_s, repeated), len(PLAY_COLUMNS))
    return [mean_measure(name, own, by=by) for name, own in zip(PLAY_COLUMNS, entries, strict=True) if own]


def _latency_items(
    turns: Iterable[AnsweredTurn], durations_s: Callable[[str], float | None], repeated: bool
) -> Iterator[tuple[int, MeanItem]]:
    for turn in turns:
        if turn.state is not AnswerState.ANSWERED or not turn.played:
            continue
        duration_s = durations_s(turn.video_id)
        asked_at_s = turn.asked_at_s if turn.asked_at_s is not None else duration_s
        groups = {
            "turn": (str(turn.turn_index + 1),),
            "video_length": (length_group(duration_s),),
            "asked_at": (length_group(asked_at_s, MOMENT_BOUNDS_S),),
        }
        for number, of in enumerate(PLAY_COLUMNS.values()):
            if (value := of(turn.played)) is not None:
                mean_of = turn.item_id if repeated else None
                yield number, MeanItem(turn.video_id, float(value), groups=groups, mean_of=mean_of)


TURN_GROUP: Final = "turn"
"""Groups of this kind become a curve."""
FORM_GROUP: Final = "form"
"""Groups by the measure that judges a turn."""
NOT_JUDGED: Final = "it was not judged"
OTHER_REASONS: Final = "other reasons"
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
    items: "ItemColumns" = field(default_factory=lambda: ItemColumns())
    """Scores of each answer by model, item and epoch."""
    epoch: int = 0
    """The epoch of the scores that are added."""
    floor: list[ItemScores] = field(default_factory=list)
    """Scores of empty answers, if no model gave them."""
    metrics: list[str] = field(default_factory=list)


class ItemColumns:
    """Scores of answers by metric, in a temporary database. Of several scores by one metric the first counts."""

    def __init__(self) -> None:
        self._scores = temporary_database("CREATE TABLE scores (model, item, epoch, metric, value)")
        weakref.finalize(self, self._scores.close)

    def add(self, model: str, metric: str, scores: Iterable[tuple[str, int, float]]) -> None:
        """Add the scores of a metric, each with its item and epoch."""
        with database_errors():
            self._scores.execute("BEGIN")
            rows = ((model, item, epoch, metric, value) for item, epoch, value in scores)
            self._scores.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?)", rows)
            self._scores.execute("COMMIT")

    def scores(self, answers: Iterable[tuple[str, str, int]]) -> Iterator[dict[str, float]]:
        """The scores of answers, in the order in which metrics were added."""
        with database_errors():
            self._scores.execute("CREATE INDEX IF NOT EXISTS by_item ON scores (item, model, epoch)")
            query = "SELECT metric, value FROM scores WHERE item = ? AND model = ? AND epoch = ? ORDER BY rowid"
            for model, item, epoch in answers:
                found: dict[str, float] = {}
                for metric, value in self._scores.execute(query, (item, model, epoch)):
                    found.setdefault(metric, value)
                yield found

    def of_metric(self, model: str, metric: str) -> dict[tuple[str, int], float]:
        """The scores of a metric by item and epoch."""
        query = "SELECT item, epoch, value FROM scores WHERE model = ? AND metric = ? ORDER BY rowid"
        with database_errors():
            return {(item, epoch): value for item, epoch, value in self._scores.execute(query, (model, metric))}


def add_summary(
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
    tables.items.add(
        model,
        measure.name,
        (
            (entry.item_id, tables.epoch, entry.value * measure.scale + measure.offset)
            for entry in measure.entries
            if entry.item_id is not None and entry.applies and entry.value is not None
        ),
    )
    for by in measure.by:
        for group, part in sorted(group_measure(measure, by).items(), key=lambda found: _in_order(found[0])):
            low, high = _interval(part)
            if by == TURN_GROUP and part.value is not None and group.isdigit():
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
            elif by != TURN_GROUP:
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
        " ".join((entry.reason or known.get(entry.item_id or "", NOT_JUDGED)).split())[:REASON_CHARS]
        for entry in measure.entries
        if entry.applies and entry.value is None
    )
    most = dict(found.most_common(MOST_REASONS))
    rest = found.total() - sum(most.values())
    return most | ({OTHER_REASONS: rest} if rest else {})


def _interval(measure: Measure) -> tuple[float, float] | tuple[None, None]:
    if measure.value is None:
        return None, None
    info = measure_info(measure.name) or next((info for info in TIMINGS if info.name == measure.name), None)
    found = measure_interval(
        measure.statistics,
        measure.clusters,
        measure.from_sums,
        info.bounds if info is not None else (None, None),
        weights=measure.weights,
    )
    return (None, None) if found.low is None or found.high is None else (found.low, found.high)


def _in_order(group: str) -> tuple[int, str]:
    return (int(group), "") if group.isdigit() else (1 << 30, group)


def correct_measure(
    measured: Sequence[tuple[Judge, Measure]], turns: Iterable[AnsweredTurn]
) -> tuple[Measure, list[Judge]] | None:
    """The share of credit over all due turns, where no measure of correctness applies to all of them.

    Each turn has the credit of the most exact measure that applies to it. Turns to which none applies are counted as
    not applicable.

    Args:
        measured: Judges of one model's turns with their headlines.

    Returns:
        The measure and the judges that it rests on; None if one measure is enough, or none applies.
    """
    found = [
        (protocol.credit_rank, judge, measure)
        for judge, measure in measured
        if (protocol := find_protocol(judge.name)) is not None
        and protocol.credit_rank is not None
        and protocol.unit == "turn"
    ]
    items: dict[str, MeanItem] = {}
    used: list[Judge] = []
    for _, judge, measure in sorted(found, key=lambda one: one[0]):
        info = measure_info(measure.name)
        own = 0
        for entry in measure.entries:
            if entry.item_id is None or not entry.applies or entry.item_id in items or info is None:
                continue
            value = None if entry.value is None else info.share(entry.value * measure.scale + measure.offset)
            groups = {**entry.groups, FORM_GROUP: (info.title,)}
            items[entry.item_id] = dataclasses.replace(entry, value=value, groups=groups, mean_of=None)
            own += 1
        if own:
            used.append(judge)
    if len(used) < 2:
        return None
    rest = {
        turn.item_id: MeanItem(turn.video_id, None, turn.item_id, applies=False)
        for turn in turns
        if turn.state.is_due and turn.item_id not in items
    }
    by = (FORM_GROUP, TURN_GROUP, "question_type", "task")
    return mean_measure(CORRECT, [*items.values(), *rest.values()], scale=PER_CENT, by=by), used


@dataclass(frozen=True)
class _Play:
    """The units of one play, and the headlines of judges by their names."""

    units: Sequence[JudgeUnit]
    headlines: dict[str, Measure]


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
    turns_of = _by_model(evaluation.turns)
    nothing_of = evaluation.turns.at(())
    found = [
        _answer_set(model, turns_of.get(model, nothing_of), sources[model], parts) for model, parts in signed.items()
    ]
    models, sets = [info for info, _ in found], [answer_set for _, answer_set in found]
    whole = Tables()
    judged_rows = {judge.name: _by_model(evaluation.scores[judge.name]) for judge in judging.judges}
    spreads: list[EpochSpread] = []
    most_plays = 1

    def duration_of(video_id: str) -> float | None:
        video = background.videos.get(video_id) if background else None
        return video.duration_s if video is not None else None

    def add(
        model: str,
        data: str,
        measures: Sequence[Measure],
        *parts: tuple[str, str],
        tables: Tables = whole,
        reasons: Mapping[str, str] | None = None,
    ) -> None:
        add_summary(
            model,
            measures,
            subject=subject,
            signed=(("data", data), *signed[model], *parts),
            tables=tables,
            reasons=reasons,
        )

    def add_judged(
        model: str,
        answered: Sequence[AnsweredTurn],
        rows_of: Mapping[str, Sequence[JudgedScore]],
        tables: Tables,
        plays: Sequence[_Play] = (),
    ) -> _Play:
        """Add the numbers of judges. An error cascades within a play, so `plays` are given if there were several."""
        own = group_units(answered, background)
        play = _Play(own, {})
        measured: list[tuple[Judge, Measure]] = []
        why_of: dict[str, str] = {}
        hashes: dict[str, str] = {}
        for judge in judging.judges:
            rows = rows_of[judge.name]
            judged = judged_units(judge, own, background)
            measures = judge.measures(judged, rows)
            if plays:
                of_plays = {name: whole.items.of_metric(model, name) for name in (one.name for one in measures)}
                measures = [mean_of_flags(one, of_plays[one.name]) for one in measures]
            # Judged numbers use all turns. So a model with failed turns can be compared with one without.
            data = judged_hash(judged, judge)
            why = _unscored_turns(own, rows)
            if measures:
                measured.append((judge, measures[0]))
                play.headlines[judge.name] = measures[0]
                hashes[judge.name] = data
                why_of = why | why_of
            parts = (*judging.signature(judge), *_reference_parts(judge, answered))
            add(model, data, measures, *parts, tables=tables, reasons=why)
            protocol = find_protocol(judge.name)
            if measures and protocol is not None and protocol.right_or_wrong:
                # The cost of an error uses the same turns.
                known = ((one.units, _values_by_item(one.headlines[judge.name])) for one in plays or (play,))
                withheld = measures[0].withheld
                after = [dataclasses.replace(one, part_withheld=withheld) for one in cascade(known, judge.name)]
                add(model, data, after, *judge.signature, tables=tables)
        if (joint := correct_measure(measured, answered)) is not None:
            data, parts = short_hash([hashes[judge.name] for judge in joint[1]]), _joint_parts(joint[1], judging)
            add(model, data, [joint[0]], *parts, tables=tables, reasons=why_of)
            play.headlines[CORRECT] = joint[0]
        return play

    for model in signed:
        answered = turns_of.get(model, nothing_of)
        epochs = plays_of(answered)
        rows_of: dict[str, Sequence[JudgedScore]] = {name: rows.get(model, ()) for name, rows in judged_rows.items()}
        if len(epochs) < 2:
            add_judged(model, answered, rows_of, whole)
        else:
            most_plays = max(most_plays, len(epochs))
            plays = [
                add_judged(
                    model,
                    turns,
                    {name: [row for row in rows if row.epoch == epoch] for name, rows in rows_of.items()},
                    Tables(items=whole.items, epoch=epoch),
                )
                for epoch, turns in epochs.items()
            ]
            means = {name: mean_scores(rows) for name, rows in rows_of.items()}
            # The scores of single answers are those of the plays.
            of_means = dataclasses.replace(whole, items=ItemColumns())
            videos = {turn["item_id"]: turn["video_id"] for turn in answered.raw()}
            for measure in add_judged(model, one_of_each_turn(answered), means, of_means, plays).headlines.values():
                values = whole.items.of_metric(model, measure.name)
                if (spread := spread_within_turns(model, measure.name, values, videos)) is not None:
                    spreads.append(spread)
        played = next(answer_set.played for answer_set in sets if answer_set.model == model)
        add(model, played, latency_measures(answered, duration_of, repeated=len(epochs) > 1))
    if NULL_MODEL not in signed:
        nothing = Tables()
        measured, hashes = [], {}
        for judge in judging.judges:
            null = evaluation.null.get(judge.name, NullUnits())
            measures = judge.measures(null.units, null.scores) if null.units else []
            measured += [(judge, measure) for measure in measures[:1]]
            hashes[judge.name] = judged_hash(null.units, judge)
            add_summary(
                NULL_MODEL,
                measures,
                subject=subject,
                signed=(
                    ("data", hashes[judge.name]),
                    *judging.signature(judge),
                    *_reference_parts(judge, (turn for unit in null.units for turn in unit.turns)),
                ),
                tables=nothing,
            )
        rests_on = (unit for judge, _ in measured for unit in evaluation.null[judge.name].units)
        if (joint := correct_measure(measured, (turn for unit in rests_on for turn in unit.turns))) is not None:
            data = short_hash([hashes[judge.name] for judge in joint[1]])
            parts = (("data", data), *_joint_parts(joint[1], judging))
            add_summary(NULL_MODEL, [joint[0]], subject=subject, signed=parts, tables=nothing)
        whole.summary += nothing.summary
        whole.floor += _floor_rows(evaluation.null, nothing)
        if nothing.summary:
            turns = _count_turns(evaluation.null.values())
            models.append(
                ModelInfo(model=NULL_MODEL, source=NULL_SOURCE[0], sha256=NULL_SOURCE[1], rows=turns, items=turns)
            )
    if most_plays > 1:
        within = [spread.model_dump(mode="json") for spread in spreads]
        settings = settings | {EPOCHS: {"number": most_plays, "within": within}}
    info = RunInfo(
        kind=kind,
        reeltalk_version=__version__,
        subject=subject,
        models=tuple(models),
        metrics=tuple(whole.metrics),
        settings=settings,
        clusters=len(set(FieldValues(evaluation.turns, "video_id"))),
    )
    scored = ScoredAnswers(info, [], [], [])
    if chosen.metrics and any(answer_set.turns for answer_set in sets):
        texts = ScoreSettings(metrics=chosen.metrics, language=chosen.language)
        scored = score_sets(
            [answer_set for answer_set in sets if answer_set.turns or answer_set.lacking],
            texts,
            subject=subject,
            meteor=judging.meteor,
            embedder=judging.embedder,
            models=models,
            languages=languages_by_item(
                ((turn["item_id"], turn["references"]) for turn in evaluation.turns.raw()), chosen.language
            ),
            progress=progress,
        )
        metrics = (*whole.metrics, *scored.info.metrics)
        info = info.model_copy(update={"metrics": metrics, "unscored": scored.info.unscored})
    return info, scored, whole


def _reference_parts(judge: Judge, turns: Iterable[AnsweredTurn]) -> Parts:
    """How many references the due turns have, for a judge that reads them."""
    if "references" not in fields_read_by(judge):
        return ()
    return (("refs", reference_count(len(turn.references) for turn in turns if turn.state.is_due)),)


def _floor_rows(null: Mapping[str, NullUnits], nothing: Tables) -> Iterator[ItemScores]:
    """The scores of every turn and every whole unit of which empty answers were judged."""
    turns = dict.fromkeys(turn.item_id for sampled in null.values() for unit in sampled.units for turn in unit.turns)
    for item, scores in zip(turns, nothing.items.scores((NULL_MODEL, item, 0) for item in turns), strict=True):
        if scores:
            yield ItemScores(model=NULL_MODEL, item_id=item, scores=scores)
    judged: dict[str, dict[str, list[float]]] = {}
    for name, sampled in null.items():
        for row in sampled.scores:
            if row.unit != "turn" and row.value is not None:
                own = judged.setdefault(unit_item(row.unit, row.unit_id), {})
                own.setdefault(f"{name}.{row.criterion}", []).append(row.value)
    for item, rounds in judged.items():
        scores = {name: sum(values) / len(values) for name, values in rounds.items()}
        yield ItemScores(model=NULL_MODEL, item_id=item, scores=scores)


def _joint_parts(judges: Sequence[Judge], judging: JudgingSetup) -> Parts:
    """The parts of the signature of a number of several judges; equal parts once."""
    return tuple(dict.fromkeys(part for judge in judges for part in judging.signature(judge)))


def _count_turns(sampled: Iterable[NullUnits]) -> int:
    """The number of turns of all judges' units; a turn that several judges have counts once."""
    return len({turn.item_id for null in sampled for unit in null.units for turn in unit.turns})


def _by_model(rows: Rows[T]) -> Mapping[str, Rows[T]]:
    """The rows of each model, in their order."""
    return rows.by_fields(("model",))


def _values_by_item(measure: Measure) -> Callable[[str], float | None]:
    """A function that gives the value of a turn, by its item; of several values the last counts."""
    values = ((one.item_id, one.value) for one in measure.entries if one.item_id and one.value is not None)
    return KeyIndex(values).last


def _unscored_turns(units: Iterable[JudgeUnit], rows: Iterable[JudgedScore]) -> dict[str, str]:
    """Why a judge gave no score to a turn, by the turn's item."""
    reasons: dict[tuple[str, int], str] = {}
    for row in rows:
        if row.state is ScoreState.UNSCORED and row.turn_index is not None:
            reasons.setdefault((row.unit_id, row.turn_index), row.reason or "the judge gave no reason")
    if not reasons:
        return {}
    found = {
        (unit.id, turn.turn_index): turn.item_id
        for unit in units
        for turn in unit.turns
        if (unit.id, turn.turn_index) in reasons
    }
    return {item: reasons[place] for place, item in found.items()}


def item_rows(evaluation: Evaluation, scored: ScoredAnswers, tables: Tables) -> Iterator[ItemScores]:
    """Every turn's scores by text metrics and judges, in the order of the turns."""
    texts = ItemColumns()
    for found in scored.columns:
        for name, values in found.columns.items():
            answers = found.answer_set.samples or found.answer_set.turns
            columns = (FieldValues(answers, "item_id"), FieldValues(answers, "epoch"), values.tolist())
            texts.add(found.answer_set.model, name, zip(*columns, strict=True))

    def places() -> Iterator[tuple[str, str, int]]:
        return ((turn["model"], turn["item_id"], turn.get("epoch", 0)) for turn in evaluation.turns.raw())

    for (model, item, epoch), judged, own in zip(
        places(), tables.items.scores(places()), texts.scores(places()), strict=True
    ):
        yield ItemScores(model=model, item_id=item, epoch=epoch, scores={**judged, **own})


def _answer_set(
    model: str, own: Rows[AnsweredTurn], source: tuple[str, str], signed: Parts
) -> tuple[ModelInfo, AnswerSet]:
    plays = plays_of(own)
    turns = own if len(plays) < 2 else one_of_each_turn(own)
    usable = array("Q")
    left_out: Counter[str] = Counter()
    lacking: list[tuple[int, str]] = []
    failed: list[str] = []
    outcomes: Counter[Outcome] = Counter()
    for place, turn in enumerate(turns):
        outcomes[turn.outcome] += 1
        if turn.state is AnswerState.FAILED:
            failed.append(turn.item_id)
        if not turn.state.is_due:
            left_out[turn.state.value] += 1
        elif not turn.references:
            left_out["no reference"] += 1
        elif turn.state is not AnswerState.ANSWERED:
            lacking.append((turn.turn_index, no_answer_reason(turn)))
        else:
            usable.append(place)
    usable_turns = turns.at(usable)
    samples: Sequence[AnsweredTurn] = ()
    if len(plays) > 1:
        samples = own.where(lambda turn: turn.get("state", ANSWERED) == ANSWERED and bool(turn["references"]))
    info = ModelInfo(
        model=model,
        source=source[0],
        sha256=source[1],
        rows=len(own),
        items=len(usable_turns),
        missing=tuple(failed),
        not_scored=dict(left_out),
        turns=dict(outcomes),
    )
    return info, AnswerSet(
        model,
        source[0],
        source[1],
        len(own),
        usable_turns,
        not_scored=dict(left_out),
        signed=signed,
        samples=samples,
        played=questions_hash(turns),
        lacking=lacking,
    )
