"""VDAct in and out."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeltalk.errors import InputError
from reeltalk.formats import vdact
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.media import Video
from reeltalk.store.content import Content


def comparable(path: Path) -> Any:
    """A file's content as it must come back."""
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    return path.read_bytes()


def assert_same_files(first: Path, second: Path, *, ignored: frozenset[str] = frozenset()) -> None:
    names = [
        {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - ignored
        for folder in (first, second)
    ]
    assert names[0] == names[1]
    for name in sorted(names[0]):
        assert comparable(first / name) == comparable(second / name), name


def test_the_sample_comes_back(samples: Path, tmp_path: Path) -> None:
    content = vdact.read(samples / "vdact")
    assert vdact.write(content, tmp_path) == []
    assert_same_files(samples / "vdact", tmp_path)
    again = vdact.read(tmp_path)
    assert again == content


def test_all_real_files_come_back(shared: Path, tmp_path: Path) -> None:
    content = vdact.read(shared / "data" / "vdact")
    assert vdact.write(content, tmp_path) == []
    assert_same_files(shared / "data" / "vdact", tmp_path, ignored=frozenset({"LICENSE"}))
    assert (len(content.dialogues), len(content.answers), len(content.graphs)) == (450, 6 * 4524, 706)
    assert [rejected.reason for rejected in content.rejected] == ["duplicate id: the first row is kept"] * 19


def test_what_the_sample_means(samples: Path) -> None:
    content = vdact.read(samples / "vdact")
    assert {video.id: video.split for video in content.videos if video.split} == {
        "09001": "test",
        "09002": "test",
        "09003": "train",
    }
    first = content.dialogues[0]
    assert (first.id, first.video_id, len(first.turns)) == ("0900101", "09001", 4)
    assert first.turns[0].labels == {"vdact.question_type": ("D-ACT", "T-SEQ")}
    assert first.turns[1].extra == {"annotator": "A7"}
    kept = next(a for a in content.answers if (a.model, a.unit_id, a.turn_index) == ("hasty-1f", "0900102", 0))
    assert kept.text == "One."
    assert content.rejected[0].place == "results/hasty-1f.json at $[6]"
    assert content.rejected[0].content["text"] == "Three rooms, I think."
    assert content.graphs["Wash_mug1_scene1"].startswith(
        "<http://example.org/virtualhome2kg/instance/wash_mug1_scene1>"
    )
    assert content.videos[0].summaries["template"].startswith("The person is in the kitchen.")


def test_outputs_alone_make_dialogues(samples: Path) -> None:
    content = vdact.read(samples / "vdact" / "results" / "careful-8f.json")
    assert [dialogue.id for dialogue in content.dialogues] == ["0900101", "0900102", "0900201", "0900202", "0900301"]
    assert content.dialogues[0].turns[0].references == ("She is washing a mug in the kitchen sink.",)


def test_a_dialogue_known_in_part_keeps_its_turn_numbers(tmp_path: Path, samples: Path) -> None:
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text(encoding="utf-8"))
    (tmp_path / "some.json").write_text(json.dumps([rows[1], rows[3]]))
    content = vdact.read(tmp_path / "some.json")
    assert [turn.position for turn in content.dialogues[0].turns] == [1, 3]
    assert content.warnings == ["dialogue 0900101 is known in part: turns 2, 4"]
    out = tmp_path / "out"
    out.mkdir()
    vdact.write(content, out)
    assert json.loads((out / "some.json").read_text()) == [rows[1], rows[3]]


def row(**changes: Any) -> dict[str, Any]:
    return {
        "id": "000110101",
        "dial_id": "0001101",
        "turn_num": 1,
        "question": "Q?",
        "ref_answer": "R.",
        "gen_answer": "G.",
    } | changes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", json.dumps([row(), row(turn_num="2")]), r"got '2' \(.*a\.json at \$\[1\]\.turn_num\)"),
        ("a.json", json.dumps([row(id="000110102")]), r"does not consist of dial_id and turn_num.*\$\[0\]\.id"),
        ("a.json", json.dumps([row(turn_num=0)]), r"\$\[0\]\.turn_num"),
        ("a.json", json.dumps([row(), "x"]), r"got 'x' \(.*\$\[1\]"),
        ("a.json", '[{"id": "1", "id": "2"}]', r"'id' stands twice.*a\.json:1"),
        ("a.json", "[\n{", r"not JSON.*a\.json:2"),
        ("a.json", "3", "neither model outputs nor dialogues"),
        ("train_ids.txt", "0001101\nabc\n", r"not a dialogue identifier, got 'abc' \(.*train_ids\.txt:2\)"),
        ("train_ids.txt", "0001101\n0001101\n", "stands 2 times"),
        ("x.nt", "<a> <b> <c> .\n", r"not N-Triples.*x\.nt:1"),
        (
            "x.nt",
            "<vh2kg_url/ontology/a> <w3_url#type> <http://example.org/virtualhome2kg/ontology/b> .\n",
            "mixes|absolute",
        ),
        ("x.zip", "PK", "zip"),
        ("notes.txt", "hello", "nothing of VDAct here"),
    ],
)
def test_damaged_input_is_refused_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        vdact.read(tmp_path)


def test_splits_never_share_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "test_ids.txt").write_text("0001101\n")
    (tmp_path / "train_ids.txt").write_text("0001102\n")
    with pytest.raises(InputError, match="scenario 00011 is in split 'test' too"):
        vdact.read(tmp_path)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    """Benchmarks that VDAct's layout can express in full."""
    content = Content()
    for scenario in range(1, draw(st.integers(2, 4))):
        video_id = VideoId(f"{scenario:05d}")
        content.videos.append(Video(id=video_id))
        for number in range(1, draw(st.integers(2, 4))):
            turns = tuple(Turn(question=draw(texts), references=(draw(texts),)) for _ in range(draw(st.integers(1, 4))))
            content.dialogues.append(Dialogue(id=DialogueId(f"{video_id}{number:02d}"), video_id=video_id, turns=turns))
    for model in draw(st.sets(st.sampled_from(["a-8f", "b.v2"]))):
        for dialogue in content.dialogues:
            content.answers += [
                Answer(model=model, unit_id=dialogue.id, turn_index=index, text=draw(texts))
                for index in range(len(dialogue.turns))
            ]
    return content


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(contents())
def test_generated_benchmarks_come_back(tmp_path_factory: pytest.TempPathFactory, content: Content) -> None:
    folder = tmp_path_factory.mktemp("vdact")
    assert vdact.write(content, folder) == []
    again = vdact.read(folder)
    assert again.videos == content.videos
    assert sorted(again.dialogues, key=lambda d: d.id) == sorted(content.dialogues, key=lambda d: d.id)
    assert {(a.model, a.unit_id, a.turn_index): a.text for a in again.answers} == {
        (a.model, a.unit_id, a.turn_index): a.text for a in content.answers
    }
