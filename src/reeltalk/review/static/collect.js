// @ts-check
/** A live dialogue: one person asks without the video, the other answers with it. Unsent text is kept in this browser. */

import { byId, element, fill, sentence } from "./elements.js";
import { Keys } from "./keys.js";
import { notify } from "./notices.js";
import { videoActions } from "./videokeys.js";
import { bindButtons, watch } from "./watching.js";
import { RefusedError, SignedOutError, ask, makeKey } from "./workapi.js";

const POLL_MS = 1500;
/** Pause between retries after the session has ended. The person must sign in again. */
const SIGNED_OUT_MS = 15_000;
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
/**
 * A message keeps its key in every retry, also after a reload.
 * @type {{key: string, position: number, text: string} | null}
 */
let pending = null;
let isSending = false;
let isLooking = false;
let waitUntil_ms = 0;

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
  const turn = found.state !== "live" ? "The dialogue is finished." : found.your_turn ? "It is your turn." : "The other person is writing.";
  fill(byId("progress", HTMLElement), `${turn} ${asked} ${asked === 1 ? "question" : "questions"} so far${need}.`);
  if (found.note) notify(`It was sent back: ${found.note}`);
  const live = found.state === "live";
  draw();
  text.disabled = !live;
  const last = found.messages.at(-1);
  correct.hidden = !live || !last || last.position % 2 !== own;
  correct.textContent = correcting === null ? "Correct my last message" : "Cancel the correction";
  const finish = document.getElementById("finish");
  if (finish instanceof HTMLButtonElement) finish.disabled = !live || found.messages.length % 2 === 1 || left > 0;
  const activities = document.getElementById("activities");
  if (activities) fill(activities, ...found.activities.map((/** @type {string} */ one) => element("li", {}, one)));
  byId("messages", HTMLElement).lastElementChild?.scrollIntoView({ block: "nearest" });
}

function draw() {
  const live = now?.state === "live";
  send.disabled = isSending || !live || !(now.your_turn || correcting !== null);
}

/** @param {string} state @param {string} message @param {...Element} more */
function tellState(state, message, ...more) {
  const place = byId("save-state", HTMLElement);
  // A link that is replaced at every retry cannot be clicked.
  if (place.dataset.told === message) return;
  place.dataset.told = message;
  place.className = `save-state ${state}`;
  fill(place, element("span", { class: "state-dot", "aria-hidden": "true" }), message, " ", ...more);
}

/** @param {unknown} error @returns {boolean} True if a retry cannot help. */
function tell(error) {
  if (error instanceof SignedOutError) {
    waitUntil_ms = Date.now() + SIGNED_OUT_MS;
    const signIn = element("a", { href: "/sign-in", target: "_blank", rel: "opener" }, "Sign in in a new tab");
    tellState("signed-out", "Signed out: what you type stays in this browser.", signIn);
    return false;
  }
  if (error instanceof RefusedError) {
    notify(sentence(error.message));
    return true;
  }
  tellState("offline", `Offline: what you type stays in this browser${pending ? " and is sent as soon as the server is reached" : ""}`);
  return false;
}

/** Keeps the typed text and the unsent message for the page after a reload. */
function keep() {
  try {
    if (text.value || pending) localStorage.setItem(store, JSON.stringify({ text: text.value, pending }));
    else localStorage.removeItem(store);
  } catch {
    // The browser stores nothing; the text is still on the page.
  }
}

function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(store) ?? "{}");
    text.value = typeof kept.text === "string" ? kept.text : "";
    pending = kept.pending ?? null;
  } catch {
    text.value = "";
  }
}

/** The server has the message. */
function landed() {
  if (text.value.trim() === pending?.text) text.value = "";
  pending = null;
  correcting = null;
  keep();
  notify("");
}

async function look() {
  if (isLooking || isSending) return;
  isLooking = true;
  try {
    const found = await ask(path);
    waitUntil_ms = 0;
    // Only the server's answer was lost: it has the message.
    if (pending && found.messages[pending.position]?.text === pending.text) landed();
    show(found);
    tellState("saved", "Connected");
  } catch (error) {
    tell(error);
  } finally {
    isLooking = false;
  }
  if (pending && !waitUntil_ms && byId("save-state", HTMLElement).className.endsWith("saved")) await post();
}

async function speak() {
  const said = text.value.trim();
  if (!said || !now || send.disabled) return;
  const position = correcting ?? now.messages.length;
  if (!pending || pending.position !== position || pending.text !== said) pending = { key: makeKey(), position, text: said };
  await post();
  text.focus();
}

async function post() {
  if (!pending || isSending) return;
  isSending = true;
  draw();
  keep();
  const { key, position, text: said } = pending;
  let isRefused = false;
  try {
    const found = await ask(`${path}/messages`, { method: "POST", body: { position, text: said }, key });
    landed();
    show(found);
  } catch (error) {
    isRefused = tell(error);
    if (isRefused) {
      pending = null;
      correcting = null;
      keep();
    }
  } finally {
    isSending = false;
    draw();
  }
  if (isRefused) await look();
}

// On a small screen the dialogue comes first, and the examples are folded.
if (matchMedia("(max-width: 60rem)").matches) byId("kinds-fold", HTMLDetailsElement).open = false;
recall();
text.addEventListener("input", keep);
byId("say", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void speak();
});
correct.addEventListener("click", () => {
  const last = now?.messages.at(-1);
  if (!last) return;
  const isOn = correcting === null;
  correcting = isOn ? last.position : null;
  text.value = isOn ? last.text : "";
  correct.textContent = isOn ? "Cancel the correction" : "Correct my last message";
  keep();
  draw();
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

function poll() {
  if (!document.hidden && Date.now() >= waitUntil_ms) void look();
}

/** Runs now, without waiting for the timer. */
function hurry() {
  waitUntil_ms = 0;
  poll();
}

void (async () => {
  await look();
  setInterval(poll, POLL_MS);
  window.addEventListener("online", hurry);
  window.addEventListener("focus", hurry);
  document.addEventListener("visibilitychange", hurry);
  // A page that was opened offline loads its video as soon as it knows which one.
  while (!now) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const playback = role === "correspondent" ? watch(now.video ?? null).playback : null;
  const keys = new Keys([
    { name: "speak", label: "Send", group: "Write", keys: ["Ctrl+Enter"], act: () => void speak() },
    { name: "write", label: "Write", group: "Write", keys: ["w"], act: () => text.focus() },
    { name: "leave", label: "Leave the field", group: "Write", keys: ["Escape"], act: () => text.blur() },
    ...(playback ? videoActions(playback) : []),
    { name: "keys", label: "Show the keys", group: playback ? "Video" : "Write", keys: ["?"], act: () => keys.open() },
  ]);
  bindButtons(keys);
  document.documentElement.dataset.ready = "true";
  text.focus();
})();
