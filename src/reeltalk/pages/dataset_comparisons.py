"""A benchmark beside published data sets: SVBench's table 1, VDAct's tables 3 and 4, MT-Video-Bench's table 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.dataset import DatasetNumbers
from reeltalk.analysis.published.records import PublishedBenchmark, PublishedTable, Value, published, shown_value

LONG_S: Final = 120.0
"""SVBench calls a data set long where its average video is longer."""


@dataclass(frozen=True)
class ComparedRow:
    """One data set."""

    name: str
    cells: tuple[str, ...]
    own: bool = False
    """True for the benchmark that the page is about."""


@dataclass(frozen=True)
class Comparison:
    """A published table with a row, or rows, of one's own."""

    title: str
    source: str
    head: tuple[str, ...]
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...] = ()


def comparisons(found: DatasetNumbers) -> list[Comparison]:
    """The tables in which the benchmark has a row.

    Args:
        found: Its numbers.
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


def _svbench(found: DatasetNumbers) -> Comparison:
    long = None if found.seconds.mean is None else found.seconds.mean > LONG_S
    categories = len({category for category, _ in found.categories})
    annotation = ("Auto&Manual" if found.reviewed else "Auto") if found.constructed else None
    own: tuple[Value, ...] = (
        found.qa_pairs,
        found.qa_pairs / (found.chains_a_video.n if found.chains else found.asked_videos),
        long,
        categories > 1 if categories else None,
        found.is_dialogue,
        found.is_streaming,
        annotation,
    )
    notes = [
        "Here open-domain means that the videos are of several categories; – is what the benchmark does not state."
    ]
    if len(found.languages) > 1:
        notes.append("Questions of every language count.")
    if found.chains and found.dialogues:
        notes.append("Questions of chains, without those of dialogues.")
    bench = published("svbench")
    return _beside(bench, bench.table("table-1"), [_own(found, own)], notes)


def _vdact(found: DatasetNumbers) -> Comparison:
    assert found.table_3 is not None
    bench = published("vdact")
    own = (*found.table_3.values, found.graphs is not None)
    return _beside(bench, bench.table("table-3"), [_own(found, own)], ["Of ours, videos are those with a dialogue."])


def _components(found: DatasetNumbers) -> Comparison:
    assert found.graphs is not None
    rows = [ComparedRow(f"{found.name}, activity", _cells(found.graphs.activity.values), own=True)]
    if found.graphs.scenario is not None:
        rows.append(ComparedRow(f"{found.name}, scenario", _cells(found.graphs.scenario.values), own=True))
    bench = published("vdact")
    told = f"Ours are means over {found.graphs.activities:,} activities and {found.graphs.scenarios:,} scenarios."
    return _beside(bench, bench.table("table-4"), rows, [told])


def _mt_video_bench(found: DatasetNumbers) -> Comparison:
    dialogues = found.table_3
    if dialogues is not None:
        questions, videos, turns = dialogues.turns, dialogues.videos, found.dialogue_turns.mean
        lengths = (dialogues.mean_question_words, dialogues.mean_answer_words)
    else:
        questions, videos, turns = found.turns_in_chains, found.chains_a_video.n, found.chain_turns.mean
        lengths = (found.question_words.mean, found.answer_words.mean)
    own: tuple[Value, ...] = (questions, questions / videos, turns, None, None, *lengths)
    notes = ["Ours has lengths in words; how the diversities are computed is not known, so it has none."]
    if found.chains and found.dialogues:
        notes.append("Questions of dialogues, without those of chains.")
    bench = published("mt-video-bench")
    return _beside(bench, bench.table("table-1"), [_own(found, own)], notes)


def _own(found: DatasetNumbers, values: Sequence[Value]) -> ComparedRow:
    return ComparedRow(f"{found.name}, {found.videos:,} videos" if found.videos else found.name, _cells(values), True)


def _beside(
    bench: PublishedBenchmark, table: PublishedTable, own: Sequence[ComparedRow], notes: Sequence[str]
) -> Comparison:
    rows = [ComparedRow(row.model, _cells(row.values)) for row in table.rows]
    return Comparison(
        title=table.about,
        source=f"{bench.title} {table.title[0].lower()}{table.title[1:]}",
        head=tuple(column.label for column in table.columns),
        rows=(*own, *rows),
        notes=(*table.notes, *notes),
    )


def _cells(values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(shown_value(value) for value in values)
