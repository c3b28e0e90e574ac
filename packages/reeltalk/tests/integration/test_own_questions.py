"""A folder of videos and a table of questions: imported, evaluated, answered by a script, exported again."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from places import TESTS

from reeltalk import Benchmark, Run
from reeltalk.cli import run
from reeltalk.schema.answers import NOT_IN_SOURCE, SAYS_NONE
from reeltalk.store.tables import DIALOGUES, VIDEOS

HEAD = ["video", "question", "answer", "dialogue", "asked_at_s", "type", "annotator"]


@pytest.fixture
def place(filmed_household: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two videos, and a table with a dialogue of two turns and a single question."""
    (tmp_path / "videos").mkdir()
    films = sorted((filmed_household / "media").iterdir())
    for name, film in zip(("kitchen", "street"), films, strict=False):
        shutil.copy(film, tmp_path / "videos" / f"{name}.mp4")
    rows = [
        ["kitchen.mp4", "What does she take?", "the mug", "d1", "4", "object", "Ana"],
        ["", "Where does she put it?", "on the table", "d1", "9", "place", "Ana"],
        ["street", "Who comes in?", "a woman", "", "", "person", "Ben"],
    ]
    with (tmp_path / "questions.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([HEAD, *rows])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_table_to_a_report(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "qa", "questions.csv", "mine", "--videos", "videos"]) == 0
    assert "import qa: 2 videos, 2 dialogues, 2 videos attached" in capsys.readouterr().out
    assert run(["evaluate", "mine", "--model", "baseline:blind", "--out", "runs/blind", "--metrics", "rouge_l"]) == 0
    assert run(["report", "runs/blind", "--bench", "mine", "--out", "site"]) == 0
    assert (place / "site" / "index.html").is_file()
    labels = [turn.labels["type"] for turn in Run.open(place / "runs" / "blind").answers()]
    assert sorted(labels) == [("object",), ("person",), ("place",)]
    assert run(["validate", "mine"]) == 0


def test_the_same_command_goes_on_with_more_videos(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "videos" / "street.mp4").rename(place / "strret.mp4")
    shutil.copy(place / "strret.mp4", place / "videos")
    command = ["import", "qa", "questions.csv", "mine", "--videos", "videos"]
    assert run(command) == 1
    said = capsys.readouterr().out
    assert "'street', which questions.csv:4 asks about, is not in videos; the nearest is 'strret.mp4'" in said
    assert "files belong to no video: strret.mp4" in said
    (place / "strret.mp4").rename(place / "videos" / "street.mp4")
    assert run(command) == 0
    assert all(video.sha256 for video in Benchmark.open(place / "mine").read(VIDEOS))
    assert run(["import", "qa", "questions.csv", "mine", "--videos", "nowhere"]) == 2


def test_a_folder_without_any_of_the_videos_is_said_and_the_command_can_be_repeated(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty").mkdir()
    assert run(["import", "qa", "questions.csv", "mine", "--videos", "empty"]) == 2
    assert "mine has the questions, but no videos" in capsys.readouterr().err
    assert run(["import", "qa", "questions.csv", "mine", "--videos", "videos"]) == 0


def test_a_question_after_the_end_of_its_video_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (place / "questions.csv").read_text(encoding="utf-8")
    (place / "questions.csv").write_text(text.replace(",d1,9,", ",d1,5000,"), encoding="utf-8")
    assert run(["import", "qa", "questions.csv", "mine", "--videos", "videos"]) == 1
    assert "questions.csv:3: turn 2: asked at 5000.00 s, but the video lasts" in capsys.readouterr().out


def test_answers_of_any_script_are_evaluated(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["import", "qa", "questions.csv", "mine", "--videos", "videos"])
    assert run(["export", "questions", "mine", "out/questions.jsonl"]) == 0
    rows = [json.loads(line) for line in (place / "out" / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["unit_id"], row["turn_index"], row["asked_at_s"]) for row in rows] == [
        ("d1", 0, 4.0), ("d1", 1, 9.0), ("street-01", 0, None),
    ]  # fmt: skip
    assert "answer" not in rows[0]
    assert rows[1]["history"] == [{"question": "What does she take?", "answer": "the mug"}]
    assert (place / "out" / rows[0]["video"]).read_bytes() == (place / "videos" / "kitchen.mp4").read_bytes()
    with (place / "my-model.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["unit_id", "turn_index", "text"])
        writer.writerows([["d1", 0, "the mug"], ["d1", 1, ""]])
    evaluate = ["evaluate", "mine", "--model", "answers:my-model.csv", "--out", "runs/mine", "--metrics", "rouge_l"]
    assert run(evaluate) == 1, "two turns have no answer"
    answers = {turn.item_id: turn for turn in Run.open(place / "runs" / "mine").answers()}
    assert {turn.model for turn in answers.values()} == {"my-model"}
    assert (answers["d1/01"].text, answers["d1/02"].reason, answers["street-01/01"].reason) == (
        "the mug", SAYS_NONE, NOT_IN_SOURCE,
    )  # fmt: skip
    (place / "my-model.csv").write_text("unit_id,turn_index,text\nd7,0,x\n")
    assert run([*evaluate[:5], "runs/refused", "--metrics", "rouge_l"]) == 2
    assert not (place / "runs" / "refused").exists(), "no unfinished run is left behind"
    assert run([*evaluate, "--overwrite"]) == 2
    assert "no dialogue, chain or path of the benchmark has this name; the nearest is 'd1'" in capsys.readouterr().err


def test_export_gives_a_table_of_all_questions(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["import", "qa", "questions.csv", "mine", "--videos", "videos"])
    assert run(["export", "qa", "mine", "again.csv"]) == 0
    again, given = ((place / name).read_text(encoding="utf-8").splitlines() for name in ("again.csv", "questions.csv"))
    assert (len(again), set(given[0].split(",")) <= set(again[0].split(","))) == (len(given), True)
    assert run(["export", "qa", "mine", "again.csv"]) == 2
    assert "again.csv exists; choose another file or pass --overwrite" in capsys.readouterr().err
    assert run(["export", "qa", "mine", "rows.jsonl"]) == 0
    rows = [json.loads(line) for line in (place / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["annotator"] for row in rows] == ["Ana", "Ana", "Ben"]
    opened = Benchmark.open(place / "mine")
    changed = [
        dialogue.model_copy(
            update={"turns": tuple(turn.model_copy(update={"references": ("a cup",)}) for turn in dialogue.turns)}
        )
        for dialogue in opened.read(DIALOGUES)
    ]
    with opened.writing(stage="test") as writer:
        writer.add(DIALOGUES, changed)
    assert run(["export", "qa", "mine", "edited.csv"]) == 0
    assert (place / "edited.csv").read_text(encoding="utf-8").count("a cup") == 3


def test_options_of_one_target_are_refused_by_others(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "vdact", "questions.csv", "mine", "--videos", "videos"]) == 2
    assert "are for 'import qa' only" in capsys.readouterr().err
    assert run(["import", "qa", "questions.csv", "mine", "--columns", "question"]) == 2
    assert "write OURS=THEIRS" in capsys.readouterr().err
    run(["import", "qa", "questions.csv", "mine", "--videos", "videos"])
    assert run(["export", "questions", "mine", "questions.txt"]) == 2
    assert run(["export", "questions", "mine", "q.jsonl", "--name", "x"]) == 2
    assert not (place / "q.jsonl").exists()


def test_import_folder_lists_what_it_does_not_read(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(place / "questions.csv", place / "videos")
    assert run(["import", "folder", "videos", "bench"]) == 0
    assert "questions.csv was not read; 'reeltalk import qa' reads questions" in capsys.readouterr().out
    assert run(["import", "qa", "videos", "mine"]) == 0
    assert Benchmark.open(place / "mine").rows(DIALOGUES) == 2


def test_turns_with_a_published_position_are_answered_by_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MT-Video-Bench's first version leaves out rounds, so that a turn's position is not its place in the table."""
    monkeypatch.chdir(tmp_path)
    sample = TESTS / "samples" / "mt-video-bench-v1"
    run(["import", "mt-video-bench", str(sample), "bench"])
    assert any(turn.position for dialogue in Benchmark.open("bench").read(DIALOGUES) for turn in dialogue.turns)
    assert run(["export", "questions", "bench", "questions.jsonl", "--mode", "single"]) == 0
    rows = [json.loads(line) for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for name in (("unit_id", "turn_index"), ("id",)):
        answers = [{**{key: row[key] for key in name}, "text": f"to {row['question']}"} for row in rows]
        Path("m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
        out = f"runs/{name[0]}"
        run(["evaluate", "bench", "--model", "answers:m.jsonl", "--mode", "single", "--out", out, "--policy", "none"])
        given = list(Run.open(out).answers())
        assert len(given) == len(rows)
        assert all(turn.text == f"to {turn.question}" for turn in given)


def test_videos_inside_parquet_are_written_out_and_attached(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    films = [(place / "videos" / name).read_bytes() for name in ("kitchen.mp4", "street.mp4")]
    held: list[tuple[bytes | None, str | None]] = [
        (films[0], "one/clip.mp4"), (films[0], "one/clip.mp4"), (films[1], "one/clip.mp4"), (films[0], "../../out.mp4"),
        (films[1], "/etc/passwd"), (films[1], None), (b"no film", "broken.mp4"), (None, "street.mp4"),
    ]  # fmt: skip
    rows = [
        {
            "video": {"bytes": content, "path": path},
            "question": f"Question {number}?",
            "answer": "x",
            "image": {"bytes": b"png", "path": "../x.png"},
            "frames": [{"bytes": b"png", "path": None}],
        }
        for number, (content, path) in enumerate(held)
    ]
    (place / "data").mkdir()
    for name, part in (("test-00000-of-00002", rows[:3]), ("test-00001-of-00002", rows[3:])):
        parquet.write_table(pyarrow.Table.from_pylist(part), place / "data" / f"{name}.parquet", row_group_size=2)
    before = {path.relative_to(place) for path in place.rglob("*")}
    assert run(["import", "qa", "data", "mine", "--videos", "videos"]) == 1
    told = capsys.readouterr().out
    assert "columns that hold files are left out: image, frames" in told
    assert "'broken.mp4', which test-00001-of-00002.parquet at row 3 asks about, cannot be read: " in told
    opened = Benchmark.open(place / "mine")
    videos = [str(video.file) for video in opened.read(VIDEOS)]
    assert videos[0] == "one/clip.mp4"
    assert videos[1].startswith("one/clip-")
    assert videos[2:4] == ["out.mp4", "passwd.mp4"]
    assert videos[5:] == ["broken.mp4", "street.mp4"]
    attached = [video.sha256 for video in opened.read(VIDEOS)]
    assert [sha256 is not None for sha256 in attached] == [True] * 5 + [False, True]
    assert sorted(path.read_bytes() for path in (place / "mine" / "media").iterdir()) == sorted(films)
    outside = {path.relative_to(place) for path in place.rglob("*")} - before
    assert {path.parts[0] for path in outside} == {"mine"}, "nothing is written beside the benchmark"
    assert not list((place / "mine").glob(".partial*"))
