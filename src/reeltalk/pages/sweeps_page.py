"""The page that sets runs of one model side by side that differ in one setting."""

from itertools import groupby
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import kind_of, title_of
from reeltalk.analysis.table_files import TableCell
from reeltalk.pages import charts
from reeltalk.pages.charts import Series
from reeltalk.pages.contrasts import DIFFERENCES
from reeltalk.pages.quantities import quantity
from reeltalk.pages.site import Site
from reeltalk.pages.sweeps import SWEPT, Line, Swept, lines_of, swept

PAGE: Final = "settings.html"

_Found = list[tuple[Line, list[Swept]]]


def has_sweeps(site: Site) -> bool:
    """True where runs of one model differ in one setting."""
    return bool(lines_of(site.board))


def write_sweeps(site: Site) -> None:
    """Write `settings.html`.

    Args:
        site: The report.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    lines = lines_of(site.board)
    found = list(zip(lines, swept(site.board, lines), strict=True))
    sections = []
    for setting, group in groupby(found, key=lambda pair: pair[0].setting):
        shown = list(group)
        tables = [(line, metrics, _table(site, line, metrics)) for line, metrics in shown]
        sections.append((setting, SWEPT[setting], _figures(site, setting, shown), tables))
    site.render(PAGE, PAGE, sections=sections, few_turns=charts.FEW)


def _figures(site: Site, setting: str, found: _Found) -> list[tuple[str, Markup]]:
    metrics = list(dict.fromkeys(one.metric for _, metrics in found for one in metrics))
    judged = [metric for metric in metrics if kind_of(metric) == "headline"]
    labels = list(dict.fromkeys(value for line, _ in found for value in line.values))
    drawn: list[tuple[str, Markup]] = []
    for metric in judged or metrics:
        series = []
        for line, values in found:
            steps = [one.steps for one in values if one.metric == metric]
            points = [
                (labels.index(value) + 1, step.value)
                for value, step in zip(line.values, steps[0] if steps else (), strict=False)
                if step.value is not None
            ]
            if points:
                series.append(Series(line.index, line.name, sorted(points, key=lambda point: point[0])))
        title = f"{title_of(metric)} by {SWEPT[setting].lower()}"
        svg = charts.curves(series, title=title, axis=setting, labels=labels)
        if svg:
            file = site.figure(PAGE, f"{setting}-{metric}", svg, title, site.signatures_of(metric))
            drawn.append((title_of(metric), file))
    return drawn


def _table(site: Site, line: Line, metrics: list[Swept]) -> Markup:
    first = line.values[0]
    header = ["Metric", *line.values, *(f"{value} less {first}" for value in line.values[1:])]
    rows: list[list[TableCell]] = [
        [
            title_of(one.metric),
            *(quantity(step.value, one.metric) for step in one.steps),
            *(quantity(step.difference, one.metric, signed=True) for step in one.steps[1:]),
        ]
        for one in metrics
    ]
    title = f"{line.name} by {SWEPT[line.setting].lower()}"
    signatures = site.signatures_of(*(one.metric for one in metrics), models=line.indices)
    notes = [f"{DIFFERENCES}, not corrected for the number of comparisons."]
    if not all(step.same_turns for one in metrics for step in one.steps):
        notes.append("Differences over other turns about the same videos where the turns are not the same.")
    return site.table(PAGE, f"{line.setting}-{line.name}", header, rows, title, signatures, notes=notes)
