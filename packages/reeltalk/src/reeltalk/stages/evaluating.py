"""Evaluate: play a benchmark to a model or baseline, judge the answers and write a run, in one or several processes.

`evaluate` makes the run and the runs of its controls. With several processes, each one calls `play_shard`: it plays and
judges its share of the scripts and writes the results to its own file.
"""

import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import BenchmarkError, BudgetError, ProcessError, SettingError
from reeltalk.evaluate.checks import check_run
from reeltalk.evaluate.models import CreatedPlayer, create_player, find_added
from reeltalk.evaluate.playing.chat import form_notice
from reeltalk.evaluate.playing.frames import FrameServer, pair_videos
from reeltalk.evaluate.playing.play import WrongAnswers
from reeltalk.evaluate.playing.script import Script, Scripts, available_scripts, draw_new_paths, make_scripts, media_of
from reeltalk.evaluate.playing.subtitles import speech_notice, spoken_lines
from reeltalk.evaluate.run_folder import RunFolder, is_whole
from reeltalk.evaluate.settings import PlaySettings, RunConfig, config_of
from reeltalk.evaluate.signing import run_request, run_signature
from reeltalk.evaluate.stage import Collected, EvaluationRunner, JudgingSetup, sample_null_units
from reeltalk.formats import load_format
from reeltalk.formats.answer_table import read_answer_table
from reeltalk.formats.table_rows import TABLE_SUFFIXES
from reeltalk.judge.judge import UnitKey
from reeltalk.llm import Budget, ReplyStore, Spent
from reeltalk.llm.model import ReplyOrigin
from reeltalk.metrics.uncertainty import wilson
from reeltalk.parallel.side_by_side import side_by_side
from reeltalk.progress import Progress, Tell, silent, unseen
from reeltalk.schema.answers import UnitKind
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.paths import WALK, PathStatistics
from reeltalk.schema.record import Json
from reeltalk.schema.runs import CONTROLS, JUMPS, Control
from reeltalk.stages.run import (
    EvaluationCommand,
    RunReport,
    Usage,
    add_controls,
    announce_retry,
    background_of,
    check_deletion,
    check_judging,
    command_json,
    describe_whole_run,
    finish,
    is_run_needed,
    open_judging,
    origins_of,
    prefix_progress,
    report_of,
    resolve_judging,
    write_command,
)
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_source
from reeltalk.store.runs import CONTROLS_FOLDER, FRAMES, REPLIES, read_run


def evaluate(
    benchmark: Benchmark,
    config: RunConfig | None = None,
    *,
    out: Path | str,
    train: Benchmark | None = None,
    overwrite: bool = False,
    delete_replies: bool = False,
    progress: Progress = unseen,
    tell: Tell = silent,
    **settings: Any,
) -> RunReport:
    """Play a benchmark's dialogues to a model, judge the answers, and write a run.

    Call it again with the same settings to continue after an interruption or a spent budget. Replies are kept. On a
    complete run it repeats only the requests that failed, if there are any. The old run stays until the new one is
    complete.

    Args:
        benchmark: One with dialogues, chains or paths.
        config: The model that answers, the judge, and their settings.
        out: Folder of the run.
        train: A benchmark that baselines learn from. The default is the train split of `benchmark`.
        overwrite: Replace an existing run and the runs of its controls. Their kept replies are used again.
        delete_replies: With `overwrite`, delete the kept replies, so that all requests are sent again.
        progress: Called after each turn.
        tell: Receives a sentence about anything that is not available here.
        **settings: Fields of `RunConfig` by name, in place of `config`; `model` is needed.

    Raises:
        SettingError: A setting, model, protocol or metric cannot be used.
        BenchmarkError: There is nothing to play, videos are missing, `out` holds something else, or the control
            `other-video` has no other video to show.
        BudgetError: A limit would be exceeded. The same call with a higher limit continues.
        ModelError: A model cannot be opened, or no turn was answered. Then no run is written.
        InputError: Files of the model, of its answers or of its prompt are missing or damaged.
        MissingExtraError: A package that the model needs is not installed.
        ProcessError: One of several processes died. The same call continues.
    """
    config, out = config_of(config, settings), Path(out)
    check_deletion(delete_replies, overwrite, config.limits)
    replies = config.limits.replies or out / REPLIES
    check_run(config, kept=replies.is_file())
    # Hints come last, because users read the end of a long output. An error is shown alone.
    hints: list[str] = []
    if config.play.epochs > 1 and config.asking.temperature == 0 and not config.model.startswith("python:"):
        hints.append(
            f"temperature 0 gives nearly the same answers in all {config.play.epochs} epochs; sample them with "
            "--temperature 0.7, or play once"
        )
    chosen = make_scripts(benchmark.stored_content(), config.play, limit=config.limit)
    turns = (step.turn for script in chosen for step in script.steps)
    evaluation = _Evaluation(
        benchmark=benchmark,
        scripts=chosen,
        config=config.model_copy(update={"judging": resolve_judging(config.judging, turns, tell=hints.append)}),
        train=train,
        delete_replies=delete_replies,
        replies=replies,
        frames=out / CONTROLS_FOLDER / FRAMES if config.controls else None,
        budget=Budget(config.limits.max_calls, config.limits.max_tokens, config.limits.max_cost),
        tell=tell,
    )
    places = {control: out / CONTROLS_FOLDER / control for control in config.controls}
    done = None if overwrite else evaluation.existing(None, out)
    if done is None or done.can_retry:
        done = evaluation.run(None, out, overwrite=overwrite, before=done, progress=progress)
    else:
        write_command(out, evaluation.command(out))
        to_do = any(is_run_needed(evaluation.existing(control, place)) for control, place in places.items())
        tell(f"{out} is whole and stays; its controls go on" if to_do else describe_whole_run(done))
    for control, place in places.items():
        before = evaluation.existing(control, place)
        if is_run_needed(before):
            tell(f"control {control}: the same again with {CONTROLS[control]}")
            told = prefix_progress(progress, f"control {control}")
            evaluation.run(control, place, overwrite=False, before=before, progress=told)
    for hint in hints:
        tell(hint)
    if not places:
        return done
    shutil.rmtree(out / CONTROLS_FOLDER / FRAMES, ignore_errors=True)
    return add_controls(done)


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """One model on one benchmark: the main run with the videos' own pictures, and the runs of the controls."""

    benchmark: Benchmark
    scripts: Scripts
    """The scripts that are played. Those without an available video may be left out."""
    config: RunConfig
    train: Benchmark | None
    delete_replies: bool
    replies: Path
    """File of kept replies, for the run and its controls together."""
    frames: Path | None
    """Folder of the pictures that the run and its controls share. None if there are no controls."""
    budget: Budget
    """For the run and its controls together."""
    tell: Tell

    def request(self, config: RunConfig) -> dict[str, Any]:
        """All settings that decide what a run asks."""
        train = self.train.manifest.content_hash if self.train else None
        return run_request(config, self.benchmark.manifest.content_hash, train)

    def existing(self, control: Control | None, place: Path) -> RunReport | None:
        """The existing complete run with the same settings. None if there is none."""
        return report_of(read_run(place)) if is_whole(place, self.request(self.config.under(control))) else None

    def command(self, out: Path) -> dict[str, Any]:
        """The command, so that `reeltalk retry` can run it again."""
        return command_json(EvaluationCommand.of(self.config, self.benchmark, self.train, out))

    def run(
        self, control: Control | None, place: Path, *, overwrite: bool, before: RunReport | None, progress: Progress
    ) -> RunReport:
        """Play, judge and write one run. An existing run with the same settings is made again."""
        config, benchmark = self.config.under(control), self.benchmark
        content, play, judging = benchmark.stored_content(), config.play, config.judging
        request = self.request(config)
        chosen = self.scripts
        if play.rejump is not None:
            self.tell(_told_of(draw_new_paths(content, play)[1]))
        asked = ((script.video_id, step.turn) for script in chosen for step in script.steps if step.answered)
        check_judging(judging, asked, content, tell=self.tell)
        if before is not None:
            announce_retry(before, self.replies, tell=self.tell)
        answers = read_answers(config, benchmark)
        for line in answers[0].warnings if answers is not None else ():
            self.tell(line)
        with (
            RunFolder(
                place,
                request,
                command=self.command(place) if control is None else None,
                overwrite=overwrite,
                delete_replies=self.delete_replies and control is None,
                again=before is not None,
                frames=self.frames,
            ) as folder,
            ReplyStore(self.replies) as store,
        ):
            frames = frame_server(config, benchmark, content, chosen, folder.frames)
            # The server is tested here if no reply is kept, and not again in each of several processes.
            is_tried = config.limits.preflight and not len(store)
            player = create_player(
                config,
                benchmark,
                content,
                store=store,
                budget=self.budget,
                picture=frames.jpeg,
                answers=answers,
                train=self.train,
                tell=self.tell,
            )
            asked_turns = (step.turn for script in chosen for step in script.steps if step.answered)
            for told in (
                speech_notice(content, chosen, shown=play.subtitles),
                form_notice(play.prompt, play.answer_style, asked_turns) if player.model is not None else None,
            ):
                if told:
                    self.tell(told)
            chosen = self._check_videos(config, content, chosen, player)
            with open_judging(
                judging,
                config.judge_model,
                config.limits,
                store,
                self.budget,
                later=config.processes > 1,
                tell=self.tell,
            ) as judging_setup:
                null_sample = sample_null_units(chosen, judging_setup)
                folder.clear_logs()
                if config.processes > 1:
                    collected, usage = play_in_processes(
                        chosen,
                        config.without_preflight() if is_tried else config,
                        benchmark,
                        folder=folder,
                        replies=self.replies,
                        budget=self.budget,
                        null_sample=null_sample,
                        stops_unread=config.limits.preflight,
                        train=self.train,
                        progress=progress,
                        tell=self.tell,
                    )
                    if judging_setup.logged is not None:
                        judging_setup.logged.origins.update(usage.judged_by)
                else:
                    collected = play_scripts(
                        chosen,
                        config,
                        benchmark,
                        content,
                        player,
                        judging_setup,
                        frames=frames,
                        logs=folder.logs,
                        null_sample=null_sample,
                        stops_unread=config.limits.preflight,
                        progress=progress,
                    )
                    usage = Usage.of(self.budget, player.model, judging_setup.model)
                evaluation = collected.evaluation(
                    [script.name for script in chosen],
                    [judge.name for judge in judging_setup.judges],
                    background_of(content, judging),
                )
                name = player.player.name
                signed = run_signature(
                    config,
                    chosen,
                    evaluation.turns,
                    player,
                    wrong=wrong_answers(content, play),
                    subtitles=spoken_lines(content) if play.subtitles else None,
                    origins=origins_of(evaluation.turns.raw()),
                )
                return finish(
                    folder,
                    evaluation,
                    judging_setup,
                    subject=f"{benchmark.manifest.name}.{play.mode}",
                    signed={name: signed},
                    sources={name: player.source},
                    content=content,
                    settings=request | {"benchmark_path": str(benchmark.path)} | _jumps(content, play, chosen),
                    kind="evaluate",
                    usage=usage,
                    tell=self.tell,
                )

    def _check_videos(self, config: RunConfig, content: Content, chosen: Scripts, player: CreatedPlayer) -> Scripts:
        """The scripts whose videos are available. All scripts if no pictures are shown."""
        play, media = config.play, media_of(self.benchmark, content)
        if not player.player.sees_frames or play.frames.policy == "none":
            if config.controls or play.control:
                raise SettingError(
                    f"{config.model} is shown no pictures here, so there is nothing that a control could take away; "
                    "leave --controls out"
                )
            return chosen
        chosen, missing = available_scripts(chosen, media, skip_missing=config.skip_missing)
        if missing and not config.skip_missing:
            raise BenchmarkError(
                f"{len(missing):,} videos are not available, as '{min(missing)}'; put them into the benchmark "
                "with 'reeltalk attach' or 'reeltalk media pull', pass --skip-missing to leave their dialogues "
                "out, or --policy none to show no frames"
            )
        if "other-video" in config.controls:
            # A missing other video is reported before the first request.
            draw_other_videos(play, content, chosen, media)
        return chosen


def _jumps(content: Content, play: PlaySettings, chosen: Scripts) -> dict[str, Any]:
    """How often the paths that are played jump, for `run.json`; empty if it is unknown."""
    if play.mode != "streaming":
        return {}
    paths = content.paths if play.rejump is None else draw_new_paths(content, play)[0]
    played = {script.id for script in chosen}
    walks = [path.extra[WALK] for path in paths if WALK in path.extra and path.id in played]
    return {JUMPS: {name: sum(walk[name] for walk in walks) for name in ("jumps", "chances")}} if walks else {}


def _told_of(walks: PathStatistics) -> str:
    jumped = wilson(walks.jumps, walks.chances)
    rate = "no turn from which a walk can jump"
    if jumped.share is not None:
        rate = f"jumps at {jumped.share:.2f} [{jumped.low:.2f}, {jumped.high:.2f}] of {walks.chances:,} chances"
    return (
        f"new paths: {walks.paths:,}, {walks.different:,} of them different, {rate}, stated as 0.8; "
        f"{walks.links - walks.refused.total():,} of {walks.links:,} links can be landed on"
    )


def frame_server(
    config: RunConfig, benchmark: Benchmark, content: Content, scripts: Sequence[Script], folder: Path
) -> FrameServer:
    """Create the source of frames, or of the pictures that a control shows in their place.

    Args:
        config: Settings of the run.
        benchmark: The benchmark that is played.
        content: Its rows.
        scripts: The scripts that are played.
        folder: Stores pictures.

    Raises:
        BenchmarkError: The control `other-video` has no other video to show.
    """
    play, media = config.play, media_of(benchmark, content)
    return FrameServer(
        media,
        play.frames,
        folder,
        config.workers,
        control=play.control,
        seed=play.seed,
        others=draw_other_videos(play, content, scripts, media) if play.control == "other-video" else None,
    )


def draw_other_videos(
    play: PlaySettings, content: Content, scripts: Sequence[Script], media: Callable[[str], Path | None]
) -> dict[str, str]:
    """For each played video, the video whose pictures the control `other-video` shows.

    Raises:
        BenchmarkError: A split has no second video.
    """
    return pair_videos(content.videos, media, seed=play.seed, wanted=(script.video_id for script in scripts))


def play_scripts(
    scripts: Sequence[Script],
    config: RunConfig,
    benchmark: Benchmark,
    content: Content,
    player: CreatedPlayer,
    judging_setup: JudgingSetup,
    *,
    frames: FrameServer,
    logs: Path,
    null_sample: frozenset[UnitKey],
    stops_unread: bool,
    progress: Progress,
) -> Collected:
    """Play scripts and judge their answers, in this process.

    Args:
        scripts: The scripts that are played.
        config: Settings of the run.
        benchmark: The benchmark that is played.
        content: Its rows.
        player: The player.
        judging_setup: Judges and text metrics.
        frames: Gives frames.
        logs: Folder in which the log appears.
        null_sample: Units whose empty answers a model judges.
        stops_unread: Stop if most of the first answers of a language model cannot be read.
        progress: Called after each turn.

    Raises:
        UnusableError: Most of the first answers cannot be read.
        BudgetError: A limit would be exceeded; replies are kept.
        BenchmarkError: A history cannot be built as requested, or the folder cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    play, preset = config.play, config.preset.name if config.preset else ""
    runner = EvaluationRunner(
        logs,
        judging_setup,
        background_of(content, config.judging),
        at_a_time=config.limits.connections,
        progress=progress,
        null_sample=null_sample,
        stops_unread=stops_unread and player.model is not None,
    )
    runner.run(
        scripts,
        player.player,
        play,
        frames,
        logged=player.model,
        wrong=wrong_answers(content, play),
        subtitles=spoken_lines(content) if play.subtitles else None,
        metadata={"benchmark": benchmark.manifest.name, "preset": preset, "model": config.model},
    )
    return runner.collected


def wrong_answers(content: Content, play: PlaySettings) -> WrongAnswers | None:
    """Answers that a corrupted history may hold. None if histories are not corrupted."""
    if play.shown_history != "corrupted":
        return None
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    return WrongAnswers([(unit.video_id, turn) for unit in units for turn in unit.turns], seed=play.seed)


def read_answers(config: RunConfig, benchmark: Benchmark) -> tuple[Content, str] | None:
    """Read the answers of `answers:PATH` or `human:PATH`, with their hash. None for all other models.

    Args:
        config: Names the model, and the layout of its answers.
        benchmark: The benchmark that is played.

    Raises:
        SettingError: The path is neither a benchmark nor a table, and no layout is given.
        InputError: It is missing or damaged.
    """
    if not config.model.startswith(("answers:", "human:")):
        return None
    path = Path(config.model.partition(":")[2])
    if (path / "manifest.json").is_file():
        found = Benchmark.open(path)
        return found.content(boxes=False), found.manifest.content_hash
    about = benchmark.content(boxes=False)
    if config.answers_format is None and path.suffix.lower() in TABLE_SUFFIXES:
        return read_answer_table(path, about), hash_source(path)
    if config.answers_format is None:
        raise SettingError(
            f"{path} is neither a benchmark nor a table ({', '.join(TABLE_SUFFIXES)}), so --answers-format must name "
            "its layout, as 'vdact'"
        )
    return load_format(config.answers_format).read_answers(path, about), hash_source(path)


def shards_of(scripts: Iterable[Script], count: int) -> list[list[int]]:
    """Divide scripts by video, the same way each time.

    The scripts of a video stay together. So the video is decoded once, a question that several scripts share is asked
    once, and a server with a prefix cache can use it.

    Args:
        scripts: The scripts that are played.
        count: Maximum number of shards. There are never more shards than videos.

    Returns:
        Non-empty shards, each with the indices of its scripts in order.
    """
    turns: dict[str, int] = defaultdict(int)
    videos: list[str] = []
    names: dict[str, str] = {}
    for script in scripts:
        videos.append(names.setdefault(script.video_id, script.video_id))
        turns[script.video_id] += len(script.steps)
    filled = [0] * min(count, len(turns))
    home: dict[str, int] = {}
    # Longest first, each to the shard with the fewest turns. So no shard is much larger than the others.
    for video_id in sorted(turns, key=lambda video_id: -turns[video_id]):
        emptiest = filled.index(min(filled))
        home[video_id] = emptiest
        # A script without turns counts, too.
        filled[emptiest] += max(1, turns[video_id])
    shards: list[list[int]] = [[] for _ in filled]
    for place, video_id in enumerate(videos):
        shards[home[video_id]].append(place)
    return shards


def turns_of(scripts: Iterable[Script]) -> int:
    """The number of turns of some scripts."""
    return sum(len(script.steps) for script in scripts)


class ShardTask(BaseModel):
    """The task of one of several processes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    benchmark: Path
    content_hash: str
    """Hash of the benchmark that the dividing process read."""
    train: Path | None
    config: RunConfig
    scripts: tuple[str, ...]
    """Names of the scripts that are played."""
    stops_unread: bool
    """Stop if most of the first answers cannot be read."""
    null_sample: tuple[tuple[UnitKind, str], ...]
    """Units of the whole run whose empty answers a model judges."""
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    replies: Path
    """File of kept replies, shared by all processes of a run."""
    frames: Path
    logs: Path
    result: Path
    """File that appears. The rows of the results are in a folder of its name without the ending."""


class ShardResult(BaseModel):
    """The result of one of several processes."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", use_attribute_docstrings=True)

    collected: dict[str, Any] | None
    """What `Collected.read` needs. None if the process spent its share of the budget before the end."""
    spent: Spent
    asked: int
    """Questions, those answered from kept replies too."""
    kept: int
    """Questions answered from kept replies."""
    peak_memory: dict[str, int] = {}
    """Peak memory in bytes, if the model that answers runs in the process."""
    judged_by: list[tuple[ReplyOrigin, int]] = []
    """Number of replies of the judge by who gave them."""


def play_shard(argument: Any, told: Callable[[int], None]) -> None:
    """Play and judge some scripts of a run, and write a `ShardResult`.

    Args:
        argument: A `ShardTask` as JSON.
        told: Receives the number of turns that are done, after each turn.

    Raises:
        ReeltalkError: As `evaluate`, except for a spent share of a budget, which the result reports.
        KeyboardInterrupt: Ctrl-C; replies are kept.
    """
    task = ShardTask.model_validate(argument)
    config, benchmark = task.config, Benchmark.open(task.benchmark)
    if benchmark.manifest.content_hash != task.content_hash:
        raise BenchmarkError(f"{task.benchmark} was changed while it was being played; run the same command again")
    content, own = benchmark.stored_content(), set(task.scripts)
    every = make_scripts(content, config.play)
    chosen = every.at([place for place, script in enumerate(every) if script.id in own])
    budget = Budget(task.max_calls, task.max_tokens, task.max_cost)
    with ReplyStore(task.replies) as store:
        frames = frame_server(config, benchmark, content, chosen, task.frames)
        player = create_player(
            config,
            benchmark,
            content,
            store=store,
            budget=budget,
            picture=frames.jpeg,
            answers=read_answers(config, benchmark),
            train=Benchmark.open(task.train) if task.train else None,
        )
        with open_judging(
            config.judging, config.judge_model, config.limits, store, budget, tell=silent
        ) as judging_setup:
            collected: dict[str, Any] | None = None
            try:
                collected = play_scripts(
                    chosen,
                    config,
                    benchmark,
                    content,
                    player,
                    judging_setup,
                    frames=frames,
                    logs=task.logs,
                    null_sample=frozenset(task.null_sample),
                    stops_unread=task.stops_unread,
                    progress=lambda what, done, due, share: told(done),
                ).write(task.result.with_suffix(""))
            except BudgetError:
                # The unused shares of other processes may be enough.
                pass
            models: list[Any] = [model for model in (player.model, judging_setup.model) if model is not None]
            result = ShardResult(
                collected=collected,
                spent=budget.spent,
                asked=sum(model.asked for model in models),
                kept=sum(model.kept for model in models),
                peak_memory=Usage.of(budget, player.model, None).peak_memory or {},
                judged_by=list(judging_setup.logged.origins.items()) if judging_setup.logged is not None else [],
            )
    write_bytes(task.result, result.model_dump_json().encode())


WORK: Final = "reeltalk.stages.evaluating:play_shard"
VISIBLE_GPUS: Final = "CUDA_VISIBLE_DEVICES"


def gpus_of(config: RunConfig) -> tuple[str, ...]:
    """The GPUs for a run's processes, one for each, by the names that `CUDA_VISIBLE_DEVICES` takes.

    Args:
        config: Names the models.

    Returns:
        Empty if no model is loaded in the processes, or if there is no GPU.
    """
    found = [find_added(spec) for spec in (config.model, config.judge_model.judge) if spec]
    gpus = next((one.gpus for one in found if one is not None and one.gpus is not None), None)
    return () if gpus is None else gpus(os.environ.get(VISIBLE_GPUS, ""))


def play_in_processes(
    scripts: Scripts,
    config: RunConfig,
    benchmark: Benchmark,
    *,
    folder: RunFolder,
    replies: Path,
    budget: Budget,
    null_sample: frozenset[UnitKey],
    stops_unread: bool,
    train: Benchmark | None,
    progress: Progress,
    tell: Tell,
) -> tuple[Collected, Usage]:
    """Play and judge scripts in several processes. The results are the same as in one process.

    Each process gets a share of the concurrent requests and of the budget, in proportion to its turns. When all have
    ended, the unused budget is divided among the processes whose share was too small. Each process loads a model
    `transformers:FOLDER` for itself: onto a GPU of its own where there are any, else into the machine's memory.

    Args:
        scripts: The scripts that are played.
        config: Settings of the run. There are never more processes than videos or concurrent requests, or GPUs if
            there are any and each process loads a model.
        benchmark: The benchmark that is played.
        folder: The run.
        replies: File of kept replies.
        budget: Its remainder is divided, and spending is counted in it.
        null_sample: Units whose empty answers a model judges.
        stops_unread: Stop if most of the first answers of a process cannot be read.
        train: A benchmark that baselines learn from.
        progress: Called after each turn, for all processes together.
        tell: Receives a sentence if there are fewer processes than asked for.

    Returns:
        The results of all processes, and the requests of all of them.

    Raises:
        BudgetError: The remaining budget is not enough for any unfinished process. Replies are kept.
        ProcessError: A process died. Replies are kept.
        ReeltalkError: The error of one process, the same as with a single process.
        KeyboardInterrupt: Ctrl-C. All processes have ended, and replies are kept.
    """
    gpus = gpus_of(config)
    shards = shards_of(scripts, min(config.processes, config.limits.connections, len(gpus) or config.processes))
    count = len(shards)
    if count < config.processes:
        limits = "GPUs, videos" if gpus else "videos"
        tell(f"{count} processes in place of {config.processes}: there are no more {limits}, or requests at a time")
    shutil.rmtree(folder.shards, ignore_errors=True)
    turns, done = [turns_of(scripts.at(shard)) for shard in shards], [0] * count
    due, asked, kept = sum(turns), [0] * count, 0
    collected, peak_memory, judged_by = Collected(folder.work), dict[str, int](), Counter[ReplyOrigin]()

    def task(number: int, share: Budget) -> Json:
        connections = config.limits.connections
        own = config.model_copy(
            update={
                # `scripts` and `play` hold what is played, and with which control.
                "preset": None,
                "controls": (),
                # Text metrics are computed once, over all answers.
                "judging": config.judging.model_copy(update={"metrics": ()}),
                # If it does not divide evenly, the first processes get one more.
                "limits": config.limits.model_copy(update={"connections": (connections + count - 1 - number) // count}),
                "workers": max(1, config.workers // count),
                "processes": 1,
            }
        )
        return ShardTask(
            benchmark=benchmark.path,
            content_hash=benchmark.manifest.content_hash,
            train=train.path if train else None,
            config=own,
            scripts=tuple(script.id for script in scripts.at(shards[number])),
            stops_unread=stops_unread,
            null_sample=tuple(sorted(null_sample)),
            max_calls=share.max_calls,
            max_tokens=share.max_tokens,
            max_cost=share.max_cost,
            replies=replies,
            frames=folder.frames,
            logs=folder.logs,
            result=folder.shards / f"{number}.json",
        ).model_dump(mode="json")

    waiting = list(range(count))
    while waiting:
        before = budget.spent
        shares = budget.shares([max(1, turns[number]) for number in waiting])

        def told(place: int, ended: int, waiting: list[int] = waiting) -> None:
            done[waiting[place]] = ended
            progress("playing", sum(done), due, sum(done) / max(due, 1))

        tasks = [task(number, share) for number, share in zip(waiting, shares, strict=True)]
        try:
            side_by_side(
                WORK, tasks, told, variables=[{VISIBLE_GPUS: gpus[number]} if gpus else {} for number in waiting]
            )
        except ProcessError as error:
            raise ProcessError(f"{error}; every reply is kept; run the same command to continue") from None
        ended: list[int] = []
        for number in waiting:
            result = ShardResult.model_validate_json((folder.shards / f"{number}.json").read_bytes())
            budget.count(result.spent)
            asked_anew = result.asked - result.kept
            for where, most in result.peak_memory.items():
                peak_memory[where] = max(most, peak_memory.get(where, 0))
            # Replies of earlier rounds are kept too, but they are not from before this call.
            kept += max(0, result.kept - asked[number]) if result.collected is not None else 0
            asked[number] += asked_anew
            if result.collected is not None:
                collected.read(folder.shards / str(number), result.collected)
                judged_by.update(dict(result.judged_by))
                ended.append(number)
        waiting = [number for number in waiting if number not in ended]
        if waiting and (budget.is_spent or budget.spent == before):
            raise budget.error()
    shutil.rmtree(folder.shards, ignore_errors=True)
    return collected, Usage(budget.spent, kept, peak_memory or None, judged_by)
