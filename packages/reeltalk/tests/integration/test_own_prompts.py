"""Taggers and those who refine summaries are asked with a user's own prompts, which stand in the signature."""

import json
import shutil
from pathlib import Path

from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES, VIDEOS


def own(folder: Path, name: str, text: str) -> Path:
    path = folder / "own" / f"{name}.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"<!-- own v3 -->\n{text}\n", encoding="utf-8")
    return folder / "own"


def test_a_tagger_is_asked_with_a_request_of_ones_own(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, [Video(id="v")])
        writer.add(DIALOGUES, [Dialogue(id="d", video_id="v", turns=(Turn(question="Why?", references=("So.",)),))])
    prompts = own(tmp_path, "tag/request", "MINE {turns} {count} turns number target content thinking")
    entry = {"number": 1, "target": ["Behavior"], "content": ["Motivation"], "thinking": "Reasoning"}
    with serve(lambda _: json.dumps({"turns": [entry]}), keep=9) as server:
        base = ["tag", str(benchmark.path), "--model", "tiny", "--base-url", server.base_url, "--samples", "1"]
        assert run([*base, "--prompts", str(prompts)]) == 0
        assert words(server.requests[0]["messages"][-1]).startswith("MINE 1. Q: Why?")


def test_summaries_are_refined_with_a_prompt_of_ones_own(samples: Path, tmp_path: Path) -> None:
    prompts = own(tmp_path, "refine/refine", "MINE: {text}")
    asked: list[str] = []

    def say(body: Body) -> str:
        asked.append(words(body["messages"][-1]))
        return "The person is there."

    source = samples / "vdact"
    shutil.copytree(source / "kg_activity", tmp_path / "graphs")
    with serve(say) as server:
        base = ["graph", "tell", str(tmp_path / "graphs"), "--out", str(tmp_path / "out"), "--model", "tiny"]
        run([*base, "--base-url", server.base_url, "--prompts", str(prompts)])
    assert asked
    assert all(text.startswith("MINE: ") for text in asked)
    assert json.loads((tmp_path / "out" / "refined.json").read_text())["prompt"].startswith("own.v3#")
