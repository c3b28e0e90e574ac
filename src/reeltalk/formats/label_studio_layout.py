"""Label Studio's JSON and labelling config: tasks, exports, and the control for each part of a turn.

Full JSON has a task with its annotations, JSON-MIN a row an annotation, with the task's data and the controls' values
side by side (`prettify_result` of label-studio-sdk's converter makes one value of a list of one).

`draft_regions` makes the regions of a prediction; `read_regions` reads the regions of an annotation back. The importer
compares the two, and changes only the parts of a turn that a person changed.

The config uses tags of the community edition. The paid `Chat` tag cannot edit turns that were imported; a `Repeater`
with a text field for each part of a turn can.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from xml.etree import ElementTree as ET

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.schema.record import Json
from reeltalk.schema.review import REASON_TITLES, Decision
from reeltalk.store.documents import SourceModel, parse


class LabelStudioOptions(BaseModel):
    """The location of the videos for a Label Studio server."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    media_url: str | None = None
    """Address before each video's name, such as https://host/videos/; by default the server's own local files."""
    videos: Literal["copy", "link", "none"] = "copy"
    """copy: videos are copied into the folder; link: hard-linked, if the file system allows it; none: left out."""


DEFAULTS: Final = LabelStudioOptions()


SOURCE: Final = "reeltalk"
"""Key of a task's data that holds the facts the importer needs."""
LAYOUT: Final = 1
"""Version of these facts. Raised when their meaning changes."""
KEPT: Final = "kept"
"""Folder of the rows that are in no task."""
MIN_OWN: Final = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}
"""Keys that JSON-MIN writes next to data and controls."""


class NumberedRow(BaseModel):
    """A row of a table with its place in it, so that rows of many tasks come back in order."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    table: str
    row: Annotated[int, Field(ge=0, lt=10**9)]
    record: dict[str, Json]


class TaskSource(BaseModel):
    """The facts in a task's data that the importer needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    layout: int
    units: list[NumberedRow]
    """The chains and dialogues whose turns the task has, in order."""
    rows: list[NumberedRow] = Field(default_factory=list)
    """Their videos, clips and linkages."""
    rate_hz: Annotated[float, Field(gt=0, le=1000)]
    """Ticks per second of the time line."""
    kept: dict[str, int] = Field(default_factory=dict)
    """Number of rows, by table, that only the exported folder holds."""


class Region(SourceModel):
    """One result of an annotation; a relation between two has no control."""

    from_name: str | None = None
    type: str | None = None
    value: dict[str, Any] = Field(default_factory=dict)


class Annotation(SourceModel):
    """One person's annotation of a task."""

    id: int | str | None = None
    result: list[Region] = Field(default_factory=list)
    completed_by: int | str | dict[str, Any] | None = None
    was_cancelled: bool | None = None
    ground_truth: bool | None = None
    created_at: str | None = None
    updated_at: str | None = None


class FullTask(SourceModel):
    """A task of full JSON."""

    id: int | str | None = None
    data: dict[str, Any]
    annotations: list[Annotation] = Field(default_factory=list)
    drafts: list[Any] | None = None


@dataclass
class LabelStudioTask:
    """A task that was read, from full JSON or JSON-MIN."""

    file: Path
    place: str
    source: TaskSource
    id: int | str | None = None
    annotations: list[tuple[str, Annotation]] = field(default_factory=list)
    """Each with its JSON path."""
    drafts: int = 0
    """Number of annotations that were begun and not submitted."""


def read_tasks(file: Path, value: Json) -> list[LabelStudioTask]:
    """The tasks of an export, or of a file of tasks.

    Raises:
        InputError: It is not an export, or a task did not come from reeltalk; names the place.
    """
    if not isinstance(value, list):
        raise InputError("must be a list of tasks", file=file, place="$", value=value, hint="export JSON or JSON-MIN")
    tasks = []
    for number, item in enumerate(value):
        place = f"$[{number}]"
        if isinstance(item, dict) and "data" not in item and SOURCE in item:
            tasks.append(_min_task(file, place, item))
        else:
            tasks.append(_full_task(file, place, item))
    return tasks


def _full_task(file: Path, place: str, item: Json) -> LabelStudioTask:
    full = parse(FullTask, item, file=file, place=place)
    source = _source(file, f"{place}.data", full.data)
    annotations = [(f"{place}.annotations[{number}]", annotation) for number, annotation in enumerate(full.annotations)]
    return LabelStudioTask(file, place, source, full.id, annotations, len(full.drafts or ()))


def _min_task(file: Path, place: str, item: dict[str, Any]) -> LabelStudioTask:
    source = _source(file, place, item)
    regions = [
        {"from_name": name, "value": found}
        for name, value in item.items()
        if name not in MIN_OWN and _is_control(name)
        for found in _min_values(name, value)
    ]
    given = {
        "id": item.get("annotation_id"),
        "result": regions,
        "completed_by": item.get("annotator"),
        **{key: item.get(key) for key in ("created_at", "updated_at")},
    }
    task = LabelStudioTask(file, place, source, item.get("id"))
    # A task without annotations is a row too.
    if item.get("annotation_id") is not None or regions:
        task.annotations.append((place, parse(Annotation, given, file=file, place=place)))
    return task


def _is_control(name: str) -> bool:
    return name == "evidence" or name.rpartition("_")[2].isdecimal()


def _min_values(name: str, value: Json) -> list[dict[str, Any]]:
    """Values that JSON-MIN shortened, in the form of full JSON."""
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            found.append(item)
        elif isinstance(item, str):
            # The converter drops the type. Each of our controls reads only one of the two keys.
            found.append({"text": [item], "choices": [item]})
        else:
            found.append({"": item})
    return found


def _source(file: Path, place: str, data: dict[str, Any]) -> TaskSource:
    if SOURCE not in data:
        raise InputError(
            f"not a task that reeltalk exported: its data has no '{SOURCE}'",
            file=file,
            place=place,
            hint="import the tasks of 'reeltalk export label-studio' into Label Studio, and keep their data",
        )
    source = parse(TaskSource, data[SOURCE], file=file, place=f"{place}.{SOURCE}")
    if source.layout != LAYOUT:
        raise InputError(
            "exported by another version of reeltalk",
            file=file,
            place=f"{place}.{SOURCE}.layout",
            value=source.layout,
            hint=f"this version reads layout {LAYOUT}; import it with the version that exported it",
        )
    return source


def moment_of(text: str | None, file: Path, place: str) -> datetime | None:
    """A time as Label Studio writes it; in UTC if it says no zone.

    Raises:
        InputError: It is no time.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError("not a time", file=file, place=place, value=text, hint="as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


VIDEO: Final = "video"
EVIDENCE: Final = "evidence"
SCENE: Final = "Scene"
"""Label of marks that show the scene on the time line. The importer ignores them."""
QUESTION, ANSWERS, ASKED, LABELS, OPTIONS, CORRECT = "question", "answers", "asked", "labels", "options", "correct"
DECISION, REASONS, NOTE = "decision", "reasons", "note"
CONTROLS: Final = (DECISION, REASONS, QUESTION, ANSWERS, OPTIONS, CORRECT, ASKED, LABELS, NOTE)
"""Controls of every turn, named `question_0` and so on. The evidence of all turns is on the video's time line."""
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
"""Ticks per second of a time line if the frame rate is unknown or unsuitable."""

Range = tuple[float, float]


@dataclass
class TurnRegions:
    """Values of the controls of one turn; an empty tuple for an empty control."""

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


def interval_ticks(interval: Interval, rate_hz: float) -> dict[str, Json]:
    """An interval on the time line, whose first tick is 1.

    Label Studio shows second `tick / rate`, whatever frames the file has. Ticks are therefore times, not frame numbers.
    """
    start, end = (max(1, round(moment * rate_hz)) for moment in (interval.start_s, interval.end_s))
    return {"start": start, "end": end}


def marked_interval(ends: Range, rate_hz: float) -> Interval:
    """The interval that a person marked. The first tick is the start of the video."""
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
    """The regions of a prediction with the content of a turn.

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
        "value": {"ranges": [interval_ticks(interval, rate_hz)], TIMELINE: [label]},
    }


@dataclass
class AnnotationRegions:
    """The regions of an annotation by turn, and the names of unknown controls."""

    turns: dict[int, TurnRegions] = field(default_factory=lambda: defaultdict(TurnRegions))
    strange: list[str] = field(default_factory=list)
    """Names of controls that are not ours, and of other results that could not be read."""


def read_regions(regions: Iterable[Region], places: int) -> AnnotationRegions:
    """Read the values of all controls.

    Args:
        regions: The regions of an annotation.
        places: Number of turns of the task.
    """
    read = AnnotationRegions()
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


def _read_marks(value: Mapping[str, Any], numbers: Mapping[str, int], read: AnnotationRegions) -> None:
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


def _values(name: str, value: Mapping[str, Any], control: str, read: AnnotationRegions) -> tuple[Any, ...]:
    """The value of a region: texts, a number, names, or paths, by the type of its control."""
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


INDEX: Final = "{{idx}}"
DECISIONS: Final = {
    Decision.ACCEPT: "Accept",
    Decision.EDIT: "Accept with my changes",
    Decision.REJECT: "Reject",
    Decision.SKIP: "Cannot tell",
}


def labelling_config(turns: Iterable[Turn], *, most: int) -> str:
    """The config for tasks with these turns, as XML.

    Args:
        turns: All turns. Their labels outside the known vocabularies are offered too.
        most: Number of turns of the largest task.
    """
    turns = list(turns)
    view = ET.Element("View")
    ET.SubElement(view, "Header", value="$title", size="4")
    ET.SubElement(view, "Video", name=VIDEO, value="$video", framerate="$fps", timelineHeight="120")
    # A server refuses different time line labels for each task, so all tasks have the labels of the largest one.
    marks = ET.SubElement(view, "TimelineLabels", name=EVIDENCE, toName=VIDEO)
    for name in (SCENE, *map(turn_name, range(most))):
        ET.SubElement(marks, "Label", value=name)
    turn = ET.SubElement(view, "Repeater", on="$turns", indexFlag=INDEX)
    ET.SubElement(turn, "Header", value=f"$turns[{INDEX}].heading", size="4")
    ET.SubElement(turn, "Text", name=f"turn_{INDEX}", value=f"$turns[{INDEX}].text")
    decision = _control(turn, "Choices", DECISION, choice="single", showInline="true")
    decision.attrib |= {"required": "true", "requiredMessage": "Every turn needs a decision"}
    for value, words in DECISIONS.items():
        ET.SubElement(decision, "Choice", value=words, alias=value)
    reasons = _control(turn, "Choices", REASONS, choice="multiple", visibleWhen="choice-selected")
    reasons.attrib |= {"whenTagName": f"{DECISION}_{INDEX}", "whenChoiceValue": DECISIONS[Decision.REJECT]}
    for reason, words in REASON_TITLES.items():
        ET.SubElement(reasons, "Choice", value=words, alias=reason)
    _text(turn, "Question", QUESTION, maxSubmissions="1")
    _text(turn, "Reference answers, the preferred one first", ANSWERS)
    if any(each.options is not None for each in turns):
        _text(turn, "Options in order", OPTIONS)
        ET.SubElement(turn, "Header", value="Right option, counted from 1", size="6")
        _control(turn, "Number", CORRECT, min="1", step="1")
    ET.SubElement(turn, "Header", value="Asked at, in seconds of the video", size="6")
    _control(turn, "Number", ASKED, min="0", step="any")
    ET.SubElement(turn, "Header", value="Labels", size="6")
    labels = _control(turn, "Taxonomy", LABELS, leafsOnly="true")
    for vocabulary, names in offered_labels(turns).items():
        parent = ET.SubElement(labels, "Choice", value=vocabulary)
        for name in names:
            ET.SubElement(parent, "Choice", value=name)
    _text(turn, "Note", NOTE, maxSubmissions="1")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def offered_labels(turns: Iterable[Turn]) -> dict[str, list[str]]:
    """Labels by vocabulary: all known ones, then other labels of turns that a config can hold."""
    offered: dict[str, dict[str, None]] = defaultdict(dict)
    for vocabulary, kind in VOCABULARIES.items():
        offered[vocabulary] = dict.fromkeys(member.value for member in kind)
    for turn in turns:
        for vocabulary, labels in turn.labels.items():
            if expressible(vocabulary):
                offered[vocabulary] |= dict.fromkeys(filter(expressible, labels))
    return {vocabulary: list(labels) for vocabulary, labels in offered.items() if labels}


def _control(turn: ET.Element, tag: str, name: str, **attributes: str) -> ET.Element:
    # The converter of exports knows a repeated control by the index in `toName`.
    return ET.SubElement(turn, tag, {"name": f"{name}_{INDEX}", "toName": f"turn_{INDEX}", **attributes})


def _text(turn: ET.Element, heading: str, name: str, **attributes: str) -> None:
    ET.SubElement(turn, "Header", value=heading, size="6")
    _control(turn, "TextArea", name, editable="true", rows="2", showSubmitButton="true", **attributes)
