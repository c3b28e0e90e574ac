"""Single figures for notebooks, drawn as those of a report, in the colours of its light page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.analysis.columns import metric_title
from reeltalk.analysis.estimates import FEW
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.standings import find_standings
from reeltalk.analysis.values import metric_heading
from reeltalk.errors import SettingError
from reeltalk.pages.charts import Mark, estimate_of, interval_chart, on_paper
from reeltalk.store.atomic import write_bytes
from reeltalk.store.runs import Run

BY: Final = ("question_type", "task", "skill", "kind", "form")
"""Groups of a profile, the first that a run has."""


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
        import vl_convert

        path = Path(path)
        writers = {
            ".svg": str.encode,
            ".png": lambda svg: vl_convert.svg_to_png(svg, scale=2),
            ".pdf": vl_convert.svg_to_pdf,
        }
        if path.suffix not in writers:
            raise SettingError(f"{path}: a figure is saved as {', '.join(writers)}")
        write_bytes(path, writers[path.suffix](self.svg))


def plot_leaderboard(runs: Sequence[Run]) -> Plot:
    """The models of runs on the metric that ranks them, with intervals.

    Raises:
        SettingError: The runs have no metric that ranks models.
    """
    found = find_standings(build_leaderboard(list(runs)))
    if found.headline is None:
        raise SettingError("no metric ranks these models: judge their answers with 'reeltalk judge'")
    metric = found.headline.metric
    marks = [
        Mark(row.index, row.title, estimate_of(row.cell.row, metric) if row.cell is not None else None)
        for row in found.rows
    ]
    return _plot(marks, f"{metric_title(metric)} on {found.videos:,} videos", metric_heading(metric))


def plot_profile(run: Run, by: str | None = None) -> Plot:
    """A run's models by the groups of turns, such as types of questions, on the metric that ranks them.

    Args:
        run: The run.
        by: Key of the groups, as in `Run.groups`; by default the first of `BY` that the run has.

    Raises:
        SettingError: The run has no such groups with a value.
    """
    board = build_leaderboard([run])
    headline = find_standings(board).headline
    rows = [row for row in run.groups() if headline is not None and row.metric == headline.metric]
    keys = {row.by for row in rows if row.value is not None}
    chosen = by or next((key for key in BY if key in keys), None)
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
    title = f"{metric_title(headline.metric)} by {str(chosen).replace('_', ' ')}"
    return _plot(marks, title, metric_heading(headline.metric), str(chosen).replace("_", " "))


def _plot(marks: Sequence[Mark], title: str, axis: str, rows: str = "") -> Plot:
    svg = interval_chart(marks, title=title, axis=axis, few=FEW, rows=rows)
    if not svg:
        raise SettingError(f"{title}: no model has a value")
    return Plot(title, on_paper(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
