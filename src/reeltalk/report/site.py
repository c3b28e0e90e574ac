"""What all pages of a report share: its folder, its templates, its models and dialogues, and how pages link."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reeltalk import __version__
from reeltalk.report import figures
from reeltalk.report.columns import kind_of, scale_of, title_of
from reeltalk.report.dialogues import ShownDialogue
from reeltalk.report.leaderboard import Leaderboard, key_of, shown
from reeltalk.report.scenarios import title_of_activity
from reeltalk.report.settings import ReportSettings
from reeltalk.report.verdicts import Place, ShownVerdict
from reeltalk.report.visible import visible
from reeltalk.store.benchmark import Benchmark

STATIC: Final = ("style.css", "page.js")


@dataclass(frozen=True)
class Page:
    """One page, or a page with others behind it, of a report on runs."""

    title: str
    """How the pages' navigation names it."""
    file: str
    applies: "Callable[[Site], bool]"
    """True where the runs hold what it shows; a page that has nothing to show is neither written nor linked."""
    write: "Callable[[Site], None]"


@dataclass
class Site:
    """A report on runs, while it is written."""

    folder: Path
    board: Leaderboard
    dialogues: Sequence[ShownDialogue]
    verdicts: dict[int, dict[Place, list[ShownVerdict]]]
    """What judges said in each run, by the run's `id`."""
    settings: ReportSettings
    benchmark: Benchmark | None = None
    """What the runs were played on, where it was given: its videos, clips, evidence and tags."""
    pages: tuple[Page, ...] = ()
    environment: Environment = field(default_factory=lambda: make_environment())

    def render(self, template: str, file: str, **values: object) -> None:
        """Write one page.

        Args:
            template: Which template, as `index.html`.
            file: Where it goes below the folder, as `dialogues/d1.html`.
            **values: What it shows, besides `root`, `board`, `pages` and `here`, which every page has.
        """
        root = "../" * file.count("/")
        html = self.environment.get_template(template).render(
            root=root, board=self.board, pages=self.pages, here=file, **values
        )
        write_text(self.folder / file, html)


def make_environment() -> Environment:
    """Templates that escape all they show, fail on what is missing, and make invisible characters visible."""
    made = Environment(
        loader=PackageLoader("reeltalk.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    made.filters["title_of_activity"] = title_of_activity
    made.globals.update(
        version=__version__,
        colours=figures.COLOURS,
        key_of=key_of,
        kind_of=kind_of,
        scale_of=scale_of,
        shown=shown,
        swatch=lambda index: Markup(figures.swatch(index)),
        title_of=title_of,
        pages=(),
        here="",
    )
    return made


def write_static(folder: Path, names: Sequence[str] = STATIC) -> None:
    """Copy style sheets and scripts into a site.

    Args:
        folder: The site's.
        names: Files of the package's `static` folder.
    """
    for name in names:
        write_text(folder / name, (files("reeltalk.report") / "static" / name).read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write a file of a site, with the same bytes on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
