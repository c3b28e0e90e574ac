"""The page of the public Python names: signatures, fields and docstrings, read from the source."""

import ast
import inspect
import re
import textwrap
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

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

OPENING = """# Python API

Scripts use the functions of `reeltalk.stages`, which do the work of the commands. They take typed settings, print
nothing, continue where they were stopped, and return the results. `examples/` has a script for each how-to, and
`examples/leaderboard.ipynb` is a notebook.

```python
from reeltalk import Benchmark
from reeltalk.stages import PlaySettings, evaluate, report

kitchen = Benchmark.open("benchmarks/kitchen")
streaming = PlaySettings(mode="streaming")
done = evaluate(kitchen, model="baseline:blind", out="runs/blind", play=streaming)
print(done)
report(done.run, out="site")
```

`reeltalk_build.stages` has `curate` and `construct`, and `reeltalk_household.stages` has `film`. Import functions from
there. `reeltalk.evaluate` and `reeltalk.compare` are their short forms for [a notebook](../notebook.md). Import
everything else from its module. All [errors](errors.md) are subclasses of `ReeltalkError`. `progress` is called with
`(what, done, total, share)`; `tell` is called with sentences for people. Keywords have the names of the command's
options: `--out` is `out=`, and `--min-shots` is the field `min_shots` of `CurateSettings`.

Every result prints as one screen, and is a small table at the end of a cell in a notebook.
"""


def api() -> str:
    """The page."""
    parts = [OPENING, "## reeltalk\n"]
    parts += [_noun(name) for name in reeltalk.__all__ if inspect.isclass(getattr(reeltalk, name))]
    settings = [kind for kind in PUBLIC.values() if inspect.isclass(kind) and issubclass(kind, BaseModel)]
    told = {*settings, *(getattr(reeltalk, name) for name in reeltalk.__all__)}
    for module in STAGES:
        verbs = [verb for name, verb in VERBS.items() if name in module.__all__]
        parts += [f"## {module.__name__}\n", *(_function(verb, level=3) for verb in verbs)]
    parts += ["## Results\n", "What the functions return, each type followed by the types of its fields.\n"]
    parts += [_record(kind) for kind in returned_types() if kind not in told]
    parts += ["## Settings\n", "These are pydantic models: an invalid value is refused when you create one.\n"]
    parts += [_record(kind) for kind in settings]
    return "\n".join(parts)


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


def _noun(name: str) -> str:
    """A class that holds data: what it is for, and its methods in a line each."""
    kind = getattr(reeltalk, name)
    lines = [f"### {name}\n", f"`{kind.__module__}.{name}`: {_first_paragraph(kind)}\n"]
    for tree in _tree(kind).body:
        if isinstance(tree, ast.FunctionDef) and not tree.name.startswith("_"):
            is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in tree.decorator_list)
            called = tree.name if is_property else f"{tree.name}({', '.join(_parameters(tree.args, methods=True))})"
            lines.append(f"- `{called}`: {_paragraph(ast.get_docstring(tree) or '')}")
    return "\n".join(lines).rstrip() + "\n"


def _record(kind: type) -> str:
    """A class whose fields are set or read: each field with its default and what it says."""
    name = kind.__name__
    lines = [f"### {name}\n", f"`{kind.__module__}.{name}`: {_first_paragraph(kind)}\n"]
    # Settings that others build on are shown with them.
    shown = (base for base in reversed(kind.__mro__) if base is kind or base.__name__.endswith("Settings"))
    body = [line for base in shown for line in _tree(base).body]
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id[0] != "_":
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            default = f" = {ast.unparse(field.value)}" if field.value is not None else ""
            told = f": {_paragraph(str(said))}" if said else ""
            lines.append(f"- `{field.target.id}: {_plain(field.annotation)}{default}`{told}")
        elif isinstance(field, ast.FunctionDef) and not field.name.startswith("_"):
            is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in field.decorator_list)
            if (field.name != "overview" or kind is HasOverview) and not (is_property and name.endswith("Settings")):
                given = ", ".join(_parameters(field.args, methods=True))
                called = field.name if is_property else f"{field.name}({given})"
                lines.append(f"- `{called}`: {_paragraph(ast.get_docstring(field) or '')}")
    return "\n".join(lines).rstrip() + "\n"


def _function(function: Any, *, level: int) -> str:
    tree = _tree(function)
    assert isinstance(tree, ast.FunctionDef)
    found = ", ".join(_parameters(tree.args))
    gives = f" -> {ast.unparse(tree.returns)}" if tree.returns is not None else ""
    signature = f"{function.__name__}({found}){gives}"
    if len(signature) > WIDTH:
        signature = f"{function.__name__}(\n    " + ",\n    ".join(_parameters(tree.args)) + f",\n){gives}"
    told = _sections(inspect.getdoc(function) or "")
    return f"{'#' * level} {function.__name__}\n\n```text\n{signature}\n```\n\n{told}\n"


def _sections(text: str) -> str:
    """A docstring in Google's style as Markdown: arguments and errors become lists."""
    shown: list[str] = []
    for block in re.split(r"\n\n(?=\S)", text):
        head, _, rest = block.partition("\n")
        if head in ("Args:", "Raises:"):
            items = re.split(r"\n(?=\S)", textwrap.dedent(rest))
            pairs = [re.split(r":\s", _paragraph(item), maxsplit=1) for item in items]
            shown.append("**Raises**\n" if head == "Raises:" else "**Takes**\n")
            shown[-1] += "".join(f"\n- `{name}`: {said}" for name, said in pairs)
        elif head == "Returns:":
            shown.append(f"**Gives** {_paragraph(rest)}")
        else:
            shown.append(_paragraph(block))
    return "\n\n".join(shown)


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
