"""Verdicts of judges about drafts: those of several judges and samples as one, and as advice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reeltalk.schema.dialogue import Turn
from reeltalk_build.construct.replies import TurnCheck, Verdict


@dataclass(frozen=True)
class TurnVerdict:
    """What all judges together find about one turn."""

    verdict: Verdict
    """The verdict of most of them; `cannot tell` where no verdict has more than half."""
    seen: str
    """What the video shows about the turn, in the words of the first judge with this verdict."""
    moment_s: float | None
    """The moment that shows it, by the same judge."""
    faults: tuple[str, ...]
    """Other faults, where at least half of the judges find any; of each of these judges, without repeats."""
    verdicts: tuple[Verdict, ...]
    """One for each judge and sample."""
    judges: tuple[str, ...]
    """Names of the judges, in the order of `verdicts`."""

    @property
    def agreement(self) -> float:
        """Share of the verdicts that agree with the outcome, 0 to 1."""
        return Counter(self.verdicts)[self.verdict] / len(self.verdicts)

    @property
    def complaints(self) -> list[str]:
        """All that is wrong with the turn, one sentence each; empty if nothing is."""
        said = {"contradicted": [f"it is not true: {self.seen}"], "cannot tell": [f"it cannot be told: {self.seen}"]}
        return [*said.get(self.verdict, ()), *self.faults]


@dataclass(frozen=True)
class DialogueVerdict:
    """What all judges together find about a dialogue."""

    turns: tuple[TurnVerdict, ...]
    does_task: bool
    """True if more than half of the judges say so."""
    reasons: tuple[str, ...]
    """Why it does its task, or why not, in the words of the judges who agree with `does_task`."""
    agreement: float
    """Share of the judges who agree with `does_task`, 0 to 1."""


def check_numbers(checks: Sequence[TurnCheck], turns: int) -> str | None:
    """The complaint about a judge's reply that does not check each turn once in order; None if it does."""
    if [check.number for check in checks] == list(range(1, turns + 1)):
        return None
    numbers = ", ".join(str(check.number) for check in checks) or "none"
    return f"there are {turns} turns, so give one check for each of them in order; the numbers are {numbers}"


def combine_checks(said: Sequence[tuple[str, Sequence[TurnCheck]]]) -> list[TurnVerdict]:
    """One verdict for each turn.

    Args:
        said: For each judge and sample the judge's name, and its checks of all turns in order (`check_numbers`). At
            least one.
    """
    judges = tuple(name for name, _ in said)
    return [_combine(judges, checks) for checks in zip(*(checks for _, checks in said), strict=True)]


def _combine(judges: tuple[str, ...], checks: Sequence[TurnCheck]) -> TurnVerdict:
    verdict, times = Counter(check.verdict for check in checks).most_common(1)[0]
    if 2 * times <= len(checks):
        verdict = "cannot tell"
    first = next((check for check in checks if check.verdict == verdict), checks[0])
    faulty = [check.faults for check in checks if check.faults]
    return TurnVerdict(
        verdict=verdict,
        seen=first.seen,
        moment_s=first.at_s,
        faults=tuple(dict.fromkeys(fault for own in faulty for fault in own)) if 2 * len(faulty) >= len(checks) else (),
        verdicts=tuple(check.verdict for check in checks),
        judges=judges,
    )


def mark_faults(turns: Sequence[Turn], faults: Mapping[int, Sequence[str]]) -> str:
    """A draft line by line, with the faults of each turn below it, as a writer gets it back."""
    lines: list[str] = []
    for index, turn in enumerate(turns):
        lines += [f"{index + 1}. Q: {turn.question}", f"   A: {turn.references[0] if turn.references else ''}"]
        lines += [f"   ! {fault}" for fault in dict.fromkeys(faults.get(index, ()))]
    return "\n".join(lines)
