"""Judges answers by the type of their key: a room, a thing, a number, yes or no, an act and so on, without a model.

It needs the question, the key and the answer alone. An answer in which no value can be read is wrong; `typed.unread`
says how many are.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.judge.choice import shown_options
from reeltalk.judge.judge import JudgeUnit, score_row
from reeltalk.judge.measures import Measure, mean_measure
from reeltalk.judge.protocol import PER_CENT, MeasurePart, Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NOBODY, SingleTurnJudge, no_answer_reason
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.info import SHORT
from reeltalk.questions.answer_reading import UNREAD, read_answer, rules_signature
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "typed"
_LETTER: Final = re.compile(r"^\W*(?:(?i:option|answer)\b[:\s]*)?\(?([A-Za-z])(?:[.):]+\s*|\W*$)")


PROTOCOL: Final = Protocol(
    name=NAME,
    title="Typed answers",
    help="Turns with a key: whether the answer says the key's value, read by its type (room, count, act and so on).",
    create=lambda _: TypedJudge(),
    criteria=(ProtocolCriterion(NAME, "Typed answers", pass_mark=0.5),),
    measures=(per_cent(NAME, "Typed answers"),),
    needs_model=False,
    needs=Need(
        "a key",
        lambda turn: turn.key is not None,
        "name another protocol; 'reeltalk graph questions' and 'construct' write turns with keys",
    ),
    credit_rank=30,
    right_or_wrong=True,
    parts=(MeasurePart("unread", "no value read", direction="neither", decimals=SHORT),),
)


class TypedJudge(SingleTurnJudge):
    """Turns that have a key: criterion `typed`, 1 where an answer says what the key holds and nothing else, else 0."""

    protocol = PROTOCOL
    by = ("turn", "answer_type", "question_type", "task")

    @property
    def reads(self) -> frozenset[str]:
        """Keys."""
        return frozenset({"key"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules and hash of their vocabulary."""
        return (("rules", rules_signature()),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that has a key and was asked."""
        return turn.key is not None and super().is_due(turn)

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """That the model gave no answer; a key needs no reference beside it."""
        return no_answer_reason(turn) if turn.state is not AnswerState.ANSWERED else None

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """By the type of the answer too, and by task."""
        assert turn.key is not None
        task = (unit.task,) if unit.task is not None else ()
        return {"answer_type": (turn.key.type,), "task": task, **super().groups(unit, turn)}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row: what was read, what was due, and whether they are the same.

        Args:
            unit: Where the turn stands.
            index: Its place among the unit's turns.
            model: Is not asked.
        """
        turn = unit.turns[index]
        assert turn.key is not None
        found = read_answer(turn.question, turn.key, answer_in_words(turn))
        why = f"{turn.key.type}: {found.why}"
        return [score_row(unit, NAME, NOBODY, float(found.right), turn=turn, explanation=why)]

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`typed`, the share of right answers, and `typed.unread`, the share in which no value was read, in per cent.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        unread = [
            row if row.value is None else row.model_copy(update={"value": float(_is_unread(row))}) for row in scores
        ]
        entries = self.entries(units, unread, NAME)
        return [*super().measures(units, scores), mean_measure(f"{NAME}.unread", entries, scale=PER_CENT, by=self.by)]


def _is_unread(row: JudgedScore) -> bool:
    # An explanation begins with the key's type; the words of an answer stand after it.
    return (row.explanation or "").partition(": ")[2].startswith(UNREAD)


def answer_in_words(turn: AnsweredTurn) -> str:
    """The answer to a turn, with the option's words where it names an option by its letter."""
    shown = shown_options(turn)
    match = _LETTER.match(turn.text)
    if shown is None or match is None:
        return turn.text
    place = ord(match[1].upper()) - ord("A")
    rest = turn.text[match.end() :]
    if rest.strip() or place >= len(shown[1]):
        return rest if place < len(shown[1]) else turn.text
    return shown[1][place]
