"""Models that follow a stream and may speak without a question, by name.

These are a streaming model that speaks from a threshold on, any chat model that is polled at each frame, a user's
class, two baselines that do not see the video, and an oracle that knows the tasks. StreamingBench puts the expected
output into the question that it polls with, so a model only has to copy it. Here the poll holds what the user has said
so far and nothing else.
"""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError, ReeltalkError, SettingError
from reeltalk.evaluation.models import find_added
from reeltalk.evaluation.settings import ModelSettings, ProactiveSettings
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompt
from reeltalk.schema.intervals import no_later
from reeltalk.schema.model_texts import without_thoughts
from reeltalk.schema.stream import ProactiveTask
from reeltalk.video.encode import pixels_of
from reeltalk_streaming.inference.stream import THRESHOLD, Stream, StreamAnswer, StreamingModel, speaks_from
from reeltalk_streaming.inference.stream_memory import MemoryPolicy, bounded_memory
from reeltalk_streaming.proactive.yes_or_no import read_yes_or_no, yes_probability

Signature = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Glimpse:
    """The frame that is now on the screen."""

    at_s: float
    """Its presentation time in seconds."""
    reference: bytes
    """Names the picture for the frame server."""
    jpeg: bytes


@dataclass(frozen=True)
class Reaction:
    """A model's reaction to a frame."""

    readiness: float | None
    """From 0 to 1. None if unknown."""
    text: str | None
    """The reply; None means silence."""
    took_s: float
    """Seconds for the frame."""
    speaking_s: float = 0.0
    """Seconds for the reply."""
    poll: Literal["yes", "no", "unread"] | None = None
    """What a polled model said to whether it is time to speak; None if it was not polled."""
    unread: str = ""
    """The reply to a poll that could not be read."""


class WatchedStream(Protocol):
    """One stream that a model follows."""

    @property
    def memory_bytes(self) -> int | None:
        """Bytes that the model keeps of the stream. None if unknown."""
        ...

    async def instruct(self, instruction: str) -> None:
        """Receive a standing request, its change or its end, or a question to answer once the answer is shown."""
        ...

    async def ask(self, question: str) -> Reaction:
        """Answer a question now. The answer has no text if the model is silent.

        Raises:
            ModelError: The model gave no reply.
            BudgetError: A limit would be exceeded.
        """
        ...

    async def see(self, glimpse: Glimpse) -> Reaction:
        """Take in the next frame, and speak or not.

        Raises:
            ModelError: The model gave no reply.
            BudgetError: A limit would be exceeded.
        """
        ...


class Watcher(Protocol):
    """A model that follows streams and may speak without a question."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    @property
    def signature(self) -> Signature:
        """All settings of it that can change its replies."""
        ...

    def begin(self, task: str) -> WatchedStream:
        """Follow a stream that begins now.

        Args:
            task: Name of the task. No model gets more of the task than its requests, each at its time.
        """
        ...

    async def close(self) -> None:
        """Close connections. No stream is followed after this."""
        ...


class StreamWatcher:
    """A streaming model that speaks once its readiness reaches a threshold, and is then silent for a while.

    Args:
        model: Gives its readiness and its replies.
        threshold: The model speaks at this readiness or above, 0 to 1.
        refractory_s: Seconds of silence after each reply.
        memory: Bounds of the memory of a stream, for the signature; None if it keeps all.
        longest: Longest reply in words, for the signature; None for the model's own limit.
    """

    def __init__(
        self,
        model: StreamingModel,
        *,
        threshold: float,
        refractory_s: float,
        memory: str | None = None,
        longest: int | None = None,
    ) -> None:
        self._model, self._threshold, self._refractory_s = model, threshold, refractory_s
        self._memory, self._longest = memory, longest

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def signature(self) -> Signature:
        """The threshold, the silence after a reply, and bounds of the memory and of replies."""
        memory = (("memory", self._memory),) if self._memory is not None else ()
        longest = (("longest", str(self._longest)),) if self._longest is not None else ()
        return (("threshold", f"{self._threshold:g}"), ("refractory", f"{self._refractory_s:g}"), *memory, *longest)

    def begin(self, task: str) -> WatchedStream:
        return _StreamWatching(self._model.stream(), self._threshold, self._refractory_s)

    async def close(self) -> None:
        """Nothing is open."""


class _StreamWatching:
    def __init__(self, stream: Stream, threshold: float, refractory_s: float) -> None:
        self._stream, self._threshold, self._refractory_s = stream, threshold, refractory_s
        self._silent_until_s = 0.0

    @property
    def memory_bytes(self) -> int | None:
        return self._stream.memory_bytes

    async def instruct(self, instruction: str) -> None:
        self._stream.instruct(instruction)

    async def ask(self, question: str) -> Reaction:
        said = self._stream.ask(question)
        return Reaction(None, said.text.strip() or None, 0.0, said.took_s)

    async def see(self, glimpse: Glimpse) -> Reaction:
        began = time.perf_counter()
        readiness = self._stream.see(pixels_of(glimpse.jpeg), glimpse.at_s)
        took_s = time.perf_counter() - began
        if readiness is None:
            raise ModelError("the model was not trained to tell when to speak; poll it, as '--model poll:NAME' does")
        # A model that stays ready speaks again after the silence.
        if readiness < self._threshold or not no_later(self._silent_until_s, glimpse.at_s):
            return Reaction(readiness, None, took_s)
        said = self._stream.speak()
        if not said.text.strip():
            return Reaction(readiness, None, took_s, said.took_s)
        self._silent_until_s = glimpse.at_s + self._refractory_s
        return Reaction(readiness, said.text.strip(), took_s, said.took_s)


CONSTANT_REPLY: Final = "Yes."
"""The answer of the spam baseline to every question."""


class Always:
    """Repeats the user's last message at a fixed interval, and gives each question one answer, whatever the video.

    It is the spam baseline.

    Args:
        every_s: Seconds from one reply to the next; above 0.
    """

    signature: ClassVar[Signature] = ()

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s

    @property
    def name(self) -> str:
        """With its seconds, as `always:5`."""
        return f"always:{self._every_s:g}"

    def begin(self, task: str) -> WatchedStream:
        return _Repeating(self._every_s, CONSTANT_REPLY)

    async def close(self) -> None:
        """Nothing is open."""


class Never:
    """Never speaks, not even when it is asked: the silence baseline."""

    signature: ClassVar[Signature] = ()
    name = "never"

    def begin(self, task: str) -> WatchedStream:
        return _Repeating(None, None)

    async def close(self) -> None:
        """Nothing is open."""


class _Repeating:
    memory_bytes: int | None = None

    def __init__(self, every_s: float | None, answer: str | None) -> None:
        self._every_s, self._answer = every_s, answer
        self._instruction, self._next_s = "", every_s or 0.0

    async def instruct(self, instruction: str) -> None:
        self._instruction = instruction

    async def ask(self, question: str) -> Reaction:
        return Reaction(None, self._answer, 0.0)

    async def see(self, glimpse: Glimpse) -> Reaction:
        if self._every_s is None or not no_later(self._next_s, glimpse.at_s) or not self._instruction:
            return Reaction(None, None, 0.0)
        while no_later(self._next_s, glimpse.at_s):
            self._next_s += self._every_s
        return Reaction(None, self._instruction, 0.0)


class Oracle:
    """Knows the tasks: says what is due at the first frame of each moment, and answers every question right.

    What begins after the last frame is said at that frame.
    """

    signature: ClassVar[Signature] = ()
    name = "oracle"

    def __init__(self, tasks: Iterable[ProactiveTask]) -> None:
        self._tasks = {task.id: task for task in tasks}

    def begin(self, task: str) -> WatchedStream:
        return _Knowing(self._tasks[task])

    async def close(self) -> None:
        """Nothing is open."""


class _Knowing:
    memory_bytes: int | None = None

    def __init__(self, task: ProactiveTask) -> None:
        self._due, self._immediate = deque(task.moments), deque(task.immediate_questions())
        self._until_s, self._before_s = task.until_s, 0.0

    async def instruct(self, instruction: str) -> None:
        """It knows already."""

    async def ask(self, question: str) -> Reaction:
        return Reaction(None, self._immediate.popleft().moments[0].references[0], 0.0)

    async def see(self, glimpse: Glimpse) -> Reaction:
        step_s, self._before_s = glimpse.at_s - self._before_s, glimpse.at_s
        is_last = step_s > 0 and not no_later(glimpse.at_s + step_s, self._until_s)
        known_s = glimpse.at_s + (step_s if is_last else 0.0)
        if not self._due or not no_later(self._due[0].interval.start_s, known_s):
            return Reaction(None, None, 0.0)
        return Reaction(None, self._due.popleft().references[0], 0.0)


PROMPTS: Final = Path(__file__).parent / "prompts"
FRAMES_SHOWN: Final = 8
"""Number of latest frames to show. A chat model reads all of them again at each poll."""
REPLIES_SHOWN: Final = 3
"""Number of its latest replies that a model sees."""


class PollWatcher:
    """Polls a chat model at each frame.

    Args:
        model: The chat model. Its messages hold references of frames in place of pictures.
        frames: Number of latest frames to show.
        threshold: The model speaks where the probability of yes is at least this, 0 to 1, if its server gives
            probabilities. Without them its words decide.
        needs_probability: Whether a play fails if the server gives none.
        close: Closes the model's connections.
    """

    def __init__(
        self,
        model: AsyncModel,
        *,
        frames: int = FRAMES_SHOWN,
        threshold: float = THRESHOLD,
        needs_probability: bool = False,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._model, self._frames, self._close = model, frames, close
        self._threshold, self._needs_probability = threshold, needs_probability
        self._prompts = tuple(
            Prompt.load(PROMPTS / f"{name}.md") for name in ("poll", "poll-time", "poll-words", "poll-ask")
        )

    @property
    def name(self) -> str:
        """`poll:` and the model's."""
        return f"poll:{self._model.name}"

    @property
    def signature(self) -> Signature:
        """The prompts, the number of frames, the threshold and the sampling."""
        sampling = ",".join(f"{key}={value}" for key, value in sorted(self._model.sampling.items()))
        prompts = "+".join(prompt.signature for prompt in self._prompts)
        threshold = ("threshold", f"{self._threshold:g}")
        return (("prompt", prompts), ("shown", str(self._frames)), threshold, ("sampling", sampling or "none"))

    def begin(self, task: str) -> WatchedStream:
        return _Polling(self._model, self._prompts, self._frames, self._threshold, self._needs_probability)

    async def close(self) -> None:
        if self._close is not None:
            await self._close()


class _Polling:
    memory_bytes: int | None = None

    def __init__(
        self, model: AsyncModel, prompts: tuple[Prompt, ...], frames: int, threshold: float, needs_probability: bool
    ) -> None:
        self._model, self._threshold, self._needs_probability = model, threshold, needs_probability
        self._system, self._time, self._words, self._ask = prompts
        self._shown: deque[bytes] = deque(maxlen=frames)
        self._at_s = 0.0
        self._instructions: list[tuple[float, str]] = []
        self._replies: list[tuple[float, str]] = []

    async def instruct(self, instruction: str) -> None:
        self._instructions.append((self._at_s, instruction))

    async def ask(self, question: str) -> Reaction:
        words = self._before() + self._ask.fill(question=question)
        reply = await self._model.ask([Message("system", self._system.text), self._user(words)])
        text = without_thoughts(reply.text)
        if not text:
            raise ModelError("the model thought aloud and gave no answer; allow a longer reply")
        self._replies.append((self._at_s, f'you were asked: "{question}" and said: "{text}"'))
        return Reaction(None, text, 0.0, reply.took_s or 0.0)

    async def see(self, glimpse: Glimpse) -> Reaction:
        self._shown.append(glimpse.reference)
        self._at_s = glimpse.at_s
        if not self._instructions:
            return Reaction(None, None, 0.0)
        asked = [Message("system", self._system.text), self._user(self._before() + self._time.text)]
        poll = await self._model.ask(asked)
        took_s = poll.took_s or 0.0
        said = read_yes_or_no(poll.text)
        if said is None:
            return Reaction(None, None, took_s, poll="unread", unread=poll.text)
        readiness = yes_probability(poll.logprobs)
        if readiness is None and self._needs_probability:
            raise ModelError(
                f"{self._model.name} gives no probabilities of tokens, so no threshold can be applied; leave out "
                "--threshold, --tuned and --tune"
            )
        if (said != "yes") if readiness is None else (readiness < self._threshold):
            return Reaction(readiness, None, took_s, poll=said)
        reply = await self._model.ask([*asked, Message("assistant", "Yes."), Message("user", self._words.text)])
        text = without_thoughts(reply.text)
        if not text:
            raise ModelError("the model said that it is time to speak, and then said nothing")
        self._replies.append((glimpse.at_s, f'you said: "{text}"'))
        return Reaction(readiness, text, took_s, reply.took_s or 0.0, poll=said)

    def _user(self, words: str) -> Message:
        return Message("user", words, tuple(self._shown) if self._model.sees_images else ())

    def _before(self) -> str:
        """What the model was told, and what it said last, in the order of time."""
        lines = [(at_s, 0, f'you were told: "{text}"') for at_s, text in self._instructions]
        lines += [(at_s, 1, line) for at_s, line in self._replies[-REPLIES_SHOWN:]]
        return "".join(f"{self._at_s - at_s:.0f} s ago {line}\n" for at_s, _, line in sorted(lines))


if TYPE_CHECKING:
    from reeltalk.evaluation.models import ModelConfig
    from reeltalk.llm import Budget, ReplyStore
    from reeltalk.llm.client import Picture

STREAM_MODULE: Final = "reeltalk_streaming.inference.stream"
"""The module that says what a model that follows streams has."""
WATCHER_KINDS: Final = "mini, mini:FOLDER, python:MODULE:CLASS, poll:MODEL, always:SECONDS, never, oracle"
_METHODS: Final = ("see", "ask", "instruct", "speak", "add_exchange")


def create_watcher(
    spec: str,
    settings: ProactiveSettings,
    *,
    asking: "ModelConfig",
    store: "ReplyStore",
    budget: "Budget | None",
    picture: "Picture | None",
    tasks: Sequence[ProactiveTask] = (),
    needs_probability: bool = False,
) -> Watcher:
    """Create a model that follows streams, by its name.

    Args:
        spec: One of `WATCHER_KINDS`.
        settings: When a streaming model speaks.
        asking: How a chat model is polled.
        store: Keeps its replies.
        budget: Limits of requests, tokens and money.
        picture: Gives the JPEG files for the picture references in messages.
        tasks: The tasks that are played, for the oracle.
        needs_probability: Whether a polled model fails if its server gives no probabilities of tokens.

    Raises:
        SettingError: There is no model of this name.
        ModelError: It cannot be opened.
        MissingExtraError: A package that it needs is not installed.
    """
    kind, colon, name = spec.partition(":")
    if spec == "never":
        return Never()
    if spec == "oracle":
        return Oracle(tasks)
    if kind == "always" and colon:
        return Always(_seconds(name, spec))
    if kind == "poll" and name:
        from reeltalk.evaluation.models import create_model

        probable = replace(asking, endpoint=asking.endpoint.model_copy(update={"logprobs": True}))
        model = create_model(name, probable, store, budget, picture)
        return PollWatcher(
            model,
            threshold=THRESHOLD if settings.threshold is None else settings.threshold,
            needs_probability=needs_probability,
            close=model.close,
        )
    policy = bounded_memory(asking.memory_frames) if asking.bounded else None
    usual = ModelSettings().max_reply_tokens
    longest = asking.endpoint.max_tokens if asking.endpoint.max_tokens != usual else None
    followed = streaming_model(spec, policy=policy, longest=longest)
    return StreamWatcher(
        followed,
        threshold=speaks_from(followed) if settings.threshold is None else settings.threshold,
        refractory_s=settings.refractory_s,
        memory=policy.signature if policy else None,
        longest=longest,
    )


def check_rule(watcher: Watcher, *, threshold: bool, refractory: bool, tuned_for: str | None) -> None:
    """Refuse a rule that a model cannot follow, and one that was picked for another model.

    Args:
        watcher: The model.
        threshold: True if a threshold was given.
        refractory: True if a refractory time was given.
        tuned_for: The model for which they were chosen. None if they were not tuned.

    Raises:
        SettingError: The rule does not apply.
    """
    if not isinstance(watcher, StreamWatcher | PollWatcher):
        if threshold or refractory or tuned_for is not None:
            raise SettingError(
                f"{watcher.name} does not tell how ready it is; leave --threshold, --refractory and --tuned out"
            )
    elif isinstance(watcher, PollWatcher) and refractory:
        raise SettingError(f"{watcher.name} is asked at each frame, so --refractory has no effect; leave it out")
    elif tuned_for not in (None, watcher.name):
        raise SettingError(
            f"the threshold was picked for {tuned_for}, and this is {watcher.name}; tune for it, or give --threshold"
        )


def streaming_model(spec: str, *, policy: MemoryPolicy | None = None, longest: int | None = None) -> StreamingModel:
    """A model that follows streams, by name: `mini`, `mini:FOLDER` or `python:MODULE:CLASS`.

    Args:
        spec: The name.
        policy: Bounds of the memory of reeltalk-mini; everything is kept by default.
        longest: Longest reply of reeltalk-mini, in words and pieces of words; its own limit by default.

    Raises:
        InputError: The folder holds no such model.
        SettingError: There is no model of this name, or the class lacks a method.
    """
    kind, colon, name = spec.partition(":")
    if spec != "oracle" and (added := find_added(spec)) is not None and added.stream is not None:
        own: StreamingModel = added.stream(spec, policy=policy, max_words=longest)
        return own
    if kind == "python" and colon:
        from reeltalk.extension import made_of

        made = made_of(name)
        begin = getattr(made.object, "stream", None)
        if not callable(begin):
            raise SettingError(f"{name}: the class has no method stream(); see {STREAM_MODULE}")
        try:
            stream = begin()
        except Exception as error:
            raise SettingError(f"{name}: stream() fails: {type(error).__name__}: {error}; correct the class") from error
        missing = [method for method in _METHODS if not callable(getattr(stream, method, None))]
        if missing:
            raise SettingError(f"{name}: what stream() gives has no method {missing[0]}; see {STREAM_MODULE}")
        if not isinstance(getattr(stream, "memory_bytes", None), int):
            raise SettingError(f"{name}: what stream() gives tells no memory_bytes, a whole number")
        return _Named(made.object, f"{made.class_name}#{made.sha256}")
    raise SettingError(f"no model {spec!r} that follows streams; known are {WATCHER_KINDS}")


class _Named:
    """A user's class. Its name is that of its file if it has none itself."""

    def __init__(self, made: StreamingModel, name: str) -> None:
        self._made = made
        own = getattr(made, "name", None)
        self.name = own if isinstance(own, str) and own else name

    def stream(self) -> Stream:
        return _OwnStream(self._made.stream(), self.name)


class _OwnStream:
    """A stream of a user's class. Its exceptions become errors of the model."""

    def __init__(self, own: Stream, name: str) -> None:
        self._own, self._name = own, name

    @property
    def memory_bytes(self) -> int:
        return self._own.memory_bytes

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        readiness = self._called("see", rgb, pts_s)
        if readiness is None:
            return None
        try:
            number = float(readiness)
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number <= 1:
            raise ModelError(f"{self._name}: see() gave {readiness!r}, not a readiness from 0 to 1, or None")
        return number

    def ask(self, question: str) -> StreamAnswer:
        return self._spoken("ask", question)

    def instruct(self, instruction: str) -> None:
        self._called("instruct", instruction)

    def speak(self) -> StreamAnswer:
        return self._spoken("speak")

    def add_exchange(self, question: str, answer: str) -> None:
        self._called("add_exchange", question, answer)

    def _spoken(self, method: str, *arguments: Any) -> StreamAnswer:
        said = self._called(method, *arguments)
        if not isinstance(said, StreamAnswer):
            raise ModelError(f"{self._name}: {method}() gave {type(said).__name__}, not StreamAnswer")
        return said

    def _called(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._own, method)(*arguments)
        except ReeltalkError:
            raise
        except Exception as error:
            # A user's code may raise any exception.
            raise ModelError(f"{self._name}: {method}() fails: {type(error).__name__}: {error}") from error


def _seconds(text: str, spec: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SettingError(f"{spec!r}: give the seconds from one reply to the next, as always:5")
    return seconds
