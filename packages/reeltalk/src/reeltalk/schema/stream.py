"""Events of a model that follows a video, and what a user says to it while the video runs."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json, Name, Record, Seconds, VideoKey

StreamEventKind = Literal["started", "frame", "asked", "instructed", "replied", "silent", "ended", "failed"]

POLL: Final = "poll"
"""Field of a `frame` at which a model was asked whether it is time to speak: `yes`, `no` or `UNREAD`."""
UNREAD: Final = "unread"
"""A reply to a poll that says neither, or both."""


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
    key: AnswerKey | None = None
    """The value of a right reply, by which it is judged without a model; without it, words or a model decide."""


RequestAct = Literal["ask", "await", "watch", "change", "cancel"]
ENDING: Final[frozenset[RequestAct]] = frozenset({"change", "cancel"})
"""Acts that end an earlier request."""
QUESTIONS: Final[frozenset[RequestAct]] = frozenset({"ask", "await"})
"""Acts whose words are a question."""


class UserRequest(BaseModel):
    """What a user says at one time of a stream."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    at_s: Seconds = 0.0
    """When it is said, by the video's clock."""
    text: str
    act: RequestAct = "watch"
    """`ask`: a question to answer now. `await`: a question to answer as soon as the answer is shown, at once if it was
    shown already. `watch`: a standing request to report events. `change`: a standing request in place of an earlier
    one. `cancel`: the end of an earlier one."""
    of: int | None = None
    """Of a change or a cancellation, the request that it ends: its place among the requests of the task, from 0."""
    moments: tuple[Moment, ...] = ()
    """When a reply is due, in the order of time. A question that is asked has one moment, from its own time on."""
    quiet: tuple[Moment, ...] = ()
    """Of a change or a cancellation, when a reply would have been due before it, and is due no more."""
    fact: dict[str, Json] = Field(default_factory=dict)
    """What it asks for, in terms of the video's graph, so that the moments can be found again; empty if unknown."""


class ProactiveTask(Record):
    """One stream: what the user says while a video runs, and what is to be said, and when."""

    id: Name
    video_id: VideoKey
    requests: Annotated[tuple[UserRequest, ...], Field(min_length=1)]
    """In the order of time."""
    until_s: Seconds
    """End of the stream."""
    kind: Name = "event"

    @model_validator(mode="after")
    def _requests_fit(self) -> Self:
        for place, request in enumerate(self.requests):
            if request.act == "ask" and len(request.moments) != 1:
                raise ValueError(
                    f"request {place}: a question to answer at once has one moment, with its right answers, and this "
                    f"has {len(request.moments)}"
                )
            if request.act == "await" and len(request.moments) > 1:
                raise ValueError(
                    f"request {place}: a question that waits for its answer has one moment, from when the video shows "
                    f"it, or none if it never does, and this has {len(request.moments)}"
                )
            if (request.act in ENDING) != (request.of is not None):
                raise ValueError(f"request {place}: `of` belongs to a change or a cancellation, and only to these")
            if request.of is not None and not (
                0 <= request.of < place and self.requests[request.of].act in ("watch", "change")
            ):
                raise ValueError(f"request {place}: `of` names no earlier request that stands: {request.of}")
            if place and request.at_s < self.requests[place - 1].at_s:
                raise ValueError(f"request {place} is said before request {place - 1}")
        ended = [request.of for request in self.requests if request.of is not None]
        if len(set(ended)) < len(ended):
            raise ValueError("a request is changed or cancelled twice; let the second one name the first change")
        return self

    @property
    def instruction(self) -> str:
        """What the user says first."""
        return self.requests[0].text

    @property
    def moments(self) -> tuple[Moment, ...]:
        """All moments at which a reply is due that nobody asks for at that time, in the order of time."""
        due = [moment for request in self.requests if request.act != "ask" for moment in request.moments]
        return tuple(sorted(due, key=lambda moment: (moment.interval.start_s, moment.interval.end_s)))

    def ends_s(self, place: int) -> float:
        """When a request ends, in seconds: when it is changed, cancelled or answered, or the stream ends.

        Args:
            place: Its place among the requests.
        """
        request = self.requests[place]
        if request.act == "await" and request.moments:
            return request.moments[0].interval.end_s
        return next((later.at_s for later in self.requests if later.of == place), self.until_s)

    def immediate_questions(self) -> Iterator[UserRequest]:
        """The questions that are to be answered at once."""
        return (request for request in self.requests if request.act == "ask")
