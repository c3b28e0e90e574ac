"""Commands that construct a benchmark, and that say before what it will cost."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.cli.app import Bar, app, print_report, say
from reeltalk.cli.asking import prices_of
from reeltalk.construct.settings import ConstructSettings, Step
from reeltalk.errors import SettingError

if TYPE_CHECKING:
    from reeltalk.construct.probing import Ask
    from reeltalk.construct.writers import Writer
    from reeltalk.llm import Budget, CachedModel, Model, ReplyStore
    from reeltalk.parallel import Executor
    from reeltalk.store.benchmark import Benchmark

Count = Annotated[int, Field(ge=1)]
Money = Annotated[float, Field(ge=0)]


class AskOptions(BaseModel):
    """How language models are asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    base_url: str | None = None
    """Address of an OpenAI-compatible server, as http://localhost:8000/v1; OpenAI's own by default."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    sees: Literal["images", "text"] = "images"
    """text: the writer sees no images; it is told of detected objects and signed writer:text-only."""
    judge: str | None = None
    """Model that judges chains and checklists; the writer itself by default."""
    probe: str | None = None
    """Model that is asked every question without the video and with its evidence, as a gate."""
    connections: Count = 4
    """Requests at a time."""
    max_reply_tokens: Count = 2048
    """Longest reply."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for one reply."""
    max_calls: Count | None = None
    """Hard limit: requests that may leave, repeated ones included."""
    max_tokens: Count | None = None
    """Hard limit: tokens of prompts and replies."""
    max_cost: Money | None = None
    """Hard limit: money, by the prices given."""
    price_in: Money | None = None
    """Price of a million tokens of prompt."""
    price_out: Money | None = None
    """Price of a million tokens of reply."""
    image_tokens: Count = 2048
    """Most tokens that the server counts for one image."""


DEFAULTS, ASK_DEFAULTS = ConstructSettings(), AskOptions()
Settings = Annotated[ConstructSettings, Parameter(name="*")]
Asking = Annotated[AskOptions, Parameter(name="*")]

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
        `graph` for videos with graphs; else the name of a model, as its server knows it, or inspect:PROVIDER/MODEL.
    steps
        Which steps: objects, chains, linkages, paths, scenes, dialogues, gates; all by default.
    run
        Runs with scores, by whose correct answers easy turns are found.
    workers
        Videos that are decoded at a time; by default one for each core.
    """
    from reeltalk.construct.balance import benchmark_shortfall
    from reeltalk.construct.balance import lines as balance_lines
    from reeltalk.construct.settings import STEPS
    from reeltalk.construct.stage import construct as run_stage
    from reeltalk.construct.step import Run
    from reeltalk.metrics.counting import counted, lines
    from reeltalk.parallel import LocalExecutor
    from reeltalk.store.benchmark import Benchmark

    if workers is not None and workers < 1:
        raise SettingError(f"--workers {workers}: at least one is needed")
    opened, executor = Benchmark.open(benchmark), LocalExecutor(workers)
    with opened_models(opened, writer, asking) as models, Bar() as bar:
        made = _writer(opened, writer, settings, asking, models, executor)
        probe = _probe(models, asking)
        report = run_stage(
            Run(
                opened,
                settings,
                made,
                executor,
                bar.show,
                runs=run,
                probe=probe,
                probe_name=asking.probe,
                probe_sees=asking.sees == "images",
            ),
            steps or STEPS,
        )
        models.tell_spent()
    print_report(report)
    found = counted(Benchmark.open(benchmark))
    for line in lines(found):
        print(line)
    if settings.balance is not None:
        for line in balance_lines(benchmark_shortfall(Benchmark.open(benchmark), settings.balance, settings.targets)):
            print(line)
    print(f"benchmark: {benchmark}")
    return 1 if found.malformed else 0


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
    from reeltalk.construct.settings import STEPS
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import CLIPS, VIDEOS

    if writer == "graph":
        print("the graph asks no model: no requests, no tokens, no money")
        return 0
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
    )
    for line in lines(found, videos, prices):
        print(line)
    return 0


class _Models:
    """Opens models that share a budget and the replies that were kept."""

    def __init__(self, asking: AskOptions, store: "ReplyStore", budget: "Budget") -> None:
        self._asking, self._store, self._budget = asking, store, budget
        self.opened: list[Model] = []

    def open(self, name: str, *, sees_images: bool) -> "CachedModel":
        from reeltalk.llm import CachedModel, Endpoint, InspectModel, LanguageModel

        asking = self._asking
        endpoint: Endpoint = Endpoint(
            model=name,
            base_url=asking.base_url,
            max_tokens=asking.max_reply_tokens,
            timeout_s=asking.timeout_s,
            image_tokens=asking.image_tokens,
            price_in=asking.price_in,
            price_out=asking.price_out,
        )
        model: Model
        if name.startswith("inspect:"):
            model = InspectModel(name, endpoint, budget=self._budget, sees_images=sees_images)
        else:
            key = os.environ.get(asking.api_key_env)
            model = LanguageModel(endpoint, api_key=key, budget=self._budget, sees_images=sees_images)
        self.opened.append(model)
        return CachedModel(model, self._store)

    def tell_spent(self) -> None:
        spent = self._budget.spent
        if self.opened:
            money = f", {spent.cost:,.4f} in money" if self._asking.price_in is not None else ""
            say(f"{spent.calls:,} requests, {spent.tokens:,} tokens{money}; {len(self._store):,} replies are kept")


@contextlib.contextmanager
def opened_models(benchmark: "Benchmark", writer: str, asking: AskOptions) -> Iterator[_Models]:
    """Models of a command that writes into a benchmark; they share a budget, and their replies are kept there.

    Args:
        benchmark: Where replies are kept.
        writer: Name of the one that writes.
        asking: How they are asked.

    Raises:
        SettingError: There is no such name.
    """
    from reeltalk.llm import Budget, ReplyStore
    from reeltalk.store.benchmark import WORK

    if not writer or writer != writer.strip():
        raise SettingError(f"--writer {writer!r}: give graph or the name of a model")
    budget = Budget(asking.max_calls, asking.max_tokens, asking.max_cost)
    folder = benchmark.path / WORK
    folder.mkdir(exist_ok=True)
    with ReplyStore(folder / "replies.sqlite") as store:
        models = _Models(asking, store, budget)
        try:
            yield models
        finally:
            for model in models.opened:
                model.close()


def _writer(
    benchmark: "Benchmark",
    name: str,
    settings: ConstructSettings,
    asking: AskOptions,
    models: _Models,
    executor: "Executor",
) -> "Writer":
    if name == "graph":
        from reeltalk.construct.graph_writer import GraphWriter

        if settings.language != "en":
            raise SettingError(f"--language {settings.language}: the graph writes English; choose a model as --writer")
        return GraphWriter(benchmark, settings)
    from reeltalk.construct.context import VideoContext
    from reeltalk.construct.model_writer import ModelWriter
    from reeltalk.store.tables import CLIPS

    sees_images = asking.sees == "images"
    context = VideoContext(
        benchmark, executor, frames=settings.frames, longest_px=settings.frame_width_px, sees_images=sees_images
    )
    return ModelWriter(
        models.open(name, sees_images=sees_images),
        context=context,
        clips={clip.id: clip for clip in benchmark.read(CLIPS)},
        language=settings.language,
        threads=asking.connections,
        judge=models.open(asking.judge, sees_images=sees_images) if asking.judge else None,
    )


def _probe(models: _Models, asking: AskOptions) -> "Ask | None":
    if asking.probe is None:
        return None
    from collections.abc import Sequence

    from reeltalk.llm import Message

    model = models.open(asking.probe, sees_images=asking.sees == "images")

    def ask(prompt: str, images: Sequence[bytes]) -> str:
        return model.ask([Message("user", prompt, tuple(images))]).text

    return ask
