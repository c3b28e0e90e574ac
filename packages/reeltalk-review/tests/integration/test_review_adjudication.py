"""Adjudication and the board in a real browser: by keyboard alone, nothing lost by a reload, nothing grave for axe."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from driven_screen import ready
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect
from sqlalchemy import select
from team import Browser, Team, make_team, small_content
from walk_report import find_axe_problems

from reeltalk_review.tables import AssignmentRow, ResultRow
from reeltalk_review.web import cookie_name

CLICKS = "addEventListener('pointerdown', () => { window.clicks = (window.clicks || 0) + 1; }, true)"


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    found = make_team(tmp_path, overlap=2)
    yield found
    found.project.database.close()


@contextlib.contextmanager
def running(team: Team) -> Iterator[str]:
    """A server for a team; its address."""
    server = uvicorn.Server(uvicorn.Config(team.app, port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def address(team: Team) -> Iterator[str]:
    with running(team) as found:
        yield found


@pytest.fixture
def address_of() -> Iterator[Callable[[Team], str]]:
    with contextlib.ExitStack() as stack:
        yield lambda team: stack.enter_context(running(team))


def hand_in(browser: Browser, change: dict[str, dict[str, Any]]) -> None:
    """Do the next unit: accept each turn, with some fields changed."""
    work = browser.next("turns")
    opened = browser.get(f"/api/work/{work}").json()
    for place in opened["places"]:
        turn = opened["unit"]["content"]["turns"][int(place)]
        value = {"decision": "accept", "question": turn["question"], "references": turn["references"]}
        assert browser.save(work, place, value | change.get(place, {})).status_code == 200
    assert browser.api("POST", f"/api/work/{work}/submit").status_code == 200


def open_page(browser: Chromium, team: Team, address: str, who: Browser, path: str, **options: Any) -> Page:
    context = browser.new_context(**options)
    name = cookie_name(team.project)
    cookie = who.client.cookies.get(name)
    assert cookie is not None
    context.add_cookies([{"name": name, "value": cookie, "url": address}])
    page = context.new_page()
    page.add_init_script(CLICKS)
    page.goto(address + path)
    return page


def watch(page: Page, problems: list[str]) -> None:
    """Note what the page's scripts complain of."""
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_a_unit_is_decided_from_the_keyboard_and_survives_a_reload(browser: Chromium, team: Team, address: str) -> None:
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    judge = team.member("Jo", "adjudicator")
    hand_in(first, {"0": {"question": "Question zero, as Ann puts it?"}, "2": {"references": ["Ann's answer."]}})
    hand_in(second, {"0": {"question": "Question zero, as Ben puts it?"}})
    page = open_page(browser, team, address, judge, "/")
    page.keyboard.press("Tab")
    page.locator('form[action^="/adjudicate/queues"] button').focus()
    page.keyboard.press("Enter")
    ready(page)
    assert page.locator("#turn-title").inner_text() == "Turn 1 of 3"
    assert page.locator(".sides .head").all_inner_texts() == ["A", "B"]
    assert page.locator(".side-version ins").count() > 0
    page.keyboard.press("b")
    # The next place on which they differ comes by itself, and the dialogue so far has what was taken.
    expect(page.locator("#turn-title")).to_have_text("Turn 3 of 3")
    expect(page.locator("#dialogue")).to_contain_text("Question zero, as ")
    # Ann's decision is an edit, Ben's is not; the answer is the next field on which they differ.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("w")
    expect(page.locator(".row-field.current textarea")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("An answer of a third.")
    expect(page.locator("#save-state")).to_contain_text("All saved")
    page.reload()
    ready(page)
    expect(page.locator("#turn-title")).to_have_text("Turn 3 of 3")
    assert "An answer of a third." in [area.input_value() for area in page.locator(".own textarea").all()]
    # Handing in is never a slip: a chord keeps the decision, and the question names what was written.
    page.keyboard.press("Control+Enter")
    expect(page.locator("#submit")).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator("#confirm-submit")).to_contain_text("Turn 3: C, written")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    assert page.evaluate("window.clicks || 0") == 0
    with team.project.database.reading() as session:
        results = {row.place: row for row in session.scalars(select(ResultRow))}
    assert {place: row.how for place, row in results.items()} == {"0": "taken", "1": "agreed", "2": "written"}
    assert results["0"].value["question"].startswith("Question zero, as ")
    assert results["2"].value["references"] == ["An answer of a third."]


@pytest.mark.browser
def test_each_field_is_chosen_from_a_or_b_and_the_server_records_whose_it_is(
    browser: Chromium, team: Team, address: str
) -> None:
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    judge = team.member("Jo", "adjudicator")
    hand_in(first, {"1": {"question": "Ann's question?", "references": ["Ann's answer."]}})
    hand_in(second, {"1": {"question": "Ben's question?", "references": ["Ben's answer."]}})
    path = judge.form("/adjudicate/queues/turns/next").headers["location"]
    page = open_page(browser, team, address, judge, path)
    ready(page)
    shown = judge.get(f"/api{path}").json()
    a, b = (side["id"] for side in shown["sides"])
    asked = {side: shown["places"]["1"]["sides"][side]["value"] for side in (a, b)}
    # The question of B, then, on the next field, the answer of A.
    page.keyboard.press("2")
    expect(page.locator(".row-field.current")).to_have_attribute("data-field", "references")
    page.keyboard.press("1")
    expect(page.locator("#turn-state")).to_have_text("C, chosen from A and B")
    expect(page.locator("#save-state")).to_contain_text("All saved")
    decision = judge.get(f"/api{path}").json()["entries"]["1"]["value"]
    assert decision["write"]["question"] == asked[b]["question"]
    assert decision["write"]["references"] == asked[a]["references"]
    assert (decision["from"]["question"], decision["from"]["references"]) == (b, a)
    # Both from B is B.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    expect(page.locator("#turn-state")).to_have_text("B, taken")
    page.keyboard.press("z")
    expect(page.locator("#turn-state")).to_have_text("C, chosen from A and B")
    for key in ("Control+Enter", "f", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(f"{address}/")
    with team.project.database.reading() as session:
        result = session.scalars(select(ResultRow).where(ResultRow.place == "1")).one()
    assert (result.how, result.value["question"]) == ("written", asked[b]["question"])


@pytest.mark.firefox
@pytest.mark.browser
def test_disputes_are_settled_by_keys_in_a_few_seconds_each(
    browser: Chromium, tmp_path: Path, address_of: Callable[[Team], str], full: bool
) -> None:
    disputes = 12 if full else 4
    team = make_team(tmp_path, small_content(disputes), overlap=2)
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    judge = team.member("Jo", "adjudicator")
    for _ in range(disputes):
        hand_in(first, {"0": {"question": "Ann's?"}})
        hand_in(second, {"0": {"question": "Ben's?"}})
    address = address_of(team)
    page = open_page(browser, team, address, judge, "/")
    page.locator('form[action^="/adjudicate/queues"] button').focus()
    begun = time.monotonic()
    page.keyboard.press("Enter")
    for number in range(disputes):
        ready(page)
        page.evaluate("delete document.documentElement.dataset.ready")
        if number:
            expect(page.locator(".handed-in")).to_contain_text("Submitted: ")
        page.keyboard.press("a" if number % 2 else "b")
        expect(page.locator("#submit")).to_be_focused()
        page.keyboard.press("f")
        page.locator("#confirm-submit").wait_for()
        page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    took_s = time.monotonic() - begun
    print(f"{disputes} disputes settled in {took_s:.1f} s")
    assert page.evaluate("window.clicks || 0") == 0
    with team.project.database.reading() as session:
        assert len(session.scalars(select(ResultRow).where(ResultRow.how == "taken")).all()) == disputes
    team.project.database.close()
    assert took_s <= 2.5 * disputes


@pytest.mark.browser
def test_a_decision_of_another_window_stays(browser: Chromium, team: Team, address: str) -> None:
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    judge = team.member("Jo", "adjudicator")
    hand_in(first, {"0": {"question": "Ann's?"}})
    hand_in(second, {"0": {"question": "Ben's?"}})
    path = judge.form("/adjudicate/queues/turns/next").headers["location"]
    one, other = (open_page(browser, team, address, judge, path) for _ in range(2))
    for page in (one, other):
        ready(page)
    one.keyboard.press("a")
    expect(one.locator("#submit")).to_be_focused()
    expect(one.locator("#save-state")).to_contain_text("All saved")
    other.keyboard.press("b")
    expect(other.locator("#said")).to_have_text("Turn 1 was saved in another window. That version stays.")
    expect(other.locator(".sides .head.taken")).to_contain_text("A, taken")


@pytest.mark.browser
def test_work_is_returned_with_a_note(browser: Chromium, team: Team, address: str) -> None:
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    judge = team.member("Jo", "adjudicator")
    hand_in(first, {"0": {"question": "Ann's?"}})
    hand_in(second, {"0": {"question": "Ben's?"}})
    path = judge.form("/adjudicate/queues/turns/next").headers["location"]
    page = open_page(browser, team, address, judge, path)
    ready(page)
    page.locator("#return-a").click()
    page.keyboard.type("The video says another thing.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    with team.project.database.reading() as session:
        returned = session.scalars(select(AssignmentRow).where(AssignmentRow.state == "returned")).one()
    assert returned.note == "The video says another thing."


@pytest.mark.browser
def test_no_page_has_a_grave_problem_or_scrolls_sideways(
    browser: Chromium, team: Team, address: str, width: int, scheme: str
) -> None:
    first, second = team.member("Ann", "annotator"), team.member("Ben", "annotator")
    owner = team.member("Olga", "owner")
    hand_in(first, {"0": {"question": "Ann's?"}})
    hand_in(second, {"0": {"question": "Ben's?"}})
    adjudicate = owner.form("/adjudicate/queues/turns/next").headers["location"]
    for who, path in (
        (owner, "/units"),
        (owner, "/quality"),
        (owner, adjudicate),
        (first, "/"),
    ):
        page = open_page(
            browser, team, address, who, path, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        problems: list[str] = []
        watch(page, problems)
        page.reload()
        if path == adjudicate:
            ready(page)
        assert (path, find_axe_problems(page), problems) == (path, [], [])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.context.close()
