"""The page that says what looking is worth: runs beside their controls, by metric and by group of turns."""

from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import scale_of
from reeltalk.analysis.comparison import Comparison, shown_difference, shown_p
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.metrics.uncertainty import FEWEST_VIDEOS
from reeltalk.pages import charts
from reeltalk.pages.charts import Estimate, Grouped
from reeltalk.pages.looking import Looking, LookingTable, looking_of, looking_sentence
from reeltalk.pages.site import Page, Site
from reeltalk.schema.runs import CONTROLS

FILE: Final = "looking.html"
NOTE: Final = (
    "Differences: the video's own pictures less the control, on the same turns; t intervals clustered by source video "
    "(CR2, Imbens-Kolesár degrees of freedom), as `reeltalk compare` gives them. p: corrected by Holm over the table's "
    "tests of the metric."
)


def write_looking(site: Site) -> None:
    """Write `looking.html`.

    Args:
        site: The report.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    sections = []
    for run, controls in site.controls:
        for looking in looking_of(run, controls):
            shown_name = next(
                (m.name for m in site.board.models if m.run is run and m.info.model == looking.model), looking.model
            )
            tables = [
                (table, _figure(site, shown_name, looking, table), _files(site, shown_name, looking, table))
                for table in looking.tables
                if table.lines
            ]
            sections.append((shown_name, looking, looking_sentence(looking), tables))
    site.render(
        FILE,
        FILE,
        sections=sections,
        fewest_videos=FEWEST_VIDEOS,
        titles=CONTROLS,
        shown_difference=shown_difference,
        shown_p=shown_p,
    )


PAGE: Final = Page("Looking", FILE, lambda site: bool(site.controls), write_looking)


def _files(site: Site, name: str, looking: Looking, table: LookingTable) -> Markup:
    header = [
        "Metric" if table.by is None else table.by.replace("_", " ").capitalize(),
        "Scale",
        "Own pictures",
    ]
    for control in looking.controls:
        title = CONTROLS[control]
        header += [f"With {title}", f"Own less {title}", f"p, {title}"]
    rows: list[list[TableCell]] = []
    for line in table.lines:
        cells: list[TableCell] = [line.name, scale_of(line.metric), Quantity(line.own, metric=line.metric)]
        for one in line.comparisons:
            cells += [
                Quantity(one.second_value, metric=line.metric, missing="not compared"),
                Quantity(one.difference, one.low, one.high, one.items, line.metric, signed=True, videos=one.videos),
                shown_p(one.corrected_p),
            ]
        rows.append(cells)
    signatures = [
        cell.row.signature
        for metric in dict.fromkeys(line.metric for line in table.lines)
        for model in looking.board.models
        if model.info.model == looking.model and (cell := model.cells[metric]) is not None
    ]
    notes = [NOTE, *([looking.few_videos] if looking.few_videos else [])]
    return site.table(FILE, f"{name}-{table.title}", header, rows, f"{name}: {table.title}", signatures, notes=notes)


def _drawn(one: Comparison) -> Estimate:
    """A difference as the figure has it: an interval of two or three videos would stretch it beyond all others."""
    assert one.difference is not None
    low, high = (one.low, one.high) if one.videos >= FEWEST_VIDEOS else (None, None)
    return Estimate(one.difference, low, high, one.items)


def _figure(site: Site, name: str, looking: Looking, table: LookingTable) -> Markup:
    """What each control costs, group by group."""
    if table.by is None:
        return Markup()
    rows = [
        Grouped(
            line.name,
            [
                (place, CONTROLS[control], _drawn(one))
                for place, (control, one) in enumerate(zip(looking.controls, line.comparisons, strict=True))
                if one.difference is not None
            ],
        )
        for line in table.lines
    ]
    title = f"{name}, {table.title}: own pictures less each control"
    return site.figure(FILE, f"{name}-{table.title}", charts.groups(rows, title=title, few=charts.FEW), title)
