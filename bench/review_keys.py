"""Key strokes and seconds of each job in `reeltalk review`, in headless Chromium, by keys alone.

A script works on a served project as a fast person would: it presses the keys of a job one after the other, without
thinking, and waits until the page has gone on and the server has confirmed. So the seconds are those that the program
takes. Every job is done on many turns, links and tasks; the table holds medians and the 95th percentile. It also
settles twelve tasks on which two people differ, opens a task over a connection with 100 ms of latency, and measures the
share of the screen that the video takes. Mouse events are counted; there must be none.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from driven_screen import COUNT_MOUSE, READY_MS, picture_share, ready
from served_review import ServedReview, content, served
from walk_report import ARGUMENTS, find_chromium

from record import Goal, Measure, Table, at_least, at_most, lacking, options_of, record
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.store.content import Content
from reeltalk_review.events import transaction
from reeltalk_review.work import own_work, save_value, submit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

ISSUE: Final = "the review's third edition"
DISPUTES: Final = 12
FREE: Final = "chain-15"
"""A chain on which nobody else works."""
SIZES: Final = ((1366, 768), (1920, 1080))
LATENCY_MS: Final = 100
OPENINGS: Final = 5
POLL_S: Final = 0.005
SCENE_S: Final = 8.0
GONE_ON: Final = "document.querySelector('#save-state').textContent.includes('All saved')"


def filled(chains: int) -> Content:
    """Chains of four turns, each linked with the next."""
    found = content()
    found.chains, found.dialogues, found.linkages, found.gates = [], [], [], []
    for number in range(chains):
        begins_s = SCENE_S * (number % 4)
        turns = tuple(
            Turn(
                question=f"What does the person do at moment {number + 1}.{place + 1}?",
                references=(f"She takes cup {place + 1}.",),
                asked_at_s=begins_s + SCENE_S,
                evidence=(Interval(start_s=begins_s + place, end_s=begins_s + place + 1.5),),
                labels={"cogme.target": ("Object",)},
            )
            for place in range(4)
        )
        found.chains.append(
            QAChain(id=f"chain-{number:02d}", video_id="kitchen", clip_id=f"scene-{number % 4 + 1}", turns=turns)
        )
    for number, (first, second) in enumerate(zip(found.chains, found.chains[1:], strict=False), 1):
        # A link leads forward in time; every fourth chain begins again with the first scene.
        if number % 4 == 0:
            continue
        for place in range(3):
            found.linkages.append(
                Linkage(
                    source=TurnRef(unit_id=first.id, turn_index=place),
                    target=TurnRef(unit_id=second.id, turn_index=place),
                    relation="Objects",
                )
            )
    return found


class Jobs:
    """The seconds of each job, and its number of key strokes."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.took_s: dict[str, list[float]] = {}
        self.strokes: dict[str, tuple[int, str]] = {}

    def do(self, job: str, keys: Sequence[str], until: Callable[[], None], *, typed: str = "") -> None:
        """Press the keys of a job, and wait until the page shows that it is done.

        Args:
            job: Its name.
            keys: What is pressed, in order; the empty string stands for the typed text.
            until: Waits.
            typed: The text.
        """
        begun = time.perf_counter()
        for key in keys:
            if key:
                self.page.keyboard.press(key)
            else:
                self.page.keyboard.type(typed)
        until()
        self.took_s.setdefault(job, []).append(time.perf_counter() - begun)
        shown = " ".join(key.replace("Control", "Ctrl") if key else "(text)" for key in keys)
        self.strokes[job] = (sum(1 for key in keys if key) + len(typed), shown)


def until(page: "Page", condition: str, arg: object = None) -> None:
    """Waits for a condition, as JavaScript. The page's content policy forbids Playwright's own `wait_for_function`.

    Raises:
        TimeoutError: It does not hold after 30 seconds.
    """
    latest = time.perf_counter() + READY_MS / 1000
    while not page.evaluate(condition, arg):
        if time.perf_counter() > latest:
            raise TimeoutError(f"{page.url}: {condition} with {arg!r} does not hold")
        time.sleep(POLL_S)


def saved_and(page: "Page", title: str) -> Callable[[], None]:
    """Waits until everything is saved and the page shows a title."""

    def wait() -> None:
        until(
            page,
            "(title) => document.querySelector('#turn-title')?.textContent.startsWith(title) && " + GONE_ON,
            arg=title,
        )

    return wait


def review_turns(review: ServedReview, browser: "Browser", chains: int) -> tuple[Jobs, int]:
    """Accept, edit, correct the evidence of, and reject one turn each of every chain, and hand it in."""
    context = browser.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
    context.add_init_script(COUNT_MOUSE)
    review.sign_in(context, "Ana")
    page, mouse = context.new_page(), 0
    jobs = Jobs(page)
    page.goto(review.work("Ana", "chain-00"))
    for number in range(chains):
        ready(page)
        jobs.do("accept a turn", ("a",), saved_and(page, "Turn 2"))
        jobs.do("edit an answer", ("w", "", "Control+Enter"), saved_and(page, "Turn 3"), typed=" It is red.")
        keys = ("ArrowRight", "i", "ArrowRight", "o", "a")
        jobs.do("correct the evidence", keys, saved_and(page, "Turn 4"))
        until(page, "document.querySelector('#turn-state').textContent === 'Undecided'")
        rejected = "document.querySelector('#turn-state').textContent === 'Rejected' && " + GONE_ON
        jobs.do("reject a turn", ("r", "1", "Enter"), lambda rejected=rejected: until(page, rejected))  # type: ignore[misc]
        mouse += page.evaluate("mouseEvents")
        if number < chains - 1:
            before = page.url
            jobs.do("hand in, and the next task", ("f", "Enter"), lambda url=before: _next(page, url))  # type: ignore[misc]
    context.close()
    return jobs, mouse


def _next(page: "Page", before: str) -> None:
    page.wait_for_url(lambda url: url != before)
    ready(page)


def review_links(review: ServedReview, browser: "Browser", jobs: Jobs, pairs: int) -> int:
    """Keep the drafted links of every pair of chains, and hand it in."""
    context = browser.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
    context.add_init_script(COUNT_MOUSE)
    review.sign_in(context, "Ana")
    page, mouse = context.new_page(), 0
    jobs.page = page
    page.goto(review.work("Ana", "chain-00/chain-01", "links"))
    for number in range(pairs):
        ready(page)
        # Neighbouring chains without a drafted link have a task too.
        if page.locator("#turn-title").count():
            for place in (2, 3):
                jobs.do("keep a link", ("a",), saved_and(page, f"Link {place} → {place}"))
            page.keyboard.press("a")
            until(page, GONE_ON)
        mouse += page.evaluate("mouseEvents")
        if number < pairs - 1:
            before = page.url
            jobs.do("hand in links, and the next task", ("f", "Enter"), lambda url=before: _next(page, url))  # type: ignore[misc]
    context.close()
    return mouse


def disagree(review: ServedReview, chains: int) -> None:
    """Let Ben submit the chains with other decisions than Ana's, so that an adjudicator must settle them."""
    for number in range(chains):
        name = f"chain-{number:02d}"
        assignment_id = review.assignment("Ben", name)
        with transaction(review.project.database, review.team["Ben"]) as change:
            assignment, unit, task = own_work(change.session, review.team["Ben"], assignment_id)
            for place in task.places(unit.content):
                value = task.draft_value(unit.content, place) | {"decision": "accept"}
                if place == "1":
                    value["references"] = ["She takes the blue cup."]
                save_value(change, assignment, unit, task, place, 0, value)
            change.session.flush()
            submit(change, assignment, unit, task, approval=False)


def settle(review: ServedReview, browser: "Browser", jobs: Jobs) -> tuple[float, int, int]:
    """Settle `DISPUTES` tasks by keys alone: seconds, mouse events, places decided."""
    context = browser.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
    context.add_init_script(COUNT_MOUSE)
    review.sign_in(context, "Ada")
    page, mouse, places = context.new_page(), 0, 0
    jobs.page = page
    page.goto(f"{review.address}/adjudicate/{review.dispute('Ada')}")
    ready(page)
    begun = time.perf_counter()
    for number in range(DISPUTES):
        for _ in range(9):
            left = page.evaluate("document.querySelectorAll('#strip .conflict').length")
            if not left:
                break
            jobs.do("settle a turn", ("b" if places % 2 else "a",), lambda left=left: until(page, # type: ignore[misc]
                "(left) => document.querySelectorAll('#strip .conflict').length < left", left
            ))  # fmt: skip
            places += 1
        mouse += page.evaluate("mouseEvents")
        before = page.url
        keys = ("f", "Enter") if number < DISPUTES - 1 else ("f",)
        if number < DISPUTES - 1:
            jobs.do("hand in a settled task, and the next", keys, lambda url=before: _next(page, url))  # type: ignore[misc]
    took_s = time.perf_counter() - begun
    context.close()
    return took_s, mouse, places


def open_slowly(review: ServedReview, browser: "Browser") -> tuple[list[float], int]:
    """Open a task with an empty cache over a connection with latency: milliseconds until fields work, and requests."""
    took, requests = [], 0
    for _ in range(OPENINGS):
        context = browser.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
        review.sign_in(context, "Cleo")
        page = context.new_page()
        asked: list[str] = []

        def note(request: "Request", asked: list[str] = asked) -> None:
            asked.append(request.url)

        page.on("request", note)
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1},
        )
        address = review.work("Cleo", FREE)
        begun = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector("#question", state="visible")
        took.append((time.perf_counter() - begun) * 1000)
        ready(page)
        page.wait_for_timeout(1500)
        requests = max(requests, len([url for url in asked if not url.startswith("data:")]))
        context.close()
    return took, requests


def shares(review: ServedReview, browser: "Browser") -> dict[str, float]:
    """Share of the screen that a picture of 16:9 takes, by screen and kind of work."""
    found = {}
    places = {"review of turns": ("turns", FREE), "links": ("links", "chain-04/chain-05")}
    places |= {"labels": ("tagging", "chain-03")}
    for width, height in SIZES:
        context = browser.new_context(viewport={"width": width, "height": height})
        review.sign_in(context, "Cleo")
        page = context.new_page()
        for what, (queue, target) in places.items():
            page.goto(review.work("Cleo", target, queue))
            ready(page)
            found[f"{what}, {width}×{height}"] = picture_share(page)
        context.close()
        context = browser.new_context(viewport={"width": width, "height": height})
        review.sign_in(context, "Ada")
        page = context.new_page()
        page.goto(f"{review.address}/adjudicate/{review.dispute('Ada')}")
        ready(page)
        found[f"adjudication, {width}×{height}"] = picture_share(page)
        context.close()
    return found


def main() -> None:
    """Measure, and say where a goal is missed."""
    options = options_of(__doc__).parse_args()
    chromium = find_chromium()
    if chromium is None:
        lacking("review_keys", "Chromium on the PATH", quick=options.quick)
    from playwright.sync_api import sync_playwright

    chains = 16 if options.quick else 40
    with (
        tempfile.TemporaryDirectory(prefix="reeltalk-bench-") as folder,
        served(Path(folder), filled(chains), overlap=2) as review,
        sync_playwright() as playwright,
    ):
        for name in ("Ana", "Ben", "Cleo"):
            review.join(name)
        review.join("Ada", "adjudicator")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        jobs, mouse = review_turns(review, browser, DISPUTES + 3)
        mouse += review_links(review, browser, jobs, 6 if options.quick else 12)
        disagree(review, DISPUTES + 2)
        took_s, moved, settled = settle(review, browser, jobs)
        slow_ms, requests = open_slowly(review, browser)
        share = shares(review, browser)
        browser.close()
    rows = [
        (job, strokes, str(count), f"{statistics.median(jobs.took_s[job]) * 1000:.0f}",
         f"{sorted(jobs.took_s[job])[int(0.95 * (len(jobs.took_s[job]) - 1))] * 1000:.0f}", str(len(jobs.took_s[job])))
        for job, (count, strokes) in jobs.strokes.items()
    ]  # fmt: skip
    tables = [
        Table("Key strokes and time of each job", ("Job", "Keys", "Strokes", "Median ms", "p95 ms", "Times"),
              tuple(rows)),
        Table("Share of the screen that a picture of 16:9 takes", ("Screen", "Share"),
              tuple((name, f"{value:.1%}") for name, value in share.items())),
    ]  # fmt: skip

    def goal(value: Goal) -> Goal:
        return Goal(value.sense, value.value, ISSUE)

    measures = [
        Measure(f"settling {DISPUTES} tasks ({settled} turns) by keys", took_s, "s", goal=goal(at_most(30))),
        Measure("mouse events in all of it", mouse + moved, "count", goal=goal(at_most(0))),
        Measure(f"opening a task at {LATENCY_MS} ms of latency, median", statistics.median(slow_ms), "ms",
                goal=goal(at_most(500))),
        Measure("requests when a task is opened with an empty cache", requests, "count", goal=goal(at_most(8))),
        Measure("smallest share of the screen for a picture of 16:9", min(share.values()), "share",
                goal=goal(at_least(0.3))),
    ]  # fmt: skip
    record("review_keys", measures, packages=("playwright", "fastapi"), quick=options.quick, tables=tables,
           notes=[f"opening: {', '.join(f'{value:.0f}' for value in slow_ms)} ms"])  # fmt: skip


if __name__ == "__main__":
    main()
