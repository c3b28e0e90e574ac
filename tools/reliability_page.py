"""The page of attempts to break reeltalk: `docs/reference/reliability.json` as tables.

Tests count their attempts with the fixture `reliability` (`tests/conftest.py`). `pytest --record-reliability` runs them
and writes the counts into that file and onto the page; with `--release` it uses the counts of a release.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
BOOK: Final = ROOT / "docs" / "reference" / "reliability.json"
PAGE: Final = BOOK.with_suffix(".md")
INTRODUCTION: Final = """# Reliability

This page lists how the tests tried to break reeltalk, how often, and how often it failed. Each row was counted by a
test. `make reliability` runs these tests and writes the page again; a normal run of the tests does not change it.

The column *Counts* says how often the row's test tries: *release* is the count of a release, *every run* a count that
never changes, and *CI* the smaller count of every change, with the count of a release in brackets.
"""
GROUPS: Final = {
    "servers": "Servers of models that fail",
    "power": "Killed processes and lost power",
    "storage": "Disks, files and folders",
    "videos": "Videos",
    "archives": "Archives and folders that somebody else made",
    "data": "Data files",
    "review": "The review server",
    "pages": "Pages in a browser",
    "judges": "Judges",
    "replays": "Public reports of other programs",
    "code": "The code itself",
}
"""Groups of rows, in the order of the page."""


@dataclass(frozen=True)
class Row:
    """The attempts of one test."""

    group: str
    what: str
    """The attempt, in plain words."""
    failing: str
    """What counts as a failure, in plain words."""
    tried: int
    failed: int
    counts: str
    """`every run`, `CI`, `full` or `release`."""
    release: int | None
    """The count of a release; None if the counts never change, or follow from those of another row."""
    test: str
    """File and name of the test, without what it was parametrized with."""
    date: str
    version: str
    """Of reeltalk, and the commit if there is git."""

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise ValueError(f"{self.test}: there is no group '{self.group}'; there are {', '.join(GROUPS)}")
        if not self.what or not self.failing or self.tried < 0 or self.failed < 0:
            raise ValueError(f"{self.test}: a row needs words, and counts from 0: {self}")


@dataclass
class Tally:
    """How often something was tried, and how often it failed."""

    tried: int = 0
    failed: int = 0


class Reliability:
    """Counts the attempts of one test; see the fixture of that name."""

    def __init__(self, level: str, test: str, version: str) -> None:
        self._level, self._test, self._version = level, test, version
        self._release: int | None = None
        self._tallies: list[tuple[tuple[str, str, str], bool, Tally]] = []

    def count(self, ci: int, *, release: int, full: int | None = None) -> int:
        """The number of attempts in this run; `full` is for `make test-full`, and equals `ci` by default."""
        self._release = release
        return {"CI": ci, "full": full or ci, "release": release}[self._level]

    def __call__(self, group: str, what: str, failing: str, *, is_counted: bool = True) -> Tally:
        """Two counts, to be set as the test goes on.

        Args:
            group: One of `GROUPS`.
            what: What is tried, in plain words: "SIGKILL of the review server while 8 people write".
            failing: What counts as a failure, in plain words: "a save that was acknowledged is lost or doubled".
            is_counted: False if `count` gives the number of another thing, for example of kills during these saves.
        """
        tally = Tally()
        self._tallies.append(((group, what, failing), is_counted, tally))
        return tally

    def rows(self) -> Iterator[dict[str, Any]]:
        """The counts, as fields of `Row`."""
        for words, is_counted, tally in self._tallies:
            row = Row(
                group=words[0],
                what=words[1],
                failing=words[2],
                tried=int(tally.tried),
                failed=int(tally.failed),
                counts="every run" if self._release is None else self._level,
                release=self._release if is_counted else None,
                test=self._test,
                date=f"{datetime.now(UTC):%Y-%m-%d}",
                version=self._version,
            )
            yield asdict(row)


def summed(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same test and words as one, so that a parametrized test has one row."""
    return _added(rows, lambda row: (row.test, row.group, row.what))


def _folded(rows: Iterable[Row]) -> list[Row]:
    """Rows of several tests that tried the same on the same day with the same counts, as one for the page."""
    return _added(rows, lambda row: (row.group, row.what, row.failing, row.counts, row.date))


def _added(rows: Iterable[Row], key: Callable[[Row], tuple[str, ...]]) -> list[Row]:
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        earlier = found.get(key(row))
        if earlier is not None:
            added = {"tried": earlier.tried + row.tried, "failed": earlier.failed + row.failed}
            if earlier.release is not None and row.release is not None:
                added["release"] = earlier.release + row.release
            row = Row(**asdict(earlier) | added)
        found[key(row)] = row
    return list(found.values())


def merged(earlier: Sequence[Row], now: Sequence[Row]) -> list[Row]:
    """The rows of this run, and those of tests that were not run now, in the order of the page."""
    run = {row.test for row in now}
    rows = [*(row for row in earlier if row.test not in run), *now]
    order = list(GROUPS)
    return sorted(rows, key=lambda row: (order.index(row.group), row.test, row.what))


def read_rows() -> list[Row]:
    """The stored rows."""
    return [Row(**row) for row in json.loads(BOOK.read_text(encoding="utf-8"))["rows"]]


def write_rows(now: Sequence[Row]) -> None:
    """Add the rows of a run to the file, and write the page."""
    rows = merged(read_rows(), now)
    BOOK.write_text(
        json.dumps({"rows": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    PAGE.write_text(page(rows), encoding="utf-8")


def reliability() -> str:
    """The page."""
    return page(read_rows())


def page(rows: Sequence[Row]) -> str:
    """The page of some rows."""
    parts, rows = [INTRODUCTION], _folded(rows)
    failed = [row for row in rows if row.failed]
    about = [
        ("Dates", _span(row.date for row in rows)),
        ("reeltalk", ", ".join(sorted({row.version for row in rows}))),
        ("Rows", f"{len(rows)}, of which {len(failed)} with a failure"),
        ("Tried", f"{sum(row.tried for row in rows):,}"),
        ("Counts", _counts(rows)),
    ]
    parts.append("| Runs | |\n| --- | --- |\n" + "".join(f"| {name} | {_cell(told)} |\n" for name, told in about))
    for group, own in itertools.groupby(rows, key=lambda row: row.group):
        lines = [f"## {GROUPS[group]}\n", "| What was tried | Tried | Failed | A failure is | Counts | Date |"]
        lines.append("| --- | ---: | ---: | --- | --- | --- |")
        for row in own:
            broke = f"**{row.failed:,}**" if row.failed else "0"
            cells = (row.what, f"{row.tried:,}", broke, row.failing, _count(row), row.date)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _count(row: Row) -> str:
    smaller = row.counts not in ("every run", "release") and row.release is not None
    return f"{row.counts} (release {row.release:,})" if smaller else row.counts


def _counts(rows: Sequence[Row]) -> str:
    kinds = ("release", "every run", "full", "CI")
    numbers = {kind: sum(row.counts == kind for row in rows) for kind in kinds}
    return ", ".join(f"{kind} {number}" for kind, number in numbers.items() if number)


def _span(dates: Iterable[str]) -> str:
    found = sorted(set(dates))
    return " to ".join(dict.fromkeys((found[0], found[-1]))) if found else ""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
