"""How a step stands: whether it must run, and why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reeltalk.project.fingerprint import Fingerprints
from reeltalk.project.records import Record, Records
from reeltalk.project.steps import Step

Kind = Literal["done", "new", "changed", "failed", "interrupted", "waits"]


@dataclass(frozen=True)
class Standing:
    """How a step stands."""

    kind: Kind
    """`waits`: nothing it reads has changed yet, and a step before it has still to run."""
    why: str

    @property
    def runs(self) -> bool:
        """Whether it must run."""
        return self.kind not in ("done", "waits")


def standing_of(step: Step, record: Record | None, reads: dict[str, str], *, whole: bool, version: str) -> Standing:
    """Decide whether a step must run.

    Args:
        step: The step.
        record: What is remembered of it.
        reads: Hashes of what it reads now, by path.
        whole: Whether its result is there.
        version: This reeltalk's.
    """
    if record is None:
        return Standing("new", "not run yet")
    if record.ended == "failed":
        return Standing("failed", f"failed when it was last run (exit code {record.code})")
    if record.ended != "done":
        return Standing("interrupted", "was interrupted, and goes on")
    if not whole:
        return Standing("changed", f"its result, {step.result}, is not there")
    if record.version != version:
        return Standing("changed", f"reeltalk was {record.version} and is {version}")
    if record.decides != step.decides:
        return Standing("changed", _difference(record.decides, step.decides))
    differing = [path for path, sha256 in reads.items() if record.reads.get(path) != sha256]
    if differing:
        return Standing("changed", f"{' and '.join(differing)} {'has' if len(differing) == 1 else 'have'} changed")
    return Standing("done", "done, with findings" if record.code else "done")


def _difference(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    came = [part for part in now if part not in before]
    went = [part for part in before if part not in now]
    parts = [f"now {', '.join(came)}"] if came else []
    parts += [f"before {', '.join(went)}"] if went else []
    return "; ".join(parts) or "its settings stand in another order"


def standings(
    steps: tuple[Step, ...], records: Records, prints: Fingerprints, folder: Path, version: str
) -> list[Standing]:
    """How all steps stand now; one that rests on a step that must run waits for what that makes."""
    found: list[Standing] = []
    to_come: dict[str, str] = {}
    for step in steps:
        reads = {read.path: prints.of(read) for read in step.reads}
        now = standing_of(step, records.steps.get(step.name), reads, whole=step.whole(folder), version=version)
        rests_on = next((to_come[path] for path in reads if path in to_come), None)
        if now.kind == "done" and rests_on is not None:
            now = Standing("waits", f"runs again if {rests_on} changes what it reads")
        if now.kind != "done":
            to_come[step.result] = step.name
        found.append(now)
    return found
