"""The public Python names as entries to search: signatures, fields and docstrings, read from the source."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel
from search_page import Entry

import reeltalk
import reeltalk.stages
import reeltalk_build.stages
import reeltalk_household.stages
from reeltalk.schema.overview import HasOverview, Overview

WIDTH = 100
STAGES = (reeltalk.stages, reeltalk_build.stages, reeltalk_household.stages)
"""Modules with verbs and their settings."""
PUBLIC = {name: getattr(module, name) for module in STAGES for name in module.__all__}
VERBS = {name: found for name, found in PUBLIC.items() if inspect.isfunction(found)}

ABOUT_API = """What scripts and notebooks import; [In a notebook](../notebook.md) says how to begin. Verbs do the work
of the commands, and their keywords have the names of the command's options: `--out` is `out=`, and `--min-shots` is
the field `min_shots` of `CurateSettings`. Settings are pydantic models, which refuse invalid values.
`progress` is called with `(what, done, total, share)`, and `tell` with sentences for people. All errors stand last;
they are subclasses of `ReeltalkError`, which the command line prints as one paragraph before it exits with 2."""


def api_entries() -> Iterator[Entry]:
    """What holds data, then verbs, then what verbs return, then settings."""
    yield from (_noun(name) for name in reeltalk.__all__ if inspect.isclass(getattr(reeltalk, name)))
    settings = [kind for kind in PUBLIC.values() if inspect.isclass(kind) and issubclass(kind, BaseModel)]
    told = {*settings, *(getattr(reeltalk, name) for name in reeltalk.__all__)}
    yield from map(_function, VERBS.values())
    yield from map(_record, dict.fromkeys([*(kind for kind in returned_types() if kind not in told), *settings]))


def returned_types() -> list[type]:
    """Every class of reeltalk that a verb returns, and those of its fields, in the order in which they are met."""
    found: dict[type, None] = {}
    for verb in VERBS.values():
        _add_types(get_type_hints(verb)["return"], found)
    return list(found)


def _add_types(annotation: Any, found: dict[type, None]) -> None:
    for part in get_args(annotation):
        _add_types(part, found)
    if not inspect.isclass(annotation) or annotation in found:
        return
    if not annotation.__module__.startswith(("reeltalk.", "reeltalk_")):
        return
    found[annotation] = None
    if issubclass(annotation, HasOverview):
        _add_types(HasOverview, found)
        _add_types(Overview, found)
    for base in getattr(annotation, "__orig_bases__", ()):
        _add_types(base, found)
    for name, hint in get_type_hints(annotation).items():
        if not name.startswith("_"):
            _add_types(hint, found)


def _noun(name: str) -> Entry:
    """A class that holds data: what it is for, and its methods in a row each."""
    kind = getattr(reeltalk, name)
    rows = []
    for tree in _tree(kind).body:
        if isinstance(tree, ast.FunctionDef) and not tree.name.startswith("_"):
            rows.append((_called(tree), _paragraph(ast.get_docstring(tree) or "")))
    return Entry(name, _first_paragraph(kind), rows, code=f"from {kind.__module__} import {name}")


def _called(tree: ast.FunctionDef) -> str:
    """A method as it is called, or the name of a property."""
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in tree.decorator_list):
        return tree.name
    return f"{tree.name}({', '.join(_parameters(tree.args, methods=True))})"


def _record(kind: type) -> Entry:
    """A class whose fields are set or read: each field with its default and what it says."""
    name, rows = kind.__name__, []
    # Settings that others build on are shown with them.
    shown = (base for base in reversed(kind.__mro__) if base is kind or base.__name__.endswith("Settings"))
    body = [line for base in shown for line in _tree(base).body]
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id[0] != "_":
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            default = f" = {ast.unparse(field.value)}" if field.value is not None else ""
            term = f"{field.target.id}: {_plain(field.annotation)}{default}"
            rows.append((term, _paragraph(str(said)) if said else ""))
        elif isinstance(field, ast.FunctionDef) and not field.name.startswith("_"):
            is_property = _called(field) == field.name
            if (field.name != "overview" or kind is HasOverview) and not (is_property and name.endswith("Settings")):
                rows.append((_called(field), _paragraph(ast.get_docstring(field) or "")))
    return Entry(name, _first_paragraph(kind), rows, code=f"from {kind.__module__} import {name}")


def _function(function: Any) -> Entry:
    tree = _tree(function)
    assert isinstance(tree, ast.FunctionDef)
    found = ", ".join(_parameters(tree.args))
    gives = f" -> {ast.unparse(tree.returns)}" if tree.returns is not None else ""
    signature = f"{function.__name__}({found}){gives}"
    if len(signature) > WIDTH:
        signature = f"{function.__name__}(\n    " + ",\n    ".join(_parameters(tree.args)) + f",\n){gives}"
    told, rows = [], list[tuple[str, str]]()
    for block in re.split(r"\n\n(?=\S)", inspect.getdoc(function) or ""):
        head, _, rest = block.partition("\n")
        if head in ("Args:", "Raises:"):
            items = [_paragraph(item) for item in re.split(r"\n(?=\S)", textwrap.dedent(rest))]
            rows.append(("", "Takes" if head == "Args:" else "Raises"))
            rows += [(name, said) for name, _, said in (item.partition(": ") for item in items)]
        else:
            told.append(f"Gives {_paragraph(rest)}" if head == "Returns:" else _paragraph(block))
    home = next(module for module in STAGES if function.__name__ in module.__all__)
    code = f"from {home.__name__} import {function.__name__}\n\n{signature}"
    return Entry(function.__name__, "\n\n".join(told), rows, code=code)


def _tree(thing: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _parameters(found: ast.arguments, *, methods: bool = False) -> list[str]:
    text = ast.unparse(found)
    parts = _split(text)
    return [part for part in parts if not (methods and part in ("self", "cls"))]


def _split(text: str) -> list[str]:
    """Parameters between commas that stand in no bracket."""
    depth, parts = 0, [""]
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip().replace("'", '"') for part in parts if part.strip()]


def _plain(annotation: ast.expr) -> str:
    """A type without the bounds that `Annotated` adds."""
    text = ast.unparse(annotation)
    while found := re.search(r"Annotated\[(\w+), [^\[\]]*(?:\([^()]*\))?\]", text):
        text = text.replace(found[0], found[1])
    return text.replace("'", '"')


def _first_paragraph(kind: type) -> str:
    return _paragraph((inspect.getdoc(kind) or "").split("\n\n")[0])


def _paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())
