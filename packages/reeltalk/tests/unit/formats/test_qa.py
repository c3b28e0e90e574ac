"""Your own questions in a table: what columns mean, what is refused and how, and what is written."""

import csv
import json
from pathlib import Path

import pytest
from places import TESTS

from reeltalk.errors import InputError, SettingError
from reeltalk.formats.answer_table import read_answer_table
from reeltalk.formats.qa import read_questions, write_table
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.intervals import Interval
from reeltalk.store.content import Content

SAMPLE = TESTS / "samples" / "qa"


def table(folder: Path, text: str, name: str = "questions.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_what_the_columns_mean() -> None:
    content = read_questions(SAMPLE).content
    by_id = {str(dialogue.id): dialogue for dialogue in content.dialogues}
    assert [turn.question for turn in by_id["d1"].turns] == ["What does she take, first?", 'Where does she "put" it?']
    first = by_id["d1"].turns[0]
    assert first.references == ("the red mug", "a mug")
    assert (first.asked_at_s, first.evidence) == (8.5, (Interval(start_s=6, end_s=8.25),))
    assert first.labels == {"type": ("D-OBJ",)}
    assert first.extra == {"annotator": "Ana", "qa_id": "q1"}
    assert [turn.asked_at_s for turn in by_id["d2"].turns] == [20, 30], "turns are in their order, not the table's"
    choice = by_id["market/夜市-01"].turns[0]
    assert (choice.options, choice.correct_option, choice.references) == (("two", "three", "five"), 1, ("three",))
    assert by_id["market/夜市-02"].turns[0].labels == {
        "cogme.target": ("Object", "Place"),
        "cogme.thinking": ("Recall",),
    }
    assert [turn.correct_option for turn in by_id["g"].turns] == [1, 0], "a letter, and the text of an option"
    videos = {str(video.id): (video.file, video.source, video.split) for video in content.videos}
    assert videos["kitchen/morning"] == ("kitchen/morning.mp4", None, "train")
    assert videos["street"][2] == "train", "street and street.mp4 are one video, in the split of its file"
    assert videos["https://example.org/watch?v=abc"] == (None, "https://example.org/watch?v=abc", "test")
    assert any(
        "questions without an answer, on which no model can be scored: 1" in warning for warning in content.warnings
    )


def test_a_row_is_a_dialogue_or_a_video_is_one(tmp_path: Path) -> None:
    path = table(tmp_path, "video,question,answer,asked_at_s\na.mp4,Late?,y,9\na.mp4,Early?,n,2\nb.mp4,Which?,it,1\n")
    each = read_questions(path).content.dialogues
    assert [str(dialogue.id) for dialogue in each] == ["a-01", "a-02", "b-01"]
    joined = read_questions(path, one_dialogue_per_video=True).content.dialogues
    assert [[turn.question for turn in dialogue.turns] for dialogue in joined] == [["Early?", "Late?"], ["Which?"]]


def test_empty_rows_of_a_spreadsheet_and_blanks_around_the_name_of_a_video(tmp_path: Path) -> None:
    path = table(tmp_path, "video,question,answer\nfilm .mp4,Which?,it\nfilm.mp4,Who?,she\n,,\n , ,\n")
    content = read_questions(path).content
    assert [(str(video.id), video.file) for video in content.videos] == [
        ("film .mp4", "film .mp4"), ("film", "film.mp4"),
    ]  # fmt: skip
    assert len(content.dialogues) == 2


def test_tabs_and_names_of_columns_are_understood(tmp_path: Path) -> None:
    text = "Video\tQuestion\tOption A\tOption-B\tCorrect\nk\tWho?\the\tshe\toption_b\n"
    turn = read_questions(table(tmp_path, text)).content.dialogues[0].turns[0]
    assert (turn.options, turn.correct_option, turn.references) == (("he", "she"), 1, ("she",))


def test_a_dialogue_name_of_several_videos_is_one_each(tmp_path: Path) -> None:
    path = table(tmp_path, "video,dialogue,question,answer\na,1,Who?,x\na,1,Why?,y\nb,1,Who?,z\n")
    content = read_questions(path).content
    assert [(str(found.id), len(found.turns)) for found in content.dialogues] == [("a/1", 2), ("b/1", 1)]
    assert any("occur with several videos" in warning for warning in content.warnings)


def test_names_of_columns_are_mapped(tmp_path: Path) -> None:
    path = table(tmp_path, "clip,Q,A,Asked at\nk.mp4,Who?,she,4\n")
    found = read_questions(path, columns={"video": "clip", "question": "Q", "answer": "A"}).content
    assert found.dialogues[0].turns[0].question == "Who?"
    assert (
        "'Asked at' is kept without a meaning; if it is 'asked_at_s', pass --columns asked_at_s=Asked at"
        in (found.warnings[0])
    )


def test_rows_without_a_video_are_set_aside(tmp_path: Path) -> None:
    found = read_questions(table(tmp_path, "video,question,answer\nk,Who?,she\n,Where?,here\n")).content
    assert [(row.place, row.reason) for row in found.rejected] == [("questions.csv:3", "no video: the cell is empty")]
    assert len(found.dialogues) == 1


def test_the_same_row_twice_is_told_with_both_places(tmp_path: Path) -> None:
    head = "id,video,question,answer,dialogue,asked_at_s"
    rows = ["1,k.mp4,Who?,x,,3", "2,k,Who?,x,,3", "3,k,Who?,y,,3", "4,k,Who?,x,,4", "5,k,Who?,x,d,3", "6,o,Who?,x,,3"]
    told = read_questions(table(tmp_path, "\n".join([head, *rows]) + "\n")).content.warnings
    assert told == ["the same row twice, which counts twice in scores: questions.csv:3 is questions.csv:2 again"]


HEAD = "video,question,answer"
WRONG = {
    "a missing column": ("video,questions,answer\nk,Who?,x\n", r"no column 'question' .*:1\).*nearest is 'questions'"),
    "an empty table": (f"{HEAD}\n", "the table has no rows"),
    "nothing at all": ("", "no line of column names"),
    "an empty question": (f"{HEAD}\nk,,x\n", r"the question is empty \(.*questions.csv:2 at question\)"),
    "a clock": (f"{HEAD},asked_at_s\nk,Who?,x,1:05\n", r"not a number of seconds, got '1:05' .*write 65 for 1:05"),
    "no number": (f"{HEAD},asked_at_s\nk,Who?,x,soon\n", "not a number of seconds, 0 to 1e\\+12, got 'soon'"),
    "a time without end": (f"{HEAD},asked_at_s\nk,Who?,x,1e308\n", "of seconds, 0 to 1e\\+12, got '1e308'"),
    "a negative time": (f"{HEAD},asked_at_s\nk,Who?,x,-3\n", "not a number of seconds, 0 to 1e\\+12, got '-3'"),
    "half an interval": (f"{HEAD},start_s,end_s\nk,Who?,x,3,\n", "start_s and end_s belong together"),
    "an interval backwards": (f"{HEAD},start_s,end_s\nk,Who?,x,3,1\n", "it ends before it starts, at 3 s, got '1'"),
    "a number as the right option": (
        f"{HEAD},option_a,option_b,correct\nk,Who?,x,he,she,1\n", "may count from 0 or from 1; write the letter"
    ),
    "a letter of no option": (f"{HEAD},option_a,option_b,correct\nk,Who?,x,he,she,D\n", "of the 2 options, got 'D'"),
    "an answer that is no option": (f"{HEAD},option_a,option_b\nk,Who?,it,he,she\n", "none of the 2 options, got 'it'"),
    "a gap in the options": (f"{HEAD},option_a,option_b,option_c\nk,Who?,A,he,,she\n", "the option is empty"),
    "one option": (f"{HEAD},option_a,option_b\nk,Who?,A,he,\n", "one option only"),
    "a right option without options": (f"{HEAD},correct\nk,Who?,x,A\n", "a right option, but no options"),
    "one id twice": (f"{HEAD},id\nk,Who?,x,7\nk,Why?,y,7\n", r"that of questions.csv:2 too, got '7' .*:3 at id"),
    "one turn twice": (f"{HEAD},dialogue,turn\nk,Who?,x,d,1\nk,Why?,y,d,1\n", "the turn of questions.csv:2 too, got 1"),
    "a turn without its number": (f"{HEAD},dialogue,turn\nk,Who?,x,d,1\nk,Why?,y,d,\n", "the turn is empty, and other"),
    "a turn that is no number": (f"{HEAD},dialogue,turn\nk,Who?,x,d,first\n", "a whole number, 0 or more, got 'first'"),
    "times backwards": (
        f"{HEAD},dialogue,asked_at_s\nk,Who?,x,d,9\nk,Why?,y,d,3\n", "comes before it in its dialogue and is asked"
    ),
    "a video in two splits": (f"{HEAD},split\nk,Who?,x,train\nk,Why?,y,test\n", "in split 'train' in another row"),
    "a row too short": (f"{HEAD}\nk,Who?\n", r"2 cells under 3 columns .*:2"),
    "no video anywhere": (f"{HEAD}\n,Who?,x\n", "no row names a video"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tables_are_refused_with_the_line(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    with pytest.raises(InputError, match=message):
        read_questions(table(tmp_path, text), strict=True)


def test_damaged_rows_are_all_listed_and_the_others_read(tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEAD},asked_at_s\nk,Who?,x,soon\nk,,x,2\nk,Why?,x,3\nk,How?,x,late\n")
    found = read_questions(path).content
    assert [turn.question for dialogue in found.dialogues for turn in dialogue.turns] == ["Why?"]
    assert [row.record_id for row in found.rejected] == ["questions.csv:2", "questions.csv:3", "questions.csv:5"]
    assert found.rejected[1].reason == "the question is empty"


def test_rows_that_contradict_others_are_left_out(tmp_path: Path) -> None:
    rows = ["k,Who?,x,d,1,3,1", "k,Why?,y,d,1,4,2", "k,How?,y,d,,5,3", "k,When?,y,d,3,2,4", "m,What?,y,e,1,5,1"]
    rows.append("k,Where?,y,f,1,6,6")
    path = table(tmp_path, "\n".join([f"{HEAD},dialogue,turn,asked_at_s,id", *rows, ""]))
    found = read_questions(path).content
    assert [turn.question for dialogue in found.dialogues for turn in dialogue.turns] == ["Where?"]
    assert [row.record_id for row in found.rejected] == [f"questions.csv:{line}" for line in (6, 3, 4, 5, 2)]
    assert [video.id for video in found.videos] == ["k"]


def test_no_turn_loses_the_turns_before_it(tmp_path: Path) -> None:
    rows = ["k,Who?,x,d,1,1", "k,Why?,y,d,2,soon", "k,How?,y,d,3,3", "k,Where?,y,,,9", "k,When?,y,,,late"]
    found = read_questions(table(tmp_path, "\n".join([f"{HEAD},dialogue,turn,asked_at_s", *rows, ""]))).content
    assert [turn.question for dialogue in found.dialogues for turn in dialogue.turns] == ["Where?"]
    assert [row.reason for row in found.rejected if "another turn" in row.reason] == [
        "another turn of its dialogue is rejected"
    ] * 2


def test_wrong_options_of_the_command_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEAD},dialogue\nk,Who?,x,d\n")
    with pytest.raises(SettingError, match="there is no column 'questionx'; the nearest is 'question'"):
        read_questions(path, columns={"questionx": "question"})
    with pytest.raises(InputError, match="no column 'Q', which --columns names"):
        read_questions(path, columns={"question": "Q"})
    with pytest.raises(SettingError, match="the table has a column 'dialogue'"):
        read_questions(path, one_dialogue_per_video=True)
    with pytest.raises(InputError, match=r"it ends in \.xlsx .*pass --fix"):
        read_questions(table(tmp_path, "", "questions.xlsx"))


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("video;question;answer\r\nk.mp4;Who, then?;she\r\n", [("she",)]),
        (
            "video,question,answer,answer,answer,note\nk.mp4,Who?,she,her,,\nk.mp4,Why?,x,,,n\n",
            [("she", "her"), ("x",)],
        ),
        ('video,question,answer\n/data/k.mp4,"Who\nis it?","[""she"", ""her""]"\n', [("she", "her")]),
    ],
)
def test_any_form_of_csv_is_read(text: str, references: list[tuple[str, ...]], tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(text.encode())
    found = read_questions(path).content.dialogues
    assert [turn.references for dialogue in found for turn in dialogue.turns] == references


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl"])
def test_one_table_holds_what_a_folder_held(suffix: str, tmp_path: Path) -> None:
    content = read_questions(SAMPLE).content
    content.source_files = []
    assert write_table(content, tmp_path / f"all{suffix}") == []
    again = read_questions(tmp_path / f"all{suffix}").content
    assert [found.model_dump(exclude={"extra"}) for found in again.videos] == [
        found.model_dump(exclude={"extra"}) for found in content.videos
    ]
    before, after = ({str(found.id): found for found in one.dialogues} for one in (content, again))
    assert set(after) == set(before)
    for name, dialogue in before.items():
        for turn, other in zip(dialogue.turns, after[name].turns, strict=True):
            assert other.model_dump(exclude={"extra"}) == turn.model_dump(exclude={"extra"})


def questions() -> Content:
    return read_questions(SAMPLE).content


def test_answers_are_matched_by_turn_or_by_id(tmp_path: Path) -> None:
    by_turn = table(tmp_path, "unit_id,turn_index,text\nd1,1,on it\nd2,0,\n", "my-model.csv")
    found = read_answer_table(by_turn, questions()).answers
    assert [(a.model, a.unit_id, a.turn_index, a.text, a.state) for a in found] == [
        ("my-model", "d1", 1, "on it", AnswerState.ANSWERED),
        ("my-model", "d2", 0, "", AnswerState.FAILED),
    ]
    rows = [{"id": "q2", "text": "on it"}, {"id": "d2/01", "text": ""}, {"id": "17", "text": None}]
    by_id = table(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "m.jsonl")
    found = read_answer_table(by_id, questions()).answers
    assert [(a.unit_id, a.turn_index, a.state.value) for a in found] == [
        ("d1", 1, "answered"), ("d2", 0, "answered"), ("17", 0, "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "id,prediction\n17,on it\n",
        "ID,Prediction,text\n17/01,on it,\n",
        "unit_id,answer\n17/01,on it\n",
        "unit_id,output\n17,on it\n",
        "id,turn_index,response\n17,0,on it\n",
        "id,turn_index,model_answer\n17/01,0,on it\n",
    ],
)
def test_answers_name_a_turn_or_its_dialogue_under_either_name(text: str, tmp_path: Path) -> None:
    [found] = read_answer_table(table(tmp_path, text), questions()).answers
    assert (found.unit_id, found.turn_index, found.text) == ("17", 0, "on it")


def test_an_empty_text_in_json_is_an_answer_and_not_a_column_to_pass_over(tmp_path: Path) -> None:
    path = table(tmp_path, json.dumps([{"id": "17", "prediction": "", "answer": "the right one"}]), "m.json")
    with pytest.raises(InputError, match=r"answer, prediction .*keep the one with .*such as 'prediction'"):
        read_answer_table(path, questions())


def test_the_same_answer_twice_is_read_once_and_told(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("unit_id,turn_index,text\nd1,0,x\nd1,0,x \nd1,1,y\n", encoding="utf-8")
    found = read_answer_table(path, questions())
    assert [answer.text for answer in found.answers] == ["x", "y"]
    assert found.warnings == ["1 rows answer a turn again, with the same words: line 3 repeats line 2"]


WRONG_ANSWERS = {
    "a dialogue of several turns without a turn": (
        "id,answer\nd1,x\n",
        r"this dialogue has 2 turns, and the row does not say which, got 'd1' .*:2 at id\).*'turn_index', from 0",
    ),
    "two columns of answers": ("id,answer,prediction\nd2,x,y\n", "several columns hold answers: answer, prediction"),
    "a turn and the index of another": ("id,turn_index,text\nd2/01,1,x\n", "turn 'd2/01' has the index 0, got '1'"),
    "no text": ("unit_id,turn_index,txt\nd1,0,x\n", r"no column 'text' .*the nearest is 'txt'"),
    "no unit": ("text,turn_index\nx,0\n", "no column 'id'"),
    "an unknown unit": ("unit_id,turn_index,text\nd9,0,x\n", r"has this name; the nearest is 'd\d', got 'd9' .*:2"),
    "a turn too far": ("unit_id,turn_index,text\nd1,2,x\n", "'d1' has 2 turns, from 0 to 1, got '2'"),
    "an unknown id": ("id,text\nq77,x\n", "no turn of the benchmark has this id; the nearest is"),
    "one turn twice": (
        "unit_id,turn_index,text\nd1,0,x\nd1,0,y\n",
        r"has another answer at line 2, got 'd1' .*:3",
    ),
    "no rows": ("unit_id,turn_index,text\n", "the table has no rows"),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_wrong_answers_are_refused_with_the_line(name: str, tmp_path: Path) -> None:
    text, message = WRONG_ANSWERS[name]
    with pytest.raises(InputError, match=message):
        read_answer_table(table(tmp_path, text), questions())


def test_other_files_of_a_folder_are_listed(tmp_path: Path) -> None:
    table(tmp_path, f"{HEAD}\nk,Who?,x\n", "test.csv")
    table(tmp_path, "name,size\nk,3\n", "sizes.csv")
    table(tmp_path, "{}", "k.json")
    table(tmp_path, "notes", "README.md")
    content = read_questions(tmp_path).content
    assert [video.split for video in content.videos] == ["test"]
    assert [warning.split(" ")[0] for warning in content.warnings] == ["README.md", "k.json", "sizes.csv"]
    (tmp_path / "test.csv").write_text("clip,Q,A\nk,Who?,x\n", encoding="utf-8")
    mapped = read_questions(tmp_path, columns={"video": "clip", "question": "Q", "answer": "A"}).content
    assert len(mapped.dialogues) == 1


def test_parquet_with_lists_is_read_and_written(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"video": {"bytes": None, "path": "k.mp4"}, "question": "Who?", "answer": ["she", "her"], "turn": None},
        {"video": {"bytes": None, "path": "k.mp4"}, "question": "Why?", "answer": ["x"], "turn": None},
    ]
    (tmp_path / "in").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in" / "test-00000-of-00001.parquet")
    content = read_questions(tmp_path / "in").content
    assert [turn.references for dialogue in content.dialogues for turn in dialogue.turns] == [("she", "her"), ("x",)]
    assert write_table(content, tmp_path / "all.parquet") == [
        "column 'answer' of all.parquet fits no column type and is written as JSON text"
    ]
    back = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [(row["video"], row["question"], row["answer"]) for row in back] == [
        ("k.mp4", "Who?", '["she", "her"]'), ("k.mp4", "Why?", '"x"'),
    ]  # fmt: skip


def test_a_table_of_many_rows_is_linear_enough(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video", "question", "answer"])
        writer.writerows([f"v{n % 50}.mp4", f"What is {n}?", str(n)] for n in range(20_000))
    content = read_questions(path).content
    assert len(content.dialogues) == 20_000
    assert len({dialogue.id for dialogue in content.dialogues}) == 20_000
