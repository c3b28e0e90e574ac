"""Characters that hide something: none gets into a benchmark unseen, and what people write in any script stays."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reeltalk.cli import run
from reeltalk.curate.sources import find_videos
from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.schema.texts import equal_names, text_problem
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.validate import validate
from reeltalk_build.construct.replies import CaptionReply
from reeltalk_review.web import plain_json, plain_text

REFUSED = [chr(code) for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r"]
KEPT = [
    "پرسش: می‌خواهم بدانم چه می‌بینید؟",  # Persian, with joiners
    "שלום \u200f(a)\u200f עולם",
    "مرحبا \u202bالعالم\u202c، \u2067نص\u2069",
    "👩‍👩‍👧 and 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "क्‍ष and ශ්‍රී",
    "two\nlines\tand a tab\r\n",
    "full　width and no\u00a0break",
    "soft\u00adhyphen",
]
TURNING = {
    "\u202egnp.exe": "U+202E",
    "\u202dabc\u202c": "U+202D",
    "\u2067left open": "U+2067",
    "\u202bleft open\nnext\u202c": "U+202B",
}


def dialogues(folder: Path, question: str, identifier: str = "0900101") -> Path:
    folder.mkdir(exist_ok=True)
    row = {"id": identifier, "turns": [{"question": question, "answer": "A."}]}
    (folder / "dialogue.json").write_text(json.dumps([row]), encoding="utf-8")
    return folder


def csv_of(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.mp4").write_bytes(b"x")
    (folder / "metadata.csv").write_text(f"file_name,source\na.mp4,{text}\n", encoding="utf-8")
    return folder


def jsonl_of(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.mp4").write_bytes(b"x")
    (folder / "metadata.jsonl").write_text("\n" + json.dumps({"file_name": "a.mp4", "note": {"x": [text]}}) + "\n")
    return folder


def parquet_of(folder: Path, text: str) -> Path:
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    (folder / "a.mp4").write_bytes(b"x")
    parquet.write_table(pyarrow.table({"file_name": ["a.mp4"], "note": [text]}), folder / "metadata.parquet")
    return folder


def summary_of(folder: Path, text: str) -> Path:
    (folder / "scenario_refine_summaries").mkdir(parents=True, exist_ok=True)
    (folder / "scenario_refine_summaries" / "09001.txt").write_text(text, encoding="utf-8", newline="")
    return folder


SOURCES: dict[str, tuple[str, Callable[[Path, str], Path], str]] = {
    "question": ("vdact", dialogues, "dialogue.json at $[0].turns[0].question"),
    "table": ("folder", csv_of, "metadata.csv:2"),
    "line": ("folder", jsonl_of, "metadata.jsonl:2 at $.note.x[0]"),
    "column": ("folder", parquet_of, "metadata.parquet at row 0.note"),
    "text": ("vdact", summary_of, "09001.txt:1"),
}


def test_control_characters_are_refused_with_their_place(
    tmp_path: Path, reliability: Any, full: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    what = "each control character in a question, a table, a line, a column and a text that is imported"
    tally = reliability("archives", what, "it is in a benchmark, or its file and place are not named")
    for number, (name, (format, make, place)) in enumerate(SOURCES.items()):
        # Each in one kind of source; with full counts each in all of them.
        for character in REFUSED if full else REFUSED[number :: len(SOURCES)]:
            tally.tried += 1
            source = make(tmp_path / name, f"be{character}fore")
            said = _refused(format, source, tmp_path / "bench", capsys)
            assert f"U+{ord(character):04X}" in said
            assert all(part in said for part in place.split(" at ")), said
    assert tally.tried == reliability.count(len(REFUSED), full=150, release=150)


def _refused(format: str, source: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What an import says that refuses everything, or one row of a folder's table, which is left out and listed."""
    code = run(["import", format, str(source), str(bench)])
    said = capsys.readouterr()
    if format != "folder":
        assert (code, bench.exists()) == (2, False)
        return said.err
    assert code == 1
    shutil.rmtree(bench)
    return said.out


def test_half_a_character_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = dialogues(tmp_path / "in", "\ud83d alone")
    assert run(["import", "vdact", str(source), str(tmp_path / "bench")]) == 2
    assert "lone UTF-16 surrogate" in capsys.readouterr().err


@pytest.mark.parametrize("text", KEPT)
def test_what_people_write_in_any_script_comes_back_without_a_word(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = dialogues(tmp_path / "in", text)
    assert run(["import", "vdact", str(source), str(tmp_path / "bench")]) == 0
    assert "U+" not in "".join(capsys.readouterr())
    bench = Benchmark.open(tmp_path / "bench")
    assert bench.content().dialogues[0].turns[0].question == text
    assert validate(bench) == []


@pytest.mark.parametrize("kind", SOURCES)
def test_what_turns_the_direction_unseen_is_refused_with_its_place(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    format, make, place = SOURCES[kind]
    for text, expected in TURNING.items():
        if "\n" in text and kind == "table":
            continue
        said = _refused(format, make(tmp_path / kind, text), tmp_path / "bench", capsys)
        assert f"holds {expected}" in said
        assert all(part in said for part in place.split(" at ")), said
        assert "remove it from the file" in said


def test_what_turns_the_direction_within_a_text_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = dialogues(tmp_path / "in", "\u2068a \u202ab\u2069")
    assert run(["import", "vdact", str(source), str(tmp_path / "bench")]) == 0
    assert "U+" not in "".join(capsys.readouterr())
    assert validate(Benchmark.open(tmp_path / "bench")) == []


def test_what_a_wrong_encoding_left_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "vdact", str(dialogues(tmp_path / "in", "it\x92s")), str(tmp_path / "bench")]) == 0
    assert "dialogues:0.turns[0].question holds the control character U+0092" in "".join(capsys.readouterr())
    (found,) = validate(Benchmark.open(tmp_path / "bench"))
    assert str(found).startswith("warning: dialogues:0.turns[0].question")


def test_markup_is_only_a_text(tmp_path: Path) -> None:
    text = "<script>alert('x')</script> What?"
    assert run(["import", "vdact", str(dialogues(tmp_path / "in", text)), str(tmp_path / "bench")]) == 0
    assert Benchmark.open(tmp_path / "bench").content().dialogues[0].turns[0].question == text


@pytest.mark.parametrize(
    "bad", ["a\u202eb", "a\u200bb", "a\x1bb", "a\u2028b", "\ufeffa", "a\x85b", "\u200da", "a\u2066b"]
)
def test_no_identifier_holds_what_cannot_be_seen(tmp_path: Path, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "metadata.jsonl").write_text(json.dumps({"file_name": "a.mp4", "id": bad}) + "\n")
    assert run(["import", "folder", str(source), str(tmp_path / "bench")]) == 2
    assert "U+" in capsys.readouterr().err
    assert not (tmp_path / "bench").exists()


def test_what_a_model_wrote_is_looked_at_too(tmp_path: Path) -> None:
    bench = Benchmark.create(tmp_path / "bench")
    turn = Turn(question="What\x00?", references=("a\x1b[31m",), options=("x", "\u202ey"))
    content = Content(
        videos=[Video(id=VideoId("v"))],
        dialogues=[Dialogue(id=DialogueId("d"), video_id=VideoId("v"), turns=(turn,))],
    )
    bench.write_content(content, stage="test")
    found = sorted(str(finding) for finding in validate(bench) if "U+" in str(finding))
    assert found == [
        "error: dialogues:0.turns[0].options[1]: holds U+202E, which reverses the order in which letters are shown",
        "error: dialogues:0.turns[0].question: holds the control character U+0000",
        "error: dialogues:0.turns[0].references[0]: holds the control character U+001B",
    ]


def test_what_a_model_replies_is_asked_for_again() -> None:
    assert CaptionReply(caption="A man walks.\nHe sits.").caption
    with pytest.raises(ValidationError, match=r"U\+000C"):
        CaptionReply(caption="half of \x0crac")
    for turned in TURNING:
        with pytest.raises(ValidationError, match=r"direction|order in which letters"):
            CaptionReply(caption=turned)


def test_what_people_paste_loses_what_no_benchmark_can_hold() -> None:
    assert plain_text("a\x0bb\tc\nd \u200f") == "ab\tc\nd \u200f"
    assert plain_json({"k\x1b": ["a\x0cb", 1, None]}) == {"k": ["ab", 1, None]}
    with pytest.raises(ValueError, match="NUL"):
        plain_text("a\0b")


TWINS = [("film", "Film"), ("café", "cafe\u0301"), ("Straße", "STRASSE"), ("ﬁlm", "film"), ("ＡＢ", "AB"), ("İ", "i̇")]


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_names_that_look_alike_are_refused(
    tmp_path: Path, one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert equal_names([one, other, "else"]) == [(one, other)]
    source = tmp_path / "in"
    source.mkdir()
    for name in (one, other):
        (source / f"{name}.mp4").write_bytes(name.encode())
    assert run(["import", "folder", str(source), str(tmp_path / "bench")]) == 2
    said = capsys.readouterr().err
    assert "differs only in case or in invisible characters from" in said
    assert f"{one}.mp4" in said
    assert f"{other}.mp4" in said
    assert not (tmp_path / "bench").exists()
    # Of files that are searched for, the first is taken and the other rejected.
    taken, rejected = find_videos([source])
    assert [row.id for row in taken] == [sorted((one, other))[0]]
    assert [row.record_id for row in rejected] == [sorted((one, other))[1]]
    assert "differs from" in rejected[0].reason


def test_thirty_five_clips_stay_thirty_five(tmp_path: Path, reliability: Any) -> None:
    tally = reliability("archives", "twins of 28 of 35 videos in upper case", "a twin is taken for a video of its own")
    source = tmp_path / "in"
    source.mkdir()
    for number in range(35):
        (source / f"clip{number:02d}.mp4").write_bytes(f"{number}".encode())
    for number in range(28):
        tally.tried += 1
        (source / f"CLIP{number:02d}.mp4").write_bytes(f"twin {number}".encode())
    taken, rejected = find_videos([source])
    assert (len(taken), len(rejected)) == (35, 28)
    assert run(["import", "folder", str(source), str(tmp_path / "bench")]) == 2
    bench = Benchmark.create(tmp_path / "made")
    clips = [Video(id=VideoId(path.stem)) for path in sorted(source.iterdir())]
    bench.write_content(Content(videos=clips), stage="test")
    assert sum("differs only in case" in str(finding) for finding in validate(bench)) == 28


def test_pairs_of_marks_are_told_from_single_ones() -> None:
    balanced = "\u202a\u202b\u202c\u202c \u2066\u2067\u2069\u2069"
    assert text_problem(balanced) is None
    # The end of an isolate ends the embeddings within; a mark that ends nothing has no effect.
    assert text_problem("\u2066\u202a\u2069 \u202c \u2069") is None
    assert text_problem("\u2066\u202a\u202c") is not None
    assert text_problem("\u202a\u2066\u202c\u2069") is not None


@pytest.mark.parametrize("format", ["vdact", "svbench", "folder"])
def test_a_name_of_a_file_is_refused_in_any_layout(tmp_path: Path, format: str) -> None:
    from reeltalk.stages.layouts import import_layout

    source = dialogues(tmp_path / "in", "What?")
    (source / "no\u202eosj.mp4").write_bytes(b"x")
    with pytest.raises(InputError, match="U\\+202E"):
        import_layout(format, source, tmp_path / "bench")
