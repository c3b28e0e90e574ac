"""The page of public reports that are replayed: it follows from `tests/reports`, a folder each."""

import tomllib
from pathlib import Path
from typing import Any, Final

REPORTS: Final = Path(__file__).parents[1] / "tests" / "reports"
AREAS: Final = {
    "answers": "Reading answers",
    "judges": "Judging",
    "servers": "Servers of models",
    "frames": "What a model is shown",
    "video": "Reading films",
    "tables": "Tables of questions",
    "people": "Work of people",
}
"""Headings, by the word in `report.toml`."""
INTRODUCTION: Final = """# Public reports

Users of other programs reported these faults. Each is replayed here with an input of our own, and none of their code:
the right value was written down before reeltalk was run on it, and `make test` compares. *First* is what reeltalk did
when a report was replayed for the first time. To add one, write a folder in `tests/reports`; `replay.py` there lists
what it may state.

{total} were replayed: {first} came out right at first, {now} do today. {restated} right values asked for more than
their report at first, and were restated.
"""


def read_reports() -> list[dict[str, Any]]:
    """What the folders state, by name."""
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(REPORTS.glob("*/report.toml"))]


def public_reports() -> str:
    """The page."""
    reports = read_reports()
    first = sum(report["first"] == "right" for report in reports)
    now = sum("miss" not in report for report in reports)
    restated = sum("restated" in report for report in reports)
    parts = [INTRODUCTION.format(total=len(reports), first=first, now=now, restated=restated)]
    for area, title in AREAS.items():
        lines = [f"## {title}\n", "| Report | Kind of fault | What is right | First | Now |"]
        lines.append("| --- | --- | --- | --- | --- |")
        for report in sorted((one for one in reports if one["area"] == area), key=lambda one: one["report"].casefold()):
            now_told = f"wrong: {report['miss']}" if "miss" in report else "right"
            cells = (report["report"], report["kind"], report["right"], report["first"], now_told)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
