"""Quality of each person: counted by hand, never before all work is in, and silent where there is little."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from askers import World
from team import DATABASES, make_team

from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.team_stats import TeamStatsCache


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", DATABASES, indirect=True)


def test_the_table_tells_nothing_of_units_that_are_not_complete(world: World) -> None:
    cache = TeamStatsCache(world.team.project.database)
    unit = world.unit()
    world.work("annotator", "submitted", unit)
    before = {row.person: row for row in cache.compute().quality}
    mine = before[world.browsers["annotator"].id]
    assert (mine.submitted, mine.turns, mine.decisions, mine.complete_tasks, mine.unsure) == (1, 3, 0, 0, 0)
    world.work("other", "submitted", unit)
    after = {row.person: row for row in cache.compute().quality}
    for who in ("annotator", "other"):
        row = after[world.browsers[who].id]
        assert (row.accepted, row.decisions, row.results_share, row.results_places) == (3, 3, 1.0, 3)


def test_what_an_adjudicator_settles_counts_as_the_result(world: World) -> None:
    cache = TeamStatsCache(world.team.project.database)
    assignment, work = world.dispute("adjudicator")
    assert {row.results_places for row in cache.compute().quality} == {0}
    judge = world.browsers["adjudicator"]
    for place in ("0", "1", "2"):
        assert judge.save(assignment, place, {"take": work}).status_code == 200
    assert judge.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    found = {row.person: row.results_share for row in cache.compute().quality}
    assert found[world.browsers["other"].id] == 1.0
    assert found[world.browsers["third"].id] == 0.0


def test_time_is_what_a_browser_measured(world: World) -> None:
    assignment = world.work("annotator", "fresh")
    browser = world.browsers["annotator"]
    draft = TASKS["turns"].draft_value(browser.get(f"/api/work/{assignment}").json()["unit"]["content"], "0")
    for revision, active_s in enumerate((40.0, 2.5)):
        body = {"revision": revision, "value": {**draft, "note": str(revision)}, "active_s": active_s}
        assert browser.api("PUT", f"/api/work/{assignment}/entries/0", body).status_code == 200
    body = {"revision": 2, "value": draft, "active_s": 3601}
    assert browser.api("PUT", f"/api/work/{assignment}/entries/0", body).status_code == 422
    row = next(row for row in TeamStatsCache(world.team.project.database).compute().quality if row.person == browser.id)
    assert (row.seconds_per_turn, row.timed_turns, row.hours) == (42.5, 1, 0.0118)


def test_page_and_table_say_the_same(world: World) -> None:
    unit = world.unit()
    world.team.member("=cmd|' /C calc'!A0", "annotator")
    for who in ("annotator", "other"):
        world.work(who, "submitted", unit)
    owner = world.browsers["owner"]
    rows = owner.get("/api/quality").json()["rows"]
    assert [row["person"] for row in rows] == ["Another annotator", "The annotator"]
    assert rows[0]["accepted"] == rows[0]["decisions"] == 3
    text = owner.get("/api/quality?format=csv")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    assert text.text.splitlines()[1].startswith("Another annotator,Review turns,1,3,0,1,3,3,0,0,0,0,0,1.0,")
    shown = owner.get("/quality").text
    assert "The annotator" in shown
    assert "Krippendorff" in shown
    for who in ("annotator", "other"):
        assert world.browsers[who].get("/quality").status_code == 403
        assert world.browsers[who].get("/api/quality").status_code == 403
