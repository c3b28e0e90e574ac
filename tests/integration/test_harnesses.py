"""lmms-eval itself runs a generated task, and comes to our numbers for the same answers."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.store.validate import accept

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "lmms-eval" / "venv" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="no lmms-eval: run make build/lmms-eval/ready"),
]


@pytest.fixture
def household(tmp_path: Path) -> Path:
    """Questions without keys, as tasks of other programs have no judge that reads keys: some references are short."""
    folder = tmp_path / "household"
    assert run(["world", "film", "--scenarios", "4", "--seed", "3", "--into", str(folder)]) == 0
    assert run(["graph", "questions", str(folder)]) == 0
    table = folder / "dialogues.jsonl"
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["turns"] = [{name: value for name, value in turn.items() if name != "key"} for turn in row["turns"]]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    accept(folder)
    return folder


def answering(references: dict[str, str]) -> Any:
    """Right at every second question, by its length, and otherwise of no help."""

    def answer(body: Body) -> str:
        question = words(body["messages"][-1]).strip()
        return references[question] if len(question) % 2 else "I cannot tell."

    return answer


def test_lmms_eval_asks_what_evaluate_asks_and_gives_its_numbers(household: Path, tmp_path: Path) -> None:
    task = tmp_path / "task"
    assert run(["export", "lmms-eval", str(household), str(task), "--name", "kitchen", "--split", "all"]) == 0
    rows = [json.loads(line) for line in (task / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    references = {json.loads(row["messages"])[-1]["text"].strip(): row["answer"] for row in rows}
    environment = {
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "src"),
    }
    with serve(answering(references), keep=100_000) as server:
        model = f"model=scripted,base_url={server.base_url},api_key=x,pass_video_url=True"
        arguments = ["--model", "openai", "--model_args", model, "--tasks", "kitchen", "--include_path", str(task)]
        done = subprocess.run(
            [PYTHON, "-m", "lmms_eval", "eval", *arguments, "--output_path", str(tmp_path / "theirs")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        asked_there = server.requests
        options = ["--split", "all", "--policy", "none", "--protocols", "match", "--metrics", "bleu,rouge_l,token_f1"]
        address = ["--base-url", server.base_url, "--out", str(tmp_path / "ours")]
        assert run(["evaluate", str(household), "--model", "scripted", *options, *address]) == 0
        asked_here = server.requests[len(asked_there) :]
    assert len(asked_there) == len(rows)
    assert {told(body) for body in asked_there} == {told(body) for body in asked_here}
    results = json.loads(next((tmp_path / "theirs").rglob("*_results.json")).read_text(encoding="utf-8"))
    theirs = results["results"]["kitchen"]
    ours = json.loads((tmp_path / "ours" / "summary.json").read_text(encoding="utf-8"))
    values = {row["metric"]: row["value"] for row in ours if row["model"] == "scripted"}
    for metric in ("match", "bleu_1", "bleu_4", "rouge_l", "token_f1"):
        assert theirs[f"reeltalk_{metric},none"] == pytest.approx(values[metric], abs=1e-12)
    assert theirs["reeltalk_unscored,none"] == 0


def told(body: Body) -> str:
    return json.dumps([(message["role"], words(message).strip()) for message in body["messages"]])
