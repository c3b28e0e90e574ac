"""Play scripts of an opened benchmark by settings that JSON can carry, in this process or in one that is told them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import SettingError
from reeltalk.evaluate.evaluation import Collected
from reeltalk.evaluate.opening import Opened, opened_player
from reeltalk.evaluate.playing.at_hand import media_of
from reeltalk.evaluate.playing.controls import other_videos
from reeltalk.evaluate.playing.frames import FrameServer
from reeltalk.evaluate.playing.histories import WrongAnswers
from reeltalk.evaluate.playing.modes import Choice
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.playing.subtitles import lines_spoken
from reeltalk.evaluate.settings import LimitSettings, ModelSettings, PlaySettings
from reeltalk.evaluate.stage import Judging, Played
from reeltalk.formats.registry import load_format
from reeltalk.judge import reference_checks
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm import Budget, ReplyStore
from reeltalk.progress import Progress, Tell
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.stages.asking import background_of, endpoint_of
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_source


class PlayingSettings(BaseModel):
    """Who answers and who judges, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str
    """Who answers, as on the command line."""
    play: PlaySettings
    judging: JudgeSettings
    asking: ModelSettings
    judge_model: JudgeModelSettings
    limits: LimitSettings
    """Budgets in it have no effect here."""
    answers_format: str | None = None
    """Layout of `answers:PATH` or `human:PATH`, where it is no benchmark."""
    workers: int = 2
    """Videos that are decoded at a time."""
    metadata: dict[str, str] = {}
    """Of the run, for the log."""


def opened(
    settings: PlayingSettings,
    benchmark: Benchmark,
    content: Content,
    *,
    store: ReplyStore,
    budget: Budget,
    frames: FrameServer,
    train: Benchmark | None,
    tell: Tell | None = None,
) -> Opened:
    """Who answers.

    Args:
        settings: Name it.
        benchmark: What is played.
        content: Its rows.
        store: Keeps replies.
        budget: What all requests may cost together.
        frames: Gives pictures.
        train: A benchmark that baselines learn from; this one's train split by default.
        tell: Told what the model's server does not take.

    Raises:
        OutageError: The model's server was tried, and no request can succeed.
        SettingError: There is none of the name, or its answers are in no layout that is known.
        ModelError: It cannot be opened.
        InputError: Its files, or its answers, are missing or damaged.
        MissingExtraError: What is needed to run it is not installed.
        BenchmarkError: It needs what the benchmark does not hold.
    """
    answers, sha256 = read_answers(settings.model, settings.answers_format, content)
    return opened_player(
        settings.model,
        benchmark,
        content,
        asking=endpoint_of(
            settings.asking,
            settings.limits,
            shows_frames=settings.play.frames.policy != "none" and settings.play.control != "none",
            tell=tell,
        ),
        store=store,
        budget=budget,
        picture=frames.jpeg,
        prompt=settings.play.prompt,
        style=settings.play.answer_style,
        answers=answers,
        answers_sha256=sha256,
        train=(train, train.content()) if train else None,
        workers=settings.workers,
    )


def frame_server(
    settings: PlayingSettings, benchmark: Benchmark, content: Content, scripts: Sequence[Script], folder: Path
) -> FrameServer:
    """Gives scripts their frames, or what a control shows in their place.

    Args:
        settings: How dialogues are played.
        benchmark: What is played.
        content: Its rows.
        scripts: What is played.
        folder: Keeps pictures.

    Raises:
        BenchmarkError: The control `other-video` has no other video to show.
    """
    play, media = settings.play, media_of(benchmark, content)
    return FrameServer(
        media,
        play.frames,
        folder,
        settings.workers,
        control=play.control,
        seed=play.seed,
        others=others_shown(play, content, scripts, media) if play.control == "other-video" else None,
    )


def others_shown(
    play: PlaySettings, content: Content, scripts: Sequence[Script], media: Callable[[str], Path | None]
) -> dict[str, str]:
    """For each video that is played the one whose pictures the control `other-video` shows.

    Raises:
        BenchmarkError: A split has no second video.
    """
    return other_videos(content.videos, media, seed=play.seed, wanted=(script.video_id for script in scripts))


def play_scripts(
    scripts: Sequence[Script],
    settings: PlayingSettings,
    content: Content,
    player: Opened,
    judged_by: Judging,
    *,
    frames: FrameServer,
    logs: Path,
    nulled: frozenset[reference_checks.UnitKey],
    progress: Progress,
) -> Collected:
    """Play scripts and judge their answers.

    Args:
        scripts: What is played.
        settings: How.
        content: Rows of the benchmark.
        player: Who answers.
        judged_by: By what answers are judged.
        frames: Gives frames.
        logs: Folder in which inspect_ai's log appears.
        nulled: Units whose empty answers a model judges.
        progress: Told after each turn.

    Raises:
        BudgetError: A limit would be passed; replies are kept.
        BenchmarkError: A history cannot be told as asked, or the folder cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    play = settings.play
    stage = Played(
        logs,
        judged_by,
        background_of(content, settings.judging),
        at_a_time=settings.limits.connections,
        progress=progress,
        nulled=nulled,
    )
    stage.run(
        scripts,
        player.player,
        play,
        frames,
        logged=player.logged,
        wrong=wrong_answers(content, play),
        subtitles=lines_spoken(content) if play.subtitles else None,
        metadata=settings.metadata,
    )
    return stage.collected


def choice_of(play: PlaySettings, limit: int | None) -> Choice:
    """What of a benchmark is played."""
    return Choice(play.mode, play.units, play.split, play.tasks, play.rounds, limit, play.rejump)


def wrong_answers(content: Content, play: PlaySettings) -> WrongAnswers | None:
    """Answers that a corrupted history may hold; None where histories are not corrupted."""
    if play.told != "corrupted":
        return None
    units: list[QAChain | Dialogue] = [*content.chains, *content.dialogues]
    return WrongAnswers([(unit.video_id, turn) for unit in units for turn in unit.turns], seed=play.seed)


def read_answers(model: str, format: str | None, about: Content) -> tuple[Content | None, str]:
    """What `answers:PATH` or `human:PATH` names, and its hash; nothing for all other models.

    Args:
        model: The model's name.
        format: Layout of the answers, unless they are a benchmark.
        about: The benchmark that is played.

    Raises:
        SettingError: It is no benchmark, and no layout is given.
        InputError: It is missing or damaged.
    """
    if not model.startswith(("answers:", "human:")):
        return None, ""
    path = Path(model.partition(":")[2])
    if (path / "manifest.json").is_file():
        found = Benchmark.open(path)
        return found.content(), found.manifest.content_hash
    if format is None:
        raise SettingError(f"{path} is no benchmark, so --answers-format must name its layout, as 'vdact'")
    return load_format(format).read_answers(path, about), hash_source(path)
