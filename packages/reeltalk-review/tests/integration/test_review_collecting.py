"""Collection in pairs in real browsers: whose turn it is, a lost connection, the video's size, phones, approval."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from driven_screen import READY_MS, picture_share, press, reach_buttons, ready
from playwright.sync_api import Browser, BrowserContext, Page, expect
from served_review import ServedReview, content, served
from walk_report import find_axe_problems

from reeltalk_review import collecting
from reeltalk_review.collecting import CollectSettings, collecting_drafts
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.guiding import write_guideline
from reeltalk_review.importing import add_queue
from reeltalk_review.tables import QueueRow

pytestmark = pytest.mark.browser
LEAST_SHARE = 0.3
SIZES = ((1366, 768), (1920, 1080), (390, 844))


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    filled = content()
    settings = CollectSettings(least_turns=1, most_turns=3, approve_first=1).model_dump(mode="json")
    with served(tmp_path_factory.mktemp("collecting"), filled) as found:
        with transaction(found.project.database, OPERATOR) as change:
            drafts = [draft for draft in collecting_drafts(filled) if draft.video_id == "kitchen"]
            add_queue(change, "collect", "collect", drafts, title="Collect", overlap=50, settings=settings)
        yield found


@pytest.fixture
def dialogue(review: ServedReview, name: str) -> str:
    """A new dialogue: the first person asks."""
    asks, answers = review.join(f"{name} asks"), review.join(f"{name} answers")
    with transaction(review.project.database, OPERATOR) as change:
        pair = collecting.add_pair(change, "collect", asks, answers, 4)
    with transaction(review.project.database, asks) as change:
        return collecting.begin_dialogue(change, asks, pair.id).id


def opened(review: ServedReview, context: BrowserContext, name: str, path: str) -> Page:
    review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.address + path)
    ready(page)
    return page


@pytest.mark.browser(always=True)
def test_two_people_talk_and_somebody_else_approves(
    review: ServedReview, browser: Browser, name: str, dialogue: str
) -> None:
    path = f"/dialogues/{dialogue}"
    with closing(browser.new_context()) as first, closing(browser.new_context()) as second:
        asks = opened(review, first, f"{name} asks", path)
        answers = opened(review, second, f"{name} answers", path)
        expect(asks.locator("video")).to_have_count(0)
        expect(answers.locator("video")).to_have_count(1)
        expect(answers.locator("#progress")).to_contain_text("The other person is writing.")
        expect(answers.locator("#send")).to_be_disabled()
        expect(asks.locator("#text")).to_be_focused()
        asks.keyboard.type("What does she takke?")
        press(asks, "Control+Enter")
        expect(asks.locator("#messages .own")).to_contain_text("What does she takke?", timeout=READY_MS)
        expect(asks.locator("#progress")).to_contain_text("The other person is writing. 1 question so far")
        asks.get_by_role("button", name="Correct my last message").click()
        asks.fill("#text", "What does she take?")
        press(asks, "Control+Enter")
        expect(answers.locator("#progress")).to_contain_text("It is your turn.", timeout=READY_MS)
        expect(answers.locator("#messages")).to_contain_text("What does she take?", timeout=READY_MS)
        answers.fill("#text", "A cup.")
        # Evidence is taken from the video, as in the editor; what makes no sense is refused at its field.
        press(answers, "Escape", "ArrowRight", "ArrowRight", "n", "Shift+ArrowRight", "o")
        expect(answers.locator("#start-0")).to_have_value("2.00")
        expect(answers.locator("#end-0")).to_have_value("7.10")
        expect(answers.locator("#progress")).to_contain_text("asked after the whole video, at 0:40.00")
        answers.fill("#end-0", "5000")
        answers.get_by_role("button", name="Answer").click()
        expect(answers.locator("#progress")).to_contain_text("the video lasts only 40.00 s")
        expect(answers.locator("#end-0")).to_have_attribute("aria-invalid", "true")
        answers.fill("#end-0", "7.1")
        answers.get_by_role("button", name="Answer").click()
        expect(answers.locator("#messages")).to_contain_text("0:02.00–0:07.10", timeout=READY_MS)
        expect(asks.locator("#messages")).to_contain_text("A cup.", timeout=READY_MS)
        asks.get_by_role("button", name="Finish the dialogue").click()
        asks.wait_for_url(re.compile(r":\d+/$"))
    with closing(browser.new_context()) as third:
        review.join(f"{name} judges", "adjudicator")
        look = opened(review, third, f"{name} judges", f"{path}/look")
        expect(look.locator(".sample")).to_contain_text("What does she take?")
        look.get_by_role("button", name="Approve").click()
        look.wait_for_url(re.compile(r":\d+/$"))
    with review.project.database.reading() as session:
        assert collecting.own_dialogue(session, review.team[f"{name} asks"], dialogue).state == "approved"
        said = collecting.messages_of(session, dialogue)
        assert [message.evidence for message in said] == [[], [{"start_s": 2.0, "end_s": 7.1}]]


def test_a_message_written_offline_is_sent_once_after_a_reload(
    review: ServedReview, context: BrowserContext, name: str, dialogue: str
) -> None:
    page = opened(review, context, f"{name} asks", f"/dialogues/{dialogue}")
    page.route("**/messages", lambda route: route.abort())
    page.fill("#text", "Where is the cup?")
    press(page, "Control+Enter")
    expect(page.locator("#save-state")).to_contain_text("Offline: what you type stays in this browser and is sent")
    page.reload()
    page.unroute("**/messages")
    expect(page.locator("#messages")).to_contain_text("Where is the cup?", timeout=READY_MS)
    expect(page.locator("#text")).to_have_value("")
    with review.project.database.reading() as session:
        assert [row.text for row in collecting.messages_of(session, dialogue)] == ["Where is the cup?"]


def test_keys_act_outside_of_the_field_only(
    review: ServedReview, context: BrowserContext, name: str, dialogue: str
) -> None:
    page = opened(review, context, f"{name} answers", f"/dialogues/{dialogue}")
    page.keyboard.type("w h . ?")
    expect(page.locator("#text")).to_have_value("w h . ?")
    at = page.locator("#video-time").text_content()
    press(page, "Escape", "ArrowRight")
    expect(page.locator("#video-time")).not_to_have_text(at or "")
    press(page, "w")
    expect(page.locator("#text")).to_be_focused()


def test_the_video_is_large_and_every_button_is_within_reach(
    review: ServedReview, browser: Browser, name: str, dialogue: str, full: bool
) -> None:
    with transaction(review.project.database, OPERATOR) as change:
        queue = change.session.get_one(QueueRow, "collect")
        write_guideline(change, queue, "Ask *short* questions.", based_on="", says="")
    review.join(f"{name} judges", "adjudicator")
    asks, answers = review.team[f"{name} asks"], review.team[f"{name} answers"]
    path = f"/dialogues/{dialogue}"

    def look(who: str, path: str, button: str, size: int) -> None:
        # At every change, each page has one size.
        for width, height in SIZES if full else SIZES[size : size + 1]:
            scheme: Any = "dark" if width == 390 else "light"
            with closing(browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)) as each:
                page = opened(review, each, f"{name} {who}", path)
                if width > 390 and who != "asks":
                    assert picture_share(page) >= LEAST_SHARE
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                expect(page.get_by_role("button", name=button, exact=True)).to_be_enabled()
                reach_buttons(page)
                assert find_axe_problems(page) == []

    for position, (person, text) in enumerate(((asks, "Where?"), (answers, "There."))):
        with transaction(review.project.database, person) as change:
            collecting.say_in_dialogue(change, person, dialogue, position, text)
    look("asks", path, "Finish the dialogue", 2)
    look("answers", path, "Correct my last message", 0)
    with transaction(review.project.database, asks) as change:
        collecting.finish_dialogue(change, asks, dialogue)
    look("judges", f"{path}/look", "Send back to the pair", 1)
