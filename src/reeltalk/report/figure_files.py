"""The figures of a report as files of their own: SVG that needs no style sheet, PDF that scales, and PNG."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal
from xml.etree import ElementTree

from reeltalk.errors import MissingExtraError
from reeltalk.report.standalone import FONT, standalone
from reeltalk.report.table_files import code, escape_markdown

FigureFormat = Literal["svg", "pdf", "png"]
FIGURE_FORMATS: Final[tuple[FigureFormat, ...]] = ("svg", "pdf", "png")
FIGURE_NAMES: Final[dict[FigureFormat, str]] = {"svg": "SVG", "pdf": "PDF", "png": "PNG"}
SCALE: Final = 2.0
"""Pixels of a PNG for one unit of its figure."""

_NEEDED: Final = ("tinycss2", "cssselect2", "svglib", "resvg_py")
_WIDER: Final = ("DejaVuSans", "NotoSans-Regular", "LiberationSans-Regular", "Arial")
"""Looked for where fonts of systems lie, for words that the font above has no letters for."""


@dataclass(frozen=True)
class FigureFile:
    """A figure that is written beside its page."""

    file: str
    """Name without ending."""
    title: str
    svg: str
    signatures: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ("style.css",)
    """Style sheets of the package that its classes stand in."""


def check_figures(formats: Sequence[FigureFormat]) -> None:
    """Check that figures can be written as files.

    Raises:
        MissingExtraError: The packages for it are not installed.
    """
    if formats and any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtraError("writing figures as files", extra="figures")


def write_figure(svg: str, path: Path, *, title: str = "", sheets: Sequence[str] = ("style.css",)) -> None:
    """Write a figure as a file; equal figures give equal bytes.

    Args:
        svg: The drawing as it stands on a page, its looks told by classes.
        path: Where; its ending, `.svg`, `.pdf` or `.png`, says as what. A PNG has two pixels for a unit of the figure.
        title: What it shows; the drawing's own label by default.
        sheets: Style sheets of the package in which its classes stand.

    Raises:
        MissingExtraError: The packages for it are not installed.
        ValueError: The ending is none of these, or the drawing has no `viewBox`.
    """
    check_figures(("svg",))
    format = path.suffix.removeprefix(".")
    if format not in FIGURE_FORMATS:
        raise ValueError(f"{path.name} ends with none of .svg, .pdf and .png")
    root = standalone(svg, title=title, sheets=sheets)
    if format == "svg":
        path.write_bytes(_serialized(root) + b"\n")
    elif format == "png":
        path.write_bytes(_png(root))
    else:
        path.write_bytes(_pdf(root))


def write_figures(
    folder: Path, figures: Sequence[FigureFile], formats: Sequence[FigureFormat], *, key: Sequence[str] = ()
) -> None:
    """Write figures, and `index.md`, which lists them with what they were drawn from.

    Args:
        folder: Is made.
        figures: Which.
        formats: As which files each.
        key: What the letters in the figures mean, for their captions, as `A: first model`.

    Raises:
        MissingExtraError: The packages for it are not installed.
    """
    check_figures(formats)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Figures", ""]
    if key:
        lines += ["For captions: " + "; ".join(map(escape_markdown, key)) + ".", ""]
    for figure in figures:
        links = []
        for format in formats:
            path = folder / f"{figure.file}.{format}"
            write_figure(figure.svg, path, title=figure.title, sheets=figure.sheets)
            links.append(f"[{FIGURE_NAMES[format]}]({path.name})")
        lines += [f"## {escape_markdown(figure.title)}", "", " · ".join(links), ""]
        if "pdf" in formats and (lacking := unprintable(figure.svg)):
            lines += [f"The PDF lacks {len(lacking)} characters, for which no font was found: {code(lacking)}", ""]
        lines += [
            *(f"- {code(' '.join(signature.split()))}" for signature in figure.signatures),
            *([""] if figure.signatures else []),
        ]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def _serialized(root: ElementTree.Element) -> bytes:
    return bytes(ElementTree.tostring(root, encoding="utf-8"))


def _fonts() -> Path:
    import reportlab

    return Path(reportlab.__file__).parent / "fonts"


def _texts(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if element.tag in ("text", "tspan"))


def _png(root: ElementTree.Element) -> bytes:
    import resvg_py

    fonts, lacks = _fonts(), False
    for element in _texts(root):
        if _lacking("".join(element.itertext()), "Vera"):
            lacks = True
            # Left to itself the renderer takes the first font that has a letter, whatever its weight.
            if (wider := _wider_font()) is not None:
                element.set("font-family", f"{_font(wider).face.familyName.decode()}, sans-serif")
    png: bytes = resvg_py.svg_to_bytes(
        svg_string=_serialized(root).decode(),
        background="#ffffff",
        zoom=SCALE,
        # Reading all fonts of a system takes longer than drawing; only what the one that is here lacks needs them.
        skip_system_fonts=not lacks,
        font_files=[str(fonts / name) for name in ("Vera.ttf", "VeraBd.ttf", "VeraIt.ttf", "VeraBI.ttf")],
        font_family=FONT,
        sans_serif_family=FONT,
    )
    return png


def unprintable(svg: str) -> str:
    """Characters of a drawing for which there is no font that a PDF could hold, each once."""
    words = "".join("".join(element.itertext()) for element in _texts(_without_titles(ElementTree.fromstring(svg))))
    lacking = _lacking(words, "Vera")
    wider = _wider_font()
    return _lacking(lacking, wider) if wider else lacking


def _lacking(words: str, font: str) -> str:
    """Those characters for which a font has no shape, each once."""
    characters = dict.fromkeys(words)
    shapes = _font(font).face.charToGlyph
    return "".join(character for character in characters if not character.isspace() and ord(character) not in shapes)


@cache
def _font(name: str) -> Any:
    """A font that PDFs may hold, registered under its name."""
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont
    from svglib.svglib import register_font

    font = TTFont(name, f"{name}.ttf")
    registerFont(font)
    register_font(name, rlgFontName=name)
    return font


@cache
def _wider_font() -> str | None:
    """A font of the system that has more alphabets than the one that is always here; None where there is none."""
    from reportlab.pdfbase.ttfonts import TTFError

    for name in _WIDER:
        try:
            return str(_font(name).fontName)
        except TTFError:
            continue
    return None


def _without_titles(root: ElementTree.Element) -> ElementTree.Element:
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("title", "desc")]:
            parent.remove(child)
    return root


def _fade(element: ElementTree.Element, opacity: float = 1.0) -> None:
    """Say the opacity of groups and shapes as that of their fills and strokes, the only one that is drawn in a PDF."""
    opacity *= float(element.attrib.pop("opacity", "1"))
    if not len(element) and opacity < 1:
        for name in ("fill-opacity", "stroke-opacity"):
            element.set(name, f"{opacity * float(element.get(name, '1')):g}")
    for child in element:
        _fade(child, opacity)


def _name_fonts(element: ElementTree.Element, *, bold: bool, italic: bool) -> None:
    """Name a font for each text by its own name, since weights are numbers in one place and words in the other."""
    weight, style = element.attrib.pop("font-weight", None), element.attrib.pop("font-style", None)
    bold = weight in ("bold", "bolder", "600", "700", "800", "900") if weight else bold
    italic = style in ("italic", "oblique") if style else italic
    element.attrib.pop("font-family", None)
    if element.tag in ("text", "tspan"):
        words = "".join(element.itertext())
        wider = _wider_font() if _lacking(words, "Vera") else None
        name = wider or {(0, 0): "Vera", (1, 0): "VeraBd", (0, 1): "VeraIt", (1, 1): "VeraBI"}[bold, italic]
        _font(name)
        element.set("font-family", name)
        # A halo lies below its letters only where a renderer knows the order of painting; this one does not.
        if "stroke" in element.get("paint-order", ""):
            for attribute in ("stroke", "stroke-width", "stroke-linejoin", "paint-order"):
                element.attrib.pop(attribute, None)
    for child in element:
        _name_fonts(child, bold=bold, italic=italic)


def _pdf(root: ElementTree.Element) -> bytes:
    from reportlab.graphics import renderPDF
    from reportlab.pdfgen.canvas import Canvas
    from svglib.svglib import svg2rlg

    heading = root.find("title")
    _without_titles(root)
    _fade(root)
    _name_fonts(root, bold=False, italic=False)
    drawing: Any = svg2rlg(io.BytesIO(_serialized(root)))
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(drawing.width, drawing.height), invariant=1, pageCompression=1)
    if heading is not None and heading.text:
        canvas.setTitle(heading.text)
    canvas.setCreator("reeltalk")
    renderPDF.draw(drawing, canvas, 0, 0)
    canvas.save()
    return stream.getvalue()
