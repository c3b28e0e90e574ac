"""Commands that hand results and benchmarks to other programs: the Hub, experiment trackers, evaluation harnesses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.cli.app import OVERWRITE, Bar, app, say, settings_of
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.analysis.leaderboard import ModelRow
    from reeltalk.formats.hub_results import BenchmarkOnHub
    from reeltalk.schema.runs import SummaryRow


class HarnessOptions(BaseModel):
    """What of a benchmark becomes a task of lmms-eval or VLMEvalKit, or training data, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str | None = None
    """Name of the task (lower case letters, digits and _) or of the training data; the benchmark's by default."""
    mode: Literal["dialogue", "streaming", "single"] | None = None
    """dialogue: chains of a video in order, and dialogues; streaming: along paths; single: no history."""
    split: str | None = None
    """Split of the videos; test where there is one, else all; `all` for all. Training data: train by default."""
    tasks: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """Tasks of dialogues; all by default."""
    prompt: str | None = None
    """plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    subtitles: bool = False
    """Tell lines that were spoken and had ended by the moment of the question."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """The first dialogues or paths only."""
    no_videos: Annotated[bool, Parameter(name="--no-videos", negative="")] = False
    """Ask without videos."""


SEVERAL = Parameter(negative="")
HARNESS_DEFAULTS = HarnessOptions()
Harness = Annotated[HarnessOptions, Parameter(name="*")]


def write_harness_task(harness: str, benchmark: Path, folder: Path, options: HarnessOptions, *, lies_at: Path) -> None:
    """Write a benchmark as a task of another harness and print what was written.

    Args:
        harness: A name of `HARNESSES`.
        benchmark: Folder of the benchmark.
        folder: An empty folder.
        options: What of it, and how it is asked.
        lies_at: Where the folder will lie.

    Raises:
        BenchmarkError: There is nothing to ask, or a video is not at hand.
        SettingError: An option does not fit.
    """
    from reeltalk.evaluate.harnesses.asked import asked_turns
    from reeltalk.evaluate.harnesses.films import write_films
    from reeltalk.evaluate.harnesses.lmms_eval import write_lmms_eval
    from reeltalk.evaluate.harnesses.task import HarnessTask, signature_of, task_name, title_of
    from reeltalk.evaluate.harnesses.vlmevalkit import write_vlmevalkit
    from reeltalk.evaluate.playing.at_hand import media_of
    from reeltalk.evaluate.playing.chat import answer_prompt
    from reeltalk.evaluate.playing.modes import Choice, scripts
    from reeltalk.evaluate.playing.subtitles import lines_spoken
    from reeltalk.evaluate.settings import PlaySettings
    from reeltalk.store.benchmark import Benchmark

    opened = Benchmark.open(benchmark)
    name = task_name(options.name, opened.manifest.name)
    content = opened.content()
    tasks = tuple(name.strip() for part in options.tasks for name in part.split(",") if name.strip())
    given = {"mode": options.mode, "prompt": options.prompt, "split": options.split, "tasks": tasks}
    play: PlaySettings = settings_of(
        PlaySettings,
        **{key: value for key, value in given.items() if value},
        history="none" if options.mode == "single" else "golden",
        subtitles=options.subtitles,
    )
    choice = Choice(mode=play.mode, split=play.split, tasks=play.tasks, limit=options.limit)
    turns = asked_turns(scripts(content, choice), play, subtitles=lines_spoken(content) if play.subtitles else None)
    films = None
    if not options.no_videos:
        videos = {str(video.id): video for video in content.videos}
        with Bar() as bar:
            films = write_films(turns, videos, media_of(opened, content), folder, progress=bar.show)
    task = HarnessTask(
        name=name,
        title=title_of(opened.manifest.name),
        turns=turns,
        films=films,
        signature=signature_of(
            f"{title_of(opened.manifest.name)}.{play.mode}",
            opened.manifest.content_hash,
            (
                ("mode", play.mode),
                ("history", play.told),
                ("prompt", answer_prompt(play.prompt, play.answer_style).signature),
                ("subtitles", "yes" if play.subtitles else "no"),
                ("videos", "none" if films is None else "until-asked"),
            ),
        ),
    )
    if harness == "lmms-eval":
        write_lmms_eval(task, folder, lies_at=lies_at)
    else:
        write_vlmevalkit(task, folder)
    told = len({turn.turn.video_id for turn in turns})
    print(f"task {name}: {len(turns):,} turns about {told:,} videos, history {play.told}")
    if films is not None:
        print(
            f"videos: {films.cut:,} files end at a question ({films.encoded:,} of them encoded anew), "
            f"{films.whole:,} are whole"
        )


@app.command(sort_key=8)
def track(
    *runs: Path,
    to: Literal["trackio", "wandb", "mlflow"],
    project: str = "reeltalk",
    name: str | None = None,
    model: Annotated[tuple[str, ...], SEVERAL] = (),
    where: str | None = None,
    online: Annotated[bool, Parameter(name="--online", negative="")] = False,
    report: Path | None = None,
) -> int:
    """Tell an experiment tracker of runs: numbers with intervals and counts, curves by turn, groups, signatures.

    Example: `reeltalk track runs/first --to mlflow --where sqlite:///mlflow.db --report site`. Works without a network;
    what was told before is not told again. Withheld numbers are not told.

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote; every model of them becomes a run of the tracker.
    to
        The tracker; needs the extra of its name.
    project
        Project of the tracker; MLflow's experiment.
    name
        Begins the names of the tracker's runs; the run's folder by default.
    model
        Models that are told of; all by default.
    where
        mlflow: a tracking URI; wandb: the folder of offline runs, here by default; trackio: a Space OWNER/NAME or a
        server's address, this machine by default.
    online
        wandb: send it at once; without this it is kept for `wandb sync`.
    report
        Folder of a report that is kept with each run.
    """
    from reeltalk.analysis.trackers import Telling, tell, tracked_models
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("track needs at least one run; 'reeltalk score' and 'reeltalk evaluate' write them")
    telling = Telling(to, project, where, online, report)
    for path in runs:
        models = tracked_models(read_run(path), models=model, name=name)
        for found, state in zip(models, tell(models, telling), strict=True):
            what = f"{len(found.numbers):,} numbers, {len(found.curves):,} turns, {len(found.groups):,} groups"
            done = f"told {to} of {what}" if state == "told" else f"{to} knows it already, nothing was told again"
            print(f"{found.name}: {done} (reeltalk.id {found.id})")
            if state == "told" and found.withheld:
                print(f"{found.name}: not told, as they have no value to quote: {_some(list(found.withheld))}")
    return 0


@app.command(sort_key=8)
def export_results(
    *runs: Path,
    dataset: str,
    task: Annotated[tuple[str, ...], SEVERAL],
    out: Path,
    model: Annotated[tuple[str, ...], SEVERAL] = (),
    revision: str | None = None,
    date: str | None = None,
    source_url: str | None = None,
    source_name: str | None = None,
    source_user: str | None = None,
    source_org: str | None = None,
    config: str = "turns",
    split: str = "test",
    framework: str | None = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write runs' numbers as the Hub's evaluation results, and the file that registers the benchmark there.

    Example: `reeltalk export-results runs/qwen --dataset me/kitchen --task agree --task words=rouge_l --out results`.
    Each model gets `MODEL/.eval_results/NAME.yaml`, for its repository; `eval.yaml` is for the data set's. Interval, n,
    unscored and signature stand in the notes. Withheld numbers are not exported.

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote.
    dataset
        The benchmark's data set on the Hub, OWNER/NAME.
    task
        A task of the benchmark and the metric that is its value, TASK=METRIC, or METRIC where both have one name.
    out
        Folder that appears.
    model
        Models that are exported; by default all but people, reference answers and players that know nothing.
    revision
        Commit of the data set, 40 hexadecimal digits.
    date
        When the evaluation ran, as 2026-11-22; the Hub takes the time of the commit where it is not given.
    source_url
        Where the run can be looked up, as a report's address.
    source_name
        How that is called.
    source_user
        User of the Hub to whom the result is attributed.
    source_org
        Organisation of the Hub to whom the result is attributed.
    config
        Part of the data set, for eval.yaml; `turns` is what `reeltalk export hub` writes.
    split
        Its split, for eval.yaml.
    framework
        The Hub's identifier of the evaluation framework, for eval.yaml; it refuses those that are not on its list.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.analysis.columns import competes
    from reeltalk.analysis.leaderboard import build
    from reeltalk.formats.hub_results import TASK_FILE, BenchmarkOnHub, Source, check, write_benchmark
    from reeltalk.store.atomic import writing_directory
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("export-results needs at least one run; 'reeltalk evaluate' writes them")
    if source_url is None and (source_name or source_user or source_org):
        raise SettingError("--source-name, --source-user and --source-org say whose --source-url is; give that too")
    source = Source(source_url, source_name, source_user, source_org) if source_url is not None else None
    benchmark = BenchmarkOnHub(dataset, revision, date, source)
    check(benchmark)
    board = build([read_run(path) for path in runs])
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
        subject = board.models[0].run.info.subject
        write_benchmark(
            folder / TASK_FILE,
            list(tasks),
            name=dataset.split("/")[1],
            description=f"{subject}: multi-turn dialogue about video. Scored by reeltalk: {', '.join(tasks.values())}.",
            config=config,
            split=split,
            framework=framework,
        )
    for mixed in sorted(set(tasks.values()) & set(board.mixed)):
        parts = ", ".join(board.mixed[mixed])
        say(f"{mixed}: the models' signatures differ in {parts}, so that their values do not compare")
    print(f"results of {files:,} {'model' if files == 1 else 'models'} and {TASK_FILE}: {out}")
    return 0


def _some(names: list[str], most: int = 8) -> str:
    """Names with commas between them, not more than a line can hold."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _tasks(given: tuple[str, ...], metrics: list[str]) -> dict[str, str]:
    """Metrics by task."""
    tasks: dict[str, str] = {}
    for text in given:
        name, _, metric = text.partition("=")
        name, metric = name.strip(), metric.strip() or name.strip()
        if not name or name in tasks:
            raise SettingError(f"--task {text!r}: {'this task stands twice' if name else 'a task needs a name'}")
        if metric not in metrics:
            raise SettingError(f"--task {text!r}: the runs have no metric '{metric}'; they have {_some(metrics)}")
        tasks[name] = metric
    return tasks


def _write_model(model: "ModelRow", tasks: dict[str, str], benchmark: "BenchmarkOnHub", folder: Path) -> bool:
    """Write one model's results; True where there are some."""
    from reeltalk.formats.hub_results import HubResult, write_results
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
        write_results(results, benchmark, repository)
    return bool(results)


def _notes(row: "SummaryRow", videos: int) -> str:
    from reeltalk.metrics.uncertainty import FEW_VIDEOS

    interval = (
        "no interval, as there are fewer than two videos"
        if row.low is None or row.high is None
        else f"95 % interval [{row.low:.4g}, {row.high:.4g}] clustered by source video"
        f"{f', rough as there are only {videos}' if videos < FEW_VIDEOS else ''}"
    )
    counted = f"n = {row.n}, unscored = {row.unscored}, not applicable = {row.not_applicable}"
    return f"{interval}; {counted}; {row.metric} by reeltalk: {row.signature}"
