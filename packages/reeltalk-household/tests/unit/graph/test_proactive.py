"""What may be said in a stream: moments are the story's own, nothing meets, no form is in two splits, SPARQL agrees."""

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from busy_scenes import busy_story
from peopled_scenes import SCENES, Does, Scene
from peopled_scenes import story as peopled_story

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.playing.play import ShownFrame
from reeltalk.language.grammar import SPLITS
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import ProactiveTask, UserRequest
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.event_log import SessionLog
from reeltalk.store.tables import CLIPS, PROACTIVE, VIDEOS
from reeltalk.store.validate import validate
from reeltalk.video.encode import jpeg
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import write_tasks
from reeltalk_household.questions.changing import COMMONEST, FEWEST, Timeline, askings
from reeltalk_household.questions.proactive import KINDS, STREAM_KINDS, tasks_of
from reeltalk_household.questions.proactive_checks import StreamChecker
from reeltalk_household.questions.proactive_forms import proactive_forms, proactive_forms_of
from reeltalk_household.questions.standing import APART_S, CLEAR_S
from reeltalk_household.questions.watching import LATEST_S, WATCHED_EVENTS, messages, takes_effect_s, watches
from reeltalk_streaming.proactive.scores import judge_reply, score_sessions
from reeltalk_streaming.proactive.stage import play_task
from reeltalk_streaming.proactive.watchers import Always, Never, Oracle, Watcher

V = VideoId("v1")
SLIPS = re.compile(
    r"[{}_\[\]|]|\bNone\b|  | [?.,!]|[?.!][?.!]|\b(the|a|an|to|is|are|in|on|he|it|someone|something) \1\b|\bthey is\b"
    r"|\bit are\b|[a-z][A-Z]|\d[a-z]|\bcharacter\b"
)


@pytest.fixture(scope="module")
def busy(request: pytest.FixtureRequest) -> list[tuple[Story, dict[str, str]]]:
    return [busy_story(seed) for seed in range(60 if request.config.getoption("--full") else 5)]


def end_of(story: Story) -> float:
    assert story.interval is not None
    return story.interval.end_s + 3


@cache
def all_of(story: Story, split: str = "train", *, seed: int = 5, per_kind: int = 6) -> list[ProactiveTask]:
    return tasks_of(story, V, split, seed, until_s=end_of(story), kinds=KINDS, per_kind=per_kind)


@pytest.fixture(scope="module")
def checkers(busy: list[tuple[Story, dict[str, str]]]) -> list[tuple[Story, StreamChecker]]:
    return [(story, StreamChecker(texts, [0.0], end_of(story))) for story, texts in busy]


@pytest.fixture(scope="module")
def written(busy: list[tuple[Story, dict[str, str]]]) -> list[tuple[Story, ProactiveTask]]:
    return [(story, task) for story, _ in busy for task in all_of(story)]


def test_every_kind_has_forty_forms_and_no_form_is_in_two_splits() -> None:
    for kind, form in proactive_forms().items():
        assert len(form.forms) >= 40, kind
        assert len({text.casefold() for text in form.forms}) == len(form.forms), kind
        own = [{text for _, text in proactive_forms_of(kind, split)} for split in SPLITS]
        assert set.union(*own) == set(form.forms)
        assert sum(map(len, own)) == len(form.forms)
        assert all(len(some) >= 5 for some in own), kind


def test_all_kinds_are_written_about_several_people_and_about_one(busy: list[tuple[Story, dict[str, str]]]) -> None:
    for story, _ in busy:
        assert {task.kind for task in all_of(story)} == set(KINDS)
    told = {watch.what for story, _ in busy for watch in watches(story)}
    assert len(told & set(WATCHED_EVENTS)) >= 8
    assert "enter" in told


def test_sparql_finds_all_moments_and_answers_again(checkers: list[tuple[Story, StreamChecker]]) -> None:
    checked: Counter[str] = Counter()
    for story, checker in checkers:
        for task in all_of(story):
            assert list(checker.disagreements(task)) == []
            checked.update(request.act for request in task.requests if request.fact)
    assert set(checked) == {"ask", "await", "watch", "change", "cancel"}


def test_putting_something_elsewhere_answers_where_it_is_put() -> None:
    person, kitchen = "character1", ("inside kitchen1", (), ())
    scene = Scene(
        "Warm_milk1_scene1",
        {person: ("Anna", "kitchen1", ("pronoun_she",))},
        {"milk2": ("on kitchentable3", (), ()), "kitchentable3": kitchen, "microwave4": kitchen, "mug5": kitchen},
        [
            Does(person, "grab", "milk2", at=5.0),
            Does(person, "putIn", "milk2", ("microwave4",), at=15.0),
            Does(person, "grab", "milk2", at=25.0),
            Does(person, "put", "milk2", ("kitchentable3",), at=56.0),
        ],
    )
    told, checker = peopled_story([scene]), StreamChecker({scene.name: scene.quads()}, [0.0], 58)
    waits = 0
    for seed in range(100):
        for task in tasks_of(told, V, "train", seed, until_s=58, kinds=["ready"]):
            assert list(checker.disagreements(task)) == []
            waits += sum(not request.moments for request in task.requests)
    assert waits


def _later(request: UserRequest, by_s: float) -> UserRequest:
    moments = tuple(
        moment.model_copy(
            update={"interval": moment.interval.model_copy(update={"start_s": moment.interval.start_s + by_s})}
        )
        for moment in request.moments
    )
    return request.model_copy(update={"moments": moments})


@pytest.mark.parametrize(
    ("act", "wrong"),
    [
        ("ask", lambda r: r.model_copy(update={"fact": r.fact | {"value": "nonsense"}})),
        ("await", lambda r: _later(r, 0.5)),
        ("await", lambda r: r.model_copy(update={"moments": ()})),
        ("watch", lambda r: r.model_copy(update={"moments": r.moments[1:]})),
        ("watch", lambda r: _later(r, 0.5)),
        ("change", lambda r: r.model_copy(update={"quiet": ()})),
        ("cancel", lambda r: r.model_copy(update={"quiet": r.quiet[1:]})),
    ],
)
def test_sparql_finds_what_is_wrong(
    act: str, wrong: Callable[[UserRequest], UserRequest], checkers: list[tuple[Story, StreamChecker]]
) -> None:
    found = 0
    for story, checker in checkers:
        for task in all_of(story, per_kind=2):
            for place, request in enumerate(task.requests):
                if (
                    request.act != act
                    or not request.fact
                    or request.fact["kind"] == "doing"
                    or task.kind != ({"ask": "changing", "await": "ready"}.get(act, "standing"))
                ):
                    continue
                broken = task.model_copy(
                    update={"requests": (*task.requests[:place], wrong(request), *task.requests[place + 1 :])}
                )
                if broken != task:
                    assert list(checker.disagreements(broken)), (request, wrong(request))
                    found += 1
    assert found


def test_one_question_has_answers_that_change(written: list[tuple[Story, ProactiveTask]]) -> None:
    kinds: Counter[str] = Counter()
    for story, task in written:
        if task.kind != "changing":
            continue
        assert {request.act for request in task.requests} == {"ask"}
        assert len({request.text for request in task.requests}) == 1
        answers = Counter(request.moments[0].references for request in task.requests)
        assert len(task.requests) >= FEWEST
        assert 1 < len(answers)
        assert answers.most_common(1)[0][1] <= COMMONEST * len(task.requests)
        timeline = Timeline(story, task.until_s)
        fact = task.requests[0].fact
        kinds[str(fact["kind"])] += 1
        for request in task.requests:
            # It is asked while the answer holds, and never while it changes.
            asked = [a for a in askings(timeline) if a.kind == fact["kind"] and dict(a.params).items() <= fact.items()]
            [stretch] = [s for a in asked for s in a.stretches if s.start_s <= request.at_s <= s.end_s]
            assert stretch.value == request.fact["value"]
    assert set(kinds) >= {"where", "holder", "people", "is_state", "feels"}


def test_what_changes_unseen_between_scenes_is_asked_for_only_when_it_was_shown_again() -> None:
    story = peopled_story(SCENES)
    timeline = Timeline(story, 60)
    begin_s = timeline.begins_s[1]
    [anna] = [a for a in askings(timeline) if a.kind == "in_room" and a.params == {"person": "character1"}]
    # Anna is in the kitchen at the end of one scene and in the living room at the beginning of the next one.
    assert [stretch.value for stretch in anna.stretches] == ["kitchen1", "livingroom2"]
    before, after = anna.stretches
    assert before.end_s < begin_s
    shown_s = timeline.shown_s("character1", begin_s)
    assert shown_s is not None
    assert after.start_s > shown_s
    for seed in range(40):
        for task in tasks_of(story, V, "dev", seed, until_s=60, kinds=["ready"]):
            for request in task.requests:
                if request.fact["kind"] == "next_room" and request.moments:
                    assert request.fact["agent"] != "character1"
                    assert not request.at_s < begin_s < request.moments[0].interval.start_s


def test_a_question_waits_until_its_answer_is_shown(written: list[tuple[Story, ProactiveTask]]) -> None:
    when: Counter[str] = Counter()
    for story, task in written:
        if task.kind != "ready":
            continue
        effects = {round(takes_effect_s(event), 3) for event in story.events}
        for earlier, later in pairwise(task.requests):
            assert earlier.moments[0].interval.end_s < later.at_s
        for request in task.requests:
            assert request.act == "await"
            if not request.moments:
                when["never"] += 1
                continue
            [moment] = request.moments
            assert all(judge_reply(text, moment, request.text) == 2 for text in moment.references), request
            if moment.interval.start_s > request.at_s:
                assert moment.interval.start_s in effects
                when["later"] += 1
            else:
                assert request.fact["kind"] == "who_does"
                when["now"] += 1
    assert min(when["later"], when["now"], when["never"]) > 0


def test_requests_are_changed_and_cancelled_when_nothing_happens(written: list[tuple[Story, ProactiveTask]]) -> None:
    acts: Counter[str] = Counter()
    for _, task in written:
        if task.kind != "standing":
            continue
        acts.update(request.act for request in task.requests)
        due = sorted(moment.interval.start_s for moment in task.moments)
        assert due
        assert all(later - earlier >= APART_S for earlier, later in pairwise(due))
        for place, request in enumerate(task.requests):
            if request.act in ("watch", "change"):
                assert request.moments
                end_s = task.ends_s(place)
                assert all(request.at_s < moment.interval.start_s < end_s for moment in request.moments)
                assert not any(moment.interval.reaches(end_s) for moment in request.moments if end_s < task.until_s)
            if request.act in ("change", "cancel"):
                assert request.quiet
                assert all(moment.interval.start_s > request.at_s + CLEAR_S - 0.1 for moment in request.quiet)
                # What is not wanted is never mistaken for what is.
                assert all(abs(moment.interval.start_s - at_s) >= APART_S for moment in request.quiet for at_s in due)
            if request.act == "ask":
                assert not any(moment.interval.reaches(request.at_s) for moment in task.moments)
    assert set(acts) == {"watch", "change", "cancel", "ask"}
    assert min(acts.values()) > len(written) / 100


def test_moments_are_of_the_story(written: list[tuple[Story, ProactiveTask]]) -> None:
    for story, task in written:
        for request in task.requests:
            if request.act not in ("watch", "change"):
                continue
            for moment in (*request.moments, *request.quiet):
                shown = [event for event in story.events if round(takes_effect_s(event), 3) == moment.interval.start_s]
                ends = {min(round(e.interval.end_s + LATEST_S, 3), task.until_s) for e in shown if e.interval}
                assert ends
                assert task.kind == "narrate" or moment.interval.end_s in ends
                assert all(judge_reply(said, moment) == 2 for said in moment.references), moment


def test_what_never_happens_does_not(written: list[tuple[Story, ProactiveTask]]) -> None:
    seen = 0
    for story, task in written:
        if task.kind != "absent":
            continue
        [request] = task.requests
        assert not request.moments
        for event in story.events:
            # Every word of a thing that is done, in an instruction about it, would be that thing itself.
            acted = set(re.findall(r"\w+", messages(event, story)[0].lower())) - {
                "the",
                "up",
                "to",
                "on",
                "with",
                "down",
            }
            assert not acted <= set(re.findall(r"\w+", request.text.lower())), (request.text, acted)
        seen += 1
    assert seen


def test_messages_tell_people_and_things_apart() -> None:
    story = peopled_story(SCENES)
    told = [messages(event, story)[0] for event in story.events]
    assert {
        "Anna picks up the red mug.",
        "Tom picks up the blue mug.",
        "The kettle boils.",
        "Tom gives the milk to Anna.",
    } <= set(told)


@pytest.mark.parametrize("split", SPLITS)
def test_the_english_has_no_slips_that_a_rule_can_find(split: str, busy: list[tuple[Story, dict[str, str]]]) -> None:
    for story in [*(story for story, _ in busy), peopled_story(SCENES)]:
        for task in all_of(story, split):
            for request in task.requests:
                for said in (
                    request.text,
                    *(text for m in (*request.moments, *request.quiet) for text in m.references),
                ):
                    assert not SLIPS.search(said), said
                    assert said[0].isupper()
                    assert said.endswith((".", "?")), said


def test_equal_arguments_give_equal_tasks_and_identifiers_differ(busy: list[tuple[Story, dict[str, str]]]) -> None:
    story = busy[0][0]
    tasks = all_of(story)
    assert tasks == tasks_of(story, V, "train", 5, until_s=end_of(story), kinds=KINDS, per_kind=6)
    assert len({task.id for task in tasks}) == len(tasks)
    assert all_of(story, seed=6) != tasks


def test_a_story_without_times_has_no_tasks() -> None:
    assert tasks_of(Story([]), V, "train", 1) == []


class Blank:
    """Gives one picture for all frames."""

    picture = jpeg(np.zeros((16, 16, 3), np.uint8))

    async def jpeg(self, reference: bytes) -> bytes:
        return self.picture


def played(watcher: Watcher, task: ProactiveTask) -> SessionLog:
    frames = [ShownFrame(float(n), b"f") for n in range(int(task.until_s) + 1)]

    async def collect() -> SessionLog:
        events = [event async for event in play_task(task, watcher, frames, Blank())]
        return SessionLog(watcher.name, task.id, task.video_id, events)

    return asyncio.run(collect())


def test_only_the_oracle_is_right_in_all_streams(written: list[tuple[Story, ProactiveTask]]) -> None:
    tasks = list({task.id: task for _, task in written if task.kind in STREAM_KINDS}.values())
    found = {}
    for watcher in (Oracle(tasks), Never(), Always(5)):
        scores = score_sessions([played(watcher, task) for task in tasks], tasks)
        found[watcher.name] = {row.metric: row.value for row in scores.summary}
    new = ("request_accuracy", "turn_accuracy", "stream_accuracy", "readiness", "effective_accuracy")
    assert {name: found["oracle"][name] for name in new} == dict.fromkeys(new, 1.0)
    assert found["oracle"]["time_and_answer_correct"] == 1
    assert (found["oracle"]["false_alarms_per_hour"], found["oracle"]["missed"]) == (0, 0)
    assert {name: found["never"][name] for name in new if name != "request_accuracy"} == dict.fromkeys(
        (name for name in new if name != "request_accuracy"), 0.0
    )
    # Silence is right where a request ends, and where no answer ever comes.
    assert 0 < (found["never"]["request_accuracy"] or 0) < 0.5
    assert (found["always:5"]["stream_accuracy"] or 0) < 0.1
    assert (found["always:5"]["effective_accuracy"] or 0) < 0.1


@pytest.fixture(scope="module")
def household(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("proactive") / "household"
    shutil.copytree(filmed_household, folder)
    return Benchmark.open(folder)


def test_tasks_are_a_table_of_the_benchmark(household: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", "questions", "--proactive", str(household.path), "--per-kind", "2", "--seed", "3"]) == 0
    assert "left out" not in capsys.readouterr().out
    opened = Benchmark.open(household.path)
    rows = list(opened.read(PROACTIVE))
    assert len({row.id for row in rows}) == len(rows)
    splits = {video.id: video.split for video in opened.read(VIDEOS)}
    allowed = {(s, name) for s in SPLITS for kind in proactive_forms() for name, _ in proactive_forms_of(kind, s)}
    assert {(splits[row.video_id], form) for row in rows for form in row.extra["forms"]} <= allowed
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
