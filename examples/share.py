"""Share a benchmark and results: a data set repository, a table for a paper, and numbers for a tracker of your own.

python examples/share.py benchmarks/household out runs/one runs/two
"""

import json
import sys
from pathlib import Path

from reeltalk import Benchmark, Run
from reeltalk.analysis.trackers import tracked_models
from reeltalk.stages import export_layout, runs_table


def main(benchmark: str, out: str, *runs: str) -> None:
    """Write `out`/hub, `out`/table.tex and `out`/numbers.json."""
    folder = Path(out)
    written = export_layout(Benchmark.open(benchmark), "hub", folder / "hub", overwrite=True)
    print(f"{written.files} files; upload the folder {written.folder} with hf upload")
    print(*(f"not expressed: {line}" for line in written.lost), sep="\n")

    (folder / "table.tex").write_text(runs_table(*runs, format="latex"), encoding="utf-8")
    told = [model for run in runs for model in tracked_models(Run.open(run))]
    numbers = {model.name: model.numbers for model in told}
    (folder / "numbers.json").write_text(json.dumps(numbers, indent=2), encoding="utf-8")
    for model in told:
        print(f"{model.name}: {len(model.numbers)} numbers, {len(model.withheld)} withheld")


if __name__ == "__main__":
    main(*sys.argv[1:])
