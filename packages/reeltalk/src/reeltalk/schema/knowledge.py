"""A knowledge graph's content without RDF: entities, events and facts."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import ClipKey, EntityKey, EventKey, Finite, Name, Record, Seconds, VideoKey

Share = Annotated[Finite, Field(ge=0, le=1)]


class Entity(Record):
    """A thing that a video shows, in one clip or across several."""

    id: EntityKey
    video_id: VideoKey
    class_name: Name
    """Its kind, such as `kitchen table`."""
    clip_ids: tuple[ClipKey, ...] = ()
    attributes: dict[str, str] = Field(default_factory=dict)


class Event(Record):
    """Something that happens: an action of an agent on objects."""

    id: EventKey
    video_id: VideoKey
    clip_id: ClipKey | None = None
    index: int
    """Order among the events of the clip, from 0."""
    action: Name
    agent: EntityKey | None = None
    main_objects: tuple[EntityKey, ...] = ()
    target_objects: tuple[EntityKey, ...] = ()
    interval: Interval | None = None


class Fact(Record):
    """`subject predicate object`, true during `interval` or, if that is None, throughout the clip or video."""

    video_id: VideoKey
    clip_id: ClipKey | None = None
    subject: Name
    predicate: Name
    object: Name
    interval: Interval | None = None


class Box(BaseModel):
    """A rectangle of a picture as shares of its width and height, from the upper left corner."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: Share
    top: Share
    right: Share
    bottom: Share

    @model_validator(mode="after")
    def _has_an_area(self) -> Self:
        if self.right <= self.left or self.bottom <= self.top:
            raise ValueError("a box must be wider and higher than nothing")
        return self

    @property
    def area(self) -> float:
        """Share of the picture that it covers, above 0 to 1."""
        return (self.right - self.left) * (self.bottom - self.top)

    def iou(self, other: "Box") -> float:
        """Intersection over union in [0, 1]."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        common = max(width, 0.0) * max(height, 0.0)
        return common / (self.area + other.area - common)


class KnownBox(Record):
    """The box of an object with known identity in one frame: of a filmed video, or labelled by hand."""

    video_id: VideoKey
    pts_s: Seconds
    box: Box
    class_name: Name
    object: Name
    """The identity of the object, the same throughout the video."""


class Sighting(Record):
    """An object that a detector found in one frame, matched with an object of the memory bank."""

    video_id: VideoKey
    clip_id: ClipKey | None = None
    pts_s: Seconds
    box: Box
    class_name: Name
    confidence: Share
    entity: EntityKey
    caption: str | None = None
    """Its appearance in words."""
    crop: Name | None = None
    """A JPEG of the box: a file of the benchmark."""


class IdentityChange(Record):
    """A merge of two identities of the memory bank, or a split of one into two."""

    video_id: VideoKey
    pts_s: Seconds
    """Time at which the bank noticed it."""
    kind: Literal["merge", "split"]
    kept: EntityKey
    other: EntityKey
    """The identity that ended (merge) or began (split)."""
    similarity: Finite
    """The rule that decided it."""
