"""Runs the blocks of a page in a real shell, in which `reeltalk` is this process.

So loops, pipes and variables work as in a reader's shell, and a command needs no new interpreter. `make`, `pip` and
`uv` are looked up and not run: the target and the extra must exist.
"""

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from doc_pages import Block, script_of
from places import PACKAGES, ROOT

from reeltalk.cli import app, run

# Who talks to a video reads what is typed, and is a process of its own. For the rest the
# shell sends how many words there are, where it is, and the words; it gets an exit code and a file to print.
REELTALK: Final = """#!/bin/bash
[ "$1" = chat ] && exec {python} -m reeltalk "$@"
exec 3<>"/dev/tcp/127.0.0.1/$DOC_PORT" || exit 99
printf '%s\\0' "$(($# + 1))" "$PWD" "$@" >&3
read -r code printed <&3
cat "$printed"
exit "$code"
"""
# The next block begins in the state after this one, as in a reader's shell.
WHERE: Final = """trap 'pwd > "$DOC_WHERE"' EXIT"""
MAKE: Final = """#!/bin/bash
for target in "$@"; do
    case "$target" in *=*) continue ;; esac
    grep -q "^\\([a-zA-Z/-]* \\)*$target\\( [a-z-]*\\)*:" {root}/Makefile || {{ echo "no target $target"; exit 98; }}
done
"""
SERVES: Final = re.compile(r"https?://\S+")


@dataclass
class Ran:
    """A command that ran."""

    arguments: tuple[str, ...]
    code: int
    printed: str


@dataclass
class Shell:
    """A folder in which blocks run one after the other."""

    folder: Path
    adapt: Callable[[list[str], Path], list[str]]
    """Returns the arguments to run in a folder in place of the written ones: sizes and addresses."""
    ahead: Callable[[list[str], Path], None]
    """Called with these arguments and their folder before they run."""
    environment: dict[str, str] = field(default_factory=dict)
    ran: list[Ran] = field(default_factory=list)

    def __post_init__(self) -> None:
        tools = self.folder / ".tools"
        tools.mkdir(parents=True)
        self._tool("reeltalk", REELTALK.replace("{python}", sys.executable))
        self._tool("make", MAKE.format(root=ROOT))
        for installer in ("pip", "uv"):
            self._tool(installer, f'#!/bin/bash\nexec {sys.executable} {Path(__file__)} "$@"\n')
        (self.folder / ".venv" / "bin").mkdir(parents=True)
        (self.folder / ".venv" / "bin" / "activate").touch()
        (self.folder / ".venv" / "bin" / "reeltalk").symlink_to(tools / "reeltalk")

    def _tool(self, name: str, text: str) -> None:
        path = self.folder / ".tools" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run(self, block: Block) -> str | None:
        """Runs a block.

        Returns:
            The fault, with its place and command; None if all commands ended as allowed.
        """
        allowed = (0, 1) if block.findings else (0,)
        with socket.create_server(("127.0.0.1", 0)) as listener, (self.folder / ".tools" / "said").open("w+") as said:
            listener.settimeout(0.05)
            shell = subprocess.Popen(
                ["bash", "-e", "-o", "pipefail", "-c", f"{WHERE}\n{script_of(block)}"],
                cwd=self._where(),
                env=os.environ
                | self.environment
                | {
                    "PATH": f"{self.folder / '.tools'}:{os.environ['PATH']}",
                    "DOC_WHERE": str(self.folder / ".tools" / "where"),
                    "DOC_PORT": str(listener.getsockname()[1]),
                },
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            before = len(self.ran)
            try:
                while shell.poll() is None:
                    with contextlib.suppress(TimeoutError):
                        connection, _ = listener.accept()
                        self._answer(connection, block, allowed)
            finally:
                shell.kill()
                shell.wait()
            said.seek(0)
            bad = [ran for ran in self.ran[before:] if ran.code not in allowed]
            told = "".join(f"\n{' '.join(ran.arguments)} -> {ran.code}\n{ran.printed[-1500:]}" for ran in bad)
            if bad:
                return f"{block}:{told}"
            if shell.returncode:
                return f"{block}: the shell ended with {shell.returncode}: {said.read()[-1500:]}"
            return None

    def _where(self) -> Path:
        told = self.folder / ".tools" / "where"
        return Path(told.read_text(encoding="utf-8").strip()) if told.is_file() else self.folder

    def _answer(self, connection: socket.socket, block: Block, allowed: Sequence[int]) -> None:
        connection.settimeout(30)
        with connection:
            received = b""
            while (parts := received.split(b"\0")) and (len(parts) < 2 or len(parts) - 2 < int(parts[0])):
                received += connection.recv(65536)
            where, *arguments = [part.decode() for part in parts[1:-1]]
            adapted = self.adapt(arguments, Path(where))
            self.ahead(adapted, Path(where))
            code, printed = self._call(adapted, Path(where))
            self.ran.append(Ran(tuple(arguments), code, printed))
            output = self.folder / ".tools" / f"printed-{len(self.ran)}"
            output.write_text(printed, encoding="utf-8")
            connection.sendall(f"{0 if code in allowed else code} {output}\n".encode())

    def _call(self, arguments: list[str], where: Path) -> tuple[int, str]:
        if serves(arguments):
            return self._serve(arguments, where)
        printed = io.StringIO()
        with contextlib.chdir(where), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            # Nobody is there to answer a question.
            sys.stdin, typed = io.StringIO(), sys.stdin
            try:
                code = run(arguments)
            finally:
                sys.stdin = typed
        return code, printed.getvalue()

    def _serve(self, arguments: list[str], where: Path) -> tuple[int, str]:
        """Starts a server, waits for its address, and stops it with Ctrl-C, as a reader does."""
        lines: list[str] = []
        with subprocess.Popen(
            [sys.executable, "-m", "reeltalk", *arguments, "--port", "0"],
            cwd=where,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if SERVES.search(line):
                    process.send_signal(signal.SIGINT)
        served = any(SERVES.search(line) for line in lines)
        return (0 if served and process.returncode in (0, 130) else process.returncode or 97), "".join(lines)


def serves(arguments: Sequence[str]) -> bool:
    """True if a command runs until somebody stops it."""
    return len(arguments) > 1 and arguments[0] == "review" and arguments[1] not in list(app["review"])


def known_extras() -> dict[str, set[str]]:
    """The extras of each package, by its name."""
    files = PACKAGES.glob("*/pyproject.toml")
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    return {project["name"]: set(project.get("optional-dependencies", ())) for project in projects}


def named_extras(text: str) -> list[tuple[str, list[str]]]:
    """The packages of ours that a text names, each with the extras in brackets behind it."""
    named = re.findall(r"(?<![\w-])(reeltalk(?:-\w+)*)(?:\[([\w,-]+)\])?", text)
    return [(package, extras.split(",") if extras else []) for package, extras in named]


def main(arguments: list[str]) -> int:
    """Reports unknown packages of ours, and unknown extras, in `pip install`."""
    known = known_extras()
    for package, extras in named_extras(" ".join(arguments)):
        if package not in known:
            print(f"there is no package {package}", file=sys.stderr)
            return 1
        if unknown := set(extras) - known[package]:
            print(f"{package} has no extra {min(unknown)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
