"""Create models and judges from their names on the command line.

`create_player` creates the model or baseline that answers in a run, `create_model` a language model, and
`create_judges` the judging protocols.
"""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from reeltalk.errors import SettingError
from reeltalk.evaluation.model_options import ModelCommand, check_options, kind_of_model
from reeltalk.evaluation.playing.chat import chat_player
from reeltalk.evaluation.playing.other_players import CachedPlayer
from reeltalk.evaluation.playing.play import Player
from reeltalk.evaluation.playing.script import Script
from reeltalk.evaluation.settings import LimitSettings, ModelSettings, RunConfig
from reeltalk.extension import PYTHON_PREFIX as PREFIX_OF_OWN
from reeltalk.judge.judge import Judge
from reeltalk.judge.protocol import OWN_PROTOCOL_FORM, Protocol, official_sampling, protocols
from reeltalk.judge.settings import JudgeModelSettings, JudgeSettings
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.llm.model import INSPECT
from reeltalk.plugins import added, load, needed, problem
from reeltalk.progress import ignore_sentences
from reeltalk.schema.server_address import check_server
from reeltalk.schema.settings import settings_of
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.rows import NamedRows
from reeltalk.store.tables import PLAYED_TABLES

if TYPE_CHECKING:
    from reeltalk.llm.client import Picture
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.served import ServedModel
    from reeltalk.llm.wire import Sender

KINDS: Final = ("baseline:NAME", "summary:MODEL", "answers:PATH", "human:PATH", "python:CLASS")
"""Kinds of models and baselines besides a model at an address, and those of `AddedModel`."""

_NOT_AT_AN_ADDRESS: Final = frozenset({"baseline", "answers", "human", "python"})


@dataclass(frozen=True)
class ModelConfig:
    """How one language model is asked: its endpoint with the key, and known facts of its server."""

    endpoint: Endpoint
    api_key: str | None = None
    key_variable: str | None = None
    """Environment variable that holds the key, for errors."""
    option: str = "--base-url"
    """Option that gives the address, for errors."""
    preflight: bool = False
    """Try the server before the first request."""
    shows_frames: bool = True
    """Whether pictures will be sent to a model that takes them."""
    uses_schema: bool = False
    """Whether a JSON schema will be asked for."""
    tell: Callable[[str], object] | None = None
    """Receives a sentence about what the server does not take."""
    connections: int = 20
    """Requests at a time."""
    reseeds: bool = False
    """Send each of several samples of an answer with a seed of its own."""
    stream: bool = False
    """Stream replies, so that the time to the first token is known."""
    batch: bool = False
    """Use a provider's batch API, if inspect_ai offers it."""
    sees_images: bool = True
    memory: Literal["all", "bounded"] | None = None
    """What a model that follows streams keeps of a video; None leaves it to the command."""
    memory_frames: int | None = None
    """Most frames that it keeps, if its memory is bounded; its own bound by default."""

    @classmethod
    def for_answers(
        cls,
        asking: ModelSettings,
        limits: LimitSettings,
        *,
        shows_frames: bool = True,
        tell: Callable[[str], object] | None = None,
    ) -> Self:
        """How the model that answers is asked.

        Args:
            asking: Address, key and sampling.
            limits: Requests at a time, waits and retries.
            shows_frames: Whether pictures will be sent to a model that takes them.
            tell: Receives a sentence about what the server does not take.

        Raises:
            SettingError: The settings cannot be used together.
        """
        endpoint = settings_of(
            Endpoint,
            model="model",
            base_url=asking.base_url,
            temperature=asking.temperature,
            reasoning_effort=asking.reasoning_effort,
            max_tokens=asking.max_reply_tokens,
            image_tokens=asking.image_tokens,
            price_in=asking.price_in,
            price_out=asking.price_out,
            **_waits(limits),
        )
        return cls(
            endpoint,
            api_key=os.environ.get(asking.api_key_env),
            key_variable=asking.api_key_env,
            preflight=limits.preflight,
            shows_frames=shows_frames,
            tell=tell,
            connections=limits.connections,
            reseeds=True,
            stream=asking.first_token,
            batch=asking.batch,
            sees_images=asking.sees == "images",
            memory=asking.memory,
            memory_frames=asking.memory_frames,
        )

    @classmethod
    def for_judging(
        cls,
        judge_model: JudgeModelSettings,
        limits: LimitSettings,
        judges: tuple[Judge, ...],
        *,
        published: bool,
        tell: Callable[[str], object] | None = None,
    ) -> Self:
        """How the model that judges is asked.

        Args:
            judge_model: Address, key and longest reply.
            limits: Requests at a time, waits and retries.
            judges: The protocols that it judges by.
            published: Ask it as the official scripts do.
            tell: Receives a sentence about what the server does not take.

        Raises:
            SettingError: The settings cannot be used together.
        """
        endpoint = settings_of(
            Endpoint,
            model="judge",
            base_url=judge_model.judge_base_url,
            max_tokens=judge_model.judge_max_reply_tokens,
            price_in=judge_model.judge_price_in,
            price_out=judge_model.judge_price_out,
            **_waits(limits),
        )
        if published:
            official = official_sampling(judges)
            sent = {"sends": official.sends, "seed": official.seed, "keeps_space": True}
            endpoint = endpoint.model_copy(update=sent)
        return cls(
            endpoint,
            api_key=os.environ.get(judge_model.judge_api_key_env),
            key_variable=judge_model.judge_api_key_env,
            option="--judge-base-url",
            preflight=limits.preflight,
            uses_schema=not published,
            tell=tell,
            connections=limits.connections,
            sees_images=False,
        )

    @property
    def bounded(self) -> bool:
        """Whether the memory of a stream shall not grow."""
        return self.memory == "bounded" or self.memory_frames is not None

    def model_args(self, spec: str) -> dict[str, Any]:
        """Arguments that inspect_ai passes to the provider of a model, beyond its address and its configuration."""
        if not self.bounded or kind_of_model(spec) != "streaming":
            return {}
        frames = {} if self.memory_frames is None else {"memory_frames": self.memory_frames}
        return {"memory": "bounded"} | frames


def _waits(limits: LimitSettings) -> dict[str, Any]:
    return limits.model_dump(include={"timeout_s", "max_retries", "give_up_after_s", "backoff_s"})


def check_player(
    spec: str,
    asking: ModelSettings,
    *,
    has_replies: bool = False,
    also: Collection[str] = (),
    command: ModelCommand = "evaluate",
) -> None:
    """Refuse a model without an address, and an option without effect, before any file is read.

    Args:
        spec: One of `KINDS`, or the name of a model at an address.
        asking: How it is asked.
        has_replies: Whether replies are kept, so that a key may not be needed.
        also: Other options that are given: `prompt`, `answer_style`.
        command: The command that asks.

    Raises:
        SettingError: It can be asked nowhere, or an option has no effect on it.
    """
    check_options(spec, asking, also=also, command=command)
    kind, colon, name = spec.partition(":")
    if find_added(spec) is not None or (colon and kind in _NOT_AT_AN_ADDRESS):
        return
    model = name if colon and kind == "summary" else spec
    check_server(model, asking.base_url, None if has_replies else asking.api_key_env)


def create_model(
    spec: str, asking: ModelConfig, store: ReplyStore, budget: Budget | None, picture: "Picture | None" = None
) -> "ServedModel":
    """A language model by its name.

    Args:
        spec: `inspect:PROVIDER/MODEL`, `transformers:FOLDER`, or the name of a model at the endpoint's address.
        asking: How it is asked.
        store: Stores its replies.
        budget: Limits of requests, tokens and money.
        picture: Gives the JPEG files for the picture references in messages.

    Raises:
        MissingExtraError: A package that it needs is not installed.
        ModelError: It cannot be opened.
        OutageError: Its server was tested, and no request can succeed.
        SettingError: The package of its kind is missing.
    """
    from reeltalk.llm.preflight import breaker_with_preflight
    from reeltalk.llm.served import ModelSender, create_served_model
    from reeltalk.llm.wire_sender import WireSender

    endpoint = asking.endpoint.model_copy(update={"model": spec})
    peak_memory = None
    sender: Sender
    breaker: Breaker | None = None
    connections = asking.connections
    if spec.startswith(INSPECT):
        from reeltalk.llm.inspect_models import InspectSender

        sender = InspectSender(endpoint, batch=asking.batch, store=store, **asking.model_args(spec))
    elif (added_model := find_added(spec)) is not None and added_model.language_model is not None:
        local = added_model.language_model(spec, asking)
        sender, connections, peak_memory = ModelSender(local), 1, local.peak_memory
        endpoint = endpoint.model_copy(update={"model": local.name})
    else:
        sender = WireSender(endpoint, api_key=asking.api_key, stream=asking.stream, store=store)
    if asking.preflight and not isinstance(sender, ModelSender):
        breaker = breaker_with_preflight(
            endpoint,
            store=store,
            tell=asking.tell,
            api_key=asking.api_key,
            key_variable=asking.key_variable,
            images=asking.sees_images and asking.shows_frames,
            schema=asking.uses_schema,
            budget=budget,
            option=asking.option,
            model_args=asking.model_args(spec),
            stream=asking.stream,
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
        arguments=asking.model_args(spec),
        tell=asking.tell or ignore_sentences,
    )
    model.peak_memory, model.reseeds = peak_memory, asking.reseeds
    return model


@dataclass(frozen=True)
class CreatedPlayer:
    """The player of a run, and the facts that the run records about it."""

    player: Player
    source: tuple[str, str]
    """The source of its answers, and a hash of it."""
    model: "ServedModel | None" = None
    """The language model that it asks, if there is one."""
    knows: Callable[[Script], object] | None = None
    """Graphs or a summary of a script that the model reads. A part of signatures."""


@dataclass(frozen=True)
class PlayerRequest:
    """What a package gets to create the player of its model."""

    spec: str
    """The model's name on the command line, such as `mini:FOLDER`."""
    config: RunConfig
    asking: ModelConfig
    benchmark: Benchmark
    """The benchmark that is played."""
    content: Content
    """Its rows."""
    store: ReplyStore
    """Stores replies."""


@dataclass(frozen=True)
class AddedModel:
    """A kind of model of another package, which names it in the entry points `reeltalk.models`.

    The entry point `NAME` is for the models `NAME` and `NAME:ANYTHING`.
    """

    player: Callable[[PlayerRequest], CreatedPlayer] | None = None
    """Creates the player of a run."""
    language_model: Callable[[str, ModelConfig], Any] | None = None
    """Loads a language model of this process, by its name; it has `ask`, `name` and `peak_memory`."""
    stream: Callable[..., Any] | None = None
    """Creates a model that follows streams, by its name, with `policy` (bounds of its memory) and `max_words`."""


def find_added(spec: str) -> AddedModel | None:
    """The kind of model that another package adds under a name; None for a model of ours or at an address.

    Args:
        spec: The model's name, such as `mini:FOLDER`.

    Raises:
        SettingError: The package is not installed, or cannot be imported.
    """
    kind = spec.partition(":")[0]
    if kind in added("reeltalk.models"):
        found: AddedModel = load("reeltalk.models", kind, AddedModel)
        return found
    if (absent := needed("reeltalk.models", kind)) is not None:
        raise SettingError(absent)
    return None


def create_player(
    config: RunConfig,
    benchmark: Benchmark,
    content: Content,
    *,
    store: ReplyStore,
    budget: Budget | None,
    picture: "Picture | None",
    answers: tuple[Content, str] | None = None,
    train: Benchmark | None = None,
    tell: Callable[[str], object] | None = None,
) -> CreatedPlayer:
    """Create the model or baseline that answers in a run, by the name in `config.model`.

    Args:
        config: Settings of the run.
        benchmark: The benchmark that is played.
        content: Its rows.
        store: Stores replies.
        budget: Limits of all requests together.
        picture: Gives the JPEG file for each reference to a frame in a message.
        answers: Contents of `answers:PATH` or `human:PATH`, and their hash.
        train: A benchmark that baselines learn from; the played one by default.
        tell: Receives a sentence about what the model's server does not take.

    Raises:
        SettingError: There is no model of the name, or its settings cannot be used together.
        ModelError: It cannot be opened.
        OutageError: Its server was tried, and no request can succeed.
        InputError: Its files are missing, broken or do not fit each other.
        MissingExtraError: A package that it needs is not installed.
        BenchmarkError: It needs data that the benchmark does not hold.
    """
    spec, play = config.model, config.play
    kind, colon, name = spec.partition(":")
    asking = ModelConfig.for_answers(
        config.asking,
        config.limits,
        shows_frames=play.frames.policy != "none" and play.control != "none",
        tell=tell,
    )
    if kind == "baseline" and colon:
        from reeltalk.evaluation.playing.baseline_players import create_baseline

        known = content if train is None else train.stored_content()
        return CreatedPlayer(create_baseline(name, train or benchmark, known, workers=config.workers), (spec, ""))
    if (added_model := find_added(spec)) is not None and added_model.player is not None:
        return added_model.player(PlayerRequest(spec, config, asking, benchmark, content, store))
    if kind == "python" and colon:
        from reeltalk.evaluation.playing.other_players import PythonPlayer

        own = PythonPlayer(name, sees_frames=asking.sees_images)
        return CreatedPlayer(CachedPlayer(own, store), (spec, ""))
    if kind in ("answers", "human") and colon:
        from reeltalk.evaluation.playing.other_players import AnswersPlayer

        assert answers is not None
        found, sha256 = answers
        # Tables distinguish people from models by the source.
        source_name = spec if kind == "human" else name
        return CreatedPlayer(AnswersPlayer.of(found, source=name, sha256=sha256), (source_name, sha256))
    benchmark.check_rows(PLAYED_TABLES)  # what cannot be read is found before the first request
    if kind == "summary" and colon:
        from reeltalk.evaluation.playing.chat import SummaryPlayer

        model = create_model(name, asking, store, budget)
        videos = NamedRows(content.videos)

        def summary_of(video: str) -> str | None:
            return pick_summary(videos[video].summaries if video in videos else {})

        return CreatedPlayer(
            SummaryPlayer(model, summary_of, style=play.answer_style),
            (spec, ""),
            model,
            knows=lambda script: summary_of(script.video_id),
        )
    model = create_model(spec, asking, store, budget, picture)
    return CreatedPlayer(chat_player(model, play), (spec, ""), model)


def pick_summary(summaries: Mapping[str, str]) -> str | None:
    """The summary that a model reads. The summary of a template is preferred, since it leaves nothing out."""
    return summaries.get("template") or next(iter(summaries.values()), None)


def create_judges(settings: JudgeSettings) -> tuple[Judge, ...]:
    """Judging protocols by name, in the order given.

    Raises:
        SettingError: There is no protocol of this name, or its settings cannot be used together.
        InputError: A user's prompt cannot replace ours.
    """
    judges = tuple(_judge(name, settings) for name in dict.fromkeys(settings.protocols))
    if settings.compat and not settings.published and not any(getattr(judge, "compat", False) for judge in judges):
        named = ", ".join(judge.name for judge in judges) or "text metrics"
        raise SettingError(f"--compat has no effect on {named}, which no official script computes; leave it out")
    if settings.published:
        official_sampling(judges)
        for judge in judges:
            _ = judge.signature  # a prompt without a text is an error before the first request
    return judges


def _judge(name: str, settings: JudgeSettings) -> Judge:
    if name.startswith(PREFIX_OF_OWN):
        from reeltalk.judge.own import own_judge

        return own_judge(name.removeprefix(PREFIX_OF_OWN), tuple(protocols()))
    if name not in protocols():
        known = f"no judging protocol '{name}'; known are {', '.join(protocols())}, {OWN_PROTOCOL_FORM}"
        raise SettingError(problem("reeltalk.judges", name, Protocol) or known)
    return protocols()[name].create(settings)
