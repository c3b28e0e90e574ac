"""The review screen in a real browser, against a real server: keys alone, reloads, lost connections, two windows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driven_screen import COUNT_MOUSE, READY_MS, press, ready, saved
from playwright.sync_api import Browser, BrowserContext, Page, expect
from served_review import ACROSS, ASKED, CHAIN, FPS, UNSEEN, ServedReview, served
from sqlalchemy import select
from walk_report import find_axe_problems

from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.tables import AssignmentRow, QueueRow, VideoRow

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    with served(tmp_path_factory.mktemp("review")) as found:
        # Each test is somebody else; in both browsers there are 29 tests, more people than a project may ask for.
        with transaction(found.project.database, OPERATOR) as change:
            for queue in change.session.scalars(select(QueueRow)):
                queue.overlap = 50
        yield found


def opened(review: ServedReview, context: BrowserContext, name: str, target_id: str = CHAIN) -> Page:
    if not context.cookies():
        review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.work(name, target_id))
    ready(page)
    return page


def on_turn(page: Page, number: int) -> None:
    expect(page.locator("#turn-title")).to_have_text(f"Turn {number} of 8")


def frame_of(page: Page) -> int:
    time_s: float = page.evaluate("document.querySelector('#video').currentTime")
    return int(time_s * FPS)


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_eight_turns_are_reviewed_by_keys_alone_and_a_reload_goes_on_where_one_was(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    context.add_init_script(COUNT_MOUSE)
    mouse = 0
    page = opened(review, context, name)
    on_turn(page, 1)
    press(page, "a")
    on_turn(page, 2)
    # An edit, and a reload in the middle of it.
    press(page, "v", "ArrowRight", ".", ".")
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:10\.00 "))
    press(page, "q")
    page.keyboard.type(" Does she carry it far")
    typed = page.locator("#question").input_value()
    page.wait_for_timeout(500)
    frame = frame_of(page)
    mouse += page.evaluate("mouseEvents")
    page.reload()
    ready(page)
    on_turn(page, 2)
    assert page.locator("#question").input_value() == typed
    assert frame_of(page) == frame
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type(" away")
    assert page.locator("#question").input_value() == typed + " away"
    press(page, "Control+Enter")
    on_turn(page, 3)
    expect(page.locator("#strip li:nth-child(2) button")).to_have_class(re.compile("edit"))
    # A reject with a reason by its number, and a note.
    press(page, "r", "3", "e")
    assert page.evaluate("document.activeElement.id") == "note"
    page.keyboard.type("the stove is named before")
    press(page, "Control+Enter")
    on_turn(page, 4)
    press(page, "s")
    on_turn(page, 5)
    press(page, "a", "a")
    on_turn(page, 7)
    press(page, "z")
    on_turn(page, 6)
    expect(page.locator("#turn-state")).to_have_text("Undecided")
    press(page, "Shift+Z")
    expect(page.locator("#turn-state")).to_have_text("Accepted")
    press(page, "z", "z")
    expect(page.locator("#turn-title")).to_have_text("Turn 5 of 8")
    press(page, "a")
    on_turn(page, 6)
    press(page, "a")
    on_turn(page, 7)
    press(page, "f")
    expect(page.locator("#said")).to_contain_text("Still to be decided: Turn 7, Turn 8")
    press(page, "a", "a")
    expect(page.locator("#said")).to_contain_text("All turns are decided")
    saved(page)
    mouse += page.evaluate("mouseEvents")
    press(page, "f")
    expect(page.locator("#confirm-submit")).to_contain_text("5 accepted, 1 edited, 1 rejected, 1 skipped")
    press(page, "Enter")
    page.wait_for_url(lambda url: review.assignment(name, CHAIN) not in url)
    found = review.entries(name)
    assert [found[str(n)]["decision"] for n in range(8)] == [
        "accept", "edit", "reject", "skip", "accept", "accept", "accept", "accept",
    ]  # fmt: skip
    assert found["1"]["question"] == f"{ASKED[1][0]} Does she carry it far away"
    assert found["2"]["reasons"] == ["leaks"]
    assert found["2"]["note"] == "the stove is named before"
    assert review.state(name) == "submitted"
    assert mouse == 0


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_what_is_typed_offline_is_saved_once_when_the_connection_is_back(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    press(page, "q")
    context.set_offline(True)
    page.keyboard.type(" Typed offline.")
    expect(page.locator("#save-state")).to_have_text(re.compile("Offline: 1 turn waits in this browser"))
    press(page, "Control+Enter")
    on_turn(page, 2)
    expect(page.locator("#save-state")).to_have_text(re.compile("Offline: 1 turn waits"))
    assert review.entries(name) == {}
    context.set_offline(False)
    saved(page)
    assert review.entries(name)["0"]["question"] == f"{ASKED[0][0]} Typed offline."
    assert review.entries(name)["0"]["decision"] == "edit"
    texts = [event.after["value"]["question"] for event in review.events(name)]
    assert texts.count(f"{ASKED[0][0]} Typed offline.") <= 2, "once typed, once decided"


def test_a_reply_that_is_lost_does_not_save_twice(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name)
    keys: list[str] = []

    def lose_the_first_reply(route: Any) -> None:
        keys.append(route.request.headers["idempotency-key"])
        answer = route.fetch()
        if len(keys) == 1:
            route.abort()
        else:
            route.fulfill(response=answer)

    page.route("**/entries/0", lose_the_first_reply)
    press(page, "a")
    saved(page)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert len(review.events(name)) == 1


@pytest.mark.firefox
def test_a_closed_tab_leaves_what_it_could_not_save_to_the_next(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    page.route("**/api/work/**/entries/**", lambda route: route.abort())
    press(page, "q")
    page.keyboard.type(" Not lost.")
    expect(page.locator("#save-state")).to_have_text(re.compile("1 turn waits"))
    page.close()
    other = opened(review, context, name)
    assert other.locator("#question").input_value() == f"{ASKED[0][0]} Not lost."
    saved(other)
    assert review.entries(name)["0"]["question"] == f"{ASKED[0][0]} Not lost."


@pytest.mark.firefox
@pytest.mark.parametrize("choice", ["mine", "theirs", pytest.param("edit", marks=pytest.mark.browser(always=True))])
def test_two_windows_that_save_one_turn_meet_in_a_merge_view(
    review: ServedReview, context: BrowserContext, name: str, choice: str
) -> None:
    first, second = opened(review, context, name), opened(review, context, name)
    press(first, "q")
    first.keyboard.type(" Theirs <b>bold</b>.")
    saved(first)
    press(second, "q")
    second.keyboard.type(" Mine.")
    dialog = second.locator("#merge")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Theirs <b>bold</b>.")
    expect(dialog).to_contain_text("Mine.")
    dialog.get_by_role("button", name={"mine": "Take mine", "theirs": "Take theirs", "edit": "Edit"}[choice]).click()
    expect(dialog).to_be_hidden()
    saved(second)
    mine, theirs = f"{ASKED[0][0]} Mine.", f"{ASKED[0][0]} Theirs <b>bold</b>."
    assert second.locator("#question").input_value() == (theirs if choice == "theirs" else mine)
    assert review.entries(name)["0"]["question"] == (theirs if choice == "theirs" else mine)
    if choice == "edit":
        expect(second.locator(".difference:not([hidden]) del").first).to_contain_text("Theirs")
    versions = [event.after["value"]["question"] for event in review.events(name)]
    assert theirs in versions, "what was not taken stays in the history"


@pytest.mark.firefox
def test_a_session_that_ends_keeps_the_text_and_goes_on_after_signing_in(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    review.sign_everybody_out()
    press(page, "q")
    page.keyboard.type(" Typed signed out.")
    expect(page.locator("#save-state")).to_have_text(re.compile("Signed out: 1 turn waits"))
    expect(page.locator("#save-state a")).to_have_attribute("target", "_blank")
    with context.expect_page() as signing_in:
        page.locator("#save-state a").click()
    tab = signing_in.value
    tab.fill("[name=name]", name)
    tab.fill("[name=password]", "correct horse battery")
    tab.press("[name=password]", "Enter")
    tab.wait_for_url("**/")
    tab.close()
    saved(page)
    assert page.locator("#question").input_value() == f"{ASKED[0][0]} Typed signed out."
    assert review.entries(name)["0"]["question"] == f"{ASKED[0][0]} Typed signed out."


def test_an_edit_marks_later_turns_and_still_right_keeps_them(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    press(page, "a", "a")
    saved(page)
    press(page, "1", "q")
    page.keyboard.type(" Then?")
    press(page, "Control+Enter")
    saved(page)
    expect(page.locator("#strip li:nth-child(2) button")).to_have_class(re.compile("stale"))
    press(page, "2")
    expect(page.locator("#stale")).to_be_visible()
    press(page, "y")
    saved(page)
    expect(page.locator("#strip li:nth-child(2) button")).not_to_have_class(re.compile("stale"))


@pytest.mark.firefox
def test_keys_do_nothing_while_one_types_and_can_be_turned_off(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    press(page, "q", "/", "j")
    assert page.locator("#question").input_value() == f"{ASKED[0][0]}/j"
    press(page, "Alt+j")
    on_turn(page, 2)
    # After a click anywhere, keys work too.
    page.locator("#video-frame").click()
    page.locator("#loop").click()
    press(page, "a")
    on_turn(page, 3)
    press(page, "?")
    page.get_by_label("Only keys with Ctrl or Alt").check()
    press(page, "Escape", "a", "j")
    page.reload()
    ready(page)
    press(page, "a", "j")
    on_turn(page, 3)
    expect(page.locator("#accept kbd")).to_have_count(0)
    press(page, "Control+z")
    on_turn(page, 2)
    expect(page.locator("#turn-state")).to_have_text("Undecided")


def test_a_video_that_cannot_be_shown_says_why_and_the_dialogue_is_judged(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, UNSEEN)
    with review.project.database.reading() as session:
        reason = session.get_one(VideoRow, "broken").problem
    assert reason
    expect(page.locator("#video-problem")).to_contain_text(reason, ignore_case=True)
    expect(page.locator("#play")).to_be_disabled()
    press(page, "ArrowRight", "i", "a", "r", "1", "Enter")
    saved(page)
    found = review.entries(name, UNSEEN)
    assert found["0"]["decision"] == "edit"
    assert found["1"]["reasons"] == ["not_in_video"]


def test_a_question_across_scenes_plays_them_one_after_the_other(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, ACROSS)
    page.evaluate(
        """() => { window.seen = new Set();
        const video = document.querySelector("#video");
        const look = (_, {mediaTime}) => {
            window.seen.add(Math.floor(mediaTime));
            video.requestVideoFrameCallback(look);
        };
        video.requestVideoFrameCallback(look); }"""
    )
    press(page, "+", "+", "+", "+", "+", "p")
    expect(page.locator("#play")).to_contain_text("Pause")
    expect(page.locator("#video-doing")).to_contain_text("scene 2 of 2")
    expect(page.locator("#play")).to_contain_text("Play")
    assert set(page.evaluate("[...window.seen]")) <= {2, 3, 33, 34}
    assert 2 in page.evaluate("[...window.seen]")


@pytest.mark.firefox
def test_times_are_taken_from_the_playhead(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, ACROSS)
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:02\.00 "))
    press(page, ".", ".", ".", "i")
    expect(page.locator("#start-0")).to_have_value("2.30")
    press(page, "v")
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:33\.00 "))
    press(page, ",", "o")
    # The end includes the frame that is shown.
    expect(page.locator("#end-1")).to_have_value("33.00")
    expect(page.locator("#start-1")).to_have_value("32.90")
    press(page, "m")
    # In a field of a time, an arrow goes to the next frame or the one before, and shows it.
    page.locator("#end-1").focus()
    press(page, "ArrowUp", "ArrowUp", "ArrowDown")
    expect(page.locator("#end-1")).to_have_value("33.10")
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:33\.10 "))
    press(page, "ArrowDown")
    saved(page)
    found = review.entries(name, ACROSS)["0"]
    assert found["asked_at_s"] == 32.9
    assert found["evidence"] == [{"start_s": 2.3, "end_s": 3.0}, {"start_s": 32.9, "end_s": 33.0}]


def test_work_that_came_back_shows_the_adjudicators_note(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    review.join(name)
    assignment = review.assignment(name, CHAIN)
    with transaction(review.project.database, OPERATOR) as change:
        row = change.session.get_one(AssignmentRow, assignment)
        row.state, row.round, row.note = "returned", 2, "<i>Look</i> at turn 3 again."
    page = opened(review, context, name)
    expect(page.locator("#notices")).to_contain_text("Returned to you: <i>Look</i> at turn 3 again.")


def test_a_value_that_the_server_refuses_stays_in_its_field(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    page.fill("#start-0", "99")
    expect(page.locator("#save-state")).to_have_text(re.compile("Not saved: .*ends before it starts"))
    assert page.locator("#start-0").input_value() == "99"
    page.fill("#start-0", "8.5")
    saved(page)
    assert review.entries(name)["0"]["evidence"][0]["start_s"] == 8.5


def test_no_state_of_the_screen_has_a_grave_problem(
    review: ServedReview, browser: Browser, width: int, scheme: Any, name: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
    context.set_default_timeout(READY_MS)
    page = opened(review, context, name)

    def check(what: str) -> None:
        page.wait_for_timeout(250)
        assert find_axe_problems(page) == [], what
        assert page.evaluate("document.documentElement.scrollWidth") <= width, what

    check("first turn")
    press(page, "a", "6", "d", "q")
    page.keyboard.type(" More?")
    check("changes, and a check that flags")
    press(page, "Escape", "r")
    check("rejecting")
    press(page, "Escape", "?")
    check("keys")
    press(page, "Escape", "1", "q")
    page.keyboard.type("!")
    context.set_offline(True)
    page.keyboard.type("!")
    expect(page.locator("#save-state")).to_have_text(re.compile("Offline"))
    check("offline")
    context.close()


def test_the_chain_of_events_is_whole_after_all_this(review: ServedReview) -> None:
    with review.project.database.reading() as session:
        assert list(broken_links(session)) == []
