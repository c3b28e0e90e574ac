"""A language model is asked over HTTP, and whatever a server does becomes a reply or one sentence."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from reeltalk.cli import run
from reeltalk.errors import ModelError
from reeltalk.llm import Endpoint, LanguageModel, Prompt


class Server(BaseHTTPRequestHandler):
    """Speaks the chat completions protocol; `script` says how the next requests are answered."""

    script: ClassVar[list[tuple[int, Any]]] = []
    seen: ClassVar[list[dict[str, Any]]] = []
    lock: ClassVar[threading.Lock] = threading.Lock()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            self.seen.append(body | {"path": self.path, "key": self.headers.get("Authorization")})
            status, content = self.script.pop(0) if self.script else (200, None)
        if status == 200 and not isinstance(content, dict):
            text = content if content is not None else f"said: {body['messages'][-1]['content'][-40:]}"
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            content = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]}
            content["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        answer = content.encode() if isinstance(content, str) else json.dumps(content or {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    Server.script.clear()
    Server.seen.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/v1"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def model(url: str, **settings: Any) -> LanguageModel:
    return LanguageModel(Endpoint(model="tiny", base_url=url, **settings), api_key="secret")


def test_a_reply_has_text_and_counts(server: str) -> None:
    reply = model(server).ask("hello", system="be brief")
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.cut_off) == ("said: hello", 7, 3, False)
    sent = Server.seen[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["key"] == "Bearer secret"
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert (sent["temperature"], sent["seed"]) == (0.0, 17)


def test_a_busy_server_is_asked_again(server: str) -> None:
    Server.script[:] = [(429, {}), (503, {}), (200, "at last")]
    assert model(server).ask("hello").text == "at last"
    assert len(Server.seen) == 3


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ([(401, {"error": {"message": "no such key"}})], "answered 401.*no such key"),
        ([(500, {})] * 2, "answered 500"),
        ([(200, "  ")], "empty reply"),
        ([(200, {"choices": []})], "empty reply"),
        ([(200, {"nonsense": 1})], "empty reply"),
    ],
)
def test_a_failure_is_one_sentence(server: str, script: list[tuple[int, Any]], message: str) -> None:
    Server.script[:] = script
    with pytest.raises(ModelError, match=message):
        model(server, max_retries=1).ask("hello")


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        model("http://127.0.0.1:9/v1", max_retries=0).ask("hello")


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
    return ["graph", "refine", str(data / "kg_activity"), *rest]


def test_refining_resumes_and_reports_what_it_cannot_ground(
    server: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "refined"
    Server.script[:] = [(200, REFINED), (400, {"error": {"message": "too long"}})]
    assert run(command(samples, out, server)) == 1
    assert "09002: not written" in capsys.readouterr().out
    assert (out / "09001.txt").read_text() == REFINED + "\n"
    assert "The book is on the sofa." in Server.seen[0]["messages"][0]["content"]
    Server.script[:] = [(200, "The person drinks a cup of coffee.")]
    assert run(command(samples, out, server)) == 1
    told = capsys.readouterr().out
    assert "1 texts written, 1 kept, 0 failed, 1 with claims" in told
    assert "09002: sentence 1: 'drinks' (not in the graph)" in told
    assert len(Server.seen) == 3
    other = [word if word != "tiny" else "huge" for word in command(samples, out, server)]
    assert run(other) == 2
    assert "texts of another model" in capsys.readouterr().err


def test_a_server_that_is_gone_stops_the_run(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reeltalk.graph.refining.FAILURES_IN_A_ROW", 1)
    monkeypatch.setattr(Endpoint.model_fields["max_retries"], "default", 0)
    Endpoint.model_rebuild(force=True)
    assert run(command(samples, tmp_path / "refined", "http://127.0.0.1:9/v1")) == 2
    assert "run again to go on" in capsys.readouterr().err
