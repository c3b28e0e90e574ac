"""A local video model, asked from an event loop: it answers in one thread of its own, one conversation at a time."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from reeltalk.errors import ModelError
from reeltalk.evaluate.playing.player import Pictures
from reeltalk.inference.processor import checkpoint_hash
from reeltalk.inference.video_model import LocalVideoModel
from reeltalk.llm.model import Message, Reply
from reeltalk.schema.record import Json


class LocalModel:
    """An `AsyncModel` of a checkpoint on disk.

    Args:
        model: The checkpoint, loaded.
        pictures: Gives the pictures where messages hold references; messages hold JPEG files by default.
    """

    sees_images: Final = True

    def __init__(self, model: LocalVideoModel, *, pictures: Pictures | None = None) -> None:
        self._model, self._pictures = model, pictures
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="video-model")
        self._hash = checkpoint_hash(model.path)[:8]

    @property
    def name(self) -> str:
        """`transformers/FOLDER#HASH`; the hash is of the configuration and the beginnings of the weights."""
        return f"transformers/{self._model.name}#{self._hash}"

    @property
    def sampling(self) -> dict[str, Json]:
        """Greedy, with the longest reply and the way in which frames are handed over."""
        return {
            "temperature": 0.0,
            "max_tokens": self._model.max_new_tokens,
            "seed": self._model.seed,
            "as_video": self._model.as_video,
        }

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """One reply; the same for the same messages.

        Args:
            messages: The conversation so far.
            schema: Has no effect: replies are not constrained.
            sample: Has no effect: decoding is greedy.

        Raises:
            InputError: A picture cannot be read.
            ModelError: The memory does not suffice, or the model wrote nothing.
        """
        shown = [
            Message(message.role, message.text, tuple([await self._jpeg(image) for image in message.images]))
            for message in messages
        ]
        try:
            written = await asyncio.get_running_loop().run_in_executor(self._thread, self._model.reply, shown)
        except RuntimeError as error:
            raise ModelError(f"{self._model.name} is closed: {error}") from error
        return Reply(
            text=written.text,
            model=self.name,
            prompt_tokens=written.prompt_tokens,
            completion_tokens=written.completion_tokens,
            cut_off=written.cut_off,
            took_s=written.took_s,
            first_token_s=written.first_token_s,
        )

    def peak_memory(self) -> dict[str, int]:
        """Bytes that were in use at most: `host`, of this whole process, and `device` where there is an accelerator."""
        peak = self._model.peak_memory()
        device = {} if peak.device_bytes is None else {"device": peak.device_bytes}
        return {"host": peak.host_bytes, **device}

    def close(self) -> None:
        """Let the reply that is being written end, and no other begin."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def _jpeg(self, image: bytes) -> bytes:
        return image if self._pictures is None else await self._pictures.jpeg(image)
