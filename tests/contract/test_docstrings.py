"""Public names are documented: every public module, class, function and method, in one sentence at least."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "reeltalk"


def undocumented(tree: ast.Module) -> Iterator[str]:
    if not ast.get_docstring(tree):
        yield "the module"
    nodes: list[tuple[str, ast.AST]] = [("", node) for node in tree.body]
    while nodes:
        prefix, node = nodes.pop()
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            yield f"{prefix}{node.name}"
        if isinstance(node, ast.ClassDef):
            nodes += [(f"{prefix}{node.name}.", inner) for inner in node.body]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_public_names_have_docstrings(path: Path) -> None:
    assert list(undocumented(ast.parse(path.read_text(encoding="utf-8")))) == []
