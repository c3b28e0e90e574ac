"""Checks that every package is imported only in its homes: the table `[tool.reeltalk.homes]` of pyproject.toml.

Run `python tools/check_homes.py`; it prints each import that is in the wrong room, and exits with 1 if there is one.
Lazy imports, imports for types alone and `importlib.import_module("name")` count like all others.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from places import ROOT, SOURCES

LOADERS: Final = ("import_module", "__import__", "find_spec")

Homes = Mapping[str, Sequence[str] | Literal["any"]]


def homes() -> Homes:
    """The rooms that may import each package, from pyproject.toml."""
    table: Homes = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["reeltalk"]["homes"]
    return table


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and top-level name of every imported package, anywhere in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.lineno, node.module.split(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in LOADERS and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value.split(".")[0]


def wrong_imports(sources: Sequence[Path], table: Homes) -> Iterator[str]:
    """A sentence for each import of a package outside its homes, and for each package that has no row or is unused.

    Args:
        sources: The folders of our import packages.
        table: The result of `homes`.
    """
    ours = {source.name for source in sources}
    unused = {name for name, rooms in table.items() if rooms != "any"}
    modules = [(source, path) for source in sources for path in sorted(source.rglob("*.py"))]
    for source, path in modules:
        room = ".".join((source.name, path.relative_to(source).parts[0].removesuffix(".py")))
        for line, package in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if package in ours or package in sys.stdlib_module_names:
                continue
            unused.discard(package)
            rooms = table.get(package)
            place = f"{path.relative_to(source.parent)}:{line}"
            if rooms is None:
                yield f"{place}: {package} has no row in [tool.reeltalk.homes] of pyproject.toml"
            elif rooms != "any" and room not in rooms:
                yield f"{place}: {package} may be imported in {', '.join(rooms)}, and not in {room}"
    for package in sorted(unused):
        yield f"pyproject.toml: {package} has homes and nothing imports it"


if __name__ == "__main__":
    found = list(wrong_imports(SOURCES, homes()))
    print("\n".join(found) or "homes of packages: nothing found")
    sys.exit(bool(found))
