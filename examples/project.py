"""A project as a script: play a benchmark to several players, compare them, report. Run it again after a change.

python examples/project.py benchmarks/household runs site
"""

import sys
from pathlib import Path

from reeltalk import Benchmark, Run
from reeltalk.stages import PlaySettings, compare, evaluate, report

PLAYERS = {"constant": "baseline:constant", "blind": "baseline:blind", "oracle": "oracle"}
PLAY = PlaySettings(mode="dialogue")


def played(benchmark: Benchmark, model: str, out: Path) -> Run:
    """The run of a player: made anew where the settings or the benchmark changed, else as it lies there."""
    if (out / "run.json").is_file():
        run = Run.open(out)
        made_by = (run.info.settings["benchmark"], run.info.settings["play"])
        if made_by == (benchmark.manifest.content_hash, PLAY.model_dump(mode="json")):
            print(f"{out}: nothing changed")
            return run
    done = evaluate(benchmark, model=model, out=out, play=PLAY, overwrite=(out / "run.json").is_file())
    print(f"{out}: right answers {done.value('typed')}")
    return done.run


def main(benchmark: str, runs: str, site: str) -> None:
    """Bring all runs up to date, and write the report."""
    opened = Benchmark.open(benchmark)
    made = [played(opened, model, Path(runs) / name) for name, model in PLAYERS.items()]
    for row in (found := compare(*made)).rows:
        if row.metric == "typed" and row.problem is None:
            print(found.verdict(row))
    print(report(*made, out=site, benchmark=opened, overwrite=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
