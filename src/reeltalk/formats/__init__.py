"""Published layouts in and out, one module each: `read(source) -> Content`, `write(content, folder) -> list[str]`.

Other packages decode videos and ask models; `store` checks and saves what is read. Begin with `layout`, which most
layouts of JSON documents build on, and with `mvbench`, a layout in one file; `load_format` finds a layout by its name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reeltalk.errors import SettingError

if TYPE_CHECKING:
    from reeltalk.store.content import Content

FORMATS: dict[str, str] = {
    "vdact": "VDAct: dialogues, released model outputs, activity graphs (AAAI 2025)",
    "svbench": "SVBench release: Meta, Dialogue, Con, Path, Streaming, in English and Chinese (ICLR 2025)",
    "mt-video-bench": "MT-Video-Bench v1 and v2: dialogues, checklists, answers, results",
    "dramaqa": "DramaQA: multiple choice on scenes and shots, script and visual annotation",
    "avsd": "AVSD and DSTC10: video-grounded dialogue with evidence intervals",
    "video-mme": "Video-MME: single-turn multiple choice",
    "mvbench": "MVBench: single-turn multiple choice by task",
    "ovo-bench": "OVO-Bench: questions at a moment of a stream",
    "folder": "a folder of videos with metadata.jsonl, .csv or .parquet",
    "hub": "a data set repository: Parquet, videos, data set card, Croissant 1.1",
    "label-studio": "Label Studio: a task for each scene, drafts as predictions, and the annotations back",
}
"""What each name on the command line means."""

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
    """Read models' answers to a benchmark, which may lie apart from what they answer. Raises `InputError`."""
    write: "Callable[[Content, Path], list[str]]"
    """Write into an empty folder; returns one line for each thing that the layout cannot express."""


def load_format(name: str) -> Format:
    """The format of that name, its module imported.

    Raises:
        SettingError: There is none; lists those there are.
    """
    if name not in FORMATS:
        raise SettingError(f"unknown format '{name}'; known are {', '.join(FORMATS)}")
    from reeltalk.store.documents import record_errors

    module = import_module(f"reeltalk.formats.{name.replace('-', '_')}")

    def read(source: Path) -> "Content":
        # A reader names the file and place itself; this is for a record of ours that none of its checks foresaw.
        with record_errors(source, "$"):
            content: Content = module.read(source)
        return content

    def read_answers(source: Path, about: "Content") -> "Content":
        if not hasattr(module, "read_answers"):
            return read(source)
        with record_errors(source, "$"):
            answers: Content = module.read_answers(source, about)
        return answers

    return Format(name, read, read_answers, module.write)
