"""Is one model better than another? Paired differences on the same turns, and how many videos a plan needs.

python examples/compare.py runs/one runs/two
"""

import sys

from reeltalk.report.planning import plan_text
from reeltalk.stages import CompareSettings, compare


def main(*runs: str) -> None:
    """Compare all models of the runs by `agree` and ROUGE-L."""
    found = compare(*runs, settings=CompareSettings(metrics=("agree", "rouge_l"), correction="holm"))
    names = [model.name for model in found.board.models]
    for row in found.rows:
        print(f"{row.metric}: {names[row.first]} less {names[row.second]}")
        if row.problem is not None:
            print(f"  not compared: {row.problem}")
            continue
        print(f"  {row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] on {row.items} turns of {row.videos} videos")
        print(f"  {found.verdict(row)}")
    print(plan_text(found, [1, 5]))


if __name__ == "__main__":
    main(*sys.argv[1:])
