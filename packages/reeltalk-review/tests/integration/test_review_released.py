"""Two people who do not see each other, a third who decides, and the release that comes of it; by keys alone."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, BrowserContext, Page, expect
from served_review import ASKED, CHAIN, ServedReview, content, served
from sqlalchemy import select

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, REVIEWS
from reeltalk_review.app import create_app
from reeltalk_review.events import broken_links
from reeltalk_review.tables import AssignmentRow, PersonRow, QueueRow, UnitRow, VideoRow

CLICKS = "addEventListener('pointerdown', () => { window.clicks = (window.clicks || 0) + 1; }, true)"
ANN = "Xq7ann writes: what does she take?"
BEN = "Xq7ben writes: which thing does she take?"


@pytest.fixture
def review(tmp_path: Path) -> Iterator[ServedReview]:
    filled = content()
    filled.chains, filled.dialogues = filled.chains[:1], []
    filled.linkages, filled.gates = [], []
    with served(tmp_path, filled, overlap=2) as found:
        yield found


def open_as(browser: Browser, review: ServedReview, name: str, role: str = "annotator") -> BrowserContext:
    review.join(name, role)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    review.sign_in(context, name)
    return context


def review_turns(page: Page, address: str, question: str) -> None:
    """Word the first question anew and accept all turns, by keys alone."""
    page.add_init_script(CLICKS)
    page.goto(address)
    expect(page.locator("#question")).to_be_visible()
    page.keyboard.press("q")
    page.keyboard.press("Control+a")
    page.keyboard.type(question)
    page.keyboard.press("Control+Enter")
    for _ in ASKED[1:]:
        page.keyboard.press("a")
    expect(page.locator("#save-state")).to_have_text("All saved")


def every_address(review: ServedReview, full: bool) -> Iterator[str]:
    """All that can be asked for with GET, with every id that there is in every place of every address.

    Where an address has several places, a quick run takes some of their combinations.
    """
    with review.project.database.reading() as session:
        known: dict[str, list[str]] = {
            "assignment_id": list(session.scalars(select(AssignmentRow.id))),
            "unit_id": list(session.scalars(select(UnitRow.id))),
            "person_id": list(session.scalars(select(PersonRow.id))),
            "queue_id": list(session.scalars(select(QueueRow.id))),
            "sha256": [sha256 for sha256 in session.scalars(select(VideoRow.sha256)) if sha256],
            "place": ["0"],
            "first": list(session.scalars(select(PersonRow.id))),
            "second": list(session.scalars(select(PersonRow.id))),
        }
    everything = [*known["assignment_id"], *known["unit_id"]]
    for route in _routes(create_app(review.project).routes):
        if "GET" not in (route.methods or ()) or route.path.startswith("/join"):
            continue
        names = [part for part in route.path.split("/") if part.startswith("{")]
        every = itertools.product(*(known.get(name[1:-1].partition(":")[0], everything) for name in names))
        for chosen in itertools.islice(every, 0, None, 11 if len(names) > 1 and not full else 1):
            address = route.path
            for name, value in zip(names, chosen, strict=True):
                address = address.replace(name, value)
            yield review.address + address


def _routes(routes: Any) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        else:
            yield from _routes(getattr(getattr(route, "original_router", None), "routes", ()))


def who_gets(review: ServedReview, people: dict[str, BrowserContext], full: bool, *words: str) -> dict[str, set[str]]:
    """Who gets which of some words, by whatever address."""
    found: dict[str, set[str]] = {}
    addresses = [address for address in every_address(review, full) if "/media/" not in address]
    assert len(addresses) > 50, "the addresses were not found"
    for name, context in people.items():
        cookies = {cookie["name"]: cookie["value"] for cookie in context.cookies()}
        with httpx.Client(cookies=cookies) as client:
            for address in addresses:
                answer = client.get(address)
                assert answer.status_code < 500, address
                found.setdefault(name, set()).update(word for word in words if word in answer.text)
    return found


@pytest.mark.browser
def test_two_blind_people_and_a_third_come_to_a_release(
    browser: Browser, review: ServedReview, tmp_path: Path, capsys: pytest.CaptureFixture[str], full: bool
) -> None:
    people = {
        "Ann": open_as(browser, review, "Ann"),
        "Ben": open_as(browser, review, "Ben"),
        "Ada": open_as(browser, review, "Ada", "adjudicator"),
        "Olga": open_as(browser, review, "Olga", "owner"),
        "Rea": open_as(browser, review, "Rea", "reader"),
    }
    pages = {name: context.new_page() for name, context in people.items()}
    review_turns(pages["Ann"], review.work("Ann"), ANN)
    pages["Ann"].keyboard.press("f")
    expect(pages["Ann"].get_by_role("dialog")).to_be_visible()
    pages["Ann"].keyboard.press("Enter")
    expect(pages["Ann"]).not_to_have_url(review.work("Ann"))
    assert review.state("Ann") == "submitted"
    review_turns(pages["Ben"], review.work("Ben"), BEN)
    seen = who_gets(review, people, full, "Xq7ann", "Xq7ben")
    assert {name: words for name, words in seen.items() if words} == {"Ann": {"Xq7ann"}, "Ben": {"Xq7ben"}}
    pages["Ben"].keyboard.press("f")
    expect(pages["Ben"].get_by_role("dialog")).to_be_visible()
    pages["Ben"].keyboard.press("Enter")
    expect(pages["Ben"]).not_to_have_url(review.work("Ben"))
    seen = who_gets(review, {"Ben": people["Ben"]}, full, "Xq7ann")
    assert seen == {"Ben": set()}, "annotators never get each other's work, not even afterwards"

    page = pages["Ada"]
    page.add_init_script(CLICKS)
    page.goto(review.address)
    page.get_by_role("button", name="Settle").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Xq7ann").first).to_be_visible()
    expect(page.get_by_text("Xq7ben").first).to_be_visible()
    assert "Ann" not in page.locator("main").inner_text().replace("Xq7ann", ""), "names are hidden"
    page.keyboard.press("a")
    page.keyboard.press("f")
    expect(page.get_by_role("dialog")).to_be_visible()
    dispute = page.url
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(dispute)
    for name in ("Ann", "Ben", "Ada"):
        assert pages[name].evaluate("window.clicks || 0") == 0
    for context in people.values():
        context.close()

    bench = review.project.benchmark
    assert run(["review", "apply", str(bench)]) == 0, capsys.readouterr().err
    (chain,) = Benchmark.open(bench).read(CHAINS)
    assert chain.id == CHAIN
    assert chain.turns[0].question in (ANN, BEN)
    assert [turn.question for turn in chain.turns[1:]] == [question for question, _ in ASKED[1:]]
    reviewers = {row.reviewer for row in Benchmark.open(bench).read(REVIEWS)}
    assert {"Ann", "Ben"} <= reviewers
    assert run(["validate", str(bench)]) == 0, capsys.readouterr().out
    assert run(["freeze", str(bench), str(tmp_path / "release"), "--version", "1.0.0"]) == 0, capsys.readouterr().err
    (released,) = Benchmark.open(tmp_path / "release").read(CHAINS)
    assert released == chain
    with review.project.database.reading() as session:
        assert list(broken_links(session)) == []
