// @ts-check
/** What the screens for rating and for the test share: the unit, its video, its outbox, what is said in sight. */

import { byId, element, fill } from "./elements.js";
import { Outbox } from "./outbox.js";
import { Playback } from "./playback.js";
import { SaveState } from "./savestate.js";
import { ask } from "./workapi.js";

/** @param {string} text Tells people who do not see the page. */
export function say(text) {
  byId("said", HTMLElement).textContent = text;
}

/** @param {Event} event @returns {any} */
function detailOf(event) {
  return /** @type {CustomEvent} */ (event).detail;
}

/** @param {string} text A notice that stays in sight; empty to take it away. */
export function notice(text) {
  fill(byId("notices", HTMLElement), text && element("p", { class: "note" }, text));
}

/**
 * Opens the work that the page is for.
 * @returns {Promise<{work: any, assignment: string, path: string, outbox: Outbox, playback: Playback}>}
 */
export async function openWork() {
  const assignment = byId("work", HTMLElement).dataset.assignment ?? "";
  const path = `/api/work/${assignment}`;
  const work = await ask(path);
  const outbox = new Outbox(assignment, (place, save, key) =>
    ask(`${path}/entries/${encodeURIComponent(place)}`, { method: "PUT", body: save, key }),
  );
  const saveState = new SaveState(say);
  outbox.addEventListener("state", (event) => saveState.show({ ...detailOf(event), kept: outbox.kept }));
  outbox.addEventListener("refused", (event) => notice(detailOf(event).message));
  outbox.addEventListener("conflict", (event) => {
    // Both are one's own, of two windows: what was typed here last stands, and the other is in the history.
    const { place, mine } = detailOf(event);
    outbox.resolve(place, mine);
    notice("You saved something else here in another window; what you have here now stands.");
  });
  const playback = openPlayback(work.unit.video);
  return { work, assignment, path, outbox, playback };
}

/** @param {any} video As the server tells of it, or null. */
export function openPlayback(video) {
  const unit = { video, content: { clips: [], scenes: [], links: [], turns: [] } };
  const work = /** @type {any} */ ({ unit });
  const playback = new Playback(work, []);
  void playback.open(work, 0);
  /** @type {[string, () => void][]} */
  const controls = [
    ["play", () => playback.toggle()],
    ["step-back", () => playback.step(-1)],
    ["step-on", () => playback.step(1)],
    ["loop", () => playback.toggleLoop()],
    ["slower", () => playback.changeSpeed(-1)],
    ["faster", () => playback.changeSpeed(1)],
  ];
  for (const [name, act] of controls) byId(name, HTMLButtonElement).addEventListener("click", act);
  return playback;
}

/**
 * Keys of the video.
 * @param {Playback} playback
 * @returns {import("./keys.js").Action[]}
 */
export function videoActions(playback) {
  const group = "Video";
  return [
    { name: "play", label: "Play or pause", group, keys: ["Space"], act: () => playback.toggle() },
    { name: "step-back", label: "One frame back", group, keys: [","], act: () => playback.step(-1), repeats: true },
    { name: "step-on", label: "One frame on", group, keys: ["."], act: () => playback.step(1), repeats: true },
    { name: "back", label: "1 s back", group, keys: ["ArrowLeft"], act: () => void playback.jump(-1), repeats: true },
    { name: "on", label: "1 s on", group, keys: ["ArrowRight"], act: () => void playback.jump(1), repeats: true },
    { name: "loop", label: "Loop, or stop that", group, keys: ["l"], act: () => playback.toggleLoop() },
    { name: "slower", label: "Slower", group, keys: ["-"], act: () => playback.changeSpeed(-1) },
    { name: "faster", label: "Faster", group, keys: ["+", "="], act: () => playback.changeSpeed(1) },
  ];
}

/**
 * Hands the work in and goes on, once everything is saved.
 * @param {string} path @param {Outbox} outbox
 */
export async function handIn(path, outbox) {
  if (!(await outbox.settle())) {
    notice("Not everything is saved yet; try again in a moment.");
    return;
  }
  try {
    const { next } = await ask(`${path}/submit`, { method: "POST" });
    location.assign(next ?? "/");
  } catch (error) {
    notice(error instanceof Error ? error.message : String(error));
  }
}
