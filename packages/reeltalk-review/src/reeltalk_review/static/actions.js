// @ts-check
/** All actions of the work screens, with their keys. A key means one act on every screen; a view says what it does there. */

const DIGITS = [..."1234567890"];
const LETTERS = [..."QWERTYUIASDF"].map((letter) => `Shift+${letter}`);

const TABLE = /** @type {const} */ ([
  { name: "accept", group: "Decide", label: "Accept, with your changes if any; the version A of two", keys: ["a"] },
  { name: "accept-b", group: "Decide", label: "Accept the version B of two", keys: ["b"] },
  { name: "bulk", group: "Decide", label: "Accept all drafts that no check flagged, where the queue allows it", keys: ["Shift+Enter"] },
  { name: "done", group: "Decide", label: "Finish here with what is entered", keys: ["Ctrl+Enter"] },
  { name: "confirm", group: "Decide", label: "Confirm what is chosen", keys: ["Enter"] },
  { name: "reject", group: "Decide", label: "Reject, or delete", keys: ["r", "Delete"] },
  { name: "skip", group: "Decide", label: "Skip", keys: ["s"] },
  { name: "fits", group: "Decide", label: "It still fits", keys: ["y"] },
  { name: "keep-plain", group: "Decide", label: "Keep the link in its original words", keys: ["Shift+K"] },
  { name: "choose", group: "Decide", label: "Choose by number: a turn, reason, option, mark, relation, side or label", keys: DIGITS, range: "0–9" },
  { name: "label", group: "Decide", label: "Give a label by its letter, or take it away", keys: LETTERS, range: "⇧Q–⇧I, ⇧A–⇧F" },
  { name: "undo", group: "Decide", label: "Undo", keys: ["z", "Ctrl+z"], typing: false },
  { name: "redo", group: "Decide", label: "Redo", keys: ["Shift+Z", "Ctrl+Shift+Z"], typing: false },
  { name: "submit", group: "Decide", label: "Submit", keys: ["f"] },
  { name: "take-back", group: "Decide", label: "Take back what was submitted last, or this task", keys: ["Shift+B"] },
  { name: "next", group: "Go", label: "Next", keys: ["j"] },
  { name: "previous", group: "Go", label: "Previous", keys: ["k"] },
  { name: "undecided", group: "Go", label: "Next that needs a decision", keys: ["u"] },
  { name: "down", group: "Go", label: "The choice below", keys: ["ArrowDown"], repeats: true },
  { name: "up", group: "Go", label: "The choice above", keys: ["ArrowUp"], repeats: true },
  { name: "leave", group: "Go", label: "Leave a field; close", keys: ["Escape"] },
  { name: "guideline", group: "Go", label: "Show the guideline", keys: ["h"] },
  { name: "manual", group: "Go", label: "Open or close the manual of labels", keys: ["Shift+H"] },
  { name: "keys", group: "Go", label: "Show the keys", keys: ["?"] },
  { name: "question", group: "Fields", label: "Edit the question", keys: ["q"] },
  { name: "answer", group: "Fields", label: "Edit the answer; write a version of your own", keys: ["w"] },
  { name: "labels", group: "Fields", label: "Edit labels, or skills", keys: ["g"] },
  { name: "methods", group: "Fields", label: "Ways to rewrite the question", keys: ["Shift+G"] },
  { name: "draft", group: "Fields", label: "Start from the draft, then from the next", keys: ["Shift+P"] },
  { name: "own-words", group: "Fields", label: "Restore the original words", keys: ["Shift+O"] },
  { name: "add", group: "Fields", label: "Add an interval of evidence here, or a link", keys: ["n"] },
  { name: "start-here", group: "Fields", label: "Evidence starts here", keys: ["i"] },
  { name: "end-here", group: "Fields", label: "Evidence ends here", keys: ["o"] },
  { name: "asked-here", group: "Fields", label: "Asked here", keys: ["m"] },
  { name: "compare", group: "Fields", label: "Show the changes from the draft, or hide them", keys: ["d"] },
  { name: "note", group: "Fields", label: "Write a note", keys: ["e"] },
  { name: "unsure", group: "Fields", label: "Unsure, or sure", keys: ["Shift+N"] },
  { name: "play", group: "Video", label: "Play or pause", keys: ["Space"] },
  { name: "play-parts", group: "Video", label: "Play the evidence, or the scenes of a link", keys: ["p"] },
  { name: "to-evidence", group: "Video", label: "Go to the evidence, then to the next interval", keys: ["v"] },
  { name: "to-asked", group: "Video", label: "Go to the time of the question", keys: ["t"] },
  { name: "step-back", group: "Video", label: "One frame back", keys: [","], repeats: true },
  { name: "step-on", group: "Video", label: "One frame forward", keys: ["."], repeats: true },
  { name: "back", group: "Video", label: "1 s back", keys: ["ArrowLeft"], repeats: true },
  { name: "on", group: "Video", label: "1 s forward", keys: ["ArrowRight"], repeats: true },
  { name: "far-back", group: "Video", label: "5 s back", keys: ["Shift+ArrowLeft"], repeats: true },
  { name: "far-on", group: "Video", label: "5 s forward", keys: ["Shift+ArrowRight"], repeats: true },
  { name: "loop", group: "Video", label: "Loop the clip, or stop the loop", keys: ["l"] },
  { name: "slower", group: "Video", label: "Slower", keys: ["-"] },
  { name: "faster", group: "Video", label: "Faster", keys: ["+", "="] },
  { name: "zoom", group: "Video", label: "Show the whole video or this part in the bar", keys: ["\\"] },
  { name: "mute", group: "Video", label: "Sound on or off", keys: ["Shift+M"] },
  { name: "captions", group: "Video", label: "Captions on or off", keys: ["Shift+C"] },
  { name: "theatre", group: "Video", label: "Large video, or small", keys: ["x"] },
]);

/** @typedef {(typeof TABLE)[number]["name"]} ActionName */

/** @type {readonly Action[]} */
export const ACTIONS = TABLE;
