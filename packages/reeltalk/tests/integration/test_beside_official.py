"""The official scripts and reeltalk on the same answers with one scripted judge: equal prompts, equal numbers.

`REELTALK_OFFICIAL` names a folder with your own clones `VDAct`, `SVBench` and `MT-Video-Bench`; their scripts are run.
"""

import hashlib
import importlib.util
import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.judge.checklist import official_answer
from reeltalk.judge.svbench_official import HEADINGS, official_scores
from reeltalk.store.runs import Run, read_run

REPLIES = Path(__file__).parents[1] / "unit" / "judge" / "published_replies.json"
TABLE = json.loads(REPLIES.read_text(encoding="utf-8"))
JUDGE = "gpt-4o-mini-2024-07-18"


def clone(name: str) -> Path:
    folder = Path(os.environ.get("REELTALK_OFFICIAL", "no folder")) / name
    if not folder.is_dir():
        pytest.skip(f"no clone {name}: REELTALK_OFFICIAL names a folder with clones of the official repositories")
    return folder


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What the scripts import and need not be installed here; nothing of it changes a number."""
    monkeypatch.setitem(sys.modules, "regex", re)
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=lambda rows, **_: rows))
    monkeypatch.setitem(sys.modules, "fire", SimpleNamespace(Fire=lambda _: None))
    monkeypatch.setitem(sys.modules, "clients", ModuleType("clients"))
    monkeypatch.setitem(sys.modules, "clients.chatgpt_client", SimpleNamespace(GPT=None))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "prompt", raising=False)
    yield monkeypatch
    sys.modules.pop("prompt", None)


def script(path: Path) -> Any:
    """A script as a module; its paths lead nowhere, so that importing it judges nothing."""
    spec = importlib.util.spec_from_file_location(f"official_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def pick(rows: list[str], prompt: str, salt: int = 0) -> str:
    return rows[int(hashlib.sha256(f"{salt}{prompt}".encode()).hexdigest(), 16) % len(rows)]


def last(body: Body) -> str:
    """The last message of a request."""
    return words(body["messages"][-1])


def judged(source: str, data: Path, folder: Path, say: Any, *more: str) -> tuple[Run, list[Body]]:
    own = folder / "prompts"
    name = {"vdact": "VDAct", "svbench": "SVBench", "mt-video-bench": "MT-Video-Bench"}[source]
    assert run(["prompts", "--from", source, "--clone", str(clone(name)), "--out", str(own)]) == 0
    with serve(say, keep=9999) as server:
        model = ("--judge", JUDGE, "--judge-base-url", server.base_url, "--backoff-s", "0.001", "--no-preflight")
        run(["judge", str(data), "--format", source, "--published", "--prompts", str(own), "--metrics", "none",
             "--null-units", "0", "--out", str(folder / "run"), *model, *more])  # fmt: skip
        return read_run(folder / "run"), server.requests


@pytest.mark.parametrize("salt", range(6))
def test_mt_video_bench(samples: Path, tmp_path: Path, stand_ins: pytest.MonkeyPatch, salt: int) -> None:
    replies = [row["reply"] for row in TABLE["checklist"]] + ["I cannot say."]

    def say(body: Body) -> str:
        return pick(replies, last(body), salt)

    ours, requests = judged(
        "mt-video-bench", samples / "mt-video-bench-v2", tmp_path, say, "--protocols", "checklist", "--eval-rounds", "1"
    )
    asked: list[str] = []

    def create(*, model: str, messages: Any) -> Any:
        asked.append(messages[0]["content"][0]["text"])
        return SimpleNamespace(
            choices=[SimpleNamespace(message=SimpleNamespace(content=pick(replies, asked[-1], salt)))]
        )

    stand_ins.setattr("openai.OpenAI", lambda **_: None)
    official = script(clone("MT-Video-Bench") / "eval" / "eval.py")
    official.client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    turns = {(turn.model, turn.unit_id, turn.turn_index): turn for turn in ours.answers()}
    compared = 0
    for row in ours.judged("checklist"):
        turn = turns[row.model, row.unit_id, row.turn_index or 0]
        answer = official_answer(turn)
        if row.criterion != "accuracy.compat" or answer is None or turn.checklist is None:
            continue
        items = {f"Q{n}": item.question for n, item in enumerate(turn.checklist.items, start=1)}
        items |= {f"A{n}": "Yes" if item.expected else "No" for n, item in enumerate(turn.checklist.items, start=1)}
        task = {"video_name": turn.video_id, "event_index": "1", "round_idx": turn.turn_index + 1,
                "model_answer": answer, "checklist": items, "eval_rounds": 1}  # fmt: skip
        theirs = official.evaluate_single_task(task)
        assert row.value == (None if theirs is None else theirs["avg_acc"])
        compared += 1
    assert compared > 2
    assert sorted(map(last, requests)) == sorted(asked)


def test_svbench(samples: Path, tmp_path: Path, stand_ins: pytest.MonkeyPatch) -> None:
    replies = [row["reply"] for row in TABLE["svbench"]]
    ours, requests = judged(
        "svbench", samples / "svbench", tmp_path, lambda body: pick(replies, last(body)),
        "--protocols", "svbench",
    )  # fmt: skip
    official = script(clone("SVBench") / "evaluation" / "eval_chainQA_gpt4_gpt4o.py")
    # The script ends with a NameError without it.
    official.relationships = []
    chains = defaultdict(list)
    for turn in ours.answers():
        if turn.unit == "chain" and turn.references and turn.state.is_due:
            chains[turn.model, turn.unit_id].append(turn)
    sent = set(map(last, requests))
    compared = 0
    for (_, name), turns in chains.items():
        if not any(turn.text for turn in turns):
            continue
        columns = ([turn.question for turn in turns], [turn.references[0] for turn in turns], [t.text for t in turns])
        scene = name.rpartition("/")[2]
        assert official.create_evaluation_prompt(turns[0].video_id, scene, *columns) in sent
        compared += 1
    assert compared > 1
    for text in replies:
        theirs = official.extract_scores(text)
        assert official_scores(text) == {name: theirs[heading] for name, heading in HEADINGS.items()}


def test_vdeval(samples: Path, tmp_path: Path, stand_ins: pytest.MonkeyPatch) -> None:
    said = ["Right. So rating=3", "In part. So rating=2", "Wrong. So rating=1", "Right. So rating=3.", "No rating."]
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if row["dial_id"].startswith("09001")]
    data = tmp_path / "data"
    (data / "results").mkdir(parents=True)
    (data / "results" / "careful-8f.json").write_text(json.dumps(rows), encoding="utf-8")
    (data / "scenario_refine_summaries").mkdir()
    summary = (samples / "vdact" / "scenario_refine_summaries" / "09001.txt").read_bytes()
    (data / "scenario_refine_summaries" / "09001.txt").write_bytes(summary)
    ours, requests = judged("vdact", data, tmp_path, lambda body: pick(said, last(body)), "--protocols", "vdeval")
    folder = clone("VDAct") / "VDEval"
    stand_ins.chdir(data / "results")
    prepare, calculate = script(folder / "prepare_vdeval_input.py"), script(folder / "calc_score.py")
    bodies, outputs = [], []
    for number in range(1, max(row["turn_num"] for row in rows) + 1):
        prepare.main(number, "careful-8f.json", "batch", str(data / "scenario_refine_summaries"))
        asked = [json.loads(line) for line in Path(f"batch/input-turn-{number}.jsonl").read_text().splitlines()]
        told = []
        for one in asked:
            content = pick(said, one["body"]["messages"][1]["content"])
            message = {"body": {"choices": [{"message": {"content": content}}]}}
            told.append({"custom_id": one["custom_id"], "response": message})
            bodies.append(one["body"])
        Path(f"batch/output-turn-{number}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in told))
        outputs += told
    Path("all.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in outputs))
    calculate.main("careful-8f.json", "all.jsonl")
    scores = [row[0]["score"] for row in json.loads(Path("vdeval-careful-8f.json").read_text()).values()]
    sent = [{name: body[name] for name in ("model", "messages", "temperature", "seed")} for body in requests]
    assert sorted(sent, key=last) == sorted(bodies, key=last)
    values = {row.metric: row.value for row in ours.summary}
    assert values["vdeval.compat"] == pytest.approx(sum(scores) / len(scores))
