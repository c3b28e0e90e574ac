"""A conversation about a video while it plays: frames, questions at their time, answers, and a log."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Protocol, Self

from reeltalk.errors import BenchmarkError, ModelError, ReeltalkError, SettingError
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import StreamEvent, StreamEventKind
from reeltalk.store.atomic import storage_errors
from reeltalk_streaming.chat.lines import COMMANDS, ChatLine, ChatLines, ScriptedLines
from reeltalk_streaming.chat.playback import Playback, PlayedFrame
from reeltalk_streaming.inference.stream import Stream, StreamAnswer, StreamingModel, speaks_from


class ConversationLog:
    """Writes each event to a file at once, so that a crash loses nothing.

    Args:
        path: The file, which must not exist. None writes nothing.
        overwrite: Replace a file that is there.

    Raises:
        BenchmarkError: The file exists. On entering: the file cannot be written.
    """

    def __init__(self, path: Path | None = None, *, overwrite: bool = False) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None
        if path is not None:
            if path.exists() and not overwrite:
                raise BenchmarkError(f"{path} exists; choose another file or pass --overwrite")

    def __enter__(self) -> Self:
        # Only now: if the conversation does not start, the old file stays.
        if self._path is not None:
            with storage_errors(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._stream = self._path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def add(self, event: StreamEvent) -> None:
        """Write an event.

        Raises:
            BenchmarkError: The file cannot be written.
        """
        if self._stream is not None and self._path is not None:
            with storage_errors(self._path):
                self._stream.write(event.to_json().encode() + b"\n")
                self._stream.flush()


WAIT_S: Final = 0.1
"""Longest wait for a frame before the input is checked again."""
PAUSED, ANSWERING = "paused", "answering"


@dataclass(frozen=True)
class Status:
    """The progress of a conversation."""

    at_s: float
    frames: int
    """Frames that the model has seen."""
    dropped: int
    """Frames of a live video that the model skipped because it was too slow."""
    memory_bytes: int
    doing: str
    """`playing`, `paused`, `answering` or `ended`."""


class Screen(Protocol):
    """Shows a conversation to a person."""

    def show_answer(self, at_s: float, text: str, *, question: str | None) -> None:
        """Show an answer. `question` is the question, or None if the model spoke without one."""
        ...

    def note(self, text: str) -> None:
        """Show a problem, or the result of a command."""
        ...

    def status(self, status: Status) -> None:
        """Show the progress; called often."""
        ...


@dataclass(frozen=True)
class TalkSettings:
    """Settings of a conversation."""

    threshold: float | None = None
    """The model speaks without a question from this readiness on; None: from its own."""
    pause_to_answer: bool = True
    """The clock of a video file stops while the model answers. A live video continues."""
    until_s: float | None = None
    """When the conversation ends, by the video's clock."""
    stay: bool = False
    """Wait for more questions at the end of the video, until the input ends or you type /quit."""


class Conversation:
    """One conversation about one video."""

    def __init__(
        self,
        model: StreamingModel,
        watching: Playback,
        lines: ChatLines,
        screen: Screen,
        log: ConversationLog,
        settings: TalkSettings | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.failed = 0
        """Questions without an answer, and invalid lines of a script."""
        self._name, self._stream, self._model = model.name, model.stream(), model
        self._watching, self._lines, self._screen, self._log = watching, lines, screen, log
        self._settings, self._stop = settings or TalkSettings(), stop or threading.Event()
        given = self._settings.threshold
        self._threshold = speaks_from(model) if given is None else given
        self._frames, self._last_s, self._ready, self._instructed = 0, 0.0, False, False
        self._readiness: float | None = None
        self._doing = "playing"

    @property
    def stream(self) -> Stream:
        """The model's stream of this conversation."""
        return self._stream

    def run(self) -> None:
        """Run the conversation until the video ends or somebody ends it.

        Raises:
            InputError: The video cannot be read. Earlier events are in the log.
            ModelError: The model accepts no more frames.
            BenchmarkError: The log cannot be written.
        """
        self._event("started", self._watching.address.shown)
        try:
            self._play()
            self._after_the_end()
        except ReeltalkError as error:
            self._event("failed", str(error))
            raise
        finally:
            self._doing = "ended"
            self._event("ended")
            self._show()

    def stop(self) -> None:
        """End the conversation, and cancel a request that waits for its reply. Call it from another thread."""
        self._stop.set()
        cancel = getattr(self._model, "cancel", None)
        if callable(cancel):
            cancel()

    def _play(self) -> None:
        while not self._over():
            frame = self._watching.upcoming(WAIT_S)
            # A line without a time need not wait for a frame. A line with a time waits until all frames before it are
            # taken.
            until_s = self._now_s() if frame is None else frame.pts_s
            # Nothing happens before the first frame. A video that was paused at its first frame is held and shows none.
            if frame is not None or self._frames or self._doing == PAUSED:
                self._handle_lines(until_s)
            if self._doing == PAUSED and self._lines.closed:
                # No further line can resume it.
                self._handle(ChatLine("", "play"))
            if frame is None:
                if self._watching.ended:
                    return
            elif self._settings.until_s is not None and frame.pts_s > self._settings.until_s:
                return
            elif not self._over() and self._doing != PAUSED and self._watching.take(frame):
                self._see(frame)
            self._show()

    def _after_the_end(self) -> None:
        """Ask the questions that are due after the end, about the whole video."""
        self._doing = "ended"
        stay = self._settings.stay and self._watching.ended
        if stay and not self._over():
            self._screen.note("The video has ended. Ask on, or /quit.")
        while not self._over():
            self._handle_lines(None)
            if self._lines.closed or not stay:
                return
            self._show()
            time.sleep(WAIT_S / 2)

    def _over(self) -> bool:
        return self._stop.is_set()

    def _now_s(self) -> float:
        return max(self._last_s, self._watching.now_s)

    def _see(self, frame: PlayedFrame) -> None:
        began_s = time.monotonic()
        readiness = self._stream.see(frame.rgb, frame.pts_s)
        took_s = time.monotonic() - began_s
        self._frames += 1
        self._readiness = readiness
        self._event("frame", readiness=readiness, took_s=took_s, at_s=frame.pts_s)
        if self._frames == 1 and self._instructed and readiness is None:
            self._screen.note(self._silence_note())
        ready = readiness is not None and readiness >= self._threshold
        # The model is silent without an instruction. It speaks once when it becomes ready, and not again while it stays
        # ready.
        if ready and not self._ready and self._instructed:
            self._answer(None, self._stream.speak, frame.pts_s)
        self._ready = ready

    def _handle_lines(self, until_s: float | None) -> None:
        while not self._over():
            try:
                line = self._lines.due(until_s)
            except SettingError as error:
                self._screen.note(str(error))
                self.failed += isinstance(self._lines, ScriptedLines)
                continue
            if line is None:
                return
            self._handle(line, until_s)
            if self._doing == PAUSED:
                # While the video is paused, lines are handled one after another.
                until_s = self._now_s()

    def _handle(self, line: ChatLine, until_s: float | None = None) -> None:
        # The model sees the current frame after this, so the log stays in the order of time.
        now_s = self._now_s() if until_s is None else max(self._last_s, min(self._now_s(), until_s))
        at_s = max(self._last_s, line.at_s) if line.at_s is not None else now_s
        if self._doing == "ended":
            # There are no later frames.
            at_s = self._last_s
        match line.command:
            case None:
                self._event("asked", line.text, at_s=at_s)
                self._answer(line.text, lambda: self._stream.ask(line.text), at_s)
            case "tell":
                try:
                    self._stream.instruct(line.text)
                except ModelError as error:
                    self.failed += 1
                    self._event("failed", str(error), at_s=at_s)
                    self._screen.note(f"Not told: {error}")
                    return
                self._instructed = True
                self._event("instructed", line.text, at_s=at_s)
                waits = self._frames > 0 and self._readiness is None
                self._screen.note(self._silence_note() if waits else f"Told: {line.text}")
            case "pause" if self._doing == "playing":
                self._doing = PAUSED
                self._watching.hold(PAUSED)
            case "play" if self._doing == PAUSED:
                self._doing = "playing"
                self._watching.go_on(PAUSED)
            case "pause" | "play":
                self._screen.note(f"The video is {self._doing}.")
            case "memory":
                kept = format_bytes(self._stream.memory_bytes)
                self._screen.note(f"{self._name} keeps {kept} of {self._frames:,} frames and of what was said.")
            case "help":
                self._screen.note("\n".join(["Type a question, or:", *COMMANDS.values()]))
            case "quit":
                self._stop.set()

    def _silence_note(self) -> str:
        return f"{self._name} speaks only when it is asked. It gets what you tell it with your next question."

    def _answer(self, asked: str | None, say: Callable[[], StreamAnswer], at_s: float) -> None:
        before = self._doing
        hold = self._settings.pause_to_answer and not self._watching.live
        if hold:
            self._watching.hold(ANSWERING)
        self._doing = ANSWERING
        self._show()
        try:
            said = say()
        except asyncio.CancelledError:
            self._event("failed", "cancelled while the answer was pending", at_s=at_s)
        except ModelError as error:
            self.failed += asked is not None
            self._event("failed", str(error), at_s=at_s)
            self._screen.note(f"No answer: {error}")
        else:
            self._event("replied", said.text, at_s=at_s, took_s=said.took_s)
            self._screen.show_answer(at_s, said.text, question=asked)
        finally:
            self._doing = before
            if hold:
                self._watching.go_on(ANSWERING)

    def _event(
        self,
        kind: StreamEventKind,
        text: str = "",
        *,
        at_s: float | None = None,
        readiness: float | None = None,
        took_s: float | None = None,
    ) -> None:
        self._last_s = max(self._last_s, at_s or 0.0)
        self._log.add(
            StreamEvent(
                model=self._name,
                session="chat",
                video_id=VideoId(" ".join(self._watching.address.shown.split()) or "video"),
                kind=kind,
                at_s=self._last_s,
                text=text,
                readiness=readiness,
                took_s=took_s,
                memory_bytes=self._stream.memory_bytes,
            )
        )

    def _show(self) -> None:
        at_s = self._last_s if self._doing == "ended" else self._now_s()
        self._screen.status(Status(at_s, self._frames, self._watching.dropped, self._stream.memory_bytes, self._doing))


def format_bytes(count: int) -> str:
    """A readable size, for example `3.2 MB`."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"
