"""A leaderboard from released model outputs, in four calls: import, validate, score, report.

Run it, or give it your own answers in VDAct's layout:

    python examples/first_leaderboard.py
    python examples/first_leaderboard.py build/mine path/to/results/*.json
"""

import shutil
import sys
from pathlib import Path

from reeltalk.cli import run

SAMPLE = Path(__file__).parents[1] / "tests" / "samples" / "vdact"


def main(folder: Path, answers: list[str]) -> None:
    """Make benchmark, run and site under `folder`; the site's path is printed last."""
    shutil.rmtree(folder, ignore_errors=True)
    steps = [
        ["import", "vdact", str(SAMPLE), str(folder / "benchmark")],
        ["validate", str(folder / "benchmark")],
        [
            "score",
            *answers,
            "--format",
            "vdact",
            "--metrics",
            "bleu,rouge_l,cider,token_f1",
            "--out",
            str(folder / "run"),
        ],
        ["report", str(folder / "run"), "--out", str(folder / "site")],
    ]
    for step in steps:
        print(f"$ reeltalk {' '.join(step)}", flush=True)
        if code := run(step):
            sys.exit(code)
    print((folder / "site" / "index.html").resolve())


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/first")
    main(folder, sys.argv[2:] or [str(SAMPLE / "results")])
