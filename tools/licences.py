"""Refuses packages under the GPL or AGPL in the runtime and in every extra, and keeps the table in THIRD_PARTY.md.

Reads the metadata of the installed packages, follows requirements from reeltalk and each of its extras, and prints one
line for each forbidden package. The exit code is 1 if there is one, or if the table differs from the installed
packages. With `--write` the table is written anew.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from places import ROOT

NOTICES = ROOT / "packages" / "reeltalk" / "THIRD_PARTY.md"

PACKAGES = ("reeltalk", "reeltalk-build", "reeltalk-streaming", "reeltalk-review", "reeltalk-household")
STRONG_COPYLEFT = re.compile(r"\bA?GPL|GNU (Affero )?General Public", re.IGNORECASE)
LESSER = re.compile(r"\bLGPL|GNU Lesser|Lesser General Public|GNU Library", re.IGNORECASE)


def licence_of(name: str) -> str:
    """The licence that a package states: the SPDX expression, otherwise classifiers and the licence field."""
    metadata = distribution(name).metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = [
        text.split("::")[-1].strip() for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")
    ]
    # Some packages paste a whole licence text; its first line names it.
    stated = (metadata["License"] if "License" in metadata else "").strip().split("\n")[0][:120]
    return "; ".join([*classifiers, stated]).strip("; ") or "not stated"


def is_refused(licence: str) -> bool:
    """True if every offered licence is the GPL or AGPL."""
    offers = re.split(r"\bOR\b|;", licence)
    named = [offer for offer in offers if offer.strip()]
    return bool(named) and all(STRONG_COPYLEFT.search(offer) and not LESSER.search(offer) for offer in named)


def closure(name: str, extra: str | None) -> set[str]:
    """Canonical names of all packages that a package with an extra needs, except itself."""
    found: set[str] = set()
    open_names: list[tuple[str, str | None]] = [(name, extra)]
    visited: set[tuple[str, str | None]] = set()
    while open_names:
        current, wanted = open_names.pop()
        if (current, wanted) in visited:
            continue
        visited.add((current, wanted))
        try:
            needs = distribution(current).requires or []
        except PackageNotFoundError:
            # A package of another platform; the lock of that platform is checked there.
            continue
        for text in needs:
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": wanted or ""}):
                child = canonicalize_name(need.name)
                if child != canonicalize_name(name):
                    found.add(child)
                open_names += [(child, inner) for inner in (None, *need.extras)]
    return found


def needed_by() -> dict[str, list[str]]:
    """For each package those of ours, and their extras, that need it."""
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        needs = closure(package, None)
        # What a package needs through another one of ours stands there.
        through = {name for other in needs & {*PACKAGES} for name in (other, *closure(other, None))}
        for name in needs - through:
            found.setdefault(name, []).append(package)
        for extra in sorted({*(distribution(package).metadata.get_all("Provides-Extra") or [])} - {"all"}):
            for name in closure(package, extra) - needs - {*PACKAGES}:
                found.setdefault(name, []).append(f"{package}[{extra}]")
    return dict(sorted(found.items()))


def with_table(text: str, rows: list[str]) -> str:
    """The text with these rows in its first table."""
    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("| --- |")) + 1
    last = next(number for number, line in enumerate(lines[first:], first) if not line.startswith("|"))
    return "\n".join([*lines[:first], *rows, *lines[last:]])


def main() -> int:
    """Checks all shipped and offered packages."""
    refused: dict[str, str] = {}
    rows: list[str] = []
    for name, users in needed_by().items():
        try:
            licence = licence_of(name)
        except PackageNotFoundError:
            # An extra that needs too many packages to be installed here.
            continue
        rows.append(f"| {name} | {licence} | {', '.join(users)} |")
        if is_refused(licence):
            refused[name] = f"{licence} (needed by {', '.join(users)})"
    for name, why in refused.items():
        print(f"refused: {name}: {why}")
    print(f"licences: {len(rows)} packages, {len(refused)} refused")
    written = NOTICES.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        NOTICES.write_text(with_table(written, rows), encoding="utf-8")
    elif written != with_table(written, rows):
        print(f"{NOTICES.name} does not list what is installed; run: python tools/licences.py --write")
        return 1
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
