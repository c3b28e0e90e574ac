"""What every harness's exporter needs: a name, files from templates, and the request of a whole benchmark."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from reeltalk import __version__
from reeltalk.errors import SettingError
from reeltalk.evaluate.harnesses.asked import AskedTurn
from reeltalk.evaluate.harnesses.films import FOLDER, Films
from reeltalk.schema.scoring import Signature

TEMPLATES: Final = Path(__file__).parent / "templates"
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True)
class HarnessTask:
    """A benchmark as it is asked elsewhere."""

    name: str
    """Lower case letters, digits and `_`."""
    title: str
    turns: Sequence[AskedTurn]
    films: Films | None
    """None where questions go without videos."""
    signature: str
    """What can move an answer: the benchmark, mode, history, prompt, subtitles, and whether there are videos."""

    def video_of(self, turn: AskedTurn) -> str:
        """Path of a turn's video below the task's folder; empty where it has none."""
        return "" if self.films is None else f"{FOLDER}/{self.films.names[turn.turn.item_id]}.mp4"


def task_name(wanted: str | None, benchmark: str) -> str:
    """A name that harnesses take.

    Args:
        wanted: A name of the user's.
        benchmark: Name of the benchmark, from which one is made where there is none.

    Raises:
        SettingError: The wanted name has other characters.
    """
    if wanted is None:
        made = re.sub(r"[^a-z0-9]+", "_", benchmark.lower()).strip("_")[:40]
        return f"reeltalk_{made}" if made else "reeltalk_task"
    if not NAME.fullmatch(wanted):
        raise SettingError(
            f"--name {wanted!r}: a harness's task is named by lower case letters, digits and _, beginning with a letter"
        )
    return wanted


def title_of(benchmark: str) -> str:
    """A benchmark's name as it may stand in code and in a signature: letters, digits, spaces, `.`, `_` and `-`."""
    return re.sub(r"[^\w .-]", "_", benchmark) or "a benchmark"


def signature_of(subject: str, content_hash: str, parts: Sequence[tuple[str, str]]) -> str:
    """The signature that stands in a task's files.

    Args:
        subject: First word, as `household.dialogue`.
        content_hash: Of the benchmark.
        parts: How it is asked.
    """
    return str(Signature(subject=subject, parts=(("data", content_hash[:8]), *parts, ("v", __version__))))


def write_template(template: str, path: Path, **fields: str) -> None:
    """Write a file from a template of this package.

    Args:
        template: Name of the template.
        path: The file that appears.
        **fields: What stands for `$field`.
    """
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    path.write_text(Template(text).substitute(fields), encoding="utf-8", newline="\n")
