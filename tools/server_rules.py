"""What servers of one protocol take and refuse, each in its own words, as far as a client can tell them apart.

The words are those that the servers' users quote: see the sources beside each. `ruled` puts the rules of one before a
script of `scripted_server`.
"""

import json
from collections.abc import Callable
from typing import Any

from scripted_server import Answer, Body, Script

Rules = Callable[[Body], Answer | None]
"""Takes the body of a request. Returns the refusal; None where the request is taken."""

COMMON = {"model", "messages", "stream", "stream_options", "response_format", "reasoning_effort", "temperature"}


def _openai_error(message: str, param: str | None, code: str | None, status: int = 400) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer(status, {"error": error})


def openai(body: Body) -> Answer | None:
    """OpenAI's reasoning models, as gpt-5; https://github.com/diffbot/code-gpt-docs/issues/445 and many more."""
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return _openai_error(message, "max_tokens", "unsupported_parameter")
    if body.get("temperature", 1) != 1:
        message = (
            f"Unsupported value: 'temperature' does not support {body['temperature']:g} with this model. Only the "
            "default (1) value is supported."
        )
        return _openai_error(message, "temperature", "unsupported_value")
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    if schema.get("strict") and (problem := _not_strict(schema["schema"])):
        message = f"Invalid schema for response_format '{schema['name']}': In context=(), {problem}."
        return _openai_error(message, "response_format", None)
    return _unknown(body, {"max_completion_tokens", "seed"})


def openai_chat(body: Body) -> Answer | None:
    """OpenAI's models that do not reason, as gpt-4o: they take both names of the longest reply."""
    if body.get("reasoning_effort"):
        return _openai_error("Unrecognized request argument supplied: reasoning_effort", None, None)
    return _unknown(body, {"max_completion_tokens", "max_tokens", "seed"})


def _unknown(body: Body, more: set[str]) -> Answer | None:
    for name in body:
        if name not in COMMON | more:
            return _openai_error(f"Unrecognized request argument supplied: {name}", None, None)
    return None


def _not_strict(schema: Any) -> str | None:
    if isinstance(schema, list):
        return next((problem for one in schema if (problem := _not_strict(one))), None)
    if not isinstance(schema, dict):
        return None
    if isinstance(schema.get("properties"), dict):
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(schema["properties"]):
            return "'required' is required to be supplied and to be an array including every key in properties"
    return _not_strict(list(schema.values()))


def vllm(body: Body) -> Answer | None:
    """VLLM before it let unknown fields pass; https://github.com/1Panel-dev/MaxKB/issues/2912."""
    known = COMMON - {"reasoning_effort"} | {"max_tokens", "seed"}
    found = [
        {"type": "extra_forbidden", "loc": ("body", name), "msg": "Extra inputs are not permitted", "input": body[name]}
        for name in body
        if name not in known
    ]
    if not found:
        return None
    told = {"object": "error", "message": str(found), "type": "BadRequestError", "param": None, "code": 400}
    return Answer(400, told)


def sglang(body: Body) -> Answer | None:
    """SGLang, started without a backend for grammars: everything is taken but a schema."""
    if "response_format" not in body:
        return None
    message = "Structured output is not supported: response_format needs a grammar backend"
    return Answer(400, {"object": "error", "message": message, "type": "BadRequest", "param": None, "code": 400})


def gemini(body: Body) -> Answer | None:
    """Gemini's compatible server: a list, all unknown names at once; https://github.com/Vali-98/ChatterUI/issues/227."""
    unknown = [name for name in body if name not in COMMON | {"max_tokens", "max_completion_tokens"}]
    if not unknown:
        return None
    told = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in unknown]
    details = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"description": one} for one in told],
    }
    error = {"code": 400, "message": "\n".join(told), "status": "INVALID_ARGUMENT", "details": [details]}
    return Answer(400, json.dumps([{"error": error}]))


def anthropic(body: Body) -> Answer | None:
    """Anthropic's compatible server; interviewstreet/hiring-agent#377 and chrisvel/tududi#1383 on GitHub."""

    def refusal(message: str) -> Answer:
        error = {"code": "invalid_request_error", "message": message, "type": "invalid_request_error", "param": None}
        return Answer(400, {"error": error})

    if body.get("temperature", 1) != 1:
        return refusal("`temperature` is deprecated for this model.")
    schema = (body.get("response_format") or {}).get("json_schema")
    if schema is not None and schema.get("strict") is not True:
        return refusal("response_format.json_schema.strict: Input should be true")
    if schema is not None and (problem := _not_strict(schema["schema"])):
        return refusal(f"response_format.json_schema.schema: {problem}")
    return None  # all others are taken or ignored


def mistral(body: Body) -> Answer | None:
    """Mistral's server; https://github.com/partITech/php-mistral/issues/76."""
    unknown = [name for name in body if name not in COMMON - {"reasoning_effort"} | {"max_tokens", "random_seed"}]
    if not unknown:
        return None
    told = [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": body[name]}
        for name in unknown
    ]
    return Answer(422, {"object": "error", "message": {"detail": told}, "type": "invalid_request_error"})


RULES: dict[str, Rules] = {
    "OpenAI": openai,
    "OpenAI chat": openai_chat,
    "vLLM": vllm,
    "SGLang": sglang,
    "Gemini": gemini,
    "Anthropic": anthropic,
    "Mistral": mistral,
}
"""Rules by the name of the server."""


def ruled(rules: Rules, reply: Script) -> Script:
    """A script that refuses what a server refuses, and answers as another script otherwise.

    Args:
        rules: The server's.
        reply: What it answers to what it takes.
    """

    def answer(body: Body) -> str | Body | Answer:
        return rules(body) or reply(body)

    return answer
