"""Whatever a server echoes, no key and no password comes into a run's folder, its logs or what is printed."""

import asyncio
import base64
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from reliability_page import Reliability
from scripted_server import Answer, Body, completion, serve, words

from reeltalk.cli import run
from reeltalk.errors import OutageError
from reeltalk.llm import Endpoint, Message
from reeltalk.llm.preflight import preflight
from reeltalk.llm.scrubbing import MESSAGE_CHARS
from reeltalk.llm.wire_sender import WireSender
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

KEY = "p1anted8Kq2Zw9Lm4Xv"
OTHER_KEY = "sk-proj-p1antedAbCdEf123456"
USER, PASSWORD = "anna.p1anted", "PASS/W0RD-p1anted"
TOLD = f"{quote(USER)}:{quote(PASSWORD, safe='')}"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
PLANTED = [KEY, OTHER_KEY, USER, PASSWORD, quote(PASSWORD, safe=""), BASIC, "p1anted", "W0RD"]
# What a server may say: each with all that it was sent.
ECHOES = {
    "key": f"Incorrect API key provided: {KEY}.",
    "header": f"Authorization: Bearer {KEY}",
    "headers": json.dumps({"authorization": f"Bearer {KEY}", "x-api-key": KEY}),
    "basic": f"'Authorization': 'Basic {BASIC}'",
    "address": f"no route to http://{TOLD}@upstream.example/v1/chat/completions",
    "another key": f"upstream refused {OTHER_KEY}",
    "password": f"wrong password {PASSWORD} ({quote(PASSWORD, safe='')})",
    "far behind": f"{' ' * 9000}{'x' * (MESSAGE_CHARS - 10)} {KEY}",
    "often": f"{KEY} " * 2000,
    "long": "y" * 100_000 + KEY,
}


def _error(status: int) -> Callable[[str], Answer]:
    return lambda text: Answer(status, {"error": {"message": text, "type": "any", "param": None}})


CARRIERS: dict[str, Callable[[str], Answer]] = {
    **{str(status): _error(status) for status in (400, 401, 403, 404, 422, 429, 500, 503)},
    "page": lambda text: Answer(502, f"<html><pre>{text}</pre></html>", {"Content-Type": "text/html"}),
    "page that is fine": lambda text: Answer(200, f"<html><pre>{text}</pre></html>", {"Content-Type": "text/html"}),
    "text": lambda text: Answer(400, text, {"Content-Type": "text/plain"}),
    "list": lambda text: Answer(400, json.dumps([{"error": {"message": text}}])),
    "detail": lambda text: Answer(422, {"detail": [{"loc": ["header"], "msg": text, "input": text}]}),
    "error without status": lambda text: Answer(200, json.dumps({"error": {"message": text}})),
    "name of the model": lambda text: Answer(
        200, json.dumps(completion({"messages": []}, "fine") | {"model": text, "system_fingerprint": text})
    ),
    "no choices": lambda text: Answer(200, json.dumps({"choices": [], "note": text})),
    "wrong types": lambda text: Answer(200, json.dumps({"choices": {text: text}})),
    "redirect": lambda text: Answer(307, text, {"Location": f"http://{TOLD}@127.0.0.1:9/{KEY}?key={KEY}"}),
    "headers": lambda text: Answer(500, {"error": {}}, {"X-Echo": KEY, "Retry-After": KEY}),
    "event": lambda text: Answer(
        200, f"data: {json.dumps({'error': {'message': text, 'code': 500}})}\n\n", {"Content-Type": "text/event-stream"}
    ),
}
ALL_MODES = [(echo, carrier) for echo in ECHOES for carrier in CARRIERS]
# Each way to fail with two echoes, and each echo with four ways.
MODES = [(list(ECHOES)[(n + k) % len(ECHOES)], way) for k in (0, 5) for n, way in enumerate(CARRIERS)]


def spoiled(mode: tuple[str, str]) -> Answer:
    echo, carrier = mode
    return CARRIERS[carrier](ECHOES[echo])


@pytest.fixture(scope="module")
def modes(full: bool) -> list[tuple[str, str]]:
    """Each way to fail with one echo, and with full counts with two."""
    return MODES if full else MODES[: len(CARRIERS)]


def found_in(text: str) -> list[str]:
    return [secret for secret in PLANTED if secret in text]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY_OF_MINE", KEY)


def with_user(url: str) -> str:
    return url.replace("http://", f"http://{TOLD}@")


@pytest.mark.parametrize("signed_in", [False, True])
def test_no_error_repeats_a_secret(signed_in: bool, reliability: Reliability, full: bool) -> None:
    tally = reliability(
        "servers", "failures of a server that echoes keys and passwords", "a secret stands in the error, or it is long"
    )
    # A password that was never sent cannot be known to be one.
    modes = [mode for mode in (ALL_MODES if full else MODES) if signed_in or mode[0] != "password"]
    leaks: list[tuple[str, str, str]] = []
    mode = modes[0]
    with serve(lambda _body: spoiled(mode), keep=0) as server:
        url = with_user(server.base_url) if signed_in else server.base_url
        endpoint = Endpoint(model="any", base_url=url, timeout_s=30, max_tokens=8)

        async def ask(stream: bool) -> None:
            nonlocal mode
            sender = WireSender(endpoint, api_key=KEY, stream=stream)
            for mode in modes:
                tally.tried += 1
                told = str(await sender.send([Message("user", "hello")], None))
                if found_in(told) or len(told) > MESSAGE_CHARS + 400:
                    leaks.append((*mode, told))
            await sender.close()

        for stream in (False, True):
            asyncio.run(ask(stream))
    assert not leaks


@pytest.mark.parametrize("signed_in", [False, True])
def test_no_preflight_tells_a_secret(signed_in: bool, modes: list[tuple[str, str]], reliability: Reliability) -> None:
    tally = reliability("servers", "preflights at a server that echoes keys and passwords", "a secret is told")
    mode = modes[0]
    with serve(lambda _body: spoiled(mode), keep=0) as server:
        url = with_user(server.base_url) if signed_in else server.base_url
        # A password that was never sent cannot be known to be one.
        for mode in (mode for mode in modes if signed_in or mode[0] != "password"):
            tally.tried += 1
            try:
                found = preflight(Endpoint(model="any", base_url=url), api_key=KEY, key_variable="A_KEY_OF_MINE")
                told = "; ".join(found.notes)
            except OutageError as error:
                told = str(error)
            assert found_in(told) == [], mode


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory, modes: list[tuple[str, str]]) -> Path:
    """A turn for each failing mode, and as many that are answered."""
    turns = tuple(Turn(question=f"Where is he ({n})?", references=("In the kitchen.",)) for n in range(2 * len(modes)))
    dialogues = [
        Dialogue(id=f"d{n}", video_id="v", turns=turns[n : n + 20], task="any") for n in range(0, len(turns), 20)
    ]
    content = Content(videos=[Video(id="v", split="test", sha256="0" * 64)], dialogues=dialogues)
    folder = tmp_path_factory.mktemp("leaks") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


def reply(body: Body, *, signed_in: bool) -> str | Answer:
    """Fails at every second turn that is asked about, and answers between, so that no breaker ends it."""
    numbers = re.findall(r"Where is he \((\d+)\)", words(body["messages"][-1]))
    if not numbers or int(numbers[-1]) % 2:
        return '{"score": 80, "reason": "right"}' if body["model"] == "other" else "In the kitchen."
    echo, carrier = MODES[int(numbers[-1]) // 2]
    # A password that was never sent cannot be known to be one.
    return spoiled((echo if signed_in else echo.replace("password", "key"), carrier))


def texts_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that is in a folder, as texts."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        yield path, path.read_bytes().decode("latin-1")
        yield path, path.read_bytes().decode("utf-8", "replace")
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    yield path / name, archive.read(name).decode("utf-8", "replace")


@pytest.mark.parametrize(("signed_in", "stream"), [(True, False), (False, True)])
def test_no_run_keeps_a_secret(
    signed_in: bool,
    stream: bool,
    benchmark: Path,
    modes: list[tuple[str, str]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    reliability: Reliability,
) -> None:
    caplog.set_level(logging.INFO)
    out = tmp_path / "run"
    with serve(partial(reply, signed_in=signed_in), keep=0) as server:
        url = with_user(server.base_url) if signed_in else server.base_url
        command: list[object] = [
            "evaluate", benchmark, "--out", out, "--model", "any", "--base-url", url, "--api-key-env", "A_KEY_OF_MINE",
            "--policy", "none", "--history", "none", "--metrics", "none", "--protocols", "clair", "--judge", "other",
            "--judge-base-url", url, "--judge-api-key-env", "A_KEY_OF_MINE", "--max-retries", 0, "--backoff-s", 0,
            "--give-up-after-s", 0, "--connections", 1,
        ]  # fmt: skip
        code = run([str(part) for part in [*command, *(["--first-token"] if stream else [])]])
        asked = server.count
    printed = capfd.readouterr()
    leaks = {"printed": found_in(printed.out + printed.err), "logged": found_in(caplog.text)}
    for path, text in texts_of(out):
        leaks[str(path.relative_to(tmp_path))] = leaks.get(str(path.relative_to(tmp_path)), []) + found_in(text)
    tally = reliability(
        "servers", "evaluations of a server that echoes keys and passwords", "a key or a password stands in the run"
    )
    tally.tried = asked
    assert code in (0, 1), printed.err
    assert asked >= 2 * len(modes)
    assert (out / "answers.jsonl").is_file() or any(out.rglob("*.jsonl"))
    assert {name: found for name, found in leaks.items() if found} == {}
