"""The page of times, tokens, frames and memory: means, and how they go with turns and with the time of the video."""

from typing import Final

from markupsafe import Markup

from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.pages.breakdowns import FEW_TIMES, TimingFigure, timings_by_length, timings_by_moment, timings_by_turn
from reeltalk.pages.quantities import by_model, quantity
from reeltalk.pages.site import Site

PAGE: Final = "times.html"
MEMORY: Final = "memory_mib"


def has_times(site: Site) -> bool:
    """True where some run has a time or a number of tokens, or frames were seen."""
    cells = [model.cells[column.metric] for model in site.board.models for column in site.board.timings]
    return any(cell is not None and cell.row.value for cell in cells)


def write_times(site: Site) -> None:
    """Write `times.html`.

    Args:
        site: The report.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    board = site.board
    metrics = [column.metric for column in board.timings]
    header, rows = by_model(board, metrics)
    told, silent = _memory_told(board)
    site.render(
        PAGE,
        PAGE,
        table=site.table(PAGE, "means", header, rows, "Times and tokens of an answer", site.signatures_of(*metrics)),
        kinds=[
            ("by-moment", "By the moment of the question", "Asked", _drawn(site, "moment", timings_by_moment(board))),
            ("by-length", "By length of the video", "Video", _drawn(site, "length", timings_by_length(board))),
            ("by-turn", "By turn", "Turn", _drawn(site, "turn", timings_by_turn(board))),
        ],
        few_times=FEW_TIMES,
        told=[model.name for model in told],
        silent=[model.name for model in silent],
    )


def _memory_told(board: Leaderboard) -> tuple[list[ModelRow], list[ModelRow]]:
    """Models that tell what they keep of a video, and those that answered in some time and do not."""
    told, silent = [], []
    for model in board.models:
        if model.cells.get(MEMORY) is not None:
            told.append(model)
        elif model.cells.get("took_s") is not None:
            silent.append(model)
    return told, silent


def _drawn(site: Site, by: str, found: list[TimingFigure]) -> list[tuple[TimingFigure, Markup, Markup]]:
    header = [by.capitalize(), *(model.name for model in site.board.models)]
    drawn = []
    for one in found:
        name, signatures = f"{one.metric}-by-{by}", site.signatures_of(one.metric)
        figure = site.figure(PAGE, name, one.svg, one.title, signatures)
        cells = [[group, *(quantity(value, one.metric) for value in values)] for group, values in one.rows]
        drawn.append((one, figure, site.table(PAGE, name, header, cells, one.title, signatures)))
    return drawn
