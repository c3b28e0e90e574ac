"""Environments that hold one wheel of ours with what it needs, and nothing else: no extra, no package of the checkout.

Packages come from uv's cache, where `make setup` has put them, at the versions of the lock.
"""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from places import PACKAGES, ROOT

NAMES = ("reeltalk", "reeltalk-build", "reeltalk-streaming", "reeltalk-review", "reeltalk-household")
_UV = str(Path(sys.executable).with_name("uv"))


class Done(NamedTuple):
    """What a command ended with."""

    code: int
    out: str
    problem: str
    """What it wrote on standard error."""


@dataclass(frozen=True)
class Bare:
    """An environment with one package of ours."""

    package: str
    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self, **more: str) -> dict[str, str]:
        """Of a process in it, without what leads to the checkout."""
        return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more

    def each(self, commands: Sequence[Sequence[str]], work: Path, seconds: float, **variables: str) -> list[Done]:
        """Run commands of `reeltalk`, each in an empty folder.

        Args:
            commands: The words of each after `reeltalk`.
            work: Where the folders are made.
            seconds: After which a command is interrupted.
            variables: More of the environment.
        """
        done = subprocess.run(
            [str(self.python), str(ROOT / "tools" / "each_command.py"), str(work), str(seconds)],
            input=json.dumps(commands), env=self.variables(COLUMNS="200", **variables), text=True,
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        return [Done(*ended) for ended in json.loads(done.stdout)]


def build_wheels(into: Path, names: Sequence[str] = NAMES) -> None:
    """Build the wheels of packages, by default of all."""
    for name in names:
        build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(into))
        subprocess.run([*build, str(PACKAGES / name)], stdout=subprocess.DEVNULL, check=True)


def install(package: str, wheels: Path, into: Path, *more: str) -> Bare:
    """Install a package alone.

    Args:
        package: One of `NAMES`.
        wheels: Folder of our wheels.
        into: Folder of the environment.
        more: Packages of others to install beside it.
    """
    found = Bare(package, into)
    [wheel] = wheels.glob(f"{package.replace('-', '_')}-*.whl")
    subprocess.run([_UV, "venv", "--quiet", "--python", sys.executable, str(into)], check=True)
    given = ("--quiet", "--python", str(found.python), "--constraints", str(ROOT / "requirements.lock"))
    command = [_UV, "pip", "install", *given, "--find-links", str(wheels), str(wheel), *more]
    # The cache of whoever ran `make setup`, from the home that tests do not see.
    home = os.environ | {"HOME": pwd.getpwuid(os.getuid()).pw_dir}
    if subprocess.run([*command, "--offline"], env=home, stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(command, env=home, check=True)
    return found
