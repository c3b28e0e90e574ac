"""What people say of answers: ratings from a run, from rows of scores, or from a sheet that was filled in by hand."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError, SettingError
from reeltalk.report.columns import HUMAN
from reeltalk.report.verdicts import Place
from reeltalk.schema.ids import derive_id
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.documents import read_text
from reeltalk.store.runs import JUDGED, Run
from reeltalk.store.tables import read_rows

COLUMNS: Final = ("model", "unit_id", "turn_index", "criterion", "rater", "value")
"""Columns of a sheet; `item` may stand in place of the first three."""
ITEM: Final = "item"
DOES_NOT_APPLY: Final = frozenset({"n/a", "na", "-", "–"})
"""Values that say that a criterion does not apply."""
MOST_TURNS: Final = 100_000


@dataclass(frozen=True)
class Rating:
    """What one person says of one answer on one criterion."""

    place: Place
    criterion: str
    rater: str
    value: float


@dataclass(frozen=True)
class HumanRatings:
    """Ratings with what was counted while they were read."""

    ratings: tuple[Rating, ...]
    sources: tuple[str, ...]
    empty: int = 0
    """Rows of sheets that nobody filled in."""
    not_applicable: int = 0


def item_code(place: Place) -> str:
    """The name of an answer on a blinded sheet, which does not tell whose it is.

    Args:
        place: Model, unit and turn.
    """
    return derive_id("item", *place)


def human_ratings(runs: Sequence[Run], files: Sequence[Path], places: Iterable[Place]) -> HumanRatings:
    """All ratings by people: those in the runs, and those in files.

    Args:
        runs: Their tables `scores/judged-*.jsonl` may hold rows whose judge is `human:NAME`.
        files: JSON Lines of such rows, or sheets in CSV.
        places: Of all answers in the runs, by which a sheet's item codes are known again.

    Raises:
        InputError: A file is damaged, a row is no person's, or two rows rate the same thing; names line and field.
        SettingError: There are no ratings at all.
    """
    found: dict[tuple[Place, str, str], tuple[Rating, str]] = {}
    counted = {"empty": 0, "n/a": 0}
    sources: list[str] = []
    codes: dict[str, Place] | None = None

    def add(rows: Iterable[tuple[int | None, Rating | None, str]], file: Path) -> None:
        several: dict[tuple[Place, str, str], list[float]] = {}
        for line, rating, state in rows:
            if rating is None:
                counted[state] += 1
                continue
            key = (rating.place, rating.criterion, rating.rater)
            where = f"{file}:{line}" if line is not None else str(file)
            if key in found and line is not None:
                raise InputError(
                    f"{rating.rater!r} rates the same answer on {rating.criterion!r} a second time; "
                    f"the first is in {found[key][1]}",
                    file=file,
                    line=line,
                    hint="keep one of the two",
                )
            # Rounds of one person in a run are averaged.
            several.setdefault(key, []).append(rating.value)
            mean = sum(several[key]) / len(several[key])
            found[key] = (Rating(rating.place, rating.criterion, rating.rater, mean), where)

    for run in runs:
        for protocol in run.protocols():
            path = run.path / JUDGED.format(protocol=protocol)
            if says_human(path):
                add(_in_run(run, protocol), path)
                sources.append(str(path))
    for file in files:
        if file.suffix.lower() == ".csv":
            if codes is None:
                codes = {item_code(place): place for place in places}
            add(_in_sheet(file, codes), file)
        else:
            add(_in_rows(file), file)
        sources.append(str(file))
    if not found:
        looked = ", ".join(map(str, files)) or "the runs' scores/judged-*.jsonl"
        raise SettingError(
            f"no ratings by people in {looked}: {counted['empty']:,} rows are not filled in and {counted['n/a']:,} do "
            "not apply; give --human FILE with rows whose judge is 'human:NAME', or a sheet that is filled in "
            "('reeltalk calibrate RUN --sheet ratings.csv' writes one)"
        )
    ratings = tuple(rating for rating, _ in found.values())
    return HumanRatings(ratings, tuple(sources), counted["empty"], counted["n/a"])


def says_human(path: Path) -> bool:
    """True where a table of scores has rows by people.

    Args:
        path: A run's `scores/judged-*.jsonl`.
    """
    # Looked for in the bytes: parsing every row of every judge would cost more than the rest of a page.
    with path.open("rb") as stream:
        return any(b'"human:' in line for line in stream)


def _in_run(run: Run, protocol: str) -> Iterator[tuple[int | None, Rating | None, str]]:
    for row in run.judged(protocol):
        if row.judge.startswith(HUMAN):
            yield None, *_rating(row)


def _in_rows(file: Path) -> Iterator[tuple[int, Rating | None, str]]:
    if not file.is_file():
        raise InputError("no such file", file=file, hint="check the path")
    for line, row in enumerate(read_rows(file, JudgedScore), start=1):
        if not row.judge.startswith(HUMAN) or row.judge == HUMAN:
            raise InputError(
                "not a person's rating", file=file, line=line, place="judge", value=row.judge,
                hint="people's judge is 'human:NAME'",
            )  # fmt: skip
        yield line, *_rating(row)


def _rating(row: JudgedScore) -> tuple[Rating | None, str]:
    if row.state is not ScoreState.SCORED or row.value is None:
        return None, "n/a" if row.state is ScoreState.NOT_APPLICABLE else "empty"
    place = (row.model, row.unit_id, row.turn_index)
    return Rating(place, row.criterion, row.judge.removeprefix(HUMAN), row.value), ""


def _in_sheet(file: Path, codes: Mapping[str, Place]) -> Iterator[tuple[int, Rating | None, str]]:
    reader = csv.DictReader(io.StringIO(read_text(file)), strict=True)
    try:
        names = reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file, line=1) from None
    coded = ITEM in names
    needed = (ITEM, *COLUMNS[3:]) if coded else COLUMNS
    if twice := [name for name in dict.fromkeys(names) if name in needed and names.count(name) > 1]:
        raise InputError(f"column {twice[0]!r} is there twice", file=file, line=1, hint="delete one of the two")
    if missing := [name for name in needed if name not in names]:
        raise InputError(
            f"column {missing[0]!r} is missing", file=file, line=1, value=",".join(names) or None,
            hint=f"a sheet has the columns {', '.join(COLUMNS)}, or {', '.join((ITEM, *COLUMNS[3:]))}",
        )  # fmt: skip
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=file, line=reader.line_num) from None
        if row is None:
            return
        line = reader.line_num
        cells = {name: (row.get(name) or "").strip() for name in needed}
        if not cells["value"]:
            yield line, None, "empty"
        elif cells["value"].lower() in DOES_NOT_APPLY:
            yield line, None, "n/a"
        else:
            yield line, _rated(cells, file, line, codes if coded else None), ""


def _rated(cells: Mapping[str, str], file: Path, line: int, codes: Mapping[str, Place] | None) -> Rating:
    for name, cell in cells.items():
        if not cell and name != "turn_index":
            raise InputError(f"{name} is empty", file=file, line=line, place=name, hint="fill it in")
    try:
        # Spreadsheets of half the world write 2,5.
        value = float(cells["value"].replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            "not a number", file=file, line=line, place="value", value=cells["value"],
            hint="write a number, nothing where nobody rated, or n/a where the criterion does not apply",
        )  # fmt: skip
    if codes is not None:
        place = codes.get(cells[ITEM])
        if place is None:
            raise InputError(
                "no answer in the runs has this code", file=file, line=line, place=ITEM, value=cells[ITEM],
                hint="give the runs that the sheet was made from",
            )  # fmt: skip
    else:
        index = cells["turn_index"]
        if index and not (index.isascii() and index.isdigit() and int(index) < MOST_TURNS):
            raise InputError(
                "not the number of a turn, from 0", file=file, line=line, place="turn_index", value=index,
                hint="leave it empty where the whole dialogue was rated",
            )  # fmt: skip
        place = (cells["model"], cells["unit_id"], int(index) if index else None)
    return Rating(place, cells["criterion"], cells["rater"], value)
