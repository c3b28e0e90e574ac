"""Which files to look at, and what lies beside them: licence, source, split and category."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.errors import InputError
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import LONGEST_NAME
from reeltalk.store.documents import read_json

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
"""What a sidecar may say, by the names that it may have there; `NAME.info.json` of yt-dlp is one."""


class SourceVideo(NamedTuple):
    """A file that may be a video."""

    id: str
    path: Path
    name: str
    """Its path relative to the folder that was searched."""


def find_videos(inputs: Sequence[Path]) -> tuple[list[SourceVideo], list[Rejected]]:
    """The files to look at, in the order of their identifiers, and what is none at all.

    A folder is searched for files with a video's ending; a file that is named is taken whatever its name. Links and
    what is no regular file are refused here, before anything opens them.

    Raises:
        InputError: A path does not exist.
    """
    found: dict[str, tuple[Path, str]] = {}
    reasons: dict[str, str] = {}
    for path, name in _named(inputs):
        safe = _printable(name)
        identifier = Path(safe).with_suffix("").as_posix().strip() or safe
        if identifier in found:
            identifier = safe
        number = 2
        while identifier in found:
            identifier, number = f"{safe}-{number}", number + 1
        found[identifier] = path, name
        reason = "its name holds characters that no table can; rename it" if safe != name else _reason_against(path)
        if reason is not None:
            reasons[identifier] = reason
    rejected = [
        Rejected(table="videos", record_id=identifier, reason=reason, place=_printable(str(found[identifier][0])))
        for identifier, reason in reasons.items()
    ]
    return [SourceVideo(name, *found[name]) for name in sorted(found) if name not in reasons], rejected


def _printable(name: str) -> str:
    """The name itself where it can stand in a table; otherwise with marks in place of what cannot."""
    shown = "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else "�" for c in name)
    return shown.strip()[:LONGEST_NAME] or "�"


def _named(inputs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for source in inputs:
        if source.is_dir() and not source.is_symlink():
            for path in _files_and_links(source):
                if path.suffix.lower() in VIDEO_SUFFIXES:
                    yield path, path.relative_to(source).as_posix()
        elif os.path.lexists(source):
            yield source, source.name
        else:
            raise InputError("no such file or folder", file=source, hint="check the path")


def _files_and_links(folder: Path) -> list[Path]:
    """Everything below a folder that is no folder and not hidden, in order; links are listed, not followed."""
    found = []
    for current, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if Path(current, name).is_symlink()]
        found += [Path(current, name) for name in sorted([*names, *links]) if not name.startswith(".")]
    return sorted(found)


def _reason_against(path: Path) -> str | None:
    try:
        status = path.lstat()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if stat.S_ISLNK(status.st_mode):
        return "it is a link, which may lead anywhere; give the file itself"
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if status.st_size == 0:
        return "it is empty"
    if not os.access(path, os.R_OK):
        return "it may not be read"
    return None


def sidecar_of(path: Path) -> tuple[dict[str, str], Path | None]:
    """What the JSON file beside a video says: `NAME.info.json` of yt-dlp, or `NAME.json`.

    Returns:
        Values for `licence`, `source`, `split` and `category`, and the file; none where there is no such file.

    Raises:
        InputError: It is no JSON object, or a value is no text.
    """
    for sidecar in (path.with_suffix(".info.json"), path.with_suffix(".json"), Path(f"{path}.json")):
        if not sidecar.is_file():
            continue
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
        return known, sidecar
    return {}, None
