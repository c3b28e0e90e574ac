"""Published numbers as text: for a terminal, as Markdown, CSV or JSON."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Final, Literal

from reeltalk.analysis.published.records import (
    FILES,
    HOW_WORDS,
    PublishedBenchmark,
    PublishedNumber,
    PublishedTable,
    numbers,
    published,
    shown_value,
)
from reeltalk.store.documents import write_json

ListFormat = Literal["text", "json", "csv", "markdown"]
FIELDS: Final = tuple(field.name for field in fields(PublishedNumber))


def listed(names: Sequence[str], format: ListFormat) -> str:
    """Published numbers as text.

    Args:
        names: Of which benchmarks; an overview of all where none is named, but every number as `json` and `csv`.
        format: `text` and `markdown` have a table a published table; `json` and `csv` a row a number.

    Raises:
        SettingError: Of one there are none.
    """
    if format in ("json", "csv"):
        rows = [number for name in names or FILES for number in numbers(published(name))]
        return write_json([asdict(row) for row in rows]) if format == "json" else _csv(rows)
    if not names:
        return overview(markdown=format == "markdown")
    write = markdown if format == "markdown" else _text
    return "\n".join(write(published(name)) for name in names)


def overview(*, markdown: bool = False) -> str:
    """Every benchmark with how many numbers are known, of which tables.

    Args:
        markdown: As a table of Markdown.
    """
    found = [published(name) for name in FILES]
    rows = [(each.name, f"{sum(1 for _ in numbers(each)):,}", f"{len(each.tables):,}", each.paper) for each in found]
    header = ("Benchmark", "Numbers", "Tables", "Paper")
    return _markdown_table(header, rows) if markdown else _aligned([header, *rows], words_last=True)


def markdown(benchmark: PublishedBenchmark) -> str:
    """All tables of a benchmark as Markdown, each with its source.

    Args:
        benchmark: From `published`.
    """
    parts = [f"## {benchmark.title}\n", f"{benchmark.paper}.\n"]
    parts += ["\n".join(f"- {_escaped(note)}" for note in benchmark.notes) + "\n"] if benchmark.notes else []
    for table in benchmark.tables:
        parts += [f"### {benchmark.title}, {table.title}: {_lowered(table.about)}\n", f"{_about(benchmark, table)}\n"]
        parts.append(_markdown_table(_header(table), _rows(table)))
        parts += [f"{_escaped(note)}\n" for note in table.notes]
    return "\n".join(parts)


def _text(benchmark: PublishedBenchmark) -> str:
    parts = [f"{benchmark.title}: {benchmark.paper}", *(f"  {note}" for note in benchmark.notes)]
    for table in benchmark.tables:
        parts += ["", f"{table.title}: {_lowered(table.about)}", f"  {_about(benchmark, table)}"]
        parts += [f"  {note}" for note in table.notes]
        parts.append(_aligned([_header(table), *_rows(table)]).rstrip("\n"))
    return "\n".join(parts) + "\n"


def _about(benchmark: PublishedBenchmark, table: PublishedTable) -> str:
    parts = [f"{benchmark.source_of(table)}: {HOW_WORDS[table.how]}"]
    parts += [f"judge {table.judge}"] if table.judge else []
    parts += [f"version {table.version}"] if table.version else []
    parts += [f"{table.frames} frames"] if table.frames else []
    parts += [f"history {table.history}"] if table.history else []
    metrics = table.metrics
    parts += [f"our {', '.join(metrics)}"] if metrics else []
    return "; ".join(parts) + "."


def _header(table: PublishedTable) -> tuple[str, ...]:
    labels = [column.label for column in table.columns]
    told = [
        f"{column.label}, {column.mode}" if labels.count(column.label) > 1 else column.label for column in table.columns
    ]
    return ("", *told, *(["Frames"] if _has_frames(table) else []))


def _rows(table: PublishedTable) -> list[tuple[str, ...]]:
    return [
        (row.model, *map(shown_value, row.values), *([str(row.frames or "–")] if _has_frames(table) else []))
        for row in table.rows
    ]


def _has_frames(table: PublishedTable) -> bool:
    return any(row.frames is not None for row in table.rows)


def _aligned(rows: Sequence[Sequence[str]], *, words_last: bool = False) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        cells.append(row[-1] if words_last else row[-1].rjust(widths[-1]))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, [":--", *("--:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines) + "\n"


def _csv(rows: Iterable[PublishedNumber]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return stream.getvalue()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:] if text[1:2].islower() else text
