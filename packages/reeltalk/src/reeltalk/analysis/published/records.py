"""Published numbers of benchmarks, read from the TOML files next to this module, and as text."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.schema.overview import aligned_table
from reeltalk.schema.record import Finite
from reeltalk.store.documents import write_json
from reeltalk.store.text_tables import markdown_table, write_csv

PUBLISHED_FILES: Final = {
    "svbench": "svbench.toml",
    "mt-video-bench": "mt_video_bench.toml",
    "cogme": "cogme.toml",
    "vdact": "vdact.toml",
    "ovo-bench": "ovo_bench.toml",
    "omnimmi": "omnimmi.toml",
    "livecc": "livecc.toml",
    "proactivevideoqa": "proactivevideoqa.toml",
}
"""Every benchmark with published numbers, and its file."""

How = Literal["published", "figure value", "figure estimate", "derived", "secondary"]
"""Printed in a paper or on its project's page; a label in a published figure; read off a figure's axis by eye;
counted from released files; taken from a third party."""
HOW_WORDS: Final[dict[How, str]] = {
    "published": "printed",
    "figure value": "label in a figure",
    "figure estimate": "read off a figure by eye, about ±1",
    "derived": "counted from released files",
    "secondary": "as a third party reports it",
}
Mode = Literal["dialogue", "streaming", "single"]
History = Literal["golden", "predicted", "predicted-all", "none"]
Value = Annotated[bool | int | Finite | str | None, BeforeValidator(lambda value: None if value == "" else value)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PublishedColumn(_Data):
    """One column of a published table."""

    label: str
    """As it is headed."""
    metric: str | None = None
    """Our name of the same measure, as `svbench.OS`; None if we have none."""
    mode: Mode | None = None
    """How questions were asked: chain by chain, along paths, or each alone; None if it does not matter."""
    by: str | None = None
    group: str | None = None
    """The group of the column, from the groups of `by`, such as the skill `II`."""
    frames: int | None = None
    """Number of frames, if it varies in the table."""
    scale: Annotated[float, Field(gt=0)] = 1
    """Factor from our value to this column."""


class PublishedRow(_Data):
    """One model, or one data set, of a published table."""

    model: str
    values: tuple[Value, ...]
    """One value for each column."""
    frames: int | str | None = None
    """Number of frames, or frames a second, if rows differ in it."""
    history: History | None = None
    size: str | None = None
    type: str | None = None


class PublishedTable(_Data):
    """One table or figure."""

    id: str
    title: str
    about: str
    how: How
    kind: Literal["results", "dataset", "other"] = "results"
    """Scores of models on the benchmark; counts of data sets; anything else."""
    source: str | None = None
    """Its source, if that is not the benchmark's paper."""
    judge: str | None = None
    version: str | None = None
    """Version of the benchmark, if it has several."""
    frames: int | None = None
    """Number of frames of every model; None if it varies in the table or is unknown."""
    history: History | None = None
    """Whose answers are in the history; None if unknown."""
    scored_by: Literal["script"] | None = None
    """`script` if replies were read and averaged by the official script, or by one that was not released."""
    items: Annotated[int, Field(ge=1)] | None = None
    """Number of questions behind the numbers."""
    notes: tuple[str, ...] = ()
    columns: tuple[PublishedColumn, ...]
    rows: tuple[PublishedRow, ...]

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        for row in self.rows:
            if len(row.values) != len(self.columns):
                raise ValueError(f"{self.id}: {row.model} has {len(row.values)} values, not {len(self.columns)}")
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        """Our measures among its columns, each once."""
        return tuple(dict.fromkeys(column.metric for column in self.columns if column.metric is not None))


class PublishedBenchmark(_Data):
    """The published data of one benchmark."""

    name: str
    title: str
    paper: str
    releases: tuple[str, ...] = ()
    """Formats in which reeltalk imports its data."""
    notes: tuple[str, ...] = ()
    """Notes about all of its numbers."""
    tables: tuple[PublishedTable, ...]

    @model_validator(mode="after")
    def _ids_are_distinct(self) -> Self:
        ids = [table.id for table in self.tables]
        if len(set(ids)) < len(ids):
            raise ValueError(f"{self.name}: two tables have one id")
        return self

    def table(self, id: str) -> PublishedTable:
        """A table by its id.

        Raises:
            KeyError: There is none.
        """
        for table in self.tables:
            if table.id == id:
                return table
        raise KeyError(id)

    def source_of(self, table: PublishedTable) -> str:
        """The location of a table in its source, as text."""
        return table.source or f"{self.paper}, {table.title}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Our measures among its results, each once."""
        return tuple(dict.fromkeys(m for table in self.tables if table.kind == "results" for m in table.metrics))


@dataclass(frozen=True)
class PublishedNumber:
    """One number with all its known facts."""

    benchmark: str
    table: str
    """Id of the table."""
    model: str
    column: str
    """Heading of the column, with its mode if several columns have the same heading."""
    value: bool | int | float | str
    metric: str | None
    mode: str | None
    by: str | None
    group: str | None
    scale: float
    how: How
    judge: str | None
    version: str | None
    frames: int | str | None
    history: str | None
    source: str


def read_published(name: str) -> PublishedBenchmark:
    """The published numbers of a benchmark.

    Raises:
        SettingError: There are none; the message lists the known benchmarks.
    """
    if name not in PUBLISHED_FILES:
        raise SettingError(f"no published numbers of {name!r} are known; there are: {', '.join(PUBLISHED_FILES)}")
    return _read(name)


@cache
def _read(name: str) -> PublishedBenchmark:
    text = (files("reeltalk.analysis.published") / PUBLISHED_FILES[name]).read_text(encoding="utf-8")
    # By the rules for JSON, a list becomes a tuple; values stay strict.
    return PublishedBenchmark.model_validate(_tuples(tomllib.loads(text)))


def _tuples(value: object) -> object:
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value


def published_numbers(benchmark: PublishedBenchmark) -> Iterator[PublishedNumber]:
    """Every published number of a benchmark, table by table and row by row."""
    for table in benchmark.tables:
        for row in table.rows:
            for column, value in zip(table.columns, row.values, strict=True):
                if value is not None:
                    yield PublishedNumber(
                        benchmark=benchmark.name,
                        table=table.id,
                        model=row.model,
                        column=f"{column.label}, {column.mode}" if _is_repeated(table, column) else column.label,
                        value=value,
                        metric=column.metric,
                        mode=column.mode,
                        by=column.by,
                        group=column.group,
                        scale=column.scale,
                        how=table.how,
                        judge=table.judge,
                        version=table.version,
                        frames=row.frames or column.frames or table.frames,
                        history=row.history or table.history,
                        source=benchmark.source_of(table),
                    )


def _is_repeated(table: PublishedTable, column: PublishedColumn) -> bool:
    return sum(other.label == column.label for other in table.columns) > 1


def format_published(value: Value) -> str:
    """A value of a table as text: marks for yes and no, grouped digits, a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


ListFormat = Literal["text", "json", "csv", "markdown"]
FIELDS: Final = tuple(field.name for field in fields(PublishedNumber))


def render_published(names: Sequence[str], format: ListFormat) -> str:
    """Published numbers as text.

    Args:
        names: Names of benchmarks; without names an overview of all, or every number as `json` and `csv`.
        format: `text` and `markdown` have one table for each published table; `json` and `csv` one row for each number.

    Raises:
        SettingError: Of one there are none.
    """
    if format in ("json", "csv"):
        rows = [number for name in names or PUBLISHED_FILES for number in published_numbers(read_published(name))]
        return write_json([asdict(row) for row in rows]) if format == "json" else _csv(rows)
    if not names:
        return published_overview(markdown=format == "markdown")
    write = published_markdown if format == "markdown" else _text
    return "\n".join(write(read_published(name)) for name in names)


def published_overview(*, markdown: bool = False) -> str:
    """Every benchmark with its tables and number of known numbers."""
    found = [read_published(name) for name in PUBLISHED_FILES]
    rows = [
        (each.name, f"{sum(1 for _ in published_numbers(each)):,}", f"{len(each.tables):,}", each.paper)
        for each in found
    ]
    header = ("Benchmark", "Numbers", "Tables", "Paper")
    return _markdown_table(header, rows) if markdown else aligned_table([header, *rows], words_last=True)


def published_markdown(benchmark: PublishedBenchmark) -> str:
    """All tables of a benchmark as Markdown, each with its source."""
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
        parts.append(aligned_table([_header(table), *_rows(table)]).rstrip("\n"))
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
        (row.model, *map(format_published, row.values), *([str(row.frames or "–")] if _has_frames(table) else []))
        for row in table.rows
    ]


def _has_frames(table: PublishedTable) -> bool:
    return any(row.frames is not None for row in table.rows)


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    numbers = [False, *(True for _ in header[1:])]
    escaped_rows = [[*map(_escaped, row)] for row in rows]
    lines = markdown_table([*map(_escaped, header)], escaped_rows, numbers=numbers, marks=(":--", "--:"))
    return "\n".join(lines) + "\n"


def _csv(rows: Iterable[PublishedNumber]) -> str:
    return write_csv(FIELDS, [asdict(row).values() for row in rows])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:] if text[1:2].islower() else text
