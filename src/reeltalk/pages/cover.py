"""A cover for several reports: what was done, the estimates of each in one table, and what is weak, in words.

The sites behind it keep their own pages; the cover links them, and each of their pages the cover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.analysis.columns import metric_scale, metric_title
from reeltalk.analysis.comparison import Comparison, format_signed
from reeltalk.analysis.leaderboard import Cell, build_leaderboard
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.looking import compare_controls, separate_controls
from reeltalk.pages.site import make_environment, write_static, write_text
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.store.runs import Run

PAGE: Final = "index.html"
SKIP: Final = '<a class="skip" href="#content">Skip to the content</a>\n'
NAVIGATION: Final = '<nav class="site" aria-label="Pages of this report">\n'
"""As `base.html` has them on every page."""


@dataclass(frozen=True)
class CoverPart:
    """A site, or a page of one, behind the cover."""

    title: str
    file: str
    """Relative to the cover, as `streaming/index.html`."""
    about: str
    """What it shows, as a sentence."""


@dataclass(frozen=True)
class Cover:
    """The content of a cover."""

    over: str
    """What it is about, above the title."""
    title: str
    lead: str
    done: tuple[tuple[str, str], ...]
    """What was done, in order: a word, and what came of it."""
    parts: tuple[CoverPart, ...]
    finding: str
    """What the table says, in words."""
    weak: tuple[str, ...]
    """What the numbers do not say, a sentence each."""
    looking: str = ""
    """What looking is worth, in words; empty if no run has controls."""


@dataclass(frozen=True)
class ControlRow:
    """A model under a control on the cover; with its videos' own pictures where `control` is None."""

    name: str
    control: Control | None
    cells: tuple[tuple[float, Comparison | None] | None, ...]
    """Its score in each group of runs, and how the own pictures compare with it; None if it did not play there."""


@dataclass(frozen=True)
class CoverRow:
    """A model on the cover."""

    name: str
    floor: str | None
    """What it does, if it is a baseline that knows nothing; None for others."""
    cells: tuple[Cell | None, ...]
    """Its number in each group of runs; None if it did not play there."""


def cover_rows(groups: Mapping[str, Sequence[Run]], metrics: Mapping[str, str]) -> list[CoverRow]:
    """One metric of every model, in each group of runs; those that know nothing come first.

    Args:
        groups: Runs whose numbers compare with each other, by what the group is called.
        metrics: Which, by group, as `typed`.
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
        groups: Runs whose numbers compare with each other, by what the group is called.
        metrics: Which, by group, as `typed`.
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
    """Write the cover and its style into a folder that holds the sites behind it, whose pages then link the cover.

    Args:
        cover: What it says.
        folder: An existing folder, with all sites in folders of its own.
        groups: Runs whose numbers compare with each other, by what the group is called.
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
            measure=", ".join(
                dict.fromkeys(
                    metric_title(metric) + (f", {metric_scale(metric)}" if metric_scale(metric) else "")
                    for metric in metrics.values()
                )
            ),
        )
    )
    for page in folder.glob("*/**/*.html"):
        _link_back(page, "../" * (len(page.relative_to(folder).parts) - 1))
    write_text(folder / PAGE, html)
    return folder / PAGE


def _link_back(page: Path, root: str) -> None:
    """Link the cover in a page's navigation; a site knows of no cover while it is written."""
    text = page.read_text(encoding="utf-8")
    link = f'<a href="{root}{PAGE}">Cover</a>\n'
    if NAVIGATION in text:
        write_text(page, text.replace(NAVIGATION, NAVIGATION + link, 1))
    else:
        write_text(page, text.replace(SKIP, f'{SKIP}<nav class="site" aria-label="Cover">\n{link}</nav>\n', 1))
