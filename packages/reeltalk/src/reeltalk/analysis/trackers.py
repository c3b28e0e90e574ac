"""Sends runs, and trainings while they run, to trackio, Weights & Biases or MLflow. Each works without a network.

A tracker gets a model's numbers, curves, groups and settings. Withheld or missing numbers are not sent, but the numbers
of scored and unscored items always are. Sending again makes another run of the tracker.
"""

import contextlib
import importlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from reeltalk.analysis.leaderboard import why_no_value
from reeltalk.errors import MissingExtraError, ReeltalkError, SettingError, TrackerError
from reeltalk.progress import Tell, silent
from reeltalk.schema.record import Json
from reeltalk.schema.runs import GroupRow, ModelInfo
from reeltalk.store.runs import Run

GROUP_COLUMNS: Final = ("metric", "by", "group", "value", "low", "high", "n", "unscored")
Groups = tuple[tuple[str | int | float | None, ...], ...]
"""Rows of `GROUP_COLUMNS`."""


@dataclass(frozen=True)
class TrackedModel:
    """One model of a run, as one run of a tracker."""

    name: str
    numbers: dict[str, float]
    """`metric`, with `metric/low`, `metric/high`, `metric/n`, `metric/unscored`."""
    curves: tuple[tuple[int, dict[str, float]], ...]
    """Turns from 1, each with `turn/metric`, `turn/metric/low` and so on."""
    groups: Groups
    settings: dict[str, str]
    """Common parts of all signatures, and facts about the run, by name."""
    signatures: dict[str, str]
    """By metric."""
    withheld: dict[str, str]
    """Metrics whose number is not sent, with the reason."""


def tracked_models(run: Run, *, models: Sequence[str] = (), name: str | None = None) -> list[TrackedModel]:
    """Summarize each model of a run for a tracker.

    Args:
        run: The run.
        models: Names of its models; all models by default.
        name: First part of each name; the name of the run's folder by default.

    Raises:
        SettingError: The run has no such model.
        InputError: A table of the run is damaged.
    """
    infos = {info.model: info for info in run.info.models}
    for model in models:
        if model not in infos:
            raise SettingError(f"the run {run.path} has no model '{model}'; it has {', '.join(infos)}")
    chosen = [info for info in run.info.models if not models or info.model in models]
    groups = run.groups()
    start = name or run.name
    return [
        _tracked(run, info, [row for row in groups if row.model == info.model], _named(start, info, len(chosen)))
        for info in chosen
    ]


def _named(start: str, info: ModelInfo, count: int) -> str:
    return start if count == 1 else f"{start} {info.model}"


def _tracked(run: Run, info: ModelInfo, groups: Sequence[GroupRow], name: str) -> TrackedModel:
    rows = [row for row in run.summary if row.model == info.model]
    numbers: dict[str, float] = {}
    withheld: dict[str, str] = {}
    for row in rows:
        numbers |= _told(row.metric, row.value, row.low, row.high, row.n)
        numbers[f"{row.metric}/unscored"] = row.unscored
        if row.value is None:
            withheld[row.metric] = why_no_value(run, row)
    points: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for point in run.curves:
        if point.model == info.model:
            points[point.turn_index + 1] |= _told(f"turn/{point.metric}", point.value, point.low, point.high, point.n)
    table = tuple(tuple(getattr(row, column) for column in GROUP_COLUMNS) for row in groups)
    signatures = {row.metric: row.signature for row in rows}
    settings = {
        "model": info.model,
        "source": info.source,
        "kind": run.info.kind,
        "subject": run.info.subject,
        "videos": str(run.info.clusters),
        "items": str(info.items),
        "missing": str(len(info.missing)),
        "reeltalk": run.info.reeltalk_version,
        **_in_common(list(signatures.values())),
    }
    return TrackedModel(
        name=name,
        numbers=numbers,
        curves=tuple(sorted(points.items())),
        groups=table,
        settings=settings,
        signatures=signatures,
        withheld=withheld,
    )


def _told(name: str, value: float | None, low: float | None, high: float | None, n: int) -> dict[str, float]:
    found = {name: value, f"{name}/low": low, f"{name}/high": high, f"{name}/n": float(n)}
    return {key: number for key, number in found.items() if number is not None}


def _in_common(signatures: Sequence[str]) -> dict[str, str]:
    """Parts with the same value in all signatures, such as `data` and `history`."""
    parts = [dict(part.split(":", 1) for part in text.split("|")[1:] if ":" in part) for text in signatures]
    if not parts:
        return {}
    return {key: value for key, value in parts[0].items() if all(found.get(key) == value for found in parts)}


Tracker = Literal["trackio", "wandb", "mlflow"]
SQLITE: Final = "sqlite:///"
MLFLOW_BATCH: Final = 500
"""Metrics in one request; MLflow takes 1,000."""
MLFLOW_PARAMS: Final = 100
"""Settings in one request; MLflow takes no more."""


@dataclass(frozen=True)
class TrackerLog:
    """The tracker that runs are sent to."""

    tracker: Tracker
    project: str = "reeltalk"
    where: str | None = None
    """trackio: a Space OWNER/NAME, or a server's address; wandb: the folder of offline runs; mlflow: a tracking URI."""
    online: bool = False
    """wandb: send at once, instead of storing it for `wandb sync`."""
    report: Path | None = None
    """A report's folder that is stored with every run."""


def send_runs(models: Sequence[TrackedModel], telling: TrackerLog) -> None:
    """Send each model to a tracker, as one run of it.

    Args:
        models: The models.
        telling: The tracker and its location.

    Raises:
        MissingExtraError: The tracker is not installed.
        SettingError: A setting does not fit the tracker.
        TrackerError: The tracker refused, or could not be reached; it may have got a part.
    """
    if telling.report is not None and not telling.report.is_dir():
        raise SettingError(f"--report {telling.report} is not a folder; 'reeltalk report RUN --out DIR' writes one")
    for model in models:
        settings = model.settings | {f"signature/{metric}": text for metric, text in model.signatures.items()}
        settings |= {f"withheld/{metric}": reason for metric, reason in model.withheld.items()}
        with _tracker_errors(telling):
            run = _RUNS[telling.tracker](telling, model.name, settings)
            failed = True
            try:
                for step, numbers in ((0, model.numbers), *model.curves):
                    run.add(step, numbers)
                if model.groups:
                    run.add_groups(model.groups)
                if telling.report is not None:
                    run.add_report(telling.report)
                failed = False
            finally:
                run.finish(failed=failed)


@contextlib.contextmanager
def _tracker_errors(telling: TrackerLog) -> Iterator[None]:
    """Turn what a tracker raises into errors for the user."""
    if telling.online and telling.tracker != "wandb":
        raise SettingError(f"--online is for wandb; {telling.tracker} goes to where --where says")
    try:
        yield
    except ImportError as error:
        if (error.name or "").split(".")[0] == telling.tracker:
            raise MissingExtraError(f"telling {telling.tracker}", extra=telling.tracker) from None
        raise
    except ReeltalkError:
        raise
    except Exception as error:
        raise TrackerError(
            f"{telling.tracker} could not be told, and may hold a part of the run: {_in_one_line(error)}"
        ) from error


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


class LiveRun:
    """A run of a tracker that gets numbers while they are made.

    A tracker that fails later does not end the work: it is told once, and gets nothing more.

    Args:
        tracker: The tracker.
        run: Its run.
        tell: Receives the sentence about a failure.
    """

    def __init__(self, tracker: Tracker, run: "_TrackerRun", tell: Tell) -> None:
        self._tracker, self._run, self._tell = tracker, run, tell
        self._broken = False

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Send the numbers of a step, by name."""
        self._try(lambda: self._run.add(step, numbers))

    def finish(self, *, failed: bool) -> None:
        """End the run; numbers that wait are sent."""
        self._try(lambda: self._run.finish(failed=failed))

    def _try(self, call: Callable[[], object]) -> None:
        if self._broken:
            return
        try:
            # trackio prints where it writes, and standard output is for results.
            with contextlib.redirect_stdout(sys.stderr):
                call()
        except Exception as error:
            self._broken = True
            self._tell(f"warning: {self._tracker} gets no more numbers: {_in_one_line(error)}; the work goes on")


def check_tracker(telling: TrackerLog) -> None:
    """Check that a tracker is installed and its settings fit.

    Raises:
        MissingExtraError: It is not installed.
        SettingError: A setting does not fit the tracker.
    """
    with _tracker_errors(telling):
        importlib.import_module(telling.tracker)


def begin_live_run(telling: TrackerLog, name: str, settings: dict[str, Json], *, tell: Tell = silent) -> LiveRun:
    """Begin a run of a tracker, which gets numbers step by step.

    Args:
        telling: The tracker and its location.
        name: The name of the run. It need not be new.
        settings: The settings of the work.
        tell: Receives a sentence if the tracker fails later.

    Raises:
        MissingExtraError: The tracker is not installed.
        SettingError: A setting does not fit the tracker.
        TrackerError: The tracker refused, or could not be reached.
    """
    with _tracker_errors(telling), contextlib.redirect_stdout(sys.stderr):
        run = _RUNS[telling.tracker](telling, name, settings)
    return LiveRun(telling.tracker, run, tell)


class _TrackerRun(Protocol):
    """One run of a tracker, which is begun with the tracker's location, a name and settings."""

    def add(self, step: int, numbers: dict[str, float]) -> None: ...

    def add_groups(self, groups: Groups) -> None: ...

    def add_report(self, folder: Path) -> None: ...

    def finish(self, *, failed: bool) -> None: ...


class _MlflowRun:
    def __init__(self, telling: TrackerLog, name: str, settings: Mapping[str, Json]) -> None:
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        # A separate client, so that a run of the caller is unaffected.
        self._client = MlflowClient(tracking_uri=telling.where)
        self._id = self._client.create_run(_mlflow_experiment(self._client, telling), run_name=name).info.run_id
        # MLflow takes 6,000 characters of a value.
        params = [Param(_mlflow_key(key), str(value)[:6000]) for key, value in settings.items()]
        for first in range(0, len(params), MLFLOW_PARAMS):
            self._client.log_batch(self._id, params=params[first : first + MLFLOW_PARAMS])

    def add(self, step: int, numbers: dict[str, float]) -> None:
        from mlflow.entities import Metric

        now_ms = time.time_ns() // 1_000_000
        metrics = [Metric(_mlflow_key(key), value, now_ms, step) for key, value in numbers.items()]
        for first in range(0, len(metrics), MLFLOW_BATCH):
            self._client.log_batch(self._id, metrics=metrics[first : first + MLFLOW_BATCH])

    def add_groups(self, groups: Groups) -> None:
        columns = {column: [row[index] for row in groups] for index, column in enumerate(GROUP_COLUMNS)}
        self._client.log_table(self._id, columns, "groups.json")

    def add_report(self, folder: Path) -> None:
        self._client.log_artifacts(self._id, str(folder), "report")

    def finish(self, *, failed: bool) -> None:
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


def _mlflow_experiment(client: Any, telling: TrackerLog) -> str:
    """The identifier of the project's experiment, which is created if it does not exist."""
    found = client.get_experiment_by_name(telling.project)
    if found is not None:
        return str(found.experiment_id)
    return str(client.create_experiment(telling.project, artifact_location=_beside_database(telling.where)))


def _beside_database(where: str | None) -> str | None:
    """Folder of the files of runs in a SQLite database; MLflow's default is the current folder."""
    if where is None or not where.startswith(SQLITE):
        return None
    return (Path(where.removeprefix(SQLITE)).resolve().parent / "mlartifacts").as_uri()


def _mlflow_key(key: str) -> str:
    """MLflow takes letters, digits, `_`, `-`, `.`, space, `:` and `/`."""
    return "".join(character if character.isalnum() or character in "_-. :/" else "_" for character in key)[:250]


class _WandbRun:
    def __init__(self, telling: TrackerLog, name: str, settings: Mapping[str, Json]) -> None:
        import wandb

        folder = Path(telling.where) if telling.where else Path.cwd()
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=telling.project,
            name=name,
            dir=str(folder),
            mode="online" if telling.online else "offline",
            config=dict(settings),
            # Facts about the machine, its programs or the current folder are not sent.
            settings=wandb.Settings(
                console="off",
                disable_code=True,
                disable_git=True,
                disable_job_creation=True,
                silent=True,
                x_disable_machine_info=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,
            ),
        )

    def add(self, step: int, numbers: dict[str, float]) -> None:
        self._run.log(numbers, step=step)

    def add_groups(self, groups: Groups) -> None:
        import wandb

        self._run.log({"groups": wandb.Table(columns=list(GROUP_COLUMNS), data=[list(row) for row in groups])})

    def add_report(self, folder: Path) -> None:
        import wandb

        artifact = wandb.Artifact("report", type="report")
        artifact.add_dir(str(folder))
        self._run.log_artifact(artifact)

    def finish(self, *, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))


class _TrackioRun:
    def __init__(self, telling: TrackerLog, name: str, settings: Mapping[str, Json]) -> None:
        import trackio

        where: dict[str, str] = {}
        if telling.where is not None:
            where["server_url" if "://" in telling.where else "space_id"] = telling.where
        self._run = trackio.init(
            project=telling.project,
            name=name,
            config=dict(settings),
            embed=False,
            auto_log_cpu=False,
            auto_log_gpu=False,
            **where,
        )

    def add(self, step: int, numbers: dict[str, float]) -> None:
        self._run.log(numbers, step=step)

    def add_groups(self, groups: Groups) -> None:
        import trackio

        rows = [["" if value is None else value for value in row] for row in groups]
        self._run.log({"groups": trackio.Table(columns=list(GROUP_COLUMNS), data=rows)}, step=0)

    def add_report(self, folder: Path) -> None:
        self._run.log_artifact(str(folder), name="report", type="report")

    def finish(self, *, failed: bool) -> None:
        import trackio

        trackio.finish()


_RUNS: Final[dict[Tracker, Callable[[TrackerLog, str, Mapping[str, Json]], _TrackerRun]]] = {
    "trackio": _TrackioRun,
    "wandb": _WandbRun,
    "mlflow": _MlflowRun,
}
