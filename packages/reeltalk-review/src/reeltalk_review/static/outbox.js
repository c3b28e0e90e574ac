// @ts-check
/**
 * Stores typed text in the browser until the server has it: through reloads, lost connections and ended sessions.
 *
 *     const outbox = new Outbox(assignment, (place, save, key) => ask(…));
 *     await outbox.open({"0": 3});             // the server's revisions; sends what an earlier page could not save
 *     outbox.put("0", value);                  // saved after a second without another put
 *     outbox.put("0", value, {now: true});     // saved as soon as possible
 *     await outbox.settle();                   // true once everything is saved
 *
 * Events (CustomEvent): `state` {state, waiting, message}; `saved` {place, reply, newer}; `conflict` {place, mine, current};
 * `refused` {place}.
 *
 * One save runs at a time, and the saves of one place are in order. A save has the same key in every retry, so the server
 * makes the change once. Each tab has its own store. The next tab that opens the same work takes over the store of a
 * closed tab.
 */

import { keep, recall } from "./stores.js";
import { RefusedError, SignedOutError, UnreachedError, makeKey } from "./workapi.js";

/** @typedef {(place: string, save: {revision: number, value: any}, key: string) => Promise<any>} Send */

const IDLE_MS = 1000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 20_000;
/** Longest wait for an answer before somebody can go on to the next place. */
const LONGEST_WAIT_MS = 2000;
/** Time for other tabs to answer that they are open. */
const ROLL_CALL_MS = 150;
const PREFIX = "reeltalk.outbox.";

export class Outbox extends EventTarget {
  /** @param {string} assignment @param {Send} send */
  constructor(assignment, send) {
    super();
    this._prefix = `${PREFIX}${assignment}.`;
    this._send = send;
    /** What is typed before the identity of the tab is found is stored under this one. */
    this._tab = makeKey();
    this._named = false;
    /** @type {Map<string, Slot>} In the order of sending. */
    this._slots = new Map();
    /** @type {Map<string, number>} The server's revision of each place. */
    this._known = new Map();
    this._busy = false;
    this._opened = false;
    /** @type {Promise<void>} */
    this._opening = new Promise((resolve) => (this._welcome = resolve));
    /** False if the browser stores nothing, as in some private windows. */
    this.kept = true;
    this._tries = 0;
    /** @type {{state: SaveState, message: string}} */
    this._trouble = { state: "saved", message: "" };
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._timer = undefined;
    /** @type {Set<string>} Places whose text waits for more typing. */
    this._idle = new Set();
    /** True if a closed tab left text for a place that has unsaved text here too. */
    this._passedOver = false;
    this._channel = new BroadcastChannel(this._prefix);
    this._channel.onmessage = ({ data }) => {
      if (data.ask) this._channel.postMessage({ here: this._tab });
    };
  }

  /** Starts saving, first the text that earlier pages could not save. @param {Record<string, number>} revisions The server's revisions by place. */
  async open(revisions) {
    for (const [place, revision] of Object.entries(revisions)) this._known.set(place, revision);
    await this._takeOver();
    this._opened = true;
    this._welcome?.();
    const again = () => this._drain();
    window.addEventListener("online", again);
    window.addEventListener("focus", again);
    document.addEventListener("visibilitychange", () => {
      this.hurry();
    });
    window.addEventListener("pagehide", () => this.hurry());
    void this._drain();
  }

  /** The unsaved value of a place, or undefined. @param {string} place @returns {any} */
  typed(place) {
    const slot = this._slots.get(place);
    return slot?.next ? slot.next.value : slot?.sent?.value;
  }

  /** The server's version in a conflict at a place, or null. @param {string} place */
  conflict(place) {
    return this._slots.get(place)?.conflict ?? null;
  }

  /** Why the server refused what was entered at a place, or null. @param {string} place */
  refusal(place) {
    return this._slots.get(place)?.refused ?? null;
  }

  /** Whether the server has what was entered at a place. @param {string} place @returns {SaveState} */
  stateOf(place) {
    const slot = this._slots.get(place);
    if (!slot) return "saved";
    if (slot.conflict) return "conflict";
    if (slot.refused) return this._trouble.state === "closed" ? "closed" : "refused";
    return this._tries ? this._trouble.state : "saving";
  }

  /** Waits until the server has answered about a place, is not reached, or needs too long. @param {string} place @returns {Promise<SaveState>} */
  async answered(place) {
    const latest_ms = performance.now() + LONGEST_WAIT_MS;
    while (this.stateOf(place) === "saving" && performance.now() < latest_ms) {
      await new Promise((resolve) => {
        this.addEventListener("state", resolve, { once: true });
        setTimeout(resolve, LONGEST_WAIT_MS);
      });
    }
    return this.stateOf(place);
  }

  /** The places with unsaved text. */
  get places() {
    return [...this._slots.keys()];
  }

  /** Number of places with unsaved text. */
  get waiting() {
    return this._slots.size;
  }

  /** Stores a value, and saves it. @param {string} place @param {any} value JSON. @param {{now?: boolean}} [options] `now`: without waiting for more typing. */
  put(place, value, { now = false } = {}) {
    const slot = this._slots.get(place) ?? {
      revision: this._known.get(place) ?? 0,
      sent: null,
      next: null,
      conflict: null,
      refused: null,
    };
    slot.next = { value };
    slot.refused = null;
    this._slots.set(place, slot);
    this._store();
    if (now) this._idle.delete(place);
    else this._idle.add(place);
    this._tell();
    // After a failure the next retry keeps its time, however much is typed meanwhile.
    if (this._tries) return;
    clearTimeout(this._timer);
    if (now) void this._drain();
    else this._timer = setTimeout(() => this.hurry(), IDLE_MS);
  }

  /** Sends now, without waiting for more typing. */
  hurry() {
    this._idle.clear();
    return this._drain();
  }

  /** Ends a conflict. @param {string} place @param {any} value The value to save; undefined keeps the server's version. */
  resolve(place, value) {
    const slot = this._slots.get(place);
    if (!slot?.conflict) return;
    this._known.set(place, slot.conflict.revision);
    this._slots.delete(place);
    this._store();
    if (value === undefined) this._tell();
    else this.put(place, value, { now: true });
    void this._drain();
  }

  /** Takes new revisions of the server, as after an undo. @param {Record<string, {revision: number}>} entries */
  learn(entries) {
    for (const [place, { revision }] of Object.entries(entries)) this._known.set(place, revision);
  }

  /** Saves everything, once this is open; returns true if all is saved, false if that is not possible now. */
  async settle() {
    // Keys can be faster than the identity of the tab is found.
    await this._opening;
    do {
      await this.hurry();
      while (this._busy) await new Promise((resolve) => this.addEventListener("state", resolve, { once: true }));
    } while (this._idle.size);
    return this._slots.size === 0;
  }

  // ---- sending -----------------------------------------------------------------------------------------------------

  async _drain() {
    if (this._busy || !this._opened) return;
    clearTimeout(this._timer);
    this._busy = true;
    try {
      for (let place = this._due(); place !== undefined; place = this._due()) {
        this._tell();
        if (!(await this._save(place))) break;
      }
    } finally {
      this._busy = false;
    }
    this._tell();
    if (this._idle.size && !this._tries) {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => this.hurry(), IDLE_MS);
    }
    if (!this._slots.size && this._passedOver) void this._takeOver().then(() => this._drain());
  }

  _due() {
    for (const [place, slot] of this._slots) {
      if (!slot.conflict && !slot.refused && (slot.sent || !this._idle.has(place))) return place;
    }
    return undefined;
  }

  /** @param {string} place @returns {Promise<boolean>} True if the next place can be sent. */
  async _save(place) {
    const slot = /** @type {Slot} */ (this._slots.get(place));
    slot.sent ??= { key: makeKey(), revision: slot.revision, value: slot.next?.value };
    if (slot.next && slot.next.value === slot.sent.value) slot.next = null;
    this._store();
    const { key, revision, value } = slot.sent;
    try {
      const reply = await this._send(place, { revision, value }, key);
      this._tries = 0;
      this._trouble = { state: "saved", message: "" };
      slot.sent = null;
      slot.revision = reply.revision;
      this._known.set(place, reply.revision);
      // The place moves to the end of the queue, since other places wait too.
      this._slots.delete(place);
      if (slot.next) this._slots.set(place, slot);
      this._store();
      this._emit("saved", { place, reply, newer: slot.next !== null });
      return true;
    } catch (error) {
      return this._failed(place, slot, error);
    }
  }

  /** @param {string} place @param {Slot} slot @param {unknown} error */
  _failed(place, slot, error) {
    if (error instanceof SignedOutError || error instanceof UnreachedError) {
      this._trouble = { state: error instanceof UnreachedError ? "offline" : "signed-out", message: error.message };
      this._timer = setTimeout(() => this.hurry(), this._pause());
      this._tries++;
      return false;
    }
    if (!(error instanceof RefusedError)) throw error;
    this._tries = 0;
    const mine = slot.next ? slot.next.value : slot.sent?.value;
    slot.next = { value: mine };
    slot.sent = null;
    if (error.code === "stale_save" && error.body?.current) {
      const { current } = error.body;
      if (JSON.stringify(current.value) === JSON.stringify(mine)) {
        // An equal value is no conflict.
        slot.conflict = current;
        this.resolve(place, undefined);
        this._emit("saved", { place, reply: { ...current, stale: null }, newer: false });
        return true;
      }
      slot.conflict = current;
      this._store();
      this._emit("conflict", { place, mine, current });
      return true;
    }
    slot.refused = { message: error.message, field: error.field, findings: error.body?.findings ?? [] };
    this._store();
    this._trouble = { state: error.status === 422 || error.status === 400 ? "refused" : "closed", message: error.message };
    this._emit("refused", { place });
    return true;
  }

  _pause() {
    return Math.min(FIRST_RETRY_MS * 2 ** Math.max(0, this._tries - 1), LONGEST_RETRY_MS);
  }

  _tell() {
    const slots = [...this._slots.values()];
    /** @type {SaveState} */
    let state = "saved";
    if (slots.some((slot) => slot.conflict)) state = "conflict";
    else if (slots.some((slot) => slot.refused)) state = this._trouble.state === "closed" ? "closed" : "refused";
    else if (slots.length) state = this._tries ? this._trouble.state : "saving";
    this._emit("state", { state, waiting: slots.length, message: state === "saved" ? "" : this._trouble.message });
  }

  /** @param {string} name @param {object} detail */
  _emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // ---- storage -----------------------------------------------------------------------------------------------------

  _store() {
    this.kept = keep(this._prefix + this._tab, this._slots.size ? [...this._slots] : null);
  }

  /** Finds the identity of this tab, and takes over the text of closed tabs. */
  async _takeOver() {
    const present = await this._callRoll();
    if (!this._named) {
      this._named = true;
      const before = recall(PREFIX, "sessionStorage");
      // A duplicated tab has a copy of the session storage.
      if (before && !present.has(before)) this._rename(before);
      if (!keep(PREFIX, this._tab, "sessionStorage")) this.kept = false;
    }
    this._passedOver = false;
    for (const name of [this._prefix + this._tab, ...this._leftByOthers()]) {
      if (present.has(name.slice(this._prefix.length))) continue;
      const left = slotsIn(name);
      if (left.some(([place]) => this._slots.has(place))) {
        if (name !== this._prefix + this._tab) this._passedOver = true;
        continue;
      }
      for (const [place, slot] of left) this._slots.set(place, { ...slot, conflict: null, refused: null });
      if (name !== this._prefix + this._tab) keep(name, null);
    }
    this._store();
  }

  /** @returns {Promise<Set<string>>} The other tabs with this work open. */
  async _callRoll() {
    /** @type {Set<string>} */
    const present = new Set();
    const roll = new BroadcastChannel(this._prefix);
    roll.onmessage = ({ data }) => {
      if (data.here) present.add(data.here);
    };
    roll.postMessage({ ask: true });
    await new Promise((resolve) => setTimeout(resolve, ROLL_CALL_MS));
    roll.close();
    present.delete(this._tab);
    return present;
  }

  /** Stores unsaved text under another identity, and takes over what an earlier page left there. Text of this page wins. @param {string} tab */
  _rename(tab) {
    const left = slotsIn(this._prefix + tab);
    for (const [place, slot] of left) {
      if (!this._slots.has(place)) this._slots.set(place, { ...slot, conflict: null, refused: null });
    }
    keep(this._prefix + this._tab, null);
    this._tab = tab;
    this._store();
  }

  _leftByOthers() {
    try {
      return Object.keys(localStorage).filter(
        (name) => name.startsWith(this._prefix) && name !== this._prefix + this._tab,
      );
    } catch {
      return [];
    }
  }
}

/** The unsaved text that is kept under a name. @param {string} name @returns {[string, Slot][]} */
function slotsIn(name) {
  const found = recall(name);
  return Array.isArray(found) ? found.filter(([place, slot]) => typeof place === "string" && (slot.sent || slot.next)) : [];
}
