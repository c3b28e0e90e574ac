"""The labelling screens in a real browser, against a real server: CogME tags and VDAct types, by keys alone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driven_screen import COUNT_MOUSE, READY_MS, press, reach_buttons, ready, saved
from playwright.sync_api import Browser, BrowserContext, Page, expect
from served_review import ServedReview, served
from served_review import content as kitchen
from walk_report import find_axe_problems

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.labels import TagProposal, Target, Thinking
from reeltalk.store.content import Content

pytestmark = pytest.mark.browser
CHAIN = "chain-tagged"
TARGET, CONTENT, THINKING = "cogme.target", "cogme.content", "cogme.thinking"


def content() -> Content:
    """A chain of three turns: one is tagged for certain, one is a close call, one a tagger could not tag."""
    found = kitchen()
    asked = (
        ("What does the woman pour?", "Milk."),
        ("Where does she pour it?", "Into a red pot."),
        ("Why does she do that?", "To warm it up."),
    )
    turns = tuple(Turn(question=question, references=(answer,), asked_at_s=16.0) for question, answer in asked)
    found.chains = [QAChain(id=CHAIN, video_id="kitchen", clip_id="scene-2", turns=turns)]

    def proposed(
        turn: int, vocabulary: str, tags: tuple[str, ...], margin: float | None, **chances: float
    ) -> TagProposal:
        return TagProposal(
            unit="chain",
            unit_id=CHAIN,
            turn_index=turn,
            vocabulary=vocabulary,
            tags=tags,
            probabilities=chances,
            margin=margin,
            tagger="model:tiny#1f2e3d4c",
            needs_review=margin is None or margin < 0.1,
            reason=None if tags else "the reply names no known tag",
        )

    thinking = {each.value: 0.9 if each is Thinking.RECALL else 0.05 for each in Thinking}
    target = {each.value: 0.52 if each is Target.PLACE else 0.4 if each is Target.OBJECT else 0.02 for each in Target}
    found.tag_proposals = [
        proposed(0, TARGET, ("Object",), 0.4, Object=0.9),
        proposed(0, CONTENT, ("Identity",), 0.4, Identity=0.9),
        proposed(0, THINKING, ("Recall",), 0.42, **thinking),
        proposed(1, TARGET, ("Place",), 0.02, **target),
        proposed(1, CONTENT, ("Relationship",), 0.4, Relationship=0.9),
        proposed(1, THINKING, ("Recall",), 0.42, **thinking),
        proposed(2, TARGET, (), None),
    ]
    found.linkages, found.dialogues, found.gates = [], [], []
    return found


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    with served(tmp_path_factory.mktemp("labels"), content(), overlap=20) as found:
        yield found


def opened(review: ServedReview, context: BrowserContext, name: str, queue: str = "tagging") -> Page:
    if not context.cookies():
        review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.work(name, CHAIN, queue))
    ready(page)
    return page


def ticked(page: Page) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('[data-vocabulary] :checked')].map((b) => b.value)")
    return found


def on_turn(page: Page, number: int) -> None:
    expect(page.locator("#turn-title")).to_have_text(f"Turn {number} of 3")


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_a_chain_is_tagged_by_keys_alone_and_a_reload_goes_on_where_one_was(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    context.add_init_script(COUNT_MOUSE)
    mouse = 0
    page = opened(review, context, name)
    on_turn(page, 1)
    # What was proposed is ticked, with how likely it is; close calls are marked.
    assert ticked(page) == ["Object", "Identity", "Recall"]
    expect(page.locator("label:has([data-label=Object]) .chance")).to_have_text("90 %")
    expect(page.locator("#strip li:nth-child(2) button")).to_have_class(re.compile("close-call"))
    press(page, "Enter")
    on_turn(page, 2)
    expect(page.locator(f"[data-vocabulary='{TARGET}'] [data-proposed]")).to_have_text("· proposed; a close call")
    press(page, "2", "Shift+S")
    assert ticked(page) == ["Object", "Place", "Relationship", "Grasping"]
    press(page, "e")
    page.keyboard.type("which of the two p")
    page.wait_for_timeout(500)
    mouse += page.evaluate("mouseEvents")
    page.reload()
    ready(page)
    on_turn(page, 2)
    assert ticked(page) == ["Object", "Place", "Relationship", "Grasping"]
    page.keyboard.type("ots?")
    press(page, "Control+Enter")
    on_turn(page, 3)
    # The third has no proposals, and is not done without labels of each kind.
    expect(page.locator(f"[data-vocabulary='{TARGET}'] [data-proposed]")).to_contain_text("names no known tag")
    press(page, "5", "Enter")
    expect(page.locator("#said")).to_have_text("CONTENT takes at least one, and has none.")
    press(page, "Shift+U", "Shift+I", "Shift+Q", "Shift+W", "Enter")
    expect(page.locator("#said")).to_have_text("CONTENT takes at most 3, and has 4.")
    press(page, "Shift+Q", "Shift+W", "Shift+D", "Shift+H")
    expect(page.locator("#manual")).to_contain_text("whoever answers rightly has understood")
    press(page, "Shift+H", "Enter")
    expect(page.locator("#said")).to_contain_text("All turns are decided")
    press(page, "z")
    expect(page.locator("#turn-state")).to_have_text("Undecided")
    press(page, "Shift+Z")
    expect(page.locator("#turn-state")).to_have_text("Edited")
    saved(page)
    press(page, "f")
    expect(page.locator("#confirm-submit")).to_contain_text("3 turns: 1 accepted, 2 edited.")
    mouse += page.evaluate("mouseEvents")
    press(page, "Enter")
    page.wait_for_url(re.compile(r"/$"))
    assert mouse == 0
    values = review.entries(name, CHAIN, "tagging")
    assert [values[place]["decision"] for place in "012"] == ["accept", "edit", "edit"]
    assert values["1"]["note"] == "which of the two pots?"
    assert values["2"]["labels"] == {
        TARGET: ["Behavior"],
        CONTENT: ["Causality", "Motivation"],
        THINKING: ["Reasoning"],
    }
    assert {value["manual"][:18] for value in values.values()} == {"tagging-manual.v2#"}
    assert review.state(name, CHAIN, "tagging") == "submitted"


def test_question_types_are_given_on_the_same_screen(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name, "types")
    expect(page.locator("[data-vocabulary] .choice")).to_have_count(13)
    press(page, "Enter")
    expect(page.locator("#said")).to_have_text("Question types takes at least one, and has none.")
    press(page, "3", "Enter", "5", "Shift+A", "Enter", "Shift+E", "Shift+A", "Enter")
    saved(page)
    values = review.entries(name, CHAIN, "types")
    found = [values[place]["labels"]["vdact.question_type"] for place in "012"]
    assert found == [["D-OBJ"], ["D-LOC", "REF"], ["EXP", "REF"]]
    assert values["0"]["manual"].startswith("tagging-manual.v2#")


def test_the_mouse_ticks_and_enter_goes_on_from_a_box(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name)
    # Exactly one way of thinking: the vocabulary cannot take two.
    assert page.locator(f"[data-vocabulary='{THINKING}'] input[type=radio]").count() == 3
    page.locator("label", has_text="Reasoning").click()
    assert ticked(page) == ["Object", "Identity", "Reasoning"]
    press(page, "Enter")
    on_turn(page, 2)
    page.locator("#skip").click()
    on_turn(page, 3)
    expect(page.locator("#strip li:nth-child(2) button")).to_have_class(re.compile("skipped"))
    saved(page)
    assert review.entries(name, CHAIN, "tagging")["0"]["labels"][THINKING] == ["Reasoning"]


def test_a_letter_in_a_field_is_no_key_and_whoever_is_unsure_says_so(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    before = ticked(page)
    press(page, "e", "q", "x", "1", "Shift+F")
    expect(page.locator("#note")).to_have_value("qx1F")
    page.locator("[data-label=Recall]").focus()
    press(page, "s", "2", "f", "Enter")
    on_turn(page, 1)
    expect(page.locator("#confirm-submit")).to_have_count(0)
    assert ticked(page) == before
    press(page, "Escape", "Shift+N", "Enter", "f")
    expect(page.locator("#said")).to_contain_text("Still to be decided: Turn 2, Turn 3.")
    saved(page)
    value = review.entries(name, CHAIN, "tagging")["0"]
    assert (value["decision"], value["note"], value["unsure"]) == ("accept", "qx1F", True)


def test_on_a_phone_every_button_can_be_reached(review: ServedReview, browser: Browser, name: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = opened(review, context, name)
    reach_buttons(page)
    page.locator("label", has_text="Reasoning").tap()
    assert ticked(page) == ["Object", "Identity", "Reasoning"]
    context.close()


def test_two_windows_that_tag_one_turn_meet_in_a_merge_view(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    one, other = opened(review, context, name), opened(review, context, name)
    press(one, "Shift+S")
    saved(one)
    press(other, "Shift+D")
    merge = other.locator("#merge")
    expect(merge).to_be_visible(timeout=READY_MS)
    expect(merge.locator("tr", has_text="THINKING")).to_contain_text("Grasping")
    expect(merge.locator("tr", has_text="THINKING")).to_contain_text("Reasoning")
    merge.get_by_role("button", name="Take theirs").press("Enter")
    expect(other.locator("[data-label=Grasping]")).to_be_checked()
    assert review.entries(name, CHAIN, "tagging")["0"]["labels"][THINKING] == ["Grasping"]


def test_no_state_of_the_screens_has_a_grave_problem(
    review: ServedReview, browser: Browser, width: int, scheme: Any, name: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
    for queue in ("tagging", "types"):
        page = opened(review, context, name, queue)

        def look(what: str, page: Page = page) -> None:
            assert find_axe_problems(page) == [], what
            assert page.evaluate("document.documentElement.scrollWidth") <= width, what

        look("proposals")
        press(page, "1", "s", "j", "Enter")
        look("a turn that lacks labels")
        press(page, "Shift+H")
        look("the manual")
        press(page, "?")
        look("the page of keys")
    context.close()
