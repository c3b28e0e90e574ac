// @ts-check
/** What the page tells: in passing to people who do not see it, above the work to everybody. */

import { button, byId, element } from "./elements.js";

/** @param {string} text To people who hear the page. */
export function say(text) {
  byId("said", HTMLElement).textContent = text;
}

/** @param {string} text To everybody, until the next; an empty text takes the last one away. */
export function notify(text) {
  const place = byId("notices", HTMLElement);
  place.querySelector(".passing")?.remove();
  if (text) place.append(element("p", { class: "note passing" }, text));
}

/**
 * What one must know before working on a unit: that it came back, and why; that it can no longer be changed.
 * @param {import("./workapi.js").Work["assignment"]} assignment
 * @param {boolean} isOpen
 * @param {() => void} reopen
 */
export function tellStanding({ state, note, round }, isOpen, reopen) {
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
      state === "submitted" && button("Take it back", reopen, { class: "second" }),
    ),
  );
}
