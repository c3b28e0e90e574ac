"""The architecture page says which rooms the core has, in the order in which they may import each other; the files that
it and CONTRIBUTING name are there."""

import re
import tomllib

import pytest
from places import ROOT, SOURCES

QUESTIONS = "packages/reeltalk-household/src/reeltalk_household/questions"
PAGE = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without the line of its titles."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_rooms_stand_in_the_order_of_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if "containers" in contract)
    drawn = [set(re.findall(r"`(\w+)`", row[1])) for row in rows("Rooms")]
    assert drawn == [set(re.findall(r"\w+", layer)) for layer in layers]


@pytest.mark.parametrize("page", ["docs/development/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_the_page_names_is_there(page: str) -> None:
    # A row of a table may name a file beside one that it gave in full, as `together.py`.
    places = (*SOURCES, *(source.parent for source in SOURCES), ROOT, ROOT / QUESTIONS)
    named = re.findall(r"`([\w/-]+(?:\.(?:py|md|toml|txt)|/))`", (ROOT / page).read_text(encoding="utf-8"))
    named = [name for name in named if "NAME" not in name]
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert len(named) > 20
    assert not missing
