"""Videos of a report (linked, copied or cut), and small pictures of the frames that models saw.

Videos are untrusted files, so they are decoded in a child process with limits.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from reeltalk.parallel import Call, Executor, Failure, Limits, LocalExecutor
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.store.atomic import storage_errors
from reeltalk.store.media import MediaStore

FOLDER: Final = "media"
FRAME_PX: Final = 240
"""Longer side of a frame's picture."""
FRAME_QUALITY: Final = 80
FRAMES_A_CALL: Final = 60
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
MEMORY_BYTES: Final = 1 << 30
ENDINGS: Final = frozenset({".mp4", ".m4v", ".mov", ".webm", ".mkv", ".ogv"})
"""Extensions that browsers know as video. Files with other extensions get `.mp4`; browsers then read the content."""

Wanted = tuple[str, Interval]
"""A video and a part of it."""


class SiteMedia:
    """The media below one site.

    Args:
        folder: The folder of the site.
        store: The benchmark's media.
        videos: Its videos, by id.
        executor: Runs the decoding.
    """

    def __init__(
        self, folder: Path, store: MediaStore, videos: Mapping[str, Video], executor: Executor | None = None
    ) -> None:
        self.folder, self.store, self.videos = folder / FOLDER, store, videos
        self.executor = executor or LocalExecutor()
        self.failed: dict[Wanted | str, str] = {}
        """Reasons for missing videos and parts."""

    def here(self, video_id: str) -> Path | None:
        """Path of a video in the benchmark; None if it has no file."""
        video = self.videos.get(video_id)
        if video is None or video.sha256 is None or not self.store.has(video.sha256):
            return None
        return self.store.path(video.sha256)

    def _whole(self, video_id: str) -> Path:
        """The file of a video that is `here`; its hash is checked once."""
        sha256 = self.videos[video_id].sha256
        assert sha256 is not None
        return self.store.whole(sha256)

    def link(self, video_id: str, *, below: str) -> str:
        """The address of a benchmark's file, relative to a page.

        Args:
            video_id: A video that is `here`.
            below: The folder of the page, such as `dialogues`.
        """
        path = self.here(video_id)
        assert path is not None
        return quote(os.path.relpath(path.resolve(), (self.folder.parent / below).resolve()).replace(os.sep, "/"))

    def copy(self, video_id: str) -> str:
        """Copy a video that is `here` into the site, once.

        Returns:
            Its file below the site.

        Raises:
            BenchmarkError: It cannot be read or written.
        """
        path = self._whole(video_id)
        ending = Path(self.videos[video_id].file or "").suffix.lower()
        target = self.folder / f"{path.name[:20]}{ending if ending in ENDINGS else '.mp4'}"
        if not target.exists():
            with storage_errors(target):
                self.folder.mkdir(exist_ok=True)
                shutil.copyfile(path, target)
        return f"{FOLDER}/{target.name}"

    def cut(self, wanted: Iterable[Wanted]) -> dict[Wanted, tuple[str, float]]:
        """Cut parts of videos that are `here`. Parts that cannot be cut are noted in `failed`.

        Args:
            wanted: Videos and parts; each is cut once.

        Returns:
            The file of each part below the site, and its start in the video, in seconds.
        """
        chosen = list(dict.fromkeys(wanted))
        calls = []
        with storage_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
        for video_id, interval in chosen:
            path = self._whole(video_id)
            argument = {
                "path": str(path),
                "interval": interval.model_dump(mode="json"),
                "target": str(self.folder / _name(path, interval)),
            }
            calls.append(Call(argument, Limits(wall_s=CALL_S + 5 * interval.duration_s, memory_bytes=MEMORY_BYTES)))
        found = {}
        for place, outcome in self.executor.map("reeltalk.pages.site_media:cut_part", calls):
            video_id, interval = chosen[place]
            path = self._whole(video_id)
            begins = outcome.get("start_s") if isinstance(outcome, dict) else None
            if isinstance(outcome, Failure) or not isinstance(begins, int | float):
                self.failed[chosen[place]] = str(outcome) if isinstance(outcome, Failure) else "no clip came back"
                (self.folder / _name(path, interval)).unlink(missing_ok=True)
                continue
            found[chosen[place]] = (f"{FOLDER}/{_name(path, interval)}", float(begins))
        return dict(sorted(found.items(), key=lambda pair: (pair[0][0], pair[0][1].start_s, pair[0][1].end_s)))

    def frames(self, wanted: Mapping[str, Iterable[float]]) -> dict[tuple[str, float], str]:
        """Write the frames shown at the given times. Videos that cannot be decoded are noted in `failed`.

        Args:
            wanted: Times by video, in seconds from its first frame; each video is `here`.

        Returns:
            The picture's file below the site, by video and time.
        """
        calls, places = [], []
        with storage_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
        for video_id, moments in wanted.items():
            path = self._whole(video_id)
            times = sorted(set(moments))
            for start in range(0, len(times), FRAMES_A_CALL):
                part = times[start : start + FRAMES_A_CALL]
                argument = {
                    "path": str(path),
                    "times_s": part,
                    "longest_side_px": FRAME_PX,
                    "square_px": None,
                    "quality": FRAME_QUALITY,
                    "folder": str(self.folder),
                    "name": f"{path.name[:20]}-%.3f.jpg",
                }
                calls.append(Call(argument, Limits(CALL_S + SECONDS_A_FRAME * len(part), MEMORY_BYTES)))
                places.append((video_id, part))
        found = {}
        for place, outcome in self.executor.map("reeltalk.video.serving:serve", calls):
            video_id, part = places[place]
            shown = outcome.get("pts_s") if isinstance(outcome, dict) else None
            if not isinstance(shown, list) or len(shown) != len(part):
                self.failed[video_id] = _why(outcome)
                continue
            path = self._whole(video_id)
            for moment, pts_s in zip(part, shown, strict=True):
                name = f"{path.name[:20]}-{float(pts_s):.3f}.jpg"
                if (self.folder / name).is_file():
                    found[video_id, moment] = f"{FOLDER}/{name}"
        return found


def cut_part(argument: dict[str, Any]) -> dict[str, float]:
    """Write one clip. Runs in a child process.

    Args:
        argument: `path`, `interval` and `target` of `cut_clip`.

    Returns:
        The interval that the file shows.
    """
    # Imported here, so that a report without videos does not load the decoders.
    from reeltalk.video.cut import cut_clip

    made = cut_clip(
        Path(argument["path"]),
        Interval.model_validate(argument["interval"]),
        Path(argument["target"]),
        # Copied packets may start before the part, and browsers that ignore edit lists would show them.
        lossless=False,
    )
    return {"start_s": made.interval.start_s, "end_s": made.interval.end_s}


def _name(path: Path, interval: Interval) -> str:
    return f"{path.name[:20]}-{round(interval.start_s * 1000)}-{round(interval.end_s * 1000)}.mp4"


def _why(outcome: Any) -> str:
    if isinstance(outcome, dict):
        return str(outcome.get("refused") or outcome.get("unwritable") or "no frames came back")[:200]
    return str(outcome)[:200]
