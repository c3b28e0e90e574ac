"""Commands that play a benchmark to a model, and that say before what it will ask."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from reeltalk.cli.app import OVERWRITE, Bar, app, hash_source, say
from reeltalk.cli.asking import (
    asking_within,
    background_of,
    check_counts,
    endpoint_of,
    finish,
    judging_by,
    needing_model,
    prices_of,
)
from reeltalk.cli.construction import plan
from reeltalk.cli.evaluation_options import (
    ANSWERING,
    JUDGE_MODEL,
    JUDGING,
    LIMITS,
    PLAYING,
    PRESET_NAMES,
    Answering,
    JudgeModel,
    JudgingOptions,
    Limits,
    Playing,
    Seconds,
)
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.evaluate.playing.player import Player
    from reeltalk.evaluate.playing.script import Script, Step
    from reeltalk.llm import AsyncModel
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.content import Content


@app.command(sort_key=5)
def evaluate(
    benchmark: Path,
    /,
    *,
    model: str,
    out: Path,
    preset: PRESET_NAMES | None = None,
    limit: int | None = None,
    train: Path | None = None,
    answers_format: str | None = None,
    skip_missing: bool = False,
    workers: int = 2,
    playing: Playing = PLAYING,
    judging: JudgingOptions = JUDGING,
    answering: Answering = ANSWERING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Play a benchmark's dialogues to a model, judge the answers, and write a run.

    Example: `reeltalk evaluate benchmarks/kitchen --model qwen3-vl --base-url http://localhost:8000/v1 --mode streaming
    --out runs/qwen`. Run it again to go on after an interruption: replies are kept. Exit code 1 where turns have no
    answer or no score.

    Parameters
    ----------
    benchmark
        A benchmark with dialogues, chains or paths.
    model
        Who answers: a model at the address, inspect:PROVIDER/MODEL, transformers:FOLDER, mini for reeltalk-mini, or
        mini:FOLDER for weights of your own, python:MODULE:CLASS,
        answers:PATH, human:PATH for people's answers, baseline:blind, history, constant, nearest, frames, empty, yes,
        copied-question or reference, oracle, or summary:MODEL.
    out
        Folder of the run.
    preset
        A published design, which fixes frames, history, prompt, metrics and judging.
    limit
        Play the first dialogues or paths only.
    train
        A benchmark that baselines learn from; this one's train split by default.
    answers_format
        Layout of answers:PATH or human:PATH, where it is no benchmark.
    skip_missing
        Leave out dialogues whose video is not at hand.
    workers
        Videos that are decoded at a time.
    overwrite
        Replace the run that is there.
    """
    from reeltalk.benchmarks import PRESETS
    from reeltalk.evaluate.playing.frames import FrameServer
    from reeltalk.evaluate.playing.histories import WrongAnswers
    from reeltalk.evaluate.playing.modes import Choice, scripts
    from reeltalk.evaluate.run_folder import RunFolder
    from reeltalk.evaluate.stage import Played, frames_hash
    from reeltalk.store.benchmark import Benchmark

    check_counts(limit=limit, workers=workers)
    design = PRESETS[preset] if preset is not None else None
    play = playing.settings(design.play if design else None)
    judge = judging.settings(design.judging if design else None, seed=playing.seed)
    opened = Benchmark.open(benchmark)
    content = opened.content()
    chosen = scripts(
        content,
        Choice(play.mode, play.units, play.split, play.tasks, play.rounds, limit, play.rejump),
    )
    request = {
        "benchmark": opened.manifest.content_hash,
        "model": model,
        "preset": preset,
        "play": play.model_dump(mode="json"),
        "judging": judge.model_dump(mode="json"),
        "answering": answering.model_dump(mode="json", exclude={"base_url", "api_key_env", "price_in", "price_out"}),
        "judge": judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
        "limit": limit,
        "train": Benchmark.open(train).manifest.content_hash if train else None,
    }
    with (
        RunFolder(out, request, overwrite=overwrite) as folder,
        Bar() as bar,
        asking_within(folder, limits) as (store, budget),
    ):
        media = media_of(opened, content)
        server = FrameServer(media, play.frames, folder.frames, workers)
        answers, sha256 = _answers(model, answers_format)
        player = _player(
            model,
            opened,
            content,
            asking=endpoint_of(answering, limits),
            store=store,
            budget=budget,
            picture=server.jpeg,
            prompt=play.prompt,
            answers=answers,
            answers_sha256=sha256,
            train=(Benchmark.open(train), Benchmark.open(train).content()) if train else None,
            workers=workers,
        )
        if player.player.sees_frames and play.frames.policy != "none":
            missing = {script.video_id for script in chosen if media(script.video_id) is None}
            if missing and not skip_missing:
                raise BenchmarkError(
                    f"{len(missing):,} videos are not at hand, as '{min(missing)}'; put them into the benchmark with "
                    "'reeltalk fetch' or 'reeltalk import', pass --skip-missing to leave their dialogues out, or "
                    "--policy none to show no frames"
                )
            chosen = [script for script in chosen if script.video_id not in missing]
            if not chosen:
                raise BenchmarkError(f"there is nothing to play: none of the {len(missing):,} videos is at hand")
        turns = [
            (unit.video_id, turn)
            for units in (content.chains, content.dialogues)
            for unit in units
            for turn in unit.turns
        ]
        with judging_by(judge, judge_model, limits, opened, store, budget) as judged_by:
            stage = Played(
                folder, judged_by, background_of(content, judge), at_a_time=limits.connections, progress=bar.show
            )
            evaluation = stage.run(
                chosen,
                player.player,
                play,
                server,
                logged=player.logged,
                wrong=WrongAnswers(turns, seed=play.seed) if play.told == "corrupted" else None,
                subtitles=lines_spoken(content) if play.subtitles else None,
                metadata={"benchmark": opened.manifest.name, "preset": preset or "", "model": model},
            )
            parts = (
                *(design.signed(play, judge) if design else ()),
                *play.signature,
                ("shown", frames_hash(evaluation.turns)),
                *player.player.signature,
            )
            return finish(
                folder,
                evaluation,
                judged_by,
                subject=f"{opened.manifest.name}.{play.mode}",
                signed={player.player.name: parts},
                sources={player.player.name: player.source},
                content=content,
                settings=request | {"benchmark_path": str(benchmark)},
                kind="evaluate",
                spent=(budget, player.model, judged_by.model),
            )


@plan.command(name="evaluate")
def plan_evaluate(
    benchmark: Path,
    /,
    *,
    model: str,
    preset: PRESET_NAMES | None = None,
    limit: int | None = None,
    answers_format: str | None = None,
    skip_missing: bool = False,
    latency_s: Seconds | None = None,
    judge_latency_s: Seconds | None = None,
    playing: Playing = PLAYING,
    judging: JudgingOptions = JUDGING,
    answering: Answering = ANSWERING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    out: Path | None = None,
    train: Path | None = None,
    workers: int | None = None,
    overwrite: bool = False,
) -> int:
    """Forecast the requests, tokens, money and time of `reeltalk evaluate`; asks and decodes nothing.

    Example: `reeltalk plan evaluate benchmarks/kitchen --model gpt-4o --protocols clair --judge gpt-4o-mini --price-in
    2.5 --price-out 10 --judge-price-in 0.15 --judge-price-out 0.6 --latency-s 2`. All options of `evaluate` are taken.

    Parameters
    ----------
    benchmark
        A benchmark with dialogues, chains or paths.
    model
        Who answers, as for `evaluate`; baselines, oracle, mini, answers:, human: and python: ask no model of ours.
    preset
        A published design, which fixes frames, history, prompt, metrics and judging.
    limit
        Play the first dialogues or paths only.
    answers_format
        Layout of answers:PATH or human:PATH, where it is no benchmark.
    skip_missing
        Leave out dialogues whose video is not at hand.
    latency_s
        Seconds that an answer takes; without it no time is told.
    judge_latency_s
        Seconds that a judge's reply takes; as an answer by default.
    out
        Not needed, and not touched.
    train
        Not needed, and not read.
    workers
        Not needed.
    overwrite
        Not needed.
    """
    from reeltalk.benchmarks import PRESETS
    from reeltalk.evaluate.forecast import forecast, lines
    from reeltalk.evaluate.opening import opened_judges
    from reeltalk.evaluate.playing.histories import WrongAnswers
    from reeltalk.evaluate.playing.modes import Choice, scripts
    from reeltalk.store.benchmark import Benchmark

    check_counts(limit=limit, workers=workers)
    design = PRESETS[preset] if preset is not None else None
    play = playing.settings(design.play if design else None)
    judge = judging.settings(design.judging if design else None, seed=playing.seed)
    prices = prices_of(answering.price_in, answering.price_out, "--price")
    judge_prices = prices_of(judge_model.judge_price_in, judge_model.judge_price_out, "--judge-price")
    opened = Benchmark.open(benchmark)
    content = opened.content()
    chosen = scripts(content, Choice(play.mode, play.units, play.split, play.tasks, play.rounds, limit, play.rejump))
    judges = opened_judges(judge, opened)
    needing_model(judges, judge_model)
    if play.frames.policy != "none" and answering.sees == "images":
        media = media_of(opened, content)
        missing = {script.video_id for script in chosen if media(script.video_id) is None}
        if missing and skip_missing:
            chosen = [script for script in chosen if script.video_id not in missing]
            if not chosen:
                raise BenchmarkError(f"there is nothing to play: none of the {len(missing):,} videos is at hand")
        elif missing:
            say(f"{len(missing):,} videos are not at hand, as '{min(missing)}'; evaluate needs them to show frames")
    turns = [
        (unit.video_id, turn) for units in (content.chains, content.dialogues) for unit in units for turn in unit.turns
    ]
    found = forecast(
        chosen,
        play,
        _planned_player(model, content, play.prompt, answers_format, opened),
        judges,
        durations_s={str(video.id): video.duration_s for video in content.videos},
        background=background_of(content, judge),
        model=model,
        judge=judge_model.judge or "judge",
        sees_images=answering.sees == "images",
        image_tokens=answering.image_tokens,
        wrong=WrongAnswers(turns, seed=play.seed) if play.told == "corrupted" else None,
        subtitles=lines_spoken(content) if play.subtitles else None,
        null_units=judge.null_units,
        seed=judge.seed,
    )
    for line in lines(
        found,
        prices=prices,
        judge_prices=judge_prices,
        connections=limits.connections,
        latency_s=latency_s,
        judge_latency_s=judge_latency_s,
        image_tokens=answering.image_tokens,
    ):
        print(line)
    return 0


def _planned_player(
    spec: str, content: "Content", prompt: str, answers_format: str | None, benchmark: "Benchmark"
) -> Callable[["AsyncModel"], "Player | None"]:
    """Who would answer, asking a model that only counts; None where no model is asked."""
    from reeltalk.evaluate.opening import told_summary
    from reeltalk.evaluate.playing.chat import ChatPlayer, answer_prompt

    kind, colon, _ = spec.partition(":")

    def player(model: "AsyncModel") -> "Player | None":
        if spec == "oracle" or kind == "mini" or (colon and kind in ("baseline", "python")):
            return None
        if colon and kind in ("answers", "human"):
            answers, sha256 = _answers(spec, answers_format)
            opened = _player(
                spec,
                benchmark,
                content,
                asking=None,
                store=None,
                budget=None,
                picture=None,
                prompt=prompt,
                answers=answers,
                answers_sha256=sha256,
            )
            return opened.player  # type: ignore[no-any-return]
        if colon and kind == "summary":
            from reeltalk.evaluate.playing.summary_player import SummaryPlayer

            summaries = {str(video.id): video.summaries for video in content.videos}
            return SummaryPlayer(model, lambda video: told_summary(summaries.get(video, {})))
        return ChatPlayer(model, answer_prompt(prompt))

    return player


def _player(*arguments: Any, **options: Any) -> Any:
    from reeltalk.evaluate.opening import opened_player

    return opened_player(*arguments, **options)


def _answers(model: str, format: str | None) -> tuple["Content | None", str]:
    from reeltalk.formats.registry import load_format
    from reeltalk.store.benchmark import Benchmark

    if not model.startswith(("answers:", "human:")):
        return None, ""
    path = Path(model.partition(":")[2])
    if (path / "manifest.json").is_file():
        return Benchmark.open(path).content(), Benchmark.open(path).manifest.content_hash
    if format is None:
        raise SettingError(f"{path} is no benchmark, so --answers-format must name its layout, as 'vdact'")
    return load_format(format).read(path), hash_source(path)


def media_of(benchmark: "Benchmark", content: "Content") -> Callable[[str], Path | None]:
    """Gives the file of a video by the video's identifier; None where it is not at hand."""
    by_id = {str(video.id): video.sha256 for video in content.videos}

    def media(video_id: str) -> Path | None:
        sha256 = by_id.get(video_id)
        path = benchmark.media.path(sha256) if sha256 else None
        return path if path is not None and path.is_file() else None

    return media


def lines_spoken(content: "Content") -> Callable[["Script", "Step"], tuple[str, ...]]:
    """Lines that were spoken in the clips of a turn, up to its moment."""
    from reeltalk.evaluate.playing.subtitles import subtitles_of, visible_subtitles

    by_unit: dict[str, tuple[str, ...]] = {dialogue.id: dialogue.clip_ids for dialogue in content.dialogues}
    by_unit |= {chain.id: (chain.clip_id,) for chain in content.chains if chain.clip_id is not None}
    clips = {str(clip.id): clip for clip in content.clips}

    def spoken(script: "Script", step: "Step") -> tuple[str, ...]:
        names = by_unit.get(step.source_id, ())
        lines = subtitles_of(clips[name] for name in names if name in clips)
        return visible_subtitles(lines, step.asked_at_s)

    return spoken
