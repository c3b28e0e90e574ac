"""A language model for code in threads: an event loop in a separate thread runs its `ModelClient`."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from reeltalk.errors import ModelError
from reeltalk.llm.budget import Budget
from reeltalk.llm.client import ModelClient
from reeltalk.llm.dialect import DialectStore
from reeltalk.llm.model import INSPECT, Endpoint, Message, Reply, check_prices
from reeltalk.llm.retrying import Breaker
from reeltalk.llm.wire import (
    Sender,
)
from reeltalk.schema.record import Json

T = TypeVar("T")


class LoopThread:
    """An event loop in a separate thread that runs coroutines for other threads. The first coroutine starts it."""

    def __init__(self, name: str) -> None:
        """Name the thread; nothing is started yet."""
        self._name, self._lock, self._closed = name, threading.Lock(), False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result.

        Raises:
            ModelError: `close` was called.
        """
        with self._lock:
            if self._closed:
                task.close()
                raise ModelError("the model was closed before it gave a reply")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(task, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ModelError("the model was closed before it gave a reply") from None
        finally:
            future.cancel()

    def close(self, last: Coroutine[Any, Any, object] | None = None, timeout_s: float = 10.0) -> None:
        """End the loop; threads that wait for a result get an error.

        Args:
            last: Runs before all tasks are cancelled, for example to close connections. Its errors are ignored.
            timeout_s: Longest wait for it.
        """
        with self._lock:
            closed, self._closed = self._closed, True
        if closed or self._loop is None or self._thread is None:
            if last is not None:
                last.close()
            return
        for task in (last, self._cancel_all(), self._loop.shutdown_asyncgens()):
            if task is not None:
                with contextlib.suppress(Exception):  # the loop is closed in any case
                    asyncio.run_coroutine_threadsafe(task, self._loop).result(timeout_s)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class LanguageModel:
    """A model at an OpenAI-compatible endpoint or through inspect_ai, asked from threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        api_key: str | None = None,
        budget: Budget | None = None,
        sees_images: bool = True,
        store: DialectStore | None = None,
        breaker: Breaker | None = None,
        model_args: Mapping[str, Any] | None = None,
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where; `inspect:PROVIDER/MODEL` is asked through inspect_ai.
            api_key: Key of the server; a local server usually needs none. Providers of inspect_ai find their own.
            budget: Limits; every request counts, retries too.
            sees_images: True if the model takes pictures.
            kept: Store of dialects, as a `ReplyStore`.
            breaker: Shared by all clients of this model at this address; a new one by default.
            model_args: Arguments that inspect_ai's `get_model` passes to the provider.

        Raises:
            ModelError: inspect_ai does not know the model, or a key or the package of its provider is missing.
            SettingError: The budget limits the cost, and the endpoint has no prices.
        """
        check_prices(endpoint, budget)
        sender: Sender
        if endpoint.model.startswith(INSPECT):
            from reeltalk.llm.inspect_models import InspectSender

            sender = InspectSender(endpoint, store=store, **(model_args or {}))
        else:
            from reeltalk.llm.wire_sender import WireSender

            sender = WireSender(endpoint, api_key=api_key, store=store)
        self.endpoint, self.sees_images = endpoint, sees_images
        self._client = ModelClient(endpoint, sender, budget=budget, breaker=breaker)
        self._loop = LoopThread(f"asks {endpoint.model}")

    @property
    def name(self) -> str:
        """Name of the model on the server."""
        return self.endpoint.model

    @property
    def breaker(self) -> Breaker:
        """Shared by all clients of this model at this address."""
        return self._client.breaker

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as they are sent."""
        return self._client.sender.sampling

    @property
    def requested_sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as the user set them; kept replies are found by these."""
        return self.endpoint.sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """Ask for one reply.

        Raises:
            ModelError: The server cannot be reached, refuses, or sends no answer, again and again.
            OutageError: It fails for every request.
            BudgetError: A limit would be passed.
            ValueError: A message holds pictures and the model sees none.
        """
        if not self.sees_images and any(message.images for message in messages):
            raise ValueError(f"{self.name} sees no pictures, but a message holds some")
        return self._loop.run(self._client.ask(messages, schema=schema))

    def close(self) -> None:
        """Close connections; requests under way fail."""
        self._loop.close(self._client.close())
