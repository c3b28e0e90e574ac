"""Refuse packages under the GPL or AGPL in the runtime lock and in every extra.

Reads the metadata of the installed packages, follows requirements from reeltalk and each of its extras, and prints
one line for each package that must not be there. Exit code 1 where there is one.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

STRONG_COPYLEFT = re.compile(r"\bA?GPL|GNU (Affero )?General Public", re.IGNORECASE)
LESSER = re.compile(r"\bLGPL|GNU Lesser|Lesser General Public|GNU Library", re.IGNORECASE)


def licence_of(name: str) -> str:
    """What a package states about its licence: the SPDX expression, else classifiers and the licence field."""
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
    """True where every licence on offer is the GPL or AGPL."""
    offers = re.split(r"\bOR\b|;", licence)
    named = [offer for offer in offers if offer.strip()]
    return bool(named) and all(STRONG_COPYLEFT.search(offer) and not LESSER.search(offer) for offer in named)


def closure(name: str, extra: str | None) -> set[str]:
    """Canonical names of all packages that a package with an extra needs, itself left out."""
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


def main() -> int:
    """Check everything that is shipped or offered; the number of refused packages as exit code."""
    extras = sorted(distribution("reeltalk").metadata.get_all("Provides-Extra") or [])
    refused: dict[str, str] = {}
    checked: set[str] = set()
    for extra in [None, *extras]:
        for name in sorted(closure("reeltalk", extra)):
            try:
                licence = licence_of(name)
            except PackageNotFoundError:
                continue
            checked.add(name)
            if is_refused(licence):
                refused[name] = f"{licence} (needed by {'the runtime' if extra is None else f'extra {extra!r}'})"
    for name, why in refused.items():
        print(f"refused: {name}: {why}")
    print(f"licences: {len(checked)} packages of the runtime and {len(extras)} extras, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
