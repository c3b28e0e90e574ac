"""Filmed videos as files under their own names, as in anybody's folder of videos, to curate them by their pixels.

A sidecar beside each video gives its licence, source, split and category.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.media import Video
from reeltalk.store.atomic import write_bytes, writing
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import VIDEOS

SAID: Final = ("licence", "source", "split", "category")
"""Fields of a video that its sidecar holds."""


def write_files(filmed: Benchmark, folder: Path) -> list[Path]:
    """Write every video of a benchmark with its sidecar; a file that is there already, whole, is left as it is.

    Args:
        filmed: The benchmark that `film` made.
        folder: Receives `NAME.mp4` and `NAME.json`; created if it is missing.

    Returns:
        The video files, in the order of the table.

    Raises:
        BenchmarkError: A video is not at hand, or the folder cannot be written.
    """
    return [_write(filmed, video, folder) for video in filmed.read(VIDEOS)]


def _write(filmed: Benchmark, video: Video, folder: Path) -> Path:
    if video.sha256 is None or not filmed.media.has(video.sha256):
        raise BenchmarkError(f"the file of video '{video.id}' is not in {filmed.path}; film it into another folder")
    source = filmed.media.whole(video.sha256)
    target = folder / f"{video.id}.mp4"
    said = {name: value for name in SAID if (value := getattr(video, name)) is not None}
    write_bytes(target.with_suffix(".json"), f"{json.dumps(said, indent=0)}\n".encode())
    if not target.is_file() or hash_file(target)[0] != video.sha256:
        with writing(target) as stream, source.open("rb") as original:
            shutil.copyfileobj(original, stream)
    return target
