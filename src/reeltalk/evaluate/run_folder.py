"""The folder of a run while it is made: what was asked so far is kept, and `run.json` comes last."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from reeltalk.errors import BenchmarkError
from reeltalk.llm.replies import ReplyStore
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, GroupRow, ItemScores, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, write_bytes
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.runs import INFO, write_scores, write_tables

REQUEST: Final = "request.json"
REPLIES: Final = "replies.sqlite"
LOGS: Final = "logs"
FRAMES: Final = "frames"
SHARDS: Final = "shards"
LOCK: Final = ".lock"


def is_whole(path: Path, request: Mapping[str, Any]) -> bool:
    """True where a folder holds a whole run that the very request made.

    Args:
        path: The folder.
        request: All that decides what the run asks.
    """
    if not (path / INFO).is_file() or not (path / REQUEST).is_file():
        return False
    return bool(read_json(path / REQUEST) == json.loads(json.dumps(request)))


class RunFolder:
    """Owns a run's folder while it is made. Use as a context."""

    def __init__(
        self, path: Path, request: Mapping[str, Any], *, overwrite: bool = False, frames: Path | None = None
    ) -> None:
        """Begin a run, or go on with the one that was begun by the same request.

        Args:
            path: The folder.
            request: All that decides what the run asks; the same request goes on, another one is refused.
            overwrite: Replace the run that is there.
            frames: Keeps pictures for several runs, and stays; by default the run keeps its own until it is whole.

        Raises:
            BenchmarkError: There is something else, a run by another request, or a run that is whole.
        """
        self.path, self.frames = path, frames or path / FRAMES
        self._request = json.loads(json.dumps(request))
        with storage_errors(path):
            if path.exists() and not path.is_dir():
                raise BenchmarkError(f"{path} is a file; choose a folder")
            path.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path / LOCK, timeout=0)
        with storage_errors(path):
            try:
                self._lock.acquire()
            except Timeout:
                raise BenchmarkError(f"another process is making the run {path}; wait for its end") from None
        try:
            self._begin(overwrite)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, overwrite: bool) -> None:
        path = self.path
        with storage_errors(path):
            # Left by a process that was killed while it wrote.
            for partial in path.rglob(f"{PARTIAL_PREFIX}*"):
                partial.unlink()
        others = [entry for entry in path.iterdir() if entry.name != LOCK]
        begun = (path / REQUEST).is_file()
        whole = (path / INFO).is_file()
        if others and not begun and not whole:
            raise BenchmarkError(f"{path} holds something that is no run; choose another folder")
        if begun and not whole and not overwrite:
            before = parse(dict[str, Any], read_json(path / REQUEST), file=path / REQUEST)
            if before != self._request and self._anything_asked():
                differing = sorted(
                    key for key in {*before, *self._request} if before.get(key) != self._request.get(key)
                )
                raise BenchmarkError(
                    f"{path} was begun with other settings ({', '.join(differing)}); give the same ones to go on, "
                    "choose another folder, or pass --overwrite to begin anew"
                )
            if before == self._request:
                return
        if whole and not overwrite:
            raise BenchmarkError(f"{path} holds a whole run; choose another folder or pass --overwrite")
        for entry in others:
            with storage_errors(entry):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        write_bytes(path / REQUEST, write_json(self._request).encode())

    def _anything_asked(self) -> bool:
        """Whether a reply or an event was kept: a run that was refused before its first question may begin anew."""
        if any(self.path.glob("*.jsonl")):
            return True
        if not self.replies.is_file():
            return False
        with ReplyStore(self.replies) as store:
            return len(store) > 0

    @property
    def replies(self) -> Path:
        """Where replies are kept."""
        return self.path / REPLIES

    @property
    def logs(self) -> Path:
        """Where inspect_ai's logs lie."""
        return self.path / LOGS

    @property
    def shards(self) -> Path:
        """Where several processes that make the run write what came of their parts."""
        return self.path / SHARDS

    def clear_logs(self) -> None:
        """Remove the logs of an attempt that was stopped: the next one writes it all again, from kept replies."""
        shutil.rmtree(self.logs, ignore_errors=True)

    def keep(self, answers: Iterable[AnsweredTurn], judged: Mapping[str, Iterable[JudgedScore]]) -> None:
        """Write answers and scores before anything is computed from them; the run is not whole yet.

        Args:
            answers: Rows of `answers.jsonl`.
            judged: Rows of `scores/judged-PROTOCOL.jsonl`.

        Raises:
            BenchmarkError: The disk is full or cannot be written; replies are kept, and the same command goes on.
        """
        with storage_errors(self.path):
            write_scores(self.path, answers, judged)

    def finish(
        self,
        info: RunInfo,
        *,
        answers: Iterable[AnsweredTurn],
        items: Iterable[ItemScores],
        summary: Iterable[SummaryRow],
        curves: Iterable[CurvePoint],
        groups: Iterable[GroupRow],
        judged: Mapping[str, Iterable[JudgedScore]],
    ) -> None:
        """Write all tables, then `run.json`.

        Args:
            info: What becomes `run.json`.
            answers: Rows of `answers.jsonl`.
            items: Rows of `scores/items.jsonl`.
            summary: Rows of `summary.json`.
            curves: Rows of `scores/curves.jsonl`.
            groups: Rows of `scores/groups.jsonl`.
            judged: Rows of `scores/judged-PROTOCOL.jsonl`.

        Raises:
            BenchmarkError: The disk is full or cannot be written; replies are kept, and the same command goes on.
        """
        with storage_errors(self.path):
            write_tables(
                self.path,
                info,
                answers=answers,
                items=items,
                summary=summary,
                curves=curves,
                groups=groups,
                judged=judged,
            )
        for work in (self.path / FRAMES, self.shards):
            shutil.rmtree(work, ignore_errors=True)

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()
