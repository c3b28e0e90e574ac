"""Prompts as files with a name and a version, so that whatever they produced can say which one it was."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_FIELD: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """A versioned prompt file: its first line names and numbers it, `{fields}` are filled in when it is asked."""

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
        """The prompt in a file's text. White space around a text that is not `verbatim` is left out.

        Args:
            content: The file's text.
            path: The file, for the error.

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
        """The names that stand between braces."""
        return frozenset(_FIELD.findall(self.text))

    def followed_by(self, other: "Prompt") -> "Prompt":
        """This prompt with the text of another below it; the signature names both."""
        return Prompt(
            f"{self.name}.{self.version}+{other.name}",
            other.version,
            f"{self.text}\n\n{other.text}",
            hashlib.sha256(f"{self.sha256} {other.sha256}".encode()).hexdigest(),
        )

    @property
    def signature(self) -> str:
        """Name, version and the beginning of the hash, as it stands beside what the prompt produced."""
        return f"{self.name}.{self.version}#{self.sha256[:8]}"

    def fill(self, **fields: str) -> str:
        """The text with its fields; what is filled in is never searched for fields itself."""
        return _FIELD.sub(lambda match: fields[match[1]], self.text)
