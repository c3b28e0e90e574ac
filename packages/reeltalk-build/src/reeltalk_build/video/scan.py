"""Computes everything that needs a video's pixels, in one decode and in constant memory."""

import base64
import math
from array import array
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import cv2
import numpy as np

from reeltalk.video.downscale import Downscaler, Picture, small_size
from reeltalk.video.encode import Thumbnails, contact_sheet, jpeg
from reeltalk.video.missing import gaps
from reeltalk.video.picture import as_shown
from reeltalk.video.records import (
    AdaptiveSettings,
    ContentSettings,
    DetectorSettings,
    HashSettings,
    Sample,
    Scan,
    ScanSettings,
    ThresholdSettings,
)
from reeltalk.video.stream import Source, VideoError, open_video
from reeltalk_build.video import measure
from reeltalk_build.video.shots import CutFinder, NoFlash, PySceneDetectFinder, SmallFrame, content_score

DECIMALS: Final = 4
"""Measures are rounded to this many decimals. Beyond them, processors differ."""


def scan_video(path: Path, settings: ScanSettings, *, make_finder: "FinderMaker | None" = None) -> Scan:
    """Scan one file.

    Args:
        path: The video.
        settings: What to look for.
        make_finder: Makes the object that finds cuts, if the detector is not one of PySceneDetect's.

    Returns:
        The results; `reason` if the video cannot be decoded.
    """
    # Processes run in parallel, so threads are not needed.
    cv2.setNumThreads(1)
    try:
        with open_video(path) as source:
            return _Scanner(source, settings, make_finder or pyscenedetect_finder).run()
    except VideoError as error:
        return Scan(reason=str(error))


FinderMaker = Callable[[DetectorSettings, Source], CutFinder]


def pyscenedetect_finder(settings: DetectorSettings, source: Source) -> CutFinder:
    """One of PySceneDetect's detectors for a source."""
    finder = PySceneDetectFinder(
        settings,
        time_base=source.time_base,
        frame_rate=source.frame_rate or Fraction(25),
        start_pts=source.stream.start_time or 0,
    )
    if not isinstance(settings, ContentSettings | AdaptiveSettings) or settings.min_shot_frames is not None:
        return finder
    threshold = settings.threshold if isinstance(settings, ContentSettings) else settings.min_content
    return NoFlash(finder, threshold=threshold, longest_s=settings.min_shot_s, time_base=source.time_base)


class _Looked(NamedTuple):
    """A frame and its small pictures."""

    pts_s: float
    picture: av.VideoFrame
    bgra: Picture
    hsv: Picture


class _Scanner:
    def __init__(self, source: Source, settings: ScanSettings, make_finder: FinderMaker) -> None:
        self.source, self.settings = source, settings
        self.make_finder = make_finder
        # These two look at the picture itself, where a rounding may decide.
        self.small = Downscaler(exact=isinstance(settings.detector, HashSettings | ThresholdSettings))
        self.motion = measure.Motion()
        self.thumbs = Thumbnails()
        self.samples: list[Sample] = []
        self.hashes: list[str] = []
        self.cuts: dict[int, float] = {}
        self.contents: dict[int, float] = {}
        self.next_sample = 0
        self.largest_content = 0.0
        self.key_histogram: Any = None
        self.flow_from: tuple[int, Picture] | None = None

    def run(self) -> Scan:
        finder: CutFinder | None = None
        before: _Looked | None = None
        frames, stopped = 0, False
        shown_s, damaged_s, damaged = array("d"), array("d"), 0
        for pts_s, picture, pts in self.source.frames():
            frames += 1
            shown_s.append(pts_s)
            if picture.is_corrupt or self.source.damaged > damaged:
                damaged_s.append(pts_s)
                damaged = self.source.damaged
            if finder is None:
                finder = self.make_finder(self.settings.detector, self.source)
            bgra = self.small(picture)
            hsv: Picture = cv2.cvtColor(bgra, cv2.COLOR_BGR2HSV)
            content = content_score(hsv, before.hsv if before else None)
            # The frame before is on the screen until this one, so it is the frame for the times in between.
            if before is not None and pts_s > before.pts_s and self.next_sample / self.settings.sample_fps < pts_s:
                self._sample(before, pts_s)
            self.largest_content = max(self.largest_content, content)
            self._cut(finder.push(SmallFrame(pts, bgra, content)), pts, content)
            before = _Looked(pts_s, picture, bgra, hsv)
            if len(self.cuts) >= self.settings.max_shots:
                stopped = True
                break
        assert before is not None
        assert finder is not None
        step_s = float(1 / self.source.frame_rate) if self.source.frame_rate else 0.04
        end_s = before.pts_s + step_s
        if not stopped:
            if self.next_sample / self.settings.sample_fps < end_s:
                self._sample(before, end_s)
            self._cut(finder.finish(), None, 0.0)
        cuts = sorted(self.cuts)
        cuts_s = tuple(map(self.source.seconds, cuts))
        thumbs = self.thumbs.chosen(cuts_s, end_s)
        return Scan(
            cuts_s=cuts_s,
            cut_contents=tuple(round(self.cuts[cut], DECIMALS) for cut in cuts),
            samples=tuple(self.samples),
            hashes=tuple(dict.fromkeys(self.hashes)),
            decoded_s=round(end_s, 6),
            gaps_s=gaps(np.sort(np.frombuffer(shown_s)), damaged_s),
            damaged_end=self.source.damaged > damaged,
            frames=frames,
            stopped=stopped,
            damaged_packets=self.source.damaged,
            sheet=base64.b64encode(contact_sheet(thumbs)).decode() if thumbs else None,
        )

    def _cut(self, cuts: list[int], pts: int | None, content: float) -> None:
        if pts is not None:
            # A detector reports a cut some frames later, so the scores of that many frames are kept.
            self.contents[pts] = content
            if len(self.contents) > 4096:
                self.contents = dict(list(self.contents.items())[-1024:])
        for cut in cuts:
            self.cuts[cut] = self.contents.get(cut, 0.0)

    def _sample(self, seen: _Looked, until_s: float) -> None:
        """Measure the frame that is on the screen at the next time of the grid, and move the grid beyond it."""
        grid = self.next_sample
        self.next_sample = max(grid + 1, math.ceil(until_s * self.settings.sample_fps - 1e-9))
        sharpness = measure.sharpness(seen.picture)
        grey: Picture = cv2.cvtColor(seen.bgra, cv2.COLOR_BGRA2GRAY)
        flow_px = self._flow(grid, grey)
        histogram = measure.histogram(seen.hsv)
        similarity = None
        if self.key_histogram is not None:
            similarity = measure.correlate_histograms(histogram, self.key_histogram)
        dropped = None
        if sharpness < self.settings.min_sharpness:
            dropped = "blurred"
        elif similarity is not None and similarity > self.settings.max_similarity:
            dropped = "alike"
        else:
            self.key_histogram = histogram
            self._keep(seen, grey)
        self.samples.append(
            Sample(
                round(seen.pts_s, 6),
                round(self.largest_content, DECIMALS),
                round(sharpness, DECIMALS),
                None if similarity is None else round(similarity, DECIMALS),
                flow_px,
                dropped,
            )
        )
        self.largest_content = 0.0

    def _flow(self, grid: int, grey: Picture) -> float | None:
        """Flow since the sample one second ago; None between seconds and after a gap."""
        if grid % self.settings.sample_fps:
            return None
        before, self.flow_from = self.flow_from, (grid, grey)
        if before is None or grid - before[0] != self.settings.sample_fps:
            return None
        return round(self.motion(before[1], grey), DECIMALS)

    def _keep(self, seen: _Looked, grey: Picture) -> None:
        look = self.source.look
        if look.changes(seen.picture):
            # Shrunk first, since HDR takes long to map.
            width, height = small_size(look.width_px, look.height_px)
            small = seen.picture.reformat(width, height)
            bgr = as_shown(small, look._replace(width_px=width, height_px=height))[:, :, ::-1]
        else:
            bgr = cv2.cvtColor(seen.bgra, cv2.COLOR_BGRA2BGR)
        self.thumbs.add(seen.pts_s, bgr)
        value = measure.perceptual_hash(grey)
        if value is not None:
            self.hashes.append(value)
        if self.settings.save_frames is not None:
            name = f"{round(seen.pts_s * 1000):09d}.jpg"
            Path(self.settings.save_frames, name).write_bytes(jpeg(self.source.shown(seen.picture)))
