"""Gold: copies of units in which faults are planted, that measure annotators.

A planted fault is one that people should catch, taken from a closed list. Each comes from the benchmark itself: an
answer of another turn of the video, a question about another video, evidence from another scene. Everything here is a
pure function; `gold_units` keeps gold in the database.
"""

import copy
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reeltalk.metrics.uncertainty import Proportion, wilson
from reeltalk.schema.record import Json


class Fault(StrEnum):
    """What is wrong with a planted turn."""

    WRONG_ANSWER = "wrong_answer"
    """The answer of another turn of the same video."""
    LEAKS = "leaks"
    """The question says its answer."""
    WRONG_TIME = "wrong_time"
    """Evidence from a scene that the unit is not about."""
    NOT_IN_VIDEO = "not_in_video"
    """Question and answer of a turn of another video."""
    LANGUAGE = "language"
    """The question is in another language than the rest."""
    ABILITY_MISMATCH = "ability_mismatch"
    """The labels of a turn that asks for something else."""


@dataclass(frozen=True)
class Remedy:
    """How a fault is rightly dealt with."""

    reasons: frozenset[str]
    """Reasons for rejecting that fit it."""
    fields: frozenset[str]
    """Fields of which at least one is edited where the fault is put right."""


REMEDIES: Final[dict[Fault, Remedy]] = {
    Fault.WRONG_ANSWER: Remedy(frozenset({"wrong_answer"}), frozenset({"references", "correct_option"})),
    Fault.LEAKS: Remedy(frozenset({"leaks", "too_easy"}), frozenset({"question"})),
    Fault.WRONG_TIME: Remedy(frozenset({"wrong_time"}), frozenset({"evidence", "asked_at_s"})),
    Fault.NOT_IN_VIDEO: Remedy(frozenset({"not_in_video"}), frozenset({"question"})),
    Fault.LANGUAGE: Remedy(frozenset({"language"}), frozenset({"question"})),
    Fault.ABILITY_MISMATCH: Remedy(frozenset({"ability_mismatch"}), frozenset({"labels"})),
}
LARGEST_SHARE: Final = 1 / 3
"""Of a unit's turns at most so many are made faulty, and one at least: gold looks like any other unit."""

_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CHINESE: Final = ("接下来视频里发生了什么?", "这个人现在在做什么?", "画面里有哪些东西?", "他为什么这样做?")
_ENGLISH: Final = (
    "What happens next in the video?",
    "What is this person doing now?",
    "Which things can be seen here?",
    "Why does the person do that?",
)


@dataclass(frozen=True)
class Source:
    """A unit that gold may be made of, and which others may lend a turn."""

    unit_id: str
    video_id: str
    content: Mapping[str, Json]
    """As a unit of task `turns` has it, its turns trusted to be right."""


@dataclass(frozen=True)
class Planted:
    """A copy of a unit with faults."""

    source: str
    """The id of the unit that it is a copy of."""
    content: dict[str, Json]
    faults: dict[str, Fault]
    """By place; all other places are as they were."""


def plant(sources: Sequence[Source], *, count: int, seed: int) -> list[Planted]:
    """Make gold of some units; the faults are spread evenly over the list of faults, as far as the units allow.

    Args:
        sources: All units there are.
        count: How many units of gold to make; fewer where fewer units can be made faulty.
        seed: Equal arguments give equal gold.
    """
    rng = random.Random(f"gold {seed}")
    ordered = sorted(sources, key=lambda source: source.unit_id)
    chosen = [source for source in ordered if len(source.content["turns"]) > 1]
    rng.shuffle(chosen)
    planted: dict[Fault, int] = dict.fromkeys(Fault, 0)
    made: list[Planted] = []
    for source in chosen:
        if len(made) == count:
            break
        content: dict[str, Json] = copy.deepcopy(dict(source.content))
        places = list(range(len(content["turns"])))
        rng.shuffle(places)
        faults: dict[str, Fault] = {}
        for place in places[: max(1, int(len(places) * LARGEST_SHARE))]:
            # The rarest fault so far comes first; those that this turn cannot have are passed over.
            for fault in sorted(Fault, key=lambda fault: (planted[fault], rng.random())):
                turn = _PLANTERS[fault](copy.deepcopy(content["turns"][place]), source, ordered, rng)
                if turn is not None:
                    content["turns"][place] = turn
                    faults[str(place)] = fault
                    planted[fault] += 1
                    break
        if faults:
            made.append(Planted(source.unit_id, content, faults))
    return made


Planter = Callable[[dict[str, Json], Source, Sequence[Source], random.Random], dict[str, Json] | None]


def _lent(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random, *, same: bool) -> Json:
    """A turn of the same video, or of another, that asks and answers something else; None where there is none."""
    found = [
        other
        for unit in sources
        if (unit.video_id == source.video_id) == same
        for other in unit.content["turns"]
        if other.get("references")
        and _plain(other["question"]) != _plain(turn["question"])
        and _plain(other["references"][0]) not in {_plain(text) for text in turn.get("references", ())}
    ]
    return rng.choice(found) if found else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _wrong_answer(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    if turn.get("options") and turn.get("correct_option") is not None and len(turn["options"]) > 1:
        wrong = [index for index in range(len(turn["options"])) if index != turn["correct_option"]]
        turn["correct_option"] = rng.choice(wrong)
        turn["references"] = [turn["options"][turn["correct_option"]]]
        return turn
    other = _lent(turn, source, sources, rng, same=True) if turn.get("references") else None
    return turn | {"references": other["references"][:1]} if other is not None else None


def _leaks(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    if not turn.get("references"):
        return None
    answer, question = turn["references"][0].strip().rstrip("."), turn["question"]
    if _HAN.search(question):
        return turn | {"question": f"已知“{answer}”,{question}"}
    return turn | {"question": f"Given that “{answer}”, {question[:1].lower()}{question[1:]}"}


def _wrong_time(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    own = [(clip["start_s"], clip["end_s"]) for clip in source.content.get("clips", ())]
    elsewhere = [
        scene
        for scene in source.content.get("scenes", ())
        if own and all(scene["end_s"] <= start or end <= scene["start_s"] for start, end in own)
    ]
    if not turn.get("evidence") or not elsewhere:
        return None
    scene = rng.choice(elsewhere)
    length = scene["end_s"] - scene["start_s"]
    start = round(scene["start_s"] + length * rng.uniform(0.1, 0.4), 1)
    end = round(scene["start_s"] + length * rng.uniform(0.6, 0.9), 1)
    return turn | {"evidence": [{"start_s": start, "end_s": end}]} if start < end else None


def _not_in_video(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    other = _lent(turn, source, sources, rng, same=False)
    if other is None or bool(other.get("options")) != bool(turn.get("options")):
        return None
    kept = {name: other[name] for name in ("question", "references", "options", "correct_option") if name in other}
    return turn | kept


def _language(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    return turn | {"question": rng.choice(_ENGLISH if _HAN.search(turn["question"]) else _CHINESE)}


def _ability_mismatch(turn: Json, source: Source, sources: Sequence[Source], rng: random.Random) -> Json:
    choices = sorted(
        {
            (vocabulary, tuple(other["labels"][vocabulary]))
            for vocabulary, labels in turn.get("labels", {}).items()
            for unit in sources
            for other in unit.content["turns"]
            if other.get("labels", {}).get(vocabulary) and not {*other["labels"][vocabulary]} & {*labels}
        }
    )
    if not choices:
        return None
    vocabulary, labels = rng.choice(choices)
    return turn | {"labels": turn["labels"] | {vocabulary: list(labels)}}


_PLANTERS: Final[dict[Fault, Planter]] = {
    Fault.WRONG_ANSWER: _wrong_answer,
    Fault.LEAKS: _leaks,
    Fault.WRONG_TIME: _wrong_time,
    Fault.NOT_IN_VIDEO: _not_in_video,
    Fault.LANGUAGE: _language,
    Fault.ABILITY_MISMATCH: _ability_mismatch,
}


class Outcome(StrEnum):
    """What an annotator made of one place of gold."""

    CAUGHT = "caught"
    """Rejected for a reason that fits, or edited where the fault is."""
    NOTICED = "noticed"
    """Rejected or edited, for another reason or elsewhere."""
    MISSED = "missed"
    FALSE_ALARM = "false_alarm"
    """Rejected or edited where nothing is wrong."""
    LEFT = "left"
    """Accepted where nothing is wrong."""
    SKIPPED = "skipped"
    """Not judged."""


def outcome(fault: Fault | None, draft: Json, value: Json) -> Outcome:
    """What somebody made of one place.

    Args:
        fault: What was planted there; None where nothing was.
        draft: What they were shown, as a value.
        value: What they handed in.
    """
    decision = value["decision"]
    if decision in (None, "skip"):
        return Outcome.SKIPPED
    touched = decision in ("reject", "edit")
    if fault is None:
        return Outcome.FALSE_ALARM if touched else Outcome.LEFT
    if not touched:
        return Outcome.MISSED
    remedy = REMEDIES[fault]
    if decision == "reject":
        fits = bool(remedy.reasons & {*value["reasons"]})
    else:
        fits = any(value[name] != draft[name] for name in remedy.fields)
    return Outcome.CAUGHT if fits else Outcome.NOTICED


@dataclass(frozen=True)
class Measured:
    """One annotator against gold. Intervals are Wilson's at 95 %."""

    caught: Proportion
    """Of the planted faults, those that they rejected or edited."""
    fitting: Proportion
    """Of the planted faults, those with a reason, or an edit, that fits."""
    false_alarms: Proportion
    """Of the places where nothing was planted, those that they rejected or edited."""


def measure(outcomes: Sequence[Outcome]) -> Measured:
    """One annotator's places of gold, together. Skipped places do not count."""
    count = {name: sum(found is name for found in outcomes) for name in Outcome}
    faults = count[Outcome.CAUGHT] + count[Outcome.NOTICED] + count[Outcome.MISSED]
    return Measured(
        wilson(count[Outcome.CAUGHT] + count[Outcome.NOTICED], faults),
        wilson(count[Outcome.CAUGHT], faults),
        wilson(count[Outcome.FALSE_ALARM], count[Outcome.FALSE_ALARM] + count[Outcome.LEFT]),
    )
