"""The page of scores over groups: by task, skill, question type, relation, scene, turns and length of the video."""

from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import kind_of, title_of
from reeltalk.analysis.table_files import TableCell
from reeltalk.pages import charts
from reeltalk.pages.breakdowns import Breakdown, GroupTable, breakdowns, has_groups
from reeltalk.pages.charts import Estimate, Grouped, Series
from reeltalk.pages.quantities import quantity
from reeltalk.pages.site import Site
from reeltalk.schema.runs import GroupRow

PAGE: Final = "breakdowns.html"
ALONG_AN_AXIS: Final = frozenset({"turns", "video_length"})
"""Groups that have an order, so that lines may join them."""
MOST_MODELS: Final = 10
"""With more, the figures of groups are not drawn: nobody tells eleven rows a group apart."""


def applies(site: Site) -> bool:
    """True where some run has numbers of groups."""
    return has_groups(site.board)


def write_breakdowns(site: Site) -> None:
    """Write `breakdowns.html`.

    Args:
        site: The report.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    found = breakdowns(site.board)
    shown = [model for model in site.board.models if model.floor is None]
    too_many = len(shown) > MOST_MODELS
    tables = {
        (breakdown.by, table.metric): _table(site, breakdown, table)
        for breakdown in found
        for table in breakdown.tables
    }
    drawn = {breakdown.by: {} if too_many else _figures(site, breakdown) for breakdown in found}
    site.render(PAGE, PAGE, groups=found, tables=tables, drawn=drawn, too_many=too_many)


def _table(site: Site, breakdown: Breakdown, table: GroupTable) -> Markup:
    header = [breakdown.title.removeprefix("By ").capitalize(), *(model.name for model in site.board.models)]
    rows: list[list[TableCell]] = [
        [group.replace("_", " "), *(quantity(row, table.metric) for row in rows)] for group, rows in table.rows
    ]
    title = f"{title_of(table.metric)}, {breakdown.title.lower()}"
    return site.table(PAGE, f"{breakdown.by}-{table.metric}", header, rows, title, site.signatures_of(table.metric))


def _figures(site: Site, breakdown: Breakdown) -> dict[str, Markup]:
    """Figures of judged headlines, or where there are none of text metrics, that have several groups."""
    judged = [table for table in breakdown.tables if kind_of(table.metric) == "headline"]
    drawn = {}
    for table in judged or breakdown.tables:
        if len(table.rows) < 2:
            continue
        title = f"{title_of(table.metric)}, {breakdown.title.lower()}"
        draw = _line if breakdown.by in ALONG_AN_AXIS else _rows
        if svg := draw(site, breakdown, table, title):
            name = f"{breakdown.by}-{table.metric}"
            drawn[table.metric] = site.figure(PAGE, name, svg, title, site.signatures_of(table.metric))
    return drawn


def _rows(site: Site, breakdown: Breakdown, table: GroupTable, title: str) -> str:
    rows = []
    for group, cells in table.rows:
        values = [
            (index, model.name, estimate)
            for index, (model, cell) in enumerate(zip(site.board.models, cells, strict=True))
            if model.floor is None and (estimate := _estimate(cell)) is not None
        ]
        rows.append(Grouped(group.replace("_", " "), values))
    return charts.groups([row for row in rows if row.values], title=title, few=charts.FEW)


def _line(site: Site, breakdown: Breakdown, table: GroupTable, title: str) -> str:
    series = []
    for index, model in enumerate(site.board.models):
        points = [
            (place, estimate)
            for place, (_, cells) in enumerate(table.rows, start=1)
            if (estimate := _estimate(cells[index])) is not None
        ]
        if points and model.floor is None:
            series.append(Series(index, model.name, points))
    axis = breakdown.title.removeprefix("By ").split()[-1] if breakdown.by != "turns" else "turns"
    return charts.curves(series, title=title, axis=axis, labels=[group for group, _ in table.rows])


def _estimate(row: GroupRow | None) -> Estimate | None:
    return None if row is None or row.value is None else Estimate(row.value, row.low, row.high, row.n, row.videos)
