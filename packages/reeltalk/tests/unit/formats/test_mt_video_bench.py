"""MT-Video-Bench, both versions: what each variant means, that all of it comes back, and what is refused."""

import json
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.formats.mt_video_bench import read, write
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, QAChain, Turn
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content

VERSIONS = ("mt-video-bench-v1", "mt-video-bench-v2")
MTQA = "mtqa/object_reference.json"
CHECKLIST = "checklist/object_reference_CheckList.json"
ANSWERS = "model_answers/ExampleVL_32_720/object_reference.json"
RESULTS = "eval_results/ExampleVL_32_720_eval_gemini-2.5-flash/object_reference.json"


def documents(folder: Path) -> dict[str, str]:
    """Each file's JSON, key order included."""
    return {
        path.relative_to(folder).as_posix(): json.dumps(json.loads(path.read_text("utf-8")))
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(content: Content, folder: Path) -> list[str]:
    folder.mkdir()
    return write(content, folder)


def assert_same(one: Content, other: Content, *, but: tuple[str, ...] = ()) -> None:
    for table in fields(Content):
        if table.name not in but:
            assert getattr(one, table.name) == getattr(other, table.name), table.name


@pytest.fixture
def v2(samples: Path) -> Content:
    return read(samples / "mt-video-bench-v2")


@pytest.fixture
def v1(samples: Path) -> Content:
    return read(samples / "mt-video-bench-v1")


def dialogue(content: Content, name: str) -> Dialogue:
    return next(row for row in content.dialogues if row.id == name)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_file_comes_back(samples: Path, tmp_path: Path, version: str) -> None:
    content = read(samples / version)
    assert written(content, tmp_path / "out") == []
    assert documents(tmp_path / "out") == documents(samples / version)
    assert_same(read(tmp_path / "out"), content)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_invariants_hold(samples: Path, version: str) -> None:
    assert [finding for finding in check_content(read(samples / version)) if finding.severity == "error"] == []


def test_which_version_is_recorded_for_each_file(v1: Content, v2: Content) -> None:
    assert {file.extra["version"] for file in v1.source_files} == {"v1"}
    assert {file.extra["version"] for file in v2.source_files} == {"v2"}


def test_a_dialogue_is_an_event_of_a_video_in_the_file_of_a_task(v2: Content) -> None:
    assert [row.id for row in v2.dialogues] == [
        "object_reference/market_walk/1",
        "object_reference/market_walk/2",
        "object_reference/夜市/1",
        "summary/market_walk/1",
        "topic_shifting/market_walk/3",
    ]
    assert dialogue(v2, "summary/market_walk/1").task == Task.CONTENT_SUMMARY
    assert v2.videos[0].file == "market_walk.mp4"


def test_a_round_is_a_turn_whose_ability_is_a_label(v2: Content) -> None:
    first = dialogue(v2, "object_reference/market_walk/1")
    assert first.turns[1].question == "Where does he put it?"
    assert first.turns[1].references == ("He puts the crate on a handcart.",)
    assert [turn.labels for turn in first.turns] == [
        {"mt_video_bench.ability": ("Scene Understanding",)},
        {"mt_video_bench.task": ("object_reference",)},
        {"mt_video_bench.task": ("object_reference",)},
    ]
    assert first.turns[2].extra == {"reviewer": "B"}
    assert first.extra == {"event_index": 1, "scenes": [2, 5]}
    assert dialogue(v2, "object_reference/market_walk/2").turns[1].labels == {}


def test_checklists_belong_to_turns(v2: Content) -> None:
    turns = dialogue(v2, "object_reference/market_walk/1").turns
    assert turns[0].checklist is None
    assert turns[1].checklist is not None
    assert [item.expected for item in turns[1].checklist.items] == [True, True, True, True, False]
    short = turns[2].checklist
    assert short is not None
    assert [(item.question[:12], item.expected, item.extra) for item in short.items] == [
        ("Does the ans", True, {}),
        ("Is her coat ", False, {}),
        ("Is her coat ", True, {"number": 4}),
    ]
    assert short.extra == {"revised": True}


def test_what_an_answer_says_tells_its_state_and_is_kept(v2: Content) -> None:
    rows = [row for row in v2.answers if row.unit_id == "object_reference/market_walk/1"]
    assert [(row.turn_index, row.state, row.text) for row in rows] == [
        (0, AnswerState.NOT_ASKED, "No need for this ability to answer."),
        (1, AnswerState.ANSWERED, "<think>The crate... the man.</think>On a handcart."),
        (2, AnswerState.FAILED, "[ERROR] CUDA out of memory"),
    ]
    assert {row.model for row in v2.answers} == {"ExampleVL_32_720"}


def test_results_are_scores_of_rounds_and_of_runs(v2: Content) -> None:
    scores = {(row.turn_index, row.criterion): row for row in v2.scores}
    assert {key: row.value for key, row in scores.items()} == {
        (1, "checklist"): 0.67,
        (1, "checklist/run 1"): 0.6,
        (1, "checklist/run 2"): 0.8,
        (1, "checklist/run 3b"): 0.6,
        (2, "checklist"): None,
        (2, "checklist/run 1"): None,
    }
    assert scores[2, "checklist"].state is ScoreState.UNSCORED
    assert scores[1, "checklist"].judge == "gemini-2.5-flash"
    assert scores[1, "checklist"].model == "ExampleVL_32_720"
    assert scores[1, "checklist/run 2"].extra["results"]["A3"] == "Yes"
    assert scores[2, "checklist/run 1"].extra["error"] == "reply was cut off"


def test_version_1_nests_and_names_in_its_own_way(v1: Content) -> None:
    assert [row.id for row in v1.dialogues] == [
        "answer_refusal/tram_ride/1",
        "memory_recall/tram_ride/1",
        "memory_recall/tram_ride/2",
        "memory_recall/bakery/4",
        "memory_recall/bakery/5",
    ]
    assert dialogue(v1, "memory_recall/tram_ride/1").turns[0].references == ("A sticker of a fish.",)
    assert dialogue(v1, "memory_recall/tram_ride/2").turns[0].references == ("An old man.",)
    assert dialogue(v1, "memory_recall/bakery/4").turns[0].references == ("Rolls.",)
    assert dialogue(v1, "memory_recall/bakery/4").extra == {"event_index": 4, "note": "round two was withdrawn"}


def test_a_missing_round_leaves_its_number_to_the_next(v1: Content) -> None:
    turns = dialogue(v1, "memory_recall/bakery/4").turns
    assert [turn.position for turn in turns] == [None, 2]
    assert v1.warnings == ["mtqa/memory_recall.json: dialogue memory_recall/bakery/4 is known in part: rounds 1, 3"]
    assert turns[1].checklist is not None
    answers = [row for row in v1.answers if row.unit_id == "memory_recall/bakery/4"]
    assert [(row.turn_index, row.text) for row in answers] == [(0, "Bread."), (1, "[ERROR] timeout")]


def test_an_edited_turn_comes_back_under_its_alias(v1: Content, tmp_path: Path) -> None:
    for index, row in enumerate(v1.dialogues):
        turns = tuple(turn.model_copy(update={"references": ("Edited.",)}) for turn in row.turns)
        v1.dialogues[index] = row.model_copy(update={"turns": turns})
    written(v1, tmp_path / "out")
    videos = json.loads((tmp_path / "out/mtqa/memory_recall.json").read_text("utf-8"))
    assert videos["tram_ride"]["event_1"]["Round 1"]["Bot"] == "Edited."
    assert videos["tram_ride"]["event_2"]["mtqa"]["Round 1"] == {
        "User": "Who sits down?",
        "Answer": "Edited.",
        "Ability": "Memory Recall",
    }


def test_one_file_can_be_read_by_itself(samples: Path, tmp_path: Path) -> None:
    content = read(samples / "mt-video-bench-v2" / "mtqa" / "summary.json")
    assert [row.id for row in content.dialogues] == ["summary/market_walk/1"]
    written(content, tmp_path / "out")
    assert list(documents(tmp_path / "out")) == ["mtqa/summary.json"]
    assert_same(read(tmp_path / "out"), content)


def test_records_that_no_file_holds_are_added_to_the_files_of_their_task(v2: Content, tmp_path: Path) -> None:
    new = Dialogue(
        id=DialogueId("summary/market_walk/9"),
        video_id=VideoId("market_walk"),
        task="summary",
        turns=(
            Turn(
                question="And now?", references=("The end.",), labels={"mt_video_bench.ability": ("Scene Reasoning",)}
            ),
        ),
    )
    v2.dialogues.append(new)
    assert written(v2, tmp_path / "out") == []
    again = read(tmp_path / "out")
    assert dialogue(again, new.id) == new
    assert len(again.dialogues) == len(v2.dialogues)


def test_content_of_another_origin_is_written_as_far_as_it_fits_and_the_rest_is_counted(tmp_path: Path) -> None:
    video = VideoId("v1")
    task = {"mt_video_bench.task": ("summary",)}
    item = ChecklistItem(question="Is it named?", expected=True, extra={"rests_on": "mug1"})
    content = Content(
        videos=[Video(id=video, duration_s=9.0), Video(id=VideoId("unused"))],
        clips=[Clip(id=ClipId("c"), video_id=video)],
        chains=[QAChain(id=ChainId("chain"), video_id=video, turns=(Turn(question="A?", references=("a", "b")),))],
        dialogues=[
            Dialogue(
                id=DialogueId("d"),
                video_id=video,
                task="summary",
                extra={"writer": "graph", "scene": "s"},
                turns=(
                    Turn(question="B?", asked_at_s=1.0, extra={"form": "b/1", "rests_on": 1}),
                    Turn(question="Why?", references=("c",), labels={"cogme.thinking": ("Reasoning",)}),
                    Turn(
                        question="C?",
                        references=("c", "d"),
                        labels=task,
                        checklist=Checklist(items=(item,), extra={"writer": "graph"}),
                    ),
                ),
            ),
            Dialogue(id=DialogueId("free"), video_id=video, turns=(Turn(question="D?", references=("d",)),)),
        ],
        answers=[
            Answer(model="m/x", unit="chain", unit_id="chain", turn_index=0, text="a"),
            Answer(model="m/x", unit="dialogue", unit_id="d", turn_index=0, text="", state=AnswerState.FAILED),
            Answer(model="m/x", unit="dialogue", unit_id="free", turn_index=0, text="a"),
            Answer(model="m/x", unit="path", unit_id="p", turn_index=0, text="a"),
        ],
        scores=[JudgedScore(unit="chain", unit_id="chain", model="m/x", judge="j", criterion="SA", value=3.0)],
    )
    assert written(content, tmp_path / "out") == [
        "dialogues of none of the six tasks are left out: 1",
        "dialogues with new identifiers, <task>/<video>/<event>: 1",
        "model answers that no imported file holds are left out: 4",
        "scores that no imported file holds are left out: 1",
        "clips are left out: 1",
        "chains are left out: 1",
        "rounds of none of the six tasks, whose Ability is a basic capability: 2",
        "videos without dialogues are left out: 1",
        "videos lose their duration_s: 1",
        "dialogues lose their extra: 1",
        "turns with several references, of which the first is written: 1",
        "turns without a reference, written as an empty answer: 1",
        "turns lose their asked_at_s: 1",
        "turns lose their extra: 1",
        "turns lose their labels of cogme.thinking: 1",
    ]
    found = {name: json.loads(text) for name, text in documents(tmp_path / "out").items()}
    assert found["mtqa/summary.json"] == {
        "v1": [
            {
                "event_index": "1",
                "mtqa": {
                    "Round 1": {"User": "B?", "Assistant": "", "Ability": "Scene Understanding"},
                    "Round 2": {"User": "Why?", "Assistant": "c", "Ability": "Scene Reasoning"},
                    "Round 3": {"User": "C?", "Assistant": "c", "Ability": "Summary"},
                },
            }
        ]
    }
    rows = [{"round index": 3, "Q1": "Is it named?", "A1": "Yes"}]
    assert found["checklist/summary_CheckList.json"] == {"v1": {"1": rows}}
    assert len(found) == 2


def test_what_our_stages_add_to_an_imported_round_stays_here(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "mt-video-bench-v2", tmp_path / "in")
    path = tmp_path / "in" / MTQA
    document = json.loads(path.read_text("utf-8"))
    document["market_walk"][0]["mtqa"]["Round 1"]["kind"] = "the source's own"
    path.write_text(json.dumps(document), encoding="utf-8")
    content = read(tmp_path / "in")
    content.dialogues = [
        row.model_copy(
            update={
                "turns": tuple(
                    turn.model_copy(update={"extra": {**turn.extra, "tags_verified": False, "writer": "m"}})
                    for turn in row.turns
                )
            }
        )
        for row in content.dialogues
    ]
    write(content, tmp_path / "out")
    assert json.loads((tmp_path / "out" / MTQA).read_text("utf-8")) == document


DAMAGED: list[tuple[str, list[str | int], Any, str, str]] = [
    (MTQA, ["market_walk", 0, "event_index"], 1.5, "event_index", r"\$\.market_walk\[0\]\.event_index"),
    (MTQA, ["market_walk", 1, "event_index"], "1", "appears twice", r"\$\.market_walk\[1\]"),
    (MTQA, ["market_walk", 0, "mtqa"], [], "valid dictionary", r"\$\.market_walk\[0\]\.mtqa"),
    (MTQA, ["market_walk", 0, "mtqa", "Round 1", "User"], 5, "valid string", r"\[0\]\.mtqa\.Round 1\.User"),
    (MTQA, ["market_walk", 0, "mtqa", "Round 1"], {"User": "?"}, "required", r"mtqa\.Round 1\.Assistant"),
    (MTQA, ["market_walk", 0, "mtqa", "round_2"], {"User": "?", "Bot": "!"}, "round 2 appears twice", r"mtqa\.round_2"),
    (MTQA, ["market_walk", 0], {"event_index": 8}, "neither mtqa nor rounds", r"\$\.market_walk\[0\]"),
    (MTQA, ["market_walk", 0], {"mtqa": {}}, "required field", r"\$\.market_walk\[0\]\.event_index"),
    (MTQA, [" padded "], [], "outer spaces", r"\$\. padded "),
    (CHECKLIST, ["market_walk", "7"], [], "event '7'", r"\$\.market_walk\.7"),
    (CHECKLIST, ["market_walk", "event_1"], [], "appear twice", r"\$\.market_walk\.event_1"),
    (CHECKLIST, ["market_walk", "1", 0, "round index"], 9, "no round 9", r"\.1\[0\]\.round index"),
    (CHECKLIST, ["market_walk", "1", 0, "round index"], True, "not the number", r"\.1\[0\]\.round index"),
    (CHECKLIST, ["market_walk", "1", 0, "round index"], 3, "two checklists", r"\.1\[1\]"),
    (CHECKLIST, ["market_walk", "1", 0, "A5"], "Perhaps", "neither Yes nor No", r"\.1\[0\]\.A5"),
    (CHECKLIST, ["market_walk", "1", 0, "Q6"], "More?", "required", r"\.1\[0\]\.A6"),
    (CHECKLIST, ["market_walk", "1", 0, "Q1"], 1, "not a text", r"\.1\[0\]\.Q1"),
    (ANSWERS, ["market_walk", "1", 1], None, "valid string", r"\$\.market_walk\.1\[1\]"),
    (ANSWERS, ["market_walk", "2"], ["a", "b", "c"], "no round 3", r"\$\.market_walk\.2\[2\]"),
    (RESULTS, ["market_walk", "1", "Round 2", "ACC"], 60, "less than or equal to 1", r"\.1\.Round 2\.ACC"),
    (RESULTS, ["market_walk", "1", "Round 8"], {"ACC": 1.0}, "no round 8", r"\$\.market_walk\.1\.Round 8"),
    (RESULTS, ["market_walk", "1", "two"], {"ACC": 1.0}, "not the key", r"\$\.market_walk\.1\.two"),
    (
        RESULTS,
        ["market_walk", "1", "Round 2", "ALL_RUNS", 1, "run_id"],
        1,
        "run appears twice",
        r"ALL_RUNS\[1\]\.run_id",
    ),
]


@pytest.mark.parametrize(("file", "place", "value", "problem", "where"), DAMAGED)
def test_damage_is_refused_with_file_and_place(
    samples: Path, tmp_path: Path, file: str, place: list[str | int], value: Any, problem: str, where: str
) -> None:
    shutil.copytree(samples / "mt-video-bench-v2", tmp_path / "in")
    path = tmp_path / "in" / file
    document = json.loads(path.read_text("utf-8"))
    inner = document
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=where) as refused:
        read(tmp_path / "in")
    assert str(path) in str(refused.value)
    assert problem in str(refused.value)


def test_what_is_something_else_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing of MT-Video-Bench here.*mtqa/<task>\.json"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "absent")
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"not a file of MT-Video-Bench.*x\.json at \$"):
        read(tmp_path)


def test_answers_without_their_dialogues_are_refused(samples: Path) -> None:
    with pytest.raises(InputError, match="import the folder that holds mtqa/"):
        read(samples / "mt-video-bench-v2" / "model_answers")


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), max_size=12)
NAME = st.from_regex(r"[A-Za-z0-9\u4e00-\u4e20](?:[A-Za-z0-9 ._-]{0,6}[A-Za-z0-9])?", fullmatch=True)
LABELS: st.SearchStrategy[dict[str, tuple[str, ...]]] = st.one_of(
    st.sampled_from(list(Task)).map(lambda task: {"mt_video_bench.task": (task.value,)}),
    st.just({"mt_video_bench.ability": ("Counting",)}),
)
TURNS = st.lists(
    st.builds(
        Turn,
        question=TEXT,
        references=TEXT.map(lambda text: (text,)),
        labels=LABELS,
        checklist=st.none()
        | st.builds(
            Checklist,
            items=st.lists(
                st.builds(ChecklistItem, question=TEXT, expected=st.booleans(), extra=st.just({})), max_size=3
            ).map(tuple),
            extra=st.just({}),
        ),
        position=st.none(),
        asked_at_s=st.none(),
        options=st.none(),
        correct_option=st.none(),
        evidence=st.just(()),
        extra=st.just({}),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    content = Content()
    keys = draw(st.lists(st.tuples(st.sampled_from(list(Task)), NAME, st.integers(0, 9)), unique=True, max_size=4))
    # Rows stand in the order in which files hold them: by task, then by video.
    videos = list(dict.fromkeys(video for _, video, _ in keys))
    keys.sort(key=lambda key: (key[0].value, videos.index(key[1])))
    for task, video, event in keys:
        if not any(row.id == video for row in content.videos):
            file = f"{video.removesuffix('.mp4')}.mp4"
            content.videos.append(Video(id=VideoId(video), file=file))
        row = Dialogue(
            id=DialogueId(f"{task.value}/{video}/{event}"), video_id=VideoId(video), task=task.value, turns=draw(TURNS)
        )
        content.dialogues.append(row)
    return content


def by_identifier(content: Content) -> dict[str, list[str]]:
    return {name: sorted(row.to_json() for row in rows) for name, rows in content.rows() if name != "source_files"}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=contents())
def test_content_that_the_layout_can_express_comes_back(
    content: Content, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("out")
    lost = write(content, folder)
    assert lost == ([] if content.dialogues else ["the benchmark holds nothing that this layout can hold"])
    if not content.dialogues:
        with pytest.raises(ReeltalkError, match="nothing of MT-Video-Bench"):
            read(folder)
        return
    assert by_identifier(read(folder)) == by_identifier(content)
