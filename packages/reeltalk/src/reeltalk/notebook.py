"""`reeltalk.evaluate` and `reeltalk.compare`: a benchmark and your own model in one call, for notebooks.

They open what is given by its path, take a model that is a name, a class, an object or a function, show progress, and
return results that show themselves. `reeltalk.stages` has the same verbs with every setting.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from reeltalk.errors import SettingError
from reeltalk.extension import given_spec
from reeltalk.schema.overview import HasOverview, Overview

if TYPE_CHECKING:
    import polars as pl

    from reeltalk.analysis.comparison import Comparisons
    from reeltalk.pages.plots import Plot
    from reeltalk.stages.run import RunReport
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import Run

RUNS: Final = Path("runs")
"""Folder of runs for which no folder is given."""
_LAYOUT: Final = "{desc} |{bar:30}| {percentage:3.0f} % [{elapsed} gone]"


@dataclass(frozen=True, repr=False)
class EvaluatedRun(HasOverview):
    """A run of one model: its numbers, its answers, and figures of them."""

    report: "RunReport"
    """All that `reeltalk.stages.evaluate` says about it."""

    @property
    def run(self) -> "Run":
        """The run on disk."""
        return self.report.run

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.report.run.path

    @property
    def summary(self) -> "pl.DataFrame":
        """A row for each number: model, metric, value, n, videos, low, high, unscored, signature."""
        import polars as pl

        names = ("model", "metric", "value", "n", "videos", "low", "high", "unscored", "signature")
        rows = [{name: getattr(row, name) for name in names} for row in self.run.summary]
        return pl.DataFrame([{**row, "signature": str(row["signature"])} for row in rows], infer_schema_length=None)

    def frame(self) -> "pl.DataFrame":
        """A row for each answered turn, with its scores; the columns of `Run.frame`."""
        return self.run.frame()

    def value(self, metric: str) -> float | None:
        """A number of the summary by its name, as `match`; None if it could not be scored.

        Raises:
            KeyError: The run has no such number.
        """
        return self.report.value(metric)

    def plot(self, what: Literal["leaderboard", "profile"] = "leaderboard") -> "Plot":
        """A figure with intervals: the models on this benchmark, or this model by type of question.

        Raises:
            SettingError: The run has no number of this kind.
        """
        from reeltalk.pages.plots import plot_leaderboard, plot_profile

        return plot_leaderboard([self.run]) if what == "leaderboard" else plot_profile(self.run)

    def overview(self) -> Overview:
        """The leaderboard of the run, and why turns have no answer or no score."""
        return self.report.overview()


@dataclass(frozen=True, repr=False)
class ComparedRuns(HasOverview):
    """Runs that were compared in pairs, on the turns that both answered, clustered by source video."""

    comparisons: "Comparisons"
    """Every pair, with its test."""

    def frame(self) -> "pl.DataFrame":
        """A row for each pair and metric: metric, first, second, difference, low, high, p, verdict."""
        import polars as pl

        names = [row.name for row in self.comparisons.board.models]
        return pl.DataFrame(
            [
                {"metric": row.metric, "first": names[row.first], "second": names[row.second],
                 "difference": row.difference, "low": row.low, "high": row.high, "p": row.p,
                 "verdict": self.comparisons.verdict(row)}
                for row in self.comparisons.rows
            ],
            infer_schema_length=None,
        )  # fmt: skip

    def plot(self) -> "Plot":
        """A figure of the runs with their intervals, on the metric that ranks them."""
        from reeltalk.pages.plots import plot_leaderboard

        runs = {row.run.path: row.run for row in self.comparisons.board.models}
        return plot_leaderboard(list(runs.values()))

    def overview(self) -> Overview:
        """The verdict of each pair."""
        return self.comparisons.overview()


def evaluate(
    benchmark: "Benchmark | Path | str",
    model: str | type[Any] | Callable[..., Any] | object,
    out: Path | str | None = None,
    *,
    progress: bool = True,
    **settings: Any,
) -> EvaluatedRun:
    """Play a benchmark to a model, judge the answers, and return the run.

    Call it again with the same model and settings to continue after an interruption; a complete run is read.

    Args:
        benchmark: A benchmark, or its folder.
        model: A name as of `reeltalk evaluate --model`; or a function `(frames, history, question) -> str`, or a class
            or an object with such a method `answer`. `frames` is a list of (height, width, 3) uint8 RGB arrays in
            order, `history` a list of (question, answer). It may be a coroutine. Its code is part of the signature; its
            weights are not, so give an object another `name` when they change.
        out: Folder of the run; by default `runs/NAME`, with a hash of the code of your own model.
        progress: Show a bar on standard error.
        **settings: Fields of `reeltalk.stages.RunConfig`, such as `judging`, `play`, `limit`.

    Raises:
        SettingError: The model or a setting cannot be used.
        BenchmarkError: There is nothing to play, or `out` holds another run.
        ModelError: No turn was answered.
    """
    from reeltalk.stages.evaluating import evaluate as run_stage
    from reeltalk.store.benchmark import Benchmark as Opened

    opened = benchmark if isinstance(benchmark, Opened) else Opened.open(Path(str(benchmark)))
    if not isinstance(model, str) and not callable(model) and not hasattr(model, "answer"):
        raise SettingError(
            f"model is {type(model).__name__}: give a name, a function (frames, history, question) -> str, or an "
            "object with such a method 'answer'"
        )
    spec = model if isinstance(model, str) else given_spec(model)
    place = Path(out) if out is not None else RUNS / re.sub(r"[^\w.-]+", "-", spec.rpartition("python:given:")[2])
    with _Bar(shown=progress) as bar:
        done = run_stage(opened, out=place, model=spec, progress=bar.show, tell=bar.tell, **settings)
    return EvaluatedRun(done)


def compare(*runs: "EvaluatedRun | Run | Path | str", metrics: Sequence[str] = ()) -> ComparedRuns:
    """Compare models on the turns that they both answered, clustered by source video.

    Args:
        runs: Runs, or their folders.
        metrics: Names of metrics; all by default.

    Raises:
        SettingError: No run is given, or there is no metric of a name.
        BenchmarkError: A run is given twice, or the runs were scored in different ways.
    """
    from reeltalk.analysis.comparison import CompareSettings
    from reeltalk.stages.reporting import compare as run_stage

    opened = [one.run if isinstance(one, EvaluatedRun) else one for one in runs]
    return ComparedRuns(run_stage(*opened, settings=CompareSettings(metrics=tuple(metrics)) if metrics else None))


class _Bar:
    """A bar that notebooks and terminals show alike."""

    def __init__(self, *, shown: bool) -> None:
        self.shown = shown
        self._bar: Any = None

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int, share: float) -> None:
        """Move the bar; `share` is the share of all work, 0 to 1."""
        if not self.shown:
            return
        from tqdm import tqdm

        if self._bar is None:
            self._bar = tqdm(total=1.0, bar_format=_LAYOUT, leave=False)
        self._bar.set_description_str(f"{what}: {done:,} of {total:,}", refresh=False)
        self._bar.n = share
        self._bar.refresh()

    def tell(self, message: str) -> None:
        """Print a sentence above the bar."""
        if self.shown:
            from tqdm import tqdm

            tqdm.write(message, file=sys.stderr)


__all__ = ["ComparedRuns", "EvaluatedRun", "compare", "evaluate"]
