"""Consent: servers, keys, code and paths that a folder of others names are used only if the user agrees.

A run, a benchmark or a project may name them. They are used if the user made the folder here, or agreed to them before,
which a mark in the user's own state folder says; if the folder lies in one that `REELTALK_TRUST` lists; or if the user
agrees now. Marks lie outside the folder, by its path, so a copied folder brings none along.
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.extension import OBJECT_PREFIX, PYTHON_PREFIX
from reeltalk.plugins import added
from reeltalk.schema.server_address import without_user
from reeltalk.store.atomic import write_bytes

TRUSTED: Final = "REELTALK_TRUST"
"""Environment variable with folders in which everything is the user's own, separated as in `PATH`."""
MADE_HERE: Final = ".reeltalk/made-here"
"""File in a folder in which everything is the user's own; its mark has the same content."""
DEFAULT_SERVER: Final = "api.openai.com, or the server of OPENAI_BASE_URL"
DEFAULT_KEY: Final = "OPENAI_API_KEY"
NO_SERVER: Final = frozenset({"baseline", "answers", "human", "python", "always", "never", "graph", "inspect"})
"""Kinds of models that are asked at no address that reeltalk knows, besides those that packages add."""

Trust = bool | Callable[[str], bool]
"""Whether the user agrees; or a function that shows the user what a folder names, and asks."""


class NamedPath(NamedTuple):
    """Something outside a folder that the folder names."""

    does: Literal["contact", "run", "read", "write"]
    what: str
    """An address with the variable of the key that it gets, the name of code with its file, or a path."""
    owner: str = ""
    sha256: str = ""
    """Of a file of code, as the number of the user whose it is."""

    def mark(self, agreed: bool) -> str:
        """How a mark names it. Own code may change; code of others that the user agreed to may not."""
        return f"{self.does} {self.what} {self.sha256 if agreed else self.owner}".strip()


def named_in_settings(
    values: Mapping[str, Any], *, base: Path, folder: Path, given: Iterable[str] = (), inputs: Iterable[str] = ()
) -> list[NamedPath]:
    """What the settings of a run or of a project's section name outside their folder, but for what was `given` now.

    Paths are seen from `base`. Groups of settings may be mappings. The texts of `inputs` are paths.
    """
    flat, given = dict(_flat(values)), frozenset(given)
    found = [*_servers(flat, given)]
    for key, value in flat.items():
        if key in given or key.endswith(("base_url", "api_key_env")):
            continue
        for part in value if isinstance(value, list | tuple) else (value,):
            does: Literal["read", "write"] = "write" if key in ("out", "into", "replies") else "read"
            if isinstance(part, Path):
                found += named_path(part, base=base, folder=folder, does=does)
            for text in _texts(part):
                text = text.removeprefix("summary:").removeprefix("poll:")
                kind, _, rest = text.partition(":")
                if text.startswith(PYTHON_PREFIX):
                    found += _code(text, base)
                elif "://" in text:
                    found.append(NamedPath("contact", without_user(text)))
                elif kind == "inspect" and rest:
                    found.append(NamedPath("contact", f"the provider of {text}, with your key of it"))
                elif key in inputs or text.endswith(".md"):
                    found += named_path(Path(text), base=base, folder=folder, does=does)
                elif rest and (os.sep in rest or (base / rest).exists()):
                    found += named_path(Path(rest), base=base, folder=folder, does=does)
    return list(dict.fromkeys(found))


def named_path(path: Path, *, base: Path, folder: Path, does: Literal["read", "write"] = "read") -> list[NamedPath]:
    """A path that is named, as seen from `base`, unless it lies in the folder."""
    whole = (base / path).resolve()
    return [] if whole.is_relative_to(folder.resolve()) else [NamedPath(does, str(whole))]


def check_consent(
    folder: Path, named: Iterable[NamedPath], trust: Trust = False, *, hint: str = "give trust=True if you agree"
) -> None:
    """Refuse what the folder of a run, a benchmark or a project names, unless the user gave it, agreed, or agrees now.

    Raises:
        SettingError: The user did not agree; lists what would be done.
    """
    folder = folder.resolve()
    if not (new := not_agreed(folder, named)):
        return
    head = f"{folder} was not made here, or not with all that it names now. This would"
    told = "\n  ".join([head, *(f"{one.does:<8}{one.what}" for one in new)])
    trusted = map(Path, filter(None, os.environ.get(TRUSTED, "").split(os.pathsep)))
    if not any(folder.is_relative_to(path.resolve()) for path in trusted) and trust is not True:
        if trust is False or not trust(told):
            raise consent_error(told, hint)
    _write(folder, [*_read(folder)["named"], *(one.mark(True) for one in new)], agreed=True)


def consent_error(listed: str, hint: str) -> SettingError:
    """The error of a user who did not agree to what `listed` lists in lines."""
    head, *lines = (" ".join(line.split()) for line in listed.splitlines())
    return SettingError(f"{head} {'; '.join(lines)}. Nothing was done; {hint}")


def not_agreed(folder: Path, named: Iterable[NamedPath]) -> list[NamedPath]:
    """What a folder names that its mark does not."""
    marks = _read(folder.resolve())
    known = {*marks["named"]}
    return [one for one in named if not marks.get("all") and not known & {one.mark(False), one.mark(True)}]


def mark_made(folder: Path, named: Iterable[NamedPath] | None = None) -> None:
    """Mark a folder as made by this user, here, with what the command line named; None is all that it may ever name."""
    folder = folder.resolve()
    if named is None:
        # Somebody else's folder may later lie at the same path, without this file, or of another owner.
        if _write(folder, [], all=(token := secrets.token_hex(16)), owner=folder.stat().st_uid):
            write_bytes(folder / MADE_HERE, token.encode())
    elif names := [*named]:
        # What the user agreed to stays so: a command that goes on with a folder of others does not make it.
        marks = _read(folder)
        _write(folder, [*marks["named"], *(one.mark(marks["agreed"]) for one in names)], agreed=marks["agreed"])


def mark_copied(folder: Path, copy: Path) -> None:
    """Mark what was made of a folder as the folder is."""
    if (marks := _read(folder.resolve()))["named"]:
        _write(copy.resolve(), marks["named"], agreed=marks["agreed"])


def _servers(flat: Mapping[str, Any], given: frozenset[str]) -> Iterator[NamedPath]:
    names = {"": ["model", "writer", "attacker", "probe"], "judge_": ["judge"]}
    if "model" not in flat and not {*names[""], "base_url", "api_key_env"}.isdisjoint(flat):
        # The judges of what is written are asked at the writer's address.
        names = {"": [*names[""], "judge"]}
    for own, asked in names.items():
        specs = [spec for name in asked for spec in _texts(flat.get(name)) if _is_served(spec)]
        address, key = flat.get(f"{own}base_url"), flat.get(f"{own}api_key_env") or DEFAULT_KEY
        is_given = f"{own}base_url" in given and (key == DEFAULT_KEY or f"{own}api_key_env" in given)
        if (address or specs) and not is_given:
            about = f" ({', '.join(specs)})" if specs else ""
            yield NamedPath("contact", f"{without_user(address or DEFAULT_SERVER)}{about}, with the key in {key}")


def _is_served(spec: str) -> bool:
    kind = spec.removeprefix("summary:").removeprefix("poll:").partition(":")[0]
    return kind not in {*NO_SERVER, *added("reeltalk.models"), *added("reeltalk.writers")}


def _code(spec: str, base: Path) -> Iterator[NamedPath]:
    where = spec.removeprefix(PYTHON_PREFIX).rpartition(":")[0]
    file = base / where if where.endswith(".py") else _module_file(where)
    if file is not None and file.is_file():
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        yield NamedPath("run", f"{spec}, which is {file.resolve()}", str(file.stat().st_uid), sha256)
    elif not spec.startswith(f"{PYTHON_PREFIX}{OBJECT_PREFIX}"):  # that is an object of this very process
        yield NamedPath("run", spec)


def _module_file(name: str) -> Path | None:
    """The file of a module, found without importing it or its packages."""
    places, found, parts = None, None, name.split(".")
    for end in range(1, len(parts) + 1) if all(parts) else ():
        found = PathFinder.find_spec(".".join(parts[:end]), places)
        places = found.submodule_search_locations if found is not None else []
    return Path(found.origin) if found is not None and found.origin else None


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif value is not None:
            yield key, value


def _texts(value: Any) -> list[str]:
    parts = value if isinstance(value, list | tuple) else (value,)
    return [text.strip() for part in parts if isinstance(part, str) for text in part.split(",")]


def _place(folder: Path) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "reeltalk" / "consent" / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"


def _read(folder: Path) -> dict[str, Any]:
    nothing: dict[str, Any] = {"named": [], "agreed": False}
    try:
        found: dict[str, Any] = nothing | json.loads(_place(folder).read_bytes())
        whole = found.get("all")
        is_other = whole and (whole, found["owner"]) != ((folder / MADE_HERE).read_text(), folder.stat().st_uid)
        return nothing if is_other else found
    except (OSError, ValueError, TypeError, KeyError, RuntimeError):
        return nothing


def _write(folder: Path, named: list[str], **more: Any) -> bool:
    mark = {"folder": str(folder), "named": [*dict.fromkeys(named)], "agreed": False, **more}
    # A home that is missing or read-only keeps no marks; then only what the command line names is used.
    with contextlib.suppress(BenchmarkError, OSError, RuntimeError):
        if mark != _read(folder):
            write_bytes(_place(folder), json.dumps(mark, indent=1).encode())
        return True
    return False
