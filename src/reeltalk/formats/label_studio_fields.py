"""What of a turn stands in which control of a Label Studio task, written and read.

`draft_regions` makes the regions of a prediction; `read_regions` reads the regions of an annotation back. Comparing
what was read with what the draft itself would give tells what a person changed, so that nothing else is touched.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reeltalk.formats.label_studio_documents import Region
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json

VIDEO: Final = "video"
EVIDENCE: Final = "evidence"
SCENE: Final = "Scene"
"""Marks on the time line that show where the scene is; they are shown, not read."""
QUESTION, ANSWERS, ASKED, LABELS, OPTIONS, CORRECT = "question", "answers", "asked", "labels", "options", "correct"
DECISION, REASONS, NOTE = "decision", "reasons", "note"
CONTROLS: Final = (DECISION, REASONS, QUESTION, ANSWERS, OPTIONS, CORRECT, ASKED, LABELS, NOTE)
"""Controls that every turn has, as `question_0`; the evidence of all turns is on the time line of the video."""
KINDS: Final = {
    QUESTION: "textarea",
    ANSWERS: "textarea",
    OPTIONS: "textarea",
    NOTE: "textarea",
    ASKED: "number",
    CORRECT: "number",
    LABELS: "taxonomy",
    DECISION: "choices",
    REASONS: "choices",
}
"""The type of each control, in the spelling of a result; a result holds its value under the same word."""
VALUE_KEYS: Final = {kind: "text" if kind == "textarea" else kind for kind in KINDS.values()}
TIMELINE: Final = "timelinelabels"

RULER_HZ: Final = 25.0
"""Ticks per second of a time line where the frame rate is unknown, or none that a time line can have."""

Range = tuple[float, float]


@dataclass
class Said:
    """What the controls of one turn hold; an empty tuple where a control holds nothing."""

    question: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    note: tuple[str, ...] = ()
    asked: tuple[float, ...] = ()
    correct: tuple[float, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    """Paths of vocabulary and label."""
    decision: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    evidence: tuple[Range, ...] = ()
    """First and last tick."""


def turn_name(number: int) -> str:
    """The label of a turn on the time line; `number` from 0, the name from 1."""
    return f"Turn {number + 1}"


def expressible(label: str) -> bool:
    """True if a labelling config can hold a label: `$` begins a field of the task, `{{idx}}` is the turn's number.

    An XML document cannot hold control characters.
    """
    return label != "" and label == label.strip() and label.isprintable() and label[0] != "$" and "{{" not in label


def ticks(interval: Interval, rate_hz: float) -> dict[str, Json]:
    """An interval on the time line, whose first tick is 1.

    Label Studio shows second `tick / rate`, whatever frames the file has: so ticks are times, and no frame is counted.
    """
    start, end = (max(1, round(moment * rate_hz)) for moment in (interval.start_s, interval.end_s))
    return {"start": start, "end": end}


def seconds(ends: Range, rate_hz: float) -> Interval:
    """The interval that a person marked. The first tick stands for the start of the video."""
    start, end = ends
    return Interval(start_s=0.0 if start <= 1 else start / rate_hz, end_s=end / rate_hz)


def label_paths(turn: Turn) -> list[list[str]]:
    """A turn's labels as paths of vocabulary and label, without those that a config cannot hold."""
    return [
        [vocabulary, label]
        for vocabulary, labels in turn.labels.items()
        for label in dict.fromkeys(labels)
        if expressible(vocabulary) and expressible(label)
    ]


def draft_regions(turn: Turn, number: int, rate_hz: float) -> list[dict[str, Json]]:
    """The regions of a prediction that say what a turn says.

    Args:
        turn: The turn.
        number: Its place in the task, from 0.
        rate_hz: Ticks per second of the time line.
    """
    held: dict[str, Json] = {
        QUESTION: [turn.question] if turn.question else None,
        ANSWERS: list(turn.references) or None,
        OPTIONS: list(turn.options) if turn.options else None,
        CORRECT: turn.correct_option + 1 if turn.correct_option is not None else None,
        ASKED: turn.asked_at_s,
        LABELS: label_paths(turn) or None,
    }
    regions = [
        {
            "id": f"turn{number}-{name}",
            "from_name": f"{name}_{number}",
            "to_name": f"turn_{number}",
            "type": KINDS[name],
            "value": {VALUE_KEYS[KINDS[name]]: value},
        }
        for name, value in held.items()
        if value is not None
    ]
    marks = [
        mark(f"turn{number}-evidence{place}", turn_name(number), interval, rate_hz)
        for place, interval in enumerate(turn.evidence)
    ]
    return regions + marks


def mark(name: str, label: str, interval: Interval, rate_hz: float) -> dict[str, Json]:
    """A region of the time line."""
    return {
        "id": name,
        "from_name": EVIDENCE,
        "to_name": VIDEO,
        "type": TIMELINE,
        "value": {"ranges": [ticks(interval, rate_hz)], TIMELINE: [label]},
    }


@dataclass
class Read:
    """What an annotation holds, by turn, and what none of our controls is."""

    turns: dict[int, Said] = field(default_factory=lambda: defaultdict(Said))
    strange: list[str] = field(default_factory=list)
    """Names of controls that are not ours, and what else was not understood."""


def read_regions(regions: Iterable[Region], places: int) -> Read:
    """What stands in the controls.

    Args:
        regions: The regions of an annotation.
        places: How many turns the task has.
    """
    read = Read()
    numbers = {turn_name(number): number for number in range(places)}
    for region in regions:
        if region.from_name == EVIDENCE:
            _read_marks(region.value, numbers, read)
            continue
        name, _, digits = (region.from_name or "").rpartition("_")
        number = int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 9 else places
        if name not in CONTROLS or number >= places:
            read.strange.append(region.from_name or f"a {region.type or 'region'} without a control")
            continue
        said = read.turns[number]
        setattr(said, name, getattr(said, name) + _values(name, region.value, region.from_name or "", read))
    return read


def _read_marks(value: Mapping[str, Any], numbers: Mapping[str, int], read: Read) -> None:
    ranges, labels = value.get("ranges"), value.get(TIMELINE)
    ends = [
        (item["start"], item["end"])
        for item in (ranges if isinstance(ranges, list) else [])
        if isinstance(item, dict) and _is_number(item.get("start")) and _is_number(item.get("end"))
    ]
    if not ends or not isinstance(labels, list):
        read.strange.append("a mark on the time line without a start, an end or a label")
        return
    for label in labels:
        if label == SCENE:
            continue
        if not isinstance(label, str) or label not in numbers:
            read.strange.append(f"a mark on the time line that names no turn: {label!r:.60}")
            continue
        said = read.turns[numbers[label]]
        said.evidence += tuple((float(start), float(end)) for start, end in ends)


def _values(name: str, value: Mapping[str, Any], control: str, read: Read) -> tuple[Any, ...]:
    """What a region says: texts, a number, names, or paths; each of the type that its control has."""
    found = value.get(VALUE_KEYS[KINDS[name]])
    items = found if isinstance(found, list) else [] if found is None else [found]
    good: list[Any]
    if KINDS[name] == "number":
        good = [float(item) for item in items if _is_number(item)]
    elif KINDS[name] == "taxonomy":
        good = [tuple(item) for item in items if isinstance(item, list) and all(isinstance(part, str) for part in item)]
    else:
        good = [item for item in items if isinstance(item, str)]
    if len(good) != len(items):
        read.strange.append(f"{control}: a value of another type")
    return tuple(good)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
