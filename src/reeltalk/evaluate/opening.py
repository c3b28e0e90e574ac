"""From names on the command line to what answers and what judges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from reeltalk.errors import SettingError
from reeltalk.evaluate.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluate.playing.kept import KeptPlayer
from reeltalk.evaluate.playing.player import Player
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.settings import AnswerStyle, ModelSettings
from reeltalk.extension import PREFIX as PREFIX_OF_OWN
from reeltalk.judge.judge import Judge
from reeltalk.judge.protocol import OWN, official_sampling, protocols
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.llm.model import INSPECT
from reeltalk.schema.server_address import check_server
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

if TYPE_CHECKING:
    from reeltalk.llm.client import Picture
    from reeltalk.llm.inspect_models import ServedModel
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.wire import Sender

KINDS: Final = (
    "baseline:NAME", "oracle", "summary:MODEL", "answers:PATH", "human:PATH", "python:CLASS", "transformers:FOLDER",
    "mini", "mini:FOLDER",
)  # fmt: skip
"""What may stand before or in place of a model's name; all else names a model at an address."""


_NOT_AT_AN_ADDRESS: Final = frozenset({"baseline", "answers", "human", "python"})

Memory = Literal["all", "bounded"]


@dataclass(frozen=True)
class Asking:
    """How a language model is asked."""

    endpoint: Endpoint
    api_key: str | None = None
    key_variable: str | None = None
    """Environment variable that holds the key, for errors."""
    option: str = "--base-url"
    """Of the address, for errors."""
    preflight: bool = False
    """Try the server before the first request."""
    shows_frames: bool = True
    """Whether pictures will be sent to a model that takes them."""
    wants_schema: bool = False
    """Whether a JSON schema will be asked for."""
    tell: Callable[[str], object] | None = None
    """Told in a sentence what the server does not take."""
    connections: int = 20
    """Requests at a time."""
    stream: bool = False
    """Let replies come in pieces, so that the time to the first token is known."""
    batch: bool = False
    """Use a provider's batch API, where inspect_ai offers it."""
    sees_images: bool = True
    memory: Memory = "all"
    """What a model that follows streams keeps of them."""
    model_args: Mapping[str, Any] = field(default_factory=dict)


def check_player(spec: str, asking: ModelSettings, *, kept: bool = False) -> None:
    """Refuse a model that answers at no address, before anything is read.

    Args:
        spec: One of `KINDS`, or the name of a model at an address.
        asking: Where it is, and where its key is.
        kept: Whether replies are kept, so that no key may be needed.

    Raises:
        SettingError: It can be asked nowhere.
    """
    kind, colon, name = spec.partition(":")
    if spec == "oracle" or kind == "mini" or (colon and kind in _NOT_AT_AN_ADDRESS):
        return
    model = name if colon and kind == "summary" else spec
    check_server(model, asking.base_url, None if kept else asking.api_key_env)


def served(
    spec: str, asking: Asking, store: ReplyStore, budget: Budget | None, picture: "Picture | None" = None
) -> "ServedModel":
    """A language model by its name.

    Args:
        spec: `inspect:PROVIDER/MODEL`, `transformers:FOLDER`, or the name of a model at the endpoint's address.
        asking: How it is asked.
        store: Keeps its replies.
        budget: Limits.
        picture: Gives the JPEG files for what messages hold in place of pictures.

    Raises:
        MissingExtraError: What is needed to ask it is not installed.
        ModelError: It cannot be opened.
        OutageError: Its server was tried, and no request can succeed.
        SettingError: `--batch` is asked of an address, where inspect_ai has no batch API.
    """
    from reeltalk.llm.inspect_models import InspectSender, ModelSender, create_served_model
    from reeltalk.llm.preflight import breaker_with_preflight
    from reeltalk.llm.wire_sender import WireSender

    endpoint = asking.endpoint.model_copy(update={"model": spec})
    peak_memory = None
    sender: Sender
    breaker: Breaker | None = None
    connections = asking.connections
    if spec.startswith(INSPECT):
        sender = InspectSender(endpoint, batch=asking.batch, kept=store, **asking.model_args)
    elif spec.startswith("transformers:"):
        from reeltalk.evaluate.playing.local_model import LocalModel
        from reeltalk.inference.video_model import LocalVideoModel

        folder = Path(spec.removeprefix("transformers:"))
        local = LocalModel(LocalVideoModel(folder, max_new_tokens=endpoint.max_tokens))
        sender, connections, peak_memory = ModelSender(local), 1, local.peak_memory
        endpoint = endpoint.model_copy(update={"model": local.name})
    elif asking.batch:
        raise SettingError("--batch works with inspect:PROVIDER/MODEL only; servers at an address have no batch API")
    else:
        sender = WireSender(endpoint, api_key=asking.api_key, stream=asking.stream, kept=store)
    if asking.preflight and not isinstance(sender, ModelSender):
        breaker = breaker_with_preflight(
            endpoint,
            kept=store,
            tell=asking.tell,
            api_key=asking.api_key,
            key_variable=asking.key_variable,
            images=asking.sees_images and asking.shows_frames,
            schema=asking.wants_schema,
            budget=budget,
            option=asking.option,
            model_args=asking.model_args,
        )
    model = create_served_model(
        endpoint,
        sender,
        store,
        connections=connections,
        budget=budget,
        picture=picture,
        sees_images=asking.sees_images,
        breaker=breaker,
    )
    model.peak_memory = peak_memory
    return model


@dataclass(frozen=True)
class Opened:
    """Who answers."""

    player: Player
    source: tuple[str, str]
    """Where its answers are from, and a hash of that."""
    logged: Any = None
    """inspect_ai's own Model, where it has one."""
    model: "ServedModel | None" = None
    knows: Callable[[Script], object] | None = None
    """Graphs or a summary of a script that the model reads. A part of signatures."""


def opened_player(
    spec: str,
    benchmark: Benchmark,
    content: Content,
    *,
    asking: Asking,
    store: ReplyStore,
    budget: Budget | None,
    picture: "Picture | None",
    prompt: str,
    style: AnswerStyle = "free",
    answers: Content | None = None,
    answers_sha256: str = "",
    train: tuple[Benchmark, Content] | None = None,
    workers: int = 2,
) -> Opened:
    """Who answers, by name.

    Args:
        spec: One of `KINDS`, or the name of a model at an address.
        benchmark: What is played.
        content: Its rows.
        asking: How a language model is asked.
        store: Keeps its replies.
        budget: Limits.
        picture: Gives the JPEG files for what messages hold in place of pictures.
        prompt: Prompt that answers are asked with.
        style: `short` asks a model for a word or a phrase.
        answers: What was read from `answers:PATH` or `human:PATH`.
        answers_sha256: Hash of that.
        train: A benchmark that baselines learn from, with its rows; this one by default.
        workers: Videos that are decoded at a time.

    Raises:
        SettingError: There is none of the name.
        ModelError: It cannot be opened.
        InputError: Its files are missing, broken or do not fit each other.
        MissingExtraError: What is needed to run it is not installed.
        BenchmarkError: It needs what the benchmark does not hold.
    """
    kind, colon, name = spec.partition(":")
    if kind == "baseline" and colon:
        from reeltalk.evaluate.playing.baseline_players import opened_baseline

        source, known = (benchmark, content) if train is None else train
        return Opened(opened_baseline(name, source, known, workers=workers), (spec, ""))
    if spec == "oracle":
        from reeltalk.evaluate.playing.oracle import OraclePlayer

        oracle = OraclePlayer.of(benchmark)
        return Opened(oracle, (spec, ""), knows=oracle.knows)
    if kind == "python" and colon:
        from reeltalk.evaluate.playing.python_class import PythonPlayer

        return Opened(KeptPlayer(PythonPlayer(name), store), (spec, ""))
    if kind == "mini":
        return Opened(KeptPlayer(_mini_player(spec, asking), store), (spec, ""))
    if kind in ("answers", "human") and colon:
        from reeltalk.evaluate.playing.from_file import AnswersPlayer

        assert answers is not None
        # Tables tell people from models by the source.
        source_name = spec if kind == "human" else name
        player = AnswersPlayer.of(answers, source=name, sha256=answers_sha256)
        return Opened(player, (source_name, answers_sha256))
    if kind == "summary" and colon:
        from reeltalk.evaluate.playing.summary_player import SummaryPlayer

        model = served(name, asking, store, budget)
        summaries = {str(video.id): video.summaries for video in content.videos}

        def told(video: str) -> str | None:
            return told_summary(summaries.get(video, {}))

        return Opened(
            SummaryPlayer(model, told, style=style),
            (spec, ""),
            model.model,
            model,
            knows=lambda script: told(script.video_id),
        )
    model = served(spec, asking, store, budget, picture)
    return Opened(ChatPlayer(model, answer_prompt(prompt, style)), (spec, ""), model.model, model)


def _mini_player(spec: str, asking: Asking) -> Player:
    """reeltalk-mini, of a folder or the one that comes with reeltalk."""
    from reeltalk.evaluate.opened_mini import bounded, opened_mini
    from reeltalk.evaluate.playing.stream_player import StreamPlayer

    policy = bounded(None) if asking.memory == "bounded" else None
    model = opened_mini(spec, policy=policy, max_words=asking.endpoint.max_tokens)
    kept = policy.signature if policy else "all"
    return StreamPlayer(model, memory=kept, sees_frames=asking.sees_images, tells_options=False)


def told_summary(summaries: Mapping[str, str]) -> str | None:
    """The told text: as sentences of a template where there are some, for those leave nothing out."""
    return summaries.get("template") or next(iter(summaries.values()), None)


def opened_judges(settings: JudgeSettings) -> tuple[Judge, ...]:
    """Judging protocols by name, in the order given.

    Args:
        settings: Which, and how.

    Raises:
        SettingError: There is none of the name, or it cannot judge this.
        InputError: A prompt of the user's cannot stand in the place of ours.
    """
    judges = tuple(_judge(name, settings) for name in dict.fromkeys(settings.protocols))
    if settings.published:
        official_sampling(judges)
        for judge in judges:
            _ = judge.signature  # a prompt of which there is no text is missed before anything is asked
    return judges


def _judge(name: str, settings: JudgeSettings) -> Judge:
    if name.startswith(PREFIX_OF_OWN):
        from reeltalk.judge.own import own_judge

        return own_judge(name.removeprefix(PREFIX_OF_OWN), tuple(protocols()))
    if name not in protocols():
        raise SettingError(f"no judging protocol '{name}'; known are {', '.join(protocols())}, {OWN}")
    return protocols()[name].create(settings)
