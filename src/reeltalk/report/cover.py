"""A cover for several reports: what was done, the estimates of each in one table, and what is weak, in words.

The sites behind it keep their own pages; the cover links them, and each of their pages the cover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.report.columns import title_of
from reeltalk.report.leaderboard import Cell, build
from reeltalk.report.site import make_environment, write_static, write_text
from reeltalk.store.runs import Run

PAGE: Final = "index.html"
SKIP: Final = '<a class="skip" href="#content">Skip to the content</a>\n'
NAVIGATION: Final = '<nav class="site" aria-label="Pages of this report">\n'
"""As `base.html` has them on every page."""


@dataclass(frozen=True)
class Part:
    """A site, or a page of one, behind the cover."""

    title: str
    file: str
    """Relative to the cover, as `streaming/index.html`."""
    about: str
    """What it shows, as a sentence."""


@dataclass(frozen=True)
class Cover:
    """What a cover says."""

    over: str
    """What it is about, above the title."""
    title: str
    lead: str
    done: tuple[tuple[str, str], ...]
    """What was done, in order: a word, and what came of it."""
    parts: tuple[Part, ...]
    finding: str
    """What the table says, in words."""
    weak: tuple[str, ...]
    """What the numbers do not say, a sentence each."""


@dataclass(frozen=True)
class Standing:
    """A model on the cover."""

    name: str
    floor: str | None
    """What it does, where it is a player that knows nothing."""
    cells: tuple[Cell | None, ...]
    """Its number in each group of runs; None where it did not play there."""


def standings(groups: Mapping[str, Sequence[Run]], metric: str) -> list[Standing]:
    """One metric of every model, in each group of runs; those that know nothing come first.

    Args:
        groups: Runs whose numbers compare with each other, by what the group is called.
        metric: Which, as `agree`.
    """
    cells: dict[tuple[str, str | None], dict[str, Cell | None]] = {}
    for group, runs in groups.items():
        for model in build(runs).models:
            cells.setdefault((model.info.model, model.floor), {})[group] = model.cells.get(metric)
    found = [
        Standing(name, floor, tuple(by_group.get(group) for group in groups))
        for (name, floor), by_group in cells.items()
    ]
    return sorted(found, key=lambda standing: standing.floor is None)


def write_cover(cover: Cover, folder: Path, groups: Mapping[str, Sequence[Run]], metric: str) -> Path:
    """Write the cover and its style into a folder that holds the sites behind it, whose pages then link the cover.

    Args:
        cover: What it says.
        folder: An existing folder, with all sites in folders of its own.
        groups: Runs whose numbers compare with each other, by what the group is called.
        metric: The metric of its table.

    Returns:
        Path of `index.html`.
    """
    write_static(folder)
    html = (
        make_environment()
        .get_template("cover.html")
        .render(
            root="",
            cover=cover,
            groups=list(groups),
            standings=standings(groups, metric),
            metric=metric,
            measure=title_of(metric),
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
