"""A request that is refused alone fails its turn and nothing else, and is not asked again on the same settings."""

from pathlib import Path

import pytest
from scripted_server import Answer, Body, serve, words

from reeltalk.cli import run
from reeltalk.llm.retrying import IN_A_ROW
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import read_run

LONG, SHORT = IN_A_ROW + 2, 3
TOO_LONG = Answer(400, {"error": {"message": "This model's maximum context length is 9 tokens.", "code": 400}})
FILTERED = Answer(200, {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]})
SETTING = Answer(400, {"error": {"message": "malformed", "code": 400}})
HINT = "fewer --frames or a smaller --longest-side make shorter requests, in a run with another signature"


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Dialogues of one turn, the long ones first."""
    kinds = ["long"] * LONG + ["short"] * SHORT
    content = Content(videos=[Video(id=f"v{n}") for n in range(len(kinds))])
    for n, kind in enumerate(kinds):
        turn = Turn(question=f"What is in this {kind} one, number {n}?", references=("a mug",))
        content.dialogues.append(Dialogue(id=f"d{n:02}", video_id=f"v{n}", turns=(turn,)))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


def command(benchmark: Path, base_url: str) -> list[str]:
    return [
        "evaluate", str(benchmark), "--model", "tiny", "--base-url", base_url, "--policy", "none", "--metrics", "none",
        "--no-preflight", "--connections", "1", "--backoff-s", "0", "--out", str(benchmark.parent / "run"),
    ]  # fmt: skip


@pytest.mark.parametrize(("refusal", "reason"), [(TOO_LONG, "maximum context length is 9"), (FILTERED, "its content")])
def test_more_refusals_than_stop_a_command_leave_the_rest_their_answers(
    refusal: Answer, reason: str, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(lambda body: refusal if "this long one" in words(body["messages"][-1]) else "a mug") as server:
        asked = command(benchmark, server.base_url)
        assert run(asked) == 1
        told = capsys.readouterr().out
        assert server.count == LONG + SHORT
        turns = list(read_run(benchmark.parent / "run").answers())
        failed = [turn for turn in turns if turn.has_failed]
        assert [turn.text for turn in turns if not turn.has_failed] == ["a mug"] * SHORT
        assert len(failed) == LONG
        assert all(reason in (turn.reason or "") for turn in failed)
        assert reason in told
        assert (HINT in told) == (refusal is TOO_LONG)
        assert "reeltalk retry" not in told
        for again in (asked, ["retry", str(benchmark.parent / "run")]):
            run(again)
            assert server.count == LONG + SHORT


def test_where_all_are_refused_the_reason_and_the_way_out_are_told(
    benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(lambda _: TOO_LONG) as server:
        assert run(command(benchmark, server.base_url)) == 2
    told = capsys.readouterr().err
    assert "no turn has an answer" in told
    assert "maximum context length is 9" in told
    assert HINT in told


def test_what_every_request_meets_still_stops_the_command(benchmark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuses(body: Body) -> Answer | str:
        return SETTING if "this long one" in words(body["messages"][-1]) else "a mug"

    with serve(refuses) as server:
        assert run(command(benchmark, server.base_url)) == 2
        assert server.count == IN_A_ROW
    assert f"{IN_A_ROW} times in a row" in capsys.readouterr().err
