"""A run on disk: a directory outside the benchmark, written whole or not at all."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, ItemScores, RunInfo, SummaryRow
from reeltalk.store.atomic import writing_directory
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.tables import read_rows, write_rows

INFO: Final = "run.json"
ANSWERS: Final = "answers.jsonl"
ITEMS: Final = "scores/items.jsonl"
CURVES: Final = "scores/curves.jsonl"
SUMMARY: Final = "summary.json"

SUMMARY_FIELDS: Final = ("model", "metric", "value", "n", "low", "high", "signature")


@dataclass(frozen=True)
class Run:
    """A run that was read. What is large is read when asked for, a row at a time."""

    path: Path
    info: RunInfo
    summary: list[SummaryRow]
    curves: list[CurvePoint]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return self.path.resolve().name

    def answers(self) -> Iterator[AnsweredTurn]:
        """Every answer beside its question and references, model by model."""
        return read_rows(self.path / ANSWERS, AnsweredTurn)

    def item_scores(self) -> Iterator[ItemScores]:
        """Every answer's scores, in the order of `answers`."""
        return read_rows(self.path / ITEMS, ItemScores)


def read_run(path: Path) -> Run:
    """Open a run.

    Raises:
        BenchmarkError: `path` is no run.
        InputError: A file of it is damaged; names the place.
    """
    if not (path / INFO).is_file():
        raise BenchmarkError(f"{path} is not a run: it has no {INFO}; 'reeltalk score' writes runs")
    info = parse(RunInfo, read_json(path / INFO), file=path / INFO)
    summary = parse(list[SummaryRow], read_json(path / SUMMARY), file=path / SUMMARY)
    return Run(path, info, summary, list(read_rows(path / CURVES, CurvePoint)))


def write_run(
    path: Path,
    info: RunInfo,
    *,
    answers: Iterable[AnsweredTurn],
    items: Iterable[ItemScores],
    summary: Iterable[SummaryRow],
    curves: Iterable[CurvePoint],
    overwrite: bool = False,
) -> None:
    """Write a run, whole or not at all.

    Args:
        path: The folder that appears.
        info: What becomes `run.json`.
        answers: Rows of `answers.jsonl`.
        items: Rows of `scores/items.jsonl`, in the order of `answers`.
        summary: Rows of `summary.json`.
        curves: Rows of `scores/curves.jsonl`.
        overwrite: Replace the run that is at `path`; anything else there is never replaced.

    Raises:
        BenchmarkError: `path` is taken, or cannot be written.
    """
    if overwrite and path.exists() and any(path.iterdir()) and not (path / INFO).is_file():
        raise BenchmarkError(f"{path} holds something that is no run, so --overwrite does not replace it")
    with writing_directory(path, overwrite=overwrite) as folder:
        (folder / INFO).write_text(write_json(info.model_dump(mode="json", exclude_defaults=False)), encoding="utf-8")
        rows = [row.model_dump(mode="json", include=set(SUMMARY_FIELDS)) for row in summary]
        (folder / SUMMARY).write_text(write_json(rows), encoding="utf-8")
        (folder / "scores").mkdir()
        for name, records in ((ANSWERS, answers), (ITEMS, items), (CURVES, curves)):
            with (folder / name).open("wb") as stream:
                write_rows(stream, records)
