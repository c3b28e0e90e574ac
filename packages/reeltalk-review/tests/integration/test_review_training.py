"""Training in Chromium: from the task to what was settled, and on; and the page on which an owner makes it."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from served_review import serving
from team import make_team
from walk_report import WIDTHS, _overflow, _picture, find_axe_problems

from reeltalk_review.web import cookie_name


def seen(tab: Any, name: str) -> list[str]:
    """What is wrong with a page, wide and narrow."""
    shots, found = os.environ.get("REELTALK_SHOTS"), []
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        found += [*_overflow(tab, width), *find_axe_problems(tab)]
        if shots:
            _picture(tab, Path(shots) / f"{name}-{width}.png")
    return found


@pytest.mark.browser(always=True)
def test_who_begins_is_trained_and_goes_on(tmp_path: Path, browser: Browser) -> None:
    team = make_team(tmp_path)
    owner, ada, ben = (team.member(*who) for who in (("Olga", "owner"), ("Ada", "annotator"), ("Ben", "annotator")))
    work = ada.next("turns")
    for place in ("0", "1", "2"):
        turn = ada.get(f"/api/work/{work}").json()["unit"]["content"]["turns"][int(place)]
        value = {"decision": "edit", "question": f"As settled, {place}?", "references": turn["references"]}
        assert ada.save(work, place, value).status_code == 200
    assert ada.api("POST", f"/api/work/{work}/submit").status_code == 200
    name = cookie_name(team.project)
    with serving(team.app) as address:
        context = browser.new_context()
        tab = context.new_page()
        context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
        tab.goto(f"{address}/quality")
        tab.select_option("select[name=kind]", "training")
        tab.fill("input[name=count]", "1")
        with tab.expect_navigation():
            tab.click("button:text('Add')")
        assert "1 task was added." in tab.inner_text("#content")
        assert seen(tab, "quality") == []
        context.clear_cookies()
        context.add_cookies([{"name": name, "value": ben.client.cookies[name], "url": address}])
        tab.goto(f"{address}/")
        with tab.expect_navigation():
            tab.click("form[action='/queues/turns/next'] button")
        tab.wait_for_selector("html[data-ready=true]")
        for _ in range(3):
            tab.keyboard.press("a")
            tab.wait_for_timeout(200)
        tab.keyboard.press("f")
        with tab.expect_navigation(url="**/training/*"):
            tab.click(".confirm button:text('Submit'), #confirm-submit button:text('Submit')")
        assert "You decided 0 of 3 as they were settled." in tab.inner_text("#content")
        assert tab.locator("mark", has_text="As settled, 0?").count() == 1
        assert "Take it back" not in tab.inner_text("#content")
        assert seen(tab, "training") == []
        with tab.expect_navigation(url="**/work/*"):
            tab.click("text=Next task")
        context.close()
    team.project.database.close()
