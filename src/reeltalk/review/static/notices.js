// @ts-check
/** Messages of the page: for screen readers, or above the work for everybody. */

import { button, byId, element } from "./elements.js";

/** @param {string} text Spoken by screen readers. */
export function say(text) {
  byId("said", HTMLElement).textContent = text;
}

/** @param {string} text Shown until the next message; an empty text removes it. */
export function notify(text) {
  const place = byId("notices", HTMLElement);
  place.querySelector(".passing")?.remove();
  if (text) place.append(element("p", { class: "note passing" }, text));
}

/**
 * Shows what people must know before they work on a unit: that it was returned and why, or that it can no longer be
 * changed.
 * @param {import("./workapi.js").Work["assignment"]} assignment
 * @param {boolean} isOpen
 * @param {() => void} reopen
 */
export function showStatus({ role, state, note, round }, isOpen, reopen) {
  const place = byId("notices", HTMLElement);
  if (note && round > 1) {
    place.append(element("div", { class: "note" }, element("strong", {}, "Returned to you: "), note));
  }
  if (isOpen) return;
  place.append(
    element(
      "div",
      { class: "note" },
      `This work is ${state}: it can be read, not changed. `,
      state === "submitted" && role === "annotator" && button("Take it back", reopen, { class: "second" }),
    ),
  );
}
