"""Commands on projects: begin one, run what changed, say how far it is."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from reeltalk import __version__
from reeltalk.cli.app import app, run, say
from reeltalk.cli.construction import plan
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.project.reading import Project
    from reeltalk.project.sections import Command
    from reeltalk.project.steps import Step

PROJECT_FILE = Path("project.yaml")
STEP_NAMES = Parameter(negative="")


@app.command(sort_key=0)
def new(name: Path, /, *, template: Literal["household", "videos", "published"] = "household") -> int:
    """Begin a project: a folder with one file, project.yaml, in which every setting of every stage stands.

    Example: `reeltalk new kitchen`, then `cd kitchen` and `reeltalk run`, which ends in a report.

    Parameters
    ----------
    name
        Folder that appears; its last part is the name of the benchmark.
    template
        household films itself and runs as it stands; videos is for files of your own; published imports a benchmark
        that others released.
    """
    from reeltalk.project.reading import NAME
    from reeltalk.project.sections import schema_of
    from reeltalk.project.writing import SCHEMA, TEMPLATES, project_text
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.documents import write_json

    called = name.resolve().name
    if not NAME.fullmatch(called):
        raise SettingError(f"{called!r}: a project's name is letters, digits, '.', '_' and '-'")
    file = name / PROJECT_FILE
    if file.exists():
        raise BenchmarkError(f"{file} exists; choose another name")
    commands = section_commands()
    write_bytes(name / SCHEMA, write_json(schema_of(commands)).encode())
    write_bytes(file, project_text(TEMPLATES[template], called, commands).encode())
    print(f"project: {file}")
    say(f"next: cd {name}, look at {PROJECT_FILE}, then reeltalk run")
    return 0


@app.command(name="run", sort_key=0)
def run_project(
    project: Path = PROJECT_FILE,
    /,
    *,
    only: Annotated[tuple[str, ...], STEP_NAMES] = (),
    since: Annotated[str | None, Parameter(name="--from")] = None,
    force: Annotated[tuple[str, ...], STEP_NAMES] = (),
) -> int:
    """Run what has changed of a project: each step is one command, shown before it runs.

    Example: `reeltalk run`, or `reeltalk run kitchen/project.yaml --force evaluate:blind`. A step runs again only where
    its settings, reeltalk, or the content of what it reads changed. Run it again to go on after an interruption. Exit
    code 1 where a step has findings.

    Parameters
    ----------
    project
        File of the project.
    only
        A step, as construct or evaluate:blind, or a section with all its steps: nothing else is run. May be repeated.
    since
        A step: those before it are not looked at.
    force
        A step that is made anew though nothing changed. May be repeated.
    """
    from reeltalk.project.running import Chosen, Runner

    read, steps = project_steps(project)
    runner = Runner(read.folder, run, say, version=__version__)
    code = runner.run(steps, Chosen(tuple(only), since, tuple(force)))
    folder = project if project.is_dir() else project.parent
    for step in steps if not only else ():
        # A report that was written now has said where it lies, seen from the project.
        is_told = step.name in runner.ran and read.folder == Path.cwd()
        if code in (0, 1) and step.section == "report" and not is_told and step.whole(read.folder):
            print(f"report: {folder / step.result / 'index.html'}")
    return code


@plan.command(name="run")
def plan_run(project: Path = PROJECT_FILE, /) -> int:
    """Say what `reeltalk run` would run and why, and forecast what its steps would ask and cost; runs nothing.

    Example: `reeltalk plan run kitchen/project.yaml`

    Parameters
    ----------
    project
        File of the project.
    """
    from reeltalk.cli.command_options import command_of
    from reeltalk.project.forecasting import FORECAST, tell_plan
    from reeltalk.project.records import Fingerprints, read_records
    from reeltalk.project.running import standings

    read, steps = project_steps(project)
    folder, records = read.folder, read_records(read.folder)
    found = standings(steps, records, Fingerprints(folder, dict(records.files)), folder, __version__)
    plans = {name: command_of(("plan", name)) for name in FORECAST}
    return tell_plan(steps, found, folder, plans, run, lambda line: print(line, flush=True))


@app.command(sort_key=0)
def status(project: Path = PROJECT_FILE, /) -> int:
    """Say which steps of a project are done, out of date or failed, and where their results are.

    Example: `reeltalk status kitchen/project.yaml`. Exit code 1 where a step is still to be run.

    Parameters
    ----------
    project
        File of the project.
    """
    from reeltalk.project.forecasting import status_lines

    read, steps = project_steps(project)
    lines, done = status_lines(steps, read.folder, __version__)
    for line in lines:
        print(line)
    return 0 if done else 1


def project_steps(project: Path) -> "tuple[Project, tuple[Step, ...]]":
    """The project, by its full path, and its steps; a folder stands for the file in it."""
    from reeltalk.project.reading import read_project
    from reeltalk.project.steps import steps_of

    file = (project / PROJECT_FILE if project.is_dir() else project).resolve()
    commands = section_commands()
    read = read_project(file, commands)
    return read, steps_of(read, commands)


@functools.cache
def section_commands() -> "dict[str, Command]":
    """The command of each section of a project file, by the section's name."""
    from reeltalk.cli.command_options import command_of
    from reeltalk.project.sections import SECTIONS

    return {section.name: command_of(section.command) for section in SECTIONS.values()}
