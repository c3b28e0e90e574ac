"""Options that carry their letters: the letters are taken off, and the right option is found."""

import json
from pathlib import Path

import pytest

from reeltalk.errors import InputError
from reeltalk.formats import load_format
from reeltalk.formats.multiple_choice import without_letters
from reeltalk.formats.qa import read_questions, write_table
from reeltalk.stages.layouts import import_layout

PLAIN = ("a ladle", "a whisk", "a peeler")


@pytest.mark.parametrize(
    "options",
    [
        ("A. a ladle", "B. a whisk", "C. a peeler"),
        ("A.a ladle", "B.a whisk", "C.a peeler"),
        ("(A) a ladle", "(B) a whisk", "(C) a peeler"),
        ("A) a ladle", "B) a whisk", "C) a peeler"),
        ("A: a ladle", "B: a whisk", "C: a peeler"),
        ("(a) a ladle", "(b) a whisk", "(c) a peeler"),
        ("Ａ、a ladle", "Ｂ、a whisk", "Ｃ、a peeler"),
        ("A．a ladle", "B．a whisk", "C．a peeler"),
        ("（A）a ladle", "（B）a whisk", "（C）a peeler"),
        ("[A] a ladle", "[B] a whisk", "[C] a peeler"),
    ],
)
def test_letters_are_taken_off(options: tuple[str, ...]) -> None:
    assert without_letters(options) == (PLAIN, ("A", "B", "C"))


def test_letters_in_another_order_and_numbers_in_order_are_taken_off() -> None:
    assert without_letters(("A. a ladle", "C. a whisk", "B. a peeler")) == (PLAIN, ("A", "C", "B"))
    assert without_letters(("1. a ladle", "2. a whisk", "3. a peeler")) == (PLAIN, ("1", "2", "3"))
    assert without_letters(("(1)a ladle", "(2)a whisk", "(3)a peeler")) == (PLAIN, ("1", "2", "3"))


@pytest.mark.parametrize(
    "options",
    [
        PLAIN,
        ("A. a ladle", "a whisk", "C. a peeler"),
        ("A. a ladle", "B. a whisk", "D. a peeler"),
        ("A. a ladle", "A. a whisk", "B. a peeler"),
        ("A", "B", "C"),
        ("A.", "B.", "C."),
        ("A.B. Smith", "B.C. Jones"),
        ("a knife", "b", "c"),
        ("1.5 s", "2.5 s"),
        ("2. a ladle", "1. a whisk"),
        ("0. a ladle", "1. a whisk"),
        ("10:30", "11:30"),
        ("A. a ladle",),
    ],
)
def test_what_is_no_letter_of_a_place_stays(options: tuple[str, ...]) -> None:
    assert without_letters(options) == (options, ())


@pytest.mark.parametrize(
    ("options", "right", "answer"),
    [
        (["A. a ladle", "C. a whisk", "B. a peeler"], "C", "a whisk"),
        (["A. a ladle", "C. a whisk", "B. a peeler"], "C. a whisk", "a whisk"),
        (["A. a ladle", "C. a whisk", "B. a peeler"], "(b)", "a peeler"),
        (["A. a ladle", "B. a whisk", "C. a peeler"], "A peeler", "a peeler"),
        (["1. a ladle", "2. a whisk", "3. a peeler"], "2", "a whisk"),
        (["1. a ladle", "2. a whisk", "3. a peeler"], "C", "a peeler"),
        ({"A": "a ladle", "C": "a whisk", "B": "a peeler"}, "C", "a whisk"),
        ({"A": "A. a ladle", "B": "B. a whisk", "C": "C. a peeler"}, "C", "a peeler"),
    ],
)
def test_the_right_option_of_a_table_is_found(options: object, right: str, answer: str, tmp_path: Path) -> None:
    rows = [{"video": "k.mp4", "question": "Which?", "options": options, "answer": right}]
    rows.append({"video": "k.mp4", "question": "Which one?", "options": options, "correct": right})
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    content = read_questions(path).content
    for dialogue in content.dialogues:
        [turn] = dialogue.turns
        assert turn.options == PLAIN
        assert turn.correct_option == PLAIN.index(answer)
        assert turn.references == (answer,)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("B. red,A. blue,C. green,A", "the options carry other letters than their columns"),
    ],
)
def test_options_that_are_the_same_or_misplaced_are_refused(row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"video,question,option_a,option_b,option_c,correct\nk,Which?,{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_questions(path)


LETTERED = ["A. a ladle", "C. a whisk", "B. a peeler"]
DOUBLED = ["a ladle", "A ladle", "a peeler"]
MME = {"video_id": "1", "duration": "short", "domain": "x", "sub_category": "y", "url": "u", "videoID": "v",
       "task_type": "t"}  # fmt: skip
PUBLISHED = {
    "video-mme": [
        MME | {"question_id": "1", "question": "Which?", "options": LETTERED, "answer": "C"},
        MME | {"question_id": "2", "question": "Why?", "options": DOUBLED, "answer": "C"},
    ],
    "mvbench": [
        {"video": "v.mp4", "question": "Which?", "candidates": LETTERED, "answer": "C. a whisk"},
        {"video": "v.mp4", "question": "Why?", "candidates": DOUBLED, "answer": "a peeler"},
    ],
    "ovo-bench": [
        {"id": 1, "task": "EPM", "video": "v.mp4", "realtime": 1, "question": "Which?", "options": LETTERED,
         "answer": "C. a whisk", "gt": 1},
        {"id": 2, "task": "EPM", "video": "v.mp4", "realtime": 1, "question": "Why?", "options": DOUBLED,
         "answer": "a peeler", "gt": 2},
    ],
    "dramaqa": [
        {"qid": 1, "vid": "AnotherMissOh14_001_0000", "videoType": "scene", "que": "Which?", "answers": LETTERED,
         "correct_idx": 1},
        {"qid": 2, "vid": "AnotherMissOh14_001_0000", "videoType": "scene", "que": "Why?", "answers": DOUBLED,
         "correct_idx": 2},
    ],
}  # fmt: skip


@pytest.mark.parametrize("layout", PUBLISHED)
def test_published_options_lose_their_letters(layout: str, tmp_path: Path) -> None:
    rows = PUBLISHED[layout]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "test.json").write_text(json.dumps(rows), encoding="utf-8")
    content = load_format(layout).read(tmp_path / "in")
    first, second = (dialogue.turns[0] for dialogue in content.dialogues)
    assert first.options == PLAIN
    assert (first.correct_option, first.references) == (1, ("a whisk",))
    assert second.options == tuple(DOUBLED), "a published question is kept as it is"
    warnings = import_layout(layout, tmp_path / "in", tmp_path / "benchmark").warnings
    assert warnings == (f"{content.dialogues[1].id}, turn 1: options A and B are the same: change one of them",)
    table = tmp_path / "all.json"
    write_table(content, table)
    assert len(json.loads(table.read_text(encoding="utf-8"))) == 2
    again = read_questions(table).content.dialogues
    assert [dialogue.turns[0].options for dialogue in again] == [PLAIN, tuple(DOUBLED)]
