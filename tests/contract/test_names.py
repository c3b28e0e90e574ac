"""A public name means one thing in the whole package."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from places import SOURCES

ALSO_CALLED_SO: Final = ("cli", "stages", "routes")
"""A function here has the name of the function that it calls: a command, a verb of Python, an address."""
LAYOUT: Final = frozenset({"read", "read_answers", "write"})
"""What every module of a published layout defines."""
KEPT: Final = frozenset({"Content", "Command"})
"""CogME's Content beside the content of a benchmark: models are sent the former's name in a schema. A command of the
command line beside one that a household's person carries out."""
PROCESS: Final = "main"
"""Where a process begins."""


def defined(source: Path, module: Path) -> Iterator[str]:
    """The public classes and functions of a module that must have names of their own."""
    place = module.relative_to(source).as_posix()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if not isinstance(node, ast.ClassDef):
            if place.startswith(ALSO_CALLED_SO) or node.name == PROCESS:
                continue
            if place.startswith("formats/") and node.name in LAYOUT:
                continue
        yield node.name


def test_a_public_name_stands_in_one_module() -> None:
    places = defaultdict(list)
    for source in SOURCES:
        for module in sorted(source.rglob("*.py")):
            for name in defined(source, module):
                places[name].append(module.relative_to(source.parent).as_posix())
    assert len(places) > 1_000
    assert {name: modules for name, modules in places.items() if len(modules) > 1 and name not in KEPT} == {}
