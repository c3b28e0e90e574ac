"""How far the judges of a benchmark can be believed: what they refuse of turns that were changed to be wrong.

Construction changes turns of first drafts (*canaries*), lets every judge read them among unchanged ones, and keeps a
row of the table `gates` for each kind of change. The control of a canary is the same turn as it was written. Nobody
knows that the control is true, so a refused one is a false alarm or a fault of the writer: the rate of false alarms is
an upper bound. What is compared is therefore the pair: a judge that looks refuses the changed turn and passes its
original.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Final

from reeltalk.metrics.uncertainty import Proportion, wilson
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.overview import aligned_table

CANARY: Final = "canary."
"""Prefix of the gates that hold what a judge made of one kind of change; the unit is the judge."""
FEWEST_PAIRS: Final = 6
"""Pairs below which nobody can tell a judge from chance: a coin gets six of six right once in 64 times."""
CHANCE_LEVEL: Final = 0.02
"""A judge is told from chance if a coin would do as well as often as this at most."""
LEAST_REFUSED: Final = 0.4
"""Least share that a judge must refuse of the changed turns whose original it passes."""
READ_BY: Final = {"chains": "turns of chains", "dialogues": "rounds of dialogues", "gates": "pairs of answers"}
"""What a judge reads in a step."""
STEPS_OF: Final = {
    **dict.fromkeys(("verified", "faults"), ("chains", "dialogues")),
    "quality": ("chains",),
    "task": ("dialogues",),
    **dict.fromkeys(("probes", "answerable", "evidence", "depends", "difficulty"), ("gates",)),
}
"""Steps whose judges decide a check."""


@dataclass(frozen=True)
class Pairs:
    """Changed turns, each with its original, by what a judge says of the two."""

    caught: int = 0
    """The changed one is refused and the original passes."""
    missed: int = 0
    """Both pass."""
    both: int = 0
    """Both are refused."""
    turned: int = 0
    """The changed one passes and the original is refused."""

    def __add__(self, other: "Pairs") -> "Pairs":
        return Pairs(
            self.caught + other.caught,
            self.missed + other.missed,
            self.both + other.both,
            self.turned + other.turned,
        )

    @property
    def count(self) -> int:
        return self.caught + self.missed + self.both + self.turned

    @property
    def overlooked(self) -> bool:
        """True if less than half of the changed turns are refused."""
        return 2 * (self.caught + self.both) < self.count

    @property
    def detected(self) -> Proportion:
        """Share of the changed turns that are refused."""
        return wilson(self.caught + self.both, self.count)

    @property
    def alarms(self) -> Proportion:
        """Share of the originals that are refused; no less than the share of false alarms."""
        return wilson(self.both + self.turned, self.count)


@dataclass
class JudgeRate:
    """What one judge makes of changed turns in one step."""

    step: str
    judge: str
    kinds: dict[str, Pairs] = field(default_factory=dict)
    """By kind of change."""

    @property
    def pairs(self) -> Pairs:
        """All kinds together."""
        return sum(self.kinds.values(), Pairs())

    @property
    def weight(self) -> float:
        """Detection less false alarms (Youden's J), 0 to 1; how much the judge's vote counts beside others."""
        pairs = self.pairs
        return max(0.0, (pairs.caught - pairs.turned) / pairs.count) if pairs.count else 0.0

    @property
    def problem(self) -> str | None:
        """Why the judge cannot be used; None if it can, or if the pairs are too few to tell."""
        pairs = self.pairs
        if pairs.count < FEWEST_PAIRS:
            return None
        if pairs.missed == pairs.count:
            return "it passes everything"
        if pairs.both == pairs.count:
            return "it refuses everything"
        if not pairs.caught + pairs.turned:
            return "it says the same of a changed turn and of its original"
        if pairs.caught < LEAST_REFUSED * (pairs.caught + pairs.missed):
            return (
                f"it refuses {pairs.caught} of the {pairs.caught + pairs.missed} changed turns whose original it "
                f"passes, less than {LEAST_REFUSED:.0%}"
            )
        if _chance(pairs.caught, pairs.turned) > CHANCE_LEVEL:
            return (
                f"a coin would do as well: it refuses the changed turn of {pairs.caught} pairs and the original of "
                f"{pairs.turned}"
            )
        return None

    def gates(self) -> Iterator[GateResult]:
        """Rows for the table `gates`, one for each kind of change."""
        for kind, pairs in self.kinds.items():
            yield GateResult(
                gate=f"{CANARY}{kind}",
                unit="kind",
                unit_id=self.judge,
                outcome=GateOutcome.FLAGGED if pairs.overlooked else GateOutcome.PASSED,
                reason=f"it refuses {format_rate(pairs.detected)} of them" if pairs.overlooked else None,
                value=pairs.detected.share,
                extra={
                    "told": pairs.caught,
                    "missed": pairs.missed,
                    "both": pairs.both,
                    "turned": pairs.turned,
                },
            )


def _chance(told: int, turned: int) -> float:
    """How often a coin gets as many pairs right, of those in which both turns are not treated alike (sign test)."""
    pairs = told + turned
    return sum(comb(pairs, right) for right in range(told, pairs + 1)) / float(2**pairs)


def judge_rates(gates: Iterable[GateResult]) -> list[JudgeRate]:
    """The judges that were measured, in the order of the rows."""
    found: dict[tuple[str, str], JudgeRate] = {}
    for gate in gates:
        step, _, name = gate.gate.partition(":")
        if gate.unit == "kind" and name.startswith(CANARY):
            rate = found.setdefault((step, gate.unit_id), JudgeRate(step, gate.unit_id))
            counts = {key: int(str(gate.extra[key])) for key in ("told", "missed", "both", "turned")}
            rate.kinds[name.removeprefix(CANARY)] = Pairs(caught=counts.pop("told"), **counts)
    return list(found.values())


def format_rate(rate: Proportion) -> str:
    """A share with Wilson's interval, such as `94 % (74 to 99 %; 17 of 18)`."""
    if rate.share is None or rate.low is None or rate.high is None:
        return "–"
    low, high = (f"{100 * end:.0f}" for end in (rate.low, rate.high))
    return f"{100 * rate.share:.0f} % ({low} to {high} %; {rate.successes} of {rate.trials})"


HEADINGS: Final = ("Judge", "Reads", "Refused of turns changed to be wrong", "Refused of the same turns unchanged")


def rate_cells(rate: JudgeRate) -> tuple[str, ...]:
    """The cells of a judge under `HEADINGS`."""
    pairs = rate.pairs
    return rate.judge, READ_BY.get(rate.step, rate.step), format_rate(pairs.detected), format_rate(pairs.alarms)


def rate_table(rate: JudgeRate) -> str:
    """A table of what a judge made of each kind of change, for a terminal."""
    rows = [
        (kind.replace("_", " "), format_rate(pairs.detected), format_rate(pairs.alarms))
        for kind, pairs in (*rate.kinds.items(), ("all", rate.pairs))
    ]
    return aligned_table([("change", "refused", "refused unchanged"), *rows]).rstrip()


def rate_sentences(rates: Sequence[JudgeRate], judges: Sequence[str]) -> Iterator[str]:
    """What a reader must know beside every share that passed.

    Args:
        rates: The judges that were measured.
        judges: All judges whose verdicts the benchmark holds.
    """
    for rate in rates:
        pairs = rate.pairs
        few = "" if pairs.count >= FEWEST_PAIRS else "; too few to tell the judge from chance"
        overlooked = [
            f"{kind.replace('_', ' ')}, {own.detected.successes} of {own.count}"
            for kind, own in rate.kinds.items()
            if own.overlooked
        ]
        few += f"; least of {'; '.join(overlooked)}" if overlooked else ""
        yield (
            f"The judge {rate.judge}, {READ_BY.get(rate.step, rate.step)}: it refused {format_rate(pairs.detected)} of "
            f"what was changed to be wrong, and {format_rate(pairs.alarms)} of the same unchanged{few}."
        )
    if missing := [name for name in judges if name not in {rate.judge for rate in rates}]:
        yield f"Not checked: whether {', '.join(missing)} would have noticed a wrong turn."
