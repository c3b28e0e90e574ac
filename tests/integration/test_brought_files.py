"""Damaged files that a user brings to a command: it ends in words, never in a traceback, and leaves the file as it is.

Each table of a benchmark and of a run, ratings of people, answers, facts about models, a project and a transcript.
12 mutations, 600 under `make test-full`, 3,000 for a release, drawn from a fixed seed.
"""

import csv
import random
import shutil
from pathlib import Path

import pytest
from reliability_page import Reliability

from file_damage import MUTATIONS
from reeltalk.cli import run

TRANSCRIPT = "1\n00:00:01,000 --> 00:00:02,500\nHe takes the cup.\n\n2\n00:00:03,000 --> 00:00:04,000\nThen he goes.\n"
TABLE = (
    "video,question,answer,asked_at_s,start_s,end_s,option_a,option_b,correct,type\n"
    "k,What does he take?,the cup,2.5,0,2,the cup,a ball,A,object\n"
    "k,Where does he go?,to the door,4,2,4,to the door,home,A,place\n"
    "m,Is it red?,yes,1,0,1,yes,no,A,colour\n"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of questions, two runs on it, and every file that goes with them."""
    folder = tmp_path_factory.mktemp("brought") / "world"
    folder.mkdir()
    (folder / "q.csv").write_text(TABLE)
    (folder / "models.toml").write_text('[blind]\nparameters_b = 8.8\nkind = "open"\nframes = 64\n')
    (folder / "answers.csv").write_text("id,answer\nk-01/01,the cup\nk-02/01,to the door\nm-01/01,yes\n")
    (folder / "speech.srt").write_text(TRANSCRIPT)
    (folder / "project.yaml").write_text("benchmark: bench\nevaluate:\n  models:\n    b: baseline:blind\n")
    assert run(["import", "qa", str(folder / "q.csv"), str(folder / "bench")]) == 0
    for name in ("blind", "constant"):
        asked = ["--model", f"baseline:{name}", "--out", str(folder / name)]
        assert run(["evaluate", str(folder / "bench"), *asked]) == 0
    assert run(["calibrate", str(folder / "blind"), "--sheet", str(folder / "human.csv")]) == 0
    with (folder / "human.csv").open(newline="") as stream:
        rows = [{**row, "rater": "Ada", "value": "3"} for row in csv.DictReader(stream)]
    with (folder / "human.csv").open("w", newline="") as stream:
        sheet = csv.DictWriter(stream, [*rows[0]])
        sheet.writeheader()
        sheet.writerows(rows)
    shutil.copytree(folder, folder.with_name("kept"))
    return folder


def commands(folder: Path, victim: Path) -> list[list[str]]:
    """The commands that read a file of the world, each with an output of its own."""
    bench, blind, other = (str(folder / name) for name in ("bench", "blind", "constant"))
    out = [str(folder / f"out{number}") for number in range(3)]
    found = {
        "q.csv": [["import", "qa", str(victim), out[0]], ["import", "qa", str(victim), out[1], "--fix"]],
        "models.toml": [["report", blind, "--about", str(victim), "--out", out[0]]],
        "answers.csv": [["evaluate", bench, "--model", f"answers:{victim}", "--out", out[0]]],
        "human.csv": [["calibrate", blind, "--human", str(victim), "--out", out[0]]],
        "project.yaml": [["run", str(victim), "--plan"]],
    }
    if victim.name in found:
        return found[victim.name]
    if victim.is_relative_to(folder / "bench"):
        return [
            ["validate", "--accept", bench],
            ["report", bench, "--out", out[0]],
            ["evaluate", bench, "--model", "baseline:blind", "--out", out[1]],
            ["freeze", bench, out[2], "--version", "1.0.0"],
        ]
    return [
        ["validate", "--accept", blind],
        ["report", blind, other, "--bench", bench, "--out", out[0]],
        ["compare", blind, other],
        ["calibrate", blind, "--sheet", f"{out[1]}.csv"],
        ["retry", blind],
    ]


def restore(folder: Path) -> None:
    """A run is repeated only where it was made, so the world is damaged in its place."""
    kept = folder.with_name("kept")
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(kept, folder)


def test_what_is_whole_is_read(world: Path) -> None:
    folder = world
    names = ("q.csv", "models.toml", "answers.csv", "human.csv", "project.yaml", "bench/videos.jsonl", "blind/run.json")
    for name in names:
        for words in commands(folder, folder / name):
            assert run(words) == 0, words
        restore(folder)


@pytest.mark.timeout(7200)
def test_a_damaged_file_ends_no_command_in_a_traceback(
    world: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    draw = random.Random("brought")
    tally = reliability("data", "damaged files of a user, in each command that reads them", "a traceback, or no word")
    folder = world
    inside = [path.relative_to(world) for path in world.rglob("*") if path.is_file() and path.stat().st_size]
    files = [path for path in inside if path.suffix in {".json", ".jsonl", ".csv", ".toml", ".yaml"}]
    draw.shuffle(files)
    for number in range(reliability.count(12, full=600, release=3000)):
        restore(folder)
        victim, mutate = folder / files[number % len(files)], draw.choice(MUTATIONS)
        victim.write_bytes(mutate(victim.read_bytes(), draw))
        for words in commands(folder, victim):
            tally.tried += 1
            told = f"{number}: {mutate.__name__} of {victim.relative_to(folder)}, {' '.join(words)}"
            try:
                code = run(words)
            except Exception as error:
                raise AssertionError(told) from error
            captured = capsys.readouterr()
            assert "Traceback" not in captured.err, f"{told}: {captured.err}"
            assert code in (0, 1, 2), told
            assert code == 0 or captured.err.strip() or captured.out.strip(), told
