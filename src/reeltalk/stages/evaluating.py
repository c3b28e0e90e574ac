"""Evaluate: play a benchmark to whatever answers, judge the answers, and write a run."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluate.opening import check_player
from reeltalk.evaluate.playing.at_hand import at_hand, media_of
from reeltalk.evaluate.playing.modes import rejumped, scripts
from reeltalk.evaluate.playing.subtitles import lines_spoken
from reeltalk.evaluate.preset import Preset
from reeltalk.evaluate.run_folder import RunFolder, is_whole
from reeltalk.evaluate.settings import LimitSettings, ModelSettings, PlaySettings
from reeltalk.evaluate.signing import planted_hash, scripts_hash, shown_hash
from reeltalk.evaluate.stage import nulled_of
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm import Budget, ReplyStore
from reeltalk.metrics.uncertainty import wilson
from reeltalk.progress import Progress, Tell, silent, unseen
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.paths import PathStatistics
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import check_judging, judging_by, judging_within, named
from reeltalk.stages.finishing import RunReport, Took, finish, report_of, with_controls
from reeltalk.stages.kept_command import (
    KeptEvaluation,
    check_deletion,
    is_to_do,
    kept,
    seen_from,
    tell_again,
    told_of_whole,
    write_command,
)
from reeltalk.stages.playing import (
    PlayingSettings,
    choice_of,
    frame_server,
    opened,
    others_shown,
    play_scripts,
    wrong_answers,
)
from reeltalk.stages.prompt_folders import judging_request
from reeltalk.stages.sharding import check_processes, play_in_processes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import CONTROLS_FOLDER, FRAMES, REPLIES, read_run


def evaluate(
    benchmark: Benchmark,
    *,
    model: str,
    out: Path | str,
    preset: Preset | None = None,
    play: PlaySettings | None = None,
    judging: JudgeSettings | None = None,
    asking: ModelSettings | None = None,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    limit: int | None = None,
    train: Benchmark | None = None,
    answers_format: str | None = None,
    skip_missing: bool = False,
    workers: int = 2,
    processes: int = 1,
    controls: Sequence[Control] = (),
    overwrite: bool = False,
    delete_replies: bool = False,
    progress: Progress = unseen,
    tell: Tell = silent,
) -> RunReport:
    """Play a benchmark's dialogues to a model, judge the answers, and write a run.

    Call it again with the same settings to go on after an interruption or a spent budget: replies are kept. On a run
    that is whole it asks again only what failed, and nothing where nothing did; the old run stays until the new one is
    whole.

    Args:
        benchmark: One with dialogues, chains or paths.
        model: Who answers, as on the command line: the name of a model at an address, `inspect:PROVIDER/MODEL`,
            `transformers:FOLDER`, `mini`, `python:MODULE:CLASS`, `answers:PATH`, `human:PATH`, `baseline:NAME`,
            `oracle` or `summary:MODEL`.
        out: Folder of the run.
        preset: A published design, as `reeltalk.benchmarks.SVBENCH`: its settings hold where none are given, and its
            name, with what was modified, is part of the signatures.
        play: How dialogues are played.
        judging: By what answers are judged; by default by keys or options where turns have some, and text metrics.
        asking: How the model that answers is asked.
        judge_model: Who judges, for protocols that need a model.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        limit: Play the first dialogues or paths only.
        train: A benchmark that baselines learn from; this one's train split by default.
        answers_format: Layout of `answers:PATH` or `human:PATH`, where it is no benchmark.
        skip_missing: Leave out dialogues whose video is not at hand.
        workers: Videos that are decoded at a time.
        processes: Processes that share the dialogues, by video, where one cannot ask as often as a server answers. What
            comes of it is the same with any number.
        controls: Play the same again with other pictures: `none`, `black`, `shuffled`, `other-video`. Each becomes a
            run below `out/controls`, and `report` says what it costs.
        overwrite: Replace the run that is there, and those of its controls; replies that it keeps are used again.
        delete_replies: With `overwrite`, delete these replies, so that all is asked anew.
        progress: Told after each turn.
        tell: Told in a sentence what cannot be had here.

    Raises:
        SettingError: A setting, model, protocol or metric cannot be used.
        BenchmarkError: Nothing can be played, videos are missing, `out` holds something else, or the control
            `other-video` has no other video to show.
        BudgetError: A limit would be passed; the same call with a higher one goes on.
        ModelError: A model cannot be opened, or nothing was answered: no run is written then.
        InputError: Files of the model, of its answers or of its prompt are missing or damaged.
        MissingExtraError: What is needed to ask the model is not installed.
        ProcessError: One of several processes died; the same call goes on.
    """
    check_counts(limit=limit, workers=workers, processes=processes)
    check_processes(processes, model)
    check_deletion(delete_replies, overwrite, limits)
    play, limits, out = play or (preset.play if preset else PlaySettings()), limits or LimitSettings(), Path(out)
    check_player(model, asking or ModelSettings(), kept=(limits.replies or out / REPLIES).is_file())
    _check_controls(controls, play)
    # Told at the end: a refusal stands alone, and a run that is long has its last words read.
    hints: list[str] = []
    evaluating = _Evaluating(
        benchmark,
        PlayingSettings(
            model=model,
            play=play,
            judging=judging_within(
                judging or (preset.judging if preset else None), _turns(benchmark, play, limit), tell=hints.append
            ),
            asking=asking or ModelSettings(),
            judge_model=judge_model or JudgeModelSettings(),
            limits=limits.model_copy(update={"replies": limits.replies or out / REPLIES}),
            answers_format=answers_format,
            workers=workers,
            metadata={"benchmark": benchmark.manifest.name, "preset": preset.name if preset else "", "model": model},
        ),
        preset=preset,
        limit=limit,
        train=train,
        skip_missing=skip_missing,
        processes=processes,
        delete_replies=delete_replies,
        given=limits,
        controls=tuple(dict.fromkeys(controls)),
        frames=out / CONTROLS_FOLDER / FRAMES if controls else None,
        budget=Budget(limits.max_calls, limits.max_tokens, limits.max_cost),
        tell=tell,
    )
    places = {control: out / CONTROLS_FOLDER / control for control in evaluating.controls}
    done = None if overwrite else evaluating.made(None, out)
    if done is None or done.can_retry:
        done = evaluating.run(None, out, overwrite=overwrite, before=done, progress=progress)
    else:
        write_command(out, evaluating.command(out))
        to_do = any(is_to_do(evaluating.made(control, place)) for control, place in places.items())
        tell(f"{out} is whole and stays; its controls go on" if to_do else told_of_whole(done))
    for control, place in places.items():
        before = evaluating.made(control, place)
        if is_to_do(before):
            tell(f"control {control}: the same again with {CONTROLS[control]}")
            told = named(progress, f"control {control}")
            evaluating.run(control, place, overwrite=False, before=before, progress=told)
    for hint in hints:
        tell(hint)
    if not controls:
        return done
    shutil.rmtree(out / CONTROLS_FOLDER / FRAMES, ignore_errors=True)
    return with_controls(done)


def _turns(benchmark: Benchmark, play: PlaySettings, limit: int | None) -> Iterator[Turn]:
    for script in scripts(benchmark.content(), choice_of(play, limit)):
        yield from (step.turn for step in script.steps)


def _check_controls(controls: Sequence[str], play: PlaySettings) -> None:
    """Refuse what is no control, and controls of a control."""
    for name in controls:
        if name not in CONTROLS:
            raise SettingError(f"no control '{name}'; known are {', '.join(CONTROLS)}")
    if controls and play.control is not None:
        raise SettingError(f"the run itself is control {play.control}; play it without, and its controls beside it")


@dataclass(frozen=True)
class _Evaluating:
    """One model on one benchmark, to be played with its own pictures or under controls."""

    benchmark: Benchmark
    settings: PlayingSettings
    preset: Preset | None
    limit: int | None
    train: Benchmark | None
    skip_missing: bool
    processes: int
    delete_replies: bool
    given: LimitSettings
    """Limits as they were given, which name no file of replies where it is the run's own."""
    controls: tuple[Control, ...]
    """What is played beside it, checked before anything is asked."""
    frames: Path | None
    """Folder of the pictures that the run and its controls share."""
    budget: Budget
    """For the run and its controls together."""
    tell: Tell

    def play(self, control: Control | None) -> PlaySettings:
        """How dialogues are played under a control; None plays them as the settings say."""
        play = self.settings.play
        return play if control is None else play.model_copy(update={"control": control})

    def request(self, control: Control | None) -> dict[str, Any]:
        """All that decides what a run asks."""
        settings, preset = self.settings, self.preset
        asking, judge_model = settings.asking, settings.judge_model
        return {
            "benchmark": self.benchmark.manifest.content_hash,
            "model": settings.model,
            "preset": preset.name if preset else None,
            "play": self.play(control).model_dump(mode="json"),
            "judging": judging_request(settings.judging),
            "answering": asking.model_dump(mode="json", exclude={"base_url", "api_key_env", "price_in", "price_out"}),
            "judge": judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
            "limit": self.limit,
            "train": self.train.manifest.content_hash if self.train else None,
        }

    def made(self, control: Control | None, place: Path) -> RunReport | None:
        """The run of these settings that is there; None where there is none."""
        return report_of(read_run(place)) if is_whole(place, self.request(control)) else None

    def command(self, out: Path) -> dict[str, Any]:
        """What `reeltalk retry` needs to give this command again."""
        settings = self.settings
        return kept(
            KeptEvaluation(
                folder=seen_from(out),
                benchmark=self.benchmark.path,
                model=settings.model,
                preset=self.preset.name if self.preset else None,
                play=settings.play,
                judging=settings.judging,
                asking=settings.asking,
                judge_model=settings.judge_model,
                limits=self.given,
                limit=self.limit,
                train=self.train.path if self.train else None,
                answers_format=settings.answers_format,
                skip_missing=self.skip_missing,
                workers=settings.workers,
                processes=self.processes,
                controls=self.controls,
            )
        )

    def run(
        self,
        control: Control | None,
        place: Path,
        *,
        overwrite: bool,
        before: RunReport | None,
        progress: Progress,
    ) -> RunReport:
        """Play, judge and write one run; one of the same settings that was there before is made again."""
        play, request = self.play(control), self.request(control)
        settings = self.settings.model_copy(update={"play": play})
        benchmark, preset, judging, limits = self.benchmark, self.preset, settings.judging, settings.limits
        content = benchmark.content()
        choice = choice_of(play, self.limit)
        chosen = scripts(content, choice)
        if choice.rejump is not None:
            self.tell(_told_of(rejumped(content, choice)[1]))
        asked = [(script.video_id, step.turn) for script in chosen for step in script.steps if step.answered]
        check_judging(judging, settings.judge_model, asked, content, tell=self.tell)
        if before is not None:
            tell_again(before, limits.replies or place / REPLIES, tell=self.tell)
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
            ReplyStore(limits.replies or folder.replies) as store,
        ):
            media = media_of(benchmark, content)
            frames = frame_server(settings, benchmark, content, chosen, folder.frames)
            # A server is tried where no reply is kept, here and not in each of several processes.
            is_tried = limits.preflight and not len(store)
            player = opened(
                settings,
                benchmark,
                content,
                store=store,
                budget=self.budget,
                frames=frames,
                train=self.train,
                tell=self.tell,
            )
            shows = player.player.sees_frames and play.frames.policy != "none"
            if not shows and (self.controls or play.control):
                raise SettingError(
                    f"{settings.model} is shown no pictures here, so there is nothing that a control could take away; "
                    "leave --controls out"
                )
            if shows:
                chosen, missing = at_hand(chosen, media, skip_missing=self.skip_missing)
                if missing and not self.skip_missing:
                    raise BenchmarkError(
                        f"{len(missing):,} videos are not at hand, as '{min(missing)}'; put them into the benchmark "
                        "with 'reeltalk attach' or 'reeltalk media pull', pass --skip-missing to leave their dialogues "
                        "out, or --policy none to show no frames"
                    )
            if "other-video" in self.controls:
                others_shown(play, content, chosen, media)  # where there is none, that is told before anything is asked
            with judging_by(judging, settings.judge_model, limits, store, self.budget, tell=self.tell) as judged_by:
                nulled = nulled_of(chosen, judging)
                folder.clear_logs()
                if self.processes > 1:
                    joined = play_in_processes(
                        chosen,
                        self.processes,
                        settings.model_copy(
                            update={
                                "limits": limits.model_copy(update={"preflight": limits.preflight and not is_tried})
                            }
                        ),
                        benchmark,
                        folder=folder,
                        budget=self.budget,
                        nulled=nulled,
                        train=self.train,
                        progress=progress,
                        tell=self.tell,
                    )
                    collected, took = joined.collected, Took(self.budget.spent, joined.kept)
                else:
                    collected = play_scripts(
                        chosen,
                        settings,
                        content,
                        player,
                        judged_by,
                        frames=frames,
                        logs=folder.logs,
                        nulled=nulled,
                        progress=progress,
                    )
                    took = Took.of(self.budget, player.model, judged_by.model)
                evaluation = collected.evaluation(
                    [script.id for script in chosen], [judge.name for judge in judged_by.judges]
                )
                wrong = wrong_answers(content, play)
                lines = lines_spoken(content) if play.subtitles else None
                parts = (
                    *(preset.signed(play, judging) if preset else ()),
                    *play.signature,
                    *((("planted", planted_hash(chosen, wrong, play.corrupt_turn)),) if wrong is not None else ()),
                    ("shown", shown_hash(chosen, evaluation.turns, subtitles=lines)),
                    *player.player.signature,
                    *((("knows", scripts_hash(chosen, player.knows)),) if player.knows is not None else ()),
                )
                return finish(
                    folder,
                    evaluation,
                    judged_by,
                    subject=f"{benchmark.manifest.name}.{play.mode}",
                    signed={player.player.name: parts},
                    sources={player.player.name: player.source},
                    content=content,
                    settings=request | {"benchmark_path": str(benchmark.path)},
                    kind="evaluate",
                    took=took,
                    tell=self.tell,
                )


def _told_of(walks: PathStatistics) -> str:
    jumped = wilson(walks.jumps, walks.chances)
    rate = "no turn from which a walk can jump"
    if jumped.share is not None:
        rate = f"jumps at {jumped.share:.2f} [{jumped.low:.2f}, {jumped.high:.2f}] of {walks.chances:,} chances"
    return (
        f"new paths: {walks.paths:,} different of {walks.drawn:,} walks drawn, {rate}, stated as 0.8; "
        f"{walks.links - walks.refused.total():,} of {walks.links:,} links can be landed on"
    )
