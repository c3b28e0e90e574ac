"""The JSON schema of a project file, by which editors complete and check it."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from reeltalk.project.options import Command, Option
from reeltalk.project.sections import MODELS, SECTIONS, SHARED
from reeltalk.schema.record import Json


def schema_of(commands: Mapping[str, Command]) -> dict[str, Json]:
    """The schema.

    Args:
        commands: What each section's command can be told.
    """
    shared = {
        key: {"description": SHARED[key], "anyOf": [_of_option(option), {"type": "null"}]}
        for key in SHARED
        if (option := next((o for c in commands.values() if (o := c.option(key)) is not None), None)) is not None
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A reeltalk project",
        "type": "object",
        "additionalProperties": False,
        "required": ["benchmark"],
        "properties": {
            "benchmark": {"type": "string", "description": "Folder of the benchmark; paths start from this file."},
            **shared,
            **{name: _of_section(name, commands[name]) for name in SECTIONS},
        },
    }


def _of_section(name: str, command: Command) -> dict[str, Json]:
    options = [option for option in command.options if option.key not in SECTIONS[name].filled]
    properties = {option.key: _of_option(option) for option in options}
    found: dict[str, Json] = {
        "type": ["object", "null"],
        "description": f"reeltalk {' '.join(command.words)}: {command.help}",
        "additionalProperties": False,
        "properties": dict(properties),
    }
    required: list[Json] = [option.key for option in options if option.required]
    if name != "evaluate":
        return found | ({"required": required} if required else {})
    mode = properties.get("mode", {})
    properties["mode"] = {
        "description": mode.get("description"),
        "anyOf": [
            {k: v for k, v in mode.items() if k != "description"},
            {"type": "array", "items": {"type": "string"}},
        ],
    }
    model: dict[str, Json] = {
        "anyOf": [
            {"type": "string", "description": str(properties["model"]["description"])},
            {
                "type": "object",
                "additionalProperties": False,
                "required": required,
                "properties": dict(properties),
            },
        ]
    }
    shared: dict[str, Json] = {key: value for key, value in properties.items() if key != "model"}
    shared[MODELS] = {"type": "object", "description": "Models by name; each is a run.", "additionalProperties": model}
    return found | {"required": [MODELS], "properties": shared}


def _of_option(option: Option) -> dict[str, Any]:
    made = TypeAdapter(option.kind).json_schema()
    made["description"] = option.help
    if not option.required and option.default is not None:
        made["default"] = TypeAdapter(option.kind).dump_python(option.default, mode="json")
    return made
