"""The loop around a writer: nothing is kept in silence."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.media import Clip, Video
from reeltalk_build.construct.revising import write_checked_chain
from reeltalk_build.construct.verification import TurnVerdict
from reeltalk_build.construct.writers import NO_JUDGE, ChainJudgement, Surroundings, Unwritten

VIDEO = Video(id="v")
CLIP = Clip(id="k", video_id="v")
DULL = Unwritten("no JSON", ("well", "no"))


def chain(number: int = 0, question: str = "What does he do with it?") -> QAChain:
    """Six turns without a fault, if the second question is not changed."""
    pairs = (
        (f"What does man number {number} carry?", "He carries a crate."),
        (question, "The man puts something down."),
        ("Where does he put it?", "On the shelf above a sink."),
        ("Who watches him there?", "A small black dog."),
        ("How does it react to him?", "The dog wags its tail."),
        ("What does he give it for that?", "He gives the dog a slice of ham."),
    )
    return QAChain(id="c", video_id="v", turns=tuple(Turn(question=q, references=(a,)) for q, a in pairs))


class Scripted:
    """A writer of which only chains and their judging are asked."""

    signature, threads = "scripted", 1

    def __init__(self, chains: Sequence[Any], verdicts: Sequence[Any] = ()) -> None:
        self.chains, self.verdicts = list(chains), list(verdicts)
        self.advice: list[list[str]] = []

    def chain(self, *_: Any, advice: Sequence[str] = ()) -> Any:
        self.advice.append(list(advice))
        return self.chains.pop(0)

    def judge(self, *_: Any) -> Any:
        return self.verdicts.pop(0)


def judged(overall: float, *reasons: str, wrong: Mapping[int, str | tuple[str, ...]] | None = None) -> ChainJudgement:
    """A judgement.

    Args:
        overall: The overall quality.
        reasons: What is wrong with the chain as a whole.
        wrong: By index of the turn, what the video shows instead of it, or the turn's faults.
    """
    turns = []
    for index in range(6):
        found = (wrong or {}).get(index, ())
        is_untrue = isinstance(found, str)
        turns.append(
            TurnVerdict(
                "contradicted" if is_untrue else "supported",
                found if isinstance(found, str) else "It is so.",
                1.5,
                () if isinstance(found, str) else found,
                ("contradicted" if is_untrue else "supported",),
                ("stern",),
            )
        )
    return ChainJudgement(overall, {"accuracy": overall, "fluency": 99.0}, reasons, tuple(turns))


VERIFIED_ALL = [("verified", "passed", 1.0)] * 6


def run(*, chains: Sequence[Any], verdicts: Sequence[Any] = (), **options: Any) -> tuple[Scripted, Any, list[Any]]:
    scripted = Scripted(chains, verdicts)
    writer: Any = scripted
    kept, results = write_checked_chain(writer, VIDEO, CLIP, **options)
    return scripted, kept, [(result.gate, result.outcome.value, result.value) for result in results]


def test_a_good_chain_passes_at_once() -> None:
    scripted, kept, results = run(chains=[chain()], verdicts=[judged(90)])
    assert kept == chain()
    assert results == [("lint", "passed", None), *VERIFIED_ALL, ("quality", "passed", 90)]
    assert scripted.advice == [[]]


def test_a_chain_is_sent_back_with_its_faults_line_by_line() -> None:
    faulty = chain(0, "What colour is the sofa?")
    verdicts = [judged(70, "it is dull", wrong={2: "He puts it on the floor."}), judged(95)]
    scripted, kept, results = run(chains=[faulty, chain(1)], verdicts=verdicts)
    assert kept == chain(1)
    draft, dull = scripted.advice[1]
    assert draft.startswith(
        "1. Q: What does man number 0 carry?\n   A: He carries a crate.\n2. Q: What colour is the sofa?"
    )
    assert "   A: The man puts something down.\n   ! it refers to nothing in the answers before" in draft
    assert "   A: On the shelf above a sink.\n   ! it is not true: He puts it on the floor.\n4. Q: " in draft
    assert dull == "it is dull"
    assert results == [
        ("quality.attempt", "flagged", 70),
        ("lint.dependence", "replaced", None),
        ("verified", "replaced", 1.0),
        ("lint", "passed", None),
        *VERIFIED_ALL,
        ("quality", "passed", 95),
    ]


def test_a_light_fault_alone_sends_a_chain_back() -> None:
    _, kept, results = run(chains=[chain(0, "What colour is the sofa?"), chain(1)], verdicts=[judged(95)] * 2)
    assert kept == chain(1)
    assert results[0] == ("lint.dependence", "replaced", None)
    fault = judged(95, wrong={3: ("anybody could guess it",)})
    scripted, kept, results = run(chains=[chain(0), chain(1)], verdicts=[fault, judged(95)])
    assert kept == chain(1)
    assert "   ! anybody could guess it" in scripted.advice[1][0]
    assert results[:2] == [("verified", "passed", 1.0), ("faults", "replaced", None)]


def test_a_fault_that_stays_to_the_last_is_a_flag() -> None:
    fault = judged(95, wrong={3: ("anybody could guess it",)})
    _, kept, results = run(chains=[chain(0), chain(1), chain(2)], verdicts=[fault] * 3)
    assert kept == chain(2)
    assert results[-3:] == [("verified", "passed", 1.0)] * 2 + [("quality", "passed", 95)]
    assert ("faults", "flagged", None) in results


def test_a_turn_that_the_video_contradicts_is_cut_with_those_after_it() -> None:
    untrue = judged(95, wrong={5: "He eats the ham."})
    writer: Any = Scripted([chain(0), chain(1), chain(2)], [untrue] * 3)
    kept, results = write_checked_chain(writer, VIDEO, CLIP)
    assert kept is not None
    assert kept.turns == chain(2).turns[:5]
    (gone,) = [row for row in results if row.outcome is GateOutcome.DROPPED]
    assert (gone.gate, gone.turn_index, gone.reason) == ("verified", 5, "He eats the ham.")
    assert sum(row.outcome is GateOutcome.PASSED and row.gate == "verified" for row in results) == 5


def test_a_chain_of_which_too_little_would_be_left_is_dropped() -> None:
    untrue = judged(95, wrong={1: "He throws it."})
    writer: Any = Scripted([chain(0)], [untrue])
    kept, results = write_checked_chain(writer, VIDEO, CLIP, rewrites=0)
    assert kept is None
    assert {row.outcome for row in results} == {GateOutcome.DROPPED}
    assert results[-1].reason == ("1 turns would be left, fewer than 5, without turn 2: it is not true: He throws it.")
    kept, _ = write_checked_chain(Scripted([chain(0)], [untrue]), VIDEO, CLIP, rewrites=0, least=1)  # type: ignore[arg-type]
    assert kept is not None
    assert len(kept.turns) == 1


CHINESE = chain(0, "他拿它做什么？")


def test_a_draft_with_a_fault_that_cannot_stay_is_sent_back_before_it_is_judged() -> None:
    scripted, kept, results = run(chains=[CHINESE, chain(1)], verdicts=[judged(95)])
    assert kept == chain(1)
    assert "   ! the question is in Chinese, not in English" in scripted.advice[1][0]
    assert ("lint.language", "replaced", None) in results


def test_the_draft_that_is_kept_is_judged_in_any_case() -> None:
    both = chain(0, "他拿它做什么？")
    worse = both.model_copy(update={"turns": (*both.turns[:5], CHINESE.turns[1])})
    scripted, kept, results = run(chains=[both, worse], verdicts=[judged(95), judged(95)], rewrites=1, least=1)
    assert kept is not None
    assert kept.turns == both.turns[:1]
    assert scripted.verdicts == []
    assert ("lint.language", "dropped", None) in results


def test_a_writer_that_gives_the_same_again_is_not_asked_further() -> None:
    faulty = chain(0, "What colour is the sofa?")
    scripted, kept, results = run(chains=[faulty, faulty, chain(1)], verdicts=[None])
    assert kept == faulty
    assert len(scripted.advice) == 2
    assert results == [("lint.dependence", "flagged", None)]


def test_a_writer_that_takes_it_is_told_of_the_rest_of_the_video() -> None:
    class Among(Scripted):
        def chain(self, *of: Any, advice: Sequence[str] = ()) -> Any:
            self.around = of[2]
            return super().chain(advice=advice)

    writer: Any = Among([chain()], [judged(95)])
    around = Surroundings("A man enters.", "", ("Who enters?",))
    kept, _ = write_checked_chain(writer, VIDEO, CLIP, around=around)
    assert kept == chain()
    assert writer.around is around


LEAKING = QAChain(
    id="c",
    video_id="v",
    turns=(
        Turn(question="Which animal sleeps under the bench?", references=("A grey cat.",)),
        Turn(question="Which animal is it that sleeps under the bench?", references=("A grey cat.",)),
    ),
)
LEAKING_TOO = LEAKING.model_copy(
    update={
        "turns": (LEAKING.turns[0].model_copy(update={"question": "What sleeps under the bench?"}), LEAKING.turns[1])
    }
)


@pytest.mark.parametrize("verdicts", [[judged(95)], [None], [DULL]])
def test_a_chain_whose_history_answers_it_is_sent_back_with_the_reason(verdicts: list[Any]) -> None:
    scripted, kept, results = run(chains=[LEAKING, chain(1)], verdicts=verdicts)
    assert kept == chain(1)
    assert "   ! it can be answered without the video, so ask something else: turn 1 " in scripted.advice[1][0]
    assert ("leak.history", "replaced", None) in results


def test_a_chain_that_leaks_to_the_last_is_kept_for_its_other_turns() -> None:
    scripted, kept, results = run(chains=[LEAKING, LEAKING_TOO, LEAKING], verdicts=[judged(95)] * 3)
    assert kept in (LEAKING, LEAKING_TOO)
    assert len(scripted.advice) == 3
    assert results.count(("leak.history", "replaced", None)) == 1
    assert results[-1] == ("quality", "passed", 95)
    _, kept, _ = run(chains=[LEAKING, DULL], verdicts=[judged(95)])
    assert kept == LEAKING


def test_a_judge_without_reasons_still_gives_advice() -> None:
    scripted, _, _ = run(chains=[chain(), chain(1)], verdicts=[judged(70), judged(95)])
    assert scripted.advice[1][1:] == ["overall quality is 70, below 90; the lowest dimension is accuracy, 70"]


def test_what_never_passes_is_kept_at_its_best_and_flagged() -> None:
    writer: Any = Scripted([chain(0), chain(1), chain(2)], [judged(60), judged(80, "dull"), judged(75)])
    kept, results = write_checked_chain(writer, VIDEO, CLIP)
    assert kept == chain(1)
    assert [(r.gate, r.value) for r in results] == [
        ("quality.attempt", 60),
        ("quality.attempt", 75),
        ("lint", None),
        *[("verified", 1.0)] * 6,
        ("quality", 80),
    ]
    assert results[-1].outcome is GateOutcome.FLAGGED
    assert results[-1].reason == "overall quality is 80, below 90, after 3 attempts: dull"
    assert results[-1].extra["dimensions"] == {"accuracy": 80, "fluency": 99}


def test_the_later_of_two_equal_attempts_is_kept() -> None:
    _, kept, _ = run(chains=[chain(0), chain(1), chain(2)], verdicts=[judged(80)] * 3)
    assert kept == chain(2)


@pytest.mark.parametrize(("gate", "rewrites", "asked"), [(50, 2, 1), (99, 0, 1), (99, 4, 5)])
def test_gate_and_number_of_rewrites_are_settings(gate: float, rewrites: int, asked: int) -> None:
    scripted, _, _ = run(
        chains=[chain(number) for number in range(9)], verdicts=[judged(60)] * 9, gate=gate, rewrites=rewrites
    )
    assert len(scripted.advice) == asked


def test_what_cannot_be_written_leaves_its_replies() -> None:
    writer: Any = Scripted([DULL])
    kept, (result,) = write_checked_chain(writer, VIDEO, CLIP)
    assert kept is None
    assert (result.gate, result.unit, result.unit_id) == ("written", "clip", "k")
    assert (result.outcome, result.reason, result.raw) == (GateOutcome.UNWRITTEN, "no JSON", ("well", "no"))


def test_a_rewrite_that_cannot_be_written_leaves_the_chain_before_it() -> None:
    _, kept, results = run(chains=[chain(), DULL], verdicts=[judged(60)])
    assert kept == chain()
    assert results == [
        ("written", "unwritten", None),
        ("lint", "passed", None),
        *VERIFIED_ALL,
        ("quality", "flagged", 60),
    ]


def test_a_judge_that_cannot_be_read_leaves_the_chain_unchecked() -> None:
    writer: Any = Scripted([chain()], [DULL])
    kept, results = write_checked_chain(writer, VIDEO, CLIP)
    assert kept == chain()
    assert (results[-1].gate, results[-1].outcome) == ("quality", GateOutcome.UNCHECKED)
    assert results[-1].reason == "no JSON"
    assert results[-1].raw == ("well", "no")


def test_without_a_judge_the_chain_is_unchecked() -> None:
    writer: Any = Scripted([chain()], [Unwritten(NO_JUDGE)])
    _, results = write_checked_chain(writer, VIDEO, CLIP)
    assert [(row.gate, row.outcome, row.reason) for row in results[1:]] == [
        ("verified", GateOutcome.UNCHECKED, NO_JUDGE),
        ("quality", GateOutcome.UNCHECKED, NO_JUDGE),
    ]


def test_a_judgement_without_verdicts_leaves_the_turns_unchecked() -> None:
    _, _, results = run(chains=[chain()], verdicts=[ChainJudgement(95, {})])
    assert results[1:] == [("verified", "unchecked", None), ("quality", "passed", 95)]


def test_a_writer_that_needs_no_judge_is_linted_only() -> None:
    _, kept, results = run(chains=[chain(0, "What colour is the sofa?")], verdicts=[None], rewrites=0)
    assert kept is not None
    assert results == [("lint.dependence", "flagged", None)]
