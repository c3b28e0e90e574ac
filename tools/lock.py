"""Writes the locks, with hashes: of uv, of all that development needs, and of the part of it that running needs.

Runs `uv pip compile` on what the packages and the workspace require. Addresses of package indexes are left out. What is
locked already keeps its version: pass `--upgrade`, or `--upgrade-package NAME`, to take later ones.
"""

import subprocess
import sys
import tomllib
from typing import Final

from places import PACKAGES, ROOT

KEPT_BACK: Final = ["soupsieve<3.0.2", "pymdown-extensions<13"]
"""Later ones need Python 3.11.5, and Debian 12 has 3.11.2. tests/contract/test_imports.py finds such packages."""
INSTALLER: Final = "requirements-uv.lock"
EVERYTHING: Final = "requirements.lock"
RUNTIME: Final = "requirements-runtime.lock"
"""What the packages need without extras, so that the first `make demo` does not wait for torch and test tools."""


def main() -> None:
    """Compile the locks in place."""
    workspace = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    dev = workspace["dependency-groups"]["dev"]
    needed, extra = _requirements()
    build_tools = [line for line in dev if line.startswith(("hatchling", "editables"))]
    _compile(INSTALLER, [line for line in dev if line.startswith("uv>")])
    _compile(EVERYTHING, [*needed, *extra, *dev, *KEPT_BACK])
    # The same versions in both: the second is a part of the first.
    _compile(RUNTIME, [*needed, *build_tools], "--constraint", EVERYTHING)


def _requirements() -> tuple[list[str], list[str]]:
    """What the packages need without and with extras, but for each other."""
    needed, extra = set[str](), set[str]()
    for file in PACKAGES.glob("*/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        needed.update(project["dependencies"])
        for lines in project.get("optional-dependencies", {}).values():
            extra.update(lines)
    return _others(needed), _others(extra)


def _others(lines: set[str]) -> list[str]:
    return sorted(line for line in lines if not line.startswith("reeltalk"))


def _compile(output: str, lines: list[str], *options: str) -> None:
    command = [
        *("uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--strip-extras"),
        *("--no-emit-index-url", "--no-emit-find-links", "--python", sys.executable, *options, *sys.argv[1:]),
        *("--output-file", output, "-"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, input="\n".join(lines), text=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
