"""The command that puts video files into a benchmark that came without them."""

from pathlib import Path

from reeltalk.cli.app import Bar, app, print_report
from reeltalk.curate.settings import CurateSettings
from reeltalk.errors import SettingError

MAX_MISSING = CurateSettings().max_missing


@app.command(sort_key=2)
def attach(benchmark: Path, /, *videos: Path, max_missing: float = MAX_MISSING, workers: int | None = None) -> int:
    """Put video files into a benchmark that was imported without them; each is found by its name.

    Example: `reeltalk attach benchmarks/svbench downloads/svbench-videos`. Run it again to go on after an interruption,
    or when more files are there. Exit code 1 where a file cannot be read, was cut off, or has another content than is
    stated.

    Parameters
    ----------
    benchmark
        A benchmark with videos.
    videos
        Video files, and folders to search.
    max_missing
        Most that may be missing of a video that was cut off or is damaged, in percent of its length, 0 to 100.
    workers
        Files that are looked at at a time; by default one for each core.
    """
    from reeltalk.curate.attaching import attach as run_stage
    from reeltalk.parallel import open_executor
    from reeltalk.store.benchmark import Benchmark

    if not videos:
        raise SettingError("attach needs at least one video or folder of videos")
    if not 0 <= max_missing <= 100:
        raise SettingError(f"--max-missing {max_missing:g}: it must be from 0 to 100 percent")
    with Bar() as bar:
        report = run_stage(
            videos,
            Benchmark.open(benchmark),
            executor=open_executor(workers=workers),
            max_missing=max_missing,
            progress=bar.show,
        )
    print_report(report)
    return 1 if report.rejected else 0
