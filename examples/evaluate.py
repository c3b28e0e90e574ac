"""Evaluate a model on a benchmark in two modes, and read its numbers and its wrong answers.

python examples/evaluate.py benchmarks/household baseline:blind runs/blind
python examples/evaluate.py benchmarks/household qwen3-vl runs/qwen http://localhost:8000/v1
"""

import sys
from itertools import islice

from reeltalk import Benchmark
from reeltalk.stages import FrameSettings, LimitSettings, ModelSettings, PlaySettings, evaluate


def main(benchmark: str, model: str, out: str, base_url: str | None = None) -> None:
    """Play `benchmark` to `model`; the runs go to `out`-dialogue and `out`-single."""
    opened = Benchmark.open(benchmark)
    # A baseline has no address, and its answers have no limit.
    asking = ModelSettings() if base_url is None else ModelSettings(base_url=base_url, max_reply_tokens=64)
    for mode in ("dialogue", "single"):
        done = evaluate(
            opened,
            model=model,
            out=f"{out}-{mode}",
            play=PlaySettings(mode=mode, frames=FrameSettings(policy="uniform", frames=8)),
            asking=asking,
            limits=LimitSettings(connections=4, max_calls=10_000),
        )
        print(*done.lines(), sep="\n")
        print(f"{mode}: right answers {done.value('typed')}, complete: {done.complete}")

        wrong = {row.item_id for row in done.run.item_scores() if row.scores.get("typed") == 0.0}
        for turn in islice((turn for turn in done.run.answers() if turn.item_id in wrong), 3):
            print(f"  {turn.question}  said: {turn.text!r}, reference: {turn.references[0]!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
