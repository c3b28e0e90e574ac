"""Film a small household and ask about it: videos whose every fact is known, and dialogues with exact answers.

python examples/household.py benchmarks/household 4
"""

import sys
from collections import Counter

from reeltalk import Benchmark
from reeltalk.store.tables import DIALOGUES
from reeltalk_household.questions.asking import write_question_dialogues
from reeltalk_household.stages import FilmSettings, film


def main(into: str, scenarios: str = "4") -> None:
    """Film into the benchmark `into`, and show the first dialogue."""
    count = int(scenarios)
    settings = FilmSettings(
        scenarios=count, houses=count, test_houses=count // 2, dev_houses=0, width_px=320, fps=2, max_duration_s=90
    )
    filmed = film(into=into, settings=settings)
    print(*filmed.lines(), sep="\n")

    household = Benchmark.open(into)
    asked = write_question_dialogues(household, per_video=2, turns=6)
    print(f"{asked.turns} turns, of which SPARQL confirms {asked.checked}")

    household = Benchmark.open(into)
    splits = Counter(video.split for video in household.content().videos)
    print(f"videos by split: {dict(splits)}")
    dialogue = next(household.read(DIALOGUES))
    for turn in dialogue.turns:
        print(f"  {turn.asked_at_s:6.1f} s  {turn.question}  {turn.references[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
