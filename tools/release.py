"""Make what a release consists of in build/dist, and print the commands that publish it. Publishes nothing.

    python tools/release.py [--without-use]

It first checks that all changes are committed, that every file names the same version, and that the changelog begins
with this version and a date. Then it builds and checks wheels and source archives as `make dist` does, and writes an
SBOM in CycloneDX's format and the hashes of all files. The program exits with 1 if something is wrong.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import check_package
import licences
from lock import RUNTIME
from packaging.utils import canonicalize_name
from places import ROOT

from reeltalk._version import __version__

WRITES_SBOM: Final = "cyclonedx-bom==7.5.0"
"""uv fetches it for this one command: nothing else needs it."""
HEADING: Final = re.compile(r"^## (\S+)(?: - (\S+))?$", re.MULTILINE)
PINNED: Final = re.compile(r"^reeltalk[\w-]*(?:\[\w+\])?==(\S+)$")


def wrong_versions(root: Path, version: str) -> Iterator[str]:
    """The places that name another version, one sentence each."""
    named = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    found = [("CITATION.cff", named[1] if named else "none")]
    for file in sorted(root.glob("packages/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        place = file.relative_to(root).as_posix()
        lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
        pins = {match[1] for lines in lists for match in map(PINNED.match, lines) if match}
        found += [(place, project["version"]), *((f"a requirement in {place}", pin) for pin in sorted(pins))]
    yield from (f"{place} names version {other} instead of {version}" for place, other in found if other != version)


def wrong_changelog(root: Path, version: str, today: date) -> Iterator[str]:
    """What the first section of the changelog lacks, one sentence each."""
    first = HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    wanted = f"CHANGELOG.md: write `## {version} - {today}` above the changes of this version"
    if first is None or first[1] != version:
        yield f"{wanted}; its first section is {first[1] if first else 'missing'}"
        return
    try:
        later = date.fromisoformat(first[2] or "") > today
    except ValueError:
        yield f"{wanted}; its date is {first[2] or 'missing'}"
        return
    if later:
        yield f"{wanted}; its date {first[2]} is in the future"


def wrong_in_git(root: Path, version: str) -> Iterator[str]:
    """Changes that are not committed, and a tag of this version on another commit, one sentence each."""
    changed = _git(root, "status", "--porcelain").splitlines()
    yield from (f"not committed: {line[3:]}" for line in changed)
    tagged = _git(root, "tag", "--list", "--points-at", "HEAD").splitlines()
    if _git(root, "tag", "--list", f"v{version}") and f"v{version}" not in tagged:
        yield f"the tag v{version} is on another commit: raise the version"


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip("\n")


def components() -> str:
    """The lock's lines of all that the packages need without extras, and ours with the hashes of their wheels.

    Raises:
        ValueError: The lock lacks a package.
    """
    needed = {name for package in licences.PACKAGES for name in licences.closure(package, None)}
    lines = {canonicalize_name(line.partition("==")[0]): line for line in _locked()}
    if missing := sorted(needed - {*lines} - {*licences.PACKAGES}):
        raise ValueError(f"{RUNTIME} lacks {', '.join(missing)}: run make lock")
    wheels = {name: next(check_package.DIST.glob(f"{name.replace('-', '_')}-*.whl")) for name in licences.PACKAGES}
    ours = {name: f"{name}=={__version__} --hash=sha256:{_hash(wheel)}" for name, wheel in wheels.items()}
    return "\n".join(line for name, line in sorted((lines | ours).items()) if name in needed | {*ours}) + "\n"


def _locked() -> list[str]:
    return re.split(r"\n(?=\S)", (ROOT / RUNTIME).read_text(encoding="utf-8").strip())


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_sbom(file: Path) -> None:
    """Write the components of a release, checked against CycloneDX's schema."""
    command = [
        *(str(Path(sys.executable).with_name("uv")), "tool", "run", "--quiet", "--python", sys.executable),
        *("--from", WRITES_SBOM, "cyclonedx-py", "requirements", "-", "--mc-type", "library", "--output-reproducible"),
        *("--pyproject", str(ROOT / "packages" / "reeltalk" / "pyproject.toml"), "--output-file", str(file)),
    ]
    # It warns that a lock does not say which package needs which.
    quiet = os.environ | {"PYTHONWARNINGS": "ignore"}
    subprocess.run(command, check=True, input=components(), text=True, env=quiet)


def main() -> int:
    """Check, build, and say how to publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-use", action="store_true", help="build and check, without installing the wheels")
    given = parser.parse_args()
    today = datetime.now(UTC).date()
    found = [
        *wrong_versions(ROOT, __version__),
        *wrong_changelog(ROOT, __version__, today),
        *wrong_in_git(ROOT, __version__),
    ]
    if found:
        print("\n".join(found))
        return 1
    if status := check_package.check(use=not given.without_use):
        return status
    dist = check_package.DIST
    write_sbom(dist / f"reeltalk-{__version__}.cdx.json")
    files = sorted(path for path in dist.iterdir() if path.is_file())
    (dist / "SHA256SUMS").write_text("".join(f"{_hash(file)}  {file.name}\n" for file in files), encoding="utf-8")
    where = dist.relative_to(ROOT)
    print(f"\n{where}: {len(files)} files, with their hashes in SHA256SUMS. Nothing is published. To do it:\n")
    print(f"  git tag --annotate v{__version__} --message 'reeltalk {__version__}' {_git(ROOT, 'rev-parse', 'HEAD')}")
    print(f"  git push origin v{__version__}")
    print(f"  {Path(sys.executable).parent.relative_to(ROOT)}/twine upload {where}/*.whl {where}/*.tar.gz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
