"""Import and export of published layouts.

A set of questions that is only read is an entry of `question_sets`. Any other layout is one module with `read(source)
-> Content`; a layout that is written too has `write(content, folder) -> list[str]`.

Other packages decode videos and ask models; `store` checks and saves what is read. Begin with `question_sets`, and with
`layout`, which all layouts of JSON documents build on; `load_format` finds a layout by its name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from reeltalk.errors import SettingError
from reeltalk.plugins import added, load, needed

if TYPE_CHECKING:
    from reeltalk.store.content import Content

_DEFINES: Final = re.compile(r"^(?:def )?(read|write)(?=\(| =)", re.MULTILINE)
_ENTRY: Final = re.compile(r'^    "([a-z0-9-]+)": QuestionSet\(', re.MULTILINE)


def _find_layouts(*functions: str) -> tuple[str, ...]:
    """Names of the modules that define these functions, as the command line spells them.

    This searches the text of the modules, since importing them all would take most of a command's start-up time.
    """
    modules = sorted(module for folder in __path__ for module in Path(folder).glob("*.py"))
    return tuple(
        module.stem.replace("_", "-")
        for module in modules
        if set(functions) <= set(_DEFINES.findall(module.read_text(encoding="utf-8")))
    )


_SETS: Final = frozenset(_ENTRY.findall((Path(__path__[0]) / "question_sets.py").read_text(encoding="utf-8")))
FORMATS: Final = tuple(sorted({*_SETS, *_find_layouts("read"), *added("reeltalk.formats")}))
"""Names of the layouts: every set of questions, every module here that defines `read`, and those of other packages."""
WRITTEN: Final = tuple(sorted({*_find_layouts("read", "write"), *added("reeltalk.formats")}))
"""Names of the layouts that are written too. The others are imported to be played; their own harnesses read them."""

TRAINING: dict[str, str] = {
    "streamingchat": "StreamingChat's JSON Lines, for InternVL's trainer and `reeltalk train`",
    "sharegpt": "messages with <image>, for LLaMA-Factory",
    "trl": "messages in parts, for TRL's SFTTrainer",
}
"""Layouts of training data, which are written and checked, not imported: pictures of frames with turns between them."""


@dataclass(frozen=True)
class Format:
    """One published layout."""

    name: str
    read: "Callable[[Path], Content]"
    """Read a file or folder. Raises `InputError` on damaged input; leaves nothing behind."""
    read_answers: "Callable[[Path, Content], Content]"
    """Read models' answers to a benchmark. They may be stored apart from the questions. Raises `InputError`."""
    write: "Callable[[Content, Path], list[str]]"
    """Write into an empty folder; returns one line for each thing that the layout cannot express.

    Raises `SettingError` for a layout that is only read.
    """


def load_format(name: str) -> Format:
    """Return the format with this name, and import its module.

    Raises:
        SettingError: The format does not exist; lists the known formats.
    """
    if name not in FORMATS:
        problem = needed("reeltalk.formats", name)
        raise SettingError(problem or f"unknown format '{name}'; known are {', '.join(FORMATS)}")
    from reeltalk.store.documents import record_errors

    read_source: Callable[[Path], Content]
    module: ModuleType | None = None
    if name in _SETS:
        from reeltalk.formats.question_sets import read_set

        read_source = partial(read_set, name)
    else:
        is_added = name in added("reeltalk.formats")
        module = (
            load("reeltalk.formats", name) if is_added else import_module(f"reeltalk.formats.{name.replace('-', '_')}")
        )
        read_source = module.read

    def read(source: Path) -> "Content":
        # Readers name the file and place in their errors. This covers errors of our records that readers do not check.
        with record_errors(source, "$"):
            return read_source(source)

    def read_answers(source: Path, about: "Content") -> "Content":
        if module is None or not hasattr(module, "read_answers"):
            return read(source)
        with record_errors(source, "$"):
            answers: Content = module.read_answers(source, about)
        return answers

    def write(content: "Content", folder: Path) -> list[str]:
        if module is None or name not in WRITTEN:
            raise SettingError(f"{name} is only read; written are {', '.join(WRITTEN)}")
        lost: list[str] = module.write(content, folder)
        return lost

    return Format(name, read, read_answers, write)
