"""Works out from a program's system calls which state of its files a power cut may leave.

A program runs under `strace`. Only the data that it waited for is certain: the data of a file before its last `fsync`
or `fdatasync`, and names that were created, moved or removed in a folder before the folder's last `fsync`, as fsync(2)
says. Of everything else a part is there, in any order between files, and the last write may be torn. This is stricter
than today's file systems, which keep names in order.
"""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CALLS: Final = (
    "openat,open,creat,close,write,pwrite64,writev,ftruncate,truncate,fallocate,rename,renameat,renameat2,unlink,"
    "unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,fsync,fdatasync,lseek,sendfile"
)
LINE: Final = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((.*))$")
TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
DESCRIPTOR: Final = re.compile(r"(\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*|[^>]*)>")
SECTOR: Final = 512
SKIPPED: Final = re.compile(r"-shm$")
"""SQLite's index of its log, which it maps into memory and rebuilds after a power cut."""


def is_installed() -> bool:
    """True if programs can be traced here."""
    probe = ["strace", "-qq", "-e", "trace=openat", "-o", os.devnull, "true"]
    return (
        shutil.which("strace") is not None and subprocess.run(probe, check=False, capture_output=True).returncode == 0
    )


@dataclass(eq=False)
class Node:
    """A file or a folder, independent of its names."""

    is_folder: bool
    changes: list["Change"] = field(default_factory=list)
    """For a file its writes; for a folder the names that were created, moved and removed."""
    synced: list[tuple[int, int]] = field(default_factory=list)
    """Beginning and end of each wait for the disk."""
    size: int = 0


@dataclass(eq=False)
class Change:
    """A step of a program that may or may not survive."""

    at: int
    """Place in the order of all calls, at the end of the call."""
    offset: int = 0
    data: bytes | None = None
    """The data written at `offset`; None if the file was cut or extended to `offset`."""
    gone: tuple[Node, str] | None = None
    made: tuple[Node, str, Node] | None = None


@dataclass(eq=False)
class Opened:
    """A file descriptor."""

    node: Node
    place: int
    appends: bool


class Recording:
    """The writes of a program below a folder, and its output.

    Args:
        command: The program with its arguments.
        folder: The watched folder; its earlier contents are certain.
        environment: Environment of the program; by default that of this process.

    Raises:
        RuntimeError: The program fails, or its files do not match its calls.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder = folder.resolve()
        self.said: list[tuple[int, str]] = []
        """Lines on its standard output, each with its place in the order of calls."""
        self.moments: list[int] = []
        """Places in the order of calls at which something below the folder changed."""
        self._root = Node(is_folder=True)
        self._opened: dict[int, Opened] = {}
        self._changes: list[Change] = []
        self._names: dict[tuple[Node, str], Node] = {}
        """The current file of each name while the calls are read."""
        self._read_tree(self.folder, self._root)
        log = self.folder.parent / f"{self.folder.name}.strace"
        # All data in full: a line can be long.
        watching = ["strace", "-f", "-qq", "-y", "-xx", "-s", "100000000", "--seccomp-bpf", "-e", f"trace={CALLS}"]
        done = subprocess.run(
            [*watching, "-o", str(log), *command], capture_output=True, text=True, check=False, env=environment
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
        self.output = done.stdout
        with log.open(encoding="ascii", errors="replace") as lines:
            self._read_log(lines)
        log.unlink()
        self._check()

    def cut(self, draw: random.Random, into: Path, at: int | None = None) -> list[str]:
        """Writes the folder in a possible state after a power cut.

        Args:
            draw: Decides the moment, and which of the uncertain changes survive.
            into: The folder to write; it must not exist.
            at: Cut at this moment instead.

        Returns:
            The lines that the program had printed until then.
        """
        at = draw.choice(self.moments) if at is None else at
        # Only certain changes; or all changes, as after SIGKILL; or a part.
        fate = draw.choices(("nothing", "all", "part"), (3, 1, 6))[0]
        names: dict[Node, dict[str, Node]] = {self._root: {}}
        unsure = self._unsure_names(at, fate, draw)
        for change in self._changes:
            if change.at > at or change in unsure:
                continue
            if change.gone is not None and names.setdefault(change.gone[0], {}).pop(change.gone[1], None) is None:
                # The file to move was never there, because it had a name in another folder that was lost.
                continue
            if change.made is not None:
                names.setdefault(change.made[0], {})[change.made[1]] = change.made[2]
        self._write(self._root, into, names, lambda node: self._content(node, at, fate, draw))
        return [line for place, line in self.said if place <= at]

    def _unsure_names(self, at: int, fate: str, draw: random.Random) -> set[Change]:
        """Changes of names that are lost: any number of the last ones of each folder."""
        lost: set[Change] = set()
        if fate == "all":
            return lost
        folders = {node for change in self._changes for node in _folders(change)}
        sure = {change for node in folders for change in node.changes if change.at <= _sure_until(node, at)}
        # Sorted, so that the same seed gives the same result.
        for node in sorted(folders, key=lambda folder: folder.changes[0].at):
            open_ones = [change for change in node.changes if change.at <= at and change not in sure]
            kept = 0 if fate == "nothing" else draw.randint(0, len(open_ones))
            lost |= set(open_ones[kept:])
        return lost

    def _content(self, node: Node, at: int, fate: str, draw: random.Random) -> bytes:
        sure, content = _sure_until(node, at), bytearray()
        open_ones = [change for change in node.changes if sure < change.at <= at]
        chosen = set(open_ones) if fate == "all" else set[Change]()
        torn: Change | None = None
        if fate == "part" and open_ones:
            kept = draw.randint(0, len(open_ones))
            chosen = set(open_ones[:kept] if draw.random() < 0.5 else draw.sample(open_ones, kept))
            torn = max(chosen, key=lambda change: change.at, default=None)
        for change in node.changes:
            if change.at > at or (change.at > sure and change not in chosen):
                continue
            data = change.data
            if data is not None and change is torn and draw.random() < 0.7:
                data = data[: draw.randint(0, len(data) // SECTOR + 1) * SECTOR]
            _apply(content, change.offset, data)
        return bytes(content)

    def _check(self) -> None:
        """Compares the result of all calls with the real files."""
        names: dict[Node, dict[str, Node]] = {}
        for change in self._changes:
            if change.gone is not None:
                names[change.gone[0]].pop(change.gone[1])
            if change.made is not None:
                names.setdefault(change.made[0], {})[change.made[1]] = change.made[2]
        explained = dict(_paths(self._root, names))
        for path in sorted(self.folder.rglob("*")):
            node = explained.pop(path.relative_to(self.folder).as_posix(), None)
            if node is None or node.is_folder != path.is_dir():
                raise RuntimeError(f"{path} is there, and no call explains it")
            if not node.is_folder and not SKIPPED.search(path.name):
                content = bytearray()
                for change in node.changes:
                    _apply(content, change.offset, change.data)
                if bytes(content) != path.read_bytes():
                    raise RuntimeError(f"{path} has other content than the calls explain")
        if left := [name for name in explained if not SKIPPED.search(name)]:
            raise RuntimeError(f"calls explain {left[0]}, which is not there")

    def _read_tree(self, folder: Path, node: Node) -> None:
        for path in sorted(folder.iterdir()):
            child = Node(is_folder=path.is_dir())
            self._name(0, node, path.name, child)
            if child.is_folder:
                self._read_tree(path, child)
            else:
                child.changes.append(Change(0, 0, path.read_bytes()))
                child.size = path.stat().st_size
                child.synced.append((0, 0))
        node.synced.append((0, 0))

    def _read_log(self, lines: Iterable[str]) -> None:
        begun: dict[str, tuple[int, str]] = {}
        for at, line in enumerate(lines, start=1):
            found = LINE.match(line.rstrip("\n"))
            if found is None:
                continue
            process, resumed, rest, name, text = found.groups()
            since = at
            if resumed is not None:
                since, before = begun.pop(process)
                name, text = resumed, before + rest
            elif text.endswith("<unfinished ...>"):
                begun[process] = at, text.removesuffix("<unfinished ...>").rstrip()
                continue
            arguments, _, result = text.rpartition(" = ")
            value = re.match(r"-?\d+", result)
            if value is not None and int(value[0]) >= 0:
                self._take(name, arguments, int(value[0]), since, at)

    def _take(self, name: str, arguments: str, value: int, since: int, at: int) -> None:
        texts = [_plain(found[1]) for found in TEXT.finditer(arguments)]
        descriptors = [
            (found[1], _plain(found[2]).decode(errors="replace")) for found in DESCRIPTOR.finditer(arguments)
        ]
        number = int(descriptors[0][0]) if descriptors and descriptors[0][0].isdigit() else -1
        match name:
            case "open" | "openat" | "creat":
                self._open(_path(texts[0], descriptors), arguments, value, at)
            case "close":
                self._opened.pop(number, None)
            case "write" | "writev":
                data = b"".join(texts)[:value]
                if number == 1:
                    self.said += [(at, said) for said in data.decode(errors="replace").splitlines() if said]
                elif (opened := self._opened.get(number)) is not None:
                    place = opened.node.size if opened.appends else opened.place
                    opened.place = self._write_data(opened.node, place, data, at)
            case "pwrite64" if (opened := self._opened.get(number)) is not None:
                offset = int(arguments.rpartition(",")[2].rstrip(") "))
                self._write_data(opened.node, offset, texts[0][:value], at)
            case "lseek" if (opened := self._opened.get(number)) is not None:
                opened.place = value
            case "ftruncate" if (opened := self._opened.get(number)) is not None:
                self._resize(opened.node, int(arguments.rpartition(",")[2].rstrip(") ")), at)
            case "fsync" | "fdatasync" if (opened := self._opened.get(number)) is not None:
                opened.node.synced.append((since, at))
                self.moments.append(at)
            case "mkdir" | "mkdirat":
                self._make(_path(texts[0], descriptors), Node(is_folder=True), at)
            case "unlink" | "unlinkat" | "rmdir":
                self._move(_path(texts[0], descriptors), None, at)
            case "rename" | "renameat" | "renameat2":
                first, second = (descriptors[:1], descriptors[1:]) if len(descriptors) > 1 else ([], [])
                self._move(_path(texts[0], first), _path(texts[1], second), at)
            case "link" | "linkat" if (found := self._find(_path(texts[0], descriptors[:1]))) is not None:
                self._make(_path(texts[1], descriptors[1:]), self._names[found], at)
            case "truncate" if (found := self._find(_path(texts[0], []))) is not None:
                self._resize(self._names[found], int(arguments.rpartition(",")[2].rstrip(") ")), at)
            case "link" | "linkat" | "symlink" | "symlinkat" | "fallocate" | "sendfile":
                paths = [told for _, told in descriptors] + [text.decode(errors="replace") for text in texts]
                if any(told.startswith(f"{self.folder}/") for told in paths):
                    raise RuntimeError(f"{name} is not known here: {paths}")

    def _open(self, path: Path, arguments: str, value: int, at: int) -> None:
        found = self._find(path)
        if found is None:
            return
        folder, name = found
        node = self._node(folder, name) if name else folder
        if node is None:
            node = Node(is_folder=False)
            self._make(path, node, at)
        elif "O_TRUNC" in arguments and node.size:
            self._resize(node, 0, at)
        self._opened[value] = Opened(node, 0, "O_APPEND" in arguments)

    def _find(self, path: Path) -> tuple[Node, str] | None:
        """The folder of a path and the name in it; None if the path is not watched."""
        if not path.is_relative_to(self.folder):
            return None
        node, parts = self._root, path.relative_to(self.folder).parts
        for part in parts[:-1]:
            child = self._node(node, part)
            if child is None:
                raise RuntimeError(f"{path} is in a folder that no call made")
            node = child
        return node, parts[-1] if parts else ""

    def _node(self, folder: Node, name: str) -> Node | None:
        return self._names.get((folder, name))

    def _name(self, at: int, folder: Node, name: str, node: Node) -> None:
        change = Change(at, made=(folder, name, node))
        folder.changes.append(change)
        self._changes.append(change)
        self._names[folder, name] = node

    def _make(self, path: Path, node: Node, at: int) -> None:
        found = self._find(path)
        if found is not None:
            self._name(at, *found, node)
            self.moments.append(at)

    def _move(self, source: Path, target: Path | None, at: int) -> None:
        found = self._find(source)
        if found is None:
            if target is not None and self._find(target) is not None:
                raise RuntimeError(f"{source} is moved from outside to {target}")
            return
        node = self._names.pop(found)
        change = Change(at, gone=found)
        aim = self._find(target) if target is not None else None
        if aim is not None:
            change.made = (*aim, node)
            self._names[aim] = node
        for folder in dict.fromkeys(_folders(change)):
            folder.changes.append(change)
        self._changes.append(change)
        self.moments.append(at)

    def _write_data(self, node: Node, offset: int, data: bytes, at: int) -> int:
        node.changes.append(Change(at, offset, data))
        node.size = max(node.size, offset + len(data))
        self.moments.append(at)
        return offset + len(data)

    def _resize(self, node: Node, size: int, at: int) -> None:
        node.changes.append(Change(at, size))
        node.size = size
        self.moments.append(at)

    def _write(
        self, node: Node, path: Path, names: dict[Node, dict[str, Node]], content: Callable[[Node], bytes]
    ) -> None:
        if not node.is_folder:
            if not SKIPPED.search(path.name):
                path.write_bytes(content(node))
            return
        path.mkdir()
        for name, child in names.get(node, {}).items():
            self._write(child, path / name, names, content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    """One change of a file: data at a place, or another size."""
    if data is None:
        del content[offset:]
    if len(content) < offset:
        content += bytes(offset - len(content))
    if data is not None:
        content[offset : offset + len(data)] = data


def _sure_until(node: Node, at: int) -> int:
    """The last moment whose changes are certainly on the disk; -1 if there is none."""
    return max((since for since, ended in node.synced if ended <= at), default=-1)


def _folders(change: Change) -> list[Node]:
    return [told[0] for told in (change.gone, change.made) if told is not None]


def _paths(node: Node, names: dict[Node, dict[str, Node]], prefix: str = "") -> Iterator[tuple[str, Node]]:
    for name, child in names.get(node, {}).items():
        yield f"{prefix}{name}", child
        yield from _paths(child, names, f"{prefix}{name}/")


def _plain(text: str) -> bytes:
    """Decodes text that strace writes with two hexadecimal digits per byte; other text is returned unchanged."""
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


def _path(text: bytes, descriptors: Sequence[tuple[str, str]]) -> Path:
    """A path of a call, relative to the folder of its descriptor."""
    return Path(os.path.normpath(Path(descriptors[0][1] if descriptors else "/", os.fsdecode(text))))
