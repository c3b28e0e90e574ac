"""A run on disk: a directory outside the benchmark, written whole or not at all."""

import contextlib
import hashlib
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from filelock import FileLock, Timeout

from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Record
from reeltalk.schema.runs import CONTROLS, Control, CurvePoint, GroupRow, ItemScores, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.atomic import REPLIES as REPLIES
from reeltalk.store.atomic import storage_errors, sync_directory, write_bytes, writing, writing_directory
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk.store.file_hashes import OPENINGS, FileHashes, Mark, ReplacedError, mark_of, refuse_replaced
from reeltalk.store.foreign import check_folder, path_inside
from reeltalk.store.manifest import hash_file
from reeltalk.store.rows import Rows, open_rows
from reeltalk.store.score_frame import RunScores, cached_scores, read_scores, score_rows
from reeltalk.store.tables import write_rows

if TYPE_CHECKING:
    import polars as pl

INFO: Final = "run.json"
ANSWERS: Final = "answers.jsonl"
ITEMS: Final = "scores/items.jsonl"
FLOOR: Final = "scores/floor.jsonl"
"""Scores of empty answers to some turns and units, if empty answers were judged and no model gave them."""
CURVES: Final = "scores/curves.jsonl"
GROUPS: Final = "scores/groups.jsonl"
JUDGED: Final = "scores/judged-{protocol}.jsonl"
SUMMARY: Final = "summary.json"
FILES: Final = "files.json"
"""File with the SHA-256 of every file that a report reads, by its path in the run; not in runs written by hand."""
CONTROLS_FOLDER: Final = "controls"
REQUEST: Final = "request.json"
"""File with the settings that determine the requests of a run. It is written first."""
COMMAND: Final = "command.json"
"""File with the command of a run, for `reeltalk retry`."""
STYLE: Final = "style.json"
"""File with what the style of answers costs with the judges of a run, from `judge --attack style`."""
FRAMES: Final = "frames"
LOCK: Final = ".lock"
REMADE_FOLDER: Final = ".remade"
"""Folder with the complete files of a repeated run, until they replace the old ones."""

UNFINISHED_FOLDER: Final = ".again"
"""Folder with the unfinished files of a repeated run, next to its old files."""
HIDDEN: Final = frozenset({LOCK, REMADE_FOLDER, UNFINISHED_FOLDER})
"""Hidden names that are ours in a run."""

SETTLING_S: Final = 30.0
"""Longest wait for another process that moves the files of a run into place."""
READERS_S: Final = 2.0
"""Longest wait for the folder of a new run: a reader may hold it while it moves files into place."""

SUMMARY_FIELDS: Final = (
    "model", "metric", "value", "n", "videos", "low", "high", "signature", "unscored", "not_applicable", "over_scored",
    "reasons",
)  # fmt: skip


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, repr=False)
class Run(HasOverview):
    """A run on disk. Large tables are read on demand, a row at a time."""

    path: Path
    info: RunInfo
    summary: list[SummaryRow]
    curves: list[CurvePoint]
    files: Mapping[str, str] = field(default_factory=dict, compare=False)
    """SHA-256 of every file when it was written; empty in runs without them, which are not checked."""
    mark: Mark | None = field(default=None, compare=False)
    """`mark_of` of `run.json` when the run was opened; None for a run that was not read from its folder."""

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

    def overview(self) -> Overview:
        """The models of the run, and how many numbers each has."""
        rows = tuple(
            (
                model.model,
                model.source,
                f"{sum(row.value is not None for row in self.summary if row.model == model.model):,}",
            )
            for model in self.info.models
        )
        title = f"run {self.path}, written by {self.info.kind}, {self.info.clusters:,} videos"
        notes = (f"metrics: {', '.join(self.info.metrics)}", f"reeltalk report {self.path} --out DIR shows its numbers")
        return Overview(title, ("model", "answers from", "numbers"), rows, notes)

    def answers(self) -> Rows[AnsweredTurn]:
        """Every answer with its question and references, by model."""
        return self._rows(ANSWERS, AnsweredTurn)

    def groups(self) -> list[GroupRow]:
        """Values over groups of turns."""
        return list(self._rows(GROUPS, GroupRow)) if self._has(GROUPS) else []

    def judged(self, protocol: str) -> Rows[JudgedScore]:
        """Every score that a protocol gave."""
        return self._rows(JUDGED.format(protocol=protocol), JudgedScore)

    def controls(self) -> dict[Control, "Run"]:
        """Complete runs of the same model with other pictures, by the name of the control, from `controls`.

        Raises:
            InputError: A file of one is damaged; names the place.
        """
        places = {name: self.path / CONTROLS_FOLDER / name for name in CONTROLS}
        with self._standing():
            return {name: read_run(place) for name, place in places.items() if (place / INFO).is_file()}

    def protocols(self) -> list[str]:
        """The protocols that judged this run."""
        names = (path.stem.removeprefix("judged-") for path in self.path.glob(JUDGED.format(protocol="*")))
        return sorted(name for name in names if self._has(JUDGED.format(protocol=name)))

    def item_scores(self) -> Rows[ItemScores]:
        """Every answer's scores, in the order of `answers`."""
        return self._rows(ITEMS, ItemScores)

    @cached_property
    def scores(self) -> RunScores:
        """Every turn's scores as frames, for analyses; read when you first ask for them.

        Raises:
            BenchmarkError: The table of scores lacks a row.
            InputError: A table is damaged; names the place.
        """
        floor = self._has(FLOOR)
        names = [
            ANSWERS,
            ITEMS,
            *([FLOOR] if floor else []),
            *(JUDGED.format(protocol=name) for name in self.protocols()),
        ]
        # Without the hash of each file, what was kept may be of another one.
        hashes = {name: self.files[name] for name in names} if self.files.keys() >= set(names) else {}
        for name in hashes:
            self.file(name)
        tables = {name: self.judged(name) for name in self.protocols()}
        nothing = self._rows(FLOOR, ItemScores) if floor else ()
        return cached_scores(hashes, lambda: read_scores(self._scored_answers(), tables, nothing))

    def frame(self) -> "pl.DataFrame":
        """All scores as a Polars frame: a row for each model, due turn or unit, and measure; means over epochs.

        Raises:
            BenchmarkError: The table of scores lacks a row.
            InputError: A table is damaged; names the place.
        """
        return score_rows(self.name, self.scores, self.protocols())

    def _scored_answers(self) -> Iterator[tuple[AnsweredTurn, dict[str, float]]]:
        rows = self.item_scores()
        if not rows:
            yield from ((answer, {}) for answer in self.answers())
            return
        scores: dict[tuple[str, str, int], ItemScores] = {}
        found = iter(rows)
        for answer in self.answers():
            key = (answer.model, answer.item_id, answer.epoch)
            # Both tables have the same order, so this dictionary stays empty unless another program wrote them.
            while key not in scores:
                row = next(found, None)
                if row is None:
                    raise BenchmarkError(
                        f"{self.path / ITEMS} has no row of model {answer.model!r} and {answer.item_id!r}, which "
                        f"{ANSWERS} has; score the answers again"
                    )
                scores[row.model, row.item_id, row.epoch] = row
            yield answer, scores.pop(key).scores

    def file(self, name: str) -> Path:
        """The path of a table's file, after a check that the file has not changed.

        Args:
            name: Path in the run, such as `answers.jsonl`.

        Raises:
            BenchmarkError: It was edited by hand, or is reached through a link.
        """
        path, written = path_inside(self.path, name), self.files.get(name)
        try:
            if written is None or self._checked.sha256(name) == written:
                return path
        except OSError:
            return path  # reading it raises the error
        raise BenchmarkError(
            f"{path} was edited or damaged: its content differs from the hash in {FILES}; to take it as it is now, run "
            f"'reeltalk validate --accept {self.path}'; else make the run again, or copy it again from its source"
        )

    def _rows(self, name: str, record: type[R]) -> Rows[R]:
        with self._standing():
            return open_rows(self.file(name), record)

    def _standing(self) -> contextlib.AbstractContextManager[None]:
        return refuse_replaced(self.path / INFO, self.mark, begun=self.path / REMADE_FOLDER)

    def _has(self, name: str) -> bool:
        return name in self.files if self.files else (self.path / name).is_file()

    @cached_property
    def _checked(self) -> FileHashes:
        return FileHashes(self.path)


def frames(runs: Iterable["Run | Path | str"]) -> "pl.DataFrame":
    """The scores of several runs as one Polars frame, with the columns of `Run.frame`.

    Args:
        runs: Runs, or their folders; at least one.

    Raises:
        BenchmarkError: One is no run, or lacks a row of scores.
        InputError: A file is damaged; names the place.
    """
    import polars as pl

    return pl.concat([(run if isinstance(run, Run) else read_run(Path(run))).frame() for run in runs])


def check_run_folder(path: Path) -> None:
    """Raise if a complete or unfinished run, or the main run of a control, holds a link, a pipe or a device.

    Raises:
        BenchmarkError: It holds one; names the first.
    """
    beside = path.parent.parent
    if path.parent.name == CONTROLS_FOLDER and ((beside / REQUEST).is_file() or (beside / INFO).is_file()):
        path = beside
    if path.is_dir():
        check_folder(path, HIDDEN)


def read_run(path: Path) -> Run:
    """Open a run. If another process replaces it meanwhile, read the new one.

    Raises:
        BenchmarkError: `path` is no run, holds a link, was edited by hand, or is unfinished; names the next step.
        InputError: A file of it is damaged; names the place.
    """
    for _ in range(OPENINGS - 1):
        with contextlib.suppress(ReplacedError):
            return _read_run(path)
    return _read_run(path)


def _read_run(path: Path) -> Run:
    check_run_folder(path)
    if (path / REMADE_FOLDER).is_dir():
        with lock_run(path, wait_s=SETTLING_S):
            install_remade_run(path)
    if is_unfinished(path):
        raise BenchmarkError(f"{path} {describe_unfinished(path)}")
    if not (path / INFO).is_file() and holds_plays(path):
        raise BenchmarkError(
            f"{path} holds plays of 'reeltalk proactive'; 'reeltalk proactive score' reads them, and 'reeltalk report' "
            "writes a page about such runs alone"
        )
    if not (path / INFO).is_file():
        raise BenchmarkError(
            f"{path} is not a run: it has no {INFO}; 'reeltalk evaluate' and 'reeltalk score' write runs"
        )
    mark = mark_of(path / INFO)
    with refuse_replaced(path / INFO, mark, begun=path / REMADE_FOLDER):
        info = parse(RunInfo, read_document(path, INFO), file=path / INFO)
        written = (path / FILES).is_file()
        files = parse(dict[str, str], read_document(path, FILES), file=path / FILES) if written else {}
        run = Run(path, info, [], [], files, mark)
        for name in files:
            run.file(name)
        run.summary.extend(parse(list[SummaryRow], read_document(path, SUMMARY), file=path / SUMMARY))
        run.curves.extend(open_rows(run.file(CURVES), CurvePoint))
    return run


SAME_TASK: Final = ("benchmark", "judging", "judge", "limit")
"""Settings in which runs agree that ask the same questions and judge the answers in the same way."""


def runs_beside(run: Run, most: int) -> list[Run]:
    """Complete runs in the folder of a run that ask the same questions and judge in the same way, the newest first.

    Folders that cannot be read are left out, and so are runs that another process is making.
    """
    wanted = [run.info.settings.get(name) for name in SAME_TASK]
    if wanted[0] is None or run.path.parent.name == CONTROLS_FOLDER:
        return []
    found: list[Run] = []
    files: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for path in run.path.resolve().parent.iterdir():
            info = path / INFO
            if path != run.path.resolve() and not path.is_symlink() and info.is_file():
                files.append((info.stat().st_mtime, path))
    for _, path in sorted(files, reverse=True):
        if len(found) == most:
            break
        if (path / REMADE_FOLDER).is_dir() or is_unfinished(path):
            continue
        with contextlib.suppress(ReeltalkError, OSError):
            other = read_run(run.path.parent / path.name)
            same = [other.info.settings.get(name) for name in SAME_TASK] == wanted
            if same and other.info.subject == run.info.subject:
                found.append(other)
    return found


def is_unfinished(path: Path) -> bool:
    """True if a run of turns was begun and is not complete."""
    if not (path / REQUEST).is_file() or (path / INFO).is_file() or (path / REMADE_FOLDER).is_dir():
        return False
    return not holds_plays(path)


def holds_plays(path: Path) -> bool:
    """True if a folder is a run of `reeltalk proactive`, which plays tasks and judges no turns."""
    with contextlib.suppress(ReeltalkError):
        request = read_document(path, REQUEST)
        return isinstance(request, dict) and "judging" not in request
    return False


def describe_unfinished(path: Path) -> str:
    """The progress of an unfinished run, and the command that finishes it."""
    far = "is an unfinished run"
    with contextlib.suppress(ReeltalkError, OSError):
        check_run_folder(path)
        if (path / ANSWERS).is_file():
            turns = [turn for turn in open_rows(path / ANSWERS, AnsweredTurn) if turn.state.is_due or turn.has_failed]
            far += f" with answers to {sum(not turn.has_failed for turn in turns):,} of {len(turns):,} turns"
        elif (kept := _count_replies(path / REPLIES)) is not None:
            far += f" with {kept:,} replies that are kept" if kept else " in which nothing was answered yet"
    run = run_to_retry(path)
    again = f"'reeltalk retry {run}' or " if (run / COMMAND).is_file() else ""
    return f"{far}; {again}the command that began it continues and finishes it"


def run_to_retry(path: Path) -> Path:
    """The run to name to `reeltalk retry` for a folder: for a control, its main run."""
    return path.parent.parent if path.resolve().parent.name == CONTROLS_FOLDER else path


def _count_replies(path: Path) -> int | None:
    """Number of replies in a store; None if it is unknown. Processes that write to the store are not disturbed."""
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            return int(store.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.Error:
        return None


@contextlib.contextmanager
def lock_run(path: Path, *, wait_s: float = READERS_S) -> Iterator[None]:
    """Lock a run's folder, so that no two processes make the same run.

    Raises:
        BenchmarkError: Another process makes the run, it holds a link, or the folder cannot be written.
    """
    check_run_folder(path)
    lock = FileLock(path / LOCK, timeout=wait_s)
    with storage_errors(path):
        try:
            lock.acquire()
        except Timeout:
            raise BenchmarkError(f"another process is making the run {path}; wait until it ends") from None
    try:
        yield
    finally:
        lock.release()


def install_remade_run(path: Path) -> None:
    """Replace a run by the one that was made again. The caller holds the lock of the folder.

    Raises:
        BenchmarkError: It cannot be written.
    """
    remade = path / REMADE_FOLDER
    if not remade.is_dir():
        return
    with storage_errors(path):
        if (remade / REQUEST).is_file() and (path / CONTROLS_FOLDER).is_dir():
            # The new run has other settings, so the old controls do not belong to it.
            remove_files(path / CONTROLS_FOLDER, but=(FRAMES,))
        # `run.json` moves last, when all files are in place.
        for entry in sorted(remade.iterdir(), key=lambda entry: entry.name == INFO):
            target = path / entry.name
            if target.is_dir():
                shutil.rmtree(target)
            entry.replace(target)
        sync_directory(path)
        remade.rmdir()


def remove_files(folder: Path, *, but: Iterable[str] = ()) -> None:
    """Remove the content of a folder that reeltalk wrote, except databases: replies are never removed."""
    for entry in sorted(folder.iterdir()):
        if entry.name in but or ".sqlite" in entry.name:
            continue
        if not entry.is_dir() or entry.is_symlink():
            entry.unlink()
        elif list(entry.rglob("*.sqlite*")):
            remove_files(entry)
        else:
            shutil.rmtree(entry)


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
        path: Folder of the run.
        info: Content of `run.json`.
        answers: Rows of `answers.jsonl`.
        items: Rows of `scores/items.jsonl`, in the order of `answers`.
        summary: Rows of `summary.json`.
        curves: Rows of `scores/curves.jsonl`.
        overwrite: Replace an existing run at `path`. Anything else is never replaced.

    Raises:
        BenchmarkError: `path` is taken, or cannot be written.
    """
    if overwrite and path.exists() and any(path.iterdir()) and not (path / INFO).is_file():
        raise BenchmarkError(f"{path} is not a run, so --overwrite does not replace it")
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
        folder: Receives the files.
        info: Content of `run.json`.
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
    write_results(folder, info, items=items, summary=summary, curves=curves, groups=groups, protocols=judged or ())


def write_results(
    folder: Path,
    info: RunInfo,
    *,
    items: Iterable[ItemScores],
    summary: Iterable[SummaryRow],
    curves: Iterable[CurvePoint],
    groups: Iterable[GroupRow],
    protocols: Iterable[str],
    floor: Iterable[ItemScores] = (),
) -> None:
    """As `write_tables`, for a folder in which `write_scores` wrote answers and scores.

    Args:
        folder: Receives the files.
        info: Content of `run.json`.
        items: Rows of `scores/items.jsonl`, in the order of the answers.
        summary: Rows of `summary.json`.
        curves: Rows of `scores/curves.jsonl`.
        groups: Rows of `scores/groups.jsonl`.
        protocols: Names of the protocols that judged.
        floor: Rows of `scores/floor.jsonl`; there is no file without any.

    Raises:
        BenchmarkError: A file cannot be written.
    """
    nothing = list(floor)
    tables: list[tuple[str, Iterable[Record]]] = [(ITEMS, items), (CURVES, curves), (GROUPS, groups)]
    tables += [(FLOOR, nothing)] if nothing else []
    _write(folder, tables)
    names = [ANSWERS, *(JUDGED.format(protocol=name) for name in protocols), *(name for name, _ in tables)]
    write_summary(folder, info, summary, names)


def write_summary(folder: Path, info: RunInfo, summary: Iterable[SummaryRow], names: Iterable[str]) -> None:
    """Write `summary.json`, the hashes of a run's files, then `run.json`.

    Args:
        folder: Receives the files.
        info: Content of `run.json`.
        summary: Rows of `summary.json`.
        names: The run's other files.

    Raises:
        BenchmarkError: A file cannot be written.
    """
    rows = [row.model_dump(mode="json", include=set(SUMMARY_FIELDS)) for row in summary]
    write_bytes(folder / SUMMARY, write_json(rows).encode())
    last = write_json(info.model_dump(mode="json", exclude_defaults=False)).encode()
    hashes = {name: hash_file(folder / name)[0] for name in (*names, SUMMARY)}
    hashes[INFO] = hashlib.sha256(last).hexdigest()
    write_bytes(folder / FILES, write_json(dict(sorted(hashes.items()))).encode())
    write_bytes(folder / INFO, last)


def write_scores(folder: Path, answers: Iterable[AnsweredTurn], judged: Mapping[str, Iterable[JudgedScore]]) -> None:
    """Write answers and scores into a folder, each file whole or not at all.

    Args:
        folder: Receives the files.
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
