"""Training data of reeltalk-mini: videos of a filmed household at one frame a second, with labels from their graphs.

The labels of frames are only used to train the vision encoder. The network never sees any part of a graph.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.phrases import VERBS
from reeltalk.graph.reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.graph.vocabulary import AGENT, class_of, plain_name
from reeltalk.inference.mini_input import MiniShape, fitted
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import CountProgress
from reeltalk.schema.intervals import no_later
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.documents import read_text
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS
from reeltalk.video.frames import FUNCTION, frame_pixels

SINGLE: Final = ("action", "main", "target", "room", "support", "colour")
"""Labels with one value per frame; index 0 means none."""
SEVERAL: Final = ("held", "visible", "person")
"""Labels with several values per frame."""
LIMITS: Final = Limits(wall_s=300.0, memory_bytes=2 << 30)
Corners = tuple[float, float, float, float]
"""Left, top, right and bottom of a box, as shares of the picture."""


@dataclass(frozen=True)
class Seconds:
    """The labels of a frame, in words."""

    action: str | None = None
    main: str | None = None
    """Class of the object of the action."""
    target: str | None = None
    room: str | None = None
    support: str | None = None
    """The place of an object that is taken or put, such as `in fridge`."""
    colour: str | None = None
    """Colour of the object acted on."""
    held: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    """Looks of the person."""
    person_box: Corners | None = None
    main_box: Corners | None = None
    rest_box: Corners | None = None
    """Box of the object that the first one is taken from, put on, or used with."""
    held_box: Corners | None = None

    @property
    def named(self) -> str:
        """The words for a frame: a person, the act, its objects, the place, the colour, and the held objects."""
        verb = VERBS[self.action][1] if self.action in VERBS else ""
        things = [self.main, self.target, self.room, (self.support or "").rpartition(" ")[2] or None, *self.held]
        colour = (self.colour or "").rpartition("_")[2]
        return " ".join(["person", verb, colour, *(plain_name(thing) for thing in things if thing)])


@dataclass(frozen=True)
class FilmedVideo:
    """A video with its labels."""

    video: Video
    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...]
    times_s: tuple[float, ...]
    labels: tuple[Seconds, ...]
    pictures: Path
    """File of (T, height, width, 3) uint8, for `numpy.load`."""

    def pixels(self) -> NDArray[np.uint8]:
        """The frames, (T, height, width, 3) uint8, as a memory map."""
        return np.asarray(np.load(self.pictures, mmap_mode="r", allow_pickle=False))

    def story(self, first: int = 0, last: int | None = None) -> Story:
        """The events of the clips from `first` to before `last`, in the time of the video."""
        chosen = slice(first, last)
        begins = [clip.interval.start_s for clip in self.clips[chosen] if clip.interval is not None]
        return Story(self.graphs[chosen], begins_s=begins)


def filmed_videos(
    benchmark: Benchmark,
    split: str,
    shape: MiniShape,
    *,
    folder: Path,
    executor: Executor,
    progress: CountProgress | None = None,
) -> list[FilmedVideo]:
    """Returns the videos of a split. Frames are decoded once into a folder, and read from there the next time.

    Args:
        benchmark: A benchmark of `reeltalk world film`.
        split: train, dev or test.
        shape: The size of the network's pictures.
        folder: Stores the frames.
        executor: Runs the decoders.
        progress: Called with the number of finished videos and of all videos.

    Raises:
        BenchmarkError: There are no such videos, a file is missing or cannot be decoded, or they have no graphs.
    """
    videos = [video for video in benchmark.read(VIDEOS) if video.split == split]
    if not videos:
        raise BenchmarkError(f"{benchmark.path} has no videos of split '{split}'; film some: reeltalk world film")
    at_hand = set(benchmark.media.names())
    missing = [video.id for video in videos if video.sha256 not in at_hand or not video.duration_s]
    if missing:
        raise BenchmarkError(f"{benchmark.path} lacks the file of {len(missing):,} videos, as '{missing[0]}'")
    folder.mkdir(parents=True, exist_ok=True)
    targets: dict[str, Path] = {video.id: folder / f"{_name(video, shape)}.npy" for video in videos}
    waiting = [video for video in videos if not targets[video.id].is_file()]
    calls = (_call(benchmark, video, shape) for video in waiting)
    for done, (place, outcome) in enumerate(executor.map(FUNCTION, calls), len(videos) - len(waiting) + 1):
        video = waiting[place]
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the video '{video.id}' cannot be decoded: {outcome}")
        small = np.stack([fitted(picture, shape) for picture in frame_pixels(outcome)])
        partial = targets[video.id].with_suffix(".part.npy")
        np.save(partial, small, allow_pickle=False)
        partial.replace(targets[video.id])
        if progress is not None:
            progress(done, len(videos))
    return list(_read(benchmark, videos, targets, shape))


def _name(video: Video, shape: MiniShape) -> str:
    what = f"{video.sha256} {shape.width_px}x{shape.height_px} {shape.fps:g}"
    return hashlib.sha256(what.encode()).hexdigest()[:24]


def frame_grid(duration_s: float, fps: float) -> list[float]:
    """The times of a video's frames: 0, 1/fps, … before its end."""
    return [n / fps for n in range(max(1, int(np.ceil(duration_s * fps - 1e-6))))]


def _call(benchmark: Benchmark, video: Video, shape: MiniShape) -> Call:
    argument = {
        "path": str(benchmark.media.whole(video.sha256 or "")),
        "times_s": frame_grid(video.duration_s or 0.0, shape.fps),
        "rotation_deg": video.encoding.rotation_deg if video.encoding else 0,
        "longest_px": 640,
    }
    return Call(argument, LIMITS)


def _read(
    benchmark: Benchmark, videos: Sequence[Video], targets: dict[str, Path], shape: MiniShape
) -> Iterator[FilmedVideo]:
    wanted = {video.id for video in videos}
    clips: dict[str, list[Clip]] = {video.id: [] for video in videos}
    for clip in benchmark.read(CLIPS):
        if clip.video_id in wanted and clip.interval is not None:
            clips[clip.video_id].append(clip)
    boxes: dict[tuple[str, int], dict[str, Corners]] = {}
    for known in benchmark.read(KNOWN_BOXES):
        if known.video_id in wanted and known.object is not None:
            box = known.box
            there = boxes.setdefault((known.video_id, round(known.pts_s * shape.fps)), {})
            there[known.object] = (box.left, box.top, box.right, box.bottom)
    for video in videos:
        ordered = sorted(clips[video.id], key=lambda clip: clip.interval.start_s if clip.interval else 0.0)
        graphs = []
        for clip in ordered:
            if (name := f"{GRAPHS}/{clip.id}.nq") not in benchmark.manifest.files:
                raise BenchmarkError(f"{benchmark.path} has no graph of clip '{clip.id}'")
            path = benchmark.file(name)
            graphs.append(read_activity(read_text(path), file=path, name=clip.id))
        times = frame_grid(video.duration_s or 0.0, shape.fps)
        begins = [clip.interval.start_s for clip in ordered if clip.interval is not None]
        labels = _labels(
            Story(graphs, begins_s=begins), times, [boxes.get((video.id, n), {}) for n in range(len(times))]
        )
        yield FilmedVideo(video, tuple(ordered), tuple(graphs), tuple(times), labels, targets[video.id])


def _labels(story: Story, times: Sequence[float], boxes: Sequence[Mapping[str, Corners]]) -> tuple[Seconds, ...]:
    held: list[str] = []
    found: list[Seconds] = []
    events = list(story.events)
    person = tuple(story.attributes.get(AGENT, ()))
    done = 0
    room: str | None = None
    for number, time_s in enumerate(times):
        while done < len(events) and (end := events[done].interval) is not None and no_later(end.end_s, time_s):
            _hold(held, events[done].action, events[done].main)
            room = events[done].to_room or room
            done += 1
        event = events[done] if done < len(events) else events[-1]
        interval = event.interval
        late = interval is not None and no_later((interval.start_s + interval.end_s) / 2, time_s)
        where = (event.to_room if late else event.from_room) or event.to_room or room
        support, rest = None, event.targets[0] if event.targets else None
        if event.main is not None and event.action in ("grab", "put", "putIn"):
            found_on = (story.support_before if event.action == "grab" else story.support_after)(event, event.main)
            if found_on is not None:
                rest = found_on[0]
                support = f"{'in' if found_on[1] else 'on'} {class_of(rest)}"
        colours = story.attributes.get(event.main or "", ())
        found.append(
            Seconds(
                action=event.action,
                main=class_of(event.main) if event.main else None,
                target=class_of(event.targets[0]) if event.targets else None,
                room=class_of(where) if where else None,
                support=support,
                colour=colours[0] if colours else None,
                held=tuple(sorted({class_of(name) for name in held})),
                visible=tuple(sorted({class_of(name) for name in boxes[number] if name != AGENT})),
                person=person,
                person_box=boxes[number].get(AGENT),
                main_box=boxes[number].get(event.main or ""),
                rest_box=boxes[number].get(rest or ""),
                held_box=next((boxes[number][name] for name in held if name in boxes[number]), None),
            )
        )
    return tuple(found)


def _hold(held: list[str], action: str, main: str | None) -> None:
    if main is None:
        return
    if action == "grab" and main not in held:
        held.append(main)
    elif action in ("put", "putIn") and main in held:
        held.remove(main)


@dataclass(frozen=True)
class LabelWords:
    """The possible values of each label, in a fixed order."""

    words: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, videos: Sequence[FilmedVideo]) -> "LabelWords":
        """All values that occur in some videos."""
        found: dict[str, set[str]] = {name: set() for name in (*SINGLE, *SEVERAL)}
        for video in videos:
            for second in video.labels:
                for name in SINGLE:
                    value = getattr(second, name)
                    if value is not None:
                        found[name].add(value)
                for name in SEVERAL:
                    found[name].update(getattr(second, name))
        return cls({name: tuple(sorted(words)) for name, words in found.items()})

    def numbers(self, video: FilmedVideo) -> dict[str, NDArray[np.int64] | NDArray[np.float32]]:
        """Labels as numbers: an index (T,) for one value, -1 if it is unknown; (T, W) of 0 and 1 for several values."""
        numbers: dict[str, NDArray[np.int64] | NDArray[np.float32]] = {}
        for name in SINGLE:
            place: dict[str | None, int] = {word: n for n, word in enumerate(self.words[name], 1)}
            place[None] = 0
            numbers[name] = np.array([place.get(getattr(second, name), -1) for second in video.labels], np.int64)
        for name in SEVERAL:
            column = {word: n for n, word in enumerate(self.words[name])}
            rows = np.zeros((len(video.labels), len(column)), np.float32)
            for row, second in zip(rows, video.labels, strict=True):
                for word in getattr(second, name):
                    if word in column:
                        row[column[word]] = 1.0
            numbers[name] = rows
        return numbers
