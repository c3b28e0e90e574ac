"""Pages about a curation: which videos were kept and why not, what they look like, and a page for each video."""

import math
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from reeltalk.analysis.dataset import Spread
from reeltalk.analysis.visible import visible
from reeltalk.errors import BenchmarkError
from reeltalk.pages import charts
from reeltalk.schema.media import Clip, SampledFrame, Shot, Video
from reeltalk.schema.outcomes import Rejected, Screening
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, FRAMES, REJECTED, SCREENINGS, SHOTS, VIDEOS

_Scale = Callable[[float], float]

WIDTH: Final = 1000
LEFT: Final = 76
"""Pixels left of the plots, for their labels."""


@dataclass
class CuratedVideo:
    """All that the benchmark holds about one video."""

    video: Video
    file: str
    """Name of its page."""
    screening: Screening | None = None
    shots: list[Shot] = field(default_factory=list)
    frames: list[SampledFrame] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)

    @property
    def duration_s(self) -> float:
        """Length, 0 where it is not known."""
        return self.video.duration_s or 0.0

    @property
    def decoded(self) -> str | None:
        """How much of a video that was cut off or is damaged could be decoded; None where nothing is missing."""
        if self.video.decoded_s is None:
            return None
        return f"decoded {self.video.decoded_s:.1f} of {self.duration_s:.1f} s"

    @property
    def key_frames(self) -> int:
        """How many key frames it has."""
        return sum(frame.key_frame for frame in self.frames)


def is_curated(benchmark: Benchmark) -> bool:
    """True if `reeltalk curate` wrote the benchmark."""
    return SCREENINGS.file_name in benchmark.manifest.files


def write_curation(
    benchmark: Benchmark, folder: Path, environment: Environment, *, links: Sequence[tuple[str, str]] = ()
) -> Path:
    """Write the pages: `index.html`, and one for each video that was kept.

    Args:
        benchmark: What `reeltalk curate` wrote.
        folder: An existing, empty folder.
        environment: Where the templates are.
        links: What else the site shows: words and pages.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The benchmark was not curated.
        InputError: A table is damaged.
    """
    if not is_curated(benchmark):
        raise BenchmarkError(f"{benchmark.path} has no screenings; 'reeltalk curate' writes them")
    videos = _collect(benchmark)
    screenings = list(benchmark.read(SCREENINGS))
    rejected = list(benchmark.read(REJECTED))
    settings = benchmark.manifest.files[SCREENINGS.file_name].settings
    (folder / "videos").mkdir()
    template = environment.get_template("curated_video.html")
    for number, video in enumerate(videos):
        sheet = None
        # An export takes the tables along and leaves the pictures.
        if video.screening is not None and video.screening.sheet in benchmark.manifest.files:
            assert video.screening.sheet is not None
            sheet = Path(video.screening.sheet).name
            shutil.copyfile(benchmark.file(video.screening.sheet), folder / "videos" / sheet)
        html = template.render(
            root="../",
            entry=video,
            sheet=sheet,
            timeline=Markup(timeline(video, settings)),
            dropped=Counter(frame.dropped for frame in video.frames if frame.dropped),
            before=videos[number - 1] if number else None,
            after=videos[number + 1] if number + 1 < len(videos) else None,
            clock=clock,
        )
        (folder / "videos" / video.file).write_text(html, encoding="utf-8", newline="\n")
    html = environment.get_template("curation.html").render(
        root="",
        name=benchmark.manifest.name,
        videos=videos,
        looked_at=len(videos) + len(rejected),
        rejected=_with_page(rejected, screenings),
        funnel=_funnel(screenings, rejected),
        figures=[(title, Markup(drawn)) for title, drawn in _statistics(videos)],
        categories=Counter(entry.video.category or "not stated" for entry in videos).most_common(),
        licences=Counter(entry.video.licence or "not stated" for entry in videos).most_common(),
        settings=settings,
        links=links,
        clock=clock,
    )
    (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
    return folder / "index.html"


def _collect(benchmark: Benchmark) -> list[CuratedVideo]:
    found = {
        video.id: CuratedVideo(video, f"{number + 1:04d}.html") for number, video in enumerate(benchmark.read(VIDEOS))
    }
    for screening in benchmark.read(SCREENINGS):
        if screening.video_id in found:
            found[screening.video_id].screening = screening
    for shot in benchmark.read(SHOTS):
        found[shot.video_id].shots.append(shot)
    for frame in benchmark.read(FRAMES):
        found[frame.video_id].frames.append(frame)
    for clip in benchmark.read(CLIPS):
        found[clip.video_id].clips.append(clip)
    return list(found.values())


def _with_page(
    rejected: Sequence[Rejected], screenings: Iterable[Screening]
) -> list[tuple[Rejected, Screening | None]]:
    by_id: dict[str, Screening] = {row.video_id: row for row in screenings}
    return [(row, by_id.get(row.record_id)) for row in rejected]


def _funnel(screenings: Iterable[Screening], rejected: Sequence[Rejected]) -> list[tuple[str, int, int, int]]:
    """For each filter in order: its name, and how many came to it, were rejected, and were not judged by it."""
    came: dict[str, Counter[str]] = defaultdict(Counter)
    for row in screenings:
        for result in row.filters:
            came[result.filter][result.outcome] += 1
    by_filter = sum(counts["rejected"] for counts in came.values())
    lines = [("readable, and no copy", 0, len(rejected) - by_filter, 0)]
    return lines + [
        (name, sum(counts.values()), counts["rejected"], counts["not applied"]) for name, counts in came.items()
    ]


def _statistics(videos: Sequence[CuratedVideo]) -> list[tuple[str, str]]:
    """Histograms as in SVBench's figures 3 and 6 and MT-Video-Bench's figure 3."""
    clips = [clip.interval.duration_s for entry in videos for clip in entry.clips if clip.interval]
    shots = [shot.interval.duration_s for entry in videos for shot in entry.shots]
    return [
        ("Length of videos, seconds", histogram([entry.duration_s for entry in videos])),
        ("Shots in a video", histogram([float(len(entry.shots)) for entry in videos], whole=True)),
        ("Length of shots, seconds", histogram(shots)),
        ("Length of clips, seconds", histogram(clips)),
        ("Clips of a video", histogram([float(len(entry.clips)) for entry in videos], whole=True)),
        ("Key frames of a video", histogram([float(entry.key_frames) for entry in videos], whole=True)),
    ]


def histogram(values: Sequence[float], *, whole: bool = False) -> str:
    """Counts over equal parts of the range; the mean and the extremes in words."""
    if not values:
        return '<p class="empty">Nothing to show.</p>'
    mean = sum(values) / len(values)
    note = f"mean {mean:.1f}, from {min(values):g} to {max(values):.4g}, n = {len(values):,}"
    drawn = charts.histogram(charts.bins(Spread(Counter(values)), whole=whole), title=note, width=320)
    return f'{drawn}<p class="soft small">{escape(note)}</p>'


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    minutes, rest = divmod(round(seconds, 1), 60)
    return f"{int(minutes)}:{rest:04.1f}"


@dataclass(frozen=True)
class _Track:
    """One measure over time."""

    label: str
    values: list[tuple[float, float, str]]
    """Time, value, and what a pointer is told."""
    bound: float | None
    passes_above: bool
    logarithmic: bool = False


def timeline(entry: CuratedVideo, settings: dict[str, object]) -> str:
    """The video from left to right: shots and clips, the measures of its sampled frames, and which were kept."""
    duration_s = max(entry.duration_s, 0.1)
    scale = (WIDTH - LEFT - 10) / duration_s

    def x(seconds: float) -> float:
        return LEFT + seconds * scale

    parts = [_label("Shots", 16), _label("Clips", 42)]
    for number, shot in enumerate(entry.shots):
        start, end = shot.interval.start_s, shot.interval.end_s
        title = f"shot {number + 1}: {clock(start)} to {clock(end)}"
        if shot.content is not None:
            title += f", content score {shot.content:.1f}"
        parts.append(
            f'<rect class="shot s{number % 2}" x="{x(start):.1f}" y="4" width="{max(0.5, (end - start) * scale):.1f}" '
            f'height="16"><title>{title}</title></rect>'
        )
    for number, clip in enumerate(entry.clips):
        if clip.interval is None:
            continue
        start, end = clip.interval.start_s, clip.interval.end_s
        parts.append(
            f'<rect class="clip" x="{x(start):.1f}" y="{28 + 9 * (number % 2)}" width="{(end - start) * scale:.1f}" '
            f'height="8"><title>clip {number + 1}: {clock(start)} to {clock(end)}</title></rect>'
        )
    top = 58.0
    for track in _tracks(entry, settings):
        parts += _draw(track, x, top)
        top += 74
    parts += [_label("Key frames", top + 9), *_ticks(entry, x, top)]
    bottom = top + 30
    cuts = "".join(
        f'<line class="cut" x1="{x(shot.interval.start_s):.1f}" x2="{x(shot.interval.start_s):.1f}" y1="54" '
        f'y2="{bottom - 8:.0f}"/>'
        for shot in entry.shots[1:]
    )
    axis = "".join(
        f'<text class="tick {"end" if x(at_s) > WIDTH - 24 else "middle"}" x="{x(at_s):.1f}" '
        f'y="{bottom + 8:.0f}">{clock(at_s)[:-2]}</text>'
        for at_s in charts.ticks(0, duration_s, 10)
    )
    title = escape(visible(str(entry.video.id)), quote=True)
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {bottom + 14:.0f}" role="img" '
        f'aria-label="Timeline of {title}">{cuts}{"".join(parts)}{axis}</svg>'
    )


def _tracks(entry: CuratedVideo, settings: dict[str, object]) -> list[_Track]:
    def bound(name: str) -> float | None:
        value = settings.get(name)
        return float(value) if isinstance(value, int | float) else None

    def values(name: str) -> list[tuple[float, float, str]]:
        return [
            (frame.pts_s, value, f"{clock(frame.pts_s)}: {value:.4g}")
            for frame in entry.frames
            if (value := getattr(frame, name)) is not None
        ]

    content_bound = bound("threshold")
    if settings.get("detector") == "content" and content_bound is None:
        content_bound = 27.0
    return [
        _Track("Content", values("content"), content_bound if settings.get("detector") == "content" else None, True),
        _Track("Sharpness", values("sharpness"), bound("min_sharpness"), True, logarithmic=True),
        _Track("Similarity", values("similarity"), bound("max_similarity"), False),
        _Track("Flow", values("flow_px"), None, True),
    ]


def _draw(track: _Track, x: _Scale, top: float) -> list[str]:
    height = 54.0
    parts = [_label(track.label, top + 12)]
    if not track.values:
        return [*parts, f'<text class="tick" x="{LEFT}" y="{top + 30:.0f}">not measured</text>']
    numbers = [value for _, value, _ in track.values] + ([track.bound] if track.bound is not None else [])
    low, high = min(0.0, *numbers), max(numbers)
    if track.logarithmic:
        low = 0.0

    def y(value: float) -> float:
        if track.logarithmic:
            return top + height * (1 - math.log1p(max(0.0, value)) / max(1e-9, math.log1p(high)))
        return top + height * (1 - (value - low) / max(1e-9, high - low))

    parts += [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 10}" y1="{top + height:.1f}" y2="{top + height:.1f}"/>',
        f'<text class="tick end" x="{LEFT - 6}" y="{top + height:.0f}">{_short(low)}</text>',
        f'<text class="tick end" x="{LEFT - 6}" y="{top + 26:.0f}">{_short(high)}</text>',
    ]
    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value, _ in track.values)
    parts.append(f'<polyline class="line m0" points="{line}"/>')
    if track.bound is not None:
        parts.append(
            f'<line class="bound" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(track.bound):.1f}" y2="{y(track.bound):.1f}">'
            f"<title>{'at least' if track.passes_above else 'at most'} {track.bound:g}</title></line>"
        )
    for at, value, title in track.values:
        parts.append(
            f'<circle class="hover" cx="{x(at):.1f}" cy="{y(value):.1f}" r="4"><title>{escape(title)}</title></circle>'
        )
    return parts


def _ticks(entry: CuratedVideo, x: _Scale, top: float) -> list[str]:
    """Key frames as full lines; blurred frames as crosses, frames like the one before as dots."""
    parts = []
    for frame in entry.frames:
        at, title = x(frame.pts_s), f"{clock(frame.pts_s)}: {frame.dropped or 'key frame'}"
        if frame.key_frame:
            shape = f'<rect class="kept" x="{at - 1.5:.1f}" y="{top:.0f}" width="3" height="16">'
        elif frame.dropped == "blurred":
            shape = f'<path class="blurred" d="M{at - 2.5:.1f} {top + 5.5:.1f}l5 5m0-5l-5 5">'
        else:
            shape = f'<circle class="alike" cx="{at:.1f}" cy="{top + 8:.0f}" r="1.5">'
        parts.append(f"{shape}<title>{title}</title></{shape[1:].split(' ')[0]}>")
    return parts


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _label(text: str, y: float) -> str:
    return f'<text class="track" x="0" y="{y:.0f}">{text}</text>'
