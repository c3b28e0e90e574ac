"""What the text of a benchmark gives away, by kind of question.

`python tools/text_bias.py BENCH` prints the table of the card, the largest gain first: learners are taught on train and
asked about test (`construct.text_learners`).
"""

import argparse
import sys
from pathlib import Path

from reeltalk.construct.text_learners import measure_text_bias
from reeltalk.errors import ReeltalkError
from reeltalk.metrics.text_bias import HEADINGS, text_bias_cells
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, VIDEOS
from reeltalk.store.text_tables import markdown_table

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the text of a benchmark gives away, by kind of question.")
    parser.add_argument("benchmark", type=Path, help="folder of a benchmark with videos in the splits train and test")
    folder = parser.parse_args().benchmark
    try:
        benchmark = Benchmark.open(folder)
        splits: dict[str, str | None] = {video.id: video.split for video in benchmark.read(VIDEOS)}
        found = measure_text_bias([*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)], splits)
    except ReeltalkError as error:
        sys.exit(f"text_bias: {error}")
    if not found:
        sys.exit(f"text_bias: {folder} has no questions of known kinds in both train and test")
    numbers = (False, *[True] * 8, False)
    print("\n".join(markdown_table(HEADINGS, [text_bias_cells(row) for row in found], numbers=numbers)))
