"""The table of all commands. Running a command imports its module; an error is printed as one paragraph."""

import difflib
import errno
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

from cyclopts import App, CycloptsError, Group, UnknownCommandError
from cyclopts.command_spec import CommandSpec

from reeltalk._version import __version__
from reeltalk.errors import ReeltalkError, UnusableError

if TYPE_CHECKING:
    from pydantic import ValidationError

FINDINGS: Final = 1
USER_ERROR: Final = 2
INTERRUPTED: Final = 130
STORAGE: Final = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.ENAMETOOLONG, errno.ELOOP,
}  # fmt: skip
"""Errors of a disk or of its permissions. All other errors of the system are defects of reeltalk."""
EXAMPLE: Final = "Example: "
"""Start of the docstring paragraph that ends a command's help."""
COMMANDS: Final = {
    "Build": (
        ("fetch", "materials:fetch", "Source", "Download a published data set: resumable, every file hashed."),
        ("import", "materials:import_", "Import", "Read a published layout into a benchmark."),
        ("world", "world:world", "", "A simulated household that films itself: videos whose every fact is known."),
        ("curate", "materials:curate", "Downloads", "Filter videos, split them into clips and choose key frames."),
        ("attach", "materials:attach", "Videos", "Put video files into a benchmark that was imported without them."),
        ("media", "materials:media", "Transfer", "Keep a benchmark's media on an object store, or bring them back."),
        ("graph", "graphs:graph", "", "Activity graphs: curate, query, tell as text, write questions from them."),
        ("scenario", "graphs:scenario", "Scenario", "Compose, check or join scenarios of activities."),
        ("construct", "construction:construct", "Construction", "Write dialogues, links, paths and checklists."),
        ("tag", "tagging:tag", "", "Propose CogME's tags for turns that lack them."),
        ("review", "review:review", "", "Let people review every turn of a benchmark in a browser."),
        ("validate", "releases:validate", "Checks", "Check a benchmark or a run: files, references, times, splits."),
        ("freeze", "releases:freeze", "Release", "Write an immutable release with a card."),
        ("export", "releases:export", "Export", "Write a benchmark in a published layout or as training data."),
    ),
    "Evaluate": (
        ("evaluate", "evaluating:evaluate", "Evaluation", "Play a benchmark's dialogues to a model and judge them."),
        ("judge", "judging:judge", "Answers", "Judge answers that exist already, or attack a judge."),
        ("retry", "judging:retry", "Retry", "Ask again for what failed in a run, and nothing else."),
        ("score", "judging:score", "Scoring", "Score models' answers with text metrics."),
        ("chat", "chatting:chat", "Conversation", "Talk to a video while it plays."),
        ("proactive", "proactive:proactive", "", "Models that speak unasked: run a model, tune it, score it."),
        ("train", "training:train", "", "Train a streaming video-language model."),
    ),
    "Read": (
        ("report", "reporting:report", "Report", "Write runs, a benchmark or graphs as a static site or tables."),
        ("compare", "comparing:compare", "Comparison", "Is A better than B? Paired differences with intervals."),
        ("calibrate", "comparing:calibrate", "Calibration", "Compare judges and text metrics with people."),
        ("publish", "publishing:publish", "Publishing", "Send numbers to a tracker, or write them for the Hub."),
    ),
    "Projects": (
        ("demo", "projects:demo", "Demo", "Walk through all stages offline, in three minutes."),
        ("new", "projects:new", "Project", "Begin a project: a folder with one file of settings."),
        ("run", "projects:run_project", "Steps", "Run what has changed of a project."),
        ("status", "projects:status", "Project", "Show which steps of a project are done."),
    ),
    "Tools": (
        ("doctor", "doctor:doctor", "Checks", "Check this machine, benchmarks, runs and projects."),
        ("prompts", "prompts:prompts", "Prompts", "Show our prompts, or write them into a folder to change them."),
    ),
}  # fmt: skip
"""Every command by its group, in the order of use: name, function, title of its own options, summary."""


class _Command(CommandSpec):
    """A command whose module is imported when the command is used.

    The list of commands shows its line of the table; its own page shows its docstring, the example last.
    """

    def resolve(self, parent_app: App) -> App:
        """Import the command."""
        if self.is_resolved:
            return super().resolve(parent_app)
        summary, self.help = self.help, None
        found = super().resolve(parent_app)
        self.help = summary
        if not found.help:
            found.help = summary
        # A command with two names is one.
        inner = {id(found[name]): found[name] for name in found if not name.startswith("-")}
        for command in (found, *inner.values()):
            _put_example_last(command)
        return found


def _put_example_last(command: App) -> None:
    if command.default_command is None:
        return
    paragraphs = _description(command.help)
    command.help = "\n\n".join(text for text in paragraphs if not text.startswith(EXAMPLE))
    command.help_epilogue = "\n\n".join(text for text in paragraphs if text.startswith(EXAMPLE))
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
    group_arguments=Group("Arguments", sort_key=0),
    group_parameters=Group("Options", sort_key=100),
)
for _place, (_title, _rows) in enumerate(COMMANDS.items()):
    _group = Group(_title, sort_key=_place)
    # The last group also holds --help and --version.
    app.group_commands = _group
    for _order, (_name, _target, _own, _summary) in enumerate(_rows):
        app._commands[_name] = _Command(
            f"reeltalk.cli.{_target}",
            name=_name,
            help=_summary,
            group=_group,
            sort_key=_order,
            app_kwargs={"group_parameters": Group(_own, sort_key=1)} if _own else {},
        )


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 the user must act, 130 interrupted."""
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
    try:
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _complain(_usage_problem(error))
    except UnusableError as error:
        if tells_stops:
            raise
        _complain(str(error))
        return FINDINGS
    except ReeltalkError as error:
        return _complain(str(error))
    except OSError as error:
        if error.errno not in STORAGE:
            raise
        from reeltalk.store.atomic import storage_advice

        # Code that writes files reports its own errors; this catches the rest.
        place = error.filename or "the output or a file"
        return _complain(f"cannot read or write {place}: {error.strerror}; {storage_advice(error)}")
    except ModuleNotFoundError as error:
        # An installation may lack the code that trains models. Any other missing module is a defect or a missing extra.
        if (error.name or "").split(".")[:2] != ["reeltalk", "streaming"]:
            raise
        return _complain(
            "this installation lacks reeltalk.streaming, which this command needs; install reeltalk again: "
            "pip install --force-reinstall --no-deps reeltalk"
        )
    except KeyboardInterrupt:
        print("interrupted; nothing is half-written, run the same command to continue", file=sys.stderr)
        return INTERRUPTED
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


def _unknown_command(error: UnknownCommandError) -> str:
    given = (error.unused_tokens or [""])[0]
    known = [name for name in error.app or app if not name.startswith("-")]
    found = difflib.get_close_matches(given, known, n=1)
    return f'unknown command "{given}"' + (f'. Did you mean "{found[0]}"?' if found else "")


def _complain(message: str) -> int:
    # One paragraph: a file's name or a value may hold line feeds and control characters.
    line = "".join(c if c.isprintable() else " " for c in " ".join(message.split()))
    print(f"reeltalk: {line}", file=sys.stderr)
    return USER_ERROR
