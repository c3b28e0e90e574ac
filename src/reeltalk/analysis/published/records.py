"""Published tables: what was printed, by whom, judged by whom, on which version, with how many frames.

The tables are TOML files beside this module, read when they are asked for. An empty text in them is a value that was
not published. A column names our measure where we have the same one; nothing is converted but its scale.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.schema.record import Finite

FILES: Final = {
    "svbench": "svbench.toml",
    "mt-video-bench": "mt_video_bench.toml",
    "cogme": "cogme.toml",
    "vdact": "vdact.toml",
    "ovo-bench": "ovo_bench.toml",
    "omnimmi": "omnimmi.toml",
    "livecc": "livecc.toml",
    "proactivevideoqa": "proactivevideoqa.toml",
}
"""Every benchmark of which there are published numbers, and its file."""

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


class Column(_Data):
    """What one column of a published table holds."""

    label: str
    """As it is headed."""
    metric: str | None = None
    """Our name of the same measure, as `svbench.OS`; None where we have none."""
    mode: Mode | None = None
    """How it was asked: chain by chain, along paths, or each question alone; None where that is no matter."""
    by: str | None = None
    group: str | None = None
    """The group that it is over, of our groups `by`, as the skill `II`."""
    frames: int | None = None
    """Frames that were shown, where the table varies them."""
    scale: Annotated[float, Field(gt=0)] = 1
    """By what our value is multiplied to stand in this column."""


class Row(_Data):
    """One model, or one data set, of a published table."""

    model: str
    values: tuple[Value, ...]
    """One a column."""
    frames: int | str | None = None
    """Frames that it was shown, or how many a second, where rows differ in that."""
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
    """Scores of models on the benchmark; counts of data sets; all else."""
    source: str | None = None
    """Where it stands, where that is not the benchmark's paper."""
    judge: str | None = None
    version: str | None = None
    """Of the benchmark, where it has several."""
    frames: int | None = None
    """Frames that every model was shown; None where the table varies them, or nobody says."""
    history: History | None = None
    """Whose answers stand in the history; None where nobody says."""
    scored_by: Literal["script"] | None = None
    """`script` where replies were read and averaged by the official script, or one that was not released."""
    items: Annotated[int, Field(ge=1)] | None = None
    """Questions that the numbers rest on."""
    notes: tuple[str, ...] = ()
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

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
    """All that is known of one benchmark."""

    name: str
    title: str
    paper: str
    releases: tuple[str, ...] = ()
    """Formats in which reeltalk imports its data."""
    notes: tuple[str, ...] = ()
    """What one should know of all of its numbers."""
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
        """Where a table stands, in words."""
        return table.source or f"{self.paper}, {table.title}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Our measures among its results, each once."""
        return tuple(dict.fromkeys(m for table in self.tables if table.kind == "results" for m in table.metrics))


@dataclass(frozen=True)
class PublishedNumber:
    """One number with all that is known of it."""

    benchmark: str
    table: str
    """Id of the table."""
    model: str
    column: str
    """As it is headed; with its mode where several columns are headed alike."""
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


def published(name: str) -> PublishedBenchmark:
    """The published numbers of a benchmark.

    Args:
        name: As `svbench`.

    Raises:
        SettingError: There are none of it; lists those there are.
    """
    if name not in FILES:
        raise SettingError(f"no published numbers of {name!r} are known; there are: {', '.join(FILES)}")
    return _read(name)


@cache
def _read(name: str) -> PublishedBenchmark:
    text = (files("reeltalk.analysis.published") / FILES[name]).read_text(encoding="utf-8")
    # JSON's rules, by which a list becomes a tuple; the values stay strict.
    return PublishedBenchmark.model_validate(_tuples(tomllib.loads(text)))


def _tuples(value: object) -> object:
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value


def numbers(benchmark: PublishedBenchmark) -> Iterator[PublishedNumber]:
    """Every number of a benchmark, table by table and row by row; what was not published is left out.

    Args:
        benchmark: From `published`.
    """
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


def _is_repeated(table: PublishedTable, column: Column) -> bool:
    return sum(other.label == column.label for other in table.columns) > 1


def shown_value(value: Value) -> str:
    """A value of a table as people read it: marks for yes and no, digits in groups, a dash for none.

    Args:
        value: Of a cell.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
