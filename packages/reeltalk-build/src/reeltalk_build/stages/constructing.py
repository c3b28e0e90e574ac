"""Construct: a graph or a language model writes chains, linkages, paths, dialogues and checklists about clips."""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.extension import PYTHON_PREFIX, made_of
from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Message, Model, Reply, ReplyStore
from reeltalk.llm.budget import ROOM, format_options, prices_of
from reeltalk.llm.preflight import breaker_with_preflight
from reeltalk.llm.reply_tokens import longest_reply
from reeltalk.llm.retrying import Breaker
from reeltalk.llm.wire import create_breaker
from reeltalk.metrics.counting import BenchmarkCounts, count_benchmark
from reeltalk.metrics.counting import format_counts as counted_lines
from reeltalk.metrics.turn_checks import benchmark_quality, quality_sentences
from reeltalk.parallel import Executor, open_executor
from reeltalk.plugins import added
from reeltalk.progress import Progress, Tell, ignore_progress, ignore_sentences
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.server_address import check_server
from reeltalk.schema.settings import overlay
from reeltalk.stages.prompt_folders import check_folder
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS
from reeltalk_build.construct.added_writers import find_writer
from reeltalk_build.construct.balance import benchmark_shortfall
from reeltalk_build.construct.balance import format_shortfalls as balance_lines
from reeltalk_build.construct.context import JUDGE_DENSITY, VideoContext
from reeltalk_build.construct.forecast import (
    ENOUGH_REPLIES,
    ConstructionForecast,
    RunningForecast,
    forecast_construction,
)
from reeltalk_build.construct.model_writer import ModelWriter
from reeltalk_build.construct.prompting import PromptedModel, construction_prompts, prompts
from reeltalk_build.construct.retries import ReplyWatch, RetriedModel
from reeltalk_build.construct.settings import STEPS, AskSettings, ConstructSettings, RequestSettings, Step
from reeltalk_build.construct.stage import construct as compute
from reeltalk_build.construct.step import Ask
from reeltalk_build.construct.step import ConstructRun as ConstructRun
from reeltalk_build.construct.writer_options import GRAPH, check_writer_options
from reeltalk_build.construct.writers import Writer


class WritingModels:
    """Opens models that share a budget and the kept replies."""

    def __init__(self, benchmark: Benchmark, asking: RequestSettings, store: ReplyStore, tell: Tell) -> None:
        self._benchmark, self._asking, self._store, self._tell = benchmark, asking, store, tell
        more = asking.more, asking.more_tokens, asking.more_cost
        self._budget = Budget(asking.max_calls, asking.max_tokens, asking.max_cost, ledger=store, more=more)
        self._opened: list[Model] = []
        self._breakers: dict[str, Breaker] = {}
        self.watch = ReplyWatch()

    def open(self, name: str, *, option: str = "--writer", sees_images: bool, sample: int = 0) -> CachedModel:
        """A model by its name, or `inspect:PROVIDER/MODEL`. Each sample but the first has its own temperature and seed.

        Raises:
            SettingError: The model has no address.
            OutageError: Its server was tried, and no request can succeed.
            InputError: A row of the benchmark is damaged. All are read once, before the first request.
        """
        asking = self._asking
        key_variable = None if len(self._store) else asking.api_key_env
        besides = sorted(added("reeltalk.writers")) if option == "--writer" else ()
        check_server(name, asking.base_url, key_variable, name=option, besides=besides)
        key = os.environ.get(asking.api_key_env)
        if not self._opened:
            self._benchmark.check_rows()
        longest = asking.max_reply_tokens or longest_reply(name)
        endpoint = overlay(Endpoint(model=name), dict(asking) | {"max_tokens": longest})
        if sample:
            endpoint = endpoint.model_copy(update={"temperature": SAMPLE_TEMPERATURE, "seed": sample})
        breaker = self._breakers.get(name)
        if breaker is None and asking.preflight:
            breaker = breaker_with_preflight(
                endpoint,
                store=self._store,
                tell=self._tell,
                api_key=key,
                key_variable=asking.api_key_env,
                images=sees_images,
                schema=True,
                budget=self._budget,
            )
        self._breakers[name] = breaker = breaker or create_breaker(endpoint)
        model = LanguageModel(
            endpoint, api_key=key, budget=self._budget, sees_images=sees_images, store=self._store, breaker=breaker
        )
        self._opened.append(model)
        return CachedModel(model, self._store, sample=sample)

    def open_retried(
        self, name: str, asking: AskSettings, option: str = "--writer", *, sample: int = 0
    ) -> RetriedModel:
        """The same, asked again where its replies cannot be used."""

        def opened(retry: int) -> CachedModel:
            number = sample + RETRY_STRIDE * retry
            return self.open(name, option=option, sees_images=asking.sees == "images", sample=number)

        return RetriedModel(opened, self.watch, retries=asking.retry_unwritten)

    def forecast(self, found: ConstructionForecast, note: Tell) -> None:
        """Say what is left as replies come in: in a note, and once, after `ENOUGH_REPLIES`, with the limits."""
        prices = prices_of(self._asking.price_in, self._asking.price_out, "--price")
        running = RunningForecast(found, prices)
        self._budget.expected = running.left

        def measure(step: Step | None, prompt: str, reply: Reply) -> None:
            replies, left = running.measure(step, prompt, reply), running.left()
            money = f", {left.cost:,.2f} in money" if prices is not None else ""
            note(f"about {left}{money} to come" if replies >= ENOUGH_REPLIES else "")
            if replies == ENOUGH_REPLIES and left.calls:
                short = self._budget.lacking(left) and self._budget.lacking(left.times(ROOM))
                stops = f"; the limits stop it before its end, unless you add {format_options(short)}" if short else ""
                self._tell(f"by the first {ENOUGH_REPLIES} replies, about {left}{money} are to come{stops}")

        self.watch.measure = measure

    @property
    def are_open(self) -> bool:
        """True if any model was opened."""
        return bool(self._opened)

    def close(self) -> None:
        """Close all models, and tell what was spent."""
        for model in self._opened:
            model.close()
        if self._opened:
            spent = self._budget.spent - self._budget.before
            money = f", {spent.cost:,.4f} in money" if self._asking.price_in is not None else ""
            whole = f"; {self._budget.spent} with earlier calls" if self._budget.before.calls else ""
            self._tell(f"{spent}{money}{whole}; {len(self._store):,} replies are kept")


@contextlib.contextmanager
def open_models(
    benchmark: Benchmark, asking: RequestSettings, *, tell: Tell, replies: str = "replies.sqlite"
) -> Iterator[WritingModels]:
    """Create the models of a stage that writes into a benchmark."""
    folder = benchmark.path / WORK
    folder.mkdir(exist_ok=True)
    with (
        ReplyStore(folder / replies) as store,
        contextlib.closing(WritingModels(benchmark, asking, store, tell)) as models,
    ):
        yield models


SAMPLE_TEMPERATURE: Final = 0.7
"""Temperature of further samples. With temperature 0 all samples would be the same."""
RETRY_STRIDE: Final = 1000
"""Difference in sample numbers between a sample and its retry, which is more samples than anyone asks for."""
WRITER_METHODS: Final = ("signature", "chain", "linkages", "caption", "suitability", "dialogue", "checklists")
"""What a user's writer must have of its own."""
METHOD_PARAMETERS: Final = {"chain": ("around", "advice"), "dialogue": ("earlier", "advice")}
"""Parameters that its methods must take."""


@dataclass(frozen=True, repr=False)
class ConstructReport(HasOverview):
    """Result of construction, with the number of malformed replies."""

    stage: StageReport
    """Rows written by table, rejections and warnings."""
    counted: BenchmarkCounts
    """The benchmark's units, turns and gates in numbers."""
    checked: tuple[str, ...] = ()
    """How far the benchmark is checked: what was not, and the share of turns that passed, in sentences."""
    balance: tuple[str, ...] = ()
    """What is missing for the balance that the settings require, one line each."""

    @property
    def complete(self) -> bool:
        """True if all replies were valid and all films could be shown. Otherwise the command line exits with 1."""
        return not self.counted.malformed and self.stage.complete

    def lines(self, *, shown: int | None = 5, listed: Path | None = None) -> Iterable[str]:
        """The lines that the command line prints; the arguments are those of `StageReport.lines`."""
        yield from self.stage.lines(shown=shown, listed=listed)
        yield from counted_lines(self.counted)
        yield from self.balance
        yield from self.checked

    def overview(self) -> Overview:
        """The rows written by table, the rejections, and how far the benchmark is checked."""
        first, *rest = self.lines()
        rejected = self.stage.overview()
        told = set(self.stage.lines())
        return dataclasses.replace(rejected, title=first, notes=tuple(line for line in rest if line not in told))


def construct(
    benchmark: Benchmark,
    *,
    writer: str = GRAPH,
    settings: ConstructSettings | None = None,
    asking: AskSettings | None = None,
    steps: Sequence[Step] = (),
    executor: Executor | None = None,
    progress: Progress = ignore_progress,
    tell: Tell = ignore_sentences,
    note: Tell = ignore_sentences,
) -> ConstructReport:
    """Write question chains, linkages, dialogue paths, dialogues for six tasks and checklists about clips.

    Call it again to continue after an interruption. Replies are kept, and steps with unchanged inputs are skipped.

    Args:
        benchmark: One with clips.
        writer: `graph` for videos with graphs. Otherwise the name of a model, `inspect:PROVIDER/MODEL`, or
            `python:MODULE:CLASS` for your own class, which is created with the benchmark and the settings.
        settings: What to write, and the gates that it must pass.
        asking: How models are asked, and their limits.
        steps: Steps to run. The default is all.
        executor: Runs the decoding. The default is one process for each core of this machine.
        progress: Called with the share of a step that is done.
        tell: Receives a sentence about the requests to models.
        note: Receives what is expected to be asked still, whenever a reply has come.

    Raises:
        SettingError: There is no such writer, it does not support these settings, or one has no effect on it.
        BenchmarkError: There are no clips, or reviewed work would be overwritten.
        FrozenError: The benchmark is a release.
        BudgetError: A limit would be exceeded. The same call with a higher limit continues.
        OutageError: A model's server does not answer. The same call continues from the kept replies.
        UnusableError: The first replies of a model in a step cannot be used. Earlier steps and all replies are kept.
        ModelError: A model cannot be opened.
    """
    benchmark.check_changeable()
    settings, asking = settings or ConstructSettings(), asking or AskSettings()
    check_writer_options(writer, settings, asking)
    check_folder(asking.prompts, construction_prompts(settings.language))
    executor = executor or open_executor()
    if writer in asking.judge:
        tell(f"{writer} is writer and judge: a model overlooks its own faults; name another model as --judge")
    if not writer or writer != writer.strip():
        raise SettingError(f"--writer {writer!r}: give graph or the name of a model")
    with open_models(benchmark, asking, tell=tell) as models:
        run = prepare_run(benchmark, writer, settings, asking, models, executor, steps)
        if models.are_open:
            found = forecast_construction(benchmark, writer=writer, settings=settings, asking=asking, steps=steps)
            models.forecast(found, note)
        run.progress, run.tell = progress, tell
        report = compute(run, tuple(steps) or STEPS)
    written = Benchmark.open(benchmark.path)
    balance: tuple[str, ...] = ()
    if settings.balance is not None:
        balance = tuple(balance_lines(benchmark_shortfall(written, settings.balance, settings.targets)))
    checked = tuple(quality_sentences(benchmark_quality(written)))
    return ConstructReport(report, count_benchmark(written), checked, balance)


def prepare_run(
    benchmark: Benchmark,
    writer: str,
    settings: ConstructSettings,
    asking: AskSettings,
    models: WritingModels,
    executor: Executor,
    steps: Sequence[Step],
) -> ConstructRun:
    """The writer, the judges and the models that answer, with the benchmark that they work on.

    Raises:
        SettingError: There is no such writer, or it does not support these settings.
    """
    added = find_writer(writer)
    return ConstructRun(
        benchmark,
        settings,
        _writer(benchmark, writer, settings, asking, models, executor, paths_alone=set(steps) == {"paths"}),
        executor,
        judges=_judges(models, settings, asking),
        probe=_answering(models, asking.probe, asking, "--probe") if asking.probe else None,
        probe_name=asking.probe,
        probe_sees=asking.sees == "images",
        attackers={name: _answering(models, name, asking, "--attacker") for name in asking.attacker},
        canaries=asking.canaries,
        prompts=asking.prompts,
        watch=models.watch,
        retries=asking.retry_unwritten,
        blocks=None if added is None else added.blocks,
    )


def _writer(
    benchmark: Benchmark,
    name: str,
    settings: ConstructSettings,
    asking: AskSettings,
    models: WritingModels,
    executor: Executor,
    *,
    paths_alone: bool,
) -> Writer:
    if (added := find_writer(name)) is not None:
        return added.create(benchmark, settings, paths_alone)
    if name.startswith(PYTHON_PREFIX):
        own: Writer = made_of(name.removeprefix(PYTHON_PREFIX), benchmark, settings, needs=WRITER_METHODS).object
        if not isinstance(own, Writer):
            raise SettingError(f"{name}: derive the class from reeltalk_build.construct.writers.Writer")
        for method, wanted in METHOD_PARAMETERS.items():
            taken = signature(getattr(own, method)).parameters
            missing = [one for one in wanted if one not in taken]
            if missing and all(one.kind is not Parameter.VAR_KEYWORD for one in taken.values()):
                raise SettingError(f"{name}: its method {method}() does not take {missing[0]!r}; add the parameter")
        return own
    sees_images = asking.sees == "images"
    size = {"frames": settings.frames, "longest_px": settings.frame_width_px}
    context, denser = (
        VideoContext(benchmark, executor, sees_images=sees_images, denser=times, **size)
        for times in (1.0, JUDGE_DENSITY)
    )
    return ModelWriter(
        models.open_retried(name, asking),
        context=context,
        clips={clip.id: clip for clip in benchmark.read(CLIPS)},
        language=settings.language,
        threads=asking.connections,
        judges=[
            models.open_retried(judge, asking, "--judge", sample=sample)
            for judge in asking.judge
            for sample in range(asking.samples)
        ],
        judge_context=denser,
        own_prompts=asking.prompts,
    )


def _judges(models: WritingModels, settings: ConstructSettings, asking: AskSettings) -> tuple[PromptedModel, ...]:
    own = prompts(settings.language, asking.prompts)
    opened = [models.open_retried(name, asking, "--judge") for name in asking.judge]
    return tuple(PromptedModel(model, settings.language, own) for model in opened)


def _answering(models: WritingModels, name: str, asking: AskSettings, option: str) -> Ask:
    model = models.open_retried(name, asking, option)

    def ask(prompt: str, images: Sequence[bytes]) -> str:
        return model.ask([Message("user", prompt, tuple(images))]).text

    return ask
