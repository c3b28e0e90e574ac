"""Find the video files to curate, and the files beside them: licence, source, split and category, and speech."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.curate.side_files import REPLACEMENT_CHARACTER, parse_side_json, read_side_text
from reeltalk.curate.transcripts import Transcript, TranscriptFile, is_whisper, open_transcript, videos_of_transcript
from reeltalk.errors import InputError, ReeltalkError, SettingError
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import LONGEST_NAME, VideoId
from reeltalk.schema.texts import fold_name, name_problem
from reeltalk.store.foreign import MOST_DOCUMENT_BYTES, UNREADABLE, VIDEO_SUFFIXES, file_inside, walk
from reeltalk.store.sources import FetchedSources

PASSED_OVER: Final = {
    ending: what
    for what, endings in {
        "unfinished downloads": ".aria2 .crdownload .download .part .ytdl",
        "subtitles of a kind that is not read: convert them to .srt": (
            ".ass .dfxp .idx .itt .json3 .lrc .sbv .scc .smi .srv1 .srv2 .srv3 .ssa .stl .sub .sup .ttml"
        ),
        "pictures that move: convert them to .mp4": ".apng .mjpeg .webp .y4m",
        "streams without times: ffmpeg -i FILE -crf 16 FILE.mp4 gives them": ".264 .265 .h264 .h265 .hevc",
        "neither transcripts nor descriptions of a video": ".json",
        "of no video, by their names": ".srt .vtt",
    }.items()
    for ending in endings.split()
}
"""What files are that are not read, by their ending."""
_STREAM_OF_YT_DLP: Final = re.compile(r"\.f\d{2,4}(?:-\w+)?$")
"""Ends the name, without suffix, of a stream that yt-dlp has not merged yet, as `NAME.f137.mp4`."""
SIDECAR_FIELDS: Final = {
    "licence": ("licence", "license"),
    "source": ("source", "webpage_url", "url"),
    "split": ("split",),
    "category": ("category",),
}
"""Fields of a sidecar with the keys that they may have there. `NAME.info.json` of yt-dlp is a sidecar."""


class SourceVideo(NamedTuple):
    """A file that may be a video."""

    id: str
    path: Path
    name: str
    """Its path relative to the folder that was searched."""
    place: str
    """Its path or address, for messages."""
    sidecar: Path | None = None
    """The JSON file next to it."""
    transcripts: tuple[TranscriptFile, ...] = ()
    """The subtitle and transcript files next to it."""
    faults: tuple[InputError, ...] = ()
    """Why files next to it are not opened."""


class SideFiles(NamedTuple):
    """What the files next to a video say."""

    stated: dict[str, str]
    """Its licence, source, split and category, as far as they are stated."""
    transcript: Transcript | None
    left_out: tuple[str, ...]
    """What is not read, and why."""
    source: SourceVideo
    """The video, without a JSON file that says nothing of it, such as annotations."""


def find_videos(inputs: Sequence[Path | FetchedSources]) -> tuple[list[SourceVideo], list[Rejected]]:
    """Find the video files, sorted by identifier, and reject unsafe ones.

    Folders are searched for files with a video suffix; a file given directly is taken whatever its name. Rejected
    before anything opens them: files that are not regular, links out of their folder, and names that differ from
    another only in case or Unicode form. Files fetched from an address get the same identifiers as in a local folder.

    Raises:
        InputError: A path does not exist.
    """
    found: dict[str, SourceVideo] = {}
    reasons: dict[str, str] = {}
    first_of: dict[str, str] = {}
    """Names without suffix, by their case-folded form."""
    for source, refused in _named(inputs):
        name = source.name
        fits = name == name.strip() and len(name) <= LONGEST_NAME and name_problem(name) is None
        safe = name if fits else _printable(name)
        identifier = Path(safe).with_suffix("").as_posix().strip() or safe
        if identifier in found:
            identifier = safe
        number = 2
        while identifier in found:
            identifier, number = f"{safe}-{number}", number + 1
        found[identifier] = source._replace(id=identifier)
        reason = refused
        if safe != name:
            reason = "its name holds characters that no table can; rename it"
        if reason is None:
            reason = _reason_against(source.path)
        stem = Path(safe).with_suffix("").as_posix()
        if reason is None and (first := first_of.setdefault(fold_name(stem), stem)) != stem:
            reason = f"its name differs from {first} only in case or in how its letters are encoded; rename it"
        if reason is not None:
            reasons[identifier] = reason
    rejected = [
        Rejected(table="videos", record_id=identifier, reason=reason, place=_printable(found[identifier].place))
        for identifier, reason in reasons.items()
    ]
    return [found[name] for name in sorted(found) if name not in reasons], rejected


def files_to_fetch(names: Iterable[str]) -> list[str]:
    """The files to fetch from a remote folder: videos by their suffix, and their sidecars and transcripts."""
    known = list(names)
    videos = [name for name in known if Path(name).suffix.lower() in VIDEO_SUFFIXES]
    beside = {sidecar for name in videos for sidecar in sidecar_names(name)}
    spoken = _transcripts_of(known)
    beside |= {other for name in videos for other, _ in _matching(name, spoken)}
    return [*videos, *(name for name in known if name in beside)]


def sidecar_names(name: str) -> tuple[str, ...]:
    """Possible names of a video's sidecar, the most likely first."""
    stem = str(Path(name).with_suffix(""))
    merged = (f"{_merged(stem)}.info.json",) if _merged(stem) != stem else ()
    return f"{stem}.info.json", f"{stem}.json", f"{name}.json", *merged


def companion_names(name: str, *, language: str | None = None) -> tuple[str, ...]:
    """Possible names of files beside a video whose folder is not listed: sidecars and transcripts.

    Args:
        name: The video's name.
        language: The language of a transcript that may be named by it.
    """
    tags = ["", f".{language}"] if language else [""]
    spoken = (f"{Path(name).with_suffix('')}{tag}{end}" for tag in tags for end in (".vtt", ".srt", ".whisper.json"))
    return *sidecar_names(name), *spoken


def _transcripts_of(names: Iterable[str]) -> dict[str, list[tuple[str, str | None]]]:
    """The names of subtitle and transcript files with their languages, by the video that they may belong to."""
    found: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for name in sorted(names):
        for video, language in videos_of_transcript(name):
            found[video].append((name, language))
    return found


def _matching(video: str, spoken: Mapping[str, Sequence[tuple[str, str | None]]]) -> Iterator[tuple[str, str | None]]:
    stem = str(Path(video).with_suffix(""))
    for name in dict.fromkeys((stem, video, _merged(stem))):
        yield from spoken.get(name, ())


def _merged(stem: str) -> str:
    """The name of a video, without suffix, of which yt-dlp has not merged the streams; others as they are."""
    return _STREAM_OF_YT_DLP.sub("", stem)


def _beside(
    video: str, spoken: Mapping[str, Sequence[tuple[str, str | None]]], opened: Callable[[str], tuple[Path, str] | None]
) -> tuple[Path | None, tuple[TranscriptFile, ...], tuple[InputError, ...]]:
    """The sidecar and the transcripts of a video, and why others are not opened."""
    transcripts: list[TranscriptFile] = []
    faults: list[InputError] = []

    def found(name: str) -> tuple[Path, str] | None:
        try:
            return opened(name)
        except InputError as error:
            faults.append(error)
            return None

    for name, language in _matching(video, spoken):
        file = found(name)
        plain = name.endswith(".json") and not name.endswith(".whisper.json")
        if file is not None and (not plain or is_whisper(file[0])):
            transcripts.append(TranscriptFile(*file, language))
    taken = {file.path for file in transcripts}
    others = (file for name in sidecar_names(video) if (file := found(name)) is not None)
    sidecar = next((path for path, _ in others if path not in taken), None)
    return sidecar, tuple(transcripts), tuple({str(error): error for error in faults}.values())


def _printable(name: str) -> str:
    """The name with a replacement mark for each character that a table cannot hold."""
    shown = "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else "�" for c in name)
    return shown.strip()[:LONGEST_NAME] or "�"


def _named(inputs: Sequence[Path | FetchedSources]) -> Iterator[tuple[SourceVideo, str | None]]:
    """Every file that may be a video, still without an identifier, and the reason if it is refused unread."""
    for source in inputs:
        if isinstance(source, FetchedSources):
            yield from _brought(source)
        elif source.is_dir() and not source.is_symlink():
            files = sorted(walk(source))
            spoken = _transcripts_of(path.relative_to(source).as_posix() for path, _ in files)
            films = {
                path: problem
                for path, problem in files
                if path.suffix.lower() in VIDEO_SUFFIXES or (problem or "").startswith(UNREADABLE)
            }
            stems = {str(path.with_suffix("")) for path in films}
            for path, problem in films.items():
                stem = str(path.with_suffix(""))
                if _merged(stem) == stem or _merged(stem) not in stems:
                    name = path.relative_to(source).as_posix()
                    verb = "it" if (problem or "").startswith(UNREADABLE) else "it is"
                    yield _here(path, name, source, spoken), problem and f"{verb} {problem}"
        elif os.path.lexists(source):
            problem = "a link, which may lead anywhere; give the file itself" if source.is_symlink() else None
            with os.scandir(source.parent) as entries:
                spoken = _transcripts_of(entry.name for entry in entries if entry.name.startswith(f"{source.stem}."))
            yield _here(source, source.name, source.parent, spoken), problem and f"it is {problem}"
        else:
            raise InputError("no such file or folder", file=source, hint="check the path")


def _here(path: Path, name: str, folder: Path, spoken: Mapping[str, Sequence[tuple[str, str | None]]]) -> SourceVideo:
    def opened(other: str) -> tuple[Path, str] | None:
        found = file_inside(folder, other)
        return None if found is None else (found, str(found))

    return SourceVideo("", path, name, str(path), *_beside(name, spoken, opened))


def _brought(source: FetchedSources) -> Iterator[tuple[SourceVideo, str | None]]:
    by_name = {file.name: file for file in source.files}
    spoken = _transcripts_of(by_name)
    beside = {sidecar for name in by_name for sidecar in sidecar_names(name) if sidecar.endswith(".json")}
    beside |= {other for name in by_name for other, _ in _matching(name, spoken)}

    def opened(other: str) -> tuple[Path, str] | None:
        found = by_name.get(other)
        return None if found is None else (found.path, found.address)

    for file in source.files:
        if file.name not in beside:
            yield SourceVideo("", file.path, file.name, file.address, *_beside(file.name, spoken, opened)), None
    for name, reason in source.refused.items():
        if Path(name).suffix.lower() in VIDEO_SUFFIXES:
            yield SourceVideo("", Path(), name, f"{source.address.rstrip('/')}/{name}"), reason


def _reason_against(path: Path) -> str | None:
    try:
        status = path.stat()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if status.st_size == 0:
        return "it is empty"
    if not os.access(path, os.R_OK):
        return "it may not be read"
    return None


def skipped_files(inputs: Sequence[Path | FetchedSources], videos: Sequence[SourceVideo]) -> tuple[str, ...]:
    """The files in folders that are neither videos nor files beside one, as one line for each ending.

    Args:
        inputs: Files and folders, as for `find_videos`.
        videos: The videos that were found there.
    """
    used = {
        path for video in videos for path in (video.path, video.sidecar, *(file.path for file in video.transcripts))
    }
    used |= {error.file for video in videos for error in video.faults}
    endings: dict[str, list[str]] = defaultdict(list)
    for folder in inputs:
        if isinstance(folder, Path) and folder.is_dir() and not folder.is_symlink():
            for path, problem in sorted(walk(folder)):
                if (problem or "").startswith(UNREADABLE):
                    continue  # it may hold videos, and is listed with them
                stream = _merged(path.stem) != path.stem
                if path not in used and (stream or path.suffix.lower() not in VIDEO_SUFFIXES):
                    ending = path.suffix.lower() if problem is None else f"not read, as {problem}"
                    endings[ending].append(_printable(path.relative_to(folder).as_posix()))
    return tuple(
        f"{len(names):,} {ending or 'without an ending'}"
        f"{f' ({PASSED_OVER[ending]})' if ending in PASSED_OVER else ''}: {', '.join(names)}"
        for ending, names in sorted(endings.items())
    )


def read_beside(
    source: SourceVideo,
    *,
    described: bool = True,
    speech: bool = True,
    language: str | None = None,
    strict: bool = False,
) -> SideFiles:
    """Read the files next to a video. A fault of one is reported, and the rest is read.

    Args:
        described: False to leave the sidecar out.
        speech: False to leave subtitles and transcripts out.
        language: Language of the speech, as for `choose_transcript`.
        strict: True to raise the first fault.

    Raises:
        InputError, SettingError: The first fault, if `strict`.
    """
    faults: list[ReeltalkError] = list(source.faults)
    said: dict[str, str] = {}
    transcript = None
    if described and source.sidecar is not None:
        try:
            found = read_sidecar(source.sidecar)
            said, problems = found or ({}, [])
            faults += problems
            source = source if found else source._replace(sidecar=None)
        except InputError as error:
            faults.append(error)
    if speech:
        try:
            transcript = open_transcript(source.name, VideoId(source.id), source.transcripts, language)
        except (InputError, SettingError) as error:
            faults.append(error)
    if strict and faults:
        raise faults[0]
    return SideFiles(said, transcript, tuple(map(_left_out, faults)), source)


def _left_out(fault: ReeltalkError) -> str:
    """What was not read and why; the file by its name alone, so that tables are the same on every machine."""
    if not isinstance(fault, InputError):
        return f"speech not read: {fault}"
    plain = fault.file.suffix.lower() == ".json" and not fault.file.name.lower().endswith(".whisper.json")
    what = (fault.place or "").removeprefix("$.") if plain and fault.place else "description" if plain else "speech"
    return f"{what} not read: {str(fault).replace(str(fault.file), fault.file.name)}"


def read_sidecar(sidecar: Path) -> tuple[dict[str, str], list[InputError]] | None:
    """Read a sidecar: `NAME.info.json` of yt-dlp, or `NAME.json`.

    Returns:
        Values for `licence`, `source`, `split` and `category`, as far as it has them, and the values that are no line
        of text; None if the file says none of it, such as annotations.

    Raises:
        InputError: The file is not JSON.
    """
    text, _, fault = read_side_text(sidecar, largest_bytes=MOST_DOCUMENT_BYTES)
    value = parse_side_json(text, str(sidecar))
    if not isinstance(value, dict):
        return None
    known: dict[str, str] = {}
    problems: list[InputError] = []
    for field, names in SIDECAR_FIELDS.items():
        name = next((name for name in names if value.get(name) is not None), None)
        if name is None:
            continue
        stated = value[name]
        if isinstance(stated, list) and stated and all(isinstance(part, str) for part in stated):
            stated = ", ".join(stated)
        if isinstance(stated, str) and stated == _printable(stated) and REPLACEMENT_CHARACTER not in stated:
            known[field] = stated
        else:
            problem = f"must be a line of text, of at most {LONGEST_NAME} characters"
            problems.append(fault or InputError(problem, file=sidecar, place=f"$.{name}", value=stated))
    categories = value.get("categories")
    if "category" not in known and isinstance(categories, list) and categories and isinstance(categories[0], str):
        known["category"] = _printable(categories[0])
    return (known, problems) if known or problems else None
