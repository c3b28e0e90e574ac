"""A history that is entirely the model's own: rounds that are not scored are asked too, told, kept, and not judged."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Answer, Body, Server, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

ROUNDS = 5
SCORED = (2, 3)
"""From 0. The round after them is told to no scored round."""
CHECKLIST = Checklist(items=tuple(ChecklistItem(question=f"Is item {n} there?", expected=n > 0) for n in range(5)))


def turn(dialogue: int, number: int) -> Turn:
    scored = number in SCORED
    return Turn(
        question=f"What happens in part {number} of dialogue {dialogue}?",
        references=(f"REFERENCE {dialogue} {number}.",),
        labels={"mt_video_bench.task": ("memory_recall",)} if scored else {"mt_video_bench.ability": ("Scene",)},
        checklist=CHECKLIST if scored else None,
    )


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    content = Content()
    for number in range(2):
        video = VideoId(f"v{number}")
        content.videos.append(Video(id=video, duration_s=30.0))
        turns = tuple(turn(number, n) for n in range(ROUNDS))
        content.dialogues.append(
            Dialogue(id=DialogueId(f"d{number}"), video_id=video, task="memory_recall", turns=turns)
        )
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


def reply(body: Body) -> str:
    if body["model"] == "judge":
        return json.dumps({f"A{n}": "Yes" for n in range(1, 6)})
    return f"OWN {body['messages'][-1]['content'][-40:]}"


def asked(server: Server) -> list[list[dict[str, Any]]]:
    return [body["messages"] for body in server.requests if body["model"] == "tiny"]


def evaluated(benchmark: Path, server: Server, out: Path, history: str, *more: object) -> int:
    arguments = [
        "evaluate", benchmark, "--model", "tiny", "--base-url", server.base_url, "--policy", "none", "--out", out,
        "--preset", "mt-video-bench", "--history", history, "--judge", "judge", "--judge-base-url", server.base_url,
        "--null-units", 0, "--verbose", *more,
    ]  # fmt: skip
    return run([str(argument) for argument in arguments])


def answers(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]


def test_rounds_that_are_not_scored_are_asked_told_and_not_judged(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(reply) as server:
        assert evaluated(benchmark, server, tmp_path / "own", "predicted-all") == 0
        requests = asked(server)
    said = capsys.readouterr().out
    assert "4 answered, 2 not asked, 4 not scored" in said
    assert len(requests) == 2 * (max(SCORED) + 1), "no round is asked that no scored round is told"
    assert "REFERENCE" not in json.dumps(requests)
    assert max(str(messages).count("OWN") for messages in requests) == max(SCORED)
    rows = answers(tmp_path / "own")
    assert Counter(row.get("state", "answered") for row in rows) == {"answered": 4, "not_scored": 4, "not_asked": 2}
    assert all(row["text"].startswith("OWN") for row in rows if row.get("state") == "not_scored")
    judged = [json.loads(line) for line in (tmp_path / "own/scores/judged-checklist.jsonl").read_text().splitlines()]
    assert {row["turn_index"] for row in judged} == set(SCORED)
    summary = json.loads((tmp_path / "own/summary.json").read_text())
    headline = next(row for row in summary if row["metric"] == "mtv")
    assert (headline["n"], headline["unscored"]) == (4, 0)
    assert "history:predicted-all" in headline["signature"]
    assert "preset:mt-video-bench modified (frames.policy)" in headline["signature"], "the history is published"


def test_the_predicted_history_has_references_of_rounds_that_are_not_scored(benchmark: Path, tmp_path: Path) -> None:
    with serve(reply) as server:
        assert evaluated(benchmark, server, tmp_path / "part", "predicted") == 0
        assert len(asked(server)) == 4
        assert "REFERENCE" in json.dumps(asked(server))


def test_a_run_that_ran_out_of_requests_goes_on(benchmark: Path, tmp_path: Path) -> None:
    with serve(reply) as server:
        evaluated(benchmark, server, tmp_path / "whole", "predicted-all")
        whole = server.count
    with serve(reply) as server:
        assert evaluated(benchmark, server, tmp_path / "own", "predicted-all", "--max-calls", 3) != 0
        assert not (tmp_path / "own/run.json").exists()
        assert evaluated(benchmark, server, tmp_path / "own", "predicted-all") == 0
        assert server.count == whole
    texts = [[row["text"] for row in answers(tmp_path / name)] for name in ("whole", "own")]
    assert texts[0] == texts[1]


def test_a_round_of_the_history_that_fails_is_told(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(body: Body) -> str | Answer:
        return Answer(400) if "part 0 of dialogue 1" in str(body["messages"][-1]) else reply(body)

    with serve(failing) as server:
        assert evaluated(benchmark, server, tmp_path / "own", "predicted-all") == 1
    assert "1 failed" in capsys.readouterr().out
    failed = [row for row in answers(tmp_path / "own") if row.get("reason")]
    assert [(row["state"], row["turn_index"]) for row in failed] == [("not_scored", 0)]
    report = tmp_path / "site"
    assert run(["report", str(tmp_path / "own"), "--out", str(report)]) == 0
    assert "not scored" in (report / "failures.html").read_text()
