"""Interfaces of language models, their messages and replies. A reply is data: nothing here acts on its words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import SettingError
from reeltalk.llm.budget import Budget, Prices
from reeltalk.schema.record import Json
from reeltalk.schema.settings import Effort, Temperature


@dataclass(frozen=True)
class Message:
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()
    """JPEG files, or references that an `AsyncModel` looks up; they come before the text."""
    captions: tuple[str, ...] = ()
    """A text before each picture, as its time; none, or as many as there are pictures."""


INSPECT: Final = "inspect:"
"""Prefix of a model that is asked through inspect_ai."""
SamplingField = Literal["temperature", "max_tokens", "seed"]
ALL_SAMPLING: Final[tuple[SamplingField, ...]] = ("temperature", "max_tokens", "seed")


class Endpoint(BaseModel):
    """Which model answers, where, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str
    """Name of the model, as the server knows it."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, as http://localhost:8000/v1; OpenAI's own by default."""
    temperature: Temperature = 0.0
    """Sampling temperature; None sends none."""
    reasoning_effort: Effort | None = None
    """How long a model that reasons may think; None leaves it to the server."""
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    """Longest reply."""
    seed: int | None = 17
    """Seed, if the server accepts one."""
    sends: tuple[SamplingField, ...] = ALL_SAMPLING
    """Which of the three are sent; a request of a published protocol may lack some. A budget counts `max_tokens` all
    the same."""
    logprobs: bool = False
    """Ask for the probabilities of a reply's tokens; not every server gives them."""
    keeps_space: bool = False
    """Leave the white space around a reply as it came."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed on the way is sent again, at least; 0 for never."""
    give_up_after_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600.0
    """Longest time without any answer for which requests are sent again to a server that is busy (429), fails (5xx) or
    gives no reply in time; then the command stops. 0: no longer than `max_retries` says."""
    backoff_s: Annotated[float, Field(ge=0)] = 1.0
    """Wait before a request is sent again; each further one is twice as long, with jitter."""
    longest_wait_s: Annotated[float, Field(ge=0)] = 60.0
    """Longest wait before a request is sent again, even if the server asks for a longer one."""
    image_tokens: Annotated[int, Field(ge=0)] | None = None
    """Most tokens that the server counts for one picture, which a budget reserves. None: what the model's family counts
    for its size, and a quarter more."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of prompt; a budget of money needs it."""
    price_out: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of reply; a budget of money needs it."""

    @property
    def sampling(self) -> dict[str, Json]:
        """Parameters that a reply depends on besides model and messages."""
        values: dict[str, Json] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
        }
        sampling: dict[str, Json] = {name: value for name, value in values.items() if name in self.sends}
        if self.temperature is None:
            sampling.pop("temperature", None)
        sampling |= {"logprobs": True} if self.logprobs else {}
        return sampling if self.reasoning_effort is None else sampling | {"reasoning_effort": self.reasoning_effort}

    def of_sample(self, number: int) -> "Endpoint":
        """The endpoint for one of several samples: each has a seed of its own, or a server gives equal replies."""
        return self if not number or self.seed is None else self.model_copy(update={"seed": self.seed + number})

    @property
    def prices(self) -> Prices | None:
        """Both prices; None unless both are known."""
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(input=self.price_in, output=self.price_out)


class ReplyOrigin(NamedTuple):
    """Who gave a reply."""

    model: str
    """Name that the server reported."""
    host: str | None = None
    """Host of the server's address; None if the model was asked in another way."""
    dialect: str | None = None
    """Differences of what was sent to the server from the full request, in words; None if there are none."""


@dataclass(frozen=True)
class Reply:
    """A reply of a model."""

    text: str
    model: str
    """Name that the server reported."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cut_off: bool
    """True if the reply ended at `max_tokens`, or was cut."""
    cached: bool = False
    """True if it was stored by an earlier request and cost nothing now."""
    took_s: float | None = None
    """Seconds from the successful request to the end of its reply, if measured."""
    first_token_s: float | None = None
    """Seconds to the first token, if the reply was streamed."""
    logprobs: "tuple[Mapping[str, float], ...] | None" = None
    """For each of the first tokens, natural logarithms of probabilities: of the written token, which is first, and of
    the likeliest others. None if the server gives none."""
    host: str | None = None
    dialect: str | None = None
    cut_at: int | None = None
    """Characters after which it was cut here, as the server sent far more than was asked for; None if it was not."""
    refused: bool = False
    """True if the text says in the field `refusal` why there is no answer. Such a reply is not kept."""

    @property
    def origin(self) -> ReplyOrigin:
        """Who gave it."""
        return ReplyOrigin(self.model, self.host, self.dialect)


class Model(Protocol):
    """A model that is asked from threads; safe to share among them."""

    @property
    def name(self) -> str:
        """Name of the model, the same wherever it runs."""
        ...

    @property
    def sees_images(self) -> bool:
        """True if messages may hold pictures."""
        ...

    @property
    def sampling(self) -> Mapping[str, Json]:
        """Parameters that a reply depends on besides model and messages, as temperature and seed."""
        ...

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """The next message of the conversation.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow. Not every server enforces it.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
        """
        ...

    def close(self) -> None:
        """Close connections; requests under way fail soon."""
        ...


class AsyncModel(Protocol):
    """A model that is asked from an event loop, with many requests at a time."""

    @property
    def name(self) -> str:
        """Name of the model, the same wherever it runs."""
        ...

    @property
    def sees_images(self) -> bool:
        """True if messages may hold pictures."""
        ...

    @property
    def sampling(self) -> Mapping[str, Json]:
        """Parameters that a reply depends on besides model and messages, as temperature and seed."""
        ...

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The next message of the conversation.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow. Not every server enforces it.
            sample: Number of the sample, if the same is asked several times.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
        """
        ...


def check_prices(endpoint: Endpoint, budget: Budget | None) -> None:
    """Refuse a limit on cost for a model without prices.

    Raises:
        SettingError: The budget limits the cost, and the endpoint has no prices.
    """
    if budget is not None and budget.max_cost is not None and endpoint.prices is None:
        raise SettingError(
            f"a limit on cost needs the prices of {endpoint.model}; give its price of input and of output tokens"
        )
