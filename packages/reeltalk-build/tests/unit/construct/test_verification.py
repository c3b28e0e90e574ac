"""Verdicts of several judges about one draft become one, with the share that agrees."""

import pytest

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.replies import TurnCheck, Verdict
from reeltalk_build.construct.verification import check_numbers, combine_checks, mark_faults, place_moments


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


@pytest.mark.parametrize(
    ("at_s", "pictures", "why"),
    [
        (31.0, 20, ""),
        (None, 20, ""),
        (29.5, 20, ""),
        (27.0, 20, "the judge sees it at 27.0 s, outside the stated evidence, 30.0 to 32.0 s"),
        # Of few pictures none may lie nearer.
        (27.0, 5, ""),
        (3.0, 5, "the judge sees it at 3.0 s, outside what it was shown, 20.0 to 40.0 s"),
        (900.0, 20, "the judge sees it at 900.0 s, outside what it was shown, 20.0 to 40.0 s"),
    ],
)
def test_a_moment_elsewhere_verifies_nothing(at_s: float | None, pictures: int, why: str) -> None:
    turn = Turn(question="What falls?", references=("A cup.",), evidence=(Interval(start_s=30, end_s=32),))
    found = combine_checks([("a", [check("supported", at_s=at_s)])])
    (placed,) = place_moments(found, [turn], [Interval(start_s=20, end_s=40)], pictures)
    assert placed.elsewhere == why
    verified, *faults = Subject("chain", "c").verdict(placed, turn=0)
    assert not faults
    assert verified.outcome is (GateOutcome.FLAGGED if why else GateOutcome.PASSED)
    assert verified.reason == (why or None)


def test_a_moment_says_nothing_of_a_verdict_that_supports_nothing() -> None:
    found = combine_checks([("a", [check("contradicted", at_s=900.0)])])
    (placed,) = place_moments(found, [Turn(question="Who?")], [Interval(start_s=20, end_s=40)], 9)
    assert placed.elsewhere == ""


def test_judges_vote_by_their_weight() -> None:
    said = [("sharp", [check("contradicted")]), ("dull", [check("supported", "it is dull")])]
    (even,) = combine_checks(said)
    assert (even.verdict, even.faults) == ("cannot tell", ("it is dull",))
    (weighed,) = combine_checks(said, {"sharp": 0.9, "dull": 0.4})
    assert (weighed.verdict, weighed.faults, weighed.refused) == ("contradicted", (), (True, True))
