"""Tables as people keep them: what they are taken to mean, what stays wrong, and that a clean table needs no guess."""

import contextlib
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import TESTS

from reeltalk.errors import InputError, MissingExtraError, ReeltalkError
from reeltalk.formats.qa import QuestionTable, read_questions
from reeltalk.formats.table_guesses import parse_seconds
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json
from reeltalk.stages.layouts import _read, import_questions, preview_questions

SAMPLE = TESTS / "samples" / "qa"
TABLES = TESTS / "tables"
"""Tables that somebody wrote as others of the field keep them, without having seen the rules, and what they mean."""
NOT_READ = {
    "15-label-studio-csv": {
        "What does he climb?": "its times count frames",
        "What does the frog do?": "its times count frames",
        "Does it rain?": "its answer is a choice without the choices",
        "Which colours are on the flag?": "its answer is a choice without the choices",
    },
    "38-via-video-annotator": dict.fromkeys(
        ("What does the cleaner carry?", "Which door is left open?", "Who sits on the bench?"),
        "its questions are under numbers that a comment explains",
    ),
    "19-wide-xls-ods": {"Is there sound?": "a spreadsheet's TRUE is read as it is shown"},
}
"""Questions that are known to be read otherwise, and why."""


def guessed(path: Path, films: tuple[str, ...] = ()) -> QuestionTable:
    return read_questions(path, fix=True, films=films)


def turns(table: QuestionTable) -> list[Turn]:
    return [turn for dialogue in table.content.dialogues for turn in dialogue.turns]


def whys(table: QuestionTable) -> set[str]:
    return {guess.why for one in table.guessed for guess in one.guesses}


def as_file(folder: Path, name: str, content: str | bytes | Json) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_clean_table_is_read_the_same_and_nothing_is_guessed() -> None:
    plain, table = read_questions(SAMPLE), guessed(SAMPLE)
    assert whys(table) == set()
    assert table.content.dialogues == plain.content.dialogues
    assert table.content.videos == plain.content.videos
    assert table.places == plain.places


def test_the_table_of_a_german_spreadsheet(tmp_path: Path) -> None:
    rows = "Datei;Frage;Antwort;Beginn;Ende;;;\r\n;;;;;;;\r\nampel;Farbe über der Straße?;Grün;0:05;0:07,5;;;\r\n"
    table = guessed(as_file(tmp_path, "q.csv", rows.encode("cp1252")))
    [turn] = turns(table)
    assert (turn.question, turn.references) == ("Farbe über der Straße?", ("Grün",))
    assert [(one.start_s, one.end_s) for one in turn.evidence] == [(5, 7.5)]
    assert whys(table) == {
        "another encoding than UTF-8",
        "a column under another name",
        "empty cells behind the last column",
        "a time as seconds",
    }
    with pytest.raises(InputError, match="no column 'video'"):
        read_questions(tmp_path / "q.csv")


def test_another_script_is_not_guessed_without_a_usual_name_of_a_column_in_it(tmp_path: Path) -> None:
    path = as_file(tmp_path, "q.csv", "video,question,answer\na.mp4,他拿起了什么东西放到桌上?,杯子\n".encode("gb18030"))
    with pytest.raises(InputError, match="not UTF-8"):
        guessed(path)
    unicode_text = as_file(tmp_path, "u.csv", "video\tquestion\tanswer\na.mp4\t他?\t杯子\n".encode("utf-16"))
    assert turns(guessed(unicode_text))[0].references == ("杯子",)


@pytest.mark.parametrize(
    "record",
    [
        {"id": "c1", "video": "a.mp4", "conversations": [
            {"from": "human", "value": "<video>\nWho is it?"}, {"from": "gpt", "value": "Ana."},
            {"from": "human", "value": "What does she hold?"}, {"from": "gpt", "value": "A cup."}]},
        {"messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": [{"type": "video", "video": "a.mp4"}, {"type": "text", "text": "Who is it?"}]},
            {"role": "assistant", "content": "Ana."}, {"role": "user", "content": "What does she hold?"},
            {"role": "assistant", "content": [{"type": "text", "text": "A cup."}]}]},
        {"messages": [
            {"role": "user", "content": "<video>Who is it?"}, {"role": "assistant", "content": "Ana."},
            {"role": "user", "content": "What does she hold?"}, {"role": "assistant", "content": "A cup."}],
         "videos": ["a.mp4"]},
    ],
)  # fmt: skip
def test_a_conversation_is_a_dialogue(tmp_path: Path, record: dict[str, Json]) -> None:
    table = guessed(as_file(tmp_path, "c.json", [record]))
    [dialogue] = table.content.dialogues
    assert [(turn.question, turn.references) for turn in dialogue.turns] == [
        ("Who is it?", ("Ana.",)), ("What does she hold?", ("A cup.",)),
    ]  # fmt: skip
    assert [video.file for video in table.content.videos] == ["a.mp4"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nested.json", {"a.mp4": [{"Q": "Who?", "A": "Ana"}, {"Q": "Where?", "A": "here"}]}),
        ("inner.json", [{"video": "a.mp4", "qa": [{"q": "Who?", "a": "Ana"}, {"q": "Where?", "a": "here"}]}]),
        ("under.json", {"version": 1, "data": [{"vid": "a.mp4", "query": "Who?", "gt": "Ana"},
                                               {"vid": "a.mp4", "query": "Where?", "gt": "here"}]}),
        ("columns.json", {"video": ["a.mp4"] * 2, "question": ["Who?", "Where?"], "answer": ["Ana", "here"]}),
        ("lines.json", '{"video": "a.mp4", "question": "Who?", "answer": "Ana"}\n'
                       '{"video": "a.mp4", "question": "Where?", "answer": "here"}\n'),
        ("bars.txt", "My questions\nvideo|question|answer\na.mp4|Who?|Ana\na.mp4|Where?|here\n"),
        ("unnamed.csv", ",file,prompt,ground_truth\n0,a.mp4,Who?,Ana\n1,a.mp4,Where?,here\n"),
    ],
)  # fmt: skip
def test_the_same_two_questions_in_many_forms(tmp_path: Path, name: str, content: Json) -> None:
    table = guessed(as_file(tmp_path, name, content))
    assert [(turn.question, turn.references) for turn in turns(table)] == [("Who?", ("Ana",)), ("Where?", ("here",))]
    assert [video.file for video in table.content.videos] == ["a.mp4"]


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("video,question,a0,a1,a2,answer\na,Why?,red,blue,green,1\nb,Why?,x,y,z,0\n", ("red", "blue", "green"), 1),
        ("video,question,option 1,option 2,label\na,Why?,red,blue,2\nb,Why?,x,y,1\n", ("red", "blue"), 1),
        ("video,question,a0,a1,a2,answer\na,Why?,red,blue,green,1\nb,Why?,x,y,z,2\n", ("red", "blue", "green"), 1),
        ("video,question,A,B,C,answer\na,Why?,red,blue,green,B\n", ("red", "blue", "green"), 1),
        ("video,question,choices,answer\na,Why?,\"['red', 'blue']\",blue\n", ("red", "blue"), 1),
        ("video,question,options,answer\na,Why?,A. red B. blue C. green,C\n", ("red", "blue", "green"), 2),
        ("video,question,options,answer\na,Why?,red | blue,red\n", ("red", "blue"), 0),
        ('video,question,answer\na,"Why?\nA. red\nB. blue\nAnswer with the letter.",B\n', ("red", "blue"), 1),
        ("video,question,answer\na,Why? (A) red (B) blue,(A) red\n", ("red", "blue"), 0),
    ],
)
def test_options_wherever_people_write_them(tmp_path: Path, text: str, options: tuple[str, ...], right: int) -> None:
    turn = turns(guessed(as_file(tmp_path, "q.csv", text)))[0]
    assert (turn.question, turn.options, turn.correct_option) == ("Why?", options, right)


def test_numbers_of_options_that_may_count_from_0_or_from_1_stay_wrong(tmp_path: Path) -> None:
    text = "video,question,options,answer\na,Why?,red | blue | green,1\nb,Why?,x | y | z,2\n"
    path = as_file(tmp_path, "q.csv", text)
    with pytest.raises(InputError, match="none of the 3 options"):
        guessed(path)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("q.csv", "# by Ana, in May\n# 2 films\nvideo,question,answer\na.mp4,Who?,Ana\n", "a line of comment"),
        ("q.csv", "# by Ana\n# video,question,answer\na.mp4,Who?,Ana\n", "a line of comment"),
        ("q.csv", "#,video,question,answer\n1,a.mp4,Who?,Ana,\n", "empty cells behind the last column"),
        ("q.csv", "a.mp4,Who?,Ana\nb.mp4,Where?,here\n", "the first line is a question and names no columns"),
        ("q.csv", "video,question,answer,start_frame,end_frame,fps\na.mp4,Who?,Ana,25,50,25\n",
         "frames as seconds, by the frame rate in the row"),
        ("q.csv", "video,question,answer,Time,\n,,,start,end\na.mp4,Who?,Ana,1,2\n", "two lines of names of columns"),
        ("q.csv", "video,question,answer,Distractor 1,Distractor 2\na.mp4,Who?,Ana,Bo,Al\n",
         "the answer and the wrong answers as options"),
        ("q.csv", "video,Your question please,How sure is your answer?,The answer please\na.mp4,Who?,5,Ana\n",
         "a column under another name"),
        ("q.json", {"video_id": "a.mp4", "id": 7, "qa_pairs": [{"q": "Who?", "a": "Ana"}, {"q": "Where?", "a": "x"}]},
         "the rows are the list 'qa_pairs'"),
        ("q.md", "# Mine\n\n| video | question | answer |\n|--|--|--|\n| a.mp4 | Who? | Ana |\n", "another delimiter"),
    ],
)  # fmt: skip
def test_the_same_question_in_rarer_forms(tmp_path: Path, name: str, text: Json, why: str) -> None:
    table = guessed(as_file(tmp_path, name, text))
    assert (turns(table)[0].question, turns(table)[0].references) == ("Who?", ("Ana",))
    assert table.content.videos[0].file == "a.mp4"
    assert why in whys(table)
    if "start" in str(text):
        assert [(one.start_s, one.end_s) for one in turns(table)[0].evidence] == [(1, 2)]
    if "Distractor" in str(text):
        assert (turns(table)[0].options, turns(table)[0].correct_option) == (("Al", "Ana", "Bo"), 1)


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("a.mp4,Who?,Ana,yes\nb.mp4,Where?,here,no\n", "no column 'answer'"),  # two columns may be the answer
        ("video,question,incorrect\na.mp4,Who?,0\n", "no column 'answer'"),
        (
            "who,what\na,b\n",
            "no column 'video' and no 'question' and no 'answer'.*video=NAME,question=NAME,answer=NAME",
        ),
    ],
)
def test_what_may_mean_two_things_is_not_guessed(tmp_path: Path, text: str, lacks: str) -> None:
    with pytest.raises(InputError, match=lacks):
        guessed(as_file(tmp_path, "q.csv", text))


def test_frames_without_a_rate_are_no_seconds_and_the_address_of_a_data_set_is_no_video(tmp_path: Path) -> None:
    [turn] = turns(guessed(as_file(tmp_path, "q.csv", "video,question,answer,start_frame,end_frame\na,Who?,Ana,1,2\n")))
    assert turn.evidence == ()
    document: Json = {"name": "mine", "url": "https://example.org", "data": [{"clip": "a", "q": "Who?", "a": "Ana"}]}
    assert [one.file for one in guessed(as_file(tmp_path, "d.json", document)).content.videos] == ["a"]


def test_of_an_identifier_and_a_file_the_one_whose_file_is_there_names_the_video(tmp_path: Path) -> None:
    text = "video_path,videoID,question,answer\n001,fFjv93ACGo8,Who?,Ana\n"
    table = guessed(as_file(tmp_path, "q.csv", text), films=("fFjv93ACGo8.mp4",))
    assert [video.file for video in table.content.videos] == ["fFjv93ACGo8"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:05", 5), ("1:02:03.5", 3723.5), ("00:00:07,250", 7.25), ("12,5", 12.5), ("12 s", 12), ("1m30s", 90),
     ("1 min 5 s", 65), ("2 min", 120), ("0:05:00:12", None), ("soon", None), ("", None)],
)  # fmt: skip
def test_times_as_people_write_them(text: str, seconds: float | None) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("folder", sorted(TABLES.iterdir()), ids=lambda folder: folder.name)
def test_tables_as_others_keep_them(tmp_path: Path, folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    known = NOT_READ.get(folder.name, {})
    videos = tmp_path / "videos"
    for name in expected["films"]:
        (videos / name).parent.mkdir(parents=True, exist_ok=True)
        (videos / name).write_bytes(b"x")
    for file in expected["files"]:
        try:
            found = _understood(folder / file, videos)
        except MissingExtraError as error:
            pytest.skip(str(error))
        except InputError:
            if not known:
                raise
            found = {}
        for question in expected["questions"]:
            words = _plain(question["question"])
            wanted = {
                "answers": _all_plain(question.get("answers")), "options": _all_plain(question.get("options")),
                "correct": question.get("correct"), "asked_at_s": question.get("asked_at_s"),
                "stretch": (question["start_s"], question["end_s"]) if "start_s" in question else None,
                "video": _plain(Path(question["video"]).name),
            }  # fmt: skip
            assert (wanted in found.get(words, [])) is (words not in known), (file, wanted, found.get(words))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _all_plain(texts: Iterable[str] | None) -> list[str]:
    return [_plain(text) for text in texts or ()]


def _understood(path: Path, videos: Path) -> dict[str, list[dict[str, object]]]:
    table = _read(path, videos, None, False, strict=False, fix=True)
    files = {video.id: video.file for video in table.content.videos}
    found: dict[str, list[dict[str, object]]] = {}
    for dialogue in table.content.dialogues:
        stem = _plain(Path(files[dialogue.video_id] or "").name).casefold()
        names = [
            name
            for path in videos.rglob("*")
            if stem in ((name := _plain(path.name)).casefold(), Path(name).stem.casefold())
        ]
        for turn in dialogue.turns:
            stretch = next(((one.start_s, one.end_s) for one in turn.evidence), None)
            found.setdefault(_plain(turn.question), []).append({
                "answers": _all_plain(turn.references), "options": _all_plain(turn.options),
                "correct": turn.correct_option, "asked_at_s": turn.asked_at_s, "stretch": stretch,
                "video": names[0] if names else None,
            })  # fmt: skip
    return found


def test_the_preview_names_every_guess_and_fault_at_once_and_writes_nothing(tmp_path: Path) -> None:
    text = "clip;prompt;gt;start\nA.MP4;Who?;Ana;0:05\nb;;x;soon\nc;Where?;here;\n"
    path = as_file(tmp_path, "q.csv", text)
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "a.mp4").touch()
    preview = preview_questions(path, videos=tmp_path / "videos")
    told = "\n".join(preview.lines(taken=False))
    assert "columns between semicolons, UTF-8, 3 questions; columns: clip as video, prompt as question" in told
    assert "not read, 4 times: a column under another name" in told
    assert "wrong, 1 times: the question is empty" in told
    assert len(preview.rows()) == len(preview.guesses) + len(preview.faults) + len(preview.missing)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["q.csv", "videos"]


def test_what_was_guessed_is_listed_beside_the_benchmark(tmp_path: Path) -> None:
    path = as_file(tmp_path, "q.csv", "clip,prompt,gt\na,Who?,Ana\n")
    import_questions(path, tmp_path / "mine", fix=True)
    listed = (tmp_path / "mine-import.csv").read_text(encoding="utf-8").splitlines()
    assert listed[0] == "guess,fault,where,column,before,after"
    assert listed[1] == "a column under another name,,q.csv,clip,clip,video"
    assert len(listed) == 4


_WORDS = st.sampled_from(
    ["question", "answer", "video", "options", "conversations", "from", "value", "human", "gpt", "data", "columns",
     "start", "span", "a0", "a1", "correct", "A. x B. y",
     "0:05-0:09", "a.mp4", "1", "['x' 'y']", "{", "NA", "Q1", "Q2", "type"]
)  # fmt: skip
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=_JSON, text=st.lists(st.lists(_WORDS | st.text(max_size=9), max_size=6), max_size=6))
def test_no_table_ends_in_a_traceback(tmp_path: Path, document: Json, text: list[list[str]]) -> None:
    lines = "\n".join(";".join(row) for row in text)
    for name, content in (("any.json", json.dumps(document)), ("any.csv", lines), ("any.txt", lines.replace(";", "|"))):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", errors="replace")
        with contextlib.suppress(ReeltalkError):
            guessed(path, films=("a.mp4", "b/c.mkv"))


def test_options_of_numpy_may_hold_line_breaks_and_backslashes(tmp_path: Path) -> None:
    table = as_file(tmp_path, "q.csv", "video,question,options,answer\na.mp4,Which?,\"['C:\\x' 'two\nlines']\",B\n")
    [turn] = turns(guessed(table))
    assert turn.options == ("C:\\x", "two\nlines")


def test_json_by_columns_loses_no_row_where_its_lists_differ_in_length(tmp_path: Path) -> None:
    lists: Json = {"video": ["a.mp4", "b.mp4"], "question": ["Who?", "What?"], "answer": ["a man"]}
    with pytest.raises(InputError, match="not a list of objects"):
        guessed(as_file(tmp_path, "q.json", lists))
    split: Json = {"columns": ["video", "question", "answer"], "data": [["a.mp4", "Who?", "a man"], ["b.mp4"]]}
    table = guessed(as_file(tmp_path, "q.json", split))
    assert (len(turns(table)), len(table.content.rejected)) == (1, 1)


def test_a_table_that_is_too_large_is_refused_and_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reeltalk.formats.table_forms._MOST_BYTES", 64)
    table = as_file(tmp_path, "q.csv", "video,question,answer\n" + "a.mp4,Who is there?,a man\n" * 3)
    with pytest.raises(InputError, match="over 256 MiB"):
        guessed(table)


def test_a_file_may_be_called_like_the_question_about_it(tmp_path: Path) -> None:
    # As EgoSchema has it.
    row = {"q_uid": "001934bb-81bd", "option 0": "C types", "option 1": "C drinks", "question": "Why?", "truth": 1}
    table = guessed(as_file(tmp_path, "questions.json", [row]), films=("001934bb-81bd.mp4",))
    [turn] = turns(table)
    assert (turn.options, turn.correct_option) == (("C types", "C drinks"), 1)
    assert [video.id for video in table.content.videos] == ["001934bb-81bd"]
