"""Finds cuts while a video is decoded, with PySceneDetect's detectors, fed frame by frame.

ContentDetector and AdaptiveDetector are PySceneDetect's own, except for the arithmetic of the score, which gives the
same numbers in a fraction of the time, and for flashes, which do not cut unless the shortest shot is given in frames.
HashDetector and ThresholdDetector are used unchanged. TransNetV2 has the same interface, in
`reeltalk_build.inference.transnet`.
"""

from collections import deque
from fractions import Fraction
from typing import NamedTuple, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray
from scenedetect import AdaptiveDetector, ContentDetector, FrameTimecode, HashDetector, ThresholdDetector
from scenedetect.common import Timecode, framerate_to_fraction
from scenedetect.detector import SceneDetector

from reeltalk.video.downscale import Picture
from reeltalk.video.records import (
    AdaptiveSettings,
    ContentSettings,
    DetectorSettings,
    HashSettings,
    ThresholdSettings,
)


class SmallFrame(NamedTuple):
    """The part of a frame that a detector needs."""

    pts: int
    """Presentation time stamp from the stream."""
    bgra: Picture
    """(H, W, 4) uint8, made by `reeltalk.video.downscale`."""
    content: float
    """PySceneDetect's content score against the frame before; 0 for the first."""


class CutFinder(Protocol):
    """Takes frames in order and reports cuts, some frames later."""

    def push(self, frame: SmallFrame) -> list[int]:
        """Cuts that are now certain, as time stamps of the first frame of the new shot."""
        ...

    def finish(self) -> list[int]:
        """Cuts that became certain at the end."""
        ...


def content_score(hsv: Picture, before: Picture | None) -> float:
    """PySceneDetect's content score with its default weights: mean absolute difference of hue, saturation and value.

    Args:
        hsv: (H, W, 3) uint8, hue in 0–179 as in OpenCV.
        before: The frame before, or None for the first.

    Returns:
        0–255; bit for bit what ContentDetector computes from the same pictures.
    """
    if before is None:
        return 0.0
    # Sums of integers below 2^53 are exact in any order.
    hue, saturation, value, _ = cv2.sumElems(cv2.absdiff(hsv, before))
    pixels = float(hsv.shape[0] * hsv.shape[1])
    return float((hue / pixels + saturation / pixels + value / pixels) / 3.0)


def tiny_rgb(bgra: Picture) -> Picture:
    """Resizes a small picture for TransNetV2: (27, 48, 3) uint8 RGB."""
    rgb: Picture = cv2.cvtColor(cv2.resize(bgra, (48, 27), interpolation=cv2.INTER_AREA), cv2.COLOR_BGRA2RGB)
    return rgb


class _Scored:
    """A detector that receives the score in place of the picture."""

    def _calculate_frame_score(self, timecode: FrameTimecode, frame_img: NDArray[np.uint8]) -> float:
        return float(frame_img[0])


class _Content(_Scored, ContentDetector):
    pass


class _Adaptive(_Scored, AdaptiveDetector):
    pass


class PySceneDetectFinder:
    """A detector of PySceneDetect. Its time stamps are those of PySceneDetect's PyAV back end.

    Args:
        settings: Selects the detector and its settings.
        time_base: Unit of the time stamps in seconds.
        frame_rate: The stream's rate.
        start_pts: The stream's own start time.
    """

    def __init__(
        self, settings: DetectorSettings, *, time_base: Fraction, frame_rate: Fraction, start_pts: int
    ) -> None:
        self._time_base, self._rate, self._start_pts = time_base, framerate_to_fraction(frame_rate), start_pts
        self._scores = isinstance(settings, ContentSettings | AdaptiveSettings)
        self._detector = _detector(settings)
        self._last_pts: int | None = None
        self._content = settings if isinstance(settings, ContentSettings) else None
        self._awake_from: int | None = None
        """The time stamp from which the detector must be asked; None before the first frame."""
        self._asleep = False

    def push(self, frame: SmallFrame) -> list[int]:
        self._last_pts = frame.pts
        if self._content is not None and self._sleeps(frame, self._content):
            return []
        seen = np.array([frame.content]) if self._scores else cv2.cvtColor(frame.bgra, cv2.COLOR_BGRA2BGR)
        return [self._pts(cut) for cut in self._detector.process_frame(self._timecode(frame.pts), seen)]

    def finish(self) -> list[int]:
        if self._last_pts is None:
            return []
        return [self._pts(cut) for cut in self._detector.post_process(self._timecode(self._last_pts))]

    def _sleeps(self, frame: SmallFrame, settings: ContentSettings) -> bool:
        """True if ContentDetector would do nothing with this frame."""
        if frame.content >= settings.threshold or self._awake_from is None:
            self._awake_from, self._asleep = frame.pts, False
            return False
        if self._asleep:
            return True
        apart_s = float((frame.pts - self._awake_from) * self._time_base)
        longest = settings.min_scene_len
        longest_s = longest if isinstance(longest, float) else longest / float(self._rate)
        self._asleep = apart_s > longest_s + 1 / float(self._rate)
        return False

    def _timecode(self, pts: int) -> FrameTimecode:
        return FrameTimecode(Timecode(pts=pts - self._start_pts, time_base=self._time_base), fps=self._rate)

    def _pts(self, cut: FrameTimecode) -> int:
        # ThresholdDetector counts in frames. All others return the time that they were given.
        pts = cut.pts if cut.time_base == self._time_base else None
        if pts is None:
            pts = round(Fraction(cut.frame_num) / self._rate / self._time_base)
        return int(pts) + self._start_pts


class NoFlash:
    """Lets a finder that goes by scores pass over flashes: after one, the picture is what it was before.

    Args:
        finder: Gets each frame `longest_s` later.
        threshold: Two pictures whose content score is less are the same picture.
        longest_s: Longest flash.
        time_base: Unit of the time stamps in seconds.
    """

    def __init__(self, finder: CutFinder, *, threshold: float, longest_s: float, time_base: Fraction) -> None:
        self._finder, self._threshold = finder, threshold
        self._longest = round(longest_s / time_base)
        self._held: deque[SmallFrame] = deque()
        self._jumps: deque[tuple[int, Picture]] = deque()
        """Time stamps of recent jumps, with the picture before each."""
        self._before: Picture | None = None

    def push(self, frame: SmallFrame) -> list[int]:
        self._held.append(frame)
        while self._jumps and frame.pts - self._jumps[0][0] > self._longest:
            self._jumps.popleft()
        if frame.content >= self._threshold and self._before is not None:
            seen = _hsv(frame.bgra)
            start = next((pts for pts, before in self._jumps if content_score(seen, before) < self._threshold), None)
            if start is None:
                self._jumps.append((frame.pts, _hsv(self._before)))
            else:
                self._pass_over(start)
        self._before = frame.bgra
        found: list[int] = []
        while frame.pts - self._held[0].pts > self._longest:
            found += self._finder.push(self._held.popleft())
        return found

    def finish(self) -> list[int]:
        found: list[int] = []
        while self._held:
            found += self._finder.push(self._held.popleft())
        return found + self._finder.finish()

    def _pass_over(self, start: int) -> None:
        # The scores of a flash become that of the frame before it.
        calm = 0.0
        for place, frame in enumerate(self._held):
            if frame.pts < start:
                calm = frame.content
            elif frame.content >= self._threshold:
                self._held[place] = frame._replace(content=calm)
        while self._jumps and self._jumps[-1][0] >= start:
            self._jumps.pop()


def _hsv(bgra: Picture) -> Picture:
    hsv: Picture = cv2.cvtColor(bgra, cv2.COLOR_BGR2HSV)
    return hsv


def _detector(settings: DetectorSettings) -> SceneDetector:
    match settings:
        case ContentSettings():
            return _Content(threshold=settings.threshold, min_scene_len=settings.min_scene_len)
        case AdaptiveSettings():
            return _Adaptive(
                adaptive_threshold=settings.threshold,
                min_scene_len=settings.min_scene_len,
                window_width=settings.window_frames,
                min_content_val=settings.min_content,
            )
        case HashSettings():
            return HashDetector(threshold=settings.threshold, min_scene_len=settings.min_scene_len)
        case ThresholdSettings():
            return ThresholdDetector(threshold=settings.threshold, min_scene_len=settings.min_scene_len)
        case _:
            raise ValueError(f"{settings.detector} is no detector of PySceneDetect")
