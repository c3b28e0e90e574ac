"""Writes the locks, with hashes: requirements.lock for development, and its part for the runtime.

Runs pip-compile on pyproject.toml. Addresses of package indexes are left out of the files.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
BUILD_TOOLS = ["hatchling>=1.27", "editables"]
"""The editable install is built without isolation, so that `make setup` resolves nothing outside the lock."""
KEPT_BACK = ["soupsieve<3.0.2", "pymdown-extensions<13"]
"""Later ones need Python 3.11.5, and Debian 12 has 3.11.2. tests/contract/test_imports.py finds such packages."""
UNLOCKED: Final = frozenset({"trackio", "wandb", "mlflow"})
"""Extras for programs of others, which bring a hundred packages; `make test-full` gives them an environment."""
EVERYTHING: Final = "requirements.lock"
RUNTIME: Final = "requirements-runtime.lock"
"""The packages that reeltalk itself needs, so that the first `make demo` does not wait for torch and test tools."""


def main() -> None:
    """Compiles the locks in place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    development, runtime = build / "dev-requirements.in", build / "runtime-requirements.in"
    development.write_text(
        "\n".join([*project["dependency-groups"]["dev"], *BUILD_TOOLS, *KEPT_BACK]) + "\n", encoding="utf-8"
    )
    # The same versions in both: the second is a part of the first.
    runtime.write_text("\n".join([*BUILD_TOOLS, f"-c {ROOT / EVERYTHING}"]) + "\n", encoding="utf-8")
    extras = sorted(set(project["project"]["optional-dependencies"]) - UNLOCKED)
    _compile(EVERYTHING, development, *(f"--extra={extra}" for extra in extras))
    _compile(RUNTIME, runtime)


def _compile(output: str, also: Path, *options: str) -> None:
    command = [
        *(sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes"),
        *options,
        *("--strip-extras", "--allow-unsafe", "--no-emit-index-url", "--no-emit-find-links", "--no-header"),
        *("--no-emit-trusted-host", "--no-annotate"),
        *("--output-file", output, "pyproject.toml", str(also.relative_to(ROOT))),
    ]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
