"""Detects objects in a picture. A detector is any object that returns boxes with a class and a confidence.

Two kinds run here, each from files that you provide: YOLO11 as ultralytics exports it to ONNX, and RT-DETR (Zhao et
al. 2023, arXiv 2304.08069) as transformers saves it.
"""

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import InputError, MissingExtraError, SettingError
from reeltalk.extension import PYTHON_PREFIX, made_of
from reeltalk.schema.knowledge import Box
from reeltalk.store.manifest import hash_file

Picture = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""
Values = NDArray[np.float32]

MIN_CONFIDENCE: Final = 0.25
"""Ultralytics' default."""
NMS_IOU: Final = 0.5
"""If two boxes of one class overlap by more than this, the less certain one is dropped."""
YOLO_SIDE: Final = 640
YOLO_GREY: Final = 114
"""Fill value of the letterbox, as in training."""

COCO: Final = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
    "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow", "elephant",
    "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard",
    "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket", "bottle",
    "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange", "broccoli",
    "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch", "potted plant", "bed", "dining table", "toilet",
    "tv", "laptop", "mouse", "remote", "keyboard", "cell phone", "microwave", "oven", "toaster", "sink",
    "refrigerator", "book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush",
)  # fmt: skip
"""The 80 classes of COCO (Lin et al. 2014, arXiv 1405.0312) in the order of the detectors' outputs."""


class Detection(NamedTuple):
    """One object in one picture."""

    box: Box
    class_name: str
    confidence: float
    """0–1."""


class Detector(Protocol):
    """Finds objects. The same picture gives the same detections."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> str:
        """Name, hash of the weights and thresholds: everything that decides the result."""
        ...

    def detect(self, rgb: Picture) -> list[Detection]:
        """The objects in a picture, the most certain first.

        Args:
            rgb: (H, W, 3) uint8 RGB.
        """
        ...


def open_detector(spec: str) -> Detector:
    """Loads the detector that `KIND:PATH` names.

    Args:
        spec: `yolo11:PATH`, an ONNX file; `rtdetr:PATH`, a folder; or `python:MODULE:CLASS`, a class of your own that
            is a `Detector`.

    Raises:
        SettingError: The name has another form, or the path does not exist.
        InputError: The files are not a model of that kind.
        MissingExtraError: A required extra is not installed.
    """
    kind, colon, place = spec.partition(":")
    if spec.startswith(PYTHON_PREFIX):
        detector: Detector = made_of(spec.removeprefix(PYTHON_PREFIX), needs=("name", "signature", "detect")).object
        return detector
    kinds = ", ".join([*(f"{name}:PATH" for name in OBJECT_DETECTORS), f"{PYTHON_PREFIX}FILE.py:CLASS"])
    if kind not in OBJECT_DETECTORS or not colon or not place:
        raise SettingError(f"--detector {spec!r}: expected {kinds}")
    path = Path(place).expanduser()
    if not path.exists():
        raise SettingError(f"--detector {spec!r}: nothing lies at {path}; {OBJECT_DETECTORS[kind].origin}")
    return OBJECT_DETECTORS[kind](path)


class Yolo11:
    """YOLO11 as `yolo export format=onnx` of ultralytics writes it: 1 × 3 × 640 × 640 in, 1 × (4 + classes) × N out.

    The class names are those in the file's metadata, else COCO's.

    Args:
        path: The ONNX file.
        min_confidence: Less certain detections are dropped.

    Raises:
        InputError: The file is not such a model.
    """

    name: Final = "yolo11"
    origin: ClassVar[str] = "'yolo export model=yolo11n.pt format=onnx' of ultralytics writes the ONNX file"

    def __init__(self, path: Path, *, min_confidence: float = MIN_CONFIDENCE) -> None:
        self.min_confidence = min_confidence
        self.signature: Final = _signature(self.name, _hash(path), min_confidence)
        self._session = _session(path)
        entry = self._session.get_inputs()[0]
        if list(entry.shape[1:2]) != [3] or len(entry.shape) != 4:
            raise InputError("it takes no 1 × 3 × 640 × 640 picture", file=path, value=entry.shape)
        self._input = entry.name
        # A model that was exported with dynamic axes has words in place of their sizes.
        self._side = entry.shape[2] if isinstance(entry.shape[2], int) else YOLO_SIDE
        outputs = self._session.get_outputs()[0].shape
        if len(outputs) != 3:
            raise InputError("it gives no 1 × 84 × 8400 table", file=path, value=outputs)
        self._classes = _class_names(self._session.get_modelmeta().custom_metadata_map.get("names"), path)

    def detect(self, rgb: Picture) -> list[Detection]:
        height, width = rgb.shape[:2]
        scale = min(self._side / height, self._side / width)
        inner = max(1, round(height * scale)), max(1, round(width * scale))
        top, left = (self._side - inner[0]) // 2, (self._side - inner[1]) // 2
        square = np.full((self._side, self._side, 3), YOLO_GREY, np.float32)
        square[top : top + inner[0], left : left + inner[1]] = resized(rgb, *inner)
        picture = np.ascontiguousarray(square.transpose(2, 0, 1))[None] / np.float32(255)
        # Shape: (N, 4 + classes) – centre, width and height in pixels of the square, then a score for each class.
        rows = np.asarray(self._session.run(None, {self._input: picture})[0][0], np.float32).T
        scores = rows[:, 4:]
        best = scores.argmax(axis=1)
        centre, half = rows[:, :2], rows[:, 2:4] / 2
        corners = np.concatenate([centre - half, centre + half], axis=1)
        offset, size = np.array([left, top] * 2, np.float32), np.array([inner[1], inner[0]] * 2, np.float32)
        return _detections(
            (corners - offset) / size, scores[np.arange(len(rows)), best], best, self._classes, self.min_confidence
        )


class RtDetr:
    """RT-DETR from a folder as `save_pretrained` writes it; needs torch and transformers, and no torchvision.

    Args:
        path: The folder.
        min_confidence: Less certain detections are dropped.

    Raises:
        InputError: The folder does not hold such a model.
        MissingExtraError: The `train` extra is not installed.
    """

    name: Final = "rtdetr"
    origin: ClassVar[str] = "expected the folder of a model such as PekingU/rtdetr_r18vd, as transformers saves it"

    def __init__(self, path: Path, *, min_confidence: float = MIN_CONFIDENCE) -> None:
        try:
            import torch
            from transformers import RTDetrForObjectDetection, RTDetrV2ForObjectDetection
        except ImportError:
            raise MissingExtraError("RT-DETR", extra="vision", of="reeltalk-build") from None
        weights = path / "model.safetensors"
        if not weights.is_file():
            raise InputError("no model.safetensors here", file=path, hint=self.origin)
        self.min_confidence = min_confidence
        self.signature: Final = _signature(self.name, _hash(weights), min_confidence)
        prepared = _settings_of(path / "preprocessor_config.json")
        size = prepared.get("size") or {}
        self._height, self._width = int(size.get("height", 640)), int(size.get("width", 640))
        self._mean = np.array(prepared.get("image_mean") or (0, 0, 0), np.float32)
        self._deviation = np.array(prepared.get("image_std") or (1, 1, 1), np.float32)
        self._normalises = bool(prepared.get("do_normalize", False))
        version = _settings_of(path / "config.json").get("model_type")
        kind: Any = RTDetrV2ForObjectDetection if version == "rt_detr_v2" else RTDetrForObjectDetection
        try:
            self._model: Any = kind.from_pretrained(path, local_files_only=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"RT-DETR cannot be loaded: {str(error).splitlines()[0][:120]}", file=path) from None
        self._model.train(False)
        self._torch = torch
        names = self._model.config.id2label
        self._classes = tuple(str(names[index]) for index in sorted(names))

    def detect(self, rgb: Picture) -> list[Detection]:
        picture = resized(rgb, self._height, self._width) / np.float32(255)
        if self._normalises:
            picture = (picture - self._mean) / self._deviation
        with self._torch.inference_mode():
            found = self._model(pixel_values=self._torch.from_numpy(picture.transpose(2, 0, 1)[None].copy()))
        # Shapes: (queries, classes) and (queries, 4) – centre, width and height as shares of the picture.
        scores = self._torch.sigmoid(found.logits[0]).numpy()
        boxes = found.pred_boxes[0].numpy()
        corners = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)
        best = scores.argmax(axis=1)
        # It is trained to return each object once, so no suppression is needed.
        return _detections(
            corners, scores[np.arange(len(best)), best], best, self._classes, self.min_confidence, most_iou=1.0
        )


OBJECT_DETECTORS: Final[dict[str, type[Yolo11 | RtDetr]]] = {"yolo11": Yolo11, "rtdetr": RtDetr}
"""Kinds of detectors, and the class that opens the files of each."""


def resized(rgb: Picture, height: int, width: int) -> Values:
    """A picture in another size, bilinear without smoothing, as OpenCV's INTER_LINEAR.

    Args:
        rgb: (H, W, 3) uint8.
        height: In pixels.
        width: In pixels.

    Returns:
        (height, width, 3) float32, 0–255.
    """

    def places(size: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Values]:
        at = np.clip((np.arange(target) + 0.5) * size / target - 0.5, 0, size - 1)
        low = at.astype(np.int64)
        return low, np.minimum(low + 1, size - 1), (at - low).astype(np.float32)

    top, bottom, down = places(rgb.shape[0], height)
    left, right, across = places(rgb.shape[1], width)
    rows = rgb[top] * (1 - down)[:, None, None] + rgb[bottom] * down[:, None, None]
    picture = rows[:, left] * (1 - across)[None, :, None] + rows[:, right] * across[None, :, None]
    return np.asarray(picture, np.float32)


def suppress(boxes: Values, scores: Values, classes: NDArray[np.int64], *, most_iou: float = NMS_IOU) -> list[int]:
    """Positions of the boxes to keep, the best first. A box that overlaps a better one of its class is dropped.

    Args:
        boxes: (N, 4) left, top, right, bottom.
        scores: (N,).
        classes: (N,).
        most_iou: Greatest allowed intersection over union.
    """
    kept: list[int] = []
    area = np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)
    for index in np.argsort(-scores, kind="stable").tolist():
        rivals = [other for other in kept if classes[other] == classes[index]]
        if rivals:
            low = np.maximum(boxes[rivals, :2], boxes[index, :2])
            high = np.minimum(boxes[rivals, 2:], boxes[index, 2:])
            common = np.prod(np.maximum(high - low, 0), axis=1)
            if (common > most_iou * (area[rivals] + area[index] - common)).any():
                continue
        kept.append(index)
    return kept


def _detections(
    boxes: Values,
    scores: Values,
    classes: NDArray[np.int64],
    names: Sequence[str],
    min_confidence: float,
    *,
    most_iou: float = NMS_IOU,
) -> list[Detection]:
    # A comparison with NaN is false, so NaN is dropped.
    certain = (scores >= min_confidence) & np.isfinite(boxes).all(axis=1) & (classes >= 0) & (classes < len(names))
    boxes, scores, classes = np.clip(boxes[certain], 0, 1), scores[certain], classes[certain]
    solid = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    boxes, scores, classes = boxes[solid], scores[solid], classes[solid]
    found = []
    for index in suppress(boxes, scores, classes, most_iou=most_iou):
        left, top, right, bottom = (float(value) for value in boxes[index])
        box = Box(left=left, top=top, right=right, bottom=bottom)
        found.append(Detection(box, names[int(classes[index])], min(1.0, float(scores[index]))))
    return found


def _session(model: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Its warnings concern the exporter only.
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"not an ONNX model that runs: {str(error).splitlines()[0][:120]}", file=model) from None


def _hash(file: Path) -> str:
    try:
        return hash_file(file)[0]
    except OSError as error:
        raise InputError(f"it cannot be read ({error.strerror})", file=file) from None


def _signature(name: str, digest: str, min_confidence: float) -> str:
    return f"{name}-{digest[:8]},confidence={min_confidence:g}"


def _settings_of(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError:
        return {}
    except (ValueError, RecursionError):
        raise InputError("not a JSON document", file=path) from None
    return found if isinstance(found, dict) else {}


def _class_names(text: str | None, path: Path) -> tuple[str, ...]:
    """Names from `{0: 'person', …}`, which ultralytics writes as Python, others as JSON."""
    if not text:
        return COCO
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise InputError("its names of classes cannot be read", file=path, place="names", value=text) from None
    if isinstance(found, Mapping):
        try:
            by_number = {int(key): str(value) for key, value in found.items()}
        except (ValueError, TypeError):
            raise InputError("classes must be numbered", file=path, place="names", value=text) from None
        if sorted(by_number) != list(range(len(by_number))):
            raise InputError("classes must be numbered from 0", file=path, place="names", value=text)
        return tuple(by_number[number] for number in range(len(by_number)))
    if isinstance(found, list):
        return tuple(str(name) for name in found)
    raise InputError("its names of classes cannot be read", file=path, place="names", value=text)
