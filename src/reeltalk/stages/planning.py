"""Plan: what an evaluation will ask, counted before anything is asked or decoded."""

from collections.abc import Sequence

from reeltalk.evaluate.forecast import Forecast, PlayerOf, forecast
from reeltalk.evaluate.opening import opened_judges, told_summary
from reeltalk.evaluate.playing.at_hand import at_hand, media_of
from reeltalk.evaluate.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluate.playing.from_file import AnswersPlayer
from reeltalk.evaluate.playing.modes import scripts
from reeltalk.evaluate.playing.player import Player
from reeltalk.evaluate.playing.subtitles import lines_spoken
from reeltalk.evaluate.playing.summary_player import SummaryPlayer
from reeltalk.evaluate.settings import ModelSettings, PlaySettings
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm import AsyncModel
from reeltalk.progress import Tell, silent
from reeltalk.schema.runs import Control
from reeltalk.stages.asking import background_of, judging_within, needing_model
from reeltalk.stages.playing import choice_of, read_answers, wrong_answers
from reeltalk.stages.prompt_folders import check_judge_prompts
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content


def plan_evaluation(
    benchmark: Benchmark,
    *,
    model: str,
    play: PlaySettings | None = None,
    judging: JudgeSettings | None = None,
    asking: ModelSettings | None = None,
    judge_model: JudgeModelSettings | None = None,
    limit: int | None = None,
    answers_format: str | None = None,
    skip_missing: bool = False,
    controls: Sequence[Control] = (),
    tell: Tell = silent,
) -> Forecast:
    """Forecast the requests and tokens of `evaluate` with the same settings; asks and decodes nothing.

    Args:
        benchmark: One with dialogues, chains or paths.
        model: Who answers, as for `evaluate`.
        play: How dialogues are played.
        judging: By what answers are judged.
        asking: How the model that answers is asked.
        judge_model: Who judges, for protocols that need a model.
        limit: Play the first dialogues or paths only.
        answers_format: Layout of `answers:PATH` or `human:PATH`, where it is no benchmark.
        skip_missing: Leave out dialogues whose video is not at hand.
        controls: Controls that are played too.
        tell: Told of videos that are not at hand.

    Raises:
        SettingError: A setting, protocol or metric cannot be used.
        BenchmarkError: Nothing can be played.
    """
    play = play or PlaySettings()
    asking, judge_model = asking or ModelSettings(), judge_model or JudgeModelSettings()
    content = benchmark.content()
    chosen = scripts(content, choice_of(play, limit))
    judging = judging_within(judging, (step.turn for script in chosen for step in script.steps), tell=tell)
    check_judge_prompts(judging)
    judges = opened_judges(judging)
    needing_model(judges, judge_model)
    if play.frames.policy != "none" and asking.sees == "images":
        chosen, missing = at_hand(chosen, media_of(benchmark, content), skip_missing=skip_missing)
        if missing and not skip_missing:
            tell(f"{len(missing):,} videos are not at hand, as '{min(missing)}'; evaluate needs them to show frames")
    return forecast(
        chosen,
        play,
        _planned_player(model, content, play, answers_format),
        judges,
        durations_s={str(video.id): video.duration_s for video in content.videos},
        background=background_of(content, judging),
        model=model,
        judge=judge_model.judge or "judge",
        sees_images=asking.sees == "images",
        image_tokens=asking.image_tokens,
        wrong=wrong_answers(content, play),
        subtitles=lines_spoken(content) if play.subtitles else None,
        null_units=judging.null_units,
        seed=judging.seed,
        controls=controls,
    )


def _planned_player(spec: str, content: Content, play: PlaySettings, answers_format: str | None) -> PlayerOf:
    """Who would answer, asking a model that only counts; None where no model is asked."""
    kind, colon, name = spec.partition(":")

    def player(model: AsyncModel) -> Player | None:
        if spec == "oracle" or kind == "mini" or (colon and kind in ("baseline", "python")):
            return None
        if colon and kind in ("answers", "human"):
            answers, sha256 = read_answers(spec, answers_format, content)
            assert answers is not None
            return AnswersPlayer.of(answers, source=name, sha256=sha256)
        if colon and kind == "summary":
            summaries = {str(video.id): video.summaries for video in content.videos}
            return SummaryPlayer(model, lambda video: told_summary(summaries.get(video, {})), style=play.answer_style)
        return ChatPlayer(model, answer_prompt(play.prompt, play.answer_style))

    return player
