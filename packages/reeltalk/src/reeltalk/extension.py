"""Load the user's own functions and classes, which the command line names after `python:`.

They run with all the user's rights, like every imported module.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple

from reeltalk.errors import ReeltalkError, SettingError

PYTHON_PREFIX: Final = "python:"
"""Prefix of such a name, for options that also take other names."""


class UserObject(NamedTuple):
    """An object of a user's class."""

    object: Any
    class_name: str
    sha256: str
    """First digits of the hash of the class's file."""


class UserFunction(NamedTuple):
    """A user's function."""

    function: Callable[..., Any]
    name: str
    sha256: str
    """First digits of the hash of the function's file."""


def loaded_function(spec: str) -> UserFunction:
    """Load the function that `spec` names.

    Args:
        spec: `package.module:function` or `path/to/file.py:function`.

    Raises:
        SettingError: There is no such function.
    """
    module, name = _loaded(spec)
    found = getattr(module, name, None)
    if not callable(found) or inspect.isclass(found):
        raise SettingError(f"{spec}: {module.__name__} has no function {name!r}; give MODULE:FUNCTION")
    return UserFunction(found, name, _hash_of(module))


def loaded_class(spec: str) -> type[Any]:
    """Load the class that `spec` names.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`.

    Raises:
        SettingError: There is no such class.
    """
    module, class_name = _loaded(spec)
    return _class_of(module, class_name, spec)


OBJECT_PREFIX: Final = "given:"
"""Begins the name of an object of this process, behind `PYTHON_PREFIX`."""
_given: dict[str, tuple[object, str, str]] = {}


def given_spec(found: object) -> str:
    """A name for a class, an object or a function of this process, by which it is opened as those of a file.

    It holds a hash of the code, so that changed code is another model.

    Raises:
        SettingError: A class cannot be made without arguments.
    """
    made = made_object(found, found.__qualname__) if inspect.isclass(found) else found
    code = found if inspect.isclass(found) or inspect.isroutine(found) else type(found)
    own = getattr(made, "name", None)
    name = own if isinstance(own, str) and own else getattr(code, "__name__", type(made).__name__)
    try:
        source = inspect.getsource(code).encode()
    except (OSError, TypeError):
        # Code that was typed has no file.
        compiled = getattr(code, "__code__", None)
        source = compiled.co_code if compiled is not None else repr(code).encode()
    sha256 = hashlib.sha256(source).hexdigest()[:8]
    if not hasattr(made, "answer") and callable(made):
        made = SimpleNamespace(answer=made, name=name)
    spec = f"{OBJECT_PREFIX}{name}-{sha256}"
    _given[spec] = (made, name, sha256)
    return PYTHON_PREFIX + spec


def made_of(spec: str, *arguments: object, needs: tuple[str, ...] = ()) -> UserObject:
    """Make an object of the class that `spec` names.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`.
        arguments: Arguments of the class.
        needs: Attributes and methods that the object must have.

    Raises:
        SettingError: There is no such class, it cannot be made, or it lacks one of `needs`.
    """
    if spec.startswith(OBJECT_PREFIX):
        if spec not in _given:
            raise SettingError(
                f"{spec.removeprefix(OBJECT_PREFIX)} is an object of another process; run the cell that evaluates it"
            )
        return UserObject(*_given[spec])
    module, class_name = _loaded(spec)
    made = made_object(_class_of(module, class_name, spec), spec, *arguments)
    check_has(made, spec, needs)
    return UserObject(made, class_name, _hash_of(module))


def check_has(made: object, spec: str, needs: tuple[str, ...]) -> None:
    """Raise if an object of a user's class lacks attributes or methods.

    Raises:
        SettingError: It lacks some.
    """
    missing = [name for name in needs if not hasattr(made, name)]
    if missing:
        raise SettingError(f"{spec}: the class has no {', '.join(missing)}; it needs {', '.join(needs)}")


def made_object(found: type[Any], spec: str, *arguments: object) -> Any:
    """Make an object of a user's class.

    Raises:
        SettingError: It cannot be made.
    """
    try:
        return found(*arguments)
    except ReeltalkError:
        raise
    except Exception as error:
        how, hint = (
            (f"with {len(arguments)} arguments", "fix the class")
            if arguments
            else ("without arguments", "give its arguments defaults")
        )
        raise SettingError(f"{spec}: the class cannot be made {how}: {error_line(error)}; {hint}") from error


def error_line(error: BaseException) -> str:
    """Describe an error of a user's code in one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _hash_of(module: ModuleType) -> str:
    source = getattr(module, "__file__", None)
    if not source or not Path(source).is_file():
        return "built-in"
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()[:8]


def _class_of(module: ModuleType, class_name: str, spec: str) -> type[Any]:
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        raise SettingError(f"{spec}: {module.__name__} has no class {class_name!r}; give MODULE:CLASS")
    return found


def _loaded(spec: str) -> tuple[ModuleType, str]:
    where, colon, name = spec.rpartition(":")
    if not colon or not where or not name:
        raise SettingError(
            f"{spec!r} is not the name of a function or class; give package.module:NAME or path/to/file.py:NAME"
        )
    try:
        return (_from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)), name
    except SettingError:
        raise
    except ModuleNotFoundError as error:
        hint = "install it, or give the path of its file" if error.name == where.split(".")[0] else "install it"
        raise SettingError(f"{spec}: {error}; {hint}") from error
    except Exception as error:
        raise SettingError(f"{spec} cannot be imported: {error_line(error)}; fix the module") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingError(f"{path}: no such file; give the path of a Python file, or package.module:NAME")
    name = f"reeltalk_extension_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    # Dataclasses look up their module while they are made.
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
