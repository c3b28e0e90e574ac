"""A browser for tests of pages: a plugin of pytest."""

from collections.abc import Iterator

import pytest
from driven_firefox import find_firefox, firefox
from driven_screen import READY_MS
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from walk_report import ARGUMENTS, find_chromium, find_headless_chromium

expect.set_options(timeout=READY_MS)

LEFT_OUT = (
    # Two pages of Chromium's own for its address bar, which each window loads: a third of what a test of a page costs.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # The option replaces Playwright's; these are what Playwright 1.6x leaves out.
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"),
    *("MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    "ThirdPartyStoragePartitioning",
)
"""Features of Chromium that tests of pages do without."""


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest, full: bool) -> Iterator[Browser]:
    """Chromium, without its windows where the counts are not full; for tests with the mark `firefox` also Firefox."""
    if getattr(request, "param", "chromium") == "firefox":
        path = find_firefox()
        if path is None:
            pytest.skip("no Firefox on the PATH (Debian: firefox-esr)")
        with firefox(path) as found:
            yield found
        return
    chromium = find_chromium() if full else find_headless_chromium()
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    with sync_playwright() as playwright:
        arguments = [*ARGUMENTS, f"--disable-features={','.join(LEFT_OUT)}"]
        found = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 1280, "height": 860})
    found.set_default_timeout(READY_MS)
    errors: list[str] = []
    found.on("weberror", lambda error: errors.append(str(error.error)))
    yield found
    found.close()
    assert errors == [], "no script of the page fails"


VIEWS = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]
NARROW = ("test_review_adjudication", "test_review_links")
"""Widths and colours in which pages are checked under `make test-full`. At every change they are checked in the second
one in these files, and in the first one in the others: all pages share their styles."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("firefox")
    if "browser" in metafunc.fixturenames and mark is not None:
        # A review by keys and the frames that a video shows are tried in Firefox at every change, the others under
        # `make test-full`.
        firefox = pytest.param("firefox", marks=() if mark.kwargs.get("always") else pytest.mark.slow)
        metafunc.parametrize("browser", ["chromium", firefox], indirect=True, scope="module")
    if {"width", "scheme"} <= set(metafunc.fixturenames):
        chosen = metafunc.module.__name__.rpartition(".")[2] in NARROW
        views = [
            pytest.param(*view, marks=() if number == chosen else pytest.mark.slow) for number, view in enumerate(VIEWS)
        ]
        metafunc.parametrize(("width", "scheme"), views)
