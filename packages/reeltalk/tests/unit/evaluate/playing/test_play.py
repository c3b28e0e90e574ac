"""A script is played turn by turn: what each turn is told of those before it, and what becomes of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from reeltalk.errors import BenchmarkError, BudgetError
from reeltalk.evaluation.playing.play import (
    FrameSource,
    NoFrameSource,
    Pictures,
    Response,
    ShownFrame,
    TurnInput,
    WrongAnswers,
    check_histories,
    play_script,
)
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.metrics.agree import agrees
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.speech import Utterance


@dataclass
class Scripted:
    """Answers from a list, and keeps what it was shown. None stands for a failure."""

    texts: Sequence[str | None]
    name: str = "scripted"
    signature: tuple[tuple[str, str], ...] = ()
    sees_frames: bool = True
    seen: list[TurnInput] = field(default_factory=list)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        self.seen.append(seen)
        text = self.texts[len(self.seen) - 1]
        return Response(text, None if text is not None else "the server is gone", took_s=0.5, prompt_tokens=7)


class NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise AssertionError


def frames(*numbers: int) -> tuple[ShownFrame, ...]:
    return tuple(ShownFrame(float(number), b"%d" % number) for number in numbers)


@dataclass
class Shown:
    """Frames of each turn."""

    turns: Sequence[tuple[ShownFrame, ...]]
    append_only: bool = True

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        before = self.turns[index - 1] if self.append_only and index else ()
        return self.turns[index], self.turns[index][len(before) :]


def script(*turns: Turn, answered: Sequence[bool] = (), video_id: str = "v") -> Script:
    asked = answered or [True] * len(turns)
    return Script(
        "s",
        video_id,
        tuple(
            Step("dialogue", "d", n, turn, asked_at_s=float(n), answered=asked[n], task="task")
            for n, turn in enumerate(turns)
        ),
    )


def three() -> Script:
    return script(*(Turn(question=f"Q{n}?", references=(f"reference {n}", "another")) for n in range(3)))


def played(
    of: Script,
    player: Scripted,
    settings: PlaySettings | None = None,
    *,
    screening: FrameSource | None = None,
    **more: Any,
) -> list[AnsweredTurn]:
    async def all_turns() -> list[AnsweredTurn]:
        return [
            turn
            async for turn in play_script(
                of, player, screening or NoFrameSource(), NoPictures(), settings or PlaySettings(), **more
            )
        ]

    return asyncio.run(all_turns())


def told(player: Scripted) -> list[list[tuple[str, str]]]:
    """Questions and answers that each turn was told of."""
    return [[(past.question, past.answer) for past in seen.history] for seen in player.seen]


class TestHistories:
    def test_golden_tells_the_first_reference_whatever_was_answered(self) -> None:
        player = Scripted(["a", None, "c"])
        played(three(), player, PlaySettings(history="golden"))
        before = [("Q0?", "reference 0"), ("Q1?", "reference 1")]
        assert told(player) == [[], before[:1], before]

    def test_predicted_tells_the_model_s_own_answers(self) -> None:
        player = Scripted(["a", "b", "c"])
        played(three(), player, PlaySettings(history="predicted"))
        assert told(player) == [[], [("Q0?", "a")], [("Q0?", "a"), ("Q1?", "b")]]

    @pytest.mark.parametrize("history", ["none", "golden"])
    def test_none_and_single_tell_nothing(self, history: Any) -> None:
        player = Scripted(["a", "b", "c"])
        mode: Any = "single" if history == "golden" else "dialogue"
        played(three(), player, PlaySettings(mode=mode, history=history))
        assert told(player) == [[], [], []]

    @pytest.mark.parametrize("failure", [None, ""])
    def test_a_failed_turn_is_told_to_no_later_turn(self, failure: str | None) -> None:
        player = Scripted(["a", failure, "c"])
        turns = played(three(), player, PlaySettings(history="predicted"))
        assert told(player)[2] == [("Q0?", "a")]
        if failure is None:
            assert (turns[1].state, turns[1].reason, turns[1].text) == (AnswerState.FAILED, "the server is gone", "")

    def test_a_turn_that_is_not_asked_stands_with_its_reference(self) -> None:
        of = script(*(step.turn for step in three().steps), answered=[False, True, True])
        player = Scripted(["b", "c"])
        turns = played(of, player, PlaySettings(history="predicted"))
        assert [turn.state for turn in turns] == [
            AnswerState.NOT_ASKED, AnswerState.ANSWERED, AnswerState.ANSWERED,
        ]  # fmt: skip
        assert turns[0].reason is None
        assert told(player) == [[("Q0?", "reference 0")], [("Q0?", "reference 0"), ("Q1?", "b")]]

    def test_a_turn_that_is_not_asked_and_has_no_reference_is_left_out(self) -> None:
        of = script(Turn(question="Q0?"), Turn(question="Q1?"), answered=[False, True])
        player = Scripted(["b"])
        played(of, player, PlaySettings(history="predicted"))
        assert told(player) == [[]]

    def test_a_history_of_all_its_own_answers_has_turns_asked_that_are_not_scored(self) -> None:
        of = script(*(step.turn for step in three().steps), answered=[False, True, True])
        player = Scripted(["a", "b", "c"])
        turns = played(of, player, PlaySettings(history="predicted-all"))
        assert told(player) == [[], [("Q0?", "a")], [("Q0?", "a"), ("Q1?", "b")]]
        assert [(turn.state, turn.text) for turn in turns] == [
            (AnswerState.NOT_SCORED, "a"), (AnswerState.ANSWERED, "b"), (AnswerState.ANSWERED, "c"),
        ]  # fmt: skip
        assert turns[0].played is not None
        assert turns[0].played.prompt_tokens == 7

    def test_it_asks_for_nothing_that_no_scored_turn_is_told(self) -> None:
        of = script(*(step.turn for step in three().steps), answered=[False, True, False])
        player = Scripted(["a", "b"])
        turns = played(of, player, PlaySettings(history="predicted-all"))
        assert [turn.state for turn in turns] == [
            AnswerState.NOT_SCORED, AnswerState.ANSWERED, AnswerState.NOT_ASKED,
        ]  # fmt: skip

    def test_its_unscored_turn_that_failed_is_told_to_nobody_and_says_why(self) -> None:
        of = script(*(step.turn for step in three().steps), answered=[False, True, True])
        player = Scripted([None, "b", "c"])
        turns = played(of, player, PlaySettings(history="predicted-all"))
        assert told(player) == [[], [], [("Q1?", "b")]], "no reference comes in place of it"
        assert (turns[0].state, turns[0].reason) == (AnswerState.NOT_SCORED, "the server is gone")
        assert [turn.has_failed for turn in turns] == [True, False, False]

    def test_where_all_turns_are_scored_it_is_the_predicted_history(self) -> None:
        own, all_own = Scripted(["a", "b", "c"]), Scripted(["a", "b", "c"])
        assert played(three(), own, PlaySettings(history="predicted")) == played(
            three(), all_own, PlaySettings(history="predicted-all")
        )
        assert told(own) == told(all_own)

    def test_golden_without_a_reference_is_refused_before_anything_is_asked(self) -> None:
        of = script(Turn(question="Q0?"), Turn(question="Q1?"))
        with pytest.raises(BenchmarkError, match=r"turn 1 of 'd' has no reference.*--history predicted"):
            check_histories([of], PlaySettings(history="golden"), None)
        with pytest.raises(BenchmarkError, match="turn 1 of 'd' has no reference"):
            played(of, Scripted(["a", "b"]))
        for history in ("predicted", "predicted-all", "none"):
            check_histories([of], PlaySettings(history=history), None)

    def test_the_last_turn_needs_no_reference(self) -> None:
        of = script(Turn(question="Q0?", references=("r",)), Turn(question="Q1?"))
        check_histories([of], PlaySettings(history="golden"), None)
        assert len(played(of, Scripted(["a", "b"]))) == 2

    def test_a_spent_budget_ends_it_after_the_turns_before(self) -> None:
        class Spent(Scripted):
            async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
                if self.seen:
                    raise BudgetError("spent")
                return await super().answer(seen, pictures)

        async def until_spent() -> list[AnsweredTurn]:
            turns = play_script(three(), Spent(["a"]), NoFrameSource(), NoPictures(), PlaySettings())
            found = [await anext(turns)]
            with pytest.raises(BudgetError):
                await anext(turns)
            return found

        assert [turn.text for turn in asyncio.run(until_spent())] == ["a"]


class TestCorrupted:
    OTHERS = (
        ("w", Turn(question="Where does he sit?", references=("On the bed.",))),
        ("w", Turn(question="Where does she stand?", references=("On the chair.",))),
        ("x", Turn(question="How many mugs are there?", references=("Four.",))),
    )

    def settings(self, turn: int = 1) -> PlaySettings:
        return PlaySettings(history="corrupted", corrupt_turn=turn)

    def test_the_planted_answer_stands_in_the_history_and_is_marked(self) -> None:
        of = script(
            Turn(question="Where does he sit?", references=("On the chair.",)),
            Turn(question="Is it red?", references=("Yes.",)),
            Turn(question="Why?", references=("He is tired.",)),
        )
        player = Scripted(["On the chair.", "Yes.", "Because."])
        turns = played(of, player, self.settings(1), wrong=WrongAnswers(self.OTHERS, seed=17))
        assert told(player)[1:] == [
            [("Where does he sit?", "On the bed.")],
            [("Where does he sit?", "On the bed."), ("Is it red?", "Yes.")],
        ]
        assert [turn.played.corrupted for turn in turns if turn.played] == [True, False, False]
        # What the model itself answered stays as it was.
        assert turns[0].text == "On the chair."

    def test_all_other_turns_are_the_model_s_own(self) -> None:
        player = Scripted(["a", "b", "c"])
        played(three(), player, self.settings(2), wrong=WrongAnswers(self.OTHERS, seed=17))
        assert told(player)[2][0] == ("Q0?", "a")
        assert told(player)[2][1][1] in {"On the bed.", "On the chair.", "Four."}

    def test_nothing_is_planted_after_the_last_turn(self) -> None:
        turns = played(three(), Scripted(["a", "b", "c"]), self.settings(3), wrong=WrongAnswers((), seed=17))
        assert [turn.played.corrupted for turn in turns if turn.played] == [False] * 3

    def test_a_yes_becomes_a_no(self) -> None:
        wrong = WrongAnswers(self.OTHERS, seed=17)
        for reference, planted in (("Yes, on the bed.", "No."), ("No.", "Yes.")):
            of = script(Turn(question="Does he sit?", references=(reference,)))
            assert wrong.wrong(of, of.steps[0]) == planted

    def test_references_that_contradict_each_other_leave_nothing_wrong(self) -> None:
        of = script(Turn(question="Does he sit?", references=("Yes.", "No.")))
        assert WrongAnswers(self.OTHERS, seed=17).wrong(of, of.steps[0]) is None

    def test_where_the_reference_is_withheld_nothing_is_known_to_be_wrong(self) -> None:
        of = script(Turn(question="Where does he sit?"), Turn(question="Why?"))
        assert WrongAnswers(self.OTHERS, seed=17).wrong(of, of.steps[0]) is None
        with pytest.raises(BenchmarkError, match="there is no wrong answer for turn 1"):
            check_histories([of], self.settings(), WrongAnswers(self.OTHERS, seed=17))

    def test_an_option_is_never_the_right_one_though_it_stands_there_twice(self) -> None:
        turn = Turn(question="Which?", references=("Red",), options=("Red", "blue", "red "), correct_option=0)
        of = script(turn)
        assert {WrongAnswers((), seed=seed).wrong(of, of.steps[0]) for seed in range(30)} == {"blue"}
        only = script(turn.model_copy(update={"options": ("Red", "red")}))
        assert WrongAnswers((), seed=1).wrong(only, only.steps[0]) is None

    def test_an_answer_about_the_same_video_is_never_planted(self) -> None:
        own = [("v", turn) for _, turn in self.OTHERS]
        of = script(Turn(question="Where does he sit?", references=("On the floor.",)))
        assert WrongAnswers(own, seed=17).wrong(of, of.steps[0]) is None

    def test_what_is_planted_never_agrees_with_a_reference(self) -> None:
        words = ("red", "blue", "green", "on the table", "under the table", "two", "three", "He sits down.", "Yes.")
        everything = [
            (f"v{n}", Turn(question=question, references=(word,)))
            for n, word in enumerate(words)
            for question in ("What colour is it?", "Where is it?", "How many are there?", "What does he do?")
        ]
        planted = 0
        for seed in range(3):
            wrong = WrongAnswers(everything, seed=seed)
            for video_id, turn in everything:
                of = script(turn, video_id=video_id)
                answer = wrong.wrong(of, of.steps[0])
                if answer is not None:
                    planted += 1
                    assert answer not in turn.references
                    assert not agrees(answer, turn.references, turn.question)
        assert planted > 50

    def test_the_seed_decides_and_nothing_else(self) -> None:
        of = three()

        def all_planted(seed: int) -> list[str | None]:
            return [WrongAnswers(self.OTHERS, seed=seed).wrong(of, step) for step in of.steps]

        assert all_planted(1) == all_planted(1)
        assert len({tuple(all_planted(seed)) for seed in range(20)}) > 1


class TestOptions:
    TURN = Turn(question="Which?", options=("red", "blue", "green", "white"), correct_option=2, references=("green",))

    def shown(self, **settings: Any) -> tuple[Scripted, list[AnsweredTurn]]:
        player = Scripted(["a", "b", "c"])
        return player, played(script(*[self.TURN] * 3), player, PlaySettings(**settings))

    def test_the_source_s_order_by_default(self) -> None:
        player, turns = self.shown()
        assert player.seen[0].options == self.TURN.options
        assert [turn.played.option_order for turn in turns if turn.played] == [(0, 1, 2, 3)] * 3

    def test_a_drawn_order_is_written_down_and_the_same_every_time(self) -> None:
        player, turns = self.shown(option_order="shuffled")
        again, _ = self.shown(option_order="shuffled")
        other, _ = self.shown(option_order="shuffled", seed=18)
        assert [seen.options for seen in player.seen] == [seen.options for seen in again.seen]
        assert [seen.options for seen in player.seen] != [seen.options for seen in other.seen]
        for seen, turn in zip(player.seen, turns, strict=True):
            assert turn.played is not None
            assert turn.played.option_order is not None
            assert sorted(turn.played.option_order) == [0, 1, 2, 3]
            assert self.TURN.options is not None
            assert seen.options == tuple(self.TURN.options[n] for n in turn.played.option_order)
            # The row keeps the source's order, by which the right one is known.
            assert (turn.options, turn.correct_option) == (self.TURN.options, 2)
        assert len({seen.options for seen in player.seen}) > 1

    def test_the_order_is_part_of_the_signature(self) -> None:
        assert ("options", "source") in PlaySettings().signature
        assert ("options", "shuffled-17") in PlaySettings(option_order="shuffled").signature

    def test_a_turn_without_options_has_no_order(self) -> None:
        turns = played(three(), Scripted(["a", "b", "c"]))
        assert turns[0].played is not None
        assert turns[0].played.option_order is None


class TestFrames:
    def test_frames_that_are_added_stay_with_the_turn_they_came_with(self) -> None:
        shown = Shown([frames(0), frames(0, 1, 2), frames(0, 1, 2, 3)])
        player = Scripted(["a", "b", "c"])
        turns = played(three(), player, PlaySettings(history="predicted"), screening=shown)
        last = player.seen[2]
        assert [past.new_frames for past in last.history] == [frames(0), frames(1, 2)]
        assert last.new_frames == frames(3)
        assert [turn.played.new_frames for turn in turns if turn.played] == [1, 2, 1]
        assert [turn.played.frames_s for turn in turns if turn.played] == [(0,), (0, 1, 2), (0, 1, 2, 3)]

    def test_frames_of_a_turn_that_failed_come_with_the_next(self) -> None:
        shown = Shown([frames(0), frames(0, 1), frames(0, 1, 2)])
        player = Scripted(["a", None, "c"])
        played(three(), player, PlaySettings(history="predicted"), screening=shown)
        assert [past.new_frames for past in player.seen[2].history] == [frames(0)]
        assert player.seen[2].new_frames == frames(1, 2)

    def test_without_a_history_all_frames_come_anew(self) -> None:
        shown = Shown([frames(0), frames(0, 1), frames(0, 1, 2)])
        player = Scripted(["a", "b", "c"])
        played(three(), player, PlaySettings(history="none"), screening=shown)
        assert [seen.new_frames for seen in player.seen] == [frames(0), frames(0, 1), frames(0, 1, 2)]

    def test_frames_that_are_chosen_anew_belong_to_no_turn(self) -> None:
        shown = Shown([frames(0), frames(1, 2), frames(3)], append_only=False)
        player = Scripted(["a", "b", "c"])
        turns = played(three(), player, PlaySettings(history="predicted"), screening=shown)
        assert all(not past.new_frames for seen in player.seen for past in seen.history)
        assert [seen.frames for seen in player.seen] == [frames(0), frames(1, 2), frames(3)]
        assert all(not seen.new_frames for seen in player.seen)
        assert [turn.played.new_frames for turn in turns if turn.played] == [1, 2, 1]


def test_a_row_holds_all_that_is_known_of_a_turn() -> None:
    turn = Turn(question="Q?", references=("r",), labels={"question_type": ("D-LOC",)}, position=7)
    [row] = played(script(turn), Scripted(["a"]))
    assert (row.model, row.item_id, row.video_id, row.unit_id, row.turn_index) == ("scripted", "d/08", "v", "d", 7)
    assert (row.question, row.references, row.text, row.state) == ("Q?", ("r",), "a", AnswerState.ANSWERED)
    assert (row.labels, row.task, row.asked_at_s, row.unit) == (turn.labels, "task", 0.0, "dialogue")
    assert row.played is not None
    assert (row.played.took_s, row.played.prompt_tokens, row.played.cached) == (0.5, 7, False)


def test_subtitles_are_shown_where_the_settings_say_so() -> None:
    def spoken(of: Script, step: Step) -> list[Utterance]:
        return [Utterance(video_id="v", interval=Interval(start_s=0, end_s=1), text=f"line {step.turn_index}")]

    for subtitles in (True, False):
        player = Scripted(["a", "b", "c"])
        played(three(), player, PlaySettings(subtitles=subtitles), subtitles=spoken)
        assert [seen.subtitles for seen in player.seen] == (
            [("line 0",), ("line 1",), ("line 2",)] if subtitles else [()] * 3
        )
