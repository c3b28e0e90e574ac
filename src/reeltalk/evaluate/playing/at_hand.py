"""Which videos of a benchmark are at hand: only these can be shown."""

from collections.abc import Callable, Sequence
from pathlib import Path

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.playing.script import Script
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content


def media_of(benchmark: Benchmark, content: Content) -> Callable[[str], Path | None]:
    """Gives the file of a video by the video's identifier; None where it is not at hand."""
    by_id = {str(video.id): video.sha256 for video in content.videos}

    def media(video_id: str) -> Path | None:
        sha256 = by_id.get(video_id)
        path = benchmark.media.path(sha256) if sha256 else None
        return path if path is not None and path.is_file() else None

    return media


def at_hand(
    scripts: Sequence[Script], media: Callable[[str], Path | None], *, skip_missing: bool
) -> tuple[list[Script], set[str]]:
    """The scripts whose videos can be shown, and the videos that are missing.

    Args:
        scripts: What is to be played.
        media: Gives the file of a video.
        skip_missing: Leave out scripts whose video is not at hand; else they stay.

    Raises:
        BenchmarkError: Nothing is left.
    """
    missing = {script.video_id for script in scripts if media(script.video_id) is None}
    if not missing or not skip_missing:
        return list(scripts), missing
    found = [script for script in scripts if script.video_id not in missing]
    if not found:
        raise BenchmarkError(f"there is nothing to play: none of the {len(missing):,} videos is at hand")
    return found, missing
