"""What may be looked out for: moments are the story's own, what never happens does not; no form is in two splits."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from told_households import told

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.graph.reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.graph.vocabulary import plain_name
from reeltalk.metrics.agree import agrees
from reeltalk.questions.asking import stories as stories_of
from reeltalk.questions.asking import write_tasks
from reeltalk.questions.grammar import SPLITS
from reeltalk.questions.proactive import ANY_OF, KINDS, LATEST_S, PASSING, proactive_forms, proactive_forms_of, tasks_of
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, PROACTIVE, VIDEOS
from reeltalk.store.validate import validate

V = VideoId("v1")
SLIPS = re.compile(
    r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|it) \1\b|\bthey is\b|\bit are\b|[a-z][A-Z]|\d[a-z]"
)


@pytest.fixture(scope="module")
def household(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("told") / "household"
    return told(folder, 80 if request.config.getoption("--full") else 8, seed=11, houses=4)


@pytest.fixture(scope="module")
def stories(household: Benchmark) -> list[Story]:
    return [
        Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])
        for _, _, texts in stories_of(household)
    ]


def all_of(story: Story, split: str = "train") -> list[ProactiveTask]:
    return tasks_of(story, V, split, 5, per_kind=100)


def test_no_form_is_in_two_splits() -> None:
    by_split = {
        split: {text for k in proactive_forms() for _, text in proactive_forms_of(k, split)} for split in SPLITS
    }
    assert not by_split["train"] & by_split["test"]
    assert not by_split["train"] & by_split["dev"]
    assert not by_split["dev"] & by_split["test"]
    for kind, form in proactive_forms().items():
        assert len(form.forms) == len(set(form.forms)) >= 8, kind
        for split in SPLITS:
            assert len(proactive_forms_of(kind, split)) >= 2


def test_every_kind_is_found_and_used_as_told(stories: list[Story]) -> None:
    for story in stories:
        tasks = all_of(story)
        assert {task.kind for task in tasks} == set(KINDS)
        for task in tasks:
            forms = [re.sub(r"\{\w+\}", ".+", re.escape(text).replace(r"\{", "{").replace(r"\}", "}"))
                     for kind in proactive_forms() for _, text in proactive_forms_of(kind, "train")]  # fmt: skip
            assert any(re.fullmatch(form, task.instruction) for form in forms), task.instruction


def test_moments_are_of_the_story(stories: list[Story]) -> None:
    for story in stories:
        spans = [event.interval for event in story.events]
        for task in all_of(story):
            assert task.until_s == story.duration_s
            starts = [moment.interval.start_s for moment in task.moments]
            assert starts == sorted(starts)
            for moment in task.moments:
                known = [
                    span
                    for span in spans
                    if span and moment.interval.start_s in (span.start_s, round((span.start_s + span.end_s) / 2, 3))
                ]
                assert known, task
                last = {min(round(span.end_s + LATEST_S, 3), task.until_s) for span in spans if span}
                assert moment.interval.end_s in last
                assert all(agrees(said, moment.references) for said in moment.references)


def test_an_event_has_a_moment_each_time_it_happens(stories: list[Story]) -> None:
    told_of = 0
    for story in stories:
        for task in all_of(story):
            if task.kind not in ("event", "count") or any(
                words[0] in task.instruction or words[1] in task.instruction for words in ANY_OF.values()
            ):
                continue
            [start, *_] = [moment.interval.start_s for moment in task.moments]
            event = next(e for e in story.events if e.interval and e.interval.start_s == start)
            assert event.action not in PASSING
            same = [e for e in story.events if e.signature == event.signature]
            assert len(task.moments) == len(same), task
            told_of += 1
    assert told_of > 40


def test_rooms_are_entered_and_states_begin(stories: list[Story]) -> None:
    seen = set()
    for story in stories:
        for task in all_of(story):
            middles = {
                round((e.interval.start_s + e.interval.end_s) / 2, 3): e for e in story.events if e.interval is not None
            }
            for moment in task.moments:
                if task.kind == "room":
                    event = middles[moment.interval.start_s]
                    assert event.from_room != event.to_room
                    assert plain_name(event.to_room or "") in task.instruction
                if task.kind == "state":
                    event = middles[moment.interval.start_s]
                    assert event.action in ("switchOn", "switchOff", "open", "close")
                    assert plain_name(event.main or "") in task.instruction
                    seen.add(event.action)
    assert seen >= {"switchOn", "open"}


def test_what_is_closed_at_the_beginning_is_not_waited_for(stories: list[Story]) -> None:
    for story in stories:
        for task in all_of(story):
            if task.kind == "state" and " closed" in task.instruction:
                start = task.moments[0].interval.start_s
                before = [e for e in story.events if e.interval and e.interval.end_s < start and e.action == "open"]
                assert not any(plain_name(e.main or "") in task.instruction for e in before)


def test_what_never_happens_does_not(stories: list[Story]) -> None:
    for story in stories:
        done = [r for t in tasks_of(story, V, "train", 1, kinds=["narrate"]) for m in t.moments for r in m.references]
        absent = [task for task in all_of(story) if task.kind == "absent"]
        assert absent
        for task in absent:
            assert not task.moments
            assert task.extra["form"].split("/")[0] in ("event", "room")
            words = set(re.findall(r"\w+", task.instruction.lower()))
            for said in done:
                acted = set(re.findall(r"\w+", said.lower())) - {"he", "the", "up", "to", "on", "with", "down"}
                # Every word of a thing that is done, in an instruction about it, would be that thing itself.
                assert not acted <= words, (task.instruction, said)


def test_a_narration_tells_everything_once(stories: list[Story]) -> None:
    for story in stories:
        [task] = tasks_of(story, V, "test", 2, kinds=["narrate"])
        told_ = [moment.references[0] for moment in task.moments]
        assert all(a != b for a, b in pairwise(told_))
        starts = {moment.interval.start_s for moment in task.moments}
        assert starts <= {e.interval.start_s for e in story.events if e.interval}
        assert len({e.signature for e in story.events}) <= len(told_)


def test_equal_arguments_give_equal_tasks_and_identifiers_differ(stories: list[Story]) -> None:
    tasks = all_of(stories[0])
    assert tasks == all_of(stories[0])
    assert len({task.id for task in tasks}) == len(tasks)
    one, other = (tasks_of(stories[0], V, "train", seed, kinds=["event"]) for seed in (1, 2))
    assert one != other


def test_the_english_has_no_slips_that_a_rule_can_find(stories: list[Story]) -> None:
    for story in stories:
        for split in SPLITS:
            for task in all_of(story, split):
                for said in (task.instruction, *(r for m in task.moments for r in m.references)):
                    assert not SLIPS.search(said), said
                    assert said[0].isupper()
                    assert said.endswith("."), said


def test_a_story_without_times_has_no_tasks(stories: list[Story]) -> None:
    assert tasks_of(Story([]), V, "train", 1) == []


def test_tasks_are_a_table_of_the_benchmark(household: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", "questions", "--proactive", str(household.path), "--per-kind", "2", "--seed", "3"]) == 0
    assert "left out" not in capsys.readouterr().out
    opened = Benchmark.open(household.path)
    rows = list(opened.read(PROACTIVE))
    assert len({row.id for row in rows}) == len(rows)
    splits = {video.id: video.split for video in opened.read(VIDEOS)}
    allowed = {(s, name) for s in SPLITS for kind in proactive_forms() for name, _ in proactive_forms_of(kind, s)}
    assert {(splits[row.video_id], row.extra["form"]) for row in rows} <= allowed
    assert [found for found in validate(opened) if found.where.startswith("proactive")] == []
    assert run(["graph", "questions", "--proactive", str(household.path)]) == 2
    assert "pass --overwrite" in capsys.readouterr().err
    again = write_tasks(opened, per_kind=2, seed=3, overwrite=True)
    assert again.tasks == len(rows)
    assert list(Benchmark.open(household.path).read(PROACTIVE)) == rows


def test_a_benchmark_without_times_or_with_another_split_is_refused(household: Benchmark, tmp_path: Path) -> None:
    bare = Benchmark.create(tmp_path / "bare")
    with bare.writing(stage="test") as writer:
        writer.add(VIDEOS, household.read(VIDEOS))
        writer.add(CLIPS, [])
    with pytest.raises(BenchmarkError, match="no video with graphs that tell when things happen"):
        write_tasks(Benchmark.open(tmp_path / "bare"))
    with Benchmark.open(tmp_path / "bare").writing(stage="test") as writer:
        writer.add(VIDEOS, [video.model_copy(update={"split": "val"}) for video in household.read(VIDEOS)])
    with pytest.raises(BenchmarkError, match="split 'val'; forms are divided among train, dev, test"):
        write_tasks(Benchmark.open(tmp_path / "bare"))
