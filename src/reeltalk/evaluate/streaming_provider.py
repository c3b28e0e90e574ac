"""A provider that inspect_ai finds by entry point: `--model reeltalk-streaming/FOLDER` or `reeltalk-streaming/mini`.

A model that follows streams as an ordinary model: streams of recent conversations are kept, and a conversation that
goes on costs its new frames and its question. It needs nothing that trains models, and so stands beside what evaluates.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluate.inspect_messages import message_of
from reeltalk.evaluate.talking.kept_streams import KeptStreams
from reeltalk.inference.stream import Stream

NAME: Final = "reeltalk-streaming"
MAX_NEW_TOKENS: Final = 256
KEPT_MB: Final = 4096


@modelapi(name=NAME)
class StreamingAPI(ModelAPI):
    """A model that follows streams.

    Args:
        model_name: Folder of a checkpoint, or `mini`.
        base_url: Has no effect.
        api_key: Has no effect.
        config: `max_tokens` counts; decoding is greedy.
        device: `auto`, `cpu` or `cuda`; of a checkpoint.
        fps: Frames a second, from which the times of frames follow.
        kept_mb: Memory that streams of earlier conversations may take together.
        memory_frames: Frames that a stream keeps at most; as the model has it by default.

    Raises:
        MissingExtraError: What is needed to run it is not installed.
        InputError: The folder holds no model that can be loaded.
        SettingError: A model argument has no sensible value.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        device: str = "auto",
        fps: float = 1.0,
        kept_mb: int = KEPT_MB,
        memory_frames: int | None = None,
        **more: Any,
    ) -> None:
        config = config or GenerateConfig()
        super().__init__(model_name, base_url, api_key, [], config)
        if more:
            raise SettingError(
                f"{NAME} knows no model argument {sorted(more)[0]!r}; it knows device, fps, kept_mb and memory_frames"
            )
        if device not in ("auto", "cpu", "cuda"):
            raise SettingError(f"device {device!r}: there are auto, cpu and cuda")
        if not 0 < fps <= 1000:
            raise SettingError(f"fps {fps!r}: give more than 0")
        if memory_frames is not None and memory_frames < 2:
            raise SettingError(f"memory_frames {memory_frames!r}: keep 2 or more")
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="streams")
        begin = _opened(model_name, device, config.max_tokens or MAX_NEW_TOKENS, memory_frames)
        self._streams = KeptStreams(begin, fps=fps, most_bytes=kept_mb * 1_000_000)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """One reply.

        Args:
            input: The conversation; pictures are `data:` addresses, and stand for frames in the order of time.
            tools: None may be offered.
            tool_choice: Has no effect.
            config: Has no effect; what counts was given when the model was opened.

        Raises:
            SettingError: Tools are offered.
            InputError: A picture cannot be read.
            ModelError: There is no reply to be had.
        """
        if tools:
            raise SettingError(f"{NAME} uses no tools")
        messages = [message_of(message, NAME) for message in input]
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
        output.metadata = {"new_frames": answered.new_frames, "kept_events": answered.kept_events}
        return output

    async def aclose(self) -> None:
        """Let the reply that is being written end, and no other begin."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def max_connections(self) -> int:
        """One: it answers one conversation at a time."""
        return 1

    def connection_key(self) -> str:
        """The folder."""
        return str(self.model_name)


def _opened(name: str, device: str, max_new_tokens: int, memory_frames: int | None) -> Any:
    """What begins a stream with a system message."""
    if name == "mini":
        from reeltalk.evaluate.opened_mini import bounded, opened_mini

        mini = opened_mini(policy=bounded(memory_frames))

        def begin(system: str) -> Stream:
            # It knows no system messages: it was trained on one task.
            return mini.stream()

        return begin
    from reeltalk.inference.streaming_model import StreamingVideoModel

    model = StreamingVideoModel(
        Path(name),
        device=device,  # type: ignore[arg-type]
        max_new_tokens=max_new_tokens,
        memory_frames=memory_frames,
    )
    return model.stream
