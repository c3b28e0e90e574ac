// @ts-check
/** After a unit was submitted, the next page says so, and the unit can be taken back from there. */

import { messageOf } from "./elements.js";
import { html, render } from "./vendor/preact.js";
import { ask } from "./workapi.js";

const STORE = "reeltalk.handed-in";
/** How long the next page may say it. */
const FRESH_MS = 10 * 60_000;

/** @param {string} id Of the assignment. @param {string} name Of the unit. */
export function putHandedIn(id, name) {
  try {
    sessionStorage.setItem(STORE, JSON.stringify({ id, name, at: Date.now() }));
  } catch {
    // The unit can still be taken back on its own page.
  }
}

/** The unit that was submitted on the page before, once; or null. @returns {{id: string, name: string} | null} */
export function takeHandedIn() {
  try {
    const { id, name, at } = JSON.parse(sessionStorage.getItem(STORE) ?? "null") ?? {};
    sessionStorage.removeItem(STORE);
    return typeof id === "string" && Date.now() - at < FRESH_MS ? { id, name } : null;
  } catch {
    return null;
  }
}

/** Takes a submitted unit back, and opens it. @param {string} id */
export async function takeBack(id) {
  await ask(`/api/work/${encodeURIComponent(id)}/reopen`, { method: "POST" });
  location.assign(`/work/${encodeURIComponent(id)}`);
}

/** On a page that is no editor: says what was submitted. */
export function showHandedIn() {
  const found = document.getElementById("work") ? null : takeHandedIn();
  if (!found) return;
  const place = document.createElement("div");
  const say = (/** @type {any} */ what) => render(html`<p class="note" role="status">${what}</p>`, place);
  const back = () => takeBack(found.id).catch((error) => say(messageOf(error)));
  say(html`Submitted: ${found.name}. <button type="button" onClick=${back}>Take it back</button>`);
  document.getElementById("content")?.prepend(place);
}
