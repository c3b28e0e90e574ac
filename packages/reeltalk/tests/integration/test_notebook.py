"""`reeltalk.evaluate` and `reeltalk.compare`: every kind of model, results that show themselves, and going on."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_videos import write_grey_film

import reeltalk
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.next_steps import next_steps
from reeltalk.analysis.standings import find_standings
from reeltalk.errors import SettingError
from reeltalk.stages import import_questions


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    rows = ["video,question,answer,type"]
    (folder / "videos").mkdir()
    for number in range(5):
        write_grey_film(folder / "videos" / f"v{number}.mp4", 40 * number)
        rows += [f"v{number}.mp4,What is it?,a mug,thing", f"v{number}.mp4,Where is it?,on the table,place"]
    (folder / "questions.csv").write_text("\n".join(rows), encoding="utf-8")
    import_questions(folder / "questions.csv", folder / "mine", videos=folder / "videos")
    return folder / "mine"


class Mug:
    def answer(self, frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> str:
        return "a mug" if frames and frames[0].ndim == 3 else "nothing"


class Later:
    name = "later"

    async def answer(self, frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> str:
        return "on the table"


def table(frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> str:
    return "on the table"


@pytest.mark.parametrize(("model", "name"), [(Mug(), "Mug"), (Mug, "Mug"), (Later(), "later"), (table, "table")])
def test_any_kind_of_model(benchmark: Path, tmp_path: Path, model: object, name: str) -> None:
    done = reeltalk.evaluate(benchmark, model, tmp_path / "run", progress=False)
    assert done.value("match") == 50
    assert set(done.summary["model"]) >= {name}
    assert done.frame().filter(pl.col("measure") == "match").height >= 10


def test_a_run_goes_by_the_code_of_its_model(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = reeltalk.evaluate(str(benchmark), Mug)
    assert "playing" in capsys.readouterr().err
    again = reeltalk.evaluate(reeltalk.Benchmark.open(benchmark), Mug(), progress=False)
    assert again.path == first.path
    assert capsys.readouterr().err == ""
    other = reeltalk.evaluate(benchmark, table, progress=False)
    assert other.path != first.path
    assert first.path.parent.name == other.path.parent.name == "runs"


def test_results_show_themselves(benchmark: Path, tmp_path: Path) -> None:
    one = reeltalk.evaluate(benchmark, Mug, tmp_path / "one", progress=False)
    two = reeltalk.evaluate(benchmark, Later, tmp_path / "two", progress=False)
    both = reeltalk.compare(one, tmp_path / "two", metrics=("match",))
    assert both.frame().to_dicts()[0]["difference"] == 0
    assert "<table>" in both._repr_html_()
    assert "<table>" in one._repr_html_()
    for plot in (both.plot(), one.plot(), one.plot("profile")):
        assert plot._repr_svg_().startswith("<svg xmlns=")
        assert "var(--" not in plot.svg
    assert "later" in two.plot().svg
    assert both.plot().svg.count("Mug") == one.plot().svg.count("Mug")
    both.plot().save(tmp_path / "board.png")
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingError, match=r"saved as \.svg"):
        both.plot().save(tmp_path / "board.gif")


def test_no_command_of_a_report_names_a_function_of_a_notebook(benchmark: Path, tmp_path: Path) -> None:
    def blank(frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> str:
        return "black" if "What" in question else ""

    done = reeltalk.evaluate(benchmark, blank, tmp_path / "run", progress=False)
    blind = reeltalk.evaluate(benchmark, "baseline:blind", tmp_path / "blind", progress=False)
    found = find_standings(build_leaderboard([done.run, blind.run]))
    steps = next_steps(found, bench=benchmark, turns=10)
    assert any(step.title == "Find out what blank sees." for step in steps)
    assert not any("given" in step.command for step in steps)


def test_what_is_no_model_is_said_before_anything_is_played(benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="model is int: give a name, a function"):
        reeltalk.evaluate(benchmark, 3, tmp_path / "run")
    with pytest.raises(SettingError, match=r"does not take \(frames, history, question\)"):
        reeltalk.evaluate(benchmark, lambda question: "x", tmp_path / "run", progress=False)
    assert not (tmp_path / "run" / "run.json").exists()


def test_the_verbs_of_a_notebook_are_imported_fast() -> None:
    code = "import reeltalk, time; reeltalk.evaluate, reeltalk.compare; import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
