"""Whether what a decision needs is in view: the question, the answer, the evidence and the buttons of a place."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from driven_screen import press

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZES: Final = ((1366, 768), (1920, 1080), (390, 844), (844, 390))
NEEDED: Final = {
    "question": "#question",
    "answer": "#reference-0",
    "evidence": ".evidence-fields",
    "buttons": "#accept, #reject, #skip, #submit",
}
"""What a decision about a turn needs, by selectors of the editor of turns."""
_IN_VIEW: Final = """(needed) => {
  const isShown = (element) => {
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) return false;
    let [left, top, right, bottom] = [0, 0, innerWidth, innerHeight];
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (around === document.body || getComputedStyle(around).overflowY === "visible") continue;
      const clip = around.getBoundingClientRect();
      [left, top] = [Math.max(left, clip.left), Math.max(top, clip.top)];
      [right, bottom] = [Math.min(right, clip.right), Math.min(bottom, clip.bottom)];
    }
    if (box.left < left - 1 || box.top < top - 1 || box.right > right + 1 || box.bottom > bottom + 1) return false;
    const above = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return above !== null && (element.contains(above) || above.contains(element));
  };
  return Object.fromEntries(Object.entries(needed).map(([name, selector]) => {
    const found = [...document.querySelectorAll(selector)];
    return [name, found.length > 0 && found.every(isShown)];
  }));
}"""


def in_view(page: "Page", needed: Mapping[str, str] = NEEDED) -> dict[str, bool]:
    """Which of the parts are wholly inside the window and inside every box that scrolls, with nothing over them."""
    shown: dict[str, bool] = page.evaluate(_IN_VIEW, dict(needed))
    return shown


def views_of_places(page: "Page", needed: Mapping[str, str] = NEEDED) -> list[dict[str, bool]]:
    """What is in view at each place of an opened unit, which are gone through by the key for the next."""
    found = []
    count = page.locator("#strip button").count()
    for number in range(count):
        if number:
            press(page, "j")
        page.locator(f"#strip li:nth-child({number + 1}) button[aria-current]").wait_for()
        page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        found.append(in_view(page, needed))
    return found
