"""Before and after tuning on an imported single-turn benchmark, as in SVBench's figure 5: both are run and compared.

The checkpoint is tiny and random, and it is tuned on the questions that it is asked: what is shown is that the way from
one end to the other works, not that such a model is good for anything.
"""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("reeltalk_streaming.training.lora_training", reason="the train extra is not installed")

from PIL import Image
from tiny_architectures import save_tiny

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.video.write import write_video

COLOURS = {"red": (220, 30, 30), "green": (20, 180, 40), "blue": (30, 40, 220), "white": (240, 240, 240)}
OPTIONS = [f"{letter}. {colour}" for letter, colour in zip("ABCD", COLOURS, strict=True)]
QUESTION = "Which colour?"
SYSTEM = "Answer."
# reeltalk writes letters of its own before the options, which Video-MME's own text has too.
ASKED = "\n\n".join([QUESTION, "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", OPTIONS, strict=True))])


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    rows = [
        {"video_id": colour, "duration": "short", "domain": "made up", "sub_category": "colours", "url": "none",
         "videoID": colour, "question_id": f"{colour}-1", "task_type": "Attribute Perception", "question": QUESTION,
         "options": OPTIONS, "answer": "ABCD"[index]}
        for index, colour in enumerate(COLOURS)
    ]  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps(rows))
    folder = tmp_path / "bench"
    assert run(["import", "video-mme", str(tmp_path / "test.json"), str(folder)]) == 0
    opened = Benchmark.open(folder)
    content = opened.content()
    for index, video in enumerate(content.videos):
        path = tmp_path / f"{video.id}.mp4"
        write_video(path, [np.full((48, 64, 3), COLOURS[video.id], np.uint8)] * 8, fps=4)
        content.videos[index] = video.model_copy(update={"sha256": opened.media.add(path), "duration_s": 2.0})
    opened.write_content(content, stage="test")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    lines = []
    for index, (colour, rgb) in enumerate(COLOURS.items()):
        Image.new("RGB", (64, 48), rgb).save(tmp_path / f"{colour}.png")
        turns = [{"from": "human", "value": f"<image>\n<image>\n{ASKED}"}, {"from": "gpt", "value": OPTIONS[index]}]
        lines.append(json.dumps({"id": colour, "image": [f"{colour}.png"] * 2, "conversations": turns}) + "\n")
    (tmp_path / "train.jsonl").write_text("".join(lines))
    return tmp_path / "train.jsonl"


@pytest.mark.slow
def test_a_tuned_checkpoint_is_compared_with_the_untuned_one_on_single_turns(
    benchmark: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = save_tiny("internvl", tmp_path / "tiny-internvl")
    (tmp_path / "short.md").write_text(f"<!-- short v1 -->\n{SYSTEM}\n")
    learn = ["train", "lora", str(data), "--base", str(base), "--system", SYSTEM, "--frame-tokens", "4", "--cpu"]
    learn += ["--accumulate", "4", "--learning-rate", "0.02", "--weight-decay", "0", "--dropout", "0"]
    assert run([*learn, "--out", str(tmp_path / "before"), "--max-steps", "0"]) == 0
    assert run([*learn, "--out", str(tmp_path / "after"), "--max-steps", "40"]) == 0
    assert run(["train", "merge", str(tmp_path / "after" / "adapter"), "--out", str(tmp_path / "merged")]) == 0
    (tmp_path / "before" / "adapter").rename(tmp_path / "untuned")
    (tmp_path / "after" / "adapter").rename(tmp_path / "tuned")

    answers: dict[str, list[str]] = {}
    for name in ("untuned", "tuned", "merged"):
        folder, out = tmp_path / name, tmp_path / "runs" / name
        asked = ["--prompt", str(tmp_path / "short.md"), "--policy", "uniform", "--frames", "2"]
        judged = ["--protocols", "choice", "--metrics", "none", "--max-reply-tokens", "12"]
        command = ["evaluate", str(benchmark), "--model", f"transformers:{folder}", "--out", str(out), *asked, *judged]
        assert run(command) in (0, 1)
        rows = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
        answers[name] = [row["text"] for row in sorted(rows, key=lambda row: str(row["unit_id"]))]
    assert answers["tuned"] == answers["merged"]
    assert answers["tuned"] != answers["untuned"]

    capsys.readouterr()
    runs = [str(tmp_path / "runs" / name) for name in ("tuned", "untuned")]
    assert run(["compare", *runs, "--format", "json", "--anyway"]) == 0
    (difference,) = json.loads(capsys.readouterr().out)
    assert (difference["metric"], difference["items"], difference["videos"]) == ("accuracy", 4, 4)
    assert difference["first"].startswith("transformers/tuned#")
    assert difference["first_value"] >= difference["second_value"] + 50
