// @ts-check
/** The video of screens without scenes and evidence: rating, the test, and live dialogues. */

import { Playback } from "./playback.js";

/** @typedef {import("./keys.js").Keys} Keys */

/** @param {any} video As the server describes it, or null. @returns {{playback: Playback, opened: Promise<void>}} */
export function watch(video, time_s = 0) {
  const whole = { id: "whole video", start_s: 0, end_s: video?.duration_s ?? 0 };
  const unit = { video, content: { clips: [], scenes: video ? [whole] : [], links: [], turns: [] } };
  const work = /** @type {any} */ ({ unit });
  const playback = new Playback(work, []);
  return { playback, opened: playback.open(work, time_s) };
}

/** Binds every button whose id is an action's name to that action. @param {Keys} keys */
export function bindButtons(keys) {
  document.getElementById("show-keys")?.addEventListener("click", () => keys.open());
  for (const action of keys.actions) {
    const found = document.getElementById(action.name);
    if (found instanceof HTMLButtonElement) found.addEventListener("click", () => action.act(""));
  }
}
