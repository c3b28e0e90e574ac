"""Sheets on which people judge turns without seeing the checks, and the verdicts of filled sheets."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Final, get_args

from reeltalk.errors import InputError, SettingError
from reeltalk.formats.table_rows import TABLE_SUFFIXES, TableRow, read_table
from reeltalk.metrics.turn_sheet import COLUMNS, ITEM, READER, SHEET, SheetTurn, is_verdict, sheet_turns
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import GateOutcome, GateResult, GateUnit
from reeltalk.schema.media import Video
from reeltalk.schema.texts import printable
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, PATHS, VIDEOS
from reeltalk.store.text_tables import write_csv

STAGE: Final = "sheet"
PAGE: Final = "sheet.html"
TABLE: Final = "sheet.csv"
TEMPLATES: Final = "reeltalk_build.pages"
SHEET_COLUMNS: Final = (
    ITEM, "video", "asked_at_s", "task", "before", "question", "answer", *COLUMNS, READER, "note",
)  # fmt: skip
YES: Final = frozenset({"yes", "y", "true", "1", "1.0", "x"})
NO: Final = frozenset({"no", "n", "false", "0", "0.0"})
DOES_NOT_APPLY: Final = frozenset({"", "n/a", "na", "-", "–", "—"})


def write_sheet(benchmark: Benchmark, folder: Path, *, items: int, seed: int) -> int:
    """Write a blank sheet: a page to read and fill in, and the same as CSV for a spreadsheet. Neither shows a check.

    Half of the turns are of paths, or of chains in a benchmark without paths; the other half is spread evenly over the
    tasks of dialogues. Within these, one turn of every video comes before a second one of any.

    Args:
        folder: A new folder.
        items: Wanted number of turns.
        seed: Seed of the draw.

    Returns:
        Number of turns on the sheet.

    Raises:
        SettingError: The benchmark has no turns.
        BenchmarkError: The folder exists.
    """
    from reeltalk.pages.site import make_environment, write_static, write_text

    drawn = draw_turns(_turns(benchmark), items=items, seed=seed)
    if not drawn:
        raise SettingError(f"{benchmark.path} has no chains or dialogues, so a sheet would be empty")
    shown = {turn.video_id for turn in drawn}
    films = _films(benchmark, (video for video in benchmark.read(VIDEOS) if video.id in shown))
    environment = make_environment(TEMPLATES)
    with writing_directory(folder) as made:
        write_static(made, ("style.css", "page.js"))
        for file in ("sheet.js", "sheet.css"):
            write_text(made / file, resources.files(TEMPLATES).joinpath("templates", file).read_text("utf-8"))
        page = environment.get_template("sheet.html").render(
            name=benchmark.manifest.name, turns=drawn, films=films, columns=COLUMNS, root="", here=PAGE, pages=[]
        )
        write_text(made / PAGE, page)
        rows = (map(printable, _cells(turn)) for turn in drawn)
        write_text(made / TABLE, write_csv(SHEET_COLUMNS, rows))
    return len(drawn)


def _turns(benchmark: Benchmark) -> Iterator[SheetTurn]:
    return sheet_turns(benchmark.read(CHAINS), benchmark.read(DIALOGUES), benchmark.read(PATHS))


def draw_turns(turns: Iterator[SheetTurn], *, items: int, seed: int) -> list[SheetTurn]:
    """Draw turns by seed, in random order: half of paths or chains, half of dialogues, evenly over their tasks."""
    kinds: dict[str, dict[str, list[SheetTurn]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        kinds[turn.kind][turn.video_id].append(turn)
    chained = kinds.get("path") or kinds.get("chain")
    tasks = sorted(kinds.keys() - {"path", "chain"})
    each = items // (2 if chained else 1) // max(1, len(tasks))
    drawn = [turn for task in tasks for turn in _draw(kinds[task], each, seed)]
    if chained:
        drawn += _draw(chained, items - len(drawn), seed)
    return sorted(drawn, key=lambda turn: _chance(seed, "order", turn.item))


def _draw(videos: Mapping[str, Sequence[SheetTurn]], count: int, seed: int) -> list[SheetTurn]:
    shuffled = [sorted(own, key=lambda turn: _chance(seed, turn.item)) for own in videos.values()]
    shuffled.sort(key=lambda own: _chance(seed, own[0].video_id))
    rounds = (own[n] for n in range(max(map(len, shuffled))) for own in shuffled if n < len(own))
    return [turn for turn, _ in zip(rounds, range(count), strict=False)]


def _chance(seed: int, *what: str) -> bytes:
    return hashlib.sha256("\n".join((str(seed), *what)).encode("utf-8", "replace")).digest()


def _films(benchmark: Benchmark, videos: Iterable[Video]) -> dict[str, str]:
    """Addresses of the files of videos that the benchmark has."""
    there = set(benchmark.media.names())
    held = [(video.id, video.sha256) for video in videos if video.sha256 is not None and video.sha256 in there]
    return {name: benchmark.media.whole(sha256).resolve().as_uri() for name, sha256 in held}


def _cells(item: SheetTurn) -> list[str]:
    before = "\n".join(f"{n}. {turn.question} – {_answer(turn)}" for n, turn in enumerate(item.before, 1))
    asked = "" if item.turn.asked_at_s is None else f"{item.turn.asked_at_s:g}"
    said = [item.item, item.video_id, asked, item.kind, before, item.turn.question, _answer(item.turn)]
    return said + [""] * (len(SHEET_COLUMNS) - len(said))


def _answer(turn: Turn) -> str:
    return turn.references[0] if turn.references else ""


@dataclass(frozen=True)
class FilledSheets:
    """The verdicts of filled sheets."""

    verdicts: tuple[GateResult, ...]
    readers: tuple[str, ...]
    turns: int
    """Number of turns with a verdict."""
    empty: int
    """Rows without a verdict."""


def read_sheets(benchmark: Benchmark, files: Sequence[Path]) -> FilledSheets:
    """Read filled sheets, as the page saves them or as a spreadsheet does.

    Args:
        benchmark: The benchmark, with the turns as they were worded on the sheet.
        files: Tables with the columns `item`, `reader` and those of `COLUMNS`; others are not read.

    Raises:
        InputError: A file is damaged, a cell is neither yes, no nor n/a, a row names no reader, a person judges a turn
            twice, or the benchmark has no such turn; names the line.
        SettingError: No row is filled in.
    """
    rows = [row for file in files for row in _rows(file)]
    wanted = {row.cells[ITEM] for row in rows}
    turns = {turn.item: turn for turn in _turns(benchmark) if turn.item in wanted}
    found: dict[tuple[str, str], TableRow] = {}
    verdicts: list[GateResult] = []
    for row in rows:
        cells = {name: _verdict(row, name) for name in COLUMNS}
        if all(cell is None for cell in cells.values()):
            continue
        reader = str(row.cells[READER]).strip()
        if not reader:
            raise row.error("no reader is named", READER, None, hint="write a name or a pseudonym into this column")
        if (turn := turns.get(str(row.cells[ITEM]))) is None:
            raise row.error(
                "the benchmark has no such turn", ITEM, row.cells[ITEM],
                hint="its words may have changed since the sheet was drawn; draw a new one with --sheet",
            )  # fmt: skip
        if (before := found.setdefault((turn.item, reader), row)) is not row:
            raise row.error(
                f"{reader!r} judges this turn a second time; the first is in {before.where}", ITEM, row.cells[ITEM],
                hint="keep one of the two rows",
            )  # fmt: skip
        verdicts += (_gate(turn, name, said, reader) for name, said in cells.items() if said is not None)
    if not verdicts:
        raise SettingError(f"no row of {', '.join(map(str, files))} is filled in; write yes or no into its columns")
    readers = tuple(sorted({reader for _, reader in found}))
    return FilledSheets(tuple(verdicts), readers, len({item for item, _ in found}), len(rows) - len(found))


def _rows(file: Path) -> list[TableRow]:
    if file.suffix.lower() not in TABLE_SUFFIXES:
        raise InputError("not a table", file=file, hint=f"give one that ends in {', '.join(TABLE_SUFFIXES)}")
    table = read_table(file)
    if missing := [name for name in (ITEM, READER, *COLUMNS) if name not in table.header]:
        raise InputError(
            f"column {missing[0]!r} is missing", file=file, line=1,
            hint="give a sheet of 'reeltalk construct BENCH --sheet N' that somebody filled in",
        )  # fmt: skip
    return table.rows


def _verdict(row: TableRow, column: str) -> bool | None:
    said = str(row.cells[column]).strip().lower()
    if said in DOES_NOT_APPLY:
        return None
    if said not in YES | NO:
        raise row.error("neither yes, no nor n/a", column, row.cells[column], hint="write yes or no")
    return said in YES


def _gate(turn: SheetTurn, column: str, said: bool, reader: str) -> GateResult:
    unit, name, index = turn.place
    kind: GateUnit = next(one for one in get_args(GateUnit) if one == unit)
    return GateResult(
        gate=f"{SHEET}{column}",
        unit=kind,
        unit_id=name,
        turn_index=index,
        outcome=GateOutcome.PASSED if said else GateOutcome.FLAGGED,
        reason=None if said else f"a reader says no: {COLUMNS[column]}",
        extra={READER: reader, ITEM: turn.item},
    )


def apply_sheets(benchmark: Benchmark, filled: FilledSheets) -> None:
    """Add verdicts to the table `gates`; those of the same people about the same turns are replaced."""
    again: Collection[tuple[str, str]] = {_key(gate) for gate in filled.verdicts}
    kept = (gate for gate in benchmark.read(GATES) if not (is_verdict(gate) and _key(gate) in again))
    entry = benchmark.manifest.files.get(GATES.file_name)
    with benchmark.writing(stage=STAGE) as writer:
        writer.add(GATES, chain(kept, filled.verdicts), work_of=entry)


def _key(gate: GateResult) -> tuple[str, str]:
    return str(gate.extra.get(ITEM)), str(gate.extra.get(READER))
