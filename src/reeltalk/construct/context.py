"""What a model is shown of a part of a video: frames as JPEG files, or detected objects as text; and what is said."""

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final

from reeltalk.construct.frames import read_frames
from reeltalk.construct.prompting import VisualContext
from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Executor
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Sighting
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Speech, Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import SIGHTINGS, SPEECH
from reeltalk.video.sampling import uniform

KEPT: Final = 32
"""Parts whose frames are cached. A scene is asked about once for every task; its frames are decoded once."""
MOST_SIGHTINGS: Final = 60
"""Most lines of objects in the text for a model that sees no images."""
MOST_SPEECH_CHARACTERS: Final = 20_000
"""Most characters of the speech of one part, about half an hour of talk."""


class VideoContext:
    """Shows parts of a benchmark's videos to a model. Safe to share among threads.

    Args:
        benchmark: Holds the videos, and the sightings for models that see no images.
        executor: Runs the decoder.
        frames: Number of frames for one part.
        longest_px: Maximum of a frame's longer side in pixels.
        sees_images: False to describe sightings in text and never open a video.
    """

    def __init__(
        self, benchmark: Benchmark, executor: Executor, *, frames: int, longest_px: int, sees_images: bool
    ) -> None:
        self._benchmark, self._executor, self._sees = benchmark, executor, sees_images
        self._frames, self._longest_px = frames, longest_px
        self._lock = Lock()
        self._sightings: dict[str, list[Sighting]] | None = None
        self._speech: Speech | None = None
        self._kept: OrderedDict[tuple[str, tuple[Interval, ...]], VisualContext] = OrderedDict()

    def __call__(self, video: Video, intervals: Sequence[Interval]) -> VisualContext:
        """Frames from inside the intervals, or the objects in them.

        Raises:
            BenchmarkError: The video file is missing or cannot be decoded.
        """
        if not self._sees:
            return VisualContext(objects_text=self._told(video, intervals), speech=self._said(video, intervals))
        key = (video.id, tuple(intervals))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        times = frame_times(intervals, self._frames)
        found = read_frames(
            video_path(self._benchmark, video),
            times,
            executor=self._executor,
            rotation_deg=video.encoding.rotation_deg if video.encoding else 0,
            longest_px=self._longest_px,
        )
        seen = VisualContext(
            images=tuple(frame.jpeg for frame in found),
            times_s=tuple(frame.pts_s for frame in found),
            speech=self._said(video, intervals),
        )
        with self._lock:
            self._kept[key] = seen
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return seen

    def _said(self, video: Video, intervals: Sequence[Interval]) -> str:
        with self._lock:
            if self._speech is None:
                self._speech = Speech(self._benchmark.read(SPEECH))
            speech = self._speech
        return speech_lines(speech.said_in(video.id, intervals))

    def _told(self, video: Video, intervals: Sequence[Interval]) -> str:
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
    """Utterances as lines such as `12.0–14.5 s Anna: Come in.`; of a very long talk only the beginning, which is said.

    Args:
        utterances: In the order of time.
    """
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


def frame_times(intervals: Sequence[Interval], frames: int) -> list[float]:
    """Times in seconds, spread over intervals in proportion to their lengths, at least one in each, ascending."""
    total_s = sum(interval.duration_s for interval in intervals)
    times: set[float] = set()
    for interval in intervals:
        share = interval.duration_s / total_s if total_s else 1 / len(intervals)
        times.update(uniform(interval, frames=max(1, round(frames * share))))
    return sorted(times)


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
