"""The decision is in view: question, answer, evidence and buttons of every turn, without scrolling."""

from collections.abc import Iterator

import pytest
from decision_view import SIZES, views_of_places
from driven_screen import press, ready
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect
from served_review import ACROSS, CHAIN, ServedReview, content, served

from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.store.content import Content

pytestmark = pytest.mark.browser

LONG = "dialogue-long"
SIXTY_WORDS = (
    " ".join(["While the milk warms up on the stove, what does the woman"] * 5) + " do with both of her hands?"
)


def filled() -> Content:
    """The usual benchmark, with a dialogue of long questions, many answers, options and much evidence."""
    found = content()
    long = [
        Turn(
            question=SIXTY_WORDS,
            references=tuple(f"{SIXTY_WORDS} She cuts bread, slice {n}." for n in range(1 + number % 3)),
            asked_at_s=30.0 + number / 10,
            evidence=tuple(Interval(start_s=8.0 + n, end_s=8.5 + n) for n in range(1 + number)),
            options=("She cuts bread.", "She pours the milk.", SIXTY_WORDS) if number % 2 else None,
            correct_option=0 if number % 2 else None,
            labels={"cogme.target": ("Object",), "vdact.question_type": ("D-OBJ",)},
        )
        for number in range(12)
    ]
    found.dialogues.append(Dialogue(id=LONG, video_id="kitchen", clip_ids=("scene-1", "scene-2"), turns=tuple(long)))
    return found


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    with served(tmp_path_factory.mktemp("review"), filled(), overlap=20) as found:
        yield found


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_question_answer_evidence_and_buttons_of_every_turn_are_in_view(
    review: ServedReview, browser: Browser, width: int, height: int, name: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    review.sign_in(context, name)
    page = context.new_page()
    unseen = []
    for target in (CHAIN, ACROSS, LONG):
        page.goto(review.work(name, target))
        ready(page)
        views = views_of_places(page)
        unseen += [(target, n + 1, part) for n, view in enumerate(views) for part, seen in view.items() if not seen]
    context.close()
    assert unseen == []


def opened(review: ServedReview, context: BrowserContext, name: str, target: str = CHAIN) -> Page:
    review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.work(name, target))
    ready(page)
    return page


def number(page: Page, n: int) -> Locator:
    return page.locator(f"#strip li:nth-child({n}) button")


def test_a_number_shows_a_decision_only_once_the_server_has_it(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    waiting: list[Route] = []
    page.route("**/entries/**", lambda route: waiting.append(route))
    press(page, "a")
    expect(number(page, 1)).to_have_text("1…")
    expect(number(page, 1)).to_have_accessible_name("Turn 1: accepted, saving")
    waiting[0].continue_()
    page.unroute("**/entries/**")
    expect(number(page, 1)).to_have_text("1✓")


def test_the_editor_stays_at_a_refusal_and_submitting_leads_to_its_field(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    page.fill("#end-0", "5000")
    press(page, "Control+Enter")
    expect(page.locator("#said")).to_contain_text("Turn 1 is not saved. Evidence 1 ends at 5000.00 s")
    expect(page.locator("#said")).to_be_in_viewport()
    expect(page.locator("#turn-title")).to_have_text("Turn 1 of 8")
    expect(number(page, 1)).to_have_text("1!")
    press(page, "j", "f")
    expect(page.locator("#turn-title")).to_have_text("Turn 1 of 8")
    expect(page.locator("#end-0")).to_have_attribute("aria-invalid", "true")


def test_what_is_not_done_says_why_in_view(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, ACROSS)
    said = page.locator("#said.warn")
    for _ in range(2):
        page.get_by_role("button", name="Remove evidence 1").click()
    press(page, "v")
    expect(said).to_have_text("This turn has no evidence.")
    page.fill("#question", " ")
    press(page, "Control+Enter")
    expect(said).to_have_text("A turn that is accepted needs a question.")
    context.set_offline(True)
    page.fill("#question", "Is it seen again?")
    press(page, "Escape", "z")
    expect(said).to_contain_text("Not all is saved yet: undo works again")
    expect(said).to_be_in_viewport()


def test_a_neighbour_opens_by_a_click_and_the_width_of_the_text_stays(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    page.locator(".closed-place", has_text="Turn 2").click()
    expect(page.locator("#turn-title")).to_have_text("Turn 2 of 8")
    page.locator(".splitter").focus()
    press(page, "ArrowLeft", "ArrowLeft")
    page.reload()
    ready(page)
    expect(page.locator(".splitter")).to_have_attribute("aria-valuenow", "44")
    press(page, "x")
    expect(page.locator("#fields-scroll")).to_be_hidden()
    expect(page.locator("#accept")).to_be_in_viewport(ratio=1)
    press(page, "q")
    expect(page.locator("#question")).to_be_focused()


def test_checks_are_a_number_that_opens_to_flags(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name)
    expect(page.locator("#checks")).to_have_count(0)
    press(page, "6")
    expect(page.locator("#checks summary")).to_have_text("1 flag")
    page.locator("#checks summary").click()
    expect(page.locator("#checks li")).to_have_count(1)
    expect(page.locator("#checks li")).to_contain_text(
        "Does an earlier turn give the answer away? Turn 5 states the answer"
    )


def test_labels_are_open_where_the_queue_asks_for_them_and_drafts_are_accepted_at_once_where_it_allows_it(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    review.sign_in(context, name)
    page = context.new_page()
    address = review.work(name)
    bodies: list[str] = []

    def allow(route: Route) -> None:
        answer = route.fetch()
        more = '"labels_asked": true, "in_bulk": ["0", "1", "2", "3", "4", "5", "6"], "reasons":'.replace('"', "&#34;")
        route.fulfill(response=answer, body=answer.text().replace("&#34;reasons&#34;:", more, 1))

    def accept(route: Route) -> None:
        bodies.append(route.request.url)
        value = {"decision": "accept", "question": "?", "references": [], "evidence": [], "labels": {}, "reasons": []}
        entry = {"revision": 1, "stale": False, "value": {**value, "options": None, "asked_at_s": None, "note": ""}}
        route.fulfill(json={"entries": {str(n): entry for n in range(7)}, "findings": {}})

    page.route(address, allow)
    page.route("**/bulk", accept)
    page.goto(address)
    ready(page)
    expect(page.locator("#labels-fold")).to_have_attribute("open", "")
    expect(page.locator(".choices[data-vocabulary='cogme.target'] label")).to_have_count(8)
    page.get_by_role("button", name="Accept 7 unflagged").click()
    expect(page.locator("#turn-title")).to_have_text("Turn 8 of 8")
    expect(number(page, 7)).to_have_text("7✓")
    assert len(bodies) == 1


def test_a_key_that_does_nothing_says_so(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, ACROSS)
    press(page, "9")
    expect(page.locator("#said.warn")).to_have_text("There is no turn 9.")
    press(page, "k")
    expect(page.locator("#said.warn")).to_have_text("There is no turn before the first.")
    press(page, "a", "f", "Enter")
    page.wait_for_url(lambda url: review.assignment(name, ACROSS) not in url)
    page.goto(review.work(name, ACROSS))
    ready(page)
    press(page, "s")
    expect(page.locator("#said.warn")).to_have_text("This work is submitted: it can be read, not changed.")
