"""The command that publishes results to experiment trackers and to the Hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Group, Parameter

from reeltalk.cli.options import FLAG, IN_TRACKER, OUT, OVERWRITE
from reeltalk.cli.terminal import say
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.analysis.leaderboard import ModelRow
    from reeltalk.formats.hub_results import BenchmarkOnHub
    from reeltalk.schema.runs import SummaryRow

HUB: Final = Group("Results for the Hub", sort_key=48)
IN_HUB = Parameter(group=HUB)


def publish(
    *runs: Path,
    to: Literal["trackio", "wandb", "mlflow", "hub"],
    model: Annotated[tuple[str, ...], FLAG] = (),
    project: Annotated[str | None, IN_TRACKER] = None,
    name: Annotated[str | None, IN_TRACKER] = None,
    where: Annotated[str | None, IN_TRACKER] = None,
    dataset: Annotated[str | None, IN_HUB] = None,
    task: Annotated[tuple[str, ...], Parameter(negative="", group=HUB)] = (),
    revision: Annotated[str | None, IN_HUB] = None,
    date: Annotated[str | None, IN_HUB] = None,
    source_url: Annotated[str | None, IN_HUB] = None,
    out: Annotated[Path | None, OUT] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Send runs' numbers to an experiment tracker, or write them as the Hub's evaluation results.

    A tracker gets numbers with intervals and counts, curves by turn, and signatures. This works offline. For the Hub,
    each model gets `MODEL/.eval_results/NAME.yaml` for its repository; nothing is uploaded. Withheld numbers are not
    published.

    Example: `reeltalk publish runs/first --to mlflow --where sqlite:///mlflow.db`, or `reeltalk publish
    runs/qwen --to hub --dataset me/kitchen --task match --task words=rouge_l --out results`.

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote. Every model of them becomes a run of the tracker.
    to
        A tracker, which needs the extra of its name; or hub.
    model
        Models to publish. By default all; for the Hub all but people, reference answers and baselines.
    project
        Project of the tracker, or MLflow's experiment; reeltalk by default.
    name
        Prefix of the names of the tracker's runs; the run's folder by default.
    where
        mlflow: a tracking URI; wandb: the folder of offline runs, here by default; trackio: a Space OWNER/NAME or a
        server's address, this machine by default.
    dataset
        The benchmark's data set on the Hub, OWNER/NAME. Required for hub.
    task
        A task of the benchmark and the metric that is its value, TASK=METRIC, or METRIC if both have the same name.
        Required for hub.
    revision
        Commit of the data set, 40 hexadecimal digits.
    date
        Date of the evaluation, such as 2026-11-22; by default the Hub takes the time of the commit.
    source_url
        Web address of the run, for example of its report.
    out
        Folder of the results for the Hub to create. Required for hub.
    overwrite
        Replace an existing folder.
    """
    if not runs:
        raise SettingError("publish needs at least one run; 'reeltalk score' and 'reeltalk evaluate' write them")
    if to == "hub":
        if any((project, name, where)):
            raise SettingError("--project, --name and --where are for trackers")
        if dataset is None or not task or out is None:
            raise SettingError("--to hub needs --dataset OWNER/NAME, --task and --out")
    else:
        if any((dataset, task, revision, date, source_url, out, overwrite)):
            raise SettingError("--dataset, --task, --out and the options after them are for --to hub")
        from reeltalk.analysis.trackers import publish_run
        from reeltalk.store.runs import read_run

        for path in runs:
            sent = publish_run(read_run(path), to, models=model, name=name, project=project or "reeltalk", where=where)
            for title, count in sent.items():
                print(f"{title}: sent {count:,} numbers to {to}")
        return 0
    from reeltalk.analysis.columns import competes
    from reeltalk.analysis.leaderboard import build_leaderboard
    from reeltalk.formats.hub_results import BenchmarkOnHub, check_hub_benchmark
    from reeltalk.store.atomic import writing_directory
    from reeltalk.store.runs import read_run

    benchmark = BenchmarkOnHub(dataset, revision, date, source_url)
    check_hub_benchmark(benchmark)
    board = build_leaderboard([read_run(path) for path in runs])
    tasks = _tasks(task, board.metrics)
    known = [row.name for row in board.models]
    for wanted in model:
        if wanted not in known:
            raise SettingError(f"--model {wanted!r}: the runs have no such model; they have {', '.join(known)}")
    chosen = [row for row in board.models if row.name in model or (not model and competes(row.info))]
    with writing_directory(out, overwrite=overwrite) as folder:
        files = sum(_write_model(row, tasks, benchmark, folder) for row in chosen)
        if not files:
            raise BenchmarkError(f"none of {', '.join(tasks.values())} has a number that may be exported")
    for mixed in sorted(set(tasks.values()) & set(board.mixed)):
        parts = ", ".join(board.mixed[mixed])
        say(f"{mixed}: the models' signatures differ in {parts}, so that their values do not compare")
    print(f"results of {files:,} {'model' if files == 1 else 'models'}: {out}")
    return 0


def _some(names: list[str], most: int = 8) -> str:
    """Comma-separated names, as many as fit on a line."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _tasks(given: tuple[str, ...], metrics: list[str]) -> dict[str, str]:
    """Metrics by task."""
    tasks: dict[str, str] = {}
    for text in given:
        name, _, metric = text.partition("=")
        name, metric = name.strip(), metric.strip() or name.strip()
        if not name or name in tasks:
            raise SettingError(f"--task {text!r}: {'this task appears twice' if name else 'a task needs a name'}")
        if metric not in metrics:
            raise SettingError(f"--task {text!r}: the runs have no metric '{metric}'; they have {_some(metrics)}")
        tasks[name] = metric
    return tasks


def _write_model(model: "ModelRow", tasks: dict[str, str], benchmark: "BenchmarkOnHub", folder: Path) -> bool:
    """Write one model's results; True if there are any."""
    from reeltalk.formats.hub_results import HubResult, write_hub_results
    from reeltalk.formats.layout import as_file_stem

    results: list[HubResult] = []
    for task, metric in tasks.items():
        cell = model.cells[metric]
        if cell is None or cell.row.value is None:
            reason = "its run does not have it" if cell is None else cell.reason
            print(f"{model.name}: {metric} is not exported: {reason}")
            continue
        results.append(HubResult(task, cell.row.value, _notes(cell.row, model.run.info.clusters)))
    if results:
        repository = folder / as_file_stem(model.name, otherwise="model")
        if repository.exists():
            raise BenchmarkError(
                f"two models would be written as {repository.name!r}; export them one by one by --model"
            )
        write_hub_results(results, benchmark, repository)
    return bool(results)


def _notes(row: "SummaryRow", videos: int) -> str:
    from reeltalk.analysis.columns import items_of
    from reeltalk.metrics.uncertainty import FEW_VIDEOS, FEWEST_VIDEOS

    interval = (
        f"no interval{f', as there are fewer than {FEWEST_VIDEOS} videos' if videos < FEWEST_VIDEOS else ''}"
        if row.low is None or row.high is None
        else f"95 % interval [{row.low:.4g}, {row.high:.4g}] clustered by source video"
        f"{f', rough as there are only {videos}' if videos < FEW_VIDEOS else ''}"
    )
    counted = f"n = {row.n} {items_of(row.metric)}, unscored = {row.unscored}, not applicable = {row.not_applicable}"
    return f"{interval}; {counted}; {row.metric} by reeltalk: {row.signature}"
