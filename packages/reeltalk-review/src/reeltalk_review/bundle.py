"""One script and one style sheet for all pages, made from the files in `static/` when the server starts.

There is no build step. The name of a bundle contains a hash of its content, so browsers may keep it for ever.

A page names the modules that it starts in the attribute `data-start` of its `html` element, as `data-start="forms"`.
They run, and their function `start` is called if they have one. Other modules run when a module imports them.
`review.css` applies to every page; the sheet `NAME.css` applies to pages whose `html` element has the class `NAME`.
"""

import gzip
import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from pathlib import Path
from typing import Final

_IMPORT: Final = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.{1,2}/[\w./-]+\.js)";', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:(?:async )?function\*?|class|const) (\w+))", re.MULTILINE)
_EXPORT_LIST: Final = re.compile(r"(?:^|(?<=;))export ?\{([^}]*)\};?", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b(?! ?\().*", re.MULTILINE)
_FIRST_SHEETS: Final = ("review.css", "turns.css", "watch.css", "editor.css")
"""Sheets that others rest on."""

_HEAD: Final = """\
"use strict";
(() => {
const makers = {};
const made = new Map();
function need(name) {
  if (!made.has(name)) {
    if (!(name in makers)) throw new Error(`this page starts ${name}, which the bundle does not have`);
    made.set(name, makers[name]());
  }
  return made.get(name);
}
"""
_TAIL: Final = """\
for (const name of (document.documentElement.dataset.start ?? "").split(" ")) if (name) need(`${name}.js`).start?.();
})();
"""


@dataclass(frozen=True)
class Bundle:
    """One file for browsers."""

    name: str
    """With a hash of its content, as `review.1f3a….js`."""
    content: bytes
    packed: bytes
    """The content compressed with gzip."""
    media_type: str


@cache
def bundles() -> Mapping[str, Bundle]:
    """The bundles of the package's static files, by extension: `js` and `css`."""
    folder = Path(str(files("reeltalk_review") / "static"))
    return {
        "js": _bundle("js", bundled_script(folder), "text/javascript"),
        "css": _bundle("css", bundled_style(folder), "text/css"),
    }


def _bundle(ending: str, text: str, media_type: str) -> Bundle:
    content = text.encode()
    name = f"review.{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
    return Bundle(name, content, gzip.compress(content, mtime=0), media_type)


def bundled_script(folder: Path) -> str:
    """All modules of a folder and of its folder `vendor` as one script. Each module is a function that runs once.

    Raises:
        ValueError: A module imports a module that is not there or, through others, itself; or an import or export does
            not list names. The message names it.
    """
    modules = (*sorted(folder.glob("vendor/*.js")), *sorted(folder.glob("*.js")))
    sources = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in modules}
    needs: dict[str, list[str]] = {}
    parts = []
    for name, source in sources.items():
        needs[name], part = _module(name, source)
        for other in needs[name]:
            if other not in sources:
                raise ValueError(f"{name} imports {other}, which is not there")
        parts.append(part)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        raise ValueError(f"modules import each other in a circle: {' → '.join(error.args[1])}") from None
    return "".join([_HEAD, *parts, _TAIL])


def _module(name: str, source: str) -> tuple[list[str], str]:
    """The modules that one imports, and its text as a function."""
    needed: list[str] = []
    exported: list[str] = []

    def imported(match: re.Match[str]) -> str:
        needed.append(posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2])))
        names = [part.strip() for part in (match[1] or "").split(",") if part.strip()]
        taken = ", ".join(": ".join(part.split(" as ")) for part in names)
        return f'const {{ {taken} }} = need("{needed[-1]}");' if taken else f'need("{needed[-1]}");'

    def listed(match: re.Match[str]) -> str:
        for part in filter(None, (part.strip() for part in match[1].split(","))):
            here, _, there = part.partition(" as ")
            exported.append(f"{there or here}: {here}")
        return ""

    text = _EXPORT_LIST.sub(listed, _IMPORT.sub(imported, source))
    exported += _EXPORT.findall(text)
    text = _EXPORT.sub("", text)
    if (other := _OTHER.search(text)) is not None:
        raise ValueError(f"{name}: {other.group()[:80]!r} is no import or export that the bundle can take")
    return needed, f'makers["{name}"] = () => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}};\n'


def bundled_style(folder: Path) -> str:
    """All style sheets of a folder as one."""
    sheets = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.css"))}
    order: list[str] = [name for name in _FIRST_SHEETS if name in sheets]
    order += [name for name in sheets if name not in order]
    # `:where` adds nothing to the weight of the selectors within.
    return "".join(
        sheets[name] if name == "review.css" else f":where(.{name.removesuffix('.css')}) {{\n{sheets[name]}}}\n"
        for name in order
    )
