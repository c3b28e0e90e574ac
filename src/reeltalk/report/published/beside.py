"""One's own numbers in the columns of published tables: pure data, none of it ever called the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.evaluate.judging.protocol import COMPAT
from reeltalk.report.leaderboard import Leaderboard, ModelRow, key_of, why_no_value
from reeltalk.report.published.reasons import OwnNumber, Reason, parts_of, reasons
from reeltalk.report.published.records import Column, PublishedBenchmark, PublishedTable, Row
from reeltalk.schema.runs import GroupRow, SummaryRow
from reeltalk.store.runs import Run

KIND_OF_MODE: Final = {"dialogue": ("chain", "dialogue"), "streaming": ("path",)}
"""Kinds of judged units by SVBench's modes, the first one preferred."""


@dataclass(frozen=True)
class OwnCell:
    """One of one's own numbers, on the published column's scale."""

    value: float | None
    """None where it is withheld or not scored."""
    low: float | None
    high: float | None
    n: int
    unscored: int = 0
    """Items that should have a score and have none."""
    withheld: bool = False
    """True where too many items are unscored for a value to be quoted."""
    reason: str | None = None
    """Why there is no value."""

    @property
    def is_due(self) -> bool:
        """True where there is a number, or one that should be there is missing; false for one that applies nowhere."""
        return self.value is not None or self.withheld or self.unscored > 0


@dataclass(frozen=True)
class OwnRow:
    """One's own model in a published table."""

    index: int
    """Its place in the leaderboard, which decides its letter."""
    name: str
    floor: bool
    official: bool
    """True for what the official script makes of the same judge's replies."""
    cells: tuple[OwnCell | None, ...]
    """One a column; None where the run has no such number."""


@dataclass(frozen=True)
class TheirRow:
    """A published row."""

    row: Row
    reasons: tuple[int, ...]
    """Numbers of the reasons, besides those that hold for all rows."""


@dataclass(frozen=True)
class BesideTable:
    """A published table with one's own rows."""

    table: PublishedTable
    source: str
    own: tuple[OwnRow, ...]
    theirs: tuple[TheirRow, ...]
    common: tuple[Reason, ...]
    """Why no published row may compare."""
    numbered: tuple[Reason, ...]
    """Why some may not, numbered from 1."""


@dataclass(frozen=True)
class Beside:
    """One benchmark's tables beside one's own numbers."""

    benchmark: PublishedBenchmark
    tables: tuple[BesideTable, ...]
    """Those in which some own number stands."""

    @property
    def withheld(self) -> bool:
        """True where some own number is withheld."""
        rows = (row for table in self.tables for row in table.own)
        return any(cell is not None and cell.withheld for row in rows for cell in row.cells)


def beside(board: Leaderboard, benchmark: PublishedBenchmark, *, imported: frozenset[str] | None = None) -> Beside:
    """Lay published numbers beside those of runs.

    Args:
        board: The runs.
        benchmark: What is published.
        imported: Formats from which the runs' benchmark was imported; None where it was not given.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    groups = {id(model.run): model.run.groups() for model in board.models}
    found = []
    for table in benchmark.tables:
        if table.kind != "results" or not table.metrics:
            continue
        rows: list[OwnRow] = []
        numbers: list[OwnNumber] = []
        for index, model in enumerate(board.models):
            for official in (False, True):
                picked = [_pick(model, column, groups[id(model.run)], official) for column in table.columns]
                cells = tuple(None if pick is None else _cell(pick, model.run) for pick in picked)
                if any(cell is not None and cell.is_due for cell in cells):
                    rows.append(OwnRow(index, model.name, model.floor is not None, official, cells))
                    numbers += [_number(index, model, pick, official) for pick in picked if pick is not None]
        if rows:
            found.append(_table(benchmark, table, rows, numbers, imported))
    return Beside(benchmark, tuple(found))


@dataclass(frozen=True)
class _Pick:
    column: Column
    metric: str
    row: SummaryRow
    """Whose signature the number carries."""
    group: GroupRow | None = None


def _pick(model: ModelRow, column: Column, groups: Sequence[GroupRow], official: bool) -> _Pick | None:
    if column.metric is None:
        return None
    name = _official(column) if official else column.metric
    if not official and column.mode == "streaming" and name.startswith("svbench."):
        # Before streaming had numbers of its own, paths were a group of the number over all.
        streaming = name.replace("svbench.", "svbench.streaming.", 1)
        name = streaming if model.cells.get(streaming) is not None else name
    cell = model.cells.get(name)
    if cell is None:
        return None
    mode = parts_of(cell.row.signature)[1]
    family = column.metric.split(".")[0]
    if column.frames is not None and mode.get("frames") != str(column.frames):
        return None
    of = [row for row in groups if row.model == model.info.model and row.metric == name]
    if column.by is not None:
        group = next((row for row in of if row.by == column.by and row.group == column.group), None)
        return _Pick(column, name, cell.row, group) if group is not None else None
    if column.mode is None:
        return _Pick(column, name, cell.row)
    if family == "svbench":
        if name.startswith("svbench.streaming."):
            return _Pick(column, name, cell.row)
        kinds = {row.group: row for row in of if row.by == "kind"}
        if kinds:
            group = next((kinds[kind] for kind in KIND_OF_MODE.get(column.mode, ()) if kind in kinds), None)
            return _Pick(column, name, cell.row, group) if group is not None else None
    # A file of answers does not say how its questions were asked; that of a dialogue is what such files hold.
    return _Pick(column, name, cell.row) if mode.get("mode", "dialogue") == column.mode else None


def _official(column: Column) -> str:
    """The name of what the official script makes of a column's measure."""
    assert column.metric is not None
    family, *rest = column.metric.split(".")
    if family == "svbench" and column.mode == "streaming":
        return ".".join([family, "streaming", *rest, COMPAT])
    # Dimensions of SVBench end in it, tasks of MT-Video-Bench follow it.
    return ".".join([family, *rest, COMPAT] if family == "svbench" else [family, COMPAT, *rest])


def _cell(pick: _Pick, run: Run) -> OwnCell:
    row, scale = pick.group if pick.group is not None else pick.row, pick.column.scale
    value, low, high = (None if end is None else end * scale for end in (row.value, row.low, row.high))
    withheld = row.value is None and row.over_scored is not None
    reason = why_no_value(run, row) if row.value is None else None
    return OwnCell(value, low, high, row.n, row.unscored, withheld, reason)


def _number(index: int, model: ModelRow, pick: _Pick, official: bool) -> OwnNumber:
    subject, parts = parts_of(pick.row.signature)
    limit = model.run.info.settings.get("limit")
    n = (pick.group or pick.row).n
    return OwnNumber(key_of(index), pick.metric, parts, subject, n, official, limit if isinstance(limit, int) else None)


def _table(
    benchmark: PublishedBenchmark,
    table: PublishedTable,
    rows: Sequence[OwnRow],
    numbers: Sequence[OwnNumber],
    imported: frozenset[str] | None,
) -> BesideTable:
    found = [reasons(benchmark, table, row, numbers, imported=imported) for row in table.rows]
    common = [reason for reason in found[0] if all(reason in others for others in found)]
    numbered = list(dict.fromkeys(reason for own in found for reason in own if reason not in common))
    theirs = [
        TheirRow(row, tuple(numbered.index(reason) + 1 for reason in own if reason in numbered))
        for row, own in zip(table.rows, found, strict=True)
    ]
    source = benchmark.source_of(table)
    return BesideTable(table, source, tuple(rows), tuple(theirs), tuple(common), tuple(numbered))
