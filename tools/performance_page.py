"""The page of measured performance: `docs/reference/performance.json` as tables and charts of growing costs."""

import ast
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reeltalk.pages.charts import chart_svg, spread_labels
from reeltalk.pages.figure_files import standalone

ROOT: Final = Path(__file__).parents[1]
BOOK: Final = ROOT / "docs" / "reference" / "performance.json"
IMAGES: Final = ROOT / "docs" / "images"
INTRODUCTION: Final = """# Performance

This page lists the results of `make bench`. A ratio names its baseline; figures without a baseline have no ratio. Clock
times are valid only for the machine below and its load (the number of processes that wanted a core, averaged over five
minutes), which each suite states. CPU seconds and ratios are less dependent on the machine. Goals were set before
anything was measured, and are listed whether they are met or not.
"""
COLOURS: Final = ("#2563eb", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#a16207", "#475569")

WIDTH: Final = 394
HEIGHT: Final = 266


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
    for file, drawing in DRAWINGS.items():
        if drawing.suite == suite["name"]:
            lines += ["", f"![{drawing.title}](../images/{file})"]
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


@dataclass(frozen=True)
class Drawing:
    """A drawing of what a suite measured at several sizes."""

    suite: str
    unit: str
    """Of what there are more and more."""
    costs: str
    """Name of the measured values in the suite's lines."""
    cost_unit: str
    title: str


DRAWINGS: Final = {
    "many-videos-time.svg": Drawing(
        "many_videos", "videos", "cpu_s", "s",
        "CPU seconds against the number of videos, logarithmic: evaluate to review",
    ),
    "many-videos-memory.svg": Drawing(
        "many_videos", "videos", "peak_mib", "MiB",
        "Memory of the largest process against the number of videos, logarithmic: evaluate to review",
    ),
}  # fmt: skip


def drawings() -> dict[str, str]:
    """Drawings of what was measured at several sizes, by file name; none of a suite that was not measured."""
    book = json.loads(BOOK.read_text(encoding="utf-8"))
    lines = {suite["name"]: suite.get("growth") or () for suite in book["suites"]}
    found = {}
    for file, drawing in DRAWINGS.items():
        if own := [line for line in lines.get(drawing.suite, ()) if line["unit"] == drawing.unit]:
            found[file] = _drawn(own, drawing)
    return found


def _drawn(lines: Sequence[Mapping[str, Any]], drawing: Drawing) -> str:
    """Lines on logarithmic axes, each with its name at its end."""
    sizes = [size for line in lines for size in line["sizes"]]
    rows, names = [], []
    for number, line in enumerate(lines):
        look = {"colour": COLOURS[number % len(COLOURS)], "line": number}
        points = [
            {"at": at, "cost": max(cost, 1e-3), **look}
            for at, cost in zip(line["sizes"], line[drawing.costs], strict=True)
        ]
        rows += points
        told = drawing.costs == "cpu_s" and line["exponent"] is not None
        names.append({**points[-1], "name": line["what"] + (f", exponent {line['exponent']:.2f}" if told else "")})

    def log_scale(field: str, low: float, high: float) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "scale": {"type": "log", "domain": [low, high], "nice": False}}

    lowest, highest = (math.log10(end([row["cost"] for row in rows])) for end in (min, max))
    lowest, highest = math.floor(lowest), highest + 0.1
    places = [HEIGHT * (highest - math.log10(row["cost"])) / (highest - lowest) for row in names]
    order = sorted(range(len(names)), key=lambda number: places[number])
    apart = spread_labels([places[number] for number in order], lowest=0, highest=HEIGHT, apart=14)
    named = [{**names[number], "y": y} for number, y in zip(order, apart, strict=True)]
    x = {
        **log_scale("at", min(sizes), max(sizes)),
        "axis": {"values": sorted(set(sizes)), "grid": False, "title": drawing.unit, "format": ","},
    }
    powers = [10**power for power in range(lowest, math.floor(highest) + 1)]
    y = {
        **log_scale("cost", 10**lowest, 10**highest),
        "axis": {"values": powers, "labelExpr": f"datum.value + ' {drawing.cost_unit}'"},
    }
    looks = {"detail": {"field": "line"}, "color": {"field": "colour", "type": "nominal", "scale": None}}
    names_at = {"x": {"value": WIDTH + 8}, "y": {"field": "y", "type": "quantitative", "scale": None, "axis": None}}
    return standalone(
        chart_svg(
            {
                "description": drawing.title, "width": WIDTH, "height": HEIGHT, "background": "#fff",
                # A reader's font may be wider than the one by which the width is found.
                "padding": {"left": 5, "top": 5, "bottom": 5, "right": 40},
                "layer": [
                    {"data": {"values": rows}, "mark": {"type": "line", "aria": False, "point": True},
                     "encoding": {"x": x, "y": y, **looks}},
                    {"data": {"values": named}, "mark": {"type": "text", "aria": False, "align": "left"},
                     "encoding": {**names_at, "text": {"field": "name"}, **looks}},
                ],
            }
        )
    ) + "\n"  # fmt: skip
