"""Evaluate as a paper did: its preset fixes frames, history, prompt and judging, and the signature says what is yours.

python examples/published.py benchmarks/vdact qwen3-vl runs/vdact http://localhost:8000/v1
"""

import sys

from reeltalk import Benchmark
from reeltalk.evaluation.presets import PRESETS
from reeltalk.stages import FrameSettings, JudgeModelSettings, LimitSettings, ModelSettings, evaluate, plan_evaluation


def main(benchmark: str, model: str, out: str, base_url: str, paper: str = "vdact") -> None:
    """Play the first dialogue by VDAct's design to a model that judges itself, after a look at what it will ask."""
    preset = PRESETS[paper]
    asking = ModelSettings(base_url=base_url, sees="text")
    who = JudgeModelSettings(judge=model, judge_base_url=base_url)
    opened = Benchmark.open(benchmark)
    play = preset.play.model_copy(update={"split": "all", "frames": FrameSettings(policy="none")})
    planned = plan_evaluation(
        opened, model=model, play=play, judging=preset.judging, asking=asking, judge_model=who, limit=1
    )
    print(f"{planned.turns} turns will be asked")
    done = evaluate(
        opened,
        model=model,
        out=out,
        preset=preset,
        play=play,
        asking=asking,
        judge_model=who,
        limits=LimitSettings(connections=2, max_retries=1),
        limit=1,
    )
    print(*done.lines(), sep="\n")
    print(preset.signed(play, preset.judging))


if __name__ == "__main__":
    main(*sys.argv[1:])
