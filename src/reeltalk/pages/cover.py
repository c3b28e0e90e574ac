"""A cover for several reports: the steps taken, one table with the scores of all, and the weaknesses as text.

The cover links the sites, and each page of the sites links the cover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.analysis.comparison import Comparison
from reeltalk.analysis.leaderboard import Cell, build_leaderboard
from reeltalk.analysis.values import format_signed, metric_heading
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.looking import compare_controls, separate_controls
from reeltalk.pages.site import make_environment, write_static, write_text
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.store.runs import Run

PAGE: Final = "index.html"
SKIP: Final = '<a class="skip" href="#content">Skip to the content</a>\n'
NAVIGATION: Final = '<nav class="site" aria-label="Pages of this report">\n'
"""The same as in `base.html`."""


@dataclass(frozen=True)
class CoverPart:
    """A site, or a page of a site, that the cover links."""

    title: str
    file: str
    """Relative to the cover, such as `streaming/index.html`."""
    about: str
    """A sentence about its content."""


@dataclass(frozen=True)
class Cover:
    """The content of a cover."""

    over: str
    """Subject, above the title."""
    title: str
    lead: str
    done: tuple[tuple[str, str], ...]
    """The steps in order: a word and its result."""
    parts: tuple[CoverPart, ...]
    finding: str
    """The result in the table, as text."""
    weak: tuple[str, ...]
    """Limits of the numbers, one sentence each."""
    looking: str = ""
    """The value of looking, as text; empty if no run has controls."""


@dataclass(frozen=True)
class ControlRow:
    """A model under a control; with the videos' own pictures if `control` is None."""

    name: str
    control: Control | None
    cells: tuple[tuple[float, Comparison | None] | None, ...]
    """Its score in each group of runs, with the comparison with own pictures; None if it is not in the group."""


@dataclass(frozen=True)
class CoverRow:
    """A model on the cover."""

    name: str
    floor: str | None
    """Description of a baseline that does not see the video; None for other models."""
    cells: tuple[Cell | None, ...]
    """Its number in each group of runs; None if it is not in the group."""


def cover_rows(groups: Mapping[str, Sequence[Run]], metrics: Mapping[str, str]) -> list[CoverRow]:
    """One metric of every model, in each group of runs; floors come first.

    Args:
        groups: Runs with comparable numbers, by name of the group.
        metrics: Name of the metric by group, such as `typed`.
    """
    cells: dict[tuple[str, str | None], dict[str, Cell | None]] = {}
    for group, runs in groups.items():
        for model in build_leaderboard(runs).models:
            cells.setdefault((model.info.model, model.floor), {})[group] = model.cells.get(metrics[group])
    found = [
        CoverRow(name, floor, tuple(by_group.get(group) for group in groups))
        for (name, floor), by_group in cells.items()
    ]
    return sorted(found, key=lambda standing: standing.floor is None)


def control_rows(groups: Mapping[str, Sequence[Run]], metrics: Mapping[str, str]) -> list[ControlRow]:
    """One metric of every model that has controls, with its videos' own pictures and under each control.

    Args:
        groups: Runs with comparable numbers, by name of the group.
        metrics: Name of the metric by group, such as `typed`.
    """
    cells: dict[tuple[str, Control | None], dict[str, tuple[float, Comparison | None]]] = {}
    for group, runs in groups.items():
        for run, controls in separate_controls(runs)[1]:
            for looking in compare_controls(run, controls):
                if (line := looking.line(metrics[group])) is None or line.own is None:
                    continue
                cells.setdefault((looking.model, None), {})[group] = (line.own, None)
                for control, one in zip(looking.controls, line.comparisons, strict=True):
                    if one.second_value is not None:
                        cells.setdefault((looking.model, control), {})[group] = (one.second_value, one)
    return [
        ControlRow(name, control, tuple(by_group.get(group) for group in groups))
        for (name, control), by_group in cells.items()
    ]


def write_cover(cover: Cover, folder: Path, groups: Mapping[str, Sequence[Run]], metrics: Mapping[str, str]) -> Path:
    """Write the cover and its style into a folder with the sites, and add links to it in their pages.

    Args:
        cover: Its content.
        folder: An existing folder with the folders of all sites.
        groups: Runs with comparable numbers, by name of the group.
        metrics: The metric of its table, by group.

    Returns:
        Path of `index.html`.
    """
    write_static(folder)
    rows = cover_rows(groups, metrics)
    controlled = {group: runs for group, runs in groups.items() if separate_controls(runs)[1]}
    known = [cell.row.videos for row in rows for cell in row.cells if cell and cell.row.value is not None]
    html = (
        make_environment()
        .get_template("cover.html")
        .render(
            root="",
            cover=cover,
            groups=list(groups),
            standings=rows,
            few_videos=few_videos_warning(known),
            looked=control_rows(controlled, metrics),
            controlled=list(controlled),
            titles=CONTROLS,
            format_signed=format_signed,
            metrics=metrics,
            measure=", ".join(dict.fromkeys(metric_heading(metric) for metric in metrics.values())),
        )
    )
    for page in folder.glob("*/**/*.html"):
        _link_back(page, "../" * (len(page.relative_to(folder).parts) - 1))
    write_text(folder / PAGE, html)
    return folder / PAGE


def _link_back(page: Path, root: str) -> None:
    """Add a link to the cover to a page's navigation. A site is written before its cover."""
    text = page.read_text(encoding="utf-8")
    link = f'<a href="{root}{PAGE}">Cover</a>\n'
    if NAVIGATION in text:
        write_text(page, text.replace(NAVIGATION, NAVIGATION + link, 1))
    else:
        write_text(page, text.replace(SKIP, f'{SKIP}<nav class="site" aria-label="Cover">\n{link}</nav>\n', 1))
