"""Measured performance, `docs/reference/performance.json`, as tables and as single figures for a page."""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from places import ROOT

BOOK: Final = ROOT / "docs" / "reference" / "performance.json"
HEAD: Final = (
    *("suite", "what", "value", "unit", "ratio", "against", "goal", "met"),
    *("date", "counts", "load", "notes"),
)


def read_book() -> dict[str, Any]:
    """All suites with their measures."""
    found: dict[str, Any] = json.loads(BOOK.read_text(encoding="utf-8"))
    return found


def shown(value: float) -> str:
    """A number as people read it: four digits that count or all before the point, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        digits = 3 - math.floor(math.log10(abs(value)))
        return f"{round(value, digits):,.0f}"
    places = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def figure(name: str) -> str:
    """A measure as a page shows it: its value, then its ratio to a baseline.

    Args:
        name: Suite and words of the measure, as in `streaming: a frame after 60 minutes, bounded memory`; only the
            ratio if the suite is followed by `/ratio`.

    Raises:
        KeyError: There is no such measure, or it has no ratio.
    """
    suite, _, what = name.partition(": ")
    suite, _, part = suite.partition("/")
    for found in read_book()["suites"]:
        for measure in found.get("measures", ()):
            if (found["name"], measure["what"]) == (suite, what) and (part != "ratio" or measure["ratio"] is not None):
                if part:
                    return f"{shown(measure['ratio'])} ×"
                share = measure["unit"] == "share"
                return f"{measure['value']:.1%}" if share else f"{shown(measure['value'])} {measure['unit']}"
    raise KeyError(f"performance.json has no {name!r}; a page of the documentation shows it")


def measures(book: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each measure, and one for each suite without any; see `HEAD`."""
    for suite in book["suites"]:
        if "measures" not in suite:
            why = f"not run: needs {suite['needs']}" if "needs" in suite else f"not measured: {suite['failed']}"
            yield (suite["name"], *[""] * (len(HEAD) - 2), why)
        about = (suite.get("date", ""), "small" if suite.get("quick") else "full", f"{suite.get('load', '')}")
        for measure in suite.get("measures", ()):
            ratio = "" if measure["ratio"] is None else f"{measure['ratio']:.6g}"
            value = (suite["name"], measure["what"], f"{measure['value']:.6g}", measure["unit"])
            yield (*value, ratio, measure["baseline"], *_goal(measure), *about, "; ".join(suite.get("notes", ())))


def _goal(measure: Mapping[str, Any]) -> tuple[str, str]:
    goal = measure["goal"]
    if goal is None:
        return "", ""
    met = measure["value"] <= goal["value"] if goal["sense"] == "at most" else measure["value"] >= goal["value"]
    source = f" ({goal['source']})" if goal["source"] else ""
    return f"{goal['sense']} {shown(goal['value'])}{source}", "yes" if met else "no"


def write_tables(folder: Path) -> list[Path]:
    """Write `performance.csv`, and the further tables of suites as `performance-SUITE-N.csv`."""
    book = read_book()
    written = [_write(folder / "performance.csv", [HEAD, *measures(book)])]
    for suite in book["suites"]:
        for number, table in enumerate(suite.get("tables", ()), start=1):
            place = folder / f"performance-{suite['name']}-{number}.csv"
            written.append(_write(place, [table["head"], *table["rows"]]))
    return written


def _write(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path
