"""A team's application on a real port, for tests with a browser."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from reeltalk.review.serving import listen


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address under which an application answers, until the block ends."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
