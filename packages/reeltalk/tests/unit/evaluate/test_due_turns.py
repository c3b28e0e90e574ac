"""Every turn becomes one request: in the words of our own player, with the references before it."""

import asyncio
from pathlib import Path

import pytest
from sample_videos import Numbered

from reeltalk.evaluation.due_turns import list_due_turns
from reeltalk.evaluation.playing.chat import chat_player
from reeltalk.evaluation.playing.play import NoFrameSource, Pictures, Response, TurnInput, play_script
from reeltalk.evaluation.playing.script import make_scripts
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Folder of the benchmark `kitchen`."""
    path, _ = Numbered("h264.mp4").make()
    folder = tmp_path / "kitchen"
    made = Benchmark.create(folder)
    sha256 = made.media.add(path)
    videos = [Video(id=VideoId(name), file=f"{name}.mp4", sha256=sha256, duration_s=10.0) for name in ("one", "two")]
    chain = QAChain(
        id=ChainId("chain"),
        video_id=VideoId("one"),
        clip_id=ClipId("first"),
        turns=(
            Turn(question="What does she take?", references=("She takes a cup.",)),
            Turn(question="Where does she put it?", references=("She puts the cup on the shelf.",)),
        ),
    )
    talk = Dialogue(
        id=DialogueId("talk"),
        video_id=VideoId("two"),
        turns=(
            Turn(question="Is the door open?", references=("Yes, the door is open.",), asked_at_s=2.0),
            Turn(
                question="Which colour has it?",
                references=("green",),
                options=("red", "green", "None of these"),
                correct_option=1,
                asked_at_s=4.5,
            ),
        ),
    )
    clip = Clip(id=ClipId("first"), video_id=VideoId("one"), interval=Interval(start_s=0.0, end_s=3.0))
    content = Content(videos=videos, clips=[clip], chains=[chain], dialogues=[talk])
    made.write_content(content, stage="test", parents={})
    return folder


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
    found = list_due_turns(played, settings)
    said = [[text for pair in turn.history for text in pair] + [turn.prompt] for turn in found]
    assert said == [[message.text for message in messages if message.role != "system"] for messages in ours.asked]
    assert len(found) == 4
    assert all(bool(turn.history) == (mode == "dialogue" and turn.turn.turn_index > 0) for turn in found)


def test_a_turn_tells_what_is_right_and_when_it_is_asked(benchmark: Path) -> None:
    played = make_scripts(Benchmark.open(benchmark).content(), PlaySettings())
    found = {turn.turn.item_id: turn for turn in list_due_turns(played, PlaySettings())}
    assert {item: turn.turn.asked_at_s for item, turn in found.items()} == {
        "chain/01": 3.0, "chain/02": 3.0, "talk/01": 2.0, "talk/02": 4.5,
    }  # fmt: skip
    asked = "Which colour has it?\n\nA. red\nB. green\nC. None of these"
    assert found["talk/02"].prompt.startswith(f"{asked}\n\nAnswer with the letter")
    free = {turn.turn.item_id: turn for turn in list_due_turns(played, PlaySettings(answer_style="free"))}
    assert free["talk/02"].prompt == asked
    assert free["chain/02"].history == (("What does she take?", "She takes a cup."),)


def test_a_history_of_answers_that_nobody_gave_cannot_be_written(benchmark: Path) -> None:
    played = make_scripts(Benchmark.open(benchmark).content(), PlaySettings())
    with pytest.raises(ValueError, match="predicted"):
        list_due_turns(played, PlaySettings(history="predicted"))
