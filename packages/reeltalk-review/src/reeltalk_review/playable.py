"""How browsers are served each video of a benchmark: as it is, as a proxy made once, or not at all with a reason.

Each decision is kept in the folder of proxies, one file for each video, so that a server that starts again only reads.
Videos come from strangers: whatever decodes them runs in a child process with limits.
"""

import contextlib
import gzip
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from filelock import FileLock
from sqlalchemy import select

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure, Limits, LocalExecutor
from reeltalk.schema.media import Video
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, sync_directory, write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.media import MediaStore
from reeltalk.store.tables import VIDEOS
from reeltalk.video.serving import REFUSED, UNWRITABLE
from reeltalk_review.captions import write_speech
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.tables import VideoRow

ORIGINAL: Final = "original"
"""Stands for a proxy's name: the benchmark's own file is served."""
RULES: Final = 4
"""Raised when other files count as playable or proxies are made differently. Earlier decisions are then made again."""
MEMORY_BYTES: Final = 2 << 30
LEAST_S: Final = 600.0
"""Time limit for a video in seconds, plus this for each second of it:"""
A_SECOND_S: Final = 20.0
UNKNOWN_LENGTH_S: Final = 3600.0
LONGEST_REASON: Final = 300
NO_HASH: Final = "The benchmark does not say which file this video is, so it cannot be played here."
NO_FILE: Final = "The benchmark does not hold this video's file, so it cannot be played here."
STAYS: Final = "The dialogue can still be judged."


class ServedVideo(NamedTuple):
    """How browsers are served a video."""

    file: str | None
    """`original`, or the proxy's name in the folder of proxies; None if nothing can be played."""
    media_type: str | None
    """`video/mp4` or `video/webm`."""
    problem: str | None
    """Why nothing can be played, as a sentence for people."""


class PlayableFolder:
    """The folder of proxies and frame times.

    Args:
        folder: `BENCH.review/playable`; created if missing.
        store: The benchmark's media.
    """

    def __init__(self, folder: Path, store: MediaStore) -> None:
        self.folder, self.store = folder, store

    def known(self, sha256: str) -> ServedVideo | None:
        """The decision about a file; None if there is none, or if the file that it names is gone."""
        try:
            found = json.loads((self.folder / f"{sha256}.json").read_bytes())
            if found["rules"] != RULES:
                return None
            served = ServedVideo(found["file"], found["media_type"], found["problem"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if served.file is not None and not (self.path(sha256, served.file).is_file() and self.frames(sha256).is_file()):
            return None
        return served

    def path(self, sha256: str, file: str) -> Path:
        """The file that is served for an original, as `ServedVideo.file` names it."""
        if file == ORIGINAL:
            return self.store.path(sha256)
        if file != f"{sha256}.mp4":
            raise ValueError(f"not the proxy of {sha256}: {file!r}")
        return self.folder / file

    def frames(self, sha256: str) -> Path:
        """The times of the frames of the served file, `{"pts_s": [...]}`, as JSON compressed with gzip.

        An hour has a hundred thousand frames, which take a megabyte.
        """
        return self.folder / f"{sha256}.frames.json.gz"

    def keep(self, sha256: str, served: ServedVideo, pts_s: Iterable[float] = ()) -> ServedVideo:
        """Store a decision. This comes last, so that the files that it names exist."""
        if served.file is not None:
            times = json.dumps({"pts_s": list(pts_s)}, separators=(",", ":")).encode()
            write_bytes(self.frames(sha256), gzip.compress(times, mtime=0))
        write_bytes(self.folder / f"{sha256}.json", json.dumps({"rules": RULES, **served._asdict()}).encode())
        return served


def prepare_videos(
    benchmark: Benchmark,
    folder: Path,
    *,
    executor: Executor | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, ServedVideo]:
    """Decide how each video of a benchmark is served, make missing proxies, and write what is said in each video.

    Stopping it loses only the proxies that are being made.

    Args:
        folder: Folder of the proxies.
        executor: Decodes and encodes.
        progress: Called with the current step.

    Returns:
        How each video is served, by its id.

    Raises:
        BenchmarkError: The folder cannot be written, or the disk is full.
        InputError: The table of speech is damaged.
    """
    videos = benchmark.table(VIDEOS)
    place = PlayableFolder(folder, benchmark.media)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            for left in folder.glob(f"{PARTIAL_PREFIX}*"):
                left.unlink(missing_ok=True)
            write_speech(benchmark, videos, folder)
            with contextlib.ExitStack() as closing:
                if executor is None:
                    executor = closing.enter_context(contextlib.closing(LocalExecutor()))
                decided = _decide(place, videos, executor, progress)
    return {video.id: _answer(video, decided) for video in videos}


def _answer(video: Video, decided: Mapping[str, ServedVideo]) -> ServedVideo:
    if video.sha256 is None:
        return ServedVideo(None, None, f"{NO_HASH} {STAYS}")
    return decided.get(video.sha256, ServedVideo(None, None, f"{NO_FILE} {STAYS}"))


def _decide(
    place: PlayableFolder, videos: Iterable[Video], executor: Executor, progress: Callable[[str], None]
) -> dict[str, ServedVideo]:
    here = {video.sha256: video for video in videos if video.sha256 is not None and place.store.has(video.sha256)}
    decided = {sha256: served for sha256 in here if (served := place.known(sha256)) is not None}
    new = [sha256 for sha256 in here if sha256 not in decided]
    if new:
        progress(f"looking for what browsers play, and making proxies of the rest, videos: {len(new):,}")
    calls, partials = [], []
    for sha256 in new:
        partials.append(place.folder / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}")
        argument = {"path": str(place.store.whole(sha256)), "target": str(partials[-1])}
        length_s = here[sha256].duration_s or UNKNOWN_LENGTH_S
        calls.append(Call(argument, Limits(LEAST_S + A_SECOND_S * length_s, MEMORY_BYTES)))
    for number, outcome in executor.map("reeltalk_review.video.proxy:make_playable", calls):
        sha256, partial = new[number], partials[number]
        try:
            served = decided[sha256] = _store_outcome(place, sha256, partial, outcome)
        finally:
            partial.unlink(missing_ok=True)
        if served.file != ORIGINAL:
            progress(f"{here[sha256].id}: {served.problem or 'browsers get a proxy'}")
    return decided


def _store_outcome(place: PlayableFolder, sha256: str, partial: Path, outcome: Any) -> ServedVideo:
    if isinstance(outcome, Failure):
        return place.keep(sha256, _unplayable(str(outcome)))
    if UNWRITABLE in outcome:
        raise BenchmarkError(
            f"cannot write a proxy into {place.folder}: {outcome[UNWRITABLE]}; free some space and run the command "
            "again, the proxies that are made stay"
        )
    if REFUSED in outcome:
        return place.keep(sha256, _unplayable(str(outcome[REFUSED])))
    served = ServedVideo(ORIGINAL, outcome["media_type"], None)
    if outcome["is_proxy"]:
        served = served._replace(file=f"{sha256}.mp4")
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        partial.replace(place.path(sha256, f"{sha256}.mp4"))
        sync_directory(place.folder)
    return place.keep(sha256, served, outcome["pts_s"])


def _unplayable(reason: str) -> ServedVideo:
    # The text comes from a decoder that reads a stranger's file.
    words = "".join(c if c.isprintable() else " " for c in reason)[:LONGEST_REASON]
    return ServedVideo(None, None, f"This video cannot be played: {words}. {STAYS}")


def update_served_videos(project: ReviewProject, served: Mapping[str, ServedVideo]) -> int:
    """Update the database if videos are served differently than at the import.

    A file that was missing at the import and was added since plays from the next start on.

    Args:
        project: A project with an imported benchmark.
        served: The result of `prepare_videos`.

    Returns:
        How many videos changed.
    """
    changed = 0
    with transaction(project.database, OPERATOR) as change:
        for row in change.session.scalars(select(VideoRow)):
            now = served.get(row.id)
            if now is not None and now != (row.file, row.media_type, row.problem):
                row.file, row.media_type, row.problem = now
                changed += 1
    return changed
