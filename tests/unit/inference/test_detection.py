"""Detectors: the real code on tiny models made here, and on the real CenterNet where its files are given."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from reeltalk.errors import InputError, SettingError
from reeltalk.inference import detection
from reeltalk.inference.detection import COCO, CenterNet, Detector, RtDetr, Yolo11, open_detector, resized, suppress
from reeltalk.inference.graph_model import convert

onnx = pytest.importorskip("onnx")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def picture(height: int = 90, width: int = 160) -> NDArray[np.uint8]:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)


# TensorFlow.js graphs


class Graph:
    """A TensorFlow.js graph model, written as the converter of TensorFlow writes it."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.weights: list[dict[str, Any]] = []
        self.content = b""

    def const(self, name: str, values: Any, dtype: str = "float32") -> str:
        array = np.asarray(values, dtype)
        entry: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": dtype}
        if dtype == "float32":
            array = array.astype(np.float16)
            entry["quantization"] = {"dtype": "float16", "original_dtype": "float32"}
        self.weights.append(entry)
        self.content += array.tobytes()
        return self.node(name, "Const")

    def node(self, name: str, op: str, *inputs: str, **attr: Any) -> str:
        self.nodes.append({"name": name, "op": op, "input": list(inputs), "attr": attr})
        return name

    def write(self, folder: Path, name: str = "centernet") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.bin").write_bytes(self.content)
        document = {
            "format": "graph-model",
            "modelTopology": {"node": self.nodes},
            "weightsManifest": [{"paths": [f"{name}.bin"], "weights": self.weights}],
        }
        (folder / f"{name}.json").write_text(json.dumps(document))
        return folder / f"{name}.json"


def text(value: str) -> dict[str, str]:
    return {"s": base64.b64encode(value.encode()).decode()}


def ints(*values: int) -> dict[str, Any]:
    return {"list": {"i": [str(value) for value in values]}}


def images(graph: Graph, *shape: int) -> str:
    return graph.node("images", "Placeholder", shape={"shape": {"dim": [{"size": str(size)} for size in shape]}})


def run(path: Path, output: str, value: NDArray[Any]) -> NDArray[Any]:
    session = onnxruntime.InferenceSession(convert(path, outputs=[output]), providers=["CPUExecutionProvider"])
    result: NDArray[Any] = session.run([output], {session.get_inputs()[0].name: value})[0]
    return result


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_is_that_of_tensorflow(tmp_path: Path, padding: str, stride: int) -> None:
    generator = np.random.default_rng(1)
    kernel = generator.normal(size=(3, 3, 2, 4)).astype(np.float16).astype(np.float32)
    bias = generator.normal(size=4).astype(np.float16).astype(np.float32)
    value = generator.normal(size=(1, 7, 8, 2)).astype(np.float32)
    graph = Graph()
    images(graph, 1, 7, 8, 2)
    graph.const("kernel", kernel)
    graph.const("bias", bias)
    fused = {"list": {"s": [text("BiasAdd")["s"], text("Relu")["s"]]}}
    window = {"padding": text(padding), "strides": ints(1, stride, stride, 1)}
    graph.node("out", "_FusedConv2D", "images", "kernel", "bias", fused_ops=fused, **window)
    found = run(graph.write(tmp_path), "out", value)
    assert found == pytest.approx(np.maximum(convolved(value, kernel, stride, padding) + bias, 0), abs=1e-4)


def convolved(value: NDArray[Any], kernel: NDArray[Any], stride: int, padding: str) -> NDArray[Any]:
    """TensorFlow's definition: SAME pads so that the output has ceil(size / stride), more at the end."""
    size = kernel.shape[0]
    if padding == "SAME":
        total = [max((-(-n // stride) - 1) * stride + size - n, 0) for n in value.shape[1:3]]
        value = np.pad(value, [(0, 0), *((t // 2, t - t // 2) for t in total), (0, 0)])
    rows, columns = ((n - size) // stride + 1 for n in value.shape[1:3])
    out = np.zeros((1, rows, columns, kernel.shape[3]))
    for r in range(rows):
        for c in range(columns):
            part = value[0, r * stride : r * stride + size, c * stride : c * stride + size]
            out[0, r, c] = np.einsum("hwi,hwio->o", part, kernel)
    return out


def test_every_other_operation_gives_what_numpy_gives(tmp_path: Path) -> None:
    value = np.random.default_rng(2).normal(size=(1, 4, 6, 2)).astype(np.float32)
    graph = Graph()
    images(graph, 1, 4, 6, 2)
    shapes = {"axes": [1, 2], "flat": [1, 48], "big": [8, 12], "k": 5, "last": -1, "one": 1, "two": 2, "zero": 0}
    for name, values in shapes.items():
        graph.const(name, values, "int32")
    depth = graph.const("depth", np.arange(18).reshape(3, 3, 2, 1) / 8)
    begin, end, step = (graph.const(n, v, "int32") for n, v in (("b", [0, 0, 1]), ("e", [0, 0, 2]), ("s", [1, 1, 1])))
    same = {"padding": text("SAME"), "strides": ints(1, 1, 1, 1)}
    to = {"DstT": {"type": "DT_FLOAT"}}
    graph.node("depthwise", "DepthwiseConv2dNative", "images", depth, **same)
    graph.node("mean", "Mean", "images", "axes", keep_dims={"b": True})
    graph.node("pool", "MaxPool", "images", ksize=ints(1, 3, 3, 1), **same)
    graph.node("equal", "Equal", "images", "pool")
    graph.node("peak", "Cast", "equal", **to)
    graph.node("peaks", "Mul", "images", "peak")
    graph.node("row", "Reshape", "peaks", "flat")
    graph.node("top", "TopKV2", "row", "k")
    graph.node("div", "FloorDiv", "top:1", "two")
    graph.node("mod", "FloorMod", "top:1", "two")
    for name in ("div", "mod"):
        graph.node(f"{name}/f", "Cast", name, **to)
        graph.node(f"{name}/x", "ExpandDims", f"{name}/f", "two")
    graph.node("scores", "ExpandDims", "top", "two")
    graph.node("table", "ConcatV2", "div/x", "mod/x", "scores", "last")
    graph.node("part", "StridedSlice", "table", begin, end, step, begin_mask={"i": "3"}, end_mask={"i": "3"})
    graph.node("resized", "ResizeBilinear", "images", "big")
    graph.node("six", "Relu6", "images")
    graph.node("sigmoid", "Sigmoid", "images")
    graph.node("gathered", "GatherV2", "images", "one", "two", batch_dims={"i": "0"})
    path = graph.write(tmp_path)
    assert run(path, "mean", value) == pytest.approx(value.mean(axis=(1, 2), keepdims=True), abs=1e-6)
    assert run(path, "six", value * 9) == pytest.approx(np.clip(value * 9, 0, 6))
    assert run(path, "sigmoid", value) == pytest.approx(1 / (1 + np.exp(-value)), abs=1e-6)
    assert run(path, "gathered", value) == pytest.approx(value[:, :, 1])
    kernel = np.zeros((3, 3, 2, 2), np.float32)
    kernel[:, :, [0, 1], [0, 1]] = np.arange(18).reshape(3, 3, 2) / 8
    assert run(path, "depthwise", value) == pytest.approx(convolved(value, kernel, 1, "SAME"), abs=1e-4)
    padded = np.pad(value, [(0, 0), (1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).max(axis=(-2, -1))
    assert run(path, "pool", value) == pytest.approx(windows)
    flat = np.where(value == windows, value, 0).reshape(-1)
    order = np.argsort(-flat, kind="stable")[:5]
    table = np.stack([order // 2, order % 2, flat[order]], axis=1)[None]
    assert run(path, "table", value) == pytest.approx(table)
    assert run(path, "part", value) == pytest.approx(table[:, :, 1:2])
    # TensorFlow without half pixels: the point i of the result lies at i × size / target of the source.
    assert run(path, "resized", value)[0, ::2, ::2] == pytest.approx(value[0], abs=1e-6)
    assert run(path, "resized", value)[0, 0, 1] == pytest.approx(value[0, 0, :2].mean(axis=0), abs=1e-6)


def test_what_is_not_converted_is_named(tmp_path: Path) -> None:
    graph = Graph()
    images(graph, 1, 4, 4, 3)
    graph.node("out", "Einsum", "images")
    with pytest.raises(InputError, match=r"do not convert, got 'Einsum'.*at out"):
        convert(graph.write(tmp_path), outputs=["out"])
    graph.nodes[-1] = {"name": "out", "op": "Relu", "input": ["nothing"]}
    with pytest.raises(InputError, match="malformed"):
        convert(graph.write(tmp_path), outputs=["out"])
    graph.nodes[-1] = {"name": "out", "op": "Relu", "input": ["out"]}
    with pytest.raises(InputError, match="cycle"):
        convert(graph.write(tmp_path), outputs=["out"])
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(InputError, match=r"no TensorFlow\.js graph model"):
        convert(tmp_path / "other.json", outputs=["out"])


def test_weights_that_do_not_fit_are_an_input_error(tmp_path: Path) -> None:
    graph = Graph()
    images(graph, 1, 4, 4, 3)
    graph.const("many", np.ones(40))
    graph.node("out", "Mul", "images", "many")
    path = graph.write(tmp_path)
    (tmp_path / "centernet.bin").write_bytes(b"123")
    with pytest.raises(InputError, match="do not fit"):
        convert(path, outputs=["out"])
    document = json.loads(path.read_text())
    document["weightsManifest"][0]["paths"] = ["../../etc/passwd"]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="beside the graph"):
        convert(path, outputs=["out"])


# CenterNet


def tiny_centernet(folder: Path) -> Path:
    """A graph that always finds the same three rows, whatever it is shown."""
    graph = Graph()
    images(graph, 1, 8, 8, 3)
    rows = [[0, 0, 4, 8, 0.75, 0], [0, 0, 4, 7, 0.5, 0], [2, 2, 8, 8, 0.25, 2], [2, 2, 8, 8, 0.125, 3]]
    graph.const("rows", [rows])
    for name, values in (("axes", [1, 2, 3]), ("shape", [1, 1, 1])):
        graph.const(name, values, "int32")
    graph.const("nought", 0.0)
    graph.node("mean", "Mean", "images", "axes")
    graph.node("cube", "Reshape", "mean", "shape")
    graph.node("nothing", "Mul", "cube", "nought")
    graph.node("tower_0/detections", "Add", "rows", "nothing")
    return graph.write(folder)


def test_centernet_from_a_folder_or_its_document(tmp_path: Path) -> None:
    path = tiny_centernet(tmp_path / "models")
    detector: Detector = CenterNet(path)
    found = detector.detect(picture())
    assert [(d.class_name, round(d.confidence, 3)) for d in found] == [("person", 0.75), ("car", 0.25)]
    assert (found[0].box.left, found[0].box.top, found[0].box.right, found[0].box.bottom) == (0, 0, 0.5, 1)
    cached = list((tmp_path / "cache/reeltalk").glob("centernet-*.onnx"))
    assert len(cached) == 1
    again = open_detector(f"centernet:{path.parent}")
    assert again.signature == detector.signature
    assert again.detect(picture()) == found
    stricter = CenterNet(path, min_confidence=0.6)
    assert len(stricter.detect(picture())) == 1
    assert stricter.signature != detector.signature


def test_the_real_centernet_sees_a_man_on_a_bicycle(clips: dict[str, Path]) -> None:
    place = os.environ.get("REELTALK_CENTERNET")
    if not place:
        pytest.skip("set REELTALK_CENTERNET to package/models of @vladmandic/human 3.3.6 to test the real network")
    from reeltalk.video.frames import frames_at
    from reeltalk.video.stream import rgb

    detector = open_detector(f"centernet:{place}")
    frame = next(iter(frames_at(clips["bikes"], [5.0])))
    found = {d.class_name: d for d in reversed(detector.detect(rgb(frame.picture)))}
    assert {"person", "bicycle"} <= set(found)
    assert found["person"].confidence > 0.4
    assert 0.5 < found["person"].box.left < found["person"].box.right < 0.8


# YOLO11


def yolo(path: Path, rows: NDArray[np.float32], names: str | None = None) -> Path:
    """An ONNX file with YOLO11's input and output that gives `rows`, (4 + classes, N), whatever it is shown."""
    helper = onnx.helper
    table = onnx.numpy_helper.from_array(rows[None], "rows")
    nought = onnx.numpy_helper.from_array(np.zeros(1, np.float32), "nought")
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "nought"], ["nothing"]),
        helper.make_node("Add", ["rows", "nothing"], ["output0"]),
    ]
    kind = onnx.TensorProto.FLOAT
    entry = helper.make_tensor_value_info("images", kind, [1, 3, 640, 640])
    result = helper.make_tensor_value_info("output0", kind, [1, *rows.shape])
    graph = helper.make_graph(nodes, "yolo", [entry], [result], [table, nought])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    if names is not None:
        helper.set_model_props(model, {"names": names})
    path.write_bytes(model.SerializeToString())
    return path


def test_yolo11_undoes_the_letterbox_and_suppresses_by_class(tmp_path: Path) -> None:
    rows = np.zeros((6, 4), np.float32)
    # The upper left quarter of a picture of 160 × 80: 320 × 160 pixels of a band that begins at y = 160.
    rows[:, 0] = [160, 240, 320, 160, 0.9, 0]
    rows[:, 1] = [162, 240, 320, 160, 0.6, 0]
    rows[:, 2] = [160, 240, 320, 160, 0, 0.5]
    rows[:, 3] = [500, 400, 20, 20, 0.1, 0.1]
    detector = Yolo11(yolo(tmp_path / "y.onnx", rows, "{0: 'cup', 1: 'it''s'}"))
    found = detector.detect(picture(80, 160))
    assert [(d.class_name, round(d.confidence, 3)) for d in found] == [("cup", 0.9), ("its", 0.5)]
    box = found[0].box
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((0, 0, 0.5, 0.5), abs=1e-6)
    tall = detector.detect(picture(160, 80))[0].box
    assert (tall.left, tall.right) == pytest.approx((0, 0.5), abs=1e-6)


def test_names_of_classes_are_read_and_never_run(tmp_path: Path) -> None:
    rows = np.zeros((84, 1), np.float32)
    rows[:5, 0] = [320, 320, 100, 100, 0.9]
    assert Yolo11(yolo(tmp_path / "a.onnx", rows)).detect(picture())[0].class_name == COCO[0]
    by_json = Yolo11(yolo(tmp_path / "b.onnx", rows, json.dumps({str(n): f"class {n}" for n in range(80)})))
    assert by_json.detect(picture())[0].class_name == "class 0"
    for names in ("__import__('os').system('true')", "{'a': 1}", "{3: 'x'}", "7"):
        with pytest.raises(InputError):
            Yolo11(yolo(tmp_path / "c.onnx", rows, names))


def test_a_file_that_is_no_such_model_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "no.onnx").write_bytes(b"not a network")
    with pytest.raises(InputError, match="not an ONNX model"):
        Yolo11(tmp_path / "no.onnx")


# RT-DETR


@pytest.fixture(scope="module")
def rtdetr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    backbone = transformers.RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = transformers.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_in_channels=[12, 16, 20], encoder_ffn_dim=16,
        encoder_attention_heads=2, d_model=16, num_queries=12, decoder_in_channels=[16, 16, 16], decoder_ffn_dim=16,
        decoder_layers=1, decoder_attention_heads=2, num_denoising=0, encoder_layers=1, anchor_image_size=None,
        id2label={0: "cat", 1: "dog", 2: "bird"},
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("rtdetr")
    transformers.RTDetrForObjectDetection(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": {"height": 64, "width": 96}}))
    return folder


def test_rtdetr_gives_what_its_network_gives(rtdetr: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    detector = RtDetr(rtdetr, min_confidence=0.0)
    shown = picture(64, 96)
    found = detector.detect(shown)
    model = transformers.RTDetrForObjectDetection.from_pretrained(rtdetr)
    model.train(False)
    with torch.no_grad():
        out = model(pixel_values=torch.tensor(shown).permute(2, 0, 1)[None].float() / 255)
    scores, classes = torch.sigmoid(out.logits[0]).max(dim=1)
    order = torch.argsort(scores, descending=True)
    assert [d.confidence for d in found] == pytest.approx(scores[order].tolist(), abs=1e-4)
    assert found[0].class_name == ("cat", "dog", "bird")[int(classes[order[0]])]
    x, y, w, h = out.pred_boxes[0][order[0]].tolist()
    expected = np.clip([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 0, 1)
    box = found[0].box
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx(expected, abs=1e-4)
    assert open_detector(f"rtdetr:{rtdetr}").name == "rtdetr"


def test_a_folder_without_rtdetr_is_an_input_error(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=r"no model\.safetensors"):
        RtDetr(tmp_path)


# What all share


@pytest.mark.parametrize("spec", ["", "centernet", "centernet:", "yolo12:x.onnx", "known", "yolo11"])
def test_a_name_that_is_no_detector_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match="expected centernet:PATH, yolo11:PATH, rtdetr:PATH"):
        open_detector(spec)


@pytest.mark.parametrize("kind", sorted(detection.DETECTORS))
def test_a_path_where_nothing_lies_says_where_the_files_come_from(kind: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"nothing lies at .*; .*{detection._ORIGINS[kind][:12]}"):
        open_detector(f"{kind}:{tmp_path / 'absent'}")


@pytest.mark.parametrize("size", [(40, 30), (90, 160), (181, 333)])
def test_resizing_is_opencv_s(size: tuple[int, int]) -> None:
    shown = picture()
    expected = cv2.resize(shown.astype(np.float32), size[::-1], interpolation=cv2.INTER_LINEAR)
    assert np.abs(resized(shown, *size) - expected).max() < 0.02


def test_suppression_keeps_the_most_certain_of_each_class() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 0, 1, 1], [0, 0, 0.3, 0.3]], np.float32)
    scores = np.array([0.5, 0.9, 0.4, 0.3], np.float32)
    assert suppress(boxes, scores, np.array([1, 1, 2, 1])) == [1, 2, 3]


def test_numbers_that_are_none_and_empty_boxes_are_left_out() -> None:
    boxes = np.array([[0, 0, np.nan, 1], [0.5, 0.5, 0.5, 0.9], [-3, -3, -1, -1], [-1, -1, 9, 9]], np.float32)
    scores = np.array([0.9, 0.9, 0.9, np.nan], np.float32)
    assert detection._detections(boxes, scores, np.zeros(4, np.int64), COCO, 0.1) == []
    whole = detection._detections(boxes[3:], np.ones(1, np.float32), np.zeros(1, np.int64), COCO, 0.1)
    assert whole[0].box.area == 1


def test_a_class_of_ones_own_is_a_detector(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from reeltalk.inference.detection import Detection\n"
        "from reeltalk.schema.knowledge import Box\n"
        "class Whole:\n"
        "    name = signature = 'whole'\n"
        "    def detect(self, rgb):\n"
        "        return [Detection(Box(left=0, top=0, right=1, bottom=1), 'picture', 1.0)]\n"
        "class Blind:\n"
        "    name = signature = 'blind'\n",
        encoding="utf-8",
    )
    (found,) = open_detector(f"python:{tmp_path / 'mine.py'}:Whole").detect(picture(90, 160))
    assert (found.box.right, found.class_name) == (1.0, "picture")
    with pytest.raises(SettingError, match="the class has no detect"):
        open_detector(f"python:{tmp_path / 'mine.py'}:Blind")
