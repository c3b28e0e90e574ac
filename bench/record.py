"""Write what a benchmark measured: a table on the terminal and `build/bench/NAME.json`."""

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else ""
    return {
        "platform": platform.platform(),
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
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


def record(name: str, figures: dict[str, float], *, packages: Sequence[str], notes: Sequence[str] = ()) -> Path:
    """Print the figures and write them with machine and versions."""
    width = max(map(len, figures))
    for figure, value in figures.items():
        print(f"{figure:<{width}}  {value:>14.6g}")
    path = ROOT / "build" / "bench" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "name": name,
        "machine": machine(),
        "versions": versions(packages),
        "figures": figures,
        "notes": list(notes),
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for note in notes:
        print(f"note: {note}")
    print(path)
    return path
