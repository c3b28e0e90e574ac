"""Curate and film: a benchmark of clips from videos, or from a simulated household whose every fact is known."""

from pathlib import Path

from reeltalk.curate.settings import CurateSettings
from reeltalk.curate.sources import sidecar_names, wanted_files
from reeltalk.curate.stage import curate as curate_videos
from reeltalk.errors import SettingError
from reeltalk.parallel import Executor, open_executor
from reeltalk.progress import Progress, unseen
from reeltalk.schema.outcomes import StageReport
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.remote import is_address
from reeltalk.store.sources import fetch_sources
from reeltalk.world.film import film as film_scenarios
from reeltalk.world.settings import FilmSettings


def curate(
    *videos: Path | str,
    into: Path | str,
    settings: CurateSettings | None = None,
    executor: Executor | None = None,
    cache: Path | str | None = None,
    max_download_gib: float = 100.0,
    progress: Progress = unseen,
) -> StageReport:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    Call it again to go on after an interruption.

    Args:
        videos: Video files, folders to search, and addresses of either, as `s3://bucket/raw/`.
        into: Folder of the benchmark that appears.
        settings: Filters, detectors, splits.
        executor: Runs what decodes; by default processes of this machine, one for each core.
        cache: Folder for what addresses hold; by default one inside the benchmark, which may be deleted afterwards.
        max_download_gib: What may be brought from one address.
        progress: Called with the share of the work that is done.

    Raises:
        SettingError: No video is given, settings contradict each other, or an address cannot be used.
        RemoteError: Something could not be brought from an address.
        MissingExtraError: What reads an address is not installed.
        InputError: An input does not exist, or a sidecar is damaged.
        BenchmarkError: The benchmark holds what other stages wrote, or cannot be written.
    """
    if not videos:
        raise SettingError("curate needs at least one video or folder of videos")
    if not max_download_gib > 0:
        raise SettingError(f"--max-download-gib {max_download_gib:g}: it must be above 0")
    benchmark = Benchmark.create(Path(into))
    kept, most_bytes = Path(cache or benchmark.path / WORK / "sources"), round(max_download_gib * 2**30)
    inputs = [
        fetch_sources(
            str(video), kept, choose=wanted_files, beside=sidecar_names, most_bytes=most_bytes, progress=progress
        )
        if is_address(str(video))
        else Path(video)
        for video in videos
    ]
    return curate_videos(
        inputs, benchmark, settings or CurateSettings(), executor=executor or open_executor(), progress=progress
    )


def film(
    *,
    into: Path | str,
    settings: FilmSettings | None = None,
    executor: Executor | None = None,
    progress: Progress = unseen,
) -> StageReport:
    """Film scenarios of a household: videos, clips, graphs, template summaries, splits by house.

    Call it again to go on after an interruption. The same settings give the same tables and the same frames.

    Args:
        into: Folder of the benchmark that appears.
        settings: Scenarios, houses, pictures, seed.
        executor: Runs what films; by default processes of this machine, one for each core.
        progress: Called with the share of the work that is done.

    Raises:
        BenchmarkError: The houses do not give as many scenarios, or the benchmark holds something else.
    """
    executor = executor or open_executor()
    return film_scenarios(
        Benchmark.create(Path(into)), settings or FilmSettings(), executor=executor, progress=progress
    )
