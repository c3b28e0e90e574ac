"""Commands on projects."""

import functools
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Argument, Parameter
from pydantic import BaseModel

from reeltalk._version import __version__
from reeltalk.cli.options import PLAN, TrustOption
from reeltalk.cli.terminal import ask_consent, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.plugins import needed
from reeltalk_build.curate.settings import PRESETS, CurateSettings
from reeltalk_build.project.sections import REQUIRED, CommandSpec, Option

if TYPE_CHECKING:
    from reeltalk_build.project.reading import ProjectFile
    from reeltalk_build.project.sections import CommandSpec
    from reeltalk_build.project.steps import ProjectStep

PROJECT_FILE = Path("project.yaml")
STEP_NAMES = Parameter(negative="")


def new(name: Path, /, *, template: Literal["household", "videos", "published"] = "household") -> int:
    """Begin a project: a folder with one file, project.yaml, that holds every setting of every stage.

    Example: `reeltalk new kitchen`, then `cd kitchen` and `reeltalk run`, which ends in a report.

    Parameters
    ----------
    name
        Folder to create; its last part is the name of the benchmark.
    template
        household films its own videos and runs without changes; videos is for your own files; published imports a
        published benchmark.
    """
    from reeltalk.store.atomic import storage_errors, write_bytes
    from reeltalk.store.consent import mark_made
    from reeltalk_build.project.reading import NAME
    from reeltalk_build.project.writing import TEMPLATES, project_text

    called = name.resolve().name
    if not NAME.fullmatch(called):
        raise SettingError(f"{called!r}: a project's name is letters, digits, '.', '_' and '-'")
    file = name / PROJECT_FILE
    if file.exists():
        raise BenchmarkError(f"{file} exists; choose another name")
    with storage_errors(name):
        name.mkdir(parents=True, exist_ok=True)
    # The file last: where it is, the same command would refuse.
    mark_made(name)
    write_bytes(file, project_text(TEMPLATES[template], called, section_commands()).encode())
    print(f"project: {file}")
    say(f"next: cd {name}, look at {PROJECT_FILE}, then reeltalk run")
    return 0


def run_project(
    project: Path = PROJECT_FILE,
    /,
    *,
    only: Annotated[tuple[str, ...], STEP_NAMES] = (),
    since: Annotated[str | None, Parameter(name="--from")] = None,
    force: Annotated[tuple[str, ...], STEP_NAMES] = (),
    plan: Annotated[bool, PLAN] = False,
    trust: TrustOption = False,
) -> int:
    """Run the steps of a project that have changed. Each step is one command, which is printed before it runs.

    A step runs again only if its settings, the version of reeltalk, or the content of its inputs changed. Run it again
    to continue after an interruption. Exit code 1 if a step has findings.

    Example: `reeltalk run`, or `reeltalk run kitchen/project.yaml --force evaluate:blind`.

    Parameters
    ----------
    project
        File of the project.
    only
        Run only this step, such as construct or evaluate:blind, or all steps of this section. May be repeated.
    since
        Skip the steps before this one.
    force
        Run this step even if nothing changed. May be repeated.
    plan
        Print the steps that would run and why, and forecast their requests and cost; run nothing, and no code.
    """
    if plan:
        if only or since or force:
            raise SettingError("--plan looks at all steps; leave out --only, --from and --force")
        return _plan_run(project)
    from reeltalk.cli.commands import run
    from reeltalk.store.consent import check_consent
    from reeltalk_build.project.running import Runner, StepChoice
    from reeltalk_build.project.steps import named_by_project

    read, steps = project_steps(project)
    check_consent(read.folder, named_by_project(read, steps), trust or ask_consent)
    runner = Runner(read.folder, functools.partial(run, tells_stops=True), say, version=__version__)
    code = runner.run(steps, StepChoice(tuple(only), since, tuple(force)))
    folder = project if project.is_dir() else project.parent
    for step in steps if not only else ():
        # A report that was just written has printed its own path, relative to the project.
        is_told = step.name in runner.ran and read.folder == Path.cwd()
        if code in (0, 1) and step.section == "report" and not is_told and step.whole(read.folder):
            print(f"report: {folder / step.result / 'index.html'}")
    return code


def _plan_run(project: Path) -> int:
    from reeltalk.cli.commands import run
    from reeltalk_build.project.records import Fingerprints, read_records
    from reeltalk_build.project.running import step_statuses, tell_plan

    read, steps = project_steps(project)
    folder, records = read.folder, read_records(read.folder)
    found = step_statuses(steps, records, Fingerprints(folder, dict(records.files)), folder, __version__)
    return tell_plan(steps, found, folder, run, lambda line: print(line, flush=True))


def status(project: Path = PROJECT_FILE, /) -> int:
    """Show which steps of a project are done, out of date or failed, and where their results are.

    Exit code 1 if a step must still run.

    Example: `reeltalk status kitchen/project.yaml`.

    Parameters
    ----------
    project
        File of the project.
    """
    from reeltalk_build.project.running import status_lines

    read, steps = project_steps(project)
    lines, done = status_lines(steps, read.folder, __version__)
    for line in lines:
        print(line)
    return 0 if done else 1


def project_steps(project: Path) -> "tuple[ProjectFile, tuple[ProjectStep, ...]]":
    """A project, by its full path, and its steps. A folder means its project file."""
    from reeltalk_build.project.reading import read_project
    from reeltalk_build.project.steps import steps_of_project

    file = (project / PROJECT_FILE if project.is_dir() else project).resolve()
    commands = section_commands()
    read = read_project(file, commands)
    return read, steps_of_project(read, commands)


@functools.cache
def section_commands() -> "dict[str, CommandSpec]":
    """The command of each section of a project file, by the section's name."""
    from reeltalk.cli.commands import app
    from reeltalk_build.project.sections import SECTIONS

    there = [section for section in SECTIONS.values() if section.command[0] in app]
    return _Commands({section.name: command_of(section.command) for section in there})


class _Commands(dict[str, CommandSpec]):
    """Those of the packages that are installed; an error about another one says which to install."""

    def __missing__(self, section: str) -> CommandSpec:
        from reeltalk_build.project.sections import SECTIONS

        raise SettingError(needed("reeltalk.commands", SECTIONS[section].command[0]) or f"no command for {section}")


def command_of(words: Sequence[str]) -> CommandSpec:
    """A command with its options.

    Args:
        words: What is typed after `reeltalk`, such as `world film`.
    """
    from reeltalk.cli.commands import app

    found = app
    for word in words:
        found = found[word]
    options: list[Option] = []
    settings: type[BaseModel] | None = None
    for argument in found.assemble_argument_collection(parse_docstring=True):
        if argument.names == ("*",):
            settings = argument.hint
            continue
        # The fields of a settings model follow it; `keys` is the path of a field in the model.
        options.append(_option(argument, settings if argument.keys else None))
    help = " ".join((inspect.getdoc(found.default_command) or "").split("\n\n")[0].split())
    return CommandSpec(tuple(words), help, tuple(options))


def _option(argument: Argument, settings: type[BaseModel] | None) -> Option:
    field, name = argument.field_info, argument.names[0]
    flag = name if name.startswith("--") else None
    empty = inspect.Parameter.empty
    # Each positional argument is a separate one on the command line; a project gives them as a list.
    several = field.kind is inspect.Parameter.VAR_POSITIONAL
    negatives = [found for found in argument.names[1:] if found.startswith("--no-")]
    key = name.removeprefix("--").lower().replace("-", "_")
    is_curation = settings is not None and issubclass(settings, CurateSettings)
    return Option(
        key=key,
        flag=flag,
        kind=argument.hint if several or field.annotation is empty else field.annotation,
        default=REQUIRED if field.default is empty else field.default,
        help=" ".join((argument.parameter.help or "").split()),
        negative=negatives[0] if negatives else None,
        settings=settings,
        set_by_preset=is_curation and any(key in preset for preset in PRESETS.values()),
    )
