"""A vision-language model from a folder on disk, through transformers' Auto classes. It stays on this machine.

Nothing is fetched, and code that a checkpoint brings along is not run. One conversation is answered at a time.
"""

import io
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from reeltalk.errors import InputError, MissingExtraError, ModelError, SettingError
from reeltalk.progress import ignore_sentences
from reeltalk_streaming.inference.checkpoint import (
    frame_options,
    load_error_text,
    open_checkpoint,
    require_folder,
    within_memory,
)

Device = Literal["auto", "cpu", "cuda"]
PURPOSE: Final = "playing a local video model"
SEED: Final = 17
"""Decoding is greedy; the seed is for what a model draws all the same."""


class ConversationMessage(Protocol):
    """A message of a conversation, as `llm.Message` is one."""

    @property
    def role(self) -> str:
        """`system`, `user` or `assistant`."""
        ...

    @property
    def text(self) -> str:
        """The text of the message."""
        ...

    @property
    def images(self) -> tuple[bytes, ...]:
        """JPEG files; they come before the text."""
        ...


@dataclass(frozen=True)
class ModelReply:
    """The reply of the model."""

    text: str
    prompt_tokens: int
    """Those of pictures included."""
    completion_tokens: int
    cut_off: bool
    """True if it was cut off at the longest reply."""
    took_s: float
    """Seconds from the question to the end of the reply, preparing the pictures included."""
    first_token_s: float | None
    """Seconds to the first token."""


@dataclass(frozen=True)
class PeakMemory:
    """The most memory that was in use."""

    host_bytes: int
    """Of this whole process since it began, as the kernel counts it."""
    device_bytes: int | None
    """Of the accelerator since the model was loaded; None on a CPU."""


class LocalVideoModel:
    """A checkpoint with its processor, loaded.

    Args:
        path: Folder with `config.json`, weights as safetensors, a tokenizer, a processor and its chat template; or with
            an adapter as `reeltalk train lora` writes it, and the checkpoint that it names.
        device: `cuda` or `cpu`; `auto` takes an accelerator where there is one.
        max_new_tokens: Longest reply.
        as_video: Hand the pictures of a message over as one video in place of single images.
        seed: Of torch, set before every reply.
        tell: Receives a sentence if nothing has trained the weights.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        InputError: The folder is not there, or holds no model or processor that transformers can load.
        SettingError: `cuda` is asked for and there is none.
        ModelError: The memory does not suffice.
    """

    def __init__(
        self,
        path: Path,
        *,
        device: Device = "auto",
        max_new_tokens: int = 256,
        as_video: bool = False,
        seed: int = SEED,
        tell: Callable[[str], object] = ignore_sentences,
    ) -> None:
        require_folder(path)
        try:
            import torch
        except ImportError:
            raise MissingExtraError(PURPOSE, extra="train", of="reeltalk-streaming") from None
        self.path, self.max_new_tokens, self.as_video, self.seed = path, max_new_tokens, as_video, seed
        self._torch: Any = torch
        if device == "cuda" and not torch.cuda.is_available():
            raise SettingError("device 'cuda': torch finds no accelerator; take 'cpu' or 'auto'")
        self.device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        opened = open_checkpoint(self.path, purpose=PURPOSE)
        self._processor, tuned = opened.processor, opened.tuned
        self._options = {} if tuned is None else frame_options(opened.processor, tuned.frame_tokens)
        self._within_memory(lambda: opened.model.to(self.device).eval())
        if self.device == "cuda":
            self._torch.cuda.reset_peak_memory_stats()
        self._model = opened.model
        if (untrained := opened.untrained) is not None:
            tell(untrained)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.resolve().name

    def reply(self, messages: Sequence[ConversationMessage]) -> ModelReply:
        """The next message of the conversation, by greedy decoding.

        Raises:
            InputError: A picture cannot be read, or the processor takes no video where `as_video` asks for it.
            ModelError: The memory does not suffice, the conversation is too long, or the model wrote nothing.
        """
        torch = self._torch
        torch.manual_seed(self.seed)
        started = time.perf_counter()
        inputs = self._inputs(messages)
        prompt_tokens = int(inputs["input_ids"].shape[1])
        first: list[float] = []

        def generate() -> Any:
            with torch.inference_mode():
                return self._model.generate(
                    **inputs,
                    max_new_tokens=self.max_new_tokens,
                    do_sample=False,
                    streamer=_FirstToken(first),
                )

        tokens = self._within_memory(generate)[0, prompt_tokens:]
        text = self._processor.decode(tokens, skip_special_tokens=True).strip()
        if not text:
            raise ModelError(f"{self.name} wrote no answer; its chat template may not fit it")
        return ModelReply(
            text=text,
            prompt_tokens=prompt_tokens,
            completion_tokens=len(tokens),
            cut_off=len(tokens) >= self.max_new_tokens,
            took_s=time.perf_counter() - started,
            first_token_s=first[0] - started if first else None,
        )

    def peak_memory(self) -> PeakMemory:
        """The most memory in use so far."""
        # Linux counts kilobytes, macOS bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        device = int(self._torch.cuda.max_memory_allocated()) if self.device == "cuda" else None
        return PeakMemory(host, device)

    def _inputs(self, messages: Sequence[ConversationMessage]) -> Any:
        chat = []
        pictures: list[Any] = []
        videos: list[list[Any]] = []
        for message in messages:
            own = [_picture(image, self.path) for image in message.images]
            parts: list[dict[str, str]] = []
            if own and self.as_video:
                videos.append(own)
                parts.append({"type": "video"})
            else:
                pictures += own
                parts += [{"type": "image"} for _ in own]
            chat.append({"role": message.role, "content": [*parts, {"type": "text", "text": message.text}]})
        if videos and getattr(self._processor, "video_processor", None) is None:
            raise InputError(
                "the processor takes no video", file=self.path, hint="hand the frames over as images, or install "
                "torchvision, which video processors of transformers need"
            )  # fmt: skip
        try:
            text = self._processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
            more = {"images": pictures, **self._options} if pictures else {}
            more |= {"videos": videos} if videos else {}
            inputs = self._processor(text=text, return_tensors="pt", **more)
        except Exception as error:
            # Processors and templates raise whatever they like.
            raise ModelError(f"{self.name} cannot be asked this way: {load_error_text(error)}") from error
        return self._within_memory(lambda: inputs.to(self.device, dtype=self._model.dtype))

    def _within_memory(self, work: Callable[[], Any]) -> Any:
        try:
            with within_memory(
                f"{self.name} needs more memory than the {self.device} has; show it fewer or smaller frames, or take a "
                "smaller model"
            ):
                return work()
        except RuntimeError as error:
            raise ModelError(f"{self.name} failed: {load_error_text(error)}") from error


class _FirstToken:
    """Notes when the first token comes. transformers hands over the prompt first."""

    def __init__(self, times: list[float]) -> None:
        self._times, self._prompts = times, 0

    def put(self, value: object) -> None:
        if self._prompts and not self._times:
            self._times.append(time.perf_counter())
        self._prompts += 1

    def end(self) -> None:
        pass


def _picture(jpeg: bytes, path: Path) -> Any:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg)) as picture:
            return picture.convert("RGB")
    except Exception as error:
        raise InputError("a picture of the conversation cannot be read", file=path) from error
