"""Commands that construct a benchmark, and that say before what it will cost."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from reeltalk.cli.app import Bar, ExecutorName, app, say
from reeltalk.construct.settings import AskSettings, ConstructSettings, Step
from reeltalk.extension import PREFIX

DEFAULTS, ASK_DEFAULTS = ConstructSettings(), AskSettings()
Settings = Annotated[ConstructSettings, Parameter(name="*")]
Asking = Annotated[AskSettings, Parameter(name="*")]

plan = App(name="plan", help="Say what a command will ask and cost, before anything is spent.", sort_key=4)
app.command(plan)


@app.command(sort_key=3)
def construct(
    benchmark: Path,
    /,
    *,
    writer: str = "graph",
    steps: tuple[Step, ...] = (),
    run: tuple[Path, ...] = (),
    workers: int | None = None,
    executor: ExecutorName = "local",
    settings: Settings = DEFAULTS,
    asking: Asking = ASK_DEFAULTS,
) -> int:
    """Write question chains, linkages, dialogue paths, dialogues for six tasks and checklists about clips.

    Example: `reeltalk construct benchmarks/kitchen --writer qwen3-vl --base-url http://localhost:8000/v1 --max-calls
    5000`. Run it again to go on after an interruption: replies are kept, and steps whose inputs did not change are
    passed over. Exit code 1 where a model gave replies that cannot be used.

    Parameters
    ----------
    benchmark
        A benchmark with clips.
    writer
        `graph` for videos with graphs; else the name of a model, as its server knows it, inspect:PROVIDER/MODEL, or
        python:FILE.py:CLASS for a class of your own.
    steps
        Which steps: objects, chains, linkages, paths, scenes, dialogues, gates; all by default.
    run
        Runs with scores, by whose correct answers easy turns are found.
    workers
        Videos that are decoded at a time; by default one for each core.
    """
    from reeltalk.parallel import open_executor
    from reeltalk.stages.constructing import construct as run_stage
    from reeltalk.store.benchmark import Benchmark

    opened = open_executor(executor, workers, shared=[benchmark])
    with Bar() as bar:
        done = run_stage(
            Benchmark.open(benchmark),
            writer=writer,
            settings=settings,
            asking=asking,
            steps=steps,
            runs=run,
            executor=opened,
            progress=bar.show,
            tell=say,
        )
    for line in done.lines():
        print(line)
    print(f"benchmark: {benchmark}")
    return 0 if done.complete else 1


@plan.command(name="construct")
def plan_construct(
    benchmark: Path,
    /,
    *,
    writer: str,
    steps: tuple[Step, ...] = (),
    settings: Settings = DEFAULTS,
    asking: Asking = ASK_DEFAULTS,
) -> int:
    """Forecast the requests, tokens and money of `reeltalk construct` with a language model; asks nothing.

    Example: `reeltalk plan construct benchmarks/kitchen --writer gpt-4o-mini --price-in 0.15 --price-out 0.6`.

    Parameters
    ----------
    benchmark
        A benchmark with clips.
    writer
        `graph`, or the name of a model.
    steps
        Which steps; all by default.
    """
    from itertools import islice

    from reeltalk.construct.forecast import forecast, lines
    from reeltalk.construct.prompting import prompt_group
    from reeltalk.construct.settings import STEPS
    from reeltalk.llm.budget import prices_of
    from reeltalk.stages.prompt_folders import check_folder
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import CLIPS, VIDEOS

    if writer == "graph" or writer.startswith(PREFIX):
        print(f"{'the graph' if writer == 'graph' else writer} asks no model of ours: no requests, no tokens, no money")
        return 0
    check_folder(asking.prompts, prompt_group(settings.language))
    prices = prices_of(asking.price_in, asking.price_out, "--price")
    opened = Benchmark.open(benchmark)
    videos = list(islice(opened.read(VIDEOS), settings.limit))
    clips: dict[str, list[Any]] = {video.id: [] for video in videos}
    for clip in opened.read(CLIPS):
        if clip.video_id in clips:
            clips[clip.video_id].append(clip)
    found = forecast(
        clips,
        settings,
        sees_images=asking.sees == "images",
        image_tokens=asking.image_tokens,
        probe=asking.probe is not None,
        steps=steps or STEPS,
        own_prompts=asking.prompts,
    )
    for line in lines(found, videos, prices):
        print(line)
    return 0
