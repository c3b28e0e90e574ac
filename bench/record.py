"""The measures of a suite: each with its unit, its ratio to a stated baseline, and its goal.

A suite is a file of this folder that calls `record`. It understands `--quick` and writes `build/bench/NAME.json`, or
`build/bench/quick/NAME.json`; `bench/suites.py` runs all of them and collects their measures on one page.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from reeltalk import __version__

ROOT = Path(__file__).parents[1]
LACKING = 3
"""Exit code of a suite that cannot run on this machine."""


@dataclass(frozen=True)
class Goal:
    """The goal of a measure."""

    sense: Literal["at most", "at least"]
    value: float
    source: str = ""
    """Source of the goal, if it is not the list of goals that was written before any measurement."""

    def met_by(self, value: float) -> bool:
        """True if a value reaches the goal."""
        return value <= self.value if self.sense == "at most" else value >= self.value


def at_most(value: float, source: str = "") -> Goal:
    """A goal that smaller values meet."""
    return Goal("at most", value, source)


def at_least(value: float, source: str = "") -> Goal:
    """A goal that larger values meet."""
    return Goal("at least", value, source)


@dataclass(frozen=True)
class Measure:
    """One figure of a suite."""

    what: str
    """The measured quantity, in words."""
    value: float
    unit: str
    """The unit, such as `s`, `CPU ms a call`, `MiB`; `ratio`, `share` and `count` for numbers without a unit."""
    baseline: str = ""
    """The baseline of the ratio, in words; empty if there is none."""
    ratio: float | None = None
    """How many times better than the baseline, or as many times as much, as `baseline` says."""
    goal: Goal | None = None

    def __post_init__(self) -> None:
        if not self.what or not self.unit:
            raise ValueError(f"a measure needs words and a unit: {self}")
        if not math.isfinite(self.value) or (self.ratio is not None and not math.isfinite(self.ratio)):
            raise ValueError(f"'{self.what}' is not finite: {self.value}, ratio {self.ratio}")
        if self.ratio is not None and not self.baseline:
            raise ValueError(f"'{self.what}' has a ratio of {self.ratio:g} but says not to what")


@dataclass(frozen=True)
class Table:
    """A table for the page, for results that need more than a few figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def machine() -> dict[str, object]:
    """The machine of the figures."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else ""
    return {
        "platform": " ".join((platform.system(), platform.machine(), *platform.libc_ver())),
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Installed versions; packages that are not installed are left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


MEASURED: Final = "REELTALK_MEASURED_CODE"
"""Variable with the hash of the code when a suite began, which holds even if files change meanwhile."""


def code() -> str:
    """A hash of everything that can change a figure: the package, the measurements and the locked versions."""
    digest = hashlib.sha256()
    files = [path for folder in ("packages", "bench") for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted([*files, ROOT / "requirements.lock"]):
        if path.suffix != ".pyc":
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def commit() -> str:
    """The checked-out commit, with a `+` if files differ from it; empty without git."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return told.stdout.strip()


def options_of(document: str | None) -> argparse.ArgumentParser:
    """A parser for a suite, which knows `--quick`."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a minute or two: to see the order of size")
    return parser


def place_of(name: str, *, quick: bool) -> Path:
    """The file of a suite's figures."""
    folder = ROOT / "build" / "bench"
    return (folder / "quick" if quick else folder) / f"{name}.json"


def record(
    name: str,
    measures: Sequence[Measure],
    *,
    packages: Sequence[str],
    figures: Mapping[str, float] | None = None,
    notes: Sequence[str] = (),
    quick: bool = False,
    tables: Sequence[Table] = (),
) -> Path:
    """Prints the measures and writes them with machine and versions.

    Args:
        name: The suite: the stem of its file.
        measures: Its measures.
        packages: Packages whose versions matter.
        figures: All measured values by name, for charts and closer analysis.
        notes: Sentences that belong to the figures.
        quick: True if the small counts were used.
        tables: Tables for the page.
    """
    if figures:
        width = max(map(len, figures))
        for figure, value in figures.items():
            print(f"{figure:<{width}}  {value:>14.6g}")
        print()
    for measure in measures:
        print(_line(measure))
    for note in notes:
        print(f"note: {note}")
    document = {
        "measures": [asdict(measure) for measure in measures],
        "figures": dict(figures or {}),
        "notes": list(notes),
    }
    if tables:
        document["tables"] = [asdict(table) for table in tables]
    return _write(name, document, packages, quick=quick)


def lacking(name: str, needs: str, *, quick: bool = False) -> NoReturn:
    """Reports a missing requirement of a suite, and ends."""
    print(f"not run: needs {needs}")
    _write(name, {"needs": needs}, (), quick=quick)
    sys.exit(LACKING)


def read_measures(document: Mapping[str, Any]) -> list[Measure]:
    """The measures of a written record."""
    return [
        Measure(**{**stated, "goal": None if stated["goal"] is None else Goal(**stated["goal"])})
        for stated in document.get("measures", ())
    ]


def _line(measure: Measure) -> str:
    said = f"{measure.what}: {measure.value:.6g} {measure.unit}"
    if measure.ratio is not None:
        said += f", {measure.ratio:.4g} × ({measure.baseline})"
    if measure.goal is not None:
        met = "met" if measure.goal.met_by(measure.value) else "MISSED"
        said += f"; goal {measure.goal.sense} {measure.goal.value:g}: {met}"
    return said


def _write(name: str, document: Mapping[str, Any], packages: Sequence[str], *, quick: bool) -> Path:
    path = place_of(name, quick=quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "name": name,
        "quick": quick,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "load": round(os.getloadavg()[1], 1),
        "code": os.environ.get(MEASURED) or code(),
        "commit": commit(),
        "machine": machine(),
        "versions": {"reeltalk": __version__} | versions(packages),
    }
    path.write_text(json.dumps(about | dict(document), indent=2) + "\n", encoding="utf-8")
    print(path)
    return path
