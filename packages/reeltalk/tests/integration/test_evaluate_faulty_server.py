"""An evaluation against a server that fails as real ones do: every turn is accounted for, within hard limits."""

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from reliability_page import Reliability
from scripted_server import FAULTS, Answer, Body, Server, completion, faulty, pieces, question_in, serve

from reeltalk.cli import run
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run, read_run
from reeltalk.store.tables import DIALOGUES, VIDEOS

TURNS = 10
"""Of each dialogue."""
REPLY_TOKENS = 64
MIX = {
    "429": 0.15,
    "429 with a date": 0.03,
    "429 with seconds": 0.02,
    "500": 0.02,
    "502": 0.01,
    "503": 0.01,
    "529": 0.01,
    "time out": 0.003,
    "connection reset": 0.02,
    "cut body": 0.02,
    "empty text": 0.01,
    "no choices": 0.005,
    "wrong answer": 0.005,
    "web page": 0.005,
}
"""20 % are sent away, 5 % meet a broken server, and so on: about a third of all requests fail."""
STREAM_MIX = MIX | {"stream without an end": 0.01, "error in a stream": 0.01, "no JSON in a stream": 0.01}
HOLD_S = 2.5
TIMEOUT_S = 2.0
ASKED = re.compile(r"asked: ([\d,]+) requests, ([\d,]+) tokens, ([\d,]+) replies were kept")
STOPPED = re.compile(r"the budget is spent: ([\d,]+)(?: of [\d,]+)? requests, ([\d,]+)(?: of [\d,]+)? tokens")
ODD_TEXT = "crème brûlée, 焼き芋 and «чай»"


@dataclass(frozen=True)
class Attempt:
    """What one call of the command took and said."""

    code: int
    calls: int
    tokens: int
    kept: int | None
    """Replies from before; None where the budget ended the attempt."""


def answer(body: Body) -> str:
    """The same for the same conversation, different for another one."""
    asked = [question_in(message) for message in body["messages"] if message["role"] == "user"]
    return f"After {asked[-1]} there was {ODD_TEXT}, turn {len(asked)}."


def dialogues(folder: Path, count: int) -> Path:
    """A benchmark of text only."""
    benchmark = Benchmark.create(folder)
    videos = [Video(id=f"v{n:05}", duration_s=60.0) for n in range(count // 2 + 1)]
    with benchmark.writing(stage="test") as writing:
        writing.add(VIDEOS, videos)
        writing.add(
            DIALOGUES,
            [
                Dialogue(
                    id=f"d{n:05}",
                    video_id=f"v{n // 2:05}",
                    turns=tuple(
                        Turn(question=f"question {turn} of {n}", references=(f"reference {turn}",))
                        for turn in range(TURNS)
                    ),
                )
                for n in range(count)
            ],
        )
    return folder


def attempt(capsys: pytest.CaptureFixture[str], *command: Any) -> Attempt:
    code = run([*(str(word) for word in command), "--verbose"])
    said = capsys.readouterr()
    found = ASKED.search(said.out) or STOPPED.search(said.err)
    assert found is not None, said.err[-2000:]
    calls, tokens, *kept = (int(group.replace(",", "")) for group in found.groups())
    return Attempt(code, calls, tokens, kept[0] if kept else None)


def evaluating(bench: Path, server: Server, out: Path, *more: Any) -> tuple[Any, ...]:
    return (
        *("evaluate", bench, "--model", "tiny", "--base-url", server.base_url, "--policy", "none", "--sees", "text"),
        *("--protocols", "match", "--metrics", "none", "--max-reply-tokens", REPLY_TOKENS, "--out", out),
        *("--timeout-s", TIMEOUT_S, "--backoff-s", 0.001, "--max-retries", 3, "--no-preflight", *more),
    )


def accounted(found: Run, due: int) -> Counter[str]:
    """How turns ended; each has an answer, or a reason."""
    turns = list(found.answers())
    assert len({(turn.unit_id, turn.turn_index) for turn in turns}) == len(turns) == due
    ended = Counter(turn.state.value for turn in turns)
    assert set(ended) <= {"answered", "failed"}
    for turn in turns:
        if turn.state is AnswerState.ANSWERED:
            assert turn.text.startswith(f"After question {turn.turn_index} of {int(turn.unit_id[1:])} there was")
            assert ODD_TEXT in turn.text
        else:
            assert turn.text == ""
            assert turn.reason
    return ended


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.timeout(2400)
def test_every_turn_is_accounted_for(
    streamed: bool, full: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    turns = reliability(
        "servers", "turns of `evaluate` against a server that fails a third of all requests", "no answer and no reason"
    )
    within = reliability(
        "servers",
        "requests of `evaluate` under limits on tokens and requests, a third of which fail",
        "a limit is passed",
        is_counted=False,
    )
    # About three requests for two turns.
    count = reliability.count(200, full=6800, release=6800) // TURNS
    due = count * TURNS
    bench, out = dialogues(tmp_path / "bench", count), tmp_path / "run"
    counts: Counter[str] = Counter()
    script = faulty(29, answer, mix=STREAM_MIX if streamed else MIX, hold_s=HOLD_S, counts=counts)
    with serve(script, keep=0) as server:
        command = evaluating(bench, server, out, *(["--first-token"] if streamed else []))
        # By tokens: a quarter of the turns. What is set aside for a request is several times what it takes, and a
        # request whose reply was lost counts in full.
        most_tokens = due * 100
        first = attempt(capsys, *command, "--max-tokens", most_tokens)
        assert (first.code, first.kept) == (2, None)
        # What the error says is what it found; requests that are smaller and still fit leave after it.
        assert max(server.tokens, first.tokens) <= most_tokens
        assert not (out / "run.json").exists()
        before, tokens_before = server.count, server.tokens
        # By requests: the same command goes on from the replies that were kept.
        most_calls = due // 2
        second = attempt(capsys, *command, "--max-calls", most_calls)
        assert (second.code, second.calls, second.kept) == (2, most_calls, None)
        assert server.count - before <= most_calls
        assert server.tokens - tokens_before <= second.tokens
        before = server.count
        last = attempt(capsys, *command)
        assert server.count - before <= last.calls
        # A request may be lost on its way, never sent without being counted.
        assert server.count - before >= last.calls * 0.9
    turns.tried, within.tried = due, server.count
    ended = accounted(read_run(out), due)
    # Exit code 1 says that turns have no answer.
    assert last.code == (1 if ended["failed"] else 0)
    assert last.kept is not None
    assert last.kept > due // 20
    assert ended["answered"] > due // 2
    assert counts.total() == server.count
    if full:
        assert set(counts) == {*(STREAM_MIX if streamed else MIX), "right"}
        assert ended["failed"] > 0
    timed = sum(turn.played is not None and turn.played.first_token_s is not None for turn in read_run(out).answers())
    assert timed == (ended["answered"] if streamed else 0)
    print(dict(ended), [first, second, last], {name: counts[name] for name in sorted(counts)})


@pytest.mark.parametrize(("code", "state", "requests"), [(500, "answered", 2), (400, "failed", 1)])
def test_an_error_amid_a_stream_is_asked_again_unless_it_would_come_again(
    code: int, state: str, requests: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = dialogues(tmp_path / "bench", 2)
    asked: Counter[str] = Counter()

    def failing(body: Body) -> str | Answer:
        last = question_in(body["messages"][-1])
        asked[last] += 1
        if asked[last] > 1 or last.endswith("of 0"):
            return answer(body)
        events = pieces(body, completion(body, answer(body)))
        failure = {"error": {"message": "out of memory", "code": code}}
        return Answer(200, f"{events[0]}data: {json.dumps(failure)}\n\n", {"Content-Type": "text/event-stream"})

    with serve(failing, keep=0) as server:
        attempt(capsys, *evaluating(bench, server, tmp_path / "run", "--first-token"))
    found = read_run(tmp_path / "run")
    # The first dialogue is answered, for a run in which no turn has an answer is none.
    assert accounted(found, 2 * TURNS) == Counter({"answered": TURNS}) + Counter({state: TURNS})
    assert asked == {f"question {turn} of {n}": requests if n else 1 for turn in range(TURNS) for n in range(2)}
    reasons = {turn.reason for turn in found.answers() if turn.unit_id == "d00001"}
    assert all(reason is None if state == "answered" else "out of memory" in (reason or "") for reason in reasons)


def test_a_server_that_sends_requests_away_is_asked_by_fewer_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = dialogues(tmp_path / "bench", 40)
    lock = threading.Lock()
    at_once: list[int] = []
    under_way = 0

    def busy(body: Body) -> Answer:
        nonlocal under_way
        with lock:
            under_way += 1
            at_once.append(under_way)
            number = len(at_once)
        try:
            # All may come in before the first one leaves.
            held.wait(0.15)
            # Every fourth one from the first full round on.
            if number > 20 and number % 4 == 0:
                return Answer(429, {"error": {"message": "slow down"}})
            return Answer(content=completion(body, answer(body)))
        finally:
            with lock:
                under_way -= 1

    held = threading.Event()
    with serve(busy, keep=0) as server:
        found = attempt(capsys, *evaluating(bench, server, tmp_path / "run", "--connections", 20))
    assert found.code in (0, 1)
    assert accounted(read_run(tmp_path / "run"), 400)["answered"] > 200
    # Four fifths of what is allowed: without refusals all twenty would come at once.
    assert max(at_once[200:]) <= 16
    print(f"at once: {max(at_once[:100])} at first, {max(at_once[-100:])} in the end, of {len(at_once)} requests")


@pytest.mark.timeout(900)
def test_judging_with_all_kinds_of_bad_replies(
    full: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    tally = reliability(
        "servers", "turns of `judge` against a judge that fails in 19 ways", "a wrong score, or no reason"
    )
    count = reliability.count(60, full=1000, release=1000) // TURNS
    due = count * TURNS
    bench = dialogues(tmp_path / "bench", count)
    with serve(answer, keep=0) as server:
        assert attempt(capsys, *evaluating(bench, server, tmp_path / "run")).code == 0
    counts: Counter[str] = Counter()
    script = faulty(31, lambda _: '{"score": 80, "reason": "mostly right"}', counts=counts, hold_s=HOLD_S)
    with serve(script, keep=0) as server:
        command = (
            *("judge", tmp_path / "run", "--bench", bench, "--protocols", "clair", "--metrics", "none"),
            *("--judge", "tiny", "--judge-base-url", server.base_url, "--out", tmp_path / "judged"),
            *("--timeout-s", TIMEOUT_S, "--backoff-s", 0.001, "--max-retries", 2),
        )
        stopped = attempt(capsys, *command, "--max-calls", due)
        assert server.count <= due
        assert (stopped.code, stopped.calls) == (2, due)
        last = attempt(capsys, *command)
        assert counts.total() == server.count <= stopped.calls + last.calls
    tally.tried = due
    scores = list(read_run(tmp_path / "judged").judged("clair"))
    assert len({(score.unit_id, score.turn_index) for score in scores}) == len(scores) == due
    ended = Counter(score.state for score in scores)
    assert set(ended) == {ScoreState.SCORED, ScoreState.UNSCORED}
    assert all(score.value == 0.8 if score.state is ScoreState.SCORED else score.reason for score in scores)
    assert last.code == 1
    assert ended[ScoreState.SCORED] > due // 4
    if full:
        assert set(counts) == {*FAULTS, "right"}
    print(dict(ended), [stopped, last])
