"""A browser for tests of pages, and people who are new in each test."""

import re
from collections.abc import Iterator

import pytest
from driven_screen import READY_MS
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from team import one_loop
from walk_report import ARGUMENTS, find_chromium

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


@pytest.fixture(scope="session", autouse=True)
def _loop() -> Iterator[None]:
    with one_loop():
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
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


VIEWS = [
    (1280, "light"),
    (390, "dark"),
    pytest.param(1280, "dark", marks=pytest.mark.slow),
    pytest.param(390, "light", marks=pytest.mark.slow),
]
"""Widths and colours in which pages are checked: each at every change, every pair of them under `make test-full`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"width", "scheme"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("width", "scheme"), VIEWS)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A member of the team of each test's own."""
    return re.sub(r"\W+", " ", request.node.name)[:60]
