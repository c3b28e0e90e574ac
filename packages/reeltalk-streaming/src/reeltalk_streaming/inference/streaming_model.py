"""A vision-language checkpoint that follows a stream. Each frame is read once and kept as keys and values.

A question adds only its own tokens. If memory is bounded, the oldest frames after the first are dropped, a quarter of
them at once. Later tokens move up, and their keys are rotated back by the same number of positions. So positions never
exceed those that the model knows. This needs rotary positions of one axis, which is tested when a model is opened.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import InputError, ModelError, SettingError
from reeltalk.progress import ignore_sentences
from reeltalk_streaming.inference.checkpoint import frame_options
from reeltalk_streaming.inference.stream import StreamAnswer
from reeltalk_streaming.inference.video_model import Device, LocalVideoModel

QUESTION, ANSWER, NEXT_QUESTION = "¤first question¤", "¤answer¤", "¤next question¤"
"""Texts by which the parts of a chat template are found."""
IMAGE: Final = {"type": "image"}


@dataclass(frozen=True)
class TurnPieces:
    """The text of a chat template between frames, questions and answers, so that a conversation can grow at its end."""

    head: str
    """Before the first frame."""
    head_without_frame: str
    """Before a question without any frame before it."""
    frame: str
    """One frame."""
    after_frames: str
    """Between the last frame and the question."""
    before_answer: str
    """After the question, before an answer of the model."""
    before_answer_given: str
    """After the question, before a given answer."""
    next_frame: str
    """After an answer, before a frame."""
    next_question: str
    """After an answer, before a question without a frame."""


def turn_pieces(processor: Any, path: Path, *, system: str = "") -> TurnPieces:
    """Splits the chat template of a processor into its pieces.

    Args:
        processor: A processor of transformers.
        path: Its folder, for errors.
        system: The system message; none if empty.

    Raises:
        InputError: Its template does not append turn to turn, or fails.
    """
    before: list[Any] = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []

    def written(*turns: Any, answer: bool = False) -> str:
        try:
            chat = [*before, *turns]
            return str(processor.apply_chat_template(chat, add_generation_prompt=answer, tokenize=False))
        except Exception as error:
            # A template may raise any error, for example if it takes no system message.
            told = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"the chat template fails: {told}", file=path, hint="leave out --prompt") from error

    one = written(_user(QUESTION, frames=1), answer=True)
    two = written(_user(QUESTION, frames=2), answer=True)
    # Up to the end of the first frame, both texts are the same.
    end = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    frame = two[end : end + len(two) - len(one)]
    start = end - len(frame)
    reply = {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}
    first, after = _user(QUESTION, frames=1), written(_user(QUESTION, frames=1), reply, _user(NEXT_QUESTION, frames=1))
    plain = written(first, reply, _user(NEXT_QUESTION, frames=0))
    between = _between(after, ANSWER, NEXT_QUESTION)
    after_frames = _between(one[end - 1 :], one[end - 1], QUESTION)
    if not frame or one[start:end] != frame or between is None or after_frames is None:
        raise _not_apart(path)
    if not between.endswith(frame + after_frames):
        raise _not_apart(path)
    head_without = written(_user(QUESTION, frames=0)).partition(QUESTION)[0]
    before_answer, next_question = _between(after, QUESTION, ANSWER), _between(plain, ANSWER, NEXT_QUESTION)
    if before_answer is None or next_question is None or not after.startswith(one[:end]):
        raise _not_apart(path)
    return TurnPieces(
        head=one[:start],
        head_without_frame=head_without,
        frame=frame,
        after_frames=after_frames,
        before_answer=one.partition(QUESTION)[2],
        before_answer_given=before_answer,
        next_frame=between[: len(between) - len(frame + after_frames)],
        next_question=next_question,
    )


def _user(text: str, *, frames: int) -> dict[str, Any]:
    return {"role": "user", "content": [*[IMAGE] * frames, {"type": "text", "text": text}]}


def _between(text: str, left: str, right: str) -> str | None:
    _, found, rest = text.partition(left)
    middle, ended, _ = rest.partition(right)
    return middle if found and ended else None


def _not_apart(path: Path) -> InputError:
    return InputError(
        "the chat template does not put turn after turn, a frame at a time; the conversation cannot grow",
        file=path,
        hint="play it without a stream, as reeltalk evaluate does",
    )


FRAME_TOKENS: Final = 256
"""Most tokens per frame, if a checkpoint does not state the number of its tuning."""
TRIED_POSITION: Final = 7
TRIED_RTOL: Final = 0.02
MOST_TURNS: Final = 32
"""Number of turns to keep if memory is bounded."""
SAY_NOW: Final = "Say now, in one short sentence, what there is to say about what you were told to look out for."

Kind = Literal["head", "frame", "turn"]
State = Literal["empty", "frames", "text", "answered"]


class StreamingVideoModel(LocalVideoModel):
    """A checkpoint that follows streams.

    Args:
        path: See `LocalVideoModel`.
        device: `cuda` or `cpu`; `auto` uses an accelerator if there is one.
        max_new_tokens: Longest answer, in tokens.
        memory_frames: Most frames to keep, 2 or more; all by default.
        system: System message; none by default.
        tell: See `LocalVideoModel`.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        InputError: The folder holds no model that can be loaded, or its template does not append turn to turn.
        SettingError: The model's positions cannot be shifted, as bounded memory needs.
        ModelError: There is not enough memory.
    """

    def __init__(
        self,
        path: Path,
        *,
        device: Device = "auto",
        max_new_tokens: int = 256,
        memory_frames: int | None = None,
        system: str = "",
        tell: Callable[[str], object] = ignore_sentences,
    ) -> None:
        super().__init__(path, device=device, max_new_tokens=max_new_tokens, tell=tell)
        self.memory_frames, self.system = memory_frames, system
        self._options = self._options or frame_options(self._processor, FRAME_TOKENS)
        self._pieces: dict[str, TurnPieces] = {}
        self.pieces(system)
        base = self._model.get_base_model() if hasattr(self._model, "get_base_model") else self._model
        rope_index = getattr(getattr(base, "model", base), "get_rope_index", None)
        self._rope_index: Any = rope_index
        self._rotary = _Rotary(self._torch, base) if memory_frames is not None else None
        if self._rotary is not None:
            if memory_frames is not None and memory_frames < 2:
                raise SettingError(f"a memory of {memory_frames} frames is too small; keep 2 or more")
            if rope_index is not None:
                raise SettingError(
                    f"{self.name} tells time, height and width by its positions (M-RoPE), which cannot be counted "
                    "anew; follow the stream without a bound on its memory"
                )
            self._within_memory(self._try_turning)

    def pieces(self, system: str) -> TurnPieces:
        """The text between frames and turns, with a system message.

        Raises:
            InputError: The template does not append turn to turn, or takes no system message.
        """
        if system not in self._pieces:
            self._pieces[system] = turn_pieces(self._processor, self.path, system=system)
        return self._pieces[system]

    def stream(self, system: str | None = None) -> "VideoStream":
        """Starts a conversation about a new video.

        Raises:
            InputError: The template takes no system message.
        """
        return VideoStream(self, self.pieces(self.system if system is None else system))

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer."""
        named = getattr(self._model.generation_config, "eos_token_id", None)
        named = self._processor.tokenizer.eos_token_id if named is None else named
        return frozenset(named if isinstance(named, list) else [] if named is None else [named])

    def text_tokens(self, text: str, *, first: bool = False) -> dict[str, Any]:
        """A text as the model's input; set `first` if the conversation begins with it."""
        ids = self._processor.tokenizer(text, add_special_tokens=first, return_tensors="pt")["input_ids"]
        return {"input_ids": ids.to(self.device)}

    def frame_tokens(self, piece: str, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """A frame as the model's input.

        Raises:
            ModelError: The processor does not accept the frame.
        """
        from PIL import Image

        try:
            inputs = self._processor(
                text=piece,
                images=[Image.fromarray(rgb)],
                return_tensors="pt",
                add_special_tokens=False,
                **self._options,
            )
        except Exception as error:
            # Processors raise many kinds of errors.
            told = " ".join(str(error).split())[:300]
            raise ModelError(f"{self.name} takes no such frame: {told}") from error
        made = inputs.to(self.device, dtype=self._model.dtype)
        return {name: value for name, value in made.items() if name != "attention_mask"}

    def words(self, tokens: list[int]) -> str:
        """Tokens as text."""
        return str(self._processor.decode(tokens, skip_special_tokens=True)).strip()

    def read(self, inputs: dict[str, Any], cache: Any, position: int) -> tuple[Any, int]:
        """Read tokens after those in the cache, and add them to the cache.

        Args:
            inputs: `input_ids` (1, L), and the inputs for their pictures.
            cache: A `DynamicCache`.
            position: Position of the first token.

        Returns:
            Logits after the last token, (V,), and the position of the next token.

        Raises:
            ModelError: There is not enough memory, or the model fails.
        """
        torch = self._torch
        ids = inputs["input_ids"]
        with torch.inference_mode():
            if self._rope_index is None:
                positions = torch.arange(position, position + ids.shape[1], device=ids.device)[None]
            elif "image_grid_thw" in inputs:
                own, _ = self._rope_index(
                    ids, mm_token_type_ids=inputs["mm_token_type_ids"], image_grid_thw=inputs["image_grid_thw"]
                )
                positions = own + position
            else:
                positions = torch.arange(position, position + ids.shape[1], device=ids.device).expand(3, 1, -1)
            out = self._within_memory(
                lambda: self._model(
                    **inputs, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1
                )
            )
            return out.logits[0, -1], int(positions.max()) + 1

    def tensor(self, tokens: list[int]) -> Any:
        """Tokens as (1, L)."""
        return self._torch.tensor([tokens], device=self.device)

    def joined(self, spans: list[Any]) -> Any:
        """Spans (1, H, L, D) of keys or values, one after another."""
        return self._torch.cat(spans, dim=-2)

    def turn_back(self, keys: Any, by: int) -> Any:
        """Keys as they would be at positions lower by `by`."""
        assert self._rotary is not None
        return self._rotary.turned(keys, -by)

    def _try_turning(self) -> None:
        """Check that a model's keys, when rotated, equal those of another position."""
        from transformers import DynamicCache

        token = self.text_tokens("a")["input_ids"][:, :1]
        here: Any = DynamicCache()
        there: Any = DynamicCache()
        self.read({"input_ids": token}, here, 0)
        self.read({"input_ids": token}, there, TRIED_POSITION)
        for near, far in zip(here.layers, there.layers, strict=True):
            expected = near.keys.float()
            if (self.turn_back(far.keys, TRIED_POSITION).float() - expected).norm() > TRIED_RTOL * expected.norm():
                raise SettingError(
                    f"the positions of {self.name} are of a kind that cannot be counted anew; follow the stream "
                    "without a bound on its memory"
                )


class _Rotary:
    """Rotates keys by positions, for a model with rotary positions of one axis."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        decoder = model.get_decoder()
        frequencies = getattr(getattr(decoder, "rotary_emb", None), "inv_freq", None)
        if frequencies is None:
            raise SettingError("the model has no rotary positions; follow the stream without a bound on its memory")
        self._frequencies = frequencies

    def turned(self, keys: Any, by: int) -> Any:
        """Keys (1, H, L, D), rotated by `by` positions. The first 2F of D rotate, in two halves."""
        torch = self._torch
        half = len(self._frequencies)
        # In the precision of the angles, because keys are rotated more than once.
        angles = by * self._frequencies.to(keys.device, torch.float32)
        cos, sin = angles.cos(), angles.sin()
        first, second, rest = keys[..., :half].float(), keys[..., half : 2 * half].float(), keys[..., 2 * half :]
        turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        return torch.cat([turned.to(keys.dtype), rest], dim=-1)


@dataclass(frozen=True)
class _Segment:
    """Tokens that are kept or dropped together."""

    kind: Kind
    number: int
    """Index of the frame or the turn."""
    tokens: int


@dataclass(frozen=True)
class StreamMark:
    """An earlier state of a stream, for `rewind`."""

    position: int
    segments: tuple[_Segment, ...]
    unread: tuple[int, ...]
    state: State
    forgotten: int

    @property
    def tokens(self) -> int:
        """Number of tokens that were kept then."""
        return sum(segment.tokens for segment in self.segments)


class VideoStream:
    """One conversation. Create it with `StreamingVideoModel.stream`."""

    def __init__(self, model: StreamingVideoModel, pieces: TurnPieces) -> None:
        from transformers import DynamicCache

        self._model, self._pieces = model, pieces
        self._cache: Any = DynamicCache()
        self._position = 0
        self._segments: list[_Segment] = []
        self._unread: list[int] = []
        """Tokens that were written and not read: the last token of an answer that was cut off."""
        self._state: State = "empty"
        self._number = 0
        self._forgotten = 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of the keys and values in the cache."""
        return sum(t.numel() * t.element_size() for layer in self._layers() for t in (layer.keys, layer.values))

    @property
    def tokens(self) -> int:
        """Number of tokens in the cache."""
        return sum(segment.tokens for segment in self._segments)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Encode the next frame. Returns None, because the model was not trained to report when it is ready.

        Raises:
            ModelError: There is not enough memory.
        """
        # Done first: if a frame is refused, the conversation stays unchanged.
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
        """Ask a question now.

        Raises:
            ModelError: There is not enough memory, or the model wrote nothing. The conversation stays unchanged.
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
        """Give an instruction that is answered later."""
        self._number += 1
        self._read_text(self._opening() + instruction + "\n", "turn")
        self._state = "text"

    def speak(self) -> StreamAnswer:
        """Let the model speak now.

        Raises:
            ModelError: As for `ask`.
        """
        return self.ask(SAY_NOW)

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and an answer to the conversation."""
        self._number += 1
        self._read_text(self._opening() + question + self._pieces.before_answer_given + answer, "turn")
        self._state = "answered"
        self._forget()

    def mark(self) -> StreamMark:
        """The current state of the conversation."""
        return StreamMark(self._position, tuple(self._segments), tuple(self._unread), self._state, self._forgotten)

    def rewind(self, mark: StreamMark) -> bool:
        """Return to an earlier state of this conversation and discard everything after it.

        Returns:
            False if something before that state has been dropped since; then nothing changes.
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
        """The text before a question at this point."""
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
        """Logits after the last token. Adds the tokens to the cache."""
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
        """Drop the oldest frames after the first if there are too many, and the oldest turns."""
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
        """Spans of tokens to keep, and by how many positions each moves up."""
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
