"""The memory of a stream: keys and values of frames and words, either all of them or within fixed bounds.

The bounds follow StreamingLLM (arXiv:2309.17453), which keeps the latest tokens and the first ones, because attention
depends on those. Frames in between are merged, not dropped. The two most similar neighbours are merged first, as in
MA-LMM (arXiv:2404.05726). Keys are stored before rotation, and the reader counts positions from 0 again. So the network
sees no position that it was not trained on, however long the video is.

Shapes: L layers, H heads, S tokens in the memory, T new tokens, E width of a head, K tokens of a frame.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reeltalk.errors import SettingError
from reeltalk.schema.settings import Settings

Floats = NDArray[np.float32]
GROWTH: Final = 2
FIRST_TOKENS: Final = 256
"""Initial capacity of an unbounded memory."""


class MemoryPolicy(Settings):
    """Bounds of the memory of an endless stream."""

    sinks: Annotated[int, Field(ge=0)] = 4
    """First tokens of the stream, which are never dropped. A frame that begins among them stays whole."""
    recent_frames: Annotated[int, Field(ge=1)] = 128
    """Latest frames, kept unchanged."""
    merged_frames: Annotated[int, Field(ge=0)] = 128
    """Entries, each as large as a frame, for merged older frames; 0 drops older frames."""
    recent_words: Annotated[int, Field(ge=1)] = 512
    """Words and pieces of words. Whole turns are dropped, the oldest first and instructions last."""

    def most_tokens(self, frame_tokens: int) -> int:
        """The most tokens that the memory keeps."""
        frames = (self.recent_frames + self.merged_frames) * frame_tokens
        return self.sinks + frame_tokens - 1 + frames + self.recent_words

    @property
    def signature(self) -> str:
        """All settings as one word."""
        return f"{self.sinks}-{self.recent_frames}-{self.merged_frames}-{self.recent_words}"


@dataclass
class MemoryEntry:
    """Tokens of the memory that are kept, dropped or merged together."""

    kind: Literal["sink", "frame", "words"]
    tokens: int
    frames: int = 0
    """Number of frames that were merged into it, which is its weight in averages."""
    first_frame: int | None = None
    """Index of its earliest frame in the stream, from 0."""
    first_pts_s: float | None = None
    """Presentation time of that frame."""
    last_pts_s: float | None = None
    """Presentation time of its latest frame."""
    lasting: bool = False
    """True for an instruction, which is dropped after all other words."""
    alike: float | None = None
    """Cosine similarity of its keys with those of the next frame's entry; None if not known."""


class StreamMemory:
    """Keys and values in the order of time.

    Args:
        layers: Number of layers in the network.
        heads: Number of heads in each layer.
        head_width: Width of keys and values.
        frame_tokens: Tokens of each frame.
        policy: Bounds; None keeps everything.
    """

    def __init__(
        self, layers: int, heads: int, head_width: int, frame_tokens: int, policy: MemoryPolicy | None = None
    ) -> None:
        self.policy, self.frame_tokens = policy, frame_tokens
        self.frames_seen, self.frames_dropped, self.words_dropped = 0, 0, 0
        room = FIRST_TOKENS if policy is None else policy.most_tokens(frame_tokens) + frame_tokens
        self._keys: Floats = np.zeros((layers, heads, room, head_width), np.float32)
        self._values: Floats = np.zeros_like(self._keys)
        self._tokens, self._words, self._sinks = 0, 0, 0
        self._entries: list[MemoryEntry] = []
        self._frames: list[MemoryEntry] = []
        self._open = False

    @property
    def keys(self) -> Floats:
        """(L, H, S, E) in the order of time, not rotated. It is a view that the next addition changes."""
        return self._keys[:, :, : self._tokens]

    @property
    def values(self) -> Floats:
        """(L, H, S, E) in the order of time. It is a view that the next addition changes."""
        return self._values[:, :, : self._tokens]

    @property
    def tokens(self) -> int:
        """S, the number of tokens in the memory."""
        return self._tokens

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """The entries that the tokens belong to, in the order of time."""
        return tuple(self._entries)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the stored keys and values."""
        return self.keys.nbytes + self.values.nbytes

    def fork(self) -> "StreamMemory":
        """A copy of the memory that you can extend independently."""
        layers, heads, _, width = self._keys.shape
        other = StreamMemory(layers, heads, width, self.frame_tokens, self.policy)
        other._make_room(self._tokens)
        other._keys[:, :, : self._tokens], other._values[:, :, : self._tokens] = self.keys, self.values
        other._tokens, other._words, other._sinks = self._tokens, self._words, self._sinks
        other.frames_seen, other.frames_dropped = self.frames_seen, self.frames_dropped
        other.words_dropped, other._open = self.words_dropped, self._open
        other._entries = [MemoryEntry(**vars(entry)) for entry in self._entries]
        other._frames = [entry for entry in other._entries if entry.kind == "frame"]
        return other

    def add_frame(self, keys: Floats, values: Floats, pts_s: float) -> None:
        """Store a frame.

        Raises:
            ValueError: The shape is not that of a frame.
        """
        if keys.shape[2] != self.frame_tokens:
            raise ValueError(f"a frame has {self.frame_tokens} tokens, not {keys.shape[2]}")
        self.end_turn()
        sinking = self.policy is not None and self._sinks < self.policy.sinks
        entry = MemoryEntry("sink" if sinking else "frame", self.frame_tokens, 1, self.frames_seen, pts_s, pts_s)
        self._append(keys, values, entry)
        self.frames_seen += 1
        if sinking:
            self._sinks += self.frame_tokens
            return
        self._frames.append(entry)
        if self.policy is not None:
            while len(self._frames) > self.policy.recent_frames + self.policy.merged_frames:
                self._make_older(self.policy)

    def add_words(self, keys: Floats, values: Floats, *, lasting: bool = False) -> None:
        """Store words. They belong to the open turn; if none is open, they begin one.

        Raises:
            ValueError: The turn alone exceeds the limit of words.
        """
        count, policy = keys.shape[2], self.policy
        sunk = 0 if policy is None or self._open else min(count, max(0, policy.sinks - self._sinks))
        if sunk:
            self._append(keys[:, :, :sunk], values[:, :, :sunk], MemoryEntry("sink", sunk))
            self._sinks += sunk
            keys, values = keys[:, :, sunk:], values[:, :, sunk:]
        if count == sunk:
            return
        if not self._open:
            self._entries.append(MemoryEntry("words", 0, lasting=lasting))
            self._open = True
        turn = self._entries[-1]
        if policy is not None:
            if turn.tokens + count - sunk > policy.recent_words:
                raise ValueError(f"a turn has more words than the {policy.recent_words} that may be kept")
            while self._words + count - sunk > policy.recent_words:
                self._drop_turn(turn)
        self._append(keys, values, None)
        turn.tokens += count - sunk
        self._words += count - sunk

    def end_turn(self) -> None:
        """End the open turn. The next words begin a new turn."""
        self._open = False

    def _append(self, keys: Floats, values: Floats, entry: MemoryEntry | None) -> None:
        end = self._tokens + keys.shape[2]
        self._make_room(end)
        self._keys[:, :, self._tokens : end], self._values[:, :, self._tokens : end] = keys, values
        self._tokens = end
        if entry is not None:
            self._entries.append(entry)

    def _make_room(self, tokens: int) -> None:
        layers, heads, room, width = self._keys.shape
        if tokens <= room:
            return
        while room < tokens:
            room *= GROWTH
        keys, values = (np.zeros((layers, heads, room, width), np.float32) for _ in range(2))
        keys[:, :, : self._tokens], values[:, :, : self._tokens] = self.keys, self.values
        self._keys, self._values = keys, values

    def _make_older(self, policy: MemoryPolicy) -> None:
        """Merge the two most similar neighbours among the older frames, or drop the oldest frame."""
        older = self._frames[: len(self._frames) - policy.recent_frames]
        if policy.merged_frames == 0:
            self.frames_dropped += older[0].frames
            self._remove(older[0])
            del self._frames[0]
            return
        starts = self._starts()
        for left, right in pairwise(older):
            if left.alike is None:
                left.alike = _cosine(self._of(left, starts), self._of(right, starts))
        at = max(range(len(older) - 1), key=lambda n: older[n].alike or 0.0)
        left, right = older[at], older[at + 1]
        share = np.float32(right.frames / (left.frames + right.frames))
        for held in (self._keys, self._values):
            into = held[:, :, starts[id(left)] : starts[id(left)] + left.tokens]
            into += share * (held[:, :, starts[id(right)] : starts[id(right)] + right.tokens] - into)
        left.frames, left.last_pts_s, left.alike = left.frames + right.frames, right.last_pts_s, None
        if at:
            older[at - 1].alike = None
        self._remove(right)
        del self._frames[at + 1]

    def _drop_turn(self, running: MemoryEntry) -> None:
        turns = [entry for entry in self._entries if entry.kind == "words" and entry is not running]
        oldest = next((turn for turn in turns if not turn.lasting), turns[0])
        self._words -= oldest.tokens
        self.words_dropped += oldest.tokens
        self._remove(oldest)

    def _remove(self, entry: MemoryEntry) -> None:
        start = self._starts()[id(entry)]
        end = start + entry.tokens
        for held in (self._keys, self._values):
            held[:, :, start : self._tokens - entry.tokens] = held[:, :, end : self._tokens]
        self._tokens -= entry.tokens
        # Entries are compared by identity, not by content.
        self._entries = [other for other in self._entries if other is not entry]

    def _starts(self) -> dict[int, int]:
        starts, at = {}, 0
        for entry in self._entries:
            starts[id(entry)] = at
            at += entry.tokens
        return starts

    def _of(self, entry: MemoryEntry, starts: dict[int, int]) -> Floats:
        return self._keys[:, :, starts[id(entry)] : starts[id(entry)] + entry.tokens]


def _cosine(a: Floats, b: Floats) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.vdot(a, b)) / norms if norms else 0.0


MOST_MINI_FRAMES: Final = 20_000
"""The memory for all of them is allocated at once: about 300 MB."""


def bounded_memory(memory_frames: int | None) -> MemoryPolicy:
    """A bound on the memory of a stream, so that a camera may run for days.

    Args:
        memory_frames: Maximum number of frames: half are recent, half are merged from older ones. The default is the
            model's own bound.

    Raises:
        SettingError: It cannot keep so many.
    """
    if memory_frames is None:
        return MemoryPolicy()
    if memory_frames > MOST_MINI_FRAMES:
        raise SettingError(f"reeltalk-mini keeps at most {MOST_MINI_FRAMES:,} frames, not {memory_frames:,}")
    kept = memory_frames // 2
    return MemoryPolicy(recent_frames=kept, merged_frames=memory_frames - kept)
