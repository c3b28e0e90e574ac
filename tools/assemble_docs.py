"""Put the pages of all packages and of the workspace into one folder, from which the site is built.

    python tools/assemble_docs.py [FOLDER]

Each package has pages of its own in `packages/NAME/docs`; those of the workspace lie in `docs`. Links between pages are
those of the site.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

from places import PACKAGES, ROOT

SOURCE: Final = ROOT / "build" / "docs-source"


def assemble(folder: Path) -> None:
    """Make the folder anew.

    Args:
        folder: Where the pages go. What it holds is removed.

    Raises:
        FileExistsError: Two packages have a page of the same name.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for docs in sorted(PACKAGES.glob("*/docs")):
        for page in sorted(path for path in docs.rglob("*") if path.is_file()):
            target = folder / page.relative_to(docs)
            if target.exists():
                raise FileExistsError(f"{page}: there is such a page already; rename one of them")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
