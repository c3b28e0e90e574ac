"""The command that asks again what failed in a run."""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from reeltalk.cli.app import Bar, app, print_run, say
from reeltalk.evaluate.settings import RetrySettings

NOTHING_ELSE: Final = RetrySettings()


@app.command(sort_key=6)
def retry(
    run: Path,
    /,
    *,
    bench: Path | None = None,
    settings: Annotated[RetrySettings, Parameter(name="*")] = NOTHING_ELSE,
) -> int:
    """Ask again what failed in a run of `evaluate` or `judge`, and nothing else; an unfinished run goes on.

    Example: `reeltalk retry runs/qwen`, or `reeltalk retry runs/qwen --base-url http://localhost:8001/v1`. The folder
    keeps the command that made the run; options that are not given stay as they were. The run that is there stays until
    the new one is whole. Exit code 1 where turns still have no answer or no score.

    Parameters
    ----------
    run
        Folder of the run. Its controls are retried, too.
    bench
        Where the benchmark is now, if it was moved.
    """
    from reeltalk.benchmarks import PRESETS
    from reeltalk.stages.retrying import retry as run_stage

    with Bar() as bar:
        done = run_stage(run, settings=settings, benchmark=bench, presets=PRESETS, progress=bar.show, tell=say)
    return print_run(done)
