"""Models of inspect_ai, so that every provider it knows can be asked. One of the two homes of `inspect_ai`.

Tools, approval and everything else that lets a model act are left out: messages go in, a reply comes out.
"""

import asyncio
import contextlib
import re
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from reeltalk.errors import ModelError
from reeltalk.llm.budget import Budget
from reeltalk.llm.model import Endpoint, Message, Reply, check_prices
from reeltalk.llm.retrying import Persistence, TransientError
from reeltalk.llm.wire import data_url, most_prompt_tokens, one_line
from reeltalk.schema.record import Json

PREFIX: Final = "inspect:"
"""Before the name of a model, says that inspect_ai asks it."""

T = TypeVar("T")


class InspectModel:
    """A model that inspect_ai knows as `provider/model`; it is asked on an event loop in a thread of its own.

    A budget counts every request that inspect_ai sends. A provider whose package sends again by itself is told not to
    where that package has a `max_retries`, as those of OpenAI and Anthropic have; with others a limit on calls is one
    on questions.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint | None = None,
        *,
        budget: Budget | None = None,
        sees_images: bool = True,
        **model_args: Any,
    ) -> None:
        """Open the model.

        Args:
            name: `provider/model`, with or without `inspect:` before it.
            endpoint: How it is asked; its own name of a model has no effect.
            budget: Limits; every request counts, those that are sent again too.
            sees_images: Whether the model takes pictures.
            model_args: What inspect_ai's `get_model` hands on to the provider.

        Raises:
            ModelError: inspect_ai does not know the model, or a key or the package of its provider is missing.
            SettingError: The budget is in money, and the endpoint names no prices.
        """
        import inspect_ai.model as inspect_model

        spec = name.removeprefix(PREFIX)
        self.name, self.sees_images = f"{PREFIX}{spec}", sees_images
        self.endpoint = endpoint or Endpoint(model=spec)
        check_prices(self.endpoint, budget)
        self._inspect, self._budget = inspect_model, budget
        self._persistence = Persistence(
            self.endpoint.max_retries, backoff_s=self.endpoint.backoff_s, longest_wait_s=self.endpoint.longest_wait_s
        )
        try:
            # Requests are sent again here and not by inspect_ai, for each one counts against the budget.
            self._model: Any = inspect_model.get_model(
                spec,
                base_url=self.endpoint.base_url,
                config=inspect_model.GenerateConfig(
                    **self.endpoint.sampling,
                    max_retries=0,
                ),
                memoize=False,
                **model_args,
            )
        except Exception as error:
            raise ModelError(f"inspect_ai cannot open {spec}: {one_line(str(error))}") from None
        # The packages of OpenAI, Anthropic and their like send again by themselves, below inspect_ai.
        client: Any = getattr(self._model.api, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="inspect-ai", daemon=True)
        self._thread.start()

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed."""
        return self.endpoint.sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """One reply.

        Raises:
            ModelError: The provider cannot be reached, refuses, or answers with nothing, again and again.
            BudgetError: A limit would be passed.
            ValueError: A message holds pictures and the model sees none.
        """
        if not self.sees_images and any(message.images for message in messages):
            raise ValueError(f"{self.name} sees no pictures, but a message holds some")
        chat = [self._chat_message(message) for message in messages]
        config = self._inspect.GenerateConfig()
        if schema is not None and (plain := without_references(schema)) is not None:
            title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]
            config.response_schema = self._inspect.ResponseSchema(name=title, json_schema=plain)
        most = most_prompt_tokens(messages, schema, self.endpoint.image_tokens)
        return self._persistence(lambda: self._once(chat, config, most))

    def close(self) -> None:
        """Close connections and end the event loop; whoever waits for a reply gives up."""
        self._persistence.stop()
        if not self._thread.is_alive():
            return
        with contextlib.suppress(Exception):  # a provider that cannot be closed well is closed all the same
            self._wait_for(self._model.__aexit__(None, None, None), 10.0)
        self._wait_for(self._cancel_all(), 10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _once(self, chat: list[Any], config: Any, most_tokens: int) -> Reply:
        reserved = None
        if self._budget is not None:
            reserved = self._budget.reserve(most_tokens, self.endpoint.max_tokens, self.endpoint.prices)
        prompt_tokens: int | None = None
        completion_tokens: int | None = None
        try:
            output = self._wait_for(self._model.generate(chat, config=config), self.endpoint.timeout_s)
            if output.usage is not None:
                prompt_tokens, completion_tokens = output.usage.input_tokens, output.usage.output_tokens
        except TimeoutError:
            raise TransientError(f"{self.name} gave no reply within {self.endpoint.timeout_s:g} s") from None
        except Exception as raised:
            # inspect_ai, told not to ask again, wraps what may pass in a RetryError.
            attempt = getattr(raised, "last_attempt", None)
            error = (attempt.exception() if attempt is not None else None) or raised
            problem = f"{self.name}: {one_line(str(error)) or type(error).__name__}"
            # Each provider knows its own errors.
            if decision := self._model.api.should_retry(error):
                raise TransientError(problem, wait_s=getattr(decision, "retry_after", None)) from None
            raise ModelError(problem) from None
        finally:
            if self._budget is not None and reserved is not None:
                self._budget.settle(reserved, prompt_tokens, completion_tokens)
        text = output.completion.strip()
        if output.error:
            raise ModelError(f"{self.name}: {one_line(output.error)}")
        if not text:
            if output.stop_reason == "max_tokens":
                raise ModelError(
                    f"{self.name} wrote no answer within {self.endpoint.max_tokens:,} tokens; allow a longer reply"
                )
            raise TransientError(f"{self.name} gave an empty reply")
        return Reply(
            text=text,
            model=output.model or self.name,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cut_off=output.stop_reason == "max_tokens",
        )

    def _wait_for(self, task: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future = asyncio.run_coroutine_threadsafe(task, self._loop)
        try:
            return future.result(timeout_s)
        finally:
            future.cancel()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _chat_message(self, message: Message) -> Any:
        kinds = {
            "system": self._inspect.ChatMessageSystem,
            "user": self._inspect.ChatMessageUser,
            "assistant": self._inspect.ChatMessageAssistant,
        }
        content: Any = message.text
        if message.images:
            content = [self._inspect.ContentImage(image=data_url(image)) for image in message.images]
            content.append(self._inspect.ContentText(text=message.text))
        return kinds[message.role](content=content)


def without_references(schema: dict[str, Json]) -> dict[str, Json] | None:
    """A JSON schema in the words that inspect_ai knows: definitions where they are used, `anyOf`, `enum`.

    Returns:
        None where that cannot be, as a definition refers to itself: half a schema would ask for other replies.
    """
    definitions = schema.get("$defs", {})

    def plain(node: Any, within: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [plain(item, within) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = str(node["$ref"]).removeprefix("#/$defs/")
            if name in within or name not in definitions:
                raise LookupError(name)
            return plain(definitions[name] | {key: node[key] for key in node if key != "$ref"}, (*within, name))
        new: dict[str, Any] = {}
        for key, value in node.items():
            if key == "properties":
                new[key] = {name: plain(inner, within) for name, inner in value.items()}
            elif key == "const":
                new["enum"] = [value]
            elif key in ("allOf", "not", "prefixItems", "patternProperties"):
                raise LookupError(key)
            elif key not in ("$defs", "discriminator"):
                new["anyOf" if key == "oneOf" else key] = plain(value, within)
        return new

    try:
        return dict(plain(schema, ()))
    except LookupError:
        return None
