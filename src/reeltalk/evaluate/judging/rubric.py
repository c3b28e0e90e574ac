"""Judges open answers part by part: which things that a right answer says are said, and what that earns at each tag.

A turn without a rubric is judged as one part, its reference answer. CogME gives credit for a whole question at all of
its tags (CogSci 2024); here an answer that names the action and misses the place earns the one and not the other.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, Literal

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging import in_context
from reeltalk.evaluate.judging.asking import Judging, prompt
from reeltalk.evaluate.judging.checklist import ask_items
from reeltalk.evaluate.judging.choice import shown_options
from reeltalk.evaluate.judging.cogme import PERCENT, tagged_questions, weighted
from reeltalk.evaluate.judging.in_context import agrees_in_context
from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.evaluate.judging.rows import scored
from reeltalk.evaluate.judging.turns import NOBODY, no_answer, who
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.structured import repair_signature
from reeltalk.metrics.agree import states
from reeltalk.metrics.profile import TAGS
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import RubricItem, TurnRubric
from reeltalk.schema.scoring import JudgedScore

NAMES: Final = {"model": "rubric", "words": "rubric-words"}
VERSION: Final = "v1"
TAG_LABELS: Final = ("cogme.target", "cogme.content")


class RubricJudge:
    """Points of a rubric by what an answer says: criterion `rubric`, 0 to 1, and the same at single tags."""

    def __init__(self, by: Literal["model", "words"] = "model") -> None:
        """Choose who says what is said.

        Args:
            by: A language model, or the words alone, which know no synonyms.
        """
        self._by = by

    @property
    def name(self) -> str:
        """`rubric`, or `rubric-words` where no model judges."""
        return NAMES[self._by]

    @property
    def needs_model(self) -> bool:
        """True where a model judges."""
        return self._by == "model"

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompt or the rules, and what becomes of a turn without a rubric."""
        how = (
            (("prompt", prompt("rubric").signature), ("repair", repair_signature()))
            if self.needs_model
            else (("agree", in_context.SIGNATURE),)
        )
        return (("rubric", VERSION), *how, ("without", "reference"))

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each turn that has a reference and was asked, and one for each tag with a credit of its own.

        Args:
            unit: What is judged.
            model: Who judges, where a model does.

        Raises:
            BudgetError: A limit would be passed.
        """
        judging = who(self.name, model) if self.needs_model else None
        rows: list[JudgedScore] = []
        before: list[tuple[str, str]] = []
        for turn in unit.turns:
            if turn.references and turn.state is not AnswerState.NOT_ASKED:
                rows += await self._rows(unit, turn, before, judging)
            before.append((turn.question, turn.references[0] if turn.references else ""))
        return rows

    async def _rows(
        self, unit: JudgeUnit, turn: AnsweredTurn, before: Sequence[tuple[str, str]], model: AsyncModel | None
    ) -> list[JudgedScore]:
        by = model.name if model is not None else NOBODY
        if turn.state is not AnswerState.ANSWERED:
            return [unscored(unit, self.name, by, no_answer(turn), turn=turn)]
        rubric = turn.rubric or TurnRubric(items=(RubricItem(says=turn.references[0]),))
        judged = await _asked(turn, rubric, model) if model is not None else _by_words(turn, before)
        if judged.verdict is None:
            return [unscored(unit, self.name, by, judged.reason or "", turn=turn, replies=judged.replies)]
        met = [judged.verdict[f"A{number}"] == "Yes" for number in range(1, len(rubric.items) + 1)]
        missed = [item.says for item, ok in zip(rubric.items, met, strict=True) if not ok]
        explanation = f"not said: {'; '.join(missed)}" if missed else None
        rows = [
            scored(
                unit,
                self.name,
                by,
                earned(rubric.items, met),
                turn=turn,
                explanation=explanation,
                replies=judged.replies,
            )
        ]
        own = [tag for name in TAG_LABELS for tag in turn.labels.get(name, ())]
        for tag, value in credit_by_tag(rubric, met, own).items():
            rows.append(scored(unit, f"{self.name}.{tag}", by, value, turn=turn))
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`rubric` over turns, then `rubric.<tag>`, weighted as CogME's, all 0 to 100.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        values: dict[str, dict[tuple[str, int | None], float]] = {}
        for row in scores:
            if row.unit == "turn" and row.value is not None:
                values.setdefault(row.criterion, {})[row.unit_id, row.turn_index] = row.value
        whole = values.get(self.name, {})
        entries = [
            Entry(
                video_id=unit.video_id,
                value=whole.get((unit.id, turn.turn_index)),
                item_id=turn.item_id,
                groups={
                    "turn": (str(turn.turn_index + 1),),
                    "question_type": turn.labels.get("vdact.question_type", ()),
                    "task": (unit.task,) if unit.task is not None else (),
                },
            )
            for unit in units
            for turn in unit.turns
            if turn.references and turn.state is not AnswerState.NOT_ASKED
        ]
        found = [mean_of(self.name, entries, scale=PERCENT, by=("turn", "question_type", "task"))]
        questions = [question for question in tagged_questions(units, whole) if question.turn.references]
        for tag in TAGS:
            own = values.get(f"{self.name}.{tag}", {})
            carrying = [question for question in questions if tag in question.answer.all_tags]
            at = [
                dataclasses.replace(one, credit=own.get((one.unit.id, one.turn.turn_index), one.credit))
                for one in carrying
            ]
            if at:
                found.append(weighted(f"{self.name}.{tag}", at))
        return found


def earned(items: Sequence[RubricItem], met: Sequence[bool]) -> float:
    """Points earned of points possible.

    Args:
        items: Of a rubric.
        met: Which of them an answer says.
    """
    return sum(item.points for item, ok in zip(items, met, strict=True) if ok) / sum(item.points for item in items)


def credit_by_tag(rubric: TurnRubric, met: Sequence[bool], tags: Sequence[str]) -> dict[str, float]:
    """What an answer earns at the tags of its question that some item of the rubric names.

    An item without tags shows all that the question has. A tag that no item names has the credit of the whole answer.

    Args:
        rubric: Of the question.
        met: Which of its items an answer says.
        tags: Targets and contents of the question.
    """
    found = {}
    for tag in tags:
        if any(tag in item.tags for item in rubric.items):
            pairs = [pair for pair in zip(rubric.items, met, strict=True) if not pair[0].tags or tag in pair[0].tags]
            found[tag] = earned([item for item, _ in pairs], [ok for _, ok in pairs])
    return found


async def _asked(turn: AnsweredTurn, rubric: TurnRubric, model: AsyncModel) -> Judging[dict[str, str]]:
    def words(due: Sequence[int]) -> str:
        return prompt("rubric").fill(
            asked=turn.question,
            reference=turn.references[0],
            answer=fenced(turn.text),
            items="\n".join(f"{number}. {rubric.items[number - 1].says}" for number in due),
            keys=", ".join(f"A{number}" for number in due),
        )

    return await ask_items(model, words, len(rubric.items))


def _by_words(turn: AnsweredTurn, before: Sequence[tuple[str, str]]) -> Judging[dict[str, str]]:
    if turn.rubric is None:
        shown = shown_options(turn)
        options = shown[1] if shown is not None else turn.options
        met = [agrees_in_context(turn.text, turn.references, turn.question, before, options)]
    else:
        met = [bool(turn.text.strip()) and states(turn.text, item.says) for item in turn.rubric.items]
    return Judging({f"A{number}": "Yes" if ok else "No" for number, ok in enumerate(met, start=1)}, ())
