"""A model that answers nobody ends the command at once, for all that ask it; one that is only busy does not."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scripted_server import Answer, Body, Script, serve, words

from reeltalk.errors import FailureKind, ModelError, OutageError
from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Message, Reply, ReplyStore
from reeltalk.llm.client import ModelClient
from reeltalk.llm.retrying import APART_S, IN_A_ROW, Breaker, TransientError
from reeltalk.llm.served import ServedModel, create_served_model
from reeltalk.llm.wire import Sent, failure_kind, is_unreached
from reeltalk.llm.wire_sender import WireSender
from reeltalk_build.threads import map_threads

REFUSED = Answer(404, {"error": {"message": "the model `qwen3` does not exist"}})
QUESTIONS = [[Message("user", str(number))] for number in range(35)]
LONG_S = 300.0
"""So long nobody waits here, unless something is wrong."""


def endpoint(url: str, **settings: Any) -> Endpoint:
    small: dict[str, Any] = {"backoff_s": 0.001, "longest_wait_s": 0.02, "max_retries": 2, "max_tokens": 64}
    return Endpoint(model="tiny", base_url=url, **(small | settings))


def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def failures(breaker: Breaker, count: int, kind: FailureKind = "invalid", reason: str = "no such model") -> None:
    for _ in range(count):
        breaker.record_failure(ModelError(reason, kind=kind))


class TestCounting:
    @pytest.mark.parametrize("kind", ["connection", "invalid", "reply", "content"])
    def test_eight_of_a_kind_in_a_row_are_too_many(self, kind: FailureKind) -> None:
        breaker = Breaker("tiny at http://there/v1", give_up_after_s=600, preflight=bool)
        failures(breaker, IN_A_ROW - 1, kind)
        breaker.check()
        with pytest.raises(OutageError, match=r"^tiny at http://there/v1 .*8 times in a row.*no such model.*are kept"):
            failures(breaker, 1, kind)
        with pytest.raises(OutageError, match="the same command continues"):
            breaker.check()

    def test_an_answer_begins_anew_and_another_kind_goes_on(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600)
        for _ in range(3):
            failures(breaker, IN_A_ROW - 1)
            breaker.record_success()
            failures(breaker, IN_A_ROW - 2)
            failures(breaker, 20, "busy")
            failures(breaker, 20, "request")
            failures(breaker, 1, "reply")
            breaker.record_success()
        failures(breaker, IN_A_ROW - 1, "reply")
        with pytest.raises(OutageError, match="8 times in a row"):
            failures(breaker, 1)

    def test_used_up_quota_stops_at_once(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600)
        breaker.record_success()
        with pytest.raises(OutageError, match=r"tiny has no quota left for you, so the command stops.*402.*continues"):
            failures(breaker, 1, "quota", "answered 402")

    @pytest.mark.parametrize("kind", ["access", "not-found"])
    def test_what_no_request_survives_stops_at_the_first_or_after_an_answer_at_the_second(
        self, kind: FailureKind
    ) -> None:
        with pytest.raises(OutageError, match=r"^tiny (?:refuses|says)[^,]*, so the command stops.*: correct the"):
            failures(Breaker("tiny", give_up_after_s=600), 1, kind)
        breaker = Breaker("tiny", give_up_after_s=600)
        for _ in range(3):
            breaker.record_success()
            failures(breaker, 1, kind)
        with pytest.raises(OutageError, match="2 times in a row"):
            failures(breaker, 1, kind)

    def test_empty_replies_to_eight_questions_stop_it_unless_one_accepts_them(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600, preflight=bool)
        failures(breaker, IN_A_ROW - 1, "empty")
        for _ in range(20):
            breaker.record_failure(ModelError("empty", kind="empty"), first=False)
        with pytest.raises(OutageError, match=r"replies without a word, 8 times in a row.*--no-preflight"):
            failures(breaker, 1, "empty")
        accepting = Breaker("tiny", give_up_after_s=600)
        failures(accepting, 100, "empty")
        failures(accepting, 100, "content")
        accepting.check()

    def test_a_kept_reply_allows_as_many_refused_requests_as_an_answer(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600)
        breaker.record_reused()
        breaker.record_reused()
        failures(breaker, 3 * IN_A_ROW - 1, "invalid")
        with pytest.raises(OutageError, match="24 times in a row"):
            failures(breaker, 1, "invalid")

    def test_a_kept_reply_does_not_show_that_the_server_answers(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600)
        failures(breaker, IN_A_ROW - 1, "connection")
        breaker.record_reused()
        with pytest.raises(OutageError, match="8 times in a row"):
            failures(breaker, 1, "connection")

    def test_failures_of_a_model_in_this_process_are_no_failure_of_a_server(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=1e-9)
        failures(breaker, 100, "other")
        breaker.check()

    def test_what_passes_ends_after_a_time_without_an_answer(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=0.2)
        failures(breaker, 100, "busy")
        time.sleep(0.15)
        breaker.record_success()
        failures(breaker, 100, "server")
        time.sleep(0.15)
        failures(breaker, 1, "time-out")
        time.sleep(0.1)
        with pytest.raises(OutageError, match=r"tiny gave no answer for 0 s, 102 failures.*--give-up-after-s"):
            failures(breaker, 1, "busy")

    def test_few_requests_of_a_model_that_has_answered_do_not_stop_the_command(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=0.05)
        breaker.record_success()
        for times in range(30):
            breaker.record_failure(ModelError("out of memory", kind="server"), first=times < IN_A_ROW - 1)
            time.sleep(0.01)
        with pytest.raises(OutageError):
            failures(breaker, 1, "server")

    def test_no_time_means_any_time(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=0)
        failures(breaker, 100, "busy")
        breaker.check()

    def test_who_asks_once_in_a_while_has_not_waited_in_between(self, monkeypatch: pytest.MonkeyPatch) -> None:
        breaker = Breaker("tiny", give_up_after_s=60)
        begin_s = time.monotonic()
        for number in range(3):
            monkeypatch.setattr(time, "monotonic", lambda now_s=begin_s + number * (APART_S + 1): now_s)
            failures(breaker, 1, "server")
        breaker.check()

    def test_a_wait_that_is_longer_than_one_has_is_no_pause(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where a server asks for a minute and one gives up after three seconds, or where requests take long."""
        breaker = Breaker("tiny", give_up_after_s=3)
        begin_s = time.monotonic()
        failures(breaker, 1, "busy")
        monkeypatch.setattr(time, "monotonic", lambda: begin_s + 60)
        with pytest.raises(OutageError, match="gave no answer for"):
            failures(breaker, 1, "busy")


class TestKinds:
    @pytest.mark.parametrize(
        ("status", "kind"),
        [(401, "access"), (403, "invalid"), (404, "invalid"), (400, "invalid"), (429, "busy"), (503, "server")],
    )
    def test_a_status_tells_it(self, status: int, kind: str) -> None:
        class ProviderError(Exception):
            status_code = status

        assert failure_kind(ProviderError()) == kind

    def test_a_cause_tells_it(self) -> None:
        def chained(cause: Exception) -> Exception:
            error = RuntimeError("it failed")
            error.__cause__ = cause
            return error

        assert failure_kind(chained(ConnectionResetError())) == "connection"
        assert failure_kind(chained(TimeoutError())) == "time-out"
        assert failure_kind(chained(ValueError())) == "reply"
        assert is_unreached(chained(ConnectionRefusedError()))
        assert not is_unreached(chained(ConnectionResetError()))


@contextlib.contextmanager
def language_model(url: str, budget: Budget | None = None, **settings: Any) -> Iterator[LanguageModel]:
    with contextlib.closing(LanguageModel(endpoint(url, **settings), budget=budget)) as opened:
        yield opened


def served(url: str, store: ReplyStore, count: int, budget: Budget | None = None, **settings: Any) -> list[Any]:
    """Ask a model of an evaluation so many questions at once."""

    async def ask(model: ServedModel, sender: WireSender) -> list[Any]:
        questions = [model.ask([Message("user", str(n))]) for n in range(count)]
        try:
            return await asyncio.gather(*questions, return_exceptions=True)
        finally:
            await sender.close()

    sender = WireSender(endpoint(url, **settings))
    model = create_served_model(sender.endpoint, sender, store, connections=20, budget=budget)
    return asyncio.run(ask(model, sender))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


def poisoned(answer: Answer) -> Script:
    """A server that answers all but the question 0."""
    return lambda body: answer if words(body["messages"][-1]) == "0" else "hello"


class TestThreads:
    def test_a_refusal_of_all_ends_all_threads(self) -> None:
        with serve(lambda body: REFUSED, keep=0) as server, language_model(server.base_url) as tiny:

            def ask(number: int) -> str:
                with contextlib.suppress(ModelError):
                    return tiny.ask([Message("user", str(number))]).text
                return "failed"

            with pytest.raises(OutageError, match=r"tiny at http.*'not found', so.*`qwen3` does not"):
                list(map_threads(ask, range(500), 4))
            assert 1 <= server.count <= 4

    def test_attempts_that_are_repeated_count(self) -> None:
        url = nobody()
        with language_model(url, max_retries=50) as tiny:
            with pytest.raises(OutageError, match=f"{url} cannot be reached, 8 times in a row"):
                tiny.ask([Message("user", "hello")])

    def test_whoever_waits_to_ask_again_is_woken(self) -> None:
        breaker = Breaker("tiny", give_up_after_s=600)
        tried = threading.Barrier(4)
        ended: list[BaseException] = []

        class Failing:
            sampling: ClassVar[dict[str, Any]] = {}

            async def send(self, *_: Any) -> Sent:
                tried.wait(60)
                return Sent(error=TransientError("not now", kind="server"))

            async def close(self) -> None:
                """Nothing is open."""

        waiting = endpoint("http://none", max_retries=5, backoff_s=LONG_S, longest_wait_s=LONG_S)
        client = ModelClient(waiting, Failing(), breaker=breaker)

        def ask() -> None:
            try:
                asyncio.run(client.ask(QUESTIONS[0]))
            except OutageError as error:
                ended.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        tried.wait(60)
        with pytest.raises(OutageError):
            failures(breaker, IN_A_ROW)
        for thread in threads:
            thread.join(LONG_S / 10)
        assert len(ended) == 3

    def test_a_busy_server_is_asked_on_beyond_the_retries(self) -> None:
        left = [Answer(429), Answer(503)] * 4
        with (
            serve(lambda body: left.pop() if left else "hello", keep=0) as server,
            language_model(server.base_url, max_retries=1) as tiny,
        ):
            assert tiny.ask([Message("user", "hello")]).text == "hello"
            assert server.count == 9

    def test_a_request_that_fails_alone_is_given_up(self) -> None:
        with serve(poisoned(Answer(500)), keep=0) as server, language_model(server.base_url, backoff_s=0.1) as tiny:
            found: list[str] = []

            def ask(number: int) -> None:
                try:
                    tiny.ask([Message("user", str(number))])
                except ModelError as error:
                    found.append(str(error))

            # Else a thread that stands still for seconds leaves a server that has never answered.
            ask(40)
            list(map_threads(ask, range(40), 2))
        assert len(found) == 1
        assert "answered 500" in found[0]
        assert "(asked 3 times)" in found[0]

    def test_one_that_fails_alone_after_all_others_is_given_up_too(self) -> None:
        with serve(poisoned(Answer(500)), keep=0) as server, language_model(server.base_url) as tiny:
            assert tiny.ask([Message("user", "1")]).text == "hello"
            with pytest.raises(ModelError, match=r"answered 500.*\(asked 3 times\)"):
                tiny.ask([Message("user", "0")])

    def test_no_retries_are_no_retries(self) -> None:
        with serve(lambda body: Answer(503), keep=0) as server:
            with language_model(server.base_url, max_retries=0) as tiny, pytest.raises(ModelError, match="503"):
                tiny.ask([Message("user", "hello")])
            assert server.count == 1

    def test_a_refused_schema_is_no_failure(self) -> None:
        def reply(body: Body) -> str | Answer:
            return Answer(400, {"error": {"message": "no"}}) if "response_format" in body else "hello"

        with serve(reply, keep=0) as server, language_model(server.base_url) as tiny:
            schemas: list[dict[str, Any]] = [{"title": f"a{n}", "type": "object"} for n in range(2 * IN_A_ROW)]
            for schema in schemas:
                assert tiny.ask([Message("user", "hello")], schema=schema).text == "hello"


class TestTasks:
    def test_a_refusal_ends_all_tasks(self, store: ReplyStore) -> None:
        with serve(lambda body: REFUSED, keep=0) as server:
            found = served(server.base_url, store, 200)
            assert server.count <= 20
        stopped = [one for one in found if isinstance(one, OutageError)]
        assert len(stopped) > 190
        assert "`qwen3` does not exist" in str(stopped[0])

    def test_what_came_before_is_kept(self, store: ReplyStore) -> None:
        asked = 0
        lock = threading.Lock()

        def reply(body: Body) -> str | Answer:
            nonlocal asked
            with lock:
                asked += 1
                return "hello" if asked <= 30 else Answer(reset=True)

        with serve(reply, keep=0) as server:
            found = served(server.base_url, store, 100)
        assert sum(isinstance(one, Reply) for one in found) == len(store) == 30
        assert any(isinstance(one, OutageError) for one in found)

    def test_whoever_waits_to_ask_again_is_woken(self, store: ReplyStore) -> None:
        waiting = threading.Semaphore(0)

        def reply(body: Body) -> Answer:
            if int(words(body["messages"][-1])) < 5:
                waiting.release()
                return Answer(503)
            # Those that wait have been answered before.
            assert waiting.acquire(timeout=60)
            waiting.release()
            return REFUSED

        began_s = time.monotonic()
        with serve(reply, keep=0) as server:
            found = served(server.base_url, store, 60, backoff_s=LONG_S, longest_wait_s=LONG_S)
        assert all(isinstance(one, ModelError | OutageError) for one in found)
        assert isinstance(found[0], OutageError)
        assert time.monotonic() - began_s < LONG_S / 3

    def test_a_server_that_stays_busy_is_given_up(self, store: ReplyStore) -> None:
        with serve(lambda body: Answer(429), keep=0) as server:
            found = served(server.base_url, store, 30, max_retries=1, give_up_after_s=2, longest_wait_s=0.1)
            assert server.count > 30
        assert all(isinstance(one, OutageError) for one in found)

    def test_one_that_is_busy_now_and_then_is_not(self, store: ReplyStore) -> None:
        asked = 0
        lock = threading.Lock()

        def reply(body: Body) -> str | Answer:
            nonlocal asked
            with lock:
                asked += 1
                return Answer(429) if asked % 3 else "hello"

        with serve(reply, keep=0) as server:
            found = served(server.base_url, store, 40, max_retries=1)
        assert all(isinstance(one, Reply) for one in found)


class TestBudget:
    def test_what_reached_no_server_is_counted_apart(self, store: ReplyStore) -> None:
        for budget in (Budget(max_calls=3), Budget(max_tokens=100), Budget()):
            found = served(nobody(), store, 40, budget)
            assert {type(one) for one in found} <= {OutageError, ModelError}
            assert (budget.spent.calls, budget.spent.tokens) == (0, 0)
            assert budget.spent.unreached >= IN_A_ROW
            assert f"0 requests, 0 tokens, {budget.spent.unreached} more requests reached no server" == str(
                budget.spent
            )

    def test_threads_too(self) -> None:
        budget = Budget(max_calls=2)
        with language_model(nobody(), budget, max_retries=20) as tiny, pytest.raises(OutageError):
            tiny.ask([Message("user", "hello")])
        assert (budget.spent.calls, budget.spent.unreached) == (0, IN_A_ROW)

    def test_a_reset_may_have_cost_something(self) -> None:
        budget = Budget()
        with serve(lambda body: Answer(reset=True), keep=0) as server, language_model(server.base_url, budget) as tiny:
            with pytest.raises(ModelError):
                tiny.ask([Message("user", "hello")])
            assert budget.spent.calls == server.count
        assert budget.spent.tokens > 0


class TestKept:
    """14 of 35 questions are always refused: whoever asks again asks those alone."""

    @staticmethod
    def refusing(body: Body) -> str | Answer:
        refused = int(words(body["messages"][-1])) % 5 in (1, 3)
        return Answer(400, {"error": {"message": "the context is too long"}}) if refused else "hello"

    def test_tasks_ask_again_what_was_refused(self, store: ReplyStore) -> None:
        async def ask(url: str, *, at_once: bool) -> list[Any]:
            sender = WireSender(endpoint(url))
            model = create_served_model(sender.endpoint, sender, store, connections=20)
            try:
                if at_once:
                    return await asyncio.gather(*map(model.ask, QUESTIONS), return_exceptions=True)
                return [
                    (await asyncio.gather(model.ask(question), return_exceptions=True))[0] for question in QUESTIONS
                ]
            finally:
                await sender.close()

        with serve(self.refusing, keep=0) as server:
            for at_once, requests in ((False, 35), (True, 35 + 14), (False, 35 + 28)):
                found = asyncio.run(ask(server.base_url, at_once=at_once))
                assert sum(isinstance(one, ModelError) and "the context" in str(one) for one in found) == 14
                assert server.count == requests
        assert len(store) == 21

    def test_threads_ask_again_what_was_refused(self, store: ReplyStore) -> None:
        def ask(model: CachedModel, question: list[Message]) -> bool:
            try:
                return bool(model.ask(question).text)
            except ModelError:
                return False

        with serve(self.refusing, keep=0) as server:
            for requests in (35, 35 + 14):
                with language_model(server.base_url) as tiny:
                    # Those that are refused come last, and no answer lies between them.
                    questions = sorted(QUESTIONS, key=lambda one: requests > 35 and int(one[0].text) % 5 in (1, 3))
                    assert sum(ask(CachedModel(tiny, store), question) for question in questions) == 21
                assert server.count == requests
