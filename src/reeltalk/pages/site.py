"""What all pages of a report share: its folder, its templates, its models and dialogues, and how pages link."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reeltalk._version import __version__
from reeltalk.analysis.calibration import Calibration
from reeltalk.analysis.columns import metric_kind, metric_scale, metric_title
from reeltalk.analysis.dialogues import ShownDialogue, limit_text
from reeltalk.analysis.leaderboard import Leaderboard, format_value, key_of
from reeltalk.analysis.profiles import ModelProfile, model_profiles
from reeltalk.analysis.table_files import TABLE_ENDINGS, TABLE_NAMES, TableCell, TableFile, write_table_files
from reeltalk.analysis.turn_scores import TaggedTurns, tagged_turns
from reeltalk.analysis.verdicts import Place, ShownVerdict
from reeltalk.metrics.uncertainty import INTERVAL
from reeltalk.pages import charts
from reeltalk.pages.figure_files import FIGURE_NAMES, FigureFile, write_figures
from reeltalk.pages.scenarios import title_of_activity
from reeltalk.pages.settings import ModelAbout, ReportSettings
from reeltalk.parallel import Executor
from reeltalk.schema.runs import Control
from reeltalk.schema.texts import printable
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run

STATIC: Final = ("style.css", "page.js")


@dataclass(frozen=True)
class Page:
    """One page, or a page with others behind it, of a report on runs."""

    title: str
    """How the pages' navigation names it; empty for pages that are not in it, as each model's."""
    file: str
    applies: "Callable[[Site], bool]"
    """True if the runs hold what it shows; a page that has nothing to show is neither written nor linked."""
    write: "Callable[[Site], None]"
    place: int
    """Position in the navigation: pages are ordered by it."""


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
    executor: Executor | None = None
    """What decodes and cuts those; None for processes of this machine."""
    calibration: Calibration | None = None
    """Judges beside people; None if nobody rated."""
    controls: Sequence[tuple[Run, dict[Control, Run]]] = ()
    """Runs that were played with other pictures too, with these runs by control."""
    pages: tuple[Page, ...] = ()
    environment: Environment = field(default_factory=lambda: make_environment())
    figure_files: dict[str, FigureFile] = field(default_factory=dict)
    """What `figure` was given, by the name of its files; empty if no files are asked for."""
    table_files: dict[str, TableFile] = field(default_factory=dict)
    memory: dict[str, object] = field(default_factory=dict)
    """What a page works out to tell whether it applies, for when it is written."""

    @property
    def about(self) -> list[ModelAbout | None]:
        """What is said about each model, in the leaderboard's order."""
        said = self.settings.about
        return [said.get(model.name) or said.get(model.info.model) for model in self.board.models]

    @cached_property
    def turns(self) -> TaggedTurns:
        """All turns with their tags and what each model earned, from which profiles are made."""
        return tagged_turns(self.board, self.dialogues, self.benchmark, credit=self.settings.credit)

    @cached_property
    def profiles(self) -> list[ModelProfile]:
        """Every model's profile, in the leaderboard's order."""
        return model_profiles(self.turns)

    def render(self, template: str, file: str, **values: object) -> None:
        """Write one page.

        Args:
            template: Which template, as `index.html`.
            file: Where it goes below the folder, as `dialogues/d1.html`.
            **values: What it shows, besides `root`, `board`, `about`, `pages` and `here`, which every page has.
        """
        html = self.environment.get_template(template).render(
            root=_root(file), board=self.board, about=self.about, pages=self.pages, here=file, **values
        )
        write_text(self.folder / file, html)

    def figure(
        self,
        page: str,
        name: str,
        svg: str,
        title: str,
        signatures: Iterable[str] = (),
    ) -> Markup:
        """A figure as its page shows it, and as files beside the pages where these are asked for.

        Args:
            page: The file on which it stands, as `index.html` or `models/a.html`.
            name: What it shows, unlike any other figure of the page, as `values-cider`.
            svg: The drawing; an empty one gives nothing.
            title: What it shows, in words.
            signatures: Those of the numbers it is drawn from, as `signatures_of` gives them.

        Returns:
            The drawing, and below it links to the files.
        """
        if not svg or not self.settings.figures:
            return Markup(svg)
        file = _free(_file_of(page, name), self.figure_files)
        found = tuple(dict.fromkeys(signatures))
        self.figure_files[file] = FigureFile(file, title, svg, found)
        links = [
            (FIGURE_NAMES[format], f"{_root(page)}figures/{file}.{format}", title) for format in self.settings.figures
        ]
        return Markup(svg) + _links(links)

    def table(
        self,
        page: str,
        name: str,
        header: Sequence[str],
        rows: Iterable[Sequence[TableCell]],
        title: str,
        signatures: Iterable[str] = (),
        *,
        notes: Sequence[str] = (),
    ) -> Markup:
        """Write a table as files beside the pages, where these are asked for.

        Args:
            page: The file on which it stands.
            name: What it shows, unlike any other table of the page.
            header: Names of its columns.
            rows: Its cells; a number with its interval is a `Quantity`.
            title: What it shows, in words.
            signatures: Those of its numbers, as `signatures_of` gives them.
            notes: Sentences below it, each with its full stop.

        Returns:
            Links to the files, to stand below the table; nothing where none are asked for.
        """
        if not self.settings.tables:
            return Markup()
        file = _free(_file_of(page, name), self.table_files)
        self.table_files[file] = TableFile(
            file, title, tuple(header), tuple(map(tuple, rows)), tuple(dict.fromkeys(signatures)), tuple(notes)
        )
        links = [
            (TABLE_NAMES[format], f"{_root(page)}tables/{file}.{TABLE_ENDINGS[format]}", title)
            for format in self.settings.tables
        ]
        return _links(links)

    def signatures_of(self, *metrics: str, models: Sequence[int] | None = None) -> list[str]:
        """Signatures of the numbers of some metrics, each once.

        Args:
            *metrics: Which; those that a run does not have are passed over.
            models: Whose, by place in the leaderboard; all by default.
        """
        rows = self.board.models if models is None else [self.board.models[index] for index in models]
        cells = [model.cells.get(metric) for metric in metrics for model in rows]
        return list(dict.fromkeys(cell.row.signature for cell in cells if cell is not None))

    def write_files(self) -> None:
        """Write the figures and tables that the pages gave, after all pages."""
        if self.figure_files:
            key = [f"{key_of(index)}: {model.name}" for index, model in enumerate(self.board.models)]
            write_figures(self.folder / "figures", list(self.figure_files.values()), self.settings.figures, key=key)
        if self.table_files:
            write_table_files(self.folder / "tables", list(self.table_files.values()), self.settings.tables)


def make_environment() -> Environment:
    """Templates that escape all they show, fail on what is missing, and make invisible characters visible."""
    made = Environment(
        loader=PackageLoader("reeltalk.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown_text,
    )
    made.filters["bounded"] = limit_text
    made.filters["title_of_activity"] = title_of_activity
    made.globals.update(
        version=__version__,
        colours=charts.COLOURS,
        interval=INTERVAL,
        key_of=key_of,
        metric_kind=metric_kind,
        metric_scale=metric_scale,
        format_value=format_value,
        swatch=lambda index: Markup(charts.swatch(index)),
        metric_title=metric_title,
        pages=(),
        here="",
    )
    return made


def _shown_text(value: object) -> object:
    """What a template prints: a stranger's text made visible, all else as it is. `Markup` is a class below `str`."""
    return (
        printable(value) if type(value) is str or (isinstance(value, str) and not isinstance(value, Markup)) else value
    )


def write_static(folder: Path, names: Sequence[str] = STATIC) -> None:
    """Copy style sheets and scripts into a site.

    Args:
        folder: The site's.
        names: Files of the package's `static` folder.
    """
    for name in names:
        write_text(folder / name, (files("reeltalk.pages") / "static" / name).read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write a file of a site, with the same bytes on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _root(page: str) -> str:
    return "../" * page.count("/")


def _file_of(page: str, name: str) -> str:
    """A file name that is safe on every system."""
    words = f"{page.removesuffix('.html')}-{name}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:100] or "unnamed"


def _free(name: str, taken: Iterable[str]) -> str:
    tried, times, names = name, 1, set(taken)
    while tried in names:
        times += 1
        tried = f"{name}-{times}"
    return tried


def _links(links: Iterable[tuple[str, str, str]]) -> Markup:
    shown_links = [
        Markup('<a href="{}" aria-label="{}: {}" download>{}</a>').format(file, words, title, words)
        for words, file, title in links
    ]
    return Markup('<p class="files">{}</p>').format(Markup(" · ").join(shown_links))
