"""SVBench (ICLR 2025): chains of questions per clip, links between them, paths along them, in English and Chinese.

Any part of the release may be given alone, and so may models' answers and judges' records. A chain is a list entry of
a `Dialogue` file and named `<video>/<language>/<place in the list>`; the turns of a chain name their language.
"""

from pathlib import Path

from reeltalk.formats.svbench_answers import AnswerReader
from reeltalk.formats.svbench_read import Reader
from reeltalk.formats.svbench_write import Writer
from reeltalk.store.content import Content


def read(source: Path) -> Content:
    """Read a release folder, a part of it, or one file.

    Raises:
        InputError: A file is damaged, contradicts another, or nothing of SVBench lies at `source`.
    """
    return Reader(source).read()


def read_answers(source: Path, about: Content) -> Content:
    """Read models' answers that lie apart from the release, with the chains and paths of a benchmark.

    Raises:
        InputError: A file is damaged, is about another benchmark, or there are no answers at `source`.
    """
    return AnswerReader(source, about).read()


def write(content: Content, folder: Path) -> list[str]:
    """Write SVBench's layout into an empty folder; what it cannot express is returned, a line each."""
    return Writer(content, folder).write()
