"""Word differences and the spelling of keys, as Chromium computes them from the scripts that are served."""

from collections.abc import Iterator
from typing import Any

import pytest
from places import REVIEW
from playwright.sync_api import Page, Route, sync_playwright
from walk_report import ARGUMENTS, find_chromium

STATIC = REVIEW / "static"
SITE = "http://scripts.test"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page that can import the scripts."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium on the PATH")

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(SITE).strip("/")
        if name:
            route.fulfill(body=(STATIC / name).read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            route.fulfill(body="<!DOCTYPE html><title>t</title>", content_type="text/html")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        found = browser.new_page()
        found.route(f"{SITE}/**", answer)
        found.goto(SITE)
        yield found
        browser.close()


def diff(page: Page, before: str, after: str) -> list[tuple[str, str]]:
    pieces: list[Any] = page.evaluate(
        "async ([a, b]) => (await import('/worddiff.js')).diffWords(a, b).map(({kind, text}) => [kind, text])",
        [before, after],
    )
    return [(kind, text) for kind, text in pieces]


def test_words_that_changed_are_told(page: Page) -> None:
    assert diff(page, "What is the red car doing?", "What is the blue car doing now?") == [
        ("same", "What is the "),
        ("gone", "red"),
        ("new", "blue"),
        ("same", " car doing"),
        ("new", " now"),
        ("same", "?"),
    ]


def test_chinese_is_told_by_character(page: Page) -> None:
    assert diff(page, "这个人在做什么", "那个人在看什么") == [
        ("gone", "这"),
        ("new", "那"),
        ("same", "个人在"),
        ("gone", "做"),
        ("new", "看"),
        ("same", "什么"),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("", "new"),
        ("gone", ""),
        ("same", "same"),
        ("don't stop", "don’t stop"),
        ("a b a b a", "b a b"),
        ("naïve café", "naive café"),
        ("👩‍🍳 cooks", "👨‍🍳 cooks"),
        ("line\none", "line\n\ntwo"),
        ("<b>x</b>", "<i>x</i>"),
        ("\ud800", "x"),
    ],
)
def test_the_pieces_make_up_both_texts(page: Page, before: str, after: str) -> None:
    same: bool = page.evaluate(
        """async ([a, b]) => {
            const pieces = (await import('/worddiff.js')).diffWords(a, b);
            const of = (...kinds) => pieces.filter(({kind}) => kinds.includes(kind)).map(({text}) => text).join("");
            const clean = pieces.every(({kind, text}, n) => text && kind !== pieces[n + 1]?.kind);
            return of("same", "gone") === a && of("same", "new") === b && clean;
        }""",
        [before, after],
    )
    assert same


def test_texts_of_ten_thousand_words_are_compared_within_bounds(page: Page) -> None:
    before = " ".join(f"a{n}" for n in range(10_000))
    after = "start " + " ".join(f"b{n}" for n in range(10_000))
    assert [kind for kind, _ in diff(page, before, after)] == ["gone", "new"]
    longer = f"{before} end"
    assert diff(page, before, longer) == [("same", before), ("new", " end")]


@pytest.mark.parametrize(
    ("event", "spelled"),
    [
        ({"key": "a", "code": "KeyA"}, "a"),
        ({"key": "A", "code": "KeyA"}, "a"),
        ({"key": "A", "code": "KeyA", "shiftKey": True}, "Shift+A"),
        ({"key": "?", "code": "Slash", "shiftKey": True}, "?"),
        ({"key": "z", "code": "KeyZ", "metaKey": True}, "Ctrl+z"),
        ({"key": "ф", "code": "KeyA"}, "a"),
        ({"key": "@", "code": "KeyQ", "ctrlKey": True, "altKey": True, "modifierAltGraph": True}, "@"),
        ({"key": " ", "code": "Space"}, "Space"),
        ({"key": "ArrowLeft", "code": "ArrowLeft", "shiftKey": True}, "Shift+ArrowLeft"),
    ],
)
def test_keys_are_spelled_alike_on_all_keyboards(page: Page, event: dict[str, Any], spelled: str) -> None:
    found = page.evaluate(
        "async (init) => (await import('/keys.js')).spelling(new KeyboardEvent('keydown', init))", event
    )
    assert found == spelled
