"""Commands for proactive evaluation: run a model, tune its threshold, score logs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Group, Parameter

from reeltalk.cli.evaluation_options import ANSWERING, JUDGE_MODEL, LIMITS, Answering, JudgeModel, Limits
from reeltalk.cli.options import FRAMES, IN_OUTPUT, IN_SELECTION, OVERWRITE
from reeltalk.cli.terminal import ProgressBar, refuse_existing, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.settings import ProactiveSettings
from reeltalk.schema.settings import check_counts, settings_of

if TYPE_CHECKING:
    from reeltalk.evaluation.playing.frames import FrameServer
    from reeltalk.evaluation.run_folder import RunFolder
    from reeltalk.schema.stream import ProactiveTask
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.event_log import SessionLog
    from reeltalk_streaming.proactive.scores import ProactiveScores
    from reeltalk_streaming.proactive.stream_replies import JudgedReplies

proactive = App(
    name="proactive",
    group_commands=Group("Commands", sort_key=0),
    group_parameters=Group("Proactive evaluation", sort_key=1),
)

WORKERS = 2


TUNING = Group("Tuning", sort_key=2)
IN_TUNING = Parameter(group=TUNING)
IN_FRAMES = Parameter(group=FRAMES)
THRESHOLDS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"


@proactive.command(sort_key=1)
def run(
    benchmark: Path,
    /,
    *,
    model: str,
    out: Annotated[Path, IN_OUTPUT],
    fps: Annotated[float, IN_FRAMES] = 1.0,
    longest_side: Annotated[int, IN_FRAMES] = 448,
    threshold: float | None = None,
    refractory: float | None = None,
    tuned: Path | None = None,
    tune: Annotated[bool, Parameter(negative="", group=TUNING)] = False,
    thresholds: Annotated[str, IN_TUNING] = THRESHOLDS,
    split: Annotated[str | None, IN_SELECTION] = None,
    kinds: Annotated[str, IN_SELECTION] = "",
    limit: Annotated[int | None, IN_SELECTION] = None,
    answering: Answering = ANSWERING,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Run a model on proactive tasks, frame by frame as the video plays, and log each reply with its time.

    Run it again to continue after an interruption. The log is OUT/events.jsonl. Exit code 1 if a play failed.

    With --tune, choose the readiness at which a model speaks: play the dev split at each threshold, and write the one
    with the best F1 of what is right in time to OUT/tuned.json.

    Example: `reeltalk proactive run benchmarks/household --model mini --tune --out runs/mini-tuned`, then `reeltalk
    proactive run benchmarks/household --model mini --tuned runs/mini-tuned --out runs/mini-unasked`.

    Parameters
    ----------
    benchmark
        A benchmark with proactive.jsonl and its videos.
    model
        Model: mini, mini:FOLDER, python:MODULE:CLASS, poll:MODEL for any chat model; a baseline, always:SECONDS or
        never; or oracle, which knows the tasks.
    out
        Folder of the run.
    fps
        Frames per second of the video's clock.
    longest_side
        Pixels of a frame's longer side at most.
    threshold
        Lowest readiness, 0 to 1, at which a model speaks; by default that of the model (mini: 0.3), or 0.5. The
        readiness of a polled model is the probability of yes, where its server gives probabilities of tokens;
        otherwise its words decide.
    refractory
        Seconds of silence of a streaming model after each reply; 2 by default.
    tuned
        tuned.json from --tune, or its folder, in place of --threshold and --refractory.
    tune
        Choose a threshold instead of making a run. The model must report its readiness: mini, mini:FOLDER,
        python:MODULE:CLASS, or poll:MODEL if its server gives probabilities of tokens.
    thresholds
        Comma-separated thresholds to try, 0 to 1.
    split
        Split of the videos; with --tune dev, else test if there is one, else all; `all` for all.
    kinds
        Comma-separated kinds of tasks; all by default.
    limit
        Only the tasks of the first videos, up to this number.
    overwrite
        Replace a run that was begun with other settings. Stored replies are kept and used again.
    """
    if tune and (threshold is not None or tuned is not None):
        raise SettingError("--tune picks the threshold; leave out --threshold and --tuned")
    if not tune and thresholds != THRESHOLDS:
        raise SettingError("--thresholds are for --tune")
    from reeltalk.evaluation.models import ModelConfig
    from reeltalk.evaluation.run_folder import RunFolder
    from reeltalk.evaluation.signing import asking_request
    from reeltalk.stages.run import open_replies
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.event_log import EVENT_LOG, EventLog
    from reeltalk_streaming.proactive.stage import play_tasks
    from reeltalk_streaming.proactive.tuning import MEASURE, TUNED, Tuning, read_tuned
    from reeltalk_streaming.proactive.tuning import tune as pick
    from reeltalk_streaming.proactive.watchers import Watcher, check_rule, create_watcher

    _check_model(model, answering)
    opened = Benchmark.open(benchmark)
    tried = [
        _settings(fps, longest_side, _number(text), refractory, None).threshold or 0.0 for text in _names(thresholds)
    ]
    if not tried:
        raise SettingError("--thresholds names none; give some, such as 0.3,0.5,0.7")
    settings = _settings(fps, longest_side, threshold, refractory, tuned)
    if tune:
        split = split or "dev"
    tasks = _tasks(opened, split, kinds, limit)
    if tune and split in ("test", "all"):
        say("the threshold is also picked on the split 'test': do not report a run with it on that split as a result")
    request = {
        "benchmark": opened.manifest.content_hash,
        "model": model,
        "settings": settings.model_dump(mode="json"),
        "split": split,
        "kinds": _names(kinds),
        "limit": limit,
        "answering": asking_request(answering),
    }
    signed = _signature_parts(settings)
    with (
        RunFolder(out, request, overwrite=overwrite) as folder,
        ProgressBar() as bar,
        open_replies(folder, limits) as (store, budget),
    ):

        def watching(at: float | None, frames: "FrameServer") -> Watcher:
            watcher = create_watcher(
                model,
                settings if at is None else settings.model_copy(update={"threshold": at}),
                asking=ModelConfig.for_answers(answering, limits),
                store=store,
                budget=budget,
                picture=frames.jpeg,
                tasks=tasks,
                needs_probability=tune or threshold is not None or tuned is not None,
            )
            check_rule(
                watcher,
                threshold=tune or threshold is not None,
                refractory=refractory is not None,
                tuned_for=read_tuned(tuned).model if tuned is not None else None,
            )
            return watcher

        def show(done: int, total: int) -> None:
            bar.show("playing", done, total, done / total)

        if tune:
            picked = pick(
                Tuning(opened.manifest.content_hash, split or "", tasks),
                watching,
                lambda: _server(opened, tasks, settings, folder),
                settings,
                out,
                thresholds=sorted(set(tried)),
                signed=signed,
                progress=show,
            )
        else:
            server = _server(opened, tasks, settings, folder)
            watcher = watching(None, server)
            with EventLog(out / EVENT_LOG) as log:
                done = play_tasks(tasks, watcher, server, log, signed=signed, progress=show)
    if tune:
        for tried_one, value in picked.values.items():
            print(f"threshold {tried_one:<6} {MEASURE} {'—' if value is None else f'{value:.3f}'}")
        print(f"picked {picked.settings.threshold:g} on {len(tasks):,} tasks of split {split}; in {out / TUNED}")
        return 0
    before = f", {done.before:,} before" if done.before else ""
    print(f"{done.played:,} tasks played{before}, {done.replies:,} replies in {out / EVENT_LOG}")
    if done.failed:
        say(f"{done.failed:,} plays failed, the first as {done.why}; the same command goes on with them")
    return 1 if done.failed else 0


def _check_model(model: str, answering: Answering) -> None:
    from reeltalk.evaluation.model_options import check_options
    from reeltalk.evaluation.models import check_player

    if model.startswith("poll:"):
        check_player(model.removeprefix("poll:"), answering, command="proactive")
    else:
        check_options(model, answering, command="proactive")


@proactive.command(sort_key=2)
def score(
    benchmark: Path,
    /,
    *logs: Path,
    out: Annotated[Path | None, IN_OUTPUT] = None,
    split: Annotated[str | None, IN_SELECTION] = None,
    kinds: Annotated[str, IN_SELECTION] = "",
    limit: Annotated[int | None, IN_SELECTION] = None,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Score logs of events: timely and right replies, superfluous replies, missed moments, requests and answers.

    Only the logs are read, so any program may have written them. A reply to a moment with a key is judged by the type
    of the key. Other replies are compared with the references by their words, or, with --judge, by a language model.
    Run it again to continue after an interruption: kept replies of the judge are not asked for again. Exit code 1 if a
    task was not played to its end, or if replies in it could not be judged.

    Example: `reeltalk proactive score benchmarks/household runs/mini-unasked --out scores.json`, or `reeltalk proactive
    score benchmarks/streamingbench runs/qwen --judge gpt-4o-mini --out scores.json`.

    Parameters
    ----------
    benchmark
        A benchmark with proactive.jsonl.
    logs
        Logs of events, or folders of `reeltalk proactive run`.
    out
        JSON file for all values with their intervals, in total and by kind of task. With --judge it also holds what
        the judge said, for `reeltalk report --judged`; the judge's replies are kept beside it.
    split
        Split of the videos; test if there is one, else all; `all` for all.
    kinds
        Comma-separated kinds of tasks; all by default.
    limit
        Only the tasks of the first videos, up to this number.
    overwrite
        Replace an existing file.
    """
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.event_log import EVENT_LOG, read_event_log
    from reeltalk.store.tables import PROACTIVE
    from reeltalk_streaming.proactive.floors import FLOORS, floor_sessions
    from reeltalk_streaming.proactive.scores import score_sessions, scores_json, scores_table
    from reeltalk_streaming.proactive.stream_replies import correctness_of

    if not logs:
        raise SettingError("score needs at least one log; 'reeltalk proactive run' writes OUT/events.jsonl")
    refuse_existing(out, overwrite=overwrite)
    opened = Benchmark.open(benchmark)
    tasks = _tasks(opened, split, kinds, limit)
    known = {task.id: task for task in opened.read(PROACTIVE)}
    files = [path / EVENT_LOG if path.is_dir() else path for path in logs]
    sessions = [session for path in files for session in read_event_log(path, known)]
    played = {session.model for session in sessions}
    floors = [session for session in floor_sessions(tasks) if session.model not in played]
    judged = _judge([*sessions, *floors], tasks, judge_model, limits, out)
    scores = score_sessions([*sessions, *floors], tasks, correctness_of(tasks, judged))
    print(scores_table(scores, FLOORS))
    if out is not None:
        write_bytes(out, scores_json(scores, FLOORS, judged.model_dump(mode="json") if judged else None))
    return _report_unscored(scores, len(tasks))


def _judge(
    sessions: "Sequence[SessionLog]",
    tasks: "Sequence[ProactiveTask]",
    judge_model: JudgeModel,
    limits: Limits,
    out: Path | None,
) -> "JudgedReplies | None":
    """What a language model says about the replies; None if no judge is named."""
    if judge_model.judge is None:
        for given, default in ((judge_model, JUDGE_MODEL), (limits, LIMITS)):
            usual = default.model_dump()
            for name, value in given.model_dump().items():
                if value != usual[name]:
                    raise SettingError(f"--{name.replace('_', '-')} is for --judge NAME, a language model that judges")
        return None
    if out is None and limits.replies is None:
        raise SettingError("--judge needs --out FILE.json, beside which its replies are kept, or --replies FILE")
    from reeltalk_streaming.proactive.judging import judge_streams

    kept = limits.replies if out is None or limits.replies is not None else out.with_suffix(".replies.sqlite")
    assert kept is not None
    with ProgressBar() as bar:
        return judge_streams(
            sessions,
            tasks,
            judge_model,
            replies=kept,
            limits=limits,
            progress=lambda n, total: bar.show("judging", n, total, n / total),
            tell=say,
        )


def _report_unscored(scores: "ProactiveScores", tasks: int) -> int:
    for model, reasons in scores.unscored.items():
        if reasons:
            task, why = next(iter(reasons.items()))
            say(
                f"{model}: {len(reasons):,} of {tasks:,} tasks are not scored, for example {task}: {why}; the same "
                "command goes on where a play or a judge failed"
            )
    return 1 if any(scores.unscored.values()) else 0


def _settings(
    fps: float, longest_side: int, threshold: float | None, refractory: float | None, tuned: Path | None
) -> ProactiveSettings:
    from reeltalk_streaming.proactive.tuning import read_tuned

    given = {"threshold": threshold, "refractory_s": refractory}
    chosen: dict[str, float | None] = {name: value for name, value in given.items() if value is not None}
    if tuned is not None:
        if chosen:
            raise SettingError("--tuned sets threshold and refractory time; leave --threshold and --refractory out")
        found = read_tuned(tuned).settings
        if found.fps != fps:
            raise SettingError(f"{tuned} was picked at {found.fps:g} frames a second; give --fps {found.fps:g}")
        if found.longest_side_px != longest_side:
            raise SettingError(
                f"{tuned} was picked on frames of {found.longest_side_px} px; "
                f"give --longest-side {found.longest_side_px}"
            )
        chosen = {"threshold": found.threshold, "refractory_s": found.refractory_s}
    made: ProactiveSettings = settings_of(ProactiveSettings, fps=fps, longest_side_px=longest_side, **chosen)
    return made


def _signature_parts(settings: ProactiveSettings) -> tuple[tuple[str, str], ...]:
    return (("fps", f"{settings.fps:g}"), ("size", str(settings.longest_side_px)))


def _tasks(benchmark: "Benchmark", split: str | None, kinds: str, limit: int | None) -> "list[ProactiveTask]":
    from reeltalk_streaming.proactive.stage import choose_tasks

    check_counts(limit=limit)
    return choose_tasks(benchmark, split=split, kinds=_names(kinds), limit=limit)


def _server(
    benchmark: "Benchmark", tasks: "Sequence[ProactiveTask]", settings: ProactiveSettings, folder: "RunFolder"
) -> "FrameServer":
    from reeltalk.evaluation.playing.frames import FrameServer
    from reeltalk.evaluation.playing.script import media_of

    media = media_of(benchmark, benchmark.content(boxes=False))
    missing = sorted({str(task.video_id) for task in tasks if media(task.video_id) is None})
    if missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not available, such as '{missing[0]}'; put them into the benchmark with "
            "'reeltalk attach' or 'reeltalk media pull'"
        )
    return FrameServer(media, settings.frames, folder.frames, WORKERS)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"--thresholds {text!r}: not a number") from None
