"""Dialogues with planted faults: what a judge and the rules find goes back to the writer, and out if it comes again."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from reeltalk.llm import Message, Reply
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.record import ClipId, Json
from reeltalk_build.construct.model_writer import ModelWriter
from reeltalk_build.construct.prompting import VisualContext
from reeltalk_build.construct.revising import write_checked_dialogue
from reeltalk_build.construct.writers import NO_JUDGE

VIDEO = Video(id="v")
CLIPS = {
    ClipId(f"clip{n}"): Clip(
        id=ClipId(f"clip{n}"), video_id=VIDEO.id, interval=Interval(start_s=20 * n, end_s=20 * n + 20)
    )
    for n in range(10)
}
PLANTED = range(10)
"""Each fault is planted in ten different dialogues."""
THINGS = ("mug", "plate", "book", "pillow", "bottle", "towel", "lamp", "chair", "crate", "radio")
PLACES = ("table", "shelf", "counter", "floor", "sofa", "bed", "desk", "sink", "stairs", "porch")
LAST: Mapping[Task, tuple[str, str, str, str]] = {
    Task.OBJECT_REFERENCE: (
        "And where does it end up?",
        "The {thing} ends up beside a window.",
        "Object Reference",
        "video",
    ),
    Task.MEMORY_RECALL: (
        "What did you say about the start?",
        "In round 1 I said that a man unpacks a {thing} from a bag.",
        "Memory Recall",
        "video",
    ),
    Task.CONTENT_SUMMARY: (
        "Please sum up what we talked about.",
        "A man unpacks a {thing} from a bag, wipes its rim with a cloth and sets it on the {place}. A dog barks.",
        "Summary",
        "video",
    ),
    Task.ANSWER_REFUSAL: (
        "Where does he put the umbrella?",
        "The video shows no umbrella, so nobody can tell.",
        "Answer Refusal",
        "video",
    ),
    Task.PROACTIVE_INTERACTION: (
        "Hm, okay.",
        "Somebody is about to knock the {thing} over. Who would you bet on?",
        "Proactive Interaction",
        "chat",
    ),
}


def scene(number: int) -> Scene:
    return Scene(id=f"scene{number}", video_id=VIDEO.id, clip_ids=(ClipId(f"clip{number}"),), caption="A man unpacks.")


def draft(number: int, task: Task) -> list[dict[str, Any]]:
    """A good dialogue about a scene."""
    if task is Task.TOPIC_SHIFTING:
        ends = [("What is the capital of Peru?", "The capital of Peru is Lima.", "Topic Shifting", "topic")]
        ends += [("Back to him: who watches from the door?", "A small brown dog.", "Topic Shifting", "video")]
        ends += [("How many strings has a violin?", "A violin has four strings.", "Topic Shifting", "topic")]
        ends += [("And what does that dog do in the end?", "It barks and runs off.", "Topic Shifting", "video")]
    else:
        ends = [
            (
                "Where does he set it down afterwards?",
                "On the {place}, close to the edge.",
                "Scene Understanding",
                "video",
            ),
            ("How does the dog behave meanwhile?", "It barks at him from the door.", "Scene Understanding", "video"),
            LAST[task],
        ]
    rounds = [
        ("What does the man unpack?", "A {thing} from a striped bag.", "Scene Understanding", "video"),
        ("With what does he clean it?", "He wipes the rim with a grey cloth.", "Scene Understanding", "video"),
        *ends,
    ]
    words = {"thing": THINGS[number], "place": PLACES[number]}
    return [
        {
            "user": q.format(**words),
            "assistant": a.format(**words),
            "start_s": 20 * number + 2 * place if about == "video" else None,
            "end_s": 20 * number + 2 * place + 3 if about == "video" else None,
            "ability": ability,
            "about": about,
        }
        for place, (q, a, ability, about) in enumerate(rounds)
    ]


Rounds = list[dict[str, Any]]
Fault = Callable[[Rounds], None]


def put(place: int, **said: str) -> Fault:
    def plant(rounds: Rounds) -> None:
        rounds[place] |= said

    return plant


FALSE = put(1, assistant="He polishes it with a purple elephant.")
"""What a judge sees to be wrong; rules do not."""


class Writing:
    """A vision model that writes a dialogue with a fault, for ever or until it is told of it."""

    name, sees_images, sampling = "writing", True, {"temperature": 0.0}

    def __init__(self, number: int, task: Task, plant: Fault, *, learns: bool) -> None:
        self._draft, self._plant, self._learns = draft(number, task), plant, learns
        self.prompts: list[str] = []

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        self.prompts.append(messages[-1].text)
        rounds = [dict(row) for row in self._draft]
        if len(self.prompts) == 1 or not self._learns:
            self._plant(rounds)
        # A writer that does not learn still words its dialogue anew.
        rounds[0]["user"] += " " * len(self.prompts) + "Tell me." * (len(self.prompts) - 1)
        return Reply(json.dumps({"rounds": rounds}), self.name, 1, 1, False)

    def close(self) -> None:
        return


class Judging:
    """A vision model that knows what is wrong with the planted drafts."""

    name, sees_images, sampling = "judging", True, {"temperature": 0.0}

    def __init__(self) -> None:
        self.count = 0

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        self.count += 1
        talk = messages[-1].text.split("=====")[1]
        answers = [line.removeprefix("   A: ") for line in talk.splitlines() if line.startswith("   A: ")]
        checks = [
            {
                "number": number,
                "seen": "a man with a bag",
                "at_s": None,
                "faults": ["it is rude"] if "stupid" in answer else [],
                "verdict": "contradicted" if "elephant" in answer else "supported",
            }
            for number, answer in enumerate(answers, start=1)
        ]
        off_task = "nothing to do with" in talk
        said = {
            "checks": checks,
            "task_reasons": ["it is off its task"] * off_task,
            "does_task": "No" if off_task else "Yes",
        }
        return Reply(json.dumps(said), self.name, 1, 1, False)

    def close(self) -> None:
        return


def look(_: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = ()) -> VisualContext:
    times = tuple(one.start_s + 1 + 2 * n for one in intervals for n in range(10))
    return VisualContext(tuple(b"jpeg" for _ in times), times)


def written(
    number: int, task: Task, plant: Fault, *, learns: bool, judged: bool = True, attempts: int = 2
) -> tuple[Dialogue | None, list[GateResult], Writing]:
    model = Writing(number, task, plant, learns=learns)
    writer = ModelWriter(model, context=look, clips=CLIPS, judges=[Judging()] if judged else [])
    found = write_checked_dialogue(writer, VIDEO, scene(number), task, number=0, attempts=attempts, language="en")
    return *found, model


def outcomes(gates: Sequence[GateResult]) -> set[tuple[str, str]]:
    return {(gate.gate, gate.outcome.value) for gate in gates}


@pytest.mark.parametrize("task", Task)
def test_a_good_dialogue_is_judged_and_kept_as_it_is(task: Task) -> None:
    for number in PLANTED:
        dialogue, gates, model = written(number, task, lambda rounds: None, learns=True)
        assert dialogue is not None
        assert len(model.prompts) == 1, gates
        assert outcomes(gates) == {("lint", "passed"), ("verified", "passed"), ("task", "passed")}
        assert sum(gate.gate == "verified" for gate in gates) == len(dialogue.turns)


BAD: Mapping[str, tuple[Task, Fault]] = {
    "as an AI": (Task.OBJECT_REFERENCE, put(1, assistant="As an AI language model, I cannot see the video.")),
    "round 9": (Task.MEMORY_RECALL, put(4, assistant="In round 9 I said that a man unpacks a bag.")),
    "answered refusal": (Task.ANSWER_REFUSAL, put(4, assistant="It is red.")),
    "summary": (Task.CONTENT_SUMMARY, put(4, assistant="Yes.")),
    "yes or no": (Task.OBJECT_REFERENCE, put(1, user="Is he a man?", assistant="Yes.")),
    "contradicted": (Task.OBJECT_REFERENCE, FALSE),
    "rude": (Task.PROACTIVE_INTERACTION, put(1, assistant="Only stupid people ask; with a grey cloth.")),
    "off its task": (Task.ANSWER_REFUSAL, put(2, assistant="It has nothing to do with the {place}.")),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_planted_fault_goes_back_and_does_not_come_again(fault: str) -> None:
    task, plant = BAD[fault]
    for number in PLANTED:
        dialogue, gates, model = written(number, task, plant, learns=True)
        assert dialogue is not None
        assert len(model.prompts) == 2, fault
        assert "   ! " in model.prompts[1] or "- it is off its task" in model.prompts[1] or fault == "round 9"
        assert {gate.outcome for gate in gates if gate.gate in ("verified", "task")} <= {
            GateOutcome.PASSED,
            GateOutcome.REPLACED,
        }
        assert dialogue.turns[1].references == (draft(number, task)[1]["assistant"],)


@pytest.mark.parametrize("fault", sorted(set(BAD) - {"yes or no", "rude"}))
def test_a_grave_fault_that_stays_leaves_no_such_round(fault: str) -> None:
    task, plant = BAD[fault]
    for number in PLANTED:
        bad: Rounds = draft(number, task)
        plant(bad)
        planted = {row["assistant"] for row in bad} - {row["assistant"] for row in draft(number, task)}
        dialogue, gates, _ = written(number, task, plant, learns=False)
        assert dialogue is None or not planted & {answer for turn in dialogue.turns for answer in turn.references}
        assert {gate.outcome for gate in gates} & {GateOutcome.DROPPED, GateOutcome.UNWRITTEN}


@pytest.mark.parametrize("fault", ["yes or no", "rude"])
def test_a_light_fault_that_stays_is_flagged(fault: str) -> None:
    task, plant = BAD[fault]
    for number in PLANTED:
        dialogue, gates, model = written(number, task, plant, learns=False)
        assert dialogue is not None
        assert len(model.prompts) == 3
        assert any(gate.outcome is GateOutcome.FLAGGED and gate.turn_index == 1 for gate in gates), gates


def test_a_round_that_others_do_not_need_is_taken_out() -> None:
    def plant(rounds: Rounds) -> None:
        rounds.insert(3, rounds[3] | {"user": "Who else is in the hall?", "assistant": "An elephant sits there."})

    dialogue, gates, _ = written(0, Task.ANSWER_REFUSAL, plant, learns=False)
    assert dialogue is not None
    assert len(dialogue.turns) == 5
    (dropped,) = [gate for gate in gates if gate.outcome is GateOutcome.DROPPED]
    assert (dropped.gate, dropped.turn_index, dropped.reason) == ("verified", 3, "a man with a bag")
    assert [gate.turn_index for gate in gates if (gate.gate, gate.outcome) == ("verified", GateOutcome.PASSED)][-1] == 4


def test_without_a_judge_a_dialogue_is_linted_and_not_called_true() -> None:
    dialogue, gates, model = written(0, Task.OBJECT_REFERENCE, FALSE, learns=False, judged=False)
    assert dialogue is not None
    assert len(model.prompts) == 1
    assert outcomes(gates) == {("lint", "passed"), ("verified", "unchecked"), ("task", "unchecked")}
    assert {gate.reason for gate in gates if gate.outcome is GateOutcome.UNCHECKED} == {NO_JUDGE}


def test_a_round_keeps_the_part_of_the_video_that_shows_it() -> None:
    dialogue, _, _ = written(1, Task.ANSWER_REFUSAL, put(0, start_s=38.5, end_s=44), learns=True)  # type: ignore[arg-type]
    assert dialogue is not None
    evidence = [turn.evidence for turn in dialogue.turns]
    assert evidence[0] == (Interval(start_s=38.5, end_s=40),)
    assert evidence[1] == (Interval(start_s=22, end_s=25),)
    assert evidence[-1] == ()


def test_evidence_outside_of_the_scene_is_refused() -> None:
    outside = put(0, start_s=90, end_s=95)  # type: ignore[arg-type]
    dialogue, _, model = written(1, Task.ANSWER_REFUSAL, outside, learns=True)
    assert dialogue is not None
    assert "round 1 names 90 to 95 s, and what you are shown is 20 to 40 s" in model.prompts[1]


def test_the_writer_is_told_what_other_dialogues_ask() -> None:
    other, _, _ = written(1, Task.OBJECT_REFERENCE, lambda rounds: None, learns=True)
    assert other is not None
    model = Writing(2, Task.PROACTIVE_INTERACTION, lambda rounds: None, learns=True)
    writer = ModelWriter(model, context=look, clips=CLIPS)
    write_checked_dialogue(
        writer,
        VIDEO,
        scene(2),
        Task.PROACTIVE_INTERACTION,
        number=0,
        earlier=[other],
        attempts=0,
        language="en",
    )
    asked = model.prompts[0].split("=====\n")[3]
    assert asked.splitlines() == [turn.question for turn in other.turns]
