"""The command that checks a machine, benchmarks, runs and projects."""

import importlib.metadata
import json
import platform
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from reeltalk._version import __version__
from reeltalk.cli.options import FLAG, IN_OUTPUT
from reeltalk.cli.terminal import ProgressBar
from reeltalk.errors import InputError, SettingError
from reeltalk.plugins import GROUPS, OURS, added, load, problem
from reeltalk.schema.outcomes import Check

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from reeltalk.store.benchmark import Benchmark

MOST_FINDINGS: Final = 20
"""Maximum number of findings of `validate` that are listed for one benchmark."""
QUICK_NEEDS_BENCHMARK: Final = "--quick looks at the media of a benchmark; name its folder"
PROJECT_FILE: Final = "project.yaml"
GIB: Final = 1 << 30
LITTLE_DISK: Final = 5 * GIB


def doctor(
    *targets: Path,
    quick: Annotated[bool, FLAG] = False,
    format: Annotated[Literal["text", "json"], IN_OUTPUT] = "text",
) -> int:
    """Check that this machine can do the work, or that benchmarks and runs are complete, and say how to fix problems.

    Nothing is written. Exit code 1 if there is a problem.

    Example: `reeltalk doctor`, or `reeltalk doctor benchmarks/kitchen runs/qwen`.

    Parameters
    ----------
    targets
        Folders of benchmarks, releases, runs and projects, or project files. Without any, the machine is checked.
    quick
        Check only that media files exist; do not hash them.
    format
        Lines to read, or one JSON document.
    """
    if not targets and quick:
        raise SettingError(QUICK_NEEDS_BENCHMARK)
    checks: list[Check] = []
    with ProgressBar() as bar:
        for check in _checks(targets, quick=quick, bar=bar):
            checks.append(check)
            if format == "text":
                print(check, flush=True)
    counts = Counter(check.status for check in checks)
    if format == "json":
        rows = [check.model_dump(mode="json", exclude_defaults=False) for check in checks]
        print(json.dumps({"checks": rows, "counts": dict(counts)}, indent=1, ensure_ascii=False))
    else:
        print(f"{len(checks):,} checks: {counts['problem']:,} problems, {counts['warning']:,} warnings")
    return 1 if counts["problem"] else 0


def _checks(targets: Sequence[Path], *, quick: bool, bar: ProgressBar) -> Iterator[Check]:
    if not targets:
        yield from check_machine(Path.cwd())
        return
    from reeltalk.stages.failures import check_run
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.manifest import MANIFEST
    from reeltalk.store.runs import INFO, is_unfinished

    targets = [target / PROJECT_FILE if (target / PROJECT_FILE).is_file() else target for target in targets]
    projects = [target for target in targets if target.suffix in (".yaml", ".yml") and target.is_file()]
    checks: Any = load("reeltalk.checks", "projects") if projects else None
    named = [path for project in projects for path in checks.project_results(project)]
    targets = [*dict.fromkeys([*(target for target in targets if target not in projects), *named])]
    for project in projects:
        yield from checks.check_project(project)
    runs = [target for target in targets if (target / INFO).is_file() or is_unfinished(target)]
    benchmarks = []
    for target in targets:
        if target in runs:
            continue
        if not target.exists():
            raise InputError("no such file or folder", file=target, hint="check the path")
        if not (target / MANIFEST).is_file() and not (target / ".commit").is_dir():
            raise InputError("neither a benchmark nor a run", file=target, hint="name a folder with a manifest.json")
        benchmarks.append(Benchmark.open(target, as_it_is=True))
    if quick and not benchmarks:
        raise SettingError(QUICK_NEEDS_BENCHMARK)
    for benchmark in benchmarks:
        yield from _check_benchmark(benchmark, quick=quick, bar=bar)
    for run in runs:
        yield from check_run(run, benchmarks)


def _check_benchmark(benchmark: "Benchmark", *, quick: bool, bar: ProgressBar) -> Iterator[Check]:
    from reeltalk.curate.records import unusual
    from reeltalk.store.media_remote import check_media
    from reeltalk.store.tables import VIDEOS
    from reeltalk.store.validate import validate

    findings = validate(benchmark, media=False)
    for finding in findings[:MOST_FINDINGS]:
        status: Literal["problem", "warning"] = "problem" if finding.severity == "error" else "warning"
        yield Check(area="tables", subject=finding.where, status=status, found=finding.problem)
    if len(findings) > MOST_FINDINGS:
        found = f"{len(findings) - MOST_FINDINGS:,} more findings"
        advice = f"list them: reeltalk validate {benchmark.path} --limit {len(findings)}"
        errors = any(finding.severity == "error" for finding in findings[MOST_FINDINGS:])
        yield Check(
            area="tables", subject=str(benchmark.path), status="problem" if errors else "warning", found=found,
            advice=advice,
        )  # fmt: skip
    if not findings:
        found = f"{len(benchmark.manifest.files):,} files are those of the manifest, and their records agree"
        yield Check(area="tables", subject=str(benchmark.path), status="ok", found=found)
    # Problems of table rows are reported above. Media can be checked only if the tables can be read.
    if not any(finding.where == str(benchmark.path) for finding in findings):
        yield from check_media(benchmark, quick=quick, progress=bar.show)
        for line in unusual(benchmark.read(VIDEOS)):
            note, _, names = line.partition(": ")
            first, *others = names.split(", ")
            subject = f"{first} and {len(others):,} more" if others else first
            yield Check(area="films", subject=subject, status="ok", found=note)


def check_machine(folder: Path) -> Iterator[Check]:
    """Look at Python, the packages, the encoder, and the disk of a folder."""
    from reeltalk.video.stream import try_encoder

    found = f"{__version__}, Python {platform.python_version()} in {sys.executable}, {platform.platform()}"
    yield Check(area="machine", subject="reeltalk", status="ok", found=found)
    yield from _packages()
    yield from _additions()
    if why := try_encoder():
        advice = "films, exact cuts and copies for browsers need it: pip install --force-reinstall --no-deps av"
        found = f"libx264 does not work ({why})"
        yield Check(area="machine", subject="encoder", status="problem", found=found, advice=advice)
    else:
        yield Check(area="machine", subject="encoder", status="ok", found="libx264 works")
    usage = shutil.disk_usage(folder)
    found = f"{usage.free / GIB:,.1f} of {usage.total / GIB:,.1f} GiB free in {folder.resolve()}"
    if usage.free < LITTLE_DISK:
        advice = "free some space: videos are copied into benchmarks"
        yield Check(area="machine", subject="disk", status="warning", found=found, advice=advice)
    else:
        yield Check(area="machine", subject="disk", status="ok", found=found)


def _additions() -> Iterator[Check]:
    """What packages of others add, and what of it cannot be imported."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    for group, word in GROUPS.items():
        for name, point in added(group).items():
            package = point.dist.name if point.dist is not None else point.module
            why = problem(group, name)
            if why is not None:
                wrong[package].append(why)
            elif package not in OURS:
                found[package].append(f"{name} ({word})")
    for package in sorted({*found, *wrong}):
        names = ", ".join(found[package])
        if wrong[package]:
            advice = "install it again, or take it away"
            text = "; ".join(wrong[package])
            yield Check(area="additions", subject=package, status="warning", found=text, advice=advice)
        if names:
            yield Check(area="additions", subject=package, status="ok", found=names)


def _packages() -> Iterator[Check]:
    """Whether the packages that ours need are there, and those of each extra."""
    for package in ("reeltalk", *OURS):
        try:
            needs = importlib.metadata.requires(package) or []
        except importlib.metadata.PackageNotFoundError:
            found, advice = "not installed", f"pip install {package}"
            yield Check(area="machine", subject=package, status="optional", found=found, advice=advice)
        else:
            yield from _needed(package, needs)


def _needed(package: str, needs: Sequence[str]) -> Iterator[Check]:
    from packaging.requirements import Requirement

    wrong: dict[str, list[str]] = {"": []}
    for line in needs:
        needed = Requirement(line)
        extra = re.search(r"extra == ['\"]([^'\"]+)", line)
        name = extra[1] if extra else ""
        if needed.marker is None or needed.marker.evaluate({"extra": name}):
            wrong.setdefault(name, []).extend(_lacking(needed))
    for name, problems in sorted(wrong.items()):
        subject = f"{package}[{name}]" if name else package
        if problems:
            advice = f"pip install --upgrade '{subject}'"
            status: Literal["optional", "problem"] = "optional" if name else "problem"
            yield Check(area="machine", subject=subject, status=status, found="; ".join(problems), advice=advice)
        else:
            yield Check(area="machine", subject=subject, status="ok", found="installed")


def _lacking(needed: "Requirement") -> Iterator[str]:
    """What is not installed of a required package, and of its extras that are required."""
    from packaging.requirements import Requirement

    try:
        version = importlib.metadata.version(needed.name)
    except importlib.metadata.PackageNotFoundError:
        yield f"{needed.name} is not installed"
        return
    if not needed.specifier.contains(version, prereleases=True):
        yield f"{needed.name} is {version}, not {needed.specifier}"
    for line in (importlib.metadata.requires(needed.name) or []) if needed.extras else []:
        inner = Requirement(line)
        if inner.marker is not None and any(inner.marker.evaluate({"extra": extra}) for extra in needed.extras):
            yield from _lacking(inner)
