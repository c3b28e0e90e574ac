"""The sections of a project file: which command each becomes, and what the project fills in by itself.

They are run in the order in which they stand here, whatever their order in the file.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Section:
    """One section of a project file."""

    name: str
    command: tuple[str, ...]
    """What is typed after `reeltalk`."""
    filled: frozenset[str]
    """Options that the project fills in: where the stages meet on disk."""


def _section(name: str, command: str, *filled: str) -> Section:
    return Section(name, tuple(command.split()), frozenset(filled) | {"overwrite"})


SECTIONS: Final = {
    section.name: section
    for section in (
        _section("fetch", "fetch"),
        _section("film", "world film", "into"),
        _section("curate", "curate", "into"),
        _section("import", "import", "benchmark"),
        _section("construct", "construct", "benchmark"),
        _section("evaluate", "evaluate", "benchmark", "out"),
        _section("judge", "judge", "sources", "out", "bench", "format"),
        _section("compare", "compare", "runs", "out"),
        _section("report", "report", "runs", "out", "bench", "format"),
        _section("release", "freeze", "benchmark", "release"),
    )
}
SOURCES: Final = ("film", "curate", "import")
"""Sections that begin the benchmark; a project has one of them, or none for a benchmark that exists."""
SHARED: Final = {
    "workers": "Videos that are worked on at a time, in all sections; by default as each section says.",
    "executor": "Where the work is done, in all sections; by default as each section says.",
}
"""Options that may stand once for all sections, at the top of the file, and what they mean there."""
MODELS: Final = "models"
"""The key of `evaluate` that names the models, each of which is a run."""
HOW: Final = frozenset(
    {
        *("workers", "processes", "executor", "connections", "timeout_s", "max_retries", "backoff_s", "replies"),
        *("base_url", "api_key_env", "judge_base_url", "judge_api_key_env", "accept_licence"),
        *("price_in", "price_out", "judge_price_in", "judge_price_out", "max_calls", "max_tokens", "max_cost"),
    }
)
"""Options that say how a step is done and not what comes of it: where one changes, nothing is run again."""
READ: Final = frozenset({"videos", "source"})
"""Options that name what is read, also where their type is text, as it may be an address on an object store."""
WRITTEN: Final = frozenset({"into", "out", "replies"})
"""Options that name what a command writes; all other paths are read."""
