"""Curate: videos become a benchmark of clips."""

from pathlib import Path

from reeltalk.curate.calls import Progress
from reeltalk.curate.settings import CurateSettings
from reeltalk.curate.stage import curate as compute
from reeltalk.errors import SettingError
from reeltalk.parallel import Executor, open_executor
from reeltalk.schema.outcomes import StageReport
from reeltalk.stages.asking import unseen
from reeltalk.store.benchmark import Benchmark


def curate(
    *videos: Path | str,
    into: Path | str,
    settings: CurateSettings | None = None,
    executor: Executor | None = None,
    progress: Progress = unseen,
) -> StageReport:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    Call it again to go on after an interruption.

    Args:
        videos: Video files, and folders to search.
        into: Folder of the benchmark that appears.
        settings: Filters, detectors, splits.
        executor: Runs what decodes; by default processes of this machine, one for each core.
        progress: Told how far the work is.

    Raises:
        SettingError: No video is given, or settings contradict each other.
        InputError: An input does not exist, or a sidecar is damaged.
        BenchmarkError: The benchmark holds what other stages wrote, or cannot be written.
    """
    if not videos:
        raise SettingError("curate needs at least one video or folder of videos")
    executor = executor or open_executor()
    benchmark = Benchmark.create(Path(into))
    return compute(
        [Path(video) for video in videos], benchmark, settings or CurateSettings(), executor=executor, progress=progress
    )
