"""A package is imported in its homes alone; lazy imports and imports for types count."""

from pathlib import Path

import pytest
from check_homes import homes, wrong_imports
from places import SOURCES

WAYS = [
    "import scipy",
    "from scipy import stats",
    "def f():\n    import scipy.stats",
    "importlib.import_module('scipy')",
]
WAYS += ["if TYPE_CHECKING:\n    from scipy.stats import norm"]


def test_no_import_is_in_the_wrong_room() -> None:
    assert list(wrong_imports(SOURCES, homes())) == []


@pytest.mark.parametrize("text", WAYS)
def test_a_wrong_import_is_found_however_it_is_written(text: str, tmp_path: Path) -> None:
    room = tmp_path / "reeltalk" / "report"
    room.mkdir(parents=True)
    (room / "page.py").write_text(text)
    (found,) = wrong_imports([tmp_path / "reeltalk"], {"scipy": ["reeltalk.metrics"]})
    assert "report/page.py" in found
    assert "scipy may be imported in reeltalk.metrics, and not in reeltalk.report" in found


def test_a_package_without_a_row_and_a_row_without_a_use_are_found(tmp_path: Path) -> None:
    (tmp_path / "reeltalk" / "metrics").mkdir(parents=True)
    (tmp_path / "reeltalk" / "page.py").write_text("import attr")
    unknown, unused = wrong_imports([tmp_path / "reeltalk"], {"scipy": ["reeltalk.metrics"]})
    assert "attr has no row" in unknown
    assert "scipy has homes and nothing imports it" in unused
