"""Zip archives from strangers. Members are read into memory, within limits, and never unpacked to disk."""

import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from reeltalk.errors import InputError
from reeltalk.schema.texts import equal_names, path_problem
from reeltalk.store.documents import decode_text
from reeltalk.store.foreign import open_file

LARGEST_ARCHIVE_BYTES: Final = 256 << 20
MOST_BYTES: Final = 512 << 20
"""Largest size of all members, unpacked."""
MOST_MEMBERS: Final = 100_000
MOST_TIMES_LARGER: Final = 200
"""Largest size of all members as a multiple of the archive; activity graphs reach 25."""
FREE_BYTES: Final = 4 << 20
"""For a smaller result, any multiple is allowed."""
LOCAL_HEADER_BYTES: Final = 30
CENTRAL_HEADER: Final = b"PK\1\2"
SCANNED_BYTES: Final = 1 << 20

_ARCHIVE: Final = re.compile(
    r"[.](zip|7z|rar|tar|tgz|tbz2?|txz|tzst|gz|bz2|xz|zst|tar[.]\w+|part_?\w+)$", re.IGNORECASE
)
_AGAIN: Final = "get the file again"
_DO_NOT_USE: Final = "do not use the archive"
_UNPACK: Final = "unpack it, and give the folder"


def is_archive_name(name: str) -> bool:
    """True if the name says that it is an archive, a part of one, or a compressed file."""
    return _ARCHIVE.search(name) is not None


def is_zip(path: Path) -> bool:
    """True if a file's content says that it is a zip archive.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with open_file(path) as stream:
            return zipfile.is_zipfile(stream)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


def read_zip(path: Path, *, is_read: Callable[[str], bool] = lambda name: True) -> list[tuple[str, str]]:
    """Name and text of the members of a zip archive, in its order, without folders and hidden members.

    Raises:
        InputError: It is damaged, encrypted or not a zip archive; a member has a name that leads out of the archive, or
            that appears twice or differs only in case, is a link or a device, or is not UTF-8; it unpacks to more than
            `MOST_BYTES` or to more than `MOST_TIMES_LARGER` times its size. Names archive and member.
    """
    try:
        with open_file(path) as stream:
            size_bytes = _refuse_size(path, stream)
            with zipfile.ZipFile(stream) as archive:
                members = _checked(path, archive.infolist(), size_bytes)
                chosen = [info for info in members if not _is_hidden(info.filename) and is_read(info.filename)]
                if nested := next((info.filename for info in chosen if is_archive_name(info.filename)), None):
                    raise InputError("an archive in an archive is not read", file=path, value=nested, hint=_UNPACK)
                return [(info.filename, _text(path, archive, info)) for info in chosen]
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except Exception as error:  # A damaged archive raises errors of zipfile, zlib, lzma, struct: they have no root.
        problem = str(error) or type(error).__name__
        raise InputError(f"not a readable zip archive: {problem}", file=path, hint=_AGAIN) from None


def _refuse_size(path: Path, stream: BinaryIO) -> int:
    """The length of the archive. Refuses one that is too long or has too many headers, before its list is read."""
    size_bytes = stream.seek(0, 2)
    if size_bytes > LARGEST_ARCHIVE_BYTES:
        problem = f"an archive of {size_bytes:,} bytes; at most {LARGEST_ARCHIVE_BYTES:,} are read"
        raise InputError(problem, file=path, hint=_UNPACK)
    stream.seek(0)
    headers, rest = 0, b""
    while block := stream.read(SCANNED_BYTES):
        block = rest + block
        headers += block.count(CENTRAL_HEADER)
        rest = block[1 - len(CENTRAL_HEADER) :]
    if headers > MOST_MEMBERS:
        raise InputError(f"an archive of more than {MOST_MEMBERS:,} members", file=path, hint="unpack a part of it")
    stream.seek(0)
    return size_bytes


def _checked(path: Path, members: list[zipfile.ZipInfo], size_bytes: int) -> list[zipfile.ZipInfo]:
    """The members that are files. Refuses the archive for any member that is not safe."""
    for info in members:
        # zipfile cuts a name at its first NUL.
        if problem := path_problem(info.orig_filename.removesuffix("/")):
            raise InputError(f"a member has {problem}", file=path, value=info.orig_filename, hint=_DO_NOT_USE)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            problem = "a link" if kind == stat.S_IFLNK else "neither a file nor a folder"
            raise InputError(f"a member is {problem}", file=path, value=info.filename, hint=_DO_NOT_USE)
        if info.flag_bits & 1:
            raise InputError("a member is encrypted", file=path, value=info.filename, hint=_UNPACK)
    members = [info for info in members if not info.is_dir()]
    names = [info.filename for info in members]
    if len(set(names)) < len(names):
        doubled = next(name for index, name in enumerate(names) if name in names[:index])
        raise InputError("a member appears twice", file=path, value=doubled, hint=_AGAIN)
    for group in equal_names(names):
        problem = f"two members differ only in case or in invisible characters: {group[0]!r} and {group[1]!r}"
        raise InputError(problem, file=path, hint="rename one of them")
    end = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise InputError("members overlap, or begin too early", file=path, value=info.filename, hint=_DO_NOT_USE)
        end = info.header_offset + LOCAL_HEADER_BYTES + len(info.orig_filename) + info.compress_size
        if end > size_bytes:
            raise InputError("a member ends after the archive", file=path, value=info.filename, hint=_AGAIN)
    unpacked = sum(info.file_size for info in members)
    if unpacked > MOST_BYTES:
        raise InputError(
            f"unpacks to {unpacked:,} bytes; at most {MOST_BYTES:,} are read", file=path,
            hint="unpack it, and give a part of the folder",
        )  # fmt: skip
    if unpacked > max(FREE_BYTES, MOST_TIMES_LARGER * size_bytes):
        raise InputError(
            f"unpacks to more than {MOST_TIMES_LARGER} times its size, {unpacked:,} bytes", file=path,
            hint=_DO_NOT_USE,
        )  # fmt: skip
    return members


def _is_hidden(name: str) -> bool:
    # `__MACOSX` holds metadata of a Mac.
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _text(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    with archive.open(info) as stream:
        content = stream.read(info.file_size)
        # The checksum is checked at the end; a header may give fewer bytes than there are.
        if len(content) != info.file_size or stream.read(1):
            raise InputError("a member is not as long as the archive says", file=path, value=info.filename, hint=_AGAIN)
    return decode_text(content, file=f"{path}!{info.filename}")
