"""Imitates the server of a language model, in its own process, so that its work is not measured.

The time per call and the number of slots are settings. It can count the tokens of a prompt that it would have to read,
like vLLM's automatic prefix caching: blocks of 16 tokens, each identified by everything before it, and the least
recently used is dropped first. Four characters are a token; a picture is 256 tokens, identified by its bytes. It uses
plain asyncio, so no library is between the requests and the counts.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
import urllib.request
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

BLOCK = 16
PICTURE_TOKENS = 256
CHARACTERS_A_TOKEN = 4
REPLY = "The person walks to the kitchen, opens the fridge and takes out the milk."


class PrefixCache:
    """Blocks of tokens that were read before."""

    def __init__(self, tokens: int) -> None:
        self._most, self._blocks = tokens // BLOCK, OrderedDict[int, None]()

    def read(self, prompt: list[int], reply: list[int]) -> int:
        """How many tokens of the prompt are known; all of it and of its reply is known from then on."""
        known, before, chain, tokens = 0, 0, list[int](), prompt + reply
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            before = hash((before, *tokens[start : start + BLOCK]))
            chain.append(before)
            # The last token of a prompt is always read: it gives the first of the reply.
            if known == start and before in self._blocks and start + BLOCK < len(prompt):
                known = start + BLOCK
        # What stands first is the last to be dropped.
        for block in reversed(chain):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)
        return known


def text_tokens(text: str) -> list[int]:
    return [hash(text[n : n + CHARACTERS_A_TOKEN]) for n in range(0, len(text), CHARACTERS_A_TOKEN)]


def prompt_tokens(messages: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """The tokens of a conversation in a chat template, and where each picture ends in them."""
    tokens: list[int] = []
    pictures: list[int] = []
    for message in messages:
        tokens += text_tokens(f"<|im_start|>{message['role']}\n")
        content = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                tokens += text_tokens(part["text"])
            else:
                picture = hash(part["image_url"]["url"])
                tokens += [hash((picture, n)) for n in range(PICTURE_TOKENS)]
                pictures.append(len(tokens))
        tokens += text_tokens("<|im_end|>\n")
    return tokens + text_tokens("<|im_start|>assistant\n"), pictures


class Work:
    """What the server does and has done since it was told to begin."""

    def __init__(self, latency_s: float = 0.0, slots: int = 1_000_000, cache_tokens: int = 0) -> None:
        self.latency_s, self._free = latency_s, asyncio.Semaphore(slots)
        self._cache = PrefixCache(cache_tokens) if cache_tokens else None
        self.calls: list[tuple[float, float]] = []
        self.counts = {"bytes": 0, "digest": 0, "tokens": 0, "read_tokens": 0, "pictures": 0, "read_pictures": 0}

    async def answer(self, body: bytes) -> dict[str, Any]:
        counts = self.counts
        counts["bytes"] += len(body)
        # The same whatever the order of the calls.
        counts["digest"] = (counts["digest"] + zlib.crc32(body)) % (1 << 62)
        tokens = 1000
        if self._cache is not None:
            tokens = self._count(json.loads(body)["messages"])
        async with self._free:
            began_s = time.monotonic()
            await asyncio.sleep(self.latency_s)
            self.calls.append((began_s, time.monotonic()))
        choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
        usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "bench",
            "choices": [choice],
            "usage": usage,
        }

    def _count(self, messages: list[dict[str, Any]]) -> int:
        assert self._cache is not None
        tokens, pictures = prompt_tokens(messages)
        known = self._cache.read(tokens, text_tokens(REPLY))
        self.counts["tokens"] += len(tokens)
        self.counts["read_tokens"] += len(tokens) - known
        self.counts["pictures"] += len(pictures)
        self.counts["read_pictures"] += sum(end > known for end in pictures)
        return len(tokens)


class Connection(asyncio.Protocol):
    """HTTP/1.1, kept alive, bodies by their length."""

    def __init__(self, served: dict[str, Work]) -> None:
        self._served, self._got, self._due = served, bytearray(), 0
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        if not self._due:
            end = self._got.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._got[:end].decode("latin-1").split("\r\n")
            self._path = head[0].split()[1]
            lengths = [line.split(":")[1] for line in head if line.lower().startswith("content-length:")]
            self._head_bytes = end + 4
            self._due = self._head_bytes + int(lengths[0] if lengths else 0)
        if len(self._got) >= self._due:
            body = bytes(memoryview(self._got)[self._head_bytes : self._due])
            self._got, self._due = bytearray(), 0
            task = asyncio.get_running_loop().create_task(self._answered(self._path, body))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answered(self, path: str, body: bytes) -> None:
        if path == "/begin":
            self._served["now"] = Work(**json.loads(body))
            answer: Any = {}
        elif path == "/done":
            work = self._served["now"]
            answer = work.counts | {"calls": work.calls}
        elif path.endswith("/models"):
            answer = {"object": "list", "data": [{"id": "bench", "object": "model", "created": 0, "owned_by": "bench"}]}
        else:
            answer = await self._served["now"].answer(body)
        content = json.dumps(answer).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        self._transport.write(head.encode() + content)


async def serve() -> None:
    served = {"now": Work()}
    server = await asyncio.get_running_loop().create_server(lambda: Connection(served), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Whoever started this process holds the other end of its input, and ends it by closing that.
    await asyncio.to_thread(sys.stdin.read)


class ChatServer:
    """The server's process, seen from outside."""

    def __init__(self, port: int) -> None:
        self.port, self._address = port, f"http://127.0.0.1:{port}"
        self.base_url = f"{self._address}/v1"

    def begin(self, **settings: float) -> None:
        """Forget what was, and serve like this; see `Work`."""
        self._ask("/begin", settings)

    def done(self) -> dict[str, Any]:
        """What was counted since then."""
        return self._ask("/done", {})

    def _ask(self, path: str, content: object) -> dict[str, Any]:
        request = urllib.request.Request(f"{self._address}{path}", json.dumps(content).encode())
        with urllib.request.urlopen(request, timeout=60) as reply:
            found: dict[str, Any] = json.loads(reply.read())
        return found


@contextlib.contextmanager
def chat_server() -> Iterator[ChatServer]:
    """Start the server in a process of its own."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield ChatServer(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(serve())
