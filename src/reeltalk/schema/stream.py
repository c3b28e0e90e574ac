"""Events of a model that follows a video, and the events that it should report without a question."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record, Seconds, VideoKey

StreamEventKind = Literal["started", "frame", "asked", "instructed", "replied", "silent", "ended", "failed"]


class StreamEvent(Record):
    """One line of a log of events. Any model may write such a log. Proactive scores are computed from it alone."""

    model: Name
    session: Name
    """The stream: one play of one task or video. Lines of a session are in the order of their times."""
    video_id: VideoKey
    kind: StreamEventKind
    at_s: Seconds
    """Time in the stream, by the video's clock."""
    text: str = ""
    """The text of the question, instruction or reply."""
    readiness: Annotated[float, Field(ge=0, le=1)] | None = None
    """Readiness of the model to speak, 0 to 1, if it reports one."""
    took_s: Seconds | None = None
    """Seconds of the model's computation for this event."""
    memory_bytes: Annotated[int, Field(ge=0)] | None = None
    """Size of the model's memory of the stream at this time."""


class Moment(BaseModel):
    """A time span in which the model should speak."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval: Interval
    """From the first moment at which the event can be known to the last at which a reply still helps."""
    references: tuple[str, ...]
    """Reference replies, each of which is right."""


class ProactiveTask(Record):
    """An instruction to look out for something in a video."""

    id: Name
    video_id: VideoKey
    instruction: str
    asked_at_s: Seconds = 0.0
    until_s: Seconds
    """End of the stream."""
    moments: tuple[Moment, ...]
    """In the order of time; empty if the model should never speak."""
    kind: Name = "event"
