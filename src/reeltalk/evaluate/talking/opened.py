"""From what a user names as a model to one that follows streams."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reeltalk.errors import SettingError
from reeltalk.evaluate.opening import Asking, served
from reeltalk.evaluate.playing.python_class import PythonPlayer
from reeltalk.evaluate.proactive.opening import streaming_model
from reeltalk.evaluate.talking.chat_stream import MOST_FRAMES, ChatModel
from reeltalk.evaluate.talking.player_stream import PlayerModel
from reeltalk.extension import loaded_class
from reeltalk.inference.stream import StreamingModel
from reeltalk.llm import Budget, ReplyStore


@contextlib.contextmanager
def opened_streaming_model(
    spec: str,
    asking: Asking,
    *,
    budget: Budget | None = None,
    replies: Path | None = None,
    prompt: str = "",
    memory_frames: int | None = None,
) -> Iterator[StreamingModel]:
    """A model by its name, as one that follows streams.

    Args:
        spec: `mini`, `mini:FOLDER`, `transformers:FOLDER`, `python:MODULE:CLASS`, `inspect:PROVIDER/MODEL`, or the
            name of a model at the endpoint's address.
        asking: How a language model is asked.
        budget: Limits on asking.
        replies: Keeps replies of a language model; nowhere by default.
        prompt: What a language model is told first.
        memory_frames: Frames that are kept at most; as the model has it by default.

    Raises:
        MissingExtraError: What is needed to run it is not installed.
        InputError: A checkpoint cannot be loaded.
        ModelError: It cannot be opened.
        SettingError: There is none of the name, or it cannot keep so many frames.
    """
    kind, colon, name = spec.partition(":")
    if memory_frames is not None and memory_frames < 2:
        raise SettingError(f"--memory-frames {memory_frames}: keep 2 or more")
    if kind == "mini":
        from reeltalk.evaluate.opened_mini import bounded, opened_mini

        yield opened_mini(spec, policy=bounded(memory_frames), max_words=asking.endpoint.max_tokens)
    elif kind == "transformers" and colon:
        from reeltalk.inference.streaming_model import StreamingVideoModel

        yield StreamingVideoModel(
            Path(name), max_new_tokens=asking.endpoint.max_tokens, memory_frames=memory_frames, system=prompt
        )
    elif kind == "python" and colon:
        yield _of_python(name, memory_frames or MOST_FRAMES)
    else:
        with contextlib.ExitStack() as stack:
            if replies is None:
                replies = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "replies.sqlite"
            store = stack.enter_context(ReplyStore(replies))
            model = ChatModel(served(spec, asking, store, budget), prompt, most_frames=memory_frames or MOST_FRAMES)
            stack.callback(model.close)
            yield model


def _of_python(name: str, most_frames: int) -> StreamingModel:
    """A class of the user's own: one that has `stream` follows streams itself, any other is a player."""
    found = loaded_class(name)
    if not callable(getattr(found, "stream", None)):
        return PlayerModel(PythonPlayer(name), most_frames=most_frames)
    return streaming_model(f"python:{name}")
