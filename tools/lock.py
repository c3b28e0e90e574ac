"""Write requirements.lock: every package of the runtime, nearly all extras and the development tools, with hashes.

Runs pip-compile on pyproject.toml. Addresses of package indexes are left out of the file.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
BUILD_TOOLS = ["hatchling>=1.27", "editables"]
"""The editable install is built without isolation, so that `make setup` resolves nothing outside the lock."""
UNLOCKED: Final = frozenset({"trackio", "wandb", "mlflow"})
"""Extras for programs of others, which bring a hundred packages; `make test-full` gives them an environment."""


def main() -> None:
    """Compile the lock in place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = ROOT / "build" / "dev-requirements.in"
    wanted.parent.mkdir(exist_ok=True)
    wanted.write_text("\n".join([*project["dependency-groups"]["dev"], *BUILD_TOOLS]) + "\n", encoding="utf-8")
    extras = sorted(set(project["project"]["optional-dependencies"]) - UNLOCKED)
    command = [
        *(sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes"),
        *(f"--extra={extra}" for extra in extras),
        *("--strip-extras", "--allow-unsafe", "--no-emit-index-url", "--no-emit-find-links", "--no-header"),
        *("--no-emit-trusted-host", "--no-annotate"),
        *("--output-file", "requirements.lock", "pyproject.toml", str(wanted.relative_to(ROOT))),
    ]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
