"""What a model is shown of a part of a video: frames as JPEG files, or detected objects as text; and what is said."""

import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from threading import Lock
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Executor
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Sighting
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Speech, Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import FRAMES, SIGHTINGS, SPEECH
from reeltalk.video.sampling import pick_evenly, uniform
from reeltalk_build.construct.frames import FrameJpeg, read_frames
from reeltalk_build.construct.prompting import UNSEEN, VisualContext

FRAMES_BY_ROOT: Final = 1.5
"""Frames of a calm part, by the root of its seconds: 5 of 10 s, 9 of 30 s, 12 of 60 s."""
FEWEST_FRAMES: Final = 3
"""Fewest frames of a part, however short it is, if the most that is allowed is not less."""
JUDGE_DENSITY: Final = 1.4
"""A judge gets this many times the frames of the writer."""
CALM_PX: Final = 6.0
"""Mean optical flow in a second, in pixels of a picture 256 wide, above which a part gets more frames."""
MOST_PACE: Final = 2.0
"""Most times the frames of a calm part."""
FEWEST_WORDS: Final = 2
"""A file name with fewer words of three letters is no title, unless they are Chinese."""
CACHED_PARTS: Final = 32
"""Parts whose frames are cached. A scene is asked about once for every task; its frames are decoded once."""
MOST_SIGHTINGS: Final = 60
"""Most lines of objects in the text for a model that sees no images."""
FRAMES_INSIDE: Final = 3
"""Frames that a judge sees of each stretch that a turn rests on, at least; a short one gets a denser look."""
MOST_SPEECH_CHARACTERS: Final = 20_000
"""Most characters of the speech of one part, about half an hour of talk."""


class VideoContext:
    """Shows parts of a benchmark's videos to a model. Safe to share among threads.

    It gets at most `frames` of a part, `denser` times as many for a judge, or sightings as text if it sees no images.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        executor: Executor,
        *,
        frames: int,
        longest_px: int,
        sees_images: bool,
        denser: float = 1.0,
    ) -> None:
        self._benchmark, self._executor, self._sees = benchmark, executor, sees_images
        self._frames, self._longest_px, self._denser = frames, longest_px, denser
        self._flows: dict[str, list[tuple[float, float]]] | None = None
        self._lock = Lock()
        self._sightings: dict[str, list[Sighting]] | None = None
        self._speech: Speech | None = None
        self._cached: OrderedDict[tuple[str, tuple[Interval, ...]], VisualContext] = OrderedDict()

    def __call__(
        self, video: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = ()
    ) -> VisualContext:
        """Frames from inside the intervals, or the objects in them, or why there are none: `VisualContext.unseen`.

        Of each stretch that turns rest on, `FRAMES_INSIDE` frames at least are shown, as far as `frames` more allow.

        Raises:
            BenchmarkError: The benchmark has no file of any video.
        """
        seen = self._whole(video, intervals)
        times = closer_times(stretches, seen.times_s, self._frames) if seen.images else []
        if not times:
            return seen
        found, unseen = self._read(video, times)
        new = [frame for frame in {frame.pts_s: frame for frame in found}.values() if frame.pts_s not in seen.times_s]
        return replace(
            seen,
            images=(*seen.images, *(frame.jpeg for frame in new)),
            times_s=(*seen.times_s, *(frame.pts_s for frame in new)),
            closer=len(new),
            unseen=unseen,
        )

    def _whole(self, video: Video, intervals: Sequence[Interval]) -> VisualContext:
        if not self._sees:
            return VisualContext(
                objects_text=self._describe_objects(video, intervals),
                title=title_of(video),
                speech=self._read_speech(video, intervals),
            )
        key = (video.id, tuple(intervals))
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        flows = [self._flow(video, interval) for interval in intervals]
        times = frame_times(intervals, self._frames, flows_px=flows, denser=self._denser)
        found, unseen = self._read(video, times)
        seen = VisualContext(
            images=tuple(frame.jpeg for frame in found),
            times_s=tuple(frame.pts_s for frame in found),
            title=title_of(video),
            speech=self._read_speech(video, intervals),
            unseen=unseen,
        )
        with self._lock:
            self._cached[key] = seen
            if len(self._cached) > CACHED_PARTS:
                self._cached.popitem(last=False)
        return seen

    def _read(self, video: Video, times_s: Sequence[float]) -> tuple[list[FrameJpeg], str]:
        """Frames at some times, and why there are none."""
        try:
            path = video_path(self._benchmark, video)
            return read_frames(path, times_s, executor=self._executor, longest_px=self._longest_px), ""
        except BenchmarkError as error:
            if not any(self._benchmark.media.names()):
                raise
            return [], f"{UNSEEN}{error}"

    def _read_speech(self, video: Video, intervals: Sequence[Interval]) -> str:
        with self._lock:
            if self._speech is None:
                self._speech = Speech(self._benchmark.read(SPEECH))
            speech = self._speech
        return speech_lines(speech.spoken_in(video.id, intervals))

    def _flow(self, video: Video, interval: Interval) -> float | None:
        """Mean optical flow in an interval; None if it was not measured."""
        with self._lock:
            if self._flows is None:
                self._flows = defaultdict(list)
                for frame in self._benchmark.read(FRAMES):
                    if frame.flow_px is not None:
                        self._flows[frame.video_id].append((frame.pts_s, frame.flow_px))
        inside = [px for pts_s, px in self._flows.get(video.id, ()) if interval.start_s <= pts_s < interval.end_s]
        return fmean(inside) if inside else None

    def _describe_objects(self, video: Video, intervals: Sequence[Interval]) -> str:
        with self._lock:
            if self._sightings is None:
                self._sightings = defaultdict(list)
                for sighting in self._benchmark.read(SIGHTINGS):
                    self._sightings[sighting.video_id].append(sighting)
        inside = [
            sighting
            for sighting in self._sightings.get(video.id, ())
            if any(interval.start_s <= sighting.pts_s < interval.end_s for interval in intervals)
        ]
        lines = [f"{s.pts_s:.1f} s: {s.caption or s.class_name}" for s in sorted(inside, key=lambda s: s.pts_s)]
        step = max(1, -(-len(lines) // MOST_SIGHTINGS))
        return "\n".join(islice(lines, 0, None, step))


def speech_lines(utterances: Sequence[Utterance]) -> str:
    """Utterances as lines such as `12.0–14.5 s Anna: Come in.`; of a very long talk the beginning and a count."""
    lines: list[str] = []
    left = MOST_SPEECH_CHARACTERS
    for number, spoken in enumerate(utterances):
        line = f"{spoken.interval.start_s:.1f}–{spoken.interval.end_s:.1f} s {spoken.line}"
        left -= len(line)
        if left < 0:
            lines.append(f"(… {len(utterances) - number:,} more)")
            break
        lines.append(line)
    return "\n".join(lines)


def title_of(video: Video) -> str:
    """The title in the name of a video's file, if it has words, and the category that its source gives it."""
    words = [word for word in re.split(r"[\W_]+", Path(video.file or "").stem) if word]
    plain = [word for word in words if word.isalpha() and len(word) >= 3]
    is_title = len(plain) >= FEWEST_WORDS or any(not word.isascii() for word in plain)
    return "\n".join(filter(None, (" ".join(words) if is_title else "", video.category)))


def frame_count(duration_s: float, *, most: int, flow_px: float | None = None, denser: float = 1.0) -> int:
    """Number of frames that show a part: by its length, and more where much moves.

    `flow_px` is the mean optical flow in a second, in pixels of a picture 256 wide, if it is known.
    """
    pace = min(MOST_PACE, max(1.0, (flow_px or 0.0) / CALM_PX))
    wanted = max(FEWEST_FRAMES, math.ceil(FRAMES_BY_ROOT * math.sqrt(duration_s) * pace))
    return max(1, math.ceil(min(most, wanted) * denser))


def frame_times(
    intervals: Sequence[Interval], most: int, *, flows_px: Sequence[float | None] = (), denser: float = 1.0
) -> list[float]:
    """Times of the frames that show some parts together, in seconds, ascending, with at least one in each part.

    Together the parts get as many as one part of their length. Each is shown some of the frames that show it alone.
    """
    flows = flows_px or [None] * len(intervals)
    own = [
        uniform(interval, frames=frame_count(interval.duration_s, most=most, flow_px=flow_px, denser=denser))
        for interval, flow_px in zip(intervals, flows, strict=True)
    ]
    known = [flow_px for flow_px in flows if flow_px is not None]
    together = frame_count(
        sum(interval.duration_s for interval in intervals),
        most=most,
        flow_px=fmean(known) if known else None,
        denser=denser,
    )
    share = min(1.0, together / max(1, sum(map(len, own))))
    return sorted({time_s for times in own for time_s in pick_evenly(times, max(1, round(len(times) * share)))})


def closer_times(stretches: Sequence[Interval], shown_s: Sequence[float], most: int) -> list[float]:
    """Times of up to `most` further frames, so that each stretch has `FRAMES_INSIDE`; the shortest stretches first."""
    found: list[float] = []
    for stretch in sorted(set(stretches), key=lambda stretch: (stretch.duration_s, stretch.start_s)):
        inside = sum(map(stretch.reaches, (*shown_s, *found)))
        found += uniform(stretch, frames=FRAMES_INSIDE - inside) if inside < FRAMES_INSIDE else []
    return sorted(set(found[:most]))


def video_path(benchmark: Benchmark, video: Video) -> Path:
    """Path of a video's file in the media store.

    Raises:
        BenchmarkError: The file is not in the benchmark.
    """
    if video.sha256 is not None and video.sha256 in set(benchmark.media.names()):
        return benchmark.media.whole(video.sha256)
    raise BenchmarkError(
        f"the file of video {video.id!r} is not in {benchmark.path}; bring it with 'reeltalk attach' or "
        "'reeltalk media pull', curate with --media copy, or choose a writer that needs no video"
    )
