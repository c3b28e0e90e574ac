"""Detectors: the real code on tiny models made here."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import InputError, SettingError
from reeltalk_build.inference import detection
from reeltalk_build.inference.detection import (
    COCO,
    RtDetr,
    Yolo11,
    open_detector,
    resized,
    suppress,
)

onnx = pytest.importorskip("onnx")


def picture(height: int = 90, width: int = 160) -> NDArray[np.uint8]:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)


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


@pytest.mark.parametrize("spec", ["", "rtdetr", "rtdetr:", "yolo12:x.onnx", "known", "yolo11"])
def test_a_name_that_is_no_detector_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match="expected yolo11:PATH, rtdetr:PATH"):
        open_detector(spec)


@pytest.mark.parametrize("kind", sorted(detection.OBJECT_DETECTORS))
def test_a_path_where_nothing_lies_says_where_the_files_come_from(kind: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"nothing lies at .*; .*{detection.OBJECT_DETECTORS[kind].origin[:12]}"):
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
        "from reeltalk_build.inference.detection import Detection\n"
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
