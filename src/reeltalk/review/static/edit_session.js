// @ts-check
/**
 * One person's work on a unit of any task: the value at each place, saved by the outbox, with undo, merging of two
 * windows, the lease, and submitting.
 *
 *     const work = new EditSession(reply, {what: "link", draftOf, linesOf, nameOf, spot: () => ({place, time_s})});
 *     work.addEventListener("changed", ({detail}) => draw(detail.place));   // null: all of it
 *     await work.open();
 *     work.put("2-0", value);                  // saved after a second without another put
 *     work.put("2-0", value, {now: true});
 *
 * The page has the places `said`, `notices`, `save-state`, `merge` and `confirm-submit`.
 */

import { button, byId, element, fill, messageOf, sentence } from "./elements.js";
import { askWhich } from "./merging.js";
import { notify, say, showStatus } from "./notices.js";
import { Outbox } from "./outbox.js";
import { SpotKeeper, forgetSpot, lastSpot, putCaret } from "./resuming.js";
import { RefusedError, ask } from "./workapi.js";

/** @typedef {import("./merging.js").Lines} Lines */
/**
 * @typedef {object} TaskView How a task describes its values.
 * @property {string} what A place, as `link`.
 * @property {(place: string) => any} draftOf The value that people start from.
 * @property {(place: string, value: any) => Lines} linesOf
 * @property {(place: string) => string} nameOf As `Turn 2`.
 * @property {(theirs: any) => void} [editOn] Shows the other version when a person chooses to edit their own.
 * @property {(value: any) => boolean} [stands] True if the version of the other window stays, without a question.
 * @property {string} [home] The page after the last unit; the home page by default.
 * @property {() => {place: string, time_s: number | null}} spot Where this person is, also before the page has moved there.
 */
/**
 * @typedef {object} Reply The server's answer about the work.
 * @property {import("./workapi.js").Work["assignment"]} assignment
 * @property {{id: string, title: string, content: any, video: any}} unit
 * @property {string[]} places Those that must be decided.
 * @property {Record<string, {revision: number, value: any, stale: boolean}>} entries
 */

/** Interval at which the page renews the lease of the unit. */
const LEASE_EVERY_MS = 5 * 60_000;
const OPEN_STATES = ["working", "returned", "lapsed"];

export class EditSession extends EventTarget {
  /** @param {Reply} reply @param {TaskView} task */
  constructor(reply, task) {
    super();
    this.reply = reply;
    this.id = reply.assignment.id;
    this.isOpen = OPEN_STATES.includes(reply.assignment.state);
    this._task = task;
    this._path = `/api/work/${encodeURIComponent(this.id)}`;
    /** @type {Map<string, any>} Values by place. A missing place has its draft. */
    this._values = new Map();
    /** @type {Set<string>} */
    this._stale = new Set();
    /** @type {Promise<unknown>} Undo steps run one after the other, however fast the key is pressed. */
    this._steps = Promise.resolve();
    this._saveState = new SaveState(say, task.what);
    this._spots = new SpotKeeper(this.id, byId("work", HTMLElement), task.spot);
    this.outbox = new Outbox(this.id, (place, save, key) =>
      ask(`${this._path}/entries/${encodeURIComponent(place)}`, { method: "PUT", body: save, key }),
    );
    this._take(reply.entries);
  }

  /** Starts saving. @returns {Promise<import("./resuming.js").Spot | null>} Where this person was. */
  async open() {
    const spot = lastSpot(this.id);
    this._listen();
    const { entries } = this.reply;
    await this.outbox.open(Object.fromEntries(Object.entries(entries).map(([place, { revision }]) => [place, revision])));
    this._putTyped();
    showStatus(this.reply.assignment, this.isOpen, () => void this._reopen());
    return spot;
  }

  /** The page is ready, at its earlier position. @param {import("./resuming.js").Spot | null} spot */
  resume(spot) {
    if (spot) putCaret(spot);
    document.documentElement.dataset.ready = "true";
  }

  /** The places that must be decided, and those that somebody made. */
  get places() {
    return [...new Set([...this.reply.places, ...this._values.keys()])];
  }

  /** The value at a place, or its draft. @param {string} place @returns {any} */
  value(place) {
    return this._values.get(place) ?? this._task.draftOf(place);
  }

  /** Address of all versions of a place. @param {string} place */
  historyPath(place) {
    return `${this._path}/history/${encodeURIComponent(place)}`;
  }

  /** True if a value was saved there. @param {string} place */
  has(place) {
    return (this._values.get(place) ?? null) !== null;
  }

  /** @param {string} place */
  isStale(place) {
    return this._stale.has(place);
  }

  /** True if there is no decision, or one that must be checked again. @param {string} place */
  needs(place) {
    return this.value(place).decision === null || this._stale.has(place);
  }

  /** @param {string} place @param {any} value @param {{now?: boolean}} [options] */
  put(place, value, options) {
    if (!this.isOpen) return;
    notify("");
    this._values.set(place, value);
    this._stale.delete(place);
    this.outbox.put(place, value, options);
    this._spots.soon();
  }

  /** Saves pending text now. */
  hurry() {
    void this.outbox.hurry();
  }

  /** @param {"undo" | "redo"} what */
  step(what) {
    this._steps = this._steps.then(() => this._step(what)).catch((error) => say(messageOf(error)));
  }

  /** @param {"undo" | "redo"} what */
  async _step(what) {
    if (!this.isOpen) return;
    if (!(await this.outbox.settle())) {
      say("Not all is saved yet; undo works again when the server has everything.");
      return;
    }
    const { place, entries } = await ask(`${this._path}/${what}`, { method: "POST" });
    this.outbox.learn(entries);
    this._take(entries);
    this._tell(place);
    say(`${this._task.nameOf(place)}: ${what === "undo" ? "taken back" : "done again"}.`);
  }

  /**
   * Submits the unit, after a confirmation if there is a question.
   * @param {{question?: string, summary?: string, places: string[], last?: () => void}} asked `places`: those that still
   *   need a decision; `last` saves the last value before the unit is submitted.
   */
  async submit({ question = "", summary = "", places, last }) {
    if (!this.isOpen) return;
    this.hurry();
    if (places.length) {
      this._sayLacking(places);
      return;
    }
    if (!(await this.outbox.settle())) {
      notify("Not all is saved yet. Submit again when the server has everything.");
      return;
    }
    if (question && !(await confirmSubmit(question, summary))) return;
    last?.();
    await this._submit();
  }

  async _submit() {
    try {
      if (!(await this.outbox.settle())) throw new Error("Not all is saved yet. Submit again when the server has everything.");
      const { next } = await ask(`${this._path}/submit`, { method: "POST" });
      forgetSpot(this.id);
      location.assign(next ?? this._task.home ?? "/");
    } catch (error) {
      const places = error instanceof RefusedError && error.code === "incomplete" ? error.body.places : null;
      if (Array.isArray(places)) this._sayLacking(places);
      else notify(messageOf(error));
    }
  }

  /** @param {string[]} places */
  _sayLacking(places) {
    this._tell(places[0]);
    const names = places.map((place) => this._task.nameOf(place));
    notify(`Still to be decided: ${names.join(", ")}.`);
  }

  async _reopen() {
    try {
      await ask(`${this._path}/reopen`, { method: "POST" });
      location.reload();
    } catch (error) {
      notify(messageOf(error));
    }
  }

  /** @param {string | null} place */
  _tell(place) {
    this.dispatchEvent(new CustomEvent("changed", { detail: { place } }));
  }

  // ---- listening ---------------------------------------------------------------------------------------------------

  _listen() {
    this.outbox.addEventListener("state", (event) => {
      this._saveState.show({ .../** @type {CustomEvent} */ (event).detail, kept: this.outbox.kept });
    });
    this.outbox.addEventListener("saved", (event) => this._saved(/** @type {CustomEvent} */ (event).detail));
    this.outbox.addEventListener("conflict", (event) => {
      const { place, current } = /** @type {CustomEvent} */ (event).detail;
      this._steps = this._steps.then(() => this._merge(place, current));
    });
    window.setInterval(() => {
      if (this.isOpen && !document.hidden) ask(`${this._path}/lease`, { method: "POST" }).catch(() => undefined);
    }, LEASE_EVERY_MS);
  }

  /** @param {{place: string, reply: {value: any, stale: string[] | null}, newer: boolean}} saved */
  _saved({ place, reply, newer }) {
    if (reply.stale) this._stale = new Set(reply.stale);
    // The server may change a decision: accepting with changes becomes an edit.
    const isOther = !newer && this.value(place)?.decision !== reply.value?.decision;
    if (isOther) this._values.set(place, reply.value);
    this.dispatchEvent(new CustomEvent("saved", { detail: { place } }));
  }

  /** @param {string} place @param {{value: any}} current */
  async _merge(place, current) {
    const { draftOf, linesOf, nameOf } = this._task;
    const theirs = current.value ?? draftOf(place);
    const mine = this.value(place);
    const isSame = JSON.stringify(linesOf(place, mine)) === JSON.stringify(linesOf(place, theirs)) && mine.decision === theirs.decision;
    if (isSame || this._task.stands?.(theirs)) {
      this._values.set(place, theirs);
      this.outbox.resolve(place, undefined);
      this._tell(place);
      if (!isSame) notify(`${nameOf(place)} was saved in another window. That version stays.`);
      return;
    }
    const dialog = byId("merge", HTMLDialogElement);
    const choice = await askWhich(dialog, {
      name: nameOf(place),
      draft: linesOf(place, draftOf(place)),
      mine: linesOf(place, mine),
      theirs: linesOf(place, theirs),
    });
    const edit = "decision" in mine ? { ...mine, decision: null } : mine;
    const stands = { mine, theirs, edit }[choice];
    this._values.set(place, stands);
    this.outbox.resolve(place, choice === "theirs" ? undefined : stands);
    this._tell(place);
    const { editOn } = this._task;
    if (choice === "edit") editOn?.(theirs);
    const hint = editOn ? "Edit your version. Its changes from the other version are shown." : "Edit your version.";
    say({ mine: "Your version is kept.", theirs: "The other version is kept.", edit: hint }[choice]);
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

  /** The position on the page has changed. */
  moved() {
    this._spots.soon();
  }

  /** @param {Reply["entries"]} entries */
  _take(entries) {
    this._values = new Map(Object.entries(entries).map(([place, { value }]) => [place, value]));
    this._stale = new Set(Object.keys(entries).filter((place) => entries[place].stale));
  }
}

/** @param {number} n @param {string} what As `turn`. */
function count(n, what) {
  return n === 1 ? `1 ${what} waits` : `${n} ${what}s wait`;
}

/** Shows if the typed text is saved, is being saved, or waits in this browser, and why. */
class SaveState {
  /** @param {(text: string) => void} say Speaks to screen readers. @param {string} [what] A place of the unit. */
  constructor(say, what = "turn") {
    this._what = what;
    this._place = byId("save-state", HTMLElement);
    this._say = say;
    /** @type {import("./outbox.js").State} */
    this._last = "saved";
    this._shown = "";
  }

  /** @param {{state: import("./outbox.js").State, waiting: number, message: string, kept: boolean}} now */
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

/**
 * Opens the work that the page is about.
 * @param {(reply: any) => Promise<void>} show Gets a `Reply`, with more fields on some pages.
 * @param {string} [path]
 */
export function openWork(show, path = "/api/work/") {
  const root = byId("work", HTMLElement);
  ask(path + encodeURIComponent(root.dataset.assignment ?? ""))
    .then(show)
    .catch((error) => {
      byId("save-state", HTMLElement).textContent = "";
      const said = `This work cannot be opened. ${sentence(error.message)} Reload the page to try again.`;
      fill(byId("notices", HTMLElement), element("p", { class: "note" }, said));
      console.error(error);
    });
}

/**
 * @param {string} question
 * @param {string} summary What was decided.
 * @returns {Promise<boolean>} True to submit.
 */
function confirmSubmit(question, summary) {
  const dialog = byId("confirm-submit", HTMLDialogElement);
  return new Promise((resolve) => {
    let agreed = false;
    const agree = button("Submit", () => {
      agreed = true;
      dialog.close();
    });
    fill(
      dialog,
      element("h2", { id: "submit-title" }, question),
      element("p", {}, summary),
      element("p", { class: "actions" }, agree, button("Not yet", () => dialog.close(), { class: "second" })),
    );
    dialog.addEventListener("close", () => resolve(agreed), { once: true });
    dialog.showModal();
    agree.focus();
  });
}
