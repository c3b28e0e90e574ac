"""Rating and the test in a real browser, against a real server: keys, lost connections, two windows."""

from collections.abc import Iterator

import pytest
from driven_screen import READY_MS, press, ready, saved
from playwright.sync_api import BrowserContext, Page, expect
from served_review import CHAIN, ServedReview, content, served

from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.importing import add_queue
from reeltalk.review.tasks.answering import answer_drafts
from reeltalk.review.tasks.rating import load_scale, rating_drafts
from reeltalk.schema.answers import AnsweredTurn

pytestmark = pytest.mark.browser
TESTED = f"chain {CHAIN}"
RATED = f"vdeval#{load_scale('vdeval').version} m chain {CHAIN}"


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
    with served(tmp_path_factory.mktemp("answers"), filled) as found:
        with transaction(found.project.database, OPERATOR) as change:
            drafts = rating_drafts(answers, load_scale("vdeval"))
            add_queue(change, "rating", "rating", drafts, title="Rate", overlap=20)
            add_queue(change, "test", "test", answer_drafts(filled, "dialogue"), title="Test", overlap=20)
        yield found


def opened(review: ServedReview, context: BrowserContext, name: str, queue: str) -> Page:
    if not context.cookies():
        review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.work(name, TESTED if queue == "test" else RATED, queue))
    ready(page)
    return page


def test_answers_are_rated_by_keys_and_handed_in(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, "rating")
    press(page, "3", "2", "1")
    expect(page.locator("#turn-state")).to_have_text("Everything is rated")
    press(page, "z")
    expect(page.locator("#turn-state")).to_have_text("1 of 3 to rate")
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
    expect(other.locator("#place-0 input:checked")).to_have_value("1")


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
    expect(other.locator("#before")).to_contain_text("Milk.")
    assert review.entries(name, TESTED, "test")["0"]["text"] == "Milk."
