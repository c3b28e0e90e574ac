"""Events of a model that follows a video, and the events that it should report without a question."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record, Seconds, VideoKey

StreamEventKind = Literal["started", "frame", "asked", "instructed", "replied", "silent", "ended", "failed"]


class StreamEvent(Record):
    """One line of a log of events. Any model may write such a log; the proactive measures read nothing else."""

    model: Name
    session: Name
    """The stream: one play of one task or video. Lines of a session stand in the order of their times."""
    video_id: VideoKey
    kind: StreamEventKind
    at_s: Seconds
    """Time in the stream, by the video's clock."""
    text: str = ""
    """What was asked, told or replied."""
    readiness: Annotated[float, Field(ge=0, le=1)] | None = None
    """How ready the model was to speak, if it tells."""
    took_s: Seconds | None = None
    """Seconds that the model computed for it."""
    memory_bytes: Annotated[int, Field(ge=0)] | None = None
    """What the model kept of the stream then."""


class Moment(BaseModel):
    """A span in which something is to be said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval: Interval
    """From the first moment at which it may be known to the last at which it still helps."""
    references: tuple[str, ...]
    """Any of these says it."""


class ProactiveTask(Record):
    """Something to look out for in a video, told at its beginning."""

    id: Name
    video_id: VideoKey
    instruction: str
    asked_at_s: Seconds = 0.0
    until_s: Seconds
    """Where the stream ends."""
    moments: tuple[Moment, ...]
    """In the order of time; none if silence is right throughout."""
    kind: Name = "event"
