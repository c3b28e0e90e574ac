# ruff: noqa: E501 - the table of damaged files reads best with a file a line
"""Every published layout: samples mean what their specification says, and come back as they were if it is written."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from places import TESTS

from reeltalk.cli import run
from reeltalk.errors import InputError
from reeltalk.formats import FORMATS, WRITTEN, load_format
from reeltalk.formats.dramaqa import DramaQAReader
from reeltalk.schema.intervals import Interval
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content

SAMPLES = TESTS / "samples"
OTHER_NAMES = {"mt-video-bench-v1": "mt-video-bench", "mt-video-bench-v2": "mt-video-bench", "dstc10": "avsd"}
FOLDERS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
IN_WRITTEN = [name for name in FOLDERS if OTHER_NAMES.get(name, name) in {*WRITTEN} - {"qa"}]


def read(folder: str) -> Content:
    return load_format(OTHER_NAMES.get(folder, folder)).read(SAMPLES / folder)


def documents(folder: Path) -> dict[str, Any]:
    """Each file's value, by its path. JSON compares as JSON; key order does not count, list order does."""
    return {
        path.relative_to(folder).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        if path.suffix == ".json"
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_format_has_a_sample() -> None:
    # Parquet is no text to write by hand: test_hub.py makes those files with pyarrow.
    assert {OTHER_NAMES.get(name, name) for name in FOLDERS} == set(FORMATS) - {"hub"}


@pytest.mark.parametrize("folder", IN_WRITTEN)
def test_import_export_compare_is_equal(folder: str, tmp_path: Path) -> None:
    layout = load_format(OTHER_NAMES.get(folder, folder))
    content = layout.read(SAMPLES / folder)
    bench = Benchmark.create(tmp_path / "bench")
    bench.write_content(content, stage="test")
    stored = Benchmark.open(tmp_path / "bench").content()
    (tmp_path / "out").mkdir()
    assert layout.write(stored, tmp_path / "out") == []
    assert documents(tmp_path / "out") == documents(SAMPLES / folder)
    again = layout.read(tmp_path / "out")
    assert {name: rows for name, rows in again.rows() if name != "source_files"} == {
        name: rows for name, rows in stored.rows() if name != "source_files"
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_imported_sample_keeps_the_invariants(folder: str) -> None:
    assert [str(finding) for finding in check_content(read(folder)) if finding.severity == "error"] == []


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("target", sorted(WRITTEN))
def test_any_benchmark_can_be_written_in_any_layout_that_is_written(folder: str, target: str, tmp_path: Path) -> None:
    """What does not fit is said; what is written can be read again."""
    content = read(folder)
    content.source_files = []
    layout = load_format(target)
    lost = layout.write(content, tmp_path)
    assert all(isinstance(line, str) and "\n" not in line for line in lost)
    if any(path.is_file() for path in tmp_path.rglob("*")):
        layout.read(tmp_path)
    else:
        assert lost


def test_a_reader_that_notes_no_file_is_told_what_it_lacks() -> None:
    reader = DramaQAReader(SAMPLES / "dramaqa")
    reader.kinds["script"] = lambda file: None
    with pytest.raises(AssertionError, match=r"must call add_file for .*script\.json"):
        reader.read()


def test_a_layout_that_is_only_read_is_refused_for_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "mvbench" not in WRITTEN
    Benchmark.create(tmp_path / "bench").write_content(read("mvbench"), stage="test")
    assert run(["export", "mvbench", str(tmp_path / "bench"), str(tmp_path / "out")]) == 2
    assert "mvbench is only read; written are hub, mt-video-bench" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_mvbench_means() -> None:
    content = read("mvbench")
    first = content.dialogues[0]
    assert first.turns[0].correct_option == 1
    assert first.turns[0].labels == {"mvbench.task": ("action_sequence",)}
    assert content.clips[0].interval == Interval(start_s=3.5, end_s=11.2)
    assert first.clip_ids == (content.clips[0].id,)
    assert content.dialogues[1].extra == {"annotator": "B2"}
    assert content.dialogues[2].clip_ids == ()


def test_video_mme_means() -> None:
    content = read("video-mme")
    assert [video.id for video in content.videos] == ["001", "002"]
    assert content.videos[0].source == "https://example.org/watch?v=aaa"
    assert [dialogue.turns[0].correct_option for dialogue in content.dialogues] == [2, 0, 3]
    assert content.dialogues[0].turns[0].references == ("Nine.",)


def test_video_mme_in_parquet_is_read_as_in_json(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    rows = json.loads((SAMPLES / "video-mme" / "test.json").read_text(encoding="utf-8"))
    for row in rows:
        row.setdefault("reviewed", None)
    (tmp_path / "in").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in" / "test-00000-of-00001.parquet")
    layout = load_format("video-mme")
    found, ours = layout.read(tmp_path / "in"), layout.read(SAMPLES / "video-mme" / "test.json")
    assert found.videos == [video.model_copy(update={"split": "test"}) for video in ours.videos]
    assert [row.turns for row in found.dialogues] == [row.turns for row in ours.dialogues]
    (tmp_path / "in" / "test-00000-of-00001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        layout.read(tmp_path / "in")


def test_ovo_bench_means() -> None:
    by_id = {dialogue.id: dialogue for dialogue in read("ovo-bench").dialogues}
    choice = by_id[next(key for key in by_id if key == "0")]
    assert (choice.turns[0].asked_at_s, choice.turns[0].correct_option) == (92.5, 1)
    counting = by_id[next(key for key in by_id if key == "12")]
    assert [(turn.asked_at_s, turn.references) for turn in counting.turns] == [
        (5.0, ("2",)),
        (11.5, ("6",)),
        (20.0, ("6",)),
    ]
    step = by_id[next(key for key in by_id if key == "13")]
    assert [turn.references for turn in step.turns] == [("No",), ("Yes",)]
    assert step.turns[0].question == "Cut the onion."


def test_forward_questions_of_ovo_bench_are_tasks_at_the_annotated_times() -> None:
    tasks = {task.id: task for task in read("ovo-bench").proactive}
    assert {name: task.kind for name, task in tasks.items()} == {"12": "REC", "13": "SSR", "14": "CRR"}
    [counting] = tasks["12"].requests
    spans = [(moment.interval.start_s, moment.interval.end_s) for moment in counting.moments]
    # A count is due until the next repetition ends, or for 2 s; the stream ends with the last probe.
    assert spans == [(2, 4), (4.5, 6.5), (7, 8), (8, 10), (11, 13)]
    keys = [moment.key for moment in counting.moments]
    assert [(key.values, key.also) for key in keys if key is not None] == [
        (("1",), ()), (("2",), ()), (("3",), ()), (("4",), ()), (("6",), ("5",)),
    ]  # fmt: skip
    assert "jump over the rope" in counting.text
    assert tasks["12"].until_s == 20
    [steps] = tasks["13"].requests
    assert [(moment.interval.start_s, moment.interval.end_s, moment.references) for moment in steps.moments] == [
        (1, 2.5, ("Wash the onion.",)),
        (7, 12, ("Cut the onion.",)),
    ]
    assert "Wash the onion.; Cut the onion." in steps.text
    [clue] = tasks["14"].requests
    assert (clue.act, clue.at_s, clue.text) == ("await", 10, "What colour is the parcel he brings?")
    [moment] = clue.moments
    assert (moment.interval.start_s, moment.interval.end_s, moment.references) == (31, 33, ("Blue.",))


def test_a_forward_question_without_times_is_no_task(tmp_path: Path) -> None:
    rows = json.loads((SAMPLES / "ovo-bench" / "ovo_bench.json").read_text(encoding="utf-8"))
    times = {"start_times", "end_times", "start_time", "end_time", "ask_time", "clue_time"}
    bare = [{key: value for key, value in row.items() if key not in times} for row in rows]
    (tmp_path / "o.json").write_text(json.dumps(bare), encoding="utf-8")
    content = load_format("ovo-bench").read(tmp_path / "o.json")
    assert (len(content.dialogues), content.proactive) == (len(rows), [])


def test_streamingbench_means() -> None:
    content = read("streamingbench")
    assert [video.id for video in content.videos] == [f"videos/sample_{n}_proactive.mp4" for n in (1, 2)]
    assert content.dialogues == []
    found = [
        (task.id, task.requests[0].at_s, task.moments[0].interval.start_s, task.moments[0].interval.end_s, task.until_s)
        for task in content.proactive
    ]
    assert found == [
        ("questions_proactive/sample_1_proactive/0", 2, 6, 8, 10),
        ("questions_proactive/sample_1_proactive/1", 68, 75, 77, 79),
        ("questions_proactive/sample_2_proactive/2", 125, 3741, 3743, 3745),
        ("questions_proactive/sample_1_proactive/3", 185, 185, 187, 189),
    ]
    assert content.proactive[0].requests[0].text == 'When the red team scores, output "Goal for red".'
    assert content.proactive[0].moments[0].references == ("Goal for red",)


def test_avsd_means() -> None:
    content = read("avsd")
    by_video = {dialogue.video_id: dialogue for dialogue in content.dialogues}
    splits = {video.id: video.split for video in content.videos}
    assert splits == {"YSKX3": "train", "7UPGT": "train", "QP2KI": "test", "ZN4QA": "test"}
    hidden = next(dialogue for video, dialogue in by_video.items() if video == "QP2KI")
    assert [turn.references for turn in hidden.turns] == [("no she leaves it there",), ()]
    several = next(dialogue for video, dialogue in by_video.items() if video == "ZN4QA")
    assert several.turns[0].references == ("yes it is", "yes , the sun shines", "it is daytime")


def test_dstc10_intervals_are_put_in_order() -> None:
    turns = read("dstc10").dialogues[0].turns
    assert turns[1].evidence == (Interval(start_s=12.5, end_s=18.0), Interval(start_s=18.0, end_s=21.0))
    assert turns[2].evidence == ()


def test_dramaqa_means() -> None:
    content = read("dramaqa")
    by_id = {str(dialogue.id): dialogue for dialogue in content.dialogues}
    scene, shot = by_id["AnotherMissOhQA_val_set/4001"], by_id["AnotherMissOhQA_val_set/4002"]
    assert scene.turns[0].labels["dramaqa.extent"] == ("scene",)
    assert shot.turns[0].labels == {
        "dramaqa.q_level_logic": ("1",),
        "dramaqa.q_level_mem": ("2",),
        "dramaqa.extent": ("shot",),
    }
    assert by_id["AnotherMissOhQA_test_set/9001"].turns[0].correct_option is None
    clips = {str(clip.id): clip for clip in content.clips}
    assert clips["AnotherMissOh14_001_0003"].interval == Interval(start_s=8.0, end_s=11.5)
    assert clips["AnotherMissOh14_001_0003"].extra["frames"][0]["place"] == "kitchen"
    assert {str(video.id): video.split for video in content.videos} == {
        "AnotherMissOh14": "val",
        "AnotherMissOh17": "test",
    }
    assert [(row.interval.start_s, row.interval.end_s, row.line) for row in content.speech] == [
        (2.0, 3.25, "(phone rings)"), (3.5, 5.0, "Mina: I'll get it!"),
    ]  # fmt: skip


def test_lines_of_unknown_time_are_kept_and_are_in_no_table_of_speech(tmp_path: Path) -> None:
    lines = [
        {"speaker": "Mina", "utter": words, "st": start_s, "et": end_s}
        for start_s, end_s, words in (
            ("1", "2", "a"),
            ("2", "1", "b"),
            ("nan", "1", "c"),
            ("1", "", "d"),
            ("1", "2", " "),
        )
    ]
    script = {"AnotherMissOh01_001_0000": {"st": "0", "et": "9", "contained_subs": lines}}
    (tmp_path / "AnotherMissOh_script.json").write_text(json.dumps(script))
    content = load_format("dramaqa").read(tmp_path)
    assert [row.line for row in content.speech] == ["Mina: a"]
    assert content.clips[0].extra["contained_subs"] == lines
    assert content.warnings == [
        "4 lines of AnotherMissOh01_001_0000 have no usable times or words, and are not in speech.jsonl"
    ]


DAMAGED = [
    ("mvbench", "json/t.json", [{"video": "a", "question": "?", "candidates": ["x"], "answer": "y"}], r"none of the 1 options, got 'y' .*\$\[0\]"),
    ("mvbench", "json/t.json", [{"video": "a", "question": "?", "candidates": ["x"], "answer": "x", "start": 5, "end": 2}], r"ends before it starts"),
    ("mvbench", "json/t.json", [{"video": "a"}], r"required field is missing .*\$\[0\]\.question"),
    ("mvbench", "json/t.json", {"video": "a"}, "not a file of mvbench"),
    ("video-mme", "test.json", [{"video_id": 1}], r"got 1 .*\$\[0\]\.video_id"),
    ("ovo-bench", "o.json", [{"id": 1, "task": "EPM", "video": "a", "question": "?", "options": ["x"], "gt": 1, "realtime": 2.0}], r"none of the 1 options, got 1 .*\$\[0\].*from 0"),
    ("ovo-bench", "o.json", [{"id": 1, "task": "REC", "video": "a", "test_info": [{"realtime": -1}]}], r"\$\[0\]\.test_info\[0\]\.realtime"),
    ("ovo-bench", "o.json", [{"id": 1, "task": "REC", "video": "a", "activity": "clap", "end_times": [-2], "test_info": [{"realtime": 1, "count": 1}]}], r"\$\[0\]\.end_times\[0\]"),
    ("ovo-bench", "o.json", [{"id": 1, "task": "SSR", "video": "a", "all_steps": ["x"], "start_time": [1, 2], "end_time": [3], "test_info": [{"realtime": 1, "type": 1, "step": "x"}]}], r"not one time for each of 1 steps.*\$\[0\]"),
    ("ovo-bench", "o.json", [{"id": 1, "task": "SSR", "video": "a", "all_steps": ["x"], "start_time": [4], "end_time": [3], "test_info": [{"realtime": 1, "type": 1, "step": "x"}]}], r"an interval ends before it starts.*\$\[0\]"),
    ("streamingbench", "s.json", [{"video_path": "a.mp4", "questions": [{"task_type": "Object Recognition", "question": "?"}]}], r"should be 'Proactive Output'.*\$\[0\]\.questions\[0\]\.task_type"),
    ("streamingbench", "s.json", [{"video_path": "a.mp4", "questions": [{"task_type": "Proactive Output", "question": "?", "time_stamp": "soon", "ground_truth_time_stamp": "0:05", "ground_truth_output": "x"}]}], r"not a time as 00:03:10.*\$\[0\]\.questions\[0\]\.time_stamp"),
    ("streamingbench", "s.json", [{"video_path": "a.mp4", "questions": [{"task_type": "Proactive Output", "question": "?", "time_stamp": "0:06", "ground_truth_time_stamp": "0:05", "ground_truth_output": "x"}]}], r"due before it is asked for"),
    ("streamingbench", "s.json", [{"questions": []}], r"\$\[0\]\.video_path"),
    ("avsd", "a.json", {"dialogs": [{"image_id": "a", "dialog": [{"question": "?", "answer": 3}]}]}, r"\$\.dialogs\[0\]\.dialog\[0\]\.answer"),
    ("avsd", "a.json", {"dialogs": 3}, r"valid list, got 3 .*\$\.dialogs"),
    ("avsd", "a.json", {"dialogs": [{"image_id": "a", "dialog": [{"question": "?", "answer": "", "reason": [{"timestamp": [1]}]}]}]}, r"reason\[0\]\.timestamp"),
    ("dramaqa", "q.json", [{"qid": 1, "vid": "x", "que": "?", "answers": ["a"]}], r"not a clip of the form .*\$\[0\]\.vid"),
    ("dramaqa", "q.json", [{"qid": 1, "vid": "AnotherMissOh01_001_0000", "que": "?", "answers": ["a"], "correct_idx": 3}], r"none of the 1 options, got 3"),
    ("dramaqa", "s.json", {"AnotherMissOh01_001_0000": {"st": "abc", "et": "2", "contained_subs": []}}, r"not a number of seconds, got 'abc'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "value", "message"), DAMAGED)
def test_damaged_files_are_refused_with_their_place(
    name: str, file: str, value: Any, message: str, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(json.dumps(value))
    with pytest.raises(InputError, match=message):
        load_format(name).read(tmp_path)


def test_a_question_that_stands_twice_is_refused(tmp_path: Path) -> None:
    rows = json.loads((SAMPLES / "video-mme" / "test.json").read_text(encoding="utf-8"))
    (tmp_path / "test.json").write_text(json.dumps([*rows, rows[0]]))
    with pytest.raises(InputError, match=r"appears twice, got '001-1' .*\$\[3\]"):
        load_format("video-mme").read(tmp_path)


def test_metadata_names_a_file_in_either_unicode_form(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "Küche.mp4") for form in ("NFC", "NFD"))
    (tmp_path / apart).write_bytes(b"film")
    (tmp_path / "metadata.jsonl").write_text(json.dumps({"file_name": composed}) + "\n", encoding="utf-8")
    content = load_format("folder").read(tmp_path)
    assert [(video.file, len(content.media)) for video in content.videos] == [(apart, 1)]
    assert content.warnings == []
