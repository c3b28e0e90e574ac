"""Debian's Firefox, driven by Playwright as Chromium is, so that the same tests run in both."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPLIES: Final = Path(__file__).with_name("firefox_replies.cjs")


def find_firefox() -> str | None:
    """Path of Firefox; None if it is not installed."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


@contextmanager
def firefox(path: str) -> "Iterator[Browser]":
    """A Firefox without windows, with a profile of its own.

    Args:
        path: The program.
    """
    from playwright.sync_api import sync_playwright

    before = os.environ.get("NODE_OPTIONS")
    # Only the Node that starts here reads it.
    os.environ["NODE_OPTIONS"] = f"--require {REPLIES}"
    with tempfile.TemporaryDirectory(prefix="reeltalk-firefox-") as home, sync_playwright() as playwright:
        if before is None:
            del os.environ["NODE_OPTIONS"]
        else:
            os.environ["NODE_OPTIONS"] = before
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": home}
        found = playwright.firefox.launch(channel="moz-firefox", executable_path=path, env=environment)
        try:
            yield found
        finally:
            found.close()
