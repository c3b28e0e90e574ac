"""Evaluate: play a benchmark to a model or baseline, judge the answers and write a run, and those of its controls."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.checks import check_run
from reeltalk.evaluation.models import CreatedPlayer, create_player
from reeltalk.evaluation.playing.chat import form_notice
from reeltalk.evaluation.playing.frames import FrameServer, pair_videos
from reeltalk.evaluation.playing.play import WrongAnswers
from reeltalk.evaluation.playing.script import (
    Script,
    Scripts,
    available_scripts,
    draw_new_paths,
    left_out_of_play,
    media_of,
    scripts_of,
)
from reeltalk.evaluation.playing.subtitles import speech_notice, spoken_lines
from reeltalk.evaluation.run_folder import RunFolder, is_whole
from reeltalk.evaluation.settings import PlaySettings, RunConfig, config_of
from reeltalk.evaluation.signing import run_request, run_signature
from reeltalk.evaluation.stage import Collected, EvaluationRunner, JudgingSetup, sample_null_units
from reeltalk.evaluation.useless import UselessReplies
from reeltalk.formats import load_format
from reeltalk.formats.answer_table import read_answer_table
from reeltalk.formats.table_rows import TABLE_SUFFIXES
from reeltalk.judge.judge import UnitKey
from reeltalk.llm import Budget, ReplyStore
from reeltalk.metrics.selection import select_turns
from reeltalk.metrics.uncertainty import wilson
from reeltalk.progress import Progress, Tell, ignore_progress, ignore_sentences
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.paths import WALK, PathStatistics
from reeltalk.schema.runs import CONTROLS, JUMPS, SELECTED, Control
from reeltalk.stages.run import (
    EvaluationCommand,
    RunReport,
    Usage,
    add_controls,
    announce_retry,
    background_of,
    check_deletion,
    check_judging,
    command_to_keep,
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
    progress: Progress = ignore_progress,
    tell: Tell = ignore_sentences,
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
    """
    config, out = config_of(config, settings), Path(out)
    check_deletion(delete_replies, overwrite, config.limits)
    replies = config.limits.replies or out / REPLIES
    check_run(config, has_replies=replies.is_file())
    # Hints come last, because users read the end of a long output. An error is shown alone.
    hints: list[str] = []
    if config.play.epochs > 1 and config.asking.temperature == 0 and not config.model.startswith("python:"):
        hints.append(
            f"temperature 0 gives nearly the same answers in all {config.play.epochs} epochs; sample them with "
            "--temperature 0.7, or play once"
        )
    selection = select_turns(benchmark.stored_content(), config.play.only)
    chosen = scripts_of(selection, config.play, limit=config.limit)
    left_out = left_out_of_play(selection, config.play)
    turns = (step.turn for script in chosen for step in script.steps)
    evaluation = _Evaluation(
        benchmark=benchmark,
        content=selection.content,
        left_out=left_out,
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
    content: Content
    """What is played of the benchmark."""
    left_out: Mapping[str, int]
    """Turns that would be played if all of the benchmark were, by reason."""
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
        return command_to_keep(EvaluationCommand.of(self.config, self.benchmark, self.train, out), out)

    def run(
        self, control: Control | None, place: Path, *, overwrite: bool, before: RunReport | None, progress: Progress
    ) -> RunReport:
        """Play, judge and write one run. An existing run with the same settings is made again."""
        config, benchmark = self.config.under(control), self.benchmark
        content, play, judging = self.content, config.play, config.judging
        request = self.request(config)
        chosen = self.scripts
        if play.rejump is not None:
            self.tell(_describe_paths(draw_new_paths(content, play)[1]))
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
            due_turns = (step.turn for script in chosen for step in script.steps if step.answered)
            for told in (
                speech_notice(content, chosen, shown=play.subtitles),
                form_notice(play.prompt, play.answer_style, due_turns) if player.model is not None else None,
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
                tell=self.tell,
                benchmark=benchmark,
            ) as judging_setup:
                null_sample = sample_null_units(chosen, judging_setup)
                collected = play_scripts(
                    chosen,
                    config,
                    benchmark,
                    content,
                    player,
                    judging_setup,
                    frames=frames,
                    work=folder.work,
                    null_sample=null_sample,
                    stops_unread=config.limits.preflight,
                    progress=progress,
                    tell=self.tell,
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
                    left_out=bool(self.left_out),
                )
                chosen_turns = {SELECTED: {"only": play.only, "left_out": dict(self.left_out)}} if self.left_out else {}
                return finish(
                    folder,
                    evaluation,
                    judging_setup,
                    subject=f"{benchmark.manifest.name}.{play.mode}",
                    signed={name: signed},
                    sources={name: player.source},
                    content=content,
                    settings=request
                    | {"benchmark_path": str(benchmark.path)}
                    | _jumps(content, play, chosen)
                    | chosen_turns,
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


def _describe_paths(walks: PathStatistics) -> str:
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
    return pair_videos(content.videos, media, seed=play.seed, names=(script.video_id for script in scripts))


def play_scripts(
    scripts: Sequence[Script],
    config: RunConfig,
    benchmark: Benchmark,
    content: Content,
    player: CreatedPlayer,
    judging_setup: JudgingSetup,
    *,
    frames: FrameServer,
    work: Path,
    null_sample: frozenset[UnitKey],
    stops_unread: bool,
    progress: Progress,
    tell: Tell = ignore_sentences,
) -> Collected:
    """Play scripts and judge their answers, in this process.

    Args:
        scripts: The scripts that are played.
        config: Settings of the run.
        benchmark: The benchmark that is played.
        content: Its rows.
        judging_setup: Judges and text metrics.
        frames: Decodes the frames that are shown.
        work: Folder in which the run is made.
        null_sample: Units whose empty answers a model judges.
        stops_unread: Stop if most of the first answers of a language model cannot be read.
        progress: Called after each turn.
        tell: Receives a warning of answers that are all the same.

    Raises:
        UnusableError: Most of the first answers cannot be read, or a server's replies say nothing.
        BudgetError: A limit would be exceeded; replies are kept.
        BenchmarkError: A history cannot be built as requested, or the folder cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    play = config.play
    runner = EvaluationRunner(
        work,
        judging_setup,
        background_of(content, config.judging),
        at_a_time=config.limits.connections,
        progress=progress,
        null_sample=null_sample,
        stops_unread=stops_unread and player.model is not None,
        useless=UselessReplies(tell, stops=stops_unread, same_stops=not play.control),
    )
    runner.run(
        scripts,
        player.player,
        play,
        frames,
        served=player.model,
        wrong=wrong_answers(content, play),
        subtitles=spoken_lines(content) if play.subtitles else None,
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
