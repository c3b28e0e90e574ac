"""Helpers for browser tests of a work screen: press keys, wait until it is ready, wait until everything is saved."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

READY_MS: Final = 30_000
COUNT_MOUSE: Final = """
    window.mouseEvents = 0;
    for (const name of ["mousedown", "mouseup", "pointerdown", "touchstart", "wheel"])
      addEventListener(name, () => window.mouseEvents++, {capture: true});
    // Where a page changes below a pointer that rests, Chromium sends a move of no length.
    for (const name of ["mousemove", "pointermove"])
      addEventListener(name, (event) => { if (event.movementX || event.movementY) window.mouseEvents++; },
                       {capture: true});
    addEventListener("click", ({detail}) => { if (detail > 0) window.mouseEvents++; }, {capture: true});
"""
"""A script that counts in `mouseEvents` the events that no keyboard causes."""


def ready(page: "Page") -> None:
    """Waits until the screen shows the person's last place."""
    page.wait_for_selector("html[data-ready]")


def press(page: "Page", *keys: str) -> None:
    """Presses keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def saved(page: "Page") -> None:
    """Waits until the server has everything."""
    from playwright.sync_api import expect

    expect(page.locator("#save-state")).to_have_text(re.compile("All saved"), timeout=READY_MS)


def picture_share(page: "Page") -> float:
    """The share of the window, from 0 to 1, that a picture of 16:9 has in the video's frame."""
    share: float = page.evaluate(
        """() => { const { width, height } = document.querySelector("#video").getBoundingClientRect();
        const shown = Math.min(width, height * 16 / 9);
        return shown * shown * 9 / 16 / (innerWidth * innerHeight); }"""
    )
    return share


def reach_buttons(page: "Page") -> None:
    """Scrolls to each button, and asks the browser whether a click would reach it.

    Raises:
        AssertionError: A button is beside the window.
        playwright.sync_api.TimeoutError: Something lies over a button.
    """
    width: int = page.evaluate("innerWidth")
    for button in page.locator("button:visible:enabled").all():
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width, button.inner_text()
        button.click(trial=True)
