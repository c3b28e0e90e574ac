"""reeltalk-mini: follows a video and talks about it, on a CPU, without torch.

Each frame is encoded once, when it comes, and kept as keys and values. A question adds only the cost of its own words.
The weights lie next to this file, or in a folder that `reeltalk_household.training.export_onnx` wrote.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from reeltalk.errors import InputError, ModelError
from reeltalk_household.mini.mini_input import (
    ANSWER,
    BEGIN,
    END,
    HEARD,
    INSTRUCTION,
    PAD,
    QUESTION,
    SAYS,
    TOKENIZER,
    MiniShape,
    MiniWords,
    fit_to_network,
)
from reeltalk_household.mini.mini_people import KnownPeople
from reeltalk_streaming.inference.stream import THRESHOLD, StreamAnswer
from reeltalk_streaming.inference.stream_memory import Floats, MemoryPolicy, StreamMemory

FOLDER: Final = Path(__file__).parent / "weights"
"""The weights that come with reeltalk."""
NAME: Final = "reeltalk-mini"
VISION: Final = "vision.onnx"
DECODER: Final = "decoder.onnx"
SHAPE: Final = "shape.json"
FRAME: Final = -1
"""Placeholder in the word sequence at the position of a visual token."""
LONGEST_ANSWER: Final = 96
"""Words and pieces of words."""
SPEAKS_FROM: Final = 0.3
"""Picked on the dev split of the release; `weights/README.md` has the table."""
FRAMES_AT_ONCE: Final = 16
"""How many frames are read at once if many are available. More would gain nothing and use memory."""
CACHED_FRAMES: Final = 4096
"""For how many frames the model remembers what they show: about 20 MB."""
HINT: Final = "give a folder that the export of reeltalk-mini wrote, or none for the weights that come with reeltalk"


class FrameContents(NamedTuple):
    """What N frames show."""

    tokens: Floats
    """(N, K, D) tokens of the decoder."""
    letters: NDArray[np.int64] | None
    """(N, P, L) letters above the heads of people, from left to right, as numbers of `LETTERS`; 0 is nothing. None for
    a network that does not know who is who, and so for what follows."""
    looks: Floats | None
    """(N, P, F) probabilities of looks."""
    present: Floats | None
    """(N, P) probabilities that somebody is there."""


class MiniModel:
    """The loaded network. You may share it among threads, but not a stream.

    Args:
        folder: Has the graphs, the words and the sizes; by default the one that comes with reeltalk.
        policy: Bounds of a stream's memory; by default it keeps everything.
        threads: Number of cores for one frame or word.
        longest_answer: Longest answer, in words and pieces of words.

    Raises:
        InputError: A file is missing, broken, or does not fit the others.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        policy: MemoryPolicy | None = None,
        threads: int = 1,
        longest_answer: int = LONGEST_ANSWER,
    ) -> None:
        import onnxruntime

        self.folder, self.policy, self.longest_answer = folder or FOLDER, policy, longest_answer
        files = {name: _content(self.folder / name) for name in (SHAPE, VISION, DECODER, TOKENIZER)}
        self._digest = hashlib.sha256(b"".join(hashlib.sha256(files[name]).digest() for name in sorted(files)))
        try:
            self.shape = MiniShape.model_validate_json(files[SHAPE])
        except ValidationError as error:
            told = error.errors()[0]["msg"]
            raise InputError(
                f"not the measures of reeltalk-mini: {told}", file=self.folder / SHAPE, hint=HINT
            ) from None
        self.words = MiniWords(self.folder / TOKENIZER)
        if self.words.size > self.shape.vocabulary:
            raise InputError(
                f"it has {self.words.size:,} words and the network {self.shape.vocabulary:,}",
                file=self.folder / TOKENIZER,
                hint=HINT,
            )
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        # Otherwise a plan is kept for each size of the memory, and the memory grows with each frame.
        options.enable_mem_pattern = False
        # Weights become floats once, at loading. Otherwise states would be rounded to 8 bits too.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self._vision = self._loaded(onnxruntime, VISION, files[VISION], options)
        self._decoder = self._loaded(onnxruntime, DECODER, files[DECODER], options)
        # Graphs of networks that do not know who is who take no marks.
        self._marked = any(node.name == "marks" for node in self._decoder.get_inputs())
        self._looked: OrderedDict[bytes, FrameContents] = OrderedDict()
        self._cached_frames = 0
        self._lock = threading.Lock()
        self._check()

    @property
    def name(self) -> str:
        """`reeltalk-mini#HASH` for the weights of reeltalk, else the folder's name with the hash of its files."""
        own = NAME if self.folder == FOLDER else self.folder.resolve().name
        return f"{own}#{self._digest.hexdigest()[:8]}"

    @property
    def speaks_from(self) -> float:
        """The readiness from which it speaks unasked: picked for the weights of reeltalk."""
        return SPEAKS_FROM if self.folder == FOLDER else THRESHOLD

    def stream(self) -> "MiniStream":
        """Starts a conversation about a new video."""
        shape = self.shape
        memory = StreamMemory(shape.layers, shape.heads, shape.head_width, shape.frame_tokens, self.policy)
        return MiniStream(self, memory)

    def look(self, pairs: NDArray[np.uint8], pts_s: Sequence[float]) -> FrameContents:
        """Encodes frames as tokens of the decoder, and reads who is there.

        Args:
            pairs: (N, 2, height, width, 3) frames in the network's size, each after the previous frame.
            pts_s: (N,) their times in seconds.
        """
        given: dict[str, NDArray[Any]] = {"frames": pairs, "pts_s": np.array(pts_s, np.float32)}
        # Several dialogues about one video begin with the same frames.
        key = hashlib.sha256(pairs.tobytes() + given["pts_s"].tobytes()).digest()
        with self._lock:
            found = self._looked.get(key)
        if found is None:
            found = self._look(given)
            with self._lock:
                # Another thread may have looked at the same frames meanwhile.
                self._cached_frames += len(pairs) if key not in self._looked else 0
                self._looked[key] = found
                while self._cached_frames > CACHED_FRAMES:
                    self._cached_frames -= len(self._looked.popitem(last=False)[1].tokens)
        return found

    def _look(self, given: dict[str, NDArray[Any]]) -> FrameContents:
        found = self._vision.run(None, given)
        return FrameContents(*found, *([None] * (4 - len(found))))

    def read(
        self, ids: Sequence[int], seen: Floats | None, memory: StreamMemory, marks: Sequence[int] | None = None
    ) -> tuple[Floats, float, Floats, Floats]:
        """Reads tokens after a memory. Returns the outputs for the last token, and the keys and values to keep.

        Args:
            ids: (T,) words; `FRAME` where there is a visual token.
            seen: (T, D) visual tokens; None if there are only words.
            memory: The earlier tokens; it is not changed.
            marks: (T,) marks of the people that visual tokens show, `PAD` for none; none at all by default.

        Returns:
            Logits (vocabulary,) of the next word, the readiness to speak from 0 to 1, and keys and values (L, H, T, E).
        """
        if seen is None:
            seen = np.zeros((len(ids), self.shape.width), np.float32)
        given = {
            "ids": np.array(ids, np.int64),
            "seen": seen,
            "past_k": np.ascontiguousarray(memory.keys),
            "past_v": np.ascontiguousarray(memory.values),
        }
        if self._marked:
            given["marks"] = np.array([PAD] * len(ids) if marks is None else marks, np.int64)
        logits, ready, keys, values = self._decoder.run(None, given)
        return logits, float(1 / (1 + np.exp(-float(ready[0])))), keys, values

    def _loaded(self, onnxruntime: Any, name: str, content: bytes, options: Any) -> Any:
        try:
            # From memory, so that a graph cannot name other files on the disk as its weights.
            return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            # The runtime raises many exception types of its own.
            told = " ".join(str(error).split())[:200]
            raise InputError(f"not a graph that can be run: {told}", file=self.folder / name, hint=HINT) from None

    def _check(self) -> None:
        s = self.shape
        past = (s.layers, s.heads, None, s.head_width)
        frames = {"frames": (None, 2, s.height_px, s.width_px, 3), "pts_s": (None,)}
        tokens = {"ids": (None,), "seen": (None, s.width), "past_k": past, "past_v": past}
        if self._marked:
            tokens["marks"] = (None,)
        for name, session, inputs in ((VISION, self._vision, frames), (DECODER, self._decoder, tokens)):
            found = {node.name: _sizes(node.shape) for node in session.get_inputs()}
            if found != inputs:
                raise self._unfitting(name)
        # Not all sizes of outputs are known before a run.
        black = np.zeros((1, 2, s.height_px, s.width_px, 3), np.uint8)
        nothing = StreamMemory(s.layers, s.heads, s.head_width, s.frame_tokens)
        try:
            fitting = self.look(black, [0.0]).tokens.shape == (1, s.frame_tokens, s.width)
        except Exception:
            fitting = False
        if not fitting:
            raise self._unfitting(VISION)
        try:
            fitting = self.read([BEGIN], None, nothing)[0].shape == (s.vocabulary,)
        except Exception:
            fitting = False
        if not fitting:
            raise self._unfitting(DECODER)

    def _unfitting(self, name: str) -> InputError:
        return InputError(
            f"it is no graph of a network with the measures of {SHAPE}", file=self.folder / name, hint=HINT
        )


class MiniStream:
    """One conversation about one video. Implements `Stream`.

    Args:
        model: The network.
        memory: An empty one.
    """

    def __init__(self, model: MiniModel, memory: StreamMemory) -> None:
        self._model, self._memory = model, memory
        self._before: NDArray[np.uint8] | None = None
        self._people = KnownPeople()
        if memory.tokens == 0:
            self._put([BEGIN])
            memory.end_turn()

    @property
    def memory(self) -> StreamMemory:
        """The memory of the stream."""
        return self._memory

    @property
    def memory_bytes(self) -> int:
        """Bytes of the keys and values that are kept."""
        return self._memory.memory_bytes

    def fork(self) -> "MiniStream":
        """A copy of the conversation that you can continue independently."""
        other = MiniStream(self._model, self._memory.fork())
        other._before, other._people = self._before, self._people.copy()
        return other

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float:
        """Add the next frame.

        Args:
            rgb: (H, W, 3) uint8 of any size.
            pts_s: Its presentation time in seconds.

        Returns:
            How ready the model is to speak now, from 0 to 1.
        """
        return self.see_all([rgb], [pts_s])

    def see_all(self, frames: Sequence[NDArray[np.uint8]], pts_s: Sequence[float]) -> float:
        """Add several frames. The result is the same as one after the other, and faster if everything is kept.

        Args:
            frames: (H, W, 3) uint8 each, at least one.
            pts_s: Their presentation times.

        Returns:
            How ready the model is to speak after the last frame, from 0 to 1.
        """
        if not len(frames) == len(pts_s) > 0:
            raise ValueError(f"{len(frames)} frames with {len(pts_s)} times")
        ready = 0.0
        # A bounded memory merges after each frame, and the next frame must see the merged memory.
        at_once = FRAMES_AT_ONCE if self._model.policy is None else 1
        for start in range(0, len(frames), at_once):
            ready = self._see(frames[start : start + at_once], pts_s[start : start + at_once])
        return ready

    def ask(self, question: str) -> StreamAnswer:
        """Ask a question now. Question and answer stay in the conversation.

        Raises:
            ModelError: The question is longer than the memory, or the model answers with nothing.
        """
        return self._speak([QUESTION, *self.numbers(question), ANSWER])

    def instruct(self, instruction: str) -> None:
        """Give an instruction that the model answers later, at the right time. It is kept when other words are dropped.

        Raises:
            ModelError: The instruction is longer than the memory.
        """
        self._tell([INSTRUCTION, *self.numbers(instruction), END], lasting=True)

    def hear(self, line: str) -> None:
        """Add what was said in the video until now.

        Raises:
            ModelError: The line is longer than the memory, or the network was not trained on what is said.
        """
        if not self._model.words.hears:
            raise ModelError(f"{self._model.name} was trained on pictures and questions alone and reads no speech")
        self._tell([HEARD, *self.numbers(line), END])

    def numbers(self, text: str) -> list[int]:
        """Encodes a text, with marks in the place of the names of people who are known by now."""
        self._people.hear(text, self._model.words)
        return self._model.words.numbers(text, self._people.marks)

    def speak(self) -> StreamAnswer:
        """Let the model speak now without a question.

        Raises:
            ModelError: The model says nothing.
        """
        return self._speak([SAYS])

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and an answer to the conversation.

        Raises:
            ModelError: They are longer than the memory.
        """
        self._tell([QUESTION, *self.numbers(question), ANSWER, *self.numbers(answer), END])

    def _see(self, frames: Sequence[NDArray[np.uint8]], pts_s: Sequence[float]) -> float:
        pairs, shape = [], self._model.shape
        for rgb in frames:
            picture = fit_to_network(rgb, shape)
            pairs.append((picture, picture if self._before is None else self._before))
            self._before = picture
        seen = self._model.look(np.array(pairs, np.uint8), pts_s)
        flat = seen.tokens.reshape(-1, shape.width)
        marks: list[int] = []
        for at in range(len(frames)):
            marks += [PAD] * shape.frame_tokens
            if seen.letters is not None and seen.looks is not None and seen.present is not None:
                marks[1 - shape.frame_tokens :] = self._people.see(seen.letters[at], seen.looks[at], seen.present[at])
        _, ready, keys, values = self._model.read([FRAME] * len(flat), flat, self._memory, marks)
        for at, time_s in enumerate(pts_s):
            own = slice(at * shape.frame_tokens, (at + 1) * shape.frame_tokens)
            self._memory.add_frame(keys[:, :, own], values[:, :, own], time_s)
        return ready

    def say(self, begun: list[int]) -> list[int]:
        """Continue with words by greedy decoding, and keep them.

        Returns:
            The words up to the end mark, or up to the longest answer.
        """
        return self._words(begun, [])

    def _speak(self, begun: list[int]) -> StreamAnswer:
        model, started = self._model, time.perf_counter()
        times: list[float] = []
        said = self._words(begun, times)
        text = model.words.text(said, self._people.marks)
        if not text:
            raise ModelError(f"{model.name} answered with nothing")
        cut_off = len(said) >= model.longest_answer
        return StreamAnswer(text, len(begun), len(said), times[-1] - started, times[0] - started, cut_off)

    def _words(self, begun: list[int], times: list[float]) -> list[int]:
        longest = self._model.longest_answer
        self._check_length(len(begun) + longest + 1)
        said: list[int] = []
        logits = self._put(begun)
        while len(said) < longest:
            word = self._model.words.likeliest(logits)
            times.append(time.perf_counter())
            if word == END:
                break
            said.append(word)
            logits = self._put([word])
        self._put([END])
        self._memory.end_turn()
        return said

    def _tell(self, ids: list[int], *, lasting: bool = False) -> None:
        self._check_length(len(ids))
        self._put(ids, lasting=lasting)
        self._memory.end_turn()

    def _put(self, ids: list[int], *, lasting: bool = False) -> Floats:
        logits, _, keys, values = self._model.read(ids, None, self._memory)
        self._memory.add_words(keys, values, lasting=lasting)
        return logits

    def _check_length(self, words: int) -> None:
        policy = self._model.policy
        if policy is not None and words > policy.recent_words:
            raise ModelError(
                f"a turn may have {words:,} words and pieces of words, and the memory keeps {policy.recent_words:,}; "
                "shorten it or keep more"
            )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint=HINT) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, hint=HINT) from None


def _sizes(shape: Sequence[Any]) -> tuple[int | None, ...]:
    """Sizes of an input; None for one that may vary."""
    return tuple(size if isinstance(size, int) else None for size in shape)
