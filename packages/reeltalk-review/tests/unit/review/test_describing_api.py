"""The OpenAPI document describes every address under /api/ as it is: who may ask, and what is answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from askers import ROLES, World, routes_of
from pydantic import BaseModel
from team import make_team

from reeltalk_review.describing_api import ANSWERS, API

WORK = "/api/work/{assignment_id}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def document_of(world: World) -> Any:
    return world.browsers["reader"].get("/api/openapi.json").json()


def test_every_address_is_described_with_a_summary_roles_and_a_typed_answer(world: World) -> None:
    assert world.client().get("/api/openapi.json").status_code == 401
    document = document_of(world)
    described = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    assert described == {(method, path) for method, path in routes_of(world.team.app) if path.startswith(API)}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert set(operation["x-roles"]) <= set(ROLES), where
            assert operation["x-roles"], where
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert "$ref" in schema or path == "/api/openapi.json", where
    roles = {
        path: operations["get"]["x-roles"] for path, operations in document["paths"].items() if "get" in operations
    }
    assert roles["/api/quality"] == ["adjudicator", "owner", "reader"]
    names = str(document["paths"]) + str(document["components"])
    assert "HTTPValidationError" not in names
    assert all(f"/{name}" in names for name in document["components"]["schemas"])


def same_fields(model: type[BaseModel], answer: Any) -> None:
    """The answer has the fields of the model and no more, also inside."""
    found = model.model_validate(answer)
    assert set(answer) <= set(model.model_fields), model
    assert {name for name, field in model.model_fields.items() if field.is_required()} <= set(answer), model
    for name in answer:
        value = getattr(found, name)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        raw = answer[name]
        raws = raw.values() if isinstance(value, dict) else raw if isinstance(value, list) else [raw]
        for part, inner in zip(parts, raws, strict=True):
            if isinstance(part, BaseModel):
                same_fields(type(part), inner)


def test_answers_are_what_the_models_say(world: World) -> None:
    browser, judge = world.browsers["annotator"], world.browsers["adjudicator"]
    tried = set()

    def ask(who: Any, method: str, path: str, body: Any = None, **names: str) -> Any:
        tried.add((method, path))
        address = path.format(**names)
        answer = who.get(address) if method == "get" else who.api(method.upper(), address, body)
        assert answer.status_code == 200, answer.text
        same_fields(ANSWERS[method, path], answer.json())
        return answer.json()

    ask(browser, "get", "/api/session")
    assignment = world.work("annotator", "decided")
    mine = {"assignment_id": assignment}
    ask(browser, "post", f"{WORK}/comments", {"text": "Is she Ana?", "place": "0"}, **mine)
    value = ask(browser, "get", WORK, **mine)["entries"]["0"]["value"]
    body = {"revision": 1, "value": {**value, "note": "Look."}}
    ask(browser, "put", f"{WORK}/entries/{{place}}", body, place="0", **mine)
    for step in ("undo", "redo", "lease", "submit", "reopen"):
        ask(browser, "post", f"{WORK}/{step}", **mine)
    ask(browser, "get", f"{WORK}/history/{{place}}", place="0", **mine)
    ask(browser, "post", f"{WORK}/release", assignment_id=world.work("annotator", "fresh"))
    body = {"note": "Look again."}
    ask(judge, "post", f"{WORK}/return", body, assignment_id=world.work("annotator", "submitted"))
    dispute, work = world.dispute("adjudicator")
    ask(judge, "get", "/api/adjudicate/{assignment_id}", assignment_id=dispute)
    body = {"assignment": work, "note": "Look again."}
    ask(judge, "post", "/api/adjudicate/{assignment_id}/return", body, assignment_id=dispute)
    dialogue = world.dialogue("annotator", "adjudicator", said=1)[1]
    ask(judge, "get", "/api/dialogues/{dialogue_id}", dialogue_id=dialogue)
    body = {"position": 1, "text": "In the kitchen."}
    ask(judge, "post", "/api/dialogues/{dialogue_id}/messages", body, dialogue_id=dialogue)
    ask(browser, "post", "/api/dialogues/{dialogue_id}/finish", dialogue_id=dialogue)
    ask(browser, "post", "/api/guidelines/{queue_id}/read", {"version": 0}, queue_id="turns")
    assert tried == set(ANSWERS)


def test_a_token_reads_all_tables_and_csv(world: World) -> None:
    script = world.client()
    script.headers["authorization"] = f"Bearer {world.token_of(world.browsers['owner'])}"
    unit = world.unit()
    for who in ("annotator", "other"):
        world.work(who, "submitted", unit)
    for name in ("quality", "comments", "events", "units"):
        answer = script.get(f"/api/{name}")
        assert (name, answer.status_code) == (name, 200)
        text = script.get(f"/api/{name}?format=csv")
        assert text.headers["content-type"] == "text/csv; charset=utf-8", name
        assert text.headers["content-disposition"].startswith("attachment"), name
        assert script.get(f"/api/{name}?format=xls").status_code == 422
    lines = script.get("/api/units?format=csv").text.splitlines()
    assert len(lines) == 1 + script.get("/api/units").json()["total"]
    assert any("Another annotator (submitted); The annotator (submitted)" in line for line in lines)
