"""SVBench: what each variant means, that all of it comes back, and what is refused."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeltalk.errors import InputError
from reeltalk.formats.svbench import read, write
from reeltalk.formats.svbench_layout import clock_time, parse_scenes, seconds_of
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Relation
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, PathId, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content

DIALOGUE = "Dialogue/Dialogue_EN/kitchen_01.json"
CON = "Con/Con_EN/kitchen_01.json"
BY_TEXT = "Con/Con_EN/street_02.json"
PATH = "Path/kitchen_01.json"
STREAMING = "Streaming/Streaming_EN/kitchen_01.json"
ANSWERS = "Answers/ExampleLVLM/Dialogue_EN/kitchen_01.json"
JUDGED = "Judged/gpt-4/ExampleLVLM/chain_EN/kitchen_01.json"
SINGLE = "Judged/gpt-4/ExampleLVLM/single_EN/kitchen_01.json"
LINKED = "Judged/gpt-4/ExampleLVLM/con_EN/kitchen_01.json"
META = "Meta/Meta_EN/meta_test.csv"


def documents(folder: Path) -> dict[str, Any]:
    """Each file's JSON as text, key order included, or its CSV rows."""
    return {
        path.relative_to(folder).as_posix(): json.dumps(json.loads(path.read_text("utf-8")))
        if path.suffix == ".json"
        else list(csv.reader(io.StringIO(path.read_text("utf-8"), newline="")))
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(content: Content, folder: Path) -> list[str]:
    folder.mkdir()
    return write(content, folder)


def assert_same(one: Content, other: Content) -> None:
    for table in fields(Content):
        assert getattr(one, table.name) == getattr(other, table.name), table.name


@pytest.fixture
def release(samples: Path) -> Content:
    return read(samples / "svbench")


def chain(content: Content, name: str) -> QAChain:
    return next(row for row in content.chains if row.id == name)


def test_every_file_comes_back(samples: Path, release: Content, tmp_path: Path) -> None:
    assert written(release, tmp_path / "out") == []
    assert documents(tmp_path / "out") == documents(samples / "svbench")
    assert_same(read(tmp_path / "out"), release)


def test_the_invariants_hold(release: Content) -> None:
    assert [finding for finding in check_content(release) if finding.severity == "error"] == []


def test_meta_tables_say_where_videos_lie_and_in_which_split(release: Content) -> None:
    videos = {video.id: video for video in release.videos}
    assert {name: (video.file, video.split) for name, video in videos.items()} == {
        "kitchen_01": ("Videos/kitchen_01.mp4", "test"),
        "street_02": ("Videos/street_02.mp4", "test"),
        "hall_03": (None, "train"),
        "garden_04": ('Videos/garden "back".mp4', "held back"),
    }
    assert videos[VideoId("kitchen_01")].extra == {"Note": "soup, then tea"}


def test_a_chain_is_named_by_video_language_and_place_in_its_file(release: Content) -> None:
    assert [row.id for row in release.chains] == [
        "kitchen_01/en/0",
        "kitchen_01/en/2",
        "kitchen_01/en/3",
        "street_02/en/0",
        "street_02/en/1",
        "street_02/en/2",
        "kitchen_01/zh/0",
        "kitchen_01/zh/2",
        "kitchen_01/zh/3",
        "hall_03/en/0",
    ]
    turn = chain(release, "kitchen_01/zh/2").turns[1]
    assert (turn.question, turn.references, turn.asked_at_s) == ("案板上有几块？", ("大约十块。",), 30.04)
    assert turn.labels == {"language": ("zh",)}
    assert chain(release, "kitchen_01/en/2").extra == {"difficulty": 3}


def test_times_are_read_in_every_spelling_and_languages_share_clips(release: Content) -> None:
    clips = {clip.id: clip for clip in release.clips}
    first = chain(release, "kitchen_01/en/2")
    assert first.clip_id == chain(release, "kitchen_01/zh/2").clip_id
    assert first.clip_id is not None
    assert clips[first.clip_id].interval == Interval(start_s=12.5, end_s=30.04)
    second = chain(release, "street_02/en/1")
    assert second.clip_id is not None
    assert clips[second.clip_id].interval == Interval(start_s=7.25, end_s=15.5)
    assert chain(release, "street_02/en/2").clip_id is None


def test_relations_are_normalised(release: Content) -> None:
    found = [
        (row.source.unit_id, row.source.turn_index, row.target.unit_id, row.target.turn_index, row.relation)
        for row in release.linkages
    ]
    assert found == [
        ("kitchen_01/en/0", 0, "kitchen_01/en/2", 0, Relation.ACTIONS),
        ("kitchen_01/en/0", 0, "kitchen_01/en/2", 0, Relation.OBJECTS),
        ("kitchen_01/en/0", 2, "kitchen_01/en/2", 1, Relation.PEOPLE),
        ("kitchen_01/en/2", 0, "kitchen_01/en/3", 1, "Mood"),
        ("street_02/en/0", 1, "street_02/en/1", 0, Relation.EVENTS),
    ]


def test_links_by_text_that_match_no_turn_are_refused_and_kept(release: Content) -> None:
    assert [row.reason for row in release.rejected] == [
        "questionsBefore[0] is no question of its chain",
        "questionsBefore[2] is a question of its chain, but has another answer there",
    ]
    assert release.rejected[1].content["answersBefore"] == "Blue."
    assert release.rejected[1].place == f"{BY_TEXT} at $[0].relationship.relationship[2]"


def test_a_path_serves_both_languages(release: Content) -> None:
    paths = {path.id: [(step.ref.unit_id, step.ref.turn_index) for step in path.steps] for path in release.paths}
    assert paths["kitchen_01/en/path/0"][1:3] == [("kitchen_01/en/2", 0), ("kitchen_01/en/2", 1)]  # type: ignore[index]
    assert paths["kitchen_01/zh/path/1"][0] == ("kitchen_01/zh/0", 0)  # type: ignore[index]
    assert len(paths) == 4


def test_streaming_keeps_only_what_differs_from_the_chain(release: Content) -> None:
    steps = next(path for path in release.paths if path.id == "kitchen_01/en/path/0").steps
    assert steps[0].turn is None
    assert steps[1].turn is not None
    assert steps[1].turn.question == "After the pot, what is she cutting?"
    assert steps[1].turn.evidence == ()
    assert (steps[2].turn, steps[2].extra) == (None, {"timestamps": [12.5, 30.04]})
    assert steps[3].turn is not None
    assert steps[3].turn.evidence == (Interval(start_s=30.04, end_s=61.0),)
    assert steps[3].turn.asked_at_s == 61.0


def test_streaming_without_paths_becomes_dialogues(release: Content) -> None:
    dialogue = next(row for row in release.dialogues if row.id == "street_02/en/streaming/0")
    assert [turn.evidence for turn in dialogue.turns] == [
        (Interval(start_s=0, end_s=8.25),),
        (Interval(start_s=7.25, end_s=15.5),),
    ]
    assert any("street_02" in warning for warning in release.warnings)


def test_answers_say_what_the_model_was_asked(release: Content) -> None:
    rows = [
        (row.unit_id, row.turn_index, row.text, row.asked_as, row.referred_to)
        for row in release.answers
        if row.model == "ExampleLVLM" and row.unit == "chain"
    ]
    assert rows == [
        ("kitchen_01/en/0", 0, "She puts a pot there.", None, None),
        ("kitchen_01/en/0", 1, "", None, None),
        ("kitchen_01/en/0", 2, "Nobody.", None, None),
        ("kitchen_01/en/2", 0, "Carrots.", "What is she cutting?", None),
        ("kitchen_01/en/2", 1, "Eight\nor nine.", None, ("Ten.",)),
        ("kitchen_01/en/3", 0, "To the garden.", None, None),
    ]
    assert {row.unit_id for row in release.answers if row.unit == "path"} == {"kitchen_01/en/path/0"}


def test_chains_are_known_from_answers_where_dialogue_files_are_missing(release: Content) -> None:
    assert chain(release, "hall_03/en/0").turns[0].references == ("The postwoman.",)


def test_a_judges_scores_and_what_is_no_score(release: Content) -> None:
    scores = {
        (row.unit_id, row.criterion): (row.value, row.state)
        for row in release.scores
        if row.unit == "chain" and row.judge == "gpt-4"
    }
    scored, unscored = ScoreState.SCORED, ScoreState.UNSCORED
    assert scores["kitchen_01/en/0", "Logical Consistency"] == (3.5, scored)
    assert scores["kitchen_01/en/0", "Temporal Understanding"] == (None, ScoreState.NOT_APPLICABLE)
    assert scores["kitchen_01/en/0", "Informational Completeness"] == (None, unscored)
    assert scores["kitchen_01/en/2", "Semantic Accuracy"] == (None, unscored)  # 57 is no score of 0 to 10
    assert scores["kitchen_01/en/2", "Contextual Coherence"] == (None, unscored)  # only TU may be -1
    assert scores["kitchen_01/en/2", "Overall Evaluation"] == (6.0, scored)  # spelled Overall Score
    assert scores["kitchen_01/en/3", "Overall Evaluation"] == (None, unscored)
    assert len(scores) == 18
    texts = [row.explanation for row in release.scores if row.unit_id == "kitchen_01/en/0" and row.unit == "chain"]
    assert [text for text in texts if text] == [
        "1. Semantic Accuracy:\n   Score: 4\n4. Temporal Understanding:\n   Score: -1\nOverall Evaluation: 3"
    ]


def test_a_judge_of_single_questions_scores_turns(release: Content) -> None:
    rows = [row for row in release.scores if row.unit == "turn"]
    assert [(row.turn_index, row.criterion, row.value, row.explanation) for row in rows] == [
        (0, "Accuracy", 9.0, "Score (0-10): 9"),
        (2, "Accuracy", None, "no verdict"),
    ]


def test_a_judge_of_linked_questions_scores_a_dialogue_of_them(release: Content) -> None:
    dialogue = next(row for row in release.dialogues if row.id == "kitchen_01/en/linked")
    assert [turn.question for turn in dialogue.turns][1] == "How many pieces lie on the board?"
    assert dialogue.extra["relationships"] == ["People", "Objects"]
    assert {row.value for row in release.scores if row.unit == "dialogue"} == {6.0, 7.0, 8.0}


@pytest.mark.parametrize(
    ("part", "files", "chains"),
    [
        (DIALOGUE, 1, 3),
        ("Dialogue", 3, 9),
        ("Dialogue/Dialogue_ZH", 1, 3),
        (CON, 1, 3),
        (BY_TEXT, 1, 2),
        ("Con", 3, 7),
        (META, 1, 0),
        ("Answers/OtherLVLM", 1, 1),
        ("Answers/OtherLVLM/Dialogue_EN", 1, 1),
        ("Judged/gpt-4/ExampleLVLM/single_EN", 1, 1),
        (ANSWERS, 1, 2),
        (JUDGED, 1, 3),
        (SINGLE, 1, 1),
        (LINKED, 1, 0),
        (STREAMING, 1, 0),
    ],
)
def test_a_part_of_the_release_can_be_read_by_itself(
    samples: Path, tmp_path: Path, part: str, files: int, chains: int
) -> None:
    content = read(samples / "svbench" / part)
    assert (len(content.source_files), len(content.chains)) == (files, chains)
    written(content, tmp_path / "out")
    assert len(documents(tmp_path / "out")) == files
    assert_same(read(tmp_path / "out"), content)


def test_the_imported_folder_names_the_model_where_no_other_does(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "ModelX").mkdir()
    shutil.copy(samples / "svbench" / ANSWERS, tmp_path / "ModelX")
    content = read(tmp_path / "ModelX")
    assert {answer.model for answer in content.answers} == {"ModelX"}
    assert [file.path for file in content.source_files] == ["ModelX/kitchen_01.json"]
    (tmp_path / "Answers").mkdir()
    shutil.copy(samples / "svbench" / ANSWERS, tmp_path / "Answers")
    unnamed = read(tmp_path / "Answers")
    assert {answer.model for answer in unnamed.answers} == {"unnamed"}
    assert unnamed.warnings == ["Answers/kitchen_01.json: no folder names the model, recorded as 'unnamed'"]


def test_an_edited_time_or_relation_is_written_as_edited(release: Content, tmp_path: Path) -> None:
    first = next(clip for clip in release.clips if clip.interval == Interval(start_s=0, end_s=12.5))
    edited = first.model_copy(update={"interval": Interval(start_s=0.5, end_s=12.5)})
    release.clips = [edited if clip.id == first.id else clip for clip in release.clips]
    release.linkages[2] = release.linkages[2].model_copy(update={"relation": "Events"})
    written(release, tmp_path / "out")
    rows = json.loads((tmp_path / "out" / DIALOGUE).read_text("utf-8"))
    assert rows[0]["qac_timestamps_start"] == "00:00:00.500000"
    links = json.loads((tmp_path / "out" / CON).read_text("utf-8"))
    assert links[1]["relationship"]["relationship"] == ["Actions", "Object", "Events"]


def test_a_deleted_chain_leaves_an_empty_entry(release: Content, tmp_path: Path) -> None:
    gone = "street_02/en/0"
    release.chains = [row for row in release.chains if row.id != gone]
    release.linkages = [row for row in release.linkages if gone not in (row.source.unit_id, row.target.unit_id)]
    release.rejected = []
    written(release, tmp_path / "out")
    rows = json.loads((tmp_path / "out/Dialogue/Dialogue_EN/street_02.json").read_text("utf-8"))
    assert rows[0] == {}
    assert rows[1]["chain"]["questions"] == ["Who gets off?"]


def test_new_records_are_added_to_the_files_of_their_video(release: Content, tmp_path: Path) -> None:
    turns = (Turn(question="他们吃完了吗？", references=("吃完了。",), labels={"language": ("zh",)}),)
    new = QAChain(id=ChainId("kitchen_01/zh/4"), video_id=VideoId("kitchen_01"), turns=turns)
    step = PathStep(ref=TurnRef(unit_id=new.id, turn_index=0))
    release.chains.append(new)
    release.paths.append(DialoguePath(id=PathId("kitchen_01/zh/path/2"), video_id=VideoId("kitchen_01"), steps=(step,)))
    release.linkages.append(
        Linkage(
            source=TurnRef(unit_id="kitchen_01/zh/3", turn_index=0),
            target=TurnRef(unit_id=new.id, turn_index=0),
            relation="Events",
        )
    )
    written(release, tmp_path / "out")
    again = read(tmp_path / "out")
    assert chain(again, new.id).turns == turns
    assert {path.id for path in again.paths} == {path.id for path in release.paths}
    assert len(again.linkages) == len(release.linkages)
    assert (tmp_path / "out/Path/Path_ZH/kitchen_01.json").is_file()


def test_content_of_another_origin_is_written_as_far_as_it_fits_and_the_rest_is_counted(tmp_path: Path) -> None:
    video = VideoId("a/b")
    interval = Interval(start_s=4.0, end_s=6.0)
    rewritten = Turn(question="And A?", references=("a",), evidence=(Interval(start_s=4.5, end_s=5.0),))
    content = Content(
        videos=[Video(id=video, duration_s=9.0)],
        clips=[Clip(id=ClipId("c"), video_id=video), Clip(id=ClipId("d"), video_id=video, interval=interval)],
        chains=[
            QAChain(
                id=ChainId("one"),
                video_id=video,
                clip_id=ClipId("d"),
                turns=(Turn(question="A?", references=("a", "b"), asked_at_s=3.0, extra={"form": "a/1"}),),
                extra={"writer": "graph"},
            )
        ],
        paths=[
            DialoguePath(
                id=PathId("walk"),
                video_id=video,
                steps=(
                    PathStep(
                        ref=TurnRef(unit_id="one", turn_index=0), turn=rewritten, extra={"rests_on": {"object": "mug1"}}
                    ),
                ),
                extra={"writer": "walk:1"},
            )
        ],
        dialogues=[
            Dialogue(
                id=DialogueId("two"), video_id=video, turns=(Turn(question="B?", options=("x", "y"), correct_option=0),)
            )
        ],
        answers=[
            Answer(model="m", unit="chain", unit_id="one", turn_index=0, text="", state=AnswerState.FAILED),
            Answer(model="m", unit="dialogue", unit_id="two", turn_index=0, text="x"),
        ],
        scores=[JudgedScore(unit="dialogue", unit_id="two", model="m", judge="j", criterion="SA", value=3.0)],
    )
    lost = written(content, tmp_path / "out")
    (named,) = [line for line in lost if line.startswith("video 'a/b' is written as 'video-")]
    assert [line for line in lost if line != named] == [
        "chains get new identifiers when read again, <video>/<language>/<place>: 1",
        "model answers that no imported file holds are left out: 2",
        "scores that no imported file holds are left out: 1",
        "dialogues are left out: 1",
        "clips of no chain are left out: 1",
        "turns asked at another time than the end of their clip: 1",
        "turns with several references, of which the first is written: 1",
        "videos lose their duration_s: 1",
        "chains lose their extra: 1",
        "turns lose their extra: 1",
        "rewritten turns of paths lose their evidence: 1",
    ]
    name = named.split("'")[3]
    found = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json")}
    assert found == {
        f"Dialogue/Dialogue_EN/{name}.json",
        f"Path/{name}.json",
        f"Streaming/Streaming_EN/{name}.json",
    }
    rows = {part: json.loads((tmp_path / "out" / part).read_text("utf-8")) for part in found}
    times = {"qac_timestamps_start": 4.0, "qac_timestamps_end": 6.0}
    assert rows[f"Dialogue/Dialogue_EN/{name}.json"] == [{"chain": {"questions": ["A?"], "answers": ["a"]}, **times}]
    assert rows[f"Path/{name}.json"] == {"Paths": [[[0, 0]]]}
    assert rows[f"Streaming/Streaming_EN/{name}.json"] == [
        {"questions": ["And A?"], "answers": ["a"], "timestamps": [[4.0, 6.0]]}
    ]


def test_chains_of_our_own_lie_where_their_language_and_their_time_say(tmp_path: Path) -> None:
    video = VideoId("v")

    def own(name: str, start: float, question: str) -> QAChain:
        content.clips.append(
            Clip(
                id=ClipId(name),
                video_id=video,
                interval=Interval(start_s=start, end_s=start + 1),
                extra={"program": "x"},
            )
        )
        turns = (Turn(question=question, references=("。",)),)
        return QAChain(id=ChainId(f"chain-{name}"), video_id=video, clip_id=ClipId(name), turns=turns)

    content = Content(videos=[Video(id=video, file="v.mp4", split="test")])
    content.chains += [own("late", 5.0, "他把杯子放在哪里？"), own("early", 1.0, "他拿起了什么？")]
    step = PathStep(ref=TurnRef(unit_id="chain-late", turn_index=0))
    content.paths.append(DialoguePath(id=PathId("walk"), video_id=video, steps=(step,)))
    written(content, tmp_path / "out")
    chains = json.loads((tmp_path / "out/Dialogue/Dialogue_ZH/v.json").read_text("utf-8"))
    assert [row["qac_timestamps_start"] for row in chains] == [1.0, 5.0]
    assert json.loads((tmp_path / "out/Path/v.json").read_text("utf-8")) == {"Paths": [[[1, 0]]]}
    assert (tmp_path / "out/Meta/Meta_ZH/meta_test.csv").is_file()
    assert not list((tmp_path / "out").glob("*/*_EN"))


Change = Callable[[Any], None]


def setting(*place: str | int, to: Any) -> Change:
    def change(document: Any) -> None:
        for part in place[:-1]:
            document = document[part]
        document[place[-1]] = to

    return change


def without(*place: str | int) -> Change:
    def change(document: Any) -> None:
        for part in place[:-1]:
            document = document[part]
        del document[place[-1]]

    return change


DAMAGED: list[tuple[str, Change, str, str]] = [
    (DIALOGUE, without(0, "chain", "answers"), "required field", r"\$\[0\]\.chain\.answers"),
    (DIALOGUE, without(0, "qac_timestamps_end"), "required field", r"\$\[0\]\.qac_timestamps_end"),
    (DIALOGUE, setting(2, "chain", "questions", 1, to=3), "valid string", r"\$\[2\]\.chain\.questions\[1\]"),
    (DIALOGUE, setting(2, "chain", "answers", to=[]), "parallel lists", r"\$\[2\]\.chain"),
    (DIALOGUE, setting(2, "qac_timestamps_start", to="12:77:00"), "HH:MM:SS", r"\$\[2\]\.qac_timestamps_start"),
    (DIALOGUE, setting(2, "qac_timestamps_start", to=-1), "0 s or more", r"\$\[2\]\.qac_timestamps_start"),
    (DIALOGUE, setting(2, "qac_timestamps_start", to=31.5), "ends before it starts", r"\$\[2\]"),
    (DIALOGUE, setting(2, "qac_timestamps_start", to=None), "one of the two times", r"\$\[2\]"),
    (DIALOGUE, setting(0, to=[]), "valid dictionary", r"\$\[0\]"),
    (
        CON,
        setting(1, "relationship", "chainAfter", 2, to=2),
        "has 2 questions",
        r"\[1\]\.relationship\.chainAfter\[2\]",
    ),
    (CON, setting(1, "relationship", "chainAfter", to=[0]), "parallel lists", r"\$\[1\]\.relationship"),
    (CON, setting(1, "relationship", "chainBefore", 0, to=-1), "greater than or equal", r"chainBefore\[0\]"),
    (CON, without(1, "relationship", "relationship"), "required field", r"\$\[1\]\.relationship\.relationship"),
    (CON, setting(1, "relationship", "relationship", 0, to=" "), "outer spaces", r"relationship\[0\]\.relation"),
    (CON, setting(1, "chain_2", "questions", 0, to=None), "valid string", r"\$\[1\]\.chain_2\.questions\[0\]"),
    (CON, setting(3, "relationship", "chainBefore", to=[0]), "empty chain", r"\$\[3\]\.relationship"),
    (PATH, setting("Paths", 0, 1, 0, to=1), "no chain 1", r"\$\.Paths\[0\]\[1\]\[0\]"),
    (PATH, setting("Paths", 0, 1, 1, to=7), "has 2 questions", r"\$\.Paths\[0\]\[1\]\[1\]"),
    (PATH, setting("Paths", 0, 2, to=[0, 2]), "steps back", r"\$\.Paths\[0\]\[2\]"),
    (PATH, setting("Paths", 0, 2, to=[2, 0]), "steps back", r"\$\.Paths\[0\]\[2\]"),
    (PATH, setting("Paths", 0, 2, to=[2]), "at least 2", r"\$\.Paths\[0\]\[2\]"),
    (STREAMING, without(1), "1 entries, but", r"\$"),
    (STREAMING, without(0, "timestamps", 3), "parallel lists", r"\$\[0\]"),
    (STREAMING, setting(0, "timestamps", 1, to=[9, 3]), "ends before", r"\$\[0\]\.timestamps\[1\]"),
    (ANSWERS, without(2, "answers", 0), "parallel lists", r"\$\[2\]"),
    (ANSWERS, setting(1, to={"questions": [], "gt_answers": [], "answers": []}), "no chain 1", r"\$\[1\]"),
    (ANSWERS, setting(0, "answers", 0, to=None), "valid string", r"\$\[0\]\.answers\[0\]"),
    (JUDGED, setting(1, "scene_id", to=0), "judged in a record above", r"\$\[1\]\.scene_id"),
    (JUDGED, setting(1, "scene_id", to=1), "no chain 1", r"\$\[1\]"),
    (JUDGED, setting(0, "scores", "Semantic Accuracy", to="4"), "valid", r"\$\[0\]\.scores\.Semantic Accuracy"),
    (
        SINGLE,
        setting(0, "scores", 1, "question", to="What does the woman put on the stove?"),
        "judged above",
        r"scores\[1\]",
    ),
    (LINKED, setting(0, "answers", 1, to=["Ten."]), "parallel lists", r"\$\[0\]"),
    (LINKED, setting(0, "answers", 1, 0, to=10), "neither a text nor", r"\$\[0\]\.answers\[1\]\[0\]"),
]


@pytest.mark.parametrize(("file", "change", "problem", "where"), DAMAGED)
def test_damage_is_refused_with_file_and_place(
    samples: Path, tmp_path: Path, file: str, change: Change, problem: str, where: str
) -> None:
    shutil.copytree(samples / "svbench", tmp_path / "in")
    path = tmp_path / "in" / file
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=where) as refused:
        read(tmp_path / "in")
    assert str(path) in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("Video_Name,Path_of_Video,Sort_of_Set\na,b,test\na,c,test\n", "appears twice", 3),
        ("Video_Name,Path_of_Video,Sort_of_Set\na,b\n", "2 cells under 3 columns", 2),
        ("Video_Name,Path_of_Video,Sort_of_Set\n a,b,test\n", "outer spaces", 2),
        ("Video_Name,Path_of_Video,Sort_of_Set\nkitchen_01,b,train\n", "splits never share", 2),
        ("Video_Name,Video_Name,Sort_of_Set\n", "a column appears twice", 1),
        ("Video_Name,Sort_of_Set\n", "not a table of SVBench", 1),
        ("", "no line of column names", 1),
        ('Video_Name,Path_of_Video,Sort_of_Set\na,"b"c,test\n', "not CSV", 2),
        ("path,timestamp\na.mp4,\"[['0:0:9', '0:0:1']]\"\n", "ends before", 2),
        ("path,timestamp\na.mp4,\"[['0:0:9']]\"\n", "scenes must be a list", 2),
    ],
)
def test_damaged_tables_are_refused_with_their_line(
    samples: Path, tmp_path: Path, text: str, problem: str, line: int
) -> None:
    shutil.copytree(samples / "svbench", tmp_path / "in")
    path = tmp_path / "in/Meta/more.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"more\.csv:{line}") as refused:
        read(tmp_path / "in")
    assert problem in str(refused.value)


def test_tables_and_lists_may_be_empty(tmp_path: Path) -> None:
    for name, text in {
        "Meta/meta.csv": "Video_Name,Path_of_Video,Sort_of_Set\n",
        "Meta/scenes.csv": "path,timestamp\n",
        "Dialogue/Dialogue_EN/a.json": "[]",
        "Dialogue/Dialogue_EN/b.json": "[{}, {}]",
        "Con/Con_EN/b.json": "[{}]",
        "Path/a.json": '{"Paths": []}',
        "Answers/m/a.json": "[]",
        "Answers/m/Dialogue_EN/b.json": "[{}]",
        "Answers/m/Streaming_ZH/b.json": "[]",
        "Judged/j/m/con_EN/a.json": "[]",
        "Judged/j/m/streaming_EN/a.json": "[{}]",
        "Judged/j/m/chain_EN/a.json": "[]",
        "Judged/j/m/single_EN/a.json": "[{}]",
    }.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with pytest.raises(InputError, match="no Dialogue file of video 'a'"):
        read(tmp_path / "in")
    (tmp_path / "in/Path/a.json").unlink()
    content = read(tmp_path / "in")
    assert written(content, tmp_path / "out") == []
    assert documents(tmp_path / "out") == documents(tmp_path / "in")
    assert_same(read(tmp_path / "out"), content)
    kinds = {file.path: (file.kind, file.extra.get("model"), file.extra.get("judge")) for file in content.source_files}
    assert kinds["Answers/m/Streaming_ZH/b.json"] == ("answers", "m", None)
    assert kinds["Judged/j/m/streaming_EN/a.json"] == ("judged chain", "m", "j")


def test_one_video_in_two_files_of_a_kind_is_refused_unless_they_are_equal(samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "svbench", tmp_path / "in")
    (tmp_path / "in/more/Dialogue_EN").mkdir(parents=True)
    copy = Path(shutil.copy(tmp_path / "in" / DIALOGUE, tmp_path / "in/more/Dialogue_EN"))
    (tmp_path / "out").mkdir()
    write(read(tmp_path / "in"), tmp_path / "out")
    assert json.loads((tmp_path / "out/more" / "Dialogue_EN/kitchen_01.json").read_text("utf-8")) == json.loads(
        copy.read_text("utf-8")
    )
    copy.write_text("[{}]", encoding="utf-8")
    with pytest.raises(InputError, match=r"kitchen_01 en: Dialogue/Dialogue_EN/kitchen_01\.json has this too"):
        read(tmp_path / "in")


def test_what_is_something_else_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing of SVBench here.*Dialogue/Dialogue_EN"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "absent")
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"not a file of SVBench.*x\.json at \$"):
        read(tmp_path)


def test_a_path_without_its_chains_is_refused(samples: Path) -> None:
    with pytest.raises(InputError, match="no Dialogue file of video 'kitchen_01'"):
        read(samples / "svbench" / PATH)


def test_spellings_of_times() -> None:
    assert seconds_of("01:02:03.250000") == 3723.25
    assert seconds_of("15.5") == 15.5
    assert clock_time(3723.25) == "01:02:03.250000"
    assert parse_scenes('[("0:0:1", "0:0:2"), [\'0:0:2\', "0:0:3"],]') == [("0:0:1", "0:0:2"), ("0:0:2", "0:0:3")]


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), max_size=10)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    content = Content()
    names = draw(st.lists(st.sampled_from(["a", "b.c", "视频", "v 1"]), unique=True, max_size=2))
    for name in names:
        video = VideoId(name)
        content.videos.append(Video(id=video, file=draw(st.none() | st.just(f"{name}.mp4")), split=draw(SPLITS)))
        starts = sorted(draw(st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=3)))
        for number, start in enumerate(starts):
            interval = Interval(start_s=float(start), end_s=start + 1.5)
            content.clips.append(Clip(id=ClipId(f"{name}/{number}"), video_id=video, interval=interval))
        for language in draw(st.sampled_from([("en",), ("zh",), ("en", "zh")])):
            chains = [_chain(draw, name, language, number, start) for number, start in enumerate(starts)]
            content.chains += chains
            _links(draw, content, chains)
            _paths(draw, content, chains, name, language)
    return content


SPLITS = st.sampled_from([None, "train", "test", "held back"])


def _chain(draw: st.DrawFn, name: str, language: str, number: int, start: int) -> QAChain:
    pairs = draw(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3))
    return QAChain(
        id=ChainId(f"{name}/{language}/{number}"),
        video_id=VideoId(name),
        clip_id=ClipId(f"{name}/{number}"),
        turns=tuple(
            Turn(question=question, references=(answer,), asked_at_s=start + 1.5, labels={"language": (language,)})
            for question, answer in pairs
        ),
    )


def _links(draw: st.DrawFn, content: Content, chains: list[QAChain]) -> None:
    for before, after in pairwise(chains):
        for relation in draw(st.lists(st.sampled_from([*Relation, "Mood"]), max_size=2)):
            source = TurnRef(unit_id=before.id, turn_index=draw(st.integers(0, len(before.turns) - 1)))
            target = TurnRef(unit_id=after.id, turn_index=draw(st.integers(0, len(after.turns) - 1)))
            content.linkages.append(Linkage(source=source, target=target, relation=str(relation)))


def _paths(draw: st.DrawFn, content: Content, chains: list[QAChain], name: str, language: str) -> None:
    for number in range(draw(st.integers(0, 2))):
        steps = []
        for row in chains:
            index = draw(st.integers(0, len(row.turns) - 1))
            turn, text = row.turns[index], draw(st.none() | TEXT)
            other = None if text in (None, turn.question) else turn.model_copy(update={"question": text})
            steps.append(PathStep(ref=TurnRef(unit_id=row.id, turn_index=index), turn=other))
        path_id = PathId(f"{name}/{language}/path/{number}")
        content.paths.append(DialoguePath(id=path_id, video_id=VideoId(name), steps=tuple(steps)))


def by_identifier(content: Content) -> dict[str, list[str]]:
    return {name: sorted(row.to_json() for row in rows) for name, rows in content.rows() if name != "source_files"}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=contents())
def test_content_that_the_layout_can_express_comes_back(
    content: Content, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("out")
    lost = write(content, folder)
    assert lost == ([] if content.videos else ["the benchmark holds nothing that this layout can hold"])
    if not content.videos:
        with pytest.raises(InputError, match="nothing of SVBench"):
            read(folder)
        return
    again = read(folder)
    assert by_identifier(again) == by_identifier(content)
    # Once more from what was read: the same files again.
    second = tmp_path_factory.mktemp("again")
    assert write(again, second) == []
    assert documents(second) == documents(folder)
    assert by_identifier(read(second)) == by_identifier(again)
