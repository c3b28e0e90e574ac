"""`reeltalk compare` as its user types it, mistakes included."""

import json
import shutil
from pathlib import Path

import pytest

from reeltalk.cli import run


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs on the same ten turns of five videos; the second is right more often."""
    rows = [
        {"id": f"{video:05d}01-{turn}", "ref_answer": "a man washes a mug", "gen_answer": "", "question": "What?"}
        for video in range(5)
        for turn in range(2)
    ]
    folders = []
    for name, answers in (("one", ("a man", "no")), ("two", ("a man washes a mug", "a man washes"))):
        folder = tmp_path / name
        (folder / "scores").mkdir(parents=True)
        lines, items, total = [], [], 0.0
        for number, row in enumerate(rows):
            value = len(answers[number % 2]) / 20 + number / 1000 * (1 if name == "one" else -1)
            total += value
            item = f"d{number // 2}/{number % 2 + 1:02d}"
            lines.append({"model": name, "item_id": item, "video_id": f"v{number // 2}", "unit_id": f"d{number // 2}",
                          "turn_index": number % 2, "question": row["question"], "references": [row["ref_answer"]],
                          "text": answers[number % 2]})  # fmt: skip
            items.append({"model": name, "item_id": item, "scores": {"clair": value}})
        (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "scores" / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in items))
        (folder / "scores" / "curves.jsonl").write_text("")
        summary = [{"model": name, "metric": "clair", "value": total / 10, "n": 10, "signature": "t|metric:clair"}]
        (folder / "summary.json").write_text(json.dumps(summary))
        models = [{"model": name, "source": f"{name}.json", "sha256": "0" * 64, "rows": 10, "items": 10}]
        info = {"kind": "score", "reeltalk_version": "1", "subject": "t", "models": models, "metrics": ["clair"],
                "clusters": 5}  # fmt: skip
        (folder / "run.json").write_text(json.dumps(info))
        folders.append(folder)
    return folders[0], folders[1]


def test_says_who_is_better(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *map(str, runs)]) == 0
    said = capsys.readouterr().out
    assert "B is better, roughly: 5 videos are few" in said
    assert "10 turns of both, 5 videos" in said


def test_writes_a_file_once(runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "comparison.json"
    given = ["compare", *map(str, runs), "--format", "json", "--out", str(out)]
    assert run(given) == 0
    assert json.loads(out.read_text())[0]["winner"] == "two"
    assert run(given) == 2
    assert "pass --overwrite" in capsys.readouterr().err
    assert run([*given, "--overwrite"]) == 0


def test_plans(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *map(str, runs), "--power", "--difference", "2"]) == 0
    assert "2 points: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["{one}", "{one}"], "is given twice"),
        (["{one}"], "there is one model to compare, 'one'; give a second run"),
        ([], "compare needs a run of several models, or two runs"),
        (["{one}", "{two}", "--model", "three"], "the runs have no model 'three'; they have 'one', 'two'"),
        (["{one}", "{two}", "--metrics", "cider"], "--metrics cider: the runs do not have it; they have clair"),
        (["{one}", "{two}", "--by", "task"], "--by task: no turn has it"),
        (["{one}", "{two}", "--confidence", "95"], "--confidence 95.0"),
        (["{one}", "{two}", "--power", "--difference", "two"], "--difference two: give numbers above 0"),
        (["{one}", "{two}", "--power", "--format", "csv"], "--format csv cannot be had with --power"),
        (["{one}", "{two}", "--power", "--target-power", "0.3"], "--target-power 0.3"),
        (["{one}", "nowhere"], "nowhere is not a run"),
        (["{one}", "{two}", "--out", "{one}"], "exists; choose another file"),
    ],
)
def test_says_what_is_wrong_and_what_to_do(
    given: list[str], words: str, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *(part.format(one=runs[0], two=runs[1]) for part in given)]) == 2
    assert words in capsys.readouterr().err


def test_a_damaged_table_is_named(runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    items = runs[0] / "scores" / "items.jsonl"
    items.write_text(items.read_text().replace('"clair"', "rouge", 1))
    assert run(["compare", *map(str, runs)]) == 2
    assert "items.jsonl" in capsys.readouterr().err
    shutil.copy(runs[1] / "scores" / "items.jsonl", items)
    assert run(["compare", *map(str, runs)]) == 2
    assert "score the answers again" in capsys.readouterr().err
