"""Verdicts of several judges about one draft become one, with the share that agrees."""

import pytest

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.replies import TurnCheck, Verdict
from reeltalk_build.construct.verification import check_numbers, combine_checks, mark_faults


def check(verdict: Verdict, *faults: str, number: int = 1, at_s: float | None = 2.0) -> TurnCheck:
    return TurnCheck(number=number, seen=f"seen as {verdict}", at_s=at_s, faults=faults, verdict=verdict)


@pytest.mark.parametrize(
    ("verdicts", "together", "share"),
    [
        (["supported"], "supported", 1.0),
        (["contradicted", "contradicted", "supported"], "contradicted", 2 / 3),
        (["supported", "contradicted"], "cannot tell", 0.0),
        (["supported", "contradicted", "cannot tell"], "cannot tell", 1 / 3),
        (["supported", "supported", "contradicted", "contradicted"], "cannot tell", 0.0),
    ],
)
def test_most_verdicts_decide(verdicts: list[Verdict], together: Verdict, share: float) -> None:
    (found,) = combine_checks([(f"judge {n}", [check(verdict)]) for n, verdict in enumerate(verdicts)])
    assert found.verdict == together
    assert found.agreement == pytest.approx(share)
    assert found.verdicts == tuple(verdicts)


def test_a_fault_counts_that_half_of_the_judges_find() -> None:
    good, bad = check("supported"), check("supported", "it is rude", "it is long")
    assert combine_checks([("a", [good]), ("b", [bad])])[0].faults == ("it is rude", "it is long")
    assert combine_checks([("a", [good]), ("b", [good]), ("c", [bad])])[0].faults == ()


def test_each_turn_is_checked_once_in_order() -> None:
    one, two = check("supported"), check("supported", number=2)
    assert check_numbers([one, two], 2) is None
    for wrong in ([one], [two, one], [one, one], [], [one, two, two]):
        assert check_numbers(wrong, 2) is not None


def test_gates_hold_the_moment_and_the_judges() -> None:
    (found,) = combine_checks([("a", [check("contradicted", "it is rude")]), ("a", [check("contradicted")])])
    verified, fault = Subject("chain", "c").verdict(found, turn=3)
    assert (verified.gate, verified.outcome, verified.turn_index) == ("verified", GateOutcome.DROPPED, 3)
    assert (verified.value, verified.reason) == (1.0, "seen as contradicted")
    assert verified.extra == {
        "moment_s": 2.0,
        "seen": "seen as contradicted",
        "verdicts": ["contradicted"] * 2,
        "judges": ["a", "a"],
    }
    assert (fault.gate, fault.outcome, fault.reason) == ("faults", GateOutcome.FLAGGED, "it is rude")
    again = Subject("chain", "c").verdict(found, turn=3, outcome=GateOutcome.REPLACED)
    assert {result.outcome for result in again} == {GateOutcome.REPLACED}


def test_a_draft_is_shown_with_its_faults_below_each_line() -> None:
    turns = [Turn(question="Who?", references=("A man.",)), Turn(question="Where?", references=("There.",))]
    assert mark_faults(turns, {1: ["it is vague", "it is vague"]}).splitlines() == [
        "1. Q: Who?",
        "   A: A man.",
        "2. Q: Where?",
        "   A: There.",
        "   ! it is vague",
    ]
