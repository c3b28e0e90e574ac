"""Import and export of published layouts.

A set of questions that is only read is an entry of `question_sets`. Any other layout is one module with `read(source)
-> Content`; a layout that is written too has `write(content, folder) -> list[str]`. Their names stand here, since
importing them all would take most of a command's start-up time.

Other packages decode videos and ask models; `store` checks and saves what is read. Begin with `question_sets`, and with
`release`, which the layouts of JSON documents build on; `load_format` finds a layout by its name.
"""

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

_SETS: Final = ("avsd", "mvbench", "ovo-bench", "streamingbench", "video-mme")
"""The entries of `question_sets`."""
_ONLY_READ: Final = ("dramaqa", "folder")
_ADDED: Final = added("reeltalk.formats")
WRITTEN: Final = tuple(sorted({"hub", "mt-video-bench", "qa", "svbench", *_ADDED}))
"""Names of the layouts that are written too. The others are imported to be played; their own harnesses read them."""
FORMATS: Final = tuple(sorted({*_SETS, *_ONLY_READ, *WRITTEN}))
"""Names of the layouts: every set of questions, the layouts with a module here, and those of other packages."""

TRAINING_LAYOUTS: dict[str, str] = {
    "streamingchat": "StreamingChat's JSON Lines, for InternVL's trainer and `reeltalk train`",
    "sharegpt": "messages with <image>, for LLaMA-Factory",
    "trl": "messages in parts, for TRL's SFTTrainer",
}
"""Layouts of training data, which are written, not imported: pictures of frames with turns between them."""


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
        own = f"reeltalk.formats.{name.replace('-', '_')}"
        module = load("reeltalk.formats", name) if name in _ADDED else import_module(own)
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
