"""What came of playing and judging, in memory: script by script while it is made, and in order when all is done."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from reeltalk.judge import reference_checks
from reeltalk.judge.judge import JudgeUnit
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore


@dataclass
class Null:
    """Units with empty answers, and what a protocol gave for them."""

    units: list[JudgeUnit] = field(default_factory=list)
    scores: list[JudgedScore] = field(default_factory=list)


@dataclass
class Evaluation:
    """What came of playing and judging, in memory."""

    turns: list[AnsweredTurn] = field(default_factory=list)
    """In the order of the scripts."""
    scores: dict[str, list[JudgedScore]] = field(default_factory=dict)
    """Rows by protocol."""
    counts: Counter[str] = field(default_factory=Counter)
    """Turns by what became of them."""
    null: dict[str, Null] = field(default_factory=dict)
    """Empty answers by protocol."""


@dataclass
class Collected:
    """What came of some scripts, in whatever order they ended."""

    turns: dict[str, list[AnsweredTurn]] = field(default_factory=dict)
    """By script."""
    rows: dict[str, dict[str, list[JudgedScore]]] = field(default_factory=dict)
    """By script, then by protocol."""
    null: dict[str, list[Null]] = field(default_factory=dict)
    """By protocol; each of one unit."""

    @classmethod
    def joined(cls, parts: Iterable["Collected"]) -> "Collected":
        """What came of the scripts of several processes. No two of them have a script, or a unit, in common."""
        whole = cls()
        for part in parts:
            whole.turns |= part.turns
            whole.rows |= part.rows
            for judge, found in part.null.items():
                whole.null.setdefault(judge, []).extend(found)
        return whole

    def evaluation(self, names: Sequence[str], protocols: Sequence[str]) -> Evaluation:
        """All of it in order, the same however it came about.

        Args:
            names: Of the scripts, in their order.
            protocols: Names of those that judged, in their order.
        """
        evaluation = Evaluation(scores={protocol: [] for protocol in protocols})
        for name in names:
            evaluation.turns += self.turns[name]
            for protocol, rows in self.rows.get(name, {}).items():
                evaluation.scores[protocol] += rows
        for protocol in protocols:
            if (found := self.null.get(protocol)) is None:
                continue
            # In the order of the names, for units are judged in whatever order they end.
            kept = evaluation.null[protocol] = Null()
            for null in sorted(found, key=lambda null: _place(null.units[0])):
                kept.units += null.units
                kept.scores += null.scores
        evaluation.counts.update(map(counted_as, evaluation.turns))
        return evaluation


def counted_as(turn: AnsweredTurn) -> str:
    """The state that a turn is counted under: one that failed in the history alone is counted with the failed ones.

    Args:
        turn: Any turn.
    """
    return AnswerState.FAILED.value if turn.has_failed else turn.state.value


def _place(unit: JudgeUnit) -> reference_checks.UnitKey:
    return unit.kind, unit.id
