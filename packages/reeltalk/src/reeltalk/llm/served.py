"""The models of an evaluation: a kept reply is never asked for again, and an equal request under way is awaited."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from reeltalk.errors import ReeltalkError
from reeltalk.llm.budget import Budget
from reeltalk.llm.client import ModelClient, Picture
from reeltalk.llm.connections import Connections
from reeltalk.llm.model import AsyncModel, Endpoint, Message, Reply, ReplyOrigin
from reeltalk.llm.replies import ReplyStore, reply_key
from reeltalk.llm.retrying import Breaker
from reeltalk.llm.scrubbing import public_address
from reeltalk.llm.wire import Sender, Sent
from reeltalk.progress import ignore_sentences
from reeltalk.schema.record import Json


class ModelSender:
    """Passes requests to an `AsyncModel` of this process, as a local video model."""

    def __init__(self, model: AsyncModel) -> None:
        self.model = model

    @property
    def sampling(self) -> dict[str, Json]:
        """The sampling of the model."""
        return dict(self.model.sampling)

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int = 0) -> Sent:
        """Send one request."""
        try:
            reply = await self.model.ask(messages, schema=schema, sample=sample)
        except ReeltalkError as error:
            return Sent(error=error)
        return Sent(reply, None, reply.prompt_tokens, reply.completion_tokens)

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""


@dataclass
class ServedModel:
    """An `AsyncModel` whose replies are kept."""

    client: ModelClient
    store: ReplyStore
    sees_images: bool
    requested_sampling: Mapping[str, Json]
    """Sampling as the user set it; kept replies are found by it, even if the server's dialect leaves some of it out."""
    questions: int = 0
    """Number of questions, including those answered from kept replies."""
    reused: int = 0
    """Number of questions answered from kept replies."""
    origins: Counter[ReplyOrigin] = field(default_factory=Counter)
    """Number of replies, kept ones too, by who gave them."""
    reseeds: bool = False
    """True if the samples of a question have seeds of their own; a judge is asked as the official scripts do."""
    peak_memory: Callable[[], Mapping[str, int]] | None = None
    """Returns the peak memory in bytes, if the model runs in this process."""
    tell: Callable[[str], object] = ignore_sentences
    """Receives a sentence when the server gives replies under another name than before."""
    _under_way: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def name(self) -> str:
        """Name of the model, the same wherever it runs."""
        return self.client.endpoint.model

    @property
    def address(self) -> str | None:
        """Address of its server without user and password; None if none is set."""
        base_url = self.client.endpoint.base_url
        return None if base_url is None else public_address(base_url)

    @property
    def sampling(self) -> Mapping[str, Json]:
        """Temperature, longest reply and seed as they are sent."""
        return self.client.sender.sampling

    @property
    def is_remote(self) -> bool:
        """False for a model of this process."""
        return not isinstance(self.client.sender, ModelSender)

    @property
    def at_a_time(self) -> str | None:
        """How many requests at a time its server was sent, in words; None if it was sent none, or may be sent one."""
        connections = self.client.connections
        if connections is None or connections.most == 1 or self.questions == self.reused:
            return None
        return f"{self.name} was asked {connections.best:,} at a time, of {connections.most:,} allowed by --connections"

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """Ask for one reply.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow.
            sample: Number of the sample, if the same is asked several times.

        Raises:
            ModelError: There is no reply.
            OutageError: The server fails for every request.
            BudgetError: A limit would be passed.
            BenchmarkError: The file of kept replies is damaged or locked, or the disk is full.
        """
        key = reply_key(self.name, messages, schema=schema, sampling=self.requested_sampling, sample=sample)
        # Paths of one video begin alike: an equal request under way is awaited, not sent a second time.
        async with self._under_way.setdefault(key, asyncio.Lock()):
            reply = await self._reply(key, messages, schema, sample if self.reseeds else 0)
        self.questions += 1
        self.reused += reply.cached
        self._count(reply.origin)
        return reply

    async def close(self) -> None:
        """Close connections. No request is sent after this."""
        await self.client.close()

    async def _reply(self, key: str, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int) -> Reply:
        kept = self.store.get(key)
        if kept is None:
            reply = await self.client.ask(messages, schema=schema, sample=sample)
            return reply if reply.refused else self.store.put(key, reply)
        self.client.breaker.record_reused()
        return kept

    def _count(self, origin: ReplyOrigin) -> None:
        if self.origins and origin.model not in (names := [other.model for other in self.origins]):
            self.tell(
                f"the replies of {self.name} now come from '{origin.model}'; before, they came from "
                f"'{names[-1]}'. The numbers will be of no one model: stop, and go on once the server keeps one"
            )
        self.origins[origin] += 1


def create_served_model(
    endpoint: Endpoint,
    sender: Sender,
    store: ReplyStore,
    *,
    connections: int,
    budget: Budget | None = None,
    picture: Picture | None = None,
    sees_images: bool = True,
    breaker: Breaker | None = None,
    arguments: Mapping[str, Json] | None = None,
    tell: Callable[[str], object] = ignore_sentences,
) -> ServedModel:
    """Create a model for an evaluation.

    Args:
        endpoint: The model.
        sender: Sends the requests.
        store: Stores the replies.
        connections: Most requests at a time; fewer at first, and after the server received too many.
        budget: Limits; every request counts, retries too.
        picture: Returns the JPEG files for the references that messages hold in place of pictures.
        sees_images: True if the model takes pictures.
        breaker: Stops all requests if the server is dead; a new one by default.
        arguments: Arguments of the provider that change replies. Kept replies are found by them, too.
        tell: Receives a sentence when the server gives replies under another name than before.

    Raises:
        SettingError: The budget limits the cost, and the endpoint has no prices.
    """
    client = ModelClient(
        endpoint, sender, budget=budget, breaker=breaker, picture=picture, connections=Connections(connections)
    )
    return ServedModel(client, store, sees_images, endpoint.sampling | dict(arguments or {}), tell=tell)
