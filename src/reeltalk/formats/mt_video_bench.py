"""MT-Video-Bench (arXiv 2510.17722), versions 1 and 2: dialogues, checklists, models' answers, judges' results.

A dialogue is an event of a video in the file of a task, and named `<task>/<video>/<event>`. Checklists have files of
their own and belong to turns here. Which version a source is, each `SourceFile` says: their scores do not compare.
"""

from pathlib import Path

from reeltalk.formats.mt_video_bench_answers import AnswerReader
from reeltalk.formats.mt_video_bench_read import Reader
from reeltalk.formats.mt_video_bench_write import Writer
from reeltalk.store.content import Content


def read(source: Path) -> Content:
    """Read a release folder with whatever of it is there, or one `mtqa` file.

    Raises:
        InputError: A file is damaged, contradicts another, or nothing of MT-Video-Bench lies at `source`.
    """
    return Reader(source).read()


def read_answers(source: Path, about: Content) -> Content:
    """Read models' answers that lie apart from the release, with the dialogues of a benchmark.

    Raises:
        InputError: A file is damaged, is about another benchmark, or there are no answers at `source`.
    """
    return AnswerReader(source, about).read()


def write(content: Content, folder: Path) -> list[str]:
    """Write MT-Video-Bench's layout into an empty folder; what it cannot express is returned, a line each."""
    return Writer(content, folder).write()
