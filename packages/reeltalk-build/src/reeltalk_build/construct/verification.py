"""Verdicts of judges about drafts: those of several judges and samples as one, and as advice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk_build.construct.replies import TurnCheck, Verdict

SLIP_S: Final = 1.0
"""Seconds by which a moment or evidence may reach beyond what it belongs to."""


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
    refused: tuple[bool, ...] = ()
    """Whether each of them finds it untrue or faulty, in the same order."""
    elsewhere: str = ""
    """Why the moment cannot show what the verdict supports; empty if it can, or if there is none."""

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


def combine_checks(
    checked: Sequence[tuple[str, Sequence[TurnCheck]]], weights: Mapping[str, float] = MappingProxyType({})
) -> list[TurnVerdict]:
    """One verdict for each turn.

    Args:
        checked: For each judge and sample the judge's name, and its checks of all turns in order (`check_numbers`). At
            least one.
        weights: How much a judge's vote counts, by name; 1 for others.
    """
    judges = tuple(name for name, _ in checked)
    votes = [weights.get(name, 1.0) for name in judges]
    return [_combine(judges, checks, votes) for checks in zip(*(checks for _, checks in checked), strict=True)]


def _combine(judges: tuple[str, ...], checks: Sequence[TurnCheck], votes: Sequence[float]) -> TurnVerdict:
    tally: dict[Verdict, float] = {}
    for check, vote in zip(checks, votes, strict=True):
        tally[check.verdict] = tally.get(check.verdict, 0.0) + vote
    verdict = max(tally, key=tally.__getitem__)
    if 2 * tally[verdict] <= sum(votes):
        verdict = "cannot tell"
    first = next((check for check in checks if check.verdict == verdict), checks[0])
    faulty = [check.faults for check in checks if check.faults]
    blaming = sum(vote for check, vote in zip(checks, votes, strict=True) if check.faults)
    return TurnVerdict(
        verdict=verdict,
        seen=first.seen,
        moment_s=first.at_s,
        faults=tuple(dict.fromkeys(fault for own in faulty for fault in own)) if 2 * blaming >= sum(votes) else (),
        verdicts=tuple(check.verdict for check in checks),
        judges=judges,
        refused=tuple(check.verdict != "supported" or bool(check.faults) for check in checks),
    )


def place_moments(
    verdicts: Sequence[TurnVerdict], turns: Sequence[Turn], parts: Sequence[Interval], pictures: int
) -> tuple[TurnVerdict, ...]:
    """The verdicts, with a note where a judge supports a turn by a moment outside the parts or outside its evidence.

    Args:
        verdicts: One for each turn.
        turns: The turns. Evidence is compared only where a turn has some.
        parts: What the judge was shown.
        pictures: How many pictures it was shown; the moment of one may be as far away as the next one is.
    """
    slip_s = max(SLIP_S, sum(part.duration_s for part in parts) / max(1, pictures))
    return tuple(
        replace(verdict, elsewhere=_elsewhere(verdict, turn.evidence, parts, slip_s))
        for verdict, turn in zip(verdicts, turns, strict=True)
    )


def _elsewhere(verdict: TurnVerdict, evidence: Sequence[Interval], parts: Sequence[Interval], slip_s: float) -> str:
    moment_s = verdict.moment_s
    for name, places in (("what it was shown", parts), ("the stated evidence", evidence)):
        if moment_s is None or verdict.verdict != "supported" or not places:
            return ""
        if not any(one.start_s - slip_s <= moment_s <= one.end_s + slip_s for one in places):
            told = ", ".join(f"{one.start_s:.1f} to {one.end_s:.1f} s" for one in places)
            return f"the judge sees it at {moment_s:.1f} s, outside {name}, {told}"
    return ""


def mark_faults(turns: Sequence[Turn], faults: Mapping[int, Sequence[str]]) -> str:
    """A draft line by line, with the faults of each turn below it, as a writer gets it back."""
    lines: list[str] = []
    for index, turn in enumerate(turns):
        lines += [f"{index + 1}. Q: {turn.question}", f"   A: {turn.references[0] if turn.references else ''}"]
        lines += [f"   ! {fault}" for fault in dict.fromkeys(faults.get(index, ()))]
    return "\n".join(lines)
