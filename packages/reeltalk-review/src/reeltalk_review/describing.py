"""What lists and orders of units need to know of each unit's content: words, flagged turns, doubt.

Rows of units are too large to be read for a list, so this is stored when a unit is new or renewed.
"""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, Final

from sqlalchemy import ColumnElement, type_coerce
from sqlalchemy import Text as AnyText

from reeltalk.schema.gates import DIFFICULTY, VERIFIED, GateOutcome
from reeltalk.schema.record import Json
from reeltalk_review.tables import UnitRow, canonical_json
from reeltalk_review.tasks.task import ReviewTask
from reeltalk_review.tasks.turns import UNIT

LONGEST_WORDS: Final = 20_000
"""Characters of the words of a unit."""
FLAGGED_DOUBT: Final = 0.5
"""The doubt that one flagged check leaves, and one that could not be made leaves half as much."""
_TEXTS: Final = ("question", "references", "options", "answer")
_PARTS: Final = ("before", "after")
"""The two chains of a unit of links."""


def content_columns(
    task: ReviewTask | None, names: Iterable[str | None], content: Mapping[str, Json]
) -> dict[str, Json]:
    """The columns of a unit that follow from its content.

    Args:
        task: Its kind of work. Of units whose questions appear one by one, only the visible ones are searched.
        names: The unit's names.
        content: The unit's content.
    """
    shown = task.visible_content(content, {}) if task is not None else content
    words = "\n".join(map(searched, [*(name for name in names if name), *_texts(shown)]))
    return {"words": words[:LONGEST_WORDS], "flags": flagged_turns(content), "doubt": doubt_of(content)}


def searched(text: str) -> str:
    """A text in the form in which words are compared: without case, with single spaces."""
    return " ".join(text.casefold().split())


def has_words(text: str) -> ColumnElement[bool]:
    """As SQL about a unit: its names and texts contain a text, in any case."""
    return type_coerce(UnitRow.words, AnyText).contains(canonical_json(searched(text))[1:-1], autoescape=True)


def flagged_turns(content: Mapping[str, Json]) -> int:
    """Number of turns that a check of construction flagged."""
    return sum(
        any(check["outcome"] == GateOutcome.FLAGGED for check in found)
        for part in _parts(content)
        for place, found in part.get("checks", {}).items()
        if place != UNIT
    )


def doubt_of(content: Mapping[str, Json]) -> float:
    """How doubtful a unit is, 0 to 1: the mean over its turns, and over the unit itself if it was checked as a whole.

    The doubts of one turn add up like independent chances: flagged checks, judges who disagree, attackers that answer
    it, and proposed labels that are close to others.
    """
    chances: list[list[float]] = []
    for part in _parts(content):
        checks, proposals = part.get("checks", {}), part.get("proposals", {})
        places = [*map(str, range(len(part.get("turns", ())))), *([UNIT] if UNIT in checks else [])]
        for place in places:
            chances.append([_doubt_of_check(check) for check in checks.get(place, ())])
            margins = (found["margin"] for found in proposals.get(place, {}).values())
            chances[-1] += [1.0 if margin is None else 1 - 2 * margin for margin in margins]
    return round(fmean(map(_either, chances)), 4) if chances else 0.0


def _doubt_of_check(check: Mapping[str, Any]) -> float:
    by_outcome = {GateOutcome.FLAGGED: FLAGGED_DOUBT, GateOutcome.UNCHECKED: FLAGGED_DOUBT / 2}.get(
        check["outcome"], 0.0
    )
    value = check.get("value")
    if value is None or check["gate"] not in (VERIFIED, DIFFICULTY):
        return by_outcome
    measured = 1 - value if check["gate"] == VERIFIED else value
    return _either((by_outcome, min(1.0, max(0.0, measured))))


def _either(chances: Iterable[float]) -> float:
    none = 1.0
    for chance in chances:
        none *= 1 - chance
    return 1 - none


def _texts(content: Mapping[str, Json]) -> Iterator[str]:
    for part in _parts(content):
        for turn in part.get("turns", ()):
            for name in _TEXTS:
                found = turn.get(name)
                yield from [found] if isinstance(found, str) else (found or ())


def _parts(content: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    return [content, *(content[name] for name in _PARTS if isinstance(content.get(name), dict))]
