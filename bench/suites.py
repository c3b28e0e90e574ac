"""Run all benchmark suites, one after the other, and gather what they state on one page.

    python bench/suites.py --quick

A suite is a file of this folder that calls `record` of `bench/record.py`. Each runs in a process of its own with a time
limit; what fails or lacks something is told in the table, and the others go on. A suite whose figures were measured
with the code as it is now is not run again unless `--again`, so a run that was stopped goes on. In the end
`docs/reference/performance.json` holds all figures, from which the site has tables and the figures of its page.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from record import LACKING, MEASURED, ROOT, code, place_of, read_measures

BENCH: Final = Path(__file__).parent
BOOK: Final = ROOT / "docs" / "reference" / "performance.json"
LOGS: Final = ROOT / "build" / "bench" / "logs"
LIMIT_S: Final = 7200.0
QUICK_LIMIT_S: Final = 150.0
TELL_EVERY_S: Final = 30.0
STATES: Final = re.compile(r"^from record import .*\brecord\b", re.MULTILINE)


def suites(folder: Path = BENCH) -> list[str]:
    """Names of all suites, in order."""
    return sorted(path.stem for path in folder.glob("*.py") if STATES.search(path.read_text(encoding="utf-8")))


def read_record(path: Path, measured: str = "") -> dict[str, Any] | None:
    """A suite's record, if it was measured with the code of that hash, by default the code as it is now."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if document.get("code") == (measured or code()) else None


def kept(name: str, *, quick: bool) -> dict[str, Any] | None:
    """What an earlier run measured; a full run serves where a quick one is asked for."""
    places = [place_of(name, quick=False), *([place_of(name, quick=True)] if quick else [])]
    found = (read_record(place) for place in places)
    return next((document for document in found if document is not None and "needs" not in document), None)


def run(
    name: str, *, quick: bool, limit_s: float, folder: Path = BENCH, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run one suite; its record, or why there is none.

    Args:
        name: Which.
        quick: Small counts.
        limit_s: When it is ended, with all processes that it started.
        folder: Where suites lie.
        say: Told now and then how far it is.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log, place = LOGS / f"{name}.log", place_of(name, quick=quick)
    place.unlink(missing_ok=True)
    # Unbuffered, so that the last line of a log is what was said last, and not what was written out last.
    command = [sys.executable, "-u", str(folder / f"{name}.py"), *(["--quick"] if quick else [])]
    begun, told, measured = time.monotonic(), time.monotonic(), code()
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True, cwd=ROOT,
            env=os.environ | {MEASURED: measured},
        )  # fmt: skip
        try:
            while process.poll() is None:
                if time.monotonic() - begun > limit_s:
                    place.unlink(missing_ok=True)
                    return {"name": name, "failed": f"it took longer than {limit_s:g} s and was ended"}
                if time.monotonic() - told > TELL_EVERY_S:
                    told = time.monotonic()
                    say(f"    {told - begun:.0f} s: {last_line(log)}")
                time.sleep(0.1)
        finally:
            # Also what a suite that failed has left running, which would slow the others.
            end(process)
    took_s = time.monotonic() - begun
    # Not the code as it is now: hours of measuring are not lost because a file changed meanwhile.
    document = read_record(place, measured)
    if document is None or process.returncode not in (0, LACKING):
        # What failed after it wrote is not taken as measured when all is run again.
        place.unlink(missing_ok=True)
        return {"name": name, "failed": f"it ended with {process.returncode}: {last_line(log)}"}
    document["took_s"] = round(took_s, 1)
    place.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return document


def end(process: subprocess.Popen[bytes]) -> None:
    """End a suite and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def last_line(log: Path) -> str:
    """The last thing that a suite said."""
    lines = re.split(r"[\r\n]+", log.read_text(encoding="utf-8", errors="replace").strip())
    return lines[-1][:200]


def book(records: Sequence[Mapping[str, Any]], *, earlier: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the site shows: all records without the details that only a suite's own drawing needs.

    Args:
        records: Of all suites, in order; one that was not run now is as an earlier book has it.
        earlier: The book as it was, whose versions hold for what was not run now.
    """
    measured = [record for record in records if "machine" in record]
    about = measured[0] if measured else {}
    versions: dict[str, str] = dict(earlier["versions"]) if earlier and len(measured) < len(records) else {}
    for record in measured:
        versions |= record["versions"]
    shown = ("name", "quick", "date", "load", "took_s", "measures", "notes", "needs", "failed", "tables")
    return {
        "date": max((record["date"] for record in measured), default=""),
        "commit": about.get("commit", ""),
        "machine": about.get("machine", {}),
        "versions": dict(sorted(versions.items())),
        "suites": [{key: record[key] for key in shown if key in record} for record in records],
    }


def summary(record: Mapping[str, Any]) -> str:
    """A suite's outcome on one line."""
    if "failed" in record:
        return f"failed: {record['failed']}"
    if "needs" in record:
        return f"not run: needs {record['needs']}"
    measures = read_measures(record)
    goals = [measure for measure in measures if measure.goal is not None]
    met = sum(measure.goal.met_by(measure.value) for measure in goals if measure.goal is not None)
    return f"{len(measures)} measures" + (f", {met} of {len(goals)} goals met" if goals else "")


def main() -> int:
    """Run what has not been run, and write the book."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="only these; the others' figures stay as they are")
    parser.add_argument("--quick", action="store_true", help="small counts: a quarter of an hour in all")
    parser.add_argument("--again", action="store_true", help="also what has been measured with this code")
    parser.add_argument("--limit-s", type=float, help="longest time of a suite")
    parser.add_argument("--no-page", action="store_true", help="leave the file as it is")
    given = parser.parse_args()
    names = suites()
    if unknown := set(given.suites) - set(names):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    limit_s = given.limit_s or (QUICK_LIMIT_S if given.quick else LIMIT_S)
    records, begun = [], time.monotonic()
    earlier = json.loads(BOOK.read_text(encoding="utf-8"))
    before = {suite["name"]: suite for suite in earlier["suites"]}
    for number, name in enumerate(names, start=1):
        wanted = not given.suites or name in given.suites
        record = None if given.again and wanted else kept(name, quick=given.quick)
        if record is not None:
            print(f"[{number}/{len(names)}] {name}: measured before with this code, {summary(record)}", flush=True)
        elif not wanted:
            record = before.get(name, {"name": name, "failed": "it was not asked for"})
        else:
            print(f"[{number}/{len(names)}] {name} … ({time.monotonic() - begun:.0f} s so far)", flush=True)
            record = run(name, quick=given.quick, limit_s=limit_s, say=lambda line: print(line, flush=True))
            print(f"    {record.get('took_s', limit_s):.0f} s: {summary(record)}", flush=True)
        records.append(record)
    if not given.no_page:
        now = book(records, earlier=earlier)
        BOOK.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    return int(any("failed" in record for record in records))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped; what was measured is kept, and the same command goes on")
