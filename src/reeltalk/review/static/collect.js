// @ts-check
/** A live dialogue of two: one asks without the video, one answers with it. What is being typed stays in this browser. */

import { byId, element, fill } from "./elements.js";
import { Keys } from "./keys.js";
import { openPlayback, videoActions } from "./opening.js";
import { RefusedError, ask, makeKey } from "./workapi.js";

const POLL_MS = 1500;
const root = byId("dialogue-work", HTMLElement);
const role = root.dataset.role ?? "";
const path = `/api/dialogues/${root.dataset.dialogue ?? ""}`;
const store = `reeltalk.dialogue.${root.dataset.dialogue ?? ""}`;
const text = byId("text", HTMLTextAreaElement);
const send = byId("send", HTMLButtonElement);
const correct = byId("correct", HTMLButtonElement);
/** @type {any} */
let now = null;
/** Position of the own message that is being corrected, or null. @type {number | null} */
let correcting = null;
/** The message under way keeps its key however often it is sent. @type {{key: string, position: number, text: string} | null} */
let pending = null;

/** @param {string} message */
function notice(message) {
  fill(byId("notices", HTMLElement), message && element("p", { class: "note" }, message));
}

/** @param {any} found */
function show(found) {
  const fresh = !now || now.messages.length !== found.messages.length || now.state !== found.state;
  const changed = fresh || JSON.stringify(now.messages) !== JSON.stringify(found.messages);
  now = found;
  if (!changed) return;
  const own = role === "investigator" ? 0 : 1;
  fill(
    byId("messages", HTMLElement),
    ...found.messages.map((/** @type {any} */ message) => {
      const mine = message.position % 2 === own;
      const who = mine ? "You" : role === "investigator" ? "Correspondent" : "Investigator";
      return element("li", mine ? { class: "own" } : {}, element("span", { class: "who-said" }, who), message.text);
    }),
  );
  const asked = Math.ceil(found.messages.length / 2);
  const left = found.least_turns - Math.floor(found.messages.length / 2);
  const need = left > 0 ? `, at least ${left} more to go` : "";
  const turn = found.state !== "live" ? "The dialogue is finished." : found.your_turn ? "It is your turn." : "The other is writing.";
  fill(byId("standing", HTMLElement), `${turn} ${asked} ${asked === 1 ? "question" : "questions"} so far${need}.`);
  if (found.note) notice(`It was sent back: ${found.note}`);
  const live = found.state === "live";
  send.disabled = !live || !(found.your_turn || correcting !== null);
  text.disabled = !live;
  const last = found.messages.at(-1);
  correct.hidden = !live || !last || last.position % 2 !== own || correcting !== null;
  const finish = document.getElementById("finish");
  if (finish instanceof HTMLButtonElement) finish.disabled = !live || found.messages.length % 2 === 1 || left > 0;
  const activities = document.getElementById("activities");
  if (activities) fill(activities, ...found.activities.map((/** @type {string} */ one) => element("li", {}, one)));
  byId("messages", HTMLElement).lastElementChild?.scrollIntoView({ block: "nearest" });
}

/** @param {unknown} error */
function tell(error) {
  const refused = error instanceof RefusedError;
  byId("save-state", HTMLElement).textContent = refused ? "" : "Offline: what you type stays in this browser";
  if (refused) notice(error.message);
  return refused;
}

async function look() {
  try {
    show(await ask(path));
    byId("save-state", HTMLElement).textContent = "Connected";
  } catch (error) {
    tell(error);
  }
}

async function speak() {
  const said = text.value.trim();
  if (!said || !now || send.disabled) return;
  const position = correcting ?? now.messages.length;
  if (!pending || pending.position !== position || pending.text !== said) pending = { key: makeKey(), position, text: said };
  send.disabled = true;
  try {
    const found = await ask(`${path}/messages`, { method: "POST", body: { position, text: said }, key: pending.key });
    pending = null;
    correcting = null;
    text.value = "";
    localStorage.removeItem(store);
    notice("");
    show(found);
  } catch (error) {
    if (tell(error)) {
      correcting = null;
      await look();
    }
    send.disabled = false;
  }
  text.focus();
}

text.value = localStorage.getItem(store) ?? "";
text.addEventListener("input", () => localStorage.setItem(store, text.value));
byId("say", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void speak();
});
correct.addEventListener("click", () => {
  const last = now?.messages.at(-1);
  if (!last) return;
  correcting = last.position;
  text.value = last.text;
  correct.hidden = true;
  send.disabled = false;
  text.focus();
});
document.getElementById("finish")?.addEventListener("click", async () => {
  try {
    await ask(`${path}/finish`, { method: "POST" });
    location.assign("/pairs");
  } catch (error) {
    tell(error);
  }
});
await look();
const playback = role === "correspondent" ? openPlayback(now?.video ?? null) : null;
new Keys([
  { name: "speak", label: "Send", group: "Write", keys: ["Ctrl+Enter"], act: () => void speak() },
  { name: "write", label: "Write", group: "Write", keys: ["w"], act: () => text.focus() },
  { name: "leave", label: "Leave the field", group: "Write", keys: ["Escape"], act: () => text.blur() },
  ...(playback ? videoActions(playback) : []),
]);
setInterval(() => void (document.visibilityState === "visible" && look()), POLL_MS);
text.focus();
