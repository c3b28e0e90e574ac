"""Judging turn by turn: base classes of judges, the rows of a turn, and the effect of an error on later turns."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from reeltalk.judge.asking import Judgement
from reeltalk.judge.judge import NULL_MODEL, Judge, JudgeUnit, score_row, unscored_row
from reeltalk.judge.measures import Floats, MeanItem, MeanItems, Measure, mean_measure, split_items
from reeltalk.judge.protocol import COMPAT, PER_CENT, MeasurePart, Protocol, find_protocol
from reeltalk.judge.rating import OfficialScriptStopsError
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.replies import FreshSamples
from reeltalk.metrics.info import AMOUNT_DECIMALS
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import NO_REFERENCE, JudgedScore, ScoreState
from reeltalk.store.rows import rows_by

NO_MODEL: Final = "none"
"""The judge model in rows of a protocol that needs none."""
GROUPED_BY: Final = ("turn", "question_type")
"""Groups by which measures over turns are broken down."""


EMPTY_ANSWER: Final = "the answer is empty"
"""Explanation of the score of an empty answer."""
UNREAD_PART: Final = MeasurePart("unread", "not read", direction="neither", decimals=AMOUNT_DECIMALS)
"""The share of answers from which a rule read nothing. They count as wrong."""


def is_due(turn: AnsweredTurn) -> bool:
    """True for a turn whose answer should have a score."""
    return turn.state.is_due


def skip_reason(turn: AnsweredTurn) -> str | None:
    """Why a turn that is due cannot be judged; None if it can."""
    if turn.state is AnswerState.FAILED:
        return no_answer_reason(turn)
    if not turn.references:
        return NO_REFERENCE
    return None


def no_answer_reason(turn: AnsweredTurn) -> str:
    """Why a turn has no answer, for a row."""
    return f"the model gave no answer: {turn.reason}" if turn.reason else "the model gave no answer"


def take_last_answers(unit: JudgeUnit) -> JudgeUnit:
    """The unit as an official script reads it: of several rows with one identifier, it takes the last."""
    last = [turn.model_copy(update={"text": turn.repeats[-1]}) if turn.repeats else turn for turn in unit.turns]
    return dataclasses.replace(unit, turns=tuple(last))


def require_model(judge: str, model: AsyncModel | None) -> AsyncModel:
    """The model that judges.

    Args:
        judge: Name of the protocol.
        model: Argument of `Judge.judge`.

    Raises:
        ValueError: `model` is None.
    """
    if model is None:
        raise ValueError(f"{judge} needs a model to judge")
    return model


def unscored_rows(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criteria: Iterable[str],
    judge: str,
    reason: str | None,
    *,
    replies: tuple[str, ...] = (),
) -> list[JudgedScore]:
    """A row for each criterion of a turn that should have scores and has none."""
    return [unscored_row(unit, criterion, judge, reason or "", turn=turn, replies=replies) for criterion in criteria]


def read_as_official(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criterion: str,
    judge: str,
    replies: tuple[str, ...],
    read: Callable[[], float],
) -> JudgedScore:
    """The row of a turn's score as an official script reads it.

    Args:
        unit: The judged unit.
        turn: A turn of it.
        criterion: Criterion of the row.
        judge: Name of the judge model.
        replies: The replies that the script would have read.
        read: Returns the value, or raises `OfficialScriptStopsError`.
    """
    try:
        value = float(read())
    except OfficialScriptStopsError as error:
        why = f"the official script stops here: {error}"
        return unscored_row(unit, criterion, judge, why, turn=turn, replies=replies)
    except OverflowError:
        value = float("inf")
    if value - value != 0:
        why = "the official script reads what is no finite number"
        return unscored_row(unit, criterion, judge, why, turn=turn, replies=replies)
    return score_row(unit, criterion, judge, value, turn=turn, replies=replies)


OFFICIAL_LABELS: Final = (("mode", "compat"),)

V = TypeVar("V")


class TurnJudge:
    """Scores turns; its measures are the means of each criterion.

    `protocol` lists criteria and measures in the same order, one measure for each criterion.
    """

    protocol: Protocol
    compat: bool = False
    """Also score each turn as the official script does, under `CRITERION.compat`."""
    reads_answers: ClassVar[bool] = False
    """True if a rule reads the answers, so that `is_unread` can tell which it could not read."""
    by: tuple[str, ...] = GROUPED_BY
    """Keys of `groups` by which its measures are broken down."""

    @property
    def name(self) -> str:
        """Name of the protocol."""
        return self.protocol.name

    @property
    def needs_model(self) -> bool:
        """True if a language model judges."""
        return self.protocol.needs_model

    @property
    def reads(self) -> frozenset[str]:
        """References, and no fields besides questions, options and labels."""
        return frozenset({"references"})

    @property
    def criteria(self) -> tuple[str, ...]:
        """Criteria of its rows; those of the official reading come last."""
        own = tuple(criterion.name for criterion in self.protocol.criteria)
        return (*own, *(f"{name}.{COMPAT}" for name in own)) if self.compat else own

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that should have a score: by default every turn that was asked."""
        return is_due(turn)

    def is_unread(self, row: JudgedScore) -> bool:
        """True for the row of an answer from which a rule read nothing."""
        return False

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Groups of a turn besides its position in the unit, as `{"question_type": ("D-LOC",)}`.

        The types are VDAct's, else those of the column `type` of your own table.
        """
        return {"question_type": turn.labels.get("vdact.question_type") or turn.labels.get("type", ())}

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The mean of each criterion over turns, on the scale of its measure; then those of the official reading."""
        found = []
        for suffix, signature in (("", ()), (f".{COMPAT}", OFFICIAL_LABELS))[: 2 if self.compat else 1]:
            for criterion, info in zip(self.protocol.criteria, self.protocol.measures, strict=True):
                assert info.width is not None
                entries = self.entries(units, scores, f"{criterion.name}{suffix}")
                scale = info.width / (criterion.high - criterion.low)
                found.append(
                    mean_measure(f"{info.name}{suffix}", entries, scale=scale, by=self.by, signature=signature)
                )
        return found

    def entries(
        self,
        units: Sequence[JudgeUnit],
        scores: Sequence[JudgedScore],
        criterion: str,
        *,
        by_unit: bool = False,
        value: Callable[[JudgedScore], float | None] = attrgetter("value"),
    ) -> MeanItems:
        """The items of a mean over turns: every turn that is due, with or without a score.

        Args:
            units: All units of one model.
            scores: Their rows of any criterion, in any order.
            criterion: Criterion of the mean.
            by_unit: True to average within units first.
            value: Takes the value of an item from its row.
        """
        return MeanItems(self._entries(units, rows_by(scores, "unit_id"), criterion, by_unit, value))

    def _entries(
        self,
        units: Sequence[JudgeUnit],
        by_id: Mapping[str, Sequence[JudgedScore]],
        criterion: str,
        by_unit: bool,
        value: Callable[[JudgedScore], float | None],
    ) -> Iterator[MeanItem]:
        for unit in units:
            rows = {
                row.turn_index: row
                for row in by_id.get(unit.id, ())
                if row.criterion == criterion and row.unit == "turn"
            }
            for turn in unit.turns:
                if self.is_due(turn):
                    row = rows.get(turn.turn_index)
                    yield MeanItem(
                        video_id=turn.video_id,
                        value=value(row) if row is not None else None,
                        item_id=turn.item_id,
                        applies=row is None or row.state is not ScoreState.NOT_APPLICABLE,
                        groups={"turn": (str(turn.turn_index + 1),), **self.groups(unit, turn)},
                        mean_of=unit.id if by_unit else None,
                    )

    def rows_of(
        self,
        unit: JudgeUnit,
        turn: AnsweredTurn,
        judging: Judgement[Any],
        values: Mapping[str, float],
        judge: str,
        *,
        explanation: str | None = None,
    ) -> list[JudgedScore]:
        """The rows of our reading of a judge's replies, one for each criterion.

        Args:
            unit: The unit of the turn.
            values: Scores by criterion; not used if no reply could be read.
            judge: Name of the judge model.
            explanation: Reasons that the judge gave.
        """
        if judging.verdict is None:
            own = [criterion.name for criterion in self.protocol.criteria]
            return unscored_rows(unit, turn, own, judge, judging.reason, replies=judging.replies)
        return [
            score_row(unit, name, judge, value, turn=turn, explanation=explanation, replies=judging.replies).model_copy(
                update={"lenient": judging.lenient}
            )
            for name, value in values.items()
        ]


def unread_measure(judge: TurnJudge, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> Measure:
    """The share of answers from which a rule read nothing, in per cent."""
    entries = judge.entries(
        units,
        scores,
        judge.criteria[0],
        value=lambda row: None if row.value is None else float(judge.is_unread(row)),
    )
    return mean_measure(f"{judge.protocol.measures[0].name}.{UNREAD_PART.name}", entries, scale=PER_CENT, by=judge.by)


async def judge_unit(judge: Judge, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
    """The rows of a unit, as `_judge_unit` gives them, each with the epoch of its answer."""
    rows = await _judge_unit(judge, unit, model)
    return [row.model_copy(update={"epoch": unit.epoch}) for row in rows] if unit.epoch else rows


async def _judge_unit(judge: Judge, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
    """The rows of a unit. An empty answer has the lowest value of every criterion, and no judge is asked about it."""
    if model is not None:
        epoch = (unit.epoch,) if unit.epoch else ()
        model = FreshSamples(model, (judge.name, unit.model, unit.kind, unit.id, *epoch))
    protocol = find_protocol(judge.name)
    empty = {turn.turn_index for turn in unit.turns if turn.outcome == "empty"}
    if not empty or protocol is None or not protocol.needs_model or unit.model == NULL_MODEL:
        return await judge.judge(unit, model)
    whole = not any(turn.outcome == "answered" for turn in unit.turns)
    single = judge if isinstance(judge, SingleTurnJudge) and not judge.compat else None
    asked = unit
    if single is not None:
        turns = tuple(
            turn.model_copy(update={"state": AnswerState.NOT_ASKED}) if turn.turn_index in empty else turn
            for turn in unit.turns
        )
        asked = dataclasses.replace(unit, turns=turns)
    rows = await judge.judge(asked, model)
    by = model.name if model is not None else NO_MODEL
    if single is not None:
        rows += [
            score_row(unit, criterion.name, by, criterion.low, turn=turn, explanation=EMPTY_ANSWER)
            for turn in unit.turns
            if turn.turn_index in empty and single.is_due(turn) and single.skip_reason(unit, turn) is None
            for criterion in protocol.criteria
        ]
        return rows

    def lowest(row: JudgedScore) -> JudgedScore:
        criterion = None if COMPAT in row.criterion.split(".") else protocol.criterion(row.criterion)
        about = row.turn_index in empty if row.turn_index is not None else whole
        if criterion is None or not about or row.state is ScoreState.NOT_APPLICABLE:
            return row
        update = {"value": criterion.low, "state": ScoreState.SCORED, "reason": None, "explanation": EMPTY_ANSWER}
        return row.model_copy(update=update)

    return [lowest(row) for row in rows]


class SingleTurnJudge(TurnJudge, ABC):
    """Judges the turns of a unit one after the other. A subclass judges one turn in `judge_turn`."""

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why a turn that is due cannot be judged: it has no answer or no reference; None if it can."""
        return skip_reason(turn)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for every turn that is due and every criterion.

        Args:
            unit: A chain, path or dialogue.
            model: The judge; not used by a protocol that needs no model.

        Raises:
            BudgetError: A limit would be passed.
        """
        judge = require_model(self.name, model) if self.needs_model else None
        rows: list[JudgedScore] = []
        for index, turn in enumerate(unit.turns):
            if not self.is_due(turn):
                continue
            if (why := self.skip_reason(unit, turn)) is not None:
                by = judge.name if judge is not None else NO_MODEL
                rows += unscored_rows(unit, turn, self.criteria, by, why)
            else:
                rows += await self.judge_turn(unit, index, judge)
        return rows

    @abstractmethod
    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """The rows of one turn that has an answer.

        Args:
            unit: The unit of the turn.
            index: Index of the turn in the unit.
            model: The judge; None for a protocol that needs no model.

        Raises:
            BudgetError: A limit would be passed.
        """


RIGHT_ABOVE: Final = 0.5
"""An answer whose value is above this is right."""
PARTS: Final = (
    MeasurePart(
        "first_error",
        "right turns before the first error",
        (0.0, None),
        decimals=AMOUNT_DECIMALS,
        items="dialogues",
        mean_of="file",
    ),
    MeasurePart("recovery", "right after a wrong answer", (0.0, PER_CENT), decimals=AMOUNT_DECIMALS),
    MeasurePart("after_right", "right after a right answer", (0.0, PER_CENT), decimals=AMOUNT_DECIMALS),
    MeasurePart("after_corrupted", "right after a planted error", (0.0, PER_CENT), decimals=AMOUNT_DECIMALS),
)


Play = tuple[Iterable[JudgeUnit], Callable[[str], float | None]]
"""Units, and what gives the value of a turn, 0 to 1, by its item. A turn without a value, None, breaks the sequence."""


def cascade(plays: Iterable[Play], of: str) -> list[Measure]:
    """Does an early error cascade? Measures of the turns that follow an error.

    Args:
        plays: Units of one model, once for each time that they were played.
        of: Name of the protocol that gave the values.

    Returns:
        `first_error`: number of right turns before the first error. `recovery`: share of right answers after a wrong
        answer, in percent. `after_right`: the same after a right answer. `after_corrupted`: the same after a planted
        wrong answer.
    """
    known: list[Known] = []
    shares = split_items(_after_errors(plays, known), len(_CASCADE))
    return [
        _until_error(f"{of}.first_error", known),
        *(
            mean_measure(f"{of}.{name}", entries, scale=PER_CENT)
            for name, entries in zip(_CASCADE, shares, strict=True)
        ),
    ]


_CASCADE: Final = ("recovery", "after_right", "after_corrupted")
Known = tuple[str, list[bool | None]]
"""The video of a unit, and whether each of its turns is right; None where it is not known."""


def _until_error(name: str, units: Sequence[Known]) -> Measure:
    """The mean number of right turns before the first error: the area under Kaplan and Meier's curve."""
    begun = [(video, right) for video, right in units if right and right[0] is not None]
    length = max((len(right) for _, right in begun), default=0)
    reached, passed = np.zeros((len(begun), length)), np.zeros((len(begun), length))
    for row, (_, right) in enumerate(begun):
        for turn, is_right in enumerate(right):
            if is_right is None:
                break
            reached[row, turn], passed[row, turn] = 1.0, float(is_right)
            if not is_right:
                break

    def area(sums: Floats, _: Floats) -> Floats:
        at_risk = sums[:, :length]
        survived = np.where(at_risk > 0, sums[:, length:] / np.where(at_risk > 0, at_risk, 1.0), 1.0)
        found: Floats = survived.cumprod(axis=1).sum(axis=1)
        return found

    table = np.hstack([reached, passed])
    return Measure(
        name=name,
        value=float(area(table.sum(axis=0, keepdims=True), np.ones(1))[0]) if begun else None,
        n=len(begun),
        unscored=0,
        not_applicable=0,
        statistics=table,
        clusters=[video for video, _ in begun],
        from_sums=area,
        entries=(),
    )


def _after_errors(plays: Iterable[Play], known: list[Known]) -> Iterator[tuple[int, MeanItem]]:
    """The items of the shares of `cascade`, each with the index of its share; adds every unit to those known."""
    for unit, value_of in ((unit, value_of) for units, value_of in plays for unit in units):
        right = [None if (v := value_of(turn.item_id)) is None else v > RIGHT_ABOVE for turn in unit.turns]
        known.append((unit.video_id, right))
        for index in range(1, len(right)):
            before, now = right[index - 1], right[index]
            if now is None:
                continue
            played = unit.turns[index - 1].played
            if played is not None and played.corrupted:
                yield 2, MeanItem(unit.video_id, float(now))
            elif before is not None:
                yield 1 if before else 0, MeanItem(unit.video_id, float(now))


def shown_options(turn: AnsweredTurn) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """The options of a turn in the order in which they were shown.

    Returns:
        Indices in the benchmark's order, and the texts. None if there are no options, or if the recorded order does not
        fit them.
    """
    if turn.options is None:
        return None
    recorded = turn.played.option_order if turn.played is not None else None
    order = recorded if recorded is not None else tuple(range(len(turn.options)))
    if sorted(order) != list(range(len(turn.options))):
        return None
    return order, tuple(turn.options[index] for index in order)
