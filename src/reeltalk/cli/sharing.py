"""Commands that hand results and benchmarks to other programs: the Hub, experiment trackers, evaluation harnesses."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.cli.app import Bar, settings_of
from reeltalk.errors import SettingError


class HarnessOptions(BaseModel):
    """What of a benchmark becomes a task of lmms-eval or VLMEvalKit, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str | None = None
    """Name of the task: lower case letters, digits and _; from the benchmark's name by default."""
    mode: Literal["dialogue", "streaming", "single"] | None = None
    """dialogue: chains of a video in order, and dialogues; streaming: along paths; single: no history."""
    split: str | None = None
    """Split of the videos; test where there is one, else all; `all` for all."""
    tasks: tuple[str, ...] = ()
    """Tasks of dialogues; all by default."""
    prompt: str | None = None
    """plain, svbench, mt-video-bench, vdact, dramaqa, or a file NAME.md."""
    subtitles: bool = False
    """Tell lines that were spoken and had ended by the moment of the question."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """The first dialogues or paths only."""
    no_videos: Annotated[bool, Parameter(name="--no-videos", negative="")] = False
    """Ask without videos."""


HARNESS_DEFAULTS = HarnessOptions()
Harness = Annotated[HarnessOptions, Parameter(name="*")]


def write_harness_task(harness: str, benchmark: Path, folder: Path, options: HarnessOptions, *, lies_at: Path) -> None:
    """Write a benchmark as a task of another harness and print what was written.

    Args:
        harness: A name of `HARNESSES`.
        benchmark: Folder of the benchmark.
        folder: An empty folder.
        options: What of it, and how it is asked.
        lies_at: Where the folder will lie.

    Raises:
        BenchmarkError: There is nothing to ask, or a video is not at hand.
        SettingError: An option does not fit.
    """
    from reeltalk.cli.evaluating import lines_spoken, media_of
    from reeltalk.evaluate.harnesses.asked import asked_turns
    from reeltalk.evaluate.harnesses.films import write_films
    from reeltalk.evaluate.harnesses.lmms_eval import write_lmms_eval
    from reeltalk.evaluate.harnesses.task import HarnessTask, signature_of, task_name, title_of
    from reeltalk.evaluate.harnesses.vlmevalkit import write_vlmevalkit
    from reeltalk.evaluate.playing.modes import Choice, scripts
    from reeltalk.evaluate.settings import PlaySettings
    from reeltalk.store.benchmark import Benchmark

    if harness == "vlmevalkit" and options.no_videos:
        raise SettingError("a video data set of VLMEvalKit needs its videos; leave --no-videos out")
    opened = Benchmark.open(benchmark)
    name = task_name(options.name, opened.manifest.name)
    content = opened.content()
    given = {"mode": options.mode, "prompt": options.prompt, "split": options.split, "tasks": options.tasks}
    play: PlaySettings = settings_of(
        PlaySettings,
        **{key: value for key, value in given.items() if value},
        history="none" if options.mode == "single" else "golden",
        subtitles=options.subtitles,
    )
    choice = Choice(mode=play.mode, split=play.split, tasks=play.tasks, limit=options.limit)
    turns = asked_turns(scripts(content, choice), play, subtitles=lines_spoken(content) if play.subtitles else None)
    films = None
    if not options.no_videos:
        videos = {str(video.id): video for video in content.videos}
        with Bar() as bar:
            films = write_films(turns, videos, media_of(opened, content), folder, progress=bar.show)
    task = HarnessTask(
        name=name,
        title=title_of(opened.manifest.name),
        turns=turns,
        films=films,
        signature=signature_of(
            f"{title_of(opened.manifest.name)}.{play.mode}",
            opened.manifest.content_hash,
            (("mode", play.mode), ("history", play.told), ("prompt", play.prompt)),
        ),
    )
    if harness == "lmms-eval":
        write_lmms_eval(task, folder, lies_at=lies_at)
    else:
        write_vlmevalkit(task, folder)
    told = len({turn.turn.video_id for turn in turns})
    print(f"task {name}: {len(turns):,} turns about {told:,} videos, history {play.told}")
    if films is not None:
        print(
            f"videos: {films.cut:,} files end at a question ({films.encoded:,} of them encoded anew), "
            f"{films.whole:,} are whole"
        )
