"""What is let into a project: a benchmark whose tables are whole and whose records agree with each other.

Media are not read: `reeltalk validate` hashes them, and a video that does not play says so on its page.
"""

from typing import Final

from reeltalk.errors import BrokenInvariantError, InputError
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import Manifest
from reeltalk.store.tables import TABLES
from reeltalk.store.validate import Finding, check_content

ENDING: Final = ".jsonl"


def table_hashes(manifest: Manifest) -> dict[str, str]:
    """Hashes of a benchmark's tables, by file name."""
    return {name: entry.sha256 for name, entry in manifest.files.items() if name.endswith(ENDING)}


def admitted(benchmark: Benchmark) -> Content:
    """A benchmark's rows, checked among themselves.

    Args:
        benchmark: Its tables are read once.

    Raises:
        BenchmarkError: A file was edited by hand.
        InputError: A table is damaged, or records contradict each other; names file, line, field.
        BrokenInvariantError: As before, where no line can be named.
    """
    content = benchmark.content()
    errors = [finding for finding in check_content(content) if finding.severity == "error"]
    if errors:
        raise _refusal(benchmark, content, errors)
    return content


def _refusal(benchmark: Benchmark, content: Content, errors: list[Finding]) -> InputError | BrokenInvariantError:
    first = errors[0]
    more = f"; {len(errors) - 1:,} more errors" if len(errors) > 1 else ""
    hint = f"'reeltalk validate {benchmark.path}' lists all{more}"
    table, _, row = first.where.partition(":")
    line, field = _line(content, table, row)
    if line is None:
        return BrokenInvariantError(f"{first.where}: {first.problem}; {hint}")
    return InputError(first.problem, file=benchmark.path / f"{table}{ENDING}", line=line, place=field, hint=hint)


def _line(content: Content, table: str, row: str) -> tuple[int | None, str]:
    """The line of a finding's row, from 1, and the field in it."""
    if table not in TABLES:
        return None, ""
    number, _, rest = row.partition(".")
    key = TABLES[table].key
    if key is None:
        return (int(number) + 1, rest) if number.isdigit() else (None, "")
    rows = getattr(content, table)
    # A field follows an identifier, which may hold full stops and brackets itself: the longest that fits is meant.
    fitting = [(len(name), line) for line, name in enumerate(map(key, rows), 1) if row.startswith(name)]
    if not fitting:
        return None, ""
    length, line = max(fitting)
    same = [line for line, name in enumerate(map(key, rows), 1) if name == row]
    # What stands several times is shown where it stands again.
    return (same[-1] if len(same) > 1 else line), row[length:].lstrip(".")
