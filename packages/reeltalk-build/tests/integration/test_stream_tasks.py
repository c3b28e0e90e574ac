"""Tasks that a person wrote about a video of their own: checked, played, and judged by words, keys and a model."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted_server import PREFLIGHTS, Answer, Body, Server, serve

from reeltalk.cli import run
from reeltalk.llm.fencing import FENCED
from reeltalk.schema.record import Json
from reeltalk_build.video.write import write_video

PASSES = "A person on a bicycle passes."
TASKS: list[dict[str, Json]] = [
    {
        "id": "cyclists",
        "video_id": "street.mp4",
        "until_s": 12,
        "kind": "watch",
        "requests": [
            {
                "text": "Tell me whenever somebody rides past.",
                "moments": [
                    {"interval": {"start_s": 2, "end_s": 4}, "references": [PASSES]},
                    {"interval": {"start_s": 8, "end_s": 10}, "references": [PASSES]},
                ],
            }
        ],
    },
    {
        "id": "shop",
        "video_id": "street.mp4",
        "until_s": 12,
        "kind": "questions",
        "requests": [
            {
                "text": "What does the shop sell?",
                "act": "await",
                "moments": [{"interval": {"start_s": 5, "end_s": 7}, "references": ["Flowers."]}],
            },
            {
                "at_s": 9,
                "text": "How many cars are parked?",
                "act": "ask",
                "moments": [
                    {
                        "interval": {"start_s": 9, "end_s": 9},
                        "references": ["3"],
                        "key": {"type": "count", "values": ["3"]},
                    }
                ],
            },
        ],
    },
]
SAYS = {
    "cyclists": {2: "Somebody cycles along the street.", 8: "There goes another cyclist."},
    "shop": {5: "Roses and tulips."},
}
"""What the polled model says in each task, by the second of the frame."""


def write_tasks(bench: Path, tasks: list[dict[str, Json]]) -> None:
    lines = (json.dumps(task) for task in tasks)
    (bench / "proactive.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of one video of 12 s without tasks."""
    folder = tmp_path_factory.mktemp("street")
    frames = (np.full((48, 64, 3), 20 * (number // 2), np.uint8) for number in range(24))
    (folder / "videos").mkdir()
    write_video(folder / "videos" / "street.mp4", frames, fps=2)
    assert run(["import", "folder", str(folder / "videos"), str(folder / "bench")]) == 0
    return folder / "bench"


@pytest.fixture(scope="module")
def street(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark with tasks that a person wrote."""
    bench = Path(shutil.copytree(empty, tmp_path_factory.mktemp("tasks") / "bench"))
    write_tasks(bench, TASKS)
    assert run(["validate", "--accept", str(bench)]) == 0
    return bench


class Watcher:
    """A polled model that says in words of its own when somebody rides past, and what the shop sells."""

    def __init__(self) -> None:
        self.polls = Counter[str]()

    def __call__(self, body: Body) -> str:
        last, text = json.dumps(body["messages"][-1]), json.dumps(body["messages"])
        if "You are asked now" in last:
            return "There are three."
        task = "shop" if "shop" in text else "cyclists"
        if "What do you say?" in last:
            return SAYS[task][self.polls[task] - 1]
        self.polls[task] += 1
        return "Yes." if self.polls[task] - 1 in SAYS[task] else "No."


class Judge:
    """A judge that knows what means the same, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_at = ""
        self.babbles_at = ""

    def __call__(self, body: Body) -> str | Answer:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        if any(one in text for one in PREFLIGHTS):
            return '{"ready": true}'
        [reply] = {found["data"] for found in FENCED.finditer(text)}
        self.asked.append(reply)
        if self.fails_at and self.fails_at in reply:
            return Answer(status=400, content={"error": {"message": "too long"}})
        if self.babbles_at and self.babbles_at in reply:
            return "I would rather not say."
        numbered = re.findall(r"(?m)^(\d+)\. (.*)$", text)
        return json.dumps({f"A{number}": "Yes" if self.same(reply, said) else "No" for number, said in numbered})

    @staticmethod
    def same(reply: str, statement: str) -> bool:
        meant = {PASSES: r"cycl", "Flowers.": r"rose|flower"}
        return reply == statement or re.search(meant[statement], reply.lower()) is not None


def judge_with(server: Server, out: Path) -> list[str]:
    return ["--judge", "wise", "--judge-base-url", server.base_url, "--out", str(out)]


@pytest.fixture(scope="module")
def played(street: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Runs of the oracle, the floors and a polled model."""
    folder, runs = tmp_path_factory.mktemp("runs"), []
    with serve(Watcher()) as server:
        chat = ["poll:rider", "--base-url", server.base_url, "--connections", "1"]
        for name, model in (("oracle", ["oracle"]), ("never", ["never"]), ("always", ["always:5"]), ("chat", chat)):
            runs.append(str(folder / name))
            command = ["proactive", "run", str(street), "--longest-side", "32", "--out", runs[-1], "--model", *model]
            assert run(command) == 0
    return runs


def scores_in(path: Path) -> tuple[dict[tuple[str, str], float | None], dict[str, Any]]:
    document = json.loads(path.read_bytes())
    return {(row["model"], row["metric"]): row["value"] for row in document["summary"]}, document


def test_a_hand_written_task_is_played_and_judged_by_key_by_words_and_by_a_model(
    street: Path, played: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["proactive", "score", str(street), *played, "--out", str(tmp_path / "words.json")]) == 0
    out = capsys.readouterr().out
    by_words, document = scores_in(tmp_path / "words.json")
    assert re.search(r"\|judge:typed-v\d+-\w+\+agree-v1\|", out)
    assert "judged" not in document
    # Its words for a cyclist are not those of the reference; three cars are 3 by the key.
    assert by_words["poll:rider", "turn_accuracy"] == 1.0
    assert by_words["poll:rider", "missed"] == 1.0
    judge, judged_json = Judge(), tmp_path / "judged.json"
    with serve(judge) as server:
        assert run(["proactive", "score", str(street), *played, *judge_with(server, judged_json)]) == 0
        out = capsys.readouterr().out
        assert re.search(r"\|judge:typed-v\d+-\w+\+wise\|judge-prompt:stream-reply\.v1#\w+\|", out)
        by_model, document = scores_in(judged_json)
        # The oracle says one thing twice, and is judged once; what repeats the request is wrong without a judge.
        assert sorted(judge.asked) == sorted([PASSES, "Flowers.", *SAYS["cyclists"].values(), *SAYS["shop"].values()])
        assert {tuple(one["says"]) for one in document["judged"]["replies"]} == {(True,)}
        # Nothing is asked twice, although all is scored again.
        again = [*judge_with(server, judged_json), "--overwrite"]
        assert run(["proactive", "score", str(street), *played, *again]) == 0
        assert len(judge.asked) == 5
    for values in (by_words, by_model):
        assert values["oracle", "stream_f1"] == 1.0
        assert (values["never", "stream_f1"], values["always:5", "stream_f1"]) == (0.0, 0.0)
    assert by_model["poll:rider", "stream_f1"] == 1.0
    assert by_model["poll:rider", "effective_accuracy"] == 1.0
    assert (by_words["poll:rider", "stream_f1"] or 0) < 0.5

    # The page shows what decided, and the same lines as right.
    pages = {}
    for name, more in (("words", []), ("model", ["--judged", str(judged_json)])):
        site = tmp_path / name
        assert run(["report", *played, "--bench", str(street), "--out", str(site), *more]) == 0
        pages[name] = (site / "index.html").read_text(encoding="utf-8")
    assert "any other is compared with the references by its words" in pages["words"]
    assert "any other is judged by wise" in pages["model"]
    assert "+wise|judge-prompt:stream-reply.v1#" in pages["model"]
    assert pages["words"].count(">wrong<") > pages["model"].count(">wrong<")
    capsys.readouterr()
    words_json = ["--judged", str(tmp_path / "words.json")]
    assert run(["report", *played, "--bench", str(street), "--out", str(tmp_path / "no"), *words_json]) == 2
    assert "no model judged these scores" in capsys.readouterr().err


def test_a_failed_judgement_is_unscored_and_asked_again(
    street: Path, played: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge, out = Judge(), tmp_path / "scores.json"
    with serve(judge) as server:
        score = ["proactive", "score", str(street), played[3], *judge_with(server, out)]
        judge.fails_at = "Roses"
        assert run(score) == 1
        text, err = capsys.readouterr()
        assert "replies that could not be judged: 1; their plays are not scored" in text
        assert "poll:rider: 1 of 2 tasks are not scored, for example shop: 1 of its replies could not be judged" in err
        assert "too long" in err
        values, document = scores_in(out)
        assert values["poll:rider", "stream_f1"] is None
        assert values["poll:rider", "effective_accuracy"] is None
        assert document["unjudged"] == {"poll:rider": 1}
        site = tmp_path / "site"
        assert run(["report", played[3], "--bench", str(street), "--out", str(site), "--judged", str(out)]) == 0
        assert "replies that could not be judged: 1" in (site / "index.html").read_text(encoding="utf-8")
        capsys.readouterr()
        # Only what failed is asked again, and a limit ends the command with what was replied until then.
        judge.fails_at, before = "", len(judge.asked)
        assert run([*score, "--overwrite"]) == 0
        assert judge.asked[before:] == ["Roses and tulips."]
        limited = ["proactive", "score", str(street), *played, *judge_with(server, tmp_path / "limited.json")]
        few = ["--no-preflight", "--connections", "1", "--max-calls", "2"]
        before = len(judge.asked)
        assert run([*limited, *few]) != 0
        assert len(judge.asked) == before + 2
        assert not (tmp_path / "limited.json").exists()
        assert run(limited) == 0
        assert len(judge.asked) == before + 5


def test_a_reply_of_the_judge_that_cannot_be_read_is_no_zero(
    street: Path, played: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge, out = Judge(), tmp_path / "scores.json"
    judge.babbles_at = "Roses"
    with serve(judge) as server:
        assert run(["proactive", "score", str(street), played[3], *judge_with(server, out)]) == 1
    assert "neither reply could be used" in capsys.readouterr().err
    values, document = scores_in(out)
    assert values["poll:rider", "stream_f1"] is None
    [failed] = [one for one in document["judged"]["replies"] if one["reason"] is not None]
    assert failed["replies"] == ["I would rather not say."] * 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--judge", "wise"], "--judge needs --out FILE.json"),
        (["--judge-max-reply-tokens", "9"], "--judge-max-reply-tokens is for --judge NAME"),
        (["--max-calls", "9"], "--max-calls is for --judge NAME"),
        (["--judge", "wise", "--out", "s.json"], "--judge-base-url"),
    ],
)
def test_options_of_a_judge_need_a_judge(
    arguments: list[str], problem: str, street: Path, played: list[str], capsys: pytest.CaptureFixture[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    capsys.readouterr()
    assert run(["proactive", "score", str(street), played[0], *arguments]) == 2
    assert problem in capsys.readouterr().err


def changed(path: str, value: Json) -> list[dict[str, Json]]:
    """The tasks with another value at a place, as `0.requests.0.act`; None removes it."""
    tasks = json.loads(json.dumps(TASKS))
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    held = tasks
    for part in way:
        held = held[part]
    if value is None:
        del held[last]
    else:
        held[last] = value
    return list(tasks)


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("0.video_id", "street", "proactive:cyclists: belongs to video 'street', which the benchmark does not have"),
        ("0.until_s", 9, "proactive:cyclists.requests[0].moments[1]: ends at 10 s; the stream ends at 9 s"),
        ("0.requests.0.moments.0.references", [], "moments[0]: has no reference for a reply"),
        ("0.requests.0.act", "wait", "should be 'ask', 'await', 'watch', 'change' or 'cancel', got 'wait'"),
        ("0.requests.0.moment", [], "extra inputs are not permitted"),
        ("0.until_s", None, "proactive.jsonl:1 at .until_s"),
        ("0.requests.0.of", 0, "`of` belongs to a change or a cancellation"),
        ("1.requests.1.moments", [], "a question to answer at once has one moment"),
        ("1.requests.1.at_s", 10, "moments[0]: begins at 9 s, before 10 s"),
        ("1.requests.0.at_s", 10, "request 1 is said before request 0"),
        ("1.requests.1.moments.0.interval.end_s", 8, "an interval ends before it starts"),
        ("1.id", "cyclists", "proactive:cyclists: stands 2 times"),
    ],
)
def test_a_wrong_task_is_refused_with_its_place(
    place: str, value: Json, problem: str, empty: Path, copy_of: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    bench = copy_of(empty)
    write_tasks(bench, changed(place, value))
    assert run(["validate", str(bench)]) == 1
    assert problem in capsys.readouterr().out
    assert run(["validate", "--accept", str(bench)]) != 0
    assert run(["proactive", "run", str(bench), "--model", "never", "--out", str(bench.parent / "run")]) == 2


def test_a_key_that_its_reference_does_not_fit_is_refused(
    empty: Path, copy_of: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    bench = copy_of(empty)
    write_tasks(bench, changed("1.requests.1.moments.0.key.values", ["three"]))
    assert run(["validate", "--accept", str(bench)]) == 0
    capsys.readouterr()
    assert run(["proactive", "run", str(bench), "--model", "never", "--out", str(bench.parent / "run")]) == 2
    assert "task 'shop', request 1: the reference '3' is not right by its key of type count" in capsys.readouterr().err
