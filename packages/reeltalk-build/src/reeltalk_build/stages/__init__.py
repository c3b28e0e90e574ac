"""Curate and construct as functions, like `reeltalk.stages`. A name is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk_build.construct.settings import AskSettings, ConstructSettings
    from reeltalk_build.curate.settings import CurateSettings
    from reeltalk_build.stages.constructing import ConstructReport, construct
    from reeltalk_build.stages.curating import curate

__all__ = ["AskSettings", "ConstructReport", "ConstructSettings", "CurateSettings", "construct", "curate"]

_HOMES: Final = {
    "AskSettings": "reeltalk_build.construct.settings",
    "ConstructReport": "reeltalk_build.stages.constructing",
    "ConstructSettings": "reeltalk_build.construct.settings",
    "CurateSettings": "reeltalk_build.curate.settings",
    "construct": "reeltalk_build.stages.constructing",
    "curate": "reeltalk_build.stages.curating",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
