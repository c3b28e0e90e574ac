"""The command that writes dialogues and rubrics about the clips of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from reeltalk.cli.options import BUDGET, FLAG, IN_RUN, IN_START, MODEL, PLAN, START, ExecutorName, in_groups
from reeltalk.cli.terminal import ProgressBar, print_report, print_some, say
from reeltalk.errors import SettingError
from reeltalk.extension import PYTHON_PREFIX
from reeltalk_build.construct.settings import AskSettings, ConstructSettings, Step
from reeltalk_build.construct.writer_options import check_writer_options

if TYPE_CHECKING:
    from reeltalk.schema.dialogue import Turn, TurnRubric
    from reeltalk_build.construct.writers import Unwritten

CONSTRUCT_DEFAULTS, ASK_DEFAULTS = ConstructSettings(), AskSettings()
CHECKS: Final = Group("Checks", sort_key=6)
SHEETS: Final = Group("Sheets for people", sort_key=7)
SETTINGS_GROUPS: Final = {
    START: ("limit",),
    Group("Chains, linkages and paths", sort_key=3): (
        *("min_turns", "max_turns", "pairs", "drafts", "paths", "jump_probability"),
    ),
    Group("Scenes and dialogues", sort_key=4): (
        *("suitability", "dialogues", "merge_similarity", "theme_similarity", "cross_per_video"),
    ),
    Group("Objects and frames", sort_key=5): (
        "detector",
        "frames",
        "frame_width_px",
    ),
    CHECKS: ("quality", "attempts", "max_leaking"),
}
ASKING_GROUPS: Final = {
    START: ("base_url", "judge", "max_calls"),
    CHECKS: ("samples", "canaries", "attacker", "probe"),
    BUDGET: (
        *("connections", "timeout_s", "give_up_after_s", "preflight"),
        *("max_tokens", "max_cost", "more", "more_tokens", "more_cost", "price_in", "price_out", "image_tokens"),
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
    writer: Annotated[str, IN_START] = "graph",
    steps: tuple[Step, ...] = (),
    rubrics: Annotated[bool, FLAG] = False,
    sheet: Annotated[int | None, Parameter(group=SHEETS)] = None,
    apply: Annotated[tuple[Path, ...], Parameter(group=SHEETS)] = (),
    workers: Annotated[int | None, IN_RUN] = None,
    executor: ExecutorName = "local",
    plan: Annotated[bool, PLAN, IN_START] = False,
    settings: Settings = CONSTRUCT_DEFAULTS,
    asking: Asking = ASK_DEFAULTS,
) -> int:
    """Write question chains, linkages, dialogue paths, dialogues for six tasks and checklists about clips.

    Run it again to continue after an interruption: replies are kept, and steps whose inputs did not change are
    skipped. Exit code 1 if a model gave replies that cannot be used; if those are its first eight in a step, the step
    stops and shows one. With --rubrics, only write rubrics for existing open answers: the parts of a right answer, with
    the tags that each part shows. --sheet and --apply construct nothing: they draw turns for people to read, and add
    what people said about them.

    Example: `reeltalk construct benchmarks/kitchen --writer qwen3-vl --base-url http://localhost:8000/v1 --max-calls
    5000`; first `reeltalk construct benchmarks/kitchen --plan --writer gpt-4o-mini --price-in 0.15 --price-out 0.6`.

    Parameters
    ----------
    benchmark
        A benchmark with clips.
    writer
        `graph` for videos with graphs, or another writer that a package adds; else the name of a model, as its server
        knows it, inspect:PROVIDER/MODEL, or python:FILE.py:CLASS for a class of your own.
    steps
        Steps to run: objects, chains, linkages, paths, scenes, dialogues, gates; all by default.
    rubrics
        Write rubrics for existing chains or dialogues, for `reeltalk judge --protocols rubric-words`.
    sheet
        Draw so many turns by --seed for people to read: a page and a table in the folder BENCHMARK.sheet, without the
        results of checks. Half are of paths and chains, half of dialogues, evenly over the tasks.
    apply
        Filled sheets. Their shares, with intervals and agreement, stand on the card and on the page of the
        construction, beside those of the checks.
    workers
        Videos that are decoded at a time; by default one for each core.
    plan
        Forecast the requests to a language model, their tokens and their cost; send and write nothing.
    """
    if sheet is not None or apply:
        # Options in groups are of a class of their own, and models of different classes are never equal.
        given = {**settings.model_dump(), "seed": CONSTRUCT_DEFAULTS.seed}
        if given != CONSTRUCT_DEFAULTS.model_dump() or asking.model_dump() != ASK_DEFAULTS.model_dump():
            raise SettingError("--sheet and --apply take no other options of this command but --seed")
        if plan or steps or rubrics or writer != "graph":
            raise SettingError("--sheet and --apply construct nothing; leave out --writer, --steps, --plan")
        return _sheets(benchmark, sheet, apply, settings.seed)
    check_writer_options(writer, settings, asking, rubrics=rubrics)
    if rubrics:
        if plan or steps or workers is not None or executor != "local":
            raise SettingError("--rubrics writes rubrics only; leave out --plan, --steps, --workers and --executor")
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
            executor=opened,
            progress=bar.show,
            tell=say,
            note=lambda text: setattr(bar, "note", text),
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
    if writer.startswith(PYTHON_PREFIX) or (writer == "graph" and not answers):
        print(f"{'the graph' if writer == 'graph' else writer} asks no model of ours: no requests, no tokens, no money")
        return 0
    prices = prices_of(asking.price_in, asking.price_out, "--price")
    check_writer_options(writer, settings, asking)
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


def _sheets(benchmark: Path, sheet: int | None, filled: tuple[Path, ...], seed: int) -> int:
    from reeltalk.metrics.turn_checks import benchmark_quality, format_share
    from reeltalk.metrics.turn_sheet import sheet_sentences
    from reeltalk.store.benchmark import Benchmark
    from reeltalk_build.construct.sheets import PAGE, TABLE, apply_sheets, read_sheets, write_sheet

    opened = Benchmark.open(benchmark)
    if filled:
        found = read_sheets(opened, filled)
        apply_sheets(opened, found)
        people = "1 reader" if len(found.readers) == 1 else f"{len(found.readers)} readers"
        print(f"sheets: {found.turns:,} turns by {people}; {found.empty:,} rows without a verdict")
        read = benchmark_quality(opened).read
        for line in sheet_sentences(read, format_share) if read is not None else ():
            print(f"  {line}")
    if sheet is not None:
        if sheet < 1:
            raise SettingError(f"--sheet {sheet}: at least 1 turn")
        folder = benchmark.with_name(f"{benchmark.resolve().name}.sheet")
        if folder.exists():
            raise SettingError(f"{folder} exists; move it away, or give it another name")
        drawn = write_sheet(opened, folder, items=sheet, seed=seed)
        few = f"; the benchmark has no more than {drawn:,} for it" if drawn < sheet else ""
        print(f"sheet: {drawn:,} turns{few}")
        print(f"to read: {folder / PAGE}")
        print(f"to fill in: {folder / TABLE}, or the page itself")
    print(f"benchmark: {benchmark}")
    return 0
