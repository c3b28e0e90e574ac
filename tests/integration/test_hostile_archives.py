"""Archives, folders and files that are made to harm: each import or other command ends in one paragraph that
names the reason, within bounds, without a byte outside of its target and without a half-imported benchmark."""

import bz2
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import signal
import socket
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reeltalk.cli import run
from reeltalk.store import archives, foreign
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk.store.validate import validate

GRAPH = "<http://example.org/a> <http://example.org/b> <http://example.org/c> .\n"
LONGEST_S = 60
"""Far above what any of these takes: a FIFO that is opened waits for ever."""


class Hung(BaseException):
    """A command waits for what never comes."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def everything(folder: Path) -> dict[str, str]:
    """All below a folder by path: what it is and what it holds."""
    found, waiting = {}, [folder]
    while waiting:
        current = waiting.pop()
        if len(str(current)) > 2000:
            continue
        for path in current.iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                waiting.append(path)
            held = os.readlink(path) if stat.S_ISLNK(mode) else ""
            if stat.S_ISREG(mode) and path.stat().st_size < 1 << 20:
                held = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = f"{stat.S_IFMT(mode):o} {held}"
    return found


class Place:
    """A folder with a secret outside of what is given to a command, and a target."""

    def __init__(self, folder: Path) -> None:
        self.source, self.target, self.outside = folder / "in" / "source", folder / "target", folder / "outside"
        for made in (self.source, self.target, self.outside):
            made.mkdir(parents=True)
        self.secret = self.outside / "secret.json"
        self.secret.write_text('{"secret": "S3CRET"}')
        self.folder = folder

    def hostile(self, *arguments: object, capsys: pytest.CaptureFixture[str], goes_on: bool = False) -> str:
        """What a refused command says; nothing but the target may have changed, and it holds no benchmark.

        A command that goes on without what harms may instead write the rest, name what it left out, and end with 1.
        """
        before = everything(self.folder)
        with limited():
            code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        after = everything(self.folder)
        inside = str(self.target)
        assert {path: held for path, held in after.items() if not path.startswith(inside)} == {
            path: held for path, held in before.items() if not path.startswith(inside)
        }
        assert "Traceback" not in said.err + said.out
        assert "S3CRET" not in said.err + said.out
        assert b"S3CRET" not in b"".join(p.read_bytes() for p in self.target.rglob("*") if p.is_file())
        if goes_on and code == 1:
            return said.out
        assert code == 2, said.out
        assert said.err.count("\n") == 1, said.err
        assert not list(self.target.rglob("manifest.json")), "a half-imported benchmark"
        return said.err


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ── zip ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def zipped(*members: tuple[str, str | bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = kind
            archive.writestr(info, content)
    return buffer.getvalue()


def special(mode: int, content: str = "../../outside/secret.json", name: str = "a.nt", *more: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, content)
        for other, text in more:
            archive.writestr(other, text)
    return buffer.getvalue()


def changed(data: bytes, marker: bytes, offset: int, value: bytes, *, last: bool = True) -> bytes:
    at = (data.rindex if last else data.index)(marker) + offset
    return data[:at] + value + data[at + len(value) :]


CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"
PLAIN = zipped(("a.nt", GRAPH), ("b.nt", GRAPH))


def many(count: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}.nt", "")
    return buffer.getvalue()


def overlapping() -> bytes:
    """Two entries of the directory that share one local header and its content."""
    whole = zipped(("a.nt", GRAPH * 100), ("b.nt", GRAPH * 100))
    second = whole.index(LOCAL, 4)
    name_at = whole.rindex(CENTRAL)
    # The second entry points into the first: its own header and content, quoted by the first one's data.
    inner = whole[second : whole.index(CENTRAL)]
    outer = zipped(("a.nt", inner + b"rest"), ("b.nt", GRAPH), kind=zipfile.ZIP_STORED)
    return changed(outer, CENTRAL, 42, struct.pack("<L", outer.index(inner))) if name_at else outer


def forged_zip64() -> bytes:
    """An entry whose extra field promises 2^60 bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("a.nt")
        info.extra = struct.pack("<HHQQ", 1, 16, 1 << 60, 1 << 60)
        archive.writestr(info, GRAPH)
    data = buffer.getvalue()
    return changed(data, CENTRAL, 20, b"\xff" * 8)


NESTED = zipped(("b.nt", GRAPH * 30_000))
BIG = 300 << 20
ZEROS = b"\0" * (16 << 20)
"""Packs a thousand times smaller, and is more than what may be any multiple of its archive."""
ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "climbs": (lambda: zipped(("../../outside/a.nt", GRAPH)), "leads out of its folder"),
    "climbs within": (lambda: zipped(("a/../../b.nt", GRAPH)), "leads out of its folder"),
    "climbs after a good one": (lambda: zipped(("a.nt", GRAPH), ("../a.nt", GRAPH)), "leads out of its folder"),
    "absolute": (lambda: zipped(("/tmp/a.nt", GRAPH)), "an absolute path"),
    "two slashes": (lambda: zipped(("//host/a.nt", GRAPH)), "an absolute path"),
    "drive": (lambda: zipped(("C:/a.nt", GRAPH)), "a backslash or a drive"),
    "backslashes": (lambda: zipped(("..\\..\\a.nt", GRAPH)), "a backslash or a drive"),
    "share": (lambda: zipped(("\\\\host\\share\\a.nt", GRAPH)), "a backslash or a drive"),
    "dot": (lambda: zipped(("./a.nt", GRAPH)), "an empty part"),
    "empty part": (lambda: zipped(("a//b.nt", GRAPH)), "an empty part"),
    "no name": (lambda: zipped(("", GRAPH)), "an empty part"),
    "link": (lambda: special(stat.S_IFLNK | 0o777), "a member is a link"),
    "link and write through": (
        lambda: special(stat.S_IFLNK | 0o777, "../../outside", "away", ("away/a.nt", GRAPH)),
        "a member is a link",
    ),
    "FIFO": (lambda: special(stat.S_IFIFO | 0o666), "neither a file nor a folder"),
    "character device": (lambda: special(stat.S_IFCHR | 0o666), "neither a file nor a folder"),
    "block device": (lambda: special(stat.S_IFBLK | 0o666), "neither a file nor a folder"),
    "socket": (lambda: special(stat.S_IFSOCK | 0o666), "neither a file nor a folder"),
    "bomb of zeros": (lambda: zipped(("a.nt", ZEROS)), "200 times its size"),
    "bomb of zeros, bz2": (lambda: zipped(("a.nt", ZEROS), kind=zipfile.ZIP_BZIP2), "200 times"),
    "bomb of zeros, lzma": (lambda: zipped(("a.nt", ZEROS), kind=zipfile.ZIP_LZMA), "200 times"),
    "bomb of many small": (lambda: zipped(*((f"{n}.nt", b"\n" * (1 << 20)) for n in range(40))), "200 times"),
    "bomb by sum": (lambda: changed(zipped(("a.nt", GRAPH)), CENTRAL, 24, struct.pack("<L", BIG * 2)), "at most"),
    "bomb by count": (lambda: many(100_001), "more than 100,000 members"),
    "nested": (lambda: zipped(("a.zip", NESTED)), "an archive in an archive"),
    "nested ten deep": (
        lambda: (lambda data: [data := zipped(("a.zip", data)) for _ in range(10)][-1])(NESTED),
        "an archive in an archive",
    ),
    "a size too small": (
        lambda: changed(zipped(("a.nt", GRAPH * 9)), CENTRAL, 24, struct.pack("<L", 10)),
        "not a readable zip",
    ),
    "a size too large": (
        lambda: changed(zipped(("a.nt", GRAPH)), CENTRAL, 24, struct.pack("<L", 1 << 20)),
        "not as long as",
    ),
    "a packed size too large": (
        lambda: changed(zipped(("a.nt", GRAPH)), CENTRAL, 20, struct.pack("<L", 1 << 30)),
        "ends after the archive",
    ),
    "zip64 of 2^60 bytes": (forged_zip64, "zip"),
    "300 characters": (lambda: zipped(("a" * 300 + ".nt", GRAPH)), "more than 255 bytes"),
    "300 wide characters": (lambda: zipped(("語" * 90 + ".nt", GRAPH)), "more than 255 bytes"),
    "5,000 characters": (lambda: zipped(("a/" * 2500 + "a.nt", GRAPH)), "more than 1,024 bytes"),
    "40 folders deep": (lambda: zipped(("a/" * 40 + "a.nt", GRAPH)), "32 folders deep"),
    "name not UTF-8": (
        lambda: zipped(("é.nt", GRAPH)).replace("é".encode(), b"\xff\xfe"),
        "not a readable zip",
    ),
    "NUL in a name": (
        lambda: zipped(("aXb.nt", GRAPH)).replace(b"aXb.nt", b"a\0b.nt"),
        "U+0000",
    ),
    "escape in a name": (lambda: zipped(("a\x1b[2J.nt", GRAPH)), "U+001B"),
    "line feed in a name": (lambda: zipped(("a\nb.nt", GRAPH)), "U+000A"),
    "override in a name": (lambda: zipped(("a\u202etn.nt", GRAPH)), "U+202E"),
    "names that differ in case": (lambda: zipped(("a.nt", GRAPH), ("A.nt", GRAPH)), "differ only in case"),
    "names that differ in form": (lambda: zipped(("é.nt", GRAPH), ("e\u0301.nt", GRAPH)), "differ only in case"),
    "a member twice": (lambda: PLAIN.replace(b"b.nt", b"a.nt"), "appears twice"),
    "one graph in two folders": (lambda: zipped(("x/a.nt", GRAPH), ("y/a.nt", GRAPH)), "appears twice"),
    "encrypted": (
        lambda: changed(changed(PLAIN, CENTRAL, 8, b"\1"), LOCAL, 6, b"\1"),
        "encrypted",
    ),
    "cut in a member": (lambda: PLAIN[:40], "not a readable zip"),
    "cut in the directory": (lambda: PLAIN[: PLAIN.index(CENTRAL) + 20], "not a readable zip"),
    "cut in the end": (lambda: PLAIN[:-4], "not a readable zip"),
    "cut at the start": (lambda: PLAIN[30:], "begin too early"),
    "empty": (lambda: b"", "not a readable zip"),
    "overlapping": (overlapping, "overlap"),
    "a wrong sum": (
        lambda: changed(zipped(("a.nt", GRAPH), kind=zipfile.ZIP_STORED), b"example", 0, b"exbmple", last=False),
        "not a readable zip",
    ),
    "two names of one": (
        lambda: changed(zipped(("a.nt", GRAPH)), LOCAL, 30, b"z", last=False),
        "not a readable zip",
    ),
    "a method that nobody knows": (lambda: changed(zipped(("a.nt", GRAPH)), CENTRAL, 10, b"\x63\0"), "not a readable"),
    "a directory beyond the end": (lambda: changed(PLAIN, END, 16, b"\xff\xff\xff\x7f"), "begin too early"),
    "counts that lie": (lambda: changed(PLAIN, END, 8, b"\xff\x7f\xff\x7f"), ""),
    "manifest.json": (
        lambda: zipped(("manifest.json", "{}"), ("a.nt", GRAPH)),
        "neither an archive of activity graphs",
    ),
    "text with NUL": (lambda: zipped(("a.nt", '<a:b> <a:c> "\0" .\n')), "U+0000"),
    "text not UTF-8": (lambda: zipped(("a.nt", b'<a:b> <a:c> "\xe9" .\n')), "not UTF-8"),
    "no zip": (lambda: b"PK\3\4" + b"x" * 100, "not a readable zip"),
    "a folder's link": (lambda: special(stat.S_IFLNK | 0o777, "/etc", "etc/"), "a member is a link"),
    "a folder that climbs": (lambda: zipped(("../../outside/x/", ""), ("a.nt", GRAPH)), "leads out of its folder"),
}
HARMLESS = {"counts that lie"}
"""Those that may be read, as nothing of them leaves a mark."""


@cache
def hostile_zip(name: str) -> bytes:
    return ZIPS[name][0]()


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a folder"])
def test_zip_archives_that_are_made_to_harm(
    place: Place, inside: bool, reliability: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    what = "zip archives that climb, link, lie, overlap or unpack to far more than they are, imported"
    failing = "a byte outside of the target, a traceback, half a benchmark, or no reason"
    tally = reliability("archives", what, failing)
    for name, (_, reason) in ZIPS.items():
        tally.tried += 1
        archive = place.source / "kg_activity.zip"
        archive.write_bytes(hostile_zip(name))
        bench = place.target / "bench"
        given = place.source if inside else archive
        if name in HARMLESS:
            with limited():
                run(["import", "vdact", str(given), str(bench)])
            said = capsys.readouterr().err
            assert "Traceback" not in said, name
            assert not list(place.outside.glob("*.nt")), name
            shutil.rmtree(bench, ignore_errors=True)
            continue
        said = place.hostile("import", "vdact", given, bench, capsys=capsys)
        assert reason in said, (name, said)
        assert "kg_activity.zip" in said, (name, said)
    assert tally.tried >= 55


def test_members_that_only_hide_are_passed_over(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    archive = place.source / "kg_activity.zip"
    archive.write_bytes(
        zipped(
            ("a.nt", GRAPH), (".commit/b.nt", GRAPH), (".lock", "x"), ("__MACOSX/._a.nt", b"\0\5"), ("x/.hidden", "x"),
        )
    )  # fmt: skip
    assert run(["import", "vdact", str(archive), str(place.target / "bench")]) == 0
    assert list(Benchmark.open(place.target / "bench").content().graphs) == ["a"]
    setuid = special(stat.S_IFREG | 0o6777, GRAPH)
    archive.write_bytes(setuid)
    assert run(["import", "vdact", str(archive), str(place.target / "setuid")]) == 0
    assert not any(path.stat().st_mode & 0o6000 for path in place.target.rglob("*"))
    capsys.readouterr()


def test_a_huge_archive_of_holes_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    archive = place.source / "kg_activity.zip"
    archive.write_bytes(PLAIN)
    os.truncate(archive, 900 << 20)
    assert "an archive of 943,718,400 bytes" in place.hostile(
        "import", "vdact", archive, place.target / "b", capsys=capsys
    )
    assert f"{archives.LARGEST_ARCHIVE_BYTES:,}" == "268,435,456"


# ── tar ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tarred(*members: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


TARS: dict[str, Callable[[], bytes]] = {
    "climbs.tar": lambda: tarred(member("../../outside/a.mp4", size=9)),
    "absolute.tar": lambda: tarred(member("/tmp/a.mp4", size=9)),
    "link.tar": lambda: tarred(member("a.mp4", tarfile.SYMTYPE, "/etc/passwd")),
    "hard-link.tar": lambda: tarred(member("a.mp4", tarfile.LNKTYPE, "../../outside/secret.json")),
    "through.tar": lambda: tarred(member("x", tarfile.SYMTYPE, "../.."), member("x/a.mp4", size=9)),
    "device.tar": lambda: tarred(member("a.mp4", tarfile.CHRTYPE)),
    "fifo.tar": lambda: tarred(member("a.mp4", tarfile.FIFOTYPE)),
    "bomb.tar.gz": lambda: gzip.compress(tarred(member("a.mp4", size=16 << 20))),
    "bomb.tar.bz2": lambda: bz2.compress(tarred(member("a.mp4", size=16 << 20))),
    "bomb.tar.xz": lambda: lzma.compress(tarred(member("a.mp4", size=16 << 20))),
    "frame.tar.zst": lambda: b"\x28\xb5\x2f\xfd" + b"\0" * 100,
    "cut.tgz": lambda: gzip.compress(tarred(member("a.mp4", size=9)))[:30],
    "size.tar": lambda: tarred(member("a.mp4", size=9))[:512],
    "part.7z": lambda: b"7z\xbc\xaf\x27\x1c" + b"\0" * 100,
    "part.rar": lambda: b"Rar!\x1a\7\1\0" + b"\0" * 100,
    "videos.tar.part_aa": lambda: b"\0" * 1024,
}


def test_other_archives_are_never_unpacked(
    place: Place, reliability: Any, capsys: pytest.CaptureFixture[str], samples: Path
) -> None:
    what = "tar, 7z and rar archives with links, devices, climbing names and bombs, imported"
    tally = reliability("archives", what, "something is unpacked, or no word of it")
    for name, make in TARS.items():
        content = make()
        for format in ("vdact", "folder"):
            tally.tried += 1
            archive = place.folder / "in" / name
            archive.write_bytes(content)
            said = place.hostile("import", format, archive, place.target / "bench", capsys=capsys)
            assert "an archive of a kind that is not read" in said
            assert "unpack it" in said
            archive.unlink()
        # Among other files it stays as it is, and is named.
        tally.tried += 1
        source = place.source / name
        shutil.copytree(samples / "vdact", source)
        (source / name).write_bytes(content)
        before = everything(place.outside)
        assert run(["import", "vdact", str(source), str(place.target / "bench")]) == 0
        assert f"1 archives were not read, {name} first" in "".join(capsys.readouterr())
        assert everything(place.outside) == before
        shutil.rmtree(place.target / "bench")
    assert tally.tried == 48


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def bound(path: Path) -> None:
    # An address of a socket is short, so that it is bound from within its folder.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def deep(folder: Path, depth: int) -> None:
    before = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("a.mp4").write_bytes(b"x")
    finally:
        os.chdir(before)


def sparse(path: Path, size_bytes: int) -> None:
    path.touch()
    os.truncate(path, size_bytes)


def raw(folder: Path, name: bytes) -> None:
    (folder / os.fsdecode(name)).write_bytes(b"x")


def link(at: Path, to: Path | str) -> Path:
    at.symlink_to(to)
    return at


def folder(at: Path) -> Path:
    at.mkdir()
    return at


def fifo(at: Path) -> Path:
    os.mkfifo(at)
    return at


FOLDERS: dict[str, tuple[Callable[[Place], object], str]] = {
    "link to a file outside": (lambda p: link(p.source / "a.mp4", "/etc/passwd"), "leads out of the folder"),
    "link to a secret": (lambda p: link(p.source / "b.json", p.secret), "leads out of the folder"),
    "relative link": (lambda p: link(p.source / "b.json", "../../outside/secret.json"), "leads out of the"),
    "link to a link outside": (
        lambda p: (link(p.folder / "in" / "l", p.secret), link(p.source / "b.json", "../l")),
        "leads out of the folder",
    ),
    "link in a folder below": (
        lambda p: (folder(p.source / "x"), link(p.source / "x" / "b.json", p.secret)), "leads out of",
    ),
    "link to a folder outside": (lambda p: link(p.source / "x", p.outside), "leads out of the folder"),
    "link to the root": (lambda p: link(p.source / "x", "/"), "leads out of the folder"),
    "link to the folder above": (lambda p: link(p.source / "x", ".."), "leads out of the folder"),
    "link to a device": (lambda p: link(p.source / "a.mp4", "/dev/zero"), "leads out of the folder"),
    "link to a process": (lambda p: link(p.source / "a.mp4", "/proc/self/environ"), "leads out of the folder"),
    "blobs that are a link": (
        lambda p: (link(p.source / "blobs", "/etc"), link(p.source / "a", "blobs/passwd")), "leads out",
    ),
    "FIFO": (lambda p: fifo(p.source / "a.json"), "a FIFO"),
    "FIFO of a video": (lambda p: fifo(p.source / "a.mp4"), "a FIFO"),
    "FIFO of metadata": (lambda p: fifo(p.source / "metadata.jsonl"), "a FIFO"),
    "FIFO in a folder below": (lambda p: (folder(p.source / "x"), fifo(p.source / "x" / "a")), "a FIFO"),
    "link to a FIFO": (
        lambda p: (fifo(p.source / ".f"), link(p.source / "a.json", ".f")), "a FIFO",
    ),
    "socket": (lambda p: bound(p.source / "a.json"), "a socket"),
    "name not UTF-8": (lambda p: raw(p.source, b"\xff\xfe.mp4"), "not UTF-8"),
    "folder's name not UTF-8": (lambda p: folder(p.source / os.fsdecode(b"\xe9")), "not UTF-8"),
    "escape in a name": (lambda p: raw(p.source, b"a\x1b]0;x\x07.mp4"), "U+001B"),
    "line feed in a name": (lambda p: raw(p.source, b"a\nb.mp4"), "U+000A"),
    "override in a name": (lambda p: raw(p.source, "a\u202e4pm.mp4".encode()), "U+202E"),
    "zero-width space in a name": (lambda p: raw(p.source, "a\u200b.mp4".encode()), "U+200B"),
    "40 folders deep": (lambda p: deep(p.source, 40), "32 folders deep"),
    "3,000 folders deep": (lambda p: deep(p.source, 3000), "32 folders deep"),
    "a terabyte of holes": (lambda p: sparse(p.source / "a.mp4", 1 << 40), "the rest are holes"),
    "a terabyte of holes as JSON": (lambda p: sparse(p.source / "a.json", 1 << 40), "the rest are holes"),
}  # fmt: skip


def removed(folder: Path) -> None:
    # shutil's own function gives up on a path that is too long.
    while any(folder.iterdir()):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                below = path / "d"
                if below.is_dir() and (below / "d").is_dir():
                    (below / "d").rename(folder / "up")
                    shutil.rmtree(path)
                    (folder / "up").rename(path)
                else:
                    shutil.rmtree(path)
            else:
                path.unlink()


@pytest.mark.parametrize("command", ["import folder", "import vdact", "import svbench"])
def test_folders_that_are_made_to_harm(
    place: Place, command: str, reliability: Any, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = "folders with links that lead out, FIFOs, sockets, holes, deep trees and unreadable names, imported"
    failing = "a byte of or to the outside, a command that hangs, a traceback, half a benchmark, or no reason"
    tally = reliability("archives", what, failing)
    for name, (make, reason) in FOLDERS.items():
        tally.tried += 1
        (place.source / "film.mp4").write_bytes(b"x")
        shutil.copy(samples / "vdact" / "test_ids.txt", place.source)
        make(place)
        given = [*command.split(), place.source, place.target / "bench"]
        said = place.hostile(*given, capsys=capsys, goes_on=command == "import folder")
        assert reason in said, (name, said)
        removed(place.source)
        shutil.rmtree(place.target)
        place.target.mkdir()


def test_links_that_lead_nowhere_or_around_are_passed_over(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.source / "film.mp4").write_bytes(b"x")
    (place.source / "itself.mp4").symlink_to("itself.mp4")
    (place.source / "one.mp4").symlink_to("two.mp4")
    (place.source / "two.mp4").symlink_to("one.mp4")
    (place.source / "gone.mp4").symlink_to("nothing")
    (place.source / "again").symlink_to(".")
    with limited():
        assert run(["import", "folder", str(place.source), str(place.target / "bench")]) == 0
    assert [row.id for row in Benchmark.open(place.target / "bench").read(VIDEOS)] == ["film.mp4"]
    capsys.readouterr()


def test_a_folder_of_too_many_files_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert foreign.MOST_ENTRIES == 1_000_000
    monkeypatch.setattr(foreign, "MOST_ENTRIES", 2_000)
    for number in range(2_001):
        (place.source / f"{number}.mp4").touch()
    assert "more than 2,000 files" in place.hostile(
        "import", "folder", place.source, place.target / "bench", capsys=capsys
    )


def test_a_table_that_repeats_a_text_a_thousand_times_is_refused(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow
    from pyarrow import parquet

    text = pyarrow.array(["a" * 20_000_000])
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 2_000, pyarrow.int32()), text)
    (place.source / "a.mp4").write_bytes(b"x")
    for column in (rows, rows.slice(0, 100)):
        parquet.write_table(pyarrow.table({"file_name": column}), place.source / "metadata.parquet")
        said = place.hostile("import", "folder", place.source, place.target / "bench", capsys=capsys, goes_on=True)
        shutil.rmtree(place.target / "bench", ignore_errors=True)
        assert "unpacks to more than 1,073,741,824 bytes" in said
    parquet.write_table(pyarrow.table({"x": pyarrow.nulls(2_000_001)}), place.source / "metadata.parquet")
    assert "2,000,000 rows" in place.hostile(
        "import", "folder", place.source, place.target / "bench", capsys=capsys, goes_on=True
    )


@pytest.mark.parametrize("name", [".x/secret.json", "x/secret.json", "../outside/secret.json", ".x/../secret.json"])
def test_rows_of_metadata_name_no_file_outside(place: Place, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (place.source / ".x").symlink_to(place.outside)
    (place.source / "metadata.jsonl").write_text(json.dumps({"file_name": name, "id": "a"}) + "\n")
    with limited():
        code = run(["import", "folder", str(place.source), str(place.target / "bench")])
    said = "".join(capsys.readouterr())
    assert "Traceback" not in said
    if code == 0:
        # A name that nothing here has: the row stays, and no file comes with it.
        assert "x/secret.json is missing" in said
        assert Benchmark.open(place.target / "bench").content().media == {}
    else:
        assert "leads out" in said or "not a path of a file inside" in said


def cache_of_a_hub(folder: Path, samples: Path, *, outside: Path | None = None) -> Path:
    """A data set as huggingface_hub keeps it: `blobs`, and a snapshot of links to them."""
    repository = folder / "datasets--owner--name"
    snapshot = repository / "snapshots" / "0123abcd"
    (repository / "blobs").mkdir(parents=True)
    (repository / "refs").mkdir()
    for path in sorted((samples / "vdact").rglob("*")):
        if path.is_file():
            blob = repository / "blobs" / hashlib.sha256(path.read_bytes()).hexdigest()
            shutil.copy(path, blob)
            link = snapshot / path.relative_to(samples / "vdact")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))
    if outside is not None:
        (snapshot / "stolen.json").symlink_to(outside)
    return snapshot


def test_the_cache_of_a_hub_is_read_and_nothing_beside_it(
    place: Place, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = cache_of_a_hub(place.source, samples)
    bench = place.target / "bench"
    said = place.hostile("import", "vdact", snapshot.parent.parent, bench, capsys=capsys)
    assert "give a folder below its snapshots" in said
    assert run(["import", "vdact", str(snapshot), str(bench)]) == 0
    assert validate(Benchmark.open(bench)) == []
    shutil.rmtree(place.target)
    place.target.mkdir()
    shutil.rmtree(place.source)
    for target in (place.secret, Path("../../refs/main"), Path("../../../../../outside/secret.json")):
        snapshot = cache_of_a_hub(place.source, samples, outside=target)
        (snapshot.parent.parent / "refs" / "main").write_text("x")
        capsys.readouterr()
        said = place.hostile("import", "vdact", snapshot, bench, capsys=capsys)
        assert "leads out of the folder" in said
        assert "stolen.json" in said
        shutil.rmtree(place.source)


# ── FIFOs where a file is given ──────────────────────────────────────────────────────────────────────────────────────

LAYOUTS = "vdact svbench mt-video-bench dramaqa avsd video-mme mvbench ovo-bench streamingbench folder hub"
FORMATS = [*LAYOUTS.split(), "qa"]
GIVEN = {
    **{f"import {name}": ["import", name, "FIFO", "BENCH"] for name in FORMATS},
    "attach": ["attach", "SAMPLE", "FIFO"],
    "curate": ["curate", "FIFO", "--into", "BENCH"],
    "validate": ["validate", "FIFO"],
    "doctor": ["doctor", "FIFO"],
    "text": ["report", "--format", "text", "FIFO"],
    "score": ["score", "FIFO", "--format", "vdact", "--out", "TARGET"],
    "score svbench": ["score", "SAMPLE", "FIFO", "--format", "svbench", "--out", "TARGET"],
    "answers": ["evaluate", "SAMPLE", "--model", "answers:FIFO", "--answers-format", "vdact", "--out", "TARGET"],
    "answers in a table": ["evaluate", "SAMPLE", "--model", "answers:FIFO.csv", "--out", "TARGET"],
    "graph query": ["graph", "query", "FIFO", "actions"],
    "graph query by SPARQL": ["graph", "query", "SAMPLE", "--sparql", "FIFO"],
    "graph tell": ["graph", "tell", "SAMPLE", "--scenarios", "FIFO", "--out", "TARGET"],
    "prompts": ["construct", "SAMPLE", "--rubrics", "--writer", "scripted", "--prompts", "FIFO"],
    "adopt": ["prompts", "--from", "svbench", "--clone", "FIFO", "--out", "TARGET"],
    "review restore": ["review", "restore", "FIFO", "--into", "BENCH"],
    "export": ["export", "trl", "FIFO", "TARGET"],
    "report": ["report", "FIFO", "--out", "TARGET"],
    "about": ["report", "SAMPLE", "--about", "FIFO", "--out", "TARGET"],
    "run": ["run", "FIFO"],
}


def test_no_command_waits_for_a_fifo(
    place: Place, samples: Path, reliability: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, fifo = place.folder / "sample", place.source / "given.json"
    assert run(["import", "vdact", str(samples / "vdact"), str(sample)]) == 0
    capsys.readouterr()
    os.mkfifo(fifo)
    words = {"FIFO": fifo, "BENCH": place.target / "bench", "TARGET": place.target / "out", "SAMPLE": sample}
    tally = reliability("archives", "a FIFO in place of a file or folder, in each command", "it hangs")
    for name, given in GIVEN.items():
        tally.tried += 1
        arguments = [str(words.get(word, word.replace("FIFO", str(fifo)))) for word in given]
        with limited():
            code = run(arguments)
        said = "".join(capsys.readouterr())
        # Curation leaves a file out that it cannot read, and says so.
        assert code == (1 if name == "curate" else 2), (name, said)
        assert "Traceback" not in said, name
        assert "unknown" not in said, (name, said)
        shutil.rmtree(place.target, ignore_errors=True)
        place.target.mkdir()
