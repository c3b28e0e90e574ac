"""reeltalk's model provider, which inspect_ai finds by entry point: `reeltalk-streaming`.

`inspect eval … --model reeltalk-streaming/FOLDER` or `reeltalk-streaming/mini` uses a streaming model like an ordinary
model. Streams of recent conversations are kept, so the next turn of a conversation costs only its new frames and its
question. It supports no tools.
"""

import asyncio
import base64
import binascii
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from reeltalk.errors import InputError, ModelError, SettingError
from reeltalk.llm.model import Message
from reeltalk.plugins import load
from reeltalk_streaming.chat.stream_cache import StreamCache
from reeltalk_streaming.inference.stream import Stream
from reeltalk_streaming.inference.stream_memory import bounded_memory


def message_of(message: ChatMessage, provider: str) -> Message:
    """One of our messages. Its pictures come before its text.

    Args:
        message: A message of inspect_ai; pictures are `data:` addresses or files.
        provider: Name of the provider, for errors.

    Raises:
        SettingError: The provider does not support its role or its content.
        InputError: A picture cannot be read.
    """
    if message.role not in ("system", "user", "assistant"):
        raise SettingError(f"{provider} takes no messages of role {message.role!r}")
    if isinstance(message.content, str):
        return Message(message.role, message.content)
    texts, images = [], []
    for part in message.content:
        if part.type == "text":
            texts.append(part.text)
        elif part.type == "image":
            images.append(_jpeg(part.image))
        else:
            raise SettingError(f"{provider} takes text and images, not {part.type}; send a video as its frames")
    return Message(message.role, "\n".join(texts), tuple(images))


def _jpeg(address: str) -> bytes:
    head, _, body = address.partition(",")
    try:
        if head.startswith("data:") and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
        return Path(address).read_bytes()
    except (binascii.Error, OSError) as error:
        raise InputError(f"a picture cannot be read: {error}", file=address[:80]) from error


MAX_NEW_TOKENS: Final = 256
STREAMING: Final = "reeltalk-streaming"
CACHE_MB: Final = 4096
BOUNDED_FRAMES: Final = 64
"""Frames that a bounded stream of a checkpoint keeps by default."""


@modelapi(name=STREAMING)
class StreamingAPI(ModelAPI):
    """A model that follows streams.

    Args:
        model_name: Folder of a checkpoint, or `mini`.
        base_url: Has no effect.
        api_key: Has no effect.
        config: `max_tokens` counts; decoding is greedy.
        device: `auto`, `cpu` or `cuda`; of a checkpoint.
        fps: Frames a second, from which the times of frames follow.
        kept_mb: Memory limit of all streams of earlier conversations together.
        memory: `all` keeps every frame of a stream; `bounded` keeps a number that does not grow.
        memory_frames: Maximum number of frames that a bounded stream keeps, 2 or more; by default the model's own
            limit, or 64 frames of a checkpoint.

    Raises:
        MissingExtraError: A package that it needs is not installed.
        InputError: The folder holds no model that can be loaded.
        SettingError: A model argument is unknown or has an invalid value.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        device: str = "auto",
        fps: float = 1.0,
        kept_mb: int = CACHE_MB,
        memory: str = "all",
        memory_frames: int | None = None,
        **more: Any,
    ) -> None:
        config = config or GenerateConfig()
        super().__init__(model_name, base_url, api_key, [], config)
        if more:
            raise SettingError(
                f"{STREAMING} knows no model argument {sorted(more)[0]!r}; it knows device, fps, kept_mb, memory and "
                "memory_frames"
            )
        if device not in ("auto", "cpu", "cuda"):
            raise SettingError(f"device {device!r}: there are auto, cpu and cuda")
        if not 0 < fps <= 1000:
            raise SettingError(f"fps {fps!r}: give more than 0")
        if memory_frames is not None and memory_frames < 2:
            raise SettingError(f"memory_frames {memory_frames!r}: keep 2 or more")
        if memory not in ("all", "bounded"):
            raise SettingError(f"memory {memory!r}: there are all and bounded")
        bounded = memory == "bounded" or memory_frames is not None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="streams")
        begin = _opened(model_name, device, config.max_tokens or MAX_NEW_TOKENS, bounded, memory_frames)
        self._streams = StreamCache(begin, fps=fps, most_bytes=kept_mb * 1_000_000)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """One reply.

        Args:
            input: The conversation; pictures are `data:` addresses of frames in the order of time.
            tools: Must be empty.
            tool_choice: Has no effect.
            config: Has no effect. The settings were given when the model was opened.

        Raises:
            SettingError: There are tools.
            InputError: A picture cannot be read.
            ModelError: There is no reply.
        """
        if tools:
            raise SettingError(f"{STREAMING} uses no tools")
        messages = [message_of(message, STREAMING) for message in input]
        began_s = time.monotonic()
        try:
            answered = await asyncio.get_running_loop().run_in_executor(self._thread, self._streams.answer, messages)
        except RuntimeError as error:
            raise ModelError(f"{self.model_name} is closed: {error}") from error
        spoken = answered.spoken
        output = ModelOutput.from_content(
            self.model_name, spoken.text, stop_reason="max_tokens" if spoken.cut_off else "stop"
        )
        output.usage = ModelUsage(
            input_tokens=spoken.prompt_tokens,
            output_tokens=spoken.completion_tokens,
            total_tokens=spoken.prompt_tokens + spoken.completion_tokens,
        )
        output.time = time.monotonic() - began_s
        output.metadata = {"new_frames": answered.new_frames, "kept_events": answered.stored_events}
        return output

    async def aclose(self) -> None:
        """Finish the current reply and accept no other."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def max_connections(self) -> int:
        """One, since it answers one conversation at a time."""
        return 1

    def connection_key(self) -> str:
        return str(self.model_name)


def _opened(name: str, device: str, max_new_tokens: int, bounded: bool, memory_frames: int | None) -> Any:
    """A function that begins a stream with a system message."""
    if name == "mini":
        mini = load("reeltalk.models", name).stream(
            name, policy=bounded_memory(memory_frames) if bounded else None, max_words=max_new_tokens
        )

        def begin(system: str) -> Stream:
            # It supports no system messages, since it was trained on one task.
            stream: Stream = mini.stream()
            return stream

        return begin
    from reeltalk_streaming.inference.streaming_model import StreamingVideoModel

    model = StreamingVideoModel(
        Path(name),
        device=device,  # type: ignore[arg-type]
        max_new_tokens=max_new_tokens,
        memory_frames=(memory_frames or BOUNDED_FRAMES) if bounded else None,
    )
    return model.stream
