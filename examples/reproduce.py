"""Why does a published number differ? The same replies, read as we do and as the official script does.

python examples/reproduce.py benchmarks/vdact results/model.json runs/model gpt-4o-mini https://api.openai.com/v1
"""

import sys

from reeltalk import Benchmark
from reeltalk.analysis.published.records import published_overview
from reeltalk.stages import JudgeModelSettings, JudgeSettings, judge


def main(benchmark: str, answers: str, out: str, model: str, base_url: str) -> None:
    """Judge released answers of VDAct by VDEval, with the official script's figure beside."""
    done = judge(
        answers,
        out=out,
        format="vdact",
        benchmark=Benchmark.open(benchmark),
        judging=JudgeSettings(protocols=("vdeval",), compat=True, null_units=1),
        judge_model=JudgeModelSettings(judge=model, judge_base_url=base_url),
        limit=1,
    )
    print(*done.lines(), sep="\n")
    for row in done.run.summary:
        if row.metric in ("vdeval", "vdeval.compat"):
            print(f"{row.model}: {row.metric} {row.value}")
    print(published_overview().splitlines()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
