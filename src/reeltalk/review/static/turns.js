// @ts-check
/** The screen on which a person reviews the turns of a chain or a dialogue: it holds the state, its parts show it. */

import { drawAbout, isFlagged } from "./checks.js";
import { drawDialogue, drawStrip } from "./dialogue.js";
import { byId, element, fill, messageOf } from "./elements.js";
import { Comparison } from "./comparing.js";
import { Keys } from "./keys.js";
import { askWhich } from "./merging.js";
import { notify, say, tellStanding } from "./notices.js";
import { Outbox } from "./outbox.js";
import { Playback } from "./playback.js";
import { RejectPanel } from "./rejecting.js";
import { SpotKeeper, forgetSpot, lastSpot, putCaret } from "./resuming.js";
import { SaveState } from "./savestate.js";
import { confirmSubmit, countDecided } from "./submitting.js";
import { knownLabels } from "./labelfields.js";
import { TurnForm } from "./turnform.js";
import { DECIDING, REJECTING, turnActions } from "./turnkeys.js";
import { DECIDED, kindOf, linesOf, startOf } from "./turnvalue.js";
import { RefusedError, ask } from "./workapi.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./workapi.js").Work} Work */

/** A unit is held for its annotator as long as they look at it. */
const LEASE_EVERY_MS = 5 * 60_000;
const OPEN_STATES = ["working", "returned", "lapsed"];

export class Screen {
  /** @param {Work} work */
  constructor(work) {
    const { assignment, unit, places, entries } = work;
    this.work = work;
    this.id = assignment.id;
    this._path = `/api/work/${encodeURIComponent(this.id)}`;
    this.places = places;
    this.drafts = places.map((_, n) => startOf(unit.content.turns[n] ?? {}));
    this.values = places.map((place, n) => entries[place]?.value ?? this.drafts[n]);
    this.stale = new Set(places.filter((place) => entries[place]?.stale));
    this.current = 0;
    this.isOpen = OPEN_STATES.includes(assignment.state);
    /** @type {Promise<unknown>} One undo after the other, however fast the key is pressed. */
    this._steps = Promise.resolve();
    /** True until the video was moved to where it was. */
    this._opening = true;
    this.outbox = new Outbox(this.id, (place, save, key) =>
      ask(`${this._path}/entries/${encodeURIComponent(place)}`, { method: "PUT", body: save, key }),
    );
    this.playback = new Playback(work, this.values);
    this.panel = new RejectPanel();
    this.form = new TurnForm(byId("form", HTMLElement), {
      known: knownLabels(unit.content),
      seek: (time_s) => void this.playback.seek(time_s),
    });
    this.saveState = new SaveState(say);
    this.spots = new SpotKeeper(this.id, byId("work", HTMLElement), () => ({
      place: this.places[this.current],
      time_s: this._opening ? (lastSpot(this.id)?.time_s ?? null) : this.playback.time_s,
    }));
    this.comparison = new Comparison(this.form);
    this.keys = new Keys(turnActions(this), () => (this.panel.isOpen ? REJECTING : DECIDING));
  }

  /** Goes on where this person was. */
  async open() {
    this._listen();
    const { content } = this.work.unit;
    const revisions = Object.fromEntries(Object.entries(this.work.entries).map(([place, entry]) => [place, entry.revision]));
    await this.outbox.open(revisions);
    this.places.forEach((place, n) => {
      this.values[n] = this.outbox.typed(place) ?? this.values[n];
    });
    tellStanding(this.work.assignment, this.isOpen, () => void this._reopen());
    for (const name of ["fields", "decisions"]) {
      byId(name, HTMLFieldSetElement).disabled = !this.isOpen;
    }
    // On a small screen the fields come first; what was said before is one tap away.
    byId("dialogue-fold", HTMLDetailsElement).open = !matchMedia("(max-width: 60rem)").matches;
    const spot = lastSpot(this.id);
    const at = this.places.indexOf(spot?.place ?? "");
    this.show(at >= 0 ? at : Math.max(0, this.places.findIndex((_, n) => this.needs(n))));
    if (spot && at >= 0) putCaret(spot);
    const first = this.values[this.current].evidence[0] ?? content.clips[0];
    await this.playback.open(this.work, spot?.time_s ?? first?.start_s ?? 0);
    this._opening = false;
    document.documentElement.dataset.ready = "true";
  }

  /** True where a turn has no decision, or one that must be looked at again. @param {number} n */
  needs(n) {
    return this.values[n].decision === null || this.stale.has(this.places[n]);
  }

  // ---- going about -------------------------------------------------------------------------------------------------

  /** @param {number} n */
  go(n) {
    if (n < 0 || n >= this.places.length || n === this.current) return;
    void this.outbox.hurry();
    this.show(n);
    byId("turn-title", HTMLElement).focus({ preventScroll: true });
    say(`Turn ${n + 1} of ${this.places.length}.`);
  }

  goToUndecided() {
    const n = this._nextUndecided();
    if (n === null) say("All turns are decided.");
    else this.go(n);
  }

  _nextUndecided() {
    const { length } = this.places;
    for (let step = 1; step <= length; step++) {
      const n = (this.current + step) % length;
      if (this.needs(n)) return n;
    }
    return null;
  }

  /** @param {number} n */
  show(n) {
    this.current = n;
    this.panel.close();
    this.form.chosen = 0;
    this.form.show(this.values[n]);
    this.panel.show(this.values[n]);
    drawAbout(this.work.unit.content, this.places[n], (time_s) => void this.playback.seek(time_s));
    this.playback.bar.mark(n);
    this._drawState();
    this.comparison.turn(`${this._path}/history/${encodeURIComponent(this.places[n])}`, this.drafts[n]);
    this.keys.label();
    this.spots.soon();
  }

  /** Everything but the fields: numbers, the dialogue, the decision. */
  _drawState() {
    const { checks } = this.work.unit.content;
    const shown = this.places.map((place, n) => ({
      value: this.values[n],
      stale: this.stale.has(place),
      flagged: (checks[place] ?? []).some(isFlagged),
      conflict: this.outbox.conflict(place) !== null,
    }));
    drawStrip(byId("strip", HTMLElement), shown, this.current, (n) => this.go(n));
    drawDialogue(byId("dialogue", HTMLElement), shown, this.current, (n) => this.go(n));
    byId("dialogue-title", HTMLElement).textContent = `Dialogue so far${this.current ? ` (${this.current})` : ""}`;
    const { decision } = this.values[this.current];
    const left = this.places.filter((_, n) => this.needs(n)).length;
    byId("turn-title", HTMLElement).textContent = `Turn ${this.current + 1} of ${this.places.length}`;
    const state = byId("turn-state", HTMLElement);
    state.textContent = decision ? DECIDED[decision] : "Undecided";
    state.className = `turn-state ${kindOf(decision)}`;
    byId("stale", HTMLElement).hidden = !this.stale.has(this.places[this.current]);
    byId("submit", HTMLButtonElement).classList.toggle("second", left > 0);
    byId("submit", HTMLButtonElement).title = left ? `${left} of ${this.places.length} turns need a decision` : "";
    this.playback.bar.update(this.values);
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** Keeps what was typed; the turn then needs a decision anew. */
  typed() {
    const value = { ...this.form.read(), ...this.panel.read(), decision: null };
    this._set(value, { now: false });
  }

  /** @param {TurnValue} value @param {{now: boolean}} options */
  _set(value, options) {
    if (!this.isOpen) return;
    notify("");
    this.values[this.current] = value;
    this.outbox.put(this.places[this.current], value, options);
    this._drawState();
    this.spots.soon();
  }

  /** @param {"accept" | "reject" | "skip"} decision */
  decide(decision) {
    if (!this.isOpen) return;
    const typed = this.form.read();
    if (decision === "accept" && !typed.question.trim()) {
      say("A turn that is accepted needs a question.");
      this.form.focus("question");
      return;
    }
    const { reasons, note } = this.panel.read();
    const turn = this.current;
    this._set({ ...typed, note, reasons: decision === "reject" ? reasons : [], decision }, { now: true });
    this.stale.delete(this.places[turn]);
    const told = `Turn ${turn + 1}: ${DECIDED[decision].toLowerCase()}.`;
    const next = this._nextUndecided();
    if (next === null) {
      this.show(turn);
      byId("submit", HTMLButtonElement).focus();
      say(`${told} All turns are decided; submit the unit.`);
    } else {
      this.show(next);
      byId("turn-title", HTMLElement).focus({ preventScroll: true });
      window.scrollTo({ top: 0 });
      say(`${told} Turn ${next + 1} of ${this.places.length}.`);
    }
  }

  /** Keeps a decision though an earlier turn was changed. */
  stillRight() {
    if (!this.stale.has(this.places[this.current])) return;
    const value = this.values[this.current];
    this.stale.delete(this.places[this.current]);
    this._set({ ...value }, { now: true });
    say("Kept.");
    const next = this._nextUndecided();
    if (next !== null) this.go(next);
  }

  /** @param {"start" | "end" | "interval" | "asked"} what */
  setTime(what) {
    const { time_s } = this.playback;
    if (!this.isOpen) return;
    if (what === "asked") this.form.setAsked(time_s);
    else if (what === "start") this.form.setStart(time_s);
    else if (what === "end") this.form.setEnd(time_s);
    else this.form.addInterval(time_s);
    this.keys.label();
  }

  /** @param {"undo" | "redo"} what */
  step(what) {
    this._steps = this._steps.then(() => this._step(what)).catch((error) => say(messageOf(error)));
  }

  /** @param {"undo" | "redo"} what */
  async _step(what) {
    if (!this.isOpen) return;
    if (!(await this.outbox.settle())) {
      say("Not all is saved yet; undo works again once the server has everything.");
      return;
    }
    try {
      const { place, entries } = await ask(`${this._path}/${what}`, { method: "POST" });
      this.outbox.learn(entries);
      this.places.forEach((each, n) => {
        this.values[n] = entries[each]?.value ?? this.drafts[n];
      });
      this.stale = new Set(this.places.filter((each) => entries[each]?.stale));
      const n = this.places.indexOf(place);
      this.show(n < 0 ? this.current : n);
      say(`Turn ${this.current + 1}: ${what === "undo" ? "taken back" : "done again"}.`);
    } catch (error) {
      if (error instanceof RefusedError) say(messageOf(error));
      else throw error;
    }
  }

  async submit() {
    if (!this.isOpen) return;
    void this.outbox.hurry();
    const lacking = this.places.flatMap((_, n) => (this.needs(n) ? [n] : []));
    if (lacking.length) {
      this._sayLacking(lacking);
      return;
    }
    if (!(await this.outbox.settle())) {
      notify("Not all is saved yet. Submit once the server has everything.");
      return;
    }
    if (!(await confirmSubmit("Submit this unit?", countDecided(this.values)))) return;
    try {
      const { next } = await ask(`${this._path}/submit`, { method: "POST" });
      forgetSpot(this.id);
      location.assign(next ?? "/");
    } catch (error) {
      const places = error instanceof RefusedError && error.code === "incomplete" ? error.body.places : null;
      if (Array.isArray(places)) this._sayLacking(places.map((place) => this.places.indexOf(place)));
      else notify(messageOf(error));
    }
  }

  async _reopen() {
    try {
      await ask(`${this._path}/reopen`, { method: "POST" });
      location.reload();
    } catch (error) {
      notify(messageOf(error));
    }
  }

  /** @param {number[]} lacking */
  _sayLacking(lacking) {
    const [first] = lacking;
    if (!lacking.includes(this.current)) this.show(first);
    const numbers = lacking.map((n) => n + 1).join(", ");
    notify(`${lacking.length === 1 ? "Turn" : "Turns"} ${numbers} still ${lacking.length === 1 ? "needs" : "need"} a decision.`);
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  toEvidence() {
    const { evidence, chosen } = this.form;
    const at = evidence[chosen];
    const isThere = at && Math.abs(this.playback.time_s - at.start_s) < 0.1;
    const to = isThere ? this.form.chooseNext() : at;
    if (to) void this.playback.seek(to.start_s);
    else say("This turn has no evidence.");
  }

  toAsked() {
    const { asked_at_s } = this.values[this.current];
    if (asked_at_s === null) say("It is not said when this turn is asked.");
    else void this.playback.seek(asked_at_s);
  }

  /** Plays the turn's evidence part by part; of a turn without any, the scenes of its unit. */
  playScenes() {
    const parts = this.form.evidence.filter(({ start_s, end_s }) => end_s > start_s);
    this.playback.playParts(parts.length ? parts : this.playback.clips);
  }

  openKeys() {
    this.keys.open();
  }

  leave() {
    if (this.panel.isOpen) this.panel.close();
    void this.outbox.hurry();
    byId("turn-title", HTMLElement).focus({ preventScroll: true });
  }

  // ---- listening ---------------------------------------------------------------------------------------------------

  _listen() {
    this.form.addEventListener("typed", () => this.typed());
    this.form.addEventListener("now", (event) => this.setTime(/** @type {CustomEvent} */ (event).detail.what));
    this.panel.addEventListener("typed", () => this.typed());
    this.panel.addEventListener("confirm", () => this.decide("reject"));
    this.panel.addEventListener("cancel", () => byId("turn-title", HTMLElement).focus({ preventScroll: true }));
    this.outbox.addEventListener("state", (event) => {
      this.saveState.show({ .../** @type {CustomEvent} */ (event).detail, kept: this.outbox.kept });
    });
    this.outbox.addEventListener("saved", (event) => this._saved(/** @type {CustomEvent} */ (event).detail));
    this.outbox.addEventListener("conflict", (event) => {
      const { place, current } = /** @type {CustomEvent} */ (event).detail;
      this._steps = this._steps.then(() => this._merge(place, current));
    });
    for (const act of turnActions(this)) {
      document.getElementById(act.name)?.addEventListener("click", () => act.act(""));
    }
    byId("show-keys", HTMLElement).addEventListener("click", () => this.openKeys());
    byId("form", HTMLElement).addEventListener("focusout", () => void this.outbox.hurry());
    this.playback.addEventListener("moved", () => this.spots.soon());
    window.setInterval(() => {
      if (this.isOpen && !document.hidden) ask(`${this._path}/lease`, { method: "POST" }).catch(() => undefined);
    }, LEASE_EVERY_MS);
  }

  /** @param {{place: string, reply: {value: TurnValue, stale: string[] | null}, newer: boolean}} saved */
  _saved({ place, reply, newer }) {
    const n = this.places.indexOf(place);
    if (reply.stale) this.stale = new Set(reply.stale);
    // The server turns accepting with changes into editing, and back.
    if (!newer && n >= 0 && reply.value.decision !== this.values[n].decision) this.values[n] = reply.value;
    this._drawState();
    this.comparison.refresh();
  }

  /** @param {string} place @param {{value: TurnValue | null}} current */
  async _merge(place, current) {
    const n = this.places.indexOf(place);
    const theirs = current.value ?? this.drafts[n];
    this._drawState();
    const dialog = byId("merge", HTMLDialogElement);
    const choice = await askWhich(dialog, {
      name: `Turn ${n + 1}`,
      draft: linesOf(this.drafts[n]),
      mine: linesOf(this.values[n]),
      theirs: linesOf(theirs),
    });
    if (choice === "theirs") {
      this.values[n] = theirs;
      this.outbox.resolve(place, undefined);
    } else {
      const mine = this.values[n];
      this.values[n] = choice === "mine" ? mine : { ...mine, decision: null };
      this.outbox.resolve(place, this.values[n]);
    }
    this.show(n);
    if (choice === "edit") {
      this.comparison.against(theirs);
      this.form.focus("question");
    }
    say({ mine: "Yours stands.", theirs: "The other version stands.", edit: "Edit yours; changes against the other version are shown." }[choice]);
  }
}

const root = document.getElementById("work");
if (root) {
  ask(`/api/work/${encodeURIComponent(root.dataset.assignment ?? "")}`)
    .then((work) => new Screen(work).open())
    .catch((error) => {
      byId("save-state", HTMLElement).textContent = "";
      fill(byId("notices", HTMLElement), element("p", { class: "note" }, `This work cannot be opened. ${messageOf(error)} Reload the page to try again.`));
      console.error(error);
    });
}
