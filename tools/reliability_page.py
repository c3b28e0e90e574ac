"""Attempts to break reeltalk: `docs/reference/reliability.json`, as a table and as counts for a page.

Tests count their attempts with the fixture `reliability` (`tests/conftest.py`). `pytest --record-reliability` runs them
and writes the counts into that file; with `--release` it uses the counts of a release.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
BOOK: Final = ROOT / "docs" / "reference" / "reliability.json"
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
"""Groups of rows, in their order."""


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
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = (row.test, row.group, row.what)
        earlier = found.get(key)
        if earlier is not None:
            added = {"tried": earlier.tried + row.tried, "failed": earlier.failed + row.failed}
            if earlier.release is not None and row.release is not None:
                added["release"] = earlier.release + row.release
            row = Row(**asdict(earlier) | added)
        found[key] = row
    return list(found.values())


def merged(earlier: Sequence[Row], now: Sequence[Row]) -> list[Row]:
    """The rows of this run, and those of tests that were not run now, in the order of groups."""
    run = {row.test for row in now}
    rows = [*(row for row in earlier if row.test not in run), *now]
    order = list(GROUPS)
    return sorted(rows, key=lambda row: (order.index(row.group), row.test, row.what))


def read_rows() -> list[Row]:
    """The stored rows."""
    return [Row(**row) for row in json.loads(BOOK.read_text(encoding="utf-8"))["rows"]]


def write_rows(now: Sequence[Row]) -> None:
    """Add the rows of a run to the file."""
    rows = [asdict(row) for row in merged(read_rows(), now)]
    BOOK.write_text(json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tried(group: str) -> str:
    """How often the tests of a group tried, and how often they failed, as two cells of a table; `all` for all groups.

    Raises:
        KeyError: No row is of this group.
    """
    rows = [row for row in read_rows() if group in (row.group, "all")]
    if not rows:
        raise KeyError(f"reliability.json has no row of the group {group!r}; a page of the documentation shows it")
    return f"{sum(row.tried for row in rows):,} | {sum(row.failed for row in rows):,}"


def write_table(folder: Path) -> Path:
    """Write all rows as `reliability.csv`."""
    path = folder / "reliability.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in read_rows())
    return path
