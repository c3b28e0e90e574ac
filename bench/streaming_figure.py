"""Draw what `bench/streaming.py` measured: `docs/images/streaming-*.svg`, SVBench's figures 8 and 9 for a stream.

    python bench/streaming_figure.py build/bench/streaming.json

Figures are named `MINUTES min, POLICY: QUANTITY` in that file, as `10 min, bounded: answer, ms`; others are passed
over.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.analysis.estimates import Estimate
from reeltalk.analysis.leaderboard import key_of
from reeltalk.errors import InputError
from reeltalk.pages.charts import COLOURS, Stop, TimedSeries, line_plot, swatch
from reeltalk.pages.figure_files import write_figure
from reeltalk.schema.texts import escape_html

ROOT: Final = Path(__file__).parents[1]
MARGIN: Final = 10.0
HEADING: Final = 26.0
LEGEND_LINE: Final = 20.0
FONT: Final = 'font-family="Liberation Sans, sans-serif" font-size="11"'
NAMED: Final = re.compile(r"(?P<minutes>[0-9.]+) min, (?P<policy>[^:]+): (?P<quantity>.+)")


@dataclass(frozen=True)
class Quantity:
    """One figure."""

    name: str
    """How `bench/streaming.py` calls it."""
    title: str
    file: str
    """What its file is called."""
    log: bool = False


QUANTITIES: Final = (
    Quantity("frame, ms", "Milliseconds for a frame", "streaming-frame.svg"),
    Quantity("answer, ms", "Milliseconds for an answer", "streaming-answer.svg", log=True),
    Quantity("memory, MB", "Memory that is kept of the video, MB", "streaming-memory.svg"),
)
POLICIES: Final = {
    "bounded": "bounded: sink, recent and merged frames",
    "all": "unbounded: everything is kept",
    "reading again": "reading all frames and turns again",
}


def read_figures(path: Path) -> dict[str, dict[str, dict[float, Estimate]]]:
    """What was measured, by quantity, policy and length of the video in seconds.

    Raises:
        InputError: The file is not there, or is none of this benchmark's.
    """
    try:
        found = {name: float(value) for name, value in json.loads(path.read_text(encoding="utf-8"))["figures"].items()}
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"no figures of bench/streaming.py, run that first ({error})", file=path) from error
    measured: dict[str, dict[str, dict[float, Estimate]]] = defaultdict(lambda: defaultdict(dict))
    for name, value in found.items():
        if parts := NAMED.fullmatch(name):
            measured[parts["quantity"]][parts["policy"]][60 * float(parts["minutes"])] = Estimate(value, None, None, 1)
    return measured


def draw(quantity: Quantity, measured: Mapping[str, Mapping[float, Estimate]]) -> str:
    """A figure with its title and the meaning of its letters, on a ground of its own that is light on every page.

    Args:
        quantity: What is drawn.
        measured: Values by policy and length of the video in seconds.
    """
    names = [name for name in (*POLICIES, *sorted(set(measured) - set(POLICIES))) if name in measured]
    lines = [TimedSeries(index, POLICIES.get(name, name), _stops(measured[name])) for index, name in enumerate(names)]
    plot = line_plot(lines, title=quantity.title, axis="length of the video", log=quantity.log)
    rest = plot.partition(" viewBox=")[2]
    _, _, width, height = (float(part) for part in rest.split('"')[1].split())
    top = MARGIN + HEADING + LEGEND_LINE * len(lines)
    whole = (width + 2 * MARGIN, top + height + MARGIN)
    scale = ", logarithmic" if quantity.log else ""
    parts = [
        f'<svg viewBox="0 0 {whole[0]:g} {whole[1]:g}" aria-label="{escape_html(quantity.title)}" {FONT}>',
        f'<rect width="{whole[0]:g}" height="{whole[1]:g}" rx="4" fill="#fff"/>',
        f'<text x="{MARGIN:g}" y="{MARGIN + 14:g}" fill="var(--soft)" font-weight="600">{quantity.title}{scale}</text>',
    ]
    for line in lines:
        y = MARGIN + HEADING + LEGEND_LINE * line.index
        looks = f'fill="var(--m{line.index % COLOURS})" font-weight="bold" font-family="Liberation Mono, monospace"'
        mark = swatch(line.index).replace("<svg ", f'<svg x="{MARGIN + 16:g}" y="{y:g}" width="30" height="10" ', 1)
        parts += [
            f'<text x="{MARGIN:g}" y="{y + 9:g}" {looks}>{key_of(line.index)}</text>', mark,
            f'<text x="{MARGIN + 54:g}" y="{y + 9:g}" fill="var(--soft)">{escape_html(line.name)}</text>',
        ]  # fmt: skip
    placed = f'<svg x="{MARGIN:g}" y="{top:g}" width="{width:g}" height="{height:g}" viewBox={rest}'
    return "".join([*parts, placed, "</svg>"])


def write_images(measurements: Path, folder: Path) -> list[Path]:
    """Write a figure of each quantity that was measured.

    Args:
        measurements: What `bench/streaming.py` wrote.
        folder: Where they go; is made.

    Raises:
        InputError: There is nothing to draw.
    """
    measured = read_figures(measurements)
    wanted = [quantity for quantity in QUANTITIES if measured.get(quantity.name)]
    if not wanted:
        raise InputError(
            f"none of {', '.join(quantity.name for quantity in QUANTITIES)} was measured", file=measurements
        )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for quantity in wanted:
        path = folder / quantity.file
        write_figure(draw(quantity, measured[quantity.name]), path, title=quantity.title)
        written.append(path)
    return written


def _stops(found: Mapping[float, Estimate]) -> list[Stop]:
    return [Stop(at, f"{at / 60:g} min", value) for at, value in sorted(found.items())]


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, nargs="?", default=ROOT / "build" / "bench" / "streaming.json")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    try:
        for path in write_images(given.measured, given.out):
            print(path)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
