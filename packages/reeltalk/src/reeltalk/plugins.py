"""What installed packages add to reeltalk, found by their entry points.

A package names an object in a group of `GROUPS`, and the object works and is listed like our own:

    [project.entry-points."reeltalk.judges"]
    brevity = "my_package.brevity:PROTOCOL"

The packages of reeltalk that are built on this one use the same groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from reeltalk.errors import MissingExtraError, ReeltalkError, SettingError

GROUPS: Final[Mapping[str, str]] = {
    "reeltalk.commands": "commands",
    "reeltalk.judges": "judging protocols",
    "reeltalk.models": "models",
    "reeltalk.baselines": "baselines",
    "reeltalk.formats": "layouts",
    "reeltalk.writers": "writers",
    "reeltalk.pages": "report pages",
    "reeltalk.reports": "sources of reports",
    "reeltalk.checks": "checks of reeltalk doctor",
    "reeltalk.review_tasks": "review tasks",
    "reeltalk.presets": "presets",
    "reeltalk.prompts": "groups of prompts",
}
"""Groups of entry points, with the word for what they hold."""

OURS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "reeltalk-build": {
        "reeltalk.commands": ("curate", "graph", "construct", "tag", "new", "run", "status"),
        "reeltalk.formats": ("vdact",),
        "reeltalk.reports": ("graphs",),
        "reeltalk.checks": ("projects",),
        "reeltalk.prompts": ("construct", "refine", "tag"),
    },
    "reeltalk-streaming": {
        "reeltalk.commands": ("chat", "proactive", "train"),
        "reeltalk.models": ("transformers",),
        "reeltalk.reports": ("streams",),
    },
    "reeltalk-review": {"reeltalk.commands": ("review",)},
    "reeltalk-household": {
        "reeltalk.commands": ("world", "demo"),
        "reeltalk.models": ("mini", "oracle"),
        "reeltalk.writers": ("graph",),
    },
}
"""What our other packages add, so that an error can name the package that is not installed."""

PURPOSES: Final[Mapping[str, str]] = {
    "reeltalk.commands": "'reeltalk {}'",
    "reeltalk.reports": "a report of {}",
    "reeltalk.prompts": "the prompts of {}",
}
"""How an error calls a name of a group whose word is not enough."""


@dataclass(frozen=True)
class Command:
    """A command of another package, for the group `reeltalk.commands`."""

    function: str
    """`package.module:function`, which is imported when the command is used. Its parameters become options."""
    summary: str
    """A sentence for the list of commands."""
    group: str = "Tools"
    """Title of its group in that list."""
    options: str = ""
    """Title of the command's own options on its help page."""
    first: tuple[str, ...] = ()
    """Options that `--help` shows, such as `--limit`; `--help-all` shows the rest too. All are shown if it is empty."""


_points = cache(entry_points)
"""Read once: that takes as long as importing a module."""


@cache
def added(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name. Nothing is imported.

    Args:
        group: One of `GROUPS`.
    """
    return {point.name: point for point in sorted(_points().select(group=group), key=lambda point: point.name)}


def load(group: str, name: str, kind: type = object) -> Any:
    """Import what a package adds under a name.

    Args:
        group: One of `GROUPS`.
        name: A name of `added`.
        kind: The class of the group's objects, if there is one.

    Raises:
        SettingError: No installed package adds it, the package cannot be imported, or the object is of another class or
            has another name.
    """
    point = added(group).get(name)
    if point is None:
        raise SettingError(needed(group, name) or f"no installed package adds {name!r} to the {GROUPS[group]}")
    try:
        found = point.load()
    except ReeltalkError:
        raise
    except Exception as error:
        raise not_imported(point, point.value, error) from error
    if not isinstance(found, kind):
        raise SettingError(f"{_package(point)} adds {name} = {point.value}, which is no {kind.__name__}")
    own = name if kind is object else getattr(found, "name", name)
    if own != name:
        raise SettingError(f"{_package(point)} adds {name} = {point.value}, whose name is {own}")
    return found


def loaded(group: str, kind: type = object) -> dict[str, Any]:
    """All objects of a group by name. One that `load` refuses is left out; `problem` says why.

    Args:
        group: One of `GROUPS`.
        kind: The class of the group's objects, if there is one.
    """
    found = {}
    for name in added(group):
        try:
            found[name] = load(group, name, kind)
        except ReeltalkError:
            continue
    return found


def problem(group: str, name: str, kind: type = object) -> str | None:
    """Why `loaded` lacks a name that a package of ours or an installed one adds; None if it has it, or if none does.

    Args:
        group: One of `GROUPS`.
        name: What was asked for.
        kind: The class of the group's objects, if there is one.
    """
    if name not in added(group):
        return needed(group, name)
    try:
        load(group, name, kind)
    except ReeltalkError as error:
        return str(error)
    return None


def not_imported(point: EntryPoint, value: str, error: BaseException) -> SettingError:
    """The error about a part of a package that cannot be imported.

    Args:
        point: An entry point of the package.
        value: The module or object.
        error: What importing it raised.
    """
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return SettingError(f"{_package(point)} adds {point.name} = {value}, which cannot be imported: {text}")


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def needed(group: str, name: str) -> str | None:
    """A sentence that names the package of ours that adds a name, and how to install it; None if no package does.

    Args:
        group: One of `GROUPS`.
        name: What was asked for, such as `construct`.
    """
    for package, groups in OURS.items():
        if name in groups.get(group, ()) and name not in added(group):
            purpose = PURPOSES.get(group, f"the {GROUPS[group].removesuffix('s')} {{}}").format(name)
            return str(MissingExtraError(purpose, package=package))
    return None
