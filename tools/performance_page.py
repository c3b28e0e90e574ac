"""The page of what was measured: `docs/reference/performance.json` as tables, and drawings of how costs grow."""

import ast
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reeltalk.capacity.plan import shown
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped

ROOT: Final = Path(__file__).parents[1]
BOOK: Final = ROOT / "docs" / "reference" / "performance.json"
IMAGES: Final = ROOT / "docs" / "images"
INTRODUCTION: Final = """# Performance

What `make bench` measured. A ratio says against what; where there is no baseline there is none. Times on the clock hold
for the machine below and for how busy it was, which each suite's load tells (processes that wanted a core, in the mean
of five minutes); CPU seconds and ratios hold for more. Goals were set before anything was measured, and stand here
whether they are met or not.
"""
COLOURS: Final = ("#2563eb", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#a16207", "#475569")


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
        ("Counts", "small (`make bench QUICK=1`), unless a suite says otherwise" if book["quick"] else "full"),
        ("Goals", _goals(book["suites"])),
    ]
    parts.append("| Of the run | |\n| --- | --- |\n" + "".join(f"| {name} | {_cell(told)} |\n" for name, told in about))
    parts += [_suite(suite) for suite in book["suites"] if "measures" in suite]
    if absent := [suite for suite in book["suites"] if "measures" not in suite]:
        parts.append("## Without figures\n\n" + "".join(f"- {_absent(suite)}\n" for suite in absent))
    return "\n".join(parts)


def _absent(suite: Mapping[str, Any]) -> str:
    why = f"Not run: needs {suite['needs']}." if "needs" in suite else f"Not measured: {_cell(suite['failed'])}"
    return " ".join(filter(None, (f"`{suite['name']}`.", _about(suite["name"]), why)))


def _about(name: str) -> str:
    """What a suite asks, as the first line of its file says; empty where it has no file."""
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
    if suite["name"] == "growth":
        lines += ["", *(f"![{title}](../images/{file})\n" for file, title in DRAWINGS.items())]
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


DRAWINGS: Final = {
    "growth-videos.svg": "CPU seconds against the number of videos, logarithmic: curate, construct, validate, read",
    "growth-turns.svg": "CPU seconds against the number of turns, logarithmic: evaluate to review",
}


def drawings() -> dict[str, str]:
    """Drawings of the growth suite by file name; none where it was not measured."""
    book = json.loads(BOOK.read_text(encoding="utf-8"))
    growth = next((suite.get("growth") for suite in book["suites"] if suite["name"] == "growth"), None) or []
    found = {}
    for (file, title), unit in zip(DRAWINGS.items(), ("videos", "turns"), strict=True):
        if own := [line for line in growth if line["unit"] == unit]:
            found[file] = _drawn(own, title, unit)
    return found


def _drawn(lines: Sequence[Mapping[str, Any]], title: str, unit: str) -> str:
    """Lines on logarithmic axes, each with its name at its end, and a grey one that is linear."""
    width, height, left, right, top, bottom = 640.0, 320.0, 56.0, 190.0, 12.0, 42.0
    sizes = [math.log10(size) for line in lines for size in line["sizes"]]
    costs = [math.log10(max(cost, 1e-3)) for line in lines for cost in line["cpu_s"]]
    low_x, high_x = min(sizes), max(sizes)
    low_y, high_y = math.floor(min(costs)), max(costs) + 0.1

    def x(size: float) -> float:
        return left + (math.log10(size) - low_x) / (high_x - low_x) * (width - left - right)

    def y(cost: float) -> float:
        return top + (high_y - math.log10(max(cost, 1e-3))) / (high_y - low_y) * (height - top - bottom)

    text = 'font-family="sans-serif" font-size="12"'
    parts = [
        open_svg(width, height, title).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1),
        f'<rect width="{width:g}" height="{height:g}" rx="4" fill="#fff"/>',
    ]
    for power in range(low_y, math.floor(high_y) + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left:g}" x2="{width - right:g}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e2e8f0"/>')
        parts.append(
            f'<text x="{left - 6:g}" y="{at + 4:.1f}" text-anchor="end" fill="#334155" {text}>{10.0**power:g} s</text>'
        )
    for size in sorted({size for line in lines for size in line["sizes"]}):
        parts.append(
            f'<text x="{x(size):.1f}" y="{height - 22:g}" text-anchor="middle" fill="#334155" {text}>{size:,}</text>'
        )
    middle = (left + width - right) / 2
    parts.append(f'<text x="{middle:g}" y="{height - 6:g}" text-anchor="middle" fill="#334155" {text}>{unit}</text>')
    heights = _apart([y(line["cpu_s"][-1]) for line in lines])
    for number, (line, name_y) in enumerate(zip(lines, heights, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        places = [(x(size), y(cost)) for size, cost in zip(line["sizes"], line["cpu_s"], strict=True)]
        told = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
        exponent = "" if line["exponent"] is None else f", exponent {line['exponent']:.2f}"
        named = escaped(line["what"]) + exponent
        parts.append(f'<text x="{width - right + 8:g}" y="{name_y + 4:.1f}" fill="{colour}" {text}>{named}</text>')
    return "".join([*parts, "</svg>\n"])


def _apart(heights: Sequence[float], gap: float = 14.0) -> list[float]:
    """Heights moved down until no two are nearer than a line of text."""
    found, last = dict[int, float](), -math.inf
    for number in sorted(range(len(heights)), key=lambda number: heights[number]):
        last = found[number] = max(heights[number], last + gap)
    return [found[number] for number in range(len(heights))]
