"""Propose CogME's tags for questions with the tagger that comes along, and list what a person should look at.

python examples/tag.py benchmarks/household
"""

import sys
from collections import Counter
from itertools import islice

from reeltalk import Benchmark
from reeltalk.construct.settings import ReviewSettings, TagSettings
from reeltalk.construct.tagging.stage import LinearTagging, list_for_review, tag
from reeltalk.store.tables import TAG_PROPOSALS


def main(benchmark: str) -> None:
    """Tag what has no tags yet; what people and rules gave stays."""
    done = tag(
        Benchmark.open(benchmark),
        LinearTagging.named("household"),
        TagSettings(),
        ReviewSettings(review_share=0.1),
    )
    print(*done.report.lines(), sep="\n")
    tagged = Benchmark.open(benchmark)
    if not tagged.rows(TAG_PROPOSALS):
        print("every turn had tags")
        return
    print(Counter(proposal.needs_review for proposal in tagged.read(TAG_PROPOSALS)))
    for doubt in islice(list_for_review(tagged), 3):
        print(f"  {doubt['question']}: {doubt['target']}, {doubt['content']}, {doubt['thinking']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
