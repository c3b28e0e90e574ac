"""Files of a folder that somebody else may have made: only what lies inside it, and only regular files.

A benchmark and a run hold files and folders of their own and no links. A link, a pipe or a device in one of them, and
a name that leads out of it, come from somebody else, and nothing is read or written through them. The folder itself
may be reached through a link, since you name it.
"""

import os
import stat
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.texts import folded, path_problem
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.store.foreign import shown

MOST_PARTS: Final = 2
"""A table, or a file in a folder."""
MOST_DOCUMENT_BYTES: Final = 256 << 20
"""Largest JSON document of a benchmark or run, as its manifest: beyond this it fills the memory and says nothing."""


def file_name_problem(name: str) -> str | None:
    """Why a path cannot be that of a file in a benchmark, in words; None where it can."""
    if (problem := path_problem(name)) is not None:
        return problem
    parts = name.split("/")
    if any(part.startswith(".") for part in parts):
        return "a hidden name"
    return "more than one folder deep" if len(parts) > MOST_PARTS else None


def names_problems(names: Iterable[str], *, reserved: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name that cannot be that of a file in one folder, beside the others, with what is wrong.

    Args:
        names: With forward slashes.
        reserved: Files and folders that no name may stand for.
    """
    kept = {folded(name) for name in reserved}
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for name in names:
        problem = file_name_problem(name)
        if problem is None:
            key = folded(name)
            top = key.split("/")[0]
            if top in kept:
                problem = "the name of a file or folder that is no table or picture"
            elif key in files:
                problem = f"a name that is hard to tell from {files[key]!r}"
            elif key in folders or ("/" in name and top in files):
                problem = "the name of both a file and a folder"
            elif "/" in name and folders.setdefault(top, name.split("/")[0]) != name.split("/")[0]:
                problem = f"a folder that is hard to tell from {folders[top]!r}"
            else:
                files[key] = name
        if problem is not None:
            yield name, problem


def foreign_entries(folder: Path, hidden: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """Each entry of a benchmark or run, at any depth, that is neither a folder nor a regular file.

    Args:
        folder: The benchmark or run.
        hidden: Hidden names that we read and write there. What else is hidden, as `.git`, is never looked into.

    Yields:
        Its path relative to `folder`, and what it is.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue  # another process has removed it
        except OSError as error:
            yield shown(Path(below)), f"cannot be read: {error.strerror}"
            continue
        for entry in found:
            own = entry.name in hidden or entry.name.startswith(PARTIAL_PREFIX)
            if not below and entry.name.startswith(".") and not own:
                continue
            name = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif not entry.is_file(follow_symlinks=False) and (problem := _what(folder / name)) is not None:
                yield shown(Path(name)), problem


def check_folder(folder: Path, hidden: Container[str] = ()) -> None:
    """Refuse a benchmark or run that holds a link, a pipe or a device.

    Args:
        folder: The benchmark or run.
        hidden: As of `foreign_entries`.

    Raises:
        BenchmarkError: It does; names the first and counts the others.
    """
    found = list(foreign_entries(folder, hidden))
    if found:
        name, problem = found[0]
        more = f", and {len(found) - 1:,} more like it" if len(found) > 1 else ""
        raise BenchmarkError(
            f"{folder / name} {problem}{more}; a benchmark or run holds only folders and files of its own: put a copy "
            "in its place if you trust it, or delete it"
        )


def inside(folder: Path, name: str) -> Path:
    """The path of a file in a folder. It need not be there; what is there is a regular file, and no link is on the way.

    Raises:
        BenchmarkError: The name leads out of the folder, or a link, pipe or device is there.
    """
    at = os.fspath(folder)
    if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise BenchmarkError(f"{name!r} is no name of a file in {folder}")
    for part in (parts := name.split("/")):
        at = os.path.join(at, part)
        try:
            mode = os.lstat(at).st_mode
        except (FileNotFoundError, NotADirectoryError):
            break
        except OSError as error:
            raise BenchmarkError(f"cannot read {at}: {error.strerror}") from None
        if stat.S_ISLNK(mode) or (part == parts[-1] and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)):
            raise BenchmarkError(f"{at} {_what(Path(at))}; put a copy in its place if you trust it, or delete it")
    return folder / name


def _what(path: Path) -> str | None:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"is a link to {shown(Path(os.readlink(path)))}"
    except FileNotFoundError:
        return None  # another process has removed it
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return f"is {_kind(mode)}"


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "a device")
