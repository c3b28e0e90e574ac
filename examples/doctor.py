"""Look whether a benchmark and its runs are whole: tables, media by their hashes, and what each run was made on.

python examples/doctor.py benchmarks/household runs/blind runs/oracle
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.stages.failures import check_run
from reeltalk.store.media_remote import check_media
from reeltalk.store.validate import validate


def main(benchmark: str, *runs: str) -> None:
    """Print every check, and exit with 1 where one finds a problem."""
    opened = Benchmark.open(benchmark)
    findings = validate(opened, media=False)
    print(*findings, sep="\n" if findings else "")
    checks = [*check_media(opened), *(check for run in runs for check in check_run(Path(run), [opened]))]
    for check in checks:
        print(f"{check.status:<8} {check.area} {check.subject}: {check.found}")
        if check.advice:
            print(f"         {check.advice}")
    if any(check.status == "problem" for check in checks):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
