"""The command that looks whether a machine, a benchmark and its runs are fit for work."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from reeltalk.cli.app import Bar, app
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.checks import Check

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark

SHOWN: Final = 20
"""Findings of `validate` that are listed for one benchmark."""
DECODE_S: Final = 120.0
DECODE_BYTES: Final = 1 << 30


def _flag(name: str) -> Parameter:
    return Parameter(name=name, negative="")


@app.command(sort_key=1)
def doctor(
    *targets: Path,
    quick: Annotated[bool, _flag("--quick")] = False,
    decode: Annotated[bool, _flag("--decode")] = False,
    links: Annotated[bool, _flag("--links")] = False,
    workers: int | None = None,
    format: Literal["text", "json"] = "text",
) -> int:
    """Look whether this machine is fit for work, or whether benchmarks and runs are whole; say what to do where not.

    Example: `reeltalk doctor`, `reeltalk doctor benchmarks/kitchen --decode`, or `reeltalk doctor benchmarks/kitchen
    runs/qwen`. Nothing is changed, but for the report that --links writes. Exit code 1 where there is a problem.

    Parameters
    ----------
    targets
        Folders of benchmarks, releases, runs and projects, or project files; none to look at the machine.
    quick
        Media files are only looked for, not hashed.
    decode
        Decode the start and the end of every video.
    links
        Ask the web addresses that videos name as their source, and write `link-rot.json` beside the manifest.
    workers
        Videos that are decoded at a time; by default one for each core.
    format
        Lines to read, or one JSON document.
    """
    if not targets and (quick or decode or links):
        raise SettingError("--quick, --decode and --links look at a benchmark; name its folder")
    checks: list[Check] = []
    with Bar() as bar:
        for check in _checks(targets, quick=quick, decode=decode, links=links, workers=workers, bar=bar):
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


def _checks(
    targets: Sequence[Path], *, quick: bool, decode: bool, links: bool, workers: int | None, bar: Bar
) -> Iterator[Check]:
    if not targets:
        from reeltalk.cli.machine import check_machine

        yield from check_machine(Path.cwd())
        return
    from reeltalk.cli.projects import PROJECT_FILE
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.failures import check_run
    from reeltalk.store.manifest import MANIFEST
    from reeltalk.store.runs import INFO, is_unfinished

    targets = [target / PROJECT_FILE if (target / PROJECT_FILE).is_file() else target for target in targets]
    projects = [target for target in targets if target.suffix in (".yaml", ".yml") and target.is_file()]
    named = [path for project in projects for path in _results(project)]
    targets = [*dict.fromkeys([*(target for target in targets if target not in projects), *named])]
    for project in projects:
        yield from _project(project)
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
    if (quick or decode or links) and not benchmarks:
        raise SettingError("--quick, --decode and --links look at a benchmark; name its folder")
    for benchmark in benchmarks:
        yield from _benchmark(benchmark, quick=quick, decode=decode, links=links, workers=workers, bar=bar)
    for run in runs:
        yield from check_run(run, benchmarks)


def _results(project: Path) -> list[Path]:
    """Benchmarks and runs that a project has made."""
    from reeltalk.cli.projects import project_steps

    _, steps = project_steps(project)
    ending = [step for step in steps if step.kind in ("benchmark", "run")]
    return [project.parent / step.result for step in ending if step.whole(project.parent)]


def _project(project: Path) -> Iterator[Check]:
    """What a project reads that nobody makes, and the keys that it names."""
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
        advice = "mend the path"
        if path == about.benchmark:
            advice += f", or add a section that makes it: {', '.join(SOURCES)}"
        yield Check(area="project", subject=str(project), status="problem", found=found, advice=advice)
    if not missing:
        found = f"{len(steps):,} steps; what they read from elsewhere is there"
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


def _benchmark(
    benchmark: "Benchmark", *, quick: bool, decode: bool, links: bool, workers: int | None, bar: Bar
) -> Iterator[Check]:
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
    # What is wrong with a table's rows is said above; media cannot be looked for without them.
    if not any(finding.where == str(benchmark.path) for finding in findings):
        yield from check_media(benchmark, quick=quick, progress=bar.show)
        if decode:
            yield from _decoded(benchmark, workers, bar)
        if links:
            yield from _links(benchmark, bar)


def _decoded(benchmark: "Benchmark", workers: int | None, bar: Bar) -> Iterator[Check]:
    from reeltalk.parallel import Call, Failure, Limits, open_executor
    from reeltalk.store.media_remote import named_media
    from reeltalk.video.serving import REFUSED

    named = named_media(benchmark)
    here = [sha256 for sha256 in benchmark.media.names() if sha256 in named]
    limits = Limits(wall_s=DECODE_S, memory_bytes=DECODE_BYTES)
    calls = [Call({"path": str(benchmark.media.path(sha256))}, limits) for sha256 in here]
    failed: dict[str, Any] = {}
    outcomes = open_executor("local", workers).map("reeltalk.video.ends:decode_ends", calls)
    for done, (place, outcome) in enumerate(outcomes, start=1):
        if isinstance(outcome, Failure) or REFUSED in outcome:
            failed[named[here[place]]] = outcome if isinstance(outcome, Failure) else outcome[REFUSED]
        bar.show("decoding ends", done, len(calls), done / len(calls))
    for where, why in sorted(failed.items()):
        advice = "take it from its source again, or leave it out"
        yield Check(area="decoding", subject=where, status="problem", found=str(why), advice=advice)
    if not failed:
        found = f"start and end of {len(here):,} videos decode"
        yield Check(area="decoding", subject=str(benchmark.path), status="ok", found=found)


def _links(benchmark: "Benchmark", bar: Bar) -> Iterator[Check]:
    from reeltalk.store.links import ask_links, write_links
    from reeltalk.store.tables import VIDEOS

    videos, here = list(benchmark.read(VIDEOS)), set(benchmark.media.names())
    report = ask_links(videos, progress=bar.show)
    without = {str(video.id) for video in videos if video.sha256 not in here}
    for link in report.rotten:
        found = f"{link.outcome} ({link.status or link.detail}), the source of {', '.join(link.videos[:3])}"
        lost = without.intersection(link.videos)
        advice = "its video is not here: look for a copy" if lost else "its video is here: keep it"
        yield Check(
            area="links", subject=link.address, status="problem" if lost else "warning", found=found, advice=advice
        )
    path = write_links(benchmark.path, report)
    found = f"{len(report.links) - len(report.rotten):,} of {len(report.links):,} answer; the report is {path}"
    yield Check(area="links", subject=str(benchmark.path), status="ok", found=found)
