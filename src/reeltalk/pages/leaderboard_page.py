"""The first page of a report on runs: the leaderboard, its figures, what was counted, and signatures."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import FLOOR, title_of
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.turns import credit_metric
from reeltalk.analysis.verdicts import reasons
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.along_page import turn_curves
from reeltalk.pages.breakdowns import how_answered, judges
from reeltalk.pages.charts import Estimate
from reeltalk.pages.quantities import by_metric, by_model
from reeltalk.pages.site import Site

PAGE: Final = "index.html"


def write_leaderboard(site: Site) -> None:
    """Write `index.html`.

    Args:
        site: The report.
    """
    board = site.board
    settings, answered = how_answered(board)
    leading = credit_metric(metric for metric in board.plotted if turn_curves(board, metric))
    site.render(
        PAGE,
        PAGE,
        few_turns=charts.FEW,
        most_bands=charts.MOST_BANDS,
        few_videos=few_videos_warning([board.clusters]),
        dialogues=site.dialogues,
        turns=sum(len(dialogue.turns) for dialogue in site.dialogues),
        videos=len({dialogue.video_id for dialogue in site.dialogues}),
        mixed=[(_families(metrics), parts) for metrics, parts in board.mixed_together],
        whisker_figures={metric: _whiskers(site, metric) for metric in board.plotted},
        leading=leading,
        leading_figure=Markup(turn_curves(board, leading)) if leading else None,
        settings=settings,
        answered=answered,
        judges=judges,
        reasons=reasons(board, site.verdicts),
        not_scored=_not_scored(board),
        tables=_tables(site),
    )


def _not_scored(board: Leaderboard) -> list[tuple[list[str], str, str]]:
    """Titles of metrics without a value, of which models, and why; metrics of one reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in board.unscored:
        found.setdefault((board.naming(line.models), line.reason), []).append(title_of(line.metric))
    return [(titles, models, reason) for (models, reason), titles in found.items()]


def _tables(site: Site) -> dict[str, object]:
    """Links to the page's tables as files, by section."""
    board = site.board
    found: dict[str, object] = {}
    for name, title, columns in (
        ("judged", "Judged measures", board.judged),
        ("texts", "Text metrics", board.texts),
    ):
        metrics = [column.metric for column in columns]
        found[name] = Markup()
        if metrics:
            header, rows = by_model(board, metrics)
            found[name] = site.table(
                PAGE, name, header, rows, title, site.signatures_of(*metrics), notes=_notes(board, metrics)
            )
    detail: dict[str, Markup] = {}
    for family, metrics in board.details:
        header, rows = by_metric(board, metrics)
        title = f"{title_of(family)} in detail"
        detail[family] = site.table(PAGE, f"detail-{family}", header, rows, title, site.signatures_of(*metrics))
    found["detail"] = detail
    names, answered = how_answered(board)
    header = ["Model", *(name.capitalize() for name in names), "Judge"]
    lines = [[model.name, *values, judges(model) or "–"] for model, values in answered]
    found["how"] = site.table(PAGE, "answered", header, lines, "How the answers came about") if names else Markup()
    return found


def _notes(board: Leaderboard, metrics: Sequence[str]) -> list[str]:
    notes = [
        f"Not comparable between models, as signatures differ in {', '.join(parts)}: {', '.join(_families(found))}."
        for mixed, parts in board.mixed_together
        if (found := [metric for metric in mixed if metric in metrics])
    ]
    return notes + [f"{model.name} {model.floor}: what is not above it shows nothing." for model in board.floors]


def _whiskers(site: Site, metric: str) -> Markup:
    board = site.board
    rows: list[tuple[str, Estimate | None]] = []
    best = None
    for model in board.models:
        cell = model.cells[metric]
        if cell is None or cell.row.value is None:
            rows.append((model.name, None))
            continue
        estimate = Estimate(cell.row.value, cell.row.low, cell.row.high, cell.row.n, cell.row.videos)
        rows.append((model.name, estimate))
        best = estimate if cell.is_best else best
    title = f"{title_of(metric)} of each model with its 95 % interval"
    floors = [_floor(board, model, metric) for model in board.models]
    svg = charts.whiskers(rows, title=title, band=best, floors=floors)
    return site.figure(PAGE, f"values-{metric}", svg, title, site.signatures_of(metric))


def _floor(board: Leaderboard, model: ModelRow, metric: str) -> float | None:
    """What knows nothing gets: where a protocol tells it for a model's own turns, that."""
    own = model.cells.get(f"{metric}.{FLOOR}")
    return own.row.value if own is not None else board.floor(metric, model.run)


def _families(metrics: Sequence[str]) -> list[str]:
    """Titles of metrics, all numbers of a judged measure as one."""
    return list(dict.fromkeys(title_of(metric.split(".")[0]) for metric in metrics))
