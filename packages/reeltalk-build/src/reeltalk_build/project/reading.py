"""Read a project file strictly, keep the line of each value, and check the file against the options of the commands.

`yaml.safe_load` silently takes the last of two equal keys and reports no lines, so the tree of nodes is checked first.
Anchors, tags and dates have no use here and are refused. Without anchors, no value can contain itself.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from reeltalk.errors import InputError
from reeltalk.evaluation.model_options import FRAME_OPTIONS, OPTIONS, ModelCommand, kind_of_model, kinds_of_option
from reeltalk.judge.protocol import may_ask_model
from reeltalk.judge.settings import JudgeModelSettings
from reeltalk.schema.server_address import without_user
from reeltalk.store.documents import read_text
from reeltalk_build.project.sections import MODEL_SECTIONS, MODELS, SECTIONS, SHARED, SOURCES, CommandSpec, Option

Place = tuple[str | int, ...]
"""A place in the file: keys and list indices, from the top."""
DEEPEST: Final = 16


@dataclass(frozen=True)
class YamlFile:
    """A YAML file: its value, and the line of every key and list item."""

    file: Path
    value: dict[str, Any]
    lines: dict[Place, int]

    def wrong(self, problem: str, place: Place = (), *, hint: str | None = None) -> InputError:
        """An error that names file, line and key."""
        line = next((self.lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.lines), None)
        return InputError(problem, file=self.file, line=line, place=dotted_key(place) or None, hint=hint)


def dotted_key(place: Place) -> str:
    """A place with dots, such as `evaluate.models.qwen`."""
    return ".".join(str(part) for part in place)


def read_yaml(file: Path) -> YamlFile:
    """Read a YAML file with a mapping at its top.

    Raises:
        InputError: It cannot be read, is not YAML, repeats a key, or holds a value of a wrong type; names the line.
    """
    text = read_text(file)
    lines: dict[Place, int] = {}
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
        if top is not None:
            _look_at(top, (), lines, set(), file)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, file) from None
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", file=file) from None
    except RecursionError:
        raise InputError("nested too deep to be a project", file=file) from None
    except ValueError as error:  # a number or date that Python cannot represent
        raise InputError(f"a value cannot be read: {error}", file=file) from None
    if not isinstance(value, dict):
        raise InputError(
            "a project is a list of settings, each written as 'key: value'", file=file, hint="see 'reeltalk new'"
        )
    return YamlFile(file, value, lines)


def _not_yaml(error: yaml.MarkedYAMLError, file: Path) -> InputError:
    """An error with the line to correct: for something that is not closed, the line where it begins."""
    begins = "flow" in (error.context or "") or "quoted" in (error.context or "")
    mark = (error.context_mark if begins else None) or error.problem_mark or error.context_mark
    told = " ".join(f"{error.context if begins else ''} {error.problem or error.context or 'cannot be parsed'}".split())
    return InputError(f"not YAML: {told}", file=file, line=mark.line + 1 if mark else None)


def _look_at(node: yaml.Node, place: Place, lines: dict[Place, int], seen: set[int], file: Path) -> None:
    # An alias has the mark of its anchor, so the line of the key is preferred.
    line = lines.get(place, node.start_mark.line + 1)
    if id(node) in seen:
        raise InputError("anchors and aliases are not read", file=file, line=line, hint="write the value again")
    seen.add(id(node))
    if len(place) > DEEPEST:
        raise InputError("nested too deep to be a project", file=file, line=line)
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            at = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise InputError("a key must be a word", file=file, line=at, hint="put it in quotes if it is one")
            below = (*place, key.value)
            if below in lines:
                raise InputError(
                    f"'{dotted_key(below)}' appears twice, first on line {lines[below]}",
                    file=file,
                    line=at,
                    hint="keep one of them",
                )
            lines[below] = at
            _look_at(child, below, lines, seen, file)
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            lines[*place, number] = child.start_mark.line + 1
            _look_at(child, (*place, number), lines, seen, file)
    elif node.tag == "tag:yaml.org,2002:timestamp":
        raise InputError("a date", file=file, line=line, place=dotted_key(place), hint="put it in quotes")


NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECRETS: Final = frozenset({"api_key", "judge_api_key", "key", "token", "password", "secret"})

Values = dict[str, Any]
"""Settings that were given, by key."""


@dataclass(frozen=True)
class ProjectModel:
    """One model of `evaluate` or `proactive`."""

    name: str
    values: Values
    """All settings of its run, including those that models share."""
    modes: tuple[str | None, ...]
    """The modes in which it is played, one run for each; None for the command's default."""
    several: bool
    """Whether the file gives a list of modes, so that runs are named by them."""


@dataclass(frozen=True)
class ProjectFile:
    """A project file that was read."""

    file: Path
    benchmark: str
    """Folder of the benchmark, from the project's folder."""
    sections: dict[str, Values]
    """The settings of each section in the file that lists no models."""
    models: dict[str, tuple[ProjectModel, ...]] = field(default_factory=dict)
    """The models of each section in the file that lists them."""

    @property
    def folder(self) -> Path:
        """The project's folder, from which all paths in it start."""
        return self.file.parent


def read_project(file: Path, commands: Mapping[str, CommandSpec]) -> ProjectFile:
    """Read and check a project file.

    Raises:
        InputError: It is not valid; names line and key.
    """
    if not file.is_file():
        raise InputError("no such project", file=file, hint="'reeltalk new NAME' makes one")
    read = read_yaml(file)
    _Checked(read).keys(read.value, (), ("benchmark", *SHARED, *SECTIONS))
    return _Checked(read).project(commands)


@dataclass(frozen=True)
class _Checked:
    """The checks of one document."""

    read: YamlFile

    def project(self, commands: Mapping[str, CommandSpec]) -> ProjectFile:
        value = self.read.value
        benchmark = value.get("benchmark")
        if not isinstance(benchmark, str) or not benchmark.strip():
            raise self.read.wrong(
                "the folder of the benchmark is missing", ("benchmark",), hint="as benchmarks/kitchen"
            )
        sources = [name for name in SOURCES if name in value]
        if len(sources) > 1:
            raise self.read.wrong(
                f"a benchmark has one source, and the file has {' and '.join(sources)}", (sources[1],), hint="keep one"
            )
        shared = self._shared(commands)
        sections: dict[str, Values] = {}
        models: dict[str, tuple[ProjectModel, ...]] = {}
        for name in (name for name in SECTIONS if name in value):
            given = self._mapping(value[name], (name,))
            command = commands[name]
            own = {key: shared[key] for key in shared if command.option(key) is not None and shared[key] is not None}
            if name in MODEL_SECTIONS:
                models[name] = self._models(name, given, command, own)
            else:
                sections[name] = own | self._values(given, (name,), command, SECTIONS[name].filled)
        return ProjectFile(self.read.file, str(Path(benchmark)), sections, models)

    def keys(self, given: Mapping[str, Any], place: Place, known: Iterable[str]) -> None:
        """Refuse unknown keys, and suggest the nearest known one."""
        names = list(known)
        for key in given:
            if key in names:
                continue
            here = (*place, key)
            if key in SECRETS:
                raise self.read.wrong(
                    "never write an API key into a project",
                    here,
                    hint="put it into an environment variable and name that: api_key_env: MY_KEY",
                )
            near = difflib.get_close_matches(key, names, n=1)
            within = f"'{dotted_key(place)}' has no '{key}'" if place else f"a project has no '{key}'"
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(names)}"
            raise self.read.wrong(within, here, hint=hint)

    def _mapping(self, value: Any, place: Place) -> dict[str, Any]:
        if value is None:  # all settings of the section are commented out
            return {}
        if not isinstance(value, dict):
            raise self.read.wrong("settings are expected here, each written as 'key: value'", place)
        return value

    def _shared(self, commands: Mapping[str, CommandSpec]) -> Values:
        found: Values = {}
        for key in (key for key in SHARED if key in self.read.value):
            option = next((known for c in commands.values() if (known := c.option(key)) is not None), None)
            if option is None:
                raise self.read.wrong(f"no command of this reeltalk has '{key}'", (key,))
            found[key] = self._value(option, self.read.value[key], (key,))
        return found

    def _values(
        self,
        given: Mapping[str, Any],
        place: Place,
        command: CommandSpec,
        without: Iterable[str],
        *,
        whole: bool = True,
    ) -> Values:
        """Checked settings of a command; with `whole`, a missing required setting is refused too."""
        options = {option.key: option for option in command.options if option.key not in set(without)}
        self.keys(given, place, options)
        found = {key: self._value(options[key], value, (*place, key)) for key, value in given.items()}
        for key, option in options.items():
            if whole and option.required and found.get(key) in (None, (), []):
                raise self.read.wrong(f"'{dotted_key((*place, key))}' is missing", place, hint=option.help)
        self._fit_together(found, options.values(), place)
        return {key: value for key, value in found.items() if value is not None}

    def _value(self, option: Option, value: Any, place: Place) -> Any:
        if value is None:  # not given, whatever the type
            return None
        if option.takes_one and isinstance(value, str):
            value = [value]
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise self.read.wrong(
                "not a possible value of a setting", place, hint="put it in quotes if it is text"
            ) from None
        try:
            checked = TypeAdapter(option.kind).validate_json(text, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            message = first["msg"].removeprefix("Value error, ")
            at = (*place, *(part for part in first["loc"] if isinstance(part, int)))
            raise self.read.wrong(
                f"{message[0].lower()}{message[1:]}, got {without_user(text)[:80]}", at, hint=option.help
            ) from None
        if option.key.endswith("api_key_env") and not VARIABLE.fullmatch(str(checked)):
            # The value may be an API key, so it is not shown.
            raise self.read.wrong(
                "this is the name of an environment variable, never a key itself", place, hint="as OPENAI_API_KEY"
            )
        return checked

    def _fit_together(self, found: Values, options: Iterable[Option], place: Place) -> None:
        """Check the settings of a settings model together."""
        groups: dict[type[BaseModel], Values] = {}
        for option in options:
            if option.settings is not None and found.get(option.key) is not None:
                groups.setdefault(option.settings, {})[option.key] = found[option.key]
        for model, values in groups.items():
            try:
                model.model_validate(values)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                at = tuple(part for part in first["loc"][:1] if part in values) or (next(iter(values)),)
                raise self.read.wrong(first["msg"].removeprefix("Value error, "), (*place, *at)) from None

    def _models(
        self, section: str, given: dict[str, Any], command: CommandSpec, own: Values
    ) -> tuple[ProjectModel, ...]:
        filled = SECTIONS[section].filled
        named = self._mapping(given.get(MODELS), (section, MODELS))
        if not named:
            example = "{blind: baseline:blind}" if section == "evaluate" else "{silence: never}"
            raise self.read.wrong(f"'{section}' names no model", (section,), hint=f"as models: {example}")
        common = {key: value for key, value in given.items() if key != MODELS}
        options = [o.key for o in command.options if o.key not in filled]
        self.keys(common, (section,), (MODELS, *(key for key in options if key != "model")))
        shared_modes, common = self._modes(common, (section,), command)
        shared = own | self._values(common, (section,), command, filled, whole=False)
        models = []
        for name, wanted in named.items():
            place: Place = (section, MODELS, name)
            if not NAME.fullmatch(name):
                raise self.read.wrong("a model's name is letters, digits, '.', '_' and '-'", place)
            settings = {"model": wanted} if isinstance(wanted, str) else self._mapping(wanted, place)
            modes, settings = self._modes(settings, place, command)
            values = self._values(settings, place, command, filled)
            chosen = modes or shared_modes
            applied = _applied(shared, values, section) if "model" in values else shared
            models.append(ProjectModel(name, applied | values, chosen or (None,), len(chosen) > 1))
        return tuple(models)

    def _modes(
        self, given: dict[str, Any], place: Place, command: CommandSpec
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """The modes, which may be a list, and the other settings."""
        option = command.option("mode")
        if option is None or given.get("mode") is None:
            return (), given
        several = given["mode"] if isinstance(given["mode"], list) else [given["mode"]]
        modes = tuple(str(self._value(option, mode, (*place, "mode"))) for mode in several)
        if len(set(modes)) < len(modes):
            raise self.read.wrong("a mode appears twice", (*place, "mode"))
        return modes, {key: value for key, value in given.items() if key != "mode"}


OF_JUDGES: Final = (*JudgeModelSettings.model_fields, "prompts", "compat", "published")
"""Options of `evaluate` that have an effect only where a protocol asks a model."""


def _applied(shared: Values, own: Values, section: str) -> Values:
    """The settings that models share, without those that have no effect on one of them."""
    command: ModelCommand = "evaluate" if section == "evaluate" else "proactive"
    kind = kind_of_model(str(own["model"]))
    idle = {key for key in shared if key in OPTIONS and kind not in kinds_of_option(key, command)}
    # What a model says itself is refused by the command if it has no effect.
    if own.get("policy") == "none":
        idle |= set(FRAME_OPTIONS)
    named = [name.strip() for part in own.get("protocols", ()) for name in part.split(",")]
    if named and not may_ask_model(named):
        idle |= set(OF_JUDGES)
    return {key: value for key, value in shared.items() if key not in idle}


def refuse_same_results(file: Path, results: Iterable[tuple[str, str]]) -> None:
    """Raise if two steps would write the same folder.

    Raises:
        InputError: Two write the same.
    """
    taken: dict[str, str] = {}
    for step, result in results:
        if result in taken:
            raise InputError(
                f"{taken[result]} and {step} would both write {result}", file=file, hint="give one of them another name"
            )
        taken[result] = step
