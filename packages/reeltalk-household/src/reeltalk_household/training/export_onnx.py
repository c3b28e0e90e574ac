"""Exports reeltalk-mini as two ONNX graphs with weights of 8 bits, which run without torch.

Matrices are rounded to 8 bits for each output channel and converted back to floats before they are used; nothing else
is rounded. `round_weights` does so to the torch network, so that both give the same answers. Batch normalisation is
folded into the convolutions before that.
"""

import copy
import io
import warnings
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from reeltalk.errors import InputError
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk_household.mini.mini_input import PEOPLE, TOKENIZER
from reeltalk_household.training.network import SHAPE, Mini

VISION: Final = "vision.onnx"
DECODER: Final = "decoder.onnx"
MOST_BYTES: Final = 8 << 20
OPSET: Final = 18
LEVELS: Final = 127
"""Largest absolute value of a weight in 8 bits."""
SMALLEST: Final = 1024
"""Matrices with fewer numbers do not change."""
CHANNEL_AXIS: Final = {("Conv", 1): 0, ("Gather", 0): 0, ("MatMul", 1): -1, ("Gemm", 1): -1}
"""The axis of a weight that counts output channels, by the node that reads it and the place among its inputs. For Gemm
it is 0 if the weight is transposed."""


class RootMeanSquare(nn.Module):
    """`RMSNorm` in operations that the exporter supports."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.eps = norm.weight, norm.eps

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) from (…, D)."""
        out: Tensor = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps) * self.weight
        return out


class Vision(nn.Module):
    """The exported graph that turns frames, each with the one before it, into tokens of the decoder."""

    def __init__(self, model: Mini) -> None:
        super().__init__()
        self.encoder, self.projector = model.encoder, model.projector

    def forward(self, frames: Tensor, pts_s: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What frames show.

        Args:
            frames: (N, 2, height, width, 3) uint8, each after the one before it.
            pts_s: (N,) their times in seconds.

        Returns:
            Tokens (N, K, D); of people the letters above their heads (N, P, L), the probabilities of looks (N, P, F),
            and 1 for somebody and 0 for nobody (N, P).
        """
        pixels = frames.permute(0, 1, 4, 2, 3).flatten(1, 2).float() / 255
        seen = self.encoder.glimpse(pixels)
        tokens = self.projector(seen.tokens, pts_s)
        letters = self.encoder.spell(pixels, seen.tags).argmax(dim=-1)
        return tokens, letters, seen.looks.sigmoid(), (seen.people >= 0).float()


class DecoderGraph(nn.Module):
    """The exported graph of the decoder, which continues from a memory."""

    def __init__(self, model: Mini) -> None:
        super().__init__()
        self.decoder = model.decoder

    def forward(
        self, ids: Tensor, seen: Tensor, marks: Tensor, past_k: Tensor, past_v: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The predictions of the last token, and the keys and values to store.

        Args:
            ids: (T,) words; below 0 at a visual token.
            seen: (T, D) visual tokens; any values at a word.
            marks: (T,) marks of the people that visual tokens show; `PAD` for none and at a word.
            past_k: (L, H, S, E) keys of the memory, not rotated. Its positions are 0 … S - 1.
            past_v: (L, H, S, E) values.

        Returns:
            Logits (vocabulary,) of the next word, (1,) of speaking now, and keys and values (L, H, T, E) of the new
            tokens.
        """
        x = torch.where(ids[:, None] < 0, self.decoder.marked(seen, marks), self.decoder.words(ids.clamp(min=0)))[None]
        past = torch.arange(past_k.shape[2])[None]
        positions = torch.arange(ids.shape[0])[None] + past_k.shape[2]
        logits, ready, keys, values = self.decoder.step(x, positions, past_k, past_v, past)
        return logits[0, -1], ready[0, -1:], keys, values


def round_weights(model: Mini) -> Mini:
    """A copy whose matrices have the values of the exported graphs."""
    out: Mini = copy.deepcopy(model).float()
    out.eval()
    _fold(out)
    with torch.no_grad():
        for module in out.modules():
            if (
                isinstance(module, nn.Conv1d | nn.Conv2d | nn.Linear | nn.Embedding)
                and module.weight.numel() >= SMALLEST
            ):
                whole, scale = eight_bits(module.weight.numpy(), 0)
                module.weight.copy_(torch.from_numpy(whole.astype(np.float32) * scale))
    return out


def eight_bits(weight: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A weight as whole numbers (…), and the scale of each output channel (…, 1, …), for their product."""
    others = tuple(at for at in range(weight.ndim) if at != axis % weight.ndim)
    scale = np.abs(weight).max(axis=others, keepdims=True) / np.float32(LEVELS)
    scale[scale == 0] = 1
    return np.rint(weight / scale).astype(np.int8), scale


def export_mini(model: Mini, tokenizer: Path, folder: Path, *, overwrite: bool = False) -> None:
    """Writes a folder for `reeltalk_household.mini.mini`: two graphs, the tokenizer and the sizes.

    Args:
        model: The trained network.
        tokenizer: Its `tokenizer.json`, which is copied.
        folder: The folder to write.
        overwrite: Replace an existing folder.

    Raises:
        BenchmarkError: The folder exists and is not empty, or cannot be written.
        InputError: The tokenizer does not exist, or the files would be larger than `MOST_BYTES`.
    """
    if not tokenizer.is_file():
        raise InputError("no such file", file=tokenizer, hint="train the words first")
    shape, small = model.shape, round_weights(model)
    _spell_out(small)
    frames = torch.zeros(2, 2, shape.height_px, shape.width_px, 3, dtype=torch.uint8)
    vision = _graph(
        Vision(small),
        (frames, torch.zeros(2)),
        inputs=("frames", "pts_s"),
        outputs=("tokens", "letters", "looks", "present"),
        free={name: {0: "N"} for name in ("frames", "pts_s", "tokens", "letters", "looks", "present")},
    )
    past = torch.zeros(shape.layers, shape.heads, 5, shape.head_width)
    # No size is 1 here, because the exporter would take it for a constant.
    decoder = _graph(
        DecoderGraph(small),
        (torch.tensor([2, -1, 3]), torch.zeros(3, shape.width), torch.tensor([0, PEOPLE[0], 0]), past, past),
        inputs=("ids", "seen", "marks", "past_k", "past_v"),
        outputs=("logits", "ready", "keys", "values"),
        free={"ids": {0: "T"}, "seen": {0: "T"}, "marks": {0: "T"}, "past_k": {2: "S"}, "past_v": {2: "S"}}
        | {"keys": {2: "T"}, "values": {2: "T"}},
    )
    files = {
        VISION: vision,
        DECODER: decoder,
        SHAPE: f"{shape.model_dump_json(indent=1)}\n".encode(),
        TOKENIZER: tokenizer.read_bytes(),
    }
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise InputError(
            f"the exported network has {size:,} bytes, more than {MOST_BYTES:,}", file=folder, hint="take a smaller one"
        )
    with writing_directory(folder, overwrite=overwrite) as partial:
        for name, content in files.items():
            write_bytes(partial / name, content)


def _fold(model: nn.Module) -> None:
    for module in list(model.modules()):
        if not isinstance(module, nn.Sequential):
            continue
        for at in range(len(module) - 1):
            if isinstance(module[at], nn.Conv2d) and isinstance(module[at + 1], nn.BatchNorm2d):
                module[at] = fuse_conv_bn_eval(module[at], module[at + 1])
                module[at + 1] = nn.Identity()


def _spell_out(model: nn.Module) -> None:
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.RMSNorm):
                setattr(module, name, RootMeanSquare(child))


def _graph(
    module: nn.Module,
    example: tuple[Tensor, ...],
    *,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    free: dict[str, dict[int, str]],
) -> bytes:
    """A module as an ONNX file with weights of 8 bits; `free` names the variable sizes."""
    written = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter by tracing is deprecated, but the other one needs a package that reeltalk does not depend on.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        torch.onnx.export(
            module.eval(),
            example,
            written,
            dynamo=False,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=free,
        )
    model = onnx.load_model_from_string(written.getvalue())
    _store_small(model.graph)
    onnx.checker.check_model(model, full_check=True)
    out: bytes = model.SerializeToString(deterministic=True)
    return out


def _store_small(graph: onnx.GraphProto) -> None:
    """Replaces matrices by whole numbers and a node that converts them to floats."""
    held = {tensor.name: tensor for tensor in graph.initializer}
    axes: dict[str, int] = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            axis = CHANNEL_AXIS.get((node.op_type, place))
            if axis is None or name not in held or int(np.prod(held[name].dims)) < SMALLEST:
                continue
            turned = any(a.name == "transB" and a.i for a in node.attribute)
            axes.setdefault(name, 0 if turned else axis)
    nodes = []
    for name, axis in axes.items():
        tensor = held[name]
        weight = onnx.numpy_helper.to_array(tensor)
        if weight.dtype != np.float32 or weight.ndim < 2:
            continue
        whole, scale = eight_bits(weight, axis)
        graph.initializer.remove(tensor)
        graph.initializer.append(onnx.numpy_helper.from_array(whole, f"{name}.whole"))
        graph.initializer.append(onnx.numpy_helper.from_array(scale.reshape(-1), f"{name}.scale"))
        nodes.append(
            onnx.helper.make_node(
                "DequantizeLinear", [f"{name}.whole", f"{name}.scale"], [name], axis=axis % weight.ndim
            )
        )
    for node in reversed(nodes):
        graph.node.insert(0, node)
