"""A language model behind any OpenAI-compatible endpoint, asked from threads. One home of the `openai` package."""

import json
import time
from collections.abc import Sequence

from reeltalk.llm.budget import Budget
from reeltalk.llm.model import Endpoint, Message, Reply, check_prices
from reeltalk.llm.retrying import Persistence
from reeltalk.llm.wire import (
    REFUSED_SCHEMA_STATUS,
    Answer,
    RefusedError,
    most_prompt_tokens,
    problem_of,
    request_fields,
)
from reeltalk.schema.record import Json


class LanguageModel:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(
        self, endpoint: Endpoint, *, api_key: str | None = None, budget: Budget | None = None, sees_images: bool = True
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            api_key: Key of the server; a local one usually needs none.
            budget: Limits; every request counts, those that are sent again too.
            sees_images: Whether the model takes pictures.

        Raises:
            SettingError: The budget is in money, and the endpoint names no prices.
        """
        import openai

        check_prices(endpoint, budget)
        self.endpoint, self.sees_images, self._budget, self._errors = endpoint, sees_images, budget, openai
        self._persistence = Persistence(
            endpoint.max_retries, backoff_s=endpoint.backoff_s, longest_wait_s=endpoint.longest_wait_s
        )
        # Requests are sent again here and not by the package, for each one counts against the budget.
        self._client = openai.OpenAI(
            api_key=api_key or "none", base_url=endpoint.base_url, timeout=endpoint.timeout_s, max_retries=0
        )
        self._refused_schemas: set[str] = set()

    @property
    def name(self) -> str:
        """Name of the model, as the server knows it."""
        return self.endpoint.model

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed."""
        return self.endpoint.sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """One reply. A server that refuses the schema is asked without it, from then on at once.

        Raises:
            ModelError: The server cannot be reached, refuses, or answers with nothing, again and again.
            BudgetError: A limit would be passed.
            ValueError: A message holds pictures and the model sees none.
        """
        if not self.sees_images and any(message.images for message in messages):
            raise ValueError(f"{self.name} sees no pictures, but a message holds some")
        most = most_prompt_tokens(messages, schema, self.endpoint.image_tokens)
        canonical = json.dumps(schema, sort_keys=True)
        if schema is None or canonical in self._refused_schemas:
            return self._persistence(lambda: self._once(messages, None, most))
        try:
            return self._persistence(lambda: self._once(messages, schema, most))
        except RefusedError as refusal:
            if refusal.status not in REFUSED_SCHEMA_STATUS:
                raise
        reply = self._persistence(lambda: self._once(messages, None, most))
        # Only now is it certain that the schema was what the server did not like.
        self._refused_schemas.add(canonical)
        return reply

    def close(self) -> None:
        """Close connections; whoever waits to ask again gives up."""
        self._persistence.stop()
        self._client.close()

    def _once(self, messages: Sequence[Message], schema: dict[str, Json] | None, most_tokens: int) -> Reply:
        endpoint = self.endpoint
        reserved = self._budget.reserve(most_tokens, endpoint.max_tokens, endpoint.prices) if self._budget else None
        # What was set aside counts, unless the server says what it took.
        prompt_tokens: int | None = None
        completion_tokens: int | None = None
        began_s = time.monotonic()
        try:
            raw = self._client.chat.completions.with_raw_response.create(**request_fields(endpoint, messages, schema))
            answer = Answer.read(raw.content, endpoint)
            prompt_tokens, completion_tokens = answer.tokens
        except self._errors.OpenAIError as error:
            problem, cost_nothing = problem_of(error, endpoint, self._errors)
            if cost_nothing:
                prompt_tokens = completion_tokens = 0
            raise problem from None
        finally:
            if self._budget and reserved:
                self._budget.settle(reserved, prompt_tokens, completion_tokens)
        return answer.reply(endpoint, took_s=time.monotonic() - began_s)
