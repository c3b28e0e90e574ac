"""A server whose answers cost the reader memory or time, or redirect it.

`HOSTILE` lists the kinds of answers. As a program, it asks a server of each kind with our own client, and prints the
result and the peak memory.
"""

import contextlib
import json
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

MEGABYTE: Final = 1024 * 1024
BOMB_MEGABYTES: Final = 3500

Way = Callable[[BaseHTTPRequestHandler], None]
"""Answers a request whose body was read."""


def _head(handler: BaseHTTPRequestHandler, status: int = 200, /, **headers: str) -> None:
    handler.send_response(status)
    for name, value in ({"Content_Type": "application/json", "Connection": "close"} | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def _compressed(coding: str, status: int = 200) -> Way:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, status, Content_Encoding=coding)
        packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16 if coding == "gzip" else zlib.MAX_WBITS)
        blanks = b" " * MEGABYTE
        # Data after a full flush refers to nothing before it, so one packed megabyte can be sent again and again.
        handler.wfile.write(packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH))
        packed = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
        for _ in range(BOMB_MEGABYTES - 1):
            handler.wfile.write(packed)

    return answer


def _endless(piece: bytes, pause_s: float = 0.0, **headers: str) -> Way:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, 200, **headers)
        for _ in range(BOMB_MEGABYTES * MEGABYTE // len(piece)):
            handler.wfile.write(piece)
            if pause_s:
                time.sleep(pause_s)

    return answer


def _slow_head(handler: BaseHTTPRequestHandler) -> None:
    for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 1000:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.05)


def _long_head(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(MEGABYTE):
        handler.wfile.write(b"X-Long: " + b"x" * 1000 + b"\r\n")


def _whole(content: bytes, **headers: str) -> Way:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, 200, **headers)
        handler.wfile.write(content)

    return answer


def _redirect(status: int) -> Way:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        _head(handler, status, Location="http://user:PASSW0RD@localhost:9/v1/chat/completions")

    return answer


_EVENT = json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * 1000}}]})
HOSTILE: Final[dict[str, Way]] = {
    "gzip bomb": _compressed("gzip"),
    "deflate bomb": _compressed("deflate"),
    "gzip bomb in a refusal": _compressed("gzip", 400),
    "endless body": _endless(b" " * MEGABYTE),
    "endless events": _endless(f"data: {_EVENT}\n\n".encode() * 100, Content_Type="text/event-stream"),
    "endless line of events": _endless(b"data: " * 10000, Content_Type="text/event-stream"),
    "endless comments": _endless(b": ping\n\n" * 10000, Content_Type="text/event-stream"),
    "slow body": _endless(b" ", 0.05),
    "slow events": _endless(b": ping\n\n", 0.05, Content_Type="text/event-stream"),
    "slow head": _slow_head,
    "long head": _long_head,
    "unknown coding": _whole(b"\x0b\x02\x80", Content_Encoding="br"),
    "no gzip": _whole(b"{}", Content_Encoding="gzip"),
    "deep brackets": _whole(b"[" * (4 * MEGABYTE)),
    "many choices": _whole(b'{"choices": [' + b'{"message":{}},' * (MEGABYTE // 3) + b"{}]}"),
    "many numbers": _whole(b'{"choices": [' + b"0," * (3 * MEGABYTE) + b"0]}"),
    **{f"redirect {status}": _redirect(status) for status in (301, 302, 303, 307, 308)},
}
"""Kinds of answers, by name."""


@contextlib.contextmanager
def hostile(way: Way) -> Iterator[str]:
    """Runs a server within a `with` block.

    Args:
        way: The kind of its answers.

    Yields:
        Its address.
    """

    class Handler(BaseHTTPRequestHandler):
        wbufsize = 0

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with contextlib.suppress(OSError):  # the client has hung up
                way(self)

        def log_message(self, *_: object) -> None:
            return

    class Listener(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    listener = Listener(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/v1"
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def main() -> None:
    """Asks a server of each kind at the given addresses, and prints the results and the memory."""
    import asyncio

    from reeltalk.llm import Endpoint, Message
    from reeltalk.llm.wire_sender import WireSender

    async def ask(url: str, stream: bool) -> dict[str, Any]:
        sender = WireSender(Endpoint(model="any", base_url=url, timeout_s=1.5, max_tokens=64), stream=stream)
        try:
            sent = await sender.send([Message("user", "hello")], None)
        finally:
            await sender.close()
        return {"error": str(sent.error), "kind": getattr(sent.error, "kind", None)}

    for url in sys.argv[1:]:
        for stream in (False, True):
            began_s = time.monotonic()
            found = asyncio.run(ask(url, stream)) | {"took_s": time.monotonic() - began_s}
            found["peak_mb"] = peak_mb()
            print(json.dumps(found), flush=True)


def peak_mb() -> float:
    """Peak memory of this process. `ru_maxrss` would include the peak of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
