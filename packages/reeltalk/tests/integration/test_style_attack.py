"""`judge --attack style` on a run: its table, the counts that the run keeps, and the leaderboard that shows them."""

from pathlib import Path

import pytest

from reeltalk.cli import run

ROWS = """video,question,answer
v1.mp4,What does the cook pick up?,a whisk
v1.mp4,What colour is the bowl?,blue
v2.mp4,Who opens the door?,the waiter
v2.mp4,Where is the dog?,on the sofa
"""


@pytest.fixture
def played(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(ROWS, encoding="utf-8")
    benchmark, out = str(tmp_path / "benchmark"), tmp_path / "run"
    assert run(["import", "qa", str(tmp_path / "table.csv"), benchmark]) == 0
    command = ["evaluate", benchmark, "--model", "baseline:reference", "--policy", "none", "--out", str(out)]
    assert run(command) == 0
    return out


def page(played: Path, name: str) -> str:
    assert run(["report", str(played), "--out", str(played.parent / name)]) == 0
    return (played.parent / name / "index.html").read_text(encoding="utf-8")


def test_the_leaderboard_shows_what_style_costs(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "What the style of answers costs was not measured here" in page(played, "before")
    capsys.readouterr()
    assert run(["judge", str(played), "--attack", "style"]) == 0
    assert "match and the style of answers, judged by no model" in capsys.readouterr().out
    assert "match takes 0.0 points from right answers for their style (lost 0 of 132)" in page(played, "after")
    kept = (played / "style.json").read_text(encoding="utf-8")
    (played / "style.json").write_text(kept.replace("match:", "match:older-"), encoding="utf-8")
    assert "match has changed since its style attack in run; play it again." in page(played, "older")


def test_the_references_of_a_benchmark_are_played_without_a_run(played: Path, tmp_path: Path) -> None:
    out = tmp_path / "styles.json"
    command = ["judge", "--attack", "style", "--bench", str(played.parent / "benchmark"), "--out", str(out)]
    assert run([*command, "--every", "2"]) == 0
    assert out.is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--attack", "style"], "needs a run, or --bench"),
        (["RUN", "--attack", "manipulation", "--protocols", "match"], "--attack manipulation takes no answers"),
        (["RUN", "--attack", "style", "--limit", "1"], "--attack judges no model's answers"),
    ],
)
def test_what_an_attack_does_not_read_is_refused(
    words: list[str], said: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["judge", *(str(played) if word == "RUN" else word for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_file_is_named(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (played / "style.json").write_text('[{"x": 1}]', encoding="utf-8")
    assert run(["report", str(played), "--out", str(played.parent / "site")]) == 2
    assert "style.json" in capsys.readouterr().err
