"""An event loop in a thread of its own, so that code which waits can use what only knows event loops."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from reeltalk.errors import ModelError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for any thread; begins with the first one."""

    def __init__(self, name: str) -> None:
        """Begin nothing yet.

        Args:
            name: Of the thread.
        """
        self._name, self._lock, self._closed = name, threading.Lock(), False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns.

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
        """End the loop; whoever waits gives up.

        Args:
            last: Runs before all else is cancelled, as what closes connections; its errors are left out.
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
                with contextlib.suppress(Exception):  # what cannot be closed well is closed all the same
                    asyncio.run_coroutine_threadsafe(task, self._loop).result(timeout_s)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
