"""Evaluate: play a benchmark to whatever answers, judge the answers, and write a run."""

from pathlib import Path

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.playing.at_hand import at_hand, media_of
from reeltalk.evaluate.playing.frames import FrameServer
from reeltalk.evaluate.playing.modes import scripts
from reeltalk.evaluate.preset import Preset
from reeltalk.evaluate.run_folder import RunFolder
from reeltalk.evaluate.settings import (
    JUDGED_BY_DEFAULT,
    JudgeModelSettings,
    JudgeSettings,
    LimitSettings,
    ModelSettings,
    PlaySettings,
)
from reeltalk.evaluate.stage import Progress, frames_hash, nulled_of
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import Tell, asking_within, judging_by, silent, unseen
from reeltalk.stages.finishing import RunReport, Took, finish
from reeltalk.stages.playing import PlayingSettings, choice_of, opened, play_scripts
from reeltalk.stages.sharding import check_processes, play_in_processes
from reeltalk.store.benchmark import Benchmark


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
    overwrite: bool = False,
    progress: Progress = unseen,
    tell: Tell = silent,
) -> RunReport:
    """Play a benchmark's dialogues to a model, judge the answers, and write a run.

    Call it again with the same settings to go on after an interruption or a spent budget: replies are kept.

    Args:
        benchmark: One with dialogues, chains or paths.
        model: Who answers, as on the command line: the name of a model at an address, `inspect:PROVIDER/MODEL`,
            `transformers:FOLDER`, `mini`, `python:MODULE:CLASS`, `answers:PATH`, `human:PATH`, `baseline:NAME`,
            `oracle` or `summary:MODEL`.
        out: Folder of the run.
        preset: A published design, as `reeltalk.benchmarks.SVBENCH`: its settings hold where none are given, and its
            name, with what was modified, is part of the signatures.
        play: How dialogues are played.
        judging: By what answers are judged; by default whether they agree with a reference, and text metrics.
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
        overwrite: Replace the run that is there.
        progress: Told after each turn.
        tell: Told in a sentence what cannot be had here.

    Raises:
        SettingError: A setting, model, protocol or metric cannot be used.
        BenchmarkError: Nothing can be played, videos are missing, or `out` holds something else.
        BudgetError: A limit would be passed; the same call with a higher one goes on.
        ModelError: A model cannot be opened.
        InputError: Files of the model, of its answers or of its prompt are missing or damaged.
        MissingExtraError: What is needed to ask the model is not installed.
        ProcessError: One of several processes died; the same call goes on.
    """
    check_counts(limit=limit, workers=workers, processes=processes)
    check_processes(processes, model)
    play = play or (preset.play if preset else PlaySettings())
    judging = judging or (preset.judging if preset else JUDGED_BY_DEFAULT)
    asking, judge_model = asking or ModelSettings(), judge_model or JudgeModelSettings()
    limits = limits or LimitSettings()
    content = benchmark.content()
    chosen = scripts(content, choice_of(play, limit))
    request = {
        "benchmark": benchmark.manifest.content_hash,
        "model": model,
        "preset": preset.name if preset else None,
        "play": play.model_dump(mode="json"),
        "judging": judging.model_dump(mode="json"),
        "answering": asking.model_dump(mode="json", exclude={"base_url", "api_key_env", "price_in", "price_out"}),
        "judge": judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
        "limit": limit,
        "train": train.manifest.content_hash if train else None,
    }
    settings = PlayingSettings(
        model=model,
        play=play,
        judging=judging,
        asking=asking,
        judge_model=judge_model,
        limits=limits,
        answers_format=answers_format,
        workers=workers,
        metadata={"benchmark": benchmark.manifest.name, "preset": preset.name if preset else "", "model": model},
    )
    with RunFolder(Path(out), request, overwrite=overwrite) as folder, asking_within(folder, limits) as (store, budget):
        media = media_of(benchmark, content)
        frames = FrameServer(media, play.frames, folder.frames, workers)
        player = opened(settings, benchmark, content, store=store, budget=budget, frames=frames, train=train)
        if player.player.sees_frames and play.frames.policy != "none":
            chosen, missing = at_hand(chosen, media, skip_missing=skip_missing)
            if missing and not skip_missing:
                raise BenchmarkError(
                    f"{len(missing):,} videos are not at hand, as '{min(missing)}'; put them into the benchmark with "
                    "'reeltalk attach' or 'reeltalk media pull', pass --skip-missing to leave their dialogues out, or "
                    "--policy none to show no frames"
                )
        with judging_by(judging, judge_model, limits, benchmark, store, budget, tell=tell) as judged_by:
            nulled = nulled_of(chosen, judging)
            folder.clear_logs()
            if processes > 1:
                joined = play_in_processes(
                    chosen,
                    processes,
                    settings,
                    benchmark,
                    folder=folder,
                    budget=budget,
                    nulled=nulled,
                    train=train,
                    progress=progress,
                    tell=tell,
                )
                collected, took = joined.collected, Took(budget.spent, joined.kept)
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
                took = Took.of(budget, player.model, judged_by.model)
            evaluation = collected.evaluation(
                [script.id for script in chosen], [judge.name for judge in judged_by.judges]
            )
            parts = (
                *(preset.signed(play, judging) if preset else ()),
                *play.signature,
                ("shown", frames_hash(evaluation.turns)),
                *player.player.signature,
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
                tell=tell,
            )
