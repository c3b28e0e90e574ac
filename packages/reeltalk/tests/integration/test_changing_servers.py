"""A server that answers well for a while and then sends what is of no use: the command stops, and goes on later."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reliability_page import Reliability
from scripted_server import Answer, Body, Server, completion, serve, words

from reeltalk.cli import run
from reeltalk.evaluation.useless import MOST_SAME_ANSWERS
from reeltalk.llm.retrying import IN_A_ROW
from reeltalk.llm.wire import TOKEN_CHARS
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import read_run

GOOD, TURNS = 15, 90
CONNECTIONS = 4
JUDGED = '{"score": 80, "reason": "it fits"}'
EVENTS = {"Content-Type": "text/event-stream"}
SPENT = {"error": {"message": "You exceeded your current quota, please check your plan.", "code": "insufficient_quota"}}


def event(text: str, **choice: Any) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}} | choice]})}\n\n"


REFUSAL = event("", delta={"refusal": "I can't help."}, finish_reason="stop")
Mode = Callable[[Body], "str | Body | Answer"]
MODES: dict[str, Mode] = {
    "web page": lambda _: Answer(200, "<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}),
    "br": lambda _: Answer(200, "\x0b\x02{}", {"Content-Encoding": "br"}),
    "no gzip": lambda _: Answer(200, "{}", {"Content-Encoding": "gzip"}),
    "empty text": lambda body: completion(body, ""),
    "no text": lambda body: {"id": "x", "object": "chat.completion", "choices": []},
    "only thoughts": lambda body: completion(body, "", finish_reason="length"),
    "error object": lambda _: Answer(200, '{"error": {"message": "upstream is gone", "code": 502}}'),
    "cut JSON": lambda _: Answer(200, '{"choices": [{"index": 0, "message": {"content": "It is'),
    "wrong length": lambda body: Answer(200, completion(body, "It is one."), cut=True),
    "quota 429": lambda _: Answer(429, SPENT),
    "quota 402": lambda _: Answer(402, {"error": {"message": "Insufficient Balance"}}),
    "quota 403": lambda _: Answer(403, {"code": 30001, "message": "Sorry, your account balance is insufficient"}),
    "quota with status 200": lambda _: Answer(200, json.dumps(SPENT)),
    "key revoked": lambda _: Answer(401, {"error": {"message": "Incorrect API key provided"}}),
    "model gone": lambda _: Answer(404, {"error": {"message": "The model does not exist", "code": "model_not_found"}}),
    "filtered": lambda body: completion(body, "", finish_reason="content_filter"),
    "prompt refused": lambda _: Answer(400, {"error": {"message": "It was filtered", "code": "content_filter"}}),
    "refusal": lambda _: Answer(200, json.dumps({"choices": [{"message": {"refusal": "I can't help."}}]})),
    "events of a refusal": lambda _: Answer(200, f"{REFUSAL}data: [DONE]\n\n", EVENTS),
    "events of nothing": lambda _: Answer(200, ": ping\n\n", EVENTS, endless=True),
    "quota in events": lambda _: Answer(200, event("It") + f"data: {json.dumps(SPENT)}\n\n", EVENTS),
}
STREAMED = {"events of a refusal", "events of nothing", "quota in events"}
AT_ONCE = {name for name in MODES if name.startswith("quota")} | {"key revoked", "model gone"}


class Changing:
    """A server that answers so many requests well, then in a mode, and well again once it is mended."""

    def __init__(self, good: int, mode: Mode) -> None:
        self.left, self.mode, self._lock = good, mode, threading.Lock()
        self.mended = False
        self.asked: list[str] = []

    def __call__(self, body: Body) -> "str | Body | Answer":
        question = words(body["messages"][-1])
        with self._lock:
            self.asked.append(question)
            self.left -= 1
            bad = self.left < 0 and not self.mended
        return self.mode(body) if bad else right(body)


def right(body: Body) -> str:
    return JUDGED if body["model"] == "judge" else f"I see {words(body['messages'][-1])[-7:]}"


def bench(folder: Path, turns: int = TURNS) -> Path:
    content = Content(videos=[Video(id=f"v{n}") for n in range(turns)])
    for n in range(turns):
        turn = Turn(question=f"What does the person do with number {n:05}?", references=("It is put down gently.",))
        content.dialogues.append(Dialogue(id=f"d{n:05}", video_id=f"v{n}", turns=(turn,)))
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bench(tmp_path_factory.mktemp("changing") / "bench")


@pytest.fixture(scope="module")
def answered(benchmark: Path) -> Path:
    out = benchmark.parent / "answered"
    command = ["evaluate", str(benchmark), "--model", "baseline:copied-question", "--metrics", "rouge_l"]
    assert run([*command, "--out", str(out)]) == 0
    return out


LIMITS = ("--connections", CONNECTIONS, "--backoff-s", 0.001, "--timeout-s", 1, "--give-up-after-s", 3)


def evaluating(benchmark: Path, server: Server, out: Path, *more: object) -> list[str]:
    command = (
        *("evaluate", benchmark, "--model", "tiny", "--base-url", server.base_url, "--policy", "none", "--metrics"),
        *("rouge_l", "--max-reply-tokens", 64, "--out", out, *LIMITS, *more),
    )
    return [str(word) for word in command]


def judging(answered: Path, server: Server, out: Path) -> list[str]:
    command = (
        *("judge", answered, "--protocols", "clair", "--metrics", "none", "--null-units", 0, "--judge", "judge"),
        *("--judge-base-url", server.base_url, "--out", out, *LIMITS),
    )
    return [str(word) for word in command]


CLOCKED = re.compile(r'"(took_s|first_token_s|cached)": ?[^,}]+,?')


def results(out: Path) -> dict[str, str]:
    """The files of a run, without what a clock says."""
    paths = [out / "answers.jsonl", *sorted((out / "scores").iterdir())]
    found = {path.name: CLOCKED.sub("", path.read_text(encoding="utf-8")) for path in paths}
    timed = ("curves.jsonl", "groups.jsonl")
    return {name: text for name, text in found.items() if name not in timed}


KINDS = ("evaluate", "streamed", "judge")
OFTEN = {("web page", "evaluate"), ("br", "streamed"), ("filtered", "judge"), ("key revoked", "evaluate")}
"""What `make test` tries."""


def command(kind: str, benchmark: Path, server: Server, out: Path, *more: object) -> list[str]:
    if kind == "judge":
        return judging(benchmark.parent / "answered", server, out)
    return evaluating(benchmark, server, out, *more, *(["--first-token"] if kind == "streamed" else []))


@pytest.fixture(scope="module")
def undisturbed(benchmark: Path, answered: Path) -> dict[str, dict[str, str]]:
    """The files of runs against a server that never fails."""
    found = {}
    with serve(right, keep=0) as server:
        for kind in KINDS:
            assert run(command(kind, benchmark, server, benchmark.parent / f"whole-{kind}")) == 0
            found[kind] = results(benchmark.parent / f"whole-{kind}")
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=() if (name, kind) in OFTEN else pytest.mark.slow)
        for name in MODES
        for kind in KINDS
        if kind == "streamed" or name not in STREAMED
    ],
)
def test_it_stops_soon_and_goes_on_where_it_stopped(
    name: str,
    kind: str,
    benchmark: Path,
    undisturbed: dict[str, dict[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reliability: Reliability,
) -> None:
    tally = reliability(
        "servers",
        "commands whose server changes midway to one of 21 kinds of useless replies, and later back",
        "more than eight useless requests for each connection, a run is written, a reply is lost, or other results",
    )
    tally.tried = 1
    script, out = Changing(GOOD, MODES[name]), tmp_path / "run"
    with serve(script, keep=0) as server:
        asked = command(kind, benchmark, server, out)
        assert run(asked) == 2
        told = capsys.readouterr().err.splitlines()[-1]
        assert server.base_url in told
        assert "replies so far are kept" in told
        useless = server.count - GOOD
        assert useless <= CONNECTIONS + 2 if name in AT_ONCE else useless <= IN_A_ROW * CONNECTIONS
        assert not (out / "run.json").exists()
        good, script.mended, script.asked = set(script.asked[:GOOD]), True, []
        assert run(asked) == 0
        assert len(script.asked) == TURNS - GOOD
        assert not good & set(script.asked)
    assert results(out) == undisturbed[kind]


def test_eight_are_enough_after_thousands_of_good_ones(
    full: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = 2000 if full else 200
    many = bench(tmp_path / "bench", good + 100)
    with serve(Changing(good, MODES["web page"]), keep=0) as server:
        assert run(evaluating(many, server, tmp_path / "run")) == 2
        assert server.count <= good + IN_A_ROW + CONNECTIONS
    told = capsys.readouterr().err
    assert "8 times in a row" in told
    assert "it answered 200 and text/html, which begins '<!doctype html><title>Sign in</title>'" in told


@pytest.mark.parametrize("name", ["web page", "br", "no gzip", "cut JSON", "no text", "quota 402", "quota in events"])
def test_the_preflight_reads_a_whole_answer_as_the_run_would(
    name: str, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in KINDS[: 1 if name not in STREAMED else 2][-1:]:
        with serve(MODES[name], sees_preflights=True) as server:
            assert run(command(kind, benchmark, server, tmp_path / kind)) == 2
            assert server.count <= 3
            assert {bool(body.get("stream")) for body in server.requests} == {kind == "streamed"}
        assert server.base_url in capsys.readouterr().err


def test_a_model_may_say_nothing_to_some_questions_or_by_request_to_all(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def quiet(body: Body) -> "str | Body":
        number = int(words(body["messages"][-1])[-6:-1])
        return completion(body, "") if number % 9 else right(body)

    with serve(quiet, keep=0) as server:
        # Seven others lie between two answers, or eight, by the order in which they come.
        assert run(evaluating(benchmark, server, tmp_path / "all", "--no-preflight")) == 1
        assert server.count == TURNS // 9 + 2 * (TURNS - TURNS // 9)
    assert "80 of 90 turns: tiny" in capsys.readouterr().out


def test_an_answer_without_an_end_is_cut_at_what_was_asked_for_and_its_row_says_so(
    benchmark: Path, tmp_path: Path
) -> None:
    def endless(body: Body) -> "str | Answer":
        if not words(body["messages"][-1]).endswith("00007?"):
            return right(body)
        if body.get("stream"):
            return Answer(200, event(" again and") * 2000, EVENTS, endless=True)
        return "It is" + " " * 100_000 + "one."

    with serve(endless, keep=0) as server:
        for kind in ("evaluate", "streamed"):
            assert run(command(kind, benchmark, server, tmp_path / kind)) == 0
            turns = list(read_run(tmp_path / kind).answers())
            cut = [turn for turn in turns if turn.played is not None and turn.played.cut_at is not None]
            assert [(turn.item_id, len(turn.text)) for turn in cut] == [("d00007/01", 639 if kind == "streamed" else 5)]
            assert cut[0].played is not None
            assert cut[0].played.cut_at == TOKEN_CHARS * 64 == 640


SENTENCE = "I am sorry, but something went wrong on my side."


@pytest.mark.parametrize("kind", ["evaluate", "judge"])
def test_one_sentence_to_all_questions_stops_it_and_is_forgotten(
    kind: str,
    benchmark: Path,
    undisturbed: dict[str, dict[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, out = Changing(GOOD, lambda _: SENTENCE), tmp_path / "run"
    with serve(script, keep=0) as server:
        asked = command(kind, benchmark, server, out)
        assert run(asked) == 1
        said = capsys.readouterr().err
        if kind == "evaluate":
            assert f"tiny gave one answer to {IN_A_ROW} different questions in a row: {SENTENCE!r}" in said
            assert server.count - GOOD <= MOST_SAME_ANSWERS + CONNECTIONS
        else:
            assert f"judge gave {IN_A_ROW} verdicts in a row that cannot be read" in said
            assert server.count - GOOD <= 2 * (IN_A_ROW + CONNECTIONS)
        assert SENTENCE in said.splitlines()[-1]
        assert not (out / "run.json").exists()
        good, script.mended, script.asked = set(script.asked[:GOOD]), True, []
        assert run(asked) == 0
        assert len(script.asked) == TURNS - GOOD
        assert not good & set(script.asked)
    assert results(out) == undisturbed[kind]


def test_one_sentence_is_played_on_where_it_is_wanted_or_of_no_server(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(lambda _: SENTENCE, keep=0) as server:
        assert run(evaluating(benchmark, server, tmp_path / "wanted", "--no-preflight")) == 0
    assert "one answer to 8 different questions" in capsys.readouterr().err
    code = f"class Constant:\n    def answer(self, frames, history, question):\n        return {SENTENCE!r}\n"
    (tmp_path / "constant.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    own = ["evaluate", str(benchmark), "--model", "python:constant.py:Constant", "--policy", "none", "--out", "own"]
    assert run(own) == 0
    assert "different questions" not in capsys.readouterr().err
