"""Training samples, each as one sequence of tokens. The step number alone decides their order.

The loss is computed on the answers only. The checkpoint's own chat template and processor write the sequence, so
training and answering see the same text. To find the answers, the conversation is rendered up to each of them. This
works for any template that only appends.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from reeltalk.errors import InputError
from reeltalk.formats.training_samples import read_samples
from reeltalk.schema.sft import TrainingFrame, TrainingSample
from reeltalk_streaming.inference.checkpoint import Checkpoint, frame_options, load_error_text

DRAWN_FOR_ORDER: Final = 1
"""Separates the random numbers that order samples from other random numbers of the same seed."""


@dataclass(frozen=True)
class SampleLine:
    """A sample with its place in its file."""

    sample: TrainingSample
    file: Path
    line: int

    def error(self, problem: str, *, hint: str | None = None) -> InputError:
        """An error about this sample, with its place in the file."""
        return InputError(f"sample {self.sample.id!r}: {problem}", file=self.file, line=self.line, hint=hint)

    def picture(self, frame: TrainingFrame, root: Path) -> Image.Image:
        """A frame as RGB.

        Raises:
            InputError: The file does not exist or is not a picture.
        """
        with self._opened(frame, root) as picture:
            return picture.convert("RGB")

    def size(self, frame: TrainingFrame, root: Path) -> tuple[int, int]:
        """Width and height of a frame in pixels, from the beginning of its file.

        Raises:
            InputError: The file does not exist or is not a picture.
        """
        with self._opened(frame, root) as picture:
            return picture.size

    @contextlib.contextmanager
    def _opened(self, frame: TrainingFrame, root: Path) -> Iterator[Image.Image]:
        path = root / frame.file
        if not path.is_file():
            raise self.error(f"the frame {path} is not there", hint="say with --frames where they begin")
        try:
            with Image.open(path) as picture:
                yield picture
        except Exception as error:
            # PIL raises OSError, ValueError, SyntaxError and others for a file that is not a picture.
            raise self.error(f"the frame {path} cannot be read as a picture") from error


@dataclass(frozen=True)
class Dialogues:
    """All samples of a file.

    Args:
        file: StreamingChat's JSON Lines.
        root: Folder that the paths of frames are relative to.
        sha256: Hash of the file.
    """

    file: Path
    root: Path
    rows: tuple[SampleLine, ...]
    sha256: str

    @classmethod
    def read(cls, file: Path, root: Path | None = None) -> "Dialogues":
        """Reads and checks a file of samples. Frames are read later.

        Args:
            file: StreamingChat's JSON Lines, as `reeltalk export streamingchat` writes it.
            root: Folder that the paths of frames are relative to; the folder of the file by default.

        Raises:
            InputError: A line is not a sample of this layout, placeholders and frames differ in number, or there is no
                sample.
        """
        folder = file.parent if root is None else root
        rows = tuple(SampleLine(sample, file, line) for line, sample in read_samples(file))
        if not rows:
            raise InputError("no samples", file=file, hint="export at least one dialogue")
        return cls(file, folder, rows, hashlib.sha256(file.read_bytes()).hexdigest())

    def at(self, position: int, *, seed: int) -> SampleLine:
        """The sample at a position of the endless order; each pass over the samples has its own order.

        Args:
            position: From 0.
            seed: Decides the order.
        """
        epoch, index = divmod(position, len(self.rows))
        order = np.random.default_rng([seed, DRAWN_FOR_ORDER, epoch]).permutation(len(self.rows))
        return self.rows[int(order[index])]


IGNORED: Final = -100
"""Label of a token without a loss."""
OFFSETS: Final = ("offset_mapping", "text_replacement_offsets")


@dataclass(frozen=True)
class Sequence:
    """One sample, ready for the model."""

    inputs: dict[str, Tensor]
    """The output of the processor: `input_ids` (1, T), `attention_mask` (1, T), pixels and related arrays."""
    labels: Tensor
    """(1, T), int64: the token itself inside an answer and at its end, `IGNORED` elsewhere."""
    frames: int
    name: str
    """Name of the sample, for errors and the log."""

    @property
    def tokens(self) -> int:
        return int(self.labels.shape[1])

    @property
    def answer_tokens(self) -> int:
        """Number of tokens with a loss."""
        return int((self.labels != IGNORED).sum())

    def to(self, device: torch.device) -> "Sequence":
        """The same sample on another device."""
        moved = {name: value.to(device) for name, value in self.inputs.items()}
        return Sequence(moved, self.labels.to(device), self.frames, self.name)


class Collator:
    """Makes sequences from dialogues."""

    def __init__(
        self, checkpoint: Checkpoint, *, frame_tokens: int = 256, max_tokens: int = 32_768, system: str | None = None
    ) -> None:
        self._processor = checkpoint.processor
        self._image_token = checkpoint.image_token_id
        self._options = frame_options(checkpoint.processor, frame_tokens)
        self.frame_tokens, self.max_tokens = frame_tokens, max_tokens
        self._system = system
        self._grown: dict[tuple[int, int], int] = {}
        tokenizer = checkpoint.processor.tokenizer
        self._reserved = sorted(
            {token.content for token in tokenizer.added_tokens_decoder.values() if token.special} - {" ", ""}
        )

    def collate(self, dialogue: SampleLine, root: Path) -> Sequence:
        """The sequence of a dialogue.

        Args:
            dialogue: The dialogue, with the paths of its frames.
            root: Folder that these paths are relative to.

        Raises:
            InputError: A frame is missing or takes more than `frame_tokens` tokens, the sequence has more than
                `max_tokens`, a text contains a special token of the model, placeholders and frames differ in number, or
                the answers cannot be found with the chat template.
        """
        pictures = [dialogue.picture(frame, root) for frame in dialogue.sample.frames]
        text, spans = self._answers(dialogue, self._chat(dialogue))
        try:
            made = self._processor(
                text=text,
                return_offsets_mapping=True,
                return_text_replacement_offsets=True,
                return_tensors="pt",
                **({"images": pictures, **self._options} if pictures else {}),
            )
        except Exception as error:
            # Processors raise many kinds of errors.
            raise dialogue.error(f"the processor cannot prepare it: {load_error_text(error)}") from error
        ids: Tensor = made["input_ids"]
        if ids.shape[1] > self.max_tokens:
            raise self.over_budget(dialogue, ids.shape[1])
        replaced = (made.get("text_replacement_offsets") or [[]])[0]
        self._check_frames(dialogue, ids, len(pictures), replaced)
        written, moved = _written_out(text, spans, replaced)
        labels = self._labels(dialogue, ids, made["offset_mapping"][0].tolist(), written, moved)
        inputs = {name: value for name, value in made.items() if name not in OFFSETS}
        return Sequence(inputs, labels, len(pictures), dialogue.sample.id)

    def tokens(self, dialogue: SampleLine, root: Path) -> int:
        """Counts the tokens in the sequence of a dialogue, without preparing its pictures.

        Raises:
            InputError: As for `collate`, except for the number of tokens of the sequence.
        """
        text, _ = self._answers(dialogue, self._chat(dialogue))
        sizes = [dialogue.size(frame, root) for frame in dialogue.sample.frames]
        for size in set(sizes) - set(self._grown):
            self._grown[size] = self._growth(dialogue, size)
        return len(self._processor.tokenizer(text)["input_ids"]) + sum(self._grown[size] for size in sizes)

    def over_budget(self, dialogue: SampleLine, tokens: int) -> InputError:
        """The error for a sample with too many tokens."""
        return dialogue.error(
            f"{tokens:,} tokens with {len(dialogue.sample.frames):,} frames, {self.max_tokens:,} are allowed",
            hint="export with a smaller token budget, or pass --max-tokens or --over-budget skip",
        )

    def _growth(self, dialogue: SampleLine, size: tuple[int, int]) -> int:
        """The number of tokens that a picture of this size adds to its placeholder."""
        word = self._processor.image_token
        try:
            made = self._processor(text=word, images=[Image.new("RGB", size)], return_tensors="pt", **self._options)
        except Exception as error:
            # Processors raise many kinds of errors.
            raise dialogue.error(
                f"the processor cannot prepare a frame of {size} px: {load_error_text(error)}"
            ) from error
        ids = made["input_ids"][0]
        self._check_frame(dialogue, int((ids == self._image_token).sum()))
        return len(ids) - len(self._processor.tokenizer(word)["input_ids"])

    def _chat(self, dialogue: SampleLine) -> list[dict[str, Any]]:
        chat: list[dict[str, Any]] = []
        if self._system is not None:
            chat.append({"role": "system", "content": [{"type": "text", "text": self._system}]})
        for message in dialogue.sample.messages():
            parts: list[dict[str, str]] = []
            for part in message.parts:
                if isinstance(part, str):
                    found = next((token for token in self._reserved if token in part), None)
                    if found is not None:
                        raise dialogue.error(
                            f"a text holds {found!r}, which means something to the model",
                            hint="leave the dialogue out, or reword it",
                        )
                    parts.append({"type": "text", "text": part})
                else:
                    parts.append({"type": "image"})
            chat.append({"role": message.role, "content": parts})
        return chat

    def _answers(self, dialogue: SampleLine, chat: list[dict[str, Any]]) -> tuple[str, list[tuple[int, int]]]:
        """The rendered conversation, and the spans of its answers, each with the text that ends it."""
        render = self._processor.apply_chat_template
        try:
            text: str = render(chat, tokenize=False)
            spans = [
                (
                    render(chat[:index], tokenize=False, add_generation_prompt=True),
                    render(chat[: index + 1], tokenize=False),
                )
                for index, message in enumerate(chat)
                if message["role"] == "assistant"
            ]
        except Exception as error:
            # Templates raise many kinds of errors.
            raise dialogue.error(f"the chat template cannot write it: {load_error_text(error)}") from error
        for before, through in spans:
            if not (text.startswith(through) and through.startswith(before) and len(through) > len(before)):
                raise dialogue.error(
                    "the chat template changes the text before an answer, so answers cannot be told from the rest",
                    hint="use a template that only appends",
                )
        return text, [(len(before), len(through)) for before, through in spans]

    def _check_frames(self, dialogue: SampleLine, ids: Tensor, frames: int, replaced: list[dict[str, Any]]) -> None:
        if len(replaced) != frames:
            raise dialogue.error(f"the chat template wrote {len(replaced)} placeholders for {frames} frames")
        token = self._processor.image_token
        counts = [str(one["replacement"]).count(token) for one in replaced]
        self._check_frame(dialogue, max(counts, default=0))
        found = int((ids == self._image_token).sum())
        if found != sum(counts):
            raise dialogue.error(f"{found} image tokens in the sequence, {sum(counts)} for its {frames} frames")

    def _check_frame(self, dialogue: SampleLine, tokens: int) -> None:
        if tokens > self.frame_tokens:
            raise dialogue.error(
                f"a frame takes {tokens} tokens, {self.frame_tokens} are allowed",
                hint=f"pass --frame-tokens {tokens}, or set the size of pictures in preprocessor_config.json",
            )

    def _labels(
        self, dialogue: SampleLine, ids: Tensor, offsets: list[list[int]], text: str, spans: list[tuple[int, int]]
    ) -> Tensor:
        """Labels (1, T) from the places of tokens in the text. Answers must begin and end with a token."""
        labels = torch.full_like(ids, IGNORED)
        row: list[int] = ids[0].tolist()
        for start, end in spans:
            inside = [n for n, (a, b) in enumerate(offsets) if start <= a < end and b <= end]
            torn = any(a < start < b or a < end < b for a, b in offsets)
            if inside and not torn:
                # The prompt before an answer must have the same tokens as in use. A tokenizer may merge them at its
                # end.
                prompt = self._processor.tokenizer(text[:start])["input_ids"]
                torn = prompt[: inside[0]] != row[: inside[0]] or len(prompt) > inside[0] + 1
            if torn or not inside:
                raise dialogue.error(
                    "an answer does not begin or end where a token does, so it cannot be learnt as it will be written",
                    hint="use a chat template with a special token before and after answers",
                )
            labels[0, inside] = ids[0, inside]
        return labels


def _written_out(
    text: str, spans: list[tuple[int, int]], replaced: list[dict[str, Any]]
) -> tuple[str, list[tuple[int, int]]]:
    """The text with expanded placeholders, and the spans in it."""
    pieces, done = [], 0
    for one in replaced:
        start, end = one["span"]
        pieces += [text[done:start], one["replacement"]]
        done = end
    moved = []
    for start, end in spans:
        grown = sum(
            len(one["replacement"]) - (one["span"][1] - one["span"][0]) for one in replaced if one["span"][1] <= start
        )
        moved.append((start + grown, end + grown))
    return "".join([*pieces, text[done:]]), moved
