// @ts-check
/** All turns as a row of numbers with their decisions, and the dialogue before the current turn. */

import { button, clock, element, fill } from "./elements.js";
import { DECIDED, kindOf } from "./turnvalue.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {{value: TurnValue, stale: boolean, flagged: boolean, conflict: boolean}} Shown One turn. */

const MARKS = Object.freeze({ accept: "✓", edit: "✎", reject: "✕", skip: "–" });

/** @param {Shown} turn */
function stateOf({ value, stale, flagged, conflict }) {
  const said = [kindOf(value.decision)];
  if (conflict) said.push("saved elsewhere too");
  if (stale) said.push("an earlier turn changed since");
  if (flagged) said.push("a check flagged it");
  return said.join(", ");
}

/**
 * @param {HTMLElement} place
 * @param {Shown[]} turns
 * @param {number} current
 * @param {(turn: number) => void} go
 */
export function drawStrip(place, turns, current, go) {
  const focused = place.contains(document.activeElement);
  fill(
    place,
    ...turns.map((turn, n) => {
      const kinds = ["turn-number", kindOf(turn.value.decision), turn.stale && "stale", turn.conflict && "conflict"];
      const made = button(`${n + 1}`, () => go(n), {
        class: kinds.filter(Boolean).join(" "),
        "aria-current": n === current ? "step" : undefined,
        "aria-label": `Turn ${n + 1}: ${stateOf(turn)}`,
        title: `Turn ${n + 1}: ${stateOf(turn)}`,
      });
      const mark = turn.stale ? "!" : turn.value.decision ? MARKS[turn.value.decision] : turn.flagged ? "⚑" : "";
      made.append(element("span", { class: "mark", "aria-hidden": "true" }, mark));
      return element("li", {}, made);
    }),
  );
  if (focused) place.querySelector("[aria-current]")?.closest("button")?.focus();
}

/**
 * @param {HTMLElement} place
 * @param {Shown[]} turns
 * @param {number} current The turns before it are shown.
 * @param {(turn: number) => void} go
 */
export function drawDialogue(place, turns, current, go) {
  if (current === 0) {
    fill(place, element("p", { class: "soft" }, "This is the first turn. There are no turns before it."));
    return;
  }
  fill(
    place,
    element(
      "ol",
      { class: "said-before" },
      ...turns.slice(0, current).map((turn, n) => {
        const { value } = turn;
        return element(
          "li",
          { class: [kindOf(value.decision), turn.stale && "stale"].filter(Boolean).join(" ") },
          element(
            "p",
            { class: "about" },
            button(`Turn ${n + 1}`, () => go(n), { class: "quiet" }),
            value.asked_at_s !== null && element("span", {}, clock(value.asked_at_s)),
            element("span", { class: "decided" }, value.decision ? DECIDED[value.decision] : "Undecided"),
            turn.stale && element("span", { class: "warn" }, "look again"),
          ),
          element("p", { class: "asked-text" }, value.question),
          ...value.references.slice(0, 1).map((text) => element("p", { class: "answer-text" }, text)),
        );
      }),
    ),
  );
  place.scrollTop = place.scrollHeight;
}
