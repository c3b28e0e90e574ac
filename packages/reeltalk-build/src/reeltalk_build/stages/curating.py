"""Curate: make a benchmark of clips from videos."""

from functools import partial
from pathlib import Path

from reeltalk.curate.sources import companion_names, files_to_fetch
from reeltalk.errors import SettingError
from reeltalk.parallel import Executor, open_executor
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.outcomes import StageReport
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.remote import is_address
from reeltalk.store.sources import fetch_sources
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.curate.stage import curate as curate_videos


def curate(
    *videos: Path | str,
    into: Path | str,
    settings: CurateSettings | None = None,
    executor: Executor | None = None,
    cache: Path | str | None = None,
    max_download_gib: float = 100.0,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> StageReport:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    Call it again to continue after an interruption.

    Args:
        videos: Video files, folders to search, or addresses of them, such as `s3://bucket/raw/`.
        into: Folder of the new benchmark.
        settings: Filters, detectors, splits.
        executor: Runs the decoding. The default is one process for each core of this machine.
        cache: Folder for downloads. The default is a folder inside the benchmark, which you may delete afterwards.
        max_download_gib: Maximum download from one address, in GiB.
        strict: True to stop at the first file that cannot be read, in place of leaving it out.
        progress: Called with the share of the work that is done.

    Raises:
        SettingError: No video is given, settings contradict each other, or an address cannot be used.
        RemoteError: A download failed.
        MissingExtraError: The package that reads an address is not installed.
        InputError: An input does not exist, or a file cannot be read, if `strict`.
        BenchmarkError: The benchmark holds results of other stages, or cannot be written.
    """
    if not videos:
        raise SettingError("curate needs at least one video or folder of videos")
    if not max_download_gib > 0:
        raise SettingError(f"--max-download-gib {max_download_gib:g}: it must be above 0")
    benchmark = Benchmark.create(Path(into))
    settings = settings or CurateSettings()
    beside = partial(companion_names, language=settings.speech_language)
    kept, most_bytes = Path(cache or benchmark.path / WORK / "sources"), round(max_download_gib * 2**30)
    inputs = [
        fetch_sources(str(video), kept, choose=files_to_fetch, beside=beside, most_bytes=most_bytes, progress=progress)
        if is_address(str(video))
        else Path(video)
        for video in videos
    ]
    return curate_videos(
        inputs, benchmark, settings, executor=executor or open_executor(), strict=strict, progress=progress
    )
