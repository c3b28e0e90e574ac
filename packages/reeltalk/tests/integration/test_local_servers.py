"""Servers on a laptop: requests that wait in their queue are no failures, and none is sent twice."""

import re
import threading
from collections import deque
from pathlib import Path

import pytest
from local_language_model import NAME, is_installed, serve_language_model
from scripted_server import Answer, Body, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

QUESTIONS = 20


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Twenty dialogues of one question."""
    content = Content(videos=[Video(id="v", duration_s=8.0)])
    for number in range(QUESTIONS):
        turn = Turn(question=f"What can one do with thing {number}?", references=("Carry it.",))
        content.dialogues.append(Dialogue(id=f"d{number}", video_id="v", turns=(turn,)))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


class Slots:
    """A server that answers some requests at a time, in the order of arrival; the others wait, or get 503.

    llama.cpp's server and vLLM keep all that they cannot answer yet. Ollama keeps OLLAMA_MAX_QUEUE of them.
    """

    def __init__(self, slots: int, takes_s: float, queue: int = 1000) -> None:
        self._free, self._takes_s, self._queue = slots, takes_s, queue
        self._waiting, self._changed = deque[object](), threading.Condition()
        self.answered = self.refused = self.most = 0

    def __call__(self, body: Body) -> str | Answer:
        own = object()
        with self._changed:
            if not self._free and len(self._waiting) >= self._queue:
                self.refused += 1
                told = "server busy, please try again.  maximum pending requests exceeded"
                return Answer(503, {"error": {"message": told, "type": "api_error", "param": None, "code": None}})
            self._waiting.append(own)
            self.most = max(self.most, len(self._waiting))
            self._changed.wait_for(lambda: self._free and self._waiting[0] is own)
            self._waiting.popleft()
            self._free -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: False, self._takes_s)
            self._free += 1
            self.answered += 1
            self._changed.notify_all()
        return "Carry it."


def evaluate(questions: Path, base_url: str, model: str, *more: str) -> int:
    limits = ("--no-preflight", "--backoff-s", "0.01", "--give-up-after-s", "60")
    asked = ("--model", model, "--base-url", base_url, "--policy", "none", "--metrics", "rouge_l")
    return run(["evaluate", str(questions), *asked, *limits, "--out", str(questions.parent / "run"), *more])


@pytest.mark.parametrize(("server", "chosen"), [(Slots(1, 0.2), (2, 4)), (Slots(20, 0.2), (4, 20))])
def test_who_waits_in_a_queue_is_answered_and_asked_once(
    server: Slots, chosen: tuple[int, int], questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Twenty at a time would wait up to 4 s.
    with serve(server) as served:
        assert evaluate(questions, served.base_url, "laptop", "--timeout-s", "2") == 0
        assert served.count == server.answered == QUESTIONS
    told = capsys.readouterr().out.splitlines()
    assert "20 due turns of laptop: 20 answered" in told
    [said] = [line for line in told if "at a time" in line]
    at_a_time = int(said.removeprefix("laptop was asked ").split()[0])
    assert chosen[0] <= at_a_time <= chosen[1]
    assert said.endswith("at a time, of 20 allowed by --connections")


def test_a_full_queue_makes_requests_fewer(questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Slots(1, 0.1, queue=1)
    with serve(server) as served:
        assert evaluate(questions, served.base_url, "ollama") == 0
        # Of the first four two are refused, and seldom one later.
        assert server.answered == QUESTIONS
        assert served.count == QUESTIONS + server.refused
    said = re.search(r"ollama was asked (\d+) at a time", capsys.readouterr().out)
    assert said is not None
    assert int(said[1]) < 4


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_llama_cpp_with_one_slot_is_asked_twenty_questions_once(questions: Path, tmp_path: Path) -> None:
    if not is_installed():
        pytest.skip("no language model: run make build/llm/ready")
    log = tmp_path / "server.log"
    with serve_language_model(log, slots=1, context=2048, threads=1) as address:
        assert evaluate(questions, address, NAME, "--max-reply-tokens", "40", "--timeout-s", "15") == 0
    said = log.read_text(encoding="utf-8")
    assert said.count("processing task") == QUESTIONS
    assert "cancel task" not in said
