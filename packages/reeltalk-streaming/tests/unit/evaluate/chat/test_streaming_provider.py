"""Conversations answered by the stream that has most of them behind itself, and the provider that inspect_ai finds."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import InputError, ModelError, SettingError
from reeltalk.llm.model import Message
from reeltalk.llm.wire import data_url
from reeltalk.video.encode import jpeg
from reeltalk_streaming.chat.stream_cache import StreamCache
from reeltalk_streaming.inference.stream import StreamAnswer

# inspect_ai 0.3.285 calls tenacity 9.2 the old way.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


def picture(shade: int) -> bytes:
    return jpeg(np.full((24, 32, 3), shade, np.uint8))


def shown(text: str, *shades: int) -> Message:
    return Message("user", text, tuple(map(picture, shades)))


def said(text: str) -> Message:
    return Message("assistant", text)


class Plain:
    """A stream that answers with all that it knows, so that what it knows can be compared; it cannot go back."""

    work = 0

    def __init__(self, system: str) -> None:
        self.knows: list[str] = [f"system {system}"] if system else []

    @property
    def memory_bytes(self) -> int:
        return 100 * len(self.knows)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        type(self).work += 1
        self.knows.append(f"frame {int(rgb.mean())} at {pts_s:g}")
        return None

    def ask(self, question: str) -> StreamAnswer:
        self.knows.append(f"asked {question}")
        if question == "fail":
            raise ModelError("gone")
        answer = f"<{'; '.join(self.knows)}>"
        self.knows.append(f"said {len(answer)}")
        return StreamAnswer(answer, 5, 3, 0.1, None)

    def add_exchange(self, question: str, answer: str) -> None:
        # As if it had said it itself.
        self.knows += [f"asked {question}", f"said {len(answer)}"]

    def instruct(self, instruction: str) -> None:
        raise AssertionError("nobody instructs it")

    def speak(self) -> StreamAnswer:
        raise AssertionError("nobody lets it speak")


class Able(Plain):
    """One that can go back."""

    def mark(self) -> int:
        return len(self.knows)

    def rewind(self, mark: int) -> bool:
        del self.knows[mark:]
        return True


@pytest.fixture(params=[Plain, Able])
def kind(request: pytest.FixtureRequest) -> type[Plain]:
    request.param.work = 0
    found: type[Plain] = request.param
    return found


class Fresh(Plain):
    """Its frames are counted apart."""


def fresh(conversation: list[Message]) -> str:
    """What a stream answers that has just begun."""
    return StreamCache(Fresh, fps=2.0, most_bytes=10**9).answer(conversation).spoken.text


def test_a_conversation_that_goes_on_costs_its_new_frames(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    conversation = [Message("system", "Be brief."), shown("One?", 1, 2, 3)]
    for turn in range(4):
        answered = streams.answer(conversation)
        assert answered.spoken.text == fresh(conversation)
        assert answered.new_frames == (3 if turn == 0 else 1)
        conversation += [said(answered.spoken.text), shown(f"And {turn}?", 10 + turn)]
    assert kind.work == 3 + 3
    assert "frame 12 at 2.5" in answered.spoken.text


def test_a_golden_history_is_told_in_place_of_what_was_said(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    conversation = [shown("One?", 1, 2, 3)]
    for turn in range(4):
        answered = streams.answer(conversation)
        assert answered.spoken.text == fresh(conversation)
        conversation += [said(f"golden {turn}"), shown(f"And {turn}?", 10 + turn)]
    # Whoever can go back sees each frame once; others begin anew.
    assert kind.work == (6 if kind is Able else 3 + 4 + 5 + 6)


def test_conversations_beside_each_other_do_not_mix(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    conversations = [[shown("One?", 1, 2), said("x")], [shown("One?", 1, 2), said("y")], [shown("Uno?", 1, 2)]]
    conversations[0].append(shown("Two?", 3))
    conversations[1].append(shown("Two?", 4))
    draws = np.random.default_rng(3)
    for _ in range(40):
        conversation = conversations[int(draws.integers(3))]
        answered = streams.answer(conversation)
        assert answered.spoken.text == fresh(conversation)
        conversation += [said(answered.spoken.text), shown(f"Next {len(conversation)}?", len(conversation))]
        if len(conversation) > 12:
            del conversation[3:]


def test_another_system_message_is_another_conversation(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    for system in ("a", "b", "a"):
        conversation = [Message("system", system), shown("One?", 1)]
        assert streams.answer(conversation).spoken.text == fresh(conversation)


def test_turns_that_nobody_answered_and_answers_to_nothing_are_heard(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    conversation = [shown("One?", 1), shown("Two?"), said("x"), said("y"), shown("Three?")]
    text = streams.answer(conversation).spoken.text
    assert text == fresh(conversation)
    assert "asked One?; said 0; asked Two?; said 1; asked ; said 1; asked Three?" in text


def test_a_stream_that_failed_is_not_used_again(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    with pytest.raises(ModelError, match="gone"):
        streams.answer([shown("fail", 1)])
    conversation = [shown("One?", 1)]
    assert streams.answer(conversation).spoken.text == fresh(conversation)


def test_the_oldest_streams_go_where_all_keep_too_much(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=1000)
    for n in range(20):
        streams.answer([shown(f"{n}?", n)])
        assert sum(kept.stream.memory_bytes for kept in streams._streams) <= 1000
    assert 1 < len(streams._streams) <= 4
    assert len(StreamCache(kind, fps=2.0, most_bytes=0)._streams) == 0


def test_what_is_no_question_and_what_is_no_picture(kind: type[Plain]) -> None:
    streams = StreamCache(kind, fps=2.0, most_bytes=10**9)
    with pytest.raises(ModelError, match="does not end with a question"):
        streams.answer([shown("One?", 1), said("x")])
    with pytest.raises(InputError, match="picture of the conversation cannot be read"):
        streams.answer([Message("user", "One?", (b"no picture",))])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    from tiny_architectures import save_tiny

    return save_tiny("smolvlm", tmp_path_factory.mktemp("models") / "tiny-smolvlm")


def test_inspect_ai_finds_it_and_a_next_turn_reads_its_new_frames_only(checkpoint: Path) -> None:
    import inspect_ai.model as inspect_model

    config = inspect_model.GenerateConfig(max_tokens=4)
    model = inspect_model.get_model(f"reeltalk-streaming/{checkpoint}", config=config, memoize=False, device="cpu")

    def user(text: str, *shades: int) -> Any:
        images = [inspect_model.ContentImage(image=data_url(picture(shade))) for shade in shades]
        return inspect_model.ChatMessageUser(content=[*images, inspect_model.ContentText(text=text)])

    async def talk() -> tuple[list[dict[str, Any]], list[str], str]:
        chat: list[Any] = [inspect_model.ChatMessageSystem(content="Be brief."), user("What is it?", 1, 2, 3)]
        outputs = []
        for turn in range(3):
            outputs.append(await model.generate(chat))
            chat += [inspect_model.ChatMessageAssistant(content=outputs[-1].completion), user(f"And {turn}?", 9)]
        await model.api.aclose()
        return [o.metadata for o in outputs], [o.completion for o in outputs], outputs[0].stop_reason

    metadata, completions, stop_reason = asyncio.run(talk())
    assert [found["new_frames"] for found in metadata] == [3, 1, 1]
    assert [found["kept_events"] for found in metadata] == [0, 5, 8]
    assert all(completions)
    assert stop_reason == "max_tokens"


def test_through_its_own_command_it_is_an_ordinary_model(checkpoint: Path) -> None:
    from reeltalk.evaluation.models import ModelConfig, create_model
    from reeltalk.llm import ReplyStore
    from reeltalk.llm.model import Endpoint

    with ReplyStore(checkpoint.parent / "replies.sqlite") as store:
        asking = ModelConfig(Endpoint(model="m", max_tokens=4), connections=1)
        model = create_model(f"inspect:reeltalk-streaming/{checkpoint}", asking, store, None)
        reply = asyncio.run(model.ask([shown("What is it?", 1, 2)]))
    assert reply.text
    assert reply.completion_tokens == 4


def test_model_arguments_that_make_no_sense_are_refused(checkpoint: Path) -> None:
    from reeltalk_streaming.providers import StreamingAPI

    for arguments, problem in (
        ({"device": "tpu"}, "device 'tpu'"),
        ({"layers": 3}, "no model argument 'layers'"),
        ({"fps": 0}, "fps 0"),
        ({"memory_frames": 1}, "memory_frames 1"),
    ):
        with pytest.raises(SettingError, match=problem):
            StreamingAPI(str(checkpoint), **arguments)
