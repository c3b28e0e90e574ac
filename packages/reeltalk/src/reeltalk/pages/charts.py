"""Charts of the pages, as Vega-Lite: each function takes values and returns SVG, or an empty text without values.

Vega-Lite lays out axes, legends and labels, and vl-convert draws without a browser or a network. Altair writes the same
specifications, but importing it takes as long as ten charts. So the specifications are plain dictionaries, and a test
checks them with Altair.

A model has a letter, a colour, a marker and a dash, so charts can be read without colour. Colours are variables of the
style sheet, such as `var(--m0)`, so that dark mode works. They follow Okabe & Ito (2008), darkened for contrast on
paper. For figure files, `on_paper` replaces the variables with the colours of the light page.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from reeltalk.analysis.columns import split_model_name
from reeltalk.analysis.estimates import FEW_TURNS, Estimate, on_display_scale
from reeltalk.analysis.leaderboard import model_letter
from reeltalk.analysis.values import format_value
from reeltalk.schema.runs import CurvePoint, GroupRow, SummaryRow
from reeltalk.schema.texts import escape_html, printable

COLOURS: Final = 8
DASHES: Final = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (5, 2), (1, 2), (12, 4))
"""Seven, not eight: colour and dash together repeat after 56 models."""
SHAPES: Final = (
    "circle",
    "M-.9-.9H.9V.9H-.9Z",
    "M0-1.15L1.1.85H-1.1Z",
    "M0-1.25L1.25 0 0 1.25-1.25 0Z",
    "M0 1.15L1.1-.85H-1.1Z",
    "M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
)
MOST_BANDS: Final = 8
"""With more lines, bands would hide each other and are not drawn."""
MOST_POLYGONS: Final = 6
"""More polygons are not readable in one radar."""
RINGS: Final = (8, 12, 20, 40, 60, 80, 100)
"""Values that the outermost ring of a radar may have, each with three round rings inside."""
MOST_LEVELS: Final = 11
"""More different values than this are put into bins."""
ZOOM: Final = 1.25
"""Pixels on a page per pixel of a chart, if there is room."""

_PAPER: Final = "var(--paper)"
_INK: Final = "var(--ink)"
_SOFT: Final = "var(--soft)"
_LINE: Final = "var(--line)"
_BOUND: Final = "var(--m1)"
_BAR: Final = "var(--m0)"
_HALO: Final = {"stroke": _PAPER, "strokeWidth": 3}
_CONFIG: Final = {
    "font": "Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "aria": False, "domain": False, "ticks": False, "labelColor": _SOFT, "gridColor": _LINE, "labelFontSize": 11,
        "labelPadding": 5, "labelSeparation": 8, "tickCount": 5, "titleColor": _SOFT,
        "titleFontWeight": "normal", "titleFontSize": 11,
    },
    "legend": {
        "aria": False, "orient": "bottom", "columns": 2, "title": None, "labelColor": _INK, "labelFontSize": 11,
        "labelLimit": 170, "symbolStrokeWidth": 0, "symbolSize": 64, "symbolOpacity": 1, "rowPadding": 3,
        "columnPadding": 24, "offset": 12,
    },
    "text": {"fontSize": 11, "color": _SOFT, "baseline": "middle"},
    "rule": {"color": _SOFT},
    "point": {"opacity": 1},
}  # fmt: skip
"""Fonts that vl-convert includes, so that widths of letters are the same on every machine."""

Spec = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """A value of a model in a chart."""

    index: int
    """The model's place in the leaderboard, which determines its letter and style."""
    name: str
    value: Estimate | None
    """None if there is none; a row then says so."""
    row: str = ""
    """The line of the chart, such as a group or a tag; empty for a line of the model's own."""
    at: float = 0.0
    """Position on the horizontal axis."""
    tooltip: str = ""
    """Its tooltip, after the model's name; by default row and value."""
    hollow: bool = False
    """True if it is drawn as an outline."""

    @property
    def label(self) -> str:
        """Letter and name, without the hash of weights: names stand in every chart, and there is little room."""
        return printable(f"{model_letter(self.index)} {split_model_name(self.name).title}")


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    text: str
    """The text next to it."""
    inner: bool = False
    """True for a part of the bar above."""
    rare: bool = False
    """True if it is drawn as an outline."""


@dataclass(frozen=True)
class HistogramBin:
    """A bar of a histogram."""

    low: float
    high: float
    """Upper bound, not in the bin; infinite if the last bin is open."""
    count: int
    whole: bool = False
    """True if only whole numbers are counted."""

    @property
    def label(self) -> str:
        """The range, such as `60–120`; for whole numbers `5` or `4–5`."""
        if math.isinf(self.high):
            return f"{self.low:g} and more"
        high = self.high - 1 if self.whole else self.high
        return f"{self.low:g}" if high == self.low else f"{self.low:g}–{high:g}"


def estimate_of(row: SummaryRow | GroupRow | CurvePoint | None, metric: str) -> Estimate | None:
    """A number of a run on the scale on which people read its metric; None if it has no value."""
    if row is None or row.value is None:
        return None
    return on_display_scale(Estimate(row.value, row.low, row.high, row.n, row.videos), metric)


def chart_svg(spec: Spec) -> str:
    """A specification as SVG for a page: its `description` is the chart's label, and those of marks are tooltips.

    Args:
        spec: A Vega-Lite specification; marks without a tooltip have `aria` false.
    """
    svg = _draw(json.dumps({"background": None, "padding": 4, "config": _CONFIG, **spec}))
    svg = re.sub(r'<path class="(?:back|fore)ground"[^>]*/>', "", svg)
    svg = re.sub(r"<([a-z]+)( [^<>]*?)?(/?)>([^<]*)", _element, svg)
    _, _, width, height = re.search(r'viewBox="([^"]*)"', svg)[1].split()  # type: ignore[index]
    # Each chart has its own width, so that letters have the same size in every chart of a page.
    size = f'width="{ZOOM * float(width):.0f}" viewBox="0 0 {width} {height}"'
    opened = f'<svg {size} role="img" aria-label="{escape_html(spec["description"])}"'
    return f'{opened} class="figure">{svg[svg.index(">") + 1 :]}'


# A report has many charts on two pages.
@lru_cache(maxsize=256)
def _draw(spec: str) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec, vl_version="6.1")
    return svg


def _element(found: re.Match[str]) -> str:
    """An element for pages: with its label as tooltip, rounded numbers, and without the renderer's classes."""
    name, attributes, closed, text = found[1], found[2] or "", found[3], found[4]
    label = re.search(r' aria-label="([^"]*)" role="graphics-symbol"', attributes)
    title = f"<title>{label[1]}</title>" if label else ""
    attributes = re.sub(r' (?:class|role|aria-[a-z]+|pointer-events)="[^"]*"', "", attributes)
    attributes = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), attributes)
    if name == "text" and " stroke=" in attributes:
        # Letters have an outline in the colour of the background, drawn below them.
        attributes += ' paint-order="stroke" stroke-linejoin="round"'
    if closed:
        return f"<{name}{attributes}>{title}</{name}>{text}" if title else f"<{name}{attributes}/>{text}"
    return f"<{name}{attributes}>{text}{title}"


def on_paper(svg: str) -> str:
    """A chart with the colours of the light page instead of the style sheet's variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda found: _palette()[found[1]], svg)


@cache
def _palette() -> Mapping[str, str]:
    sheet = (files("reeltalk.pages") / "static" / "style.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", sheet[sheet.index(":root") : sheet.index("}")]))


def swatch(index: int) -> str:
    """The line and marker of a model, for a legend."""
    colour, shape = _colour(index), SHAPES[index % len(SHAPES)]
    dash = " ".join(map(str, DASHES[index % len(DASHES)]))
    drawn = (
        f'<circle cx="15" cy="5" r="3.2" fill="{colour}"/>'
        if shape == "circle"
        else f'<path d="{shape}" transform="translate(15 5) scale(3.2)" fill="{colour}"/>'
    )
    return (
        '<svg viewBox="0 0 30 10" class="swatch" aria-hidden="true">'
        f'<line x1="1" x2="29" y1="5" y2="5" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>{drawn}'
        "</svg>"
    )


def axis_ticks(lowest: float, highest: float, count: int = 5) -> list[float]:
    """Round numbers within a range, about as many as wanted, for drawings without Vega-Lite."""
    raw = max(highest - lowest, 1e-9) / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = magnitude * next(factor for factor in (1, 2, 5, 10) if factor * magnitude >= raw * 0.7)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


# Parts of specifications.


def _colour(index: int) -> str:
    return f"var(--m{index % COLOURS})"


def _number(field: str, title: str | None = None, *, axis: Spec | None = None, **scale: Any) -> Spec:
    """A position on an axis of numbers."""
    named = {"title": printable(title) if title else None, **(axis or {})}
    return {"field": field, "type": "quantitative", "axis": named, "scale": scale}


def _row(names: Sequence[str], title: str, **axis: Any) -> Spec:
    """A position in rows with names; the field of data is the row's number, because names may be equal."""
    label = f"{json.dumps([printable(name) for name in names])}[datum.value]"
    # The title is above the names, as in a table.
    above = {"titleAngle": 0, "titleAlign": "right", "titleAnchor": "end", "titleX": -5, "titleY": -5}
    named = {"title": printable(title), **above, "labelExpr": label, "labelColor": _INK, "labelLimit": 170, **axis}
    return {"field": "row", "type": "ordinal", "axis": named}


def _name(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", **more}


def _to(position: Spec, field: str) -> Spec:
    """The same axis for another field."""
    return {**position, "field": field}


def _layer(looks: Spec, data: Sequence[Spec] | None = None, *, only: str = "", **encoding: Spec) -> Spec:
    """A layer with rows of its own or the chart's, `only` some of them; with a description, its marks have tooltips."""
    layer: Spec = {"mark": {"aria": "description" in encoding, **looks}, "encoding": encoding}
    if data is not None:
        layer["data"] = {"values": list(data)}
    if only:
        layer["transform"] = [{"filter": only}]
    return layer


def _chart(label: str, rows: Sequence[Spec], layers: Sequence[Spec], **more: Any) -> str:
    return chart_svg({"description": label, "data": {"values": list(rows)}, "layer": list(layers), **more})


def _rows(marks: Sequence[Mark], few: int = 0) -> list[Spec]:
    """Marks as rows of data; those on fewer items than `few` are faded."""
    return [
        {
            "model": mark.label,
            "at": mark.at,
            **(
                {}
                if mark.value is None
                else {"value": mark.value.value, "low": mark.value.low, "high": mark.value.high}
            ),
            "faded": mark.value is not None and mark.value.n < few,
            "hollow": mark.hollow,
            "description": printable(f"{mark.label}{', ' * bool(mark.row)}{mark.row}: {mark.tooltip or mark.value}"),
        }
        for mark in marks
    ]


_FADED: Final = {"condition": {"test": "datum.faded", "value": 0.35}, "value": 1}
_DESCRIPTION: Final = _name("description")
_VALID: Final = "isValid(datum.value)"
_INTERVAL: Final = "isValid(datum.low)"


class _Styles:
    """Encodings for the looks of models, which share one legend."""

    def __init__(self, marks: Sequence[Mark], legend: Spec | None) -> None:
        labels = dict(sorted({mark.index: mark.label for mark in marks}.items()))
        self.names = list(labels.values())

        def channel(*looks: Any) -> Spec:
            return _name("model", legend=legend, scale={"domain": self.names, "range": looks})

        self.stroke = channel(*map(_colour, labels))
        self.shape = channel(*(SHAPES[index % len(SHAPES)] for index in labels))
        self.dash = {**channel(*(DASHES[index % len(DASHES)] for index in labels)), "legend": None}

    def points(self, x: Spec, y: Spec, size: float = 64, **more: Any) -> Spec:
        fill = {**self.stroke, "condition": {"test": "datum.hollow", "value": _PAPER}}
        looks = {"type": "point", "size": size, "strokeWidth": 1.6}
        styles: Spec = {"fill": fill, "stroke": self.stroke, "shape": self.shape, "opacity": _FADED}
        return _layer(looks, only=_VALID, x=x, y=y, description=_DESCRIPTION, **styles, **more)


# Values in rows.


def interval_chart(
    marks: Sequence[Mark],
    *,
    title: str,
    axis: str,
    line: float | None = None,
    band: Estimate | None = None,
    floors: Mapping[int, float] | None = None,
    missing: str = "not scored",
    few: int = 0,
    rows: str = "",
) -> str:
    """A marker with its interval for each value, one below the other: of models, of differences, or of groups.

    Marks with one `row` are next to each other; without rows, each model has its own. `line` is a value that is marked
    over all rows, `band` an interval behind them, and `floors` are dashed marks in the rows of models. `missing` is the
    text of a row without a value. Values on fewer than `few` items are faded. `rows` is what the rows are, by default
    groups if marks have rows, else models.
    """
    if not any(mark.value for mark in marks):
        return ""
    grouped = any(mark.row not in ("", mark.name) for mark in marks)
    styles = _Styles(marks, {} if grouped and len({mark.index for mark in marks}) > 1 else None)
    places = {name: place for place, name in enumerate(dict.fromkeys(mark.row or mark.label for mark in marks))}
    found = [{**row, "row": places[mark.row or mark.label]} for mark, row in zip(marks, _rows(marks, few), strict=True)]
    several = len(places) < len(marks)
    beside: Spec = {}
    if several:
        beside = {"yOffset": _name("model" if grouped else "hollow", scale={"paddingOuter": 0.5})}
    x = _number("value", axis, zero=False, padding=6)
    y = _row(
        list(places),
        rows or ("group" if grouped else "model"),
        **({"grid": True, "tickBand": "extent"} if several else {}),
    )
    layers = []
    if band is not None and band.low is not None:
        best = [{"low": band.low, "high": band.high}]
        layers.append(_layer({"type": "rect", "color": "var(--best)"}, best, x=_to(x, "low"), x2={"field": "high"}))
    if line is not None:
        layers.append(_layer({"type": "rule"}, [{"value": line}], x=x))
    if floors:
        known = [
            {**row, "value": floors[mark.index], "description": f"floor: {format_value(floors[mark.index])}"}
            for mark, row in zip(marks, found, strict=True)
            if mark.index in floors
        ]
        ends: Spec = {"y": {**y, "bandPosition": 0}, "y2": {"field": "row", "bandPosition": 1}}
        looks = {"type": "rule", "color": _INK, "strokeWidth": 1.4, "strokeDash": [3, 2]}
        layers.append(_layer(looks, known, x=x, description=_DESCRIPTION, **ends))
    looks = {"type": "rule", "strokeCap": "round", "strokeWidth": 1.5 if several else 2}
    ends = {"x": _to(x, "low"), "x2": {"field": "high"}, "y": y}
    layers += [
        _layer(looks, only=_INTERVAL, stroke=styles.stroke, opacity=_FADED, **ends, **beside),
        styles.points(x, y, 40 if several else 64, **beside),
    ]
    if not all(mark.value for mark in marks):
        looks = {"type": "text", "align": "left", "text": missing}
        layers.append(_layer(looks, only=f"!{_VALID}", x={"value": 4}, y=y, description=_DESCRIPTION))
    return _chart(title, found, layers, width=250, height={"step": 11, "for": "offset"} if several else {"step": 19})


# Values along an axis.


def line_chart(
    marks: Sequence[Mark],
    *,
    title: str,
    axis: str,
    values: str,
    names: Mapping[int, str] | None = None,
    few: int = FEW_TURNS,
) -> str:
    """A line for each model with its interval as a band, over turns, seconds, or the values of a setting.

    More than `MOST_BANDS` lines have no bands. A line ends before a position where its model has no value, or one on
    fewer than `few` items, which is faded. With `names` of positions, by default their numbers, the axis shows each of
    them with its number of items; without, it has round numbers.
    """
    counts: dict[float, set[int]] = {}
    known = []
    for mark in marks:
        if mark.value is not None:
            counts.setdefault(mark.at, set()).add(mark.value.n)
            where = f"{axis} {(names or {}).get(int(mark.at), f'{mark.at:g}')}"
            known.append(replace(mark, tooltip=mark.tooltip or f"{where}: {mark.value}, n = {mark.value.n}"))
    if not known:
        return ""
    styles = _Styles(known, {})
    positions = sorted(counts)
    x = _number("at", axis, axis={"grid": False})
    if names is not None:
        # Models may have answered different numbers of turns; the chart shows the largest.
        below = {
            f"{at:g}": [printable(names.get(int(at), f"{at:g}")), f"{'≤' * (len(counts[at]) > 1)}{max(counts[at])}"]
            for at in positions
        }
        label = f"{json.dumps(below)}[format(datum.value, '')]"
        shown = {"grid": False, "values": positions, "labelOverlap": "greedy", "labelExpr": label}
        shown["title"] = f"{printable(axis)}, with n below"
        x = _number("at", axis=shown, domain=[positions[0] - 0.3, positions[-1] + 0.3], nice=False)
    y = _number("value", values)
    rows = _rows(known, few)
    # At a position without a value, or with a faded one, the row has none, and Vega-Lite breaks the line.
    there = {(row["model"], row["at"]): row for row in rows if not row["faded"]}
    joined = [there.get((name, at), {"model": name, "at": at}) for name in styles.names for at in positions]
    ends: Spec = {"y": _to(y, "low"), "y2": {"field": "high"}, "fill": styles.stroke}
    layers = [
        _layer({"type": "line", "strokeWidth": 1.8}, joined, x=x, y=y, stroke=styles.stroke, strokeDash=styles.dash),
        styles.points(x, y, 28),
    ]
    if len(styles.names) <= MOST_BANDS and any(row.get("low") is not None for row in joined):
        layers.insert(0, _layer({"type": "area", "opacity": 0.1}, joined, x=x, **ends))
    return _chart(title, rows, layers, width=330, height=190)


def spot_chart(marks: Sequence[Mark], *, title: str, axis: str, values: str, log: bool = False) -> str:
    """Values of models with their intervals against a quantity; a logarithmic axis needs positive ones."""
    if not marks:
        return ""
    styles = _Styles(marks, {})
    x = _number("at", axis, axis={"grid": False}, padding=12, **({"type": "log"} if log else {"zero": False}))
    y = _number("value", values, zero=False, padding=8)
    ends: Spec = {"y": _to(y, "low"), "y2": {"field": "high"}, "stroke": styles.stroke}
    ranges = _layer({"type": "rule", "strokeWidth": 2}, only=_INTERVAL, x=x, **ends)
    return _chart(title, _rows(marks), [ranges, styles.points(x, y)], width=280, height=180)


def agreement_chart(
    points: Sequence[tuple[float, float, int, str]],
    *,
    people: tuple[float, float],
    judge: tuple[float, float],
    title: str,
) -> str:
    """A judge's scores by people's rating: a disc for each pair of values, with the number as its area, and the mean.

    Args:
        points: Rating by people, score of the judge, number of answers, and model.
        people: Scale of people.
        judge: Scale of the judge.
        title: Text alternative.
    """
    if not points:
        return ""
    rows = [{"people": one, "judge": other, "n": n} for one, other, n, _ in points]
    transform: list[Spec] = []
    for field in ("people", "judge"):
        middle = f"datum.{field}"
        if len({row[field] for row in rows}) > MOST_LEVELS:
            transform.append({"bin": {"maxbins": MOST_LEVELS}, "field": field, "as": [f"{field}_low", f"{field}_high"]})
            middle = f"(datum.{field}_low + datum.{field}_high) / 2"
        transform.append({"calculate": middle, "as": f"{field}_middle"})
    x, y = (
        _number(f"{field}_middle", field, domain=list(scale), zero=False, padding=10)
        for field, scale in (("people", people), ("judge", judge))
    )
    size = {"field": "n", "type": "quantitative", "scale": {"range": [4, 250]}, "legend": None}
    discs = _layer({"type": "circle", "color": _BAR, "opacity": 0.4}, x=x, y=y, size=size, description=_DESCRIPTION)
    words = "'people ' + format(datum.people_middle, '.3~r') + ', judge ' + format(datum.judge_middle, '.3~r')"
    discs["transform"] = [
        {"aggregate": [{"op": "sum", "field": "n", "as": "n"}], "groupby": ["people_middle", "judge_middle"]},
        {"calculate": f"{words} + ': ' + format(datum.n, ',')", "as": "description"},
    ]
    through = _layer({"type": "line", "color": _BOUND, "strokeWidth": 2}, x=x, y=y)
    sums = [{"op": "sum", "field": field, "as": field} for field in ("n", "total")]
    through["transform"] = [
        {"calculate": "datum.judge * datum.n", "as": "total"},
        {"aggregate": sums, "groupby": ["people_middle"]},
        {"calculate": "datum.total / datum.n", "as": "judge_middle"},
    ]
    return _chart(title, rows, [discs, through], transform=transform, width=240, height=160)


def radar_chart(marks: Sequence[Mark], axes: Mapping[str, str], *, title: str, values: str) -> str:
    """Values from 0 to 100 on axes around a centre: a polygon for each model, whiskers for its intervals.

    The `row` of a mark is its axis; `axes` are at least three, each with a note such as `n = 120`. An axis without a
    value is a gap in the polygon, not a point at the centre. At most `MOST_POLYGONS` models are readable. `values` says
    what the rings are. The outermost ring is the round number above the largest value of a mark that is not hollow; a
    hollow mark, as of an oracle, is a thin outline, and is left out beyond that ring.
    """
    given = [(mark, mark.value.value) for mark in marks if mark.value is not None]
    if not given:
        return ""
    largest = max([value for mark, value in given if not mark.hollow] or [100.0])
    top = next(ring for ring in RINGS if ring >= min(largest, RINGS[-1]))
    beyond = dict.fromkeys(mark.label for mark, value in given if value > top)
    marks = [mark for mark, value in given if value <= top]
    known = {
        (mark.label, mark.row): (mark.value, row) for mark, row in zip(marks, _rows(marks, FEW_TURNS), strict=True)
    }
    styles = _Styles(marks, {"offset": 44})
    angles = {name: 2 * math.pi * place / len(axes) for place, name in enumerate(axes)}

    def place(angle: float, value: float | None, aside: float = 0.0, end: str = "") -> Spec:
        """A position; `aside` separates the whiskers of several models on one axis."""
        if value is None:
            return {}
        value *= 100 / top
        sine, cosine = math.sin(angle), math.cos(angle)
        return {f"x{end}": value * sine + aside * cosine, f"y{end}": value * cosine - aside * sine}

    rows, corners = [], []
    for number, model in enumerate(styles.names):
        aside = 2.3 * (number - (len(styles.names) - 1) / 2)
        for order, name in enumerate([*axes, next(iter(axes))]):
            value, row = known.get((model, name), (None, {}))
            hollow = row.get("hollow", False)
            at = place(angles[name], value.value, aside) if value is not None else {}
            corners.append({"model": model, "order": order, "hollow": hollow, **at})
            if value is not None and order < len(axes):
                low, high = (None, None) if hollow or value.high is None else (value.low, min(value.high, top))
                whisker = place(angles[name], low, aside, "1") | place(angles[name], high, aside, "2")
                rows.append({**row, **at, **whisker})
    rings = [top * part / 4 for part in (1, 2, 3, 4)]
    around = [*angles.values(), 0.0]
    net = [{"line": ring, "order": n, **place(angle, ring)} for ring in rings for n, angle in enumerate(around)]
    net += [{"line": name, "order": end, **place(angle, top * end)} for name, angle in angles.items() for end in (0, 1)]
    # Between two axes, where there are no whiskers.
    between = math.pi / len(axes)
    scale = [{"text": f"{ring:g}", **place(between, ring * math.cos(between))} for ring in rings]
    names = [
        {"text": [printable(name), printable(note)], **place(angles[name], 1.09 * top)} for name, note in axes.items()
    ]
    hidden: Spec = {"labels": False, "grid": False}
    # A triangle extends less far down than up.
    lowest = 100 * min(map(math.cos, angles.values()))
    x = _number("x", axis=hidden, domain=[-100, 100], nice=False)
    y = _number("y", axis=hidden, domain=[lowest, 100], nice=False)
    path: Spec = {"x": x, "y": y, "order": {"field": "order", "type": "quantitative"}}
    ends: Spec = {
        "x": _to(x, "x1"),
        "y": _to(y, "y1"),
        "x2": {"field": "x2"},
        "y2": {"field": "y2"},
    }
    side = {"expr": "abs(datum.x) < 10 ? 'center' : datum.x > 0 ? 'left' : 'right'"}
    up = {"expr": "datum.y > 95 ? 'bottom' : datum.y < -100 ? 'top' : 'middle'"}
    named = {"type": "text", "align": side, "baseline": up, "color": _INK}
    layers = [
        _layer({"type": "line", "color": _LINE, "strokeWidth": 1}, net, detail=_name("line"), **path),
        _layer({"type": "text", "fontSize": 10, **_HALO}, scale, x=x, y=y, text=_name("text")),
        *(
            _layer({"type": "line", **looks}, corners, only=only, stroke=styles.stroke, strokeDash=styles.dash, **path)
            for looks, only in (({"strokeWidth": 0.9}, "datum.hollow"), ({"strokeWidth": 1.6}, "!datum.hollow"))
        ),
        _layer(
            {"type": "rule", "strokeWidth": 1.3, "opacity": 0.75},
            only="isValid(datum.x1)",
            stroke=styles.stroke,
            **ends,
        ),
        styles.points(x, y, 38),
        _layer(named, names, x=x, y=y, text=_name("text")),
    ]
    lines = [printable(f"rings: {values}"), *([f"beyond the scale: {', '.join(beyond)}"] if beyond else [])]
    below = {"text": lines, "orient": "bottom", "fontSize": 11, "fontWeight": "normal", "color": _SOFT, "offset": 12}
    return _chart(title, rows, layers, width=300, height=1.5 * (100 - lowest), title=below)


# Bars. Charts can be read without colour: a bar's value is next to it, inner bars are thinner and fainter, and rare
# ones are outlines.


def bar_chart(
    bars: Sequence[Bar], *, title: str, axis: str, rows: str, bound: float | None = None, bound_name: str = ""
) -> str:
    """Horizontal bars, one below the other; inner ones follow the bar that they are a part of.

    `rows` is what they are.
    """
    if not bars:
        return ""
    drawn = [
        {
            "row": place,
            "value": bar.value,
            "beside": printable(bar.text),
            "kind": "inner" if bar.inner else "rare" if bar.rare else "part",
            "description": printable(f"{bar.label}: {bar.text}"),
        }
        for place, bar in enumerate(bars)
    ]
    x = _number("value", axis, axis={"labels": False, "grid": False})
    y = _row([bar.label for bar in bars], rows)
    looks: dict[str, Spec] = {
        "part": {"color": _BAR, "height": {"band": 0.66}},
        "inner": {"color": _BAR, "height": {"band": 0.4}, "opacity": 0.45},
        "rare": {"color": _PAPER, "height": {"band": 0.66}, "stroke": _BOUND, "strokeDash": [3, 2]},
    }
    layers = [
        _layer({"type": "bar", **look}, only=f"datum.kind == '{kind}'", x=x, y=y, description=_DESCRIPTION)
        for kind, look in looks.items()
    ]
    layers.append(_layer({"type": "text", "align": "left", "dx": 6, **_HALO}, x=x, y=y, text=_name("beside")))
    return _chart(title, drawn, layers + _bound(bound, bound_name, x), width=220, height={"step": 18})


def histogram_chart(
    bins: Sequence[HistogramBin],
    *,
    title: str,
    axis: str,
    values: str,
    bound: float | None = None,
    bound_name: str = "",
    width: float = 400,
) -> str:
    """Vertical bars with the number of values in each bin, all of one width. `bound` is a dashed line within them."""
    if not bins:
        return ""
    last = bins[-1].low
    step = bins[1].low - bins[0].low if len(bins) > 1 else 1.0
    # A whole number is in the middle of its bar.
    aside = step / 2 if bins[0].whole and step == 1 else 0.0
    rows = [
        {
            "low": each.low - aside,
            "middle": each.low - aside + step / 2,
            "high": each.low - aside + step,
            "value": each.count,
            "count": f"{each.count:,}" if each.count else "",
            "description": f"{each.label}: {each.count:,}",
        }
        for each in bins
    ]
    label = f"datum.label + (datum.value >= {last:g} ? '+' : '')" if math.isinf(bins[-1].high) else "datum.label"
    shown = {
        "grid": False,
        "values": [each.low for each in bins],
        "labelOverlap": True,
        "labelExpr": label,
        "format": ",~f",
    }
    ends = [bins[0].low - aside, last - aside + step]
    x = _number("middle", axis, axis=shown, domain=ends, nice=False, zero=False)
    y = _number("value", values)
    drawn: Spec = {"x": {**_to(x, "low"), "bin": {"binned": True, "step": step}}, "x2": {"field": "high"}, "y": y}
    layers = [
        _layer({"type": "bar", "color": _BAR}, description=_DESCRIPTION, **drawn),
        _layer({"type": "text", "dy": -8, "fontSize": 10}, x=x, y=y, text=_name("count")),
        *_bound(bound if bound is not None and ends[0] < bound < last else None, bound_name, x),
    ]
    return _chart(title, rows, layers, width=min(64.0 * len(bins), width), height=134)


def _bound(value: float | None, name: str, x: Spec) -> list[Spec]:
    if value is None:
        return []
    row = [{"value": value, "text": printable(name)}]
    looks = {"type": "rule", "color": _BOUND, "strokeWidth": 1.2, "strokeDash": [5, 3]}
    words = {"type": "text", "align": "left", "dx": 4, "dy": -8}
    at = _to(x, "value")
    return [_layer(looks, row, x=at), _layer(words, row, x=at, y={"value": 0}, text=_name("text"))]
