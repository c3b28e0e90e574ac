"""The command that puts video files into a benchmark that came without them."""

from pathlib import Path

from reeltalk.cli.app import Bar, app, print_report
from reeltalk.errors import SettingError


@app.command(sort_key=2)
def attach(benchmark: Path, /, *videos: Path, workers: int | None = None) -> int:
    """Put video files into a benchmark that was imported without them; each is found by its name.

    Example: `reeltalk attach benchmarks/svbench downloads/svbench-videos`. Run it again to go on after an interruption,
    or when more files are there. Exit code 1 where a file cannot be read or has another content than is stated.

    Parameters
    ----------
    benchmark
        A benchmark with videos.
    videos
        Video files, and folders to search.
    workers
        Files that are looked at at a time; by default one for each core.
    """
    from reeltalk.curate.attaching import attach as run_stage
    from reeltalk.parallel import open_executor
    from reeltalk.store.benchmark import Benchmark

    if not videos:
        raise SettingError("attach needs at least one video or folder of videos")
    with Bar() as bar:
        report = run_stage(
            videos, Benchmark.open(benchmark), executor=open_executor(workers=workers), progress=bar.show
        )
    print_report(report)
    return 1 if report.rejected else 0
