"""Charts of the pages: each function returns a Vega-Lite specification, and `render_chart` draws it as SVG.

vl-convert draws without a browser or a network. Altair writes the same specifications, but importing it takes as long
as ten charts. So the specifications are plain dictionaries, and a test checks them with Altair.

A model has a letter, a colour, a marker and a dash, so charts can be read without colour. Colours are variables of the
style sheet, such as `var(--m0)`, so that dark mode works. They follow Okabe & Ito (2008), darkened for contrast on
paper. For figure files, `on_paper` replaces the variables with the colours of the light page.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final, ParamSpec

from reeltalk.analysis.agreement_levels import ModelMeans
from reeltalk.analysis.dataset import Spread
from reeltalk.analysis.estimates import FEW, Estimate
from reeltalk.analysis.leaderboard import key_of
from reeltalk.analysis.values import format_value
from reeltalk.schema.texts import escape_html, printable

COLOURS: Final = 8
DASHES: Final = ((), (7, 3), (2, 3), (9, 3, 2, 3), (5, 2), (1, 2), (12, 4))
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
MOST_LETTERS: Final = 25
"""Maximum length of a bar's label; the table below a chart has the full label."""
MOST_BINS: Final = 14
SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Bin widths for lengths in seconds."""
TAIL: Final = 0.98
"""Share of the values that the bins cover; the last bin has the rest."""
ZOOM: Final = 1.25
"""Pixels on a page per pixel of a chart, if there is room."""
MOST_POLYGONS: Final = 6
"""More polygons are not readable in one radar."""

_PAPER: Final = "var(--paper)"
_INK: Final = "var(--ink)"
_SOFT: Final = "var(--soft)"
_LINE: Final = "var(--line)"
_BEHIND: Final = "var(--best)"
_BOUND: Final = "var(--m1)"
_BAR: Final = "var(--m0)"
_FADED: Final = 0.35
_LETTER: Final = {"type": "text", "align": "left", "font": "Liberation Mono, monospace", "fontWeight": "bold"}
_LETTER_HEIGHT: Final = 11.0
_CONFIG: Final = {
    "font": "Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "aria": False, "domain": False, "ticks": False, "title": None, "labelColor": _SOFT, "gridColor": _LINE,
        "labelFontSize": 11, "labelPadding": 5, "tickCount": 5, "titleColor": _SOFT, "titleFontWeight": "normal",
        "titleFontSize": 11,
    },
    "text": {"fontSize": 11, "color": _SOFT, "baseline": "middle"},
    "rule": {"color": _SOFT},
    "point": {"opacity": 1},
}  # fmt: skip
"""Fonts that vl-convert includes, so that widths of letters are the same on every machine."""

Spec = dict[str, Any]
_Row = dict[str, Any]
_Chart = ParamSpec("_Chart")


@dataclass(frozen=True)
class Series:
    """One model's line over positions."""

    index: int
    """The model's place in the leaderboard, which determines its letter and style."""
    name: str
    points: Sequence[tuple[int, Estimate]]
    """Position, from 1, and value, in order."""


@dataclass(frozen=True)
class Stop:
    """One point of a line over seconds."""

    at: float
    """Position on the axis, in seconds."""
    name: str
    """Its name in tooltips, such as `60-90 s`."""
    value: Estimate


@dataclass(frozen=True)
class TimedSeries:
    """One model's line over seconds."""

    index: int
    """The model's place in the leaderboard, which determines its letter and style."""
    name: str
    stops: Sequence[Stop]
    """The points, in the order of the axis."""


@dataclass(frozen=True)
class ValuePair:
    """Two values of one model."""

    index: int
    """The model's place in the leaderboard."""
    name: str
    first: Estimate | None
    second: Estimate | None


@dataclass(frozen=True)
class Grouped:
    """The values of one group, by place in the leaderboard."""

    name: str
    values: Sequence[tuple[int, str, Estimate]]
    """The model's place, its name, and its value."""


@dataclass(frozen=True)
class Spot:
    """A model's value at a quantity."""

    index: int
    name: str
    at: float
    value: Estimate


@dataclass(frozen=True)
class PairedDifference:
    """A model's difference to the model that all are compared with."""

    index: int
    """The model's place in the leaderboard."""
    name: str
    difference: Estimate | None
    """None if there is none; the row then says so."""
    told: str
    """Its content as text."""
    shown: bool
    """True if the corrected test is significant; else the marker is hollow."""


@dataclass(frozen=True)
class BarRow:
    label: str
    value: float
    told: str
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


@dataclass(frozen=True)
class Axis:
    """One tag of a radar."""

    name: str
    note: str
    """The line below its name, such as `n = 120`."""


@dataclass(frozen=True)
class Polygon:
    """One model's values, in the order of the axes."""

    index: int
    """Its place on the leaderboard, which determines its letter and style."""
    name: str
    values: Sequence[Estimate | None]


@dataclass(frozen=True)
class Dot:
    """One tag of the plot of frequencies."""

    name: str
    percent: float
    """Share of the questions, in per cent."""
    value: Estimate


CHARTS: Final[dict[str, Callable[..., str]]] = {}
"""All charts by name; the specification of one is `CHARTS[name].__wrapped__(…)`."""


def render_chart(specify: Callable[_Chart, Spec | None]) -> Callable[_Chart, str]:
    """Turn a function that returns a specification into one that returns SVG; no specification gives an empty text.

    Args:
        specify: Returns the specification, with a `description` as text alternative.
    """

    @wraps(specify)
    def drawn(*values: _Chart.args, **more: _Chart.kwargs) -> str:
        spec = specify(*values, **more)
        return chart_svg(spec) if spec is not None else ""

    CHARTS[specify.__name__] = drawn
    return drawn


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
    dash = (
        f' stroke-dasharray="{" ".join(map(str, DASHES[index % len(DASHES)]))}"' if DASHES[index % len(DASHES)] else ""
    )
    drawn = (
        f'<circle cx="15" cy="5" r="3.2" fill="{colour}"/>'
        if shape == "circle"
        else f'<path d="{shape}" transform="translate(15 5) scale(3.2)" fill="{colour}"/>'
    )
    return (
        '<svg viewBox="0 0 30 10" class="swatch" aria-hidden="true">'
        f'<line x1="1" x2="29" y1="5" y2="5" stroke="{colour}" stroke-width="1.8"{dash}/>{drawn}</svg>'
    )


def axis_ticks(lowest: float, highest: float, wanted: int = 5) -> list[float]:
    """Round numbers within a range, about as many as wanted, for drawings without Vega-Lite."""
    raw = max(highest - lowest, 1e-9) / wanted
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = magnitude * next(factor for factor in (1, 2, 5, 10) if factor * magnitude >= raw * 0.7)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


# Parts of specifications: layers with their own rows.


def _layer(mark: Mapping[str, Any], rows: Sequence[_Row], **encoding: Mapping[str, Any]) -> Spec:
    return {"mark": {"aria": False, **mark}, "data": {"values": list(rows)}, "encoding": encoding}


def _spec(title: str, width: float, height: float, layers: Iterable[Spec]) -> Spec:
    return {
        "description": title,
        "width": width,
        "height": height,
        "layer": [layer for layer in layers if layer["data"]["values"]],
    }


def _value(field: str, **more: Any) -> Spec:
    """A field on a scale of numbers."""
    return {"field": field, "type": "quantitative", **more}


def _pixels(field: str) -> Spec:
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def _as_is(field: str) -> Spec:
    """A field whose values are used without a scale."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}


def _text(field: str) -> Spec:
    return {"field": field, "type": "nominal"}


def _at(pixels: float) -> Spec:
    return {"value": pixels}


def _colour(index: int) -> str:
    return f"var(--m{index % COLOURS})"


def _marker(index: int, told: str, *, size: float = 4, hollow: bool = False, faded: bool = False, **more: Any) -> _Row:
    """A row for `_markers`: the shape of a model, one of six; hollow for the second of two values."""
    return {
        "told": printable(told),
        "fill": _PAPER if hollow else _colour(index),
        "stroke": _colour(index),
        "width": 1.6 if hollow else 0,
        "shape": SHAPES[index % len(SHAPES)],
        "size": 4 * size * size,
        "opacity": _FADED if faded else 1,
        **more,
    }


def _markers(rows: Sequence[_Row], x: Spec, y: Spec) -> Spec:
    return _layer(
        {"type": "point", "aria": True}, rows, x=x, y=y, fill=_as_is("fill"), stroke=_as_is("stroke"),
        strokeWidth=_as_is("width"), shape=_as_is("shape"), size=_as_is("size"), opacity=_as_is("opacity"),
        description=_text("told"),
    )  # fmt: skip


def _letters(rows: Sequence[_Row], x: Spec, y: Spec, **looks: Any) -> Spec:
    """Models' letters, from rows with an `index`."""
    named = [{**row, "letter": key_of(row["index"]), "colour": _colour(row["index"])} for row in rows]
    return _layer({**_LETTER, **looks}, named, x=x, y=y, text=_text("letter"), color=_as_is("colour"))


_HALO: Final = {"stroke": _PAPER, "strokeWidth": 3}


def _range_rows(
    found: Iterable[tuple[int, Estimate, _Row]], *, faded: Callable[[Estimate], bool] | None = None
) -> list[_Row]:
    """Rows for `_ranges`, from estimates with an interval."""
    return [
        {
            "low": e.low, "high": e.high, "colour": _colour(index),
            "opacity": _FADED if faded is not None and faded(e) else 1, **row,
        }
        for index, e, row in found
        if e.low is not None and e.high is not None
    ]  # fmt: skip


def _ranges(rows: Sequence[_Row], *, width: float = 2, upright: str = "", across: str = "y") -> Spec:
    """Intervals as lines: horizontal at heights in pixels, or vertical at a field's values."""
    mark = {"type": "rule", "strokeCap": "round", "strokeWidth": width}
    looks = {"color": _as_is("colour"), "opacity": _as_is("opacity")}
    if upright:
        return _layer(mark, rows, y=_value("low"), y2={"field": "high"}, x=_value(upright), **looks)
    return _layer(mark, rows, x=_value("low"), x2={"field": "high"}, y=_pixels(across), **looks)


_WIDE: Final = {"zero": False, "nice": False, "padding": 12}
"""A scale from the smallest to the largest value with some padding."""


def _across(field: str = "value", **axis: Any) -> Spec:
    return _value(field, scale=_WIDE, axis={"orient": "bottom", **axis})


# Charts with a row for each model.


@render_chart
def whisker_chart(
    rows: Sequence[tuple[str, Estimate | None]],
    *,
    title: str,
    band: Estimate | None = None,
    floors: Sequence[float | None] = (),
) -> Spec | None:
    """A marker with its interval for each model, one below the other; empty if no model has a value.

    Args:
        rows: Model names with their values; None if there is none.
        title: Text alternative.
        band: An estimate whose interval is drawn behind all rows, for comparison.
        floors: For each row the floor, drawn as a dashed mark; None if it is unknown.
    """
    found = [
        (place, name, estimate, 19 * (place + 0.5))
        for place, (name, estimate) in enumerate(rows)
        if estimate is not None
    ]
    if not found:
        return None
    height = 19 * len(rows)
    behind = [] if band is None or band.low is None else [{"low": band.low, "high": band.high}]
    marks = [_marker(i, f"{key_of(i)} {name}: {e}", value=e.value, y=y) for i, name, e, y in found]
    marked = [
        {"value": floor, "y": 19 * i, "y2": 19 * (i + 1), "told": f"floor: {format_value(floor)}"}
        for i, _, _, _ in found
        if i < len(floors) and (floor := floors[i]) is not None
    ]
    missing = [{"y": 19 * (i + 0.5), "text": "not scored"} for i, (_, estimate) in enumerate(rows) if estimate is None]
    letters = [{"index": place, "y": 19 * (place + 0.5)} for place in range(len(rows))]
    layers = [
        _layer({"type": "rect", "color": _BEHIND}, behind, x=_value("low"), x2={"field": "high"},
               y=_at(0), y2=_at(height)),
        _layer(
            {"type": "rule", "aria": True, "color": _INK, "strokeWidth": 1.4, "strokeDash": [3, 2]}, marked,
            x=_value("value"), y=_pixels("y"), y2={"field": "y2"}, description=_text("told"),
        ),
        _ranges(_range_rows((i, e, {"y": y}) for i, _, e, y in found)),
        _markers(marks, _across(), _pixels("y")),
        _layer({"type": "text", "align": "left"}, missing, x=_at(0), y=_pixels("y"), text=_text("text")),
        _letters(letters, _at(-22), _pixels("y")),
    ]  # fmt: skip
    return _spec(title, 300, height, layers)


@render_chart
def forest_chart(rows: Sequence[PairedDifference], *, title: str) -> Spec | None:
    """Differences with their intervals around a line at zero; empty if there are none.

    Args:
        rows: The models, from top to bottom.
        title: Text alternative.
    """
    placed = [(row, 19 * (place + 0.5)) for place, row in enumerate(rows)]
    found = [(row, row.difference, y) for row, y in placed if row.difference is not None]
    if not found:
        return None
    marks = [
        _marker(row.index, f"{key_of(row.index)} {row.name}: {row.told}", hollow=not row.shown, value=e.value, y=y)
        for row, e, y in found
    ]
    missing = [
        {"y": y, "text": "not compared", "told": printable(row.told)} for row, y in placed if row.difference is None
    ]
    signed = "datum.value == 0 ? '0' : format(datum.value, '+~r')"
    layers = [
        _layer({"type": "rule"}, [{"value": 0}], x=_value("value"), y=_at(0), y2=_at(19 * len(rows))),
        _ranges(_range_rows((row.index, e, {"y": y}) for row, e, y in found)),
        _markers(marks, _across(labelExpr=signed), _pixels("y")),
        _layer(
            {"type": "text", "aria": True, "align": "left"}, missing,
            x=_at(0), y=_pixels("y"), text=_text("text"), description=_text("told"),
        ),
        _letters([{"index": row.index, "y": y} for row, y in placed], _at(-22), _pixels("y")),
    ]  # fmt: skip
    return _spec(title, 300, 19 * len(rows), layers)


@render_chart
def pair_chart(rows: Sequence[ValuePair], *, title: str, labels: tuple[str, str]) -> Spec | None:
    """Two values with their intervals for each model, the first filled and the second hollow; empty without rows.

    Args:
        rows: The models.
        title: Text alternative.
        labels: Names of the two values, for tooltips.
    """
    found = [
        (row, estimate, label, hollow, 26 * (place + 0.5) + aside)
        for place, row in enumerate(rows)
        for estimate, label, aside, hollow in ((row.first, labels[0], -5, False), (row.second, labels[1], 5, True))
        if estimate is not None
    ]
    if not found:
        return None
    marks = [
        _marker(
            row.index, f"{key_of(row.index)} {row.name}, {label}: {e}, n = {e.n}", hollow=hollow, value=e.value, y=y
        )
        for row, e, label, hollow, y in found
    ]
    letters = [{"index": row.index, "y": 26 * (place + 0.5)} for place, row in enumerate(rows)]
    layers = [
        _ranges(_range_rows((row.index, e, {"y": y}) for row, e, _, _, y in found)),
        _markers(marks, _across(), _pixels("y")),
        _letters(letters, _at(-22), _pixels("y")),
    ]
    return _spec(title, 300, 26 * len(rows), layers)


@render_chart
def group_chart(rows: Sequence[Grouped], *, title: str, few: int) -> Spec | None:
    """The models' values with their intervals, group by group; empty without values.

    Args:
        rows: The groups, from top to bottom.
        title: Text alternative.
        few: Values on fewer items are faded.
    """
    line, gap, y = 11.0, 9.0, 0.0
    found: list[tuple[Grouped, int, str, Estimate, float]] = []
    names, edges = [], []
    for row in rows:
        height = line * max(1, len(row.values)) + gap
        names.append(
            {
                "name": printable(_shortened(row.name, 22)),
                "told": printable(row.name),
                "y": y + height / 2,
            }
        )
        edges.append({"y": y})
        found += [
            (row, index, model, estimate, y + gap / 2 + line * (number + 0.5))
            for number, (index, model, estimate) in enumerate(row.values)
        ]
        y += height
    if not found:
        return None
    left = -7.0 * min(22, max(len(row.name) for row in rows)) - 24
    marks = [
        _marker(
            index, f"{row.name}: {key_of(index)} {model}: {e}, n = {e.n}", size=3.2, faded=e.n < few,
            value=e.value, y=at,
        )
        for row, index, model, e, at in found
    ]  # fmt: skip
    layers = [
        _layer({"type": "rule", "color": _LINE}, edges[1:], y=_pixels("y"), x=_at(left), x2=_at(318)),
        _ranges(_range_rows(((i, e, {"y": at}) for _, i, _, e, at in found), faded=lambda e: e.n < few), width=1.3),
        _markers(marks, _across(), _pixels("y")),
        _layer(
            {"type": "text", "aria": True, "align": "left"}, names,
            x=_at(left), y=_pixels("y"), text=_text("name"), description=_text("told"),
        ),
        _letters([{"index": i, "y": at} for _, i, _, _, at in found], _at(-16), _pixels("y"), fontSize=9.5),
    ]  # fmt: skip
    return _spec(title, 318, y, layers)


# Lines.


@dataclass(frozen=True)
class _Point:
    at: float
    value: Estimate
    told: str
    place: int
    """Points at neighbouring places are joined."""


_Lines = Sequence[tuple[int, str, Sequence[_Point]]]


@render_chart
def curve_chart(
    series: Sequence[Series],
    *,
    title: str,
    axis: str = "turn",
    labels: Sequence[str] = (),
    few: int = FEW,
) -> Spec | None:
    """Values over turn positions: a line for each model, its interval as a band, its letter at the line's end.

    More than `MOST_BANDS` lines have no bands.

    Args:
        series: The lines.
        title: Text alternative.
        axis: Name of the axis.
        labels: Names of the positions from 1; by default their numbers.
        few: Points on fewer items are faded and not joined.
    """
    named = {position: labels[position - 1] if labels else str(position) for s in series for position, _ in s.points}
    lines = [
        (
            one.index,
            one.name,
            [_Point(at, e, f"{axis} {named[at]}: {e}, n = {e.n}", at) for at, e in one.points],
        )
        for one in series
    ]
    if not named:
        return None
    # Names are wider than numbers, so they need more room at the ends.
    spare = 0.5 if labels else 0.0
    first, last = min(named) - spare, max(named) + spare
    scale = {"domain": [first, last if last > first else first + 1], "nice": False, "zero": False}
    layers, height = _lines(lines, {"scale": scale, "axis": None}, few)
    widest = max((len(label) for label in labels), default=0)
    most_shown = min(16, 72 // (widest + 2)) if labels else 16
    every = 1 + (len(named) - 1) // max(1, most_shown)
    below = []
    for position in sorted(named)[::every]:
        counts = [e.n for one in series for at, e in one.points if at == position]
        # Models may have answered different numbers of turns; the chart shows the largest.
        count = f"{max(counts)}" if min(counts) == max(counts) else f"≤{max(counts)}"
        below.append({"at": position, "name": printable(named[position]), "count": count})
    heads = [{"text": printable(axis), "y": height + 12}, {"text": "n", "y": height + 26}]
    layers += [
        _layer({"type": "text"}, below, x=_value("at"), y=_at(height + 12), text=_text("name")),
        _layer({"type": "text", "fontSize": 10}, below, x=_value("at"), y=_at(height + 26), text=_text("count")),
        _layer({"type": "text", "align": "left"}, heads, x=_at(-50), y=_pixels("y"), text=_text("text")),
    ]
    return _spec(title, 390, height, layers)


@render_chart
def line_plot(found: Sequence[TimedSeries], *, title: str, axis: str, few: int = 1, log: bool = False) -> Spec | None:
    """Lines over seconds, each interval as a band, each letter at the line's end; empty without stops.

    The axis is proportional. Groups of video time get wider along it, so that linear growth would look curved in a
    plot by position.

    Args:
        found: The lines.
        title: Text alternative.
        axis: Name of the axis, such as `asked at`; the unit, seconds or minutes, is added.
        few: Stops on fewer items are faded and not joined.
        log: Use a logarithmic axis of values; zeros are drawn at its lower end.
    """
    last = max((stop.at for line in found for stop in line.stops), default=None)
    if last is None:
        return None
    seconds, unit = (60.0, "min") if last > 180 else (1.0, "s")
    lines = [
        (
            line.index,
            line.name,
            [
                _Point(stop.at / seconds, stop.value, f"{axis} {stop.name}: {stop.value}, n = {stop.value.n}", place)
                for place, stop in enumerate(line.stops)
            ],
        )
        for line in found
    ]
    across = {
        "scale": {"domain": [0, last / seconds or 1], "nice": False},
        "axis": {"title": f"{printable(axis)} ({unit})", "grid": False, "domain": True, "ticks": True,
                 "tickColor": _SOFT, "domainColor": _SOFT, "tickSize": 4, "tickCount": 7},
    }  # fmt: skip
    layers, height = _lines(lines, across, few, log=log)
    return _spec(title, 390, height, layers)


def _lines(lines: _Lines, across: Spec, few: int, *, log: bool = False) -> tuple[list[Spec], float]:
    """Layers of lines, bands, markers and letters, and the height of the plot."""
    height = max(202.0, _LETTER_HEIGHT * len(lines))
    solid = [(index, stretch) for index, _, points in lines for stretch in _solid(points, few)]
    # Bands of points on very few turns would compress everything else.
    ends = [point.value.value for _, _, points in lines for point in points]
    ends += [end for _, stretch in solid for point in stretch for end in _ends(point.value)]
    positive = [end for end in ends if end > 0]
    log = log and bool(positive)
    if log:
        lowest, highest = 10.0 ** math.floor(math.log10(min(positive))), max(positive) * 1.3
    else:
        lowest, highest = min(0.0, *ends), max(0.0, *ends)
        highest += (highest - lowest or 1.0) * 0.05

    def within(value: float) -> float:
        return min(max(value, lowest), highest)

    def pixels(value: float) -> float:
        whole, part = (
            (math.log(highest / lowest), math.log(highest / within(value)))
            if log
            else (highest - lowest, highest - within(value))
        )
        return height * part / whole

    scale = {"domain": [lowest, highest], "nice": False, "zero": False, **({"type": "log"} if log else {})}
    x, up = _value("at", **across), _value("value", scale=scale, axis={"tickCount": 3 if log else 5})
    joined = [
        {"at": point.at, "value": within(point.value.value), "line": number, "colour": _colour(index),
         "dash": DASHES[index % len(DASHES)]}
        for number, (index, stretch) in enumerate(solid) for point in stretch
    ]  # fmt: skip
    bands = [
        {"at": point.at, "low": within(point.value.low), "high": within(point.value.high), "line": number,
         "colour": _colour(index)}
        for number, (index, stretch) in enumerate(solid) if len(stretch) > 1 for point in stretch
        if point.value.low is not None and point.value.high is not None
    ]  # fmt: skip
    marks = [
        _marker(
            index, f"{key_of(index)} {name}, {point.told}", size=2.6, faded=point.value.n < few,
            at=point.at, value=within(point.value.value),
        )
        for index, name, points in lines for point in points
    ]  # fmt: skip
    last = {
        index: (stretches[-1] if (stretches := _solid(points, few)) else points)[-1]
        for index, _, points in lines
        if points
    }
    order = sorted(last, key=lambda index: (pixels(last[index].value.value), last[index].at))
    places = spread_labels([pixels(last[index].value.value) for index in order], lowest=0.0, highest=height)
    letters = [{"index": index, "at": last[index].at, "y": y} for index, y in zip(order, places, strict=True)]
    layers = [
        _layer(
            {"type": "area", "opacity": 0.1, "line": False}, bands if len(lines) <= MOST_BANDS else [],
            x=x, y=_value("low", scale=scale), y2={"field": "high"}, detail=_text("line"), fill=_as_is("colour"),
        ),
        _layer(
            {"type": "line", "strokeWidth": 1.8}, joined,
            x=x, y=up, detail=_text("line"), stroke=_as_is("colour"), strokeDash=_as_is("dash"),
        ),
        _markers(marks, x, up),
        _letters(letters, x, _pixels("y"), dx=7, **_HALO),
    ]  # fmt: skip
    return layers, height


def _ends(estimate: Estimate) -> list[float]:
    return [end for end in (estimate.low, estimate.high) if end is not None]


def _solid(points: Sequence[_Point], few: int) -> list[list[_Point]]:
    """Runs of neighbouring points on enough turns, which a line joins."""
    stretches: list[list[_Point]] = []
    before: int | None = None
    for point in points:
        if point.value.n < few:
            continue
        if before is None or point.place != before + 1:
            stretches.append([])
        stretches[-1].append(point)
        before = point.place
    return stretches


def spread_labels(
    heights: Sequence[float], *, lowest: float, highest: float, apart: float = _LETTER_HEIGHT
) -> list[float]:
    """Sorted heights, moved apart so that letters do not overlap, and limited to the plot."""
    apart = min(apart, (highest - lowest) / max(len(heights), 1))
    spread: list[float] = []
    for height in heights:
        spread.append(max(height, spread[-1] + apart) if spread else height)
    limit = highest
    for place in range(len(spread) - 1, -1, -1):
        spread[place] = min(spread[place], limit)
        limit = spread[place] - apart
    return spread


# Points.


@render_chart
def spot_chart(found: Sequence[Spot], *, title: str, axis: str) -> Spec | None:
    """Values with their intervals against a positive quantity on a logarithmic axis; empty without values.

    Args:
        found: One for each model; models may share a quantity.
        title: Text alternative.
        axis: Name of the quantity.
    """
    if not found:
        return None
    first, last = math.log10(min(spot.at for spot in found)), math.log10(max(spot.at for spot in found))
    margin = max(0.12, (last - first) * 0.06)
    first, last = first - margin, last + margin
    # Models with similar quantities are drawn side by side, inside the plot.
    step = (last - first) * 10 / 386
    near: dict[int, list[Spot]] = {}
    for spot in sorted(found, key=lambda spot: spot.index):
        near.setdefault(round(math.log10(spot.at) / step), []).append(spot)
    placed = []
    for together in near.values():
        half = (len(together) - 1) / 2 * step
        middle = sum(math.log10(spot.at) for spot in together) / len(together)
        start = max(first + step / 2, min(middle, last - half) - half)
        placed += [(10 ** (start + number * step), spot) for number, spot in enumerate(together)]
    digits = (1, 2, 5) if last - first < 3 else (1,)
    quantities = [digit * 10.0**power for power in range(math.floor(first), math.ceil(last) + 1) for digit in digits]
    across = _value(
        "at", scale={"type": "log", "domain": [10**first, 10**last], "nice": False},
        axis={"title": printable(axis), "grid": False, "domain": True, "domainColor": _SOFT, "ticks": True,
              "tickColor": _SOFT, "tickSize": 4, "format": "~r",
              "values": [quantity for quantity in quantities if first <= math.log10(quantity) <= last]},
    )  # fmt: skip
    up = _value("value", scale=_WIDE, axis={})
    marks = [
        _marker(
            spot.index, f"{key_of(spot.index)} {spot.name}, {axis}: {spot.at:g}: {spot.value}",
            at=at, value=spot.value.value,
        )
        for at, spot in placed
    ]  # fmt: skip
    letters = [
        {"index": spot.index, "at": at, "value": max([spot.value.value, *_ends(spot.value)])} for at, spot in placed
    ]
    layers = [
        _ranges(_range_rows((spot.index, spot.value, {"at": at}) for at, spot in placed), upright="at"),
        _markers(marks, across, up),
        _letters(letters, across, up, align="center", dy=-9, **_HALO),
    ]
    return _spec(title, 386, 202, layers)


@render_chart
def strip_chart(
    points: Sequence[tuple[float, float, int, str]],
    *,
    people: tuple[float, float],
    judge: tuple[float, float],
    title: str,
) -> Spec | None:
    """A judge's scores by people's rating: a disc for each pair of values, with the number as its area, and the mean.

    Args:
        points: Rating by people, score of the judge, number of answers, and model.
        people: Scale of people.
        judge: Scale of the judge.
        title: Text alternative.
    """
    if not points:
        return None
    counts: dict[tuple[float, float], int] = {}
    sums: dict[float, list[float]] = {}
    levels, values = len({one for one, _, _, _ in points}), len({other for _, other, _, _ in points})
    for one, other, count, _ in points:
        level = _step(one, people, levels)
        key = (level, _step(other, judge, values))
        counts[key] = counts.get(key, 0) + count
        total = sums.setdefault(level, [0.0, 0.0])
        total[0] += other * count
        total[1] += count
    most = max(counts.values())
    discs = [
        {"people": one, "judge": other, "size": max(math.pi * 81 * count / most, 2.0),
         "told": f"people {one:.3g}, judge {other:.3g}: {count:,}"}
        for (one, other), count in sorted(counts.items())
    ]  # fmt: skip
    through = [{"people": level, "judge": total / count} for level, (total, count) in sorted(sums.items())]
    x, y = _agreement_axes(people, judge)
    layers = [
        _layer(
            {"type": "circle", "aria": True, "color": _BAR, "opacity": 0.4}, discs,
            x=x, y=y, size=_as_is("size"), description=_text("told"),
        ),
        _layer({"type": "line", "color": _BOUND, "strokeWidth": 2}, through, x=x, y=y),
    ]  # fmt: skip
    return _spec(title, 240, 160, layers)


@render_chart
def mean_chart(
    models: Sequence[ModelMeans], *, people: tuple[float, float], judge: tuple[float, float], title: str
) -> Spec | None:
    """Models' means by people and by a judge, each with the model's number.

    Args:
        models: The means, numbered from 1 in this order.
        people: Scale of people.
        judge: Scale of the judge.
        title: Text alternative.
    """
    x, y = _agreement_axes(
        _around([one.people for one in models], people), _around([one.judge for one in models], judge)
    )
    rows = [
        {"people": one.people, "judge": one.judge, "number": str(number),
         "told": printable(f"{number} {one.model}: people {format_value(one.people)}, "
                           f"judge {format_value(one.judge)}, n = {one.n}")}
        for number, one in enumerate(models, start=1)
    ]  # fmt: skip
    layers = [
        _layer({"type": "circle", "aria": True, "color": _BAR, "opacity": 1, "size": 52}, rows, x=x, y=y,
               description=_text("told")),
        _layer({"type": "text", "align": "left", "dx": 6, "dy": -4, "color": _INK, "fontWeight": "bold", **_HALO}, rows,
               x=x, y=y, text=_text("number")),
    ]  # fmt: skip
    return _spec(title, 240, 160, layers)


def _agreement_axes(people: tuple[float, float], judge: tuple[float, float]) -> tuple[Spec, Spec]:
    """The axes: people horizontally, the judge vertically."""

    def axis(field: str, scale: tuple[float, float], name: str, pixels: float) -> Spec:
        low, high = scale if scale[1] > scale[0] else (scale[0] - 0.5, scale[1] + 0.5)
        # Room for the largest disc.
        room = (high - low) * 9 / (pixels - 18)
        domain = {"domain": [low - room, high + room], "nice": False, "zero": False}
        return _value(field, scale=domain, axis={"title": name, "titleAnchor": "end"})

    return axis("people", people, "people →", 240), axis("judge", judge, "judge →", 160)


def _around(values: Sequence[float], scale: tuple[float, float]) -> tuple[float, float]:
    """A range around some values, with padding."""
    lowest, highest = min(values), max(values)
    room = (highest - lowest) * 0.15 or (scale[1] - scale[0]) * 0.05 or 1.0
    return lowest - room, highest + room


def _step(value: float, scale: tuple[float, float], different: int, most: int = 11) -> float:
    """The value itself if there are few different ones; else the middle of its step of the scale."""
    width = (scale[1] - scale[0]) / most
    if different <= most or width <= 0:
        return value
    place = min(max(int((value - scale[0]) / width), 0), most - 1)
    return scale[0] + (place + 0.5) * width


@render_chart
def frequency_plot(
    index: int, dots: Sequence[Dot], *, title: str, rare_percent: float, overall: float | None
) -> Spec | None:
    """A model's achievement at each tag by the tag's frequency; rare tags are named.

    Args:
        index: The model's place on the leaderboard.
        dots: Its tags.
        title: Text alternative.
        rare_percent: Tags below this frequency are in the shaded part.
        overall: The model's mean over all questions, drawn as a horizontal line.

    Returns:
        Empty if there are no dots.
    """
    if not dots:
        return None
    width, height = 406.0, 220.0
    most = max(max(dot.percent for dot in dots), 2 * rare_percent)
    kept: list[float] = []
    for percent in (1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0):
        apart = math.sqrt(percent / most) - math.sqrt((kept[-1] if kept else 0.0) / most)
        if percent <= most and (percent == rare_percent or apart * width > 30):
            kept.append(percent)
    # The square root gives more room to rare tags, the subject of the chart.
    x = _value(
        "at", scale={"type": "sqrt", "domain": [0, most], "nice": False},
        axis={"grid": False, "values": kept, "labelExpr": "datum.value + ' %'", "titleAnchor": "end",
              "title": "of the questions have the tag"},
    )  # fmt: skip
    y = _value("value", scale={"domain": [0, 100]}, axis={})
    marks = [
        _marker(
            index, f"{dot.name}: {dot.value}, {dot.percent:.1f} % of the questions, n = {dot.value.n:,}", size=3.4,
            faded=dot.value.n < FEW, at=dot.percent, value=dot.value.value,
        )
        for dot in dots
    ]  # fmt: skip
    rare = sorted((dot for dot in dots if dot.percent < rare_percent), key=lambda dot: -dot.value.value)
    places = spread_labels(
        [height * (1 - dot.value.value / 100) for dot in rare], lowest=0.0, highest=height - 2, apart=12
    )
    names = [{"at": dot.percent, "y": at, "name": printable(dot.name)} for dot, at in zip(rare, places, strict=True)]
    across = (
        []
        if overall is None
        else [{"value": overall, "told": f"all questions: {overall:.2f}", "text": "all questions"}]
    )
    layers = [
        _layer({"type": "rect", "color": "var(--warn-panel)"}, [{"at": 0, "to": rare_percent}],
               x=x, x2={"field": "to"}, y=_at(0), y2=_at(height)),
        _layer({"type": "rule", "aria": True, "color": _INK, "strokeWidth": 1.4, "strokeDash": [3, 2]}, across, y=y,
               description=_text("told")),
        _layer({"type": "text", "align": "right", "dy": -7, **_HALO}, across, x=_at(width), y=y, text=_text("text")),
        _ranges(_range_rows((index, dot.value, {"at": dot.percent}) for dot in dots), width=1.3, upright="at"),
        _markers(marks, x, y),
        _layer({"type": "text", "align": "left", "dx": 7, "fontSize": 12, "color": _INK, **_HALO}, names,
               x=x, y=_pixels("y"), text=_text("name")),
    ]  # fmt: skip
    return _spec(title, width, height, layers)


@render_chart
def radar_chart(axes: Sequence[Axis], polygons: Sequence[Polygon], *, title: str) -> Spec | None:
    """Values from 0 to 100 on axes around a centre: a polygon for each model, whiskers for its intervals.

    An axis without a value is a gap in the polygon, not a point at the centre.

    Args:
        axes: At least three.
        polygons: The models; at most `MOST_POLYGONS` are readable.
        title: Text alternative.

    Returns:
        Empty if no model has a value.
    """
    if not any(value is not None for polygon in polygons for value in polygon.values):
        return None
    angles = [2 * math.pi * place / len(axes) for place in range(len(axes))]
    radius, rings = 150.0, (25, 50, 75, 100)
    # A triangle extends less far down than up.
    low = radius * max(-math.cos(angle) for angle in angles)

    def at(angle: float, value: float, aside: float = 0.0) -> _Row:
        """A position in pixels; `aside` separates the whiskers of several models on one axis."""
        far = radius * value / 100
        x = radius + far * math.sin(angle) + aside * math.cos(angle)
        return {"x": round(x, 2), "y": round(radius - far * math.cos(angle) + aside * math.sin(angle), 2)}

    x, y = _pixels("x"), _pixels("y")
    between = math.pi / len(axes)
    circled = [*angles, angles[0]]
    net = [{**at(angle, ring), "line": ring, "order": n} for ring in rings for n, angle in enumerate(circled)]
    net += [
        {**place, "line": 1000 + n, "order": order}
        for n, angle in enumerate(angles)
        for order, place in enumerate((at(angle, 0), at(angle, 100)))
    ]
    # Between two axes, where there are no whiskers.
    scale = [{**at(between, ring * math.cos(between)), "text": str(ring)} for ring in rings]
    names = []
    for angle, axis in zip(angles, axes, strict=True):
        side = "center" if abs(math.sin(angle)) < 0.1 else "left" if math.sin(angle) > 0 else "right"
        place = at(angle, 109)
        place["y"] += -14 if math.cos(angle) > 0.9 else 4 if math.cos(angle) < -0.9 else -4
        names.append({**place, "side": side, "name": printable(axis.name), "note": printable(axis.note)})
    sides: list[_Row] = []
    filled: list[_Row] = []
    ranges: list[_Row] = []
    marks: list[_Row] = []
    corners: list[list[_Row]] = []
    for number, polygon in enumerate(polygons):
        aside = (number - (len(polygons) - 1) / 2) * 3.4
        looks = {"colour": _colour(polygon.index), "dash": DASHES[polygon.index % len(DASHES)]}
        own = [at(angle, v.value, aside) if v else None for angle, v in zip(angles, polygon.values, strict=True)]
        for n, stretch in enumerate(_ring_stretches(own)):
            sides += [{**place, **looks, "line": f"{number}/{n}", "order": k} for k, place in enumerate(stretch)]
        if None not in own and len(polygons) <= 3:
            filled += [
                {**place, **looks, "line": number, "order": k} for k, place in enumerate([*own, own[0]]) if place
            ]
        corners.append([place for place in own if place is not None])
        for angle, value, axis in zip(angles, polygon.values, axes, strict=True):
            if value is None:
                continue
            if value.low is not None and value.high is not None:
                end = at(angle, value.high, aside)
                ranges.append({**at(angle, value.low, aside), "x2": end["x"], "y2": end["y"], **looks})
            told = f"{key_of(polygon.index)} {polygon.name}, {axis.name}: {value}, n = {value.n:,}"
            marks.append(_marker(polygon.index, told, size=3.1, faded=value.n < FEW, **at(angle, value.value, aside)))
    path = {"x": x, "y": y, "detail": _text("line"), "order": _value("order")}
    layers = [
        _layer({"type": "line", "color": _LINE, "strokeWidth": 1}, net, **path),
        _layer({"type": "text", "fontSize": 10, **_HALO}, scale, x=x, y=y, text=_text("text")),
        _layer({"type": "line", "stroke": None, "fillOpacity": 0.1}, filled, **path, fill=_as_is("colour")),
        _layer({"type": "line", "strokeWidth": 1.6}, sides, **path, stroke=_as_is("colour"), strokeDash=_as_is("dash")),
        _layer({"type": "rule", "strokeWidth": 1.3, "opacity": 0.75, "strokeCap": "round"}, ranges,
               x=x, y=y, x2={"field": "x2"}, y2={"field": "y2"}, color=_as_is("colour")),
        _markers(marks, x, y),
        _letters(_letter_places(polygons, corners), x, y, align="center", **_HALO),
    ]  # fmt: skip
    for side in ("left", "center", "right"):
        own_names = [row for row in names if row["side"] == side]
        layers += [
            _layer(
                {"type": "text", "align": side, "fontSize": 12, "color": _INK}, own_names, x=x, y=y, text=_text("name")
            ),
            _layer({"type": "text", "align": side, "dy": 13, "fontSize": 10}, own_names, x=x, y=y, text=_text("note")),
        ]
    return _spec(title, 2 * radius, radius + low, layers)


def _ring_stretches(corners: Sequence[_Row | None]) -> list[list[_Row]]:
    """A closed line if every axis has a value; else the sides between neighbours with values."""
    whole = [corner for corner in corners if corner is not None]
    if len(whole) == len(corners):
        return [[*whole, whole[0]]]
    around = [*corners, corners[0]]
    return [[before, after] for before, after in pairwise(around) if before is not None and after is not None]


def _letter_places(polygons: Sequence[Polygon], corners: Sequence[Sequence[_Row]]) -> list[_Row]:
    """Each polygon's letter at the corner that is furthest from all other corners and letters."""
    taken = [(corner["x"], corner["y"]) for own in corners for corner in own]
    rows = []
    for polygon, own in zip(polygons, corners, strict=True):
        spots = [
            (corner["x"] + dx, corner["y"] + dy)
            for corner in own
            for dx, dy in ((-10, -6), (10, -6), (10, 10), (-10, 10))
        ]
        if spots:
            best = max(spots, key=lambda spot: min((math.dist(spot, other) for other in taken), default=0.0))
            taken.append(best)
            rows.append({"index": polygon.index, "x": best[0], "y": best[1]})
    return rows


# Bars. Charts can be read without colour: a bar's value is next to it, inner bars are thinner and fainter, and rare
# ones are outlines.


def _bar_looks(kind: str) -> _Row:
    return {
        "fill": _PAPER if kind == "rare" else _BAR,
        "stroke": _BOUND if kind == "rare" else "none",
        "opacity": 0.45 if kind == "inner" else 1,
    }


def _rects(rows: Sequence[_Row], x: Spec, y: Spec) -> Spec:
    return _layer(
        {"type": "rect", "aria": True, "strokeWidth": 1.4, "strokeDash": [3, 2]}, rows,
        x=x, y=y, x2={"field": "x2"}, y2={"field": "y2"}, fill=_as_is("fill"), stroke=_as_is("stroke"),
        opacity=_as_is("opacity"), description=_text("told"),
    )  # fmt: skip


_DASHED: Final = {"type": "rule", "color": _BOUND, "strokeWidth": 1.2, "strokeDash": [5, 3]}


@render_chart
def bar_chart(rows: Sequence[BarRow], *, title: str, bound: float | None = None, bound_name: str = "") -> Spec | None:
    """Horizontal bars, one below the other; empty if there are none.

    Args:
        rows: The bars; inner ones follow the bar that they are a part of.
        title: Text alternative.
        bound: Value of a dashed line.
        bound_name: Name of that value.
    """
    if not rows:
        return None
    most = max(*(row.value for row in rows), bound or 0.0) or 1.0
    parts, y = [], 0.0
    for row in rows:
        kind = "rare" if row.rare else "inner" if row.inner else "part"
        high = 7 if row.inner else 12
        parts.append({
            "x": 0, "x2": max(row.value, most / 500), "y": y, "y2": y + high, "middle": y + high / 2,
            "label": printable(_shortened(row.label, MOST_LETTERS - 2 * row.inner)), "beside": printable(row.told),
            "told": printable(f"{row.label}: {row.told}"), "inner": row.inner, **_bar_looks(kind),
        })  # fmt: skip
        y += 13 if row.inner else 19
    x = _value("x", scale={"domain": [0, most], "nice": False}, axis=None)
    marked = [] if bound is None else [{"x": bound, "text": printable(bound_name)}]
    layers = [
        _layer(_DASHED, marked, x=x, y=_at(-2), y2=_at(y)),
        _layer({"type": "text", "align": "left", "dx": 4}, marked, x=x, y=_at(-8), text=_text("text")),
        _rects(parts, x, _pixels("y")),
        *(
            _layer({"type": "text", "align": "right", "color": _SOFT if inner else _INK},
                   [row for row in parts if row["inner"] == inner], x=_at(-8), y=_pixels("middle"), text=_text("label"))
            for inner in (False, True)
        ),
        _layer({"type": "text", "align": "left", "dx": 6, **_HALO}, parts,
               x={**x, "field": "x2"}, y=_pixels("middle"), text=_text("beside")),
    ]  # fmt: skip
    return _spec(title, 220, y, layers)


def histogram_bins(spread: Spread, *, steps: Sequence[float] = (), whole: bool = False) -> list[HistogramBin]:
    """Equal bins with their counts; the last one includes a long tail.

    Args:
        spread: The values, 0 or more.
        steps: Allowed widths; any round number if none is given, or if the last is too narrow.
        whole: True for whole numbers; bins are then at least 1 wide.
    """
    if not spread.n:
        return []
    values = sorted(spread.counts)
    covered, upper = 0, values[-1]
    for value in values:
        covered += spread.counts[value]
        if covered >= TAIL * spread.n:
            upper = value
            break
    low = values[0]
    if whole and values[-1] - low < MOST_BINS:
        upper = values[-1]
    fine = (upper - low) / MOST_BINS
    step = next((step for step in steps if step >= fine), None) or _round_step(fine, whole=whole)
    start = math.floor(low / step) * step
    wanted = int((upper - start) / step) + 1
    counts = [0] * (wanted + 1)
    for value, count in spread.counts.items():
        counts[min(wanted, int((value - start) / step + 1e-9))] += count
    ends = [round(start + n * step, 6) for n in range(wanted + 1)]
    found = [HistogramBin(ends[n], ends[n + 1], counts[n], whole) for n in range(wanted)]
    return [*found, HistogramBin(ends[-1], math.inf, counts[wanted], whole)] if counts[wanted] else found


def _round_step(fine: float, *, whole: bool) -> float:
    step = axis_ticks(0, max(fine * 2, 1e-6), 2)
    width = next((each for each in step if each >= fine and each > 0), max(fine, 1e-6))
    return max(1.0, math.ceil(width)) if whole else width


@render_chart
def histogram_chart(
    found: Sequence[HistogramBin],
    *,
    title: str,
    axis: str = "",
    mark: float | None = None,
    mark_name: str = "",
    width: float = 444,
) -> Spec | None:
    """Vertical bars with the number of values in each bin.

    Args:
        found: From `histogram_bins`.
        title: Text alternative.
        axis: Name of the axis.
        mark: Value of a dashed line, drawn if it is in the range.
        mark_name: Name of that value.
        width: Width of all bars together in pixels, if there are many.
    """
    if not found:
        return None
    bar, height = min(64.0, width / len(found)), 134.0
    # On a phone the chart is smaller but its letters are not; they are about 8 wide.
    every = 1 + max(8 * len(each.label) for each in found[: len(found) - 1] or found) // int(bar)
    spare = 1.5 / bar
    rows = [
        {
            "x": place + spare, "x2": place + 1 - spare, "middle": place + 0.5, "y": 0, "y2": each.count,
            "told": f"{each.label}: {each.count:,}", "count": f"{each.count:,}" if each.count else "",
            "label": "" if place % every else f"{each.low:g}+" if math.isinf(each.high)
            else each.label if every == 1 else f"{each.low:g}",
            **_bar_looks("part"),
        }
        for place, each in enumerate(found)
    ]  # fmt: skip
    x = _value("x", scale={"domain": [0, len(found)], "nice": False}, axis=None)
    y = _value("y", scale={"domain": [0, max(each.count for each in found) or 1], "nice": False}, axis=None)
    marked = []
    if mark is not None and found[0].low < mark < found[-1].low + (found[0].high - found[0].low):
        marked = [{"x": (mark - found[0].low) / (found[0].high - found[0].low), "text": printable(mark_name)}]
    middle = {**x, "field": "middle"}
    layers = [
        _rects(rows, x, y),
        _layer({"type": "text", "dy": -8, "fontSize": 10}, rows, x=middle, y={**y, "field": "y2"}, text=_text("count")),
        _layer({"type": "text"}, rows, x=middle, y=_at(height + 11), text=_text("label")),
        _layer({"type": "rule"}, [{"y": 0}], y=y, x=_at(0), x2=_at(bar * len(found))),
        _layer(_DASHED, marked, x=x, y=_at(-12), y2=_at(height)),
        _layer({"type": "text", "align": "left", "dx": 4}, marked, x=x, y=_at(-18), text=_text("text")),
        _layer({"type": "text"}, [{"text": printable(axis)}] if axis else [], x=_at(bar * len(found) / 2),
               y=_at(height + 27), text=_text("text")),
    ]  # fmt: skip
    return _spec(title, bar * len(found), height, layers)


@render_chart
def share_chart(rows: Sequence[tuple[str, int]], *, title: str) -> Spec | None:
    """One bar divided into parts; empty if there are none.

    Args:
        rows: Names and counts.
        title: Text alternative.
    """
    total = sum(count for _, count in rows)
    if not total:
        return None
    parts, before = [], 0
    for place, (name, count) in enumerate(rows):
        parts.append({
            "x": before, "x2": before + count, "y": 20, "y2": 40, "told": printable(f"{name}: {count:,}"),
            "name": printable(f"{name} {100 * count / total:.1f} %"),
            **_bar_looks(("part", "rare", "inner")[place % 3]),
        })  # fmt: skip
        before += count
    x = _value("x", scale={"domain": [0, total], "nice": False}, axis=None)
    last = parts[-1:] if len(parts) > 1 else []
    first = parts[: len(parts) - len(last)]
    layers = [
        _rects(parts, x, _pixels("y")),
        _layer({"type": "text", "align": "left", "color": _INK}, first, x=x, y=_at(9), text=_text("name")),
        _layer(
            {"type": "text", "align": "right", "color": _INK},
            last,
            x={**x, "field": "x2"},
            y=_at(9),
            text=_text("name"),
        ),
    ]
    return _spec(title, 444, 42, layers)


@render_chart
def count_grid(rows: Sequence[tuple[str, Sequence[int]]], heads: Sequence[str], *, title: str) -> Spec | None:
    """A grid with a bar in every cell, all on one scale.

    Args:
        rows: Names, with a count for each column.
        heads: Names of the columns.
        title: Text alternative.
    """
    most = max((count for _, counts in rows for count in counts), default=0)
    if not most:
        return None
    width, height = 314.0, 18.0 * len(rows)
    # The count is next to its bar.
    room = 1 - 32 * len(heads) / width
    cells = [
        {
            "x": place, "x2": place + room * count / most, "y": 18 * line, "y2": 18 * line + 11,
            "middle": 18 * line + 5.5, "count": f"{count:,}", "told": printable(f"{name}, {head}: {count:,}"),
            **_bar_looks("part"),
        }
        for line, (name, counts) in enumerate(rows)
        for place, (head, count) in enumerate(zip(heads, counts, strict=True))
    ]  # fmt: skip
    columns = [{"x": place, "text": printable(head)} for place, head in enumerate(heads)]
    names = [{"name": printable(_shortened(name, 18)), "y": 18 * line + 5.5} for line, (name, _) in enumerate(rows)]
    x = _value("x", scale={"domain": [0, len(heads)], "nice": False}, axis=None)
    layers = [
        _layer({"type": "text", "align": "left"}, columns, x=x, y=_at(-12), text=_text("text")),
        _layer({"type": "text", "align": "right", "color": _INK}, names, x=_at(-8), y=_pixels("y"), text=_text("name")),
        _rects([cell for cell in cells if cell["x2"] > cell["x"]], x, _pixels("y")),
        _layer({"type": "text", "align": "left", "dx": 4, "fontSize": 10}, cells,
               x={**x, "field": "x2"}, y=_pixels("middle"), text=_text("count")),
    ]  # fmt: skip
    return _spec(title, width, height, layers)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
