"""The first example of the page on streaming: it prints what the page says, and the facts of the film say that too."""

import io
import sys
from pathlib import Path

import pytest
from doc_pages import blocks_of, commands_of
from places import ROOT

from reeltalk.cli import run
from reeltalk.language.answer_reading import read_answer
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, VIDEOS

PAGE = ROOT / "packages" / "reeltalk-streaming" / "docs" / "how-to" / "stream.md"


@pytest.mark.timeout(300)
def test_the_first_example_answers_its_questions_rightly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [first, *_] = blocks_of(PAGE)
    film, talk = commands_of(first)
    monkeypatch.chdir(tmp_path)
    assert run(film) == 0
    asked = first.text.split("printf '")[1].split("'")[0].encode().decode("unicode_escape")
    monkeypatch.setattr(sys, "stdin", io.StringIO(asked))
    capsys.readouterr()
    assert run(talk) == 0
    said = capsys.readouterr().out
    assert said == first.text[first.text.index("[0:31.0]") :]

    # What it says, the facts say: the key of a question about the same, and the people of the film.
    folder = film[film.index("--into") + 1]
    assert run(["construct", folder, "--steps", "chains"]) == 0
    benchmark = Benchmark.open(Path(folder))
    turns = [turn for chain in benchmark.read(CHAINS) for turn in chain.turns]
    [key] = [turn.key for turn in turns if turn.key and turn.key.type == "place" and turn.asked_at_s == 31.4]
    _, put, _, people = (line.partition("] ")[2] for line in said.splitlines())
    assert read_answer("Where does the man put the cupcake?", key, put).right
    [video] = benchmark.read(VIDEOS)
    assert f"{len(video.extra['people'])} people".replace("2", "two") in people
