"""Replies of a language model that does all it is asked, so that commands of the documentation run without one.

What construction asks, `scripted_vision` answers; what has a schema gets a record that fits it; all else gets a
sentence that ends in the mark which VDEval reads. The same request gets the same reply.
"""

import json
import re
from typing import Any, Final

import scripted_vision
from scripted_replies import PLAIN
from scripted_server import Body, words

MARK: Final = "He puts the mug on the table. So rating=2"
NUMBERED: Final = re.compile(r"^(\d+)\. Q: (.*)$", re.MULTILINE)
TAGS: Final = {"target": ["Object"], "content": ["Identity"], "thinking": "Recall"}


def reply(body: Body) -> str:
    """The model's text for a request."""
    wanted = body.get("response_format", {}).get("json_schema", {})
    said = scripted_vision.reply(body)
    if said != PLAIN:
        return said
    if "schema" in wanted:
        schema = wanted["schema"]
        if "turns" in schema.get("properties", {}):
            asked = NUMBERED.findall(words(body["messages"][-1]))
            return json.dumps({"turns": [{"number": int(number)} | TAGS for number, _ in asked]})
        return json.dumps(_record(schema, schema.get("$defs", {})))
    return MARK


def _record(schema: dict[str, Any], defined: dict[str, Any]) -> Any:
    """A value that fits a schema: the highest of its range, the first of its choices."""
    if "$ref" in schema:
        return _record(defined[schema["$ref"].rpartition("/")[2]], defined)
    for key in ("anyOf", "allOf", "oneOf"):
        if key in schema:
            return _record(schema[key][0], defined)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _record(properties[name], defined) for name in schema.get("required", properties)}
        case "array":
            return [_record(schema.get("items", {}), defined)] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return schema.get("maximum", schema.get("minimum", 1))
        case "boolean":
            return True
        case _:
            return "It is right."
