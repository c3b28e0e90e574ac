"""The page about a benchmark's data: figures and tables, each with the published figure that shows the same."""

from dataclasses import dataclass, replace
from typing import Final

from reeltalk.analysis.dataset import DatasetNumbers, count_dataset, count_noun, format_number
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.judge_rates import HEADINGS, rate_cells
from reeltalk.metrics.turn_checks import (
    Quality,
    benchmark_quality,
    format_share,
    identical_sentences,
    quality_sentences,
)
from reeltalk.pages.dataset_figures import Panel, activity_panels, kind_panels, question_panels, video_panels
from reeltalk.pages.published import DatasetComparison, dataset_comparisons
from reeltalk.pages.site import BenchmarkSite, Page, Site, write_static
from reeltalk.store.benchmark import Benchmark, has_graphs
from reeltalk.store.tables import CHAINS, DIALOGUES, PATHS, VIDEOS

PAGE: Final = "dataset.html"
STYLE: Final = "dataset.css"


@dataclass(frozen=True)
class DatasetSection:
    """A section of related figures."""

    id: str
    title: str
    panels: tuple[Panel, ...] = ()
    comparisons: tuple[DatasetComparison, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """The content of the page."""

    name: str
    lead: str
    basics: tuple[tuple[str, str], ...]
    sections: tuple[DatasetSection, ...]
    quality: Quality
    """How far its turns were checked."""


def read_dataset(benchmark: Benchmark) -> Dataset:
    """Count a benchmark and draw its figures.

    Args:
        benchmark: Imported, curated, constructed or filmed.

    Raises:
        BenchmarkError: It has neither videos nor questions.
        InputError: A table or graph is damaged.
    """
    found = count_dataset(benchmark)
    if found.is_empty:
        raise BenchmarkError(
            f"{benchmark.path} has neither videos nor questions, so there is nothing to report; "
            "'reeltalk import', 'reeltalk curate' and 'reeltalk construct' fill a benchmark"
        )
    sections = (
        DatasetSection("videos", "Videos", tuple(video_panels(found))),
        DatasetSection("questions", "Questions", tuple(question_panels(found))),
        DatasetSection("kinds", "Kinds of questions", tuple(kind_panels(found))),
        DatasetSection("activities", "Activities", tuple(activity_panels(found))),
        DatasetSection("beside", "Compared with other data sets", comparisons=tuple(dataset_comparisons(found))),
    )
    kept = tuple(section for section in sections if section.panels or section.comparisons)
    return Dataset(found.name, _lead(found), tuple(_basics(found)), kept, benchmark_quality(benchmark))


def quality_values(quality: Quality) -> dict[str, object]:
    """What the template `_quality.html` needs. Without results of checks it only warns of identical chains."""
    known = quality.turns and quality.results
    return {
        "quality": quality if known else None,
        "sentences": list((quality_sentences if known else identical_sentences)(quality)),
        "share": format_share,
        "rate_headings": HEADINGS,
        "rate_cells": rate_cells,
    }


def _lead(found: DatasetNumbers) -> str:
    parts = [count_noun(found.videos, "video")] if found.videos else []
    if found.turns:
        parts.append(count_noun(found.turns, "question"))
    units = [(found.chains, "chain"), (found.dialogues, "dialogue"), (found.paths, "path")]
    parts += [count_noun(number, noun) for number, noun in units if number]
    return ", ".join(parts)


def _basics(found: DatasetNumbers) -> list[tuple[str, str]]:
    total_s = sum(value * times for value, times in found.seconds.counts.items())
    lines: list[tuple[str, float | None, str]] = [
        ("Videos", found.videos or None, ""),
        ("with a chain or dialogue", found.videos_with_questions or None, ""),
        ("Length of a video, mean", found.seconds.mean, "s"),
        ("Length of all videos", total_s / 3600 or None, "h"),
        ("Scenes", found.scenes or None, ""),
        ("Clips", found.clips or None, ""),
        ("Question chains", found.chains or None, ""),
        ("turns a chain, mean", found.chain_turns.mean, ""),
        ("chains a video, mean", found.chains_a_video.mean, ""),
        ("Temporal linkages", found.relations.total() or None, ""),
        ("Dialogue paths", found.paths or None, ""),
        ("turns a path, mean", found.path_turns.mean, ""),
        ("Dialogues", found.dialogues or None, ""),
        ("turns a dialogue, mean", found.dialogue_turns.mean, ""),
        ("Questions of chains and dialogues", found.turns or None, ""),
        ("with answer options", found.options or None, ""),
        ("with a time at which they are asked", found.moments or None, ""),
        ("with a checklist", found.checklists or None, ""),
        ("Words of a question, mean", found.question_words.mean, ""),
        ("Words of a reference, mean", found.answer_words.mean, ""),
        ("Evidence intervals", found.evidence_s.n or None, ""),
        ("Activity graphs", found.graphs.activities if found.graphs else None, ""),
    ]
    return [(name, f"{format_number(value)} {unit}".strip()) for name, value, unit in lines if value is not None]


def has_dataset(benchmark: Benchmark) -> bool:
    """True if the benchmark holds videos, questions, paths or graphs."""
    return any(benchmark.rows(table) for table in (VIDEOS, CHAINS, DIALOGUES, PATHS)) or has_graphs(benchmark)


def write_dataset(site: Site) -> None:
    """Write `dataset.html` of a report on runs."""
    assert site.benchmark is not None
    write_static(site.folder, [STYLE])
    dataset = read_dataset(site.benchmark)
    sections = tuple(
        replace(section, panels=tuple(_with_files(site, section.id, panel) for panel in section.panels))
        for section in dataset.sections
    )
    site.render("dataset.html", PAGE, **_values(replace(dataset, sections=sections)))


def _with_files(site: Site, section: str, panel: Panel) -> Panel:
    """The panel with links to the files of its figure and table, if these are requested."""
    name = f"{section}-{panel.title}"
    svg = site.figure(PAGE, name, str(panel.svg), panel.title)
    return replace(panel, svg=svg, files=site.table(PAGE, name, panel.head, panel.rows, panel.title))


def write_dataset_page(site: BenchmarkSite, page: str = PAGE) -> None:
    """Write the page of a benchmark's own report.

    Args:
        site: The site of a benchmark, imported, curated, constructed or filmed.
        page: Name of the page.

    Raises:
        BenchmarkError: It has neither videos nor questions.
        InputError: A table or graph is damaged.
    """
    values = _values(read_dataset(site.benchmark))
    write_static(site.folder, [STYLE])
    site.render("dataset.html", page, **values)


def _values(dataset: Dataset) -> dict[str, object]:
    return {"dataset": dataset, **quality_values(dataset.quality)}


REPORT_PAGES: Final = (
    Page(
        "Dataset",
        PAGE,
        lambda site: site.benchmark is not None and has_dataset(site.benchmark),
        write_dataset,
        place=150,
        more=True,
    ),
)
