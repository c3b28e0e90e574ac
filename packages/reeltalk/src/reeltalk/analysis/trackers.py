"""Sends the numbers of runs, and of trainings while they run, to trackio, Weights & Biases or MLflow."""

import contextlib
import importlib
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from reeltalk.errors import MissingExtraError, SettingError, TrackerError
from reeltalk.schema.runs import CurvePoint, SummaryRow
from reeltalk.store.runs import Run

Tracker = Literal["trackio", "wandb", "mlflow"]
Log = Callable[[int, Mapping[str, float]], object]
Finish = Callable[[bool], object]


class TrackerRun:
    """One run of a tracker.

    Args:
        tracker: The tracker.
        name: Name of the run; it need not be new.
        settings: Settings to store with it.
        project: Name of the project.
        where: mlflow: a tracking URI; wandb: the folder of offline runs; trackio: a Space OWNER/NAME or a server.

    Raises:
        MissingExtraError: The tracker is not installed.
        TrackerError: It refused, or could not be reached.
    """

    def __init__(
        self, tracker: Tracker, name: str, settings: Mapping[str, object], *, project: str, where: str | None = None
    ) -> None:
        self._tracker = tracker
        module = import_tracker(tracker)
        begin = _BEGIN[tracker]
        self._log, self._finish = self._ask(lambda: begin(module, name, dict(settings), project, where))

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Send the numbers of a step, by name."""
        self._ask(lambda: self._log(step, numbers))

    def finish(self, *, failed: bool = False) -> None:
        """End the run."""
        self._ask(lambda: self._finish(failed))

    def _ask(self, call: Callable[[], Any]) -> Any:
        try:
            # trackio prints where it writes, and standard output is for results.
            with contextlib.redirect_stdout(sys.stderr):
                return call()
        except Exception as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            raise TrackerError(f"{self._tracker} may hold a part of the run, because it failed: {words}") from error


def import_tracker(tracker: Tracker) -> Any:
    """The module of a tracker.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(tracker)
    except ImportError:
        raise MissingExtraError(f"sending numbers to {tracker}", extra=tracker) from None


def publish_run(
    run: Run, tracker: Tracker, *, models: tuple[str, ...] = (), name: str | None = None, project: str = "reeltalk",
    where: str | None = None,
) -> dict[str, int]:  # fmt: skip
    """Send each model of a run as one run of a tracker; withheld numbers are not sent.

    Args:
        run: The run.
        tracker: The tracker.
        models: Names of its models; all by default.
        name: First part of each name; the name of the run's folder by default.
        project: As of `TrackerRun`.
        where: As of `TrackerRun`.

    Returns:
        How many numbers were sent, by the name of the tracker's run.

    Raises:
        MissingExtraError: The tracker is not installed.
        SettingError: The run has no such model.
        TrackerError: The tracker refused, or could not be reached.
    """
    known = [info.model for info in run.info.models]
    for model in models:
        if model not in known:
            raise SettingError(f"the run {run.path} has no model '{model}'; it has {', '.join(known)}")
    sent = {}
    for model in models or known:
        steps = model_numbers(run, model)
        settings = {"model": model, "subject": run.info.subject, "kind": run.info.kind}
        settings |= {f"signature/{row.metric}": row.signature for row in run.summary if row.model == model}
        title = name or run.name
        title = title if len(models or known) == 1 else f"{title} {model}"
        told = TrackerRun(tracker, title, settings, project=project, where=where)
        try:
            for step, numbers in sorted(steps.items()):
                told.log(step, numbers)
        except TrackerError:
            with contextlib.suppress(TrackerError):
                told.finish(failed=True)
            raise
        told.finish()
        sent[title] = sum(map(len, steps.values()))
    return sent


def model_numbers(run: Run, model: str) -> dict[int, dict[str, float]]:
    """A model's numbers with their intervals and counts as step 0, and its curves as one step for each turn, from 1."""
    steps: dict[int, dict[str, float]] = defaultdict(dict)
    for row in run.summary:
        if row.model == model:
            steps[0] |= _with_counts(row.metric, row)
    for point in run.curves:
        if point.model == model:
            steps[point.turn_index + 1] |= _with_counts(f"turn/{point.metric}", point)
    return dict(steps)


def _with_counts(name: str, row: SummaryRow | CurvePoint) -> dict[str, float]:
    found = {"": row.value, "/low": row.low, "/high": row.high, "/n": row.n, "/unscored": row.unscored}
    return {name + end: float(number) for end, number in found.items() if number is not None}


def _mlflow(module: Any, name: str, settings: dict[str, object], project: str, where: str | None) -> tuple[Log, Finish]:
    if where is not None:
        module.set_tracking_uri(where)
    module.set_experiment(project)
    module.start_run(run_name=name)
    # MLflow takes 6,000 characters of a value.
    module.log_params({key: str(value)[:6000] for key, value in settings.items()})
    return (
        lambda step, numbers: module.log_metrics(dict(numbers), step=step),
        lambda failed: module.end_run("FAILED" if failed else "FINISHED"),
    )


def _wandb(module: Any, name: str, settings: dict[str, object], project: str, where: str | None) -> tuple[Log, Finish]:
    run = module.init(
        project=project,
        name=name,
        dir=where,
        mode=os.environ.get("WANDB_MODE", "offline"),
        config=settings,
        # Facts about the machine, its programs or the current folder are not sent.
        settings=module.Settings(
            console="off", disable_code=True, disable_git=True, disable_job_creation=True, silent=True,
            x_disable_machine_info=True, x_disable_meta=True, x_disable_stats=True, x_save_requirements=False,
        ),
    )  # fmt: skip
    return lambda step, numbers: run.log(dict(numbers), step=step), lambda failed: run.finish(exit_code=int(failed))


def _trackio(
    module: Any, name: str, settings: dict[str, object], project: str, where: str | None
) -> tuple[Log, Finish]:
    place = {} if where is None else {"server_url" if "://" in where else "space_id": where}
    run = module.init(
        project=project, name=name, config=settings, embed=False, auto_log_cpu=False, auto_log_gpu=False, **place
    )
    return lambda step, numbers: run.log(dict(numbers), step=step), lambda _: module.finish()


_BEGIN: Final = {"trackio": _trackio, "wandb": _wandb, "mlflow": _mlflow}
