"""A run on disk: a directory outside the benchmark, written whole or not at all."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.record import Record
from reeltalk.schema.runs import CONTROLS, Control, CurvePoint, GroupRow, ItemScores, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.atomic import write_bytes, writing, writing_directory
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.tables import read_rows, write_rows

INFO: Final = "run.json"
ANSWERS: Final = "answers.jsonl"
ITEMS: Final = "scores/items.jsonl"
CURVES: Final = "scores/curves.jsonl"
GROUPS: Final = "scores/groups.jsonl"
JUDGED: Final = "scores/judged-{protocol}.jsonl"
SUMMARY: Final = "summary.json"
CONTROLS_FOLDER: Final = "controls"

SUMMARY_FIELDS: Final = (
    "model", "metric", "value", "n", "videos", "low", "high", "signature", "unscored", "not_applicable", "over_scored",
    "reasons",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run that was read. What is large is read when asked for, a row at a time."""

    path: Path
    info: RunInfo
    summary: list[SummaryRow]
    curves: list[CurvePoint]

    @classmethod
    def open(cls, path: Path | str) -> "Run":
        """Open a run.

        Raises:
            BenchmarkError: `path` is no run.
            InputError: A file of it is damaged; names the place.
        """
        return read_run(Path(path))

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return self.path.resolve().name

    def answers(self) -> Iterator[AnsweredTurn]:
        """Every answer beside its question and references, model by model."""
        return read_rows(self.path / ANSWERS, AnsweredTurn)

    def groups(self) -> list[GroupRow]:
        """Values over groups of turns."""
        path = self.path / GROUPS
        return list(read_rows(path, GroupRow)) if path.is_file() else []

    def judged(self, protocol: str) -> Iterator[JudgedScore]:
        """Every score that a protocol gave."""
        return read_rows(self.path / JUDGED.format(protocol=protocol), JudgedScore)

    def controls(self) -> dict[Control, "Run"]:
        """The same model with other pictures, by the name of the control: whole runs below `controls`.

        Raises:
            InputError: A file of one is damaged; names the place.
        """
        places = {name: self.path / CONTROLS_FOLDER / name for name in CONTROLS}
        return {name: read_run(place) for name, place in places.items() if (place / INFO).is_file()}

    def protocols(self) -> list[str]:
        """The protocols that judged this run."""
        return sorted(path.stem.removeprefix("judged-") for path in self.path.glob(JUDGED.format(protocol="*")))

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
        write_tables(folder, info, answers=answers, items=items, summary=summary, curves=curves)


def write_tables(
    folder: Path,
    info: RunInfo,
    *,
    answers: Iterable[AnsweredTurn],
    items: Iterable[ItemScores],
    summary: Iterable[SummaryRow],
    curves: Iterable[CurvePoint],
    groups: Iterable[GroupRow] = (),
    judged: Mapping[str, Iterable[JudgedScore]] | None = None,
) -> None:
    """Write a run's files into a folder, each whole or not at all, `run.json` last.

    Args:
        folder: Where they go.
        info: What becomes `run.json`.
        answers: Rows of `answers.jsonl`.
        items: Rows of `scores/items.jsonl`, in the order of `answers`.
        summary: Rows of `summary.json`.
        curves: Rows of `scores/curves.jsonl`.
        groups: Rows of `scores/groups.jsonl`.
        judged: Rows of `scores/judged-PROTOCOL.jsonl`, by protocol.

    Raises:
        BenchmarkError: A file cannot be written.
    """
    write_scores(folder, answers, judged or {})
    _write(folder, [(ITEMS, items), (CURVES, curves), (GROUPS, groups)])
    rows = [row.model_dump(mode="json", include=set(SUMMARY_FIELDS)) for row in summary]
    write_bytes(folder / SUMMARY, write_json(rows).encode())
    write_bytes(folder / INFO, write_json(info.model_dump(mode="json", exclude_defaults=False)).encode())


def write_scores(folder: Path, answers: Iterable[AnsweredTurn], judged: Mapping[str, Iterable[JudgedScore]]) -> None:
    """Write what models and judges said into a folder, each file whole or not at all.

    Args:
        folder: Where the files go.
        answers: Rows of `answers.jsonl`.
        judged: Rows of `scores/judged-PROTOCOL.jsonl`, by protocol.

    Raises:
        BenchmarkError: A file cannot be written.
    """
    _write(folder, [(ANSWERS, answers), *((JUDGED.format(protocol=name), rows) for name, rows in judged.items())])


def _write(folder: Path, tables: Iterable[tuple[str, Iterable[Record]]]) -> None:
    (folder / "scores").mkdir(exist_ok=True)
    for name, records in tables:
        with writing(folder / name) as stream:
            write_rows(stream, records)
