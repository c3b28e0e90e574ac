"""The command that checks a machine, benchmarks, runs and projects."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import resource
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from reeltalk._version import __version__
from reeltalk.cli.options import FLAG, HOW, OUT
from reeltalk.cli.terminal import ProgressBar
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.outcomes import Check, Status

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark

SHOWN: Final = 20
"""Maximum number of findings of `validate` that are listed for one benchmark."""
DECODE_S: Final = 120.0
DECODE_BYTES: Final = 1 << 30


def doctor(
    *targets: Path,
    quick: Annotated[bool, FLAG] = False,
    decode: Annotated[bool, FLAG] = False,
    links: Annotated[bool, FLAG] = False,
    workers: Annotated[int | None, HOW] = None,
    format: Annotated[Literal["text", "json"], OUT] = "text",
) -> int:
    """Check that this machine can do the work, or that benchmarks and runs are complete, and say how to fix problems.

    Only --links writes a file, its report. Exit code 1 if there is a problem.

    Example: `reeltalk doctor`, `reeltalk doctor benchmarks/kitchen --decode`, or `reeltalk doctor benchmarks/kitchen
    runs/qwen`.

    Parameters
    ----------
    targets
        Folders of benchmarks, releases, runs and projects, or project files. Without any, the machine is checked.
    quick
        Check only that media files exist; do not hash them.
    decode
        Decode the start and the end of every video.
    links
        Ask the web addresses that videos name as their source, and write `link-rot.json` next to the manifest.
    workers
        Videos that are decoded at a time; by default one for each core.
    format
        Lines to read, or one JSON document.
    """
    if not targets and (quick or decode or links):
        raise SettingError("--quick, --decode and --links look at a benchmark; name its folder")
    checks: list[Check] = []
    with ProgressBar() as bar:
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
    targets: Sequence[Path], *, quick: bool, decode: bool, links: bool, workers: int | None, bar: ProgressBar
) -> Iterator[Check]:
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
    if (quick or decode or links) and not benchmarks:
        raise SettingError("--quick, --decode and --links look at a benchmark; name its folder")
    for benchmark in benchmarks:
        yield from _check_benchmark(benchmark, quick=quick, decode=decode, links=links, workers=workers, bar=bar)
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


def _check_benchmark(
    benchmark: "Benchmark", *, quick: bool, decode: bool, links: bool, workers: int | None, bar: ProgressBar
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
    # Problems of table rows are reported above. Media can be checked only if the tables can be read.
    if not any(finding.where == str(benchmark.path) for finding in findings):
        yield from check_media(benchmark, quick=quick, progress=bar.show)
        if decode:
            yield from _check_decoding(benchmark, workers, bar)
        if links:
            yield from _check_links(benchmark, bar)


def _check_decoding(benchmark: "Benchmark", workers: int | None, bar: ProgressBar) -> Iterator[Check]:
    from reeltalk.parallel import Call, Failure, Limits, open_executor
    from reeltalk.store.media_remote import named_media
    from reeltalk.video.serving import REFUSED

    named = named_media(benchmark)
    here = [sha256 for sha256 in benchmark.media.names() if sha256 in named]
    limits = Limits(wall_s=DECODE_S, memory_bytes=DECODE_BYTES)
    calls = [Call({"path": str(benchmark.media.path(sha256))}, limits) for sha256 in here]
    failed: dict[str, Any] = {}
    outcomes = open_executor("local", workers).map("reeltalk.video.serving:decode_ends", calls)
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


def _check_links(benchmark: "Benchmark", bar: ProgressBar) -> Iterator[Check]:
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


EXTRAS: Final = {
    "detect": "detectors trained or converted with `reeltalk train`",
    "embed": "`reeltalk score --metrics similarity`",
    "hub": "`reeltalk fetch` from the Hub, `reeltalk export hub`, Parquet files",
    "mlflow": "sending numbers to MLflow",
    "postgres": "`reeltalk review` with a PostgreSQL database",
    "ray": "`--executor ray`",
    "review": "`reeltalk review`",
    "s3": "`s3://` addresses",
    "shots": "`reeltalk curate --detector transnetv2`",
    "tag": "`reeltalk tag`",
    "trackio": "sending numbers to Trackio",
    "train": "`reeltalk train`, `--aesthetic-model`, models of transformers",
    "wandb": "sending numbers to Weights & Biases",
}
"""The purpose of each extra."""
KEYS: Final = {
    "OPENAI_API_KEY": "models and judges behind OpenAI-compatible addresses",
    "ANTHROPIC_API_KEY": "Anthropic's models",
    "GOOGLE_API_KEY": "Google's models",
    "HF_TOKEN": "data sets on the Hub that require access",
    "AWS_ACCESS_KEY_ID": "`s3://` addresses, if no file of the AWS tools holds the key",
    "WANDB_API_KEY": "sending numbers to Weights & Biases",
}
"""Environment variables that may hold a key."""
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "firefox")
DECODED: Final = ("h264", "hevc", "vp9", "av1", "mpeg4")
"""Common codecs of users' videos."""
ABSENT: Final = "is not installed"
GIB: Final = 1 << 30
LITTLE_DISK: Final = 5 * GIB
LITTLE_MEMORY: Final = 2 * GIB
FEW_FILES: Final = 1024
CODEC_S: Final = 60.0


def check_machine(folder: Path) -> Iterator[Check]:
    """Look at everything that commands may need, and at the disk of a folder."""
    yield from _python()
    yield from _packages()
    yield from _codecs()
    yield from _programs()
    for name, purpose in KEYS.items():
        if os.environ.get(name):
            yield Check(area="keys", subject=name, status="ok", found="set")
        else:
            yield Check(area="keys", subject=name, status="optional", found=f"not set; for {purpose}")
    yield from _room(folder)


def _python() -> Iterator[Check]:
    found = f"{platform.python_version()} in {sys.executable}"
    yield Check(area="machine", subject="python", status="ok", found=found)
    yield Check(area="machine", subject="reeltalk", status="ok", found=__version__)
    yield Check(area="machine", subject="system", status="ok", found=f"{platform.platform()}")


def _packages() -> Iterator[Check]:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        lines = importlib.metadata.requires("reeltalk") or []
    except importlib.metadata.PackageNotFoundError:
        advice = "install it: pip install reeltalk"
        yield Check(area="packages", subject="reeltalk", status="problem", found="it is not installed", advice=advice)
        return
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    counted: defaultdict[str, int] = defaultdict(int)
    for line in lines:
        try:
            needed = Requirement(line)
        except InvalidRequirement:
            continue
        extra = re.search(r"extra == ['\"]([^'\"]+)", line)
        name = extra[1] if extra else ""
        if needed.marker is not None and not needed.marker.evaluate({"extra": name}):
            continue
        counted[name] += 1
        try:
            version = importlib.metadata.version(needed.name)
        except importlib.metadata.PackageNotFoundError:
            wrong[name].append(f"{needed.name} {ABSENT}")
            continue
        if not needed.specifier.contains(version, prereleases=True):
            wrong[name].append(f"{needed.name} is {version}, not {needed.specifier}")
    if wrong[""]:
        advice = "install reeltalk again: pip install --upgrade reeltalk"
        found = "; ".join(wrong[""])
        yield Check(area="packages", subject="needed", status="problem", found=found, advice=advice)
    else:
        yield Check(area="packages", subject="needed", status="ok", found=f"all {counted['']} are installed")
    for name in sorted(set(counted) & set(EXTRAS)):
        install = f"pip install 'reeltalk[{name}]'"
        if not wrong[name]:
            yield Check(area="extras", subject=name, status="ok", found=f"installed; for {EXTRAS[name]}")
            continue
        # A wrong version of a package may fail anywhere. A missing package is reported when it is used.
        status: Status = "optional" if all(text.endswith(ABSENT) for text in wrong[name]) else "warning"
        found = f"{'; '.join(wrong[name])}; only for {EXTRAS[name]}"
        yield Check(area="extras", subject=name, status=status, found=found, advice=install)


def _codecs() -> Iterator[Check]:
    from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
    from reeltalk.video.stream import ENCODERS

    calls = [Call({"codec": codec}, Limits(wall_s=CODEC_S, memory_bytes=2 * GIB)) for codec in ENCODERS]
    results: dict[int, Any] = dict(LocalExecutor(1).map("reeltalk.video.stream:try_codec", calls))
    for number, codec in enumerate(ENCODERS):
        result = results[number]
        if isinstance(result, Failure):
            result = {"encoder": None, "decodes": False, "why": str(result)}
        yield _decoding(codec, result)
        if codec == "h264":
            yield _writing(result)


def _decoding(codec: str, result: dict[str, Any]) -> Check:
    if result["decodes"]:
        return Check(area="codecs", subject=codec, status="ok", found=f"written by {result['encoder']}, and decoded")
    if result["decodes"] is None:
        found = "there is a decoder, but no encoder to write a sample for a test"
        return Check(area="codecs", subject=codec, status="ok", found=found)
    found = f"it cannot be decoded ({result['why']})"
    if codec not in DECODED:
        return Check(area="codecs", subject=codec, status="optional", found=found)
    advice = "videos of it are rejected; install PyAV's own build: pip install --force-reinstall --no-deps av"
    return Check(area="codecs", subject=codec, status="problem", found=found, advice=advice)


def _writing(h264: dict[str, Any]) -> Check:
    if h264["encoder"] == "libx264":
        return Check(area="codecs", subject="writing videos", status="ok", found="libx264 works")
    advice = "films, exact cuts and copies for browsers need it: pip install --force-reinstall --no-deps av"
    found = f"libx264 does not work ({h264['why']})"
    return Check(area="codecs", subject="writing videos", status="problem", found=found, advice=advice)


def _programs() -> Iterator[Check]:
    from reeltalk.metrics.meteor import find_jar

    browser = next((name for name in BROWSERS if shutil.which(name)), None)
    if browser:
        yield Check(area="programs", subject="browser", status="ok", found=f"{browser}")
    else:
        found = "none found; you need one, here or on another machine, to open reports and the review application"
        yield Check(area="programs", subject="browser", status="optional", found=found)
    java, jar = shutil.which("java"), find_jar()
    if java and jar:
        yield Check(area="programs", subject="METEOR", status="ok", found=f"{java} and {jar}")
        return
    missing = " and ".join(name for name, there in (("Java", java), ("pycocoevalcap", jar)) if not there)
    found = f"{missing} not found; only for `reeltalk score --metrics meteor`"
    advice = "install a Java runtime, and pip install pycocoevalcap"
    yield Check(area="programs", subject="METEOR", status="optional", found=found, advice=advice)


def _room(folder: Path) -> Iterator[Check]:
    usage = shutil.disk_usage(folder)
    found = f"{usage.free / GIB:,.1f} of {usage.total / GIB:,.1f} GiB free in {folder.resolve()}"
    if usage.free < LITTLE_DISK:
        advice = "free some space: videos are copied into benchmarks"
        yield Check(area="room", subject="disk", status="warning", found=found, advice=advice)
    else:
        yield Check(area="room", subject="disk", status="ok", found=found)
    memory = _memory_bytes()
    if memory is not None:
        found = f"{memory / GIB:,.1f} GiB can be used"
        if memory < LITTLE_MEMORY:
            advice = "decode fewer videos at a time: --workers 1"
            yield Check(area="room", subject="memory", status="warning", found=found, advice=advice)
        else:
            yield Check(area="room", subject="memory", status="ok", found=found)
    yield Check(area="room", subject="cores", status="ok", found=f"{len(os.sched_getaffinity(0))}")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = soft == resource.RLIM_INFINITY
    found = "any number" if unlimited else f"{soft:,} at a time"
    if not unlimited and soft < FEW_FILES:
        advice = f"raise the limit: ulimit -n {4 * FEW_FILES}"
        yield Check(area="room", subject="open files", status="warning", found=found, advice=advice)
    else:
        yield Check(area="room", subject="open files", status="ok", found=found)


def _memory_bytes() -> int | None:
    """The smaller of free memory and the rest of the control group's limit; None if both are unknown."""
    free: list[int] = []
    try:
        said = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
        free += [int(said[1]) * 1024] if said else []
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        free += [] if limit == "max" else [max(0, int(limit) - int(used))]
    except (OSError, ValueError):
        pass
    return min(free, default=None)
