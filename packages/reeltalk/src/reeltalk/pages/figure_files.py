"""The figures of a report as files: SVG without a style sheet, PDF, and PNG."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal
from xml.etree import ElementTree

from reeltalk.pages.charts import on_paper
from reeltalk.schema.texts import escape_html
from reeltalk.store.text_tables import escape_markdown, markdown_code

FigureFormat = Literal["svg", "pdf", "png"]
FIGURE_FORMATS: Final[tuple[FigureFormat, ...]] = ("svg", "pdf", "png")
PAPER_FIGURES: Final[tuple[FigureFormat, ...]] = ("svg", "pdf")
"""Formats unless others are asked for."""
FIGURE_NAMES: Final[dict[FigureFormat, str]] = {"svg": "SVG", "pdf": "PDF", "png": "PNG"}
SCALE: Final = 2.0
"""Pixels of a PNG per unit of its figure."""


@dataclass(frozen=True)
class FigureFile:
    """A figure that is also written as a file."""

    file: str
    """Name without extension."""
    title: str
    svg: str
    signatures: tuple[str, ...] = ()


def figure_bytes(svg: str, format: FigureFormat, title: str = "") -> bytes:
    """A figure as a file; equal figures give equal bytes.

    Args:
        svg: The drawing from a page.
        format: A PNG has two pixels per unit.
        title: Its title; by default the drawing's own label.

    Raises:
        ValueError: The drawing has no `viewBox`.
    """
    found = standalone(svg, title)
    if format == "svg":
        return f"{found}\n".encode()
    import vl_convert

    if format == "pdf":
        return _in_order(vl_convert.svg_to_pdf(found), html.unescape(_title(found)))
    white = '</title><rect width="100%" height="100%" fill="#fff"/>'
    drawn: bytes = vl_convert.svg_to_png(found.replace("</title>", white, 1), scale=SCALE)
    return drawn


def write_figures(
    folder: Path, figures: Sequence[FigureFile], formats: Sequence[FigureFormat], *, key: Sequence[str] = ()
) -> None:
    """Write figures, and `index.md`, which lists them with their signatures.

    Args:
        folder: The folder; it is created.
        formats: The formats of each figure.
        key: The meaning of the letters in the figures, for captions, such as `A: first model`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Figures", ""]
    if key:
        lines += ["For captions: " + "; ".join(map(escape_markdown, key)) + ".", ""]
    for figure in figures:
        links = []
        for format in formats:
            path = folder / f"{figure.file}.{format}"
            path.write_bytes(figure_bytes(figure.svg, format, figure.title))
            links.append(f"[{FIGURE_NAMES[format]}]({path.name})")
        lines += [f"## {escape_markdown(figure.title)}", "", " · ".join(links), ""]
        if "pdf" in formats and (lacking := unprintable(figure.svg)):
            lines += [
                f"The PDF lacks {len(lacking)} characters, because no font has them: {markdown_code(lacking)}",
                "",
            ]
        lines += [
            *(f"- {markdown_code(' '.join(signature.split()))}" for signature in figure.signatures),
            *([""] if figure.signatures else []),
        ]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def unprintable(svg: str) -> str:
    """Characters of a drawing that no available font has, each once; a PDF lacks them."""
    root = ElementTree.fromstring(svg)
    # Tooltips are not drawn.
    words = "".join((element.text or "") for element in root.iter() if element.tag in ("text", "tspan"))
    return "".join(letter for letter in dict.fromkeys(words) if ord(letter) > 0x24F and not _is_drawn(letter))


@cache
def _is_drawn(letter: str) -> bool:
    """True if some font has a glyph for a character: its picture differs from that of a reserved character."""
    return letter.isspace() or _shape(letter) != _shape("\U0010fffd")


@cache
def _shape(letter: str) -> bytes:
    import vl_convert

    drawn: bytes = vl_convert.svg_to_png(
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        '<text x="8" y="28" font-size="20" font-family="Liberation Sans, sans-serif">'
        f"{html.escape(letter)}</text></svg>"
    )
    return drawn


def _title(file: str) -> str:
    return file[file.index("<title>") + len("<title>") : file.index("</title>")]


def standalone(svg: str, title: str = "") -> str:
    """A drawing as a complete SVG file: with a namespace, a size, its title, and colours for paper.

    Args:
        svg: The drawing from a page.
        title: Its title; by default the drawing's own label.

    Raises:
        ValueError: The drawing has no `viewBox`.
    """
    opened, _, inner = svg.partition(">")
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', opened))
    box = attributes.pop("viewBox", "").split()
    if len(box) != 4:
        raise ValueError(f"a figure needs a viewBox of four numbers, not {opened!r}")
    label = escape_html(title) if title else attributes.get("aria-label", "")
    attributes.setdefault("font-family", "Liberation Sans, sans-serif")
    kept = "".join(
        f' {name}="{value}"'
        for name, value in attributes.items()
        if name not in ("class", "role", "aria-label", "xmlns", "width", "height")
    )
    size = f'width="{box[2]}" height="{box[3]}" viewBox="{" ".join(box)}"'
    return on_paper(f'<svg xmlns="http://www.w3.org/2000/svg" {size}{kept}><title>{label}</title>{inner}')


def _in_order(pdf: bytes, title: str) -> bytes:
    """A PDF with its title, and with its objects in the order of their references."""
    places = map(int, re.findall(rb"^(\d{10}) \d{5} n", pdf[pdf.rindex(b"xref\n0 ") :], re.MULTILINE))
    found = [pdf[at : pdf.index(b"endobj\n", at)] for at in sorted(places)]
    objects = {int(number): body for number, _, body in (one.partition(b" 0 obj\n") for one in found)}
    trailer = pdf[pdf.rindex(b"trailer\n") :]
    root, about = (int(re.search(name + rb" (\d+) 0 R", trailer)[1]) for name in (rb"/Root", rb"/Info"))  # type: ignore[index]
    objects[about] = objects[about].replace(
        b"<<", b"<<\n  /Title <feff%s>" % title.encode("utf-16-be").hex().encode(), 1
    )
    numbers: dict[int, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        wanted.append(int(found[1]))
        return b"%d 0 R" % numbers.setdefault(int(found[1]), len(numbers) + 1)

    wanted, written = [root, about], [b"%PDF-1.7\n%\x80\x80\x80\x80\n"]
    numbers |= {root: 1, about: 2}
    done: set[int] = set()
    table = []
    while wanted:
        old = wanted.pop(0)
        if old in done:
            continue
        done.add(old)
        head, *stream = re.split(rb"(?=\nstream\n)", objects[old], maxsplit=1)
        head = re.sub(
            rb"(?:\n +/[A-Za-z]+\d+ \d+ 0 R)+", lambda run: b"\n" + b"\n".join(sorted(run[0].split(b"\n")[1:])), head
        )
        head = re.sub(rb"\b(\d+) 0 R", number, head)
        table.append((numbers[old], sum(map(len, written))))
        written.append(b"%d 0 obj\n%sendobj\n" % (numbers[old], b"".join([head, *stream])))
    start = sum(map(len, written))
    rows = b"".join(b"%010d 00000 n\r\n" % at for _, at in sorted(table))
    written.append(b"xref\n0 %d\n0000000000 65535 f\r\n%s" % (len(table) + 1, rows))
    written.append(b"trailer\n<<\n  /Size %d\n  /Root 1 0 R\n  /Info 2 0 R\n>>\n" % (len(table) + 1))
    written.append(b"startxref\n%d\n%%%%EOF" % start)
    return b"".join(written)
