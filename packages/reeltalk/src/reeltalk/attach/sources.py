"""Find the video files to curate, and the files beside them: licence, source, split and category, and speech."""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.attach.transcripts import TranscriptFile, is_whisper, videos_of_transcript
from reeltalk.errors import InputError
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import LONGEST_NAME
from reeltalk.schema.texts import fold_name, name_problem
from reeltalk.store.documents import read_json
from reeltalk.store.foreign import file_inside, walk
from reeltalk.store.sources import FetchedSources

VIDEO_SUFFIXES: Final = frozenset(
    ".3gp .avi .asf .dv .f4v .flv .ivf .m2ts .m4v .mkv .mov .mp4 .mpeg .mpg .mts .mxf .nut .obu .ogg .ogv .rm .ts .vob "
    ".webm .wmv".split()
)
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


def wanted_files(names: Iterable[str]) -> list[str]:
    """The files to fetch from a remote folder: videos by their suffix, and their sidecars and transcripts."""
    known = list(names)
    videos = [name for name in known if Path(name).suffix.lower() in VIDEO_SUFFIXES]
    beside = {sidecar for name in videos for sidecar in sidecar_names(name)}
    spoken = _transcripts_of(known)
    beside |= {other for name in videos for other, _ in _matching(name, spoken)}
    return [*videos, *(name for name in known if name in beside)]


def sidecar_names(name: str) -> tuple[str, ...]:
    """Possible names of a video's sidecar, the most likely first."""
    path = Path(name)
    return str(path.with_suffix(".info.json")), str(path.with_suffix(".json")), f"{path}.json"


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
    for name in dict.fromkeys((str(Path(video).with_suffix("")), video)):
        yield from spoken.get(name, ())


def _beside(
    video: str, spoken: Mapping[str, Sequence[tuple[str, str | None]]], opened: Callable[[str], tuple[Path, str] | None]
) -> tuple[Path | None, tuple[TranscriptFile, ...]]:
    """The sidecar and the transcripts of a video. `opened` gives the path of a file by its name, and its place."""
    transcripts = []
    for name, language in _matching(video, spoken):
        found = opened(name)
        plain = name.endswith(".json") and not name.endswith(".whisper.json")
        if found is not None and (not plain or is_whisper(found[0])):
            transcripts.append(TranscriptFile(*found, language))
    taken = {file.path for file in transcripts}
    for name in sidecar_names(video):
        found = opened(name)
        if found is not None and found[0] not in taken:
            return found[0], tuple(transcripts)
    return None, tuple(transcripts)


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
            for path, problem in files:
                if path.suffix.lower() in VIDEO_SUFFIXES:
                    name = path.relative_to(source).as_posix()
                    yield _here(path, name, source, spoken), problem and f"it is {problem}"
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


def read_sidecar(sidecar: Path) -> dict[str, str]:
    """Read a sidecar: `NAME.info.json` of yt-dlp, or `NAME.json`.

    Returns:
        Values for `licence`, `source`, `split` and `category`, as far as it has them.

    Raises:
        InputError: The file is not a JSON object, or a value is not a line of text.
    """
    value = read_json(sidecar)
    if not isinstance(value, dict):
        raise InputError("must be a JSON object", file=sidecar)
    known: dict[str, str] = {}
    for field, names in SIDECAR_FIELDS.items():
        name = next((name for name in names if value.get(name) is not None), None)
        if name is None:
            continue
        if not isinstance(value[name], str) or value[name] != _printable(value[name]):
            problem = f"must be a line of text, of at most {LONGEST_NAME} characters"
            raise InputError(problem, file=sidecar, place=f"$.{name}", value=value[name])
        known[field] = value[name]
    categories = value.get("categories")
    if "category" not in known and isinstance(categories, list) and categories and isinstance(categories[0], str):
        known["category"] = _printable(categories[0])
    return known
