"""The structural rules of MT-Video-Bench's six tasks, checked by code.

Reference: MT-Video-Bench (arXiv 2510.17722). Whether a dialogue truly tests its ability takes a reader; how many
rounds it has, where the ability stands and how the subject moves does not.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from reeltalk.construct.replies import ROUNDS
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.labels import Task

TASK_LABEL: Final = "mt_video_bench.task"
ABILITY_LABEL: Final = "mt_video_bench.ability"
"""The vocabulary of abilities that are none of the six tasks."""
ABOUT: Final = "about"
"""Under which name a turn's `extra` says what the user's turn is about: `video`, `topic` or `chat`."""

MIN_SHIFTS: Final = 2
"""Fewest shifts to a subject outside the video, each with a return."""
MIN_VIDEO_ROUNDS: Final = 2
"""Fewest rounds about nothing but the video, where subjects shift."""

_NAMES_A_ROUND: Final = re.compile(
    r"\b(round|turn|question)\s+(no\.?\s*|number\s+)?(\d+|one|two|three|four|five|six|seven|eight)\b"
    r"|\b(first|second|third|fourth|fifth|sixth|seventh|previous|last|opening|\d+(st|nd|rd|th))\s+(round|turn|question)\b"
    r"|第\s*[0-9一二三四五六七八]+\s*(轮|个问题|次)|上一轮|首轮|第一次",
    re.IGNORECASE,
)
_ENDS_WITH_A_QUESTION: Final = re.compile(r"[?？][\s\"'”’」』)）]*$")


def structural(dialogue: Dialogue, task: Task) -> list[str]:
    """What breaks the rules of a task, one sentence each; empty where nothing does.

    Args:
        dialogue: Its turns carry their abilities as labels and, where subjects shift, `extra["about"]`.
        task: What it is to test.
    """
    problems: list[str] = []
    rounds = len(dialogue.turns)
    if not ROUNDS[0] <= rounds <= ROUNDS[1]:
        problems.append(f"it has {rounds} rounds, not {ROUNDS[0]} to {ROUNDS[1]}")
    problems += [f"round {number} has no answer" for number, turn in _numbered(dialogue) if not turn.references]
    return problems + _RULES[task](dialogue.turns, task)


def is_labelled(turn: Turn, task: Task) -> bool:
    """True where a turn is labelled as one of a task."""
    return task.value in turn.labels.get(TASK_LABEL, ())


def names_a_round(turn: Turn) -> bool:
    """True where a turn speaks of a round by its place."""
    return any(_NAMES_A_ROUND.search(text) for text in (turn.question, *turn.references[:1]))


def _numbered(dialogue: Dialogue) -> list[tuple[int, Turn]]:
    return list(enumerate(dialogue.turns, start=1))


def _after_the_first(turns: Sequence[Turn], task: Task) -> list[str]:
    found = any(is_labelled(turn, task) for turn in turns[1:])
    return [] if found else [f"no round after the first carries the ability {task.value}"]


def _recalled(turns: Sequence[Turn], task: Task) -> list[str]:
    if problems := _after_the_first(turns, task):
        return problems
    return [
        f"the answer of round {number} does not name the round that it goes back to"
        for number, turn in enumerate(turns[1:], start=2)
        if is_labelled(turn, task) and not any(_NAMES_A_ROUND.search(answer) for answer in turn.references[:1])
    ]


def _summed_up(turns: Sequence[Turn], task: Task) -> list[str]:
    numbers = [number for number, turn in enumerate(turns, start=1) if is_labelled(turn, task)]
    if numbers == [len(turns)] and turns:
        return []
    where = ", ".join(map(str, numbers)) or "none"
    return [f"exactly the last round must carry the ability {task.value}, not round {where}"]


def _shifted(turns: Sequence[Turn], _: Task) -> list[str]:
    about, problems = _abouts(turns)
    # Chat is neither the video nor a new subject: it ends no stay at either.
    stays = [subject for subject, _ in groupby(subject for subject in about if subject in ("video", "topic"))]
    shifts = sum(stays[at - 1 : at + 2] == ["video", "topic", "video"] for at in range(1, len(stays)))
    if shifts < MIN_SHIFTS:
        problems.append(f"the subject leaves the video and comes back {shifts} times, not at least {MIN_SHIFTS}")
    if (pure := about.count("video")) < MIN_VIDEO_ROUNDS:
        problems.append(f"{pure} rounds are about nothing but the video, not at least {MIN_VIDEO_ROUNDS}")
    return problems


def _won_back(turns: Sequence[Turn], _: Task) -> list[str]:
    about, problems = _abouts(turns)
    remarks = [turn for turn, subject in zip(turns, about, strict=True) if subject == "chat"]
    if not remarks:
        problems.append("in no round does the user make a neutral or uninterested remark")
    elif not any(_ENDS_WITH_A_QUESTION.search(answer) for turn in remarks for answer in turn.references[:1]):
        problems.append("no neutral or uninterested remark is answered with a question at the end")
    return problems


def _abouts(turns: Sequence[Turn]) -> tuple[list[object], list[str]]:
    about = [turn.extra.get(ABOUT) for turn in turns]
    return about, [
        f"round {number} does not say whether it is about the video, another topic or chat"
        for number, subject in enumerate(about, start=1)
        if subject not in ("video", "topic", "chat")
    ]


_RULES: Final[dict[Task, Callable[[Sequence[Turn], Task], list[str]]]] = {
    Task.OBJECT_REFERENCE: _after_the_first,
    Task.MEMORY_RECALL: _recalled,
    Task.CONTENT_SUMMARY: _summed_up,
    Task.ANSWER_REFUSAL: _after_the_first,
    Task.TOPIC_SHIFTING: _shifted,
    Task.PROACTIVE_INTERACTION: _won_back,
}
