"""The command that checks a machine, benchmarks, runs and projects."""

import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from reeltalk._version import __version__
from reeltalk.cli.options import FLAG, OUT
from reeltalk.cli.terminal import ProgressBar
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.outcomes import Check

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark

SHOWN: Final = 20
"""Maximum number of findings of `validate` that are listed for one benchmark."""
QUICK_OF_WHAT: Final = "--quick looks at the media of a benchmark; name its folder"
GIB: Final = 1 << 30
LITTLE_DISK: Final = 5 * GIB


def doctor(
    *targets: Path,
    quick: Annotated[bool, FLAG] = False,
    format: Annotated[Literal["text", "json"], OUT] = "text",
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
        raise SettingError(QUICK_OF_WHAT)
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
    from reeltalk.cli.projects import PROJECT_FILE
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.failures import check_run
    from reeltalk.store.manifest import MANIFEST
    from reeltalk.store.runs import INFO, is_unfinished

    targets = [target / PROJECT_FILE if (target / PROJECT_FILE).is_file() else target for target in targets]
    projects = [target for target in targets if target.suffix in (".yaml", ".yml") and target.is_file()]
    named = [path for project in projects for path in _project_results(project)]
    targets = [*dict.fromkeys([*(target for target in targets if target not in projects), *named])]
    for project in projects:
        yield from _check_project(project)
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
        raise SettingError(QUICK_OF_WHAT)
    for benchmark in benchmarks:
        yield from _check_benchmark(benchmark, quick=quick, bar=bar)
    for run in runs:
        yield from check_run(run, benchmarks)


def _project_results(project: Path) -> list[Path]:
    """Benchmarks and runs that a project has made."""
    from reeltalk.cli.projects import project_steps

    _, steps = project_steps(project)
    ending = [step for step in steps if step.kind in ("benchmark", "run")]
    return [project.parent / step.result for step in ending if step.whole(project.parent)]


def _check_project(project: Path) -> Iterator[Check]:
    """Check the files that a project reads and no step writes, and the keys that it names."""
    from reeltalk.cli.projects import project_steps
    from reeltalk.project.sections import SOURCES
    from reeltalk.store.remote import is_address

    about, steps = project_steps(project)
    made: set[str] = set()
    missing: dict[str, str] = {}
    for step in steps:
        for path in (read.path for read in step.reads if read.path not in made):
            if not is_address(path) and not (project.parent / path).exists():
                missing.setdefault(path, step.name)
        made.add(step.result)
    for path, name in missing.items():
        found = f"{name} reads {path}, which is not there"
        advice = "fix the path"
        if path == about.benchmark:
            advice += f", or add a section that makes it: {', '.join(SOURCES)}"
        yield Check(area="project", subject=str(project), status="problem", found=found, advice=advice)
    if not missing:
        found = f"{len(steps):,} steps; all their external inputs exist"
        unmade = sum(not step.whole(project.parent) for step in steps)
        found += f"; {unmade:,} of them have made nothing yet" if unmade else ""
        advice = f"reeltalk run {project}" if unmade else ""
        yield Check(area="project", subject=str(project), status="ok", found=found, advice=advice)
    for name in sorted({words[-1] for step in steps for key, words in step.options if key.endswith("api_key_env")}):
        if os.environ.get(name):
            yield Check(area="keys", subject=name, status="ok", found=f"set; {project} names it")
        else:
            advice = f"set it in the environment: export {name}=…"
            yield Check(
                area="keys", subject=name, status="warning", found=f"not set, and {project} names it", advice=advice
            )


def _check_benchmark(benchmark: "Benchmark", *, quick: bool, bar: ProgressBar) -> Iterator[Check]:
    from reeltalk.store.media_remote import check_media
    from reeltalk.store.validate import validate

    findings = validate(benchmark, media=False)
    for finding in findings[:SHOWN]:
        status: Literal["problem", "warning"] = "problem" if finding.severity == "error" else "warning"
        yield Check(area="tables", subject=finding.where, status=status, found=finding.problem)
    if len(findings) > SHOWN:
        found = f"{len(findings) - SHOWN:,} more findings"
        advice = f"list them: reeltalk validate {benchmark.path} --limit {len(findings)}"
        errors = any(finding.severity == "error" for finding in findings[SHOWN:])
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


def check_machine(folder: Path) -> Iterator[Check]:
    """Look at Python, the packages, the encoder, and the disk of a folder."""
    from reeltalk.video.stream import try_encoder

    found = f"{__version__}, Python {platform.python_version()} in {sys.executable}, {platform.platform()}"
    yield Check(area="machine", subject="reeltalk", status="ok", found=found)
    yield from _packages()
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


def _packages() -> Iterator[Check]:
    """Whether the needed packages are there, and those of each extra."""
    from packaging.requirements import Requirement

    wrong: dict[str, list[str]] = {"": []}
    for line in importlib.metadata.requires("reeltalk") or []:
        needed = Requirement(line)
        extra = re.search(r"extra == ['\"]([^'\"]+)", line)
        name = extra[1] if extra else ""
        if needed.marker is not None and not needed.marker.evaluate({"extra": name}):
            continue
        problems = wrong.setdefault(name, [])
        try:
            version = importlib.metadata.version(needed.name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{needed.name} is not installed")
            continue
        if not needed.specifier.contains(version, prereleases=True):
            problems.append(f"{needed.name} is {version}, not {needed.specifier}")
    for name, problems in sorted(wrong.items()):
        subject, package = (f"extra {name}", f"'reeltalk[{name}]'") if name else ("packages", "reeltalk")
        if problems:
            advice = f"pip install --upgrade {package}"
            status: Literal["optional", "problem"] = "optional" if name else "problem"
            yield Check(area="machine", subject=subject, status=status, found="; ".join(problems), advice=advice)
        else:
            yield Check(area="machine", subject=subject, status="ok", found="installed")
