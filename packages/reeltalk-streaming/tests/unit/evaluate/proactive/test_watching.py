"""Who follows a stream sees no frame before its time, speaks by its rule, and fails alone."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import BudgetError, ModelError
from reeltalk.evaluation.playing.play import ShownFrame
from reeltalk.llm.model import Message, Reply
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json, VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, StreamEvent, UserRequest
from reeltalk.video.encode import jpeg
from reeltalk_streaming.inference.stream import StreamAnswer
from reeltalk_streaming.proactive.stage import play_task
from reeltalk_streaming.proactive.watchers import Always, Never, Oracle, PollWatcher, StreamWatcher, Watcher

TASK = ProactiveTask(
    id="t1",
    video_id=VideoId("v1"),
    requests=(
        UserRequest(
            at_s=2.0,
            text="Tell me when the person picks up the mug.",
            moments=(Moment(interval=Interval(start_s=5, end_s=8), references=("She lifts a cup off the shelf.",)),),
        ),
    ),
    until_s=10.0,
)
PICTURE = jpeg(np.zeros((16, 16, 3), np.uint8))
FRAMES = tuple(ShownFrame(float(n), f"f{n}".encode()) for n in range(14))


class Pictures:
    """Notes which frames are asked for."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    async def jpeg(self, reference: bytes) -> bytes:
        self.asked.append(reference)
        return PICTURE


class Ready:
    """A streaming model with a given readiness at each time."""

    name = "ready"
    memory_bytes = 7

    def __init__(self, readiness: Callable[[float], float | None], text: str = "Now.") -> None:
        self._readiness, self._text = readiness, text
        self.heard: list[tuple[str, float]] = []
        self._at_s = 0.0

    def stream(self) -> "Ready":
        return self

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        assert rgb.shape == (16, 16, 3)
        self._at_s = pts_s
        self.heard.append(("see", pts_s))
        return self._readiness(pts_s)

    def instruct(self, instruction: str) -> None:
        self.heard.append((instruction, self._at_s))

    def speak(self) -> StreamAnswer:
        return StreamAnswer(self._text, 0, 0, 0.25, None)

    def ask(self, question: str) -> StreamAnswer:
        self.heard.append((question, self._at_s))
        return StreamAnswer("Two.", 0, 0, 0.25, None)

    def add_exchange(self, question: str, answer: str) -> None:
        raise AssertionError("nobody tells")


def events_of(watcher: Watcher, pictures: Pictures | None = None, task: ProactiveTask = TASK) -> list[StreamEvent]:
    async def collect() -> list[StreamEvent]:
        return [
            event async for event in play_task(task, watcher, FRAMES, pictures or Pictures(), signed=(("fps", "1"),))
        ]

    return asyncio.run(collect())


def said(events: Sequence[StreamEvent]) -> list[float]:
    return [event.at_s for event in events if event.kind == "replied"]


def test_frames_come_one_after_the_other_and_none_after_the_end() -> None:
    model, pictures = Ready(lambda at_s: 0.0), Pictures()
    events = events_of(StreamWatcher(model, threshold=0.5, refractory_s=0), pictures)
    assert [kind for kind, _ in model.heard] == ["see", "see", TASK.instruction, *["see"] * 9]
    assert pictures.asked == [f"f{n}".encode() for n in range(11)]
    assert [event.kind for event in events] == ["started", *["frame"] * 2, "instructed", *["frame"] * 9, "ended"]
    assert events[-1].at_s == TASK.until_s
    assert events[0].extra == {"settings": {"threshold": "0.5", "refractory": "0", "fps": "1"}}
    assert events[1].memory_bytes == 7
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)


SECRET = Moment(interval=Interval(start_s=7, end_s=9), references=("A parrot lands.",))
TALK = ProactiveTask(
    id="t2",
    video_id=VideoId("v1"),
    until_s=10.0,
    kind="standing",
    requests=(
        UserRequest(text="Report everything.", moments=(SECRET,)),
        UserRequest(at_s=3.0, text="How many people?", act="ask", moments=(SECRET,)),
        UserRequest(at_s=4.5, text="Now only Tom.", act="change", of=0, moments=(SECRET,)),
        UserRequest(at_s=8.0, text="Enough of that.", act="cancel", of=2, quiet=(SECRET,)),
        UserRequest(at_s=10.0, text="And now?", act="ask", moments=(SECRET,)),
    ),
)


def test_requests_come_at_their_times_and_nothing_comes_early() -> None:
    model, pictures = Ready(lambda at_s: 0.0), Pictures()
    events = events_of(StreamWatcher(model, threshold=0.5, refractory_s=0), pictures, TALK)
    heard = [(what, at_s) for what, at_s in model.heard if what != "see"]
    # A question is asked when the frame of its time was shown; other words come before it.
    assert heard == [
        ("Report everything.", 0.0), ("How many people?", 3.0), ("Now only Tom.", 4.0), ("Enough of that.", 7.0),
        ("And now?", 10.0),
    ]  # fmt: skip
    told = [(e.kind, e.at_s) for e in events if e.kind in ("instructed", "asked", "replied")]
    assert told == [
        ("instructed", 0), ("asked", 3), ("replied", 3), ("instructed", 4.5), ("instructed", 8), ("asked", 10),
        ("replied", 10),
    ]  # fmt: skip
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)


def test_no_word_of_the_future_reaches_a_chat_model() -> None:
    model = Polled(set())
    events_of(PollWatcher(model), task=TALK)
    words = ["Report everything.", "How many people?", "Now only Tom.", "Enough of that.", "And now?"]
    times_s = [0, 3, 4.5, 8, 10]
    for messages in model.asked:
        text = "\n".join(message.text for message in messages)
        now_s = max(int(name[1:]) for message in messages for name in message.images)
        assert "parrot" not in text
        for said_s, said_ in zip(times_s, words, strict=True):
            if said_ in text:
                # Words between two frames come before the second one.
                assert said_s <= now_s + 1
    asked = [messages[-1].text for messages in model.asked if "You are asked now" in messages[-1].text]
    assert len(asked) == 2
    assert 'you were asked: "How many people?"' in asked[1]
    assert asked[1].index("Report everything.") < asked[1].index("Now only Tom.") < asked[1].index("Enough of that.")


def test_the_oracle_says_what_is_due_and_answers_what_is_asked() -> None:
    events = events_of(Oracle([TALK]), task=TALK)
    replies = [(event.at_s, event.text) for event in events if event.kind == "replied"]
    assert replies == [(3.0, "A parrot lands."), (7.0, "A parrot lands."), (8.0, "A parrot lands."),
                       (10.0, "A parrot lands.")]  # fmt: skip


def test_silence_answers_no_question_and_the_constant_answers_all_alike() -> None:
    assert [e.kind for e in events_of(Never(), task=TALK) if e.kind == "replied"] == []
    always = [e for e in events_of(Always(4.0), task=TALK) if e.kind == "replied"]
    assert [(e.at_s, e.text) for e in always] == [
        (3.0, "Yes."), (4.0, "Report everything."), (8.0, "Enough of that."), (10.0, "Yes.")
    ]  # fmt: skip


def test_a_model_speaks_from_its_threshold_on_and_is_then_silent_for_a_while() -> None:
    rising = lambda at_s: at_s / 10  # noqa: E731
    assert said(events_of(StreamWatcher(Ready(rising), threshold=0.5, refractory_s=0))) == [5, 6, 7, 8, 9, 10]
    assert said(events_of(StreamWatcher(Ready(rising), threshold=0.5, refractory_s=2))) == [5, 7, 9]
    assert said(events_of(StreamWatcher(Ready(rising), threshold=0.95, refractory_s=2))) == [10]
    # Nothing to say is silence, and costs no waiting.
    assert said(events_of(StreamWatcher(Ready(rising, "  "), threshold=0.5, refractory_s=2))) == []


def test_a_model_that_does_not_tell_fails_with_what_to_do() -> None:
    events = events_of(StreamWatcher(Ready(lambda at_s: None), threshold=0.5, refractory_s=0))
    assert events[-1].kind == "failed"
    assert "poll it" in events[-1].text


@pytest.mark.parametrize("error", [ModelError("gone"), RuntimeError("its own mistake")])
def test_a_model_that_fails_ends_its_own_session(error: Exception) -> None:
    def breaks(at_s: float) -> float:
        if at_s > 4:
            raise error
        return 0.0

    events = events_of(StreamWatcher(Ready(breaks), threshold=0.5, refractory_s=0))
    assert (events[-1].kind, events[-1].at_s) == ("failed", 5.0)
    assert str(error) in events[-1].text


def test_a_spent_budget_ends_the_run() -> None:
    def breaks(at_s: float) -> float:
        raise BudgetError("spent")

    with pytest.raises(BudgetError):
        events_of(StreamWatcher(Ready(breaks), threshold=0.5, refractory_s=0))


def test_baselines_speak_by_the_clock_alone() -> None:
    always = events_of(Always(3.0))
    assert said(always) == [3, 6, 9]
    assert {event.text for event in always if event.kind == "replied"} == {TASK.instruction}
    assert said(events_of(Never())) == []


class Polled:
    """A chat model that says yes at some polls, and notes what it was asked."""

    name, sees_images = "polled", True
    sampling: dict[str, Json] = {"temperature": 0.0}  # noqa: RUF012

    def __init__(self, yes_at: set[int], words: str = "He lifts the mug.") -> None:
        self._yes_at, self._words = yes_at, words
        self.asked: list[list[Message]] = []
        self._polls = 0

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        self.asked.append(list(messages))
        if "You are asked now" in messages[-1].text:
            return Reply("Two.", "polled", 1, 1, False)
        if messages[-1].images or not messages[-1].text.startswith("What do you say"):
            self._polls += 1
            return Reply("Yes." if self._polls in self._yes_at else "No, not yet.", "polled", 1, 1, False)
        return Reply(f"<think>hm</think>{self._words}", "polled", 1, 1, False)


def test_a_poll_tells_nothing_of_what_is_due() -> None:
    model = Polled({4})
    events = events_of(PollWatcher(model, frames=3))
    # Told at 2 s, polled from then on; the fourth poll is at 5 s.
    assert said(events) == [5.0]
    assert [event.text for event in events if event.kind == "replied"] == ["He lifts the mug."]
    polls = [messages for messages in model.asked if len(messages) == 2]
    assert len(polls) == 9
    reference = TASK.moments[0].references[0]
    for messages in model.asked:
        text = "\n".join(message.text for message in messages)
        assert reference not in text
        assert not {"lifts", "cup", "shelf"} & set(text.replace("He lifts the mug.", "").lower().split())
    assert polls[0][-1].images == (b"f0", b"f1", b"f2")
    assert polls[5][-1].images == (b"f5", b"f6", b"f7")
    assert TASK.instruction in polls[0][-1].text
    assert '2 s ago you said: "He lifts the mug."' in polls[5][-1].text
    assert "you said" not in polls[3][-1].text
    assert dict(PollWatcher(model).signature).keys() == {"prompt", "shown", "threshold", "sampling"}


def test_a_model_that_says_yes_and_then_nothing_fails() -> None:
    events = events_of(PollWatcher(Polled({1}, words="")))
    assert events[-1].kind == "failed"


def test_what_is_in_a_log_can_be_read_again() -> None:
    for event in events_of(Always(3.0)):
        again: Any = StreamEvent.model_validate_json(event.to_json())
        assert again == event
