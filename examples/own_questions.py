"""Turn a table of questions and a folder of videos into a benchmark, and see what a model that is blind scores on it.

python examples/own_questions.py questions.csv videos benchmarks/mine runs/blind
"""

import sys

from reeltalk import Benchmark
from reeltalk.stages import evaluate, export_layout, import_questions


def main(table: str, videos: str, benchmark: str, out: str) -> None:
    """Import `table`, evaluate the blind baseline, and write the questions back as JSON Lines."""
    done = import_questions(table, benchmark, videos=videos)
    print(*done.lines(), sep="\n")
    opened = Benchmark.open(benchmark)
    print(*evaluate(opened, model="baseline:blind", out=out).lines(), sep="\n")
    written = export_layout(opened, "qa", f"{benchmark}-questions.jsonl")
    print(written.folder, *written.lost, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
