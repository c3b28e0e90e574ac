"""Is one model better than another? Paired differences on the same turns, and how many videos a plan needs.

python examples/compare.py runs/one runs/two
"""

import sys

from reeltalk.analysis.planning import plan_text
from reeltalk.stages import CompareSettings, compare


def main(*runs: str) -> None:
    """Compare all models of the runs by `typed` and ROUGE-L."""
    found = compare(*runs, settings=CompareSettings(metrics=("typed", "rouge_l"), correction="holm"))
    names = [model.name for model in found.board.models]
    for row in found.rows:
        print(f"{row.metric}: {names[row.first]} less {names[row.second]}")
        if row.problem is not None:
            print(f"  not compared: {row.problem}")
            continue
        interval = "no interval" if row.low is None or row.high is None else f"[{row.low:+.4f}, {row.high:+.4f}]"
        print(f"  {row.difference:+.4f} {interval} on {row.items} turns of {row.videos} videos")
        print(f"  {found.verdict(row)}")
    print(plan_text(found, [1, 5]))


if __name__ == "__main__":
    main(*sys.argv[1:])
