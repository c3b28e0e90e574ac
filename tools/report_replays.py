"""Public reports that are replayed, as counts for a page and as a table, which follow from `tests/reports`."""

import csv
import tomllib
from pathlib import Path
from typing import Any, Final

REPORTS: Final = Path(__file__).parents[1] / "tests" / "reports"
COLUMNS: Final = ("report", "area", "kind", "right", "first", "now", "restated")


def read_reports() -> list[dict[str, Any]]:
    """What the folders state, by name."""
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(REPORTS.glob("*/report.toml"))]


def replayed(area: str) -> str:
    """How many reports were replayed, came out right at first, and do now, as three cells; `all` for all areas.

    Raises:
        KeyError: No report is of this area.
    """
    reports = [report for report in read_reports() if area in (report["area"], "all")]
    if not reports:
        raise KeyError(f"tests/reports has nothing of the area {area!r}; a page of the documentation shows it")
    first = sum(report["first"] == "right" for report in reports)
    return f"{len(reports)} | {first} | {sum('miss' not in report for report in reports)}"


def write_table(folder: Path) -> Path:
    """Write all reports as `public-reports.csv`."""
    path = folder / "public-reports.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        for report in read_reports():
            writer.writerow(report | {"now": f"wrong: {report['miss']}" if "miss" in report else "right"})
    return path
