"""Answers that lie apart from what they answer are judged as those of the whole release are."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reeltalk.errors import InputError
from reeltalk.formats import load_format
from reeltalk.judge.settings import JudgeSettings
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, PathId, VideoId
from reeltalk.stages.judging import judge
from reeltalk.stages.layouts import import_layout
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

ROUGE = JudgeSettings(metrics=("rouge_l",))


def rows(source: Path, benchmark: Path, out: Path, layout: str = "svbench") -> dict[tuple[str, ...], Any]:
    """What judging notes of each turn of each model."""
    done = judge(source, out=out, judging=ROUGE, benchmark=Benchmark.open(benchmark), format=layout)
    return {(row.model, row.item_id): (row.question, row.references, row.text, row.state) for row in done.run.answers()}


@pytest.fixture
def release(samples: Path, tmp_path: Path) -> Path:
    """A release with answers, without what judges said about them, and the benchmark beside it."""
    shutil.copytree(samples / "svbench", tmp_path / "src", ignore=shutil.ignore_patterns("Judged"))
    import_layout("svbench", tmp_path / "src", tmp_path / "bench")
    return tmp_path / "src"


def test_the_folder_of_one_model_is_judged_as_the_whole_release_is(release: Path, tmp_path: Path) -> None:
    whole = rows(release, tmp_path / "bench", tmp_path / "whole")
    for model in ("ExampleLVLM", "OtherLVLM"):
        found = rows(release / "Answers" / model, tmp_path / "bench", tmp_path / model)
        assert found == {key: row for key, row in whole.items() if key[0] == model}
    assert {key[1].split("/")[-2] for key in whole if key[0] == "ExampleLVLM"} >= {"0", "1"}
    assert any("/path/" in key[1] for key in whole)


@pytest.mark.parametrize(
    "part", ["Answers", "Answers/ExampleLVLM/Streaming_EN", "Answers/ExampleLVLM/Streaming_EN/kitchen_01.json"]
)
def test_any_part_of_the_answers_will_do(release: Path, tmp_path: Path, part: str) -> None:
    whole = rows(release, tmp_path / "bench", tmp_path / "whole")
    found = rows(release / part, tmp_path / "bench", tmp_path / "part")
    answered = {key: row for key, row in found.items() if row[3] is AnswerState.ANSWERED}
    assert answered
    assert answered.items() <= whole.items()


def test_the_folder_may_lie_anywhere_under_any_name(release: Path, tmp_path: Path) -> None:
    shutil.move(release / "Answers/ExampleLVLM", tmp_path / "mine-7b")
    shutil.rmtree(release)
    assert {model for model, _ in rows(tmp_path / "mine-7b", tmp_path / "bench", tmp_path / "run")} == {"mine-7b"}


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("Dialogue", "no models' answers to SVBench here"),
        ("Meta", "no models' answers to SVBench here"),
        ("Answers/Nobody", "no such file or folder"),
    ],
)
def test_another_folder_is_refused_with_what_was_looked_for(
    release: Path, tmp_path: Path, part: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        rows(release / part, tmp_path / "bench", tmp_path / "run")


def test_answers_to_another_benchmark_are_refused(release: Path, tmp_path: Path) -> None:
    folder = release / "Answers/ExampleLVLM"
    for path in folder.rglob("*.json"):
        path.rename(path.with_name("garage_09.json"))
    with pytest.raises(InputError, match=r"chains of video 'garage_09' are not in the benchmark.*--bench"):
        rows(folder, tmp_path / "bench", tmp_path / "run")


def test_other_questions_are_refused(release: Path, tmp_path: Path) -> None:
    folder = release / "Answers/ExampleLVLM"
    for path in folder.rglob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        for row in filter(None, document):
            row["questions"] = [f"{question} Or what?" for question in row["questions"]]
        path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="none of these questions is at its place"):
        rows(folder, tmp_path / "bench", tmp_path / "run")


@pytest.fixture
def own() -> Content:
    """A benchmark of our own: names that no layout gives, clips that are not in order, a name no file can have."""
    video = VideoId("a/b")
    turns = (Turn(question="A?", references=("a",)), Turn(question="B?", references=("b",)))
    content = Content(videos=[Video(id=video)])
    for name, start in (("late", 5.0), ("early", 1.0)):
        interval = Interval(start_s=start, end_s=start + 1)
        content.clips.append(Clip(id=ClipId(name), video_id=video, interval=interval))
        content.chains.append(QAChain(id=ChainId(f"c-{name}"), video_id=video, clip_id=ClipId(name), turns=turns))
    worded = PathStep(ref=TurnRef(unit_id="c-late", turn_index=1), turn=Turn(question="And B then?", references=("b",)))
    steps = (PathStep(ref=TurnRef(unit_id="c-early", turn_index=0)), worded)
    content.paths.append(DialoguePath(id=PathId("walk"), video_id=video, steps=steps))
    labels = {"mt_video_bench.task": ("summary",)}
    asked = tuple(turn.model_copy(update={"labels": labels}) for turn in turns)
    content.dialogues.append(Dialogue(id=DialogueId("talk"), video_id=video, task="summary", turns=asked))
    return content


@pytest.mark.parametrize("layout", ["svbench", "mt-video-bench", "vdact"])
def test_answers_to_an_export_of_ours_find_the_turns_that_they_answer(
    own: Content, tmp_path: Path, layout: str
) -> None:
    Benchmark.create(tmp_path / "bench").write_content(own, stage="test", parents={})
    out, answers = tmp_path / "out", tmp_path / "answers" / "m-1"
    out.mkdir()
    load_format(layout).write(own, out)
    given: Any
    if layout == "svbench":
        for part in ("Dialogue", "Streaming"):
            for path in out.glob(f"{part}/*/*.json"):
                lists = [row.get("chain", row) for row in json.loads(path.read_text(encoding="utf-8"))]
                given = [
                    {
                        "questions": row["questions"],
                        "gt_answers": row["answers"],
                        "answers": [f"to {question}" for question in row["questions"]],
                    }
                    for row in lists
                ]
                target = answers / path.relative_to(out).parent.name / path.name
                target.parent.mkdir(parents=True)
                target.write_text(json.dumps(given), encoding="utf-8")
        expected = {"c-late/01", "c-late/02", "c-early/01", "c-early/02", "walk/01", "walk/02"}
    elif layout == "mt-video-bench":
        document = json.loads((out / "mtqa/summary.json").read_text(encoding="utf-8"))
        given = {
            video: {str(row["event_index"]): [f"to {one['User']}" for one in row["mtqa"].values()] for row in dialogues}
            for video, dialogues in document.items()
        }
        answers.mkdir(parents=True)
        (answers / "summary.json").write_text(json.dumps(given), encoding="utf-8")
        expected = {"talk/01", "talk/02"}
    else:
        (dialogue,) = json.loads((out / "data/dialogue/dialogue.json").read_text(encoding="utf-8"))
        given = [
            {
                "id": f"{dialogue['id']}{number:02d}",
                "dial_id": dialogue["id"],
                "turn_num": number,
                "question": turn["question"],
                "ref_answer": turn["answer"],
                "gen_answer": f"to {turn['question']}",
            }
            for number, turn in enumerate(dialogue["turns"], start=1)
        ]
        answers.mkdir(parents=True)
        (answers / "m-1.json").write_text(json.dumps(given), encoding="utf-8")
        expected = {"talk/01", "talk/02"}
    found = rows(answers, tmp_path / "bench", tmp_path / "run", layout)
    assert {item for _, item in found} == expected
    assert {model for model, _ in found} == {"m-1"}
    assert all(row[2] == f"to {row[0]}" for row in found.values())


def test_the_folder_of_one_model_of_mt_video_bench(samples: Path, tmp_path: Path) -> None:
    source = samples / "mt-video-bench-v2"
    import_layout("mt-video-bench", source, tmp_path / "bench")
    whole = rows(source, tmp_path / "bench", tmp_path / "whole", "mt-video-bench")
    (model,) = (source / "model_answers").iterdir()
    assert rows(model, tmp_path / "bench", tmp_path / "run", "mt-video-bench") == whole
    with pytest.raises(InputError, match="no models' answers to MT-Video-Bench here"):
        rows(source / "checklist", tmp_path / "bench", tmp_path / "none", "mt-video-bench")
