"""Subtitles beside a filmed video reach the writer, the judge and the model that answers, each up to its moment."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import scripted_vision
from page_world import World
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.evaluation.playing.script import make_scripts
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.schema.intervals import Interval
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, SPEECH
from reeltalk.store.validate import validate

WORDS = ("apricot", "bassoon", "cormorant", "dulcimer", "elderberry", "flugelhorn")
"""One word is spoken in each shot of 11 s, and occurs nowhere else."""


def subtitles() -> str:
    cues = [f"{n + 1}\n00:00:{11 * n + 2:02d},000 --> 00:00:{11 * n + 4:02d},500\nAnna says {word}.\n"
            for n, word in enumerate(WORDS)]  # fmt: skip
    return "\n".join([*cues, "7\n00:02:00,000 --> 00:02:01,000\nSubtitles by somebody.\n"])


@pytest.fixture(scope="module")
def curated(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spoken")
    raw = folder / "raw"
    raw.mkdir()
    shutil.copy(next(iter(sorted(world.made("raw").glob("*.mp4")))), raw / "kitchen.mp4")
    (raw / "kitchen.en.srt").write_text(subtitles())
    assert run(["curate", str(raw), "--into", str(folder / "bench"), "--workers", "1"]) == 0
    return folder / "bench"


@pytest.fixture(scope="module")
def constructed(curated: Path) -> tuple[Path, list[Body]]:
    """The benchmark with chains, and the requests for them."""
    folder = curated.with_name("constructed")
    shutil.copytree(curated, folder)
    options = ["--writer", "vision-1", "--judge", "vision-2", "--frames", "2"]
    options += [word for step in ("chains", "linkages", "paths") for word in ("--steps", step)]
    with serve(scripted_vision.reply) as server:
        assert run(["construct", str(folder), *options, "--base-url", server.base_url]) == 0
        return folder, server.requests


def spoken(text: str) -> set[str]:
    return {word for word in WORDS if word in text}


def ended(end_s: float) -> set[str]:
    return {word for n, word in enumerate(WORDS) if 11 * n + 4.5 <= end_s}


def test_the_table_holds_what_is_said(curated: Path) -> None:
    benchmark = Benchmark.open(curated)
    rows = list(benchmark.read(SPEECH))
    assert [row.text for row in rows] == [f"Anna says {word}." for word in WORDS]
    assert rows[1].interval == Interval(start_s=13.0, end_s=15.5)
    assert [str(finding) for finding in validate(benchmark)] == []


def test_another_transcript_is_read_by_the_next_run(
    curated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, folder = tmp_path / "raw", tmp_path / "bench"
    shutil.copytree(curated.with_name("raw"), raw)
    arguments = ["curate", str(raw), "--into", str(folder), "--workers", "1"]
    assert run(arguments) == 0
    assert run(arguments) == 0
    assert "nothing changed" in capsys.readouterr().out
    path = raw / "kitchen.en.srt"
    path.write_text(path.read_text().replace("apricot", "aubergine"))
    assert run(arguments) == 0
    told = capsys.readouterr().out
    assert "6 utterances" in told
    assert re.search(r"kitchen\.en\.srt: 1 lines begin after the end of the video", told)
    assert next(Benchmark.open(folder).read(SPEECH)).text == "Anna says aubergine."
    assert run([*arguments, "--no-speech"]) == 0
    assert list(Benchmark.open(folder).read(SPEECH)) == []


def test_writer_and_judge_are_told_what_is_said_in_the_clip_alone(constructed: tuple[Path, list[Body]]) -> None:
    folder, requests = constructed
    clips = [clip.interval for clip in Benchmark.open(folder).read(CLIPS) if clip.interval is not None]
    assert len(clips) > 1
    expected = [ended(clip.end_s) - ended(clip.start_s) for clip in clips]
    assert set().union(*expected) == set(WORDS)
    shown: dict[str, list[set[str]]] = {"vision-1": [], "vision-2": []}
    for body in requests:
        text = "\n".join(map(words, body["messages"]))
        name = body["response_format"]["json_schema"]["name"]
        # Links and their rewriting show two clips, and a scene may be of several.
        if "pictures in the order of time" in text and not re.search("Rewrite|Link|Suitability", name):
            shown[body["model"]].append(spoken(text))
            for word in spoken(text):
                n = WORDS.index(word)
                assert f"{11 * n + 2:.1f}–{11 * n + 4.5:.1f} s Anna says {word}." in text
    for model, found in shown.items():
        assert {frozenset(one) for one in found} == {frozenset(one) for one in expected}, model


@pytest.mark.parametrize("mode", ["dialogue", "single", "streaming"])
def test_the_model_that_answers_knows_the_words_up_to_the_question(
    constructed: tuple[Path, list[Body]], mode: Literal["dialogue", "single", "streaming"], tmp_path: Path
) -> None:
    folder, _ = constructed
    scripts = make_scripts(Benchmark.open(folder).content(), PlaySettings(mode=mode, only="all"), limit=1)
    moments = [step.asked_at_s for script in scripts for step in script.steps]
    assert len(set(moments)) > 1
    arguments = [
        "evaluate",
        str(folder),
        "--model",
        "m",
        "--mode",
        mode,
        "--frames",
        "1",
        "--limit",
        "1",
        "--only",
        "all",
    ]
    for option in ("--subtitles", "--no-subtitles"):
        out = tmp_path / option.strip("-")
        with serve(lambda body: "A mug.") as server:
            asking = ["--base-url", server.base_url, "--connections", "1", "--metrics", "rouge_l", "--out", str(out)]
            assert run([*arguments, option, *asking]) == 0
            asked = [[words(message) for message in body["messages"]] for body in server.requests]
        for texts, moment_s in zip(asked, moments, strict=True):
            known = ended(moment_s or 0) if option == "--subtitles" else set()
            assert spoken("\n".join(texts)) == spoken(texts[-1]) == known
        signed = json.dumps(json.loads((out / "run.json").read_text()))
        assert f'["subtitles", "{"yes" if option == "--subtitles" else "no"}"]' in signed


def test_a_model_that_reads_no_speech_refuses_it(
    constructed: tuple[Path, list[Body]],
    samples: Path,
    tmp_path: Path,
    copy_of: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = copy_of(samples.parent / "mini_sample")
    known = folder / "tokenizer.json"
    known.write_text(known.read_text(encoding="utf-8").replace('"<h>"', '"<other>"'), encoding="utf-8")
    arguments = ["evaluate", str(constructed[0]), "--model", f"mini:{folder}", "--subtitles", "--only", "all"]
    assert run([*arguments, "--out", str(tmp_path / "run")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "was trained on pictures and questions alone and reads no speech; give --no-subtitles" in told
