"""A language model is asked over HTTP, and whatever a server does becomes a reply or one sentence."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Answer, Server, completion, serve, words

from reeltalk.cli import run
from reeltalk.errors import BudgetError, ModelError, SettingError
from reeltalk.llm import Budget, Endpoint, LanguageModel, Message, Prompt
from reeltalk.llm.retrying import retry_after
from reeltalk.llm.wire import most_prompt_tokens

USER = [Message("user", "hello")]
SMALL: dict[str, Any] = {"backoff_s": 0.001, "longest_wait_s": 0.01, "give_up_after_s": 0}


@dataclass
class Told:
    """A server, and how its next requests are answered."""

    server: Server
    script: list[str | dict[str, Any] | Answer]


@pytest.fixture
def told() -> Iterator[Told]:
    script: list[str | dict[str, Any] | Answer] = []
    lock = threading.Lock()

    def reply(body: dict[str, Any]) -> str | dict[str, Any] | Answer:
        with lock:
            return script.pop(0) if script else f"said: {words(body['messages'][-1])[-40:]}"

    with serve(reply) as server:
        yield Told(server, script)


def refusal(status: int, message: str = "", **headers: str) -> Answer:
    return Answer(
        status, {"error": {"message": message}}, {name.replace("_", "-"): text for name, text in headers.items()}
    )


@contextlib.contextmanager
def model(
    url: str, *, budget: Budget | None = None, sees_images: bool = True, **settings: Any
) -> Iterator[LanguageModel]:
    endpoint = Endpoint(model="tiny", base_url=url, **(SMALL | settings))
    with contextlib.closing(
        LanguageModel(endpoint, api_key="secret", budget=budget, sees_images=sees_images)
    ) as opened:
        yield opened


def test_a_reply_has_text_and_counts(told: Told) -> None:
    with model(told.server.base_url) as tiny:
        reply = tiny.ask([Message("system", "be brief"), *USER])
        assert (tiny.name, tiny.sees_images) == ("tiny", True)
    assert (reply.text, reply.cut_off, reply.cached) == ("said: hello", False, False)
    assert (reply.prompt_tokens, reply.completion_tokens) == (6, 3)
    sent = told.server.requests[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["key"] == "Bearer secret"
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert (sent["temperature"], sent["seed"]) == (0.0, 17)


def test_pictures_go_before_the_text(told: Told) -> None:
    with model(told.server.base_url) as tiny:
        tiny.ask([Message("user", "what is this?", (b"\xff\xd8one", b"\xff\xd8two"))])
    parts = told.server.requests[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "image_url", "text"]
    assert parts[0]["image_url"]["url"] == "data:image/jpeg;base64,/9hvbmU="
    assert told.server.images == 2
    with model(told.server.base_url, sees_images=False) as blind, pytest.raises(ValueError, match="sees no pictures"):
        blind.ask([Message("user", "what is this?", (b"\xff\xd8one",))])
    assert told.server.count == 1


PASSING: dict[str, str | dict[str, Any] | Answer] = {
    "408": refusal(408),
    "409": refusal(409),
    "429": refusal(429),
    "500": refusal(500),
    "503": refusal(503, retry_after="0"),
    "529": refusal(529, retry_after=formatdate(usegmt=True)),
    "retry-after nonsense": refusal(429, retry_after="soon"),
    "no choices": {"choices": []},
    "nonsense": {"nonsense": 1},
    "wrong types": {"choices": "none"},
    "negative usage": {"choices": [], "usage": {"prompt_tokens": -1}},
    "empty": "  ",
    "web page": Answer(200, "<p>hello", {"Content-Type": "text/html"}),
    "cut": Answer(content={"choices": []}, cut=True),
    "reset": Answer(reset=True),
    "late": Answer(hold_s=0.5),
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_is_asked_again(told: Told, kind: str) -> None:
    often = 1 if kind == "empty" else 2
    told.script[:] = [*[PASSING[kind]] * often, "at last"]
    with model(told.server.base_url, timeout_s=0.2) as tiny:
        assert tiny.ask(USER).text == "at last"
    assert told.server.count == often + 1


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ([refusal(400, "no such field")], "answered 400.*no such field$"),
        ([refusal(500)] * 2, r"answered 500.*\(asked 2 times\)"),
        (["  "] * 2, r"empty reply \(asked 2 times\)"),
        ([{"nonsense": 1}] * 2, "sent no reply"),
        ([{"choices": 7}] * 2, "no valid answer: choices: Input should be a valid"),
        ([Answer(200, "<p>")] * 2, "no valid answer: Invalid JSON"),
        ([Answer(hold_s=0.5)] * 2, r"no reply within 0\.2 s"),
        ([completion({"messages": []}, "", finish_reason="length")], "no answer within 2,048 tokens"),
    ],
)
def test_a_failure_is_one_sentence(told: Told, script: list[Any], message: str) -> None:
    told.script[:] = script
    with model(told.server.base_url, max_retries=1, timeout_s=0.2) as tiny, pytest.raises(ModelError, match=message):
        tiny.ask(USER)
    assert told.script == []


def test_a_server_that_is_not_there_is_named() -> None:
    with model("http://127.0.0.1:9/v1", max_retries=0) as tiny:
        with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
            tiny.ask(USER)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 01 Jan 2021 00:00:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    found = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert found is not None
    assert 50 < found <= 60


def test_the_wait_that_a_server_asks_for_is_kept_and_capped(told: Told) -> None:
    told.script[:] = [refusal(429, retry_after="0.2")]
    with model(told.server.base_url, longest_wait_s=5) as tiny:
        began = time.monotonic()
        tiny.ask(USER)
    assert time.monotonic() - began >= 0.2
    told.script[:] = [refusal(429, retry_after="3600")]
    with model(told.server.base_url, longest_wait_s=0.05) as tiny:
        # An hour, were the wait not capped; the limit on a test's time would end it.
        tiny.ask(USER)


def test_closing_ends_a_wait(told: Told) -> None:
    told.script[:] = [refusal(429, retry_after="60")] * 9
    with model(told.server.base_url, longest_wait_s=60) as tiny:

        def close_while_it_waits() -> None:
            while not told.server.count:
                time.sleep(0.01)
            time.sleep(0.3)
            tiny.close()

        closer = threading.Thread(target=close_while_it_waits)
        closer.start()
        with pytest.raises(ModelError, match="closed before"):
            tiny.ask(USER)
        closer.join()
    assert told.server.count == 1


def test_a_schema_goes_along_until_the_server_refuses_it(told: Told) -> None:
    schema = {"type": "object", "title": "My answer", "properties": {}}
    with model(told.server.base_url) as tiny:
        tiny.ask(USER, schema=schema)
        told.script[:] = [refusal(400, "response_format is not supported")]
        assert tiny.ask(USER, schema=schema).text == "said: hello"
        tiny.ask(USER, schema=schema)
    formats = [request.get("response_format") for request in told.server.requests]
    assert formats[0] == {"type": "json_schema", "json_schema": {"name": "My_answer", "schema": schema}}
    assert [one is not None for one in formats] == [True, True, False, False]


def test_a_request_that_is_refused_for_another_reason_does_not_cost_the_schema(told: Told) -> None:
    schema = {"type": "object"}
    told.script[:] = [refusal(400, "too long")] * 2
    with model(told.server.base_url) as tiny:
        with pytest.raises(ModelError, match=r"answered 400: .*too long"):
            tiny.ask(USER, schema=schema)
        tiny.ask(USER, schema=schema)
    assert ["response_format" in request for request in told.server.requests] == [True, False, True]


def test_every_request_counts_against_the_budget(told: Told) -> None:
    told.script[:] = [refusal(503)] * 2
    budget = Budget(max_calls=4)
    with model(told.server.base_url, budget=budget) as tiny:
        tiny.ask(USER)
        assert budget.spent.calls == told.server.count == 3
        told.script[:] = [refusal(503)] * 2
        with pytest.raises(BudgetError, match="4 of 4 requests"):
            tiny.ask(USER)
    assert told.server.count == 4


def test_tokens_are_those_of_the_server_where_it_says_so(told: Told) -> None:
    budget = Budget()
    with model(told.server.base_url, budget=budget, price_in=1e6, price_out=2e6) as tiny:
        reply = tiny.ask(USER)
    assert (reply.prompt_tokens, reply.completion_tokens) == (4, 3)
    assert (budget.spent.tokens, budget.spent.cost) == (7, 10.0)


def test_what_nobody_counted_counts_as_the_most_possible(told: Told) -> None:
    told.script[:] = [refusal(500), refusal(429), "hello"]
    budget = Budget()
    with model(told.server.base_url, budget=budget, max_tokens=100) as tiny:
        reply = tiny.ask(USER)
    # The 500 counts in full, and the 429, after which nothing was written, not at all.
    most = most_prompt_tokens(USER, None, Endpoint(model="tiny")) + 100
    assert budget.spent.tokens == most + (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)


def test_a_limit_on_cost_needs_prices(told: Told) -> None:
    with pytest.raises(SettingError, match="needs the prices of tiny"):
        LanguageModel(Endpoint(model="tiny", base_url=told.server.base_url), budget=Budget(max_cost=1))


def test_a_prompt_file_has_a_version(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("<!-- greet v3 -->\nSay {what} to {who}.\n")
    prompt = Prompt.load(tmp_path / "p.md")
    assert prompt.signature.startswith("greet.v3#")
    assert prompt.fill(what="{who}", who="Ann") == "Say {who} to Ann."
    (tmp_path / "q.md").write_text("Say hello.")
    with pytest.raises(ValueError, match="name the prompt"):
        Prompt.load(tmp_path / "q.md")


REFINED = "The person sits on the sofa and reads the book."


def command(samples: Path, out: Path, url: str) -> list[str]:
    data = samples / "vdact"
    rest = ["--scenarios", str(data / "scenario_to_activities.json"), "--out", str(out), "--model", "tiny"]
    rest += ["--initial-rooms", str(data / "initial_rooms.json"), "--base-url", url, "--connections", "1"]
    return ["graph", "tell", str(data / "kg_activity"), *rest]


def test_refining_resumes(told: Told, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, url = tmp_path / "refined", told.server.base_url
    told.script[:] = [REFINED, refusal(400, "too long")]
    assert run(command(samples, out, url)) == 1
    assert "09002: not written" in capsys.readouterr().out
    assert (out / "09001.txt").read_text() == REFINED + "\n"
    assert "The book is on the sofa." in told.server.requests[0]["messages"][0]["content"]
    told.script[:] = ["The person drinks a cup of coffee."]
    assert run(command(samples, out, url)) == 0
    assert "1 texts written, 1 kept, 0 failed" in capsys.readouterr().out
    assert told.server.count == 3
    other = [word if word != "tiny" else "huge" for word in command(samples, out, url)]
    assert run(other) == 2
    assert "texts of another model" in capsys.readouterr().err


def test_a_server_that_is_gone_stops_the_run(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reeltalk.llm.retrying.IN_A_ROW", 2)
    with serve(lambda body: Answer(404, {"error": {"message": "no such model"}})) as server:
        assert run(command(samples, tmp_path / "refined", server.base_url)) == 2
    assert "the same command continues" in capsys.readouterr().err
