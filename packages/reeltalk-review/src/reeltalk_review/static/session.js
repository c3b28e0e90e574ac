// @ts-check
/**
 * One person's work on a unit of any task: the value at each place, saved by the outbox, with undo, merging of two
 * windows, the lease, and submitting; and where the person was. It draws nothing; the editor does.
 */

import { messageOf } from "./elements.js";
import { Outbox } from "./outbox.js";
import { keep, recall } from "./stores.js";
import { isAlike } from "./values.js";
import { RefusedError, ask } from "./workapi.js";

/** @typedef {{place: string, time_s: number, field?: string}} Spot Where a person was; `field`: the id of the field in which they typed. */

const SPOT = "reeltalk.spot.";
const HANDED_IN = "reeltalk.handed-in";
/** How long the next page may say that a unit was submitted. */
const FRESH_MS = 10 * 60_000;
/** Interval at which the page renews the lease of the unit. */
const LEASE_EVERY_MS = 5 * 60_000;
/** Somebody who did nothing for this time is not counted as active, unless the video plays. */
const IDLE_MS = 30_000;
const STORAGES = /** @type {const} */ (["sessionStorage", "localStorage"]);
const OPEN_STATES = ["working", "returned", "lapsed"];

export class Session {
  /** @param {Reply} reply @param {Editor} editor */
  constructor(reply, editor) {
    this.reply = reply;
    this.id = reply.assignment.id;
    this.isOpen = OPEN_STATES.includes(reply.assignment.state);
    this._editor = editor;
    this._path = `/api/work/${encodeURIComponent(this.id)}`;
    /** @type {Map<string, any>} Values by place. A missing place has its draft. */
    this._values = new Map();
    /** @type {Set<string>} */
    this._stale = new Set();
    /** @type {Promise<unknown>} Undo steps run one after the other, however fast the key is pressed. */
    this._steps = Promise.resolve();
    this._active = new Activity(() => !editor.playback.player.paused);
    this.outbox = new Outbox(this.id, (place, save, key) => {
      const body = { ...save, active_s: this._active.take(place, key) };
      return ask(`${this._path}/entries/${encodeURIComponent(place)}`, { method: "PUT", body, key });
    });
    /** @type {Map<string, Finding[]>} What makes no sense in the server's values, by place. */
    this.findings = new Map(Object.entries(reply.findings ?? {}));
    this._take(reply.entries);
  }

  /** Starts saving, and takes over the text that an earlier page could not save. */
  async open() {
    this.outbox.addEventListener("state", (event) => this._editor.showSaveState(/** @type {CustomEvent} */ (event).detail));
    this.outbox.addEventListener("saved", (event) => this._saved(/** @type {CustomEvent} */ (event).detail));
    this.outbox.addEventListener("conflict", (event) => {
      const { place, current } = /** @type {CustomEvent} */ (event).detail;
      this._editor.draw();
      this._steps = this._steps.then(() => this._merge(place, current));
    });
    this.outbox.addEventListener("refused", (event) => this._editor.refused(/** @type {CustomEvent} */ (event).detail.place));
    window.setInterval(() => {
      this._active.tick(this._editor.place);
    }, 1000);
    window.setInterval(() => {
      if (this.isOpen && !document.hidden) ask(`${this._path}/lease`, { method: "POST" }).catch(() => undefined);
    }, LEASE_EVERY_MS);
    await this.outbox.open(Object.fromEntries(Object.entries(this.reply.entries).map(([place, { revision }]) => [place, revision])));
    this._putTyped();
  }

  /** The places that must be decided, and those that somebody made. */
  get places() {
    return [...new Set([...this.reply.places, ...this._values.keys()])];
  }

  /** The value at a place, or its draft. @param {string} place @returns {any} */
  value(place) {
    return this._values.get(place) ?? this._editor.view.draftOf(place);
  }

  /** True if a value was saved or typed there. @param {string} place */
  has(place) {
    return (this._values.get(place) ?? null) !== null;
  }

  /** @param {string} place */
  isStale(place) {
    return this._stale.has(place);
  }

  /** True if there is no decision, or one that was refused or must be checked again. @param {string} place */
  needs(place) {
    if (this.outbox.refusal(place)) return true;
    const { view } = this._editor;
    const value = this.value(place);
    return this._stale.has(place) || (view.isDecided ? !view.isDecided(place, value) : (value?.decision ?? null) === null);
  }

  /** The places that need a decision, in order. */
  get openPlaces() {
    return this._editor.places.filter((place) => this.needs(place));
  }

  /** @param {string} place @param {any} value @param {{now?: boolean}} [options] */
  put(place, value, options) {
    if (!this.isOpen) return;
    this._values.set(place, value);
    this._stale.delete(place);
    this.outbox.put(place, value, options);
  }

  /** Saves pending text now. */
  hurry() {
    void this.outbox.hurry();
  }

  /** Undoes or redoes a change, or accepts all drafts that no check flagged. @param {"undo" | "redo" | "bulk"} what */
  step(what) {
    this._steps = this._steps.then(() => this._step(what)).catch((error) => this._editor.refuse(messageOf(error)));
  }

  /** @param {"undo" | "redo" | "bulk"} what */
  async _step(what) {
    const editor = this._editor;
    if (!this.isOpen) return;
    if (!(await this.outbox.settle())) {
      editor.refuse(`Not all is saved yet: ${what === "bulk" ? "accepting" : what} works again when the server has everything.`);
      return;
    }
    const { place, entries, findings } = await ask(`${this._path}/${what}`, { method: "POST" });
    this.learn(entries);
    if (findings) this.findings = new Map(Object.entries(findings));
    if (what === "bulk") this.reply.in_bulk = [];
    editor.show(place ?? editor.nextOpen() ?? editor.place);
    const told = { undo: "taken back", redo: "done again", bulk: "" }[what];
    editor.say(told ? `${editor.view.nameOf(place)}: ${told}.` : "The drafts that no check flagged are accepted.");
  }

  /** Submits the unit, and opens the next. @returns {Promise<string[] | null>} The places that the server still needs. */
  async submit() {
    if (!(await this.outbox.settle())) throw new Error("Not all is saved yet. Submit again when the server has everything.");
    try {
      const { next } = await ask(`${this._path}/submit`, { method: "POST" });
      for (const where of STORAGES) keep(SPOT + this.id, null, where);
      // What was settled is shown after training, so that cannot be taken back.
      if (!next?.startsWith("/training/")) keep(HANDED_IN, { id: this.id, name: this.reply.unit.name, at: Date.now() }, "sessionStorage");
      location.assign(next ?? "/");
      return null;
    } catch (error) {
      const places = error instanceof RefusedError && error.code === "incomplete" ? error.body.places : null;
      if (Array.isArray(places)) return places;
      throw error;
    }
  }

  /** Where this person was, also before a reload. Each tab has its own spot; a new tab starts at the last one of any tab. @returns {Spot | null} */
  get spot() {
    return recall(SPOT + this.id, "sessionStorage") ?? recall(SPOT + this.id);
  }

  /** @param {Spot} spot */
  keepSpot(spot) {
    for (const where of STORAGES) keep(SPOT + this.id, spot, where);
  }

  /** @param {{place: string, reply: {value: any, stale: string[] | null, findings?: Finding[]}, newer: boolean}} saved */
  _saved({ place, reply, newer }) {
    if (reply.findings) this.findings.set(place, reply.findings);
    if (reply.stale) this._stale = new Set(reply.stale);
    // The server may change a decision: accepting with changes becomes an edit.
    const isOther = !newer && this.value(place)?.decision !== reply.value?.decision;
    if (isOther) this._values.set(place, reply.value);
    this._editor.saved(place);
  }

  /** @param {string} place @param {{value: any}} current */
  async _merge(place, current) {
    const { view } = this._editor;
    const theirs = current.value ?? view.draftOf(place);
    const mine = this.value(place);
    const isSame = isAlike(mine, theirs, this.reply.reasons) && mine?.decision === theirs?.decision;
    if (isSame || view.stands?.(theirs)) {
      this._values.set(place, theirs);
      this.outbox.resolve(place, undefined);
      this._editor.show(place);
      if (!isSame) this._editor.say(`${view.nameOf(place)} was saved in another window. That version stays.`);
      return;
    }
    const choice = await this._editor.askWhich(place, mine, theirs);
    const stands = choice === "theirs" ? theirs : choice === "edit" && "decision" in mine ? { ...mine, decision: null } : mine;
    this._values.set(place, stands);
    this.outbox.resolve(place, choice === "theirs" ? undefined : stands);
    this._editor.merged(place, choice, theirs);
  }

  /** Takes the server's values and keeps unsaved text. @param {Reply["entries"]} entries */
  learn(entries) {
    this.outbox.learn(entries);
    this._take(entries);
    this._putTyped();
  }

  _putTyped() {
    for (const place of this.outbox.places) {
      const typed = this.outbox.typed(place);
      if (typed !== undefined) this._values.set(place, typed);
    }
  }

  /** @param {Reply["entries"]} entries */
  _take(entries) {
    this._values = new Map(Object.entries(entries).map(([place, { value }]) => [place, value]));
    this._stale = new Set(Object.keys(entries).filter((place) => entries[place].stale));
  }
}

/** The unit that was submitted on the page before, once; or null. @returns {{id: string, name: string} | null} */
export function takeHandedIn() {
  const found = recall(HANDED_IN, "sessionStorage");
  keep(HANDED_IN, null, "sessionStorage");
  return found && Date.now() - found.at < FRESH_MS ? found : null;
}

/** Takes a submitted unit back, and opens it. @param {string} id */
export async function takeBack(id) {
  await ask(`/api/work/${encodeURIComponent(id)}/reopen`, { method: "POST" });
  if (location.pathname.endsWith(`/${id}`)) location.reload();
  else location.assign(`/work/${encodeURIComponent(id)}`);
}

/** Counts the seconds in which somebody is active, by place. */
class Activity {
  /** @param {() => boolean} isPlaying */
  constructor(isPlaying) {
    this._isPlaying = isPlaying;
    this._last_ms = performance.now();
    /** @type {Map<string, number>} */
    this._seconds = new Map();
    /** @type {Map<string, number>} Of saves that are on their way: a retry must say the same. */
    this._sent = new Map();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"]) {
      window.addEventListener(name, () => (this._last_ms = performance.now()), { capture: true, passive: true });
    }
  }

  /** A second has passed. @param {string} place */
  tick(place) {
    if (document.hidden || (performance.now() - this._last_ms > IDLE_MS && !this._isPlaying())) return;
    this._seconds.set(place, (this._seconds.get(place) ?? 0) + 1);
  }

  /** The seconds at a place since its last save. @param {string} place @param {string} key The save's. */
  take(place, key) {
    const before = this._sent.get(key);
    if (before !== undefined) return before;
    const seconds = Math.min(this._seconds.get(place) ?? 0, 3600);
    this._seconds.delete(place);
    this._sent.set(key, seconds);
    return seconds;
  }
}
