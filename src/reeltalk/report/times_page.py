"""The page of times, tokens and frames: means, and how they go with turns and with the length of the video."""

from typing import Final

from markupsafe import Markup

from reeltalk.report.breakdowns import FEW_TIMES, TimingFigure, timings_by_length, timings_by_turn
from reeltalk.report.quantities import by_model
from reeltalk.report.site import Site

PAGE: Final = "times.html"


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
    site.render(
        PAGE,
        PAGE,
        table=site.table(PAGE, "means", header, rows, "Times and tokens of an answer", site.signatures_of(*metrics)),
        kinds=[
            ("by-turn", "By turn", _drawn(site, "turn", timings_by_turn(board))),
            ("by-length", "By length of the video", _drawn(site, "length", timings_by_length(board))),
        ],
        few_times=FEW_TIMES,
    )


def _drawn(site: Site, by: str, found: list[TimingFigure]) -> list[tuple[str, Markup]]:
    return [
        (one.title, site.figure(PAGE, f"{one.metric}-by-{by}", one.svg, one.title, site.signatures_of(one.metric)))
        for one in found
    ]
