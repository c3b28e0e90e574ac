"""The pages of the team in Chromium: wide and narrow, light and dark, without a grave finding of axe, by keyboard."""

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from askers import ROLES, World
from playwright.sync_api import Browser
from served_review import serving
from team import PASSWORD, make_team
from walk_report import SCHEMES, WIDTHS, _listen, _overflow, _picture, find_axe_problems

from reeltalk_review.web import cookie_name

PAGES = ("/", "/team", "/setup", "/history", "/account", "/nothing/here")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    found = World(make_team(tmp_path_factory.mktemp("pages"), overlap=2))
    for state in ("working", "fresh", "submitted", "complete"):
        found.work("owner", state)
    back = found.work("owner", "complete")
    from reeltalk_review.work import send_back

    with found.changing() as change:
        note = "The second answer names the wrong cup.\nPlease look at 0:12 again, and at the question after it."
        send_back(change, found.browsers["adjudicator"].id, back, note)
    owner = found.browsers["owner"]
    for role, said in (("annotator", "for Ben, who reads Chinese"), ("reader", "")):
        owner.form("/team/invitations", role=role, note=said, key=f"key of {role}")
    owner.form(f"/team/people/{found.browsers['third'].id}", role="disabled")
    return found


def walked(
    world: World, browser: Browser, views: Sequence[tuple[int, Any]], shots: Path | None, *, in_turn: bool
) -> Iterator[str]:
    """What is wrong with a page, view by view; with `in_turn`, pages that an address has are seen in one view each."""
    owner = world.browsers["owner"]
    name = cookie_name(world.team.project)
    invitation = world.invitation()[1]
    with serving(world.team.app) as address:
        for view, (width, scheme) in enumerate(views):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            tab = context.new_page()
            heard = _listen(tab)

            def look(page: str, tab=tab, heard=heard, width=width, scheme=scheme) -> Iterator[str]:  # type: ignore[no-untyped-def]
                heard[:] = [one for one in heard if not one.startswith(f"asks {address}") and "404" not in one]
                for what in (*heard, *_overflow(tab, width), *find_axe_problems(tab)):
                    yield f"{page} at {width} px, {scheme}: {what}"
                heard.clear()
                if shots is not None:
                    _picture(tab, shots / f"{page.strip('/').replace('/', '-') or 'home'}-{width}-{scheme}.png")

            for page in ("/sign-in", f"/join/{invitation}"):
                tab.goto(address + page)
                yield from look(page[:5])
            context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
            for page in PAGES[view :: len(views)] if in_turn else PAGES:
                tab.goto(address + page)
                yield from look(page)
            tab.goto(address + "/team")
            with tab.expect_navigation():
                tab.click("text=Make a link")
            yield from look("/team/link")
            tab.goto(address + "/setup")
            tab.evaluate("for (const field of document.querySelectorAll('input')) field.removeAttribute('required')")
            tab.fill("input[name=title] >> nth=0", "")
            with tab.expect_navigation():
                tab.click("text=Save >> nth=0")
            heard[:] = [one for one in heard if "422" not in one]
            yield from look("/setup/problem")
            context.close()


@pytest.mark.browser
def test_no_page_of_the_team_has_a_grave_problem(world: World, browser: Browser, full: bool) -> None:
    shots = os.environ.get("REELTALK_SHOTS")
    views = list(itertools.product(WIDTHS, SCHEMES) if full else zip(WIDTHS, SCHEMES, strict=True))
    assert list(walked(world, browser, views, Path(shots) if shots else None, in_turn=not full)) == []


@pytest.mark.browser(always=True)
def test_an_owner_invites_somebody_who_joins_by_keyboard_alone(world: World, browser: Browser) -> None:
    owner = world.browsers["owner"]
    name = cookie_name(world.team.project)
    with serving(world.team.app) as address:
        context = browser.new_context()
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
        tab = context.new_page()
        tab.goto(f"{address}/team")
        tab.focus("input[name=note]")
        tab.keyboard.type("for Zoë")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#link")
        link = tab.input_value("#link")
        assert re.fullmatch(re.escape(address) + r"/join/[\w-]{20,}", link)
        tab.focus("button[data-copy]")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("text=Copied.")
        assert tab.evaluate("navigator.clipboard.readText()") == link
        other = browser.new_context().new_page()
        other.goto(link)
        other.wait_for_function("document.activeElement.name === 'name'")
        other.keyboard.type("Zoë")
        other.keyboard.press("Tab")
        other.keyboard.type(PASSWORD)
        other.keyboard.press("Enter")
        other.wait_for_selector("text=Your work")
        assert "Zoë" in other.inner_text("nav")
        other.context.close()
        context.close()


@pytest.mark.browser
def test_a_button_that_is_pressed_twice_sends_once(world: World, browser: Browser) -> None:
    owner = world.browsers["owner"]
    name = cookie_name(world.team.project)
    before = owner.get("/team").text.count("/withdraw")
    with serving(world.team.app) as address:
        context = browser.new_context(java_script_enabled=False)
        context.add_cookies([{"name": name, "value": owner.client.cookies[name], "url": address}])
        tab = context.new_page()
        tab.goto(f"{address}/team")
        tab.dblclick("text=Make a link")
        tab.wait_for_selector("#link")
        assert tab.input_value("#link").startswith(f"{address}/join/")
        context.close()
    assert owner.get("/team").text.count("/withdraw") == before + 1


def test_the_navigation_leads_where_the_role_may_go(world: World) -> None:
    for role in ROLES:
        browser = world.browsers[role]
        nav = browser.get("/").text.split("<nav")[1].split("</nav>")[0]
        links = re.findall(r'href="([^"]+)"', nav)
        assert {"/", "/account"} <= set(links)
        assert ("/team" in links) == (role == "owner")
        assert (links == ["/", "/account"]) == (role == "annotator")
        assert [browser.get(link).status_code for link in links] == [200] * len(links)
