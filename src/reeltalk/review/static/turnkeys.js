// @ts-check
/** Keys of the review screen. `docs/how-to/review.md` lists the most frequent ones; a test compares the two. */

import { videoActions } from "./videokeys.js";

/** @typedef {import("./keys.js").Action} Action */

export const DECIDING = "deciding";
/** Mode while the panel of reasons is open. */
export const REJECTING = "rejecting";

/**
 * @param {import("./turns.js").Screen} screen
 * @returns {Action[]}
 */
export function turnActions(screen) {
  const { playback, panel } = screen;
  const numbers = Array.from({ length: 9 }, (_, n) => `${n + 1}`);
  return [
    { name: "accept", label: "Accept, with your changes if any, and continue", group: "Decide", keys: ["a", "Ctrl+Enter"], act: () => screen.decide("accept"), mode: DECIDING },
    { name: "reject", label: "Reject: say why", group: "Decide", keys: ["r"], act: () => panel.open(), mode: DECIDING },
    { name: "skip", label: "Skip, and continue", group: "Decide", keys: ["s"], act: () => screen.decide("skip"), mode: DECIDING },
    { name: "still-right", label: "Still right, though an earlier turn changed", group: "Decide", keys: ["y"], act: () => screen.stillRight(), mode: DECIDING },
    { name: "undo", label: "Undo", group: "Decide", keys: ["z", "Ctrl+z"], act: () => screen.work.step("undo"), typing: false },
    { name: "redo", label: "Redo", group: "Decide", keys: ["Shift+Z", "Ctrl+Shift+Z"], act: () => screen.work.step("redo"), typing: false },
    { name: "submit", label: "Submit", group: "Decide", keys: ["f"], act: () => screen.submit(), mode: DECIDING },
    { name: "confirm", label: "Reject, and continue", group: "While rejecting", keys: ["Ctrl+Enter", "Enter", "r"], act: () => panel.confirm(), mode: REJECTING },
    { name: "reasons", label: "Tick a reason", group: "While rejecting", keys: numbers, range: "1–9", act: (key) => panel.tick(Number(key) - 1), mode: REJECTING },
    { name: "next", label: "Next turn", group: "Turns", keys: ["j"], act: () => screen.go(screen.current + 1) },
    { name: "previous", label: "Previous turn", group: "Turns", keys: ["k"], act: () => screen.go(screen.current - 1) },
    { name: "undecided", label: "Next turn that needs a decision", group: "Turns", keys: ["u"], act: () => screen.goToUndecided() },
    { name: "turns", label: "Go to a turn by its number", group: "Turns", keys: numbers, range: "1–9", act: (key) => screen.go(Number(key) - 1), mode: DECIDING },
    { name: "question", label: "Edit the question", group: "Fields", keys: ["q"], act: () => screen.form.focus("question") },
    { name: "answer", label: "Edit the answer", group: "Fields", keys: ["w"], act: () => screen.form.focus("answer") },
    { name: "labels", label: "Edit the labels", group: "Fields", keys: ["g"], act: () => screen.form.focus("labels") },
    { name: "start-here", label: "Evidence starts here", group: "Fields", keys: ["i"], act: () => screen.setTime("start") },
    { name: "end-here", label: "Evidence ends here", group: "Fields", keys: ["o"], act: () => screen.setTime("end") },
    { name: "add-interval", label: "Add an interval of evidence here", group: "Fields", keys: ["n"], act: () => screen.setTime("interval") },
    { name: "asked-here", label: "Asked here", group: "Fields", keys: ["m"], act: () => screen.setTime("asked") },
    { name: "compare", label: "Show changes from the draft, from the last revision, or none", group: "Fields", keys: ["d"], act: () => screen.comparison.next() },
    { name: "leave", label: "Leave a field; close", group: "Fields", keys: ["Escape"], act: () => screen.leave() },
    ...videoActions(playback),
    { name: "to-evidence", label: "Go to the evidence, then to the next interval", group: "Video", keys: ["v"], act: () => screen.toEvidence() },
    { name: "to-asked", label: "Go to the time of the question", group: "Video", keys: ["t"], act: () => screen.toAsked() },
    { name: "play-scenes", label: "Play the evidence, scene after scene", group: "Video", keys: ["p"], act: () => screen.playScenes() },
    { name: "keys", label: "Show the keys", group: "Video", keys: ["?"], act: () => screen.keys.open() },
  ];
}
