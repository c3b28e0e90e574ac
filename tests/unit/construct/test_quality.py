"""The loop around a writer: nothing is kept in silence."""

from collections.abc import Sequence
from typing import Any

import pytest

from reeltalk.construct.quality import write_checked_chain, write_checked_linkages
from reeltalk.construct.writers import NO_JUDGE, ChainJudgement, Unwritten
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.media import Clip, Video

VIDEO = Video(id="v")
CLIP = Clip(id="k", video_id="v")
DULL = Unwritten("no JSON", ("well", "no"))


def chain(number: int = 0, question: str = "What does he do with it?") -> QAChain:
    turns = (
        Turn(question=f"What does man number {number} carry?", references=("He carries a crate.",)),
        Turn(question=question, references=("The man puts something down.",)),
    )
    return QAChain(id="c", video_id="v", turns=turns)


class Scripted:
    """A writer of which only chains, their judging and linkages are asked."""

    signature, threads = "scripted", 1

    def __init__(self, chains: Sequence[Any], verdicts: Sequence[Any] = (), linkages: Any = None) -> None:
        self.chains, self.verdicts, self.found = list(chains), list(verdicts), linkages
        self.advice: list[list[str]] = []

    def chain(self, *_: Any, advice: Sequence[str] = ()) -> Any:
        self.advice.append(list(advice))
        return self.chains.pop(0)

    def judge(self, *_: Any) -> Any:
        return self.verdicts.pop(0)

    def linkages(self, *_: Any) -> Any:
        return self.found


def judged(overall: float, *reasons: str) -> ChainJudgement:
    return ChainJudgement(overall, {"accuracy": overall, "fluency": 99.0}, reasons)


def run(*, chains: Sequence[Any], verdicts: Sequence[Any] = (), **options: Any) -> tuple[Scripted, Any, list[Any]]:
    scripted = Scripted(chains, verdicts)
    writer: Any = scripted
    kept, results = write_checked_chain(writer, VIDEO, CLIP, **options)
    return scripted, kept, [(result.gate, result.outcome.value, result.value) for result in results]


def test_a_good_chain_passes_at_once() -> None:
    scripted, kept, results = run(chains=[chain()], verdicts=[judged(90)])
    assert kept == chain()
    assert results == [("lint", "passed", None), ("quality", "passed", 90)]
    assert scripted.advice == [[]]


def test_a_chain_below_the_gate_is_sent_back_with_the_reasons() -> None:
    faulty = chain(0, "What colour is the sofa?")
    scripted, kept, results = run(chains=[faulty, chain(1)], verdicts=[judged(70, "question 1 is wrong"), judged(95)])
    assert kept == chain(1)
    assert scripted.advice[1][0] == "question 1 is wrong"
    assert scripted.advice[1][1].startswith("question 2: it refers to nothing in the answer before")
    assert results == [("quality.attempt", "flagged", 70), ("lint", "passed", None), ("quality", "passed", 95)]


LEAKING = QAChain(
    id="c",
    video_id="v",
    turns=(
        Turn(question="Which animal sleeps under the bench?", references=("A grey cat.",)),
        Turn(question="Which animal is it that sleeps under the bench?", references=("A grey cat.",)),
    ),
)


@pytest.mark.parametrize("verdicts", [[judged(95), judged(95)], [None, None], [DULL, DULL]])
def test_a_chain_whose_history_answers_it_is_sent_back_with_the_reason(verdicts: list[Any]) -> None:
    scripted, kept, results = run(chains=[LEAKING, chain(1)], verdicts=verdicts)
    assert kept == chain(1)
    assert scripted.advice[1][0].startswith(
        "question 2: it can be answered without the video, so ask something else: turn 1 "
    )
    assert results[0] == ("leak.history", "replaced", None)


def test_a_chain_that_leaks_to_the_last_is_kept_for_its_other_turns() -> None:
    scripted, kept, results = run(chains=[LEAKING] * 3, verdicts=[judged(95)] * 3)
    assert kept == LEAKING
    assert len(scripted.advice) == 3
    assert results.count(("leak.history", "replaced", None)) == 2
    assert results[-1] == ("quality", "passed", 95)
    _, kept, _ = run(chains=[LEAKING, DULL], verdicts=[judged(95)])
    assert kept == LEAKING


def test_a_judge_without_reasons_still_gives_advice() -> None:
    scripted, _, _ = run(chains=[chain(), chain(1)], verdicts=[judged(70), judged(95)])
    assert scripted.advice[1] == ["overall quality is 70, below 90; the lowest dimension is accuracy, 70"]


def test_what_never_passes_is_kept_at_its_best_and_flagged() -> None:
    writer: Any = Scripted([chain(0), chain(1), chain(2)], [judged(60), judged(80, "dull"), judged(75)])
    kept, results = write_checked_chain(writer, VIDEO, CLIP)
    assert kept == chain(1)
    assert [(r.gate, r.value) for r in results] == [
        ("quality.attempt", 60),
        ("quality.attempt", 80),
        ("lint", None),
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
    scripted, _, _ = run(chains=[chain()] * 9, verdicts=[judged(60)] * 9, gate=gate, rewrites=rewrites)
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
        ("quality.attempt", "flagged", 60),
        ("written", "unwritten", None),
        ("lint", "passed", None),
        ("quality", "flagged", 60),
    ]


def test_a_judge_that_cannot_be_read_leaves_the_chain_unchecked() -> None:
    writer: Any = Scripted([chain()], [DULL])
    kept, results = write_checked_chain(writer, VIDEO, CLIP)
    assert kept == chain()
    assert (results[-1].gate, results[-1].outcome) == ("quality", GateOutcome.UNCHECKED)
    assert results[-1].reason == "the judge's reply cannot be used: no JSON"
    assert results[-1].raw == ("well", "no")


def test_without_a_judge_the_chain_is_unchecked() -> None:
    writer: Any = Scripted([chain()], [Unwritten(NO_JUDGE)])
    _, results = write_checked_chain(writer, VIDEO, CLIP)
    assert (results[-1].gate, results[-1].outcome, results[-1].reason) == ("quality", GateOutcome.UNCHECKED, NO_JUDGE)


def test_a_writer_that_needs_no_judge_is_linted_only() -> None:
    _, kept, results = run(chains=[chain(0, "What colour is the sofa?")], verdicts=[None])
    assert kept is not None
    assert results == [("lint.dependence", "flagged", None)]


def test_any_writer_gives_linkages() -> None:
    writer: Any = Scripted([], linkages=[])
    assert write_checked_linkages(writer, VIDEO, chain(), chain()) == ([], [])
    writer = Scripted([], linkages=DULL)
    linkages, (result,) = write_checked_linkages(writer, VIDEO, chain(), chain())
    assert linkages == []
    assert (result.gate, result.outcome, result.raw) == ("linkage", GateOutcome.UNWRITTEN, ("well", "no"))
