"""Goldens of benchmarks that are imported, played, judged and compared, without films and without a network."""

import contextlib
import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import golden_files as files
from golden_files import SHARED, WORK, command
from golden_inputs import Models, draw, say, write_choices, write_svbench
from scripted_server import serve

SAMPLES: Final = files.ROOT / "tests" / "samples"
LAYOUTS: Final = ("svbench", "mt-video-bench-v1", "mt-video-bench-v2", "vdact")
BASELINES: Final = ("blind", "constant", "ngrams")
MODES: Final = ("dialogue", "streaming")
NO_FRAMES: Final = ("--policy", "none")
READ: Final = ("metric", "group", "first", "second", "first_value", "second_value", "difference", "low", "high",
               "corrected_p", "items", "wins", "ties", "losses")  # fmt: skip
"""What is written out of a comparison."""


@cache
def imported(name: str) -> Path:
    """A benchmark from a sample, or from a release that is made here."""
    folder = WORK / "imported" / name
    if name == "films":
        source, layout = write_svbench(WORK / "releases" / name), "svbench"
    elif name == "choices":
        source, layout = write_choices(WORK / "releases" / name), "dramaqa"
    else:
        source, layout = SAMPLES / name, name.removesuffix("-v1").removesuffix("-v2")
    command("import", layout, source, folder, allowed=(0, 1))
    return folder


def layouts() -> dict[str, Any]:
    """Samples of published layouts, read and written again, and the official scores and answers that they hold."""
    found: dict[str, Any] = {}
    for name in LAYOUTS:
        bench, out = imported(name), WORK / "exported" / name
        layout = name.removesuffix("-v1").removesuffix("-v2")
        command("export", layout, bench, out, allowed=(0, 1))
        found[name] = {"tables": files.benchmark(bench), "written again": files.export(out)}
    scored = WORK / "layouts-scored"
    answers = sorted((SAMPLES / "vdact" / "results").glob("*.json"))
    command("score", *answers, "--format", "vdact", "--metrics", "bleu,rouge_l,cider,token_f1,exact_match,similarity",
            "--out", scored)  # fmt: skip
    found["vdact"]["scored"] = files.run(scored)
    compat = WORK / "layouts-compat"
    with served() as (models, judge):
        command("judge", answers[0], "--format", "vdact", "--bench", imported("vdact"), "--protocols", "vdeval",
                "--compat", *judge, "--out", compat, allowed=(0, 1))  # fmt: skip
        found["vdact"]["beside the official script"] = files.run(compat) | {"asked": models.seen()}
    return found


def vdact() -> dict[str, Any]:
    """VDAct's published graphs, dialogues and answers: what is read, counted and scored."""
    release = SHARED / "data" / "vdact"
    bench, scored = WORK / "imported" / "vdact-release", WORK / "vdact-scored"
    command("import", "vdact", release, bench, allowed=(0, 1))
    answers = sorted((release / "results").glob("test-videollama2-*8f.json"))
    command("score", *answers, "--format", "vdact", "--metrics", "bleu,rouge_l,cider", "--out", scored)
    return {
        "tables": files.benchmark(bench),
        "counts": files.plain(command("report", bench, "--format", "text")).splitlines(),
        "scored": files.run(scored),
    }


@contextlib.contextmanager
def served() -> Iterator[tuple[Models, tuple[str, ...]]]:
    """A server with a judge; what it saw, and the options that name it."""
    models = Models()
    with serve(models.reply) as server:
        yield models, ("--judge", "judge", "--judge-base-url", server.base_url)


def played(out: Path, bench: Path, model: str, *options: str) -> dict[str, Any]:
    """A run of a model, without pictures."""
    given = [bench, "--model", model, *NO_FRAMES, *options, "--out", out]
    command("evaluate", *given, allowed=(0, 1))
    return files.run(out)


def answered(name: str, bench: Path, mode: str, *options: str) -> str:
    """A model that answers the questions of a benchmark by the words of each, in a file; as an option names it.

    Nothing tells how long it took, which would stand in reports.
    """
    questions, answers = WORK / f"questions/{name}-{mode}.jsonl", WORK / f"answers/{mode}/{name}.jsonl"
    for path in (questions, answers):
        path.parent.mkdir(parents=True, exist_ok=True)
    command("export", "questions", bench, questions, "--mode", mode, *options)
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    said = ({field: row[field] for field in ("unit_id", "turn_index")} | {"text": say(name, row)} for row in rows)
    answers.write_text("\n".join(map(json.dumps, said)) + "\n", encoding="utf-8")
    return f"answers:{answers}"


@cache
def judged() -> dict[str, Any]:
    """Runs of three baselines and a scripted model in both modes, by every protocol whose keys the benchmark has."""
    found: dict[str, Any] = {}
    films, choices = imported("films"), imported("choices")
    with served() as (models, judge):
        for mode in MODES:
            scripted = answered("scripted", films, mode)
            for model in (*(f"baseline:{name}" for name in BASELINES), scripted):
                name = "scripted" if model == scripted else model.removeprefix("baseline:")
                found[f"films, {mode}, {name}"] = played(
                    WORK / f"runs/{name}-{mode}", films, model, "--mode", mode, *judge,
                    "--protocols", "clair,gpt-score,lave,llm-acc,rubric,svbench",
                    "--metrics", "bleu,rouge_l,token_f1", "--null-units", "1",
                )  # fmt: skip
        found["films, asked"] = models.seen()
    for name in ("scripted", "other"):
        found[f"choices, {name}"] = played(
            WORK / f"runs/choices-{name}", choices, answered(name, choices, "single", "--split", "all"),
            "--mode", "single", "--protocols", "choice,cogme", "--metrics", "none", "--split", "all",
        )  # fmt: skip
    with served() as (models, judge):
        for name, bench, protocol, *options in (
            ("mt-video-bench", "mt-video-bench-v2", "checklist"),
            ("vdact", "vdact", "vdeval", "--judge-summary", "none"),
        ):
            found[f"{name}, {protocol}"] = played(
                WORK / f"runs/{protocol}", imported(bench), "model", "--base-url", judge[-1], *judge,
                "--protocols", protocol, "--metrics", "rouge_l", "--split", "all", "--compat", *options,
            )  # fmt: skip
        found["samples, asked"] = models.seen()
    for preset, bench in (("svbench", "svbench"), ("mt-video-bench", "mt-video-bench-v1"), ("vdact", "vdact")):
        with served() as (models, judge):
            out = WORK / f"runs/preset-{preset}"
            found[f"preset {preset}"] = played(out, imported(bench), "baseline:constant", "--preset", preset,
                                               "--split", "all", "--metrics", "rouge_l", *judge)  # fmt: skip
            found[f"preset {preset}"] |= {"asked": models.seen()}
    return found


def judging() -> dict[str, Any]:
    """Answers, scores and totals by every protocol, and the rules that need no judge."""
    rules = {
        f"films, {mode}, rules": played(
            WORK / f"runs/rules-{mode}", imported("films"), "baseline:history", "--mode", mode,
            "--protocols", "match,rubric-words", "--metrics", "exact_match,token_f1,cider",
        )
        for mode in MODES
    }  # fmt: skip
    return judged() | rules


def analysis() -> dict[str, Any]:
    """Runs compared with each other and with people, profiles, and the texts of reports."""
    judged()
    runs = {mode: [WORK / f"runs/{name}-{mode}" for name in (*BASELINES, "scripted")] for mode in MODES}
    choices = [WORK / f"runs/choices-{name}" for name in ("scripted", "other")]
    found: dict[str, Any] = {}
    for mode in MODES:
        compared = json.loads(command("compare", *runs[mode], "--format", "json", allowed=(0, 1)))
        found[f"compared, {mode}"] = comparison(compared)
    found["compared by tag"] = comparison(json.loads(command("compare", *choices, "--by", "cogme.thinking",
                                                             "--format", "json", allowed=(0, 1))))  # fmt: skip
    found["power"] = files.plain(command("compare", *runs["dialogue"][:2], "--power", "--metrics", "rouge_l",
                                         allowed=(0, 1))).splitlines()  # fmt: skip
    found["calibrated"] = calibrated(runs["dialogue"])
    sites = {"dialogue": [*runs["dialogue"]], "streaming": [*runs["streaming"]], "choices": choices}
    for name, shown in sites.items():
        out = WORK / f"sites/{name}"
        command("report", *shown, "--out", out)
        found[f"report, {name}"] = files.site(out, "index.html", *(["profiles.html"] if name == "choices" else []))
        found[f"leaderboard, {name}"] = files.plain(command("report", *shown, "--format", "markdown")).splitlines()
    return found


def comparison(compared: Any) -> Any:
    """All values of a comparison, as rows with hashes of columns, and its differences as people read them."""
    rows = compared if isinstance(compared, list) else next(v for v in compared.values() if isinstance(v, list))
    return {"table": f"{len(rows)} rows: " + " ".join(f"{k}={v}" for k, v in files.columns(files.even(rows)).items()),
            "rows": [" ".join(f"{k}={files.number(v) if isinstance(v, float) else v}" for k, v in row.items()
                              if k in READ) for row in files.even(rows)]}  # fmt: skip


def calibrated(runs: list[Path]) -> dict[str, Any]:
    """A blinded sheet, filled in by two people by a rule, and the agreement of judges and metrics with them."""
    sheet, out = WORK / "sheet.csv", WORK / "calibration"
    command("calibrate", *runs, "--sheet", sheet, "--items", "60")
    with sheet.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    people = []
    for name in ("Ann", "Ben"):
        people.append(WORK / f"{name}.csv")
        with people[-1].open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            for number, row in enumerate(rows):
                writer.writerow(row | {"rater": name, "value": str(1 + draw(name, number) % 5)})
    human = [word for path in people for word in ("--human", path)]
    command("calibrate", *runs, *human, "--scale", "1:5", "--resamples", "200", "--out", out, allowed=(0, 1))
    return {
        "sheet": f"{len(rows)} rows: "
        + " ".join(f"{k}={v}" for k, v in files.columns([files.even(row) for row in rows]).items()),
        "judges": {
            f"{one['criterion']} {judge['name']}": " ".join(f"{k}={v}" for k, v in files.columns([judge]).items())
            for one in files.even(json.loads((out / "calibration.json").read_text(encoding="utf-8")))["dimensions"]
            for judge in one["judges"]
        },
        "page": files.site(out, "calibration.html"),
    }
