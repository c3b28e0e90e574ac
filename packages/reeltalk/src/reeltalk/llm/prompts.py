"""Prompts as versioned files: ours, and a user's own in their place, checked before a model is asked.

Name, version and hash of a prompt are part of the signature of everything that it produced. A folder of prompts may
come from a stranger: files are read up to a size, and none outside of the folder.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from reeltalk.errors import InputError, SettingError
from reeltalk.store.documents import read_text

_FIELD: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """A versioned prompt file: its first line has name and version, its `{fields}` are filled when a model is asked."""

    name: str
    version: str
    text: str
    sha256: str

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a prompt file.

        Raises:
            ValueError: Its first line is not `<!-- NAME vN -->` or `<!-- NAME vN verbatim -->`.
        """
        return cls.read(path.read_text(encoding="utf-8"), path)

    @classmethod
    def read(cls, content: str, path: Path) -> Self:
        """Read a prompt from the text of a file. White space around a text is removed unless it is `verbatim`.

        Raises:
            ValueError: Its first line is not `<!-- NAME vN -->` or `<!-- NAME vN verbatim -->`.
        """
        head, _, body = content.partition("\n")
        match = re.fullmatch(r"<!-- ([\w-]+) (v\d+)( verbatim)? -->", head)
        if match is None:
            raise ValueError(f"{path}: the first line must name the prompt and its version, <!-- NAME vN -->")
        text = body if match[3] else body.strip()
        return cls(match[1], match[2], text, hashlib.sha256(content.encode()).hexdigest())

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields in braces."""
        return frozenset(_FIELD.findall(self.text))

    def followed_by(self, other: "Prompt") -> "Prompt":
        """This prompt followed by another one; the signature has both."""
        return Prompt(
            f"{self.name}.{self.version}+{other.name}",
            other.version,
            f"{self.text}\n\n{other.text}",
            hashlib.sha256(f"{self.sha256} {other.sha256}".encode()).hexdigest(),
        )

    @property
    def signature(self) -> str:
        """Name, version and first digits of the hash, as `vdeval.v1#155a11b8`."""
        return f"{self.name}.{self.version}#{self.sha256[:8]}"

    def fill(self, **fields: str) -> str:
        """The text with all fields filled. Fields inside the filled values are not replaced."""
        return _FIELD.sub(lambda match: fields[match[1]], self.text)


LARGEST_BYTES: Final = 200_000
"""A longer file is no prompt."""
MOST_FILES: Final = 1_000
"""A folder with more files is no folder of prompts."""
IGNORED: Final = ("README.md", "LICENSE")
"""Files about the prompts."""


@dataclass(frozen=True)
class PromptGroup:
    """The prompts of one job, and the requirements on files that replace them."""

    name: str
    """Name of their subfolder in a folder of prompts, as `judge`."""
    ours: Mapping[str, Path]
    """Our files by name."""
    optional: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By prompt, fields that a file may leave out, or may have although ours lacks them."""
    replies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By prompt, words by which its reply is read; a file must contain each of them."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Prompts that reeltalk does not bring, each with how to get it."""
    needed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For the prompts in `without`, fields that a file must have."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all prompts, in order."""
        return tuple(sorted({*self.ours, *self.without}))


class Prompts(Mapping[str, Prompt]):
    """The prompts of a job by name.

    Args:
        group: The job.
        found: Its prompts by name.
        replaced: Names of those that are a user's own.
    """

    def __init__(self, group: PromptGroup, found: Mapping[str, Prompt], replaced: Sequence[str] = ()) -> None:
        self.group, self._found, self.replaced = group, dict(found), tuple(replaced)

    def __getitem__(self, name: str) -> Prompt:
        """The prompt of a name.

        Raises:
            SettingError: reeltalk does not bring this prompt, and no folder has it.
            KeyError: There is no such prompt.
        """
        if name not in self._found and name in self.group.without:
            raise SettingError(
                f"the prompt {self.group.name}/{name} is not part of reeltalk; {self.group.without[name]}, and pass "
                "the folder with --prompts"
            )
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        """True if there is a text of this name."""
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        """The names, in order."""
        return iter(sorted(self._found))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._found)

    def __hash__(self) -> int:
        """By the texts."""
        return hash(tuple(self[name].sha256 for name in self))


def our_prompts(group: PromptGroup) -> Prompts:
    """Our own prompts of a job."""
    return Prompts(group, {name: Prompt.load(path) for name, path in group.ours.items()})


def prompts_in(folder: Path | None, group: PromptGroup) -> Prompts:
    """The prompts of a job from a folder, completed by ours.

    Args:
        folder: Has `GROUP/NAME.md` for each prompt that it replaces; None: all are ours.
        group: The job.

    Raises:
        SettingError: The folder does not exist.
        InputError: A file is no prompt, or lacks a field or the words by which its reply is read. Has file and line.
    """
    ours = our_prompts(group)
    if folder is None:
        return ours
    own = {}
    for path in prompt_files(folder):
        if path.parent == folder / group.name and path.stem in group.names:
            own[path.stem] = _checked(path, path.stem, group, ours)
    return Prompts(group, {**ours, **own}, tuple(own))


def prompt_files(folder: Path) -> list[Path]:
    """The files of a folder of prompts, in order, without hidden files, README.md and LICENSE.

    Raises:
        SettingError: The folder does not exist.
        InputError: It has too many files, or a link.
    """
    if not folder.is_dir():
        raise SettingError(f"--prompts {folder}: no such folder; 'reeltalk prompts --out {folder}' writes ours there")
    found: list[Path] = []
    waiting = [folder]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name.startswith(".") or (path.parent == folder and path.name in IGNORED):
                continue
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise InputError(
                    "a folder of prompts holds files alone, no links", file=path, hint="put a copy of the file there"
                )
            (waiting if path.is_dir() else found).append(path)
            if len(found) + len(waiting) > MOST_FILES:
                raise InputError(f"more than {MOST_FILES:,} files", file=folder, hint="name a folder of prompts")
    return sorted(found)


def read_small(path: Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """The text of a file that may come from a stranger.

    Raises:
        InputError: It is too long, cannot be read, or is not UTF-8.
    """
    if path.is_file() and path.stat().st_size > largest_bytes:
        raise InputError(f"longer than {largest_bytes:,} bytes", file=path, hint="this is no file of prompts")
    return read_text(path)


def _checked(path: Path, name: str, group: PromptGroup, ours: Prompts) -> Prompt:
    content = read_small(path)
    try:
        prompt = Prompt.read(content, path)
    except ValueError:
        hint = f"write <!-- {name} v1 --> there; raise the number where you change the text"
        raise InputError("the first line does not name the prompt and its version", file=path, line=1, hint=hint) from (
            None
        )
    check_prompt(prompt, name, group, ours, path)
    return prompt


def check_prompt(prompt: Prompt, name: str, group: PromptGroup, ours: Prompts, path: Path) -> None:
    """Refuse a prompt that cannot replace a prompt of a job.

    Raises:
        InputError: A field is unknown or missing, or a word by which its reply is read is missing. Has the line.
    """
    optional = group.optional.get(name, frozenset())
    needed = (ours[name].fields if name in ours else group.needed.get(name, frozenset())) - optional
    known = needed | optional
    told = ", ".join(f"{{{one}}}" for one in sorted(known)) or "none"
    where = f"{group.name}/{name}"
    for unknown in sorted(prompt.fields - known):
        line = _line_of(path, f"{{{unknown}}}")
        raise InputError(
            f"unknown placeholder {{{unknown}}}; {where} has {told}", file=path, line=line, hint="correct or remove it"
        )
    lines = _lines(path)
    for missing in sorted(needed - prompt.fields):
        hint = f"put it where 'reeltalk prompts {where}' has it"
        raise InputError(f"the placeholder {{{missing}}} of {where} is missing", file=path, line=lines, hint=hint)
    for word in group.replies.get(name, ()):
        if word not in prompt.text:
            raise InputError(
                f"the reply to {where} is read by {word!r}, which the prompt does not ask for",
                file=path,
                line=lines,
                hint=f"say the form of the reply, as 'reeltalk prompts {where}' does",
            )


def _line_of(path: Path, words: str) -> int | None:
    if not path.is_file():
        return None
    return next((number for number, line in enumerate(read_text(path).split("\n"), 1) if words in line), 1)


def _lines(path: Path) -> int | None:
    """Number of the last line, after which a missing field may be written."""
    return len(read_text(path).rstrip("\n").split("\n")) if path.is_file() else None
