"""Commands on the simulated household: release a benchmark, film scenarios or one program, list a house."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Group, Parameter
from pydantic import Field

from reeltalk.cli.options import IN_OUTPUT, IN_RUN, ExecutorName
from reeltalk.cli.terminal import ProgressBar, print_report, say
from reeltalk.errors import BenchmarkError, MissingExtraError, SettingError
from reeltalk_household.world.settings import FilmSettings

if TYPE_CHECKING:
    pass

world = App(name="world", group_commands=Group("Commands", sort_key=0), group_parameters=Group("Household", sort_key=1))

DEFAULTS = FilmSettings()


@world.command(sort_key=1)
def film(
    *,
    into: Annotated[Path, IN_OUTPUT],
    workers: Annotated[int | None, IN_RUN] = None,
    executor: ExecutorName = "local",
    settings: Annotated[FilmSettings, Parameter(name="*", group=Group("Film", sort_key=2))] = DEFAULTS,
) -> int:
    """Film scenarios of a household into a benchmark: videos, clips, graphs, template summaries, splits by house.

    Run it again to continue after an interruption. The same settings give the same tables and the same frames.

    Example: `reeltalk world film --scenarios 20 --seed 7 --into benchmarks/household`.

    Parameters
    ----------
    into
        Folder of the benchmark to write.
    workers
        Videos that are filmed at a time; by default one for each core.
    """
    from reeltalk.parallel import open_executor
    from reeltalk_household.stages.filming import film as run_stage

    with ProgressBar() as bar:
        done = run_stage(
            into=into, settings=settings, executor=open_executor(executor, workers, shared=[into]), progress=bar.show
        )
    print_report(done, into)
    print(f"benchmark: {into}")
    return 0


@world.command(sort_key=3)
def release(
    *,
    out: Annotated[Path, IN_OUTPUT],
    videos: int = 1000,
    seed: int = 1,
    workers: Annotated[int | None, IN_RUN] = None,
    executor: ExecutorName = "local",
) -> int:
    """Make reeltalk-household: films, questions, dialogues, streams, checks, baselines, leaderboard, card, Croissant.

    The folder becomes a project with its recipe, `project.yaml`. Run the same command again to continue after an
    interruption. To change the recipe, edit the file, then run `reeltalk run FOLDER`. The same recipe gives the same
    release. Exit code 1 if a step has findings, as questions that could not be written.

    Example: `reeltalk world release --videos 12 --out household`.

    Parameters
    ----------
    out
        Folder of the project.
    videos
        Number of videos; there is a house for ten of them, and at least five.
    seed
        Decides the scenarios.
    workers
        Videos that are filmed and decoded at a time; by default one for each core.
    """
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.consent import mark_made
    from reeltalk.store.documents import read_text
    from reeltalk_build.cli.projects import PROJECT_FILE, run_project
    from reeltalk_household.benchmarks.household import release_recipe

    recipe = release_recipe(videos, seed, workers=workers, executor=executor)
    file = out / PROJECT_FILE
    if file.exists() and read_text(file) != recipe:
        raise BenchmarkError(
            f"{file} has another recipe; run it with 'reeltalk run {out}', or choose another folder as --out"
        )
    write_bytes(file, recipe.encode())
    mark_made(out)
    return run_project(out)


MODEL = "model"
CHECKPOINT = "checkpoint"
"""Folders, in the folder of a run, of the exported model and of the network as a torch checkpoint."""


@world.command(sort_key=4)
def train(
    bench: Path,
    /,
    *,
    out: Annotated[Path, IN_OUTPUT],
    seed: int = 17,
    share: Annotated[float, Field(gt=0, le=1)] = 1.0,
    eye_steps: Annotated[int, Field(ge=1)] | None = None,
    speech_steps: Annotated[int, Field(ge=1)] | None = None,
    threads: Annotated[int, Field(ge=1)] = 2,
    frames: Path | None = None,
) -> int:
    """Train reeltalk-mini from nothing on a filmed household, and export it for use without torch. Needs `train`.

    Run it again to continue after an interruption; the losses are the same; then `reeltalk evaluate BENCH --model
    mini:models/mini/model`.

    Example: `reeltalk world train benchmarks/household --out models/mini --seed 17`.

    Parameters
    ----------
    bench
        A benchmark as `reeltalk world film` makes it, with train and dev videos.
    out
        Folder to create: model/ for use without torch, checkpoint/ for use with it, the state to continue from,
        loss.jsonl and run.json.
    seed
        Seed of the initial weights and of the questions.
    share
        Share of the steps of both parts, for a point of a learning curve.
    eye_steps
        Steps of the vision encoder, of 24 frames.
    speech_steps
        Steps of projector and decoder, of 8 dialogues.
    threads
        Number of cores to use.
    frames
        Folder for decoded frames, which several seeds may share; in the folder of the run by default.
    """
    if share != 1 and eye_steps is not None and speech_steps is not None:
        raise SettingError("--share has no effect: --eye-steps and --speech-steps set the steps of both parts")
    try:
        from reeltalk.parallel.local import LocalExecutor
        from reeltalk.store.benchmark import Benchmark
        from reeltalk_household.mini.mini_input import TOKENIZER
        from reeltalk_household.training.export_onnx import export_mini
        from reeltalk_household.training.mini_training import train_mini
        from reeltalk_household.training.network import save_mini
        from reeltalk_streaming.training.settings import MiniSettings, SpeechSettings, VisionSettings
    except ImportError:
        raise MissingExtraError("training reeltalk-mini", extra="train", of="reeltalk-household") from None

    def steps(part: VisionSettings | SpeechSettings, asked: int | None) -> dict[str, int]:
        count = asked or max(1, round(part.steps * share))
        return {"steps": count, "warmup": min(part.warmup, max(1, count // 5))}

    settings = MiniSettings(seed=seed, threads=threads)
    settings = settings.model_copy(
        update={
            "eye": settings.eye.model_copy(update=steps(settings.eye, eye_steps)),
            "speech": settings.speech.model_copy(update=steps(settings.speech, speech_steps)),
        }
    )
    benchmark = Benchmark.open(bench)
    with ProgressBar() as bar:
        model, _ = train_mini(
            benchmark, out, settings, frames=frames or out / "frames", executor=LocalExecutor(threads),
            progress=bar.show,
        )  # fmt: skip
    save_mini(out / CHECKPOINT, model, out / TOKENIZER, overwrite=True)
    export_mini(model, out / TOKENIZER, out / MODEL, overwrite=True)
    say(f"reeltalk-mini: {out / MODEL}")
    return 0
