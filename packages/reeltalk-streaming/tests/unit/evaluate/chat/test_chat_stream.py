"""Models that keep nothing, as models that follow a stream: conversations that only grow, frames that are bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scripted_server import Body, count_images, serve

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluation.models import ModelConfig
from reeltalk.evaluation.playing.other_players import PythonPlayer
from reeltalk.llm.model import Endpoint, Message, Reply
from reeltalk.schema.record import Json
from reeltalk.video.encode import pixels_of
from reeltalk_streaming.chat.stream_models import ChatModel, PlayerModel, create_stream_model
from reeltalk_streaming.inference.stream import StreamingModel


class Echo:
    """Answers with the number of pictures that it is shown, and notes what it is asked."""

    name = "echo"
    sampling: Mapping[str, Json] = {}

    def __init__(self, *, sees_images: bool = True) -> None:
        self.sees_images, self.asked = sees_images, list[list[Message]]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        self.asked.append(list(messages))
        question = messages[-1].text
        if question == "fail":
            raise ModelError("gone")
        text = "<think>hm" if question == "think" else f"{sum(len(m.images) for m in messages)} pictures"
        return Reply(text, self.name, 7, 3, cut_off=False, took_s=0.5, first_token_s=0.1)


def picture(shade: int) -> NDArray[np.uint8]:
    return np.full((24, 32, 3), shade, np.uint8)


def test_every_conversation_begins_as_the_one_before() -> None:
    echo = Echo()
    model = ChatModel(echo, "Be brief.")
    stream = model.stream()
    for n in range(3):
        stream.see(picture(n), n)
    assert stream.ask("One?").text == "3 pictures"
    stream.add_exchange("Two?", "Yes.")
    stream.see(picture(9), 3.0)
    stream.instruct("Watch the cup.")
    said = stream.ask("Three?")
    assert (said.text, said.prompt_tokens, said.took_s, said.first_token_s) == ("4 pictures", 7, 0.5, 0.1)
    first, second = echo.asked
    assert second[: len(first)] == first
    assert [(m.role, m.text, len(m.images)) for m in second] == [
        ("system", "Be brief.", 0),
        ("user", "One?", 3),
        ("assistant", "3 pictures", 0),
        ("user", "Two?", 0),
        ("assistant", "Yes.", 0),
        ("user", "Watch the cup.\n\nThree?", 1),
    ]
    assert int(pixels_of(second[-1].images[0]).mean()) == 9
    model.close()


def test_the_newest_frames_are_kept_and_the_beginning_changes_seldom() -> None:
    echo = Echo()
    model = ChatModel(echo, most_frames=8)
    stream, shown, changes = model.stream(), [], 0
    for n in range(60):
        stream.see(picture(n), n)
        stream.ask(f"Question {n}?")
        conversation = echo.asked[-1]
        images = [int(pixels_of(image).mean()) for message in conversation for image in message.images]
        assert images == list(range(n + 1 - len(images), n + 1))
        shown.append(len(images))
        if n and conversation[: len(echo.asked[-2])] != echo.asked[-2]:
            changes += 1
    assert max(shown) == 8
    assert min(shown[8:]) == 4
    assert changes <= 60 / 4
    assert stream.memory_bytes < 60_000
    model.close()


def test_a_question_that_fails_leaves_the_conversation_as_it_was() -> None:
    echo = Echo()
    model = ChatModel(echo)
    stream = model.stream()
    stream.see(picture(1), 0.0)
    with pytest.raises(ModelError, match="gone"):
        stream.ask("fail")
    with pytest.raises(ModelError, match="thought aloud and gave no answer"):
        stream.ask("think")
    assert stream.ask("One?").text == "1 pictures"
    assert [message.role for message in echo.asked[-1]] == ["user"]
    model.close()


def test_a_model_that_sees_no_pictures_is_sent_none() -> None:
    model = ChatModel(Echo(sees_images=False))
    stream = model.stream()
    assert stream.see(picture(1), 0.0) is None
    assert (stream.memory_bytes, stream.ask("One?").text) == (0, "0 pictures")
    model.close()
    with pytest.raises(SettingError, match="memory of 1 frames"):
        ChatModel(Echo(), most_frames=1)


PLAYER = """
class Player:
    def answer(self, frames, history, question):
        if question == "fail":
            raise ValueError("no idea")
        return f"{len(frames)} frames, {len(history)} turns, {frames[-1].shape if frames else None}"
"""
STREAMING = """
class Streaming:
    name = "own"
    memory_bytes = 7
    def stream(self):
        return self
    def see(self, rgb, pts_s):
        return pts_s
    def ask(self, question):
        return question
    def instruct(self, instruction):
        raise ValueError("no room")
    def speak(self):
        pass
    def add_exchange(self, question, answer):
        pass
class Silent:
    def stream(self):
        return self
"""


def test_a_class_of_the_users_own_answers_about_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PLAYER)
    model: StreamingModel = PlayerModel(PythonPlayer(f"{tmp_path}/own.py:Player"), most_frames=3)
    stream = model.stream()
    assert stream.ask("Early?").text == "0 frames, 0 turns, None"
    for n in range(5):
        assert stream.see(picture(n), n) is None
    assert stream.ask("Now?").text == "3 frames, 1 turns, (24, 32, 3)"
    stream.add_exchange("So?", "Yes.")
    with pytest.raises(ModelError, match=r"Player has no answer: ValueError: no idea"):
        stream.ask("fail")
    stream.instruct("Watch.")
    assert stream.speak().text.startswith("3 frames, 3 turns")
    assert stream.memory_bytes > 500


def asking(base_url: str | None = None) -> ModelConfig:
    return ModelConfig(Endpoint(model="model", base_url=base_url, max_tokens=4, backoff_s=0.001, max_retries=1))


def test_models_are_opened_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PLAYER + STREAMING)
    for kept, most_frames in (
        ({"memory_frames": 5}, 5),
        ({"memory": "all"}, None),
        ({"memory": "bounded"}, 64),
        ({}, 64),
    ):
        with create_stream_model(f"python:{tmp_path}/own.py:Player", replace(asking(), **kept)) as player:
            assert isinstance(player, PlayerModel)
            assert player.most_frames == most_frames
    with create_stream_model(f"python:{tmp_path}/own.py:Streaming", asking()) as own:
        assert own.name == "own"
        stream = own.stream()
        assert (stream.see(picture(1), 0.5), stream.memory_bytes) == (0.5, 7)
        with pytest.raises(ModelError, match=r"see\(\) gave 2.0, not a readiness"):
            stream.see(picture(1), 2.0)
        with pytest.raises(ModelError, match=r"ask\(\) gave str, not StreamAnswer"):
            stream.ask("So?")
        with pytest.raises(ModelError, match=r"instruct\(\) fails: ValueError: no room"):
            stream.instruct("Watch.")
    for spec, problem in (
        (f"python:{tmp_path}/own.py:Silent", "has no method see"),
        ("mini:", "names no folder"),
    ):
        with pytest.raises(SettingError, match=problem), create_stream_model(spec, asking()):
            pass
    with (
        pytest.raises(SettingError, match=r"the class keeps its own memory"),
        create_stream_model(f"python:{tmp_path}/own.py:Streaming", replace(asking(), memory="bounded")),
    ):
        pass


def test_a_server_is_sent_frames_and_history() -> None:
    bodies: list[Body] = []

    def script(body: Body) -> str:
        bodies.append(body)
        return f"{count_images(body)} pictures"

    with serve(script) as server, create_stream_model("tiny", asking(server.base_url), prompt="Be brief.") as model:
        stream = model.stream()
        stream.see(picture(1), 0.0)
        assert stream.ask("One?").text == "1 pictures"
        stream.see(picture(2), 1.0)
        assert stream.ask("Two?").text == "2 pictures"
    first, second = (body["messages"] for body in bodies)
    assert second[: len(first)] == first
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]


def test_a_server_that_is_gone_is_a_model_error() -> None:
    with create_stream_model("tiny", asking("http://127.0.0.1:9/v1")) as model:
        stream: Any = model.stream()
        with pytest.raises(ModelError, match=r"127\.0\.0\.1:9"):
            stream.ask("One?")
