"""Pages about a curation: accepted and rejected videos with reasons, statistics, and a page for each video."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from reeltalk.analysis.dataset import Spread
from reeltalk.pages import charts
from reeltalk.pages.dataset_figures import histogram_bins
from reeltalk.pages.site import BenchmarkSite
from reeltalk.schema.media import Clip, SampledFrame, Shot, Video
from reeltalk.schema.outcomes import Rejected, Screening
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, FRAMES, REJECTED, SCREENINGS, SHOTS, SPEECH, VIDEOS

WIDTH: Final = 1000
LEFT: Final = 76
"""Pixels left of the plots, for labels."""


@dataclass
class CuratedVideo:
    """All data of the benchmark about one video."""

    video: Video
    file: str
    """Name of its page."""
    screening: Screening | None = None
    shots: list[Shot] = field(default_factory=list)
    frames: list[SampledFrame] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    speech: list[Utterance] = field(default_factory=list)

    @property
    def duration_s(self) -> float:
        """Length; 0 if unknown."""
        return self.video.duration_s or 0.0

    @property
    def decoded(self) -> str | None:
        """The decoded part of a truncated or damaged video, as text; None if nothing is missing."""
        if self.video.decoded_s is None:
            return None
        return f"decoded {self.video.decoded_s:.1f} of {self.duration_s:.1f} s"

    @property
    def key_frames(self) -> int:
        """Number of key frames."""
        return sum(frame.key_frame for frame in self.frames)


def is_curated(benchmark: Benchmark) -> bool:
    """True if `reeltalk curate` wrote the benchmark."""
    return SCREENINGS.file_name in benchmark.manifest.files


def write_curation(site: BenchmarkSite) -> None:
    """Write `index.html`, and a page for each accepted video below `videos/`.

    Raises:
        InputError: A table is damaged.
    """
    benchmark = site.benchmark
    videos = _collect(benchmark)
    screenings, rejected = list(benchmark.read(SCREENINGS)), list(benchmark.read(REJECTED))
    settings = benchmark.manifest.files[SCREENINGS.file_name].settings
    for number, video in enumerate(videos):
        site.render(
            "curated_video.html",
            f"videos/{video.file}",
            entry=video,
            sheet=site.copy(video.screening.sheet, "videos") if video.screening is not None else None,
            timeline=draw_video(site.environment, video, settings),
            dropped=Counter(frame.dropped for frame in video.frames if frame.dropped),
            before=videos[number - 1] if number else None,
            after=videos[number + 1] if number + 1 < len(videos) else None,
            format_clock=format_clock,
        )
    by_id: dict[str, Screening] = {row.video_id: row for row in screenings}
    site.render(
        "curation.html",
        "index.html",
        videos=videos,
        looked_at=len(videos) + len(rejected),
        rejected=[(row, by_id.get(row.record_id)) for row in rejected],
        funnel=_funnel(screenings, rejected),
        figures=[(title, Markup(drawn)) for title, drawn in _statistics(videos)],
        categories=Counter(entry.video.category or "not stated" for entry in videos).most_common(),
        licences=Counter(entry.video.licence or "not stated" for entry in videos).most_common(),
        settings=settings,
        format_clock=format_clock,
    )


def _collect(benchmark: Benchmark) -> list[CuratedVideo]:
    found = {
        video.id: CuratedVideo(video, f"{number + 1:04d}.html") for number, video in enumerate(benchmark.read(VIDEOS))
    }
    for screening in benchmark.read(SCREENINGS):
        if screening.video_id in found:
            found[screening.video_id].screening = screening
    for field_name, table in (("shots", SHOTS), ("frames", FRAMES), ("clips", CLIPS), ("speech", SPEECH)):
        rows: Iterable[Any] = benchmark.read(table)
        for row in rows:
            getattr(found[row.video_id], field_name).append(row)
    return list(found.values())


def _funnel(screenings: Iterable[Screening], rejected: Sequence[Rejected]) -> list[tuple[str, int, int, int]]:
    """For each filter in order: its name, and the numbers of videos tested, rejected, and not applied to."""
    came: dict[str, Counter[str]] = defaultdict(Counter)
    for row in screenings:
        for result in row.filters:
            came[result.filter][result.outcome] += 1
    by_filter = sum(counts["rejected"] for counts in came.values())
    lines = [("readable, and not a duplicate", 0, len(rejected) - by_filter, 0)]
    return lines + [
        (name, sum(counts.values()), counts["rejected"], counts["not applied"]) for name, counts in came.items()
    ]


def _statistics(videos: Sequence[CuratedVideo]) -> list[tuple[str, str]]:
    """Histograms as in figures 3 and 6 of SVBench and figure 3 of MT-Video-Bench."""
    clips = [clip.interval.duration_s for entry in videos for clip in entry.clips if clip.interval]
    shots = [shot.interval.duration_s for entry in videos for shot in entry.shots]
    drawn: list[tuple[str, Sequence[float], str, str, bool]] = [
        ("Length of videos", [entry.duration_s for entry in videos], "seconds", "videos", False),
        ("Shots in a video", [len(entry.shots) for entry in videos], "shots", "videos", True),
        ("Length of shots", shots, "seconds", "shots", False),
        ("Length of clips", clips, "seconds", "clips", False),
        ("Clips of a video", [len(entry.clips) for entry in videos], "clips", "videos", True),
        ("Key frames of a video", [entry.key_frames for entry in videos], "key frames", "videos", True),
    ]
    return [(title, _histogram(values, axis, of, whole=whole)) for title, values, axis, of, whole in drawn]


def _histogram(values: Sequence[float], axis: str, of: str, *, whole: bool = False) -> str:
    """A histogram with equal bins, and a line with mean, minimum and maximum."""
    if not values:
        return '<p class="empty">Nothing to show.</p>'
    mean = sum(values) / len(values)
    note = f"mean {mean:.1f}, from {min(values):g} to {max(values):.4g}, n = {len(values):,}"
    bins = histogram_bins(Spread(Counter(values)), whole=whole)
    drawn = charts.histogram_chart(bins, title=note, axis=axis, values=of, width=320)
    return f'{drawn}<p class="soft small">{escape(note)}</p>'


def format_clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    minutes, rest = divmod(round(seconds, 1), 60)
    return f"{int(minutes)}:{rest:04.1f}"


@dataclass(frozen=True)
class _Track:
    """One measure over time."""

    label: str
    values: list[tuple[float, float, str]]
    """Time in seconds, value, and tooltip."""
    bound: float | None
    passes_above: bool
    logarithmic: bool = False

    @cached_property
    def _ends(self) -> tuple[float, float]:
        numbers = [value for _, value, _ in self.values] + ([self.bound] if self.bound is not None else [])
        return 0.0 if self.logarithmic else min(0.0, *numbers), max(numbers)

    @property
    def lowest(self) -> str:
        """The number at the lower end of its axis."""
        return _short(self._ends[0])

    @property
    def highest(self) -> str:
        """The number at the upper end of its axis."""
        return _short(self._ends[1])

    def below(self, value: float) -> float:
        """Distance of a value from the upper end of the axis, as a share of its height."""
        low, high = self._ends
        if self.logarithmic:
            return 1 - math.log1p(max(0.0, value)) / max(1e-9, math.log1p(high))
        return 1 - (value - low) / max(1e-9, high - low)


def draw_video(environment: Environment, entry: CuratedVideo, settings: dict[str, object]) -> Markup:
    """A video's shots and clips, the measures of its sampled frames, and its key frames, as inline SVG."""
    duration_s = max(entry.duration_s, 0.1)
    scale = (WIDTH - LEFT - 10) / duration_s
    return Markup(
        environment.get_template("_video_line.html").render(
            entry=entry,
            tracks=_tracks(entry, settings),
            ticks=charts.axis_ticks(0, duration_s, 10),
            x=lambda seconds: LEFT + seconds * scale,
            format_clock=format_clock,
            width=WIDTH,
            left=LEFT,
        )
    )


def _tracks(entry: CuratedVideo, settings: dict[str, object]) -> list[_Track]:
    def bound(name: str) -> float | None:
        value = settings.get(name)
        return float(value) if isinstance(value, int | float) else None

    def values(name: str) -> list[tuple[float, float, str]]:
        return [
            (frame.pts_s, value, f"{format_clock(frame.pts_s)}: {value:.4g}")
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
        _Track("Motion", values("flow_px"), None, True),
    ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
