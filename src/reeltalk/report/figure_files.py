"""The figures of a report as files of their own: SVG that needs no style sheet, PDF that scales, and PNG.

Pages colour their figures by classes, so that light and dark work. A file has no page around it: every class is resolved
against the style sheets here, in their light colours, by the same cascade that a browser follows.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal
from xml.etree import ElementTree

from reeltalk.errors import MissingExtraError
from reeltalk.report.table_files import code, escape_markdown

FigureFormat = Literal["svg", "pdf", "png"]
FIGURE_FORMATS: Final[tuple[FigureFormat, ...]] = ("svg", "pdf", "png")
FIGURE_NAMES: Final[dict[FigureFormat, str]] = {"svg": "SVG", "pdf": "PDF", "png": "PNG"}
SCALE: Final = 2.0
"""Pixels of a PNG for one unit of its figure."""

_NEEDED: Final = ("tinycss2", "cssselect2", "svglib", "resvg_py")
_SVG: Final = "http://www.w3.org/2000/svg"
_KEPT: Final = (
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
    "stroke-opacity", "font-size", "font-weight", "font-style", "text-anchor", "paint-order", "dominant-baseline",
)  # fmt: skip
"""Properties that become attributes."""
_INHERITED: Final = frozenset(_KEPT) - {"opacity", "dominant-baseline"} | {"font-family"}
_FONT: Final = "Bitstream Vera Sans"
"""Comes with reportlab, so that figures look alike on every machine."""
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
        lines += [*(f"- {code(signature)}" for signature in figure.signatures), *([""] if figure.signatures else [])]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def standalone(svg: str, *, title: str = "", sheets: Sequence[str] = ("style.css",)) -> ElementTree.Element:
    """A drawing that needs no style sheet: what its classes say stands as attributes, in light colours.

    Args:
        svg: The drawing as it stands on a page.
        title: What it shows; the drawing's own label by default.
        sheets: Style sheets of the package in which its classes stand.

    Raises:
        ValueError: The drawing has no `viewBox`.
    """
    import cssselect2

    root = ElementTree.fromstring(svg)
    box = (root.get("viewBox") or "").split()
    if len(box) != 4:
        raise ValueError(f"a figure needs a viewBox of four numbers, not {root.get('viewBox')!r}")
    matcher = _matcher(tuple(sheets))
    _resolve(cssselect2.ElementWrapper.from_xml_root(root), matcher, {})
    label = title or root.get("aria-label") or ""
    for element in root.iter():
        for name in [name for name in element.attrib if name in _DROPPED or name.startswith(("aria-", "data-"))]:
            del element.attrib[name]
        if element.tag == "a":
            element.tag = "g"
            element.attrib.pop("href", None)
    attributes = dict(root.attrib)
    root.attrib.clear()
    root.attrib.update(xmlns=_SVG, viewBox=" ".join(box), width=box[2], height=box[3])
    root.attrib.update({name: value for name, value in attributes.items() if name not in root.attrib})
    root.set("font-family", f"{_FONT}, DejaVu Sans, Verdana, sans-serif")
    if label:
        heading = ElementTree.Element("title")
        heading.text = label
        root.insert(0, heading)
    return root


_DROPPED: Final = ("class", "role", "tabindex", "id", "style")

_Styles = dict[str, str]


def _resolve(element: Any, matcher: Any, inherited: _Styles) -> None:
    """Give an element and those in it their computed looks as attributes."""
    own: _Styles = {name: value for name in _KEPT if (value := element.etree_element.get(name)) is not None}
    variables = {name: value for name, value in inherited.items() if name.startswith("--")}
    declared = [pair for *_, pairs in matcher.match(element) for pair in pairs]
    variables |= {name: value for name, value in declared if name.startswith("--")}
    for name, value in declared:
        if not name.startswith("--"):
            own |= _longhand(name, _substituted(value, variables))
    size = own.get("font-size", "")
    if size.endswith("em") and not size.endswith("rem"):
        own["font-size"] = f"{float(size[:-2]) * float(inherited.get('font-size', '16')):g}"
    computed = {name: value for name, value in inherited.items() if name in _INHERITED or name == "color"} | own
    for name in [name for name in _KEPT if name in element.etree_element.attrib]:
        del element.etree_element.attrib[name]
    for name, value in own.items():
        # What a group around it says already is not said again.
        if name in _KEPT and not (name in _INHERITED and inherited.get(name) == value):
            element.etree_element.attrib.update(_attributes(name, value, computed))
    below = {name: value for name, value in computed.items() if name in _INHERITED or name == "color"} | variables
    for child in list(element.iter_children()):
        _resolve(child, matcher, below)
    for child in list(element.etree_element):
        if child.get("display") == "none":
            element.etree_element.remove(child)
    if own.get("display") == "none":
        element.etree_element.set("display", "none")


def _substituted(value: str, variables: _Styles) -> str:
    for _ in range(8):
        changed = re.sub(
            r"var\(\s*(--[\w-]+)\s*(?:,\s*([^()]*))?\)",
            lambda found: variables.get(found[1], found[2] or "").strip(),
            value,
        )
        if changed == value:
            break
        value = changed
    return value


def _longhand(name: str, value: str) -> _Styles:
    if name == "font":
        found = re.match(r"(?:(italic|oblique)\s+)?(?:(bold|normal|\d{3})\s+)?([\d.]+(?:px|rem|em))(?:/\S+)?\s", value)
        if found is None:
            return {}
        return {
            "font-style": found[1] or "normal",
            "font-weight": found[2] or "normal",
            "font-size": _pixels(found[3]),
        }
    if name in ("font-size", "stroke-width"):
        return {name: _pixels(value)}
    return {name: value}


def _pixels(length: str) -> str:
    if length.endswith("rem"):
        return f"{float(length[:-3]) * 16:g}"
    return length.removesuffix("px")


def _attributes(name: str, value: str, computed: _Styles) -> _Styles:
    """Attributes that say a property; a translucent colour is a colour and an opacity."""
    if name not in ("fill", "stroke"):
        return {name: value}
    if value.lower() == "currentcolor":
        value = computed.get("color", "#000")
    if value == "transparent":
        return {name: "none"}
    found = re.match(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+))?\s*\)", value)
    if found is None:
        return {name: value}
    colour = "#" + "".join(f"{int(part):02x}" for part in found.groups()[:3])
    return {name: colour} | ({f"{name}-opacity": f"{float(found[4]):g}"} if found[4] else {})


@cache
def _matcher(sheets: tuple[str, ...]) -> Any:
    """The rules of style sheets for screens that are wide and light."""
    import cssselect2
    import tinycss2

    matcher = cssselect2.Matcher()
    for sheet in sheets:
        text = (files("reeltalk.report") / "static" / sheet).read_text(encoding="utf-8")
        for rule in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
            # At-rules are left out: they are about dark or small screens, and paper.
            if rule.type != "qualified-rule":
                continue
            pairs = [
                (found.name, tinycss2.serialize(found.value).strip())
                for found in tinycss2.parse_blocks_contents(rule.content)
                if found.type == "declaration"
            ]
            try:
                selectors = cssselect2.compile_selector_list(rule.prelude)
            except cssselect2.SelectorError:
                # What a browser's state decides, which a file has not.
                continue
            for selector in selectors:
                if selector.pseudo_element is None:
                    matcher.add_selector(selector, pairs)
    return matcher


def _serialized(root: ElementTree.Element) -> bytes:
    return ElementTree.tostring(root, encoding="utf-8")


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
        font_family=_FONT,
        sans_serif_family=_FONT,
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
    drawing = svg2rlg(io.BytesIO(_serialized(root)))
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(drawing.width, drawing.height), invariant=1, pageCompression=1)
    if heading is not None and heading.text:
        canvas.setTitle(heading.text)
    canvas.setCreator("reeltalk")
    renderPDF.draw(drawing, canvas, 0, 0)
    canvas.save()
    return stream.getvalue()
