"""What is known of a film or a side file: where its shape comes from, and what is right about it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpus.pattern import PATCHES, Matrix, Patch

Verdict = Literal["read", "repair", "refuse", "ignore"]
"""What should become of it: read as it is; read after what is wrong is set right, and said; refused with a reason; or
passed over without a word, since it is neither a film nor about one."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file as a tool of the world writes it."""

    name: str
    tool: str
    """And its version, where the shape depends on it."""
    source: str
    """Where the shape can be seen."""
    special: str
    """In a sentence."""
    verdict: Verdict = "read"
    judgement: str = ""
    """Where the right answer is a matter of opinion: which one is given here, and why."""


@dataclass(frozen=True, kw_only=True)
class Film(Entry):
    """A film, and what a player shows of it.

    Times are those of the player's clock, which stands at zero when the first picture or sound of the film is due.
    """

    make: Callable[[Path], None]
    numbers: tuple[int | None, ...] = ()
    """Of all pictures, in the order in which they are shown; None where two are woven into one."""
    times: tuple[float, ...] | None = ()
    """When each is first seen, in seconds; None where the file says nothing that could be trusted."""
    ends: float | None = None
    """When the last picture goes."""
    size: tuple[int, int] | None = None
    """Width and height as they are shown, turned and in square points; None where there is no picture."""
    matrix: Matrix = (1, 0, 0, 1)
    """How stored pictures are turned into those shown."""
    stored_size: tuple[int, int] | None = None
    stream: int = 0
    """Which of the streams of pictures is the film."""
    sound: bool = False
    light: str = "bt601"
    """The matrix by which its colours are right."""
    full: bool = False
    colours: Literal["exact", "hue"] = "exact"
    """Whether patches have the very colours that are named, or their hues alone: in HDR, and where there are few."""
    fields: Literal["top", "bottom"] | None = None
    """Which field comes first, where every picture is two moments woven into one."""
    at_least: bool = False
    """Whether one more, damaged, picture may be shown after those numbered."""

    @property
    def patches(self) -> tuple[Patch, ...]:
        """Colours and their places, in every picture as it is shown."""
        return PATCHES if self.size else ()


@dataclass(frozen=True)
class Cue:
    """A line that is said, or a label, and when; None where no time is known."""

    starts: float | None
    ends: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class SideFile(Entry):
    """A file beside a film, and what it says."""

    content: bytes
    kind: Literal["subtitles", "transcript", "metadata", "annotations", "picture", "rubbish"]
    cues: tuple[Cue, ...] = ()
    """What is said, each line once and in the order of time, without markup."""
    facts: tuple[tuple[str, object], ...] = ()
    """What metadata say: names and values."""

    @property
    def film(self) -> str:
        """The film that it lies beside; of what belongs to a whole folder, a name that no film has."""
        return re.split(r"[.-]", self.name.lstrip("._"))[0] + ".mp4"
