"""The page of measured performance: `docs/reference/performance.json` as tables."""

import ast
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
BOOK: Final = ROOT / "docs" / "reference" / "performance.json"
INTRODUCTION: Final = """# Performance

This page lists the results of `make bench`. A ratio names its baseline; figures without a baseline have no ratio. Clock
times are valid only for the machine below and its load (the number of processes that wanted a core, averaged over five
minutes), which each suite states. CPU seconds and ratios are less dependent on the machine. Goals were set before
anything was measured, and are listed whether they are met or not.
"""


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


def performance() -> str:
    """The page."""
    return page(json.loads(BOOK.read_text(encoding="utf-8")))


def page(book: Mapping[str, Any]) -> str:
    """The page of one book of figures."""
    machine, parts = book["machine"], [INTRODUCTION]
    about = [
        ("Date", book["date"]),
        (
            "Machine",
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, {machine['platform']}",
        ),
        ("Versions", ", ".join(f"{name} {number}" for name, number in book["versions"].items())),
        ("Python", machine["python"]),
        ("Counts", _counts(book["suites"])),
        ("Goals", _goals(book["suites"])),
    ]
    parts.append("| Run | |\n| --- | --- |\n" + "".join(f"| {name} | {_cell(told)} |\n" for name, told in about))
    parts += [_suite(suite) for suite in book["suites"] if "measures" in suite]
    if absent := [suite for suite in book["suites"] if "measures" not in suite]:
        parts.append("## Without figures\n\n" + "".join(f"- {_absent(suite)}\n" for suite in absent))
    return "\n".join(parts)


def _counts(suites: Sequence[Mapping[str, Any]]) -> str:
    small = [suite["name"] for suite in suites if suite.get("measures") and suite["quick"]]
    return f"small (`--quick`) for {', '.join(small)}; full for all others" if small else "full"


def _absent(suite: Mapping[str, Any]) -> str:
    why = f"Not run: needs {suite['needs']}." if "needs" in suite else f"Not measured: {_cell(suite['failed'])}"
    return " ".join(filter(None, (f"`{suite['name']}`.", _about(suite["name"]), why)))


def _about(name: str) -> str:
    """The first line of a suite's file, which says what it measures; empty if there is no file."""
    path = ROOT / "bench" / f"{name}.py"
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else None
    return said.splitlines()[0] if said else ""


def _suite(suite: Mapping[str, Any]) -> str:
    lines = [f"## {suite['name']}\n"]
    if about := _about(suite["name"]):
        lines.append(f"{about}\n")
    counts = "small counts" if suite["quick"] else "full counts"
    command = f"python bench/{suite['name']}.py{' --quick' if suite['quick'] else ''}"
    busy = f"load {shown(suite['load'])}" if "load" in suite else ""
    took = f"{suite['took_s']:.0f} s" if "took_s" in suite else ""
    lines.append(f"`{command}`: {', '.join(filter(None, (suite['date'], counts, took, busy)))}.\n")
    lines.append("| What | Figure | Ratio | Against | Goal |\n| --- | ---: | ---: | --- | --- |")
    for measure in suite["measures"]:
        ratio = "" if measure["ratio"] is None else f"{shown(measure['ratio'])} ×"
        figure = f"{shown(measure['value'])} {measure['unit']}"
        cells = (measure["what"], figure, ratio, measure["baseline"], _goal(measure))
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    if suite["notes"]:
        lines += ["", *(f"- {note[:1].upper()}{note[1:]}" for note in suite["notes"])]
    for table in suite.get("tables", ()):
        lines += ["", table["title"], ""]
        # Figures stand to the right, and so does all but the first column.
        lines.append(f"| {' | '.join(map(_cell, table['head']))} |")
        lines.append(f"| --- |{' ---: |' * (len(table['head']) - 1)}")
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in table["rows"]]
    return "\n".join(lines).rstrip() + "\n"


def _goal(measure: Mapping[str, Any]) -> str:
    goal = measure["goal"]
    if goal is None:
        return ""
    met = measure["value"] <= goal["value"] if goal["sense"] == "at most" else measure["value"] >= goal["value"]
    source = f" ({goal['source']})" if goal["source"] else ""
    return f"{goal['sense']} {shown(goal['value'])}{source}: {'met' if met else '**missed**'}"


def _goals(suites: Sequence[Mapping[str, Any]]) -> str:
    said = [_goal(measure) for suite in suites for measure in suite.get("measures", ()) if measure["goal"] is not None]
    return f"{sum(text.endswith(': met') for text in said)} of {len(said)} met"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
