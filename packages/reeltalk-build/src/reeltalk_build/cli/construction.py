"""The command that writes dialogues and rubrics about the clips of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from reeltalk.cli.options import BUDGET, FIRST, FLAG, HOW, MODEL, PLAN, START, ExecutorName, in_groups
from reeltalk.cli.terminal import ProgressBar, print_report, print_some, say
from reeltalk.errors import SettingError
from reeltalk.extension import PREFIX
from reeltalk_build.construct.settings import AskSettings, ConstructSettings, Step
from reeltalk_build.construct.writer_options import check_writer_options

if TYPE_CHECKING:
    from reeltalk.schema.dialogue import Turn, TurnRubric
    from reeltalk_build.construct.writers import Unwritten

CONSTRUCT_DEFAULTS, ASK_DEFAULTS = ConstructSettings(), AskSettings()
CHECKS: Final = Group("Checks", sort_key=6)
SETTINGS_GROUPS: Final = {
    START: ("limit",),
    Group("Chains, linkages and paths", sort_key=3): (
        *("min_turns", "max_turns", "pairs", "drafts", "paths", "jump_probability"),
    ),
    Group("Scenes and dialogues", sort_key=4): (
        *("suitability", "dialogues", "merge_similarity", "theme_similarity", "cross_per_video"),
    ),
    Group("Objects and frames", sort_key=5): (
        *("detector", "object_captions", "object_captions_per_video", "frames", "frame_width_px"),
    ),
    CHECKS: ("quality", "attempts", "max_leaking", "easy_runs", "easy"),
}
ASKING_GROUPS: Final = {
    START: ("base_url", "judge", "max_calls"),
    CHECKS: ("samples", "attacker", "probe"),
    BUDGET: (
        *("connections", "timeout_s", "give_up_after_s", "preflight"),
        *("max_tokens", "max_cost", "price_in", "price_out", "image_tokens"),
    ),
}
if TYPE_CHECKING:
    Settings = ConstructSettings
    Asking = AskSettings
else:
    Settings = Annotated[
        in_groups(ConstructSettings, SETTINGS_GROUPS),
        Parameter(name="*", group=Group("Language and balance", sort_key=2)),
    ]
    Asking = Annotated[in_groups(AskSettings, ASKING_GROUPS), Parameter(name="*", group=MODEL)]
REASONS_SHOWN: Final = 5


def construct(
    benchmark: Path,
    /,
    *,
    writer: Annotated[str, FIRST] = "graph",
    steps: tuple[Step, ...] = (),
    rubrics: Annotated[bool, FLAG] = False,
    run: Annotated[tuple[Path, ...], Parameter(name=("--run", "--runs"))] = (),
    workers: Annotated[int | None, HOW] = None,
    executor: ExecutorName = "local",
    plan: Annotated[bool, PLAN, FIRST] = False,
    settings: Settings = CONSTRUCT_DEFAULTS,
    asking: Asking = ASK_DEFAULTS,
) -> int:
    """Write question chains, linkages, dialogue paths, dialogues for six tasks and checklists about clips.

    Run it again to continue after an interruption: replies are kept, and steps whose inputs did not change are
    skipped. Exit code 1 if a model gave replies that cannot be used; if those are its first eight in a step, the step
    stops and shows one. With --rubrics, only write rubrics for existing open answers: the parts of a right answer, with
    the tags that each part shows.

    Example: `reeltalk construct benchmarks/kitchen --writer qwen3-vl --base-url http://localhost:8000/v1 --max-calls
    5000`; first `reeltalk construct benchmarks/kitchen --plan --writer gpt-4o-mini --price-in 0.15 --price-out 0.6`.

    Parameters
    ----------
    benchmark
        A benchmark with clips.
    writer
        `graph` for videos with graphs; else the name of a model, as its server knows it, inspect:PROVIDER/MODEL, or
        python:FILE.py:CLASS for a class of your own.
    steps
        Steps to run: objects, chains, linkages, paths, scenes, dialogues, gates; all by default.
    rubrics
        Write rubrics for existing chains or dialogues, for `reeltalk judge --protocols rubric-words`.
    run
        Runs with scores. Their correct answers show which turns are easy.
    workers
        Videos that are decoded at a time; by default one for each core.
    plan
        Forecast the requests to a language model, their tokens and their cost; send and write nothing.
    """
    check_writer_options(writer, settings, asking, has_runs=bool(run), rubrics=rubrics)
    if rubrics:
        if plan or steps or run or workers is not None or executor != "local":
            raise SettingError(
                "--rubrics writes rubrics only; leave out --plan, --steps, --run, --workers and --executor"
            )
        return _write_rubrics(benchmark, writer, settings, asking)
    if plan:
        return _plan(benchmark, writer, steps, settings, asking)
    from reeltalk.parallel import open_executor
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.stages.constructing import construct as run_stage

    opened = open_executor(executor, workers, shared=[benchmark])
    with ProgressBar() as bar:
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
    print_report(done, benchmark)
    print(f"benchmark: {benchmark}")
    return 0 if done.complete else 1


def _plan(
    benchmark: Path, writer: str, steps: tuple[Step, ...], settings: ConstructSettings, asking: AskSettings
) -> int:
    from reeltalk.llm.budget import prices_of
    from reeltalk.stages.prompt_folders import check_folder
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.forecast import forecast_construction, format_construction_forecast
    from reeltalk_build.construct.prompting import construction_prompts

    answers = asking.probe or asking.judge or asking.attacker
    if writer.startswith(PREFIX) or (writer == "graph" and not answers):
        print(f"{'the graph' if writer == 'graph' else writer} asks no model of ours: no requests, no tokens, no money")
        return 0
    prices = prices_of(asking.price_in, asking.price_out, "--price")
    check_writer_options(writer, settings, asking, has_runs=True)
    check_folder(asking.prompts, construction_prompts(settings.language))
    found = forecast_construction(
        Benchmark.open(benchmark), writer=writer, settings=settings, asking=asking, steps=steps
    )
    for line in format_construction_forecast(found, prices):
        print(line)
    return 0


def _write_rubrics(benchmark: Path, writer: str, settings: ConstructSettings, asking: AskSettings) -> int:
    if settings != CONSTRUCT_DEFAULTS.model_copy(update={"language": settings.language}):
        raise SettingError("--rubrics takes --writer, --language and the options of the model only")
    language = settings.language
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.rubrics import graph_rubric, model_rubric, write_rubrics

    opened = Benchmark.open(benchmark)
    if writer == "graph":
        found = write_rubrics(opened, lambda turn, _: graph_rubric(turn), writer=writer)
    else:
        from reeltalk.stages.prompt_folders import check_folder
        from reeltalk_build.construct.prompting import PromptedModel, construction_prompts, prompts
        from reeltalk_build.stages.constructing import open_models

        check_folder(asking.prompts, construction_prompts(language))
        own = prompts(language, asking.prompts)
        with open_models(opened, asking, tell=say) as models:
            text_only = asking.model_copy(update={"sees": "text"})
            model = PromptedModel(models.open_retried(writer, text_only), language, own)

            def write(turn: "Turn", history: "Sequence[Turn]") -> "TurnRubric | Unwritten | None":
                return model_rubric(model, turn, history)

            found = write_rubrics(opened, write, writer=writer)
    print(f"rubrics: {found.written:,} of {found.turns:,} turns, {found.items:,} parts; {found.single:,} of one part")
    print_some([f"  no rubric for {reason}" for reason in found.unwritten], benchmark, most=REASONS_SHOWN)
    print(f"benchmark: {benchmark}")
    return 1 if found.unwritten else 0
