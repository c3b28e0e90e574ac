"""The curate stage: filter videos, split them into clips, and write the tables in one step.

Child processes open and decode the videos. Clips are made from shots by the rule of SVBench's paper or of its script.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Final

from reeltalk._version import __version__
from reeltalk.curate.records import decoded_of, encoding_of, unusual
from reeltalk.curate.sources import find_videos, read_beside, skipped_files
from reeltalk.curate.transcripts import repair_sentences, speech_of
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.parallel import Executor
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, RepairedSpeech, Screening, StageReport
from reeltalk.schema.record import ClipId, Json, VideoId, derive_id
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.foreign import VIDEO_SUFFIXES
from reeltalk.store.sources import FetchedSources
from reeltalk.store.tables import CLIPS, FRAMES, REJECTED, SCREENINGS, SHOTS, SPEECH, VIDEOS
from reeltalk_build.curate import filters
from reeltalk_build.curate.calls import KEY_FRAMES, SHEETS, STAGE, Calls, Candidate, sheet_path
from reeltalk_build.curate.filters import near_duplicates
from reeltalk_build.curate.settings import CurateSettings

TABLES_WRITTEN: Final = (VIDEOS, SCREENINGS, SHOTS, FRAMES, SPEECH, CLIPS, REJECTED)


def curate(
    inputs: Sequence[Path | FetchedSources],
    benchmark: Benchmark,
    settings: CurateSettings,
    *,
    executor: Executor,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> StageReport:
    """Filter videos, split them into clips, and choose their key frames.

    An interrupted run continues where it stopped, since finished results are cached. The tables are written together at
    the end; their bytes do not depend on interruptions. A video or a side file that cannot be read is reported, and
    the rest is curated.

    Args:
        inputs: Video files, folders to search, and files fetched from addresses.
        benchmark: Receives `videos`, `screenings`, `shots`, `frames`, `speech`, `clips`, `rejected` and sheets.
        settings: Filters and rules.
        executor: Runs the child processes.
        strict: True to stop at the first file that cannot be read.
        progress: Called with the name of the work, done, total and share.

    Raises:
        InputError: An input does not exist, or a file cannot be read, if `strict`.
        SettingError: Settings contradict each other.
        BenchmarkError: The benchmark has tables of other stages, or cannot be written.
    """
    detector = settings.detector_settings
    shares = settings.split_shares
    stored = _stored_settings(settings)
    sources, rejected = find_videos(inputs)
    candidates = [Candidate(source, source.path.stat().st_size) for source in sources]
    for candidate in candidates:
        candidate.sidecar, candidate.transcript, candidate.left_out, candidate.source = read_beside(
            candidate.source, speech=settings.speech, language=settings.speech_language, strict=strict
        )
    other_files = skipped_files(inputs, [candidate.source for candidate in candidates])
    if settings.media == "link":
        for candidate in candidates:
            benchmark.media.check_link(candidate.source.path)
    run = Calls(benchmark, settings, executor, progress)
    run.ingest(candidates)
    unread = [(row.place or row.record_id, row.reason) for row in rejected]
    unread += [(c.source.place, c.reason) for c in candidates if c.reason is not None]
    if strict and unread:
        raise InputError(unread[0][1], file=unread[0][0])
    told = StageReport(
        stage=STAGE,
        counts={},
        left_out=tuple(f"{c.source.id}: {line}" for c in candidates for line in c.left_out),
        passed_over=other_files,
        unread=len(unread),
    )
    parents = _parents(candidates, rejected)
    if _is_up_to_date(benchmark, stored, parents):
        warnings = ["nothing changed since the last run"]
        if not benchmark.rows(VIDEOS):
            warnings.append(_describe_rejected(benchmark.read(SCREENINGS), list(benchmark.read(REJECTED))))
        return told.model_copy(update={"warnings": tuple(warnings)})
    _refuse_foreign(benchmark)
    _reject_copies(candidates)
    readable = [candidate for candidate in candidates if candidate.reason is None]
    run.judge(candidates)
    run.scan(candidates, detector)
    kept = [candidate for candidate in candidates if candidate.reason is None]
    groups = near_duplicates(
        {c.source.id: c.hashes for c in kept}, max_bits=settings.alike_bits, min_share=settings.alike_share
    )
    splits = _splits(kept, groups, shares, settings.seed)
    for candidate in kept:
        candidate.clips = _clips(candidate, settings)
    if settings.cut != "none":
        run.cut(kept)
        kept = [candidate for candidate in kept if candidate.reason is None]
    damaged = [c for c in readable if c.reason and all(result.outcome != "rejected" for result in c.results)]
    if strict and damaged:
        raise InputError(str(damaged[0].reason), file=damaged[0].source.place)
    if settings.media != "none":
        copying = settings.media == "copy"
        what, keep = ("copying", benchmark.media.add) if copying else ("linking", benchmark.media.link)
        for number, candidate in enumerate(kept):
            assert candidate.ingested is not None
            if keep(candidate.source.path) != candidate.ingested.sha256:
                raise BenchmarkError(f"{candidate.source.place} changed while it was curated; run the command again")
            progress(f"{what} videos", number + 1, len(kept), (number + 1) / len(kept))
    rejected += [
        Rejected(table="videos", record_id=c.source.id, reason=c.reason, place=c.source.place)
        for c in candidates
        if c.reason is not None
    ]
    rejected.sort(key=lambda row: row.record_id)
    late: dict[str, int] = {}
    with benchmark.writing(stage=STAGE, settings=stored, parents=parents) as writer:
        writer.remove(
            benchmark.manifest, *(table.file_name for table in TABLES_WRITTEN), f"{SHEETS}/", f"{KEY_FRAMES}/"
        )
        counts = {
            "videos": writer.add(VIDEOS, (_video(c, groups, splits) for c in kept)),
            "clips": writer.add(CLIPS, (clip for c in kept for clip in c.clips)),
            "shots": writer.add(SHOTS, run.shots(kept)),
            "frames": writer.add(FRAMES, run.frames(kept)),
            "screenings": writer.add(SCREENINGS, (_screening(c) for c in candidates)),
            "rejected": writer.add(REJECTED, rejected),
        }
        if any(candidate.transcript for candidate in kept):
            counts["utterances"] = writer.add(SPEECH, _speech(kept, late))
        run.add_pictures(writer, kept)
    odd = unusual(_video(candidate, groups, splits) for candidate in kept)
    warnings = [*_warnings(candidates, groups, settings), *odd, *_speech_warnings(kept, late)]
    if not kept:
        warnings.insert(0, _describe_rejected(map(_screening, candidates), rejected))
    return told.model_copy(
        update={
            "counts": counts,
            "rejected": tuple(rejected),
            "warnings": tuple(warnings),
            "unread": told.unread + len(damaged),
        }
    )


def _reject_copies(candidates: Iterable[Candidate]) -> None:
    first: dict[str, str] = {}
    for candidate in candidates:
        if candidate.ingested is None or candidate.reason is not None:
            continue
        other = first.setdefault(candidate.ingested.sha256, candidate.source.id)
        if other != candidate.source.id:
            candidate.reason = f"it is the same file as {other}, byte for byte"


def _clips(candidate: Candidate, settings: CurateSettings) -> list[Clip]:
    duration_s = max(shot.end_s for shot in candidate.shots)
    if settings.compat == "svbench":
        intervals = clips_of_script(candidate.shots, duration_s)
    else:
        intervals = clips_of(
            candidate.shots, duration_s, merge_below_s=settings.merge_below_s, extend_s=settings.extend_s
        )
    video_id = VideoId(candidate.source.id)
    return [
        Clip(id=ClipId(derive_id("clip", video_id, i.start_s, i.end_s)), video_id=video_id, interval=i)
        for i in intervals
    ]


def _splits(
    kept: Sequence[Candidate], groups: dict[str, str], shares: dict[str, float], seed: int
) -> dict[str, str | None]:
    """The split of each video: that of its sidecar, or one drawn per group, so that near-duplicates stay together."""
    splits: dict[str, str | None] = {}
    drawn: dict[str, str | None] = {}
    for candidate in kept:
        said = candidate.sidecar.get("split")
        if said is not None:
            drawn.setdefault(groups.get(candidate.source.id, candidate.source.id), said)
    for candidate in kept:
        name = groups.get(candidate.source.id, candidate.source.id)
        if name not in drawn:
            number = int(hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()[:12], 16) / 16**12
            drawn[name] = None
            for split, share in shares.items():
                drawn[name] = split
                if number < share:
                    break
                number -= share
        splits[candidate.source.id] = drawn[name]
    return splits


def _video(candidate: Candidate, groups: dict[str, str], splits: dict[str, str | None]) -> Video:
    facts = candidate.ingested
    assert facts is not None
    assert facts.probe is not None
    probe = facts.probe
    return Video(
        id=VideoId(candidate.source.id),
        file=candidate.source.name,
        sha256=facts.sha256,
        duration_s=max(probe.promised_s, max(shot.end_s for shot in candidate.shots)),
        decoded_s=decoded_of(probe, candidate.lost),
        frame_rate=probe.frame_rate,
        width_px=probe.width_px,
        height_px=probe.height_px,
        encoding=encoding_of(probe),
        lookalikes=groups.get(candidate.source.id),
        category=candidate.sidecar.get("category"),
        licence=candidate.sidecar.get("licence"),
        source=candidate.sidecar.get("source"),
        split=splits[candidate.source.id],
    )


def _speech(kept: Iterable[Candidate], late: dict[str, int]) -> Iterator[Utterance]:
    """What is said in the videos; counts in `late` the utterances of each video that begin after its end."""
    for candidate in kept:
        if candidate.transcript is None:
            continue
        spoken, left_out = speech_of(candidate.transcript, VideoId(candidate.source.id), _end_s(candidate))
        yield from spoken
        if left_out:
            late[candidate.transcript.file.name] = left_out


def _speech_warnings(kept: Sequence[Candidate], late: dict[str, int]) -> Iterator[str]:
    without = sum(candidate.transcript is None for candidate in kept)
    if 0 < without < len(kept):
        yield f"{without:,} of {len(kept):,} videos have no subtitle or transcript file that is read"
    yield from repair_sentences((c.source.id, c.transcript, _end_s(c)) for c in kept if c.transcript is not None)
    for name, count in late.items():
        yield f"{name}: {count:,} lines begin after the end of the video and are left out; is it another video's?"


def _screening(candidate: Candidate) -> Screening:
    facts = candidate.ingested
    return Screening(
        video_id=VideoId(candidate.source.id),
        kept=candidate.reason is None,
        filters=tuple(candidate.results),
        quality=facts.quality if facts else None,
        decoded_s=candidate.decoded_s,
        damaged_packets=candidate.damaged_packets,
        sheet=sheet_path(candidate) if candidate.has_sheet and candidate.reason is None else None,
        speech=_repaired(candidate),
        left_out=candidate.left_out or None,
    )


def _repaired(candidate: Candidate) -> RepairedSpeech | None:
    if candidate.transcript is None or not (counts := candidate.transcript.repaired(_end_s(candidate))):
        return None
    return RepairedSpeech(file=Path(candidate.transcript.file.name).name, repaired=counts)


def _end_s(candidate: Candidate) -> float:
    return max((shot.end_s for shot in candidate.shots), default=math.inf)


def _stored_settings(settings: CurateSettings) -> dict[str, Json]:
    # The values say it all: a preset and the same options given one by one make the same benchmark.
    stored: dict[str, Json] = settings.model_dump(mode="json", exclude={"preset"})
    if settings.aesthetic_model is not None:
        # The path differs between machines, so the hash of the weights is stored.
        from reeltalk_build.inference.aesthetics import weights_hash

        stored["aesthetic_model"] = weights_hash(settings.aesthetic_model)
    return stored


def _parents(candidates: Iterable[Candidate], rejected: Iterable[Rejected]) -> dict[str, str]:
    """Inputs of the tables: hashes of all files, sidecars and transcripts, and the reasons of files rejected unread."""
    parents = {row.record_id: row.reason for row in rejected}
    for candidate in candidates:
        parents[candidate.source.id] = candidate.ingested.sha256 if candidate.ingested else "unreadable"
        if candidate.sidecar:
            said = json.dumps(candidate.sidecar, sort_keys=True)
            parents[f"{candidate.source.id} (sidecar)"] = hashlib.sha256(said.encode()).hexdigest()
        if candidate.transcript is not None:
            parents[f"{candidate.source.id} (speech)"] = candidate.transcript.sha256
    return parents


def _is_up_to_date(benchmark: Benchmark, settings: dict[str, Json], parents: dict[str, str]) -> bool:
    entry = benchmark.manifest.files.get(VIDEOS.file_name)
    return entry is not None and (entry.stage, entry.version, entry.settings, entry.parents) == (
        STAGE,
        __version__,
        json.loads(json.dumps(settings)),
        parents,
    )


def _refuse_foreign(benchmark: Benchmark) -> None:
    foreign = sorted(name for name, entry in benchmark.manifest.files.items() if entry.stage != STAGE)
    if foreign:
        raise BenchmarkError(
            f"{benchmark.path} holds {', '.join(foreign[:3])}, which depend on its videos and clips; "
            "curate into another folder"
        )


def _describe_rejected(screenings: Iterable[Screening], rejected: Sequence[Rejected]) -> str:
    if rejected:
        return filters.describe_rejected(screenings, rejected)
    return f"no video was found; a video's name ends in {', '.join(sorted(VIDEO_SUFFIXES))}"


def _warnings(candidates: Sequence[Candidate], groups: dict[str, str], settings: CurateSettings) -> list[str]:
    warnings = []
    kept = [candidate for candidate in candidates if candidate.reason is None]
    for name in filters.FILTERS:
        skipped = {r.reason for c in kept for r in c.results if r.filter == name and r.outcome == "not applied"}
        if skipped:
            warnings.append(f"the {name} filter was not applied: {'; '.join(sorted(map(str, skipped)))}")
    if groups:
        sets = len(set(groups.values()))
        warnings.append(f"{len(groups):,} videos look like another, in {sets:,} groups; splits keep a group together")
    damaged = sum(candidate.damaged_packets > 0 for candidate in kept)
    if damaged:
        warnings.append(f"{damaged:,} videos have packets that could not be decoded, and were skipped")
    cut_off = sum(
        c.ingested is not None and c.ingested.probe is not None and decoded_of(c.ingested.probe, c.lost) is not None
        for c in kept
    )
    if cut_off:
        warnings.append(
            f"{cut_off:,} videos were cut off or are damaged; decoded_s in {VIDEOS.file_name} says how much can be had"
        )
    unlicensed = sum("licence" not in candidate.sidecar for candidate in kept)
    if unlicensed:
        warnings.append(f"{unlicensed:,} videos have no sidecar that states a licence")
    return warnings


COMPAT_SKIP_S: Final = 1.5


def clips_of(shots: Sequence[Interval], duration_s: float, *, merge_below_s: float, extend_s: float) -> list[Interval]:
    """Clips by the rule of SVBench's paper (arXiv 2502.10810).

    Shots shorter than `merge_below_s` are merged, the shortest first, with the shorter of their neighbours, or with the
    earlier one if both are equal. Then each clip is extended by `extend_s` on both sides, within the video.

    Args:
        shots: Consecutive shots without gaps.
        duration_s: Length of the video.
        merge_below_s: Shortest clip before it is extended.
        extend_s: Extension on each side; neighbouring clips overlap by twice as much.
    """
    parts = dict(enumerate(shots))
    before = {index: index - 1 for index in parts}
    after = {index: index + 1 for index in parts}
    # A long video may have thousands of shots, so the shortest is looked up and not searched for.
    lengths = [(part.duration_s, index) for index, part in parts.items()]
    heapify(lengths)
    while lengths:
        length_s, shortest = heappop(lengths)
        if shortest not in parts or parts[shortest].duration_s != length_s:
            continue
        neighbours = [index for index in (before[shortest], after[shortest]) if index in parts]
        if length_s >= merge_below_s or not neighbours:
            break
        other = min(neighbours, key=lambda index: (parts[index].duration_s, index))
        first, last = min(shortest, other), max(shortest, other)
        parts[first] = Interval(start_s=parts[first].start_s, end_s=parts.pop(last).end_s)
        after[first] = after[last]
        before[after[first]] = first
        heappush(lengths, (parts[first].duration_s, first))
    return [
        Interval(start_s=max(shots[0].start_s, part.start_s - extend_s), end_s=min(duration_s, part.end_s + extend_s))
        for part in parts.values()
    ]


def clips_of_script(shots: Sequence[Interval], duration_s: float) -> list[Interval]:
    """Clips by SVBench's script: shots below 1.5 s are left out, bounds are whole seconds.

    The script's last clip may end after the video; here it ends with the video.
    """
    return [
        Interval(start_s=float(math.floor(shot.start_s)), end_s=min(float(math.ceil(shot.end_s)), duration_s))
        for shot in shots
        if shot.duration_s >= COMPAT_SKIP_S
    ]
