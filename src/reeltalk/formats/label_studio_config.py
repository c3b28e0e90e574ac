"""The labelling config: which controls annotators see, of tags that Label Studio's community edition has.

Its paid `Chat` tag cannot edit turns that were imported; a `Repeater` with a text field a part of a turn can.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree as ET

from reeltalk.formats.label_studio_fields import (
    ANSWERS,
    ASKED,
    CORRECT,
    DECISION,
    EVIDENCE,
    LABELS,
    NOTE,
    OPTIONS,
    QUESTION,
    REASONS,
    SCENE,
    VIDEO,
    expressible,
    turn_name,
)
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.schema.review import Decision, Reason

INDEX: Final = "{{idx}}"
DECISIONS: Final = {
    Decision.ACCEPT: "Accept",
    Decision.EDIT: "Accept with my changes",
    Decision.REJECT: "Reject",
    Decision.SKIP: "Cannot tell",
}
REASON_WORDS: Final = {
    Reason.NOT_IN_VIDEO: "Not in the video",
    Reason.AMBIGUOUS: "Ambiguous",
    Reason.LEAKS: "The answer can be known without the video",
    Reason.ABILITY_MISMATCH: "Does not test what its labels say",
    Reason.TOO_EASY: "Too easy",
    Reason.WRONG_TIME: "Wrong time",
    Reason.WRONG_ANSWER: "Wrong answer",
    Reason.LANGUAGE: "Language",
    Reason.OTHER: "Other: say what in the note",
}


def labelling_config(turns: Iterable[Turn], *, most: int) -> str:
    """The config for tasks with these turns, as XML.

    Args:
        turns: All turns; labels that no known vocabulary has are offered too.
        most: How many turns the largest task has.
    """
    turns = list(turns)
    view = ET.Element("View")
    ET.SubElement(view, "Header", value="$title", size="4")
    ET.SubElement(view, "Video", name=VIDEO, value="$video", framerate="$fps", timelineHeight="120")
    # A server refuses tasks that bring the labels of a time line with them, so all have those of the largest.
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
    for reason, words in REASON_WORDS.items():
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
    """Labels by vocabulary: all known ones, then those that turns have besides, as far as a config can hold them."""
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
