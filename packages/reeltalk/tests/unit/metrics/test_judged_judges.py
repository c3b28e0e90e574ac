"""What is said of judges and writers that say the same of everything."""

import pytest

from reeltalk.metrics.constant_replies import FEWEST_REPLIES, ConstantReplies
from reeltalk.metrics.turn_checks import measure_quality, quality_sentences
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.gates import ELSEWHERE_KEY, GateOutcome, GateResult
from reeltalk.schema.record import ChainId, VideoId

MODEL = {"writer": "model:tiny#1"}


def verdict(seen: str, moment_s: float) -> GateResult:
    extra = {"verdicts": ["supported"], "seen": seen, "moment_s": moment_s}
    return GateResult(gate="verified", unit="chain", unit_id="c", outcome=GateOutcome.PASSED, extra=extra)


@pytest.mark.parametrize("differ", [False, True])
def test_what_is_said_of_everything_alike_is_said(differ: bool) -> None:
    found = ConstantReplies()
    for n in range(2 * FEWEST_REPLIES):
        kind = f"D-{n % 4}" if differ else "D-OBJ"
        turn = Turn(question="Who?", labels={"vdact.question_type": (kind,)}, extra=MODEL)
        found.add_turn(turn, verdict(f"It is {n if differ else 'there'}.", n if differ else 1.0))
        ends = (TurnRef(unit_id=name, turn_index=0) for name in (f"c{n // 6 if differ else n}", "d"))
        source, target = ends
        relation = ("Actions", "Objects")[n % 2 if differ else 0]
        found.add_links([Linkage(source=source, target=target, relation=relation, extra=MODEL)])
    said = " ".join(found.sentences())
    for words in ("same tags: 'D-OBJ'", "same relation: 'Actions'", "moment: '1.0'", "It is there.", "have one link"):
        assert (words in said) is not differ, said


def test_few_replies_and_those_of_a_graph_surprise_nobody() -> None:
    found = ConstantReplies()
    for _ in range(FEWEST_REPLIES - 1):
        found.add_turn(Turn(question="Who?", labels={"vdact.question_type": ("D-OBJ",)}, extra=MODEL), None)
    for _ in range(2 * FEWEST_REPLIES):
        found.add_turn(
            Turn(question="Who?", labels={"vdact.question_type": ("D-OBJ",)}, extra={"writer": "graph"}), None
        )
    assert list(found.sentences()) == []


def test_a_turn_that_a_judge_supports_by_a_moment_elsewhere_is_not_verified() -> None:
    why = "the judge sees it at 1.0 s, outside the stated evidence, 5.0 to 6.0 s"
    extra = {"verdicts": ["supported"], "judges": ["tiny"], "moment_s": 1.0, ELSEWHERE_KEY: True}
    gate = GateResult(
        gate="chains:verified", unit="chain", unit_id="c", turn_index=0, outcome=GateOutcome.FLAGGED, reason=why,
        extra=extra,
    )  # fmt: skip
    chain = QAChain(id=ChainId("c"), video_id=VideoId("v"), turns=(Turn(question="Who?", references=("Ann.",)),))
    said = list(quality_sentences(measure_quality([chain], [gate])))
    assert any(line.startswith("0 % (1 turn, 1 video) of the verified turns passed") for line in said)
    assert any(line.startswith("Not verified: 1 of 1 turns that a judge supports by a moment outside") for line in said)
    assert "Not checked: whether tiny would have noticed a wrong turn." in said
