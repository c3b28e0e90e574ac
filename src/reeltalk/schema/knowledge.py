"""A knowledge graph's content without RDF: entities, events and facts."""

from pydantic import Field

from reeltalk.schema.ids import ClipKey, EntityKey, EventKey, VideoKey
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record


class Entity(Record):
    """A thing that a video shows, in one clip or across several."""

    id: EntityKey
    video_id: VideoKey
    class_name: Name
    """What it is, as `kitchen table`."""
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
    """`subject predicate object`, true during `interval` or, where that is None, throughout the clip or video."""

    video_id: VideoKey
    clip_id: ClipKey | None = None
    subject: Name
    predicate: Name
    object: Name
    interval: Interval | None = None
