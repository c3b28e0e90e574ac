"""Writes the pictures of the concept pages as SVG files.

python tools/write_pictures.py
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
BLUE: Final = "#3f83c4"
ORANGE: Final = "#b5601a"
GREEN: Final = "#3c8a5b"
WIDTH_PX: Final = 760


class Drawing:
    """Shapes that are added one after the other, in pixels from the upper left corner."""

    def __init__(self, height_px: int, label: str) -> None:
        self.height_px, self.label, self.shapes = height_px, label, list[str]()

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, more: str = "") -> None:
        """Words on a line."""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, style: str, *, radius: int = 4) -> None:
        """A rectangle."""
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" {style}/>')

    def path(self, points: str, style: str) -> None:
        """A line."""
        self.shapes.append(f'<path d="{points}" fill="none" {style}/>')

    def arrow(self, points: str) -> None:
        """A line with a head at its end, which goes right or down."""
        self.path(points, 'stroke="currentColor" stroke-opacity=".65" stroke-width="1.5" marker-end="url(#head)"')

    def __str__(self) -> str:
        width_px, height_px = WIDTH_PX + 32, self.height_px + 20
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 -10 {width_px} {height_px}" role="img" '
            f'aria-label="{escape(self.label)}" font-family="system-ui, sans-serif" fill="#1f2328" color="#1f2328">\n'
            f'<rect x="-16" y="-10" width="{width_px}" height="{height_px}" rx="6" fill="#fff"/>\n'
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill-opacity=".65"/></marker></defs>\n'
            + "\n".join(self.shapes)
            + "\n</svg>\n"
        )


def data_flow() -> str:
    """The stages from videos to a report, and their files."""
    drawing = Drawing(330, "Videos are curated, constructed, reviewed and frozen; models are evaluated and judged")

    def thing(x: float, y: float, name: str, below: str, width: float = 112) -> None:
        drawing.box(x, y, width, 46, 'fill="none" stroke="currentColor" stroke-opacity=".5"')
        drawing.text(x + width / 2, y + 20, name, anchor="middle", more=' font-weight="600"')
        drawing.text(x + width / 2, y + 37, below, anchor="middle", size=11, more=' fill-opacity=".75"')

    def stage(x: float, y: float, name: str) -> None:
        drawing.box(x, y, 84, 26, f'fill="{BLUE}"', radius=13)
        drawing.text(x + 42, y + 17.5, name, anchor="middle", more=' fill="#fff"')

    drawing.text(0, 16, "A benchmark: a folder of tables that grows", size=14, more=' font-weight="600"')
    rows = ((0, "videos", "files, licences"), (216, "clips", "shots, key frames"), (432, "drafts", "chains, paths"))
    for x, name, below in rows:
        thing(x, 34, name, below)
    for x, name in ((122, "curate"), (338, "construct"), (554, "review")):
        stage(x, 44, name)
        drawing.arrow(f"M{x - 9} 57H{x - 1}")
        drawing.arrow(f"M{x + 84} 57H{x + 93}")
    thing(648, 34, "revision", "reviewed by people")
    drawing.arrow("M704 80V128")
    drawing.text(694, 109, "freeze", anchor="end")
    thing(648, 130, "release", "does not change")
    drawing.arrow("M60 140V82")
    drawing.text(0, 160, "world film: a household whose", size=12, more=' fill-opacity=".8"')
    drawing.text(0, 175, "every fact is known", size=12, more=' fill-opacity=".8"')

    drawing.text(0, 224, "A run: a separate folder", size=14, more=' font-weight="600"')
    thing(0, 262, "site", "pages to read")
    thing(216, 262, "scores", "and unscored turns")
    thing(432, 262, "answers", "frames seen, times")
    for x, name in ((122, "report"), (338, "judge"), (554, "evaluate")):
        stage(x, 272, name)
    drawing.arrow("M704 176V285H640")
    for x in (554, 432, 338, 216, 122):
        drawing.arrow(f"M{x - 1} 285H{x - 9}")
    drawing.box(432, 190, 112, 34, f'fill="none" stroke="{GREEN}" stroke-width="1.5"')
    drawing.text(488, 212, "a model, a judge", anchor="middle")
    drawing.arrow("M516 224L576 270")
    drawing.arrow("M460 224L396 270")
    return str(drawing)


def what_is_seen() -> str:
    """The visible frames of a turn in each mode."""
    drawing = Drawing(352, "In dialogue mode a turn sees up to the end of its clip, in streaming mode up to its moment")
    left, second_px = 92.0, 10.8
    clips = ((0, 20), (20, 42), (42, 60))

    def at(second: float) -> float:
        return left + second * second_px

    def film(y: float, until: float) -> None:
        for second in range(0, 60, 2):
            seen = second <= until
            style = f'fill="{BLUE}"' if seen else 'fill="none" stroke="currentColor" stroke-opacity=".35"'
            drawing.box(at(second), y, 14, 24, style, radius=2)

    def moment(y: float, second: float, words: str) -> None:
        drawing.path(f"M{at(second):g} {y - 8}V{y + 34}", f'stroke="{ORANGE}" stroke-width="2.5"')
        anchor, shift = ("start", 5) if second < 40 else ("end", -5)
        drawing.text(at(second) + shift, y - 13, words, anchor=anchor, more=f' fill="{ORANGE}" font-weight="600"')

    def told(y: float, words: str) -> None:
        drawing.text(left, y + 46, words, size=12, more=' fill-opacity=".8"')

    for number, (start, end) in enumerate(clips, start=1):
        drawing.path(f"M{at(start) + 1:g} 30v6H{at(end) - 3:g}v-6", 'stroke="currentColor" stroke-opacity=".6"')
        drawing.text((at(start) + at(end)) / 2, 22, f"clip {number}", anchor="middle", size=12)
    drawing.text(0, 22, "the video", size=12)
    drawing.text(0, 92, "dialogue", size=14, more=' font-weight="600"')
    film(76, 41)
    moment(76, 41.65, "all turns of clip 2")
    told(76, "history: the turns of clip 1, and of clip 2 so far")
    drawing.text(0, 192, "streaming", size=14, more=' font-weight="600"')
    film(176, 26)
    moment(176, 27.65, "a turn of a path")
    told(176, "history: the turns of the path so far; new frames come between turns")
    drawing.text(0, 292, "single", size=14, more=' font-weight="600"')
    film(276, 41)
    moment(276, 41.65, "each turn of clip 2")
    told(276, "history: none")
    drawing.box(at(0), 334, 14, 14, f'fill="{BLUE}"', radius=2)
    drawing.text(at(0) + 20, 346, "visible", size=12)
    drawing.box(at(12), 334, 14, 14, 'fill="none" stroke="currentColor" stroke-opacity=".5"', radius=2)
    drawing.text(at(12) + 20, 346, "in the future: never shown", size=12)
    return str(drawing)


PICTURES: Final[dict[str, Callable[[], str]]] = {"data-flow": data_flow, "what-is-seen": what_is_seen}


def main() -> int:
    """Write all."""
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
