"""The page of the history: changes by a person and of a task, page by page."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from askers import World
from team import DATABASES, make_team

from reeltalk_review.routes.administration import ON_A_PAGE
from reeltalk_review.tables import UnitRow


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", DATABASES, indirect=True)


def kinds_of(page: str) -> list[str]:
    rows = re.findall(r"<tr><td class=\"number\">.*?</tr>", page, re.DOTALL)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[3] for row in rows]


def test_changes_are_shown_of_a_person_and_of_a_task(world: World) -> None:
    owner, annotator = world.browsers["owner"], world.browsers["annotator"]
    unit = world.unit()
    work = world.work("annotator", "submitted", unit)
    assert annotator.api("POST", f"/api/work/{work}/reopen").status_code == 200
    done = ["reopen", "submit", "save", "save", "save", "take"]
    assert kinds_of(owner.get(f"/history?unit={unit}").text) == done
    assert kinds_of(owner.get(f"/history?unit={unit}&person={annotator.id}").text) == ["reopen"]
    assert kinds_of(owner.get(f"/history?person={annotator.id}").text) == ["reopen", "sign in", "join"]
    assert "There are no such changes." in owner.get("/history?person=nobody").text
    assert owner.get("/history?before=0").status_code == 422


def test_part_of_a_name_finds_the_tasks_and_goes_on_to_older_changes(world: World) -> None:
    owner = world.browsers["owner"]
    for _ in range(20):
        unit = world.unit()
        with world.changing() as change:
            change.session.get_one(UnitRow, unit).words = "chain-film0"
        world.work("annotator", "submitted", unit)
    address, found = "/history?unit=chain-FILM0", []
    while True:
        page = owner.get(address).text
        found.append(kinds_of(page))
        older = re.search(r'href="([^"]+)" rel="next"', page)
        if older is None:
            break
        address = html.unescape(older[1])
        assert "unit=chain-FILM0" in address
    assert [len(kinds) for kinds in found] == [ON_A_PAGE, ON_A_PAGE]
    assert [*found[0], *found[1]].count("save") == 60
    assert "Newest" in page
