"""Whatever a server sends, it is read within bounds of memory and time, and no request goes elsewhere."""

import contextlib
import json
import subprocess
import sys
from typing import Any

import pytest
from hostile_server import HOSTILE, hostile
from places import ROOT
from reliability_page import Reliability
from scripted_server import Answer, serve

from reeltalk.errors import ModelError
from reeltalk.llm import Endpoint, LanguageModel, Message

HOSTILE_SERVER = ROOT / "tools" / "hostile_server.py"
MOST_MB = 500
# Of a request that may take 1.5 s. The machine may be busy.
MOST_S = 30


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[dict[str, Any]]]:
    """What comes of asking each hostile server for a whole reply and for a stream, in processes of their own.

    Slow ones have one to themselves, which waits while the other works.
    """
    slow = [name for name in HOSTILE if name.startswith("slow ")]
    asked = (slow, [name for name in HOSTILE if name not in slow])
    outcomes: dict[str, list[dict[str, Any]]] = {}
    with contextlib.ExitStack() as stack:
        processes = []
        for names in asked:
            addresses = [stack.enter_context(hostile(HOSTILE[name])) for name in names]
            command = [sys.executable, str(HOSTILE_SERVER), *addresses]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            processes.append(process)
        for names, process in zip(asked, processes, strict=True):
            said, _ = process.communicate(timeout=600)
            assert process.returncode == 0
            found = [json.loads(line) for line in said.splitlines()]
            outcomes |= {name: found[2 * n : 2 * n + 2] for n, name in enumerate(names)}
    return outcomes


@pytest.mark.parametrize("way", HOSTILE)
def test_a_reply_is_read_within_bounds(
    way: str, outcomes: dict[str, list[dict[str, Any]]], reliability: Reliability
) -> None:
    failing = f"reeltalk takes more than {MOST_MB} MB or does not end in time, or the request goes to another host"
    tally = reliability("servers", "replies without an end, packed 1,000 to 1, slow or sent on elsewhere", failing)
    for found in outcomes[way]:
        tally.tried += 1
        # Of a text without an end, as much is kept as was asked for.
        whole = way == "endless events" and found["error"] == "None"
        assert whole or found["error"].startswith(("any at http://127.0.0.1", "http://127.0.0.1")), found
        assert found["peak_mb"] < MOST_MB, found
        assert found["took_s"] < MOST_S, found
        assert "PASSW0RD" not in found["error"]


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("gzip bomb", "sent a reply of more than 8 MB"),
        ("gzip bomb in a refusal", "sent a reply of more than 8 MB"),
        ("endless body", "sent a reply of more than 8 MB"),
        ("unknown coding", "with a reply in the coding 'br', which was not asked for"),
        ("no gzip", "sent a reply that cannot be decoded"),
        ("slow body", "gave no reply within 1.5 s"),
        ("slow head", "gave no reply within 1.5 s"),
        ("redirect 307", "answered 307 and sends requests on to http://localhost:9/v1/chat/completions, which is not"),
    ],
)
def test_it_says_what_is_wrong(way: str, words: str, outcomes: dict[str, list[dict[str, Any]]]) -> None:
    for found in outcomes[way]:
        assert words in found["error"]


@pytest.mark.parametrize("way", ["slow body", "slow head"])
def test_threads_wait_no_longer(way: str) -> None:
    with hostile(HOSTILE[way]) as url:
        endpoint = Endpoint(model="any", base_url=url, timeout_s=0.5, max_retries=0)
        with contextlib.closing(LanguageModel(endpoint)) as model:
            with pytest.raises(ModelError, match=r"no reply within 0\.5 s"):
                model.ask([Message("user", "hello")])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_request_is_not_sent_elsewhere(status: int) -> None:
    with serve(lambda _body: "stolen") as elsewhere:
        target = f"{elsewhere.base_url}/chat/completions"
        with serve(lambda _body: Answer(status, "", {"Location": target})) as server:
            with contextlib.closing(LanguageModel(Endpoint(model="any", base_url=server.base_url))) as model:
                with pytest.raises(ModelError, match=f"answered {status} and sends requests on to {target}"):
                    model.ask([Message("user", "hello", (b"\xff\xd8",))])
            assert server.count == 1
        assert elsewhere.count == 0
