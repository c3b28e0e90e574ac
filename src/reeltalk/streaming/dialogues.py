"""The samples that are trained on: read, checked, and put in an order that a step number alone decides."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from reeltalk.errors import InputError
from reeltalk.schema.sft import TrainingFrame, TrainingSample
from reeltalk.store.sft import read_samples

DRAWN_FOR_ORDER: Final = 1
"""Tells the random numbers that order samples from others of the same seed."""


@dataclass(frozen=True)
class Dialogue:
    """A sample with where it stands."""

    sample: TrainingSample
    file: Path
    line: int

    def error(self, problem: str, *, hint: str | None = None) -> InputError:
        """What is wrong with it, with its place."""
        return InputError(f"sample {self.sample.id!r}: {problem}", file=self.file, line=self.line, hint=hint)

    def picture(self, frame: TrainingFrame, root: Path) -> Image.Image:
        """A frame as RGB.

        Raises:
            InputError: The file is not there or no picture.
        """
        with self._opened(frame, root) as picture:
            return picture.convert("RGB")

    def size(self, frame: TrainingFrame, root: Path) -> tuple[int, int]:
        """Width and height of a frame in pixels, from the beginning of its file.

        Raises:
            InputError: The file is not there or no picture.
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
            # PIL raises OSError, ValueError, SyntaxError and others for what is no picture.
            raise self.error(f"the frame {path} cannot be read as a picture") from error


@dataclass(frozen=True)
class Dialogues:
    """All samples of a file.

    Args:
        file: StreamingChat's JSON Lines.
        root: Folder that the paths of frames begin from.
        rows: The samples.
        sha256: Of the file.
    """

    file: Path
    root: Path
    rows: tuple[Dialogue, ...]
    sha256: str

    @classmethod
    def read(cls, file: Path, root: Path | None = None) -> "Dialogues":
        """Read and check a file of samples. Frames are looked at later.

        Args:
            file: StreamingChat's JSON Lines, as `reeltalk export streamingchat` writes it.
            root: Folder that the paths of frames begin from; that of the file by default.

        Raises:
            InputError: A line is no sample of this layout, placeholders and frames differ, or there is no sample.
        """
        folder = file.parent if root is None else root
        # Not TRL's rows of one answer each: here loss falls on all answers of a line.
        rows = tuple(Dialogue(sample, file, line) for line, sample in read_samples(file, "streamingchat"))
        if not rows:
            raise InputError("no samples", file=file, hint="export at least one dialogue")
        return cls(file, folder, rows, hashlib.sha256(file.read_bytes()).hexdigest())

    def at(self, position: int, *, seed: int) -> Dialogue:
        """The sample at a position of the endless order; each pass over the samples has an order of its own.

        Args:
            position: From 0.
            seed: Decides the order.
        """
        epoch, index = divmod(position, len(self.rows))
        order = np.random.default_rng([seed, DRAWN_FOR_ORDER, epoch]).permutation(len(self.rows))
        return self.rows[int(order[index])]
