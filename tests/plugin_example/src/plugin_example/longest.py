"""A command: `reeltalk longest RUN` prints the longest answer of each model.

The function's docstring is its help page. The parameters become the options; the text about each stands below
`Parameters`. This module is imported each time reeltalk starts, to list the command, so it imports what is slow inside
the function.
"""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from reeltalk.plugins import Command


def longest(run: Path, /, *, verbose: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Print the longest answer of each model in a run.

    Example: `reeltalk longest runs/first`.

    Parameters
    ----------
    run
        Folder that `reeltalk evaluate` wrote.
    verbose
        Print the question too.
    """
    from reeltalk.schema.answers import AnsweredTurn
    from reeltalk.store.runs import read_run

    found: dict[str, AnsweredTurn] = {}
    for turn in read_run(run).answers():
        if turn.model not in found or len(turn.text.split()) > len(found[turn.model].text.split()):
            found[turn.model] = turn
    for model, turn in found.items():
        print(f"{model}: {turn.text}" + (f" ({turn.question})" if verbose else ""))
    # The exit code: 0 done, 1 something was found, 2 the user must act.
    return 0


COMMAND: Final = Command(
    function="plugin_example.longest:longest",
    summary="Print the longest answer of each model.",
    group="Read",
)
"""An error that a user can fix is a `ReeltalkError`; reeltalk prints it as one sentence, with exit code 2."""
