"""Converts a TensorFlow.js graph model to ONNX. Supports only the operations in a MobileNetV3 CenterNet.

The format: a JSON document with the graph in `modelTopology.node` and, in `weightsManifest`, names, shapes and types of
the weights that lie one after the other in binary files next to it (tensorflow/tfjs-converter, `model.json`).
"""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import InputError, MissingExtraError
from reeltalk.store.foreign import open_file

OPSET: Final = 18
IR_VERSION: Final = 10
"""The opset of onnx 1.16, so that a slightly older onnxruntime can read the files."""
CONVERTER: Final = 2
"""Version of this converter. Results of earlier versions in the cache are not used."""
LARGEST_WEIGHTS_BYTES: Final = 1 << 30

Array = NDArray[Any]


def convert(path: Path, *, outputs: Sequence[str]) -> bytes:
    """Converts the graph to an ONNX model. Pictures keep TensorFlow's layout, (N, H, W, C).

    Args:
        path: The JSON document. Its weights lie in the same folder.
        outputs: Names of the output nodes.

    Raises:
        InputError: The file is not such a model, or uses an unsupported operation.
        MissingExtraError: The `detect` extra is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("converting a TensorFlow.js graph", extra="detect") from None
    document, nodes = _read(path)
    converter = _Converter(path, onnx.helper, nodes, _weights(path, document))
    try:
        for name in outputs:
            converter.value(name)
    except (KeyError, IndexError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"a node of the graph is malformed ({type(error).__name__}: {error})", file=path) from None
    helper: Any = onnx.helper
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    used = {source for node in converter.made for source in node.input}
    constants = [tensor for tensor in converter.constants if tensor.name in used]
    graph = helper.make_graph(converter.made, "graph", converter.inputs, results, constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="reeltalk"
    )
    done: bytes = model.SerializeToString()
    return done


def files_of(path: Path) -> list[Path]:
    """The document and the files of its weights.

    Raises:
        InputError: The file is not such a model.
    """
    document, _ = _read(path)
    return [path, *_weight_files(path, document)]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    try:
        with open_file(path) as stream:
            document = json.load(stream)
        nodes = {str(node["name"]): node for node in document["modelTopology"]["node"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            "no TensorFlow.js graph model", file=path, hint="expected a model.json and its weights"
        ) from None
    return document, nodes


def _weight_files(path: Path, document: dict[str, Any]) -> list[Path]:
    try:
        names = [str(name) for group in document["weightsManifest"] for name in group["paths"]]
    except (KeyError, TypeError):
        raise InputError("it lists no weights", file=path, place="weightsManifest") from None
    if any(Path(name).name != name for name in names):
        raise InputError("weights must lie beside the graph", file=path, place="weightsManifest", value=names)
    return [path.with_name(name) for name in names]


def _weights(path: Path, document: dict[str, Any]) -> dict[str, Array]:
    content = b""
    for file in _weight_files(path, document):
        try:
            if file.stat().st_size + len(content) > LARGEST_WEIGHTS_BYTES:
                raise InputError("weights of more than 1 GiB", file=file)
            with open_file(file) as stream:
                content += stream.read()
        except OSError as error:
            raise InputError(f"weights cannot be read ({error.strerror})", file=file) from None
    found, at = {}, 0
    try:
        for group in document["weightsManifest"]:
            for weight in group["weights"]:
                stored = weight.get("quantization", {}).get("dtype", weight["dtype"])
                if stored not in ("float16", "float32", "int32"):
                    raise InputError("weights of this type are not converted", file=path, value=stored)
                shape = [int(size) for size in weight["shape"]]
                dtype = np.dtype(stored).newbyteorder("<")
                count = int(np.prod(shape, dtype=np.int64)) if shape else 1
                values = np.frombuffer(content, dtype, count=count, offset=at)
                found[str(weight["name"])] = values.astype(np.dtype(weight["dtype"])).reshape(shape)
                at += values.nbytes
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"its weights do not fit its list of them ({error})", file=path) from None
    return found


class _Converter:
    """Walks from the outputs to the inputs and writes one or more ONNX nodes for each node."""

    def __init__(self, path: Path, helper: Any, nodes: dict[str, dict[str, Any]], weights: dict[str, Array]) -> None:
        self.path, self.helper, self.nodes, self.weights = path, helper, nodes, weights
        self.made: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self._done: set[str] = set()
        self._written: set[str] = set()

    def value(self, name: str) -> str:
        """Returns the ONNX name of a value, after writing its node and all nodes before it."""
        node_name, _, port = name.partition(":")
        waiting = [node_name]
        # No recursion: a graph is deeper than Python's stack allows.
        while waiting:
            current = waiting[-1]
            if current in self._done:
                waiting.pop()
                continue
            before = [source.partition(":")[0] for source in self._inputs_of(self.nodes[current])]
            open_ones = [source for source in before if source not in self._done]
            if len(waiting) > len(self.nodes):
                raise InputError("the graph has a cycle", file=self.path)
            if open_ones:
                waiting += open_ones[:1]
                continue
            self._write(self.nodes[current])
            self._done.add(current)
        return node_name if port in ("", "0") else f"{node_name}:{port}"

    @staticmethod
    def _inputs_of(node: dict[str, Any]) -> list[str]:
        return [str(name) for name in node.get("input", ()) if not str(name).startswith("^")]

    def _write(self, node: dict[str, Any]) -> None:
        op = str(node["op"])
        write = _OPERATIONS.get(op)
        if write is None:
            raise InputError("an operation that we do not convert", file=self.path, place=node["name"], value=op)
        sources = [name.removesuffix(":0") for name in self._inputs_of(node)]
        write(self, str(node["name"]), sources, node.get("attr", {}))

    def add(self, op: str, sources: Sequence[str], target: str, **attributes: Any) -> str:
        """Write one ONNX node with one output. Returns its name."""
        self.made.append(self.helper.make_node(op, list(sources), [target], **attributes))
        return target

    def constant(self, name: str, values: Array) -> str:
        """Write a constant once. Returns its name."""
        if name not in self._written:
            self._written.add(name)
            element = self.helper.np_dtype_to_tensor_dtype(values.dtype)
            raw = np.ascontiguousarray(values).tobytes()
            self.constants.append(self.helper.make_tensor(name, element, values.shape, raw, raw=True))
        return name

    def known(self, name: str) -> Array:
        """A value that must be a constant."""
        if name not in self.weights:
            raise InputError("a value that only a run gives is not converted here", file=self.path, place=name)
        return self.weights[name]

    def integers(self, name: str) -> str:
        """A constant of shapes, axes or counts, as the 64-bit vectors that ONNX needs."""
        return self.constant(f"{name}/int64", np.atleast_1d(self.known(name)).astype(np.int64))

    def unlike(self, name: str, what: str, value: object) -> InputError:
        """The error for an unsupported attribute."""
        return InputError(f"{what} that we do not convert", file=self.path, place=name, value=value)


_Write = Callable[[_Converter, str, list[str], dict[str, Any]], None]


def _text(value: str) -> str:
    return base64.b64decode(value).decode()


def _const(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    c.constant(name, c.known(name))


def _placeholder(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    shape = [int(dim["size"]) for dim in attr["shape"]["shape"]["dim"]]
    c.inputs.append(c.helper.make_tensor_value_info(name, c.helper.np_dtype_to_tensor_dtype(np.dtype("f4")), shape))


def _simple(op: str, **attributes: Any) -> _Write:
    def write(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
        c.add(op, sources, name, **attributes)

    return write


def _relu6(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    low, high = c.constant(f"{name}/zero", np.array(0, np.float32)), c.constant(f"{name}/six", np.array(6, np.float32))
    c.add("Clip", [sources[0], low, high], name)


def _window(c: _Converter, name: str, attr: dict[str, Any]) -> dict[str, Any]:
    """Strides, dilations and padding of a convolution or pooling over (N, H, W, C)."""
    if (layout := _text(attr.get("data_format", {}).get("s", "TkhXQw=="))) != "NHWC":
        raise c.unlike(name, "a layout", layout)
    padding = _text(attr["padding"]["s"])
    if padding not in ("SAME", "VALID"):
        raise c.unlike(name, "a padding", padding)
    strides = [int(i) for i in attr["strides"]["list"]["i"]][1:3]
    dilations = [int(i) for i in attr.get("dilations", {}).get("list", {}).get("i", (1, 1, 1, 1))][1:3]
    if dilations != [1, 1]:
        raise c.unlike(name, "a dilation", dilations)
    return {"strides": strides, "auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID"}


def _across(c: _Converter, name: str, source: str) -> str:
    return c.add("Transpose", [source], f"{name}/nchw", perm=[0, 3, 1, 2])


def _convolution(*, depthwise: bool) -> _Write:
    def write(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
        window, kernel = _window(c, name, attr), c.known(sources[1])
        fused = [_text(s) for s in attr.get("fused_ops", {}).get("list", {}).get("s", ())]
        if fused[:1] not in ([], ["BiasAdd"]) or any(op not in ("Relu", "Relu6") for op in fused[1:]) or len(fused) > 2:
            raise c.unlike(name, "a fusion", fused)
        height, width, channels, last = kernel.shape
        if depthwise:
            # (H, W, C, M) to (C × M, 1, H, W): each channel has its own kernels.
            turned = kernel.transpose(2, 3, 0, 1).reshape(channels * last, 1, height, width)
            window["group"] = channels
        else:
            turned = kernel.transpose(3, 2, 0, 1)
        inputs = [_across(c, name, sources[0]), c.constant(f"{sources[1]}/oihw", turned)]
        if fused:
            inputs.append(c.constant(sources[2], c.known(sources[2])))
        made = c.add("Conv", inputs, f"{name}/conv", kernel_shape=[height, width], **window)
        if len(fused) == 2:
            if fused[1] == "Relu":
                made = c.add("Relu", [made], f"{name}/relu")
            else:
                _relu6(c, f"{name}/relu6", [made], {})
                made = f"{name}/relu6"
        c.add("Transpose", [made], name, perm=[0, 2, 3, 1])

    return write


def _max_pool(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    kernel = [int(i) for i in attr["ksize"]["list"]["i"]][1:3]
    made = c.add(
        "MaxPool", [_across(c, name, sources[0])], f"{name}/pool", kernel_shape=kernel, **_window(c, name, attr)
    )
    c.add("Transpose", [made], name, perm=[0, 2, 3, 1])


def _mean(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    keep = bool(attr.get("keep_dims", {}).get("b", False))
    c.add("ReduceMean", [sources[0], c.integers(sources[1])], name, keepdims=int(keep))


def _concat(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    c.add("Concat", sources[:-1], name, axis=int(c.known(sources[-1]).item()))


def _reshape(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    c.add("Reshape", [sources[0], c.integers(sources[1])], name)


def _expand(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    c.add("Unsqueeze", [sources[0], c.integers(sources[1])], name)


def _cast(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    kinds = {"DT_FLOAT": np.float32, "DT_INT32": np.int32}
    if (kind := attr["DstT"]["type"]) not in kinds:
        raise c.unlike(name, "a type", kind)
    c.add("Cast", sources, name, to=c.helper.np_dtype_to_tensor_dtype(np.dtype(kinds[kind])))


def _slice(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    masks = {mask: int(attr.get(f"{mask}_mask", {}).get("i", 0)) for mask in ("begin", "end")}
    for mask in ("ellipsis", "new_axis", "shrink_axis"):
        if int(attr.get(f"{mask}_mask", {}).get("i", 0)):
            raise c.unlike(name, "a slice", f"{mask}_mask")
    begin, end, step = (c.known(source).astype(np.int64) for source in sources[1:4])
    if (step < 1).any():
        raise c.unlike(name, "a slice", step.tolist())
    axes = np.arange(len(begin), dtype=np.int64)
    # A bit of a mask means "from the start" or "to the end" of its axis.
    begin = np.where(masks["begin"] >> axes & 1, 0, begin)
    end = np.where(masks["end"] >> axes & 1, np.iinfo(np.int64).max, end)
    parts = [c.constant(f"{name}/{word}", values) for word, values in
             (("begin", begin), ("end", end), ("axes", axes), ("step", step))]  # fmt: skip
    c.add("Slice", [sources[0], *parts], name)


def _resize(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    if attr.get("align_corners", {}).get("b") or attr.get("half_pixel_centers", {}).get("b"):
        raise c.unlike(name, "a resizing", "align_corners or half_pixel_centers")
    # Give the sizes of all four axes, not of two with `axes`: onnxruntime 1.31 mixes those up when it moves a
    # transposition past the node.
    across = _across(c, name, sources[0])
    kept = c.add("Shape", [across], f"{name}/kept", start=0, end=2)
    sizes = c.add("Concat", [kept, c.integers(sources[1])], f"{name}/sizes", axis=0)
    made = c.add(
        "Resize", [across, "", "", sizes], f"{name}/resized",
        mode="linear", coordinate_transformation_mode="asymmetric",
    )  # fmt: skip
    c.add("Transpose", [made], name, perm=[0, 2, 3, 1])


def _top_k(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    c.made.append(
        c.helper.make_node("TopK", [sources[0], c.integers(sources[1])], [name, f"{name}:1/int64"], axis=-1, sorted=1)
    )
    c.add("Cast", [f"{name}:1/int64"], f"{name}:1", to=c.helper.np_dtype_to_tensor_dtype(np.dtype(np.int32)))


def _gather(c: _Converter, name: str, sources: list[str], attr: dict[str, Any]) -> None:
    if int(attr.get("batch_dims", {}).get("i", 0)):
        raise c.unlike(name, "a gathering", "batch_dims")
    c.add("Gather", sources[:2], name, axis=int(c.known(sources[2]).item()))


_OPERATIONS: Final[dict[str, _Write]] = {
    "Const": _const,
    "Placeholder": _placeholder,
    "_FusedConv2D": _convolution(depthwise=False),
    "Conv2D": _convolution(depthwise=False),
    "FusedDepthwiseConv2dNative": _convolution(depthwise=True),
    "DepthwiseConv2dNative": _convolution(depthwise=True),
    "MaxPool": _max_pool,
    "Mean": _mean,
    "ConcatV2": _concat,
    "Reshape": _reshape,
    "ExpandDims": _expand,
    "Cast": _cast,
    "StridedSlice": _slice,
    "ResizeBilinear": _resize,
    "TopKV2": _top_k,
    "GatherV2": _gather,
    "Add": _simple("Add"),
    "Sub": _simple("Sub"),
    "Mul": _simple("Mul"),
    # The only integers that are divided here are indices, which are not negative.
    "FloorDiv": _simple("Div"),
    "FloorMod": _simple("Mod"),
    "Equal": _simple("Equal"),
    "Relu": _simple("Relu"),
    "Relu6": _relu6,
    "Sigmoid": _simple("Sigmoid"),
    "Identity": _simple("Identity"),
}
