"""The filters that select videos, and the detection of near-duplicates.

Each filter takes its bounds from the settings. If it rejects, it gives the measured value, the bound with the options
that set it, and what to do. Near-duplicates are found by perceptual
hashes of pictures: copies in another size, codec or length.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reeltalk.curate.wholeness import filter_result, missing_share
from reeltalk.schema.outcomes import FilterResult, Rejected, Screening
from reeltalk_build.curate.settings import PRESETS, CurateSettings

FILTERS: Final = ("missing", "duration", "quality", "aesthetic", "shots", "mean shot", "motion")
"""Names of the filters in order of application, the cheap ones first."""
SET_BY_PRESETS: Final = ("duration", "shots", "mean shot", "motion")
"""The filters whose bounds the presets of the settings set."""


def duration(settings: CurateSettings, duration_s: float) -> FilterResult:
    """Filter by the length of the video. Its bounds also follow from the bounds on shots."""
    low, high = settings.shortest_s, settings.max_duration_s
    shots_s = settings.min_shots * settings.min_mean_shot_s
    reason, advice = None, None
    if duration_s < low:
        bounds, steps = [], []
        if duration_s < settings.min_duration_s:
            bounds.append(f"{settings.min_duration_s:g} s = --min-duration-s")
            steps.append("--min-duration-s")
        if duration_s < shots_s:
            bounds.append(
                f"{shots_s:g} s = --min-shots {settings.min_shots} × --min-mean-shot-s {settings.min_mean_shot_s:g}"
            )
            steps.append("--min-shots or --min-mean-shot-s")
        reason = f"it lasts {duration_s:.1f} s, shorter than {' and than '.join(bounds)}"
        advice = f"lower {', and '.join(steps)}"
    elif duration_s > high:
        reason = (
            f"it lasts {duration_s:.1f} s, longer than {high:g} s = --max-shots {settings.max_shots} × "
            f"--max-mean-shot-s {settings.max_mean_shot_s:g}"
        )
        advice = "raise --max-shots to the number of its shots, or --max-mean-shot-s if its shots are long"
    return filter_result("duration", duration_s, low, high, reason, advice)


def quality(settings: CurateSettings, brisque: float | None) -> FilterResult:
    """Filter by the no-reference quality (BRISQUE) of the key frames; smaller is better."""
    high = settings.max_brisque
    if high is None:
        return FilterResult(filter="quality", outcome="not applied", value=brisque, reason="no --max-brisque was given")
    if brisque is None:
        return FilterResult(filter="quality", outcome="not applied", high=high, reason="no key frame could be judged")
    reason = f"its BRISQUE score is {brisque:.1f}, above {high:g} = --max-brisque" if brisque > high else None
    return filter_result("quality", brisque, None, high, reason, "raise it, or leave it out")


def aesthetic(settings: CurateSettings, score: float | None) -> FilterResult:
    """Filter by the LAION aesthetic score of the key frames, 0 to 10."""
    low = settings.min_aesthetic
    if settings.aesthetic_model is None:
        return FilterResult(filter="aesthetic", outcome="not applied", low=low, reason="no --aesthetic-model was given")
    if score is None:
        return FilterResult(filter="aesthetic", outcome="not applied", low=low, reason="no key frame could be judged")
    reason = f"its aesthetic score is {score:.2f}, below {low:g} = --min-aesthetic" if score < low else None
    return filter_result("aesthetic", score, low, None, reason, "lower it, or leave out --aesthetic-model")


def shots(
    settings: CurateSettings, count: int, *, stopped_at_s: float | None, duration_s: float | None = None
) -> FilterResult:
    """Filter by the number of shots. The decoder stops when there are too many.

    Args:
        settings: The bounds.
        count: Number of shots.
        stopped_at_s: Where the decoder stopped; None if it read the whole video.
        duration_s: Length of the video, for an estimate of the number of its shots where the decoder stopped.
    """
    low, high = settings.min_shots, settings.max_shots
    reason, advice = None, "raise it, or make the detector find fewer cuts with a higher --threshold"
    counted = f"{count} shot" if count == 1 else f"{count} shots"
    if count > high:
        within = "" if stopped_at_s is None else f" within {stopped_at_s:.1f} s"
        if stopped_at_s and duration_s and duration_s > stopped_at_s:
            within += f", or about {count * duration_s / stopped_at_s:,.0f} in all its {duration_s:.1f} s"
        reason = f"it has {counted}{within}, more than {high} = --max-shots"
    elif count < low:
        reason = f"it has {counted}, fewer than {low} = --min-shots"
        advice = "lower it, or let the detector find more cuts with a lower --threshold"
    return filter_result("shots", float(count), float(low), float(high), reason, advice)


def mean_shot(settings: CurateSettings, mean_s: float) -> FilterResult:
    """Filter by the mean length of the shots in seconds."""
    low, high = settings.min_mean_shot_s, settings.max_mean_shot_s
    reason = None
    if mean_s < low:
        reason = f"its shots last {mean_s:.1f} s on average, less than {low:g} s = --min-mean-shot-s"
    elif mean_s > high:
        reason = f"its shots last {mean_s:.1f} s on average, more than {high:g} s = --max-mean-shot-s"
    return filter_result("mean shot", mean_s, low, high, reason, "lower it" if mean_s < low else "raise it")


def motion(settings: CurateSettings, mean_px: float | None) -> FilterResult:
    """Filter by the motion between frames one second apart in a shot. It is not SVBench's optical flow score.

    Args:
        settings: The bounds. The defaults are SVBench's numbers for its own score.
        mean_px: Mean length of the DIS flow in pixels of a picture whose longer side is 256; None if not measured.
    """
    low, high = settings.min_flow_px, settings.max_flow_px
    if mean_px is None:
        return FilterResult(
            filter="motion", outcome="not applied", low=low, high=high, reason="no shot holds two frames a second apart"
        )
    reason = None
    if mean_px < low:
        reason = f"hardly anything moves: its mean motion is {mean_px:.2f} px, below {low:g} px = --min-flow-px"
    elif mean_px > high:
        reason = f"its mean motion is {mean_px:.1f} px, above {high:g} px = --max-flow-px"
    return filter_result("motion", mean_px, low, high, reason, "lower it" if mean_px < low else "raise it")


def failed_filters(settings: CurateSettings, screening: Screening) -> list[FilterResult]:
    """The filters that would reject a video with other settings, from its stored measurements.

    Args:
        settings: The other settings.
        screening: The measurements.
    """
    measured = {result.filter: result.value for result in screening.filters if result.value is not None}
    found = []
    if "missing" in measured:
        found.append(missing_share(settings.max_missing, decoded_s=100 - measured["missing"], duration_s=100.0))
    if "duration" in measured:
        found.append(duration(settings, measured["duration"]))
    if "shots" in measured:
        found.append(shots(settings, round(measured["shots"]), stopped_at_s=None))
    mean_s = measured.get("mean shot")
    if mean_s is None and {"duration", "shots"} <= set(measured):
        mean_s = measured["duration"] / measured["shots"]
    if mean_s is not None:
        found.append(mean_shot(settings, mean_s))
    if "motion" in measured:
        found.append(motion(settings, measured["motion"]))
    return [result for result in found if result.outcome == "rejected"]


def describe_rejected(screenings: Iterable[Screening], rejected: Iterable[Rejected]) -> str:
    """A sentence about videos of which none was accepted: the most frequent reason, and what to do.

    Args:
        screenings: Their measurements.
        rejected: Their reasons, at least one.
    """
    measured = {str(row.video_id): row for row in screenings}
    groups: dict[tuple[str, str], list[Rejected]] = defaultdict(list)
    for row in rejected:
        results = measured[row.record_id].filters if row.record_id in measured else ()
        last = next((result for result in results if result.outcome == "rejected"), None)
        groups[(row.reason, "") if last is None else (last.filter, last.advice or "")].append(row)
    (filter_name, _), rows = max(groups.items(), key=lambda group: len(group[1]))
    total = sum(map(len, groups.values()))
    sentence = (
        f"no video was accepted; of {total:,}, {len(rows):,} for this reason ({rows[0].record_id}): {rows[0].reason}"
    )
    if filter_name not in SET_BY_PRESETS:
        return sentence
    helping = []
    for preset in PRESETS:
        settings = CurateSettings.model_validate({"preset": preset})
        if 2 * sum(not failed_filters(settings, measured[row.record_id]) for row in rows) > len(rows):
            helping.append(preset)
    return f"{sentence}, or use --preset {' or '.join(helping)}" if helping else sentence


HASH_BITS: Final = 64


def near_duplicates(hashes: Mapping[str, Sequence[str]], *, max_bits: int, min_share: float) -> dict[str, str]:
    """Group videos that share their pictures.

    Two videos are near-duplicates if, of the one with fewer pictures, `min_share` have a picture in the other whose
    hash differs in at most `max_bits` of 64 bits. Each hash is split into `max_bits + 1` parts; two such hashes have an
    equal part, by which they are looked up. So the cost grows with the number of similar pictures, not with the square
    of the number of videos.

    Args:
        hashes: 64-bit hashes as 16 hexadecimal digits, by video.
        max_bits: 0 to 7.
        min_share: Above 0, up to 1.

    Returns:
        The group of each video that has a near-duplicate. A group is named after its first video in sorted order.
    """
    numbers = {video: sorted({int(value, 16) for value in values}) for video, values in hashes.items()}
    parts = max_bits + 1
    edges = [round(index * HASH_BITS / parts) for index in range(parts + 1)]
    index: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    found: dict[tuple[str, str], list[set[int]]] = defaultdict(lambda: [set(), set()])
    for video in sorted(numbers):
        for number in numbers[video]:
            for part in range(parts):
                key = (part, number >> edges[part] & (1 << edges[part + 1] - edges[part]) - 1)
                for other, its in index[key]:
                    if other != video and (number ^ its).bit_count() <= max_bits:
                        mine, theirs = found[other, video]
                        mine.add(its)
                        theirs.add(number)
                index[key].append((video, number))
    parent = {video: video for video in numbers}

    def root(video: str) -> str:
        while parent[video] != video:
            video = parent[video]
        return video

    for (first, second), (of_first, of_second) in found.items():
        few, matched = min(
            (len(numbers[first]), len(of_first)), (len(numbers[second]), len(of_second)), key=lambda pair: pair[0]
        )
        if matched >= min_share * few:
            a, b = sorted((root(first), root(second)))
            parent[b] = a
    sizes: dict[str, int] = defaultdict(int)
    for video in numbers:
        sizes[root(video)] += 1
    return {video: root(video) for video in sorted(numbers) if sizes[root(video)] > 1}
