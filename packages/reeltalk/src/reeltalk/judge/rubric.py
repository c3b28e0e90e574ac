"""Judges open answers part by part: which items of a rubric an answer says, and the credit at each tag.

A turn without a rubric has one item, its reference answer. CogME gives credit for a whole question at all of its tags
(CogSci 2024); here an answer that names the action and misses the place earns the one and not the other.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from reeltalk.judge.asking import Judgement, judge_prompts, our_judge_prompts
from reeltalk.judge.checklist import ask_items
from reeltalk.judge.cogme import tagged_questions, weighted_measure
from reeltalk.judge.judge import JudgeUnit, score_row, unscored_row
from reeltalk.judge.measures import Measure
from reeltalk.judge.protocol import Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NO_MODEL, SingleTurnJudge, shown_options
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.prompts import Prompts
from reeltalk.metrics.agree import SIGNATURE, agrees, states_reference
from reeltalk.metrics.choice import names_same
from reeltalk.metrics.profile import TAGS
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import RubricItem, TurnRubric
from reeltalk.schema.scoring import JudgedScore

NAMES: Final = {"model": "rubric", "words": "rubric-words"}
VERSION: Final = "v1"
TAG_LABELS: Final = ("cogme.target", "cogme.content")


BY_MODEL, BY_WORDS = PROTOCOLS = (
    Protocol(
        name=NAMES["model"],
        title="Rubric",
        help="Which parts of a rubric an answer says, by a model.",
        create=lambda settings: RubricJudge("model", judge_prompts(settings.prompts)),
        criteria=(ProtocolCriterion(NAMES["model"], "Rubric", pass_mark=0.5, tagged=True),),
        needs=Need(
            "a rubric or a reference answer",
            lambda turn: turn.rubric is not None or bool(turn.references),
            "write rubrics with 'reeltalk construct BENCH --rubrics'",
        ),
        measures=(per_cent(NAMES["model"], "Rubric"),),
        credit_rank=20,
        open_parts="tag",
    ),
    Protocol(
        name=NAMES["words"],
        title="Rubric by words",
        help="Which parts of a rubric an answer says, by its words; they know no synonyms.",
        create=lambda _: RubricJudge("words"),
        criteria=(ProtocolCriterion(NAMES["words"], "Rubric by words", pass_mark=0.5, tagged=True),),
        measures=(per_cent(NAMES["words"], "Rubric by words"),),
        needs_model=False,
        credit_rank=40,
        open_parts="tag",
    ),
)


class RubricJudge(SingleTurnJudge):
    """Judges the points of a rubric that an answer earns: criterion `rubric`, 0 to 1, and the same at single tags."""

    by = ("turn", "question_type", "task")

    def __init__(self, by: Literal["model", "words"] = "model", prompts: Prompts | None = None) -> None:
        """Choose the variant.

        Args:
            by: `model`, a language model, or `words`, which know no synonyms.
            prompts: The judges' prompts; ours by default.
        """
        self.prompts = prompts or our_judge_prompts()
        self.protocol = BY_MODEL if by == "model" else BY_WORDS

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"rubric", "references"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompt or the rules, and the treatment of a turn without a rubric."""
        how = (
            (("prompt", self.prompts["rubric"].signature), ("repair", self.prompts["repair"].signature))
            if self.needs_model
            else (("agree", SIGNATURE),)
        )
        return (("rubric", VERSION), *how, ("without", "reference"))

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a reference."""
        return bool(turn.references) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Type of the question, and task of the unit."""
        return {**super().groups(unit, turn), "task": (unit.task,) if unit.task is not None else ()}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row, and one for each tag with its own credit."""
        turn, by = unit.turns[index], model.name if model is not None else NO_MODEL
        rubric = turn.rubric or TurnRubric(items=(RubricItem(says=turn.references[0]),))
        judged = await _ask_judge(turn, rubric, model, self.prompts) if model is not None else _by_words(turn)
        if judged.verdict is None:
            return [unscored_row(unit, self.name, by, judged.reason or "", turn=turn, replies=judged.replies)]
        met = [judged.verdict[f"A{number}"] == "Yes" for number in range(1, len(rubric.items) + 1)]
        missed = [item.says for item, ok in zip(rubric.items, met, strict=True) if not ok]
        explanation = f"not said: {'; '.join(missed)}" if missed else None
        rows = [
            score_row(
                unit,
                self.name,
                by,
                rubric_credit(rubric.items, met),
                turn=turn,
                explanation=explanation,
                replies=judged.replies,
            )
        ]
        own = [tag for name in TAG_LABELS for tag in turn.labels.get(name, ())]
        for tag, value in credit_by_tag(rubric, met, own).items():
            rows.append(score_row(unit, f"{self.name}.{tag}", by, value, turn=turn))
        return rows

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`rubric` over turns, then `rubric.<tag>`, weighted as in CogME, all 0 to 100."""
        found = super().measures(units, scores)
        values: dict[str, dict[tuple[str, int | None], float]] = {}
        for row in scores:
            if row.unit == "turn" and row.value is not None:
                values.setdefault(row.criterion, {})[row.unit_id, row.turn_index] = row.value
        whole = values.get(self.name, {})
        questions = [question for question in tagged_questions(units, whole) if question.turn.references]
        for tag in TAGS:
            own = values.get(f"{self.name}.{tag}", {})
            carrying = [question for question in questions if tag in question.tags]
            at = [
                dataclasses.replace(one, credit=own.get((one.unit.id, one.turn.turn_index), one.credit))
                for one in carrying
            ]
            if at:
                found.append(weighted_measure(f"{self.name}.{tag}", at))
        return found


def rubric_credit(items: Sequence[RubricItem], met: Sequence[bool]) -> float:
    """Points earned of points possible.

    Args:
        items: Items of a rubric.
        met: True for each item that the answer says.
    """
    return sum(item.points for item, ok in zip(items, met, strict=True) if ok) / sum(item.points for item in items)


def credit_by_tag(rubric: TurnRubric, met: Sequence[bool], tags: Sequence[str]) -> dict[str, float]:
    """The credit of an answer at the tags of its question that an item of the rubric names.

    An item without tags counts for all tags of the question. A tag that no item names has the credit of the whole
    answer, and is left out here.

    Args:
        rubric: Rubric of the question.
        met: True for each item that the answer says.
        tags: Targets and contents of the question.
    """
    found = {}
    for tag in tags:
        if any(tag in item.tags for item in rubric.items):
            pairs = [pair for pair in zip(rubric.items, met, strict=True) if not pair[0].tags or tag in pair[0].tags]
            found[tag] = rubric_credit([item for item, _ in pairs], [ok for _, ok in pairs])
    return found


async def _ask_judge(
    turn: AnsweredTurn, rubric: TurnRubric, model: AsyncModel, prompts: Prompts
) -> Judgement[dict[str, str]]:
    def words(due: Sequence[int]) -> str:
        return prompts["rubric"].fill(
            asked=turn.question,
            reference=turn.references[0],
            answer=fence(turn.text),
            items="\n".join(f"{number}. {rubric.items[number - 1].says}" for number in due),
            keys=", ".join(f"A{number}" for number in due),
        )

    return await ask_items(model, words, len(rubric.items), prompts)


def _by_words(turn: AnsweredTurn) -> Judgement[dict[str, str]]:
    if turn.rubric is None:
        shown = shown_options(turn)
        options = shown[1] if shown is not None else turn.options
        same = names_same(turn.text, turn.references, options, turn.question) if options else None
        met = [agrees(turn.text, turn.references, turn.question) if same is None else same]
    else:
        met = [bool(turn.text.strip()) and states_reference(turn.text, item.says) for item in turn.rubric.items]
    return Judgement({f"A{number}": "Yes" if ok else "No" for number, ok in enumerate(met, start=1)}, ())
