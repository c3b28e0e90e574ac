"""Profile what a model understands: credit for parts of answers, by CogME's tags.

python examples/profiles.py benchmarks/household runs/blind runs/blind-rubric
"""

import sys

from reeltalk import Benchmark, Run
from reeltalk.stages import JudgeSettings, judge
from reeltalk_build.construct.rubrics import graph_rubric, write_rubrics


def main(benchmark: str, run: str, out: str) -> None:
    """Write rubrics from the graph's answers, judge a run by them, and print the profile."""
    rubrics = write_rubrics(Benchmark.open(benchmark), lambda turn, history: graph_rubric(turn), writer="graph")
    print(f"{rubrics.written} of {rubrics.turns} turns have parts, {rubrics.items} in all")

    done = judge(
        Run.open(run),
        out=out,
        judging=JudgeSettings(protocols=("rubric-words",)),
        benchmark=Benchmark.open(benchmark),
    )
    for row in done.run.summary:
        if row.metric.startswith("rubric-words") and row.value is not None and row.n:
            interval = f"[{row.low:.1f}, {row.high:.1f}]" if row.low is not None and row.high is not None else ""
            print(f"{row.model:<12} {row.metric:<32} {row.value:6.1f} {interval} n={row.n}")


if __name__ == "__main__":
    main(*sys.argv[1:])
