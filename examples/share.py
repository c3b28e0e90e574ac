"""Share a benchmark and results: a data set repository, a table for a paper, and numbers for a tracker of your own.

python examples/share.py benchmarks/household out runs/one runs/two
"""

import json
import sys
from pathlib import Path

from reeltalk import Benchmark, Run
from reeltalk.analysis.trackers import model_numbers
from reeltalk.stages import export_layout, runs_table


def main(benchmark: str, out: str, *runs: str) -> None:
    """Write `out`/hub, `out`/table.tex and `out`/numbers.json."""
    folder = Path(out)
    written = export_layout(Benchmark.open(benchmark), "hub", folder / "hub", overwrite=True)
    print(f"{written.files} files; upload the folder {written.folder} with hf upload")
    print(*(f"not expressed: {line}" for line in written.lost), sep="\n")

    (folder / "table.tex").write_text(runs_table(*runs, format="latex"), encoding="utf-8")
    numbers = {
        f"{run.name} {info.model}": model_numbers(run, info.model)[0]
        for run in map(Run.open, runs)
        for info in run.info.models
    }
    (folder / "numbers.json").write_text(json.dumps(numbers, indent=2), encoding="utf-8")
    for name, own in numbers.items():
        print(f"{name}: {len(own)} numbers")


if __name__ == "__main__":
    main(*sys.argv[1:])
