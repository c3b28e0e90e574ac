"""What the official judging scripts send, field by field, and a strict reading of replies in their layout.

The words are the authors' own and no part of reeltalk: `reeltalk prompts adopt` takes them from their repository. As in
the scripts, answers stand in a request as they are, without fences.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.protocol import OfficialSampling, find_protocol, protocols
from reeltalk.llm.structured import MalformedReplyError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import ChecklistItem

MARK_HEADINGS: Final[Mapping[str, str]] = {
    "overall_score": r"Overall (?:Evaluation|Score)",
    "semantic_accuracy": "Semantic Accuracy",
    "contextual_coherence": "Contextual Coherence",
    "logical_consistency": "Logical Consistency",
    "temporal_understanding": "Temporal Understanding",
    "informational_completeness": "Informational Completeness",
}
"""SVBench's headings. The paper and the script differ in the last."""

_SCORE: Final = re.compile(r"\bScore\b(?:\s*\(0\s*[-–]\s*10\))?[\s:：*_]*(?P<mark>[-−]?\d+(?:\.\d+)?)", re.IGNORECASE)


def official_sampling(judges: Iterable[Judge]) -> OfficialSampling:
    """How the official scripts of some judges ask.

    Args:
        judges: Those of a run.

    Raises:
        SettingError: One has no published mode, two ask in different ways, or none asks a model.
    """
    found: dict[str, OfficialSampling] = {}
    for judge in judges:
        protocol = find_protocol(judge.name)
        if not judge.needs_model:
            continue
        if protocol is None or protocol.official is None:
            known = ", ".join(protocol.name for protocol in protocols().values() if protocol.official is not None)
            raise SettingError(f"{judge.name} has no published mode; --published is for {known}")
        found[judge.name] = protocol.official
    if len(set(found.values())) > 1:
        raise SettingError(
            f"--published asks {' and '.join(found)} with different sampling, as their scripts do; "
            "judge them in runs of their own"
        )
    if not found:
        raise SettingError("--published is for protocols that ask a model; name one with --protocols")
    return next(iter(found.values()))


def vdeval_block(turn: AnsweredTurn) -> str:
    """The four lines of one turn, as VDEval's script writes them.

    Args:
        turn: Has an answer and a reference.
    """
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nCandidate answer: {turn.text}\nOutput: "


def svbench_fields(unit: JudgeUnit) -> dict[str, str]:
    """What SVBench's prompts for chains and videos are filled with: Python's lists, as its scripts write them.

    Args:
        unit: A chain, path or dialogue, or the linked questions of a video.
    """
    shown = {index: turn for index, turn in enumerate(unit.turns) if turn.references and turn.state.is_due}
    columns = {
        "questions": {index: turn.question for index, turn in shown.items()},
        "ground_truth": {index: turn.references[0] for index, turn in shown.items()},
        "model_responses": {index: turn.text for index, turn in shown.items()},
    }
    if unit.official:
        lists: dict[str, object] = {name: _by_slot(unit.lists, texts) for name, texts in columns.items()}
        pairs = zip(unit.lists[::2], unit.lists[1::2], strict=False)
        related: object = [
            [link.relation for link in unit.linked if link.before in before and link.after in after]
            for before, after in pairs
        ]
    else:
        lists = {name: list(texts.values()) for name, texts in columns.items()}
        related = [link.relation for link in unit.linked]
    return {
        "video_id": unit.video_id,
        "scene_id": unit.id.rpartition("/")[2],
        "relationships": str(related),
        **{name: str(values) for name, values in lists.items()},
    }


def _by_slot(lists: Sequence[Sequence[int]], texts: Mapping[int, str]) -> list[list[list[str]]]:
    """Lists of pairs in slots: the later one of a pair stands in a slot with the earlier one of the next."""
    filled = [[texts[index] for index in places if index in texts] for places in lists]
    return [filled[:1], *(filled[at : at + 2] for at in range(1, len(filled), 2))] if filled else []


def gpt_score_fields(unit: JudgeUnit, index: int) -> dict[str, str]:
    """What SVBench's prompt for single questions is filled with.

    Args:
        unit: Where the turn stands.
        index: Its place among the unit's turns.
    """
    turn = unit.turns[index]
    return {
        "video_id": unit.video_id,
        "scene_id": unit.id.rpartition("/")[2],
        "question_id": str(turn.turn_index),
        "question": turn.question,
        "ground_truth": turn.references[0],
        "model_response": turn.text,
    }


def checklist_fields(turn: AnsweredTurn, answer: str, items: Sequence[ChecklistItem]) -> dict[str, str]:
    """What MT-Video-Bench's prompt is filled with.

    Args:
        turn: Whose checklist it is.
        answer: Of the model.
        items: The questions, which the script numbers from `Q1`.
    """
    return {
        "model_answer": answer,
        "checklist": "\n".join(f"Q{number}: {item.question}" for number, item in enumerate(items, start=1)),
        "asked": turn.question,
        "reference": turn.references[0] if turn.references else "",
    }


def read_headed(text: str, headings: Mapping[str, str]) -> dict[str, int]:
    """The whole number after *Score* under each heading of a reply, read strictly.

    Args:
        text: The reply.
        headings: A pattern for each name; a heading begins its line.

    Raises:
        MalformedReplyError: A heading is missing or stands there twice, or has no one whole number.
    """
    places: dict[str, re.Match[str]] = {}
    for name, heading in headings.items():
        found = list(re.finditer(rf"^[\W\d_]*{heading}\b", text, re.MULTILINE | re.IGNORECASE))
        if len(found) != 1:
            title = heading.replace("(?:Evaluation|Score)", "Evaluation")
            raise MalformedReplyError(f"the heading {title!r} stands there {len(found)} times", text)
        places[name] = found[0]
    ends = sorted(match.start() for match in places.values())
    marks = {}
    for name, match in places.items():
        end = next((start for start in ends if start > match.start()), len(text))
        # "Overall Score: 7" names its number in the heading itself.
        begin = match.end() - len("Score") if match[0].endswith("Score") else match.end()
        told = {found["mark"].replace("−", "-") for found in _SCORE.finditer(text, begin, end)}
        if len(told) != 1 or "." in (mark := next(iter(told))):
            raise MalformedReplyError(f"under {match[0].strip()!r} there is no one whole number after 'Score'", text)
        marks[name] = int(mark)
    return marks
