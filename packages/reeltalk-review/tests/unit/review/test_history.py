"""The history with filters: what is asked for, nothing that is withheld, and every kind of event can be chosen."""

import ast
import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from askers import World
from team import make_team, on_databases

import reeltalk_review
from reeltalk_review.administration import MOST_EVENTS, TEAM_EVENTS, UNIT_EVENTS
from reeltalk_review.events import OPERATOR, transaction


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", on_databases(metafunc.definition.name), indirect=True)


def kinds_of(world: World, query: str) -> list[str]:
    return [event["kind"] for event in world.browsers["owner"].get(f"/api/events?limit=500{query}").json()["events"]]


def test_filters_select_by_person_kind_queue_unit_and_day(world: World) -> None:
    owner = world.browsers["owner"]
    unit = world.unit()
    world.work("annotator", "submitted", unit)
    everything = kinds_of(world, "")
    assert kinds_of(world, f"&unit={unit}") == ["take", "save", "save", "save", "submit"]
    assert kinds_of(world, "&kind=submit") == ["submit"]
    assert kinds_of(world, f"&person={owner.id}&kind=submit") == []
    of_queue = kinds_of(world, "&queue=turns")
    assert set(of_queue) <= {"take", "save", "submit", "load", "queue", "overlap"}
    assert of_queue.count("save") == everything.count("save") > 0
    day = owner.get("/api/events?limit=1").json()["events"][0]["at"][:10]
    assert kinds_of(world, f"&day={day}")[:1] == everything[:1]
    assert kinds_of(world, "&day=2020-02-29") == []
    assert owner.get("/api/events?day=2026-02-30").json()["error"]["field"] == "day"
    assert "There are no such changes." in owner.get("/history?day=2020-02-29").text


def test_part_of_a_name_finds_the_tasks_and_goes_on_to_older_changes(world: World) -> None:
    owner = world.browsers["owner"]
    for _ in range(20):
        world.work("annotator", "submitted", known_unit(world))
    first = owner.get("/history?unit=chain-FILM0").text
    assert 'href="/history?before=' in first
    older = first.split('href="/history?before=')[1].split('"')[0].replace("&amp;", "&")
    assert "unit=chain-FILM0" in older
    assert "Newest" in owner.get(f"/history?before={older}").text


def known_unit(world: World) -> str:
    from reeltalk_review.tables import UnitRow

    unit = world.unit()
    with world.changing() as change:
        change.session.get_one(UnitRow, unit).words = "chain-film0"
    return unit


def test_all_changes_leave_as_csv_without_formulas_and_without_what_is_withheld(world: World) -> None:
    with transaction(world.team.project.database, OPERATOR) as change:
        for number in range(MOST_EVENTS + 3):
            change.record("rename", "x", after=f"=cmd({number})")
    world.team.member("=1+1", "reader")
    world.work("annotator", "working")
    text = world.browsers["owner"].get("/api/events?format=csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["number"] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert len(rows) > MOST_EVENTS
    assert {row["after"] for row in rows if row["kind"] == "save"} == {""}
    assert any(row["author"] == "'=1+1" for row in rows)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_every_kind_of_event_can_be_chosen() -> None:
    kinds = set()
    for path in Path(reeltalk_review.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "record":
                kind = node.args[0] if node.args else None
                if isinstance(kind, ast.Constant):
                    kinds.add(kind.value)
    assert kinds
    assert kinds <= TEAM_EVENTS | UNIT_EVENTS
