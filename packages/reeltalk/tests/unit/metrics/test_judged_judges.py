"""What is said of judges and writers that say the same of everything, and of what tracked objects bear out."""

import pytest

from reeltalk.metrics.constant_replies import FEWEST_REPLIES, ConstantReplies
from reeltalk.metrics.tracked_things import SupportedTurn, compare_with_tracks
from reeltalk.metrics.turn_checks import measure_quality, quality_sentences
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.gates import ELSEWHERE_KEY, GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, Sighting
from reeltalk.schema.record import ChainId, EntityId, VideoId

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


def sighting(pts_s: float, name: str, entity: str) -> Sighting:
    box = Box(left=0, top=0, right=1, bottom=1)
    return Sighting(
        video_id=VideoId("v"), pts_s=pts_s, box=box, class_name=name, confidence=1.0, entity=EntityId(entity)
    )


def test_tracked_objects_bear_out_what_a_judge_says() -> None:
    tracks = {"v": [sighting(3.0, "cup", "cup1"), sighting(4.0, "cup", "cup2"), sighting(30.0, "dog", "dog1")]}
    evidence = (Interval(start_s=2, end_s=5),)
    two = Turn(question="How many cups are there?", references=("Two cups.",), evidence=evidence)
    five = two.model_copy(update={"references": ("There are five.",)})
    plain = Turn(question="What is it?", references=("A cup.",), evidence=evidence)
    turns = [
        SupportedTurn("v", two, 3.0, "Two cups stand there."),
        SupportedTurn("v", five, 3.5, "A man waves."),
        SupportedTurn("v", plain, 20.0, "A cup falls."),
        SupportedTurn("v", plain, 29.0, "The dog barks at a lamp."),
        SupportedTurn("w", plain, 3.0, "A cup."),
    ]
    found = compare_with_tracks(turns, tracks)
    assert found is not None
    assert (found.things.successes, found.things.trials) == (2, 3)
    assert (found.counts.successes, found.counts.trials) == (1, 2)
    first, second = found.sentences()
    assert first.startswith("Beside tracked objects: 2 of 3 things that a judge names")
    assert "1 of 2 counts" in second
    assert compare_with_tracks(turns, {}) is None


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
