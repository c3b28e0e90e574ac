"""The verbs of `stages` and the commands that they are: the same names, and results that people can read."""

import inspect
import re
import typing
from collections.abc import Iterator
from typing import Final

import pytest
from api_reference import VERBS, api_entries, returned_types
from pydantic import BaseModel

from reeltalk.cli import app
from reeltalk.schema.overview import HasOverview
from reeltalk_build.cli.projects import command_of

COMMANDS: Final = {
    "attack": "judge",
    "attack_style": "judge",
    "export_layout": "export",
    "film": "world film",
    "import_layout": "import",
    "import_questions": "import",
    "plan_evaluation": "evaluate",
    "runs_table": "report",
    "write_rating_sheet": "calibrate",
}
"""The command of each verb that has another name: an option of the command chooses the verb."""
EVERYWHERE: Final = {
    "progress": "the command has a bar",
    "tell": "the command prints sentences on standard error",
    "note": "the command shows it below its bar",
}
ONLY_IN_PYTHON: Final = {
    "attack": {"seed": "its judges draw nothing"},
    "attack_style": {"seed": "its judges draw nothing"},
    "calibrate": {
        "passes": "--pass-mark NAME=VALUE sets it",
        "people_pass": "--pass-mark human=VALUE sets it",
    },
    "evaluate": {
        "control": "--controls plays each control as a run of its own",
        "quality": "the quality of JPEG frames is fixed by presets and stays as it is otherwise",
    },
    "plan_evaluation": {"control": "as for evaluate", "quality": "as for evaluate"},
    "export_layout": {"write": "a function, as only Python has it"},
    "import_layout": {"into": "positional in the command, where it is the last argument"},
    "import_questions": {"into": "as for import_layout"},
    "judge": {"seed": "the command has the default"},
    "report": {"subjects": "positional in the command, where it is called runs"},
    "retry": {"presets": "the command knows all presets"},
}
"""Keywords that are no option of the command, with the reason."""


def settings_models(annotation: object) -> list[type[BaseModel]]:
    """The settings model of a parameter or a field, if it has one. Its fields are options of the command."""
    options = (annotation, *typing.get_args(annotation)) if typing.get_origin(annotation) is not dict else ()
    return [kind for kind in options if inspect.isclass(kind) and issubclass(kind, BaseModel)]


def field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = settings_models(field.annotation) if name != "preset" else []
        yield from field_names(inner[0]) if inner else (name,)


def keywords(verb: str) -> set[str]:
    """Names of a verb's parameters, and of the fields of its settings."""
    function = VERBS[verb]
    hints, found = typing.get_type_hints(function), set()
    for name, parameter in inspect.signature(function).parameters.items():
        inner = settings_models(hints[name])
        if inner:
            found |= set(field_names(inner[0]))
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            found.add(name)
    return found


def options(command: str) -> set[str]:
    """Names of a command's options and arguments, as keywords."""
    found = app
    for word in command.split():
        found = found[word]
    names = [name for argument in found.assemble_argument_collection(parse_docstring=False) for name in argument.names]
    return {name.removeprefix("--").lower().replace("-", "_") for name in names}


def results() -> set[type]:
    """Types of the values that verbs return."""
    return {typing.get_type_hints(VERBS[verb])["return"] for verb in VERBS}


@pytest.mark.parametrize("verb", VERBS)
def test_a_keyword_of_a_verb_is_the_option_of_its_command(verb: str) -> None:
    others = keywords(verb) - options(COMMANDS.get(verb, verb))
    assert others - set(EVERYWHERE) == set(ONLY_IN_PYTHON.get(verb, {}))


def test_every_verb_has_a_command() -> None:
    assert len(VERBS) >= 16
    for verb in VERBS:
        assert command_of(COMMANDS.get(verb, verb).split()).options


def test_every_result_prints_as_one_screen_and_is_a_table_in_a_notebook() -> None:
    assert {kind.__name__ for kind in results() if not issubclass(kind, HasOverview)} == {"Path", "str", "int"}


def test_the_api_page_describes_every_type_that_a_verb_returns() -> None:
    entries = {entry.name: entry for entry in api_entries()}
    returned = returned_types()
    assert {"RunReport", "Run", "Comparisons", "Leaderboard", "StageReport", "Rejected"} <= {
        kind.__name__ for kind in returned
    }
    for kind in returned:
        entry = entries[kind.__name__]
        assert re.match(r"[\w`]", entry.text), kind
        if kind in results():
            assert [term for term, said in entry.rows if not said] == [], f"fields of {kind.__name__}"
