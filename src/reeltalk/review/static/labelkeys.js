// @ts-check
/** Keys of the labelling screens. `docs/how-to/review-team.md` lists the most frequent ones; a test compares the two. */

import { videoActions } from "./videokeys.js";

/** @typedef {import("./keys.js").Action} Action */

/** @param {import("./labels.js").Labels} screen @param {string} keys Keys of the labels, in the order of the page. @returns {Action[]} */
export function labelActions(screen, keys) {
  const labels = [...document.querySelectorAll("[data-vocabulary] input[type=checkbox]")].map((box, n) => ({
    name: `${box.closest("[data-vocabulary]")?.getAttribute("data-vocabulary")}.${/** @type {HTMLInputElement} */ (box).value}`,
    label: /** @type {HTMLInputElement} */ (box).value,
    group: "Labels",
    keys: [keys[n]],
    act: () => screen.toggle(n),
  }));
  return [
    { name: "accept", label: "Done with the turn, and continue", group: "Decide", keys: ["Enter", "Ctrl+Enter"], act: () => screen.decide("accept") },
    { name: "skip", label: "Cannot be labelled: skip, and continue", group: "Decide", keys: ["x"], act: () => screen.decide("skip") },
    { name: "undo", label: "Undo", group: "Decide", keys: ["z", "Ctrl+z"], act: () => screen.work.step("undo"), typing: false },
    { name: "redo", label: "Redo", group: "Decide", keys: ["Shift+Z", "Ctrl+Shift+Z"], act: () => screen.work.step("redo"), typing: false },
    { name: "submit", label: "Submit", group: "Decide", keys: ["Shift+F"], act: () => screen.submit() },
    { name: "next", label: "Next turn", group: "Turns", keys: ["j"], act: () => screen.go(screen.current + 1) },
    { name: "previous", label: "Previous turn", group: "Turns", keys: ["k"], act: () => screen.go(screen.current - 1) },
    { name: "undecided", label: "Next turn that needs a decision", group: "Turns", keys: ["o"], act: () => screen.goToUndecided() },
    { name: "note", label: "Note", group: "Turns", keys: ["n"], act: () => screen.focusNote() },
    { name: "manual", label: "Open or close the manual", group: "Turns", keys: ["m"], act: () => screen.toggleManual() },
    { name: "leave", label: "Leave a field", group: "Turns", keys: ["Escape"], act: () => screen.leave() },
    ...labels,
    { name: "to-evidence", label: "Go to the evidence, then to the next interval", group: "Video", keys: ["v"], act: () => screen.toEvidence() },
    { name: "play-scenes", label: "Play the evidence", group: "Video", keys: ["p"], act: () => screen.playScenes() },
    ...videoActions(screen.playback),
    { name: "keys", label: "Show the keys", group: "Video", keys: ["?"], act: () => screen.keys.open() },
  ];
}
