"""The page of what is said about models, and of scores against their size."""

from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import kind_of, title_of
from reeltalk.analysis.table_files import TableCell
from reeltalk.pages import charts
from reeltalk.pages.charts import Estimate, Spot
from reeltalk.pages.quantities import quantity_of
from reeltalk.pages.site import Site

PAGE: Final = "models.html"
AXIS: Final = "parameters (thousand millions)"


def is_described(site: Site) -> bool:
    """True where something is said about a model of the report."""
    return any(site.about)


def write_about(site: Site) -> None:
    """Write `models.html`.

    Args:
        site: The report.
    """
    board = site.board
    judged = [metric for metric in board.plotted if kind_of(metric) == "headline"]
    metrics = judged or board.plotted
    drawn = [(metric, figure) for metric in metrics if (figure := _sizes(site, metric))]
    known = {name for model in board.models for name in (model.info.model, model.name)}
    header = ["Model", "Kind", "Parameters (10^9)", "Frames", "Context", *map(title_of, metrics), "Link"]
    rows: list[list[TableCell]] = [
        [
            model.name,
            about.kind,
            f"{about.parameters_b:g}" if about.parameters_b is not None else None,
            about.frames,
            about.context,
            *(quantity_of(model, model.cells[metric]) for metric in metrics),
            about.link,
        ]
        for model, about in zip(board.models, site.about, strict=True)
        if about is not None
    ]
    site.render(
        PAGE,
        PAGE,
        drawn=drawn,
        axis=AXIS,
        silent=[
            model
            for model, about in zip(board.models, site.about, strict=True)
            if model.floor is None and (about is None or about.parameters_b is None)
        ],
        elsewhere=[name for name in site.settings.about if name not in known],
        table=site.table(PAGE, "about", header, rows, "Models", site.signatures_of(*metrics)),
    )


def _sizes(site: Site, metric: str) -> Markup:
    spots = []
    for index, (model, about) in enumerate(zip(site.board.models, site.about, strict=True)):
        cell = model.cells[metric]
        if about is None or about.parameters_b is None or cell is None or cell.row.value is None:
            continue
        value = Estimate(cell.row.value, cell.row.low, cell.row.high, cell.row.n, cell.row.videos)
        spots.append(Spot(index, model.name, about.parameters_b, value))
    title = f"{title_of(metric)} by number of parameters"
    return site.figure(
        PAGE, f"size-{metric}", charts.spots(spots, title=title, axis=AXIS), title, site.signatures_of(metric)
    )
