"""Extend reeltalk by a metric and a stage of your own.

python examples/extend.py benchmarks/household vdact runs/rooms VDAct/results/*.json
"""

import sys

from reeltalk import Benchmark
from reeltalk.stages import ScoreSettings, score
from reeltalk.store.tables import DIALOGUES

ROOMS = ("kitchen", "bedroom", "bathroom", "living room")


def same_rooms(answers: list[str], references: list[list[str]]) -> list[float]:
    """1 where an answer names the rooms that a reference names, and no other."""

    def rooms(text: str) -> set[str]:
        return {room for room in ROOMS if room in text.lower()}

    return [
        float(any(rooms(answer) == rooms(reference) for reference in group))
        for answer, group in zip(answers, references, strict=True)
    ]


def count_words(benchmark: Benchmark) -> int:
    """A stage: reads a table, and writes a file into the benchmark, whole or not at all."""
    words = sum(len(turn.question.split()) for dialogue in benchmark.read(DIALOGUES) for turn in dialogue.turns)
    with benchmark.writing(stage="count words") as writer:
        writer.add_file("notes/words.txt", f"{words} words in questions\n".encode())
    return words


def main(benchmark: str, layout: str, out: str, *answers: str) -> None:
    """Score released answers by rooms, and count the words of a benchmark's questions."""
    settings = ScoreSettings(metrics=("token_f1", f"python:{__file__}:same_rooms"))
    print(*score(*answers, out=out, format=layout, settings=settings).lines(), sep="\n")
    print(f"{count_words(Benchmark.open(benchmark))} words in questions")


if __name__ == "__main__":
    main(*sys.argv[1:])
