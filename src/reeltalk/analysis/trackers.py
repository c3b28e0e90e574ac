"""Sends runs, and trainings while they run, to trackio, Weights & Biases or MLflow. Each works without a network.

A tracker gets a model's numbers, curves, groups and settings. Withheld or missing numbers are not sent, but the numbers
of scored and unscored items always are. A run has an identifier from its numbers, so nothing is sent twice. If sending
fails half-way, it is undone.
"""

import contextlib
import hashlib
import importlib
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from reeltalk.analysis.leaderboard import why_no_value
from reeltalk.errors import MissingExtraError, ReeltalkError, SettingError, TrackerError
from reeltalk.progress import Tell, silent
from reeltalk.schema.record import Json
from reeltalk.schema.runs import GroupRow, ModelInfo
from reeltalk.store.documents import write_json
from reeltalk.store.runs import Run

ID_CHARS: Final = 16
GROUP_COLUMNS: Final = ("metric", "by", "group", "value", "low", "high", "n", "unscored")


@dataclass(frozen=True)
class TrackedModel:
    """One model of a run, as one run of a tracker."""

    id: str
    """A hash of the content: equal numbers always have the same identifier."""
    name: str
    numbers: dict[str, float]
    """`metric`, with `metric/low`, `metric/high`, `metric/n`, `metric/unscored`."""
    curves: tuple[tuple[int, dict[str, float]], ...]
    """Turns from 1, each with `turn/metric`, `turn/metric/low` and so on."""
    groups: tuple[tuple[str | int | float | None, ...], ...]
    """Rows of `GROUP_COLUMNS`."""
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
    told: list[Json] = [name, numbers, sorted(points.items()), [list(row) for row in table], settings, signatures]
    return TrackedModel(
        id=hashlib.sha256(write_json(told).encode()).hexdigest()[:ID_CHARS],
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
Told = Literal["told", "known"]
TAG: Final = "reeltalk.id"
"""Tag by which a run is found in MLflow."""
SQLITE: Final = "sqlite:///"
MLFLOW_BATCH: Final = 500
"""Metrics in one request; MLflow takes 1,000."""
DONE: Final = "reeltalk-told"
"""File that is written last into an offline run of W&B."""


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


def send_runs(models: Sequence[TrackedModel], telling: TrackerLog) -> list[Told]:
    """Send each model to a tracker.

    Args:
        models: The models.
        telling: The tracker and its location.

    Returns:
        For each model whether it was sent, or known before.

    Raises:
        MissingExtraError: The tracker is not installed.
        SettingError: A setting does not fit the tracker.
        TrackerError: The tracker refused, or could not be reached.
    """
    if telling.report is not None and not telling.report.is_dir():
        raise SettingError(f"--report {telling.report} is not a folder; 'reeltalk report RUN --out DIR' writes one")
    teller = _TELLERS[telling.tracker]
    with _tracker_errors(telling):
        return [teller(model, telling) for model in models]


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
            f"{telling.tracker} could not be told: {_in_one_line(error)}; run the command again"
        ) from error


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


class LiveRun:
    """A run of a tracker that gets numbers while they are made.

    A tracker that fails later does not end the work: it is told once, and gets nothing more.

    Args:
        tracker: The tracker.
        add: Sends the numbers of a step.
        finish: Ends the run; True if it failed.
        tell: Receives the sentence about a failure.
    """

    def __init__(
        self,
        tracker: Tracker,
        add: Callable[[int, dict[str, float]], object],
        finish: Callable[[bool], object],
        tell: Tell,
    ) -> None:
        self._tracker, self._add, self._finish, self._tell = tracker, add, finish, tell
        self._broken = False

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Send the numbers of a step, by name."""
        self._try(lambda: self._add(step, numbers))

    def finish(self, *, failed: bool) -> None:
        """End the run; numbers that wait are sent."""
        self._try(lambda: self._finish(failed))

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
        add, finish = _LIVE[telling.tracker](telling, name, settings)
    return LiveRun(telling.tracker, add, finish, tell)


Live = tuple[Callable[[int, dict[str, float]], object], Callable[[bool], object]]


def _live_mlflow(telling: TrackerLog, name: str, settings: dict[str, Json]) -> Live:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=telling.where)
    run_id = client.create_run(_mlflow_experiment(client, telling), run_name=name).info.run_id
    # MLflow takes 6,000 characters of a value.
    params = [Param(_mlflow_key(key), str(value)[:6000]) for key, value in settings.items()]
    client.log_batch(run_id, params=params)

    def add(step: int, numbers: dict[str, float]) -> None:
        now_ms = time.time_ns() // 1_000_000
        client.log_batch(run_id, metrics=[Metric(_mlflow_key(k), v, now_ms, step) for k, v in numbers.items()])

    return add, lambda failed: client.set_terminated(run_id, "FAILED" if failed else "FINISHED")


def _live_wandb(telling: TrackerLog, name: str, settings: dict[str, Json]) -> Live:
    import wandb

    folder = Path(telling.where) if telling.where else Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=telling.project,
        name=name,
        dir=str(folder),
        mode="online" if telling.online else "offline",
        config=settings,
        settings=_wandb_settings(),
    )
    return lambda step, numbers: run.log(numbers, step=step), lambda failed: run.finish(exit_code=int(failed))


def _live_trackio(telling: TrackerLog, name: str, settings: dict[str, Json]) -> Live:
    import trackio

    run = trackio.init(project=telling.project, name=name, config=settings, **_trackio_options(telling))
    return lambda step, numbers: run.log(numbers, step=step), lambda failed: trackio.finish()


_LIVE: Final[dict[Tracker, Callable[[TrackerLog, str, dict[str, Json]], Live]]] = {
    "trackio": _live_trackio,
    "wandb": _live_wandb,
    "mlflow": _live_mlflow,
}


def _tell_mlflow(model: TrackedModel, telling: TrackerLog) -> Told:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    # A separate client, so that a run of the caller is unaffected.
    client = MlflowClient(tracking_uri=telling.where)
    experiment_id = _mlflow_experiment(client, telling)
    for known in client.search_runs([experiment_id], f"tags.`{TAG}` = '{model.id}'"):
        if known.info.status == "FINISHED":
            return "known"
        client.delete_run(known.info.run_id)
    run_id = client.create_run(experiment_id, run_name=model.name, tags={TAG: model.id}).info.run_id
    try:
        now_ms = time.time_ns() // 1_000_000
        steps = [(0, model.numbers), *model.curves]
        metrics = [Metric(_mlflow_key(k), v, now_ms, step) for step, numbers in steps for k, v in numbers.items()]
        for first in range(0, len(metrics), MLFLOW_BATCH):
            client.log_batch(run_id, metrics=metrics[first : first + MLFLOW_BATCH])
        client.log_batch(run_id, params=[Param(_mlflow_key(key), text) for key, text in model.settings.items()])
        client.log_dict(run_id, model.signatures, "signatures.json")
        if model.withheld:
            client.log_dict(run_id, model.withheld, "withheld.json")
        if model.groups:
            columns = {column: [row[index] for row in model.groups] for index, column in enumerate(GROUP_COLUMNS)}
            client.log_table(run_id, columns, "groups.json")
        if telling.report is not None:
            client.log_artifacts(run_id, str(telling.report), "report")
        client.set_terminated(run_id, "FINISHED")
    except BaseException:
        client.delete_run(run_id)
        raise
    return "told"


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


def _tell_wandb(model: TrackedModel, telling: TrackerLog) -> Told:
    import wandb

    folder = Path(telling.where) if telling.where else Path.cwd()
    run_id = f"reeltalk-{model.id}"
    if not telling.online:
        for offline in sorted((folder / "wandb").glob(f"offline-run-*-{run_id}")):
            if (offline / DONE).is_file():
                return "known"
            shutil.rmtree(offline)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run = wandb.init(
            project=telling.project,
            id=run_id,
            name=model.name,
            dir=str(folder),
            mode="online" if telling.online else "offline",
            # A run of that identifier on the server is the same numbers.
            resume="never" if telling.online else None,
            config=model.settings | {"signatures": model.signatures, "withheld": model.withheld},
            settings=_wandb_settings(),
        )
    except wandb.errors.UsageError as error:
        if telling.online and "exists" in str(error):
            return "known"
        raise
    kept = Path(run.dir).parent
    try:
        run.define_metric("turn")
        run.define_metric("turn/*", step_metric="turn", summary="none")
        for turn, numbers in model.curves:
            run.log({"turn": turn, **numbers})
        run.summary.update(model.numbers)
        if model.groups:
            run.log({"groups": wandb.Table(columns=list(GROUP_COLUMNS), data=[list(row) for row in model.groups])})
        if telling.report is not None:
            artifact = wandb.Artifact(f"report-{model.id}", type="report")
            artifact.add_dir(str(telling.report))
            run.log_artifact(artifact)
        run.finish()
    except BaseException:
        run.finish(exit_code=1)
        if not telling.online:
            shutil.rmtree(kept, ignore_errors=True)
        raise
    if not telling.online:
        (kept / DONE).write_text(f"{model.id}\n", encoding="utf-8")
    return "told"


def _wandb_settings() -> Any:
    """Settings by which facts about the machine, its programs or the current folder are not sent."""
    import wandb

    return wandb.Settings(
        console="off",
        disable_code=True,
        disable_git=True,
        disable_job_creation=True,
        silent=True,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )


def _tell_trackio(model: TrackedModel, telling: TrackerLog) -> Told:
    import trackio

    # Its runs are told apart by their names alone.
    name = f"{model.name} {model.id[:8]}"
    if _known_to_trackio(telling.project, name):
        return "known"
    run = trackio.init(
        project=telling.project,
        name=name,
        config=model.settings | {"signatures": model.signatures, "withheld": model.withheld},
        **_trackio_options(telling),
    )
    try:
        run.log(model.numbers, step=0)
        for turn, numbers in model.curves:
            run.log(numbers, step=turn)
        if model.groups:
            rows = [["" if value is None else value for value in row] for row in model.groups]
            run.log({"groups": trackio.Table(columns=list(GROUP_COLUMNS), data=rows)}, step=0)
        if telling.report is not None:
            run.log_artifact(str(telling.report), name=f"report-{model.id}", type="report")
        trackio.finish()
    except BaseException:
        trackio.finish()
        for half in _known_to_trackio(telling.project, name):
            half.delete()
        raise
    return "told"


def _trackio_options(telling: TrackerLog) -> dict[str, Any]:
    options: dict[str, Any] = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
    if telling.where is not None:
        options["server_url" if "://" in telling.where else "space_id"] = telling.where
    return options


def _known_to_trackio(project: str, name: str) -> list[Any]:
    import trackio

    try:
        return [run for run in trackio.Api().runs(project) if run.name == name]
    except ValueError:
        # There is no such project yet.
        return []


_TELLERS: Final[dict[Tracker, Callable[[TrackedModel, TrackerLog], Told]]] = {
    "trackio": _tell_trackio,
    "wandb": _tell_wandb,
    "mlflow": _tell_mlflow,
}
