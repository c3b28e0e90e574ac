"""The parts that all pages of a report share: folder, templates, models, dialogues, and links between pages."""

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Final, TypeVar

from jinja2 import (
    BaseLoader,
    BytecodeCache,
    ChoiceLoader,
    Environment,
    PackageLoader,
    StrictUndefined,
    TemplateNotFound,
)
from jinja2.bccache import Bucket
from markupsafe import Markup

from reeltalk._version import __version__
from reeltalk.analysis.calibration import Calibration
from reeltalk.analysis.columns import items_of, metric_kind, metric_title, n_items, split_model_name
from reeltalk.analysis.dialogues import BenchmarkContext, RunDialogues, limit_text
from reeltalk.analysis.finder import Finder, make_finder
from reeltalk.analysis.leaderboard import Leaderboard, model_letter
from reeltalk.analysis.profiles import COMPONENTS, ModelProfile, model_profiles
from reeltalk.analysis.standings import TYPES_OF_QUESTIONS, group_title, headline_metric
from reeltalk.analysis.table_files import (
    PAPER_TABLES,
    TABLE_ENDINGS,
    TABLE_NAMES,
    TableCell,
    TableFile,
    write_table_files,
)
from reeltalk.analysis.turn_scores import TaggedTurns, tagged_turns
from reeltalk.analysis.values import (
    few_mark,
    format_quoted,
    format_range,
    format_signed,
    format_value,
    metric_heading,
    metric_unit,
)
from reeltalk.metrics.uncertainty import INTERVAL
from reeltalk.pages import charts
from reeltalk.pages.figure_files import FIGURE_NAMES, PAPER_FIGURES, FigureFile, write_figures
from reeltalk.pages.settings import ModelAbout, ReportSettings
from reeltalk.parallel import Executor
from reeltalk.schema.runs import Control
from reeltalk.schema.texts import escape_html, printable
from reeltalk.schema.titles import activity_title
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run

STATIC: Final = ("style.css", "page.js")
F = TypeVar("F", bound=str)


@dataclass(frozen=True)
class Page:
    """One page of a report on runs, or a page with subpages."""

    title: str
    """Its name in the navigation; empty for pages that are not in it, such as the page of a model."""
    file: str
    applies: "Callable[[Site], bool]"
    """True if the runs have data for it. Other pages are neither written nor linked."""
    write: "Callable[[Site], None]"
    place: int
    """Position in the navigation: pages are ordered by it."""
    more: bool = False
    """True if the navigation has it behind *More*."""


@dataclass
class Site:
    """A report on runs, while it is written."""

    folder: Path
    board: Leaderboard
    dialogues: RunDialogues
    settings: ReportSettings
    benchmark: Benchmark | None = None
    """The benchmark of the runs, if it was given: the source of videos, clips, evidence and tags."""
    context: BenchmarkContext = field(default_factory=BenchmarkContext)
    """The benchmark's videos, clips and dialogues; empty without a benchmark."""
    executor: Executor | None = None
    """Decodes and cuts the videos; None for processes of this machine."""
    calibration: Calibration | None = None
    """Judges compared with people; None if nobody rated."""
    controls: Sequence[tuple[Run, dict[Control, Run]]] = ()
    """Runs with controls (other pictures), and these by name of the control."""
    pages: tuple[Page, ...] = ()
    environment: Environment = field(default_factory=lambda: make_environment())
    figure_files: dict[str, FigureFile] = field(default_factory=dict)
    """The figures to write as files, by file name."""
    table_files: dict[str, TableFile] = field(default_factory=dict)
    memory: dict[str, object] = field(default_factory=dict)
    """Results that a page computes in `applies` and uses again when it is written."""

    @property
    def about(self) -> list[ModelAbout | None]:
        """The facts about each model, in the leaderboard's order."""
        said = self.settings.about
        return [said.get(model.name) or said.get(model.info.model) for model in self.board.models]

    @cached_property
    def turns(self) -> TaggedTurns:
        """All turns with their tags and each model's credit, from which profiles are made."""
        return tagged_turns(self.board, self.dialogues, self.benchmark, credit=self.settings.credit)

    @cached_property
    def finder(self) -> Finder:
        """What there is to choose from among the turns."""
        return make_finder(self.board, self.dialogues)

    @cached_property
    def profiles(self) -> list[ModelProfile]:
        """Every model's profile, in the leaderboard's order."""
        return model_profiles(self.turns)

    def render(self, template: str, file: str, **values: object) -> None:
        """Write one page.

        Args:
            template: Name of the template, such as `index.html`; or `PACKAGE/NAME` for one of another package, in its
                folder `templates`.
            file: Path below the folder, such as `dialogues/d1.html`.
            **values: Values for the template. Every page also has `root`, `board`, `about`, `pages` and `here`.
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
        """Return a figure for its page, and note it for the figure files if it is one of them.

        Args:
            page: The file with the figure, such as `index.html` or `models/a.html`.
            name: A name that is unique on the page, such as `values-cider`.
            svg: The drawing; if it is empty, the result is empty.
            signatures: Signatures of its numbers, from `signatures_of`.

        Returns:
            The drawing, followed by links to the files.
        """
        formats = self._formats(self.settings.figures, PAPER_FIGURES, page, name)
        if not svg or not formats:
            return Markup(svg)
        file = _free(_file_of(page, name), self.figure_files)
        found = tuple(dict.fromkeys(signatures))
        self.figure_files[file] = FigureFile(file, title, svg, found)
        links = [(FIGURE_NAMES[format], f"{_root(page)}figures/{file}.{format}", title) for format in formats]
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
        columns_printed: Sequence[int] = (),
        rows_printed: Sequence[int] = (),
    ) -> Markup:
        """Note a table for the table files: one of `in_papers`, or any if `--tables` names formats.

        Args:
            page: The file with the table.
            name: A name that is unique on the page.
            header: Names of its columns.
            rows: Its cells; a number with its interval is a `Quantity`.
            signatures: Signatures of its numbers, from `signatures_of`.
            notes: Sentences below it, each with a full stop.
            columns_printed: Places of the columns that LaTeX has; all by default.
            rows_printed: Places of the rows that LaTeX has; all by default.

        Returns:
            Links to the files, to show below the table; empty if there are none.
        """
        found = TableFile("", title, tuple(header), tuple(map(tuple, rows)), tuple(dict.fromkeys(signatures)))
        columns, kept = tuple(columns_printed), tuple(rows_printed)
        found = replace(found, notes=tuple(notes), columns_printed=columns, rows_printed=kept)
        return self.table_file(page, name, found)

    def table_file(self, page: str, name: str, found: TableFile) -> Markup:
        """As `table`, of a table that has everything but the name of its file."""
        formats = self._formats(self.settings.tables, PAPER_TABLES, page, name)
        if not formats:
            return Markup()
        file = _free(_file_of(page, name), self.table_files)
        self.table_files[file] = replace(found, file=file)
        return _links(
            (TABLE_NAMES[format], f"{_root(page)}tables/{file}.{TABLE_ENDINGS[format]}", found.title)
            for format in formats
        )

    def _formats(self, asked: tuple[F, ...] | None, usual: tuple[F, ...], page: str, name: str) -> tuple[F, ...]:
        """The formats of a figure or a table: those asked for of all, else the usual ones of what a paper uses."""
        if asked is not None:
            return asked
        return usual if (page, name) in self.in_papers else ()

    @cached_property
    def in_papers(self) -> frozenset[tuple[str, str]]:
        """Pages and names of the figures and tables that papers use, about six, by the metric that ranks models."""
        headline = headline_metric(self.board)
        metric = headline.metric if headline is not None else next(iter(self.board.plotted), "")
        grouped = {row.by.split(".")[-1]: row.by for run, _ in self.board.runs for row in run.groups()}
        by = next((grouped[by] for by in TYPES_OF_QUESTIONS if by in grouped), "")
        return frozenset(
            {
                ("index.html", "leaderboard"), ("breakdowns.html", f"{by}-{metric}"), ("along.html", metric),
                ("comparisons.html", metric),
                *(("profiles.html", f"radar-{title.lower()}") for title, _ in COMPONENTS),
            }
        )  # fmt: skip

    def signatures_of(self, *metrics: str, models: Sequence[int] | None = None) -> list[str]:
        """Signatures of the numbers of some metrics, each once.

        Args:
            *metrics: Names of metrics; metrics that a run does not have are skipped.
            models: Places in the leaderboard; all by default.
        """
        rows = self.board.models if models is None else [self.board.models[index] for index in models]
        cells = [model.cells.get(metric) for metric in metrics for model in rows]
        return list(dict.fromkeys(cell.row.signature for cell in cells if cell is not None))

    def write_files(self) -> None:
        """Write the figures and tables of all pages as files. Call it after all pages are written."""
        if self.figure_files:
            key = [f"{model_letter(index)}: {model.name}" for index, model in enumerate(self.board.models)]
            figures = PAPER_FIGURES if self.settings.figures is None else self.settings.figures
            write_figures(self.folder / "figures", list(self.figure_files.values()), figures, key=key)
        if self.table_files:
            tables = PAPER_TABLES if self.settings.tables is None else self.settings.tables
            write_table_files(self.folder / "tables", list(self.table_files.values()), tables)


@dataclass(frozen=True)
class BenchmarkSite:
    """The site of a benchmark, while it is written."""

    benchmark: Benchmark
    folder: Path
    """Existing."""
    environment: Environment

    def render(self, template: str, file: str, **values: object) -> None:
        """Write one page.

        Args:
            template: Name of the template.
            file: Path below the folder.
            **values: Values for the template. Every page also has `root`, `here` and the benchmark's `name`.
        """
        name = self.benchmark.manifest.name
        html = self.environment.get_template(template).render(root=_root(file), here=file, name=name, **values)
        write_text(self.folder / file, html)

    def copy(self, name: str | None, folder: str) -> str | None:
        """Copy a picture of the benchmark, and return its name there; None if an export left it behind."""
        if name is None or name not in self.benchmark.manifest.files:
            return None
        (self.folder / folder).mkdir(exist_ok=True)
        return shutil.copyfile(self.benchmark.file(name), self.folder / folder / Path(name).name).name


class _Compiled(BytecodeCache):
    """Templates that this process has compiled. Each site has an environment of its own, which would do so again."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _Compiled()


class _OtherPackages(BaseLoader):
    """Templates of other packages, by `PACKAGE/NAME`, so that none has the name of one of ours."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool] | None]:
        package, slash, name = template.partition("/")
        if not slash:
            raise TemplateNotFound(template)
        return PackageLoader(package).get_source(environment, name)


def make_environment(*packages: str) -> Environment:
    """Create the template environment: it escapes values, fails on missing ones, and shows invisible characters.

    Args:
        packages: Packages with templates of their own, which come before ours.
    """
    made = Environment(
        loader=ChoiceLoader(
            [*(PackageLoader(name) for name in (*packages, "reeltalk.pages")), _OtherPackages()],
        ),
        bytecode_cache=_COMPILED,
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.filters["shown"] = shown_text
    made.filters["activity_title"] = activity_title
    made.globals.update(
        version=__version__,
        colours=charts.COLOURS,
        interval=INTERVAL,
        key_of=model_letter,
        items_of=items_of,
        n_items=n_items,
        metric_kind=metric_kind,
        metric_unit=metric_unit,
        few_mark=few_mark,
        format_value=format_value,
        format_quoted=format_quoted,
        format_range=format_range,
        format_signed=format_signed,
        metric_heading=metric_heading,
        swatch=lambda index: Markup(charts.swatch(index)),
        metric_title=metric_title,
        split_model_name=split_model_name,
        group_title=group_title,
        label_mark=label_mark,
        pages=(),
        here="",
    )
    return made


def plain_environment(environment: Environment) -> Environment:
    """The same templates for long pages, many times faster: what strangers wrote must pass through `shown`."""
    return environment.overlay(autoescape=False, finalize=None)


def shown_text(text: str) -> str:
    """A text of strangers as HTML: escaped, cut where it is very long, with what is invisible replaced."""
    return escape_html(limit_text(text))


@cache
def label_mark(vocabulary: str, label: str) -> Markup:
    """The name of a label as HTML; its code, if it has one, is a tooltip.

    Args:
        vocabulary: Name of its vocabulary, such as `vdact.question_type`, or the kind of a group, such as
            `question_type`.
        label: The label as tables have it.
    """
    title = group_title(vocabulary, label)
    if title == label.replace("_", " "):
        return Markup('<span dir="auto">{}</span>').format(printable(title))
    return Markup('<abbr title="{}">{}</abbr>').format(printable(label), printable(title))


def _finalize(value: object) -> object:
    """The value that a template prints: strings with invisible characters shown, everything else unchanged."""
    return (
        printable(value) if type(value) is str or (isinstance(value, str) and not isinstance(value, Markup)) else value
    )


def write_static(folder: Path, names: Sequence[str] = STATIC) -> None:
    """Copy style sheets and scripts into a site.

    Args:
        folder: The folder of the site.
        names: Files of the package's `static` folder.
    """
    for name in names:
        write_text(folder / name, (files("reeltalk.pages") / "static" / name).read_text(encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write a file of a site, with the same bytes on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def _root(page: str) -> str:
    return "../" * page.count("/")


def _file_of(page: str, name: str) -> str:
    """A file name that is safe on every system."""
    words = f"{page.removesuffix('.html').removeprefix('index')}-{name}".lower()
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
