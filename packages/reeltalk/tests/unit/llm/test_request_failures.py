"""A refusal of one request is told from one that every request would meet."""

import contextlib
import tomllib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from scripted_server import Answer, serve

from reeltalk.errors import OF_ONE_REQUEST, ModelError, OutageError
from reeltalk.llm import LanguageModel, Message
from reeltalk.llm.model import Endpoint
from reeltalk.llm.retrying import IN_A_ROW, Breaker
from reeltalk.llm.wire import (
    REQUEST_FAILURES,
    CompletionBody,
    RefusedError,
    failure_of_request,
    is_spent,
    kind_of_status,
)

RAW = tomllib.loads(REQUEST_FAILURES.read_text(encoding="utf-8"))
OF_REQUEST = [(row["what"], status, body) for row in RAW["failure"] for status, body in row["examples"]]


@pytest.mark.parametrize(("what", "status", "body"), OF_REQUEST)
def test_what_servers_say_of_one_request_is_recognised(what: str, status: int, body: str) -> None:
    assert failure_of_request(status, body) == what


@pytest.mark.parametrize(("status", "body"), RAW["others"]["examples"])
def test_what_every_request_would_meet_is_not(status: int, body: str) -> None:
    assert failure_of_request(status, body) is None


@pytest.mark.parametrize(("status", "body"), RAW["quota"]["examples"])
def test_quota_that_is_used_up_is_not_busy(status: int, body: str) -> None:
    assert is_spent(status, body)
    assert failure_of_request(status, body) is None


@pytest.mark.parametrize(("status", "body"), [*RAW["quota"]["passing"], *((s, b) for _, s, b in OF_REQUEST)])
def test_what_passes_in_minutes_is_no_used_up_quota(status: int, body: str) -> None:
    assert not is_spent(status, body)


LASTING = [(row["kind"], status, body) for row in RAW["lasting"] for status, body in row["examples"]]


@pytest.mark.parametrize(("kind", "status", "body"), LASTING)
def test_what_no_request_survives_is_told_from_what_one_meets(kind: str, status: int, body: str) -> None:
    assert failure_of_request(status, body) is None
    assert not is_spent(status, body)
    assert kind_of_status(400 if status == 200 else status, body) == kind


@pytest.mark.parametrize(("status", "body"), [*RAW["unclear"]["examples"], *((s, b) for _, s, b in OF_REQUEST)])
def test_what_may_be_of_one_request_never_stops_a_command_at_once(status: int, body: str) -> None:
    assert failure_of_request(status, body) is not None or kind_of_status(status, body) == "invalid"


def _next_answer(remaining: Iterator[str | Answer], body: Any) -> str | Answer:
    return next(remaining)


@pytest.mark.parametrize("good", [0, 3])
def test_a_server_that_refuses_all_is_asked_once_or_twice(good: int, full: bool) -> None:
    for kind, status, body in LASTING if full else LASTING[::8]:
        answers: list[str | Answer] = [Answer(status, body)] * IN_A_ROW + ["hello"] * good
        remaining = iter(reversed(answers))
        with serve(partial(_next_answer, remaining), keep=0) as server:
            asked = LanguageModel(Endpoint(model="tiny", base_url=server.base_url, backoff_s=0))
            with contextlib.closing(asked):
                for number in range(good + bool(good)):
                    with contextlib.suppress(ModelError):
                        asked.ask([Message("user", f"{number}")])
                with pytest.raises(OutageError, match="correct the key" if kind == "access" else "the model's name"):
                    asked.ask([Message("user", "last")])
            assert server.count == good + 1 + bool(good), body


def test_such_failures_never_stop_a_command_and_others_still_do() -> None:
    breaker = Breaker("m", give_up_after_s=0)
    for _ in range(5 * IN_A_ROW):
        breaker.record_failure(RefusedError("too long", 400, kind="request"))
    breaker.check()
    for _ in range(IN_A_ROW - 1):
        breaker.record_failure(RefusedError("no such field", 400))
    with pytest.raises(OutageError, match="refuses the requests as invalid, 8 times in a row"):
        breaker.record_failure(RefusedError("no such field", 400))


ENDPOINT = Endpoint(model="m", base_url="http://localhost/v1", max_tokens=64)
INPUT_LENGTH = "internal error happened, status code ResponseType.INPUT_LENGTH_ERROR"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}, "for its content"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "SAFETY"}]}, "for its content"),
        ({"choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]}, "PROHIBITED_CONTENT"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "sensitive"}]}, "for its content"),
        ({"choices": [], "promptFeedback": {"blockReason": "SAFETY"}}, "for its content"),
        ({"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}, "new_sensitive"),
        ({"error": {"code": 403, "message": "m requires moderation on X. Your input was flagged."}}, "flagged"),
        ({"error": {"code": 400, "message": "This endpoint's maximum context length is 9 tokens."}}, "too long"),
        ({"choices": [{"message": {"content": INPUT_LENGTH}, "finish_reason": "error"}]}, "too long"),
        (
            {
                "choices": [{"message": {"content": ""}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 9000, "completion_tokens": 0},
            },
            "too long",
        ),
    ],
)
def test_a_reply_without_an_answer_may_be_a_failure_of_its_request(body: dict[str, Any], what: str) -> None:
    with pytest.raises(ModelError, match=f"{OF_ONE_REQUEST}.*{what}") as raised:
        CompletionBody.model_validate(body).reply(ENDPOINT)
    assert raised.value.kind == ("request" if what == "too long" else "content")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}, "empty"),
        ({"choices": []}, "reply"),
        ({"choices": [], "base_resp": {"status_code": 0, "status_msg": "success"}}, "reply"),
        ({"error": {"code": 502, "message": "Provider returned error"}}, "reply"),
        ({"error": {"code": 402, "message": "More credits are required to run this request."}}, "quota"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}, "empty"),
    ],
)
def test_others_are_not(body: dict[str, Any], kind: str) -> None:
    with pytest.raises(ModelError) as raised:
        CompletionBody.model_validate(body).reply(ENDPOINT)
    assert raised.value.kind == kind


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY"])
def test_a_reply_that_a_filter_cut_stays_an_answer(reason: str) -> None:
    body = {"choices": [{"message": {"content": "a whisk"}, "finish_reason": reason}]}
    assert CompletionBody.model_validate(body).reply(ENDPOINT).text == "a whisk"


TOO_LONG = {"error": {"message": "maximum context length is 9 tokens", "code": "context_length_exceeded"}}
FILTERED = {"error": {"message": "The response was filtered", "code": "content_filter", "param": "prompt"}}


@pytest.mark.parametrize("model", ["tiny", "inspect:openai-api/here/tiny"])
@pytest.mark.parametrize(("body", "what"), [(TOO_LONG, "is too long"), (FILTERED, "is refused for its content")])
def test_it_is_asked_once_and_told_with_the_servers_words(
    model: str, body: dict[str, Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """inspect_ai turns such an error into a reply with its text, which is no answer."""
    monkeypatch.setenv("HERE_API_KEY", "none")
    schema = {"title": "A", "type": "object", "properties": {"a": {"type": "string"}}}
    with serve(lambda _: Answer(400, body)) as server:
        endpoint = Endpoint(model=model, base_url=server.base_url, backoff_s=0, max_retries=3)
        asked = LanguageModel(endpoint)
        try:
            for number in range(1, IN_A_ROW + 3):
                with pytest.raises(ModelError, match=f"{OF_ONE_REQUEST} {what}") as raised:
                    asked.ask([Message("user", f"{number}")], schema=schema if number % 2 else None)
                assert raised.value.kind == ("content" if body is FILTERED else "request")
                assert body["error"]["message"] in str(raised.value)
                assert server.count == number
        finally:
            asked.close()
