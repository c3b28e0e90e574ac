// @ts-check
/** A video beside work that knows nothing of scenes and evidence: answers to rate or to give, a dialogue of two. */

import { Playback } from "./playback.js";

/** @typedef {import("./keys.js").Keys} Keys */

/** @param {any} video As the server tells of it, or null. @returns {{playback: Playback, opened: Promise<void>}} */
export function watch(video, time_s = 0) {
  const whole = { id: "whole video", start_s: 0, end_s: video?.duration_s ?? 0 };
  const unit = { video, content: { clips: [], scenes: video ? [whole] : [], links: [], turns: [] } };
  const work = /** @type {any} */ ({ unit });
  const playback = new Playback(work, []);
  return { playback, opened: playback.open(work, time_s) };
}

/** Lets every button that is called as an action do what its key does. @param {Keys} keys */
export function bindButtons(keys) {
  document.getElementById("show-keys")?.addEventListener("click", () => keys.open());
  for (const action of keys.actions) {
    const found = document.getElementById(action.name);
    if (found instanceof HTMLButtonElement) found.addEventListener("click", () => action.act(""));
  }
}
