"""Servers that fail in over eighty ways: evaluate ends with a sentence and within memory, and tells no key or password.

Each way is played through `reeltalk evaluate` in a process of its own, some through `reeltalk judge` too; `make test`
plays one of each kind. The key is in the environment, the password in the address. All that a run leaves is searched
for both, inside archives and databases.
"""

import gzip
import json
import shutil
import signal
import struct
import threading
import time
import zipfile
import zlib
from collections.abc import Iterable, Set
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from hostile_server import HOSTILE, MEGABYTE, Way, hostile
from launched_runs import Ended, Launcher
from reliability_page import Reliability

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

KEY: Final = "sk-planted-0123456789-abcdefghij"
PASSWORD: Final = "PASSW0RD-planted"
MOST_MB: Final = 500
MOST_S: Final = 120
"""Of a command whose requests may take 1.5 s; the machine may be busy."""


def sent(status: int, content: bytes | str, **headers: str) -> Way:
    """An answer as it is; `_` in the name of a header is a dash."""
    body = content.encode() if isinstance(content, str) else content

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        stated = {"Content_Type": "application/json", "Connection": "close", "Content_Length": str(len(body))} | headers
        for name, value in stated.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def raw(content: bytes, *, reset: bool = False) -> Way:
    """Bytes as they are, and the connection closed or reset."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(content)
        if reset:
            # Closing with nothing to linger for sends RST instead of FIN.
            handler.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))
        handler.close_connection = True
        handler.connection.close()

    return answer


def echoed(status: int) -> Way:
    """An error that repeats what was sent: key, headers, and the whole address."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        said = {name: value for name, value in handler.headers.items()}
        key = said.get("Authorization", "").removeprefix("Bearer ")
        text = f"bad key {key} in {said} at http://user:{PASSWORD}@{said.get('Host')}{handler.path}, api_key={key!r}"
        body = json.dumps({"error": {"message": text, "type": "auth", "key": KEY}})
        sent(status, body, X_Echo=f"Bearer {KEY}", WWW_Authenticate=f'Bearer realm="{KEY}"')(handler)

    return answer


def replied(text: object, **more: object) -> str:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m"} | {
        "choices": choices, "usage": usage} | more)  # fmt: skip


def slow(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for byte in replied("It is one.").encode():
        handler.wfile.write(bytes([byte]))
        time.sleep(0.1)


def loop(handler: BaseHTTPRequestHandler) -> None:
    sent(307, "", Location=handler.path)(handler)


EVENTS = "text/event-stream"
BUSY = '{"error": {"message": "slow down"}}'
OWN: Final[dict[str, Way]] = {
    **{f"{status} that echoes the key": echoed(status) for status in (400, 401, 403, 404, 422, 500, 503)},
    "401 without a body": sent(401, ""),
    "404 as a web page": sent(404, "<html>no such page</html>", Content_Type="text/html"),
    "400 that echoes a secret line": sent(400, json.dumps({"error": f"header was\nAuthorization: Bearer {KEY}\nend"})),
    "400 with the key in base64's company": sent(400, f"token={KEY}&password={PASSWORD}"),
    "429 with a huge wait": sent(429, BUSY, Retry_After="99999999999"),
    "429 with a negative wait": sent(429, BUSY, Retry_After="-5"),
    "429 with words": sent(429, BUSY, Retry_After="soon"),
    "429 with NaN": sent(429, BUSY, Retry_After="nan"),
    "429 with infinity": sent(429, BUSY, Retry_After="inf"),
    "429 with a date of 1970": sent(429, BUSY, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"),
    "500 as a web page": sent(500, "<html><h1>Oops</h1></html>" * 2000, Content_Type="text/html"),
    "status 999": sent(999, "{}"),
    "status 204": raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "empty body": sent(200, ""),
    "no JSON": sent(200, "Hello!"),
    "null": sent(200, "null"),
    "a list": sent(200, "[]"),
    "a number": sent(200, "1e999"),
    "huge number": sent(200, '{"choices": ' + "9" * 100_000 + "}"),
    "NaN as usage": sent(200, replied("It is one.").replace('"prompt_tokens": 1', '"prompt_tokens": NaN')),
    "other content type": sent(200, replied("It is one."), Content_Type="image/png"),
    "negative usage": sent(200, replied("It is one.", usage={"prompt_tokens": -5, "completion_tokens": -1})),
    "usage in words": sent(200, replied("It is one.", usage="many")),
    "usage beyond numbers": sent(200, replied("It is one.", usage={"prompt_tokens": 10**400, "completion_tokens": 1})),
    "content in parts": sent(200, replied([{"type": "text", "text": "It is one."}])),
    "content of a wrong kind": sent(200, replied({"text": "x"})),
    "content missing": sent(200, replied(None)),
    "choices of a wrong kind": sent(200, replied("x", choices={"a": 1})),
    "choices that are null": sent(200, replied("x", choices=[None, None])),
    "an answer with the key": sent(200, replied("It is one."), X_Key=KEY),
    "NUL bytes": sent(200, replied("It\x00 is\x00 one.")),
    "NUL bytes around": sent(200, b"\x00" * 1000 + replied("x").encode()),
    "bidirectional text": sent(200, replied("\u202eenO\u202c \u2066x\u2069 \u200f")),
    "half a surrogate": sent(200, replied("x").replace('"x"', '"\\ud800 one"')),
    "no UTF-8": sent(200, b'{"choices": [{"message": {"content": "\xff\xfe\xc3\x28"}}]}'),
    "UTF-16": sent(200, replied("It is one.").encode("utf-16")),
    "a line of 10 MB": sent(200, replied("x" * 10 * MEGABYTE)),
    "an error of 10 MB": sent(400, json.dumps({"error": {"message": "x" * 10 * MEGABYTE + KEY}})),
    "nested 100,000 deep": sent(200, '{"a":' * 100_000 + "1" + "}" * 100_000),
    "closed at once": raw(b""),
    "reset at once": raw(b"", reset=True),
    "closed in the status": raw(b"HTTP/1.1 2"),
    "closed in the head": raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "reset in the body": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", reset=True),
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "binary in place of HTTP": raw(bytes(range(256)) * 16),
    "wrong length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
    "two lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}"),
    "chunk of a wrong size": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"),
    "chunks that end early": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
    "a header with a line feed": raw(f"HTTP/1.1 401 no\r\nX-Key: {KEY}\n {KEY}\r\n\r\n{KEY}".encode()),
    "slow drip": slow,
    "redirect to itself": loop,
    "redirect to a file": sent(302, "", Location="file:///etc/passwd"),
    "redirect with the key": sent(302, "", Location=f"http://127.0.0.1:9/?key={KEY}"),
    "events though none were asked": sent(200, 'data: {"choices": []}\n\ndata: [DONE]\n\n', Content_Type=EVENTS),
    "events that are an error": sent(200, f'event: error\ndata: {{"error": "{KEY}"}}\n\n', Content_Type=EVENTS),
    "events without an end": sent(200, 'data: {"choices": [{"delta": {"content": "x"}}]}\n', Content_Type=EVENTS),
}
"""Ways to fail, beside those of `hostile_server`."""
MODES: Final = HOSTILE | OWN
JUDGED: Final = (
    "401 that echoes the key", "400 that echoes a secret line", "429 with a huge wait", "500 as a web page", "no JSON",
    "gzip bomb", "a line of 10 MB", "closed at once", "redirect with the key", "NUL bytes", "content in parts",
)  # fmt: skip
OFTEN: Final = {
    "401 that echoes the key", "429 with a huge wait", "no JSON", "half a surrogate", "an error of 10 MB",
    "nested 100,000 deep", "reset at once", "chunks that end early", "slow drip", "redirect with the key",
    "gzip bomb",
}  # fmt: skip
"""One of each kind, for `make test`."""
JUDGED_OFTEN: Final = {"401 that echoes the key", "no JSON"}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    turns = tuple(Turn(question=f"What is the number {n}?", references=("It is one.",)) for n in range(2))
    videos = [Video(id="v", summaries={"refine": "Somebody counts."})]
    content = Content(videos=videos, dialogues=[Dialogue(id="d", video_id="v", turns=turns)])
    folder = tmp_path_factory.mktemp("modes") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


@pytest.fixture(scope="module")
def answered(benchmark: Path) -> Path:
    """A run whose answers a judge can be asked about."""
    out = benchmark.parent / "answered"
    command = ["evaluate", str(benchmark), "--model", "baseline:reference", "--policy", "none", "--out", str(out)]
    assert run(command) == 0
    return out


def ended(runs: Launcher, command: list[object], folder: Path) -> Ended:
    """A command that has the key in its environment, and a home of its own in the folder."""
    home = folder / "home"
    home.mkdir()
    places = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR"), str(home))
    timers: list[threading.Timer] = []

    def watch(process: int) -> None:
        timers.append(threading.Timer(MOST_S, runs.send, (process, signal.SIGKILL)))
        timers[0].start()

    done = runs.run(*command, environment=places | {"OPENAI_API_KEY": KEY}, meanwhile=watch)
    timers[0].cancel()
    (folder / "said.txt").write_text(done.said, encoding="utf-8")
    return done


def with_password(url: str) -> str:
    return url.replace("http://", f"http://user:{PASSWORD}@")


def secrets_in(folder: Path) -> list[str]:
    """Files that hold the key or the password, also packed ones."""
    found = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        contents = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                contents += map(archive.read, archive.namelist())
        for content in list(contents):
            for unpack in (gzip.decompress, zlib.decompress):
                try:
                    contents.append(unpack(content))
                except (OSError, EOFError, zlib.error):
                    continue
        for secret in (KEY, PASSWORD):
            forms = {secret.encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be")}
            if any(form in content for content in contents for form in forms):
                found.append(f"{path.relative_to(folder)} holds {secret}")
    return found


ASKED: Final = ["--timeout-s", 1.5, "--max-retries", 1, "--backoff-s", 0.01, "--give-up-after-s", 3]


def check(runs: Launcher, command: list[object], folder: Path, url: str) -> None:
    done = ended(runs, command, folder)
    code, said = done.code, done.said
    assert "Traceback" not in said, said[-3000:]
    assert "Exception ignored" not in said, said[-3000:]
    assert code in (0, 1, 2), said[-2000:]
    # What failed is told: where, or what is wrong with what was said.
    assert code == 0 or url.rsplit(":", 1)[1].split("/")[0] in said or "neither reply could be used" in said, said[
        -2000:
    ]
    assert secrets_in(folder) == []
    assert done.peak_mb < MOST_MB


def ways(played: Iterable[str], often: Set[str]) -> list[ParameterSet]:
    """The ways, of which all but a few wait for full counts."""
    return [pytest.param(way, marks=() if way in often else pytest.mark.slow) for way in played]


@pytest.mark.parametrize("way", ways(MODES, OFTEN))
def test_evaluate(runs: Launcher, way: str, benchmark: Path, tmp_path: Path, reliability: Reliability) -> None:
    failing = f"a traceback, no end, more than {MOST_MB} MB, or the key or the password in a file or in the output"
    tally = reliability("servers", "evaluate with servers that fail in over 80 ways", failing)
    tally.tried = 1
    with hostile(MODES[way]) as url:
        command = ["evaluate", benchmark, "--model", "m", "--base-url", with_password(url), "--policy", "none"]
        check(runs, [*command, "--protocols", "match", "--out", tmp_path / "run", *ASKED], tmp_path, url)


@pytest.mark.parametrize("way", ways(JUDGED, JUDGED_OFTEN))
def test_judge(runs: Launcher, way: str, answered: Path, tmp_path: Path, reliability: Reliability) -> None:
    failing = f"a traceback, no end, more than {MOST_MB} MB, or the key or the password in a file or in the output"
    tally = reliability("servers", "judge with servers that fail", failing)
    tally.tried = 1
    with hostile(MODES[way]) as url:
        command = ["judge", answered, "--judge", "m", "--judge-base-url", with_password(url), "--protocols", "vdeval"]
        check(runs, [*command, "--out", tmp_path / "judged", *ASKED], tmp_path, url)


def test_the_search_finds_what_is_hidden(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", f"x {KEY} y" * 10)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(PASSWORD.encode()))
    assert len(secrets_in(tmp_path)) == 2
    shutil.rmtree(tmp_path)
