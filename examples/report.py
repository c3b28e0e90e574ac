"""Write a report on runs: pages that open from disk, with videos cut to what was asked, and tables for a paper.

python examples/report.py benchmarks/household site runs/one runs/two
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.stages import ReportSettings, report, runs_table


def main(benchmark: str, out: str, *runs: str) -> None:
    """Report the runs, which were played on `benchmark`."""
    settings = ReportSettings(tables=("latex", "csv"), media="cut", frames=4)
    index = report(*runs, out=out, settings=settings, benchmark=Benchmark.open(benchmark), overwrite=True)
    pages = sorted(page.name for page in Path(out).glob("*.html"))
    print(f"{index}: {', '.join(pages)}")
    print(runs_table(*runs, format="csv").splitlines()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
