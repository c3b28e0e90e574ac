"""A model asked with less than the video, with its evidence, without it, and with less than the dialogue."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from scripted_judge import scripted_judge

from reeltalk.errors import BudgetError, ModelError
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.speech import Speech, Utterance
from reeltalk_build.construct.equivalence import Equivalence
from reeltalk_build.construct.leakage import Conversation
from reeltalk_build.construct.probing import (
    PROBE_CONDITIONS,
    Condition,
    ModelProbe,
    ProbedConversation,
    claims_dialogue,
    middles_of,
    parent_of,
    probe_conversation,
)

DURATION_S = 100.0
CONDITIONS: tuple[Condition, ...] = (*PROBE_CONDITIONS, "evidence", "evidence_cut", "whole")
"""Without earlier turns, `history` is the same request as `blind`."""


def span(start_s: float, end_s: float) -> Interval:
    return Interval(start_s=start_s, end_s=end_s)


def frames(video_id: str, times_s: Sequence[float]) -> list[bytes]:
    return [f"{video_id}@{time:g}".encode() for time in times_s]


@dataclass(frozen=True)
class Fact:
    """What a model must see and be told to know an answer; all that is None is not needed."""

    answer: str
    seen: Interval | None = None
    told: str | None = None


@dataclass
class Viewer:
    """A model that answers a question if it is shown and told enough, and says UNKNOWN otherwise."""

    facts: dict[str, Fact]
    asked: list[tuple[str, str, list[float]]] = field(default_factory=list)
    """Question, prompt and times of the pictures of each request."""

    def __call__(self, prompt: str, images: Sequence[bytes]) -> str:
        question = re.findall(r"Question: (.+)", prompt)[-1]
        times = [float(image.decode().partition("@")[2]) for image in images]
        self.asked.append((question, prompt, times))
        fact = self.facts.get(question)
        if fact is None or (fact.told is not None and f"Answer: {fact.told}" not in prompt):
            return "UNKNOWN"
        seen = fact.seen is None or any(fact.seen.start_s <= time < fact.seen.end_s for time in times)
        return fact.answer if seen else "UNKNOWN"


TURNS = (
    Turn(question="What does he take?", references=("The mug.",), asked_at_s=60, evidence=(span(20, 30),)),
    Turn(question="Where does he put it?", references=("On the sill.",), asked_at_s=70, evidence=(span(32, 36),)),
    Turn(question="Who takes it from there?", references=("A child.",), asked_at_s=80, evidence=(span(40, 50),)),
)
CHAIN = QAChain(id="c", video_id="v", turns=TURNS)
SOUND = {
    "What does he take?": Fact("The mug.", span(20, 30)),
    "Where does he put it?": Fact("On the sill.", span(32, 36), told="The mug."),
    "Who takes it from there?": Fact("A child.", span(40, 50), told="On the sill."),
}


def probe(
    facts: dict[str, Fact],
    conversation: Conversation = CHAIN,
    *,
    sees: bool = True,
    duration_s: float | None = DURATION_S,
) -> tuple[dict[tuple[str, int | None], GateResult], Viewer]:
    viewer = Viewer(facts)
    asked = ProbedConversation(ModelProbe(viewer, frames if sees else None), conversation, duration_s)
    results = probe_conversation(asked, sees=sees)
    return {(result.gate, result.turn_index): result for result in results}, viewer


def outcomes(found: dict[tuple[str, int | None], GateResult], index: int) -> dict[str, str]:
    return {gate: result.outcome.value for (gate, turn), result in found.items() if turn == index}


PASSED = dict.fromkeys(
    (
        "leak.model.blind",
        "leak.model.history",
        "leak.model.one_frame",
        "leak.model.shuffled",
        "answerable",
        "evidence.cut",
    ),
    "passed",
)


def test_turns_that_need_video_and_dialogue_pass_everywhere_with_their_depth() -> None:
    # One of eight frames up to 60 s lies in the evidence of the first turn, which needs no order.
    found, viewer = probe(SOUND)
    assert outcomes(found, 0) == PASSED | {"leak.model.shuffled": "flagged"}
    assert outcomes(found, 1) == PASSED | {"depends": "passed"}
    assert outcomes(found, 2) == PASSED | {"depends": "passed"}
    assert [found["depends", index].value for index in (1, 2)] == [1, 2]
    assert found["depends", 2].extra == {"rests_on": 1}
    limits = {turn.question: turn.asked_at_s or 0 for turn in TURNS}
    assert all(time <= limits[question] for question, _, times in viewer.asked for time in times)
    assert len(viewer.asked) == len({(prompt, tuple(times)) for _, prompt, times in viewer.asked})


def test_what_is_answered_from_the_question_is_asked_no_further() -> None:
    found, viewer = probe(SOUND | {"Where does he put it?": Fact("On the sill.")})
    assert outcomes(found, 1) == {"leak.model.blind": "flagged", "depends": "flagged"}
    assert found["leak.model.blind", 1].raw == ("On the sill.",)
    assert found["depends", 1].value == 0
    assert sum(question == "Where does he put it?" for question, *_ in viewer.asked) == 1


def test_what_the_history_tells_needs_no_pictures() -> None:
    found, viewer = probe(SOUND | {"Where does he put it?": Fact("On the sill.", told="The mug.")})
    assert outcomes(found, 1) == {"leak.model.blind": "passed", "leak.model.history": "flagged"}
    assert not any(times for question, _, times in viewer.asked if question == "Where does he put it?")


def test_what_the_evidence_does_not_show_is_flagged() -> None:
    found, viewer = probe({"What does he take?": Fact("The mug.", span(90, 95))})
    assert outcomes(found, 0) == PASSED | {"answerable": "flagged", "evidence.cut": "unchecked"}
    assert "UNKNOWN" in str(found["answerable", 0].reason)
    assert "does not answer it with the evidence" in str(found["evidence.cut", 0].reason)
    shown = [times for question, _, times in viewer.asked if question == "What does he take?"]
    assert shown[-1] == middles_of(TURNS[0].evidence, 8)


def test_what_is_seen_outside_the_evidence_too_is_flagged() -> None:
    found, viewer = probe({"What does he take?": Fact("The mug.", span(22, 60))})
    assert found["evidence.cut", 0].outcome is GateOutcome.FLAGGED
    assert found["evidence.cut", 0].raw == ("The mug.",)
    cut = [times for question, _, times in viewer.asked if question == "What does he take?"][-1]
    assert len(cut) == 8
    assert not any(20 <= time < 30 or time > 60 for time in cut)


def test_without_a_rest_the_evidence_cannot_be_cut_out() -> None:
    turn = Turn(question="What does he take?", references=("The mug.",), asked_at_s=30, evidence=(span(0, 40),))
    found, _ = probe(
        {"What does he take?": Fact("The mug.", span(20, 24))}, QAChain(id="c", video_id="v", turns=(turn,))
    )
    assert found["answerable", 0].outcome is GateOutcome.PASSED
    assert found["evidence.cut", 0].outcome is GateOutcome.UNCHECKED
    assert "outside the evidence" in str(found["evidence.cut", 0].reason)


@pytest.mark.parametrize(
    ("fact", "outcome", "value", "reason"),
    [
        (Fact("On the sill.", span(32, 36)), "flagged", 0, "without the dialogue"),
        (Fact("On the shelf.", span(32, 36), told="The mug."), "unchecked", None, "--judge"),
        (Fact("UNKNOWN"), "unchecked", None, "with the video and the dialogue"),
    ],
)
def test_a_turn_that_does_not_need_the_dialogue_is_flagged(
    fact: Fact, outcome: str, value: float | None, reason: str
) -> None:
    found, _ = probe(SOUND | {"Where does he put it?": fact})
    result = found["depends", 1]
    assert (result.outcome.value, result.value) == (outcome, value)
    assert reason in str(result.reason)


def test_a_turn_that_rests_on_an_earlier_one_than_its_parent_has_depth_one() -> None:
    found, _ = probe(SOUND | {"Who takes it from there?": Fact("A child.", span(40, 50), told="The mug.")})
    assert found["depends", 2].value == 1
    assert found["depends", 2].extra == {}


def test_rounds_that_claim_the_dialogue_are_known_by_label_and_wording() -> None:
    def labelled(question: str, answer: str, task: Task) -> Turn:
        return Turn(question=question, references=(answer,), labels={"mt_video_bench.task": (task.value,)})

    said = (
        Turn(question="What stands on the table?", references=("A red mug.",)),
        Turn(question="Who opens the window?", references=("The aunt.",)),
        labelled("Which thing stood on the table?", "A mug.", Task.MEMORY_RECALL),
        labelled("Where does that go?", "Out.", Task.OBJECT_REFERENCE),
        Turn(question="What colour is the wall?", references=("White.",)),
    )
    dialogue = Dialogue(id="d", video_id="v", turns=said)
    assert [claims_dialogue(dialogue, index) for index in range(5)] == [False, False, True, True, False]
    assert [parent_of(dialogue, index) for index in (2, 3)] == [0, 2]
    assert claims_dialogue(QAChain(id="c", video_id="v", turns=said), 4)


def test_open_replies_are_compared_by_a_judge_or_not_at_all() -> None:
    turn = Turn(question="What happens then?", references=("The man feeds the child.",), evidence=(span(0, 5),))
    chain = QAChain(id="c", video_id="v", turns=(turn,))

    def outcome(reply: str, equivalence: Equivalence) -> GateResult:
        asked = ProbedConversation(ModelProbe(lambda prompt, images: reply, frames, equivalence), chain, DURATION_S)
        asked.ask("evidence", [0])
        (result,) = [one for one in probe_conversation(asked, sees=True) if one.gate == "leak.model.blind"]
        return result

    alone = outcome("The child is fed by the man.", Equivalence())
    assert alone.outcome is GateOutcome.UNCHECKED
    assert "--judge" in str(alone.reason)
    with scripted_judge() as (judge, server):
        assert outcome("The child is fed by the man.", Equivalence(judge)).outcome is GateOutcome.FLAGGED
        assert outcome("The child feeds the man.", Equivalence(judge)).outcome is GateOutcome.PASSED
        # The same reply under several conditions is compared once.
        assert server.count == 2


def test_a_model_that_fails_leaves_a_turn_unchecked() -> None:
    def fails(prompt: str, images: Sequence[bytes]) -> str:
        raise ModelError("the server is gone")

    def results(ask: object) -> list[GateResult]:
        return probe_conversation(ProbedConversation(ModelProbe(ask, frames), CHAIN, DURATION_S), sees=True)  # type: ignore[arg-type]

    gone = results(fails)
    assert {result.outcome for result in gone} == {GateOutcome.UNCHECKED}
    assert {result.gate for result in gone} == {*PASSED, "depends"}
    assert "the server is gone" in str(gone[0].reason)
    assert {result.reason for result in results(lambda prompt, images: " ")} == {"the model's reply is empty"}

    def spent(prompt: str, images: Sequence[bytes]) -> str:
        raise BudgetError("spent")

    with pytest.raises(BudgetError):
        results(spent)


def test_what_cannot_be_shown_is_unchecked() -> None:
    bare = QAChain(id="c", video_id="v", turns=(Turn(question="What?", references=("That.",)),))
    found, _ = probe({}, bare, duration_s=None)
    assert found["answerable", 0].reason == "neither the length of the video nor the moment of the question is known"
    assert found["leak.model.shuffled", 0].outcome is GateOutcome.UNCHECKED
    found, _ = probe({}, bare)
    assert found["answerable", 0].reason == "the turn has no evidence interval"
    late = Turn(question="What?", references=("That.",), asked_at_s=5, evidence=(span(8, 9),))
    found, _ = probe({}, QAChain(id="c", video_id="v", turns=(late,)))
    assert found["answerable", 0].reason == "the evidence lies after the question"


def test_a_model_that_sees_nothing_is_asked_with_text_only() -> None:
    found, viewer = probe(SOUND, sees=False)
    assert {gate for gate, _ in found} == {"leak.model.blind", "leak.model.history"}
    # Before the first turn nothing was said: both conditions are one request.
    assert len(viewer.asked) == 5


def test_a_round_without_a_video_by_design_gets_no_leak_gates() -> None:
    turn = TURNS[0].model_copy(update={"labels": {"mt_video_bench.task": ("summary",)}})
    found, _ = probe(SOUND, Dialogue(id="d", video_id="v", turns=(turn,)))
    assert outcomes(found, 0) == {"answerable": "passed"}


@pytest.mark.parametrize(
    ("condition", "said", "words"),
    [
        ("blind", False, "看不到视频"),
        ("history", True, "之前的对话"),
        ("no_parent", False, "按顺序"),
        ("shuffled", False, "打乱"),
    ],
)
def test_the_prompt_is_there_in_chinese(condition: Condition, said: bool, words: str) -> None:
    seen: list[str] = []

    def ask(prompt: str, images: Sequence[bytes]) -> str:
        seen.append(prompt)
        return "UNKNOWN"

    model = ModelProbe(ask, frames, language="zh")
    ProbedConversation(model, CHAIN, DURATION_S).ask(condition, [1])
    assert words in seen[0]
    assert ("The mug." in seen[0]) is said
    assert "{" not in seen[0]


def test_options_are_named_by_letters() -> None:
    turn = TURNS[0].model_copy(update={"options": ("the plate", "the mug")})
    viewer = Viewer({"What does he take?": Fact("B")})
    asked = ProbedConversation(ModelProbe(viewer), QAChain(id="c", video_id="v", turns=(turn,)))
    asked.ask("blind", [0])
    assert "B. the mug" in viewer.asked[0][1]
    assert asked.right(0, "blind")


def test_times_lie_in_the_middle_of_equal_parts() -> None:
    assert middles_of([span(0, 10)], 2) == [2.5, 7.5]
    assert middles_of([span(0, 1), span(5, 6)], 2) == [0.5, 5.5]
    assert middles_of([span(3, 3)], 4) == [3.0]


def test_what_is_said_is_shown_with_the_part_in_which_it_is_said_and_never_after_the_question() -> None:
    turn = Turn(question="What does she ask for?", references=("Salt.",), asked_at_s=60, evidence=(span(20, 30),))
    chain = QAChain(id="c", video_id="v", turns=(turn,))
    said = [(5, 8, "Good morning."), (28, 31, "Salt, please."), (40, 42, "Here."), (59, 61, "Thank you.")]
    speech = Speech(Utterance(video_id="v", interval=span(*times), text=text) for *times, text in said)
    prompts: dict[str, set[str]] = {}

    def ask(prompt: str, images: Sequence[bytes]) -> str:
        prompts.setdefault(condition, set()).update(text for *_, text in said if text in prompt)
        assert "\n=====\n" in prompt or not prompts[condition]
        return "UNKNOWN"

    asked = ProbedConversation(ModelProbe(ask, frames, speech=speech), chain, DURATION_S)
    for condition in CONDITIONS:
        asked.ask(condition, [0])
    assert prompts == {
        **{condition: set() for condition in PROBE_CONDITIONS if condition != "history"},
        "evidence": {"Salt, please."},
        "evidence_cut": {"Good morning.", "Here."},
        "whole": {"Good morning.", "Salt, please.", "Here."},
    }
