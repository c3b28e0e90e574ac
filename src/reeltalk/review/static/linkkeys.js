// @ts-check
/** Keys of the link board. `docs/how-to/review-team.md` lists the most frequent ones; a test compares the two. */

import { videoActions } from "./videokeys.js";

/** @typedef {import("./keys.js").Action} Action */

/** Mode while a link is drawn. */
export const PICKING = "picking";
/** Mode while a link is shown. */
export const LINK = "link";
/** Mode without a link. */
export const EMPTY = "empty";

/** @param {import("./links.js").Board} screen @returns {Action[]} */
export function linkActions(screen) {
  const { panel } = screen;
  const numbers = Array.from({ length: 9 }, (_, n) => `${n + 1}`);
  return [
    { name: "pick", label: "Select a turn by its number", group: "While drawing", keys: numbers, range: "1–9", act: (key) => screen.pick(Number(key) - 1), mode: PICKING },
    { name: "pick-up", label: "The turn above", group: "While drawing", keys: ["ArrowUp", "k"], act: () => screen.movePick(-1), mode: PICKING, repeats: true },
    { name: "pick-down", label: "The turn below", group: "While drawing", keys: ["ArrowDown", "j"], act: () => screen.movePick(1), mode: PICKING, repeats: true },
    { name: "pick-this", label: "Select it", group: "While drawing", keys: ["Enter"], act: () => screen.pick(), mode: PICKING },
    { name: "draw", label: "Draw a link", group: "Links", keys: ["n"], act: () => screen.startPicking() },
    { name: "keep", label: "Keep the link, and continue", group: "Links", keys: ["a", "Ctrl+Enter"], act: () => screen.decide("keep"), mode: LINK },
    { name: "delete", label: "Delete the link, and continue", group: "Links", keys: ["x", "Delete"], act: () => screen.decide("delete"), mode: LINK },
    { name: "relation", label: "Its relation", group: "Links", keys: numbers.slice(0, 6), range: "1–6", act: (key) => panel.setRelation(Number(key) - 1), mode: LINK },
    { name: "skills", label: "Skills", group: "Links", keys: ["g"], act: () => panel.focus("skills"), mode: LINK },
    { name: "next", label: "Next link", group: "Links", keys: ["j"], act: () => screen.go(1) },
    { name: "previous", label: "Previous link", group: "Links", keys: ["k"], act: () => screen.go(-1) },
    { name: "undecided", label: "Next link that needs a decision", group: "Links", keys: ["u"], act: () => screen.goToUndecided() },
    { name: "undo", label: "Undo", group: "Links", keys: ["z", "Ctrl+z"], act: () => screen.work.step("undo"), typing: false },
    { name: "redo", label: "Redo", group: "Links", keys: ["Shift+Z", "Ctrl+Shift+Z"], act: () => screen.work.step("redo"), typing: false },
    { name: "submit", label: "All links are there: submit", group: "Links", keys: ["f"], act: () => screen.submit() },
    { name: "draft", label: "Start from the draft, then from the next", group: "The later question", keys: ["d"], act: () => screen.takeDraft(), mode: LINK },
    { name: "methods", label: "Ways to rewrite it", group: "The later question", keys: ["m"], act: () => panel.focus("methods"), mode: LINK },
    { name: "question", label: "Rewrite the question", group: "The later question", keys: ["q"], act: () => panel.focus("question"), mode: LINK },
    { name: "answer", label: "Rewrite the answer", group: "The later question", keys: ["w"], act: () => panel.focus("answer"), mode: LINK },
    { name: "own-words", label: "Restore the original words", group: "The later question", keys: ["r"], act: () => panel.useOwnWords(), mode: LINK },
    { name: "fits", label: "It fits the turns around it", group: "The later question", keys: ["c"], act: () => panel.toggleFits(), mode: LINK },
    { name: "note", label: "Note", group: "The later question", keys: ["t"], act: () => panel.focus("note"), mode: LINK },
    { name: "leave", label: "Leave a field; stop drawing", group: "Links", keys: ["Escape"], act: () => screen.leave() },
    { name: "play-scenes", label: "Play the earlier scene, then the later one", group: "Video", keys: ["p"], act: () => screen.playScenes() },
    { name: "to-evidence", label: "Go to the earlier turn's evidence, then to the later one's", group: "Video", keys: ["v"], act: () => screen.toEvidence() },
    ...videoActions(screen.playback),
    { name: "keys", label: "Show the keys", group: "Video", keys: ["?"], act: () => screen.keys.open() },
  ];
}
