"""A signature changes with every field and file that a number can depend on, and with no other.

Every field of what a benchmark stores about turns is classified here. A new field that is not fails the first test.
"""

import asyncio
import dataclasses
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel
from sample_videos import Numbered

from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.models import create_judges
from reeltalk.evaluation.playing.play import Response, answered_turn
from reeltalk.evaluation.playing.script import make_scripts
from reeltalk.evaluation.playing.subtitles import spoken_lines
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.evaluation.signing import judged_hash, questions_hash, shown_hash
from reeltalk.judge.judge import READABLE_FIELDS, Background, JudgeUnit, LinkedTurns, group_units
from reeltalk.judge.protocol import protocols
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm import Message, Reply
from reeltalk.schema.answers import AnsweredTurn, PlayDetails
from reeltalk.schema.dialogue import (
    AnswerKey,
    Checklist,
    ChecklistItem,
    Dialogue,
    DialoguePath,
    Linkage,
    PathStep,
    QAChain,
    RubricItem,
    Turn,
    TurnRef,
    TurnRubric,
)
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.speech import Utterance
from reeltalk.stages.evaluating import evaluate
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

A, B = "a" * 64, "b" * 64
MOVES, STAYS, NAMES = "moves", "stays", "names"
"""A number can depend on it; none can; it joins rows, and what it joins is what counts."""

FIELDS: Final[dict[type[BaseModel], dict[str, tuple[str, Any]]]] = {
    Turn: {
        "extra": (STAYS, {"note": "seen twice"}),
        "question": (MOVES, "What is on the shelf?"),
        "references": (MOVES, ("The cup.",)),
        "position": (MOVES, 7),
        "asked_at_s": (MOVES, 3.5),
        "evidence": (NAMES, None),  # Decides which frames a policy shows, and these are hashed.
        "options": (MOVES, ("cup", "jar", "mug")),
        "correct_option": (MOVES, 1),
        "labels": (MOVES, {"vdact.question_type": ("D-INT",)}),
        "checklist": (MOVES, Checklist(items=(ChecklistItem(question="Is it named?", expected=False),))),
        "rubric": (MOVES, TurnRubric(items=(RubricItem(says="the cup"),))),
        "key": (MOVES, AnswerKey(type="object", values=("cup",))),
    },
    Dialogue: {
        "extra": (STAYS, {"note": "x"}),
        "id": (MOVES, "other"),
        "video_id": (NAMES, None),
        "clip_ids": (MOVES, ("c1", "c2")),
        "task": (MOVES, "SP"),
        "turns": (NAMES, None),
    },
    QAChain: {
        "extra": (STAYS, {"note": "x"}),
        "id": (NAMES, None),
        "video_id": (NAMES, None),
        "clip_id": (MOVES, "c2"),
        "turns": (NAMES, None),
    },
    DialoguePath: {
        "extra": (STAYS, {"note": "x"}),
        "id": (MOVES, "other"),
        "video_id": (NAMES, None),
        "steps": (NAMES, None),
    },
    PathStep: {
        "extra": (STAYS, {"note": "x"}),
        "ref": (NAMES, None),
        "turn": (MOVES, Turn(question="And then?", references=("It falls.",))),
    },
    Linkage: {
        "extra": (STAYS, {"note": "x"}),
        "source": (NAMES, None),
        "target": (NAMES, None),
        "relation": (MOVES, "spatial"),
    },
    Video: {
        "extra": (STAYS, {"note": "x"}),
        "id": (NAMES, None),
        "file": (STAYS, "raw/other.mp4"),
        "sha256": (MOVES, B),
        "duration_s": (MOVES, 9.0),
        "decoded_s": (STAYS, 4.0),
        "frame_rate": (STAYS, Fraction(24)),
        "width_px": (STAYS, 64),
        "height_px": (STAYS, 64),
        "encoding": (STAYS, None),
        "lookalikes": (STAYS, "group"),
        "category": (STAYS, "cooking"),
        "licence": (STAYS, "CC0-1.0"),
        "source": (STAYS, "elsewhere"),
        "split": (NAMES, None),
        "summaries": (MOVES, {"refine": "Another summary."}),
    },
    Clip: {
        "extra": (STAYS, {"contained_subs": [{"speaker": "Ann", "utter": "Hello.", "st": 0.0, "et": 1.0}]}),
        "id": (NAMES, None),
        "video_id": (NAMES, None),
        "interval": (MOVES, Interval(start_s=0.0, end_s=3.0)),
        "file": (STAYS, None),
    },
    Utterance: {
        "extra": (STAYS, {"note": "x"}),
        "video_id": (NAMES, None),
        "interval": (MOVES, Interval(start_s=0.0, end_s=3.5)),
        "text": (MOVES, "Here comes the tea."),
        "speaker": (MOVES, "Ann"),
    },
}  # fmt: skip
READ_TABLES: Final = frozenset({"videos", "speech", "clips", "scenes", "chains", "linkages", "paths", "dialogues"})
OF_OTHER_NUMBERS: Final = frozenset({"proactive", "answers", "graphs", "media"})
"""Proactive tasks, answers, what only the oracle reads, and files: each is signed where it is read."""
NOT_READ: Final = frozenset(
    {"screenings", "shots", "frames", "rewrites", "entities", "events", "facts", "known_boxes", "sightings"}
    | {"identity_changes", "gates", "tag_proposals", "scores", "rubrics", "reviews", "rejected", "source_files"}
    | {"warnings"}
)  # fmt: skip


class Everything:
    """A judge that reads all there is."""


def content_of() -> Content:
    turn = Turn(
        question="What is on the table?",
        references=("The mug.",),
        asked_at_s=3.0,
        options=("mug", "jar", "cup"),
        correct_option=0,
        labels={"vdact.question_type": ("D-LOC",)},
        checklist=Checklist(items=(ChecklistItem(question="Is the mug named?", expected=True),)),
        rubric=TurnRubric(items=(RubricItem(says="the mug"),)),
        key=AnswerKey(type="object", values=("mug",)),
    )
    later = Turn(question="What is it for?", references=("For tea.",), asked_at_s=5.0)
    content = Content(videos=[Video(id=v, sha256=A, split=s, duration_s=8.0, summaries={"refine": "A mug."})
                              for v, s in (("v1", "test"), ("v2", "train"))])  # fmt: skip
    for video, clips in (("v1", ("c1", "c2")), ("v2", ("d1", "d2"))):
        for n, clip in enumerate(clips):
            interval = Interval(start_s=2.0 * n, end_s=2.0 * n + 2)
            content.clips.append(Clip(id=clip, video_id=video, interval=interval))
            content.chains.append(QAChain(id=f"q-{clip}", video_id=video, clip_id=clip, turns=(turn, later)))
        content.speech.append(Utterance(video_id=video, interval=Interval(start_s=0.0, end_s=3.0), text="Tea?"))
        refs = [TurnRef(unit_id=f"q-{clip}", turn_index=n) for n, clip in enumerate(clips)]
        content.linkages.append(Linkage(source=refs[0], target=refs[1], relation="temporal"))
        steps = tuple(PathStep(ref=ref) for ref in refs)
        content.paths.append(DialoguePath(id=f"p-{video}", video_id=video, steps=steps))
        content.dialogues.append(Dialogue(id=f"d-{video}", video_id=video, clip_ids=clips[:1], turns=(turn, later)))
    return content


def hashes(content: Content) -> list[str]:
    """All that signatures say of what was asked, shown and read."""
    played = make_scripts(content, PlaySettings(units=("chain", "path", "dialogue")))
    films: dict[str, str | None] = {video.id: video.sha256 for video in content.videos}
    turns = [
        answered_turn(one, step, "m", Response("x"), PlayDetails(frames_s=(1.0,), film=films[one.video_id]))
        for one in played
        for step in one.steps
    ]
    units = group_units(turns, Background(content))
    judge: Any = Everything()
    return [
        questions_hash(turns),
        judged_hash(units, judge),
        shown_hash(played, turns, subtitles=spoken_lines(content)),
    ]


def changed(content: Content, kind: type[BaseModel], **update: Any) -> Content:
    """The content with another value in the first row of a kind: first rows are of the split that is played."""
    done = False

    def walk(value: Any) -> Any:
        nonlocal done
        if done:
            return value
        if isinstance(value, kind):
            done = True
            return value.model_copy(update=update)
        if isinstance(value, tuple):
            return tuple(walk(one) for one in value)
        if isinstance(value, BaseModel):
            fields = {name: walk(getattr(value, name)) for name in type(value).model_fields}
            return value.model_copy(update=fields)
        return value

    tables: dict[str, Any] = {
        field.name: [walk(row) for row in getattr(content, field.name)]
        for field in dataclasses.fields(content)
        if isinstance(getattr(content, field.name), list)
    }
    return dataclasses.replace(content, **tables)


def test_every_field_is_classified() -> None:
    for kind, fields in FIELDS.items():
        assert set(fields) == set(kind.model_fields), f"say in FIELDS whether a number can depend on it: {kind}"
    tables = {field.name for field in dataclasses.fields(Content)}
    assert tables == READ_TABLES | OF_OTHER_NUMBERS | NOT_READ
    of_units = {field.name for field in dataclasses.fields(JudgeUnit)}
    assert of_units >= READABLE_FIELDS - {"references", "checklist", "rubric", "key"}
    assert of_units - READABLE_FIELDS == {"model", "kind", "id", "video_id", "turns", "task", "official", "lists"}
    said = {"model", "text", "state", "reason", "repeats", "played", "extra", "unit_id", "epoch"}
    asked = {"item_id", "video_id", "unit", "turn_index", "question", "references", "options", "correct_option"}
    assert set(AnsweredTurn.model_fields) == said | asked | {
        "asked_at_s",
        "labels",
        "task",
        "checklist",
        "rubric",
        "key",
    }


CASES = [(kind, name, *case) for kind, fields in FIELDS.items() for name, case in fields.items() if case[0] != NAMES]


@pytest.mark.parametrize(
    ("kind", "name", "moves", "value"), CASES, ids=[f"{kind.__name__}.{name}" for kind, name, *_ in CASES]
)
def test_a_signature_changes_with_what_counts_alone(kind: type[BaseModel], name: str, moves: str, value: Any) -> None:
    before = content_of()
    after = changed(before, kind, **{name: value})
    assert after != before or value is None
    assert (hashes(after) != hashes(before)) is (moves == MOVES)


def test_other_splits_rows_and_tables_are_in_no_signature() -> None:
    content = content_of()
    before = hashes(content)
    backwards = dataclasses.replace(
        content,
        **{name: getattr(content, name)[::-1] for name in ("videos", "clips", "linkages", "paths", "dialogues")},
    )
    assert hashes(backwards) == before
    others = dataclasses.replace(
        content,
        dialogues=[content.dialogues[0], content.dialogues[1].model_copy(update={"turns": ()})],
        videos=[content.videos[0], content.videos[1].model_copy(update={"sha256": B, "summaries": {}})],
    )
    assert hashes(others) == before
    more = dataclasses.replace(content, source_files=[SourceFile(format="x", path="x.json", kind="y")], warnings=["y"])
    assert hashes(more) == before
    assert hashes(dataclasses.replace(content, scenes=[
        Scene(id="s", video_id="v1", clip_ids=("c1",), kind="cross", parts=("x", "y", "z"))
    ])) != before  # fmt: skip


class Recording:
    """A judge model whose reply follows from what it is sent."""

    name, sees_images = "recording", False

    def __init__(self) -> None:
        self.sampling, self.sent = dict[str, Any](), list[str]()

    async def ask(self, messages: list[Message], *, schema: dict[str, Any] | None = None, sample: int = 0) -> Reply:
        self.sent += [message.text for message in messages]
        return Reply("no verdict", "recording", 1, 1, cut_off=False)


UNITS: Final[dict[str, Callable[[JudgeUnit], JudgeUnit]]] = {
    "summaries": lambda unit: dataclasses.replace(unit, summaries={"refine": "Other.", "template": "Other."}),
    "linked": lambda unit: dataclasses.replace(unit, linked=(LinkedTurns(0, 1, "spatial"),)),
    "clips": lambda unit: dataclasses.replace(unit, clips=3),
    "duration_s": lambda unit: dataclasses.replace(unit, duration_s=4000.0),
    **{
        name: lambda unit, name=name: dataclasses.replace(  # type: ignore[misc]
            unit, turns=tuple(turn.model_copy(update={name: FIELDS[Turn][name][1]}) for turn in unit.turns)
        )
        for name in ("references", "checklist", "rubric", "key")
    },
}


@pytest.mark.parametrize("protocol", sorted(protocols()))
def test_a_judge_reads_what_it_says_and_nothing_else(protocol: str) -> None:
    (judge,) = create_judges(JudgeSettings(protocols=(protocol,), eval_rounds=1))
    content = content_of()
    played = make_scripts(content, PlaySettings(units=("path",)))
    turns = [answered_turn(one, step, "m", Response("The mug.")) for one in played for step in one.steps]
    (unit,) = group_units(turns, Background(content))
    assert UNITS.keys() == READABLE_FIELDS

    def outcome(of: JudgeUnit) -> tuple[Any, ...]:
        model: Any = Recording()
        rows = asyncio.run(judge.judge(of, model if judge.needs_model else None))
        measures = judge.measures([of], rows)
        # Groups are shown under the same signature.
        groups = [[entry.groups for entry in measure.entries] for measure in measures]
        return model.sent, [(row.criterion, row.value) for row in rows], [(m.name, m.value) for m in measures], groups

    # A guard's letters are drawn from the texts that it fences, and are the same each time.
    before = outcome(unit)
    for name, change in UNITS.items():
        after = outcome(change(unit))
        differs = judged_hash([change(unit)], judge) != judged_hash([unit], judge)
        assert differs or after == before, f"{protocol} reads {name} and does not sign it"


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signing")
    path, _ = Numbered("h264-signing.mp4", rate=Fraction(12), frames=96).make()
    content = content_of()
    sha256 = hash_file(path)[0]
    content.media[sha256] = path
    content.videos = [video.model_copy(update={"sha256": sha256}) for video in content.videos]
    Benchmark.create(folder / "bench").write_content(content, stage="test")
    return folder / "bench"


def signatures(bench: Path, out: Path, model: str = "baseline:frames") -> dict[str, str]:
    report = evaluate(
        Benchmark.open(bench),
        model=model,
        out=out,
        play=PlaySettings(units=("dialogue",)),
        judging=JudgeSettings(protocols=("choice",), metrics=("rouge_l",)),
    )
    (own, *_) = report.run.info.models
    metrics = ("accuracy", "rouge_l")
    return {row.metric: row.signature for row in report.run.summary if row.model == own.model and row.metric in metrics}


def test_a_file_that_was_written_over_is_refused_where_it_is_looked_at(filmed: Path, tmp_path: Path) -> None:
    before = signatures(filmed, tmp_path / "before")
    assert before
    assert signatures(filmed, tmp_path / "again") == before
    shutil.copytree(filmed, tmp_path / "bench")
    (media,) = [path for path in (tmp_path / "bench" / "media").iterdir() if path.is_file()]
    other, _ = Numbered("h264-signing-other.mp4", rate=Fraction(24), frames=192).make()
    media.chmod(0o644)
    shutil.copyfile(other, media)
    with pytest.raises(BenchmarkError, match="edited or damaged"):
        signatures(tmp_path / "bench", tmp_path / "after")
    # Who looks at nothing gives the same number of both.
    blind = signatures(filmed, tmp_path / "blind", "baseline:blind")
    assert signatures(tmp_path / "bench", tmp_path / "blind-after", "baseline:blind") == blind
