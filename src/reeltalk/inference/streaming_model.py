"""A vision-language checkpoint that follows a stream: each frame is read once, and kept as keys and values.

A question adds its own tokens only. Where memory is bounded, the oldest frames after the first are forgotten, a quarter
of them at once; what came later moves up, its keys turned back by as many positions, so that positions never grow
beyond what the model knows. That needs rotary positions of one axis; it is tried out when a model is opened.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError, SettingError
from reeltalk.inference.processor import frame_options
from reeltalk.inference.turn_pieces import TurnPieces, turn_pieces
from reeltalk.inference.video_model import Device, LocalVideoModel
from reeltalk.inference.video_stream import VideoStream

FRAME_TOKENS: Final = 256
"""Most tokens of a frame, where a checkpoint does not say by how many it was tuned."""
TRIED_POSITION: Final = 7
TRIED_RTOL: Final = 0.02


class StreamingVideoModel(LocalVideoModel):
    """A checkpoint that follows streams.

    Args:
        path: As of `LocalVideoModel`.
        device: `cuda` or `cpu`; `auto` takes an accelerator where there is one.
        max_new_tokens: Longest answer.
        memory_frames: Frames that are kept at most, 2 or more; all by default.
        system: What it is told first; nothing by default.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        InputError: The folder holds no model that can be loaded, or its template does not put turn after turn.
        SettingError: The model's positions cannot be counted anew, as bounded memory needs.
        ModelError: The memory does not suffice.
    """

    def __init__(
        self,
        path: Path,
        *,
        device: Device = "auto",
        max_new_tokens: int = 256,
        memory_frames: int | None = None,
        system: str = "",
    ) -> None:
        super().__init__(path, device=device, max_new_tokens=max_new_tokens)
        self.memory_frames, self.system = memory_frames, system
        self._options = self._options or frame_options(self._processor, FRAME_TOKENS)
        self._pieces: dict[str, TurnPieces] = {}
        self.pieces(system)
        base = self._model.get_base_model() if hasattr(self._model, "get_base_model") else self._model
        rope_index = getattr(getattr(base, "model", base), "get_rope_index", None)
        self._rope_index: Any = rope_index
        self._rotary = _Rotary(self._torch, base) if memory_frames is not None else None
        if self._rotary is not None:
            if memory_frames is not None and memory_frames < 2:
                raise SettingError(f"a memory of {memory_frames} frames is too small; keep 2 or more")
            if rope_index is not None:
                raise SettingError(
                    f"{self.name} tells time, height and width by its positions (M-RoPE), which cannot be counted "
                    "anew; follow the stream without a bound on its memory"
                )
            self._within_memory(self._try_turning)

    def pieces(self, system: str) -> TurnPieces:
        """What stands between frames and turns, with a system message.

        Raises:
            InputError: The template does not put turn after turn, or takes no system message.
        """
        if system not in self._pieces:
            self._pieces[system] = turn_pieces(self._processor, self.path, system=system)
        return self._pieces[system]

    def stream(self, system: str | None = None) -> VideoStream:
        """A new conversation about a video that begins now.

        Args:
            system: In place of the model's own system message.

        Raises:
            InputError: The template takes no system message.
        """
        return VideoStream(self, self.pieces(self.system if system is None else system))

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer."""
        named = getattr(self._model.generation_config, "eos_token_id", None)
        named = self._processor.tokenizer.eos_token_id if named is None else named
        return frozenset(named if isinstance(named, list) else [] if named is None else [named])

    def text_tokens(self, text: str, *, first: bool = False) -> dict[str, Any]:
        """A text as the model's input; `first` where the conversation begins with it."""
        ids = self._processor.tokenizer(text, add_special_tokens=first, return_tensors="pt")["input_ids"]
        return {"input_ids": ids.to(self.device)}

    def frame_tokens(self, piece: str, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """A frame as the model's input.

        Raises:
            ModelError: The processor does not take it.
        """
        from PIL import Image

        try:
            inputs = self._processor(
                text=piece,
                images=[Image.fromarray(rgb)],
                return_tensors="pt",
                add_special_tokens=False,
                **self._options,
            )
        except Exception as error:
            # Processors raise whatever they like.
            told = " ".join(str(error).split())[:300]
            raise ModelError(f"{self.name} takes no such frame: {told}") from error
        made = inputs.to(self.device, dtype=self._model.dtype)
        return {name: value for name, value in made.items() if name != "attention_mask"}

    def words(self, tokens: list[int]) -> str:
        """Tokens as text."""
        return str(self._processor.decode(tokens, skip_special_tokens=True)).strip()

    def read(self, inputs: dict[str, Any], cache: Any, position: int) -> tuple[Any, int]:
        """Read tokens after those in the cache, which grows by them.

        Args:
            inputs: `input_ids` (1, L), and what belongs to their pictures.
            cache: A `DynamicCache`.
            position: Of the first token.

        Returns:
            Logits after the last token, (V,), and the position of the next.

        Raises:
            ModelError: The memory does not suffice, or the model fails.
        """
        torch = self._torch
        ids = inputs["input_ids"]
        with torch.inference_mode():
            if self._rope_index is None:
                positions = torch.arange(position, position + ids.shape[1], device=ids.device)[None]
            elif "image_grid_thw" in inputs:
                own, _ = self._rope_index(
                    ids, mm_token_type_ids=inputs["mm_token_type_ids"], image_grid_thw=inputs["image_grid_thw"]
                )
                positions = own + position
            else:
                positions = torch.arange(position, position + ids.shape[1], device=ids.device).expand(3, 1, -1)
            out = self._within_memory(
                lambda: self._model(
                    **inputs, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1
                )
            )
            return out.logits[0, -1], int(positions.max()) + 1

    def tensor(self, tokens: list[int]) -> Any:
        """Tokens as (1, L)."""
        return self._torch.tensor([tokens], device=self.device)

    def joined(self, spans: list[Any]) -> Any:
        """Spans (1, H, L, D) of keys or values, one after another."""
        return self._torch.cat(spans, dim=-2)

    def turn_back(self, keys: Any, by: int) -> Any:
        """Keys as they would be `by` positions earlier."""
        assert self._rotary is not None
        return self._rotary.turned(keys, -by)

    def _try_turning(self) -> None:
        """Refuse a model whose keys, turned, are not those of another position.

        A token that stands alone sees itself only, so that its keys in all layers hang on nothing but its position.
        """
        from transformers import DynamicCache

        token = self.text_tokens("a")["input_ids"][:, :1]
        here: Any = DynamicCache()
        there: Any = DynamicCache()
        self.read({"input_ids": token}, here, 0)
        self.read({"input_ids": token}, there, TRIED_POSITION)
        for near, far in zip(here.layers, there.layers, strict=True):
            expected = near.keys.float()
            if (self.turn_back(far.keys, TRIED_POSITION).float() - expected).norm() > TRIED_RTOL * expected.norm():
                raise SettingError(
                    f"the positions of {self.name} are of a kind that cannot be counted anew; follow the stream "
                    "without a bound on its memory"
                )


class _Rotary:
    """Turns keys by positions, where a model has rotary positions of one axis."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        decoder = model.get_decoder()
        frequencies = getattr(getattr(decoder, "rotary_emb", None), "inv_freq", None)
        if frequencies is None:
            raise SettingError("the model has no rotary positions; follow the stream without a bound on its memory")
        self._frequencies = frequencies

    def turned(self, keys: Any, by: int) -> Any:
        """Keys (1, H, L, D), turned by `by` positions; the first 2F of D turn, in two halves."""
        torch = self._torch
        half = len(self._frequencies)
        # In the precision of the angles: keys are turned more than once.
        angles = by * self._frequencies.to(keys.device, torch.float32)
        cos, sin = angles.cos(), angles.sin()
        first, second, rest = keys[..., :half].float(), keys[..., half : 2 * half].float(), keys[..., 2 * half :]
        turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        return torch.cat([turned.to(keys.dtype), rest], dim=-1)
