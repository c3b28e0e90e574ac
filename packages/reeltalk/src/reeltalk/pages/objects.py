"""Pages about objects: a row for each identity of a video, with its sightings along the time line."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from reeltalk.pages.curation import format_clock
from reeltalk.pages.site import BenchmarkSite
from reeltalk.schema.knowledge import Entity, IdentityChange, Sighting
from reeltalk.schema.media import Clip, Shot, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, IDENTITY_CHANGES, SHOTS, SIGHTINGS, VIDEOS

PAGE: Final = "objects.html"
FOLDER: Final = "objects"
WIDTH: Final = 720
EDGE: Final = 6
ROW: Final = 34
HEAD: Final = 44
TICK_STEPS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
LONGEST_STEP_S: Final = 7200
MOST_TICKS: Final = 9
GAP_STEPS: Final = 1.8
"""Sightings further apart than this many usual steps are drawn apart."""


@dataclass
class ShownObject:
    """One identity and its row."""

    number: int
    """From 1, in order of the first sighting."""
    entity: str
    class_name: str
    colour: str | None
    caption: str | None
    sightings: list[Sighting]
    picture: str | None = None
    """File of its best crop, next to the page."""

    @property
    def key(self) -> str:
        """Link target of the row."""
        return f"o{self.number}"


@dataclass
class ObjectVideo:
    """One video and its page."""

    video: Video
    file: str
    objects: list[ShownObject] = field(default_factory=list)
    changes: list[IdentityChange] = field(default_factory=list)
    shots: list[Shot] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)

    @property
    def sightings(self) -> int:
        """Number of sightings of all objects."""
        return sum(len(shown.sightings) for shown in self.objects)

    @property
    def kinds(self) -> Counter[str]:
        """Numbers of merges and splits."""
        return Counter(change.kind for change in self.changes)

    @property
    def duration_s(self) -> float:
        """Length, or the last sighting if the length is unknown."""
        last = max((s.pts_s for shown in self.objects for s in shown.sightings), default=0.0)
        return max(self.video.duration_s or 0.0, last, 0.1)

    def row_of(self, entity: str) -> ShownObject | None:
        """The row of an identity; None for one that no longer exists."""
        return next((row for row in self.objects if row.entity == entity), None)


def has_objects(benchmark: Benchmark) -> bool:
    """True if objects were sighted in the benchmark's videos."""
    return SIGHTINGS.file_name in benchmark.manifest.files


def write_objects(site: BenchmarkSite, page: str = PAGE) -> None:
    """Write a page that lists the videos, and one for each video that has objects below `objects/`.

    Args:
        site: The site of a benchmark with sightings.
        page: Name of the list.

    Raises:
        InputError: A table is damaged.
    """
    videos = _collect(site.benchmark)
    for number, shown in enumerate(videos):
        for row in shown.objects:
            row.picture = site.copy(row.picture, FOLDER)
        site.render(
            "object_video.html",
            f"{FOLDER}/{shown.file}",
            listed=f"../{page}",
            entry=shown,
            often=[row for row in shown.objects if len(row.sightings) > 1],
            once=[row for row in shown.objects if len(row.sightings) == 1],
            before=videos[number - 1] if number else None,
            after=videos[number + 1] if number + 1 < len(videos) else None,
            format_clock=format_clock,
            **_strip_values(shown),
        )
    site.render(
        "objects.html",
        page,
        alone=page == "index.html",
        videos=videos,
        classes=Counter(o.class_name for shown in videos for o in shown.objects).most_common(),
        detector=site.benchmark.manifest.files[SIGHTINGS.file_name].settings.get("detector", "not stated"),
        format_clock=format_clock,
    )


def _collect(benchmark: Benchmark) -> list[ObjectVideo]:
    by_entity: defaultdict[str, list[Sighting]] = defaultdict(list)
    owner: dict[str, str] = {}
    for sighting in benchmark.read(SIGHTINGS):
        by_entity[sighting.entity].append(sighting)
        owner[sighting.entity] = sighting.video_id
    known: dict[str, Entity] = {entity.id: entity for entity in benchmark.read(ENTITIES)}
    own: defaultdict[str, list[str]] = defaultdict(list)
    for entity, video_id in owner.items():
        own[video_id].append(entity)
    shown: dict[str, ObjectVideo] = {}
    for video in benchmark.read(VIDEOS):
        if video.id in own:
            shown[video.id] = ObjectVideo(
                video, f"{len(shown) + 1:04d}.html", _objects(own[video.id], by_entity, known)
            )
    for field_name, table in (("changes", IDENTITY_CHANGES), ("shots", SHOTS), ("clips", CLIPS)):
        rows: Iterable[Any] = benchmark.read(table)
        for row in rows:
            if row.video_id in shown and getattr(row, "interval", row) is not None:
                getattr(shown[row.video_id], field_name).append(row)
    return list(shown.values())


def _objects(
    entities: Sequence[str], by_entity: dict[str, list[Sighting]], known: dict[str, Entity]
) -> list[ShownObject]:
    rows = []
    for entity in entities:
        sightings = sorted(by_entity[entity], key=lambda s: s.pts_s)
        found = known.get(entity)
        best = next((s for s in sightings if s.crop is not None), sightings[0])
        class_name = found.class_name if found else best.class_name
        colour = found.attributes.get("colour") if found else None
        rows.append(ShownObject(0, entity, class_name, colour, best.caption, sightings, best.crop))
    rows.sort(key=lambda row: (row.sightings[0].pts_s, row.class_name, row.entity))
    for number, row in enumerate(rows, start=1):
        row.number = number
    return rows


def _strip_values(shown: ObjectVideo) -> dict[str, object]:
    """The values from which the template draws the time line of each object."""
    duration_s = shown.duration_s
    pixels_a_second = (WIDTH - 2 * EDGE) / duration_s
    step_s = next((s for s in TICK_STEPS_S if duration_s / s <= MOST_TICKS), LONGEST_STEP_S)
    return {
        "width": WIDTH,
        "edge": EDGE,
        "head_height": HEAD,
        "row_height": ROW,
        "x": lambda seconds: EDGE + seconds * pixels_a_second,
        "bounds": {
            "cut": sorted({shot.interval.start_s for shot in shown.shots} - {0.0}),
            "begins": sorted({clip.interval.start_s for clip in shown.clips if clip.interval} - {0.0}),
        },
        "clips": sorted(shown.clips, key=lambda clip: clip.interval.start_s if clip.interval else 0.0),
        "ticks_s": range(0, int(duration_s) + 1, step_s),
        "runs": lambda row: _runs(shown, row.sightings),
    }


def _runs(shown: ObjectVideo, sightings: Sequence[Sighting]) -> list[list[Sighting]]:
    """Groups of sightings without a gap of more than `GAP_STEPS` usual steps."""
    times = sorted({s.pts_s for row in shown.objects for s in row.sightings})
    steps = sorted(b - a for a, b in pairwise(times))
    usual = steps[len(steps) // 2] if steps else 1.0
    runs: list[list[Sighting]] = []
    for sighting in sightings:
        if runs and sighting.pts_s - runs[-1][-1].pts_s <= GAP_STEPS * usual:
            runs[-1].append(sighting)
        else:
            runs.append([sighting])
    return runs
