"""Build the wheels and source archives of all packages, check them, and use the wheels alone.

    python tools/check_package.py [--without-use]

All wheels are installed into an environment of their own with only their stated requirements, and `reeltalk demo` runs
there in an empty folder. In another one the core's wheel alone runs the commands of the README's example. The program
exits with 1 at the first failed step.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from places import PACKAGES, ROOT, SOURCES
from scripted_server import serve
from willing_model import reply

DIST = ROOT / "build" / "dist"
NEVER: Final = (".venv/", "build/", ".git/", "site/", "tests/")
"""Folders that do not belong into an archive."""
TABLE: Final = """video,question,answer
kitchen,What is in the pot?,soup
kitchen,Where is the lid?,on the table
garden,How many birds are there?,three
street,What colour is the car?,red
"""


def built() -> Iterator[tuple[Path, Path, Path]]:
    """The folder of each import package, its wheel and its source archive."""
    shutil.rmtree(DIST, ignore_errors=True)
    for source in SOURCES:
        folder = PACKAGES / source.name.replace("_", "-")
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(folder))
        (wheel,), (archive,) = DIST.glob(f"{source.name}-*.whl"), DIST.glob(f"{source.name}-*.tar.gz")
        yield source, wheel, archive


def problems(source: Path, wheel: Path, archive: Path) -> list[str]:
    """Missing and superfluous files of the archives.

    Args:
        source: Folder of the import package.
        wheel: Its wheel.
        archive: Its source archive.
    """
    needed = sorted(
        path.relative_to(source.parent).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    with zipfile.ZipFile(wheel) as opened:
        in_wheel = {name for name in opened.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as packed:
        in_archive = {name.partition("/")[2] for name in packed.getnames()}
    found = [f"{wheel.name} lacks {name}" for name in needed if name not in in_wheel]
    found += [f"{archive.name} lacks src/{name}" for name in needed if f"src/{name}" not in in_archive]
    found += [f"{name} is in {archive.name}" for name in sorted(in_archive) if name.startswith(NEVER)]
    return found


def check(*, use: bool) -> int:
    """Build, check, install, run.

    Args:
        use: Whether the wheels are also installed and used.

    Returns:
        1 if an archive lacks a file or has one too many, otherwise 0.
    """
    wheels = []
    for source, wheel, archive in built():
        if found := problems(source, wheel, archive):
            print("\n".join(found))
            return 1
        _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(archive))
        print(
            f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {archive.name}: {archive.stat().st_size / 1e6:.1f} MB"
        )
        wheels.append(wheel)
    if use:
        _use(wheels[:1], _run_four_commands)
        _use(wheels, _run_demo)
    return 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-use", action="store_true", help="build and check only")
    return check(use=not parser.parse_args().without_use)


def _use(wheels: list[Path], run: Callable[[Path, Path], None]) -> None:
    """Install wheels into an environment of their own and run something there, with the seconds and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        environment, began_s = Path(folder) / "venv", time.monotonic()
        uv = str(Path(sys.executable).with_name("uv"))
        _run(uv, "venv", "--quiet", "--python", sys.executable, str(environment))
        _run(uv, "pip", "install", "--quiet", "--python", str(environment / "bin/python"), *map(str, wheels))
        installed_s = time.monotonic()
        size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
        count = len(list(environment.glob("lib/python3*/site-packages/*.dist-info")))
        print(
            f"{' '.join(wheel.name for wheel in wheels)}: {count} packages, {size / 1e6:,.0f} MB, installed in "
            f"{installed_s - began_s:.0f} s",
            flush=True,
        )
        work = Path(folder) / "work"
        work.mkdir()
        run(environment / "bin/reeltalk", work)
        print(f"used: {time.monotonic() - installed_s:.0f} s")


def _run_demo(reeltalk: Path, work: Path) -> None:
    _run(str(reeltalk), "demo", "--out", "demo", cwd=work)


def _run_four_commands(reeltalk: Path, work: Path) -> None:
    """Import a table of questions, evaluate two models, judge one, compare and report."""
    (work / "questions.csv").write_text(TABLE, encoding="utf-8")
    _run(str(reeltalk), "import", "qa", "questions.csv", "bench", cwd=work)
    with serve(reply) as server:
        asked = ("--base-url", server.base_url, "--policy", "none")
        for model in ("one", "two"):
            _run(
                *(str(reeltalk), "evaluate", "bench", "--model", model, *asked, "--protocols", "match"),
                *("--out", f"runs/{model}"),
                cwd=work,
            )
        _run(
            *(str(reeltalk), "judge", "runs/one", "--protocols", "gpt-score", "--judge", "judge"),
            *("--judge-base-url", server.base_url, "--out", "runs/judged"),
            cwd=work,
        )
    _run(str(reeltalk), "compare", "runs/one", "runs/two", cwd=work)
    _run(str(reeltalk), "report", "runs/one", "runs/two", "--bench", "bench", "--out", "site", cwd=work)


def _run(*command: str, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    # What is installed has no access to the files of this repository.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=alone, check=False)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
