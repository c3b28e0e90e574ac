"""A model that keeps what it is asked and what it replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reeltalk.llm.model import AsyncModel, Message, Reply
from reeltalk.schema.record import Json


@dataclass
class RecordedRequest:
    """One request, and its reply."""

    messages: tuple[Message, ...]
    schema: dict[str, Json] | None
    sample: int
    reply: str | None = None
    """None where there was none."""


class RecordingModel:
    """A model that keeps what it is asked and what it replies, in the order of asking."""

    def __init__(self, model: AsyncModel) -> None:
        """Listen to a model.

        Args:
            model: Who is asked.
        """
        self.model, self.requests = model, list[RecordedRequest]()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def sees_images(self) -> bool:
        """As the model's."""
        return self.model.sees_images

    @property
    def sampling(self) -> Mapping[str, Json]:
        """As the model's."""
        return self.model.sampling

    @property
    def replies(self) -> tuple[str, ...]:
        """The replies so far, as they can be written to a file."""
        # A lone surrogate cannot.
        return tuple(
            request.reply.encode("utf-8", "replace").decode() for request in self.requests if request.reply is not None
        )

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The model's reply.

        Raises:
            ModelError: There is no reply to be had.
            BudgetError: A limit would be passed.
        """
        request = RecordedRequest(tuple(messages), schema, sample)
        self.requests.append(request)
        reply = await self.model.ask(messages, schema=schema, sample=sample)
        request.reply = reply.text
        return reply
