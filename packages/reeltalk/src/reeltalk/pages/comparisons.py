"""The page of comparisons: every pair of models, with differences on the turns that both answered."""

import contextlib
import dataclasses
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import competes, direction_of, metric_title
from reeltalk.analysis.comparison import (
    NO_DIFFERENCE,
    CompareSettings,
    Comparison,
    Comparisons,
    compare_models,
    format_p,
)
from reeltalk.analysis.estimates import Estimate, on_display_scale
from reeltalk.analysis.leaderboard import Leaderboard, model_letter
from reeltalk.analysis.score_matrix import leaderboard_number
from reeltalk.analysis.standings import headline_metric
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.analysis.values import (
    display_factor,
    format_points,
    format_range,
    format_signed,
    format_value,
    metric_heading,
    metric_unit,
)
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk.pages.charts import Mark, interval_chart
from reeltalk.pages.site import Page, Site, write_static

PAGE: Final = "comparisons.html"
STYLE: Final = "comparisons.css"
COMPARISONS_KEY: Final = "comparisons"
MOST_POINTS: Final = 100
"""Two models cannot differ by more points on a scale of per cent."""
PRINTED: Final = (0, 1, 4, 6)
"""Columns of the table that a paper has: both models, their difference, and its corrected p."""
MOST_CELLS: Final = 4500
"""Maximum over all tables, so that the page stays below 2 MB. Further metrics have only files."""


@dataclass(frozen=True)
class MatrixCell:
    """One pair of models: the row's value minus the column's."""

    difference: str
    interval: str
    state: str
    """The result for the row's model: `more`, `less`, `same`, `open` if there is no test, or `none`."""
    text: str


@dataclass(frozen=True)
class PairSentence:
    """The result of one pair in a sentence, with its numbers."""

    row: Comparison
    sentence: str
    state: str
    """`apart` if a winner is named; else `open`."""
    left: str
    """Items that are left out."""


@dataclass(frozen=True)
class ComparisonSection:
    metric: str
    scale: str
    direction: str
    summary: str
    matrix: tuple[tuple[int, tuple[MatrixCell | None, ...]], ...]
    """One row for each model, by its place; None on the diagonal. Empty if the page would get too large."""
    figures: tuple[tuple[str, Markup], ...]
    pairs: tuple[tuple[int, tuple[PairSentence, ...]], ...]
    """The pairs by their first model; only of the first metric."""
    files: Markup
    problems: tuple[tuple[str, tuple[str, ...]], ...]
    """Reasons why pairs were not compared, with the letters of the pairs."""


def has_comparisons(site: Site) -> bool:
    """True if two models answered the same turns and a metric has values of both."""
    return len(site.board.models) > 1 and bool(_found(site).rows)


def write_comparisons(site: Site) -> None:
    """Write `comparisons.html`.

    Raises:
        InputError: A table is damaged.
    """
    found = _found(site)
    metrics = list(dict.fromkeys(row.metric for row in found.rows))
    headline = headline_metric(site.board)
    first = headline.metric if headline is not None else None
    ordered = sorted(metrics, key=lambda metric: (metric != first, metrics.index(metric)))
    left = MOST_CELLS
    sections = []
    for metric in ordered:
        is_first = metric == ordered[0]
        # A matrix has two cells for each pair, and the verdict of a pair is as long as two cells.
        wanted = (2 if is_first else 1) * len(found.models) ** 2
        whole = is_first or left >= wanted
        sections.append(_section(site, found, metric, matrix=whole, is_first=is_first))
        left -= wanted if whole else 0
    write_static(site.folder, [STYLE])
    site.render(
        PAGE,
        PAGE,
        sections=sections,
        models=[(index, site.board.models[index]) for index in found.models],
        names=[model.title for model in site.board.models],
        videos=max(row.videos for row in found.rows),
        few_videos=FEW_VIDEOS,
        power=round(found.settings.target_power * 100),
        format_signed=format_signed,
        format_p=format_p,
    )


def compare_all(site: Site) -> Comparisons:
    """All pairs in all headlines and text metrics, including floors; computed once for all pages."""
    kept = site.memory.get(COMPARISONS_KEY)
    if isinstance(kept, Comparisons):
        return kept
    settings = CompareSettings()
    found = Comparisons(site.board, (), (), settings)
    if len(site.board.models) > 1:
        # Without rows of the table of scores there are no comparisons; other pages only need the summary.
        with contextlib.suppress(BenchmarkError):
            found = compare_models(site.board, settings, models=range(len(site.board.models)), strict=False)
    site.memory[COMPARISONS_KEY] = found
    return found


def _found(site: Site) -> Comparisons:
    """The pairs in all metrics in which some pair could be tested."""
    found = compare_all(site)
    tested = {row.metric for row in found.rows if row.p is not None}
    return dataclasses.replace(found, rows=tuple(row for row in found.rows if row.metric in tested))


def _section(site: Site, found: Comparisons, metric: str, *, matrix: bool, is_first: bool) -> ComparisonSection:
    rows = [row for row in found.rows if row.metric == metric]
    compared = [row for row in rows if row.difference is not None]
    problems: dict[str, list[str]] = {}
    for row in rows:
        if row.problem is not None:
            problems.setdefault(row.problem, []).append(f"{model_letter(row.first)} and {model_letter(row.second)}")
    title = f"{metric_title(metric)}: differences of all pairs of models"
    return ComparisonSection(
        metric=metric,
        scale=metric_unit(metric),
        direction=direction_of(metric),
        summary=_summary(found, compared, with_power=is_first),
        matrix=_matrix(found, rows) if matrix else (),
        figures=tuple(_figures(site, found, metric, rows)) if is_first else (),
        pairs=_pairs(found, compared) if is_first else (),
        files=site.table(
            PAGE,
            metric,
            *_table(found, compared),
            title,
            site.signatures_of(metric),
            columns_printed=PRINTED,
            rows_printed=[place for place, row in enumerate(compared) if _of_models(found, row)],
        ),
        problems=tuple((problem, tuple(pairs)) for problem, pairs in problems.items()),
    )


def _of_models(found: Comparisons, row: Comparison) -> bool:
    return {found.board.models[index].role for index in (row.first, row.second)} == {"model"}


def _summary(found: Comparisons, rows: list[Comparison], *, with_power: bool) -> str:
    """A summary of all pairs, as text."""
    if len(rows) == 1:
        return _sentence(found, rows[0])
    winners = sum(row.winner(found.settings.alpha) is not None for row in rows)
    told = f"Of {len(rows)} pairs, {winners} {'show' if winners != 1 else 'shows'} a winner."
    withheld = sum(row.withheld is not None for row in rows)
    if withheld:
        told += f" For {withheld} no winner is named: more than 2 % of a model's items are unscored."
    undecided = [row for row in rows if row.winner(found.settings.alpha) is None and not row.withheld]
    sizes = [row.detectable for row in undecided if row.detectable is not None]
    if sizes and with_power:
        size, power = format_points(max(sizes), rows[0].metric), found.settings.target_power * 100
        few = metric_unit(rows[0].metric) == "%" and display_factor(rows[0].metric) * max(sizes) >= MOST_POINTS
        missed = "any difference" if few else f"a difference of less than {size}"
        told += f" In the other pairs {missed} may have been missed ({power:.0f} % power)."
    return told


def _pairs(found: Comparisons, rows: list[Comparison]) -> tuple[tuple[int, tuple[PairSentence, ...]], ...]:
    """The pairs by their first model, each once."""
    grouped: dict[int, list[PairSentence]] = {}
    for row in rows:
        state = "open" if row.winner(found.settings.alpha) is None else "apart"
        verdict = PairSentence(row, _sentence(found, row), state, row.left_out_text())
        grouped.setdefault(row.first, []).append(verdict)
    return tuple((first, tuple(pairs)) for first, pairs in grouped.items())


def _sentence(found: Comparisons, row: Comparison) -> str:
    """The verdict of one pair as a sentence with the models' names."""
    names = [f"{model_letter(index)} {found.board.models[index].title}" for index in (row.first, row.second)]
    winner = row.winner(found.settings.alpha)
    if winner is None or row.difference is None:
        verdict, amount = found.verdict(row), _amount(row, 1)
        if verdict.startswith(NO_DIFFERENCE):
            told = f"No difference is shown between {names[0]} and {names[1]}"
            return f"{told} ({amount.removeprefix(', ')}){verdict.removeprefix(NO_DIFFERENCE)}."
        return f"{names[0]} and {names[1]}: {verdict}{amount}."
    if winner == row.second:
        names.reverse()
    word = "has more than" if direction_of(row.metric) == "neither" else "is better than"
    few = f"; {row.videos} videos are few" if row.videos < FEW_VIDEOS else ""
    return f"{names[0]} {word} {names[1]}{_amount(row, 1 if winner == row.first else -1)}{few}."


def _amount(row: Comparison, sign: int) -> str:
    """The difference with its interval, as the end of a sentence; empty without one."""
    if row.difference is None:
        return ""
    ahead = sign * row.difference
    size = format_points(ahead, row.metric) if ahead > 0 else format_signed(row.metric, ahead)
    return f", {size} {_interval(row, sign)}".rstrip()


def _interval(row: Comparison, sign: int, videos: int | None = None) -> str:
    """The interval of a difference, with the number of videos if they are given and few; empty if it has none."""
    if row.low is None or row.high is None:
        return ""
    low, high = sorted((sign * row.low, sign * row.high))
    return format_range(low, high, row.metric, signed=True, videos=videos)


def _matrix(found: Comparisons, rows: list[Comparison]) -> tuple[tuple[int, tuple[MatrixCell | None, ...]], ...]:
    by_pair = {(row.first, row.second): row for row in rows}
    lines = []
    for first in found.models:
        cells: list[MatrixCell | None] = []
        for second in found.models:
            if first == second:
                cells.append(None)
            elif (first, second) in by_pair:
                cells.append(_cell(found, by_pair[first, second], 1))
            else:
                cells.append(_cell(found, by_pair[second, first], -1))
        lines.append((first, tuple(cells)))
    return tuple(lines)


def _cell(found: Comparisons, row: Comparison, sign: int) -> MatrixCell:
    if row.difference is None:
        return MatrixCell("–", "", "none", row.problem or "not compared")
    winner = row.winner(found.settings.alpha)
    own = row.first if sign > 0 else row.second
    state = (
        "open" if row.p is None or row.withheld else "same" if winner is None else "more" if winner == own else "less"
    )
    p = "" if row.corrected_p is None else f"p {_after(format_p(row.corrected_p))}; "
    difference = format_signed(row.metric, sign * row.difference)
    return MatrixCell(difference, _interval(row, sign, row.videos) or "no interval", state, p + found.verdict(row))


def _after(p: str) -> str:
    return p if p.startswith("<") else f"= {p}"


def _figures(site: Site, found: Comparisons, metric: str, rows: list[Comparison]) -> list[tuple[str, Markup]]:
    """Figures of every model compared with the best model, and with the best floor."""
    board = found.board
    targets = [("the highest", _extreme(board, found, metric, floors=False))]
    targets.append(("the floor", _extreme(board, found, metric, floors=True)))
    drawn = []
    for words, target in targets:
        if target is None:
            continue
        name = f"{model_letter(target)} {board.models[target].title}"
        caption = f"Difference to {words}, {name}"
        svg = interval_chart(
            _against(found, rows, target), title=f"{metric_title(metric)}: {caption}", line=0.0,
            axis=f"difference in {metric_heading(metric)}", missing="not compared",
        )  # fmt: skip
        if svg:
            file = f"{metric}-to-{'floor' if board.models[target].floor else 'highest'}"
            title = f"{metric_title(metric)}: {caption}"
            drawn.append((caption, site.figure(PAGE, file, svg, title, site.signatures_of(metric))))
    return drawn


def _extreme(board: Leaderboard, found: Comparisons, metric: str, *, floors: bool) -> int | None:
    """The place of the highest value, among models or among floors; the oracle only if there is no other."""
    values = [
        (not floors and competes(board.models[index].info), value, index)
        for index in found.models
        if (board.models[index].floor is not None) == floors
        and (value := leaderboard_number(board.models[index], metric)) is not None
    ]
    if not values:
        return None
    return max(values, key=lambda found: found[:2])[2]


def _against(found: Comparisons, rows: list[Comparison], target: int) -> list[Mark]:
    lines = []
    for index in found.models:
        if index == target:
            continue
        row = next(row for row in rows if {row.first, row.second} == {index, target})
        sign = 1 if row.first == index else -1
        told = found.verdict(row)
        estimate = None
        if row.difference is not None:
            low, high = row.low, row.high
            if low is not None and high is not None:
                low, high = sorted((sign * low, sign * high))
            estimate = on_display_scale(Estimate(sign * row.difference, low, high, row.items, row.videos), row.metric)
            told = f"{format_signed(row.metric, sign * row.difference)} {_interval(row, sign) or 'no interval'}, {told}"
        apart = row.winner(found.settings.alpha) is not None
        lines.append(Mark(index, found.board.models[index].name, estimate, tooltip=told, hollow=not apart))
    return lines


def _table(found: Comparisons, rows: list[Comparison]) -> tuple[list[str], list[list[TableCell]]]:
    header = [
        "A",
        "B",
        "Value of A",
        "Value of B",
        "A - B",
        "p",
        "corrected p",
        "Smallest detectable",
        "Videos",
        "Verdict",
    ]
    names = [model.name for model in found.board.models]
    lines: list[list[TableCell]] = [
        [
            names[row.first],
            names[row.second],
            "" if row.first_value is None else format_value(row.first_value, row.metric),
            "" if row.second_value is None else format_value(row.second_value, row.metric),
            Quantity(row.difference, row.low, row.high, row.items, row.metric, signed=True, videos=row.videos),
            format_p(row.p),
            format_p(row.corrected_p),
            "" if row.detectable is None else format_signed(row.metric, row.detectable)[1:],
            row.videos,
            found.verdict(row),
        ]
        for row in rows
    ]
    return header, lines


REPORT_PAGES: Final = (Page("Comparisons", PAGE, has_comparisons, write_comparisons, place=20),)
