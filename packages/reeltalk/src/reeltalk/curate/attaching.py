"""Attach video files to a benchmark that was imported without them. Files are matched with videos by name."""

import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.curate.records import FileFacts, decoded_of, encoding_of, unusual
from reeltalk.curate.sources import SourceVideo, find_videos, read_beside
from reeltalk.curate.transcripts import Transcript, repair_sentences, speech_of
from reeltalk.curate.wholeness import MAX_MISSING, full_reason, missing_share
from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import Rejected, StageReport
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import SPEECH, VIDEOS

STAGE: Final = "attach"
UNREADABLE: Final = "cannot be read"
"""Begin of the reason why a file is not attached, if it is damaged."""
FILE_LIMITS: Final = Limits(wall_s=600.0)
"""Limits of hashing and probing one file."""


def attach(
    inputs: Sequence[Path],
    benchmark: Benchmark,
    *,
    executor: Executor,
    max_missing: float = MAX_MISSING,
    speech_language: str | None = None,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> StageReport:
    """Copy video files into a benchmark's media store, and write their hash, length, frame rate and size into `videos`.

    A file matches a video if the video's `file` or its identifier equals the file's path, its name, or its name without
    suffix, in either Unicode form. The other fields of the rows do not change, and the manifest still names the stage
    that wrote them. The subtitle or transcript file beside a video file becomes the video's speech, if the benchmark
    has none of it yet.

    Args:
        inputs: Video files, and folders to search.
        benchmark: The benchmark. Videos that already have their file are left alone.
        executor: Runs the child processes that open the files.
        max_missing: Largest missing part of a truncated or damaged file, in percent of its length.
        speech_language: Language of the subtitles that are read if a video has several.
        strict: True to stop at the first transcript that cannot be read.
        progress: Called with the name of the work, done, total and share.

    Raises:
        FrozenError: The benchmark is a release.
        BenchmarkError: The benchmark has no videos, or no file matches any of them.
        InputError: An input does not exist, or a transcript cannot be read, if `strict`.
        SettingError: A video has subtitles in several languages, if `strict`.
    """
    benchmark.check_changeable()
    videos = list(benchmark.read(VIDEOS))
    if not videos:
        raise BenchmarkError(
            f"{benchmark.path} has no videos to which files could belong; 'reeltalk import' makes some"
        )
    wanted = [video for video in videos if video.sha256 is None or not benchmark.media.has(video.sha256)]
    sources, rejected = find_videos(inputs)
    found, doubtful = _matched(videos, sources, {_composed(row.place or "") for row in rejected})
    settled = {*found, *(video for video, _ in doubtful)}
    rejected, unread = _of_videos(rejected, [video for video in wanted if video.id not in settled])
    if not settled and not unread:
        raise BenchmarkError(
            f"none of {len(sources):,} files belongs to a video of {benchmark.path}, by name: names such as "
            f"{videos[0].file or videos[0].id!r} are looked for; rename the files or give another folder"
        )
    transcripts, left_out = _transcripts(benchmark, found, speech_language, strict=strict)
    known: dict[str, Video] = {}
    pairs = [(video, found[video.id]) for video in wanted if video.id in found]
    calls = (Call({"path": str(source.path)}, FILE_LIMITS) for _, source in pairs)
    try:
        for done, (index, outcome) in enumerate(executor.map("reeltalk.curate.workers:look", calls), start=1):
            video, source = pairs[index]
            attached, reason = _looked_at(video, outcome, max_missing)
            if attached is None:
                rejected.append(Rejected(table="videos", record_id=video.id, reason=reason, place=str(source.path)))
            else:
                if benchmark.media.add(source.path) != attached.sha256:
                    raise BenchmarkError(f"{source.path} changed while it was read; run the command again")
                known[video.id] = attached
            progress("attaching videos", done, len(pairs), done / len(pairs))
    finally:
        # Also after an error or interrupt: files that were attached are not read again.
        if known:
            with benchmark.writing(stage=STAGE) as writer:
                rows = (known.get(video.id, video) for video in videos)
                writer.add(VIDEOS, rows, work_of=benchmark.manifest.files[VIDEOS.file_name])
    there = [known.get(video.id, video) for video in videos if video.id in known or video not in wanted]
    utterances, late = _add_speech(benchmark, transcripts, there)
    lacking = [video.id for video in wanted if video.id not in known]
    unread |= {row.record_id for row in rejected}
    used = {source.name for source in found.values()}.union(*(names for _, names in doubtful))
    idle = [source.name for source in sources if source.name not in used]
    return StageReport(
        stage=STAGE,
        counts={
            "attached": len(known),
            "there already": len(videos) - len(wanted),
            "without a file": len(lacking),
            **({"utterances": utterances} if utterances else {}),
        },
        rejected=tuple(rejected),
        left_out=left_out,
        warnings=tuple(
            [
                *(
                    f"{video}: {len(names)} files have its name, such as {names[0]}; give one"
                    for video, names in doubtful
                ),
                *repair_sentences(
                    (video.id, transcripts[video.id], video.duration_s)
                    for video in there
                    if video.id in transcripts and video.duration_s is not None
                ),
                *_enumerate("transcripts go on after the end of their videos, and their last lines are left out", late),
                *unusual(known.values()),
                *_enumerate("videos still have no file", [name for name in lacking if name not in unread]),
                *_enumerate("files belong to no video", idle),
            ]
        ),
    )


def _transcripts(
    benchmark: Benchmark, found: dict[str, SourceVideo], language: str | None, *, strict: bool
) -> tuple[dict[str, Transcript], tuple[str, ...]]:
    """The transcripts of videos that have no speech yet, each read once, and what cannot be read."""
    spoken = {row.video_id for row in benchmark.read(SPEECH)}
    beside = {
        video_id: read_beside(source._replace(id=video_id), described=False, language=language, strict=strict)
        for video_id, source in found.items()
        if video_id not in spoken
    }
    left_out = tuple(f"{video_id}: {line}" for video_id, read in beside.items() for line in read.left_out)
    return {video_id: read.transcript for video_id, read in beside.items() if read.transcript is not None}, left_out


def _add_speech(
    benchmark: Benchmark, transcripts: dict[str, Transcript], videos: Sequence[Video]
) -> tuple[int, list[str]]:
    """Add what is said in the videos; the number of utterances, and the files with lines after the end of a video."""
    rows: list[Utterance] = []
    late: list[str] = []
    for video in videos:
        transcript = transcripts.get(video.id)
        if transcript is not None and video.duration_s is not None:
            spoken, left_out = speech_of(transcript, video.id, video.duration_s)
            rows += spoken
            late += [transcript.file.name] if left_out else []
    if rows:
        with benchmark.writing(stage=STAGE) as writer:
            # As with the rows of videos, the manifest still names the stage that wrote the benchmark.
            files = benchmark.manifest.files
            origin = files.get(SPEECH.file_name, files[VIDEOS.file_name])
            writer.add(SPEECH, [*benchmark.read(SPEECH), *rows], work_of=origin)
    return len(rows), late


def _enumerate(what: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{len(names):,} {what}: {', '.join(names)}"


def _composed(name: str) -> str:
    """A name in one form, since some file systems write `ü` as two characters."""
    return unicodedata.normalize("NFC", name)


def _matched(
    videos: Sequence[Video], sources: Sequence[SourceVideo], refused: Container[str]
) -> tuple[dict[str, SourceVideo], list[tuple[str, list[str]]]]:
    """The file of each video by the video's identifier, and the videos that several files match equally well."""
    named: dict[str, list[SourceVideo]] = defaultdict(list)
    for source in sources:
        path = PurePosixPath(_composed(source.name))
        for name in {path.as_posix(), path.with_suffix("").as_posix(), path.name, path.stem}:
            named[name].append(source)
    found: dict[str, SourceVideo] = {}
    doubtful = []
    for video in videos:
        for name in _names_of(video):
            same = named.get(name, [])
            same = [source for source in same if _composed(source.name) == name] or same
            fitting = [source.name for source in same]
            # Two files whose paths differ only in their Unicode form: one of them is refused.
            fitting += [source.name for source in same if _composed(source.place) in refused]
            if len(fitting) == 1:
                [found[video.id]] = same
            elif fitting:
                doubtful.append((str(video.id), fitting))
            if fitting:
                break
    return found, doubtful


def _of_videos(rejected: Sequence[Rejected], videos: Sequence[Video]) -> tuple[list[Rejected], set[str]]:
    """Refused files under the names of the videos that they may belong to, and these names."""
    rows = {_composed(name): row for row in rejected for name in (PurePosixPath(row.record_id).name, row.record_id)}
    of_video: dict[str, Rejected] = {}
    for video in videos:
        row = next((rows[name] for name in _names_of(video) if name in rows), None)
        if row is not None:
            update = {"record_id": video.id, "reason": _unread(row.reason)}
            of_video[video.id] = row.model_copy(update=update)
    taken = {row.place for row in of_video.values()}
    return [*of_video.values(), *(row for row in rejected if row.place not in taken)], set(of_video)


def _names_of(video: Video) -> list[str]:
    """Names that the video's file may have, the most exact first."""
    paths = [PurePosixPath(_composed(name)) for name in (video.file, video.id) if name]
    names = [name for path in paths for name in (path.as_posix(), path.name, path.stem)]
    return list(dict.fromkeys(names))


def _unread(reason: str) -> str:
    return f"{UNREADABLE}: {reason.removeprefix('it cannot be read: ')}"


def _looked_at(video: Video, outcome: object, max_missing: float) -> tuple[Video | None, str]:
    """The video with the facts from its file, or the reason why the file cannot be used."""
    if isinstance(outcome, Failure):
        return None, _unread(str(outcome))
    found = FileFacts.model_validate(outcome)
    if found.probe is None:
        return None, _unread(found.reason or "it is no video")
    if video.sha256 is not None and video.sha256 != found.sha256:
        return None, f"its content is another than the benchmark states: {found.sha256[:12]}…, not {video.sha256[:12]}…"
    # Only packets are counted here. Damage inside packets shows up when frames are decoded.
    whole = missing_share(max_missing, decoded_s=found.probe.held_s(), duration_s=found.probe.promised_s)
    if whole.reason is not None:
        return None, _unread(full_reason(whole))
    facts = {
        "sha256": found.sha256,
        "duration_s": found.probe.promised_s,
        "decoded_s": decoded_of(found.probe),
        "frame_rate": found.probe.frame_rate,
        "width_px": found.probe.width_px,
        "height_px": found.probe.height_px,
        "encoding": encoding_of(found.probe),
    }
    return video.model_copy(update=facts), ""
