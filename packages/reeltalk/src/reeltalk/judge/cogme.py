"""CogME's profile from any judge of correctness (CogSci 2024, arXiv 2107.09847)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.judge.choice import ACCURACY, ChoiceJudge
from reeltalk.judge.judge import Judge, JudgeUnit, fields_read_by
from reeltalk.judge.measures import Floats, MeanItem, Measure, mean_measure
from reeltalk.judge.protocol import MeasurePart, Protocol, ProtocolCriterion, per_cent
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.profile import TAGS, WEIGHTS, highest_thinking
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.labels import Thinking
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "cogme"
PERCENT: Final = 100.0


@dataclass(frozen=True)
class TaggedQuestion:
    """A tagged turn of one model and the credit of its answer."""

    unit: JudgeUnit
    turn: AnsweredTurn
    thinking: Thinking
    credit: float | None
    """0 to 1; None if there is no score."""

    @property
    def weight(self) -> int:
        """1 to 3, by its level of thinking."""
        return WEIGHTS[self.thinking]

    @property
    def tags(self) -> frozenset[str]:
        """Its tags among the 19, including that of its thinking."""
        labels = self.turn.labels
        carried = (*labels.get("cogme.target", ()), *labels.get("cogme.content", ()), self.thinking.value)
        return frozenset(carried).intersection(TAGS)

    @property
    def entry(self) -> MeanItem:
        """The item of a mean."""
        return MeanItem(video_id=self.unit.video_id, value=self.credit, item_id=self.turn.item_id)


class CogMEJudge:
    """CogME: achievement at each of 19 tags, from the correctness of each turn by another judge."""

    name = NAME

    def __init__(self, correctness: Judge | None = None, *, criterion: str = ACCURACY) -> None:
        """Choose the judge of correctness.

        Args:
            correctness: A judge whose rows for turns are credits from 0 to 1; by default by options. If it judges a
                turn several times, the mean counts.
            criterion: Criterion of the judge's rows that holds the credit.
        """
        self._judge: Judge = ChoiceJudge() if correctness is None else correctness
        self._criterion = criterion

    @property
    def needs_model(self) -> bool:
        """True if the judge of correctness needs a language model."""
        return self._judge.needs_model

    @property
    def reads(self) -> frozenset[str]:
        """Fields that the judge of correctness reads."""
        return fields_read_by(self._judge)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The judge of correctness and the weights."""
        weights = "-".join(str(weight) for weight in WEIGHTS.values())
        return (("correctness", self._judge.name), ("weights", weights), *self._judge.signature)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """The rows of the judge of correctness."""
        return await self._judge.judge(unit, model)

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`cogme`, the plain accuracy; then `cogme.<tag>`, weighted, and `cogme.unweighted.<tag>`, all 0 to 100.

        A tag without questions has no value. Only turns with a level of thinking count, at their highest level.

        Raises:
            ValueError: A credit is outside 0 to 1.
        """
        questions = self._questions(units, scores)
        by_tag = {tag: [q for q in questions if tag in q.tags] for tag in TAGS}
        return [
            mean_measure(NAME, [question.entry for question in questions], scale=PERCENT),
            *(weighted_measure(f"{NAME}.{tag}", found) for tag, found in by_tag.items()),
            *(
                mean_measure(
                    f"{NAME}.unweighted.{tag}",
                    [question.entry for question in found],
                    scale=PERCENT,
                    signature=(("weights", "none"),),
                )
                for tag, found in by_tag.items()
            ),
        ]

    def _questions(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[TaggedQuestion]:
        credits_: dict[tuple[str, int | None], list[float]] = {}
        for row in scores:
            if row.unit == "turn" and row.criterion == self._criterion and row.value is not None:
                if not 0 <= row.value <= 1:
                    raise ValueError(f"a credit must be within 0 and 1, got {row.value} of '{row.criterion}'")
                credits_.setdefault((row.unit_id, row.turn_index), []).append(row.value)
        return tagged_questions(units, {place: sum(given) / len(given) for place, given in credits_.items()})


def tagged_questions(
    units: Sequence[JudgeUnit], credit: Mapping[tuple[str, int | None], float]
) -> list[TaggedQuestion]:
    """All turns that were asked and have a level of thinking, with the highest level of each.

    Args:
        units: All units, judged or not.
        credit: Credits from 0 to 1, by unit and turn.
    """
    found: list[TaggedQuestion] = []
    for unit in units:
        for turn in unit.turns:
            thinking = highest_thinking(turn.labels.get("cogme.thinking", ()))
            if thinking is not None and turn.state.is_due:
                found.append(TaggedQuestion(unit, turn, thinking, credit.get((unit.id, turn.turn_index))))
    return found


def weighted_measure(name: str, questions: Sequence[TaggedQuestion]) -> Measure:
    """Points earned of points possible, as a ratio of sums so that videos can be resampled."""
    present = [(question, question.credit) for question in questions if question.credit is not None]
    rows = [[question.weight * credit * PERCENT, float(question.weight)] for question, credit in present]
    statistics = np.array(rows, np.float64).reshape(-1, 2)
    earned, possible = statistics.sum(axis=0)
    return Measure(
        name=name,
        value=float(earned / possible) if present else None,
        n=len(present),
        unscored=len(questions) - len(present),
        not_applicable=0,
        statistics=statistics,
        clusters=[question.unit.video_id for question, _ in present],
        weights=statistics[:, 1],
        from_sums=_ratio,
        entries=tuple(question.entry for question in questions),
        scale=PERCENT,
    )


def _ratio(sums: Floats, n: Floats) -> Floats:
    return sums[:, 0] / sums[:, 1]


PROTOCOL: Final = Protocol(
    name=NAME,
    title="CogME",
    help="CogME's profile: the accuracy of multiple choice at each tag.",
    create=lambda _: CogMEJudge(),
    criteria=(ProtocolCriterion(ACCURACY, "CogME, accuracy", pass_mark=0.5),),
    measures=(per_cent(NAME, "CogME"),),
    needs_model=False,
    credit_rank=60,
    parts=(MeasurePart("unweighted", "unweighted"),),
    open_parts="tag",
    source="CogME (CogSci 2024)",
)
