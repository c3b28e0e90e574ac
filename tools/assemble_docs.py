"""Put the pages of all packages and of the workspace into one folder, from which the site is built.

    python tools/assemble_docs.py [FOLDER]

Each package has pages of its own in `packages/NAME/docs`; those of the workspace lie in `docs`. Links between pages are
those of the site. Pages to search, tables of measurements, and the figures on two pages are made here:

    {{ include own-questions.md }}        the file of that name in docs/includes
    {{ figure streaming: a frame … }}     a measure of docs/reference/performance.json, by its suite and words
    {{ tried servers }}                   the counts of a group of docs/reference/reliability.json
    {{ replayed servers }}                the counts of an area of tests/reports
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Final

import performance_page
import reliability_page
import report_replays
from places import PACKAGES, ROOT

SOURCE: Final = ROOT / "build" / "docs-source"
INCLUDES: Final = ROOT / "docs" / "includes"
DIRECTIVE: Final = re.compile(r"\{\{ (include|figure|tried|replayed) ([^}]+) \}\}")


def assemble(folder: Path) -> None:
    """Make the folder anew.

    Args:
        folder: Where the pages go. What it holds is removed.

    Raises:
        FileExistsError: Two pages have one name.
        KeyError: A page names a file, a measure or a group that there is not.
    """
    # Reading the commands takes seconds, and nobody needs it who only resolves a page.
    from reference_pages import PAGES

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns(INCLUDES.name))
    for docs in sorted(PACKAGES.glob("*/docs")):
        for page in sorted(path for path in docs.rglob("*") if path.is_file()):
            target = _free(folder / page.relative_to(docs))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
    for page in folder.rglob("*.md"):
        page.write_text(resolved(page.read_text(encoding="utf-8")), encoding="utf-8")
    reference = folder / "reference"
    for name, made in PAGES.items():
        _free(reference / name).write_text(made(), encoding="utf-8")
    performance_page.write_tables(reference)
    reliability_page.write_table(reference)
    report_replays.write_table(reference)


def _free(target: Path) -> Path:
    if target.exists():
        raise FileExistsError(f"{target}: there are two such pages; rename one of them")
    return target


def resolved(text: str) -> str:
    """A page's text with what it includes."""
    return DIRECTIVE.sub(lambda found: _WRITES[found[1]](found[2]), text)


_WRITES: Final = {
    "include": lambda name: (INCLUDES / name).read_text(encoding="utf-8").strip(),
    "figure": performance_page.figure,
    "tried": reliability_page.tried,
    "replayed": report_replays.replayed,
}


if __name__ == "__main__":
    assemble(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
