"""What a kind of work says about itself, so that queues, blind copies, undo, adjudication and agreement work for it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from reeltalk.schema.record import Json
from reeltalk.store.content import Content

CodeScale = Literal["nominal", "ordinal", "interval", "set", "spans", "text"]
"""What differences of codes mean: categories, ranks, amounts, sets of labels, stretches of time, words."""


@dataclass(frozen=True)
class Draft:
    """A unit as it is loaded from a benchmark."""

    target_table: str
    target_id: str
    title: str
    video_id: str | None
    content: Mapping[str, Json]
    """The draft and all that is shown with it, as JSON."""


@dataclass(frozen=True, slots=True)
class Code:
    """One coded decision, as agreement compares it."""

    variable: str
    """As `decision`, `question` or `cogme.target`."""
    scale: CodeScale
    value: Json
    """A label, a number, a text, a sorted list of labels for a set, or of pairs of seconds for stretches of time; None
    where this person decided nothing."""
    draft: str = ""
    """The text that everybody started from, where the scale is `text`."""


class ReviewTask(Protocol):
    """A kind of work. Values are JSON; `content` is a unit's."""

    kind: str
    """As `turns`; part of addresses and of the database."""
    title: str
    """As people read it, as `Review turns`."""
    template: str
    """The page that shows a unit, as `work_turns.html`."""
    adjudicated: bool
    """True where people should come to one result; False where each one's work counts by itself, as ratings do."""

    def drafts(self, content: Content) -> Iterator[Draft]:
        """The units that a benchmark has for it, in the order in which they are worked on."""

    def places(self, content: Mapping[str, Json]) -> Sequence[str]:
        """The places of a unit that must be decided, in order."""

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored.

        Raises:
            InvalidValue: It cannot be; names the field.
        """

    def shown(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """What the person who works on a unit may see of its content, given their values so far by place."""

    def locked(self, content: Mapping[str, Json], values: Mapping[str, Json], place: str) -> str | None:
        """Why a place can no longer be changed, or None where it can."""

    def decided(self, value: Json) -> bool:
        """True where a value is a decision, not just something being typed."""

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """What two people must have alike to agree: a value without its note, and whatever else does not matter."""

    def bears_on(self, before: Json, after: Json) -> bool:
        """True where a change is one that what depends on this place must be looked at again for.

        Args:
            before: The value that was there; None for the draft, as it is in the unit's content.
            after: The value that is there now.
        """

    def dependents(self, content: Mapping[str, Json], place: str) -> Iterable[str]:
        """The places of the unit that rest on this one."""

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        """The value with which somebody starts: the draft, undecided."""

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """What agreement compares."""

    def lines(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """The value as labelled lines, for an adjudicator and for the history."""
