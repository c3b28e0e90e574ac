"""The errors of reeltalk, as one tree.

    ReeltalkError                 the user must act; the command line prints it as one paragraph, exit code 2
    ├── InputError                a file that was read is not what it should be; names file and place
    ├── BenchmarkError            a benchmark or run on disk cannot be used for the requested work
    │   ├── FrozenError           a release is immutable
    │   └── BrokenInvariantError  records contradict each other
    ├── MissingExtraError         an optional dependency is not installed; names the command that installs it
    ├── MissingToolError          a program outside Python is needed and was not found
    ├── RemoteError               an object store or web server failed, refused, or holds the wrong content
    ├── ModelError                a language model could not be reached, refused, or answered with nothing
    ├── ClusterError              a cluster cannot be joined, or a node of it lacks what the work needs
    ├── OutageError               a model's server failed so often in a row that the command stops
    │   └── UnusableError         a model's first replies could not be used; exit code 1
    ├── BudgetError               the budget for language models is spent
    └── SettingError              an option or a setting has a value that cannot be used

Programming errors stay `TypeError` and `ValueError` and keep their traceback.
"""

from pathlib import Path
from typing import Literal

FailureKind = Literal[
    "connection", "access", "not-found", "invalid", "quota", "busy", "server", "time-out", "request", "content",
    "reply", "empty", "other",
]  # fmt: skip
"""How a server failed, in this order: it was not reached; it refuses the key; it has no such model or path; it refuses
with another 4xx; no money or quota is left; 429; 5xx; no reply in time; for this request alone, which is too long; its
content is refused; a reply that cannot be used; a reply without a word; anything else."""

OF_ONE_REQUEST = "this request alone"
"""Marks the reason of a failure of kind `request`: asking the same again gives the same."""

SHOWN_VALUE_CHARS = 80


class ReeltalkError(Exception):
    """An error that the user can fix. The message says what is wrong, where it is, and what to do next."""


class InputError(ReeltalkError):
    """The content of a file does not match its format.

    Args:
        problem: What is wrong, in lower case, without a final full stop.
        file: The file it was found in.
        line: Line number, from 1, if the file is read by lines or could not be parsed.
        place: The place inside the document, as a JSON path (`$[3].turns[0].question`) or column name.
        value: The offending value; shown shortened.
        hint: What to do next.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str,
        line: int | None = None,
        place: str | None = None,
        value: object = None,
        hint: str | None = None,
    ) -> None:
        self.problem, self.file, self.line = problem, Path(file), line
        self.place, self.value, self.hint = place, value, hint
        where = f"{file}:{line}" if line is not None else f"{file}"
        if place:
            where += f" at {place}"
        shown = f", got {shorten(value)}" if value is not None else ""
        super().__init__(f"{problem}{shown} ({where})" + (f"; {hint}" if hint else ""))


class BenchmarkError(ReeltalkError):
    """A benchmark or run on disk cannot be used for the requested work."""


class FrozenError(BenchmarkError):
    """A release is immutable; a correction is a new release."""


class BrokenInvariantError(BenchmarkError):
    """Records of a benchmark contradict each other."""


class MissingExtraError(ReeltalkError):
    """An optional dependency is not installed.

    Args:
        purpose: What needs it.
        extra: The extra that installs it.
        of: Our package that has the extra.
        package: The package itself, if no extra installs it.
    """

    def __init__(
        self, purpose: str, *, extra: str | None = None, of: str = "reeltalk", package: str | None = None
    ) -> None:
        needed = f"the '{extra}' extra" if extra else f"the package '{package}'"
        install = f"'{of}[{extra}]'" if extra else package
        super().__init__(f"{purpose} needs {needed}; install it with: pip install {install}")


class MissingToolError(ReeltalkError):
    """A program or file outside Python is needed and was not found."""


class RemoteError(ReeltalkError):
    """An object store or a web server could not be reached, refused, or holds the wrong content.

    Args:
        message: What is wrong, where, and what to do next.
        passing: True if it may help to try again.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class ModelError(ReeltalkError):
    """A language model could not be reached, refused, or answered with nothing.

    Args:
        message: What is wrong, where, and what to do next.
        kind: How its server failed.
    """

    def __init__(self, message: str, *, kind: FailureKind = "other") -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class OutageError(ReeltalkError):
    """A model's server failed so often in a row that the command stops.

    The same command continues from stored replies. Like `BudgetError`, it ends the whole command. A
    `ModelError` ends only one turn.
    """


class UnusableError(OutageError):
    """The first replies of a model could not be used, so the command stops. The command line exits with 1."""


class ClusterError(ReeltalkError):
    """A cluster cannot be joined, or a node of it lacks what the work needs."""


class BudgetError(ReeltalkError):
    """The budget for language models is spent. A run with a larger budget continues from the stored replies."""


class SettingError(ReeltalkError):
    """An option or a setting has a value that cannot be used."""


def shorten(value: object) -> str:
    """Format a value for an error, as one line of at most `SHOWN_VALUE_CHARS` characters."""
    # A huge string is cut before repr, so that an error about a 1 GB value stays cheap.
    text = repr(value[: 2 * SHOWN_VALUE_CHARS] if isinstance(value, str | bytes) else value)
    return text if len(text) <= SHOWN_VALUE_CHARS else text[: SHOWN_VALUE_CHARS - 1] + "…"
