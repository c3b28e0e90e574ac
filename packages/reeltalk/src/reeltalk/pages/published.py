"""Published numbers next to your own: data sets next to a benchmark, and models next to the runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.dataset import DatasetNumbers
from reeltalk.analysis.published.compare_published import compare_published
from reeltalk.analysis.published.records import (
    HOW_WORDS,
    PublishedBenchmark,
    PublishedTable,
    Value,
    format_published,
    read_published,
)
from reeltalk.pages.site import Page, Site, write_static
from reeltalk.store.benchmark import Benchmark

LONG_S: Final = 120.0
"""SVBench calls a data set long if its average video is longer."""


@dataclass(frozen=True)
class ComparedRow:
    """One data set."""

    name: str
    cells: tuple[str, ...]
    own: bool = False
    """True for the benchmark that the page is about."""


@dataclass(frozen=True)
class DatasetComparison:
    """A published table with rows of your benchmark."""

    title: str
    source: str
    head: tuple[str, ...]
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...] = ()


def dataset_comparisons(found: DatasetNumbers) -> list[DatasetComparison]:
    """The tables in which the benchmark has a row.

    Args:
        found: The numbers of the benchmark.
    """
    tables = []
    if found.turns:
        tables.append(_svbench(found))
    if found.table_3 is not None:
        tables.append(_vdact(found))
    if found.graphs is not None:
        tables.append(_components(found))
    if found.turns:
        tables.append(_mt_video_bench(found))
    return tables


def _svbench(found: DatasetNumbers) -> DatasetComparison:
    long = None if found.seconds.mean is None else found.seconds.mean > LONG_S
    categories = len({category for category, _ in found.categories})
    annotation = ("Auto&Manual" if found.reviewed else "Auto") if found.constructed else None
    own: tuple[Value, ...] = (
        found.qa_pairs,
        found.qa_pairs / (found.chains_a_video.n if found.chains else found.videos_with_questions),
        long,
        categories > 1 if categories else None,
        found.is_dialogue,
        found.is_streaming,
        annotation,
    )
    notes = [
        "Here open-domain means that the videos have several categories; – means that the benchmark does not state it."
    ]
    if len(found.languages) > 1:
        notes.append("Questions in all languages are counted.")
    if found.chains and found.dialogues:
        notes.append("Questions of chains only, without dialogues.")
    bench = read_published("svbench")
    return _set_beside(bench, bench.table("table-1"), [_own(found, own)], notes)


def _vdact(found: DatasetNumbers) -> DatasetComparison:
    assert found.table_3 is not None
    bench = read_published("vdact")
    own = (*found.table_3.values, found.graphs is not None)
    return _set_beside(
        bench, bench.table("table-3"), [_own(found, own)], ["In our row, only videos with a dialogue are counted."]
    )


def _components(found: DatasetNumbers) -> DatasetComparison:
    assert found.graphs is not None
    rows = [ComparedRow(f"{found.name}, activity", _cells(found.graphs.activity.values), own=True)]
    if found.graphs.scenario is not None:
        rows.append(ComparedRow(f"{found.name}, scenario", _cells(found.graphs.scenario.values), own=True))
    bench = read_published("vdact")
    told = f"Ours are means over {found.graphs.activities:,} activities and {found.graphs.scenarios:,} scenarios."
    return _set_beside(bench, bench.table("table-4"), rows, [told])


def _mt_video_bench(found: DatasetNumbers) -> DatasetComparison:
    dialogues = found.table_3
    if dialogues is not None:
        questions, videos, turns = dialogues.turns, dialogues.videos, found.dialogue_turns.mean
        lengths = (dialogues.mean_question_words, dialogues.mean_answer_words)
    else:
        questions, videos, turns = found.turns_in_chains, found.chains_a_video.n, found.chain_turns.mean
        lengths = (found.question_words.mean, found.answer_words.mean)
    own: tuple[Value, ...] = (questions, questions / videos, turns, None, None, *lengths)
    notes = ["Our row has lengths in words. It has no diversities, because their formula was not published."]
    if found.chains and found.dialogues:
        notes.append("Questions of dialogues only, without chains.")
    bench = read_published("mt-video-bench")
    return _set_beside(bench, bench.table("table-1"), [_own(found, own)], notes)


def _own(found: DatasetNumbers, values: Sequence[Value]) -> ComparedRow:
    return ComparedRow(f"{found.name}, {found.videos:,} videos" if found.videos else found.name, _cells(values), True)


def _set_beside(
    bench: PublishedBenchmark, table: PublishedTable, own: Sequence[ComparedRow], notes: Sequence[str]
) -> DatasetComparison:
    rows = [ComparedRow(row.model, _cells(row.values)) for row in table.rows]
    return DatasetComparison(
        title=table.about,
        source=f"{bench.title} {table.title[0].lower()}{table.title[1:]}",
        head=tuple(column.label for column in table.columns),
        rows=(*own, *rows),
        notes=(*table.notes, *notes),
    )


def _cells(values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(format_published(value) for value in values)


PAGE: Final = "published.html"
STYLE: Final = "published.css"
IMPORT: Final = "import "
"""Names of stages that read a published layout begin with this."""


def write_published(site: Site) -> None:
    """Write `published.html`: the published benchmarks of the settings next to the runs' numbers.

    Raises:
        SettingError: The settings name a benchmark without known published numbers.
    """
    imported = formats_of(site.benchmark) if site.benchmark is not None else None
    write_static(site.folder, [STYLE])
    site.render(
        "published.html",
        PAGE,
        shown_beside=[
            compare_published(site.board, read_published(name), imported=imported) for name in site.settings.published
        ],
        format_published=format_published,
        how_words=HOW_WORDS,
    )


def formats_of(benchmark: Benchmark) -> frozenset[str]:
    """The published layouts from which files of a benchmark were imported."""
    stages = {entry.stage for entry in benchmark.manifest.files.values()}
    return frozenset(stage.removeprefix(IMPORT) for stage in stages if stage.startswith(IMPORT))


REPORT_PAGES: Final = (
    Page("Published numbers", PAGE, lambda site: bool(site.settings.published), write_published, place=160, more=True),
)
