"""A judge: is an answer as short as its reference?

A judge consists of two parts. The `Protocol` describes it: its name, its scale, and what a turn must have. Help pages,
tables and reports are written from this description. The class below it scores the answers, one turn at a time.
"""

from typing import Final

from reeltalk.judge.judge import JudgeUnit, score_row
from reeltalk.judge.protocol import REFERENCE, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NO_MODEL, SingleTurnJudge
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.scoring import JudgedScore

PROTOCOL: Final = Protocol(
    name="brevity",
    title="Brevity",
    help="Each answer by itself: whether it is as short as its reference, 0 to 1.",
    create=lambda settings: BrevityJudge(),
    criteria=(ProtocolCriterion("brevity", "Brevity"),),
    measures=(per_cent("brevity", "Brevity"),),
    needs_model=False,
    needs=REFERENCE,
)
"""The entry point has the same name as the protocol."""


class BrevityJudge(SingleTurnJudge):
    """Scores an answer by its number of words.

    An answer that is no longer than its reference gets 1. An answer twice as long gets 0.5.
    """

    protocol = PROTOCOL

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Everything that can change a score. Change the version when you change the rule."""
        return (("words", "v1"),)

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """Return one row for each criterion. Turns without an answer or a reference do not come here.

        Args:
            unit: The dialogue.
            index: Index of the turn in the dialogue.
            model: The language model that judges. It is None here, since this protocol needs none.
        """
        turn = unit.turns[index]
        said, needed = len(turn.text.split()), len(turn.references[0].split())
        value = min(1.0, needed / said) if said else 0.0
        return [score_row(unit, "brevity", NO_MODEL, value, turn=turn, explanation=f"{said} words, reference {needed}")]
