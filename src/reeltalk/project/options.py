"""What a command can be told, as a project needs to know it. The command line says it of itself; nothing is copied."""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

REQUIRED: Final = object()
"""The default of an option that must be given."""


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    key: str
    """Its name in a project, as `min_shots`."""
    flag: str | None
    """Its name on the command line, as `--min-shots`; None for what stands in its place without a name."""
    kind: Any
    """Its type, with bounds, as pydantic validates it."""
    default: Any
    """What holds where it is not given; `REQUIRED` where it must be."""
    help: str
    """What it means, on one line."""
    negative: str | None = None
    """The flag that says no, as `--no-labels`."""
    settings: type[BaseModel] | None = None
    """The settings that it is a part of, and that are checked as a whole."""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def words(self, value: Any) -> tuple[str, ...]:
        """The option with a value, as it is typed; nothing where the value is the default."""
        if value is None or value == self.default or (isinstance(value, tuple | list) and not value):
            return ()
        if isinstance(value, bool) and self.flag is not None:
            said = self.flag if value else self.negative
            return (said,) if said is not None else ()
        found: list[str] = []
        for part in value if isinstance(value, tuple | list) else (value,):
            text = str(part)
            if self.flag is None:
                found.append(f"./{text}" if text.startswith("-") else text)
            else:
                found += [f"{self.flag}={text}"] if text.startswith("-") else [self.flag, text]
        return tuple(found)


@dataclass(frozen=True)
class Command:
    """One command of reeltalk."""

    words: tuple[str, ...]
    """What is typed after `reeltalk`, as `world film`."""
    help: str
    """What it does, in a sentence."""
    options: tuple[Option, ...]

    def option(self, key: str) -> Option | None:
        """The option of a name."""
        return next((option for option in self.options if option.key == key), None)
