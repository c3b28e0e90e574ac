"""The command line as its users meet it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reeltalk.cli import app, run
from reeltalk.store.runs import SUMMARY_FIELDS


def test_import_validate_score_report(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench, run_folder, site = tmp_path / "bench", tmp_path / "run", tmp_path / "site"
    assert run(["import", "vdact", str(samples / "vdact"), str(bench)]) == 0
    assert "5 dialogues, 30 answers" in capsys.readouterr().out
    assert run(["validate", str(bench)]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
    answers = sorted(map(str, (samples / "vdact" / "results").glob("*.json")))
    arguments = ["--format", "vdact", "--metrics", "bleu,rouge_l,cider", "--out", str(run_folder)]
    assert run(["score", *answers, *arguments]) == 0
    rows = json.loads((run_folder / "summary.json").read_text(encoding="utf-8"))
    assert [set(row) for row in rows] == [set(SUMMARY_FIELDS)] * 12
    assert {row["model"] for row in rows} == {"careful-8f", "hasty-1f"}
    assert [row["metric"] for row in rows[:6]] == ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider"]
    assert all(row["n"] == 15 and row["value"] is not None for row in rows)
    assert all(row["videos"] < 4 and row["low"] is None and row["high"] is None for row in rows), "too few videos"
    assert rows[0]["signature"].startswith("vdact.answers|data:")
    items = [json.loads(line) for line in (run_folder / "scores" / "items.jsonl").read_text().splitlines()]
    assert len(items) == 30
    assert items[0]["item_id"] == "0900101/01"
    assert run(["report", str(run_folder), "--out", str(site)]) == 0
    assert (site / "index.html").is_file()
    assert len(list((site / "dialogues").glob("*.html"))) == 5


def test_a_benchmark_supplies_references_and_counts_what_is_missing(samples: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    run(["import", "vdact", str(samples / "vdact" / "dialogue.json"), str(bench)])
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text(encoding="utf-8"))
    for row in rows:
        row["ref_answer"] = "something else"
    (tmp_path / "some.json").write_text(json.dumps(rows[:9]), encoding="utf-8")
    arguments = ["--format", "vdact", "--metrics", "rouge_l", "--bench", str(bench)]
    assert run(["score", str(tmp_path / "some.json"), *arguments, "--out", str(tmp_path / "run")]) == 0
    info = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert (info["models"][0]["items"], len(info["models"][0]["missing"])) == (9, 6)
    answers = (tmp_path / "run" / "answers.jsonl").read_text(encoding="utf-8")
    assert "something else" not in answers
    assert "She is washing a mug in the kitchen sink." in answers


def test_answers_in_a_benchmark_are_scored_without_naming_a_format(samples: Path, tmp_path: Path) -> None:
    run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")])
    assert run(["score", str(tmp_path / "bench"), "--metrics", "rouge_l", "--out", str(tmp_path / "run")]) == 0
    info = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert [len(model["duplicates"]) for model in info["models"]] == [0, 1]
    assert info["models"][1]["duplicates"][0]["kept"] == "results/hasty-1f.json at $[1]"


def test_a_metric_that_cannot_run_is_unscored_with_its_reason(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ["--format", "vdact", "--metrics", "meteor,rouge_l", "--out", str(tmp_path / "run")]
    assert run(["score", str(samples / "vdact" / "results" / "careful-8f.json"), *arguments]) == 0
    rows = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert [(row["metric"], row["value"] is None, row["n"]) for row in rows] == [
        ("meteor", True, 0),
        ("rouge_l", False, 15),
    ]
    info = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert "needs Java" in info["unscored"][0]["reason"]
    captured = capsys.readouterr()
    assert "meteor is not scored: METEOR 1.5 needs Java" in captured.err
    assert "not scored" in captured.out
    arguments[3] = "meteor"
    assert run(["score", str(samples / "vdact" / "results" / "careful-8f.json"), *arguments, "--overwrite"]) == 1
    assert "warning: no metric could be scored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage: reeltalk COMMAND"),
        (["impor"], 'unknown command "impor". Did you mean "import"?'),
        (["import", "vdact"], "requires an argument"),
        (["import", "nothing", "a", "b"], "unknown format 'nothing'; known are avsd"),
        (["import", "vdact", "no/such/folder", "b"], "no such file or folder (no/such/folder); check the path"),
        (["validate", "no/such/folder"], "no/such/folder is not a benchmark"),
        (["score", "--out", "x"], "score needs at least one file"),
        (["score", "pyproject.toml", "--out", "x"], "--format must name its layout"),
        (["report", "--out", "x"], "report needs at least one run"),
        (["report", "tests"], "tests is not a run"),
    ],
)
def test_mistakes_get_one_paragraph_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    code = run(arguments)
    captured = capsys.readouterr()
    if not arguments:
        assert message in captured.out
        return
    assert code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_an_error_about_hostile_text_stays_one_printable_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"dial_id": "x\x1b[31m\nreeltalk: fine\n"}]))
    assert run(["import", "vdact", str(tmp_path), str(tmp_path / "bench")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\x1b" not in error
    assert not (tmp_path / "bench").exists()


def test_the_same_import_again_is_up_to_date(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["import", "vdact", str(samples / "vdact" / "dialogue.json"), str(tmp_path / "bench")]
    assert run(arguments) == 0
    assert run(arguments) == 0
    assert "is up to date" in capsys.readouterr().out
    other = ["import", "vdact", str(samples / "vdact" / "results"), str(tmp_path / "bench")]
    assert run(other) == 2
    assert "pass --overwrite" in capsys.readouterr().err
    assert run([*other, "--overwrite"]) == 0


def test_results_are_not_overwritten_unasked(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("important")
    score = ["score", str(samples / "vdact" / "results"), "--format", "vdact", "--metrics", "rouge_l"]
    assert run([*score, "--out", str(tmp_path / "mine")]) == 2
    assert run([*score, "--out", str(tmp_path / "mine"), "--overwrite"]) == 2
    assert run([*score, "--out", str(tmp_path / "run")]) == 0
    assert run([*score, "--out", str(tmp_path / "run"), "--overwrite"]) == 0
    report = ["report", str(tmp_path / "run"), "--out", str(tmp_path / "mine"), "--overwrite"]
    assert run(report) == 2
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "important"
    capsys.readouterr()


def test_help_lists_the_verbs_in_the_order_of_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    verbs = [verb for verb in ("import", "validate", "freeze", "export", "score", "report") if f"│ {verb} " in out]
    assert len(verbs) == 6
    assert sorted(verbs, key=lambda verb: out.index(f"│ {verb} ")) == verbs


def test_every_command_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in app:
        if command.startswith("-"):
            continue
        # A group of commands shows those; each of them shows an example.
        group = [[command, sub] for sub in app[command] if not sub.startswith("-")]
        for names in group or [[command]]:
            assert run([*names, "--help"]) == 0
            assert "Example: reeltalk" in capsys.readouterr().out, names


def test_a_closed_pipe_is_no_error(samples: Path, tmp_path: Path) -> None:
    run(
        [
            "score",
            str(samples / "vdact" / "results"),
            "--format",
            "vdact",
            "--metrics",
            "rouge_l",
            "--out",
            str(tmp_path / "r"),
        ]
    )
    command = [sys.executable, "-m", "reeltalk", "report", str(tmp_path / "r"), "--format", "csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate()
    assert b"Traceback" not in error


def test_videos_of_a_report_need_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path), "--media", "cut", "--out", str(tmp_path / "site")]) == 2
    assert "--media cut needs --bench" in " ".join(capsys.readouterr().err.split())
