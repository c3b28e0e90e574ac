"""The command that is suggested at the end works when it is pasted, up to a report with the videos."""

import shlex
from pathlib import Path

import pytest
from sample_videos import write_grey_film

from reeltalk.cli import run

MODEL = """
class Mug:
    def answer(self, frames, history, question):
        return "a mug"

class Table:
    def answer(self, frames, history, question):
        return "on the table"
"""


@pytest.fixture(autouse=True)
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten questions about five videos, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = ["video,question,answer"]
    Path("videos").mkdir()
    for number in range(5):
        write_grey_film(Path(f"videos/v {number}.mp4"), 40 * number)
        rows += [f"v {number}.mp4,What is it?,a mug", f"v {number}.mp4,Where is it?,on the table"]
    Path("questions.csv").write_text("\n".join(rows), encoding="utf-8")


def pasted(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command, and return the one that it suggests."""
    assert run(shlex.split(command)[1:]) == 0
    told = capsys.readouterr()
    suggested = [line for line in (told.out + told.err).splitlines() if line.startswith("next: ")]
    return suggested[-1].removeprefix("next: ") if suggested else ""


def test_it_leads_to_a_report_and_of_two_models_over_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(MODEL, encoding="utf-8")
    pasted("reeltalk import qa questions.csv benchmarks/mine --videos videos/", capsys)
    evaluate = "reeltalk evaluate benchmarks/mine --model"
    following = pasted(f"{evaluate} baseline:blind --out runs/blind", capsys)
    assert following == "reeltalk report runs/blind --bench benchmarks/mine --media cut --out report"
    assert pasted(following, capsys) == ""
    assert [*Path("report").rglob("*.mp4")]
    following = pasted(f"{evaluate} python:mine.py:Mug --out runs/mug", capsys)
    assert following == "reeltalk report runs/mug runs/blind --bench benchmarks/mine --media cut --out report"
    following = pasted(f"{evaluate} python:mine.py:Table --out runs/table", capsys)
    assert following.startswith("reeltalk compare runs/table runs/mug")
    following = pasted(following, capsys)
    assert following.startswith("reeltalk report runs/table runs/mug")
    assert following.endswith(" --bench benchmarks/mine --media cut --out report")
    assert pasted(f"{following} --overwrite", capsys) == ""


def test_without_videos_none_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "qa", "questions.csv", "benchmarks/mine"]) == 0
    asked = ("--model", "baseline:blind", "--policy", "none", "--out", "runs/blind")
    following = pasted(shlex.join(["reeltalk", "evaluate", "benchmarks/mine", *asked]), capsys)
    assert following == "reeltalk report runs/blind --bench benchmarks/mine --out report"
    assert pasted(following, capsys) == ""
