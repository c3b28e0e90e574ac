"""The steps of a project: each has one command line, its inputs, and the path of its result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from reeltalk.store.consent import NamedPath, named_in_settings, named_path
from reeltalk.store.event_log import EVENT_LOG
from reeltalk.store.manifest import MANIFEST
from reeltalk.store.remote import is_address
from reeltalk.store.runs import INFO
from reeltalk_build.project.reading import ProjectFile, Values, refuse_same_results
from reeltalk_build.project.sections import INPUTS, NEUTRAL, OUTPUTS, SOURCES, WRITING_SECTIONS, CommandSpec

RUNS: Final = "runs"
REPLIES: Final = f"{RUNS}/replies.sqlite"
"""Replies of all runs, so that a repeated run does not pay for a request twice."""
REPORT: Final = "report"
STREAMS: Final = "streams"
STREAMS_REPORT: Final = "streams-report"
COMPARISONS: Final = {"text": "txt", "json": "json", "csv": "csv", "latex": "tex", "markdown": "md"}
Result = Literal["benchmark", "run", "stream", "site", "file", "folder"]
COMPLETE_FILES: Final[dict[Result, str]] = {
    **{"benchmark": MANIFEST, "run": INFO, "stream": EVENT_LOG, "site": "index.html"},
    **{"file": "", "folder": ""},
}
"""The file that marks a result as complete; the result itself if there is none."""


@dataclass(frozen=True)
class StepInput:
    """Something that a step reads."""

    path: str
    drafts: bool = True
    """Whether constructed and reviewed parts of a benchmark count too. False for `construct`, which writes them."""


@dataclass(frozen=True)
class ProjectStep:
    """One command line of a project."""

    name: str
    """Its name, such as `evaluate:blind`."""
    section: str
    words: tuple[str, ...]
    """The words between `reeltalk` and the options."""
    options: tuple[tuple[str, tuple[str, ...]], ...]
    """Options by key, each as words of a command line."""
    reads: tuple[StepInput, ...]
    result: str
    """Path of its result, relative to the project's folder."""
    kind: Result
    replaces: bool
    """Whether the command needs --overwrite to make its result again."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after `reeltalk`."""
        return (*self.words, *(word for _, words in self.options for word in words))

    @property
    def decides(self) -> tuple[str, ...]:
        """The parts of the command line that determine the result, as records store them."""
        return (" ".join(self.words), *(" ".join(words) for key, words in self.options if key not in NEUTRAL))

    def whole(self, folder: Path) -> bool:
        """Whether its result is complete."""
        return (folder / self.result / COMPLETE_FILES[self.kind]).exists()

    def is_called(self, name: str) -> bool:
        """Whether `name` is the name of this step or of its section."""
        return name in (self.name, self.section)


def steps_of_project(project: ProjectFile, commands: dict[str, CommandSpec]) -> tuple[ProjectStep, ...]:
    """The steps of a project in the order in which they are run.

    Raises:
        InputError: Two of them would write the same path.
    """
    steps = tuple(_Steps(project, commands).all())
    ends = [(step.name, step.result) for step in steps if step.section not in (*SOURCES, *WRITING_SECTIONS)]
    refuse_same_results(project.file, [("the benchmark", project.benchmark), *ends])
    return steps


def named_by_project(project: ProjectFile, steps: Sequence[ProjectStep]) -> list[NamedPath]:
    """What a project names outside its folder: servers, keys, code and paths."""
    folder = project.folder
    models = (model.values for several in project.models.values() for model in several)
    sections = (*project.sections.values(), *models)
    found = [one for values in sections for one in named_in_settings(values, base=folder, folder=folder, inputs=INPUTS)]
    for step in steps:
        found += named_path(Path(step.result), base=folder, folder=folder, does="write")
        for read in step.reads:
            found += [] if is_address(read.path) else named_path(Path(read.path), base=folder, folder=folder)
    return list(dict.fromkeys(found))


class _Steps:
    def __init__(self, project: ProjectFile, commands: dict[str, CommandSpec]) -> None:
        self._project, self._commands = project, commands
        self._benchmark = project.benchmark

    def all(self) -> Iterator[ProjectStep]:
        given, bench = self._project.sections, StepInput(self._benchmark)
        for name in (name for name in SOURCES if name in given):
            wired = {"benchmark" if name == "import" else "into": self._benchmark}
            yield self._step(name, given[name] | wired, result=self._benchmark, kind="benchmark")
        for writer in (name for name in WRITING_SECTIONS if name in given):
            wired_writer: Values = {"benchmark": self._benchmark} | ({"proactive": True} if writer == "streams" else {})
            reads = (StepInput(self._benchmark, drafts=False),)
            yield self._step(writer, given[writer] | wired_writer, reads, result=self._benchmark, kind="benchmark")
        runs = []
        for label, values in self._runs("evaluate"):
            out = f"{RUNS}/{label}"
            wired = {"benchmark": self._benchmark, "out": out}
            yield self._step("evaluate", values | wired, (bench,), result=out, kind="run", label=label)
            runs.append((label, out))
        if "judge" in given:
            for place, (label, out) in enumerate(runs):
                judged = f"{out}-judged"
                wired_run = {"replies": REPLIES} | given["judge"] | {"sources": (out,), "out": judged}
                yield self._step("judge", wired_run, (StepInput(out), bench), result=judged, kind="run", label=label)
                runs[place] = label, judged
        streams = tuple((label, f"{STREAMS}/{label}", values) for label, values in self._runs("proactive"))
        for label, out, values in streams:
            wired = values | {"benchmark": self._benchmark, "out": out}
            yield self._step("proactive", wired, (bench,), result=out, kind="stream", label=label)
        yield from self._shown(given, tuple(out for _, out in runs), bench)
        if "report" in given and streams:
            logs = tuple(out for _, out, _ in streams)
            shown: Values = {"runs": logs, "bench": self._benchmark, "out": STREAMS_REPORT}
            played = tuple(StepInput(out) for out in logs)
            yield self._step("report", shown, (*played, bench), result=STREAMS_REPORT, kind="site", label=STREAMS)
        if "release" in given:
            out = f"releases/{given['release']['version']}"
            wired = {"benchmark": self._benchmark, "release": out}
            yield self._step("release", given["release"] | wired, (bench,), result=out, kind="benchmark")
            bench = StepInput(out)
        if "export" in given:
            out = f"exports/{given['export']['format']}"
            wired = {"benchmark": bench.path, "out": out}
            yield self._step("export", given["export"] | wired, (bench,), result=out, kind="folder")

    def _shown(self, given: dict[str, Values], runs: tuple[str, ...], bench: StepInput) -> Iterator[ProjectStep]:
        reads = tuple(StepInput(out) for out in runs)
        if "compare" in given:
            out = f"comparison.{COMPARISONS[given['compare'].get('format', 'text')]}"
            yield self._step("compare", given["compare"] | {"runs": runs, "out": out}, reads, result=out, kind="file")
        if "report" in given:
            about: Values = {"runs": runs, "bench": self._benchmark} if runs else {"runs": (self._benchmark,)}
            wired = given["report"] | about | {"out": REPORT}
            yield self._step("report", wired, (*reads, bench), result=REPORT, kind="site")

    def _runs(self, section: str) -> Iterator[tuple[str, Values]]:
        """Every run of every model of a section: its name, and its settings."""
        for model in self._project.models.get(section, ()):
            for mode in model.modes:
                label = f"{model.name}-{mode}" if model.several else model.name
                yield label, {"replies": REPLIES} | model.values | ({"mode": mode} if mode else {})

    def _step(
        self,
        section: str,
        values: Values,
        reads: tuple[StepInput, ...] = (),
        *,
        result: str,
        kind: Result,
        label: str = "",
    ) -> ProjectStep:
        command = self._commands[section]
        places = [o for o in command.options if o.flag is None]
        words = [*command.words, *(word for o in places for word in o.words(values.get(o.key)))]
        preset = values.get("preset")
        options = [
            (o.key, typed)
            for o in command.options
            if o.flag is not None and (typed := o.words(values.get(o.key), preset=preset))
        ]
        known = {read.path for read in reads} | {result, self._benchmark}
        files = [
            StepInput(path)
            for key, value in values.items()
            if key not in OUTPUTS
            for path in (map(str, _parts(value)) if key in INPUTS else _paths_in(value, self._project.folder))
            if path not in known
        ]
        return ProjectStep(
            f"{section}:{label}" if label else section,
            section,
            tuple(words),
            tuple(options),
            (*reads, *files),
            result,
            kind,
            replaces=command.option("overwrite") is not None,
        )


def _parts(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _paths_in(value: Any, folder: Path) -> Iterator[str]:
    """Files that a setting names: a path, KIND:PATH such as answers:PATH, python:PATH:NAME, or a prompt NAME.md."""
    for part in _parts(value):
        if isinstance(part, Path):
            yield str(part)
        elif isinstance(part, str):
            for word in part.split(","):
                _, colon, tail = word.strip().partition(":")
                names = (tail, tail.rpartition(":")[0]) if colon else (word,) if word.endswith(".md") else ()
                yield from (name for name in names if _is_there(folder, name))


def _is_there(folder: Path, name: str) -> bool:
    if not name or "\0" in name:
        return False
    try:
        return (folder / name).exists()
    except OSError:  # too long to be a name
        return False
