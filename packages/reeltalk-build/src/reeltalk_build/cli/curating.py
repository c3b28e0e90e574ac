"""The command that filters videos and splits them into clips."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from reeltalk.cli.options import FLAG, IN_RUN, IN_START, START, ExecutorName, in_groups, with_presets
from reeltalk.cli.terminal import ProgressBar, print_report
from reeltalk_build.curate.settings import PRESETS, CurateSettings

CURATE_DEFAULTS = CurateSettings()
WITH_PRESETS = with_presets(CURATE_DEFAULTS, PRESETS)
CURATE_GROUPS = {
    START: ("preset", "splits"),
    Group("Filters", sort_key=10, help_formatter=WITH_PRESETS): (
        *("min_duration_s", "min_shots", "max_shots", "min_mean_shot_s", "max_mean_shot_s", "min_flow_px"),
        *("max_flow_px", "max_missing", "max_brisque", "min_aesthetic", "aesthetic_model"),
    ),
    Group("Shots and clips", sort_key=11, help_formatter=WITH_PRESETS): (
        *("detector", "threshold", "min_shot_s", "min_shot_frames", "merge_below_s", "extend_s", "compat", "cut"),
    ),
    Group("Key frames", sort_key=12): ("sample_fps", "min_sharpness", "max_similarity", "save_frames"),
    Group("Near-duplicates and splits", sort_key=13): ("alike_bits", "alike_share", "seed"),
    Group("Speech", sort_key=14): ("speech", "speech_language"),
}
if TYPE_CHECKING:
    Curation = CurateSettings
else:
    Curation = Annotated[
        in_groups(CurateSettings, CURATE_GROUPS), Parameter(name="*", group=Group("Files and limits", sort_key=15))
    ]


def curate(
    *videos: str,
    into: Annotated[Path, IN_START],
    workers: Annotated[int | None, IN_RUN] = None,
    executor: ExecutorName = "local",
    cache: Path | None = None,
    max_download_gib: float = 100.0,
    strict: Annotated[bool, FLAG] = False,
    settings: Curation = CURATE_DEFAULTS,
) -> int:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    The defaults are those of SVBench, for films with cuts that last minutes; --preset has bounds for others. Run it
    again to continue after an interruption. Exit code 1 if no video is accepted, or a file could not be read: the rest
    is curated, and a list says what was left out.

    Example: `reeltalk curate raw/ --into benchmarks/kitchen --preset static-camera --splits train=0.8,test=0.2`.

    Parameters
    ----------
    videos
        Video files, folders to search, and addresses of either (`s3://bucket/raw/`, `https://example.org/film.mp4`).
        `NAME.info.json` or `NAME.json` next to a video may state its licence, source, category and split; `NAME.srt`,
        `NAME.vtt` or Whisper's JSON says what is spoken in it.
    into
        Folder of the benchmark to write.
    workers
        Videos that are decoded at a time; by default one for each core.
    cache
        Folder for downloads; by default one inside the benchmark. You may delete it when the command is done.
    max_download_gib
        Most GiB to download from one address.
    strict
        Stop at the first file that cannot be read.
    """
    from reeltalk.parallel import open_executor
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.remote import is_address
    from reeltalk.store.tables import VIDEOS
    from reeltalk_build.stages.curating import curate as run_stage

    files = [Path(video) for video in videos if not is_address(video)]
    opened = open_executor(executor, workers, shared=[into, *files, *([cache] if cache else [])])
    with ProgressBar() as bar:
        done = run_stage(
            *videos,
            into=into,
            settings=settings,
            executor=opened,
            cache=cache,
            max_download_gib=max_download_gib,
            strict=strict,
            progress=bar.show,
        )
    print_report(done, into)
    print(f"benchmark: {into}")
    return 0 if Benchmark.open(into).rows(VIDEOS) and done.complete else 1
