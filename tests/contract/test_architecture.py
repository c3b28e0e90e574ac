"""The architecture page says which rooms there are, in the order in which they may import each other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "reeltalk"
PAGE = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without the line of its titles."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_rooms_stand_in_the_order_of_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    drawn = [set(re.findall(r"`(\w+)`", row[1])) for row in rows("Rooms")]
    assert drawn == [set(re.findall(r"\w+", layer)) for layer in layers]


def test_every_file_that_the_page_names_is_there() -> None:
    # What trains may be left out of an installation.
    named = [name for name in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE) if not name.startswith("streaming")]
    missing = [name for name in named if not ((SOURCE / name).exists() or (ROOT / name).exists() or name == "prompts/")]
    assert len(named) > 20
    assert not missing
