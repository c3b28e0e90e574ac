"""Every turn becomes one request: in the words of our own player, with the references before it."""

import asyncio
from pathlib import Path

import pytest

from reeltalk.evaluate.harnesses.task import list_asked_turns
from reeltalk.evaluate.playing.chat import chat_player
from reeltalk.evaluate.playing.play import NoFrameSource, Pictures, Response, TurnInput, play_script
from reeltalk.evaluate.playing.script import make_scripts
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.store.benchmark import Benchmark


class Conversations:
    """Keeps what our own player would send."""

    name, signature, sees_frames, sees_images = "model", (), False, False

    def __init__(self) -> None:
        self.asked: list[list[Message]] = []

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        model: AsyncModel = self  # type: ignore[assignment]
        self.asked.append(chat_player(model, PlaySettings()).conversation(seen))
        return Response("whatever")


class NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise AssertionError


@pytest.mark.parametrize("mode", ["dialogue", "single"])
def test_requests_are_those_of_evaluate(benchmark: Path, mode: str) -> None:
    content = Benchmark.open(benchmark).content()
    settings = PlaySettings.model_validate({"mode": mode, "history": "golden" if mode == "dialogue" else "none"})
    played = make_scripts(content, PlaySettings(mode=settings.mode))
    ours = Conversations()

    async def run() -> None:
        for script in played:
            async for _ in play_script(script, ours, NoFrameSource(), NoPictures(), settings):
                pass

    asyncio.run(run())
    found = list_asked_turns(played, settings)
    assert [[(m["role"], m["text"]) for m in turn.messages()] for turn in found] == [
        [(message.role, message.text) for message in messages] for messages in ours.asked
    ]
    assert len(found) == 4
    assert all(bool(turn.history) == (mode == "dialogue" and turn.turn.turn_index > 0) for turn in found)


def test_a_turn_tells_what_is_right_and_when_it_is_asked(benchmark: Path) -> None:
    played = make_scripts(Benchmark.open(benchmark).content(), PlaySettings())
    found = {turn.turn.item_id: turn for turn in list_asked_turns(played, PlaySettings())}
    assert {item: turn.turn.asked_at_s for item, turn in found.items()} == {
        "chain/01": 3.0, "chain/02": 3.0, "talk/01": 2.0, "talk/02": 4.5,
    }  # fmt: skip
    assert [turn.target for turn in found.values()][-1] == "B. green"
    asked = "Which colour has it?\n\nA. red\nB. green\nC. None of these"
    assert found["talk/02"].prompt.startswith(f"{asked}\n\nAnswer with the letter")
    free = {turn.turn.item_id: turn for turn in list_asked_turns(played, PlaySettings(answer_style="free"))}
    assert free["talk/02"].prompt == asked
    assert free["chain/02"].text.endswith(
        "Question: What does she take?\nAnswer: She takes a cup.\nQuestion: Where does she put it?\nAnswer:"
    )


def test_a_history_of_answers_that_nobody_gave_cannot_be_written(benchmark: Path) -> None:
    played = make_scripts(Benchmark.open(benchmark).content(), PlaySettings())
    with pytest.raises(ValueError, match="predicted"):
        list_asked_turns(played, PlaySettings(history="predicted"))
