"""The link board in a real browser, against a real server: keys, the mouse, reloads, lost connections, two windows."""

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

from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.content import Content

pytestmark = pytest.mark.browser
PAIR = "earlier/later"
DRAFT = "Does she pour the milk before or after she sits down?"


def turns(start_s: float, *asked: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            question=question,
            references=(answer,),
            evidence=(Interval(start_s=start_s + n, end_s=start_s + n + 1),),
        )
        for n, (question, answer) in enumerate(asked)
    )


def content() -> Content:
    """Two chains with two drafted links, each with a draft of rewriting, of which no judge has checked the second."""
    found = kitchen()
    earlier = turns(
        8,
        ("What does the woman pour?", "Milk."),
        ("Where does she pour it?", "Into a red pot."),
        ("What does she do then?", "She cuts bread."),
    )
    later = turns(
        24,
        ("Where does she sit?", "At the table."),
        ("What is on it?", "A red pot."),
        ("Is it full?", "No, it is empty."),
        ("Who joins her?", "Nobody."),
    )
    found.chains = [
        QAChain(id="later", video_id="kitchen", clip_id="scene-4", turns=later),
        QAChain(id="earlier", video_id="kitchen", clip_id="scene-2", turns=earlier),
    ]

    def link(source: int, target: int, relation: str) -> Linkage:
        return Linkage(
            source=TurnRef(unit_id="earlier", turn_index=source),
            target=TurnRef(unit_id="later", turn_index=target),
            relation=relation,
        )

    found.linkages = [link(0, 0, "Events"), link(1, 1, "Objects")]
    found.rewrites = [
        Rewrite(
            id="draft",
            linkage=found.linkages[0],
            method="Events/sequence",
            skill="STS",
            draft=Turn(question=DRAFT, references=("Before.",)),
            coherent=False,
            problems=("the next turn rests on the table",),
            writer="graph",
        ),
        Rewrite(
            id="unchecked",
            linkage=found.linkages[1],
            method="Objects/use_after",
            skill="STS",
            draft=Turn(question="What becomes of the pot that she poured milk into?", references=("It stands empty.",)),
            coherent=None,
            writer="model",
        ),
    ]
    found.dialogues, found.gates = [], []
    return found


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    with served(tmp_path_factory.mktemp("links"), content(), overlap=20) as found:
        yield found


def opened(review: ServedReview, context: BrowserContext, name: str) -> Page:
    if not context.cookies():
        review.sign_in(context, name)
    page = context.new_page()
    page.goto(review.work(name, PAIR, "links"))
    ready(page)
    return page


def entries(review: ServedReview, name: str) -> dict[str, Any]:
    return review.entries(name, PAIR, "links")


def on_link(page: Page, name: str) -> None:
    expect(page.locator("#turn-title")).to_have_text(f"Link {name}")


@pytest.mark.firefox
@pytest.mark.browser(always=True)
def test_a_board_is_done_by_keys_alone_and_a_reload_goes_on_where_one_was(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    context.add_init_script(COUNT_MOUSE)
    mouse = 0
    page = opened(review, context, name)
    on_link(page, "1 → 1")
    # The draft of the rewriting, its method and its skill; what it breaks is said, and must be looked at.
    press(page, "Shift+P")
    expect(page.locator("#question")).to_have_value(DRAFT)
    expect(page.locator("#drafts")).to_contain_text("the next turn rests on the table")
    expect(page.locator("#skills-told")).to_have_text("STS")
    expect(page.locator("#wording .difference ins").first).to_contain_text("Does")
    press(page, "a")
    expect(page.locator("#said")).to_contain_text("confirm that it fits")
    press(page, "y", "a")
    on_link(page, "2 → 2")
    expect(page.locator("#drafts")).to_contain_text("Unverified: nobody compared it with the video.")
    # Deleted; and a link that nobody drafted is drawn, its two turns picked by number and by arrow.
    press(page, "r", "n", "3")
    expect(page.locator("#picking")).to_contain_text("Pick a turn of the later chain: 1–4")
    press(page, "ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    on_link(page, "3 → 4")
    expect(page.locator("#turn-state")).to_have_text("New, undecided")
    press(page, "a")
    expect(page.locator("#said")).to_contain_text("how the two turns are related")
    press(page, "1")
    expect(page.locator("#relations input[value=People]")).to_be_checked()
    expect(page.locator("#methods .method")).to_have_count(1 + 8)
    press(page, "3")
    expect(page.locator("#relations input[value=People]")).not_to_be_checked()
    press(page, "v", "v", ".", ".")
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:27\.20 "))
    # Rewritten by hand, with a reload in the middle of a word.
    press(page, "q", "Control+a")
    page.keyboard.type("Who joins her after she has cut the br")
    page.wait_for_timeout(500)
    mouse += page.evaluate("mouseEvents")
    page.reload()
    ready(page)
    on_link(page, "3 → 4")
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:27\.20 "))
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type("ead?")
    press(page, "Escape", "y", "Control+Enter")
    expect(page.locator("#said")).to_contain_text("All links are decided")
    # Undo works as far as one likes, also across the reload.
    press(page, "z")
    expect(page.locator("#turn-state")).to_have_text("New, undecided")
    press(page, "Shift+Z")
    expect(page.locator("#turn-state")).to_have_text("Kept")
    saved(page)
    press(page, "f")
    expect(page.locator("#confirm-submit")).to_contain_text(
        "2 links kept, 2 of them with a rewritten question; 1 deleted."
    )
    press(page, "Shift+Tab", "Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "board-note"
    page.keyboard.type("Few of them.")
    press(page, "Tab", "Tab")
    mouse += page.evaluate("mouseEvents")
    press(page, "Enter")
    page.wait_for_url(re.compile(r"/$"))
    assert mouse == 0
    values = entries(review, name)
    assert values["0-0"]["question"] == DRAFT
    assert (values["0-0"]["method"], values["0-0"]["skills"]) == ("Events/sequence", ["STS"])
    assert values["1-1"]["decision"] == "delete"
    drawn = values["2-3"]
    assert (drawn["decision"], drawn["relations"], drawn["fits"]) == ("keep", ["Actions"], True)
    assert drawn["question"] == "Who joins her after she has cut the bread?"
    assert values["board"] == {"decision": "complete", "links": ["0-0", "2-3"], "note": "Few of them.", "unsure": False}
    assert review.state(name, PAIR, "links") == "submitted"


def test_the_mouse_draws_selects_and_deletes_a_link(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name)
    page.locator(".chain.after li:nth-child(3) .said .asked-text").click()
    expect(page.locator("#picking")).to_contain_text("earlier chain")
    page.locator(".chain.before li:nth-child(2) .pick").click()
    on_link(page, "2 → 3")
    page.locator("#relations label", has_text="Quantity").click()
    expect(page.locator(".lines .line.current")).to_have_class(re.compile("r6"))
    page.locator("#relations label", has_text="Actions").click()
    page.locator("#accept").click()
    expect(page.locator("#strip li", has_text="2 → 3")).to_contain_text("Actions, Quantity")
    # A click on a line shows its link.
    page.locator(".lines .hit").first.dispatch_event("click")
    saved(page)
    assert entries(review, name)["1-2"]["relations"] == ["Actions", "Quantity"]
    page.locator("#strip li button", has_text="2 → 3").click()
    page.locator("#reject").click()
    expect(page.locator("#strip li")).to_have_count(2)
    page.locator("#undo").click()
    expect(page.locator("#strip li")).to_have_count(3)


def test_an_unfinished_rewriting_is_neither_kept_nor_dropped_without_a_word(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    # A draft that nobody used, a way that nobody followed, and a text that nobody confirmed.
    press(page, "a")
    expect(page.locator("#said")).to_contain_text("There is a draft of a rewriting")
    press(page, "Shift+G", "ArrowDown", "Escape", "a")
    expect(page.locator("#said")).to_contain_text("A way to rewrite the later question is chosen")
    press(page, "q", "Control+a")
    page.keyboard.type("Where does she sit after that?")
    press(page, "Control+Enter")
    expect(page.locator("#said")).to_contain_text("confirm that it fits")
    on_link(page, "1 → 1")
    saved(page)
    value = entries(review, name)["0-0"]
    assert (value["decision"], value["question"]) == (None, "Where does she sit after that?")
    # A person can say that the link stays in its original words, and take that back.
    press(page, "Escape", "Shift+K")
    on_link(page, "2 → 2")
    saved(page)
    value = entries(review, name)["0-0"]
    assert (value["decision"], value["question"], value["method"]) == ("keep", None, None)
    press(page, "z")
    on_link(page, "1 → 1")
    expect(page.locator("#question")).to_have_value("Where does she sit after that?")


def test_a_letter_in_a_field_is_no_key_and_whoever_is_unsure_says_so(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    press(page, "g", "f", "r", "a", "n", "1")
    on_link(page, "1 → 1")
    expect(page.locator("#confirm-submit")).to_have_count(0)
    expect(page.locator("#picking")).to_be_hidden()
    press(page, "Escape", "Shift+N", "e")
    page.keyboard.type("fax")
    press(page, "Escape", "Shift+K", "f")
    expect(page.locator("#said")).to_contain_text("Still to be decided: Link 2 → 2.")
    saved(page)
    value = entries(review, name)["0-0"]
    assert (value["decision"], value["note"], value["unsure"]) == ("keep", "fax", True)
    assert value["relations"] == ["Events"]


@pytest.mark.parametrize("size", [(1366, 768), (1920, 1080)], ids=str)
def test_the_bar_has_the_evidence_of_both_turns(
    review: ServedReview, context: BrowserContext, name: str, size: tuple[int, int]
) -> None:
    page = opened(review, context, name)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    shown = page.locator(".evidence.current")
    expect(shown).to_have_count(2)
    scenes = page.locator(".scene.own")
    for n in range(2):
        scene, evidence = scenes.nth(n).bounding_box(), shown.nth(n).bounding_box()
        assert scene
        assert evidence
        assert scene["x"] - 1 <= evidence["x"] < evidence["x"] + evidence["width"] <= scene["x"] + scene["width"] + 1


def test_on_a_phone_every_button_can_be_reached(review: ServedReview, browser: Browser, name: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = opened(review, context, name)
    reach_buttons(page)
    press(page, "Shift+P", "a", "n")
    reach_buttons(page)
    context.close()


def test_a_link_that_is_drawn_offline_survives_a_reload_and_is_saved_once(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    page.route("**/api/**/entries/**", lambda route: route.abort())
    press(page, "n", "2", "1", "5", "q")
    page.keyboard.type(" Now?")
    expect(page.locator("#save-state")).to_contain_text("1 link waits in this browser")
    page.reload()
    ready(page)
    on_link(page, "2 → 1")
    expect(page.locator("#question")).to_have_value("Where does she sit? Now?")
    page.unroute("**/api/**/entries/**")
    page.evaluate("dispatchEvent(new Event('online'))")
    saved(page)
    found = entries(review, name)["1-0"]
    assert (found["relations"], found["question"]) == (["Environment"], "Where does she sit? Now?")
    events = review.events(name, "save", PAIR, "links")
    assert [event.after["value"]["question"] for event in events] == [None, "Where does she sit? Now?"]


def test_two_windows_that_change_one_link_meet_in_a_merge_view(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    one, other = opened(review, context, name), opened(review, context, name)
    press(one, "1")
    saved(one)
    press(other, "2")
    merge = other.locator("#merge")
    expect(merge).to_be_visible(timeout=READY_MS)
    expect(merge).to_contain_text("Link 1 → 1 was saved elsewhere too")
    expect(merge.locator("tr", has_text="Relations")).to_contain_text("People")
    expect(merge.locator("tr", has_text="Relations")).to_contain_text("Objects")
    merge.get_by_role("button", name="Take mine").press("Enter")
    saved(other)
    assert entries(review, name)["0-0"]["relations"] == ["Objects"]


def test_a_link_that_comes_after_the_board_was_closed_opens_it_again(
    review: ServedReview, context: BrowserContext, name: str
) -> None:
    page = opened(review, context, name)
    press(page, "Shift+K", "Shift+K", "f")
    expect(page.locator("#confirm-submit")).to_be_visible()
    press(page, "Enter")
    page.wait_for_url(re.compile(r"/$"))
    page = opened(review, context, name)
    expect(page.locator("#notices")).to_contain_text("This work is submitted")
    press(page, "r", "n")
    expect(page.locator("#picking")).to_be_hidden()
    assert entries(review, name)["1-1"]["decision"] == "keep"


def test_scenes_play_one_after_the_other(review: ServedReview, context: BrowserContext, name: str) -> None:
    page = opened(review, context, name)
    page.evaluate(
        """() => { window.seen = new Set();
        const video = document.querySelector("#video");
        const look = (_, {mediaTime}) => {
          window.seen.add(Math.floor(mediaTime)); video.requestVideoFrameCallback(look); };
        video.requestVideoFrameCallback(look); }"""
    )
    press(page, "+", "+", "+", "+", "p")
    expect(page.locator("#play")).to_have_text(re.compile("Pause"))
    expect(page.locator("#play")).to_have_text(re.compile("Play"), timeout=READY_MS)
    seen = sorted(page.evaluate("[...window.seen]"))
    # The earlier chain's scene is 8 to 16 s, the later one's 24 to 32 s.
    assert {8, 12, 15, 24, 28, 31} <= set(seen)
    assert not set(seen) & set(range(18, 23))


def test_no_state_of_the_board_has_a_grave_problem(
    review: ServedReview, browser: Browser, width: int, scheme: Any, name: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
    page = opened(review, context, name)

    def look(what: str) -> None:
        assert find_axe_problems(page) == [], what
        assert page.evaluate("document.documentElement.scrollWidth") <= width, what

    look("a link with drafts")
    press(page, "Shift+P", "a")
    look("a rewriting that was not confirmed")
    press(page, "Escape", "g")
    look("skills")
    press(page, "Escape", "n", "2")
    look("a link that is drawn")
    press(page, "3", "4", "a", "r")
    look("links that are decided")
    press(page, "?")
    look("the page of keys")
    context.close()
