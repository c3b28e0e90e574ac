"""Before a command begins, one small request says what is wrong with a model's server, where, and what to do."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Answer, Body, completion, count_images, serve

from reeltalk.errors import BudgetError, OutageError
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.llm.preflight import PreflightResult, preflight


def check(url: str, model: str = "tiny", **options: Any) -> PreflightResult:
    settings = {"api_key": "key-of-mine-123", "key_variable": "MY_KEY"} | options
    return preflight(Endpoint(model=model, base_url=url, timeout_s=5, backoff_s=0.001), **settings)


def refusal(status: int, message: str, **fields: Any) -> Answer:
    return Answer(status, {"error": {"message": message, **fields}})


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_server_that_answers_is_asked_once() -> None:
    with serve(lambda _body: "ready", models=["tiny"], sees_preflights=True) as server:
        assert check(server.base_url, images=True, schema=True) == PreflightResult(check(server.base_url).dialect)
        assert server.count == 2
        first, second = server.requests
    assert count_images(first) == 1
    assert first["response_format"]["type"] == "json_schema"
    assert first["max_tokens"] == 64
    assert count_images(second) == 0
    assert "response_format" not in second


def test_nothing_listens(closed_port: int) -> None:
    began_s = time.monotonic()
    with pytest.raises(
        OutageError, match=rf"http://127\.0\.0\.1:{closed_port}/v1 cannot be reached.*check --judge-url"
    ):
        check(f"http://127.0.0.1:{closed_port}/v1", option="--judge-url")
    assert time.monotonic() - began_s < 30  # five, on a machine that does nothing else


def test_there_is_no_such_host() -> None:
    with pytest.raises(OutageError, match=r"no-such-host\.invalid/v1 cannot be reached.*no host of this name"):
        check("http://no-such-host.invalid/v1")


def test_a_server_without_tls_is_asked_for_it() -> None:
    with serve(lambda _body: "ready", sees_preflights=True) as server:
        address = server.base_url.removeprefix("http://")
        with pytest.raises(OutageError, match=f"speaks no TLS; give --base-url http://{address}"):
            check(f"https://{address}")


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[str]:
    """A server that answers nothing but a handshake, with a certificate of its own."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except OSError:
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}/v1"


def test_a_server_with_tls_is_asked_without_it(tls_server: str) -> None:
    with pytest.raises(OutageError, match=f"--base-url https://{tls_server}"):
        check(f"http://{tls_server}")


def test_a_certificate_that_nobody_vouches_for(tls_server: str) -> None:
    with pytest.raises(OutageError, match=r"its certificate is not trusted; .*SSL_CERT_FILE"):
        check(f"https://{tls_server}")


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_named_by_its_variable(status: int) -> None:
    with serve(
        lambda _body: refusal(status, "Incorrect API key provided: key-of-mine-123"), sees_preflights=True
    ) as server:
        with pytest.raises(OutageError) as caught:
            check(server.base_url)
        with pytest.raises(OutageError, match=r"no key is given: set MY_KEY$"):
            check(server.base_url, api_key=None)
    assert f"tiny at {server.base_url} answered {status}" in str(caught.value)
    assert "the key in MY_KEY" in str(caught.value)
    assert "key-of-mine" not in str(caught.value)


NAMES = ["Qwen/Qwen3-VL-8B-Instruct", "llava", "qwen3-8b", "gpt-4o", "a", "b", "c"]


@pytest.mark.parametrize("status", [400, 404])
def test_a_model_that_is_not_there(status: int) -> None:
    with serve(
        lambda body: refusal(status, f"The model `{body['model']}` does not exist."), models=NAMES, sees_preflights=True
    ) as server:
        with pytest.raises(OutageError, match=r"does not exist.*the server has qwen3-8b, .* and 2 more$"):
            check(server.base_url, "qwen3")


def test_an_address_without_v1() -> None:
    with serve(lambda _body: "ready", models=["tiny"], sees_preflights=True) as server:
        address = server.base_url.removesuffix("/v1")
        with pytest.raises(OutageError, match=rf"{address} is no address .* give --base-url {address}/v1$"):
            check(address)
        assert server.count == 0


def blind(body: Body) -> str | Answer:
    if count_images(body):
        return Answer(400, {"object": "error", "message": "tiny is not a multimodal model", "type": "BadRequestError",
                            "param": None, "code": 400})  # fmt: skip
    return "ready"


def blind_llama(body: Body) -> str | Answer:
    return refusal(500, 'Unsupported content part type: "image_url"') if count_images(body) else "ready"


@pytest.mark.parametrize("server_of", [blind, blind_llama])
def test_a_model_that_sees_no_images(server_of: Any) -> None:
    with serve(server_of, sees_preflights=True) as server:
        with pytest.raises(OutageError, match="without a picture it answers: choose a model that sees images"):
            check(server.base_url, images=True)
        assert check(server.base_url).notes == ()


def test_a_server_that_takes_no_schema_is_told_of_and_remembered(tmp_path: Path) -> None:
    def reply(body: Body) -> str | Answer:
        return refusal(400, "bad request") if "response_format" in body else "ready"

    with serve(reply, sees_preflights=True) as server, ReplyStore(tmp_path / "replies.sqlite") as store:
        found = check(server.base_url, schema=True, store=store)
        assert len(found.notes) == 1
        assert "is sent no JSON schema" in found.notes[0]
        assert store.dialect("tiny", server.base_url) == found.dialect
        assert not found.dialect.takes("response_format")
        before = server.count
        check(server.base_url, schema=True, store=store)
        assert server.count == before + 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_told_only(status: int) -> None:
    with serve(lambda _body: refusal(status, "not now"), sees_preflights=True) as server:
        found = check(server.base_url)
    assert len(found.notes) == 1
    assert f"answered {status}: not now; requests are sent again" in found.notes[0]


@pytest.mark.parametrize(
    "reply",
    [
        lambda body: completion(body, "", finish_reason="length"),
        lambda body: completion(body, None),
        lambda _body: refusal(400, "Could not finish the message because max_tokens or model output limit was reached"),
    ],
)
def test_a_model_that_thinks_for_too_long_is_there_all_the_same(reply: Any) -> None:
    with serve(reply, sees_preflights=True) as server:
        assert check(server.base_url).notes == ()


def test_a_web_page_is_no_server_of_a_model() -> None:
    with serve(
        lambda _body: Answer(200, "<!doctype html>", {"Content-Type": "text/html"}), sees_preflights=True
    ) as server:
        with pytest.raises(OutageError, match=r"is http.* a server of a language model"):
            check(server.base_url)
        assert server.count == 3


def test_requests_that_are_sent_elsewhere_are_named() -> None:
    with serve(lambda _body: "ready", sees_preflights=True) as elsewhere:
        with serve(
            lambda _body: Answer(307, "", {"Location": f"{elsewhere.base_url}/chat/completions"}), sees_preflights=True
        ) as server:
            with pytest.raises(OutageError, match=f"sends requests on to {elsewhere.base_url}"):
                check(server.base_url)
        assert elsewhere.count == 0


def test_the_small_requests_count() -> None:
    with serve(lambda _body: "ready", sees_preflights=True) as server:
        budget = Budget(max_calls=1)
        check(server.base_url, budget=budget)
        assert budget.spent.calls == 1
        with pytest.raises(BudgetError):
            check(server.base_url, budget=budget)


def test_a_provider_of_inspect_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine-123")
    chat: dict[str, Any] = {"model_args": {"responses_api": False}}
    with serve(lambda _body: "ready", sees_preflights=True) as server:
        assert check(server.base_url, "inspect:openai/tiny", images=True, schema=True, **chat).notes == ()
        assert server.images == 1
    with pytest.raises(OutageError, match="cannot open nobody/model"):
        check(None, "inspect:nobody/model")  # type: ignore[arg-type]
    with serve(
        lambda _body: refusal(401, "Incorrect API key provided: key-of-mine-123"), sees_preflights=True
    ) as server:
        with pytest.raises(OutageError) as caught:
            check(server.base_url, "inspect:openai/tiny", **chat)
    assert "the key in MY_KEY" in str(caught.value)
    assert "key-of-mine" not in str(caught.value)


def test_user_and_password_are_sent_and_not_told() -> None:
    def reply(_body: Body) -> Answer:
        return refusal(401, "no entry for http://anna:PASSW0RD@example.org, PASSW0RD")

    with serve(reply, sees_preflights=True) as server:
        address = server.base_url.replace("http://", "http://anna:PASSW0RD@")
        with pytest.raises(OutageError) as caught:
            check(address)
        assert server.requests[0]["key"].startswith("Basic ")
    assert "PASSW0RD" not in str(caught.value)
    assert "anna" not in str(caught.value)


def test_a_provider_that_would_load_its_own_weights_is_not_opened_twice() -> None:
    # hf would look for the folder, and fail.
    assert check(None, "inspect:hf/no-such-folder", schema=True).notes == ()  # type: ignore[arg-type]
