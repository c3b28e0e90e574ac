"""Walk through a written report in headless Chromium: every page, wide and narrow, light and dark, checked by axe.

    python tools/walk_report.py build/demo/site --shots build/shots

Needs Chromium on the PATH, and the development tools. Prints each problem on a line, and exits with 1 if there are any.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Request
    from playwright.sync_api import Page as Tab

WIDTHS: Final = (1280, 390)
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
VIEWS: Final = tuple(product(WIDTHS, SCHEMES))
GRAVE: Final = ("serious", "critical")
# As root, Chromium's zygotes may get a real-time priority and, once, spun with it: then nothing else ran.
ARGUMENTS: Final = ("--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-background-networking")
TALLEST_PX: Final = 8000
"""Maximum height of a page's screenshot."""


@dataclass(frozen=True)
class Problem:
    """A problem of one page."""

    page: str
    width_px: int
    scheme: str
    what: str

    def __str__(self) -> str:
        return f"{self.page} at {self.width_px} px, {self.scheme}: {self.what}"


def find_chromium() -> str | None:
    """Path of Chromium; None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def find_headless_chromium() -> str | None:
    """Path of the Chromium that has no windows and takes half as long for a page; Chromium's if it is not installed."""
    return shutil.which("chromium-headless-shell") or find_chromium()


def pages_of(site: Path, *, each: int | None = None) -> list[Path]:
    """All pages of a site; with `each`, only the first few of each folder below it."""
    taken: dict[Path, int] = {}
    found = []
    for page in sorted(site.rglob("*.html")):
        taken[page.parent] = taken.get(page.parent, 0) + 1
        if page.parent == site or each is None or taken[page.parent] <= each:
            found.append(page)
    return found


@contextmanager
def open_browser(chromium: str) -> Iterator["Browser"]:
    """A headless browser that is closed at the end of the block."""
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS)) as browser,
    ):
        yield browser


def walk(
    site: Path,
    pages: Sequence[Path],
    browser: "Browser",
    *,
    views: Sequence[tuple[int, Literal["light", "dark"]]] = VIEWS,
    shots: Path | None = None,
) -> Iterator[Problem]:
    """Open pages and report problems: errors, network requests, sideways scrolling, and grave findings of axe.

    Args:
        site: The folder of the site.
        pages: Pages of it.
        browser: The browser that opens them.
        views: Widths of the window in pixels, each with a scheme of colours.
        shots: Folder for a picture of every page; None for no pictures.

    Yields:
        Problems as they are found.
    """
    for width, scheme in views:
        with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as tab:
            heard = _listen(tab)
            for page in pages:
                name = page.relative_to(site).as_posix()
                tab.goto(page.as_uri())
                for what in (*heard, *_overflow(tab, width), *find_axe_problems(tab)):
                    yield Problem(name, width, scheme, what)
                heard.clear()
                if shots is not None:
                    _picture(tab, shots / f"{name.replace('/', '-')}-{width}-{scheme}.png")


def _listen(tab: "Tab") -> list[str]:
    """A list that collects errors on a tab's pages from now on."""
    heard: list[str] = []

    def note_message(message: "ConsoleMessage") -> None:
        heard.append(f"console: {message.text}")

    def note_error(error: Exception) -> None:
        heard.append(f"error: {error}")

    def note_request(asked: "Request") -> None:
        if asked.url.startswith("http"):
            heard.append(f"asks {asked.url}")

    tab.on("console", note_message)
    tab.on("pageerror", note_error)
    tab.on("request", note_request)
    return heard


def _overflow(tab: "Tab", width: int) -> list[str]:
    wide = tab.evaluate("document.documentElement.scrollWidth")
    return [f"scrolls sideways: {wide} px wide"] if wide > width else []


def find_axe_problems(tab: "Tab") -> list[str]:
    """Grave findings of axe on the current page of a tab."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab).response["violations"]
    return [
        f"axe, {one['impact']}: {one['id']}: {one['help']}, {len(one['nodes'])} times, "
        f"as {one['nodes'][0]['html'][:160]}"
        for one in found
        if one["impact"] in GRAVE
    ]


def _picture(tab: "Tab", to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    height = min(tab.evaluate("document.documentElement.scrollHeight"), TALLEST_PX)
    width = tab.viewport_size["width"] if tab.viewport_size else WIDTHS[0]
    tab.screenshot(path=to, clip={"x": 0, "y": 0, "width": width, "height": height}, full_page=True)


def main() -> int:
    """Walk and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--each", type=int, help="at most so many pages of each folder below the site")
    parser.add_argument("--shots", type=Path, help="write a picture of every page there")
    given = parser.parse_args()
    if (chromium := find_chromium()) is None:
        sys.exit("no Chromium on the PATH")
    pages = pages_of(given.site.resolve(), each=given.each)
    problems = 0
    with open_browser(chromium) as browser:
        for problem in walk(given.site.resolve(), pages, browser, shots=given.shots):
            problems += 1
            print(problem, flush=True)
    print(f"{len(pages):,} pages, {len(WIDTHS)} widths, {len(SCHEMES)} schemes: {problems:,} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
