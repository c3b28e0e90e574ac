"""Label Studio: drafts go out as predictions, what people made of them comes back, and nothing else changes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from reeltalk.cli import run
from reeltalk.errors import InputError, SettingError
from reeltalk.formats import label_studio
from reeltalk.formats.label_studio_layout import LabelStudioOptions
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.schema.review import Decision, Reason
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

SAMPLE = Path(__file__).parents[2] / "samples" / "label-studio"
Json = Any


def exported() -> list[Json]:
    tasks: list[Json] = json.loads((SAMPLE / "tasks.json").read_text(encoding="utf-8"))
    for number, task in enumerate(tasks, start=1):
        task["id"] = number
    return tasks


def annotation(task: Json, number: int = 1, **fields: Json) -> Json:
    """What a person submits who starts from the draft; `result` is the draft's own."""
    moment = f"2026-03-0{number}T10:00:00.000000Z"
    return {
        "id": 100 * task["id"] + number,
        "completed_by": number,
        "result": json.loads(json.dumps(task["predictions"][0]["result"])),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": moment,
        "updated_at": moment,
        **fields,
    }


def say(given: Json, control: str, value: Json) -> None:
    """Put a value in a control, in place of what was there; None takes it away."""
    kinds = {"decision": "choices", "reasons": "choices", "asked": "number", "correct": "number", "labels": "taxonomy"}
    kind = kinds.get(control.split("_")[0], "textarea")
    given["result"] = [region for region in given["result"] if region["from_name"] != control]
    if value is not None:
        key = "text" if kind == "textarea" else kind
        given["result"].append(
            {"from_name": control, "to_name": f"turn_{control[-1]}", "type": kind, "value": {key: value}}
        )


def decide(task: Json, given: Json, decision: str = "accept") -> Json:
    for number in range(len(task["data"]["turns"])):
        say(given, f"decision_{number}", [decision])
    return given


def marks(given: Json, turn: str) -> list[Json]:
    return [region for region in given["result"] if region["value"].get("timelinelabels") == [turn]]


def as_min(tasks: list[Json]) -> list[Json]:
    """The same export as JSON-MIN, shortened as label-studio-sdk 2.1's converter does."""
    rows = []
    for task in tasks:
        for given in task.get("annotations") or [None]:
            row = {**task["data"], "id": task["id"]}
            if given is not None:
                if given["was_cancelled"]:
                    continue
                values: dict[str, list[Json]] = {}
                for region in given["result"]:
                    value = dict(region["value"])
                    if region["type"] in ("choices", "textarea"):
                        only = value["choices" if region["type"] == "choices" else "text"]
                        value = only[0] if len(only) == 1 else value
                    values.setdefault(region["from_name"], []).append(value)
                shortened = {"decision", "reasons", "question", "answers", "options", "note"}
                for name, found in values.items():
                    row[name] = found[0] if len(found) == 1 and name.split("_")[0] in shortened else found
                row |= {"annotator": given["completed_by"], "annotation_id": given["id"], "lead_time": 3.5}
                row |= {key: given[key] for key in ("created_at", "updated_at")}
            rows.append(row)
    return rows


FORMS = pytest.mark.parametrize("form", [lambda tasks: tasks, as_min], ids=["JSON", "JSON-MIN"])


def read(tasks: list[Json], folder: Path) -> Content:
    """Import the exported folder with an export put into it."""
    shutil.copytree(SAMPLE, folder / "in")
    (folder / "in" / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    return label_studio.read(folder / "in")


def others(content: Content) -> dict[str, Any]:
    return {name: rows for name, rows in content.rows() if name != "reviews"}


@FORMS
def test_drafts_that_were_accepted_as_they_are_come_back_equal_in_every_table(
    form: Callable[[list[Json]], list[Json]], tmp_path: Path
) -> None:
    tasks = exported()
    for task in tasks:
        task["annotations"] = [decide(task, annotation(task))]
    content, before = read(form(tasks), tmp_path), label_studio.read(SAMPLE)
    assert others(content) == others(before)
    assert content.graphs == before.graphs
    assert {review.decision for review in content.reviews} == {Decision.ACCEPT}
    assert len(content.reviews) == sum(len(task["data"]["turns"]) for task in tasks)
    assert content.warnings == []


@FORMS
def test_what_a_person_wrote_becomes_the_wording_and_a_review(
    form: Callable[[list[Json]], list[Json]], tmp_path: Path
) -> None:
    tasks = exported()
    given = decide(tasks[0], annotation(tasks[0], completed_by={"id": 7, "email": "ann@example.org"}))
    say(given, "question_0", ["What does she take out?"])
    say(given, "answers_0", ["Milk.", "A jug of milk."])
    say(given, "asked_0", 13.5)
    say(given, "labels_0", [["cogme.target", "Object"], ["cogme.target", "Place"], ["house.mood", "calm"]])
    say(given, "note_0", ["shorter"])
    say(given, "decision_1", ["reject"])
    say(given, "reasons_1", ["too_easy", "Ambiguous"])
    tasks[0]["annotations"] = [given]
    if form is as_min:
        given["completed_by"] = "ann@example.org"
    content, before = read(form(tasks), tmp_path), label_studio.read(SAMPLE)
    turn, draft = content.chains[0].turns[0], before.chains[0].turns[0]
    assert turn.question == "What does she take out?"
    assert turn.references == ("Milk.", "A jug of milk.")
    assert turn.asked_at_s == 13.5
    # A label that no config can hold was never shown, and so was not taken away.
    assert turn.labels["house.room"] == ("$room",)
    assert turn.labels["cogme.target"] == ("Object", "Place")
    assert turn.labels["house.mood"] == ("calm",)
    assert turn.evidence == draft.evidence
    assert content.chains[0].turns[1] == before.chains[0].turns[1]
    edited, rejected = content.reviews
    assert (edited.target_table, edited.target_id, edited.extra["turn_index"]) == ("chains", "chain-a", 0)
    assert (edited.reviewer, edited.decision, edited.comment) == ("ann@example.org", Decision.EDIT, "shorter")
    assert {edit.field: (edit.before, edit.after) for edit in edited.edits}["turns[0].question"] == (
        "What does she take out of the fridge?",
        "What does she take out?",
    )
    assert (rejected.decision, rejected.reasons) == (Decision.REJECT, (Reason.TOO_EASY, Reason.AMBIGUOUS))
    assert content.warnings == ["turns were rejected; they stay, with the review that says so: 1"]


def test_a_key_and_a_checklist_go_with_the_wording_that_they_were_made_for(tmp_path: Path) -> None:
    tasks = exported()
    key = {"type": "object", "values": ["milk"]}
    made_for = {"key": key, "checklist": {"items": [{"question": "Milk?", "expected": True}]}}
    for task in tasks:
        for unit in task["data"]["reeltalk"]["units"]:
            if unit["record"]["id"] == "chain-a":
                for turn in unit["record"]["turns"]:
                    turn |= made_for
    given = decide(tasks[0], annotation(tasks[0]))
    say(given, "answers_0", ["A jug of juice."])
    say(given, "asked_1", 13.5)
    tasks[0]["annotations"] = [given]
    (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    content = label_studio.read(tmp_path / "export.json")
    edited, moved = content.chains[0].turns
    assert (edited.key, edited.checklist) == (None, None)
    assert moved.key is not None
    assert moved.key.values == ("milk",)
    assert moved.checklist is not None
    edits = {edit.field: edit.before for edit in content.reviews[0].edits}
    assert edits["turns[0].key"]["values"] == ["milk"], "the review keeps what was taken off"


def test_a_mark_that_was_moved_is_read_as_the_moment_that_was_shown(tmp_path: Path) -> None:
    tasks = exported()
    given = decide(tasks[0], annotation(tasks[0]))
    first, moved = marks(given, "Turn 2")
    assert first["value"]["ranges"] == [{"start": 270, "end": 270}]
    moved["value"]["ranges"] = [{"start": 300, "end": 450}]
    given["result"].append({**moved, "value": {"ranges": [{"start": 1, "end": 30}], "timelinelabels": ["Turn 1"]}})
    tasks[0]["annotations"] = [given]
    one, two = read(tasks, tmp_path).chains[0].turns
    rate = 30000 / 1001
    assert two.evidence == (Interval(start_s=9, end_s=9), Interval(start_s=300 / rate, end_s=450 / rate))
    assert one.evidence == (Interval(start_s=0, end_s=30 / rate), Interval(start_s=4.04, end_s=7.77))


def test_the_newest_accepted_wording_counts_and_all_are_kept_as_reviews(tmp_path: Path) -> None:
    tasks = exported()
    given = [decide(tasks[0], annotation(tasks[0], number)) for number in (1, 2, 3)]
    for number, each in enumerate(given, start=1):
        say(each, "question_0", [f"Wording {number}?"])
    say(given[2], "decision_0", ["reject"])
    tasks[0]["annotations"] = given
    content = read(tasks, tmp_path / "newest")
    assert content.chains[0].turns[0].question == "Wording 2?"
    assert [review.reviewer for review in content.reviews if review.extra["turn_index"] == 0] == [
        "label-studio:1",
        "label-studio:2",
        "label-studio:3",
    ]
    assert "turns were worded in several ways; the newest counts, ground truth before others: 1" in content.warnings
    given[0]["ground_truth"] = True
    assert read(tasks, tmp_path / "ground").chains[0].turns[0].question == "Wording 1?"


def test_skipped_tasks_drafts_and_tasks_without_annotations_keep_their_wording(tmp_path: Path) -> None:
    tasks = exported()
    tasks[0]["annotations"] = [annotation(tasks[0], was_cancelled=True, result=[])]
    tasks[1]["drafts"] = [{"result": [{"from_name": "question_0", "value": {"text": ["half"]}}]}]
    content = read(tasks, tmp_path)
    assert others(content) == others(label_studio.read(SAMPLE))
    assert [(review.target_id, review.decision) for review in content.reviews] == [("chain-a", Decision.SKIP)]
    assert set(content.warnings) == {
        "tasks were skipped by an annotator; kept as reviews: 1",
        "drafts of annotations were not submitted and are not read: 1",
    }


def test_the_same_annotation_in_two_exports_is_one_review(tmp_path: Path) -> None:
    tasks = exported()
    tasks[0]["annotations"] = [decide(tasks[0], annotation(tasks[0]))]
    shutil.copytree(SAMPLE, tmp_path / "in")
    for name, value in (("one.json", tasks), ("two.json", as_min(tasks))):
        (tmp_path / "in" / name).write_text(json.dumps(value), encoding="utf-8")
    assert len(label_studio.read(tmp_path / "in").reviews) == 2


def test_what_is_no_turn_keeps_its_draft_and_is_listed(tmp_path: Path) -> None:
    tasks = exported()
    given = decide(tasks[0], annotation(tasks[0]))
    say(given, "question_0", ["  "])
    say(given, "correct_1", 7)
    tasks[0]["annotations"] = [given]
    content = read(tasks, tmp_path)
    assert content.chains == label_studio.read(SAMPLE).chains
    assert [(row.record_id, row.reason) for row in content.rejected] == [
        ("chain-a[0]", "a turn needs one question; the turn keeps its draft"),
        (
            "chain-a[1]",
            "Value error, correct_option is 6 but there are 3 options; the turn keeps its draft",
        ),
    ]
    assert content.rejected[0].place == "export.json at $[0].annotations[0]"


def test_results_of_other_controls_are_counted(tmp_path: Path) -> None:
    tasks = exported()
    given = decide(tasks[0], annotation(tasks[0]))
    given["result"] += [
        {"from_name": "mood", "type": "choices", "value": {"choices": ["calm"]}},
        {"type": "relation", "from_id": "a", "to_id": "b"},
        {"from_name": "question_99", "type": "textarea", "value": {"text": ["?"]}},
    ]
    tasks[0]["annotations"] = [given]
    assert [line.split("(")[1] for line in read(tasks, tmp_path).warnings] == [
        "mood): 1",
        "a relation without a control): 1",
        "question_99): 1",
    ]


def test_an_annotation_that_did_not_start_from_the_draft_keeps_its_text(tmp_path: Path) -> None:
    tasks = exported()
    tasks[0]["annotations"] = [decide(tasks[0], annotation(tasks[0], result=[]))]
    content = read(tasks, tmp_path)
    assert others(content) == others(label_studio.read(SAMPLE))
    assert [review.decision for review in content.reviews] == [Decision.ACCEPT, Decision.ACCEPT]
    assert content.warnings == ["turns have no text in an annotation, and keep that of the draft: 2"]


def test_an_export_alone_says_what_it_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(json.dumps(exported()), encoding="utf-8")
    content = label_studio.read(tmp_path / "export.json")
    before = label_studio.read(SAMPLE)
    assert (content.videos, content.clips, content.chains) == (before.videos, before.clips, before.chains)
    assert content.linkages == before.linkages
    assert content.warnings == [
        "tasks do not hold 1 paths, 1 dialogues, 2 gates, 1 graphs: "
        "import the folder that was exported, with the export in it"
    ]


def damaged(change: Callable[[list[Json]], Json]) -> Callable[[], Json]:
    def tasks() -> Json:
        made = exported()
        made[0]["annotations"] = [decide(made[0], annotation(made[0]))]
        changed = change(made)
        return made if changed is None else changed

    return tasks


def without_source(tasks: list[Json]) -> None:
    del tasks[1]["data"]["reeltalk"]


def other_layout(tasks: list[Json]) -> None:
    tasks[0]["data"]["reeltalk"]["layout"] = 9


def no_time(tasks: list[Json]) -> None:
    tasks[0]["annotations"][0]["updated_at"] = "yesterday"


def no_list(tasks: list[Json]) -> None:
    tasks[0]["annotations"][0]["result"][2]["value"] = 3


def other_row(tasks: list[Json]) -> None:
    tasks[0]["data"]["reeltalk"]["units"][0]["record"]["turns"][0]["question"] = "Another draft?"


def bad_record(tasks: list[Json]) -> None:
    # Under a row of its own: under its own it would differ from `tasks.json`.
    unit = tasks[0]["data"]["reeltalk"]["units"][0]
    unit["row"], unit["record"]["turns"] = 77, 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_source, r"not a task that reeltalk exported.*export\.json at \$\[1\]\.data"),
        (other_layout, r"another version of reeltalk, got 9 .*\$\[0\]\.data\.reeltalk\.layout"),
        (no_time, r"not a time, got 'yesterday' .*\$\[0\]\.annotations\[0\]\.updated_at"),
        (no_list, r"got 3 .*export\.json at \$\[0\]\.annotations\[0\]\.result\[2\]\.value"),
        (other_row, r"row 0 of chains differs"),
        (bad_record, r"got 3 .*\$\[0\]: unit 0\.turns"),
        (lambda _: {"tasks": 3}, r"must be a list of tasks"),
    ],
)
def test_a_damaged_export_is_refused_with_its_place(
    change: Callable[[list[Json]], Json], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read(damaged(change)(), tmp_path)


def test_hostile_text_stays_text() -> None:
    config = ET.fromstring((SAMPLE / "config.xml").read_text(encoding="utf-8"))
    values = [element.get("value") for element in config.iter("Choice")]
    assert '<kitchen> & "hall"' in values
    assert "$room" not in values
    assert {element.tag for element in config.iter()} == {
        "View", "Header", "Video", "TimelineLabels", "Label", "Repeater", "Text", "Choices", "Choice", "TextArea",
        "Number", "Taxonomy",
    }  # fmt: skip


def a_filmed_benchmark(folder: Path) -> Benchmark:
    (folder / "a film.mp4").write_bytes(b"not decoded here")
    bench = Benchmark.create(folder / "bench")
    sha256 = bench.media.add(folder / "a film.mp4")
    clip = Clip(id=ClipId("c"), video_id=VideoId("v"), interval=Interval(start_s=1, end_s=2))
    units = [
        Dialogue(id=DialogueId(name), video_id=VideoId("v"), clip_ids=clips, turns=(Turn(question=f"{name}?"),))
        for name, clips in (("d1", (clip.id,)), ("d2", (clip.id,)), ("cross", (clip.id, clip.id)), ("whole", ()))
    ]
    chain = QAChain(id=ChainId("q"), video_id=VideoId("v"), clip_id=clip.id, turns=(Turn(question="First?"),))
    content = Content(
        videos=[Video(id=VideoId("v"), file="films/a film.mp4", sha256=sha256)],
        clips=[clip],
        chains=[chain],
        dialogues=units,
    )
    bench.write_content(content, stage="test")
    return bench


def test_a_scene_is_a_task_and_so_is_a_dialogue_across_scenes(tmp_path: Path) -> None:
    content = a_filmed_benchmark(tmp_path).content()
    (tmp_path / "out").mkdir()
    label_studio.write(content, tmp_path / "out")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    units = [[unit["record"]["id"] for unit in task["data"]["reeltalk"]["units"]] for task in tasks]
    assert units == [["q", "d1", "d2"], ["cross"], ["whole"]]


@pytest.mark.parametrize("videos", ["copy", "link"])
def test_videos_lie_beside_the_tasks_and_come_back(videos: str, tmp_path: Path) -> None:
    bench = a_filmed_benchmark(tmp_path)
    assert run(["export", "label-studio", str(bench.path), str(tmp_path / "out"), "--videos", videos]) == 0
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    address = tasks[0]["data"]["video"].removeprefix("/data/local-files/?d=")
    lies_at = tmp_path / "out" / address
    assert lies_at.read_bytes() == b"not decoded here"
    assert lies_at.samefile(next((bench.path / "media").iterdir())) == (videos == "link")
    assert run(["import", "label-studio", str(tmp_path / "out"), str(tmp_path / "again")]) == 0
    again = Benchmark.open(tmp_path / "again")
    assert others(again.content()) == others(bench.content())
    assert set(again.content().media) == set(bench.content().media)
    lies_at.unlink()
    lies_at.write_bytes(b"another film")
    with pytest.raises(InputError, match="does not have the hash"):
        label_studio.read(tmp_path / "out")


def test_videos_may_be_served_elsewhere(tmp_path: Path) -> None:
    content = a_filmed_benchmark(tmp_path).content()
    (tmp_path / "out").mkdir()
    options = LabelStudioOptions(media_url="https://films.example/", videos="none")
    label_studio.write(content, tmp_path / "out", options)
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    assert tasks[0]["data"]["video"] == "https://films.example/films/a%20film.mp4"
    assert not (tmp_path / "out" / "videos").exists()
    with pytest.raises(SettingError, match="expected an address"):
        label_studio.write(content, tmp_path / "out", LabelStudioOptions(media_url="javascript:alert(1)"))


def test_only_label_studio_takes_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = a_filmed_benchmark(tmp_path)
    assert run(["export", "hub", str(bench.path), str(tmp_path / "out"), "--videos", "none"]) == 2
    assert "for label-studio only" in capsys.readouterr().err
