"""Pages about objects: a row for each identity of a video, with its sightings along the time line."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from reeltalk.errors import BenchmarkError
from reeltalk.pages.curation import format_clock
from reeltalk.schema.knowledge import Entity, IdentityChange, Sighting
from reeltalk.schema.media import Clip, Shot, Video
from reeltalk.schema.texts import printable
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, IDENTITY_CHANGES, SHOTS, SIGHTINGS, VIDEOS

PAGE: Final = "objects.html"
FOLDER: Final = "objects"
WIDTH: Final = 720
EDGE: Final = 6
ROW: Final = 34
HEAD: Final = 44
GAP_STEPS: Final = 1.8
"""Sightings further apart than this many usual steps are not joined."""


@dataclass
class ShownObject:
    """One identity and its row."""

    number: int
    """From 1, in the order in which they are first seen."""
    entity: str
    class_name: str
    colour: str | None
    caption: str | None
    sightings: list[Sighting]
    picture: str | None = None
    """File of its best crop, beside the page."""

    @property
    def key(self) -> str:
        """The row's place on the page."""
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
        """How many there are of all objects."""
        return sum(len(shown.sightings) for shown in self.objects)

    @property
    def kinds(self) -> Counter[str]:
        """How many merges and splits."""
        return Counter(change.kind for change in self.changes)

    @property
    def duration_s(self) -> float:
        """Length, or the last sighting where it is not known."""
        last = max((s.pts_s for shown in self.objects for s in shown.sightings), default=0.0)
        return max(self.video.duration_s or 0.0, last, 0.1)

    def name_of(self, entity: str) -> Markup:
        """A link to an identity's row, or words for one that was given up."""
        for shown in self.objects:
            if shown.entity == entity:
                name = escape(printable(shown.class_name))
                return Markup(f'<a href="#{shown.key}">{shown.number}&#8201;·&#8201;{name}</a>')
        return Markup("one that was given up")


def has_objects(benchmark: Benchmark) -> bool:
    """True if objects were sighted in the benchmark's videos."""
    return SIGHTINGS.file_name in benchmark.manifest.files


def write_objects(benchmark: Benchmark, folder: Path, environment: Environment, *, page: str = PAGE) -> Path:
    """Write the pages: one that lists the videos, and one for each video that has objects.

    Args:
        benchmark: In whose videos objects were sighted.
        folder: The site's folder.
        environment: Where the templates are.
        page: Name of the list.

    Returns:
        Path of the list.

    Raises:
        BenchmarkError: No objects were sighted.
        InputError: A table is damaged.
    """
    if not has_objects(benchmark):
        raise BenchmarkError(f"{benchmark.path} has no sightings of objects; 'reeltalk construct' writes them")
    videos = _collect(benchmark)
    target = folder / FOLDER
    target.mkdir()
    template = environment.get_template("object_video.html")
    for number, shown in enumerate(videos):
        _copy_pictures(benchmark, shown, target)
        html = template.render(
            root="../",
            listed=f"../{page}",
            entry=shown,
            often=[(o, Markup(draw_strip(shown, o))) for o in shown.objects if len(o.sightings) > 1],
            once=[(o, Markup(draw_strip(shown, o))) for o in shown.objects if len(o.sightings) == 1],
            head=Markup(draw_head(shown)),
            before=videos[number - 1] if number else None,
            after=videos[number + 1] if number + 1 < len(videos) else None,
            format_clock=format_clock,
        )
        (target / shown.file).write_text(html, encoding="utf-8", newline="\n")
    html = environment.get_template("objects.html").render(
        root="",
        name=benchmark.manifest.name,
        alone=page == "index.html",
        videos=videos,
        classes=Counter(o.class_name for shown in videos for o in shown.objects).most_common(),
        detector=benchmark.manifest.files[SIGHTINGS.file_name].settings.get("detector", "not stated"),
        format_clock=format_clock,
    )
    (folder / page).write_text(html, encoding="utf-8", newline="\n")
    return folder / page


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
    for change in benchmark.read(IDENTITY_CHANGES):
        if change.video_id in shown:
            shown[change.video_id].changes.append(change)
    for shot in benchmark.read(SHOTS):
        if shot.video_id in shown:
            shown[shot.video_id].shots.append(shot)
    for clip in benchmark.read(CLIPS):
        if clip.video_id in shown and clip.interval is not None:
            shown[clip.video_id].clips.append(clip)
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


def _copy_pictures(benchmark: Benchmark, shown: ObjectVideo, target: Path) -> None:
    for row in shown.objects:
        # An export takes the tables along and leaves the pictures.
        if row.picture is None or row.picture not in benchmark.manifest.files:
            row.picture = None
            continue
        name = Path(row.picture).name
        shutil.copyfile(benchmark.file(row.picture), target / name)
        row.picture = name


def _scale(shown: ObjectVideo) -> Callable[[float], float]:
    step = (WIDTH - 2 * EDGE) / shown.duration_s
    return lambda seconds: EDGE + seconds * step


def _bounds(shown: ObjectVideo, height: float) -> str:
    """Where shots and clips begin, as thin lines: one path each."""
    x = _scale(shown)
    cuts = sorted({shot.interval.start_s for shot in shown.shots} - {0.0})
    starts = sorted({clip.interval.start_s for clip in shown.clips if clip.interval} - {0.0})
    parts = ""
    for name, times in (("cut", cuts), ("begins", starts)):
        if times:
            parts += f'<path class="{name}" d="{"".join(f"M{x(t):.1f} 0V{height:g}" for t in times)}"/>'
    return parts


def draw_head(shown: ObjectVideo) -> str:
    """The strip above the rows: shots and clips with their names, and the time."""
    x = _scale(shown)
    parts = []
    for number, shot in enumerate(shown.shots):
        start, end = shot.interval.start_s, min(shot.interval.end_s, shown.duration_s)
        parts.append(
            f'<rect class="shot s{number % 2}" x="{x(start):.1f}" y="0" width="{max(0.5, x(end) - x(start)):.1f}" '
            f'height="9"><title>shot {number + 1}: {format_clock(start)} to {format_clock(end)}</title></rect>'
        )
    for number, clip in enumerate(sorted(shown.clips, key=lambda c: c.interval.start_s if c.interval else 0.0)):
        assert clip.interval is not None
        start, end = clip.interval.start_s, min(clip.interval.end_s, shown.duration_s)
        title = f"{escape(printable(clip.id))}: {format_clock(start)} to {format_clock(end)}"
        parts.append(
            f'<rect class="clip c{number % 2}" x="{x(start):.1f}" y="12" width="{max(0.5, x(end) - x(start)):.1f}" '
            f'height="9"><title>{title}</title></rect>'
        )
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
    step = next((s for s in steps if shown.duration_s / s <= 9), 7200)
    for n in range(int(shown.duration_s / step) + 1):
        at = x(n * step)
        anchor = "end" if at > WIDTH - 20 else "middle" if n else "start"
        parts.append(f'<text class="tick {anchor}" x="{at:.1f}" y="{HEAD - 6}">{format_clock(n * step)[:-2]}</text>')
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} {HEAD}" role="img" aria-label="Shots, clips and time">'
        f"{''.join(parts)}</svg>"
    )


def draw_strip(shown: ObjectVideo, row: ShownObject) -> str:
    """The time line of one identity: a mark for each sighting, joined where nothing lies between."""
    x = _scale(shown)
    middle = ROW / 2
    parts = [f'<line class="grid" x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{middle:g}" y2="{middle:g}"/>']
    parts.append(_bounds(shown, ROW))
    tone = (row.number - 1) % 8
    for run in _runs(shown, row.sightings):
        left, right = x(run[0].pts_s), x(run[-1].pts_s)
        words = f"{format_clock(run[0].pts_s)} to {format_clock(run[-1].pts_s)}, {len(run)} sightings"
        title = words if len(run) > 1 else format_clock(run[0].pts_s)
        if run[0].caption:
            title += f": {escape(printable(run[0].caption))}"
        marks = "".join(f"M{x(s.pts_s):.1f} {middle - 7:g}v14" for s in run)
        parts.append(
            f'<g class="m{tone}"><title>{title}</title>'
            f'<rect class="run" x="{left - 2:.1f}" y="{middle - 4:g}" width="{right - left + 4:.1f}" height="8"/>'
            f'<path class="seen" d="{marks}"/></g>'
        )
    for change in shown.changes:
        if row.entity in (change.kept, change.other):
            at = x(change.pts_s)
            # Down where two became one, up where one became two.
            shape = f"M{at - 4:.1f} 2h8l-4 7z" if change.kind == "merge" else f"M{at - 4:.1f} 9h8l-4 -7z"
            words = "joined with another" if change.kind == "merge" else "parted from another"
            parts.append(
                f'<path class="change" d="{shape}"><title>{format_clock(change.pts_s)}: {words}</title></path>'
            )
    label = f"{escape(printable(row.class_name), quote=True)}, {len(row.sightings)} sightings"
    return f'<svg class="strip" viewBox="0 0 {WIDTH} {ROW}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _runs(shown: ObjectVideo, sightings: Sequence[Sighting]) -> list[list[Sighting]]:
    """Sightings with none of the frames between them missing, as far as the usual step tells."""
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
