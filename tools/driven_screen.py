"""What tests do with a work screen in a browser: press keys, wait until it is there, wait until all is saved."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

READY_MS: Final = 30_000
COUNT_MOUSE: Final = """
    window.mouseEvents = 0;
    for (const name of ["mousedown", "mouseup", "mousemove", "pointerdown", "pointermove", "touchstart", "wheel"])
      addEventListener(name, () => window.mouseEvents++, {capture: true});
    addEventListener("click", ({detail}) => { if (detail > 0) window.mouseEvents++; }, {capture: true});
"""
"""A script that counts in `mouseEvents` what no keyboard does."""


def ready(page: "Page") -> None:
    """Wait until the screen is where its person was."""
    page.wait_for_selector("html[data-ready]")


def press(page: "Page", *keys: str) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def saved(page: "Page") -> None:
    """Wait until the server has everything."""
    from playwright.sync_api import expect

    expect(page.locator("#save-state")).to_have_text(re.compile("All saved"), timeout=READY_MS)
