"""Identity metrics of tracking: IDF1 and identity switches, from known boxes and sightings.

References: Ristani et al. 2016, "Performance Measures and a Data Set for Multi-Target, Multi-Camera Tracking"
(arXiv 1609.01775) for IDF1, IDP and IDR; Bernardin and Stiefelhagen 2008 (CLEAR MOT) for switches, whose matching keeps
a pair of the frame before as long as it overlaps.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.schema.knowledge import Box, KnownBox, Sighting
from reeltalk_build.metrics.identity import assign_pairs


def iou_matrix(first: Sequence[Box], second: Sequence[Box]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Intersection over union of each box of one list with each of another: (N, M), 0–1."""
    a, b = _corners(first), _corners(second)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.maximum(high - low, 0.0).prod(axis=2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(axis=1), (b[:, 2:] - b[:, :2]).prod(axis=1)
    result: np.ndarray[tuple[int, int], np.dtype[np.float64]] = common / (area_a[:, None] + area_b[None] - common)
    return result


def _corners(boxes: Sequence[Box]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([(box.left, box.top, box.right, box.bottom) for box in boxes], np.float64).reshape(-1, 4)


MIN_IOU: Final = 0.5
SAME_FRAME_S: Final = 0.001
"""Times that differ by less are those of one frame."""
KEPT: Final = 1000.0
"""Bonus of a pair of the frame before: more than all overlaps together."""


@dataclass(frozen=True)
class IdentityScores:
    """Counts and the rates from them. Sums over videos add counts, never rates."""

    known: int
    """Number of boxes with known identity."""
    found: int
    """Number of sightings in frames with known boxes."""
    matched: int
    """Sightings of a known object under the identity that was assigned to it (IDTP)."""
    detected: int
    """Known boxes that some sighting overlaps enough, whatever its identity."""
    switches: int
    """Number of times that a known object is sighted under another identity than before."""

    @property
    def f1(self) -> float:
        """IDF1, 0–1; 1 if there is nothing to find and nothing was found."""
        return 2 * self.matched / (self.known + self.found) if self.known + self.found else 1.0

    @property
    def precision(self) -> float:
        """IDP: share of the sightings that are matched."""
        return self.matched / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """IDR: share of the known boxes that are matched."""
        return self.matched / self.known if self.known else 1.0

    def __add__(self, other: "IdentityScores") -> "IdentityScores":
        return IdentityScores(
            self.known + other.known,
            self.found + other.found,
            self.matched + other.matched,
            self.detected + other.detected,
            self.switches + other.switches,
        )


def score_identities(
    known: Iterable[KnownBox], sightings: Iterable[Sighting], *, min_iou: float = MIN_IOU
) -> IdentityScores:
    """The scores of sightings against known boxes, summed over videos.

    Only frames with a known box count, since often only some frames are labelled. Classes are not compared.

    Args:
        known: In any order.
        sightings: In any order.
        min_iou: Least overlap of a sighting with a known object.
    """
    frames: defaultdict[str, defaultdict[int, tuple[list[KnownBox], list[Sighting]]]] = defaultdict(
        lambda: defaultdict(lambda: ([], []))
    )
    for box in known:
        frames[box.video_id][_frame(box.pts_s)][0].append(box)
    for sighting in sightings:
        video = frames.get(sighting.video_id)
        if video is not None and (key := _frame(sighting.pts_s)) in video:
            video[key][1].append(sighting)
    total = IdentityScores(0, 0, 0, 0, 0)
    for video_id in sorted(frames):
        total += _score_video([frames[video_id][key] for key in sorted(frames[video_id])], min_iou)
    return total


def _frame(pts_s: float) -> int:
    return round(pts_s / SAME_FRAME_S)


def _score_video(frames: Sequence[tuple[list[KnownBox], list[Sighting]]], min_iou: float) -> IdentityScores:
    together: Counter[tuple[str, str]] = Counter()
    last: dict[str, str] = {}
    in_frame_before: dict[str, str] = {}
    detected = switches = 0
    for boxes, sightings in frames:
        iou = iou_matrix([box.box for box in boxes], [sighting.box for sighting in sightings])
        for row, column in np.argwhere(iou >= min_iou).tolist():
            together[boxes[row].object, sightings[column].entity] += 1
        kept = np.array(
            [[in_frame_before.get(box.object) == sighting.entity for sighting in sightings] for box in boxes], bool
        ).reshape(iou.shape)
        pairs = assign_pairs(np.where(iou >= min_iou, iou + KEPT * kept, 0.0))
        detected += len(pairs)
        in_frame_before = {}
        for row, column in pairs:
            name, entity = boxes[row].object, sightings[column].entity
            switches += last.get(name, entity) != entity
            last[name] = in_frame_before[name] = entity
    names, entities = sorted({name for name, _ in together}), sorted({entity for _, entity in together})
    counts = np.array([[together[name, entity] for entity in entities] for name in names], np.float64)
    matched = sum(int(counts[pair]) for pair in assign_pairs(counts))
    return IdentityScores(
        known=sum(len(boxes) for boxes, _ in frames),
        found=sum(len(sightings) for _, sightings in frames),
        matched=matched,
        detected=detected,
        switches=switches,
    )
