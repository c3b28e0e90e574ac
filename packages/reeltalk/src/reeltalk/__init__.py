"""Build and run benchmarks of multi-turn dialogue about video.

The names below are public: `evaluate` and `compare` for a notebook, the records of a benchmark and of a run, and
`stages`, which holds the functions that make them, with every setting. Importing this package is cheap: each name is
imported on first use.
"""

from typing import TYPE_CHECKING, Any

from reeltalk._version import __version__

if TYPE_CHECKING:
    from reeltalk import stages
    from reeltalk.errors import ReeltalkError
    from reeltalk.notebook import compare, evaluate
    from reeltalk.schema.answers import Answer
    from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn
    from reeltalk.schema.intervals import Interval
    from reeltalk.schema.media import Clip, Video
    from reeltalk.schema.scoring import JudgedScore, Signature
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.content import Content
    from reeltalk.store.runs import Run, frames

__all__ = [
    "Answer",
    "Benchmark",
    "Clip",
    "Content",
    "Dialogue",
    "DialoguePath",
    "Interval",
    "JudgedScore",
    "Linkage",
    "QAChain",
    "ReeltalkError",
    "Run",
    "Signature",
    "Turn",
    "Video",
    "__version__",
    "compare",
    "evaluate",
    "frames",
    "stages",
]

_MODULES = {
    "Answer": "schema.answers",
    "Benchmark": "store.benchmark",
    "Clip": "schema.media",
    "Content": "store.content",
    "Dialogue": "schema.dialogue",
    "DialoguePath": "schema.dialogue",
    "Interval": "schema.intervals",
    "JudgedScore": "schema.scoring",
    "Linkage": "schema.dialogue",
    "QAChain": "schema.dialogue",
    "ReeltalkError": "errors",
    "Run": "store.runs",
    "Signature": "schema.scoring",
    "Turn": "schema.dialogue",
    "Video": "schema.media",
    "compare": "notebook",
    "evaluate": "notebook",
    "frames": "store.runs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    from importlib import import_module

    if name == "stages":
        return import_module("reeltalk.stages")
    if name not in _MODULES:
        raise AttributeError(f"module 'reeltalk' has no attribute {name!r}")
    found = getattr(import_module(f"reeltalk.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
