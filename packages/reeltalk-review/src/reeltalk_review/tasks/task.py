"""What a kind of review work defines, so that queues, undo, adjudication and agreement work for it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk_review.errors import InvalidValue

CodeScale = Literal["nominal", "ordinal", "interval", "set", "spans", "text"]
"""How codes are compared: as categories, ranks, amounts, sets of labels, intervals of time, or texts."""


REMARKS: Final[Mapping[str, Json]] = {"note": "", "unsure": False}
"""What every value has beside the decision: a note, and whether its person is unsure. Neither counts for agreement."""
LONGEST_TEXT: Final = 20_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
M = TypeVar("M", bound="Value")


class Value(BaseModel):
    """What every value of a person has: the remarks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: Text = ""
    unsure: bool = False

    @classmethod
    def parsed(cls: type[M], value: Json) -> M:
        """A value as a model.

        Raises:
            InvalidValue: It does not fit; names the first wrong field.
        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            problem = first["msg"].removeprefix("Value error, ")
            raise InvalidValue(f"{field}: {problem}" if field else problem, field=field) from None


def remarks_of(value: Json) -> tuple[bool, bool]:
    """Whether a value says that its person is unsure, and whether it has a note."""
    found = value or REMARKS
    return bool(found["unsure"]), bool(str(found["note"]).strip())


def remark_lines(value: Json) -> list[tuple[str, str]]:
    """The remarks of a value as labelled lines; none if it has none."""
    unsure, noted = remarks_of(value)
    return [*([("Unsure", "yes")] if unsure else []), *([("Note", value["note"])] if noted else [])]


@dataclass(frozen=True)
class Draft:
    """A unit of work before it is in the database."""

    target_table: str
    target_id: str
    title: str
    video_id: str | None
    content: Mapping[str, Json]
    """The draft and everything shown with it, as JSON."""


@dataclass(frozen=True, slots=True)
class Code:
    """One coded decision, as agreement compares it."""

    variable: str
    """For example `decision`, `question` or `cogme.target`."""
    scale: CodeScale
    value: Json
    """A label, a number, a text, a sorted list of labels for `set`, or a list of pairs of seconds for `spans`. None:
    this person decided nothing."""
    draft: str = ""
    """The text that everybody started from, for the scale `text`."""


class ReviewTask(ABC):
    """A kind of review work. Values are JSON; `content` is the content of a unit.

    The defaults fit a unit with one place for each turn, where no place rests on another.
    """

    kind: str
    """Its name in addresses and in the database, as `turns`."""
    title: str
    """Its name for people, as `Review turns`."""
    template: ClassVar[str]
    """The page that shows a unit, as `work_turns.html`."""
    order: ClassVar[Literal["films", "doubt"]] = "films"
    """The order in which people get the units of a new queue (`assigning.ORDERS`)."""
    asks_labels: ClassVar[bool] = False
    """True: people are asked for labels, whatever the queue says."""
    adjudicated: ClassVar[bool] = True
    """True: people should come to one result. False: each person's work counts by itself, as ratings do."""

    @abstractmethod
    def drafts(self, content: Content) -> Iterator[Draft]:
        """The units that a benchmark has for this work, in the order in which people work on them."""

    def places(self, content: Mapping[str, Json]) -> Sequence[str]:
        """The places of a unit that must be decided, in order: by default the index of each turn, from 0."""
        return [str(index) for index in range(len(content["turns"]))]

    @abstractmethod
    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored.

        Raises:
            InvalidValue: It cannot be stored; names the field.
        """

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """The part of the content that the annotator may see.

        Args:
            content: The whole content.
            values: The annotator's values so far, by place.
        """
        return content

    def passed(self, content: Mapping[str, Json], place: str) -> bool:
        """True if the draft passed checks, and all that were made: it may be accepted together with others."""
        return False

    def findings(self, content: Mapping[str, Json], place: str, value: Json) -> list[Json]:
        """What makes no sense in a value, as JSON for the editor: `field`, `turn`, `text`, `may_go_on`."""
        return []

    def lock_reason(self, content: Mapping[str, Json], values: Mapping[str, Json], place: str) -> str | None:
        """Why a place can no longer be changed; None if it can."""
        return None

    def is_decided(self, value: Json) -> bool:
        """True if a value is a decision, not only something being typed."""
        return value is not None and value["decision"] is not None

    @abstractmethod
    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The part of a value that two people must share to agree, without notes and the like."""

    def affects_others(self, before: Json, after: Json) -> bool:
        """True if, after this change, the dependent places must be looked at again.

        Args:
            before: The earlier value; None for a place that had none.
            after: The new value.
        """
        return False

    def dependents(self, content: Mapping[str, Json], place: str) -> Iterable[str]:
        """The places of the unit that rest on this one."""
        return ()

    @abstractmethod
    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        """The value that people start from: the draft, undecided."""

    @abstractmethod
    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """The codes that agreement compares."""

    @abstractmethod
    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """The value as labelled lines, for adjudicators and for the history."""


def turn_at(content: Mapping[str, Json], place: str) -> Json:
    """The turn at a place.

    Raises:
        InvalidValue: The unit has no such turn.
    """
    turns: list[Json] = content["turns"]
    if not (place.isascii() and place.isdigit() and place == str(int(place)) and int(place) < len(turns)):
        raise InvalidValue(f"there are turns 0 to {len(turns) - 1}, not {place[:20]!r}", field="place")
    return turns[int(place)]


def spoken_place(place: str) -> str:
    """A place for people, who count from 1: `turn 1` for `0`, `the link from turn 3 to turn 1` for `2-0`."""
    if place.isdecimal():
        return f"turn {int(place) + 1}"
    source, _, target = place.partition("-")
    if source.isdecimal() and target.isdecimal():
        return f"the link from turn {int(source) + 1} to turn {int(target) + 1}"
    return {"board": "all links", "whole": "the whole dialogue"}.get(place, place)
