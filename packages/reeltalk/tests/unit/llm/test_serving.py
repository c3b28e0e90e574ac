"""The models that an evaluation asks: replies are kept, budgets hold, all that servers do becomes one sentence."""

import asyncio
import contextlib
import gc
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict
from scripted_server import FAULTS, Answer, Body, Script, Server, completion, faulty, serve, words

from reeltalk.errors import BudgetError, ModelError, OutageError, ReeltalkError, SettingError
from reeltalk.llm import Budget, Endpoint, Message, Reply, ReplyStore
from reeltalk.llm.connections import CUT, FIRST
from reeltalk.llm.inspect_models import InspectSender
from reeltalk.llm.served import ModelSender, ServedModel, create_served_model
from reeltalk.llm.structured import ask_for_async, json_schema
from reeltalk.llm.wire_sender import WireSender

T = TypeVar("T")
USER = (Message("user", "hello"),)


class Record(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid")

    item: str
    score: int


def endpoint(url: str, **settings: Any) -> Endpoint:
    small: dict[str, Any] = {"backoff_s": 0.001, "longest_wait_s": 0.02, "max_retries": 3, "max_tokens": 64}
    small["give_up_after_s"] = 0
    return Endpoint(**({"model": "tiny", "base_url": url} | small | settings))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


@contextlib.asynccontextmanager
async def opened(
    url: str,
    store: ReplyStore,
    *,
    stream: bool = False,
    budget: Budget | None = None,
    connections: int = 4,
    picture: Callable[[bytes], Awaitable[bytes]] | None = None,
    **settings: Any,
) -> AsyncIterator[ServedModel]:
    sender = WireSender(endpoint(url, **settings), api_key="secret", stream=stream)
    try:
        yield create_served_model(
            sender.endpoint, sender, store, connections=connections, budget=budget, picture=picture
        )
    finally:
        await sender.close()


def ask(url: str, store: ReplyStore, messages: Sequence[Message] = USER, **options: Any) -> Reply:
    """One question, in an event loop of its own."""

    async def once() -> Reply:
        schema = options.pop("schema", None)
        async with opened(url, store, **options) as model:
            return await model.ask(messages, schema=schema)

    return asyncio.run(once())


async def outcomes(coming: Sequence[Coroutine[Any, Any, T]]) -> list[T | ReeltalkError]:
    found = await asyncio.gather(*coming, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, ReeltalkError):
            raise one
    return found  # type: ignore[return-value]


def in_turn(*answers: str | Body | Answer) -> Script:
    """A script that gives these answers, the last one again and again."""
    left = list(answers)
    lock = threading.Lock()

    def reply(body: Body) -> str | Body | Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return reply


def streamed(*pieces: str, finish_reason: str | None = "stop", usage: bool = True, cut: bool = False) -> Answer:
    """An answer in pieces, as servers send them where `stream` is asked for."""

    def chunk(**choice: Any) -> dict[str, Any]:
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-served", "choices": [choice]}

    chunks = [chunk(index=0, delta={"role": "assistant", "content": ""}, finish_reason=None)]
    chunks += [chunk(index=0, delta={"content": piece}, finish_reason=None) for piece in pieces]
    if finish_reason is not None:
        chunks.append(chunk(index=0, delta={}, finish_reason=finish_reason))
    if usage:
        counts = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        last = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
        chunks.append(last | {"usage": counts})
    lines = [f"data: {json.dumps(one)}\n\n" for one in chunks]
    ending = [] if cut else ["data: [DONE]\n\n"]
    return Answer(200, "".join(lines + ending), {"Content-Type": "text/event-stream"}, cut=cut)


class TestReplies:
    def test_a_reply_has_text_counts_and_time(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello to you") as server:
            reply = ask(server.base_url, store)
        assert (reply.text, reply.model, reply.cut_off, reply.cached) == ("hello to you", "tiny", False, False)
        assert (reply.prompt_tokens, reply.completion_tokens) == (4, 4)
        assert reply.took_s is not None
        assert reply.first_token_s is None

    def test_what_is_kept_is_not_asked_again(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello") as server:
            first = ask(server.base_url, store)
            again = ask(server.base_url, store)
            assert server.count == len(store) == 1
        assert (again.text, again.took_s, again.cached) == (first.text, first.took_s, True)

    def test_other_messages_schemas_samples_and_sampling_are_asked_anew(self, store: ReplyStore) -> None:
        async def several(model: ServedModel) -> None:
            await model.ask(USER)
            await model.ask([*USER, Message("assistant", "hi")])
            await model.ask(USER, schema=json_schema(Record))
            await model.ask(USER, sample=1)

        async def all_of_them(url: str) -> None:
            for settings in ({}, {"temperature": 0.7}, {"seed": 1}, {"max_tokens": 9}):
                async with opened(url, store, **settings) as model:
                    await several(model)

        with serve(lambda body: "hello") as server:
            asyncio.run(all_of_them(server.base_url))
            assert server.count == len(store) == 16

    def test_the_same_question_asked_many_times_at_once_is_sent_once(self, store: ReplyStore) -> None:
        async def at_once(url: str) -> tuple[list[Reply], ServedModel]:
            async with opened(url, store) as model:
                return list(await asyncio.gather(*[model.ask(USER) for _ in range(10)])), model

        with serve(in_turn(Answer(503), "hello"), keep=0) as server:
            replies, model = asyncio.run(at_once(server.base_url))
            assert server.count == 2
        assert {reply.text for reply in replies} == {"hello"}
        assert [reply.cached for reply in replies].count(False) == 1
        assert (model.questions, model.reused) == (10, 9)

    def test_errors_are_never_kept(self, store: ReplyStore) -> None:
        with serve(in_turn(Answer(401, {"error": {"message": "no such key"}}), "hello")) as server:
            with pytest.raises(OutageError, match=r"tiny at http.* answered 401.*no such key"):
                ask(server.base_url, store)
            assert len(store) == 0
            assert ask(server.base_url, store).text == "hello"

    def test_pictures_are_looked_up_when_a_request_is_sent(self, store: ReplyStore) -> None:
        wanted: list[bytes] = []

        async def picture(reference: bytes) -> bytes:
            wanted.append(reference)
            return b"\xff\xd8" + reference

        messages = [Message("user", "what is it?", (b"a", b"b"))]
        with serve(lambda body: "a cat") as server:
            for _ in range(2):
                ask(server.base_url, store, messages, picture=picture)
            assert (server.count, server.images) == (1, 2)
            [content] = [message["content"] for message in server.requests[0]["messages"]]
        # Pictures before the text, in their order; a kept reply needs none.
        assert [part["type"] for part in content] == ["image_url", "image_url", "text"]
        assert wanted == [b"a", b"b"]

    def test_sampling_and_key_are_sent(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello") as server:
            ask(server.base_url, store, temperature=0.5, seed=3)
            [request] = server.requests
        assert (request["temperature"], request["seed"], request["max_tokens"]) == (0.5, 3, 64)
        assert request["key"] == "Bearer secret"

    def test_a_reply_that_ends_at_the_limit_says_so(self, store: ReplyStore) -> None:
        with serve(lambda body: completion(body, "It is on the", finish_reason="length")) as server:
            assert ask(server.base_url, store).cut_off
            assert ask(server.base_url, store).cut_off

    def test_a_model_can_be_asked_in_a_second_event_loop(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello") as server:
            sender = WireSender(endpoint(server.base_url))
            model = create_served_model(sender.endpoint, sender, store, connections=2)

            async def twice(text: str) -> None:
                await model.ask([Message("user", text)])
                await sender.close()
                await model.ask([Message("user", f"{text}!")])
                await sender.close()

            for text in ("a", "b"):
                asyncio.run(twice(text))
            assert server.count == 4


class TestFailures:
    @pytest.mark.parametrize(
        ("answer", "problem"),
        [
            (Answer(500, {"error": {"message": "broken"}}), r"answered 500.*\(asked 4 times\)"),
            (Answer(429, {"error": {}}, {"Retry-After": "0.01"}), r"answered 429.*\(asked 4 times\)"),
            (Answer(400, {"error": {"message": "too long"}}), r"answered 400.*too long$"),
            (Answer(404, "<html>", {"Content-Type": "text/html"}), "answered 404"),
            (Answer(reset=True), r"cannot be reached.*check --base-url \(asked 4 times\)"),
            (Answer(200, "<!doctype html>", {"Content-Type": "text/html"}), "sent no valid answer"),
            (Answer(200, "{"), "sent no valid answer"),
            (Answer(200, "[]"), "sent no valid answer"),
            (Answer(200, '"hello"'), "sent no valid answer"),
            (Answer(200, ""), "sent no valid answer"),
            (Answer(200, {"choices": "none"}), "sent no valid answer"),
            (Answer(200, {"choices": [{"message": {"content": 7}}]}), "sent no valid answer"),
            (Answer(200, '{"choices": [{"message": {"content": "\\ud83d"}}]}'), "sent no valid answer"),
            (Answer(200, {"choices": []}), r"sent no reply; it answered 200 and application/json.*\(asked 3 times\)"),
            (Answer(200, {"choices": [{"message": {"content": None}}]}), "gave an empty reply"),
            (Answer(200, {"choices": [{"message": {"content": "  \n"}}]}), "gave an empty reply"),
            (Answer(200, {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}),
             "wrote no answer within 64 tokens"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )  # fmt: skip
    def test_whatever_a_server_does_becomes_one_sentence(self, answer: Answer, problem: str, store: ReplyStore) -> None:
        with serve(lambda body: answer, keep=0) as server, pytest.raises(ModelError, match=problem) as failed:
            ask(server.base_url, store)
        assert "\n" not in str(failed.value)
        assert len(store) == 0

    def test_what_passes_is_asked_again(self, store: ReplyStore) -> None:
        for often, answer in (
            (3, Answer(503)),
            (3, Answer(reset=True)),
            (2, Answer(200, {"choices": []})),
            (1, completion({"messages": []}, "")),
        ):
            with serve(in_turn(*[answer] * often, "hello")) as server:
                messages = [Message("user", str(answer))]
                assert ask(server.base_url, store, messages).text == "hello"
                assert server.count == often + 1

    def test_a_refusal_is_not_asked_again(self, store: ReplyStore) -> None:
        with serve(lambda body: Answer(403, {"error": {"message": "no"}})) as server:
            with pytest.raises(ModelError, match="answered 403"):
                ask(server.base_url, store)
            assert server.count == 1

    def test_a_server_that_does_not_answer_in_time(self, store: ReplyStore) -> None:
        with serve(lambda body: Answer(200, {}, hold_s=5), keep=0) as server:
            with pytest.raises(ModelError, match=r"gave no reply within 0\.1 s \(asked 2 times\)"):
                ask(server.base_url, store, timeout_s=0.1, max_retries=1)

    def test_a_server_that_is_not_there(self, store: ReplyStore) -> None:
        with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
            ask("http://127.0.0.1:9/v1", store, max_retries=0)

    def test_a_refusal_in_words_is_a_reply(self, store: ReplyStore) -> None:
        said = {"choices": [{"message": {"content": None, "refusal": "I will not say."}, "finish_reason": "stop"}]}
        with serve(lambda body: said) as server:
            assert ask(server.base_url, store).text == "I will not say."


class TestConcurrency:
    def test_no_more_requests_than_connections_run_at_a_time(self, store: ReplyStore) -> None:
        running, peak, lock = 0, 0, threading.Lock()

        def reply(body: Body) -> str:
            nonlocal running, peak
            with lock:
                running += 1
                peak = max(peak, running)
            time.sleep(0.02)
            with lock:
                running -= 1
            return "hello"

        async def many(url: str) -> None:
            async with opened(url, store, connections=3) as model:
                await asyncio.gather(*[model.ask([Message("user", str(n))]) for n in range(20)])

        with serve(reply, keep=0) as server:
            asyncio.run(many(server.base_url))
        assert peak == 3

    def test_a_server_that_is_asked_too_often_is_asked_less_often(self, store: ReplyStore) -> None:
        asked, limits, lock = 0, list[int](), threading.Lock()

        def reply(body: Body) -> str | Answer:
            nonlocal asked
            with lock:
                asked += 1
                too_often = asked % 3 == 0
            return Answer(429, {"error": {}}, {"Retry-After": "0.05"}) if too_often else "hello"

        async def many(url: str) -> None:
            async with opened(url, store, connections=16, max_retries=50) as model:
                await asyncio.gather(*[model.ask([Message("user", str(n))]) for n in range(48)])
                assert model.client.connections is not None
                limits.append(model.client.connections.limit)

        with serve(reply, keep=0) as server:
            asyncio.run(many(server.base_url))
        assert len(store) == 48
        assert asked > 48
        # The first refusal cuts the limit, which one quick reply before it may have doubled.
        assert limits[0] in (int(FIRST * CUT), int(2 * FIRST * CUT))


class TestSchema:
    SCHEMA = json_schema(Record)

    def test_a_schema_is_sent(self, store: ReplyStore) -> None:
        with serve(lambda body: '{"item": "a", "score": 1}') as server:
            ask(server.base_url, store, schema=self.SCHEMA)
            assert server.requests[0]["response_format"]["json_schema"]["schema"] == self.SCHEMA

    @pytest.mark.parametrize("status", [400, 422])
    def test_a_server_that_refuses_it_is_asked_without_and_from_then_on(self, status: int, store: ReplyStore) -> None:
        def reply(body: Body) -> str | Answer:
            return Answer(status, {"error": {"message": "no schemas"}}) if "response_format" in body else "hello"

        async def twice(url: str) -> None:
            async with opened(url, store) as model:
                for n in range(3):
                    assert (await model.ask([Message("user", str(n))], schema=self.SCHEMA)).text == "hello"

        with serve(reply) as server:
            asyncio.run(twice(server.base_url))
            assert ["response_format" in request for request in server.requests] == [True, False, False, False]

    def test_a_server_that_refuses_the_messages_is_still_told_the_schema(self, store: ReplyStore) -> None:
        def reply(body: Body) -> str | Answer:
            return Answer(400, {"error": {"message": "bad"}}) if words(body["messages"][0]) == "bad" else "hello"

        async def both(url: str) -> None:
            async with opened(url, store) as model:
                with pytest.raises(ModelError, match="answered 400"):
                    await model.ask([Message("user", "bad")], schema=self.SCHEMA)
                await model.ask([Message("user", "good")], schema=self.SCHEMA)

        with serve(reply) as server:
            asyncio.run(both(server.base_url))
            assert ["response_format" in request for request in server.requests] == [True, False, True]


class TestStreaming:
    def test_pieces_become_one_reply_with_the_time_of_the_first(self, store: ReplyStore) -> None:
        with serve(lambda body: streamed("In ", "the ", "kitchen.")) as server:
            reply = ask(server.base_url, store, stream=True)
            [request] = server.requests
        assert request["stream"] is True
        assert request["stream_options"] == {"include_usage": True}
        assert (reply.text, reply.model, reply.cut_off) == ("In the kitchen.", "tiny-served", False)
        assert (reply.prompt_tokens, reply.completion_tokens) == (5, 7)
        assert reply.first_token_s is not None
        assert reply.took_s is not None
        assert 0 <= reply.first_token_s <= reply.took_s

    def test_the_time_is_kept_with_the_reply(self, store: ReplyStore) -> None:
        with serve(lambda body: streamed("hello")) as server:
            first, again = (ask(server.base_url, store, stream=True) for _ in range(2))
            assert server.count == 1
        assert again.first_token_s == first.first_token_s

    @pytest.mark.parametrize(
        "broken",
        [
            streamed("In the", cut=True),
            Answer(200, "data: {broken\n\n", {"Content-Type": "text/event-stream"}),
            Answer(200, "", {"Content-Type": "text/event-stream"}),
            Answer(503),
            Answer(reset=True),
            streamed(),
        ],
        ids=["cut", "no JSON", "nothing", "503", "reset", "empty"],
    )
    def test_a_stream_that_breaks_off_is_no_reply_and_asked_again(self, broken: Answer, store: ReplyStore) -> None:
        with serve(in_turn(broken, streamed("In the kitchen."))) as server:
            assert ask(server.base_url, store, stream=True).text == "In the kitchen."
            assert server.count == 2
        assert len(store) == 1

    @pytest.mark.parametrize("usage", [True, False])
    def test_one_that_is_done_needs_no_reason_for_its_end(self, usage: bool, store: ReplyStore) -> None:
        """vLLM, llama-cpp-python and gateways send none where the model stopped by itself."""
        with serve(lambda body: streamed("In the kitchen.", finish_reason=None, usage=usage)) as server:
            assert ask(server.base_url, store, stream=True).text == "In the kitchen."
            assert server.count == 1

    def test_one_that_always_breaks_off_is_an_error(self, store: ReplyStore) -> None:
        with serve(lambda body: streamed("In the", cut=True), keep=0) as server:
            with pytest.raises(ModelError, match=r"tiny at http.*broke off its reply.*\(asked 3 times\)"):
                ask(server.base_url, store, stream=True)

    def test_a_server_that_does_not_count_is_counted_as_the_most(self, store: ReplyStore) -> None:
        budget = Budget(max_tokens=10_000)
        with serve(lambda body: streamed("hello", usage=False)) as server:
            reply = ask(server.base_url, store, stream=True, budget=budget)
        assert reply.prompt_tokens is None
        assert budget.spent.tokens >= 64


class TestBudget:
    def asked(self, server: Server, store: ReplyStore, budget: Budget, count: int) -> list[Reply | ReeltalkError]:
        async def many() -> list[Reply | ReeltalkError]:
            async with opened(server.base_url, store, budget=budget, connections=5) as model:
                return await outcomes([model.ask([Message("user", str(n))]) for n in range(count)])

        return asyncio.run(many())

    def test_it_stops_at_the_very_call(self, store: ReplyStore) -> None:
        budget = Budget(max_calls=7)
        with serve(lambda body: "hello", keep=0) as server:
            found = self.asked(server, store, budget, 20)
            assert server.count == budget.spent.calls == 7
        stopped = [one for one in found if isinstance(one, BudgetError)]
        assert len(stopped) == 13
        assert "7 of 7 requests" in str(stopped[0])

    def test_a_larger_one_goes_on_from_what_is_kept(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello", keep=0) as server:
            self.asked(server, store, Budget(max_calls=7), 20)
            found = self.asked(server, store, Budget(max_calls=13), 20)
            assert server.count == 20
        assert all(isinstance(one, Reply) for one in found)

    def test_requests_that_are_sent_again_count(self, store: ReplyStore) -> None:
        budget = Budget(max_calls=3)
        with serve(lambda body: Answer(503), keep=0) as server:
            [found] = self.asked(server, store, budget, 1)
            assert server.count == 3
        assert isinstance(found, BudgetError)

    def test_kept_replies_cost_nothing(self, store: ReplyStore) -> None:
        with serve(lambda body: "hello", keep=0) as server:
            self.asked(server, store, Budget(), 5)
            spent = Budget(max_calls=0)
            assert all(isinstance(one, Reply) for one in self.asked(server, store, spent, 5))
        assert spent.spent.calls == 0

    def test_requests_wait_where_others_may_leave_enough(self, store: ReplyStore) -> None:
        # Each may take 64 tokens and its prompt, and takes far fewer: two do not fit at once, twenty fit in a row.
        budget = Budget(max_tokens=250)
        with serve(lambda body: "hello", keep=0) as server:
            found = self.asked(server, store, budget, 20)
            assert server.count == 20
        assert all(isinstance(one, Reply) for one in found)
        assert budget.spent.tokens <= 250

    def test_a_request_that_was_refused_takes_no_tokens(self, store: ReplyStore) -> None:
        budget = Budget()
        with serve(lambda body: Answer(400, {"error": {}}), keep=0) as server:
            self.asked(server, store, budget, 1)
        assert (budget.spent.calls, budget.spent.tokens) == (1, 0)

    def test_money_needs_prices(self, store: ReplyStore) -> None:
        sender = WireSender(endpoint("http://localhost"))
        with pytest.raises(SettingError, match="needs the prices of tiny"):
            create_served_model(sender.endpoint, sender, store, connections=1, budget=Budget(max_cost=1))


class TestOtherSenders:
    def test_a_model_of_this_process(self, store: ReplyStore) -> None:
        class Local:
            name, sees_images = "local", True
            asked = 0

            @property
            def sampling(self) -> dict[str, Any]:
                return {}

            async def ask(
                self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, sample: int = 0
            ) -> Reply:
                self.asked += 1
                if self.asked == 1:
                    raise ModelError("out of memory")
                return Reply("hello", self.name, 3, 1, cut_off=False)

        local = Local()
        model = create_served_model(endpoint("http://none"), ModelSender(local), store, connections=1)
        with pytest.raises(ModelError, match=r"^out of memory$"):
            asyncio.run(model.ask(USER))
        for cached in (False, True):
            reply = asyncio.run(model.ask(USER))
            assert (reply.text, reply.cached) == ("hello", cached)
        assert local.asked == 2

    def test_a_provider_of_inspect_ai(self, store: ReplyStore) -> None:
        from inspect_ai.model import ModelOutput, ModelUsage

        outputs = [ModelOutput.from_content("mock", text) for text in ("", " hello ")]
        for output in outputs:
            output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)
        sender = InspectSender(endpoint("http://none", model="inspect:mockllm/model"), custom_outputs=outputs)
        model = create_served_model(sender.endpoint, sender, store, connections=1)
        reply = asyncio.run(model.ask(USER))
        assert (reply.text, reply.cached, reply.prompt_tokens) == ("hello", False, 3)
        assert asyncio.run(model.ask(USER)).cached

    def test_a_provider_that_is_not_there(self) -> None:
        with pytest.raises(ModelError, match="inspect_ai cannot open nobody/nothing"):
            InspectSender(endpoint("http://none", model="inspect:nobody/nothing"))


@pytest.mark.parametrize("calls", [200, pytest.param(6000, marks=pytest.mark.slow)])
def test_a_server_that_fails_in_nineteen_ways(calls: int, store: ReplyStore) -> None:
    """Every item is accounted for, no request leaves uncounted, and nothing wrong is read."""
    items = [f"item {n}" for n in range(calls)]
    counts: Counter[str] = Counter()
    budget = Budget(max_calls=calls)

    def right(body: Body) -> str:
        item = next(words(message) for message in body["messages"] if message["role"] == "user")
        return f'{{"item": "{item}", "score": 3}}'

    async def one(model: ServedModel, item: str) -> str:
        try:
            found = await ask_for_async(
                model,
                [Message("user", item)],
                Record,
                check=lambda record: None if record.item == item else "this is another item",
            )
        except BudgetError:
            return "stopped by the budget"
        except ModelError:
            return "no reply"
        if found.record is None:
            assert len(found.replies) == len(found.reasons) == 2
            return "malformed"
        assert found.record == Record(item=item, score=3)
        return "written"

    async def all_of_them(url: str) -> Counter[str]:
        async with opened(url, store, budget=budget, connections=8, timeout_s=0.5) as model:
            return Counter(await asyncio.gather(*[one(model, item) for item in items]))

    with serve(faulty(23, right, counts=counts, hold_s=0.8), keep=0) as server:
        ended = asyncio.run(all_of_them(server.base_url))
        assert server.count <= budget.spent.calls <= calls
        assert server.count >= budget.spent.calls * 0.9
        assert server.tokens <= budget.spent.tokens
        before, kept = server.count, len(store)
        again = asyncio.run(all_of_them(server.base_url))
        # The budget is spent: what was written comes from the store.
        assert (server.count, len(store)) == (before, kept)
    assert ended.total() == len(items)
    assert set(counts) == {*FAULTS, "right"} if calls > 1000 else len(counts) > 12
    assert ended["written"] > len(items) // 3
    assert ended["stopped by the budget"] > 0
    assert again["written"] == ended["written"]
    print(dict(ended), dict(counts), budget.spent)


@pytest.mark.filterwarnings("always::ResourceWarning")
def test_connections_that_nobody_closed_are_closed_with_their_event_loop(recwarn: pytest.WarningsRecorder) -> None:
    """As after Ctrl-C, or where inspect_ai ends because a disk is full."""
    with serve(lambda _body: "fine") as server:
        sender = WireSender(endpoint(server.base_url))
        for _ in range(2):
            sent = asyncio.run(sender.send(USER, None))
            assert sent.reply is not None, sent.error
        asyncio.run(sender.close())
        del sender
        gc.collect()
    assert [str(found.message) for found in recwarn if issubclass(found.category, ResourceWarning)] == []
