"""Shares of the labels among the turns of a benchmark's dialogues, by vocabulary.

`python tools/label_shares.py BENCH` prints a line for each label, the rarest first.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES

COUNTED = ("vdact.question_type", "cogme.target", "cogme.content", "cogme.thinking", "svbench.skill")


def label_shares(turns: Iterable[Turn]) -> dict[tuple[str, str], float]:
    """The share of turns with each label of the counted vocabularies, those that never occur included.

    Args:
        turns: At least one turn.
    """
    asked = list(turns)
    counts = Counter((name, label) for turn in asked for name, labels in turn.labels.items() for label in labels)
    known = [(name, str(label)) for name in COUNTED for label in VOCABULARIES[name]]
    return {label: counts[label] / len(asked) for label in known}


if __name__ == "__main__":
    dialogues = Benchmark.open(Path(sys.argv[1])).read(DIALOGUES)
    shares = label_shares(turn for dialogue in dialogues for turn in dialogue.turns)
    for (name, label), share in sorted(shares.items(), key=lambda item: item[1]):
        print(f"{100 * share:5.1f} %  {name} {label}")
