"""The order of right, wrong and empty answers does not depend on how a model words them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.judge.settings import JudgeSettings
from reeltalk.stages import evaluate
from reeltalk.store.benchmark import Benchmark

THOUGHT = "The question asks for one thing. It may be another one, so I look at the frames again."
STYLES: dict[str, Callable[[str], str]] = {
    "bare": lambda text: text,
    "in the video": lambda text: f"In the video, {text}",
    "based on the video": lambda text: f"Based on the video, {text}",
    "according to the frames": lambda text: f"According to the provided frames, it appears that {text}",
    "bold": lambda text: f"**{text}**",
    "answer": lambda text: f"Answer: {text}",
    "steps": lambda text: f"Step 1: I list what is seen.\nStep 2: I compare it.\n\nFinal answer: {text}",
    "bold final": lambda text: f"{THOUGHT}\n\n**Final Answer:** {text}",
    "thought": lambda text: f"<think>{THOUGHT}</think>\n\n{text}",
    "closed thought": lambda text: f"{THOUGHT}\n</think>\n{text}",
    "channels": lambda text: (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>"
    ),
    "offer": lambda text: f"{text} Let me know if you would like more details!",
    "tag": lambda text: f"<answer>{text}</answer>",
    "boxed": lambda text: f"\\boxed{{{text}}}",
    "json": lambda text: json.dumps({"answer": text}),
}
TOOLS = ("a ladle", "a whisk", "a spoon", "a peeler")
THINGS = ("the red mug", "a bicycle", "Anna", "in the kitchen", "blue", "two dogs", "a guitar", "on the table")
OTHERS = ("the plate", "a horse", "Peter", "in the garden", "green", "two cats", "a violin", "under the bed")
ASKED = (
    "What does she take?", "What does he ride?", "Who comes in?", "Where do they eat?", "Which colour is the door?",
    "What runs past?", "What does he play?", "Where is the letter?",
)  # fmt: skip
LONG = "She sits down on the couch and reads, since the day has been long and the tea is hot."


def rows() -> list[dict[str, str]]:
    """Eight turns with options, six for yes or no, six numbers, eight short references and two long ones."""
    table: list[dict[str, str]] = []
    for n in range(8):
        table.append(
            {"question": f"Which utensil is used in step {n}?", "right": TOOLS[n % 4], "wrong": TOOLS[(n + 1) % 4]}
        )
        table[-1] |= {f"option_{letter}": text for letter, text in zip("abcd", TOOLS, strict=True)} | {
            "correct": TOOLS[n % 4]
        }
    for n in range(6):
        said = ("Yes.", "No.") if n % 2 else ("No.", "Yes.")
        table.append({"question": f"Does the cook open drawer {n}?", "right": said[0], "wrong": said[1]})
    table += [
        {"question": f"How many eggs are in bowl {letter}?", "right": str(n + 2), "wrong": str(n + 3)}
        for n, letter in enumerate("KLMNOP")
    ]
    table += [{"question": q, "right": a, "wrong": b} for q, a, b in zip(ASKED, THINGS, OTHERS, strict=True)]
    table += [{"question": f"What happens in part {n}?", "right": LONG, "wrong": "He leaves."} for n in range(2)]
    for n, row in enumerate(table):
        row |= {"id": f"q{n}", "video": f"v{n % 6}.mp4"}
        if "correct" not in row:
            row["answer"] = row["right"]
    return table


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, Path]:
    folder = tmp_path_factory.mktemp("styles")
    names = ["id", "video", "question", "answer", "correct", *(f"option_{letter}" for letter in "abcd")]
    with (folder / "q.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows())
    assert run(["import", "qa", str(folder / "q.csv"), str(folder / "b")]) in (0, 1)
    return Benchmark.open(folder / "b"), folder


@pytest.mark.parametrize("style", STYLES)
def test_right_answers_are_right_and_wrong_ones_wrong_in_every_style(
    asked: tuple[Benchmark, Path], style: str, tmp_path: Path
) -> None:
    benchmark, _ = asked
    found: dict[str, float | None] = {}
    for kind in ("right", "wrong", "empty"):
        answers = tmp_path / f"{kind}.jsonl"
        told = ({"id": row["id"], "text": STYLES[style](row[kind]) if kind != "empty" else ""} for row in rows())
        answers.write_text("".join(json.dumps(row) + "\n" for row in told))
        report = evaluate(
            benchmark,
            model=f"answers:{answers}",
            out=tmp_path / kind,
            play=PlaySettings.model_validate({"frames": {"policy": "none"}}),
            judging=JudgeSettings(protocols=("auto",)),
        )
        found[kind] = report.value("correct")
        (own,) = (info for info in report.run.info.models if info.model == kind)
        assert own.due == len(rows())
        (row,) = (one for one in report.run.summary if (one.model, one.metric) == (kind, "correct"))
        # The two turns with long references need a judge.
        assert (row.n, row.unscored, row.not_applicable) == (28, 0, 2)
    assert found["right"] is not None
    assert found["wrong"] is not None
    assert found["right"] >= 97
    assert found["wrong"] <= 3
    assert found["empty"] == 0
