"""Servers that speak one protocol differently are all asked, and what each takes is kept, sent again and signed."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from scripted_server import Answer, Body, serve
from server_rules import RULES, ruled

from reeltalk.cli import run
from reeltalk.errors import ModelError
from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Message, ReplyStore, json_schema
from reeltalk.llm.dialect import Dialect, known_dialect, learn_dialect, strict_schema
from reeltalk.llm.preflight import preflight
from reeltalk.llm.served import create_served_model
from reeltalk.llm.wire_sender import WireSender
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import read_run

USER = [Message("user", "hello", (b"\xff\xd8one",))]


class Verdict(BaseModel):
    """A record with a default, which no strict schema may have."""

    score: int
    default: str = "none"


# What a server is sent once it has refused what it does not take, for a model of which nothing is known.
SENT: dict[str, tuple[set[str], set[str]]] = {
    "OpenAI": ({"max_completion_tokens", "seed", "response_format"}, {"max_tokens", "temperature"}),
    "OpenAI chat": ({"max_tokens", "seed", "temperature", "response_format"}, {"reasoning_effort"}),
    "vLLM": ({"max_tokens", "seed", "temperature", "response_format"}, {"max_completion_tokens", "reasoning_effort"}),
    "SGLang": ({"max_tokens", "seed", "temperature", "reasoning_effort"}, {"response_format"}),
    "Gemini": ({"max_tokens", "temperature", "response_format", "reasoning_effort"}, {"seed"}),
    "Anthropic": ({"max_tokens", "seed", "response_format"}, {"temperature"}),
    "Mistral": ({"max_tokens", "temperature", "response_format"}, {"seed", "reasoning_effort"}),
}


def endpoint(url: str, model: str = "any", **settings: Any) -> Endpoint:
    small: dict[str, Any] = {"backoff_s": 0.001, "max_retries": 0, "timeout_s": 10, "reasoning_effort": "low"}
    return Endpoint(model=model, base_url=url, **(small | settings))


def check_sent(body: Body, family: str) -> None:
    present, absent = SENT[family]
    assert present <= body.keys(), family
    assert not absent & body.keys(), family


@pytest.mark.parametrize("family", RULES)
def test_a_server_is_learned_at_its_first_refusals_and_remembered(family: str, tmp_path: Path) -> None:
    schema = json_schema(Verdict)
    budget = Budget()
    with (
        serve(ruled(RULES[family], lambda _body: "fine")) as server,
        ReplyStore(tmp_path / "replies.sqlite") as store,
    ):
        with contextlib.closing(LanguageModel(endpoint(server.base_url), budget=budget, store=store)) as first:
            assert first.ask(USER, schema=schema).text == "fine"
            learned_in = server.count
            assert first.ask(USER, schema=schema).text == "fine"
            assert server.count == learned_in + 1
            sampling = first.sampling
        assert budget.spent.calls == server.count
        check_sent(server.requests[-1], family)
        assert {name: server.requests[-1].get(name) for name in sampling} == sampling
        # Another command that has the same replies sends the same at once.
        with contextlib.closing(LanguageModel(endpoint(server.base_url), store=store)) as second:
            assert second.sampling == sampling
            assert second.ask(USER, schema=schema).text == "fine"
        assert server.count == learned_in + 2
        check_sent(server.requests[-1], family)


@pytest.mark.parametrize("family", RULES)
def test_many_requests_at_a_time_learn_together(family: str, tmp_path: Path) -> None:
    async def ask(url: str, store: ReplyStore) -> list[Any]:
        sender = WireSender(endpoint(url), store=store)
        model = create_served_model(sender.endpoint, sender, store, connections=20)
        questions = [model.ask([Message("user", str(n))], schema=json_schema(Verdict)) for n in range(40)]
        try:
            return [(await asyncio.gather(*questions))[0].text, model.sampling, model.requested_sampling]
        finally:
            await sender.close()

    with serve(ruled(RULES[family], lambda _body: "fine")) as server:
        with ReplyStore(tmp_path / "replies.sqlite") as store:
            text, sampling, asked = asyncio.run(ask(server.base_url, store))
            assert len(store) == 40
    assert text == "fine"
    assert asked == {"temperature": 0.0, "max_tokens": 2048, "seed": 17, "reasoning_effort": "low"}
    check_sent(server.requests[-1], family)
    assert {name: server.requests[-1].get(name) for name in sampling} == sampling


@pytest.mark.parametrize("family", RULES)
def test_the_preflight_learns_all_of_it(family: str, tmp_path: Path) -> None:
    with (
        serve(ruled(RULES[family], lambda _body: "ready"), models=["any"], sees_preflights=True) as server,
        ReplyStore(tmp_path / "replies.sqlite") as store,
    ):
        found = preflight(endpoint(server.base_url), images=True, schema=True, store=store)
        asked = server.count
        with contextlib.closing(LanguageModel(endpoint(server.base_url), store=store)) as model:
            model.ask(USER, schema=json_schema(Verdict))
        assert server.count == asked + 1
        check_sent(server.requests[-1], family)
        assert found.dialect == store.dialect("any", server.base_url)
    assert found.notes == (f"any at {server.base_url} is sent {found.dialect.differences}",)


def test_kept_replies_stay_valid_whatever_a_server_takes(tmp_path: Path) -> None:
    with serve(lambda _body: "fine") as server, ReplyStore(tmp_path / "replies.sqlite") as store:
        for dialect in (Dialect(), Dialect(refuses=("max_tokens", "seed", "temperature"))):
            store.keep_dialect("any", server.base_url, dialect)
            with contextlib.closing(LanguageModel(endpoint(server.base_url), store=store)) as model:
                assert CachedModel(model, store).ask(USER).cached is (dialect != Dialect())
        assert server.count == 1


@pytest.mark.parametrize(
    ("model", "url", "dialect"),
    [
        ("gpt-5", None, Dialect(refuses=("max_tokens", "temperature"))),
        ("gpt-5.4-mini-2026-03-01", None, Dialect(refuses=("max_tokens", "temperature"))),
        ("openai/o4-mini", "http://localhost:4000/v1", Dialect(refuses=("max_tokens", "temperature"))),
        ("o1", None, Dialect(refuses=("max_tokens", "temperature"))),
        ("gpt-5-chat-latest", None, Dialect()),
        ("gpt-4o", None, Dialect()),
        ("olmo-7b", "http://localhost:8000/v1", Dialect()),
        ("gpt-oss-120b", "http://localhost:8000/v1", Dialect()),
        ("gemini-3-flash", "https://generativelanguage.googleapis.com/v1beta/openai/", Dialect(refuses=("seed",))),
        ("claude-haiku-4-5", "https://u:p@api.anthropic.com/v1/",
         Dialect(refuses=("reasoning_effort", "seed"), strict=True)),
    ],
)  # fmt: skip
def test_known_families_are_asked_right_at_once(model: str, url: str | None, dialect: Dialect) -> None:
    assert known_dialect(Endpoint(model=model, base_url=url)) == dialect


def test_openai_s_current_models_are_asked_with_one_request() -> None:
    with serve(ruled(RULES["OpenAI"], lambda _body: "fine")) as server:
        with contextlib.closing(LanguageModel(endpoint(server.base_url, "gpt-5-mini"))) as model:
            assert model.ask(USER).text == "fine"
    assert server.count == 1


def test_a_profile_that_is_wrong_is_mended() -> None:
    with serve(ruled(RULES["vLLM"], lambda _body: "fine")) as server:
        with contextlib.closing(LanguageModel(endpoint(server.base_url, "o1"))) as model:
            assert model.ask(USER).text == "fine"
    assert "max_tokens" in server.requests[-1]


def test_no_temperature_is_sent_where_none_is_asked_for() -> None:
    with serve(lambda _body: "fine") as server:
        asked = Endpoint(model="any", base_url=server.base_url, temperature="none")
        with contextlib.closing(LanguageModel(asked)) as model:
            model.ask(USER)
            assert model.sampling == {"max_tokens": 2048, "seed": 17}
    assert not {"temperature", "reasoning_effort"} & server.requests[0].keys()


ANOTHER_MATTER = {
    "a length": "max_tokens is too large: 99999. This model supports at most 16384 completion tokens.",
    "a context": "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (8000 in the "
    "messages, 1000 in the completion). Please reduce max_tokens.",
    "a value": "Invalid 'temperature': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
    "a schema": "Invalid schema for response_format 'Verdict': 'oneOf' is not permitted.",
    "a picture": "image_url is only supported by certain models",
    "a field that was not sent": "Unsupported parameter: 'top_p' is not supported with this model.",
}


@pytest.mark.parametrize("problem", ANOTHER_MATTER)
def test_a_refusal_for_another_reason_teaches_nothing(problem: str) -> None:
    sent = {"max_tokens": 1, "temperature": 0, "seed": 1, "response_format": {}}
    for body in ({"message": ANOTHER_MATTER[problem]}, {"error": {"message": ANOTHER_MATTER[problem]}}):
        assert learn_dialect(Dialect(), sent, 400, body) == Dialect()


def test_a_field_without_which_nothing_goes_is_given_up_once() -> None:
    def reply(body: Body) -> Answer:
        name = next(
            (name for name in ("max_tokens", "max_completion_tokens", "temperature", "seed") if name in body), ""
        )
        return Answer(400, {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}})

    with serve(reply) as server, contextlib.closing(LanguageModel(endpoint(server.base_url))) as model:
        with pytest.raises(ModelError, match="answered 400"):
            model.ask(USER)
    assert server.count < 10


def test_a_strict_schema_requires_all_and_keeps_names() -> None:
    made = strict_schema(json_schema(Verdict))
    assert made["required"] == ["score", "default"]
    assert made["additionalProperties"] is False
    assert "default" not in json.loads(json.dumps(made["properties"]))["default"]


BROKEN_USAGE: list[Any] = [
    None, "much", 7, [], {}, {"prompt_tokens": -4, "completion_tokens": "many"}, {"prompt_tokens": 1.5},
    {"prompt_tokens": None, "completion_tokens": []}, {"prompt_tokens": True}, {"prompt_tokens": 10**30},
    {"completion_tokens": {"total": 3}},
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", BROKEN_USAGE, ids=str)
def test_broken_usage_spoils_no_reply(usage: Any, stream: bool) -> None:
    body = {"model": "any", "choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}], "usage": usage}
    if stream:
        delta = {"choices": [{"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}]}
        events = [delta, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        answer = Answer(200, text, {"Content-Type": "text/event-stream"})
    else:
        answer = Answer(200, json.dumps(body))

    async def ask(url: str) -> Any:
        sender = WireSender(endpoint(url), stream=stream)
        try:
            return await sender.send(USER, None)
        finally:
            await sender.close()

    with serve(lambda _body: answer) as server:
        sent = asyncio.run(ask(server.base_url))
    assert sent.reply is not None, sent.error
    assert (sent.reply.text, sent.reply.prompt_tokens, sent.reply.completion_tokens) == ("fine", None, None)


CONTENTS: list[tuple[Any, str]] = [
    ([{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}], "fine"),
    ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "fine"}], "fine"),
    ([{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "fine"}, 7, None], "fine"),
    (["fi", "ne"], "fine"),
]


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_content_in_parts_is_read(content: Any, text: str) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    with serve(lambda _body: Answer(200, json.dumps(body))) as server:
        with contextlib.closing(LanguageModel(endpoint(server.base_url))) as model:
            assert model.ask(USER).text == text


def test_the_numbers_of_a_run_say_what_was_sent(tmp_path: Path) -> None:
    turns = (Turn(question="Where is he?", references=("In the kitchen.",)),)
    content = Content(
        videos=[Video(id="v", split="test", sha256="0" * 64)],
        dialogues=[Dialogue(id="d", video_id="v", turns=turns, task="any")],
    )
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    reply = ruled(RULES["OpenAI"], lambda _body: '{"score": 80, "reason": "right"}')
    with serve(reply) as server:
        command = [
            "evaluate", str(tmp_path / "bench"), "--out", str(tmp_path / "run"), "--model", "any",
            "--base-url", server.base_url, "--policy", "none", "--metrics", "none", "--protocols", "clair",
            "--judge", "other", "--judge-base-url", server.base_url, "--reasoning-effort", "low",
        ]  # fmt: skip
        assert run(command) == 0
    signature = next(row.signature for row in read_run(tmp_path / "run").summary if row.metric == "clair")
    assert "|sampling:max_completion_tokens=512,reasoning_effort=low,seed=17|" in signature
    assert "|judge-sampling:max_completion_tokens=1024,seed=17|" in signature
