"""Where things lie in the checkout, for tests and tools."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"
"""Tests of the workspace, and data that the tests of several packages share."""
PACKAGES: Final = ROOT / "packages"
CORE: Final = PACKAGES / "reeltalk" / "src" / "reeltalk"
BUILD: Final = PACKAGES / "reeltalk-build" / "src" / "reeltalk_build"
STREAMING: Final = PACKAGES / "reeltalk-streaming" / "src" / "reeltalk_streaming"
REVIEW: Final = PACKAGES / "reeltalk-review" / "src" / "reeltalk_review"
HOUSEHOLD: Final = PACKAGES / "reeltalk-household" / "src" / "reeltalk_household"
SOURCES: Final = (CORE, BUILD, STREAMING, REVIEW, HOUSEHOLD)
"""The import packages, each needing those before it at most, but for review, which needs the first alone."""
PYTHONPATH: Final = os.pathsep.join(str(source.parent) for source in SOURCES)
"""For processes that run the code of the checkout without an installation."""


def doc_page(name: str) -> Path:
    """A page of the documentation, wherever its package keeps it.

    Args:
        name: Its path in the site, such as `how-to/review.md`.
    """
    places = (ROOT / "docs", *(package / "docs" for package in sorted(PACKAGES.iterdir())))
    return next(place / name for place in places if (place / name).is_file())
