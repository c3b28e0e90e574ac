"""SVBench's official scripts: the fields that they send, the scores that they read, and the chains that they join.

Their defects are included; `read_headed` reads the same replies strictly. The prompts are the authors' own and no part
of reeltalk: `reeltalk prompts --from` takes them from their repository. As in the scripts, answers are in a request
without fences.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from reeltalk.judge.judge import Background, JoinedChains, JudgeUnit, LinkedQuestions, LinkedTurns, Place
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.record import Json

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
_BESIDE: Final = re.compile(r"[\s:：*_(]*(?P<mark>\d+(?:\.\d+)?)(?:\s*(?:/\s*10|points?))?[\s*_).]*(?:\n|\Z)", re.I)
"""A number that stands alone in the line of its heading."""

COMPAT: Final = ".compat"
"""Ends the name of a criterion or measure that is computed as the official script does."""
HEADINGS: Final = {
    "OS": "Overall Evaluation",
    "SA": "Semantic Accuracy",
    "CC": "Contextual Coherence",
    "LC": "Logical Consistency",
    "TU": "Temporal Understanding",
    "IC": "Informational Completeness",
}
"""The heading that each official pattern searches for."""
LONGEST_NUMBER: Final = 15
"""Digits. No judge means a longer number, and a float may not hold it."""

_DIGITS: Final = re.compile(r"\d+")


def official_scores(text: str) -> dict[str, int | None]:
    """The six scores that the official patterns find in a reply, by criterion; None where they find none.

    A number may differ from the judge's: *-1* gives 1, *7.5* gives 7, *Score (0-10): 8* gives 0, and a dimension
    without a number takes the next number, such as that of the next heading.
    """
    return {name: _number(_after(text, heading, "Score")) for name, heading in HEADINGS.items()}


def official_single_score(text: str) -> int | None:
    """The accuracy of a single answer: the number after the last *Score* of a reply."""
    digits = [found.start() for found in _DIGITS.finditer(text)]
    score = text.rfind("Score", 0, digits[-1]) if digits else -1
    return _number(_DIGITS.search(text, score) if score >= 0 else None)


def _after(text: str, *marks: str) -> re.Match[str] | None:
    """The first number after the first of each mark in turn, as `.*?` finds it, but in one walk."""
    place = 0
    for mark in marks:
        if (place := text.find(mark, place)) < 0:
            return None
        place += len(mark)
    return _DIGITS.search(text, place)


def _number(match: re.Match[str] | None) -> int | None:
    return int(match[0]) if match is not None and len(match[0]) <= LONGEST_NUMBER else None


def streaming_slots(
    chains: Sequence[Mapping[str, Json]], linkages: Sequence[Mapping[str, Json]]
) -> list[list[LinkedQuestions]]:
    """The questions that the official streaming evaluation judges of one video: slots of linked questions, not paths.

    Each pair of adjacent chains i, i + 1 for which there is a linkage record adds the linked questions of chain i to
    slot i and those of chain i + 1 to slot i + 1, so that a slot in the middle holds two lists. A record belongs to a
    pair if the start timestamps of its first chain and of chain i are equal to the last bit. The official script stops
    with a KeyError at a record or relationship that is `{}`; here it links nothing. A video without links is judged
    too.

    Args:
        chains: Chains of a video in order, each with `qac_timestamps_start`; or `{}`.
        linkages: Records with `chain_1` and `relationship`, whose `chainBefore` and `chainAfter` are question indices.

    Returns:
        A slot for each chain, in order.
    """
    slots: list[list[LinkedQuestions]] = [[] for _ in chains]
    for index, chain in enumerate(chains[:-1]):
        relationship = next((link["relationship"] for link in linkages if chain and _begins(link, chain)), None)
        if relationship:
            slots[index].append(LinkedQuestions(index, tuple(relationship["chainBefore"])))
            slots[index + 1].append(LinkedQuestions(index + 1, tuple(relationship["chainAfter"])))
    return slots


def _begins(link: Mapping[str, Json], chain: Mapping[str, Json]) -> bool:
    return bool(link) and bool(link["chain_1"]["qac_timestamps_start"] == chain["qac_timestamps_start"])


def svbench_fields(unit: JudgeUnit) -> dict[str, str]:
    """The fields of SVBench's prompts for chains and videos: Python's lists, as its scripts write them."""
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
    """Lists of pairs in slots: the later list of a pair shares a slot with the earlier list of the next pair."""
    filled = [[texts[index] for index in places if index in texts] for places in lists]
    return [filled[:1], *(filled[at : at + 2] for at in range(1, len(filled), 2))] if filled else []


def gpt_score_fields(unit: JudgeUnit, index: int) -> dict[str, str]:
    """The fields of SVBench's prompt for single questions."""
    turn = unit.turns[index]
    return {
        "video_id": unit.video_id,
        "scene_id": unit.id.rpartition("/")[2],
        "question_id": str(turn.turn_index),
        "question": turn.question,
        "ground_truth": turn.references[0],
        "model_response": turn.text,
    }


def read_headed(
    text: str, headings: Mapping[str, str], shown: Sequence[str] = ()
) -> tuple[dict[str, int], dict[str, str], bool]:
    """The whole number after *Score* under each heading of a reply, each read for itself.

    Args:
        text: The reply.
        headings: A pattern for each name; a heading begins its line.
        shown: The candidate's answers. A heading with a number that stands in one of them may be quoted.

    Returns:
        The numbers, why others could not be read, and True if one stands in the line of its heading without *Score*.
    """
    marks, reasons, lenient = dict[str, int](), dict[str, str](), False
    places = {name: _headings(text, heading) for name, heading in headings.items()}
    starts = sorted(found.start() for all_found in places.values() for found in all_found)
    quoted = [answer for answer in shown if any(_headings(answer, heading) for heading in headings.values())]
    for name, found in places.items():
        title = headings[name].replace("(?:Evaluation|Score)", "Evaluation")
        if len(found) != 1:
            reasons[name] = f"the heading {title!r} stands there {len(found)} times"
            continue
        match = found[0]
        end = next((start for start in starts if start > match.start()), len(text))
        # "Overall Score: 7" names its number in the heading itself.
        begin = match.end() - len("Score") if match[0].endswith("Score") else match.end()
        told = {one["mark"].replace("−", "-") for one in _SCORE.finditer(text, begin, end)}
        if not told and (beside := _BESIDE.match(text, match.end(), end)) is not None:
            told, lenient = {beside["mark"]}, True
        if len(told) != 1 or "." in (mark := next(iter(told))):
            reasons[name] = f"under {match[0].strip()!r} there is no one whole number after 'Score'"
        elif any(mark in re.findall(r"-?\d+", answer) for answer in quoted):
            reasons[name] = f"the number under {match[0].strip()!r} stands in an answer that has such headings too"
        else:
            marks[name] = int(mark)
    return marks, reasons, lenient


def _headings(text: str, heading: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"^[\W\d_]*{heading}\b", text, re.MULTILINE | re.IGNORECASE))


def joined_units(units: Sequence[JudgeUnit], background: Background) -> list[JudgeUnit]:
    """The units of SVBench's official streaming evaluation: all linked questions of a video at once.

    A video without links has a unit without turns, since the script judges that too. A video of which a model answered
    no chain has no unit.
    """
    found: list[JudgeUnit] = []
    for model in dict.fromkeys(unit.model for unit in units if unit.kind == "chain"):
        own = {unit.id: unit for unit in units if unit.kind == "chain" and unit.model == model}
        for joined in background.joined:
            if any(chain_id in own and own[chain_id].answered for chain_id in joined.chain_ids):
                found.append(_joined_unit(model, joined, own, background))
    return found


def _joined_unit(model: str, joined: JoinedChains, own: Mapping[str, JudgeUnit], background: Background) -> JudgeUnit:
    turns: list[AnsweredTurn] = []
    places: list[list[dict[int, Place]]] = []
    for slot in joined.slots:
        places.append([])
        for questions in slot:
            unit = own.get(joined.chain_ids[questions.chain] or "")
            by_index = {turn.turn_index: turn for turn in unit.turns} if unit is not None else {}
            here: dict[int, Place] = {}
            for number, index in enumerate(questions.questions):
                if unit is not None and index in by_index:
                    here[number] = (unit.id, index)
                    turns.append(by_index[index])
            places[-1].append(here)
    video = background.videos.get(joined.video_id)
    return JudgeUnit(
        model=model,
        kind="dialogue",
        id=joined.id,
        video_id=joined.video_id,
        turns=tuple(turns),
        linked=tuple(_joined_links(places, background)),
        lists=_lists(places),
        duration_s=video.duration_s if video else None,
        official=True,
    )


def _lists(places: Sequence[Sequence[Mapping[int, Place]]]) -> tuple[tuple[int, ...], ...]:
    """Indices of the turns of each list, in the order of the slots."""
    found: list[tuple[int, ...]] = []
    at = 0
    for questions in (questions for slot in places for questions in slot):
        found.append(tuple(range(at, at + len(questions))))
        at += len(questions)
    return tuple(found)


def _joined_links(places: Sequence[Sequence[Mapping[int, Place]]], background: Background) -> Iterable[LinkedTurns]:
    """Relations between the linked questions of one chain, the last list of its slot, and the first of the next."""
    starts: list[list[int]] = []
    at = 0
    for slot in places:
        starts.append([])
        for questions in slot:
            starts[-1].append(at)
            at += len(questions)
    for index, (before, after) in enumerate(pairwise(places)):
        if not before or not after:
            continue
        for place, (number, source) in enumerate(before[-1].items()):
            target = after[0].get(number)
            relation = background.relation(source, target) if target is not None else None
            if relation is not None:
                yield LinkedTurns(
                    starts[index][-1] + place, starts[index + 1][0] + list(after[0]).index(number), relation
                )
