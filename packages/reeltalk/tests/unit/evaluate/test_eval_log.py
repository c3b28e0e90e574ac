"""Samples run several at a time, and inspect_ai reads their log."""

import asyncio
import errno
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from weakref import WeakSet
from zipfile import ZipFile

import pytest
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, read_eval_log_sample_summaries
from scripted_server import Body, serve

from reeltalk.errors import BenchmarkError, ModelError
from reeltalk.evaluation import eval_log
from reeltalk.evaluation.eval_log import LoggedSample, LoggedScore, SampleRecord, _message
from reeltalk.evaluation.logged import JudgeSample, Notes, PlaySample, run_samples
from reeltalk.llm import Endpoint, Message, ReplyStore
from reeltalk.llm.served import ServedModel, create_served_model
from reeltalk.llm.wire_sender import WireSender

SAMPLES = [LoggedSample(name, f"Question of {name}?", {"video_id": "v"}) for name in ("a/1", "b", "c")]

INTERRUPTED = """
import asyncio, pathlib, signal, sys
from reeltalk.evaluation.eval_log import LoggedSample
from reeltalk.evaluation.logged import run_samples

async def play(name, notes):
    if name == "c":
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

async def close():
    await asyncio.sleep(0)
    print("closed")

samples = [LoggedSample(name, "Where?", {}) for name in "abc"]
try:
    run_samples(
        "evaluate", samples, play, None, models={}, log_dir=pathlib.Path(sys.argv[1]), at_a_time=1, metadata={},
        close=close,
    )
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


def served(url: str, store: ReplyStore, name: str = "tiny") -> ServedModel:
    endpoint = Endpoint(model=name, base_url=url, max_retries=0, temperature=0.5)
    return create_served_model(endpoint, WireSender(endpoint), store, connections=4)


def ran(
    folder: Path,
    play: PlaySample,
    judging: JudgeSample | None = None,
    *,
    at_a_time: int = 2,
    models: dict[str, ServedModel] | None = None,
) -> None:
    async def close() -> None:
        for model in (models or {}).values():
            await model.close()

    run_samples(
        "evaluate", SAMPLES, play, judging, models=models or {}, log_dir=folder, at_a_time=at_a_time,
        metadata={"benchmark": "home"}, close=close,
    )  # fmt: skip


def log_of(folder: Path) -> EvalLog:
    assert not list(folder.glob(".partial-*"))
    [path] = folder.glob("*.eval")
    return read_eval_log(str(path))


def samples_of(log: EvalLog) -> dict[str, EvalSample]:
    return {str(sample.id): sample for sample in log.samples or ()}


async def say_name(name: str, notes: Notes) -> None:
    notes.message("user", name)


def test_times_of_frames_stand_in_the_log() -> None:
    record = SampleRecord(LoggedSample("a", "Who?", {}))
    asked = [Message("user", "Who?", (b"p", b"q"), told) for told in ((), ("<0.0 seconds>", "<2.0 seconds>"))]
    assert record._references(asked) == [[0, 2]]
    assert [_message(*key)["content"] for key in record._pool] == [
        "[2 frames]\nWho?",
        "[2 frames: <0.0 seconds> <2.0 seconds>]\nWho?",
    ]


def test_inspect_ai_reads_all_requests_with_what_they_held(store: ReplyStore, tmp_path: Path) -> None:
    def reply(body: Body) -> str:
        return "It is right." if body["model"] == "judge" else f"It is {len(body['messages'])}."

    async def picture(reference: bytes) -> bytes:
        return b"\xff\xd8" + reference

    async def play(name: str, notes: Notes) -> None:
        history = [Message("system", "Answer.")]
        for turn in (1, 2):
            with notes.span(f"turn {turn}"):
                question = Message("user", f"{name}, turn {turn}?", (b"p", b"q") if turn == 1 else ())
                answer = await player.ask([*history, question])
                history += [question, Message("assistant", answer.text)]
                notes.message("assistant", f"{answer.text} \ud83d")
                notes.note({"turn": turn})
        if name == "b":
            await player.ask(history[:2])

    async def judging(name: str, notes: Notes) -> LoggedScore:
        reply = await judge.ask([Message("user", name)])
        return LoggedScore({"right": 1.0, "unscored": None}, reply.text)

    with serve(reply) as server:
        player, judge = served(server.base_url, store), served(server.base_url, store, "judge")
        player.client._picture = picture
        ran(tmp_path / "logs", play, judging, models={"player": player, "judge": judge})
    log = log_of(tmp_path / "logs")
    assert (log.status, log.eval.model, log.eval.model_generate_config.temperature) == ("success", "reeltalk/tiny", 0.5)
    assert log.eval.metadata == {"benchmark": "home"}
    assert log.eval.model_roles is not None
    assert log.eval.model_roles.keys() == {"judge"}
    found = samples_of(log)
    assert found.keys() == {"a/1", "b", "c"}
    events = [event for event in found["b"].events if event.event == "model"]
    assert [[message.text for message in event.input] for event in events] == [
        ["Answer.", "[2 frames]\nb, turn 1?"],
        ["Answer.", "[2 frames]\nb, turn 1?", "It is 2.", "b, turn 2?"],
        ["Answer.", "[2 frames]\nb, turn 1?"],
        ["b"],
    ]
    assert [event.output.completion for event in events] == ["It is 2.", "It is 4.", "It is 2.", "It is right."]
    assert [event.cache for event in events] == [None, None, "read", None]
    spans = {event.id: event.name for event in found["b"].events if event.event == "span_begin"}
    assert [spans[event.span_id or ""] for event in events] == ["turn 1", "turn 2", "playing", "judging"]
    assert [event.data for event in found["b"].events if event.event == "info"] == [{"turn": 1}, {"turn": 2}]
    assert [message.text for message in found["b"].messages] == ["It is 2. ?", "It is 4. ?"]
    assert found["b"].scores is not None
    value = found["b"].scores["reeltalk"].value
    assert isinstance(value, dict)
    assert value["right"] == 1.0
    assert value["unscored"] != value["unscored"]
    # A kept reply cost nothing.
    used = [event.output.usage.total_tokens if event.output.usage else None for event in events[:3]]
    assert used[2] is None
    assert found["b"].model_usage["reeltalk/tiny"].total_tokens == (used[0] or 0) + (used[1] or 0) > 0
    assert log.stats.model_usage["reeltalk/tiny"].total_tokens == sum(
        sample.model_usage["reeltalk/tiny"].total_tokens for sample in found.values()
    )


def test_the_first_error_ends_the_run_and_the_samples_under_way_end_first(tmp_path: Path) -> None:
    ended = []

    async def play(name: str, notes: Notes) -> None:
        if name == "a/1":
            await asyncio.sleep(0.01)
            raise BenchmarkError("no video")
        await asyncio.sleep(0.1)
        ended.append(name)

    with pytest.raises(BenchmarkError, match="no video"):
        ran(tmp_path, play)
    assert ended == ["b"]
    log = log_of(tmp_path)
    assert log.status == "error"
    assert log.error is not None
    assert log.error.message == "no video"
    found = samples_of(log)
    assert found.keys() == {"a/1", "b"}
    assert found["a/1"].error is not None


def test_a_request_that_fails_is_logged_with_its_error(store: ReplyStore, tmp_path: Path) -> None:
    async def play(name: str, notes: Notes) -> None:
        with pytest.raises(ModelError):
            await model.ask([Message("user", name)])

    model = served("http://127.0.0.1:9/v1", store)
    ran(tmp_path / "logs", play, models={"player": model})
    [event] = [event for event in samples_of(log_of(tmp_path / "logs"))["c"].events if event.event == "model"]
    assert event.error is not None
    assert "cannot be reached" in event.error


def test_an_interrupted_run_has_a_log_and_closes_connections_and_decoders(tmp_path: Path) -> None:
    # inspect_ai, which reads logs here, replaces asyncio's own handling of Ctrl-C in its process.
    program = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    told = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    assert (told.stdout, told.stderr) == ("closed\ninterrupted\n", "")
    log = log_of(tmp_path)
    assert log.status == "cancelled"
    assert samples_of(log).keys() == {"a", "b"}


def test_connections_and_decoders_are_closed_after_an_error(tmp_path: Path) -> None:
    closed = []

    async def play(name: str, notes: Notes) -> None:
        raise BenchmarkError("it ends")

    async def close() -> None:
        closed.append(True)

    with pytest.raises(BenchmarkError):
        run_samples("evaluate", SAMPLES, play, None, models={}, log_dir=tmp_path, at_a_time=2, metadata={}, close=close)
    assert closed == [True]


def test_the_samples_so_far_can_be_read_while_others_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_log, "SHOWN_AGAIN_S", 0.0)
    seen: list[set[str]] = []

    async def play(name: str, notes: Notes) -> None:
        deadline = time.monotonic() + 60
        while name != "a/1" and not list(tmp_path.glob("*.eval")) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if name == "c":
            [path] = tmp_path.glob("*.eval")
            # The log may be replaced while its parts are read.
            copy = shutil.copy(path, tmp_path_factory.mktemp("copy") / "copy.eval")
            # In this thread inspect_ai would change asyncio for the whole process, and loops would stay open.
            log = await asyncio.to_thread(read_eval_log, str(copy))
            assert log.status == "started"
            seen.append(set(samples_of(log)))

    ran(tmp_path, play, at_a_time=1)
    [names] = seen
    assert "a/1" in names
    assert samples_of(log_of(tmp_path)).keys() == {"a/1", "b", "c"}


def test_few_ended_samples_wait_in_memory_for_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eval_log, "MOST_WAITING", 2)
    log = eval_log.EvalLog(tmp_path, "evaluate", [], models={}, scored=False, at_a_time=1, metadata={})
    alive: WeakSet[SampleRecord] = WeakSet()
    written, most = Event(), list[int]()

    def held(record: SampleRecord) -> None:
        written.wait(60)
        whole(record)

    whole, log._add = log._add, held  # type: ignore[method-assign]

    async def add_all() -> None:
        for number in range(20):
            record = SampleRecord(LoggedSample(f"s{number}", "Where?", {}))
            alive.add(record)
            adding = asyncio.create_task(log.add(record))
            del record
            if number == 2:
                # Nothing more is taken in until a sample is written.
                await asyncio.sleep(0.05)
                assert not adding.done()
                written.set()
            await adding
            del adding
            most.append(len(alive))

    asyncio.run(add_all())
    log.close("success")
    # Those that wait, the one that is written, and the last one here.
    assert max(most) <= 2 + 2
    assert len(samples_of(log_of(tmp_path))) == 20


def test_the_list_of_samples_holds_beginnings_of_texts_and_the_sample_all(tmp_path: Path) -> None:
    async def judging(name: str, notes: Notes) -> LoggedScore:
        return LoggedScore({"right": 1.0}, "because " * 1000)

    ran(tmp_path, say_name, judging)
    [path] = tmp_path.glob("*.eval")
    (first, *_) = read_eval_log_sample_summaries(str(path))
    assert first.scores is not None
    with ZipFile(path) as archive:
        listed = json.loads(archive.read("summaries.json"))
    assert all(len(sample["scores"]["reeltalk"]["explanation"]) == 1024 for sample in listed)
    score = (samples_of(log_of(tmp_path))["b"].scores or {})["reeltalk"]
    assert score.explanation == "because " * 1000


def test_a_copy_that_has_no_room_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(eval_log, "SHOWN_AGAIN_S", 0.0)
    monkeypatch.setattr(eval_log, "SHOWN_AGAIN_SHARE", 1e9)
    monkeypatch.setattr("shutil.copyfile", full)
    ran(tmp_path, say_name, at_a_time=1)
    assert samples_of(log_of(tmp_path)).keys() == {"a/1", "b", "c"}


def test_a_name_that_no_file_can_have_is_written_as_the_sample_says_it(tmp_path: Path) -> None:
    run_samples(
        "evaluate", [LoggedSample("half \ud83d", "Where?", {})], say_name, None, models={}, log_dir=tmp_path,
        at_a_time=1, metadata={},
    )  # fmt: skip
    assert samples_of(log_of(tmp_path)).keys() == {"half ?"}


def test_it_runs_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> None:
        ran(tmp_path, say_name)

    asyncio.run(cell())
    assert [message.text for message in samples_of(log_of(tmp_path))["b"].messages] == ["b"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("")
    with pytest.raises(BenchmarkError, match=f"cannot write {tmp_path}/logs"):
        ran(tmp_path / "logs", say_name)
