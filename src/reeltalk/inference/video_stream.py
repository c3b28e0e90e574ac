"""One conversation of a checkpoint about a video while it goes on: its cache, and what of it is forgotten."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError
from reeltalk.inference.stream import StreamAnswer
from reeltalk.inference.turn_pieces import TurnPieces

if TYPE_CHECKING:
    from reeltalk.inference.streaming_model import StreamingVideoModel

MOST_TURNS: Final = 32
"""Turns that are kept where memory is bounded."""
SAY_NOW: Final = "Say now, in one short sentence, what there is to say about what you were told to look out for."

Kind = Literal["head", "frame", "turn"]
State = Literal["empty", "frames", "text", "answered"]


@dataclass(frozen=True)
class _Segment:
    """Tokens that stay or go together."""

    kind: Kind
    number: int
    """Of the frame or the turn."""
    tokens: int


@dataclass(frozen=True)
class StreamMark:
    """A place in a stream that one can go back to."""

    position: int
    segments: "tuple[_Segment, ...]"
    unread: tuple[int, ...]
    state: "State"
    forgotten: int

    @property
    def tokens(self) -> int:
        """Tokens that were kept then."""
        return sum(segment.tokens for segment in self.segments)


class VideoStream:
    """One conversation. Made by `StreamingVideoModel.stream`."""

    def __init__(self, model: "StreamingVideoModel", pieces: TurnPieces) -> None:
        from transformers import DynamicCache

        self._model, self._pieces = model, pieces
        self._cache: Any = DynamicCache()
        self._position = 0
        self._segments: list[_Segment] = []
        self._unread: list[int] = []
        """Tokens that were written and not read: the last of an answer that was cut off."""
        self._state: State = "empty"
        self._number = 0
        self._forgotten = 0

    @property
    def memory_bytes(self) -> int:
        """Of the cache's keys and values."""
        return sum(t.numel() * t.element_size() for layer in self._layers() for t in (layer.keys, layer.values))

    @property
    def tokens(self) -> int:
        """Tokens that are kept."""
        return sum(segment.tokens for segment in self._segments)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Encode the next frame. The model was not trained to tell when it is ready: None.

        Raises:
            ModelError: The memory does not suffice.
        """
        # First of all: a frame that is not taken leaves the conversation as it was.
        inputs = self._model.frame_tokens(self._pieces.frame, rgb)
        if self._state == "empty":
            self._read_text(self._pieces.head, "head", first=True)
        elif self._state == "answered":
            self._read_text(self._pieces.next_frame, "turn")
        self._number += 1
        self._read(inputs, "frame")
        self._state = "frames"
        self._forget()
        return None

    def ask(self, question: str) -> StreamAnswer:
        """Ask something now.

        Raises:
            ModelError: The memory does not suffice, or the model wrote nothing; the conversation is as it was.
        """
        began_s = time.perf_counter()
        mark = self.mark()
        before = self.tokens
        self._number += 1
        try:
            logits = self._read_text(self._opening() + question + self._pieces.before_answer, "turn")
            asked = self.tokens - before
            written: list[int] = []
            first_s: float | None = None
            for token in self._written(logits):
                first_s = time.perf_counter() - began_s if first_s is None else first_s
                written.append(token)
            text = self._model.words(written)
            if not text:
                raise ModelError(f"{self._model.name} wrote no answer; its chat template may not fit it")
        except BaseException:
            self.rewind(mark)
            raise
        self._state = "answered"
        self._forget()
        return StreamAnswer(
            text=text,
            prompt_tokens=asked,
            completion_tokens=len(written),
            took_s=time.perf_counter() - began_s,
            first_token_s=first_s,
            cut_off=bool(self._unread),
        )

    def instruct(self, instruction: str) -> None:
        """Say something that is answered later."""
        self._number += 1
        self._read_text(self._opening() + instruction + "\n", "turn")
        self._state = "text"

    def speak(self) -> StreamAnswer:
        """Say what there is to say now.

        Raises:
            ModelError: As `ask`.
        """
        return self.ask(SAY_NOW)

    def told(self, question: str, answer: str) -> None:
        """Put a question and an answer into the conversation."""
        self._number += 1
        self._read_text(self._opening() + question + self._pieces.before_told + answer, "turn")
        self._state = "answered"
        self._forget()

    def mark(self) -> StreamMark:
        """Where the conversation is now."""
        return StreamMark(self._position, tuple(self._segments), tuple(self._unread), self._state, self._forgotten)

    def rewind(self, mark: StreamMark) -> bool:
        """Go back to a place in this conversation, as if nothing had come after it.

        Returns:
            False, and nothing changes, where something before it has been forgotten since.
        """
        if mark.forgotten != self._forgotten or mark.tokens > self.tokens:
            return False
        length = self._cache.get_seq_length()
        if length > mark.tokens:
            self._cache.crop(mark.tokens - length)
        self._segments, self._unread = list(mark.segments), list(mark.unread)
        self._position, self._state = mark.position, mark.state
        return True

    def _opening(self) -> str:
        """What comes before a question here."""
        pieces = self._pieces
        return {
            "empty": pieces.head_without_frame,
            "frames": pieces.after_frames,
            "text": "",
            "answered": pieces.next_question,
        }[self._state]

    def _written(self, logits: Any) -> Iterator[int]:
        ends = self._model.end_tokens
        for count in range(1, self._model.max_new_tokens + 1):
            token = int(logits.argmax())
            if token in ends:
                return
            yield token
            if count == self._model.max_new_tokens:
                self._unread = [token]
                return
            logits = self._read({"input_ids": self._model.tensor([token])}, "turn")

    def _read_text(self, text: str, kind: Kind, *, first: bool = False) -> Any:
        return self._read(self._model.text_tokens(text, first=first or self._state == "empty"), kind) if text else None

    def _read(self, inputs: dict[str, Any], kind: Kind) -> Any:
        """Logits after the last token; the cache grows."""
        if self._unread:
            unread, self._unread = self._unread, []
            self._read({"input_ids": self._model.tensor(unread)}, "turn")
        logits, self._position = self._model.read(inputs, self._cache, self._position)
        count = int(inputs["input_ids"].shape[1])
        if self._segments and (self._segments[-1].kind, self._segments[-1].number) == (kind, self._number):
            count += self._segments.pop().tokens
        self._segments.append(_Segment(kind, self._number, count))
        return logits

    def _layers(self) -> list[Any]:
        return [layer for layer in self._cache.layers if layer.is_initialized]

    def _forget(self) -> None:
        """Let the oldest frames after the first go where there are too many, and the oldest turns."""
        bound = self._model.memory_frames
        if bound is None:
            return
        frames = [n for n, segment in enumerate(self._segments) if segment.kind == "frame"]
        turns = [n for n, segment in enumerate(self._segments) if segment.kind == "turn"]
        gone: set[int] = set()
        if len(frames) > bound:
            gone |= set(frames[1 : 1 + len(frames) - max(2, bound - bound // 4)])
        if len(turns) > MOST_TURNS:
            gone |= set(turns[: len(turns) - MOST_TURNS // 2])
        if gone:
            self._drop(gone)

    def _drop(self, gone: set[int]) -> None:
        kept: list[tuple[int, int, int]] = []
        """Spans of tokens that stay, and by how many positions each moves up."""
        start = moved = 0
        for n, segment in enumerate(self._segments):
            if n in gone:
                moved += segment.tokens
            else:
                kept.append((start, start + segment.tokens, moved))
            start += segment.tokens
        for layer in self._layers():
            layer.keys = self._model.joined(
                [self._model.turn_back(layer.keys[:, :, a:b], by) if by else layer.keys[:, :, a:b] for a, b, by in kept]
            )
            layer.values = self._model.joined([layer.values[:, :, a:b] for a, b, _ in kept])
        self._segments = [segment for n, segment in enumerate(self._segments) if n not in gone]
        self._position -= moved
        self._forgotten += 1
