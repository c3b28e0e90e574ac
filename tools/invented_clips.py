"""Invented clips of videos, each with its own story, and a benchmark of them without videos.

A clip is known by its person and its thing, which no other clip has together, so that whoever reads a request knows
which clip it is about.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, Entity, Sighting
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, EntityId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, SIGHTINGS, VIDEOS

PEOPLE: Final = (
    "gardener", "baker", "plumber", "violinist", "nurse", "carpenter", "farmer", "painter", "teacher", "cyclist",
    "fisherman", "tailor", "mechanic", "dancer", "librarian", "potter", "barber", "climber", "sailor", "beekeeper",
    "postman", "juggler", "butcher", "florist", "shepherd", "welder", "pianist", "jockey", "roofer", "weaver",
)  # fmt: skip
THINGS: Final = (
    "kettle", "ladder", "lantern", "blanket", "suitcase", "hammer", "teapot", "umbrella", "basket", "helmet", "drum",
    "carpet", "trumpet", "bucket", "pillow", "clock", "mirror", "kite", "telescope", "saddle", "candle", "accordion",
    "globe", "shovel", "typewriter", "sledge", "parcel", "curtain", "paddle", "anvil",
)  # fmt: skip
PLACES: Final = (
    "bench", "workbench", "doorstep", "windowsill", "cart", "shelf", "piano", "barrel", "stool", "counter", "crate",
    "staircase", "hearth", "wardrobe", "table", "trolley", "hedge",
)  # fmt: skip
OTHERS: Final = (
    "pumpkin", "newspaper", "feather", "magnet", "lemon", "scarf", "whistle", "bandage", "postcard", "sponge", "cactus",
    "thimble", "walnut", "ribbon", "spanner", "biscuit", "marble", "towel", "compass",
)  # fmt: skip
COLOURS: Final = ("red", "blue", "green", "white", "yellow", "purple", "orange", "silver", "golden", "pink", "grey")
TOOLS: Final = ("elbow", "knee", "left hand", "broom", "boot", "rolled map", "wooden spoon", "hat", "rake", "stick")
WHY: Final = (
    "rain has dripped on it", "mud has splashed on it", "flour has fallen on it", "paint has run down its side",
    "snow has settled on it", "soot has darkened it", "juice has spilled over it", "dust has covered its top",
)  # fmt: skip


@dataclass(frozen=True)
class Story:
    """What happens in one clip."""

    number: int

    @property
    def person(self) -> str:
        return PEOPLE[self.number % len(PEOPLE)]

    @property
    def thing(self) -> str:
        return THINGS[(self.number // len(PEOPLE) + 7 * (self.number % len(PEOPLE))) % len(THINGS)]

    def _of(self, words: tuple[str, ...], salt: int) -> str:
        return words[(self.number * (2 * salt + 3) + salt * 5 + self.number // len(words)) % len(words)]

    @property
    def he(self) -> str:
        return "she" if self.number % 2 else "he"

    @property
    def from_place(self) -> str:
        return self._of(PLACES, 1)

    @property
    def to_place(self) -> str:
        found = self._of(PLACES, 4)
        return found if found != self.from_place else PLACES[(PLACES.index(found) + 1) % len(PLACES)]

    @property
    def other(self) -> str:
        return self._of(OTHERS, 2)

    @property
    def colour(self) -> str:
        return self._of(COLOURS, 3)

    @property
    def other_colour(self) -> str:
        return COLOURS[(COLOURS.index(self.colour) + 3) % len(COLOURS)]

    @property
    def tool(self) -> str:
        return self._of(TOOLS, 5)

    @property
    def why(self) -> str:
        return self._of(WHY, 6)

    @property
    def caption(self) -> str:
        return (
            f"A {self.person} lifts a {self.colour} {self.thing} from the {self.from_place} and carries it to the "
            f"{self.to_place}, where a {self.other_colour} {self.other} lies. {self.he.capitalize()} pushes the "
            f"{self.other} aside with the {self.tool}."
        )

    def turns(self) -> list[tuple[str, str]]:
        """Five questions with their answers, in one of four wordings."""
        he, way = self.he.capitalize(), self.number // 7 % 4
        person, thing, other, place = self.person, self.thing, self.other, self.to_place
        first = (
            (f"What does the {person} lift from the {self.from_place}?", f"{he} lifts a {self.colour} {thing}."),
            (
                f"Which thing on the {self.from_place} does the {person} take up?",
                f"{he} takes up a {self.colour} {thing}.",
            ),
            (f"With what does the {person} leave the {self.from_place}?", f"{he} leaves with a {self.colour} {thing}."),
            (f"What is the {person} carrying away from the {self.from_place}?", f"It is a {self.colour} {thing}."),
        )[way]
        second = (
            (f"Where is the {thing} put down?", f"{he} puts it down on the {place}."),
            (f"To which spot is the {thing} brought?", f"{he} brings it over to the {place}."),
            (f"What does {self.he} set the {thing} on?", f"{he} sets it on the {place}."),
            (f"Where does {self.he} walk with the {thing}?", f"{he} walks up to the {place} with it."),
        )[way]
        third = (
            (f"What was lying on the {place} before?", f"A {self.other_colour} {other} was lying there."),
            (f"Which thing already takes up the {place}?", f"A {self.other_colour} {other} is there already."),
            (f"What is in the way on that {place}?", f"A {self.other_colour} {other} is in the way."),
            (f"What has somebody left on the {place}?", f"Somebody has left a {self.other_colour} {other} there."),
        )[way]
        fourth = (
            (f"How does the {person} get the {other} out of the way?", f"{he} pushes it aside with the {self.tool}."),
            (f"By what means is the {other} moved?", f"{he} moves it with the {self.tool}."),
            (f"What does {self.he} use to shove the {other} away?", f"{he} uses the {self.tool}."),
            (f"How is room made where the {other} lies?", f"{he} nudges it away with the {self.tool}."),
        )[way]
        fifth = (
            (f"Why does {self.he} wipe the {thing} after that?", f"{he} wipes it because {self.why}."),
            (f"For what reason is the {thing} rubbed with a cloth?", f"It is rubbed because {self.why}."),
            (f"What makes the {person} clean the {thing} at last?", f"{he} cleans it since {self.why}."),
            (f"Why does the {thing} need a cleaning then?", f"It needs one because {self.why}."),
        )[way]
        return [first, second, third, fourth, fifth]


STORIES: Final = {(story.person, story.thing): story for story in map(Story, range(len(PEOPLE) * len(THINGS)))}

CLIP_S = 12.0


def clip_of(number: int) -> ClipId:
    """Identifier of the clip of a story."""
    return ClipId(f"clip{number:04d}")


def tell_clips(folder: Path, clips: int, a_video: int = 6) -> Benchmark:
    """A benchmark whose clips have no video but what a detector would have seen in it.

    Args:
        folder: Where it is created.
        clips: Number of clips, at most 900.
        a_video: Clips of a video.
    """
    benchmark = Benchmark.create(folder)
    videos: list[Video] = []
    rows: list[Clip] = []
    seen: list[Sighting] = []
    entities: list[Entity] = []
    for number in range(clips):
        video_id, place = VideoId(f"video{number // a_video:03d}"), number % a_video
        if place == 0:
            videos.append(Video(id=video_id, duration_s=CLIP_S * a_video))
        story, start_s = Story(number), place * CLIP_S
        clip_id = clip_of(number)
        rows.append(Clip(id=clip_id, video_id=video_id, interval=Interval(start_s=start_s, end_s=start_s + CLIP_S)))
        entities.append(
            Entity(id=EntityId(f"thing{number}"), video_id=video_id, class_name=story.thing, clip_ids=(clip_id,))
        )
        for step in range(4):
            seen.append(
                Sighting(
                    video_id=video_id,
                    clip_id=clip_id,
                    pts_s=start_s + 1 + 3 * step,
                    box=Box(left=0.1, top=0.1, right=0.5, bottom=0.5),
                    class_name=story.thing,
                    confidence=0.9,
                    entity=entities[-1].id,
                    caption=f"{story.person} beside the {story.thing}",
                )
            )
    with benchmark.writing(stage="told", settings={}, parents={}) as writer:
        writer.add(VIDEOS, videos)
        writer.add(CLIPS, rows)
        writer.add(ENTITIES, entities)
        writer.add(SIGHTINGS, seen)
    return Benchmark.open(folder)
