"""The folder of an unfinished run: replies are stored as they arrive, and `run.json` is written last."""

import contextlib
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reeltalk.errors import BenchmarkError
from reeltalk.llm.replies import ReplyStore
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import CurvePoint, GroupRow, ItemScores, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors, sync_directory, write_bytes
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.runs import (
    COMMAND,
    CONTROLS_FOLDER,
    FRAMES,
    INFO,
    LOCK,
    REMADE_FOLDER,
    REPLIES,
    REQUEST,
    UNFINISHED_FOLDER,
    check_run_folder,
    install_remade_run,
    lock_run,
    remove_files,
    write_results,
    write_scores,
)


def is_whole(path: Path, request: Mapping[str, Any]) -> bool:
    """True if a folder holds a complete run of exactly this request.

    Args:
        path: The folder.
        request: All settings that decide what the run asks.
    """
    check_run_folder(path)
    if (path / REMADE_FOLDER).is_dir():
        with lock_run(path):
            install_remade_run(path)
    if not (path / INFO).is_file() or not (path / REQUEST).is_file():
        return False
    return bool(read_json(path / REQUEST) == json.loads(json.dumps(request)))


class RunFolder:
    """The folder of a run while it is made. Use it as a context manager."""

    def __init__(
        self,
        path: Path,
        request: Mapping[str, Any],
        *,
        command: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        delete_replies: bool = False,
        again: bool = False,
        frames: Path | None = None,
    ) -> None:
        """Begin a run, or continue the run that the same request began.

        Args:
            path: The folder.
            request: All settings that decide what the run asks. The same request continues, a different one is refused.
            command: What `reeltalk retry` needs to give the same command again.
            overwrite: Replace an existing run. A complete run stays until the new one is complete.
            delete_replies: With `overwrite`, delete the kept replies, so that everything is asked again.
            again: Make a complete run of the same request again, from kept replies. It stays until the new one is
                complete.
            frames: Folder of pictures for several runs; it is not deleted. By default the run has its own, which is
                deleted when the run is complete.

        Raises:
            BenchmarkError: The folder holds something else, a run of another request, or a complete run.
        """
        self.path, self.frames = path, frames or path / FRAMES
        self._work = path
        self._request = json.loads(json.dumps(request))
        with storage_errors(path):
            if path.exists() and not path.is_dir():
                raise BenchmarkError(f"{path} is a file; choose a folder")
            make_directory(path)
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock_run(path))
            self._begin(overwrite, again)
            if delete_replies:
                with storage_errors(path):
                    for file in path.glob(f"{REPLIES}*"):
                        file.unlink()
            if command is not None:
                write_bytes(self._work / COMMAND, write_json(dict(command)).encode())
            self._held = stack.pop_all()

    def _begin(self, overwrite: bool, again: bool) -> None:
        path = self.path
        with storage_errors(path):
            # A process that was killed during a write leaves these.
            for partial in path.rglob(f"{PARTIAL_PREFIX}*"):
                partial.unlink()
        install_remade_run(path)
        begun, whole = (path / REQUEST).is_file(), (path / INFO).is_file()
        strange = [entry for entry in path.iterdir() if entry.name != LOCK and not entry.name.startswith(REPLIES)]
        if strange and not begun and not whole:
            raise BenchmarkError(f"{path} holds something that is no run; choose another folder")
        before = parse(dict[str, Any], read_json(path / REQUEST), file=path / REQUEST) if begun else {}
        differing = sorted(key for key in {*before, *self._request} if before.get(key) != self._request.get(key))
        if whole:
            self._begin_again(overwrite, again, differing)
            return
        if begun and not overwrite:
            if not differing:
                return
            if self._has_begun():
                raise BenchmarkError(
                    f"{path} was begun with other settings ({', '.join(differing)}); give the same ones to continue, "
                    "choose another folder, or pass --overwrite to start again"
                )
        with storage_errors(path):
            remove_files(path, but=(LOCK, FRAMES, CONTROLS_FOLDER))
            if (path / CONTROLS_FOLDER).is_dir():
                remove_files(path / CONTROLS_FOLDER, but=(FRAMES,))
        write_bytes(path / REQUEST, write_json(self._request).encode())

    def _begin_again(self, overwrite: bool, again: bool, differing: list[str]) -> None:
        """Make a complete run again, in a folder inside that of the present one."""
        path = self.path
        if not overwrite and (differing or not again):
            by = f" by other settings ({', '.join(differing)})" if differing and (path / REQUEST).is_file() else ""
            raise BenchmarkError(f"{path} holds a whole run{by}; choose another folder or pass --overwrite")
        self._work = path / UNFINISHED_FOLDER
        with storage_errors(path):
            shutil.rmtree(self._work, ignore_errors=True)
            self._work.mkdir()
        if overwrite:
            write_bytes(self._work / REQUEST, write_json(self._request).encode())

    def _has_begun(self) -> bool:
        """True if a reply or an event was stored. A run that was refused before its first question may begin again."""
        if any(self.path.glob("*.jsonl")):
            return True
        if not self.replies.is_file():
            return False
        with ReplyStore(self.replies) as store:
            return len(store) > 0

    @property
    def replies(self) -> Path:
        """The file of kept replies."""
        return self.path / REPLIES

    @property
    def work(self) -> Path:
        """The folder in which the run is made: its own, or one inside it while an older run stays."""
        return self._work

    def keep(self, answers: Iterable[AnsweredTurn], judged: Mapping[str, Iterable[JudgedScore]]) -> None:
        """Write answers and scores before anything is computed from them. The run is not complete yet.

        Args:
            answers: Rows of `answers.jsonl`.
            judged: Rows of `scores/judged-PROTOCOL.jsonl`.

        Raises:
            BenchmarkError: The disk is full or cannot be written. Replies are kept, and the same command continues.
        """
        with storage_errors(self.path):
            write_scores(self._work, answers, judged)

    def finish(
        self,
        info: RunInfo,
        *,
        items: Iterable[ItemScores],
        summary: Iterable[SummaryRow],
        curves: Iterable[CurvePoint],
        groups: Iterable[GroupRow],
        protocols: Iterable[str],
        floor: Iterable[ItemScores],
    ) -> None:
        """Write the tables of what was computed from the answers and scores that `keep` wrote, then `run.json`.

        Args:
            info: The content of `run.json`.
            items: Rows of `scores/items.jsonl`.
            summary: Rows of `summary.json`.
            curves: Rows of `scores/curves.jsonl`.
            groups: Rows of `scores/groups.jsonl`.
            protocols: Names of the protocols that judged.
            floor: Rows of `scores/floor.jsonl`.

        Raises:
            BenchmarkError: The disk is full or cannot be written. Replies are kept, and the same command continues.
        """
        with storage_errors(self.path):
            write_results(
                self._work,
                info,
                items=items,
                summary=summary,
                curves=curves,
                groups=groups,
                protocols=protocols,
                floor=floor,
            )
        shutil.rmtree(self.path / FRAMES, ignore_errors=True)
        if self._work != self.path:
            with storage_errors(self.path):
                self._work.rename(self.path / REMADE_FOLDER)
                sync_directory(self.path)
            install_remade_run(self.path)

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
