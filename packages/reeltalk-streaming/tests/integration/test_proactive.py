"""Household videos, played frame by frame to models that speak unasked, from the film to the scores."""

import html
import itertools
import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scripted_server import Body, completion, count_images, serve

from reeltalk.cli import run
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.playing.script import media_of
from reeltalk.evaluation.settings import ProactiveSettings
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.event_log import EventLog, read_event_log
from reeltalk_streaming.inference.stream import StreamAnswer
from reeltalk_streaming.proactive.scores import score_sessions
from reeltalk_streaming.proactive.stage import choose_tasks, play_tasks
from reeltalk_streaming.proactive.watchers import StreamWatcher

SCRIPTED = '''
"""Speaks when the picture changes much, and says what is safe to say; knows nothing of any task."""

from pathlib import Path

import numpy as np

from reeltalk_streaming.inference.stream import StreamAnswer

HERE = Path(__file__).parent


class Startled:
    name = "startled"

    def __init__(self):
        self.streams = 0

    def stream(self):
        self.streams += 1
        if (HERE / "stop").exists() and self.streams == 4:
            raise KeyboardInterrupt
        return Stream()


class Stream:
    memory_bytes = 0

    def __init__(self):
        self.before = None

    def see(self, rgb, pts_s):
        grey = rgb.mean(axis=2)
        change = 0.0 if self.before is None else float(np.abs(grey - self.before).mean()) / 255
        self.before = grey
        return min(1.0, change * 10)

    def instruct(self, instruction):
        pass

    def speak(self):
        return StreamAnswer("The person walks somewhere.", 0, 5, 0.0, None)

    def ask(self, question):
        return self.speak()

    def add_exchange(self, question, answer):
        pass
'''


@pytest.fixture(scope="module")
def filmed(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("film") / "household"
    shutil.copytree(filmed_household, folder)
    assert run(["graph", "questions", "--proactive", str(folder)]) == 0
    return folder


@pytest.fixture
def scripted(tmp_path: Path) -> Path:
    path = tmp_path / "startled.py"
    path.write_text(SCRIPTED)
    return path


class Informed:
    """A streaming model that knows the tasks in the order in which they are played."""

    name = "informed"

    def __init__(self, tasks: Sequence[ProactiveTask]) -> None:
        self._tasks = iter(tasks)

    def stream(self) -> "Knowing":
        return Knowing(next(self._tasks))


class Knowing:
    memory_bytes = 0

    def __init__(self, task: ProactiveTask) -> None:
        self._due = list(task.moments)
        self._task, self._at_s = task, -0.5
        self._told = False

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        assert pts_s > self._at_s
        self._at_s = pts_s
        return 1.0 if self._due and self._due[0].interval.start_s <= pts_s else 0.0

    def speak(self) -> StreamAnswer:
        return StreamAnswer(self._due.pop(0).references[0], 0, 0, 0.0, None)

    def instruct(self, instruction: str) -> None:
        assert instruction in {request.text for request in self._task.requests if request.at_s <= self._at_s + 0.5}

    def ask(self, question: str) -> StreamAnswer:
        request = next(
            one for one in self._task.immediate_questions() if one.text == question and one.at_s >= self._at_s
        )
        assert request.at_s - self._at_s <= 0.5
        return StreamAnswer(request.moments[0].references[0], 0, 0, 0.0, None)

    def add_exchange(self, question: str, answer: str) -> None:
        raise AssertionError("nobody tells")


def test_an_oracle_is_right_and_in_time(filmed: Path, tmp_path: Path, full: bool) -> None:
    benchmark = Benchmark.open(filmed)
    tasks = choose_tasks(benchmark, split="all" if full else "test")
    settings = ProactiveSettings(fps=2, longest_side_px=64)
    server = FrameServer(media_of(benchmark, benchmark.content()), settings.frames, tmp_path / "frames")
    with EventLog(tmp_path / "events.jsonl") as log:
        watcher = StreamWatcher(Informed(tasks), threshold=0.5, refractory_s=0)
        done = play_tasks(tasks, watcher, server, log)
    assert (done.played, done.failed) == (len(tasks), 0)
    assert done.replies == sum(len(request.moments) for task in tasks for request in task.requests)
    scores = score_sessions(read_event_log(tmp_path / "events.jsonl", {t.id: t for t in tasks}), tasks)
    found = {row.metric: row.value for row in scores.summary}
    assert found["missed"] == 0
    assert found["false_alarms_per_hour"] == 0
    assert found["duplicate_ratio"] == 0
    assert found["time_and_answer_correct"] == 1
    for name, value in found.items():
        assert value is not None, name
    # At 2 frames a second it speaks at most half a second late.
    assert 0 <= (found["latency_s"] or 0) <= 0.5
    assert (found["timeliness_f1"] or 0) > 0.75
    assert (found["pauc"] or 0) > 0.95


def test_commands_play_go_on_and_score(
    filmed: Path, scripted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["proactive", "run", str(filmed), "--model", f"python:{scripted}:Startled", "--out", str(out)]
    command += ["--longest-side", "64", "--threshold", "0.2"]
    (tmp_path / "stop").touch()
    assert run(command) == 130
    begun = (out / "events.jsonl").read_bytes()
    assert begun.count(b'"ended"') == 2
    (tmp_path / "stop").unlink()
    capsys.readouterr()
    assert run(command) == 0
    assert ", 2 before" in capsys.readouterr().out
    whole = (out / "events.jsonl").read_bytes()
    ended = begun.rindex(b'"ended"')
    assert whole.startswith(begun[:ended])
    # Played again there is nothing left to do; with another rule it is another run.
    assert run(command) == 0
    assert (out / "events.jsonl").read_bytes() == whole
    assert run([*command[:-1], "0.3"]) == 2
    assert "begun with other settings (settings)" in capsys.readouterr().err
    assert (out / "events.jsonl").read_bytes() == whole

    never = tmp_path / "never"
    assert run(["proactive", "run", str(filmed), "--model", "never", "--out", str(never)]) == 0
    scores = tmp_path / "scores.json"
    assert run(["proactive", "score", str(filmed), str(out), str(never / "events.jsonl"), "--out", str(scores)]) == 0
    text = capsys.readouterr().out
    assert "startled" in text
    assert "|refractory:2|size:64|threshold:0.2" in text
    found = {(row["model"], row["metric"]): row["value"] for row in json.loads(scores.read_bytes())["summary"]}
    # It is startled by cuts, which is when rooms change, but has no idea of what it should say.
    assert found["startled", "false_alarms_per_hour"] > 0
    assert found["startled", "time_and_answer_correct"] < 0.5
    assert found["never", "false_alarms_per_hour"] == 0
    assert found["never", "pauc"] == 0.25
    assert found["never", "missed"] == 1
    assert run(["proactive", "score", str(filmed), str(out), "--split", "all"]) == 1
    assert "are not scored" in capsys.readouterr().err


def test_a_threshold_is_picked_on_dev_and_used_for_test(
    filmed: Path, scripted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned = tmp_path / "tuned"
    model = f"python:{scripted}:Startled"
    command = ["proactive", "run", "--tune", str(filmed), "--model", model, "--out", str(tuned), "--longest-side", "64"]
    command += ["--thresholds", "0.05,0.9", "--kinds", "event,count"]
    assert run(command) == 0
    assert "picked" in capsys.readouterr().out
    picked = json.loads((tuned / "tuned.json").read_bytes())
    assert set(picked["values"]) == {"0.05", "0.9"}
    best = max(picked["values"].items(), key=lambda item: (item[1], float(item[0])))
    assert picked["settings"]["threshold"] == float(best[0])
    splits = {str(video.id): video.split for video in Benchmark.open(filmed).content().videos}
    sessions = read_event_log(tuned / "threshold-0.9.jsonl")
    assert {splits[session.video_id] for session in sessions} == {"dev"}
    out = tmp_path / "run"
    command = ["proactive", "run", str(filmed), "--model", model, "--out", str(out), "--tuned", str(tuned)]
    assert run([*command, "--longest-side", "64", "--kinds", "event"]) == 0
    [first, *_] = read_event_log(out / "events.jsonl")
    assert first.events[0].extra["settings"]["threshold"] == f"{picked['settings']['threshold']:g}"
    assert run([*command, "--threshold", "0.5"]) == 2
    assert "leave --threshold and --refractory out" in capsys.readouterr().err
    assert run([*command, "--fps", "2"]) == 2
    assert "was picked at 1 frames a second" in capsys.readouterr().err


def test_a_chat_model_is_polled_and_its_replies_are_kept(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Body] = []

    def answer(body: Body) -> str:
        asked.append(body)
        last = json.dumps(body["messages"][-1])
        if "What do you say?" in last:
            return "He walks to the kitchen."
        return "Yes." if len(asked) % 10 == 0 else "No."

    out = tmp_path / "run"
    with serve(answer) as server:
        command = ["proactive", "run", str(filmed), "--model", "poll:scripted", "--base-url", server.base_url]
        command += ["--out", str(out), "--kinds", "narrate", "--fps", "0.5", "--longest-side", "64"]
        assert run(command) == 0
        [session] = read_event_log(out / "events.jsonl")
        assert session.model == "poll:scripted"
        assert len(session.replies) == sum("What do you say?" in json.dumps(body) for body in asked) > 1
        frames = sum(event.kind == "frame" for event in session.events)
        assert len(asked) == frames + len(session.replies)
        assert max(count_images(body) for body in asked) == 8
        references = {said for task in Benchmark.open(filmed).content().proactive for m in task.moments
                      for said in m.references}  # fmt: skip
        before = [body for body in asked if "you said" not in json.dumps(body)]
        assert before
        assert not any(said in json.dumps(body) for body in before for said in references)
        # What was replied is kept: a log that is lost is made again without asking.
        count, first = len(asked), session.replies
        (out / "events.jsonl").unlink()
        assert run(command) == 0
        assert len(asked) == count
        [again] = read_event_log(out / "events.jsonl")
        assert [(e.at_s, e.text) for e in again.replies] == [(e.at_s, e.text) for e in first]
    capsys.readouterr()
    assert run(["proactive", "score", str(filmed), str(out), "--kinds", "narrate"]) == 0
    assert "prompt:proactive-poll.v2#" in capsys.readouterr().out


@pytest.mark.parametrize(("unread", "code"), [(1, 0), (5, 1), pytest.param(20, 1, marks=pytest.mark.slow)])
def test_replies_that_cannot_be_read_are_counted_and_too_many_fail_the_play(
    unread: int, code: int, filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 20 polls, 1 or 5 or all are neither yes nor no."""
    yes = itertools.cycle(["**Yes**", "The answer is yes.", '{"answer": "yes"}', "Answer: Yes"])
    no = itertools.cycle(["**No**", "The answer is no.", '{"answer": "no"}', "Answer: No", "Not yet."])
    polls = itertools.count()

    def answer(body: Body) -> str:
        last = json.dumps(body["messages"][-1])
        if "What do you say?" in last:
            return "He walks to the kitchen."
        number = next(polls)
        if number % 20 < unread:
            return "Yes and no."
        return next(yes) if number % 20 == 19 else next(no)

    out = tmp_path / "run"
    with serve(answer) as server:
        command = ["proactive", "run", str(filmed), "--model", "poll:scripted", "--base-url", server.base_url]
        command += ["--out", str(out), "--kinds", "narrate", "--fps", "0.5", "--longest-side", "64"]
        command += ["--connections", "1"]
        assert run(command) == code
    [session] = read_event_log(out / "events.jsonl")
    asked = [event.extra["poll"] for event in session.events if "poll" in event.extra]
    assert {"yes", "no", "unread"} >= set(asked)
    capsys.readouterr()
    scored = run(["proactive", "score", str(filmed), str(out), "--kinds", "narrate"])
    out_, err = capsys.readouterr()
    assert scored == code
    if code:
        assert "replies say neither yes nor no" in err
        assert "'Yes and no.'" in err
        assert len(asked) == (8 if unread == 20 else len(asked))
    else:
        assert len(session.replies) == asked.count("yes") > 0
        assert f"{asked.count('unread'):,} of {len(asked):,} replies to polls could not be read" in out_


def test_a_polled_model_speaks_from_the_probability_of_yes(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its words are always yes; a threshold is picked on dev, and a server without probabilities refuses one."""
    chances = itertools.cycle([0.1, 0.2, 0.9, 0.4])
    gives = True

    def answer(body: Body) -> str | Body:
        if "What do you say?" in json.dumps(body["messages"][-1]):
            return "He walks to the kitchen."
        assert body["logprobs"] is True
        assert body["top_logprobs"] >= 2
        found = completion(body, "Yes.")
        if gives:
            chance = next(chances)
            others = [{"token": word, "logprob": math.log(p)} for word, p in (("Yes", chance), ("No", 1 - chance))]
            tokens = [{"token": "Yes", "logprob": math.log(chance), "top_logprobs": others}]
            found["choices"][0]["logprobs"] = {"content": tokens}
        return found

    with serve(answer) as server:
        command = ["proactive", "run", str(filmed), "--model", "poll:scripted", "--base-url", server.base_url]
        command += ["--kinds", "narrate", "--fps", "0.5", "--longest-side", "64", "--connections", "1"]
        assert run([*command, "--threshold", "0.5", "--out", str(tmp_path / "half")]) == 0
        [session] = read_event_log(tmp_path / "half" / "events.jsonl")
        frames = [event for event in session.events if event.kind == "frame"]
        assert [round(event.readiness or 0, 3) for event in frames[:4]] == [0.1, 0.2, 0.9, 0.4]
        spoke = {event.at_s for event in session.replies}
        assert spoke == {event.at_s for event in frames if (event.readiness or 0) >= 0.5}
        tune = [*command, "--tune", "--thresholds", "0.3,0.95", "--out", str(tmp_path / "tuned")]
        assert run(tune) == 0
        assert "picked" in capsys.readouterr().out
        tuned = json.loads((tmp_path / "tuned" / "tuned.json").read_bytes())
        assert (tuned["model"], tuned["measure"]) == ("poll:scripted", "stream_f1")
        assert run([*command, "--tuned", str(tmp_path / "tuned"), "--out", str(tmp_path / "run")]) == 0
        assert run([*command, "--refractory", "3", "--out", str(tmp_path / "other")]) == 2
        assert "is asked at each frame, so --refractory has no effect" in capsys.readouterr().err
        gives = False
        assert run([*command, "--threshold", "0.4", "--out", str(tmp_path / "none")]) == 1
        assert run([*command, "--out", str(tmp_path / "words")]) == 0
    capsys.readouterr()
    assert run(["proactive", "score", str(filmed), str(tmp_path / "none"), "--kinds", "narrate"]) == 1
    assert "gives no probabilities of tokens" in capsys.readouterr().err
    scores = tmp_path / "scores.json"
    assert (
        run(["proactive", "score", str(filmed), str(tmp_path / "half"), "--kinds", "narrate", "--out", str(scores)])
        == 0
    )
    [curve] = json.loads(scores.read_bytes())["curves"].values()
    assert [point["threshold"] for point in curve][:2] == [0.05, 0.1]
    # A film that is due all the time has no time for false alarms.
    rates = [point["false_alarms_per_hour"] for point in curve if point["false_alarms_per_hour"] is not None]
    assert rates == sorted(rates, reverse=True)


def test_the_headline_is_won_by_neither_silence_nor_talk(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, scores = tmp_path / "run", tmp_path / "scores.json"
    assert run(["proactive", "run", str(filmed), "--model", "oracle", "--out", str(out), "--longest-side", "64"]) == 0
    capsys.readouterr()
    assert run(["proactive", "score", str(filmed), str(out), "--out", str(scores)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[1].startswith("oracle ")
    assert {tuple(line.split()[:2]) for line in table[2:4]} == {("never", "(floor)"), ("always:5", "(floor)")}
    found = json.loads(scores.read_bytes())
    values = {(row["model"], row["metric"]): row["value"] for row in found["summary"]}
    assert found["floors"] == ["always:5", "never"]
    assert values["oracle", "stream_f1"] == 1.0
    assert values["never", "stream_f1"] == 0.0
    assert 0 <= values["always:5", "stream_f1"] < 0.3


STREAMS = "changing,ready,standing"
NEW = ("request_accuracy", "turn_accuracy", "stream_accuracy", "readiness", "effective_accuracy")


def test_streams_are_played_by_the_oracle_the_floors_and_a_chat_server(
    filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Body] = []

    def answer(body: Body) -> str:
        asked.append(body)
        last = json.dumps(body["messages"][-1])
        if "You are asked now" in last:
            return "In the kitchen."
        return "Not yet." if "What do you say?" in last else "Yes." if len(asked) % 20 == 0 else "No."

    command = ["proactive", "run", str(filmed), "--kinds", STREAMS, "--longest-side", "64"]
    with serve(answer) as server:
        chat = ["--model", "poll:scripted", "--base-url", server.base_url, "--out", str(tmp_path / "chat")]
        assert run([*command, *chat]) == 0
    for model in ("oracle", "never", "always:5"):
        assert run([*command, "--model", model, "--out", str(tmp_path / model)]) == 0
    runs = [str(tmp_path / name) for name in ("oracle", "never", "always:5", "chat")]
    out = tmp_path / "scores.json"
    assert run(["proactive", "score", str(filmed), *runs, "--kinds", STREAMS, "--out", str(out)]) == 0
    assert "right requests:" in capsys.readouterr().out
    found = {(row["model"], row["metric"]): row["value"] for row in json.loads(out.read_bytes())["summary"]}
    assert {name: found["oracle", name] for name in NEW} == dict.fromkeys(NEW, 1.0)
    assert {name: found["never", name] for name in NEW if name != "request_accuracy"} == dict.fromkeys(
        (name for name in NEW if name != "request_accuracy"), 0.0
    )
    assert all((found["poll:scripted", name] or 0) < 1 for name in NEW if name != "readiness")
    site = tmp_path / "site"
    assert run(["report", *runs, "--bench", str(filmed), "--out", str(site)]) == 0
    page = (site / "index.html").read_text()
    for words in ("Whole streams right", "Answer readiness", "always:5", "poll:scripted", "Kinds of streams"):
        assert words in page
    for task in (task for task in Benchmark.open(filmed).content().proactive if task.kind == "standing"):
        if str(task.video_id) in page:
            assert any(html.escape(request.text, quote=False) in page for request in task.requests)
    capsys.readouterr()
    assert run(["report", runs[0], "--out", str(tmp_path / "other")]) == 2
    assert "needs --bench" in capsys.readouterr().err
    # What the server gets holds nothing that the user says later, and no answer.
    tasks = [task for task in Benchmark.open(filmed).content().proactive if task.kind in STREAMS.split(",")]
    for session in read_event_log(tmp_path / "chat" / "events.jsonl"):
        [task] = [one for one in tasks if one.id == session.session]
        said = [(event.at_s, event.text) for event in session.events if event.kind in ("asked", "instructed")]
        assert said == [(request.at_s, request.text) for request in task.requests]
    answers = {text for task in tasks for request in task.requests for m in request.moments for text in m.references}
    texts = [json.dumps(body) for body in asked]
    assert not any(said in text for text in texts for said in answers if len(said) > 25)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--model", "always:0"], "give the seconds from one reply to the next"),
        (
            ["--model", "nobody"],
            "no model 'nobody' that follows streams; known are mini, mini:FOLDER",
        ),
        (["--model", "python:json:JSONDecoder"], "the class has no method stream()"),
        (["--model", "never", "--split", "val"], "no tasks about videos of split 'val', but"),
        (["--model", "never", "--split", "val"], "as in --split train, or make the split: 'reeltalk world film"),
        (["--model", "never", "--kinds", "dance"], "no task of kind 'dance'; known are absent, changing, count"),
        (["--model", "never", "--fps", "0"], "--fps 0.0: input should be greater than 0"),
        (["--model", "never", "--threshold", "2"], "--threshold 2.0: input should be less than or equal to 1"),
        (["--model", "never", "--tuned", "nowhere.json"], "no such file"),
    ],
)
def test_what_cannot_be_played_is_refused(
    arguments: list[str], problem: str, filmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["proactive", "run", str(filmed), "--out", str(tmp_path / "run"), *arguments]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "run" / "events.jsonl").exists()
