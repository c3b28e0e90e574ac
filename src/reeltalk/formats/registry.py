"""How a format is found by its name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from reeltalk.errors import SettingError
from reeltalk.formats import FORMATS
from reeltalk.store.content import Content
from reeltalk.store.documents import placed


@dataclass(frozen=True)
class Format:
    """One published layout."""

    name: str
    read: Callable[[Path], Content]
    """Read a file or folder. Raises `InputError` on damaged input; leaves nothing behind."""
    read_answers: Callable[[Path, Content], Content]
    """Read models' answers to a benchmark, which may lie apart from what they answer. Raises `InputError`."""
    write: Callable[[Content, Path], list[str]]
    """Write into an empty folder; returns one line for each thing that the layout cannot express."""


def load_format(name: str) -> Format:
    """The format of that name, its module imported.

    Raises:
        SettingError: There is none; lists those there are.
    """
    if name not in FORMATS:
        raise SettingError(f"unknown format '{name}'; known are {', '.join(FORMATS)}")
    module = import_module(f"reeltalk.formats.{name.replace('-', '_')}")

    def read(source: Path) -> Content:
        # A reader names the file and place itself; this is for a record of ours that none of its checks foresaw.
        with placed(source, "$"):
            content: Content = module.read(source)
        return content

    def read_answers(source: Path, about: Content) -> Content:
        if not hasattr(module, "read_answers"):
            return read(source)
        with placed(source, "$"):
            answers: Content = module.read_answers(source, about)
        return answers

    return Format(name, read, read_answers, module.write)
