"""VDAct in and out."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeltalk.errors import InputError
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.store.content import Content
from reeltalk_build.formats import vdact
from reeltalk_build.formats.vdact import activity_in_path


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
        ("a.json", '[{"id": "1", "id": "2"}]', r"'id' appears twice.*a\.json:1"),
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


def test_content_of_another_origin_is_written_as_far_as_it_fits_and_the_rest_is_counted(
    tmp_path: Path, samples: Path
) -> None:
    kitchen = VideoId("kitchen")
    early, late = Interval(start_s=0, end_s=5), Interval(start_s=5, end_s=9)
    graphs = vdact.read(samples / "vdact" / "kg_activity").graphs
    content = Content(
        videos=[
            Video(id=VideoId("00001"), file="a.mp4", split="test"),
            Video(id=kitchen, file="k.mp4", split="test", summaries={"template": "He sits.", "refine": "One sits."}),
        ],
        clips=[
            Clip(id=ClipId("b"), video_id=kitchen, interval=late, extra={"activity": "Drink1_scene1"}),
            Clip(id=ClipId("a"), video_id=kitchen, interval=early, extra={"activity": "Wash_mug1_scene1"}),
            Clip(id=ClipId("c"), video_id=VideoId("00001")),
        ],
        chains=[QAChain(id=ChainId("x"), video_id=kitchen, turns=(Turn(question="A?", references=("a",)),))],
        dialogues=[
            Dialogue(
                id=DialogueId("summary/kitchen/1"),
                video_id=kitchen,
                task="summary",
                extra={"writer": "graph", "scene": "s"},
                turns=(
                    Turn(
                        question="B?",
                        references=("b", "bb"),
                        labels={"vdact.question_type": ("D-ACT",)},
                        extra={"form": "b/1", "rests_on": 1},
                    ),
                ),
            ),
            Dialogue(
                id=DialogueId("0000107"), video_id=VideoId("00001"), turns=(Turn(question="C?", references=("c",)),)
            ),
        ],
        answers=[
            Answer(model="m", unit_id="summary/kitchen/1", turn_index=0, text="!", extra={"latency_s": 1}),
            Answer(model="m", unit="chain", unit_id="x", turn_index=0, text="?"),
        ],
        graphs={"Wash_mug1_scene1": graphs["Wash_mug1_scene1"]},
    )
    assert vdact.write(content, tmp_path) == [
        "dialogues with new identifiers, <scenario><two digits>: 1",
        "activities that activity_videos names, which are parts of a video and have no files of their own: 2",
        "answers to what is left out are left out: 1",
        "clips that are no activities are left out: 1",
        "clips of activities lose their extra: 2",
        "clips of activities lose their interval: 2",
        "chains are left out: 1",
        "dialogues lose their extra: 1",
        "dialogues lose their task: 1",
        "turns with several references, of which the first is written: 1",
        "turns lose their extra: 1",
        "turns lose their labels of vdact.question_type: 1",
    ]
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {
        "data/dialogue/dialogue.json",
        "data/dialogue/test_ids.txt",
        "VDEval/scenario_refine_summaries/00002.txt",
        "VDEval/scenario_template_summaries/00002.txt",
        "kg_activity/Wash_mug1_scene1.ttl.nt",
        "results/m.json",
    }
    assert json.loads((tmp_path / "data/dialogue/dialogue.json").read_text(encoding="utf-8")) == [
        {
            "id": "0000201",
            "turns": [{"question": "B?", "answer": "b"}],
            "scenario_video": "k.mp4",
            "activity_videos": ["activities/Wash_mug1_scene1.mp4", "activities/Drink1_scene1.mp4"],
        },
        {
            "id": "0000107",
            "turns": [{"question": "C?", "answer": "c"}],
            "scenario_video": "a.mp4",
            "activity_videos": [],
        },
    ]
    again = vdact.read(tmp_path)
    assert [(video.id, video.file) for video in again.videos] == [("00001", "a.mp4"), ("00002", "k.mp4")]
    assert [clip.extra["activity"] for clip in again.clips] == ["Wash_mug1_scene1", "Drink1_scene1"]


def test_a_scenario_has_99_dialogues_at_most(tmp_path: Path) -> None:
    video, turns = VideoId("v"), (Turn(question="A?", references=("a",)),)
    dialogues = [Dialogue(id=DialogueId(f"d{number}"), video_id=video, turns=turns) for number in range(101)]
    lost = vdact.write(Content(videos=[Video(id=video)], dialogues=dialogues), tmp_path)
    assert lost[0] == "dialogues beyond the 99 of a scenario are left out: 2"
    assert len(vdact.read(tmp_path).dialogues) == 99


def test_what_our_stages_add_to_an_imported_turn_stays_here_and_new_dialogues_are_named(
    samples: Path, tmp_path: Path
) -> None:
    content = vdact.read(samples / "vdact")
    first = content.dialogues[0]
    turns = tuple(
        turn.model_copy(update={"extra": {**turn.extra, "tags_verified": False, "writer": "m"}}) for turn in first.turns
    )
    content.dialogues[0] = first.model_copy(update={"turns": turns})
    content.dialogues.append(first.model_copy(update={"id": DialogueId("0900199")}))
    assert vdact.write(content, tmp_path) == ["dialogues that no imported file holds are left out: 1"]
    assert_same_files(samples / "vdact", tmp_path)


@pytest.mark.parametrize(
    ("path", "activity"),
    [
        ("activities/Wash_mug1_scene1.mp4", "Wash_mug1_scene1"),
        ("a/b/c/scene4/Clean desk1_0.mp4", "Clean_desk1_scene4"),
        ("Read_book1_scene12.mp4", "Read_book1_scene12"),
    ],
)
def test_an_activity_is_called_as_the_official_script_calls_it(path: str, activity: str) -> None:
    assert activity_in_path(path) == activity


def test_an_activity_is_a_video_only_where_no_scenario_is_known(samples: Path, tmp_path: Path) -> None:
    whole = vdact.read(samples / "vdact")
    assert {video.id for video in whole.videos} == {"09001", "09002", "09003"}
    rooms = {clip.extra["activity"]: clip.extra.get("initial_room") for clip in whole.clips}
    assert rooms == {
        "Wash_mug1_scene1": "kitchen",
        "Wash_mug1_scene2": None,
        "Read_book1_scene1": None,
        "Make_coffee1_scene2": "kitchen",
    }
    graphs = vdact.read(samples / "vdact" / "kg_activity")
    assert len(graphs.videos) == 3
    more, restored = tmp_path / "more", tmp_path / "restored"
    shutil.copytree(samples / "vdact", more)
    used = more / "kg_activity" / "Wash_mug1_scene1.ttl.nt"
    unused = used.read_text(encoding="utf-8").replace("wash_mug1_scene1", "wash_cup1_scene1")
    used.with_name("Wash_cup1_scene1.ttl.nt").write_text(unused, encoding="utf-8")
    named = json.loads((more / "initial_rooms.json").read_text(encoding="utf-8")) | {"Wash_cup1_scene1": "bedroom"}
    (more / "initial_rooms.json").write_text(json.dumps(named), encoding="utf-8")
    beside = vdact.read(more)
    assert {video.id for video in beside.videos} == {"09001", "09002", "09003"}
    assert "Wash_cup1_scene1" in beside.graphs
    restored.mkdir()
    vdact.write(beside, restored)
    assert_same_files(more, restored)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), max_size=20)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    """Benchmarks that VDAct's layout can express in full."""
    content = Content()
    for scenario in range(1, draw(st.integers(2, 4))):
        video_id = VideoId(f"{scenario:05d}")
        content.videos.append(Video(id=video_id, file=f"{video_id}.mp4"))
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


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(contents())
def test_generated_benchmarks_come_back(tmp_path_factory: pytest.TempPathFactory, content: Content) -> None:
    folder = tmp_path_factory.mktemp("vdact")
    assert vdact.write(content, folder) == []
    again = vdact.read(folder)
    assert again.videos == content.videos
    assert all(set(row.extra) == {"scenario_video", "activity_videos"} for row in again.dialogues)
    plain = [row.model_copy(update={"extra": {}}) for row in again.dialogues]
    assert sorted(plain, key=lambda d: d.id) == sorted(content.dialogues, key=lambda d: d.id)
    assert {(a.model, a.unit_id, a.turn_index): a.text for a in again.answers} == {
        (a.model, a.unit_id, a.turn_index): a.text for a in content.answers
    }
