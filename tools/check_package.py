"""Build the wheel and the source archive, check their metadata, and run the demo from the wheel alone.

    python tools/check_package.py [--without-demo]

The wheel is installed into its own environment with only its stated requirements, and `reeltalk demo` runs there in an
empty folder. The program exits with 1 at the first failed step.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "reeltalk"
DIST = ROOT / "build" / "dist"
NEVER: Final = (".venv/", "build/", ".git/", "site/")
"""Folders that do not belong into an archive."""


def files_of_package() -> set[str]:
    """All files that the package needs at run time, by path below `src`."""
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def built() -> tuple[Path, Path]:
    """Builds the wheel and the source archive."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, archive


def problems(wheel: Path, archive: Path) -> list[str]:
    """Missing and superfluous files of the archives."""
    with zipfile.ZipFile(wheel) as opened:
        in_wheel = {name for name in opened.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as source:
        in_archive = {name.partition("/")[2] for name in source.getnames()}
    found = [f"the wheel lacks {name}" for name in sorted(files_of_package() - in_wheel)]
    found += [
        f"the source archive lacks src/{name}" for name in sorted(files_of_package()) if f"src/{name}" not in in_archive
    ]
    found += [f"{name} is in the source archive" for name in sorted(in_archive) if name.startswith(NEVER)]
    return found


def main() -> int:
    """Build, check, install, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-demo", action="store_true", help="build and check only")
    given = parser.parse_args()
    wheel, archive = built()
    if found := problems(wheel, archive):
        print("\n".join(found))
        return 1
    _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(archive))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    if given.without_demo:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment, began_s = Path(folder) / "venv", time.monotonic()
        venv.create(environment, with_pip=True)
        _run(str(environment / "bin/python"), "-m", "pip", "install", "--quiet", str(wheel))
        installed_s = time.monotonic()
        print(f"installed in {installed_s - began_s:.0f} s", flush=True)
        # The folder has no access to the files of this repository.
        alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        work = Path(folder) / "work"
        work.mkdir()
        _run(str(environment / "bin/reeltalk"), "demo", "--out", "demo", cwd=work, env=alone)
        print(f"demo: {time.monotonic() - installed_s:.0f} s")
    return 0


def _run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=cwd, env=env, check=False)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
