"""Evaluate: play a benchmark to whatever answers, judge the answers, and write a run."""

from pathlib import Path
from typing import Any

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluate.opening import Opened, opened_player
from reeltalk.evaluate.playing.at_hand import at_hand, media_of
from reeltalk.evaluate.playing.frames import FrameServer
from reeltalk.evaluate.playing.histories import WrongAnswers
from reeltalk.evaluate.playing.modes import Choice, scripts
from reeltalk.evaluate.playing.subtitles import lines_spoken
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
from reeltalk.evaluate.stage import Played, Progress, frames_hash
from reeltalk.formats.registry import load_format
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import Tell, asking_within, background_of, endpoint_of, judging_by, silent, unseen
from reeltalk.stages.finishing import RunReport, finish
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_source


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
    """
    check_counts(limit=limit, workers=workers)
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
    with RunFolder(Path(out), request, overwrite=overwrite) as folder, asking_within(folder, limits) as (store, budget):
        media = media_of(benchmark, content)
        server = FrameServer(media, play.frames, folder.frames, workers)
        answers, sha256 = read_answers(model, answers_format)
        player: Opened = opened_player(
            model,
            benchmark,
            content,
            asking=endpoint_of(asking, limits),
            store=store,
            budget=budget,
            picture=server.jpeg,
            prompt=play.prompt,
            answers=answers,
            answers_sha256=sha256,
            train=(train, train.content()) if train else None,
            workers=workers,
        )
        if player.player.sees_frames and play.frames.policy != "none":
            chosen, missing = at_hand(chosen, media, skip_missing=skip_missing)
            if missing and not skip_missing:
                raise BenchmarkError(
                    f"{len(missing):,} videos are not at hand, as '{min(missing)}'; put them into the benchmark with "
                    "'reeltalk fetch' or 'reeltalk import', pass --skip-missing to leave their dialogues out, or "
                    "--policy none to show no frames"
                )
        with judging_by(judging, judge_model, limits, benchmark, store, budget, tell=tell) as judged_by:
            stage = Played(
                folder, judged_by, background_of(content, judging), at_a_time=limits.connections, progress=progress
            )
            evaluation = stage.run(
                chosen,
                player.player,
                play,
                server,
                logged=player.logged,
                wrong=wrong_answers(content, play),
                subtitles=lines_spoken(content) if play.subtitles else None,
                metadata={
                    "benchmark": benchmark.manifest.name,
                    "preset": preset.name if preset else "",
                    "model": model,
                },
            )
            parts = (
                *(preset.signed(play, judging) if preset else ()),
                *play.signature,
                ("shown", frames_hash(evaluation.turns)),
                *player.player.signature,
            )
            settings: dict[str, Any] = request | {"benchmark_path": str(benchmark.path)}
            return finish(
                folder,
                evaluation,
                judged_by,
                subject=f"{benchmark.manifest.name}.{play.mode}",
                signed={player.player.name: parts},
                sources={player.player.name: player.source},
                content=content,
                settings=settings,
                kind="evaluate",
                spent=(budget, player.model, judged_by.model),
                tell=tell,
            )


def choice_of(play: PlaySettings, limit: int | None) -> Choice:
    """What of a benchmark is played."""
    return Choice(play.mode, play.units, play.split, play.tasks, play.rounds, limit, play.rejump)


def wrong_answers(content: Content, play: PlaySettings) -> WrongAnswers | None:
    """Answers that a corrupted history may hold; None where histories are not corrupted."""
    if play.told != "corrupted":
        return None
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    return WrongAnswers([(unit.video_id, turn) for unit in units for turn in unit.turns], seed=play.seed)


def read_answers(model: str, format: str | None) -> tuple[Content | None, str]:
    """What `answers:PATH` or `human:PATH` names, and its hash; nothing for all other models.

    Raises:
        SettingError: It is no benchmark, and no layout is given.
        InputError: It is missing or damaged.
    """
    if not model.startswith(("answers:", "human:")):
        return None, ""
    path = Path(model.partition(":")[2])
    if (path / "manifest.json").is_file():
        opened = Benchmark.open(path)
        return opened.content(), opened.manifest.content_hash
    if format is None:
        raise SettingError(f"{path} is no benchmark, so --answers-format must name its layout, as 'vdact'")
    return load_format(format).read(path), hash_source(path)
