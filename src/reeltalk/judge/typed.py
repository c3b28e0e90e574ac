"""Judges answers by the type of their key (a room, a thing, a number, yes or no, an act and so on), without a model.

Only question, key and answer are read. An answer without a readable value is wrong; `typed.unread` is their share.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.judge.judge import JudgeUnit, score_row
from reeltalk.judge.measures import Measure, mean_measure
from reeltalk.judge.protocol import PER_CENT, MeasurePart, Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NOBODY, SingleTurnJudge, no_answer_reason, shown_options
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
    """Judges turns that have a key: criterion `typed`, 1 if the answer says the value of the key alone, else 0."""

    protocol = PROTOCOL
    by = ("turn", "answer_type", "question_type", "task")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"key"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules and hash of their vocabulary."""
        return (("rules", rules_signature()),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a key."""
        return turn.key is not None and super().is_due(turn)

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why the turn has no answer; a turn with a key needs no reference."""
        return no_answer_reason(turn) if turn.state is not AnswerState.ANSWERED else None

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Type of the answer, task, and type of the question."""
        assert turn.key is not None
        task = (unit.task,) if unit.task is not None else ()
        return {"answer_type": (turn.key.type,), "task": task, **super().groups(unit, turn)}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row: 1 if the value that was read is the value of the key, else 0.

        Args:
            unit: The unit of the turn.
            index: Index of the turn in the unit.
            model: Not used.
        """
        turn = unit.turns[index]
        assert turn.key is not None
        found = read_answer(turn.question, turn.key, answer_in_words(turn))
        why = f"{turn.key.type}: {found.why}"
        return [score_row(unit, NAME, NOBODY, float(found.right), turn=turn, explanation=why)]

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`typed`, the share of right answers, and `typed.unread`, the share without a readable value, in per cent.

        Args:
            units: All units, judged or not.
            scores: Rows from `judge`.
        """
        entries = self.entries(
            units, scores, NAME, value=lambda row: None if row.value is None else float(_is_unread(row))
        )
        return [*super().measures(units, scores), mean_measure(f"{NAME}.unread", entries, scale=PER_CENT, by=self.by)]


def _is_unread(row: JudgedScore) -> bool:
    # An explanation begins with the type of the key; the reason follows it.
    return (row.explanation or "").partition(": ")[2].startswith(UNREAD)


def answer_in_words(turn: AnsweredTurn) -> str:
    """The answer to a turn; if it names an option by its letter, the words of that option."""
    shown = shown_options(turn)
    match = _LETTER.match(turn.text)
    if shown is None or match is None:
        return turn.text
    place = ord(match[1].upper()) - ord("A")
    rest = turn.text[match.end() :]
    if rest.strip() or place >= len(shown[1]):
        return rest if place < len(shown[1]) else turn.text
    return shown[1][place]
