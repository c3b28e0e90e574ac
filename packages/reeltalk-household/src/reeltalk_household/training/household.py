"""Training data of reeltalk-mini: videos of a filmed household at one frame a second, with labels from their graphs.

The labels of frames are only used to train the vision encoder. The network never sees any part of a graph.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.language.phrases import VERBS
from reeltalk.language.vocabulary import FEELINGS, class_of, plain_name
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import CountProgress
from reeltalk.schema.intervals import no_later
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import VideoId
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.documents import read_text
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, SPEECH, VIDEOS
from reeltalk.video.frames import DECODE_FUNCTION, frame_pixels
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.mini.mini_input import MiniShape, fit_to_network

MOST_PEOPLE: Final = 3
"""Most people of a frame."""
PERSON_LABELS: Final = ("action", "main", "colour", "target", "support", "feeling", "held", "held_colour")
"""Labels of each person with one value per frame; index 0 means none."""
FRAME_LABELS: Final = ("room", "light")
"""Labels of the frame with one value."""
PERSON_LABEL_SETS: Final = ("looks",)
"""Labels of each person with several values."""
FRAME_LABEL_SETS: Final = ("visible", "coloured", "states")
"""Labels of the frame with several values."""
DECODED_AT_ONCE: Final = 48
"""Frames of one call of the decoder."""
LIMITS: Final = Limits(wall_s=300.0, memory_bytes=2 << 30)
Corners = tuple[float, float, float, float]
"""Left, top, right and bottom of a box, as shares of the picture."""


@dataclass(frozen=True)
class SeenPerson:
    """Facts about a person in a frame, as words."""

    action: str | None = None
    main: str | None = None
    """Class of the object of the action."""
    colour: str | None = None
    """Colour of this object."""
    target: str | None = None
    """Class of what the action is directed to."""
    support: str | None = None
    """The place of an object that is taken or put, such as `in fridge`."""
    feeling: str | None = None
    held: str | None = None
    """Class of what is in the right hand, or else in the left."""
    held_colour: str | None = None
    looks: tuple[str, ...] = ()
    name: str | None = None
    tagged: bool | None = None
    """True if the name stands above the head, False if not; None if that is not known."""
    box: Corners | None = None
    main_box: Corners | None = None
    rest_box: Corners | None = None
    """Box of the object that the first one is taken from, put on, or used with."""
    held_box: Corners | None = None

    @property
    def named(self) -> str:
        """The words for a person: looks, the act with its objects, the place, the feeling, and what is held."""
        verb = VERBS[self.action][1] if self.action in VERBS else self.action or ""
        looks = [look.rpartition("_")[2] for look in self.looks if look.startswith(("shirt", "trousers", "hair"))]
        things = [self.main, self.target, (self.support or "").rpartition(" ")[2] or None, self.held]
        words = ["person", verb, self.colour, *(plain_name(thing) for thing in things if thing), self.held_colour]
        return " ".join([word for word in words if word] + [self.feeling or ""] + looks)


@dataclass(frozen=True)
class SeenThing:
    """A thing, or a person, that is to be seen in a frame."""

    box: Corners
    kind: str
    """Its class."""
    tint: str | None = None
    """Its colour."""
    state: tuple[str, ...] = ()
    """Its states, such as `open`."""


THING_LABELS: Final = ("kind", "tint")
"""Labels of each thing with one value; index 0 means none."""
THING_LABEL_SETS: Final = ("state",)
"""Labels of each thing with several values."""


@dataclass(frozen=True)
class Seconds:
    """The labels of a frame, in words."""

    people: tuple[SeenPerson, ...] = ()
    """Those in the picture, by the middle of their boxes from left to right. A person without a box is left out."""
    things: tuple[SeenThing, ...] = ()
    """All things and people in the picture, the smallest first."""
    room: str | None = None
    light: str | None = None
    visible: tuple[str, ...] = ()
    """Classes of visible things."""
    coloured: tuple[str, ...] = ()
    """The same with their colours, such as `mug red`."""
    states: tuple[str, ...] = ()
    """States of visible things, such as `fridge open`."""

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the people, and None where nobody is."""
        return (*(person.name for person in self.people), *([None] * (MOST_PEOPLE - len(self.people))))

    @property
    def named(self) -> tuple[str, ...]:
        """The words for the frame's tokens: for the scene, then for each person."""
        words = [plain_name(self.room) if self.room else "", self.light or "", *self.states]
        people = [person.named if person.box is not None else "" for person in self.people]
        return (" ".join(filter(None, words)), *people, *([""] * (MOST_PEOPLE - len(people))))


@dataclass(frozen=True)
class FilmedVideo:
    """A video with its labels."""

    video: Video
    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...]
    times_s: tuple[float, ...]
    labels: tuple[Seconds, ...]
    speech: tuple[Utterance, ...]
    """What is said in it, in the order in which it ends."""
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


FILM: Final = "film a household with all splits, such as 'reeltalk world film --houses 5 --dev-houses 1 --into FOLDER'"


def check_filmed(benchmark: Benchmark, *splits: str) -> None:
    """Checks that splits have videos whose files, boxes and graphs are there. Nothing is decoded.

    Raises:
        BenchmarkError: Something is missing; the message says how to make it.
    """
    videos = list(benchmark.read(VIDEOS))
    there = Counter(video.split or "none" for video in videos)
    lacking = [split for split in splits if not there[split]]
    if lacking:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(there.items())) or "none at all"
        raise BenchmarkError(
            f"{benchmark.path} has no videos of split {' and '.join(map(repr, lacking))} (its videos: {counts}); {FILM}"
        )
    needed = {video.id: video for video in videos if video.split in splits}
    at_hand = set(benchmark.media.names())
    missing = [video.id for video in needed.values() if video.sha256 not in at_hand]
    if missing:
        raise BenchmarkError(
            f"{benchmark.path} lacks the files of {len(missing):,} of {len(needed):,} videos, such as '{missing[0]}'; "
            "'reeltalk media pull' or 'reeltalk attach' brings them"
        )
    clips = [clip for clip in benchmark.read(CLIPS) if clip.video_id in needed and clip.interval is not None]
    untold = [clip.id for clip in clips if f"{GRAPHS}/{clip.id}.nq" not in benchmark.manifest.files]
    unclipped = sorted(set(needed) - {clip.video_id for clip in clips})
    boxed = {known.video_id for known in benchmark.read(KNOWN_BOXES)}
    unboxed = sorted(set(needed) - boxed)
    problems = [
        f"{len(names):,} {what}, such as '{names[0]}'"
        for what, names in (
            ("videos have no length", [video.id for video in needed.values() if not video.duration_s]),
            ("videos have no clips", unclipped),
            ("clips have no graph of what happens in them", untold),
            ("videos have no known boxes of their objects", unboxed),
        )
        if names
    ]
    if problems:
        raise BenchmarkError(
            f"{benchmark.path} does not say what its frames show: {'; '.join(problems)}. Filmed households do: {FILM}"
        )


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
        BenchmarkError: `check_filmed` finds a problem, or a video cannot be decoded.
    """
    check_filmed(benchmark, split)
    videos = [video for video in benchmark.read(VIDEOS) if video.split == split]
    folder.mkdir(parents=True, exist_ok=True)
    targets: dict[str, Path] = {video.id: folder / f"{_name(video, shape)}.npy" for video in videos}
    waiting = [video for video in videos if not targets[video.id].is_file()]
    done = len(videos) - len(waiting)
    for video, small in _decoded(benchmark, waiting, shape, executor):
        partial = targets[video.id].with_suffix(".part.npy")
        np.save(partial, small, allow_pickle=False)
        partial.replace(targets[video.id])
        done += 1
        if progress is not None:
            progress(done, len(videos))
    return list(_read(benchmark, videos, targets, shape))


def _name(video: Video, shape: MiniShape) -> str:
    what = f"{video.sha256} {shape.width_px}x{shape.height_px} {shape.fps:g}"
    return hashlib.sha256(what.encode()).hexdigest()[:24]


def frame_grid(duration_s: float, fps: float) -> list[float]:
    """The times of a video's frames: 0, 1/fps, … before its end."""
    return [n / fps for n in range(max(1, int(np.ceil(duration_s * fps - 1e-6))))]


def _decoded(
    benchmark: Benchmark, videos: Sequence[Video], shape: MiniShape, executor: Executor
) -> Iterator[tuple[Video, NDArray[np.uint8]]]:
    """Videos with all their frames, each decoded in parts, which a long video needs."""
    parts = []
    for video in videos:
        times = frame_grid(video.duration_s or 0.0, shape.fps)
        parts += [(video, times[start : start + DECODED_AT_ONCE]) for start in range(0, len(times), DECODED_AT_ONCE)]
    calls = (
        Call(
            {
                "path": str(benchmark.media.whole(video.sha256 or "")),
                "times_s": times,
                "longest_px": max(shape.width_px, shape.height_px),
            },
            LIMITS,
        )
        for video, times in parts
    )
    found: dict[VideoId, dict[int, NDArray[np.uint8]]] = {}
    wanted = Counter(video.id for video, _ in parts)
    for place, outcome in executor.map(DECODE_FUNCTION, calls):
        video = parts[place][0]
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the video '{video.id}' cannot be decoded: {outcome}")
        own = found.setdefault(video.id, {})
        own[place] = np.stack([fit_to_network(picture, shape) for picture in frame_pixels(outcome)])
        if len(own) == wanted[video.id]:
            yield video, np.concatenate([own[at] for at in sorted(own)])
            del found[video.id]


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
    speech: dict[str, list[Utterance]] = {video.id: [] for video in videos}
    for spoken in benchmark.read(SPEECH):
        if spoken.video_id in wanted:
            speech[spoken.video_id].append(spoken)
    for video in videos:
        ordered = sorted(clips[video.id], key=lambda clip: clip.interval.start_s if clip.interval else 0.0)
        graphs = []
        for clip in ordered:
            path = benchmark.file(f"{GRAPHS}/{clip.id}.nq")
            graphs.append(read_activity(read_text(path), file=path, name=clip.id))
        times = frame_grid(video.duration_s or 0.0, shape.fps)
        begins = [clip.interval.start_s for clip in ordered if clip.interval is not None]
        labels = _labels(
            Story(graphs, begins_s=begins), times, [boxes.get((video.id, n), {}) for n in range(len(times))]
        )
        said = tuple(sorted(speech[video.id], key=lambda spoken: (spoken.interval.end_s, spoken.interval.start_s)))
        yield FilmedVideo(video, tuple(ordered), tuple(graphs), tuple(times), labels, said, targets[video.id])


def _labels(story: Story, times: Sequence[float], boxes: Sequence[Mapping[str, Corners]]) -> tuple[Seconds, ...]:
    """The labels of frames. A graph's situation at a moment is the one after the last event with its effect by then."""
    effects = [(effect_s(event), event) for event in story.events]
    parts = [min((event.interval.start_s for event in story.events if event.part == part and event.interval), default=0)
             for part in range(len(story.graphs))]  # fmt: skip
    found: list[Seconds] = []
    tags = _tagged(times, boxes)
    for number, (time_s, there) in enumerate(zip(times, boxes, strict=True)):
        part = max((n for n, begin_s in enumerate(parts) if no_later(begin_s, time_s)), default=0)
        graph = story.graphs[part]
        situation = sum(event.part == part and no_later(at_s, time_s) for at_s, event in effects)
        now = {event.agent: event for event in story.events if event.interval is not None
               and event.part == part and event.agent is not None and no_later(event.interval.start_s, time_s)
               and not no_later(event.interval.end_s, time_s)}  # fmt: skip
        people = sorted((middle_of(box), name) for name, box in there.items() if class_of(name) == PERSON_CLASS)
        things = sorted(name for name in there if class_of(name) != PERSON_CLASS)
        rooms = Counter(filter(None, (graph.room_at(name, situation) for name in there)))
        states = {f"{class_of(name)} {state}" for name in things for state in _states(graph, name, situation)}
        found.append(
            Seconds(
                people=tuple(
                    _person(story, graph, situation, name, now.get(name), there, tags[number].get(name))
                    for _, name in people
                )[:MOST_PEOPLE],
                things=tuple(
                    SeenThing(there[name], class_of(name), _colour(story, name), _states(graph, name, situation))
                    for _, name in sorted((_area(box), name) for name, box in there.items())
                ),
                room=class_of(max(rooms, key=lambda room: (rooms[room], room))) if rooms else None,
                light=story.lights[part],
                visible=tuple(sorted({class_of(name) for name in things})),
                coloured=tuple(
                    sorted(f"{class_of(name)} {colour}" for name in things if (colour := _colour(story, name)))
                ),
                states=tuple(sorted(states)),
            )
        )
    return tuple(found)


TAG_S: Final = 2.5
"""How long a film shows a name after somebody has come into the picture."""
CUT_MOTION: Final = 0.01
"""A camera cuts where things move by more than this share of the picture at once."""


def _tagged(times: Sequence[float], boxes: Sequence[Mapping[str, Corners]]) -> list[dict[str, bool | None]]:
    """Who has a name above the head in each frame: those who came into the picture a short while ago."""
    found: list[dict[str, bool | None]] = []
    # For each person the earliest and latest time at which they may have come.
    came: dict[str, tuple[float, float]] = {}
    before_s, before = times[0], dict[str, Corners]()
    for time_s, there in zip(times, boxes, strict=True):
        if _cut(before, there):
            came = {}
        people = [name for name in there if class_of(name) == PERSON_CLASS]
        came = {name: came.get(name, (before_s, time_s)) for name in people}
        shown: dict[str, bool | None] = {}
        for name, (first_s, last_s) in came.items():
            sure, possible = time_s - first_s < TAG_S, time_s - last_s < TAG_S
            shown[name] = sure if sure == possible else None
        found.append(shown)
        before_s, before = time_s, dict(there)
    return found


def _cut(before: Mapping[str, Corners], after: Mapping[str, Corners]) -> bool:
    """True if the camera shows another view."""
    both = [name for name in before if name in after and class_of(name) != PERSON_CLASS]
    if not both:
        return True
    moved = [max(abs(a - b) for a, b in zip(before[name], after[name], strict=True)) for name in both]
    return float(np.median(moved)) > CUT_MOTION


PERSON_CLASS: Final = "character"
STATES: Final = frozenset(
    {"OPEN", "CLOSED", "ON", "OFF", "DIRTY", "BROKEN", "HOT", "WET", "FULL", "EMPTY", "BOILING", "RINGING", "SPILLED"}
)
"""The state values that a picture shows."""


def effect_s(event: StoryEvent) -> float:
    """The moment in seconds of a video at which an event takes effect: its middle; the end of a walk.

    An event without times takes effect at infinity.
    """
    if event.interval is None:
        return float("inf")
    walks = event.action in ("walk", "run")
    return event.interval.end_s if walks else (event.interval.start_s + event.interval.end_s) / 2


def middle_of(box: Corners) -> tuple[float, float]:
    """The x and y of the middle of a box, as shares of the picture."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _area(box: Corners) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _states(graph: ActivityGraph, name: str, situation: int) -> tuple[str, ...]:
    """The states of a thing that a picture shows, in small letters."""
    return tuple(sorted(value.lower() for value in graph.values_at(name, situation) if value in STATES))


def _colour(story: Story, name: str | None) -> str | None:
    """The colour of a thing, without `colour_`."""
    words = story.attributes.get(name or "", ())
    return next((word.removeprefix("colour_") for word in words if word.startswith("colour_")), None)


def _person(
    story: Story, graph: ActivityGraph, situation: int, name: str, event: StoryEvent | None,
    boxes: Mapping[str, Corners], tagged: bool | None,
) -> SeenPerson:  # fmt: skip
    hands = {placed.kind: placed.target.object for placed in graph.placed_at(name, situation)}
    held = hands.get("holds_rh") or hands.get("holds_lh")
    support, main, rest = None, None, None
    if event is not None:
        main, rest = event.main, event.targets[0] if event.targets else None
        if main is not None and event.action in ("grab", "put", "putIn"):
            found_on = (story.support_before if event.action == "grab" else story.support_after)(event, main)
            if found_on is not None:
                rest = found_on[0]
                support = f"{'in' if found_on[1] else 'on'} {class_of(rest)}"
    feelings = [FEELINGS[value] for value in graph.values_at(name, situation) if value in FEELINGS]
    return SeenPerson(
        action=event.action if event else None,
        main=class_of(main) if main else None,
        colour=_colour(story, main),
        target=class_of(event.targets[0]) if event and event.targets else None,
        support=support,
        feeling=feelings[0] if feelings else None,
        held=class_of(held) if held else None,
        held_colour=_colour(story, held),
        looks=tuple(story.attributes.get(name, ())),
        name=story.names.get(name),
        tagged=tagged,
        box=boxes.get(name),
        main_box=boxes.get(main or ""),
        rest_box=boxes.get(rest or ""),
        held_box=boxes.get(held or ""),
    )


@dataclass(frozen=True)
class LabelWords:
    """The possible values of each label, in a fixed order."""

    words: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, videos: Sequence[FilmedVideo]) -> "LabelWords":
        """All values that occur in some videos."""
        names = (*FRAME_LABELS, *FRAME_LABEL_SETS, *PERSON_LABELS, *PERSON_LABEL_SETS, *THING_LABELS, *THING_LABEL_SETS)
        found: dict[str, set[str]] = {name: set() for name in names}
        for video in videos:
            for second in video.labels:
                for shown, single, several in (
                    (second, FRAME_LABELS, FRAME_LABEL_SETS),
                    *((person, PERSON_LABELS, PERSON_LABEL_SETS) for person in second.people),
                    *((thing, THING_LABELS, THING_LABEL_SETS) for thing in second.things),
                ):
                    for name in single:
                        if (value := getattr(shown, name)) is not None:
                            found[name].add(value)
                    for name in several:
                        found[name].update(getattr(shown, name))
        return cls({name: tuple(sorted(words)) for name, words in found.items()})

    def numbers(self, video: FilmedVideo) -> dict[str, NDArray[np.int64] | NDArray[np.float32]]:
        """Labels as numbers.

        Returns:
            For one value an index (T,) or, of P people, (T, P), 0 for none and -1 if it is unknown or nobody is there;
            for several values 0 and 1, (T, W) or (T, P, W). `present` (T, P) is 1 for a person.
        """
        nobody = SeenPerson()
        shown = [[*second.people, *[nobody] * (MOST_PEOPLE - len(second.people))] for second in video.labels]
        numbers: dict[str, NDArray[np.int64] | NDArray[np.float32]] = {
            "present": np.array([[person is not nobody for person in people] for people in shown], np.float32)
        }
        for name in FRAME_LABELS:
            numbers[name] = np.array([self._index(name, second) for second in video.labels], np.int64)
        for name in PERSON_LABELS:
            numbers[name] = np.array(
                [[-1 if person is nobody else self._index(name, person) for person in people] for people in shown],
                np.int64,
            )
        for name in FRAME_LABEL_SETS:
            numbers[name] = np.stack([self._marks(name, second) for second in video.labels])
        for name in PERSON_LABEL_SETS:
            numbers[name] = np.stack([np.stack([self._marks(name, person) for person in people]) for people in shown])
        return numbers

    def of_things(self, things: Sequence[SeenThing]) -> dict[str, NDArray[np.int64] | NDArray[np.float32]]:
        """Labels of things as numbers: indices (things,), and 0 and 1 (things, W) for several values."""
        numbers: dict[str, NDArray[np.int64] | NDArray[np.float32]] = {
            name: np.array([self._index(name, thing) for thing in things], np.int64) for name in THING_LABELS
        }
        for name in THING_LABEL_SETS:
            rows = [self._marks(name, thing) for thing in things]
            numbers[name] = np.array(rows, np.float32).reshape(len(things), len(self.words[name]))
        return numbers

    def _index(self, name: str, shown: "Seconds | SeenPerson | SeenThing") -> int:
        value = getattr(shown, name)
        if value is None:
            return 0
        return self.words[name].index(value) + 1 if value in self.words[name] else -1

    def _marks(self, name: str, shown: "Seconds | SeenPerson | SeenThing") -> NDArray[np.float32]:
        values = set(getattr(shown, name))
        return np.array([word in values for word in self.words[name]], np.float32)
