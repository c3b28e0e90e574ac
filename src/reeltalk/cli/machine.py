"""What this machine has and lacks: packages, codecs, programs, keys, disk, memory."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import resource
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reeltalk import __version__
from reeltalk.schema.checks import Check, Status

EXTRAS: Final = {
    "detect": "detectors trained or converted with `reeltalk train`",
    "embed": "`reeltalk score --metrics similarity`",
    "hub": "`reeltalk fetch` from the Hub, `reeltalk export hub`",
    "mlflow": "telling MLflow of a report",
    "postgres": "`reeltalk review` with a PostgreSQL database",
    "ray": "`--executor ray`",
    "review": "`reeltalk review`",
    "s3": "`s3://` addresses",
    "shots": "`reeltalk curate --detector transnetv2`",
    "tag": "`reeltalk tag`",
    "trackio": "telling Trackio of a report",
    "train": "`reeltalk train`, `--aesthetic-model`, models of transformers",
    "wandb": "telling Weights & Biases of a report",
}
"""What each extra is for."""
KEYS: Final = {
    "OPENAI_API_KEY": "models and judges behind OpenAI-compatible addresses",
    "ANTHROPIC_API_KEY": "Anthropic's models",
    "GOOGLE_API_KEY": "Google's models",
    "HF_TOKEN": "data sets on the Hub that are given on request",
    "AWS_ACCESS_KEY_ID": "`s3://` addresses, where no file of the AWS tools holds it",
    "WANDB_API_KEY": "telling Weights & Biases of a report",
}
"""Environment variables that may hold a key."""
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "firefox")
DECODED: Final = ("h264", "hevc", "vp9", "av1", "mpeg4")
"""Codecs of which a user's videos commonly are."""
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
        # What is there in a version that we do not know may fail anywhere; what is not there says so.
        status: Status = "optional" if all(text.endswith(ABSENT) for text in wrong[name]) else "warning"
        found = f"{'; '.join(wrong[name])}; only for {EXTRAS[name]}"
        yield Check(area="extras", subject=name, status=status, found=found, advice=install)


def _codecs() -> Iterator[Check]:
    from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
    from reeltalk.video.codecs import ENCODERS

    calls = [Call({"codec": codec}, Limits(wall_s=CODEC_S, memory_bytes=2 * GIB)) for codec in ENCODERS]
    results: dict[int, Any] = dict(LocalExecutor(1).map("reeltalk.video.codecs:try_codec", calls))
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
        found = "a decoder is there, and nothing that writes a sample to try it with"
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
        found = "none found; reports and the review application are looked at in one, here or elsewhere"
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
    """Memory that is free, or that the control group still gives, whichever is less; None where nobody says."""
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
