"""A server that speaks the chat-completions protocol and answers what a function says, for tests without a model.

`faulty` makes it fail in the ways that real servers fail, the same ones for the same requests whenever it runs. Whoever
asks for a stream gets the answer in pieces.
"""

import contextlib
import hashlib
import json
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
PREFLIGHTS = ("Reply with: ready", "Reply with JSON: is this ready?")
"""What `reeltalk.llm.preflight` asks."""
TIME = re.compile(r"<(\d+\.\d) seconds>")
"""What stands before a picture whose time is told."""


@dataclass(frozen=True)
class Answer:
    """What goes over the wire, where a text is not enough."""

    status: int = 200
    content: Body | str | Sequence[str | float] = field(default_factory=dict)
    """A JSON object, the body as it is, or its parts, with seconds to wait between them."""
    headers: dict[str, str] = field(default_factory=dict)
    hold_s: float = 0.0
    """Wait before the answer."""
    reset: bool = False
    """Reset the connection instead of an answer."""
    cut: bool = False
    """Promise twice the body that is sent, and hang up; of a stream, send half."""
    endless: bool = False
    """Send the body again and again until the client hangs up, every hundredth of a second."""


Script = Callable[[Body], "str | Body | Answer"]
"""Takes the body of a request. Returns the model's text, a whole body of an answer, or an `Answer`."""


def completion(body: Body, text: object, *, finish_reason: str = "stop") -> Body:
    """The body of an answer to `body` in which the model says `text`."""
    prompt_tokens = sum(len(words(message)) for message in body["messages"]) // 4 + 3 + 100 * count_images(body)
    completion_tokens = len(str(text)) // 4 + 1
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def pieces(body: Body, content: Body) -> list[str]:
    """The body of an answer as the events of a stream, one word each."""
    choice = content["choices"][0]
    head = {"id": content["id"], "object": "chat.completion.chunk", "created": 1, "model": content["model"]}
    found: list[Body] = [
        head | {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        for word in re.findall(r"\S+\s*|\s+", choice["message"]["content"])
    ]
    found.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        found.append(head | {"choices": [], "usage": content["usage"]})
    return [f"data: {json.dumps(piece, ensure_ascii=False)}\n\n" for piece in found] + ["data: [DONE]\n\n"]


def words(message: Body) -> str:
    """The text of one message of a request, without its pictures."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def times_in(message: Body) -> list[float]:
    """The times that stand before the pictures of a message, in seconds."""
    return [float(time[1]) for line in words(message).splitlines() if (time := TIME.fullmatch(line))]


def question_in(message: Body) -> str:
    """The question of a message without speech: neither times of pictures nor a request for a form of the answer."""
    return "\n".join(line for line in words(message).splitlines() if not TIME.fullmatch(line)).split("\n\n")[0].strip()


def is_preflight(body: Body) -> bool:
    """Whether a request is the small one by which a command tries a server."""
    return len(body["messages"]) == 1 and words(body["messages"][0]) in PREFLIGHTS


def count_images(body: Body) -> int:
    """How many pictures a request holds."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    return sum(
        part["type"] == "image_url" and part["image_url"]["url"].startswith("data:image/jpeg;base64,") for part in parts
    )


class Server:
    """What a test knows of a server that runs."""

    def __init__(self, base_url: str, keep: int) -> None:
        self.base_url = base_url
        self._keep, self._lock = keep, threading.Lock()
        self._count, self._images, self._tokens = 0, 0, 0
        self._requests: list[Body] = []
        self._failures: list[BaseException] = []
        self.preflights = 0
        """Small requests by which a command tried the server, where the script does not see them."""

    @property
    def count(self) -> int:
        """Requests that came in."""
        with self._lock:
            return self._count

    @property
    def images(self) -> int:
        """Pictures that came in."""
        with self._lock:
            return self._images

    @property
    def tokens(self) -> int:
        """Tokens of all answers, as they were told to whoever asked."""
        with self._lock:
            return self._tokens

    @property
    def requests(self) -> list[Body]:
        """The first requests, as they came; `path` and `key` are added."""
        with self._lock:
            return list(self._requests)

    def take(self, body: Body, path: str, key: str | None) -> None:
        """Count a request."""
        with self._lock:
            self._count += 1
            self._images += count_images(body)
            if len(self._requests) < self._keep:
                self._requests.append(body | {"path": path, "key": key})

    def give(self, content: Body) -> None:
        """Count the tokens of an answer."""
        with self._lock:
            self._tokens += (content.get("usage") or {}).get("total_tokens", 0)

    def fail(self, error: BaseException) -> None:
        """Note an error of the script."""
        with self._lock:
            self._failures.append(error)

    def check(self) -> None:
        """Raise the first error of the script."""
        if self._failures:
            raise self._failures[0]


@contextlib.contextmanager
def serve(
    reply: Script,
    *,
    keep: int = 1000,
    models: Sequence[str] | None = None,
    port: int = 0,
    sees_preflights: bool = False,
) -> Iterator[Server]:
    """Run a server on this machine while the block lasts.

    Args:
        reply: What it answers; called in several threads.
        keep: How many requests are recorded; all are counted.
        models: Names that `GET /v1/models` lists; None for a server that lists none. These requests are not counted.
        port: Where it listens; a free one by default.
        sees_preflights: Hand the small requests by which a command tries a server to `reply`, and count them as all
            others; by default they are answered here, and counted apart.

    Raises:
        Exception: What `reply` raised, when the block ends.
    """
    stopped = threading.Event()
    connections: set[socket.socket] = set()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # The whole answer in one packet, without which each one takes 40 ms.
        wbufsize = -1
        disable_nagle_algorithm = True

        def setup(self) -> None:
            with lock:
                connections.add(self.request)
            super().setup()

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()
            with lock:
                connections.discard(self.request)

        def do_GET(self) -> None:
            known = models is not None and self.path == "/v1/models"
            content = {"object": "list", "data": [{"id": name, "object": "model"} for name in models or ()]}
            self._send(content if known else {"detail": "Not Found"}, 200 if known else 404)

        def _send(self, content: Body, status: int = 200) -> None:
            sent = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not sees_preflights and is_preflight(body):
                server.preflights += 1
                self._send(completion(body, '{"ready": true}'))
                return
            server.take(body, self.path, self.headers.get("Authorization"))
            try:
                said = reply(body)
            except Exception as error:
                server.fail(error)
                said = Answer(400, {"error": {"message": f"the script failed: {error!r}"}})
            if isinstance(said, str):
                said = completion(body, said)
            answer = said if isinstance(said, Answer) else Answer(content=said)
            if answer.hold_s:
                stopped.wait(answer.hold_s)
            if answer.reset:
                # Closing with nothing to linger for sends RST instead of FIN.
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.request.close()
                self.close_connection = True
                return
            if isinstance(answer.content, dict):
                server.give(answer.content)
                if body.get("stream") and answer.status == 200 and isinstance(answer.content["choices"], list):
                    if answer.content["choices"]:
                        self._stream(pieces(body, answer.content), answer.cut)
                        return
            if not isinstance(answer.content, dict | str):
                self._send_parts(answer)
                return
            text = answer.content if isinstance(answer.content, str) else json.dumps(answer.content, ensure_ascii=False)
            content = text.encode()
            if answer.endless:
                self._repeat(content, answer)
                return
            self.send_response(answer.status)
            for name, value in ({"Content-Type": "application/json"} | answer.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(2 * len(content) if answer.cut else len(content)))
            self.end_headers()
            self.wfile.write(content)
            if answer.cut:
                self.close_connection = True

        def _send_parts(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in (answer.headers | {"Transfer-Encoding": "chunked"}).items():
                self.send_header(name, value)
            self.end_headers()
            for part in answer.content:
                if isinstance(part, str):
                    self.wfile.write(f"{len(part.encode()):x}\r\n".encode() + part.encode() + b"\r\n")
                    self.wfile.flush()
                else:
                    stopped.wait(part)
            self.wfile.write(b"0\r\n\r\n")

        def _repeat(self, content: bytes, answer: Answer) -> None:
            self.close_connection = True
            self.send_response(answer.status)
            for name, value in ({"Content-Type": "application/json"} | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                while not stopped.wait(0.01):
                    self.wfile.write(content)
                    self.wfile.flush()

        def _stream(self, events: list[str], cut: bool) -> None:
            sent = "".join(events).encode()
            if cut:
                # In the midst of an event, as a rule.
                sent = sent[: len(sent) // 2]
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            # Not at the borders of events: those of the network are elsewhere.
            for begin in range(0, len(sent), 300):
                part = sent[begin : begin + 300]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            if cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            return

    class Listener(ThreadingHTTPServer):
        daemon_threads = False
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            return  # the client hung up

        def shutdown_request(self, request: Any) -> None:
            with contextlib.suppress(OSError):
                super().shutdown_request(request)

    listener = Listener(("127.0.0.1", port), Handler)
    server = Server(f"http://127.0.0.1:{listener.server_port}/v1", keep)
    thread = threading.Thread(target=listener.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        stopped.set()
        listener.shutdown()
        thread.join()
        with lock:
            open_connections = list(connections)
        for connection in open_connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        listener.server_close()
    server.check()


Fault = Callable[[Body, str, float], "str | Body | Answer"]
"""Takes a request, the text that would be right, and how long to hold. Returns what is answered instead."""


def _status(status: int, headers: dict[str, str] | None = None) -> Fault:
    return lambda _body, _text, _hold: Answer(status, {"error": {"message": "not now"}}, headers or {})


FAULTS: dict[str, Fault] = {
    "429 with seconds": lambda _b, _t, hold: Answer(429, {"error": {}}, {"Retry-After": f"{hold / 10:g}"}),
    "429": _status(429),
    "429 with a date": lambda _b, _t, _h: Answer(429, {"error": {}}, {"Retry-After": formatdate(usegmt=True)}),
    "500": _status(500),
    "502": lambda _b, _t, _h: Answer(502, "<html>Bad Gateway</html>", {"Content-Type": "text/html"}),
    "503": _status(503),
    "529": _status(529),
    "time out": lambda body, text, hold: Answer(content=completion(body, text), hold_s=hold),
    "connection reset": lambda _b, _t, _h: Answer(reset=True),
    "cut body": lambda body, text, _h: Answer(content=completion(body, text), cut=True),
    "no choices": lambda body, text, _h: completion(body, text) | {"choices": []},
    "empty text": lambda body, _t, _h: completion(body, ""),
    "fenced": lambda _b, text, _h: f"```json\n{text}\n```",
    "text around": lambda _b, text, _h: f"Sure! Here is what you asked for: {text} Let me know if I can help further.",
    "wrong types": lambda _b, text, _h: json.dumps({name: [] for name in json.loads(text)}),
    "wrong answer": lambda body, _t, _h: {"choices": "none", "usage": completion(body, "")["usage"]},
    "Chinese": lambda _b, text, _h: f"好的，结果如下：{text}。希望对您有帮助！",
    "cut off": lambda body, text, _h: completion(body, text[: len(text) // 2], finish_reason="length"),
    "web page": lambda _b, _t, _h: Answer(200, "<!doctype html><p>Sign in</p>", {"Content-Type": "text/html"}),
}
"""Ways to fail, by name."""


def _events(content: str) -> Answer:
    return Answer(200, content, {"Content-Type": "text/event-stream"})


STREAM_FAULTS: dict[str, Fault] = {
    "stream without an end": lambda body, text, _h: _events("".join(pieces(body, completion(body, text))[:-3])),
    "error in a stream": lambda body, text, _h: _events(
        pieces(body, completion(body, text))[0] + 'data: {"error": {"message": "out of memory", "code": 500}}\n\n'
    ),
    "no JSON in a stream": lambda body, text, _h: _events(
        pieces(body, completion(body, text))[0] + "data: {not JSON\n\n"
    ),
}
"""Ways to fail where a stream was asked for, by name."""


def faulty(
    seed: int,
    reply: Callable[[Body], str],
    *,
    rate: float = 0.5,
    mix: Mapping[str, float] | None = None,
    hold_s: float = 0.3,
    counts: Counter[str] | None = None,
) -> Script:
    """A script that answers as `reply`, or fails in one of the `FAULTS` and `STREAM_FAULTS`.

    Args:
        seed: With the request, and how often it came before, decides what happens.
        reply: The right answer: a JSON object as text, where faults are chosen that spoil one.
        rate: Share of requests that go wrong, 0-1, each of `FAULTS` as often.
        mix: Shares of faults by name instead, 0-1.
        hold_s: How long an answer is held that shall come too late.
        counts: Receives how often each fault was chosen, and `"right"`.
    """
    shares = mix if mix is not None else {fault: rate / len(FAULTS) for fault in FAULTS}
    faults = [*sorted(shares), None]
    weights = [shares[fault] for fault in sorted(shares)] + [1 - sum(shares.values())]
    known = FAULTS | STREAM_FAULTS
    seen: Counter[bytes] = Counter()
    lock = threading.Lock()

    def answer(body: Body) -> str | Body | Answer:
        digest = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
        with lock:
            seen[digest] += 1
            # By request and not by order of arrival, which differs from run to run.
            draw = random.Random(f"{seed} {digest.hex()} {seen[digest]}")
            fault = draw.choices(faults, weights)[0]
            if counts is not None:
                counts[fault or "right"] += 1
        text = reply(body)
        return known[fault](body, text, hold_s) if fault else text

    return answer
