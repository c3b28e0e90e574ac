"""What a report writes for a paper, from own questions: about six figures and tables, which LaTeX compiles."""

import csv
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reeltalk
from reeltalk.cli import run
from reeltalk.stages import import_questions
from reeltalk_build.video.write import write_video

NAMES = (
    "gpt_4o & friends 100%",
    "Qwen2.5-VL-72B-Instruct-AWQ-w4a16-awq-marlin",
    "模型",
    r"\input{/etc/passwd}",
    '=HYPERLINK("http://x")',
    "llava~#1 $x$ ^2 {🙂} été ≥±",
)
PAPER = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs,tabularx,graphicx}
\begin{document}
Some words of a paper.
%s
\end{document}
"""


class Guess:
    """Answers as many questions right as its place among the names allows."""

    def __init__(self, place: int) -> None:
        self.name, self.place, self.asked = NAMES[place], place, 0

    def answer(self, frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> str:
        self.asked += 1
        return "a mug" if self.asked % 7 > self.place else "a bowl"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("paper")
    rows = ["video,dialogue,turn,question,answer,type"]
    (folder / "videos").mkdir()
    for video in range(12):
        frames = (np.full((48, 64, 3), 20 * video, np.uint8) for _ in range(5))
        write_video(folder / "videos" / f"v{video}.mp4", frames, fps=5)
        rows += [f"v{video}.mp4,d{video},{turn},What is {turn}?,a mug,{'AB'[turn % 2]} & kind" for turn in (1, 2, 3)]
    (folder / "questions.csv").write_text("\n".join(rows), encoding="utf-8")
    import_questions(folder / "questions.csv", folder / "mine", videos=folder / "videos")
    for place in range(len(NAMES)):
        reeltalk.evaluate(folder / "mine", Guess(place), folder / f"run-{place}", progress=False)
    reeltalk.evaluate(folder / "mine", "baseline:blind", folder / "run-blind", progress=False)
    return sorted(map(str, folder.glob("run-*")))


@pytest.fixture(scope="module")
def site(runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site") / "site"
    assert run(["report", *runs, "--out", str(site)]) == 0
    return site


def test_a_report_has_the_figures_and_tables_of_a_paper(site: Path) -> None:
    named = {"leaderboard", "breakdowns-question-type-match", "along-match"}
    assert {path.stem for path in (site / "figures").glob("*.pdf")} == named
    assert {path.stem for path in (site / "tables").glob("*.tex")} == {*named, "comparisons-match"}
    for page, table in (("index", "leaderboard"), ("comparisons", "comparisons-match")):
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        assert all(f'href="tables/{table}.{end}"' in html for end in ("tex", "csv"))


def test_the_leaderboard_is_ranked_and_grouped_as_on_the_page(site: Path) -> None:
    with (site / "tables" / "leaderboard.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["Group"] for row in rows] == ["Models"] * len(NAMES) + ["Baselines", "Floors"]
    assert [row["Model"].removeprefix("'") for row in rows[: len(NAMES)]] == list(NAMES)
    assert [row["Model"] for row in rows if row["Model"].startswith("'")] == [f"'{NAMES[4]}"]
    values = [float(row["Match (%)"]) for row in rows[: len(NAMES)]]
    assert values == sorted(values, reverse=True)
    svg = (site / "figures" / "leaderboard.svg").read_text(encoding="utf-8")
    assert ">gpt_4o &amp; friends 100%</text>" in svg, "a name without its letter"


@pytest.mark.parametrize("engine", ["pdflatex", "xelatex"])
def test_a_two_column_paper_takes_the_files(site: Path, tmp_path: Path, engine: str) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"there is no {engine}; Debian has it in texlive-latex-recommended and texlive-xetex")
    parts = []
    for path in sorted((site / "tables").glob("*.tex")):
        head = path.read_text(encoding="utf-8").partition(r"\begin{minipage}")[0]
        kind = "table*" if r"\begin{table*}" in head else "table"
        parts.append(rf"\begin{{{kind}}}\caption{{A table.}}\input{{{path}}}\end{{{kind}}}")
    figure = site / "figures" / "leaderboard.pdf"
    parts.insert(
        1, rf"\begin{{figure}}\includegraphics[width=\columnwidth]{{{figure}}}\caption{{A figure.}}\end{{figure}}"
    )
    (tmp_path / "paper.tex").write_text(PAPER % "\n".join(parts), encoding="utf-8")
    command = [engine, "-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert [wide for wide in re.findall(r"Overfull .hbox \(([\d.]+)pt", log) if float(wide) > 2] == []
    assert "Float too large" not in log
    assert "(/etc/passwd" not in log, "a name was read as a command"
    if shutil.which("pdftotext") and shutil.which("pdftoppm"):
        # For people to look at.
        subprocess.run(["pdftoppm", "-r", "110", "-png", "paper.pdf", "paper"], cwd=tmp_path, check=True)
        text = subprocess.run(["pdftotext", "paper.pdf", "-"], cwd=tmp_path, capture_output=True, check=True).stdout
        words = re.sub(r"\s", "", text.decode())
        assert "gpt_4o&friends100%" in words
        assert r"\input{/etc/passwd}" in words
        assert ("U+6A21" in words) == (engine == "pdflatex")
