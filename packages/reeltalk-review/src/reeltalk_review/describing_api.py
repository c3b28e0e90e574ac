"""The OpenAPI document of all addresses under /api/: what each does, who may ask, and what it answers.

A route is described by its docstring, its parameters, and its model of the answer. `ANSWERS` has the models of the
routes that people's screens ask, which answer without a model because that is quicker.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIRouter
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from reeltalk._version import __version__
from reeltalk_review.access import ALLOWED
from reeltalk_review.web import NEEDED

API: Final = "/api/"
_REF: Final = "#/components/schemas/{model}"


class SessionAnswer(BaseModel):
    """Your session."""

    csrf: str
    person: str


class FindingAnswer(BaseModel):
    """What makes no sense in a turn."""

    field: str
    turn: int
    text: str
    may_go_on: bool


class EntryAnswer(BaseModel):
    """The value at a place."""

    revision: int
    value: Any
    stale: bool
    at: str | None = None


class SavedAnswer(BaseModel):
    """The value after a save, and the places that must be looked at again."""

    revision: int
    value: Any
    stale: list[str]
    at: str
    findings: list[FindingAnswer]


class SteppedAnswer(BaseModel):
    """The place that undo or redo changed, and all values."""

    place: str
    entries: dict[str, EntryAnswer]
    findings: dict[str, list[FindingAnswer]]


class NextAnswer(BaseModel):
    """The address of the next task; null if none is left."""

    next: str | None


class StateAnswer(BaseModel):
    """The new state."""

    state: str


class LeaseAnswer(BaseModel):
    """Until when the task is held for you."""

    lease_until: str


class VersionAnswer(BaseModel):
    """One saved value."""

    revision: int
    value: Any
    at: str
    kind: str


class VersionsAnswer(BaseModel):
    """All values that were saved at a place, first to last."""

    versions: list[VersionAnswer]


class AssignmentAnswer(BaseModel):
    """Somebody's work on a task."""

    id: str
    role: str
    state: str
    round: int
    note: str
    lease_until: str


class UnitAnswer(BaseModel):
    """A task with its draft."""

    id: str
    task: str
    name: str
    video: Any
    content: Any


class ReasonAnswer(BaseModel):
    """A reason for rejecting a turn."""

    name: str
    title: str


class GuidelineAnswer(BaseModel):
    """The newest version of the guideline, and whether you have read it."""

    version: int
    read: bool


class CommentAnswer(BaseModel):
    """A comment."""

    id: str
    place: str | None
    author: str
    text: str
    at: str
    mine: bool


class CommentsAnswer(BaseModel):
    """The comments on a task."""

    comments: list[CommentAnswer]


class WorkAnswer(BaseModel):
    """A task, and the values so far."""

    assignment: AssignmentAnswer
    unit: UnitAnswer
    entries: dict[str, EntryAnswer]
    findings: dict[str, list[FindingAnswer]]
    reasons: list[ReasonAnswer]
    guideline: GuidelineAnswer | None
    comments: list[CommentAnswer]
    comments_read_by: str
    """Who reads what you write, as a sentence."""


class OwnWorkAnswer(WorkAnswer):
    """A task, and your values so far."""

    places: list[str]


class SideAnswer(BaseModel):
    """One annotator's work. The name is null unless it was asked for."""

    id: str
    letter: str
    round: int
    name: str | None


class ShownValue(BaseModel):
    """A value, also as labelled lines."""

    value: Any
    lines: list[tuple[str, str]]


class DisputedPlaceAnswer(BaseModel):
    """What was drafted, said and settled at a place."""

    draft: ShownValue
    sides: dict[str, ShownValue]
    settled: ShownValue | None
    how: str | None


class DisputeAnswer(WorkAnswer):
    """A task on which people differ, with everybody's work."""

    sides: list[SideAnswer]
    disputed: list[str]
    choices: dict[str, list[str]]
    fields: list[str]
    places: dict[str, DisputedPlaceAnswer]


class MessageAnswer(BaseModel):
    """A question, at even positions, or the answer to the one before."""

    position: int
    text: str
    at: str
    evidence: list[Any] | None = None


class DialogueAnswer(BaseModel):
    """A dialogue of a pair. The video is there for who answers."""

    id: str
    role: str
    state: str
    note: str
    number: int
    least_turns: int
    most_turns: int
    messages: list[MessageAnswer]
    your_turn: bool
    activities: list[Any]
    video_id: str | None = None
    video: Any = None
    film: Any = None


class ReadAnswer(BaseModel):
    """The newest version of a guideline that you have read."""

    version: int


class ErrorDetail(BaseModel):
    """What is wrong and what to do."""

    code: str
    message: str
    field: str | None = None


class ErrorAnswer(BaseModel):
    """A request that was refused."""

    error: ErrorDetail


_WORK: Final = "/api/work/{assignment_id}"
_DISPUTE: Final = "/api/adjudicate/{assignment_id}"
_DIALOGUE: Final = "/api/dialogues/{dialogue_id}"
ANSWERS: Final[dict[tuple[str, str], type[BaseModel]]] = {
    ("get", "/api/session"): SessionAnswer,
    ("get", _WORK): OwnWorkAnswer,
    ("put", f"{_WORK}/entries/{{place}}"): SavedAnswer,
    ("post", f"{_WORK}/undo"): SteppedAnswer,
    ("post", f"{_WORK}/redo"): SteppedAnswer,
    ("post", f"{_WORK}/submit"): NextAnswer,
    ("post", f"{_WORK}/reopen"): StateAnswer,
    ("post", f"{_WORK}/return"): StateAnswer,
    ("post", f"{_WORK}/lease"): LeaseAnswer,
    ("post", f"{_WORK}/release"): NextAnswer,
    ("get", f"{_WORK}/history/{{place}}"): VersionsAnswer,
    ("post", f"{_WORK}/comments"): CommentsAnswer,
    ("get", _DISPUTE): DisputeAnswer,
    ("post", f"{_DISPUTE}/return"): NextAnswer,
    ("get", _DIALOGUE): DialogueAnswer,
    ("post", f"{_DIALOGUE}/messages"): DialogueAnswer,
    ("post", f"{_DIALOGUE}/finish"): StateAnswer,
    ("post", "/api/guidelines/{queue_id}/read"): ReadAnswer,
}
"""The models of answers, by method and path."""


def api_document(routers: Iterable[APIRouter]) -> dict[str, Any]:
    """The OpenAPI document of the routes under /api/.

    Args:
        routers: All routers of the application.
    """
    routers = list(routers)
    app = FastAPI(title="reeltalk review", version=__version__)
    for router in routers:
        app.include_router(router)
    document = deepcopy(app.openapi())
    document["paths"] = {path: found for path, found in document["paths"].items() if path.startswith(API)}
    models: list[type[BaseModel]] = [ErrorAnswer, *set(ANSWERS.values())]
    _, schemas = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
    components = document.setdefault("components", {})
    components["schemas"] = components.get("schemas", {}) | schemas["$defs"]
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    roles = {(method, route.path): _roles(route) for route in _routes(routers) for method in route.methods or ()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _describe(operation, method, path, roles.get((method.upper(), path), []))
    document["components"]["schemas"] = _used(document["paths"], components["schemas"])
    return document


def _describe(operation: dict[str, Any], method: str, path: str, roles: list[str]) -> None:
    operation["summary"] = str(operation.get("description", "")).partition(". ")[0].rstrip(".")
    operation["x-roles"] = roles
    # The header of browsers, which scripts with a token do not need.
    operation["parameters"] = [
        parameter for parameter in operation.get("parameters", ()) if parameter["name"] != "x-csrf-token"
    ]
    answers = operation["responses"]
    if (model := ANSWERS.get((method, path))) is not None:
        answers["200"]["content"] = {"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}}}
    refused = {"content": {"application/json": {"schema": {"$ref": _REF.format(model=ErrorAnswer.__name__)}}}}
    words = {"401": "Sign in, or send a token.", "403": "Your role does not allow it.", "422": "A value is wrong."}
    if "{" in path:
        words["404"] = "There is no such thing, or you may not know of it."
    if method != "get":
        words["409"] = "It was changed meanwhile, or its state does not allow it."
    for status, said in words.items():
        answers[status] = {"description": said, **refused}


def _routes(routers: Iterable[APIRouter]) -> Iterator[APIRoute]:
    for router in routers:
        yield from (route for route in router.routes if isinstance(route, APIRoute))


def _roles(route: APIRoute) -> list[str]:
    """The roles that may ask a route; empty if nobody need be signed in."""
    found = [ALLOWED[action] for action in _needed(route.dependant)]
    return sorted(frozenset.intersection(*found)) if found else []


def _needed(dependant: Dependant) -> Iterator[Any]:
    action = getattr(dependant.call, NEEDED, None)
    if action is not None:
        yield action
    for other in dependant.dependencies:
        yield from _needed(other)


def _used(paths: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schemas that the routes need, by name."""
    found: dict[str, Any] = {}
    waiting = list(_names(paths))
    while waiting:
        name = waiting.pop()
        if name not in found and name in schemas:
            found[name] = schemas[name]
            waiting += _names(schemas[name])
    return dict(sorted(found.items()))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for part in value.values():
            yield from _names(part)
    elif isinstance(value, list):
        for part in value:
            yield from _names(part)
