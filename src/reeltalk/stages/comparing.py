"""Compare: paired differences between models on the same turns."""

from collections.abc import Sequence
from pathlib import Path

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.report.compare import compare as compute
from reeltalk.report.comparison import CompareSettings, Comparisons
from reeltalk.report.leaderboard import build
from reeltalk.report.paired import column_of
from reeltalk.store.runs import Run, read_run


def compare(
    *runs: Run | Path | str, models: Sequence[str] = (), settings: CompareSettings | None = None
) -> Comparisons:
    """Compare all pairs of models on the turns that both answered, clustered by source video.

    Args:
        runs: A run of several models, or several runs, or their folders.
        models: Whom to compare, by name; by default all but players that know nothing.
        settings: Metrics, groups, correction and resampling.

    Raises:
        SettingError: No run is given, or there is no model or metric of a name.
        BenchmarkError: A run is given twice, or what is to be compared was scored in different ways.
        InputError: A run's file is damaged.
    """
    if not runs:
        raise SettingError("compare needs a run of several models, or two runs; 'evaluate' and 'score' write them")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    twice = [path for place, path in enumerate(paths) if path.resolve() in {other.resolve() for other in paths[:place]}]
    if twice:
        raise BenchmarkError(f"{twice[0]} is given twice; a run equals itself, so give another")
    board = build([run if isinstance(run, Run) else read_run(Path(run)) for run in runs])
    chosen = [column_of(board, name) for name in models] if models else None
    return compute(board, settings or CompareSettings(), models=chosen)
