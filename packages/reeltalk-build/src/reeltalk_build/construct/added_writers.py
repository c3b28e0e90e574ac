"""Writers of other packages, which they name in the entry points `reeltalk.writers`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reeltalk.errors import SettingError
from reeltalk.plugins import added, load, needed
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.step import BlockWriting
from reeltalk_build.construct.writers import Writer


@dataclass(frozen=True)
class AddedWriter:
    """A writer that `construct --writer NAME` takes, by the name of its entry point."""

    create: Callable[[Benchmark, ConstructSettings, bool], Writer]
    """Creates it; the last argument is true if only paths are drawn, which needs nothing but chains and linkages."""
    blocks: BlockWriting | None = None
    """How it writes about many videos."""
    write_questions: Callable[..., Any] | None = None
    """Writes dialogues for `reeltalk graph questions`."""
    write_tasks: Callable[..., Any] | None = None
    """Writes streams for `reeltalk graph questions --proactive`."""


def find_writer(name: str) -> AddedWriter | None:
    """The writer that another package adds under a name; None for a model.

    Raises:
        SettingError: The package is not installed, or cannot be imported.
    """
    if name in added("reeltalk.writers"):
        found: AddedWriter = load("reeltalk.writers", name)
        return found
    if (problem := needed("reeltalk.writers", name)) is not None:
        raise SettingError(problem)
    return None
