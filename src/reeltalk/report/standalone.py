"""A page's drawing made to stand alone: what its classes say becomes attributes, so that it needs no style sheet.

Pages colour their figures by classes, so that light and dark work. A file has no page around it: classes are resolved
here against the style sheets, in their light colours, by the cascade that a browser follows.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final
from xml.etree import ElementTree

_SVG: Final = "http://www.w3.org/2000/svg"
FONT: Final = "Bitstream Vera Sans"
"""Comes with reportlab, so that figures look alike on every machine."""
_KEPT: Final = (
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "opacity", "stroke-opacity", "font-size", "font-weight", "font-style", "text-anchor", "paint-order",
    "dominant-baseline",
)  # fmt: skip
"""Properties that become attributes."""
_INHERITED: Final = frozenset(_KEPT) - {"opacity", "dominant-baseline"} | {"font-family"}
_DROPPED: Final = ("class", "role", "tabindex")

_Styles = dict[str, str]


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
    root.set("font-family", f"{FONT}, DejaVu Sans, Verdana, sans-serif")
    if label:
        heading = ElementTree.Element("title")
        heading.text = label
        root.insert(0, heading)
    return root


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
