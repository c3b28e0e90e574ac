"""Prepare a benchmark for review, and follow the work from a script: queues, history, what would be applied.

People work in the browser, at what `reeltalk review benchmarks/household` serves.

    python examples/review.py benchmarks/household household-review
"""

import contextlib
import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk_review.applying.stage import apply_reviews
from reeltalk_review.database import PLAYABLE, ReviewProject
from reeltalk_review.exporting import export_project
from reeltalk_review.importing import import_benchmark
from reeltalk_review.playable import prepare_videos
from reeltalk_review.team_stats import queue_table
from reeltalk_review.verifying import verify_history


def main(benchmark: str, export: str) -> None:
    """Load what there is to review, and export the project."""
    project = ReviewProject.open(Path(benchmark))
    with contextlib.closing(project.database):
        loaded = import_benchmark(
            project,
            Benchmark.open(benchmark),
            serving=lambda opened: prepare_videos(opened, project.folder / PLAYABLE),
            queues=("turns",),
            overlap=2,
        )
        print(*loaded.lines(), sep="\n")
        with project.database.reading() as session:
            for row in queue_table(session):
                print("  ".join(row))
        print(*verify_history(project.database).lines(), sep="\n")
        applied = apply_reviews(project, dry_run=True)
        print(*applied.lines(Path(benchmark), dry_run=True), sep="\n")
        export_project(project.database, Path(export))
    print(f"the whole project: {export}")


if __name__ == "__main__":
    main(*sys.argv[1:])
