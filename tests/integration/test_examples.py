"""The scripts of `examples/` run as written on a small filmed household, and say what they promise."""

import csv
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import willing_model
from notebook_cells import code_cells
from places import PYTHONPATH
from scripted_server import Body, Server, serve, words

from reeltalk import Benchmark, Run
from reeltalk.stages import (
    JudgeSettings,
    PlaySettings,
    attack,
    calibrate,
    compare,
    evaluate,
    import_layout,
    plan_evaluation,
)
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, LINKAGES, VIDEOS
from reeltalk.store.validate import validate

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "leaderboard.ipynb"
VDACT = ROOT / "tests" / "samples" / "vdact"


def example(name: str, *arguments: object) -> None:
    """Run a script as `python examples/NAME.py ARGUMENTS` does."""
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](*map(str, arguments))


def example_alone(name: str, *arguments: object) -> str:
    """What a script prints in a process of its own, whose packages need much memory."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def reply(body: Body) -> str:
    """A judge that gives the top of its scale, and a model that says the same."""
    assert words(body["messages"][-1])
    return "It is right. So rating=3"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(reply) as found:
        yield found


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "household"
    example("household", folder, 4)
    return folder


@pytest.fixture(scope="module")
def runs(household: Path) -> tuple[Path, Path]:
    """Runs of two baselines in mode dialogue."""
    for model in ("blind", "oracle"):
        example("evaluate", household, "oracle" if model == "oracle" else f"baseline:{model}", household.parent / model)
    return household.parent / "blind-dialogue", household.parent / "oracle-dialogue"


@pytest.fixture(scope="module")
def vdact(household: Path) -> Path:
    folder = household.parent / "vdact"
    import_layout("vdact", VDACT, folder)
    return folder


def test_household_films_videos_and_asks_about_them(household: Path) -> None:
    filmed = Benchmark.open(household)
    assert (filmed.rows(VIDEOS), filmed.rows(DIALOGUES)) == (4, 8)
    assert {video.split for video in filmed.read(VIDEOS)} == {"train", "test"}
    assert all(filmed.media.path(video.sha256 or "").is_file() for video in filmed.read(VIDEOS))


def test_evaluate_plays_two_modes_and_shows_wrong_answers(
    household: Path, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = {}
    for path in runs:
        run = Run.open(path)
        values.update({(row.model, row.metric): row.value for row in run.summary})
        assert run.info.settings["play"]["mode"] == "dialogue"
        assert (path.with_name(path.name.replace("dialogue", "single")) / "run.json").is_file()
    assert (values["oracle", "typed"] or 0) > (values["blind", "typed"] or 0)
    example("evaluate", household, "baseline:constant", household.parent / "constant")
    assert re.search(r"said: .+, reference: ", capsys.readouterr().out)


def test_compare_says_what_is_shown_and_what_a_plan_needs(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    example("compare", *runs)
    said = capsys.readouterr().out
    assert re.search(r"typed: \w+ less \w+\n  [+-][\d.]+ (?:\[|no interval)", said)
    assert "pilot: 2 videos" in said


def test_report_has_tables_for_a_paper(household: Path, runs: tuple[Path, Path], tmp_path: Path) -> None:
    example("report", household, tmp_path / "site", *runs)
    assert "<video" in "".join(page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html"))
    assert list((tmp_path / "site" / "tables").rglob("*.tex"))


def test_calibrate_writes_a_sheet_and_compares_with_what_people_wrote(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "ratings.csv"
    example("calibrate", "sheet", sheet, *runs)
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row |= {"rater": "Ada", "value": "5" if row["answer"] == row["references"] else "2"}
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    example("calibrate", "compare", sheet, *runs)
    said = capsys.readouterr().out
    assert f"correctness: {len(rows)} answers about 2 videos, by Ada" in said
    assert re.search(r"Typed answers: Spearman 0\.\d", said)
    shown = str(calibrate(*runs, human=[sheet]))
    assert shown.startswith(f"judges compared with {len(rows)} ratings by people\ncriterion")
    assert re.search(r"^correctness +Typed answers +\d+ +0\.\d\d", shown, re.MULTILINE)


def test_judge_goes_on_where_a_budget_stopped_it(
    runs: tuple[Path, Path], server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.count + server.preflights
    example("judge", runs[0], tmp_path / "judged", "tiny", server.base_url)
    said = capsys.readouterr().out
    assert "stopped: " in said
    assert "yes: 1.0, 0 unscored" in said
    told = re.search(r"asked: ([\d,]+) requests", said)
    assert told is not None
    after = server.count + server.preflights
    assert after - before == int(told[1].replace(",", "")) + 5, "what was judged first is not asked again"


def test_prompts_of_ones_own_are_signed(
    runs: tuple[Path, Path], server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("prompts", runs[0], tmp_path / "prompts", tmp_path / "judged", "tiny", server.base_url)
    said = capsys.readouterr().out
    assert "judge/lave: " in said
    assert "(yours)" in said
    assert "lave" in {row.metric for row in Run.open(tmp_path / "judged").summary}


def test_own_judge_signs_by_its_file(runs: tuple[Path, Path], tmp_path: Path) -> None:
    example("own_judge", runs[0], tmp_path / "brevity")
    row = next(row for row in Run.open(tmp_path / "brevity").summary if row.metric == "brevity")
    assert "python:brevity#" in row.signature


def test_profile_gives_credit_by_tags(
    household: Path, runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("profiles", household, runs[1], tmp_path / "rubric")
    assert re.search(r"^oracle +rubric-words\.\w+ +\d", capsys.readouterr().out, re.MULTILINE)


def test_graphs_answer_and_tell(household: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("graphs", household)
    said = capsys.readouterr().out
    assert re.search(r"\w+: [1-9]\d* times", said)
    assert re.search(r": [1-9]\d* events, [1-9]\d* of them told:\n  [A-Z][a-z]+ is in the ", said)


@pytest.fixture(scope="module")
def films(household: Path) -> Path:
    """A folder with the household's videos as plain files."""
    filmed, folder = Benchmark.open(household), household.parent / "films"
    folder.mkdir()
    for video in filmed.read(VIDEOS):
        shutil.copyfile(filmed.media.path(video.sha256 or ""), folder / f"{video.id}.mp4")
    return folder


def test_curate_says_what_was_kept_and_why_not(films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("curate", tmp_path / "kitchen", films)
    assert Benchmark.open(tmp_path / "kitchen").rows(CLIPS)
    assert "kept: False" in capsys.readouterr().out
    assert (tmp_path / "kitchen-site" / "index.html").is_file()


def test_scale_makes_the_tables_of_one_process(films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("scale", tmp_path / "two", "local", next(films.iterdir()))
    told = re.search(r"content (\w+)", capsys.readouterr().out)
    assert told is not None
    kept = Benchmark.open(tmp_path / "two")
    assert kept.rows(CLIPS)
    assert kept.manifest.content_hash == told[1]


def test_doctor_finds_a_file_that_is_gone(household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "household"
    shutil.copytree(household, copy)
    example("evaluate", copy, "baseline:constant", tmp_path / "constant")
    example("doctor", copy, tmp_path / "constant-dialogue")
    assert "it was made on the current" in capsys.readouterr().out
    next(path for path in (copy / "media").rglob("*") if path.is_file()).unlink()
    with pytest.raises(SystemExit):
        example("doctor", copy)
    assert "problem " in capsys.readouterr().out


def test_object_stores_hold_the_media_in_a_folder_too(
    household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "household"
    shutil.copytree(household, copy)
    example("object_stores", copy, (tmp_path / "share").as_uri())
    assert re.search(r"^[1-9]\d* files written and read back", capsys.readouterr().out, re.MULTILINE)
    assert {path.name for path in (tmp_path / "share").iterdir()} >= {
        video.sha256 for video in Benchmark.open(copy).read(VIDEOS)
    }


def test_project_plays_again_only_what_changed(
    household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("project", household, tmp_path / "runs", tmp_path / "site")
    assert "nothing changed" not in capsys.readouterr().out
    example("project", household, tmp_path / "runs", tmp_path / "site")
    assert capsys.readouterr().out.count("nothing changed") == 3
    assert (tmp_path / "site" / "index.html").is_file()


def test_stream_asks_while_the_video_goes_on(household: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filmed = Benchmark.open(household)
    video = next(filmed.read(VIDEOS))
    example("stream", filmed.media.path(video.sha256 or ""), f"mini:{ROOT / 'tests' / 'mini_sample'}")
    said = capsys.readouterr().out
    assert re.search(r"^ 20\.0 s  .+ MB kept\)\n 40\.0 s  ", said)


def test_score_and_extend_released_answers(
    household: Path, vdact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Benchmark.open(vdact).rows(DIALOGUES) == 5
    answers = sorted((VDACT / "results").glob("*.json"))
    example("score", "vdact", tmp_path / "released", *answers)
    assert "hasty-1f: 15 answers, 1 duplicates" in capsys.readouterr().out
    example("extend", household, "vdact", tmp_path / "rooms", *answers)
    assert "same_rooms" in Run.open(tmp_path / "rooms").info.metrics
    assert (household / "notes" / "words.txt").is_file()


def test_published_and_reproduce_judge_by_the_papers_protocol(
    vdact: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example("published", vdact, "tiny", tmp_path / "played", server.base_url)
    assert "vdact modified (frames.policy" in capsys.readouterr().out
    example("reproduce", vdact, VDACT / "results" / "careful-8f.json", tmp_path / "judged", "tiny", server.base_url)
    assert {"vdeval", "vdeval.compat"} <= {row.metric for row in Run.open(tmp_path / "judged").summary}


def test_tag_proposes_what_a_person_should_look_at(vdact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(willing_model.reply) as server:
        example("tag", vdact, "tiny", server.base_url)
        assert "tag: 15 turns tagged" in capsys.readouterr().out
        example("tag", vdact, "tiny", server.base_url)
        assert "0 turns tagged" in capsys.readouterr().out


def test_review_and_release_a_constructed_benchmark(
    filmed_household: Path,
    constructed_household: Path,
    copy_of: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    full: bool,
) -> None:
    # A second call passes over what is done, and says of it what a first one does.
    household = copy_of(filmed_household if full else constructed_household)
    example("construct", household)
    assert re.search(r"^construct: .+ linkages, ", capsys.readouterr().out, re.MULTILINE)
    built = Benchmark.open(household)
    assert built.rows(CHAINS)
    assert built.rows(LINKAGES)
    example("review", household, tmp_path / "review")
    assert (tmp_path / "review" / "units.jsonl").is_file()
    example("release", household, tmp_path / "release")
    said = capsys.readouterr().out
    assert "it stays as it is: " in said
    assert "0 findings in the release" in said


@pytest.mark.slow
def test_demo_builds_a_household_of_any_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("demo", tmp_path / "little", 2)
    assert str(tmp_path / "little" / "site" / "index.html") in capsys.readouterr().out
    assert len(list((tmp_path / "little" / "runs").glob("*/run.json"))) == 2


@pytest.mark.slow
def test_a_mini_is_trained_and_exported(filmed_household: Path, tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("training needs torch")
    said = example_alone("train_mini", filmed_household, tmp_path / "mini", 3, 0.0001)
    assert f"reeltalk-mini: {tmp_path / 'mini' / 'model'}, " in said
    weights = sum(path.stat().st_size for path in (tmp_path / "mini" / "model").glob("*.onnx"))
    assert 1_000_000 < weights <= 8_000_000


def test_own_questions_become_a_benchmark(household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "videos").mkdir()
    for number, film in enumerate(sorted((household / "media").iterdir())[:2]):
        shutil.copy(film, tmp_path / "videos" / f"film-{number}.mp4")
    table = tmp_path / "questions.csv"
    table.write_text("video,question,answer\nfilm-0.mp4,Who is there?,a woman\nfilm-1.mp4,What is blue?,the mug\n")
    example("own_questions", table, tmp_path / "videos", tmp_path / "mine", tmp_path / "blind")
    assert "import qa: 2 videos, 2 dialogues, 2 videos attached" in capsys.readouterr().out
    assert len((tmp_path / "mine-questions.jsonl").read_text(encoding="utf-8").splitlines()) == 2


VIDEOS_OF_NOTEBOOK = "scenarios=12, houses=12, test_houses=6"
SHORT = ("max_duration_s=90", "min_duration_s=40, max_duration_s=60")


def test_the_notebook_runs_from_top_to_bottom_and_shows_small_tables(tmp_path: Path, full: bool) -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    # For the full counts as many videos of the test split as the notebook has: two tell no models apart.
    videos = "scenarios=7, houses=7, test_houses=6" if full else "scenarios=3, houses=3, test_houses=2"
    for written, smaller in ((VIDEOS_OF_NOTEBOOK, videos), SHORT):
        assert text.count(written) == 1
        text = text.replace(written, smaller)
    notebook = tmp_path / NOTEBOOK.name
    notebook.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "notebook_cells.py"), str(notebook)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(shown) == len(code_cells(NOTEBOOK)) == 7
    tables = [cell["html"] for cell in shown if "html" in cell]
    assert len(tables) == 5
    assert max(map(len, tables)) < 6000
    *_, run, comparison, board = tables
    assert "Typed answers" in run
    assert ">blind − oracle</td>" in comparison
    assert "oracle is better" in comparison or not full
    assert re.search(r">oracle</td><td>\d+\.\d+" + (r" \[" if full else ""), board)
    assert shown[-1]["text"].endswith("index.html')")


def test_the_notebook_is_kept_without_outputs() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells(NOTEBOOK))


def test_a_run_prints_as_the_command_ends(runs: tuple[Path, Path], household: Path, tmp_path: Path) -> None:
    settings = Run.open(runs[0]).info.settings
    done = evaluate(
        Benchmark.open(household), model="baseline:blind", out=tmp_path / "blind", play=PlaySettings(**settings["play"])
    )
    lines = str(done).splitlines()
    assert "blind (baseline)" in str(done)
    assert f"run: {done.run.path}" in lines
    assert len(lines) <= 25


def test_results_print_as_one_screen(runs: tuple[Path, Path], household: Path) -> None:
    compared = compare(*runs, models=("blind", "oracle"))
    assert "blind − oracle" in str(compared)
    planned = plan_evaluation(Benchmark.open(household), model="baseline:blind")
    attacked = attack(JudgeSettings(protocols=("typed",)), every=50)
    found = validate(Benchmark.open(household))
    opened = Benchmark.open(household)
    for value in (compared, compared.board, Run.open(runs[0]), opened, planned, attacked, attacked[0], found):
        lines = str(value).splitlines()
        assert 0 < len(lines) <= 25
        assert max(map(len, lines)) <= 100
        assert len(repr(value)) < 200
        assert value._repr_html_().startswith("<div>")
