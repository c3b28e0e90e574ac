"""Video files find the videos of an imported benchmark, and nothing else of it changes."""

import re
import shutil
import unicodedata
from pathlib import Path

import pytest
import sample_videos

from reeltalk.cli import run
from reeltalk.cli.terminal import ProgressBar
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import SPEECH, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_build.video.write import write_video


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    write_video(path, map(sample_videos.numbered_picture, range(20)), fps=10)
    return path


@pytest.fixture
def imported(tmp_path: Path, samples: Path) -> Path:
    assert run(["import", "svbench", str(samples / "svbench"), str(tmp_path / "benchmark")]) == 0
    return tmp_path / "benchmark"


def files_for(benchmark: Path, folder: Path, film: Path, *, ending: str = ".mp4", below: str = "") -> list[str]:
    """A copy of the film for each video but the last; gives all names of videos."""
    names = [str(video.id) for video in Benchmark.open(benchmark).read(VIDEOS)]
    for number, name in enumerate(names[:-1]):
        path = folder / below / f"{Path(name).name}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(film, path)
        with path.open("ab") as stream:
            # Files of different content, as real ones are.
            stream.write(bytes([number]) * 8)
    return names


def test_files_find_their_videos_wherever_they_lie(
    imported: Path, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = files_for(imported, tmp_path / "raw", film, below="part-1/deep")
    before = {name: (entry.stage, entry.parents) for name, entry in Benchmark.open(imported).manifest.files.items()}
    capsys.readouterr()
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    told = capsys.readouterr().out
    assert f"{len(names) - 1} attached" in told
    assert f"1 videos still have no file: {names[-1]}" in told
    opened = Benchmark.open(imported)
    videos = {str(video.id): video for video in opened.read(VIDEOS)}
    path = next((tmp_path / "raw").rglob(f"{names[0]}.mp4"))
    assert videos[names[0]].sha256 == hash_file(path)[0]
    assert opened.media.has(videos[names[0]].sha256 or "")
    assert videos[names[0]].duration_s is not None
    assert videos[names[-1]].sha256 is None
    # What import wrote is its work still, so that a second import finds nothing to do but what was added.
    assert {name: (entry.stage, entry.parents) for name, entry in opened.manifest.files.items()} == before
    assert run(["validate", str(imported)]) in (0, 1)
    manifest = (imported / "manifest.json").read_bytes()
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    assert f"0 attached, {len(names) - 1} there already, 1 without a file" in capsys.readouterr().out
    assert (imported / "manifest.json").read_bytes() == manifest


def test_a_file_of_another_content_than_stated_is_not_taken(
    imported: Path, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = files_for(imported, tmp_path / "raw", film)
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    shutil.rmtree(imported / "media")
    with (tmp_path / "raw" / f"{names[0]}.mp4").open("ab") as stream:
        stream.write(b"more")
    capsys.readouterr()
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 1
    assert "its content is another than the benchmark states" in capsys.readouterr().out


def test_two_files_of_one_name_are_told_and_neither_is_taken(
    imported: Path, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = files_for(imported, tmp_path / "raw", film, below="a")
    (tmp_path / "raw/b").mkdir()
    shutil.copy(film, tmp_path / "raw/b" / f"{names[0]}.mp4")
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    told = capsys.readouterr().out
    assert f"{names[0]}: 2 files have its name" in told
    assert f"{len(names) - 2} attached" in told
    # An exact path is no name that two files have.
    shutil.copy(film, tmp_path / "raw" / f"{names[0]}.mp4")
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    assert "1 attached" in capsys.readouterr().out


def test_files_that_cannot_belong_or_be_read_are_said(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/holiday.mp4").write_bytes(b"no video at all")
    assert run(["attach", str(imported), str(tmp_path / "other")]) == 2
    assert "none of 1 files belongs to a video" in capsys.readouterr().err
    name = next(iter(Benchmark.open(imported).read(VIDEOS))).id
    (tmp_path / "other" / f"{name}.mp4").write_bytes(b"no video at all")
    assert run(["attach", str(imported), str(tmp_path / "other")]) == 1
    told = capsys.readouterr().out
    assert "0 attached" in told
    assert f"rejected {name}: cannot be read: no container" in told
    assert run(["attach", str(imported)]) == 2


def test_what_was_looked_at_before_an_interruption_is_kept(
    imported: Path, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = files_for(imported, tmp_path / "raw", film)

    def interrupt(bar: ProgressBar, what: str, done: int, total: int, share: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ProgressBar, "show", interrupt)
        assert run(["attach", str(imported), str(tmp_path / "raw")]) == 130
    assert sum(video.sha256 is not None for video in Benchmark.open(imported).read(VIDEOS)) == 1
    capsys.readouterr()
    assert run(["attach", str(imported), str(tmp_path / "raw")]) == 0
    assert f"{len(names) - 2} attached, 1 there already" in capsys.readouterr().out


def test_a_release_is_refused_before_a_file_is_copied(
    imported: Path, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files_for(imported, tmp_path / "raw", film)
    assert run(["freeze", str(imported), str(tmp_path / "release"), "--version", "1.0.0"]) == 0
    assert run(["attach", str(tmp_path / "release"), str(tmp_path / "raw")]) == 2
    assert "is release 1.0.0, which does not change" in capsys.readouterr().err
    assert not list((tmp_path / "release").rglob("*.mp4"))
    assert not Benchmark.open(tmp_path / "release").media.names()


def test_transcripts_beside_the_files_come_along_once(
    imported: Path, film: Path, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = files_for(imported, tmp_path / "raw", film)
    cue = "1\n00:00:00,500 --> 00:00:01,500\n{}\n\n2\n00:00:01,800 --> 00:00:02,500\nThe end.\n"
    for name, words in (("de", "Guten Tag."), ("en", "Good day.")):
        (tmp_path / "raw" / f"{first}.{name}.srt").write_text(cue.format(words))
    arguments = ["attach", str(imported), str(tmp_path / "raw")]
    assert run([*arguments, "--strict"]) == 2
    assert "several languages, de, en" in capsys.readouterr().err
    assert run(arguments) == 1
    assert re.search(r"left out: .*several languages, de, en", capsys.readouterr().out)
    assert run([*arguments, "--speech-language", "en"]) == 0
    assert "2 utterances" in capsys.readouterr().out
    late = "WEBVTT\n\n00:01.000 --> 00:09.000\n<v Ann>Late.\n\n00:03.000 --> 00:04.000\nNo.\n"
    (tmp_path / "raw" / f"{second}.vtt").write_text(late)
    (tmp_path / "raw" / f"{first}.en.srt").write_text(cue.format("Another text."))
    assert run([*arguments, "--speech-language", "en"]) == 0
    assert "go on after the end of their videos, and their last lines are left out" in capsys.readouterr().out
    opened = Benchmark.open(imported)
    assert [(row.video_id, row.interval.end_s, row.line) for row in opened.read(SPEECH)] == [
        (first, 1.5, "Good day."), (first, 2.0, "The end."), (second, 2.0, "Ann: Late."),
    ]  # fmt: skip
    assert [str(finding) for finding in validate(opened) if finding.where.startswith("speech")] == []
    assert run(["report", str(imported), "--format", "text"]) == 0
    assert "speech: 3 utterances in 2 videos" in capsys.readouterr().out
    assert run(["import", "svbench", str(samples / "svbench"), str(imported)]) == 0
    assert "up to date" in capsys.readouterr().out


def test_names_in_either_unicode_form_are_one_and_two_files_of_them_are_not_guessed(
    film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    composed, apart = (unicodedata.normalize(form, "Küche.mp4") for form in ("NFC", "NFD"))
    (tmp_path / "q.csv").write_text(f"video,question,answer\n{composed},Who?,x\n{apart},Why?,y\n", encoding="utf-8")
    (tmp_path / "v").mkdir()
    shutil.copy(film, tmp_path / "v" / apart)
    command = ["import", "qa", str(tmp_path / "q.csv"), str(tmp_path / "b"), "--videos", str(tmp_path / "v")]
    assert run(command) == 0
    assert "1 videos, 2 dialogues, 1 videos attached" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "v" / composed).write_bytes(film.read_bytes() + b"more")
    assert run(command) == 1
    assert "Küche: 2 files have its name" in capsys.readouterr().out


def test_a_cut_off_video_is_not_said_to_be_missing(
    film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v/k.mp4").write_bytes(film.read_bytes()[:1000])
    (tmp_path / "v/empty.mp4").touch()
    (tmp_path / "q.csv").write_text("video,question,answer\nk.mp4,Who?,x\nempty.mp4,Why?,y\n", encoding="utf-8")
    assert run(["import", "qa", str(tmp_path / "q.csv"), str(tmp_path / "b"), "--videos", str(tmp_path / "v")]) == 1
    told = capsys.readouterr().out
    assert "'k.mp4', which q.csv:2 asks about, cannot be read: " in told
    assert "'empty.mp4', which q.csv:3 asks about, cannot be read: it is empty" in told
    assert "is not in" not in told
    assert run(["attach", str(tmp_path / "b"), str(tmp_path / "v")]) == 1
    assert "still have no file" not in capsys.readouterr().out
