"""Any model of inspect_ai can be asked."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from scripted_server import Answer, serve

from reeltalk.errors import BudgetError, ModelError
from reeltalk.llm import Budget, Endpoint, LanguageModel, Message, Model, ask_for, json_schema
from reeltalk.llm.inspect_models import without_references
from reeltalk_build.threads import map_threads

ENDPOINT = Endpoint(model="inspect:mockllm/model", timeout_s=5, backoff_s=0, max_retries=2, give_up_after_s=0)


class Part(BaseModel):
    """A part."""

    name: str


class Whole(BaseModel):
    """A record with parts."""

    parts: list[Part]
    other: Part | None = None


class Tree(BaseModel):
    """A record with parts of its own kind."""

    children: list["Tree"]


def test_a_schema_is_told_without_references() -> None:
    plain = without_references(json_schema(Whole))
    assert plain is not None
    assert "$" not in str(plain)
    assert plain["properties"]["parts"]["items"]["properties"]["name"]["type"] == "string"
    assert plain["properties"]["other"]["anyOf"][0]["required"] == ["name"]
    assert without_references(json_schema(Tree)) is None
    assert without_references({"properties": {"$ref": {"const": 1}}}) == {"properties": {"$ref": {"enum": [1]}}}


@pytest.fixture
def outputs() -> Iterator[Any]:
    """Models whose provider calls a function."""
    import inspect_ai.model as inspect_model

    opened: list[LanguageModel] = []

    def open_model(answer: Any, *, endpoint: Endpoint = ENDPOINT, **more: Any) -> LanguageModel:
        def custom(messages: Any, _tools: Any, _choice: Any, config: Any) -> Any:
            output = inspect_model.ModelOutput.from_content("mockllm", answer(messages, config))
            # Without these the mock counts tokens, and fetches a vocabulary for that.
            output.usage = inspect_model.ModelUsage(input_tokens=3, output_tokens=2, total_tokens=5)
            return output

        opened.append(LanguageModel(endpoint, model_args={"custom_outputs": custom}, **more))
        return opened[-1]

    yield open_model
    for model in opened:
        model.close()
        model.close()


def test_messages_go_in_and_a_reply_comes_out(outputs: Any) -> None:
    seen: list[Any] = []

    def answer(messages: Any, config: Any) -> str:
        seen.append((messages, config))
        return " hello "

    model: Model = outputs(answer)
    reply = model.ask([Message("system", "be brief"), Message("user", "hi", (b"\xff\xd8one",))])
    assert (reply.text, reply.cut_off, reply.cached) == ("hello", False, False)
    assert (reply.prompt_tokens, reply.completion_tokens) == (3, 2)
    assert (model.name, model.sampling["seed"]) == ("inspect:mockllm/model", 17)
    messages, config = seen[0]
    assert [message.role for message in messages] == ["system", "user"]
    assert [part.type for part in messages[1].content] == ["image", "text"]
    assert messages[1].content[0].image.startswith("data:image/jpeg;base64,")
    assert (config.temperature, config.max_tokens, config.seed) == (0.0, 2048, 17)


def test_records_are_asked_for(outputs: Any) -> None:
    schemas: list[Any] = []

    def answer(_messages: Any, config: Any) -> str:
        schemas.append(config.response_schema)
        return '{"parts": [{"name": "leg"}]}'

    asked = ask_for(outputs(answer), [Message("user", "hi")], Whole)
    assert asked.record == Whole(parts=[Part(name="leg")])
    assert schemas[0].name == "Whole"
    assert schemas[0].json_schema.properties["parts"].items.properties["name"].type == "string"


def test_threads_share_a_model(outputs: Any) -> None:
    model = outputs(lambda messages, _config: messages[-1].text)
    found = dict(map_threads(lambda n: model.ask([Message("user", f"{n}")]).text, range(100), 8))
    assert found == {n: f"{n}" for n in range(100)}


def test_failures_are_sentences_and_count(outputs: Any) -> None:
    def broken(_messages: Any, _config: Any) -> str:
        raise RuntimeError("no\nsuch thing")

    with pytest.raises(ModelError, match="inspect:mockllm/model: no such thing"):
        outputs(broken).ask([Message("user", "hi")])
    budget = Budget(max_calls=3)
    empty = outputs(lambda *_: "", budget=budget)
    with pytest.raises(ModelError, match=r"empty reply \(asked 2 times\)"):
        empty.ask([Message("user", "hi")])
    with pytest.raises(BudgetError, match="3 of 3"):
        empty.ask([Message("user", "hi")])
    assert budget.spent.tokens == 15


def test_a_late_reply_is_given_up(outputs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    model = outputs(lambda *_: "late", endpoint=ENDPOINT.model_copy(update={"timeout_s": 0.05}), sees_images=False)

    async def late(*_: Any, **__: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(model._client.sender.api, "generate", late)
    with pytest.raises(ModelError, match="no reply within"):
        model.ask([Message("user", "hi")])
    with pytest.raises(ValueError, match="sees no pictures"):
        model.ask([Message("user", "hi", (b"x",))])


def test_a_provider_sends_nothing_again_by_itself() -> None:
    script: list[str | Answer] = [Answer(503, {"error": {"message": "busy"}}), '{"parts": []}']
    budget = Budget()
    with serve(lambda _: script.pop(0)) as server:
        endpoint = ENDPOINT.model_copy(update={"model": "inspect:openai/gpt-4o", "base_url": server.base_url})
        more: dict[str, Any] = {"api_key": "secret", "responses_api": False}
        with contextlib.closing(LanguageModel(endpoint, budget=budget, model_args=more)) as model:
            asked = ask_for(model, [Message("user", "hi", (b"\xff\xd8one",))], Whole)
    assert asked.record == Whole(parts=[])
    assert server.count == budget.spent.calls == server.images == 2
    assert server.requests[0]["response_format"]["json_schema"]["name"] == "Whole"


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(ModelError, match="cannot open nobody/knows"):
        LanguageModel(Endpoint(model="inspect:nobody/knows"))
