"""The table of all commands. Running a command imports its module; an error is printed as one paragraph."""

import difflib
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from cyclopts import App, CycloptsError, Group, Parameter, UnknownCommandError
from cyclopts.argument import _collection
from cyclopts.argument.utils import extract_docstring_help
from cyclopts.command_spec import CommandSpec

from reeltalk._version import __version__
from reeltalk.cli import EXIT_INTERRUPTED, INTERRUPTED_TEXT
from reeltalk.cli.short_help import ARGUMENTS, FIRST_OPTIONS, HELP_ALL, shorten, show_all_options
from reeltalk.errors import ReeltalkError, UnusableError
from reeltalk.plugins import Command, added, loaded, not_imported, problem

if TYPE_CHECKING:
    from pydantic import ValidationError

EXIT_FINDINGS: Final = 1
EXIT_USER_ERROR: Final = 2
STORAGE_ERRORS: Final = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.ENAMETOOLONG, errno.ELOOP,
}  # fmt: skip
"""Errors of a disk or of its permissions. All other errors of the system are defects of reeltalk."""
EXAMPLE_PREFIX: Final = "Example: "
"""Start of the docstring paragraph that ends a command's help."""
GROUPS: Final = ("Build", "Evaluate", "Read", "Projects", "Tools")
"""Titles in the list of commands. Those of other packages follow."""
COMMAND_ORDER: Final = (
    *("import", "world", "curate", "attach", "media", "graph", "construct", "tag", "review"),
    *("validate", "freeze", "export", "evaluate", "judge", "retry", "score", "chat", "proactive", "train"),
    *("report", "compare", "calibrate", "demo", "new", "run", "status", "doctor", "prompts"),
)
"""Our commands, those of our other packages among them, in the order of use. A stranger's commands follow."""
COMMANDS: Final = {
    "Build": (
        ("import", "materials:import_", "Import", "Read a published layout into a benchmark."),
        ("attach", "materials:attach", "Videos", "Put video files into a benchmark that was imported without them."),
        ("media", "materials:media", "Transfer", "Keep a benchmark's media on an object store, or bring them back."),
        ("validate", "releases:validate", "Checks", "Check a benchmark or a run: files, references, times, splits."),
        ("freeze", "releases:freeze", "Release", "Write an immutable release with a card."),
        ("export", "releases:export", "Export", "Write a benchmark in a published layout or as training data."),
    ),
    "Evaluate": (
        ("evaluate", "evaluating:evaluate", "Evaluation", "Play a benchmark's dialogues to a model and judge them."),
        ("judge", "judging:judge", "Answers", "Judge answers that exist already, or attack a judge."),
        ("retry", "judging:retry", "Retry", "Ask again for what failed in a run, and nothing else."),
        ("score", "judging:score", "Scoring", "Score models' answers with text metrics."),
    ),
    "Read": (
        ("report", "reporting:report", "Report", "Write runs or a benchmark as a static site or tables."),
        ("compare", "comparing:compare", "Comparison", "Is A better than B? Paired differences with intervals."),
        ("calibrate", "comparing:calibrate", "Calibration", "Compare judges and text metrics with people."),
    ),
    "Tools": (
        ("doctor", "doctor:doctor", "Checks", "Check this machine, benchmarks, runs and projects."),
        ("prompts", "prompts:prompts", "Prompts", "Show our prompts, or write them into a folder to change them."),
    ),
}  # fmt: skip
"""Our own commands by group, in the order of use: name, function, title of its own options, summary."""


class _Command(CommandSpec):
    """A command whose module is imported when the command is used.

    The list of commands shows its line of the table; its own page shows its docstring, the example last.
    """

    def resolve(self, parent_app: App) -> App:
        """Import the command."""
        if self.is_resolved:
            return super().resolve(parent_app)
        summary, self.help = self.help, None
        point = added("reeltalk.commands").get(str(self.name))
        try:
            found = super().resolve(parent_app)
        except ReeltalkError:
            raise
        except Exception as error:
            if point is None or self.import_path.startswith("reeltalk."):
                raise
            raise not_imported(point, self.import_path, error.__cause__ or error) from error
        self.help = summary
        if not found.help:
            found.help = summary
        # A command with two names is one.
        inner = {id(found[name]): found[name] for name in found if not name.startswith("-")}
        for command in (found, *inner.values()):
            _put_example_last(command)
        if first := _first_options(str(self.name)):
            shorten(found, str(self.name), first)
        return found


def _descriptions(described: Callable[..., Any]) -> dict[tuple[str, ...], Parameter]:
    # The fields of settings hold their descriptions. cyclopts would parse the sources of each model too and, each time,
    # those of pydantic, which takes a quarter of a second.
    return {} if isinstance(described, type) else extract_docstring_help(described)


vars(_collection).update(extract_docstring_help=_descriptions)


def _first_options(name: str) -> tuple[str, ...]:
    return FIRST_OPTIONS.get(name) or next(
        (added_one.first for other, added_one in _added().items() if other == name), ()
    )


def _put_example_last(command: App) -> None:
    if command.default_command is None:
        return
    paragraphs = _description(command.help)
    command.help = "\n\n".join(text for text in paragraphs if not text.startswith(EXAMPLE_PREFIX))
    command.help_epilogue = "\n\n".join(text for text in paragraphs if text.startswith(EXAMPLE_PREFIX))
    command.help_format = "markdown"


def _description(docstring: str) -> list[str]:
    """The paragraphs of a docstring that come before its parameters."""
    text = docstring.partition("\n    Parameters\n")[0]
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


app = App(
    name="reeltalk",
    help="Build and run benchmarks of multi-turn dialogue about video. `reeltalk help COMMAND` shows a command.",
    version=__version__,
    help_format="plaintext",
    # `run` reports the result.
    suppress_keyboard_interrupt=False,
    group_arguments=Group(ARGUMENTS, sort_key=0),
    group_parameters=Group("Options", sort_key=100),
)


def _place(name: str) -> int:
    return COMMAND_ORDER.index(name) if name in COMMAND_ORDER else len(COMMAND_ORDER)


@cache
def _added() -> dict[str, Command]:
    found: dict[str, Command] = loaded("reeltalk.commands", Command)
    return found


def _add_commands() -> None:
    groups = {title: Group(title, sort_key=place) for place, title in enumerate(GROUPS)}
    # The last group also holds --help and --version.
    app.group_commands = groups[GROUPS[-1]]
    found = dict(_added())
    for group, rows in COMMANDS.items():
        found |= {name: Command(f"reeltalk.cli.{to}", text, group, own) for name, to, own, text in rows}
    for name in sorted(found, key=_place):
        command = found[name]
        app._commands[name] = _Command(
            command.function,
            name=name,
            help=command.summary,
            group=groups.setdefault(command.group, Group(command.group, sort_key=len(groups))),
            sort_key=_place(name),
            app_kwargs={"group_parameters": Group(command.options, sort_key=1)} if command.options else {},
        )


_add_commands()


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 the user must act, 130 interrupted by Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = run(sys.argv[1:])
        # A reader such as `head` may have closed the pipe; this raises the error here, where it is handled.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # The output was written to a file, and the disk is full.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _complain(f"cannot write the output: {error.strerror}; free some space and run the command again")
    signal.setitimer(signal.ITIMER_REAL, 0)
    # The work is done: from here on a signal ends the process at once, without a traceback of what is being torn down.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    # Without this Python looks for cycles in all imported modules before it exits, which takes a third of a second.
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str], *, tells_stops: bool = False) -> int:
    """Run one command.

    Args:
        arguments: The words after `reeltalk`.
        tells_stops: Raise `UnusableError`, for a caller that goes on after exit code 1.

    Returns:
        The exit code.

    Raises:
        UnusableError: A model's replies stopped the command, and `tells_stops` is true.
    """
    words = list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    show_all_options(HELP_ALL in words)
    words = ["--help" if word == HELP_ALL else word for word in words]
    try:
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _complain(_absent_command(words) or _usage_problem(error))
    except UnusableError as error:
        if tells_stops:
            raise
        _complain(str(error))
        return EXIT_FINDINGS
    except ReeltalkError as error:
        return _complain(str(error))
    except OSError as error:
        if error.errno not in STORAGE_ERRORS:
            raise
        from reeltalk.store.atomic import storage_advice

        # Code that writes files reports its own errors; this catches the rest.
        place = error.filename or "the output or a file"
        return _complain(f"cannot read or write {place}: {error.strerror}; {storage_advice(error)}")
    except KeyboardInterrupt:
        print(INTERRUPTED_TEXT, file=sys.stderr)
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else 0


def command_names() -> Iterator[tuple[str, ...]]:
    """The words of every command that runs something, such as `("world", "film")`. Imports all their modules.

    A command with two names comes once, by its first name.
    """
    for name in (name for name in app if not name.startswith("-")):
        if app[name].default_command is not None:
            yield (name,)
        verbs = {id(app[name][verb]): verb for verb in reversed([*app[name]]) if not verb.startswith("-")}
        yield from ((name, verb) for verb in reversed(verbs.values()))


def _usage_problem(error: CycloptsError) -> str:
    """What is wrong with a command line, the nearest name, and the page to read."""
    words = " ".join(("reeltalk", *(error.command_chain or ())))
    cause = error.__cause__ or error.__context__
    if cause is not None and type(cause).__module__.startswith("pydantic"):
        from reeltalk.schema.settings import setting_problem

        text = setting_problem(cast("ValidationError", cause))
    elif isinstance(error, UnknownCommandError):
        text = _unknown_command(error)
    else:
        text = " ".join(str(error).split()).rstrip(".")
    problem = text[:1].lower() + text[1:]
    return f"{problem} See '{words} --help'" if problem.endswith("?") else f"{problem}; see '{words} --help'"


def _absent_command(words: Sequence[str]) -> str | None:
    """Why the command of a package is not there: it is not installed, or cannot be imported; else None."""
    return problem("reeltalk.commands", words[0], Command) if words and words[0] not in app else None


def _unknown_command(error: UnknownCommandError) -> str:
    given = (error.unused_tokens or [""])[0]
    known = [name for name in error.app or app if not name.startswith("-")]
    found = difflib.get_close_matches(given, known, n=1)
    return f'unknown command "{given}"' + (f'. Did you mean "{found[0]}"?' if found else "")


def _complain(message: str) -> int:
    # One paragraph: a file's name or a value may hold line feeds and control characters.
    line = "".join(c if c.isprintable() else " " for c in " ".join(message.split()))
    print(f"reeltalk: {line}", file=sys.stderr)
    return EXIT_USER_ERROR
