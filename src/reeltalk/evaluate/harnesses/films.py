"""Video files for harnesses that know no moment of a question: each ends where the question is asked."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.evaluate.harnesses.asked import AskedTurn
from reeltalk.progress import Progress, unseen
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.video.cut import cut_clip
from reeltalk.video.records import How
from reeltalk.video.stream import VideoError

FOLDER: Final = "videos"
FRAME_S: Final = 0.05
"""A question at the very beginning sees this much: a frame of any usual video."""
FOREVER_S: Final = 1e6


@dataclass
class Films:
    """Files that were written."""

    names: dict[str, str] = field(default_factory=dict)
    """Name of the file below `videos`, without its ending `.mp4`, by item."""
    whole: int = 0
    """Videos that are there from beginning to end."""
    cut: int = 0
    """Files that end at a question."""
    encoded: int = 0
    """Of these, how many had to be encoded."""


def write_films(
    turns: Iterable[AskedTurn],
    videos: Mapping[str, Video],
    media: Callable[[str], Path | None],
    folder: Path,
    *,
    progress: Progress = unseen,
) -> Films:
    """Write one MP4 file for each video and moment of a question.

    Args:
        turns: What is asked.
        videos: Videos by identifier.
        media: The file of a video; None where it is not at hand.
        folder: Gets the folder `videos`.
        progress: Told what is being done, how many files are done, how many there are, and the share.

    Raises:
        BenchmarkError: A video is not at hand.
        InputError: A video cannot be decoded.
    """
    films = Films()
    wanted: dict[tuple[str, float | None], list[str]] = {}
    for turn in turns:
        video = videos.get(turn.turn.video_id)
        wanted.setdefault((turn.turn.video_id, _end_s(turn, video)), []).append(turn.turn.item_id)
    missing = sorted({video_id for video_id, _ in wanted if media(video_id) is None})
    if missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not at hand, as '{missing[0]}'; put them into the benchmark with "
            "'reeltalk attach' or 'reeltalk media pull', choose a --split whose videos are there, or pass --no-videos "
            "for questions without them"
        )
    (folder / FOLDER).mkdir()
    taken: set[str] = set()
    for done, ((video_id, end_s), items) in enumerate(wanted.items()):
        progress("cutting videos", done, len(wanted), done / len(wanted))
        path = media(video_id)
        assert path is not None
        name = _name(video_id, end_s, taken)
        _write(path, end_s, folder / FOLDER / f"{name}.mp4", films, videos.get(video_id))
        films.names |= dict.fromkeys(items, name)
    progress("cutting videos", len(wanted), len(wanted), 1.0)
    return films


def _end_s(turn: AskedTurn, video: Video | None) -> float | None:
    """Where the turn's video ends; None where it is shown to its end."""
    asked_at_s, duration_s = turn.turn.asked_at_s, video.duration_s if video is not None else None
    if asked_at_s is None or (duration_s is not None and asked_at_s >= duration_s):
        return None
    return max(asked_at_s, FRAME_S)


def _name(video_id: str, end_s: float | None, taken: set[str]) -> str:
    # Letters that every file system and every harness takes.
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", video_id)[:60] or "video"
    name = stem if end_s is None else f"{stem}-{round(end_s * 1000):08d}ms"
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}" if end_s is None else f"{stem}-{number}-{round(end_s * 1000):08d}ms"
    taken.add(name.casefold())
    return name


def _suffix(video: Video | None, path: Path) -> str:
    # The store names files by their hash; the record remembers the name they had.
    return Path(video.file).suffix.lower() if video is not None and video.file else path.suffix.lower()


def _write(path: Path, end_s: float | None, target: Path, films: Films, video: Video | None) -> None:
    if end_s is None:
        films.whole += 1
        if _suffix(video, path) == ".mp4":
            shutil.copyfile(path, target)
            return
    else:
        films.cut += 1
    interval = Interval(start_s=0.0, end_s=FOREVER_S if end_s is None else end_s)
    rotation_deg = video.encoding.rotation_deg if video is not None and video.encoding is not None else 0
    try:
        made = cut_clip(path, interval, target, lossless=True, rotation_deg=rotation_deg, exact_end=end_s is not None)
    except VideoError as error:
        raise InputError(f"the video cannot be cut: {error}", file=path) from None
    films.encoded += made.how is How.ENCODE
