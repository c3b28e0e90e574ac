"""Propose CogME's tags for questions with a language model, and count what a person should look at.

python examples/tag.py benchmarks/kitchen qwen3 http://localhost:8000/v1
"""

import sys
from collections import Counter

from reeltalk import Benchmark
from reeltalk.llm import Endpoint, LanguageModel
from reeltalk.store.tables import TAG_PROPOSALS
from reeltalk_build.construct.settings import ReviewSettings, TagSettings
from reeltalk_build.construct.tagging.model_tagger import ModelTagging
from reeltalk_build.construct.tagging.stage import tag


def main(benchmark: str, model: str, base_url: str) -> None:
    """Tag what has no tags yet; what people and rules gave stays."""
    # Three replies of other seeds: a tag's probability is the share of those that give it.
    endpoints = [Endpoint(model=model, base_url=base_url, temperature=0.7, seed=seed) for seed in (17, 18, 19)]
    samples = [LanguageModel(endpoint, sees_images=False) for endpoint in endpoints]
    try:
        done = tag(Benchmark.open(benchmark), ModelTagging(samples), TagSettings(), ReviewSettings(review_share=0.1))
    finally:
        for sample in samples:
            sample.close()
    print(*done.report.lines(), sep="\n")
    tagged = Benchmark.open(benchmark)
    if not tagged.rows(TAG_PROPOSALS):
        print("every turn had tags")
        return
    print(Counter(proposal.needs_review for proposal in tagged.read(TAG_PROPOSALS)))


if __name__ == "__main__":
    main(*sys.argv[1:])
