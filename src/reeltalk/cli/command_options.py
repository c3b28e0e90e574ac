"""What the commands can be told, read from the commands themselves."""

import inspect
from collections.abc import Sequence

from cyclopts import Argument
from pydantic import BaseModel

from reeltalk.cli.app import app
from reeltalk.project.sections import REQUIRED, Command, Option


def command_of(words: Sequence[str]) -> Command:
    """A command with its options.

    Args:
        words: What is typed after `reeltalk`, as `world film`.
    """
    found = app
    for word in words:
        found = found[word]
    options: list[Option] = []
    settings: type[BaseModel] | None = None
    for argument in found.assemble_argument_collection(parse_docstring=True):
        if argument.names == ("*",):
            settings = argument.hint
            continue
        # What belongs to a settings model follows it; keys name the way into it.
        options.append(_option(argument, settings if argument.keys else None))
    help = " ".join((inspect.getdoc(found.default_command) or "").split("\n\n")[0].split())
    return Command(tuple(words), help, tuple(options))


def _option(argument: Argument, settings: type[BaseModel] | None) -> Option:
    field, name = argument.field_info, argument.names[0]
    flag = name if name.startswith("--") else None
    empty = inspect.Parameter.empty
    # Of many positional arguments each is one; the project gives them as a list.
    several = field.kind is inspect.Parameter.VAR_POSITIONAL
    negatives = [found for found in argument.names[1:] if found.startswith("--no-")]
    return Option(
        key=name.removeprefix("--").lower().replace("-", "_"),
        flag=flag,
        kind=argument.hint if several or field.annotation is empty else field.annotation,
        default=REQUIRED if field.default is empty else field.default,
        help=" ".join((argument.parameter.help or "").split()),
        negative=negatives[0] if negatives else None,
        settings=settings,
    )
