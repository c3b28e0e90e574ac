"""The table of tasks, a task's page and the page of assignment in Chromium: wide, narrow, light and dark, with axe."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from askers import World
from playwright.sync_api import Browser
from served_review import serving
from team import make_team, small_content
from walk_report import _listen, _overflow, _picture, find_axe_problems

from reeltalk_review.web import cookie_name

VIEWS: tuple[tuple[int, Any], ...] = ((1366, "light"), (1366, "dark"), (390, "light"), (390, "dark"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A team in the middle of its work: units in every state, assignments."""
    found = World(make_team(tmp_path_factory.mktemp("units"), small_content(60), overlap=2))
    owner = found.browsers["owner"]
    units = [unit["id"] for unit in owner.get("/api/units").json()["units"]]
    for state, unit in zip(("fresh", "working", "submitted", "complete", "complete"), units, strict=False):
        found.work("annotator", state, unit)
    found.dispute("adjudicator")
    found.dispute("owner")
    owner.form("/units/return", unit=units[4], note="The second answer names the wrong cup.")
    for unit in units[6:9]:
        owner.form("/units/assign", unit=unit, people=found.browsers["other"].id)
    return found


def pages(world: World) -> Iterator[str]:
    """Addresses to look at."""
    owner = world.browsers["owner"]
    yield "/units"
    yield "/units?state=done&state=adjudication&sort=disputed&down=yes"
    yield "/units?q=nothing+at+all"
    for state in ("waiting", "begun", "returned", "adjudication", "done"):
        yield f"/units/{owner.get(f'/api/units?state={state}').json()['units'][0]['id']}"
    yield "/setup"
    yield "/quality"
    yield "/team"
    yield "/backup"
    yield "/history"
    yield "/account"
    yield "/guidelines/turns"
    yield "/"


@pytest.mark.browser
def test_every_page_at_every_width_and_scheme(world: World, browser: Browser, full: bool) -> None:
    shots = Path(os.environ["UNITS_SHOTS"]) if "UNITS_SHOTS" in os.environ else None
    owner, name, wrong = world.browsers["owner"], cookie_name(world.team.project), []
    with serving(world.team.app) as address:
        # A quick run sees each page once: wide and light, or narrow and dark, in turn.
        looked = list(pages(world))
        for view, (width, scheme) in enumerate(VIEWS if full else VIEWS[::3]):
            context = browser.new_context(viewport={"width": width, "height": 768}, color_scheme=scheme)
            context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
            tab = context.new_page()
            heard = _listen(tab)
            for number, page in enumerate(looked):
                if not full and number % 2 != view:
                    continue
                tab.goto(address + page)
                heard[:] = [one for one in heard if not one.startswith(f"asks {address}")]
                found = (*heard, *_overflow(tab, width), *find_axe_problems(tab))
                wrong += [f"{page} at {width} px, {scheme}: {what}" for what in found]
                heard.clear()
                if shots is not None:
                    what = page.strip("/").split("?")[0].replace("/", "-")
                    _picture(tab, shots / f"{number:02d}-{what}-{width}-{scheme}.png")
            context.close()
    assert wrong == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "scripts",
    [pytest.param(True, marks=pytest.mark.browser(always=True)), False],
    ids=["with scripts", "without scripts"],
)
def test_many_tasks_are_assigned_by_hand(world: World, browser: Browser, scripts: bool) -> None:
    owner, name = world.browsers["owner"], cookie_name(world.team.project)
    with serving(world.team.app) as address:
        context = browser.new_context(viewport={"width": 1366, "height": 768}, java_script_enabled=scripts)
        context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
        tab = context.new_page()
        tab.goto(f"{address}/units?state=waiting")
        tab.fill("input[name=q]", "film3")
        tab.click("text=Filter")
        rows = tab.locator('.units input[name="unit"]')
        count = rows.count()
        assert count > 3
        if scripts:
            tab.check("input[data-all]")
            assert tab.inner_text("#chosen-count") == f"{count} chosen"
            rows.nth(0).uncheck()
            assert tab.inner_text("#chosen-count") == f"{count - 1} chosen"
            chosen = count - 1
        else:
            assert not tab.is_visible("input[data-all]")
            rows.nth(0).check()
            rows.nth(1).check()
            chosen = 2
        tab.click(".act summary")
        tab.select_option("select[name=people]", label=world.browsers["third"].name)
        tab.get_by_role("button", name="Assign").click()
        assert f"{chosen} tasks were assigned" in tab.inner_text(".note")
        assert tab.input_value("input[name=q]") == "film3"
        assert tab.locator(".assigned", has_text=world.browsers["third"].name).count() == chosen
        context.close()
    count = owner.get("/api/units?q=film3").json()["total"]
    owner.form("/units/assign", match="q=film3", every="yes", count=str(count))
