"""What of a benchmark is played: dialogues and chains, streams along paths, questions alone."""

from collections.abc import Sequence
from typing import Any

import pytest

from reeltalk.errors import BenchmarkError, ReeltalkError, SettingError
from reeltalk.evaluation.playing.script import Script, make_scripts
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.content import Content


def ref(unit: str, turn: int) -> TurnRef:
    return TurnRef(unit_id=unit, turn_index=turn)


def turns(name: str, count: int = 3, **more: Any) -> tuple[Turn, ...]:
    return tuple(Turn(question=f"{name} {n}?", references=("r",), **more) for n in range(count))


def content() -> Content:
    """Two videos: one with three chains, a path and a dialogue, one with a chain."""
    return Content(
        videos=[Video(id="a", split="test"), Video(id="b", split="train")],
        clips=[
            Clip(id=f"a{n}", video_id="a", interval=Interval(start_s=10.0 * n, end_s=10.0 * n + 10.5)) for n in range(3)
        ],
        # Not in the order of time.
        chains=[
            QAChain(id="late", video_id="a", clip_id="a2", turns=turns("late")),
            QAChain(id="early", video_id="a", clip_id="a0", turns=turns("early")),
            QAChain(id="middle", video_id="a", clip_id="a1", turns=turns("middle")),
            QAChain(id="other", video_id="b", turns=turns("other")),
        ],
        linkages=[
            Linkage(source=ref("early", 0), target=ref("middle", 1), relation="Object"),
            Linkage(source=ref("middle", 1), target=ref("late", 2), relation="Event"),
        ],
        paths=[
            DialoguePath(
                id="p",
                video_id="a",
                steps=(
                    PathStep(ref=ref("early", 0)),
                    PathStep(ref=ref("middle", 1), turn=Turn(question="reworded?", asked_at_s=15.0)),
                    PathStep(ref=ref("late", 2)),
                ),
            )
        ],
        dialogues=[
            Dialogue(id="d", video_id="a", clip_ids=("a0", "a2"), turns=turns("d"), task="object_reference"),
            Dialogue(id="e", video_id="b", turns=turns("e"), task="summary"),
        ],
    )


def played(settings: PlaySettings, of: Content | None = None, **more: int) -> list[Script]:
    return list(make_scripts(of or content(), settings, **more))


def questions(script: Script) -> list[str]:
    return [step.turn.question for step in script.steps]


class TestDialogue:
    def test_chains_of_a_video_are_one_script_in_the_order_of_time(self) -> None:
        chains, dialogue = played(PlaySettings())
        assert questions(chains) == [f"{name} {n}?" for name in ("early", "middle", "late") for n in range(3)]
        assert [(step.unit, step.unit_id, step.turn_index) for step in chains.steps[3:5]] == [
            ("chain", "middle", 0), ("chain", "middle", 1),
        ]  # fmt: skip
        assert (dialogue.id, dialogue.video_id) == ("d", "a")

    def test_a_chain_is_asked_when_its_clip_has_ended(self) -> None:
        chains = played(PlaySettings())[0]
        assert [step.asked_at_s for step in chains.steps] == [10.5] * 3 + [20.5] * 3 + [30.5] * 3
        assert {step.clips for step in chains.steps[:3]} == {(Interval(start_s=0, end_s=10.5),)}

    def test_a_chain_s_own_moment_counts_where_it_is_later(self) -> None:
        of = content()
        of.chains = [QAChain(id="q", video_id="a", clip_id="a0", turns=turns("q", 1, asked_at_s=12.0))]
        assert played(PlaySettings(), of)[0].steps[0].asked_at_s == 12.0

    def test_a_dialogue_is_asked_after_the_whole_video(self) -> None:
        dialogue = played(PlaySettings(units=("dialogue",)))[0]
        assert [step.asked_at_s for step in dialogue.steps] == [None] * 3
        assert dialogue.steps[0].clips == (Interval(start_s=0, end_s=10.5), Interval(start_s=20, end_s=30.5))
        assert {step.task for step in dialogue.steps} == {"object_reference"}

    def test_chains_without_clips_come_last_and_see_the_whole_video(self) -> None:
        of = content()
        of.chains.insert(0, QAChain(id="free", video_id="a", turns=turns("free", 1)))
        chains = played(PlaySettings(), of)[0]
        assert chains.steps[-1].unit_id == "free"
        assert chains.steps[-1].asked_at_s is None


class TestStreaming:
    def test_a_path_is_followed_turn_by_turn(self) -> None:
        [path] = played(PlaySettings(mode="streaming"))
        assert questions(path) == ["early 0?", "reworded?", "late 2?"]
        assert [step.asked_at_s for step in path.steps] == [10.5, 15.0, 30.5]
        assert [(step.unit, step.unit_id, step.turn_index) for step in path.steps] == [
            ("path", "p", n) for n in (0, 1, 2)
        ]
        assert [step.source_id for step in path.steps] == ["early", "middle", "late"]

    @pytest.mark.parametrize("place", [("gone", 0), ("early", 3)])
    def test_a_path_that_leads_nowhere_is_an_error(self, place: tuple[str, int]) -> None:
        of = content()
        of.paths[0] = of.paths[0].model_copy(update={"steps": (PathStep(ref=ref(*place)),)})
        with pytest.raises(BenchmarkError, match=rf"path 'p' leads to turn {place[1]} of chain '{place[0]}'"):
            played(PlaySettings(mode="streaming"), of)

    def test_a_path_may_visit_dialogues(self) -> None:
        of = content()
        step = PathStep(ref=TurnRef(unit="dialogue", unit_id="d", turn_index=1))
        of.paths[0] = of.paths[0].model_copy(update={"steps": (step,)})
        [path] = played(PlaySettings(mode="streaming"), of)
        assert questions(path) == ["d 1?"]
        assert path.steps[0].asked_at_s == 30.5

    def test_paths_are_drawn_anew_by_a_seed(self) -> None:
        def drawn(seed: int) -> Sequence[Script]:
            return played(PlaySettings(mode="streaming", rejump=seed, split="all"), paths_per_video=3)

        assert drawn(1) == drawn(1)
        assert [questions(path) for path in drawn(1)] != [questions(path) for path in drawn(4)]
        assert not {path.id for path in drawn(1)} & {path.id for path in drawn(4)}
        assert "p" not in {path.id for path in drawn(1)}
        for path in drawn(1):
            moments = [step.asked_at_s for step in path.steps if step.asked_at_s is not None]
            assert moments == sorted(moments)
        of_a = [questions(path) for path in drawn(1) if path.video_id == "a"]
        assert len({tuple(path) for path in of_a}) == len(of_a) > 1
        assert ["early 0?", "middle 1?", "late 2?"] in [questions(path) for seed in range(5) for path in drawn(seed)]


class TestSingle:
    def test_single_plays_what_dialogue_does(self) -> None:
        # That nothing is told of the turns before is the player's part.
        assert played(PlaySettings(mode="single")) == played(PlaySettings(mode="dialogue"))


class TestSplits:
    def test_the_test_split_is_played_where_there_is_one(self) -> None:
        assert {script.video_id for script in played(PlaySettings())} == {"a"}

    def test_a_split_by_name_and_all(self) -> None:
        assert {script.video_id for script in played(PlaySettings(split="train"))} == {"b"}
        assert {script.video_id for script in played(PlaySettings(split="all"))} == {"a", "b"}

    def test_all_videos_are_played_where_none_is_for_testing(self) -> None:
        of = content()
        of.videos = [Video(id="a", split="train"), Video(id="b")]
        assert {script.video_id for script in played(PlaySettings(), of)} == {"a", "b"}

    def test_dialogues_of_unlisted_videos_are_played(self) -> None:
        of = content()
        of.videos = []
        assert {script.video_id for script in played(PlaySettings(), of)} == {"a", "b"}

    def test_an_unknown_split_names_those_there_are(self) -> None:
        with pytest.raises(SettingError, match=r"no video is in split 'dev'.*test, train"):
            played(PlaySettings(split="dev"))


class TestTasks:
    def test_only_dialogues_of_the_tasks_are_played(self) -> None:
        [script] = played(PlaySettings(tasks=("object_reference",)))
        assert script.id == "d"

    def test_chains_are_played_beside_them_where_both_are_named(self) -> None:
        names = {script.id for script in played(PlaySettings(units=("chain", "dialogue"), tasks=("object_reference",)))}
        chains = {script.id for script in played(PlaySettings(units=("chain",)))}
        assert chains
        assert names == {*chains, "d"}

    def test_an_unknown_task_names_those_there_are(self) -> None:
        with pytest.raises(SettingError, match=r"'singing'.*object_reference, summary"):
            played(PlaySettings(tasks=("singing",)))

    def test_a_task_of_another_split_leaves_nothing(self) -> None:
        with pytest.raises(BenchmarkError, match="there is nothing to play: no chain or dialogue of summary"):
            played(PlaySettings(tasks=("summary",)))


class TestRounds:
    """MT-Video-Bench's script answers only the rounds of an ability where a file mixes them."""

    def dialogue(self, task: str, *labels: str | None) -> Content:
        rounds = tuple(
            Turn(question=f"{n}?", references=("r",), labels={"mt_video_bench.task": (label,)} if label else {})
            for n, label in enumerate(labels)
        )
        return Content(videos=[Video(id="v")], dialogues=[Dialogue(id="d", video_id="v", task=task, turns=rounds)])

    @pytest.mark.parametrize("task", ["object_reference", "memory_recall", "summary", "answer_refusal"])
    def test_only_rounds_of_an_ability_are_answered(self, task: str) -> None:
        of = self.dialogue(task, None, task, None, task)
        [script] = played(PlaySettings(rounds="mt-video-bench"), of)
        assert [step.answered for step in script.steps] == [False, True, False, True]

    @pytest.mark.parametrize("task", ["topic_shifting", "proactive_interaction"])
    def test_all_rounds_of_the_other_two_are_answered(self, task: str) -> None:
        [script] = played(PlaySettings(rounds="mt-video-bench"), self.dialogue(task, None, task, None))
        assert all(step.answered for step in script.steps)

    def test_all_rounds_are_answered_by_default(self) -> None:
        [script] = played(PlaySettings(), self.dialogue("object_reference", None, "object_reference"))
        assert all(step.answered for step in script.steps)


class TestErrors:
    @pytest.mark.parametrize(
        ("choice", "problem"),
        [
            (PlaySettings(mode="streaming", split="train"), "there is nothing to play: no path"),
            (PlaySettings(units=("chain",), tasks=("object_reference",)), "there is nothing to play"),
        ],
    )
    def test_what_cannot_be_chosen(self, choice: PlaySettings, problem: str) -> None:
        with pytest.raises(ReeltalkError, match=problem):
            played(choice)

    def test_an_empty_benchmark(self) -> None:
        with pytest.raises(BenchmarkError, match="there is nothing to play"):
            played(PlaySettings(), Content())


def test_a_limit_takes_the_first_scripts() -> None:
    every = played(PlaySettings(split="all"))
    assert played(PlaySettings(split="all"), limit=2) == every[:2]
    assert played(PlaySettings(split="all"), limit=99) == every


def test_kinds_of_units_can_be_chosen() -> None:
    assert [script.id for script in played(PlaySettings(units=("path", "dialogue")))] == ["p", "d"]
