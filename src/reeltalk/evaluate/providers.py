"""Model providers of ours that inspect_ai finds by entry point: `--model reeltalk-transformers/PATH`.

`inspect eval … --model reeltalk-transformers/checkpoints/smolvlm -M device=cpu` plays a checkpoint on disk with
pictures, which inspect_ai's own `hf` provider cannot. Tools are not offered to it. `reeltalk-streaming` stands in
`streaming_provider`, and is registered with this one.
"""

from pathlib import Path
from typing import Any, Final

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from reeltalk.errors import SettingError
from reeltalk.evaluate.inspect_messages import message_of
from reeltalk.evaluate.playing.local_model import LocalModel
from reeltalk.evaluate.streaming_provider import StreamingAPI
from reeltalk.inference.video_model import LocalVideoModel

__all__ = ["StreamingAPI", "TransformersAPI"]

NAME: Final = "reeltalk-transformers"
MAX_NEW_TOKENS: Final = 256


@modelapi(name=NAME)
class TransformersAPI(ModelAPI):
    """A checkpoint on disk.

    Args:
        model_name: Its folder.
        base_url: Has no effect.
        api_key: Has no effect.
        config: `max_tokens` and `seed` count; decoding is greedy.
        device: `auto`, `cpu` or `cuda`.
        as_video: Hand the pictures of a message over as one video.

    Raises:
        MissingExtraError: torch or transformers is not installed.
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
        as_video: bool = False,
        **more: Any,
    ) -> None:
        config = config or GenerateConfig()
        super().__init__(model_name, base_url, api_key, [], config)
        if device not in ("auto", "cpu", "cuda"):
            raise SettingError(f"device {device!r}: there are auto, cpu and cuda")
        if more:
            raise SettingError(f"{NAME} knows no model argument {sorted(more)[0]!r}; it knows device and as_video")
        seed: dict[str, Any] = {"seed": config.seed} if config.seed is not None else {}
        self._model = LocalModel(
            LocalVideoModel(
                Path(model_name),
                device=device,  # type: ignore[arg-type]
                max_new_tokens=config.max_tokens or MAX_NEW_TOKENS,
                as_video=bool(as_video),
                **seed,
            )
        )

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """One reply.

        Args:
            input: The conversation; pictures are `data:` addresses.
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
        reply = await self._model.ask([message_of(message, NAME) for message in input])
        output = ModelOutput.from_content(
            self.model_name, reply.text, stop_reason="max_tokens" if reply.cut_off else "stop"
        )
        taken, written = reply.prompt_tokens or 0, reply.completion_tokens or 0
        output.usage = ModelUsage(input_tokens=taken, output_tokens=written, total_tokens=taken + written)
        output.time = reply.took_s
        return output

    async def aclose(self) -> None:
        """End the model's thread."""
        self._model.close()

    def max_connections(self) -> int:
        """One: it answers one conversation at a time."""
        return 1

    def connection_key(self) -> str:
        """The folder."""
        return str(self.model_name)
