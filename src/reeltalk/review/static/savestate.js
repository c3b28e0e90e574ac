// @ts-check
/** Shows if the typed text is saved, is being saved, or waits in this browser, and why. */

import { byId, element, fill, sentence } from "./elements.js";

/** @typedef {import("./outbox.js").State} State */

/** @param {number} n @param {string} what As `turn`. */
function count(n, what) {
  return n === 1 ? `1 ${what} waits` : `${n} ${what}s wait`;
}

export class SaveState {
  /** @param {(text: string) => void} say Speaks to screen readers. @param {string} [what] A place of the unit. */
  constructor(say, what = "turn") {
    this._what = what;
    this._place = byId("save-state", HTMLElement);
    this._say = say;
    /** @type {State} */
    this._last = "saved";
    this._shown = "";
  }

  /** @param {{state: State, waiting: number, message: string, kept: boolean}} now */
  show({ state, waiting, message, kept }) {
    const text = {
      saved: "All saved",
      saving: "Saving…",
      offline: `Offline: ${count(waiting, this._what)} in this browser`,
      "signed-out": `Signed out: ${count(waiting, this._what)} in this browser`,
      conflict: "Saved elsewhere too",
      refused: `Not saved: ${sentence(message)}`,
      closed: `Not saved: ${sentence(message)} What you typed stays in this browser.`,
    }[state];
    // A link that is replaced at every retry cannot be clicked.
    if (this._shown === `${text}${kept}`) return;
    this._shown = `${text}${kept}`;
    // The link opens a new tab, so this page and its text stay.
    const signIn = element("a", { href: "/sign-in", target: "_blank", rel: "opener" }, "Sign in in a new tab");
    const lost = !kept && state !== "saved" && element("strong", {}, " This browser cannot keep your work. Do not close the page.");
    fill(this._place, element("span", { class: "state-dot", "aria-hidden": "true" }), text, " ", state === "signed-out" && signIn, lost);
    this._place.className = `save-state ${state}`;
    const isTrouble = state !== "saved" && state !== "saving";
    const wasTrouble = this._last !== "saved" && this._last !== "saving";
    if (isTrouble && state !== this._last) this._say(text);
    if (state === "saved" && wasTrouble) this._say("All saved.");
    if (isTrouble || state === "saved") this._last = state;
  }
}
