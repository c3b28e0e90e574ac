"""Single figures for notebooks, drawn as those of a report, in the colours of its light page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reeltalk.analysis.columns import metric_title
from reeltalk.analysis.estimates import FEW_TURNS
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.standings import TYPES_OF_QUESTIONS, Standings, find_standings
from reeltalk.analysis.values import metric_heading
from reeltalk.errors import SettingError
from reeltalk.pages.charts import Mark, estimate_of, interval_chart, on_paper
from reeltalk.pages.figure_files import FIGURE_FORMATS, figure_bytes
from reeltalk.store.atomic import write_bytes
from reeltalk.store.runs import Run


@dataclass(frozen=True, repr=False)
class Plot:
    """A figure; a notebook shows it."""

    title: str
    svg: str

    def __repr__(self) -> str:
        return f"<Plot: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path | str) -> None:
        """Write the figure as `.svg`, `.png` or `.pdf`, whole or not at all.

        Raises:
            SettingError: The path has another ending.
        """
        path = Path(path)
        format = next((known for known in FIGURE_FORMATS if path.suffix == f".{known}"), None)
        if format is None:
            raise SettingError(f"{path}: a figure is saved as .{', .'.join(FIGURE_FORMATS)}")
        write_bytes(path, figure_bytes(self.svg, format, self.title))


def plot_leaderboard(runs: Sequence[Run]) -> Plot:
    """The models of runs on the metric that ranks them, with intervals.

    Raises:
        SettingError: The runs have no metric that ranks models.
    """
    found = find_standings(build_leaderboard(list(runs)))
    if found.headline is None:
        raise SettingError("no metric ranks these models: judge their answers with 'reeltalk judge'")
    title = f"{metric_title(found.headline.metric)} on {found.videos:,} videos"
    return _plot(title, draw_leaderboard(found, title))


def draw_leaderboard(found: Standings, title: str) -> str:
    """The models of standings on the metric that ranks them, by their names, with intervals; empty without a value."""
    metric = found.headline.metric if found.headline is not None else ""
    names = [
        shorten_middle(row.title) + (f" ({row.role})" if row.role not in ("model", row.title) else "")
        for row in found.rows
    ]
    marks = [
        Mark(row.index, name, estimate_of(row.cell.row, metric) if row.cell is not None else None, row=name)
        for row, name in zip(found.rows, names, strict=True)
    ]
    return interval_chart(marks, title=title, axis=metric_heading(metric), few=FEW_TURNS)


def shorten_middle(name: str, most: int = 25) -> str:
    """A name that differs from others of its family at its beginning or its end, for the labels of an axis."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"


def plot_profile(run: Run, by: str | None = None) -> Plot:
    """A run's models by the groups of turns, such as types of questions, on the metric that ranks them.

    Args:
        by: Key of the groups, as in `Run.groups`; by default the first type of question that the run has.

    Raises:
        SettingError: The run has no such groups with a value.
    """
    board = build_leaderboard([run])
    headline = find_standings(board).headline
    rows = [row for row in run.groups() if headline is not None and row.metric == headline.metric]
    keys = {row.by for row in rows if row.value is not None}
    chosen = by or next((key for key in TYPES_OF_QUESTIONS if key in keys), None)
    if headline is None or chosen not in keys:
        raise SettingError(
            f"the run has no values by {by or 'type of question'}; it has {', '.join(sorted(keys)) or 'no groups'}"
        )
    places = {model.name: place for place, model in enumerate(board.models)}
    marks = [
        Mark(places[row.model], row.model, estimate_of(row, headline.metric), row=f"{row.group} ({row.n:,})")
        for row in rows
        if row.by == chosen and row.model in places
    ]
    groups = str(chosen).replace("_", " ")
    title = f"{metric_title(headline.metric)} by {groups}"
    return _plot(
        title, interval_chart(marks, title=title, axis=metric_heading(headline.metric), few=FEW_TURNS, rows=groups)
    )


def _plot(title: str, svg: str) -> Plot:
    if not svg:
        raise SettingError(f"{title}: no model has a value")
    return Plot(title, on_paper(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
