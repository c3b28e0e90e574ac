"""Film as a function, like `reeltalk.stages`. A name is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk_household.stages.filming import film
    from reeltalk_household.world.settings import FilmSettings

__all__ = ["FilmSettings", "film"]

_HOMES: Final = {
    "FilmSettings": "reeltalk_household.world.settings",
    "film": "reeltalk_household.stages.filming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
