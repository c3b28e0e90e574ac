"""A player's answers are kept by all that it was shown."""

import asyncio
from pathlib import Path
from typing import Any

from reeltalk.evaluation.playing.other_players import CachedPlayer
from reeltalk.evaluation.playing.play import HistoryTurn, Response, ShownFrame, TurnInput
from reeltalk.evaluation.playing.script import Step
from reeltalk.llm import ReplyStore
from reeltalk.schema.dialogue import Turn


class Slow:
    name, sees_frames, signature = "slow", True, (("weights", "1f2e"),)

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)

    async def answer(self, seen: TurnInput, pictures: Any) -> Response:
        text = self.answers.pop(0)
        return Response(text, None if text is not None else "out of memory")


def seen(
    question: str = "Where?", *, frames: tuple[int, ...] = (0, 1), said: tuple[HistoryTurn, ...] = ()
) -> TurnInput:
    shown = tuple(ShownFrame(float(n), f"v@{n}".encode()) for n in frames)
    step = Step("dialogue", "d", 0, Turn(question=question), None)
    return TurnInput(question, said, shown, shown, None, (), step, "v")


def ask(player: CachedPlayer, what: TurnInput) -> Response:
    return asyncio.run(player.answer(what, None))  # type: ignore[arg-type]


def test_what_was_answered_is_not_asked_again_after_the_process_died(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        assert ask(CachedPlayer(Slow("Here."), store), seen()).text == "Here."
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        again = ask(CachedPlayer(Slow(), store), seen())
        assert (again.text, again.cached) == ("Here.", True)


def test_other_frames_another_history_and_another_question_are_asked(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        player = CachedPlayer(Slow("a", "b", "c", "d"), store)
        shown = [seen(), seen(frames=(0, 2)), seen(said=(HistoryTurn("Who?", "He."),)), seen("When?")]
        assert [ask(player, what).text for what in shown] == ["a", "b", "c", "d"]
        assert [ask(player, what).text for what in shown] == ["a", "b", "c", "d"]


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        player = CachedPlayer(Slow(None, "Here."), store)
        assert ask(player, seen()).text is None
        assert ask(player, seen()).text == "Here."
