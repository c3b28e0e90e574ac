"""Plan: count the requests of an evaluation before anything is asked or decoded."""

from typing import Any

from reeltalk.evaluation.checks import check_run
from reeltalk.evaluation.dry_run import EvaluationForecast, PlayerOf, forecast_evaluation
from reeltalk.evaluation.models import create_judges, find_added, pick_summary
from reeltalk.evaluation.playing.chat import SummaryPlayer, chat_player
from reeltalk.evaluation.playing.other_players import AnswersPlayer
from reeltalk.evaluation.playing.play import Player
from reeltalk.evaluation.playing.script import available_scripts, media_of, scripts_of
from reeltalk.evaluation.playing.subtitles import speech_notice, spoken_lines
from reeltalk.evaluation.settings import RunConfig, config_of
from reeltalk.llm import AsyncModel
from reeltalk.metrics.selection import select_turns
from reeltalk.progress import Tell, ignore_sentences
from reeltalk.stages.evaluating import read_answers, wrong_answers
from reeltalk.stages.prompt_folders import check_judge_prompts
from reeltalk.stages.run import background_of, resolve_judging, warn_without_meteor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import NamedRows


def plan_evaluation(
    benchmark: Benchmark, config: RunConfig | None = None, *, tell: Tell = ignore_sentences, **settings: Any
) -> EvaluationForecast:
    """Forecast the requests and tokens of `evaluate` with the same settings. No model is asked and no video is decoded.

    Args:
        benchmark: One with dialogues, chains or paths.
        config: The model that answers, the judge, and their settings, as for `evaluate`.
        tell: Receives a sentence about videos that are not available.
        **settings: Fields of `RunConfig` by name, in place of `config`; `model` is needed.

    Raises:
        SettingError: A setting, protocol or metric cannot be used.
        BenchmarkError: There is nothing to play.
    """
    config = config_of(config, settings)
    check_run(config, has_replies=True)
    play, asking = config.play, config.asking
    selection = select_turns(benchmark.stored_content(), play.only)
    content, chosen = selection.content, scripts_of(selection, play, limit=config.limit)
    if told := speech_notice(content, chosen, shown=play.subtitles):
        tell(told)
    judging = resolve_judging(config.judging, (step.turn for script in chosen for step in script.steps), tell=tell)
    check_judge_prompts(judging)
    warn_without_meteor(judging, tell=tell)
    judges = create_judges(judging)
    if play.frames.policy != "none" and asking.sees == "images":
        media = media_of(benchmark, content)
        chosen, missing = available_scripts(chosen, media, skip_missing=config.skip_missing)
        if missing and not config.skip_missing:
            tell(f"{len(missing):,} videos are not available, as '{min(missing)}'; evaluate needs them to show frames")
    return forecast_evaluation(
        chosen,
        config.model_copy(update={"judging": judging}),
        _planned_player(config, benchmark),
        judges,
        durations_s={str(video.id): video.duration_s for video in content.videos},
        background=background_of(content, judging),
        wrong=wrong_answers(content, play),
        subtitles=spoken_lines(content) if play.subtitles else None,
    )


def _asks_nobody(spec: str) -> bool:
    """True for a model of another package that is no language model."""
    found = find_added(spec)
    return found is not None and found.language_model is None


def _planned_player(config: RunConfig, benchmark: Benchmark) -> PlayerOf:
    """The player, with a model that only counts. None if no model is asked."""
    spec, play = config.model, config.play
    kind, colon, name = spec.partition(":")

    def player(model: AsyncModel) -> Player | None:
        if (colon and kind in ("baseline", "python")) or _asks_nobody(spec):
            return None
        if colon and kind in ("answers", "human"):
            read = read_answers(config, benchmark)
            assert read is not None
            answers, sha256 = read
            return AnswersPlayer.of(answers, source=name, sha256=sha256)
        if colon and kind == "summary":
            videos = NamedRows(benchmark.stored_content().videos)

            def summary_of(video: str) -> str | None:
                return pick_summary(videos[video].summaries if video in videos else {})

            return SummaryPlayer(model, summary_of, style=play.answer_style)
        return chat_player(model, play)

    return player
