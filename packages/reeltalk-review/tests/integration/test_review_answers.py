"""Rating and the test in a real browser, against a real server: keys, lost connections, two windows, small screens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driven_screen import READY_MS, picture_share, press, reach_buttons, ready, saved
from playwright.sync_api import Browser, BrowserContext, Page, expect
from served_review import ACROSS, CHAIN, ServedReview, content, served
from walk_report import find_axe_problems

from reeltalk.schema.answers import AnsweredTurn
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tasks.answering import answer_drafts
from reeltalk_review.tasks.rating import load_scale, rating_drafts

pytestmark = pytest.mark.browser
TESTED = f"chain {CHAIN}"
OPTIONS = f"dialogue {ACROSS}"
RATED = f"vdeval#{load_scale('vdeval').version} m chain {CHAIN}"
WHOLE_SCALE = """
[dialogue]
version = "1"
unit = "dialogue"
source = "How the dialogue is answered"
[[dialogue.criteria]]
name = "coherent"
title = "The answers fit together"
lowest = 0
highest = 2
levels = {"0" = "they contradict each other", "2" = "they fit"}
[[dialogue.criteria]]
name = "corrects"
title = "It corrects itself"
lowest = 0
highest = 1
levels = {}
may_not_apply = true
"""
WHOLE = f"dialogue#1 m chain {CHAIN}"
LEAST_SHARE = 0.3


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    filled = content()
    answers = [
        AnsweredTurn(
            model="m",
            item_id=f"{CHAIN} {n}",
            video_id="kitchen",
            unit="chain",
            unit_id=CHAIN,
            turn_index=n,
            question=turn.question,
            references=turn.references,
            text="She takes a cup.",
        )
        for n, turn in enumerate(filled.chains[0].turns[:3])
    ]
    folder = tmp_path_factory.mktemp("answers")
    scale: Path = folder / "dialogue.toml"
    scale.write_text(WHOLE_SCALE)
    with served(folder, filled) as found:
        with transaction(found.project.database, OPERATOR) as change:
            drafts = rating_drafts(answers, load_scale("vdeval"))
            add_queue(change, "rating", "rating", drafts, title="Rate", overlap=20)
            whole = rating_drafts(answers, load_scale(str(scale)))
            add_queue(change, "rating", "whole", whole, title="Rate dialogues", overlap=20)
            add_queue(change, "test", "test", answer_drafts(filled, "dialogue"), title="Test", overlap=20)
        yield found


def opened(review: ServedReview, context: BrowserContext, name: str, queue: str, target_id: str | None = None) -> Page:
    if not context.cookies():
        review.sign_in(context, name)
    page = context.new_page()
    target_id = target_id or {"test": TESTED, "rating": RATED, "whole": WHOLE}[queue]
    page.goto(review.work(name, target_id, queue))
    ready(page)
    return page


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_answers_are_rated_by_keys_and_handed_in(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, "rating")
    press(page, "3", "2", "1")
    expect(page.locator("#turn-state")).to_have_text("Rated")
    press(page, "z")
    expect(page.locator("#turn-state")).to_have_text("To rate")
    press(page, "u", "2")
    saved(page)
    marks = [value["marks"]["vdeval"] for _, value in sorted(review.entries(name, RATED, "rating").items())]
    assert marks == [3, 2, 2]
    press(page, "f", "Enter")
    page.wait_for_url("**/")
    assert review.state(name, RATED, "rating") == "submitted"


def test_two_windows_that_rate_one_answer_meet_in_a_merge_view(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    one, other = (opened(review, context, name, "rating") for _ in range(2))
    press(one, "1")
    saved(one)
    press(other, "3")
    expect(other.locator("#merge")).to_be_visible(timeout=READY_MS)
    other.get_by_role("button", name="Take theirs").press("Enter")
    saved(other)
    assert review.entries(name, RATED, "rating")["0"]["marks"] == {"vdeval": 1}
    expect(other.locator("#open .marks input:checked")).to_have_value("1")


@pytest.mark.firefox
def test_an_answer_given_offline_survives_a_reload_and_the_next_question_comes(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, "test")
    page.route("**/api/**/entries/**", lambda route: route.abort())
    page.fill("#answer-text", "Milk.")
    press(page, "Control+Enter")
    expect(page.locator("#save-state")).to_contain_text("1 answer waits in this browser")
    expect(page.locator("#asking")).to_contain_text("when the server has your answer")
    page.reload()
    ready(page)
    page.unroute("**/api/**/entries/**")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#now")).to_have_text("Where does she carry it?", timeout=READY_MS)
    assert len(review.events(name, "save", TESTED, "test")) == 1


def test_what_another_window_gave_stands(review: ServedReview, context: BrowserContext, name: str) -> None:
    one, other = (opened(review, context, name, "test") for _ in range(2))
    one.fill("#answer-text", "Milk.")
    press(one, "Control+Enter")
    expect(one.locator("#turn-title")).to_contain_text("Question 2")
    other.fill("#answer-text", "Water.")
    press(other, "Control+Enter")
    expect(other.locator("#now")).to_have_text("Where does she carry it?", timeout=READY_MS)
    expect(other.locator("#dialogue")).to_contain_text("Milk.")
    assert review.entries(name, TESTED, "test")["0"]["text"] == "Milk."


def test_notes_and_unsure_belong_to_every_answer_that_is_rated(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, "rating")
    press(page, "3")
    page.keyboard.press("e")
    page.keyboard.type("123 f is a note")
    expect(page.locator("#note")).to_have_value("123 f is a note")
    press(page, "Escape", "Shift+N")
    saved(page)
    entries = review.entries(name, RATED, "rating")
    assert (entries["1"]["note"], entries["1"]["unsure"], entries["1"]["marks"]) == ("123 f is a note", True, {})
    page.reload()
    ready(page)
    expect(page.locator("#unsure")).to_be_checked()
    press(page, "j")
    page.locator("#open .marks").get_by_text("2", exact=True).first.click()
    press(page, "f")
    expect(page.locator("#said")).to_contain_text("Still to be decided: Answer 2.")
    expect(page.locator("#confirm-submit")).to_have_count(0)


def test_a_dialogue_is_rated_as_a_whole_and_a_mark_may_not_apply(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, "whole")
    expect(page.locator("#answers li")).to_have_count(3)
    press(page, "2")
    page.get_by_label("does not apply").check()
    page.get_by_label("does not apply").focus()
    press(page, "0")
    expect(page.locator("#turn-state")).to_have_text("Rated")
    press(page, "Escape", "f")
    expect(page.locator("#confirm-submit")).to_contain_text("3 answers are rated.")
    press(page, "Enter")
    page.wait_for_url("**/")
    assert review.entries(name, WHOLE, "whole")["whole"]["marks"] == {"coherent": 2, "corrects": None}


def test_the_video_of_a_test_stops_and_an_option_is_chosen_by_its_number(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, "test")
    press(page, "t", *["Shift+ArrowRight"] * 6)
    expect(page.locator("#video-time")).to_contain_text("0:16.00 /")
    assert page.evaluate("document.querySelector('#video').currentTime") <= 16.1
    expect(page.locator("#turn-state")).to_have_text("You may watch up to 0:16.00.")
    page.goto(review.work(name, OPTIONS, "test"))
    ready(page)
    press(page, "a")
    expect(page.locator("#said")).to_contain_text("Choose one of the options.")
    press(page, "2", "e")
    page.keyboard.type("1 a f")
    press(page, "Escape", "Shift+N", "a")
    expect(page.locator("#dialogue")).to_contain_text("No")
    expect(page.locator("#turn-title")).to_have_text("All 1 questions are answered")
    here = page.url
    press(page, "f", "Enter")
    page.wait_for_url(lambda url: url != here)
    entry = review.entries(name, OPTIONS, "test")["0"]
    assert (entry["choice"], entry["given"], entry["note"], entry["unsure"]) == (1, True, "1 a f", True)


def test_the_next_question_comes_with_what_may_be_watched(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name, "test")
    assert "Where does she carry it?" not in page.content()
    press(page, "w")
    page.keyboard.type("Milk.")
    press(page, "Control+Enter")
    expect(page.locator("#now")).to_have_text("Where does she carry it?", timeout=READY_MS)
    expect(page.locator("#answer-text")).to_be_focused()
    press(page, "Escape", "f")
    expect(page.locator("#said")).to_contain_text("Still to be decided: Answer 2")


SIZES = {"rating": (1366, 768), "whole": (390, 844), "test": (1920, 1080)}


@pytest.mark.parametrize("queue", SIZES)
def test_the_video_is_large_and_every_button_is_within_reach(
    review: ServedReview, browser: Browser, name: str, queue: str, full: bool
) -> None:
    # At every change, each screen has one size.
    for width, height in SIZES.values() if full else (SIZES[queue],):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if width == 390 else "light"
        )
        page = opened(review, context, name, queue)
        if width > 390:
            assert picture_share(page) >= LEAST_SHARE
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#submit")).to_be_in_viewport(ratio=1)
        reach_buttons(page)
        assert find_axe_problems(page) == []
        context.close()
