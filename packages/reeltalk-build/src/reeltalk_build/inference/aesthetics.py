"""The LAION aesthetic score of pictures, from weights that you provide: a CLIP model and the head on top of it.

The folder holds CLIP as transformers saves it (`config.json`, `model.safetensors`) and the head as `aesthetic.pth` or
`aesthetic.safetensors`: the linear head or the perceptron of the "improved aesthetic predictor", both on CLIP ViT-L/14.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reeltalk.errors import InputError, MissingExtraError
from reeltalk.store.manifest import hash_file

HEADS: Final = ("aesthetic.pth", "aesthetic.safetensors")
MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
DEVIATION: Final = (0.26862954, 0.26130258, 0.27577711)
"""Mean and deviation of CLIP's training pictures, as OpenAI published them."""


def weights_hash(folder: Path) -> str:
    """SHA-256 of the head's file. It identifies the scorer in settings.

    Raises:
        InputError: There is no head.
    """
    return hash_file(_head_file(folder))[0]


def _head_file(folder: Path) -> Path:
    for name in HEADS:
        if (folder / name).is_file():
            return folder / name
    raise InputError("no aesthetic head here", file=folder, hint=f"expected {' or '.join(HEADS)} beside CLIP's files")


class AestheticScorer:
    """CLIP and the head, loaded once.

    Raises:
        InputError: The folder does not hold them.
        MissingExtraError: The `train` extra is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import torch
            from safetensors.torch import load_file
            from transformers import CLIPVisionModelWithProjection
        except ImportError:
            raise MissingExtraError("the aesthetic score", extra="vision", of="reeltalk-build") from None
        path = _head_file(folder)
        try:
            self._clip: Any = CLIPVisionModelWithProjection.from_pretrained(folder, local_files_only=True)
            self._clip.train(False)
        except (OSError, ValueError) as error:
            raise InputError(f"CLIP cannot be loaded: {str(error).splitlines()[0]}", file=folder) from None
        try:
            weights = (
                load_file(path)
                if path.suffix == ".safetensors"
                else torch.load(path, map_location="cpu", weights_only=True)
            )
            self._layers = _linear_layers(weights)
        except Exception as error:
            raise InputError(f"not an aesthetic head: {str(error).splitlines()[0][:120]}", file=path) from None
        width = self._clip.config.projection_dim
        if self._layers[0][0].shape[1] != width:
            problem = f"the head takes {self._layers[0][0].shape[1]} numbers but this CLIP gives {width}"
            raise InputError(problem, file=path)

    def __call__(self, squares: Sequence[bytes]) -> float:
        """Mean score of pictures, about 1 to 10.

        Args:
            squares: 224 × 224 × 3 bytes of RGB each.
        """
        import torch

        side = self._clip.config.image_size
        pixels = np.stack([np.frombuffer(square, np.uint8).reshape(224, 224, 3) for square in squares])
        batch = (pixels.astype(np.float32) / 255 - np.array(MEAN, np.float32)) / np.array(DEVIATION, np.float32)
        values = torch.from_numpy(batch).permute(0, 3, 1, 2)
        with torch.inference_mode():
            if side != 224:
                values = torch.nn.functional.interpolate(values, size=(side, side), mode="bicubic")
            features = self._clip(pixel_values=values).image_embeds
            features = features / features.norm(dim=-1, keepdim=True)
            for weight, bias in self._layers:
                features = torch.nn.functional.linear(features, weight, bias)
            return float(features.mean())


def _linear_layers(weights: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Weights and biases in order. The perceptron has no activations, so only its layers matter."""
    names = [name.removesuffix("weight") for name in weights if name.endswith("weight")]
    if not names:
        raise ValueError("it holds no layer")
    names.sort(key=lambda name: [int(part) if part.isdigit() else -1 for part in name.split(".")])
    layers = [(weights[f"{name}weight"].float(), weights[f"{name}bias"].float()) for name in names]
    if layers[-1][0].shape[0] != 1:
        raise ValueError("its last layer does not give one number")
    return layers
