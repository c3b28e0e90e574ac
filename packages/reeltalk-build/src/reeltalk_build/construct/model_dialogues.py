"""Asks language models for scenes' suitability and dialogues of MT-Video-Bench's tasks, and judges these dialogues."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reeltalk.llm import RecordResult
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Scene
from reeltalk.schema.record import DialogueKey
from reeltalk_build.construct.evidence import with_shown
from reeltalk_build.construct.linting import ABILITY_LABEL, ABOUT_KEY, TASK_LABEL, check_structure
from reeltalk_build.construct.prompting import (
    PromptedModel,
    VisualContext,
    number_turns,
    record_or_unwritten,
    unwritten_from,
)
from reeltalk_build.construct.replies import Ability, DialogueCheckReply, DialogueReply, RoundReply, SuitabilityReply
from reeltalk_build.construct.verification import DialogueVerdict, check_numbers, combine_checks
from reeltalk_build.construct.writers import NO_JUDGE, Unwritten

MOMENT_S: Final = 1.0
"""Shortest evidence in seconds; a single moment that a model names becomes the time around it."""


def rate_tasks(
    writer: PromptedModel, scene: Scene, look: Callable[[], VisualContext]
) -> Mapping[Task, int] | Unwritten:
    """Rate in one request how suitable a scene is for each task, 1 to 6.

    Object reference needs things that look alike, which a caption need not name, so a model that can sees the scene. A
    model without sight goes by the caption, if there is one.
    """
    tasks = "\n\n".join(f"{task.value}\n{writer.part(f'dialogue_{task.value}')}" for task in Task)
    seen = look() if writer.model.sees_images or not scene.caption else VisualContext()
    shown = writer.looking(seen, {"tasks": tasks}) if scene.caption else {"seen": seen, "parts": {"tasks": tasks}}
    reply = record_or_unwritten(writer.ask("suitability", SuitabilityReply, data={"caption": scene.caption}, **shown))
    return reply if isinstance(reply, Unwritten) else {rating.task: rating.score for rating in reply.tasks}


def ask_for_dialogue(
    writer: PromptedModel,
    seen: VisualContext,
    scene: Scene,
    task: Task,
    intervals: Sequence[Interval],
    *,
    number: int,
    earlier: Sequence[str],
    advice: str,
    name: DialogueKey,
    made: Mapping[str, Any],
) -> Dialogue | Unwritten:
    """Ask for a dialogue of 5 to 8 rounds that keeps the structural rules of its task."""

    def dialogue(reply: DialogueReply) -> Dialogue:
        return Dialogue(
            id=name,
            video_id=scene.video_id,
            clip_ids=scene.clip_ids,
            task=task.value,
            turns=tuple(_turn(round_, intervals, made) for round_ in reply.rounds),
            extra=with_shown(made, intervals, seen.times_s),
        )

    def complaint(reply: DialogueReply) -> str | None:
        problems = "; ".join([*check_structure(dialogue(reply), task), *_elsewhere(reply, intervals)])
        return problems or None

    example = f"example_{task.value}"
    cross_scene = ""
    if scene.kind == "cross":
        cross_scene = writer.part("dialogue_cross_scene", {"joined_by": "\n".join(scene.joined_by)})
    asked = writer.ask(
        "dialogue",
        DialogueReply,
        seen=seen,
        data={"caption": scene.caption, "earlier": "\n".join(earlier)},
        parts={
            "task": f"{writer.part(f'dialogue_{task.value}')}\n\n{writer.part(example)}",
            "cross_scene": cross_scene,
            "number": str(number + 1),
            "asked_at_s": f"{max(interval.end_s for interval in intervals):.1f}",
            "advice": advice,
        },
        check=complaint,
    )
    return unwritten_from(asked) if asked.record is None else dialogue(asked.record)


def judge_rounds(
    judges: Sequence[PromptedModel],
    seen: VisualContext,
    dialogue: Dialogue,
    task: Task,
    weights: Mapping[str, float],
) -> DialogueVerdict | Unwritten:
    """Let judges, whose votes have weights by name, check every round, and whether the dialogue does its task.

    Returns:
        The verdict of the judges whose reply can be used; `Unwritten` if there is none.
    """
    if not judges:
        return Unwritten(NO_JUDGE)
    said: list[tuple[str, DialogueCheckReply]] = []
    failed: list[RecordResult[DialogueCheckReply]] = []
    for judge in judges:
        asked = judge.ask(
            "dialogue_check",
            DialogueCheckReply,
            seen=seen,
            data={"dialogue": number_turns(dialogue.turns, timed=True)},
            parts={"task": judge.part(f"dialogue_{task.value}"), "tested": _tested(dialogue, task)},
            check=lambda reply: check_numbers(reply.checks, len(dialogue.turns)),
        )
        if asked.record is None:
            failed.append(asked)
        else:
            said.append((judge.model.name, asked.record))
    if not said:
        return unwritten_from(failed[0])
    votes = [(weights.get(name, 1.0), reply.does_task == "Yes") for name, reply in said]
    does_task = 2 * sum(vote for vote, yes in votes if yes) > sum(vote for vote, _ in votes)
    agreeing = [reply for _, reply in said if (reply.does_task == "Yes") == does_task]
    return DialogueVerdict(
        turns=tuple(combine_checks([(name, reply.checks) for name, reply in said], weights)),
        does_task=does_task,
        reasons=tuple(dict.fromkeys(reason for reply in agreeing for reason in reply.task_reasons)),
        agreement=len(agreeing) / len(said),
    )


def _tested(dialogue: Dialogue, task: Task) -> str:
    numbers = [number for number, turn in enumerate(dialogue.turns, 1) if task.value in turn.labels.get(TASK_LABEL, ())]
    return ", ".join(map(str, numbers)) or "–"


def _turn(round_: RoundReply, intervals: Sequence[Interval], made: Mapping[str, Any]) -> Turn:
    task = round_.ability.task
    # Refusals, other topics and chat have no evidence in the video.
    shown = round_.about == "video" and round_.ability is not Ability.ANSWER_REFUSAL
    return Turn(
        question=round_.user,
        references=(round_.assistant,),
        asked_at_s=max(interval.end_s for interval in intervals),
        # A round about the whole scene, such as a summary, names no part of it.
        evidence=(_evidence(round_, intervals) or tuple(intervals)) if shown else (),
        labels={TASK_LABEL: (task.value,)} if task else {ABILITY_LABEL: (round_.ability.value,)},
        extra={**made, ABOUT_KEY: round_.about},
    )


def _evidence(round_: RoundReply, intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """The part of the video that a round names, as far as the scene reaches."""
    if round_.start_s is None or round_.end_s is None:
        return ()
    missing_s = max(0.0, MOMENT_S - (round_.end_s - round_.start_s))
    named = Interval(start_s=max(0.0, round_.start_s - missing_s / 2), end_s=round_.end_s + missing_s / 2)
    return tuple(part for interval in intervals if (part := interval.intersection(named)) is not None)


def _elsewhere(reply: DialogueReply, intervals: Sequence[Interval]) -> list[str]:
    shown = ", ".join(f"{interval.start_s:g} to {interval.end_s:g} s" for interval in intervals)
    return [
        f"round {number} names {round_.start_s:g} to {round_.end_s:g} s, and what you are shown is {shown}"
        for number, round_ in enumerate(reply.rounds, start=1)
        if round_.start_s is not None and not _evidence(round_, intervals)
    ]
