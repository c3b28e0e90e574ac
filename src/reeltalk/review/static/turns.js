// @ts-check
/** The screen to review the turns of a chain or a dialogue. It holds the state; its parts show it. */

import { drawAbout, isFlagged } from "./checks.js";
import { drawDialogue, drawStrip } from "./dialogue.js";
import { EditSession, openWork } from "./edit_session.js";
import { byId } from "./elements.js";
import { Comparison } from "./comparing.js";
import { Keys } from "./keys.js";
import { say } from "./notices.js";
import { Playback } from "./playback.js";
import { RejectPanel } from "./rejecting.js";
import { lastSpot } from "./resuming.js";
import { knownLabels } from "./labelfields.js";
import { TurnForm } from "./turnform.js";
import { DECIDING, REJECTING, turnActions } from "./turnkeys.js";
import { DECIDED, countDecided, kindOf, linesOf, startOf } from "./turnvalue.js";
import { bindButtons } from "./watching.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./workapi.js").Work} Work */

export class Screen {
  /** @param {import("./edit_session.js").Reply} reply */
  constructor(reply) {
    this._view = /** @type {Work} */ (reply);
    const { content } = this._view.unit;
    this.content = content;
    this.places = reply.places;
    this.drafts = this.places.map((_, n) => startOf(content.turns[n] ?? {}));
    this.current = 0;
    /** The last position of this person, until the page is ready. */
    this._was = lastSpot(reply.assignment.id);
    this.work = new EditSession(reply, {
      what: "turn",
      draftOf: (place) => this.drafts[this.places.indexOf(place)],
      linesOf: (_, value) => linesOf(value),
      nameOf: (place) => `Turn ${this.places.indexOf(place) + 1}`,
      editOn: (theirs) => {
        this.comparison.against(theirs);
        this.form.focus("question");
      },
      spot: () => this._was ?? { place: this.places[this.current], time_s: this.playback.time_s },
    });
    this.playback = new Playback(this._view, this.values);
    this.panel = new RejectPanel();
    this.form = new TurnForm(byId("form", HTMLElement), {
      known: knownLabels(content),
      seek: (time_s) => void this.playback.seek(time_s),
    });
    this.comparison = new Comparison(this.form);
    this.keys = new Keys(turnActions(this), () => (this.panel.isOpen ? REJECTING : DECIDING));
  }

  /** The value of each turn. @returns {TurnValue[]} */
  get values() {
    return this.places.map((place) => this.work.value(place));
  }

  /** Continues at the last position. */
  async open() {
    this._listen();
    const spot = await this.work.open();
    for (const name of ["fields", "decisions"]) {
      byId(name, HTMLFieldSetElement).disabled = !this.work.isOpen;
    }
    // On a small screen the fields come first, and the dialogue is folded.
    byId("dialogue-fold", HTMLDetailsElement).open = !matchMedia("(max-width: 60rem)").matches;
    const at = this.places.indexOf(spot?.place ?? "");
    this.show(at >= 0 ? at : Math.max(0, this.places.findIndex((_, n) => this.needs(n))));
    const first = this.values[this.current].evidence[0] ?? this.content.clips[0];
    await this.playback.open(this._view, spot?.time_s ?? first?.start_s ?? 0);
    this._was = null;
    this.work.resume(at >= 0 ? spot : null);
  }

  /** True if a turn has no decision, or one that must be checked again. @param {number} n */
  needs(n) {
    return this.work.needs(this.places[n]);
  }

  // ---- navigation ------------------------------------------------------------------------------------------------

  /** @param {number} n */
  go(n) {
    if (n < 0 || n >= this.places.length || n === this.current) return;
    this.work.hurry();
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
    const value = this.values[n];
    this.form.show(value);
    this.panel.show(value);
    drawAbout(this.content, this.places[n], (time_s) => void this.playback.seek(time_s));
    this.playback.bar.mark(n);
    this._drawState();
    this.comparison.turn(this.work.historyPath(this.places[n]), this.drafts[n]);
    this.keys.label();
    this.work.moved();
  }

  /** Draws everything but the fields: numbers, the dialogue, the decision. */
  _drawState() {
    const { values } = this;
    const shown = this.places.map((place, n) => ({
      value: values[n],
      stale: this.work.isStale(place),
      flagged: (this.content.checks[place] ?? []).some(isFlagged),
      conflict: this.work.outbox.conflict(place) !== null,
    }));
    drawStrip(byId("strip", HTMLElement), shown, this.current, (n) => this.go(n));
    drawDialogue(byId("dialogue", HTMLElement), shown, this.current, (n) => this.go(n));
    byId("dialogue-title", HTMLElement).textContent = `Dialogue so far${this.current ? ` (${this.current})` : ""}`;
    const { decision } = values[this.current];
    const left = this.places.filter((_, n) => this.needs(n)).length;
    byId("turn-title", HTMLElement).textContent = `Turn ${this.current + 1} of ${this.places.length}`;
    const state = byId("turn-state", HTMLElement);
    state.textContent = decision ? DECIDED[decision] : "Undecided";
    state.className = `turn-state ${kindOf(decision)}`;
    byId("stale", HTMLElement).hidden = !this.work.isStale(this.places[this.current]);
    byId("submit", HTMLButtonElement).classList.toggle("second", left > 0);
    byId("submit", HTMLButtonElement).title = left ? `${left} of ${this.places.length} turns need a decision` : "";
    this.playback.bar.update(values);
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** Saves the typed text. The turn then needs a new decision. */
  typed() {
    const value = { ...this.form.read(), ...this.panel.read(), decision: null };
    this._set(value, { now: false });
  }

  /** @param {TurnValue} value @param {{now: boolean}} options */
  _set(value, options) {
    this.work.put(this.places[this.current], value, options);
    this._drawState();
  }

  /** @param {"accept" | "reject" | "skip"} decision */
  decide(decision) {
    if (!this.work.isOpen) return;
    const typed = this.form.read();
    if (decision === "accept" && !typed.question.trim()) {
      say("A turn that is accepted needs a question.");
      this.form.focus("question");
      return;
    }
    const { reasons, note } = this.panel.read();
    const turn = this.current;
    this._set({ ...typed, note, reasons: decision === "reject" ? reasons : [], decision }, { now: true });
    const told = `Turn ${turn + 1}: ${DECIDED[decision].toLowerCase()}.`;
    const next = this._nextUndecided();
    if (next === null) {
      this.show(turn);
      byId("submit", HTMLButtonElement).focus();
      say(`${told} All turns are decided; submit them.`);
    } else {
      this.show(next);
      byId("turn-title", HTMLElement).focus({ preventScroll: true });
      window.scrollTo({ top: 0 });
      say(`${told} Turn ${next + 1} of ${this.places.length}.`);
    }
  }

  /** Keeps a decision after an earlier turn was changed. */
  stillRight() {
    if (!this.work.isStale(this.places[this.current])) return;
    this._set({ ...this.values[this.current] }, { now: true });
    say("Kept.");
    const next = this._nextUndecided();
    if (next !== null) this.go(next);
  }

  /** @param {"start" | "end" | "interval" | "asked"} what */
  setTime(what) {
    const { time_s } = this.playback;
    if (!this.work.isOpen) return;
    if (what === "asked") this.form.setAsked(time_s);
    else if (what === "start") this.form.setStart(time_s);
    else if (what === "end") this.form.setEnd(time_s);
    else this.form.addInterval(time_s);
    this.keys.label();
  }

  submit() {
    return this.work.submit({
      question: `Submit this ${this.content.unit}?`,
      summary: countDecided(this.values),
      places: this.places.filter((_, n) => this.needs(n)),
    });
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
    if (asked_at_s === null) say("This turn has no time at which it is asked.");
    else void this.playback.seek(asked_at_s);
  }

  /** Plays the turn's evidence part by part; of a turn without any, the scenes of its unit. */
  playScenes() {
    const parts = this.form.evidence.filter(({ start_s, end_s }) => end_s > start_s);
    this.playback.playParts(parts.length ? parts : this.playback.clips);
  }

  leave() {
    if (this.panel.isOpen) this.panel.close();
    this.work.hurry();
    byId("turn-title", HTMLElement).focus({ preventScroll: true });
  }

  // ---- listening ---------------------------------------------------------------------------------------------------

  _listen() {
    this.form.addEventListener("typed", () => this.typed());
    this.form.addEventListener("now", (event) => this.setTime(/** @type {CustomEvent} */ (event).detail.what));
    this.panel.addEventListener("typed", () => this.typed());
    this.panel.addEventListener("confirm", () => this.decide("reject"));
    this.panel.addEventListener("cancel", () => byId("turn-title", HTMLElement).focus({ preventScroll: true }));
    this.work.addEventListener("changed", (event) => {
      const n = this.places.indexOf(/** @type {CustomEvent} */ (event).detail.place);
      this.show(n < 0 ? this.current : n);
    });
    this.work.addEventListener("saved", () => {
      this._drawState();
      this.comparison.refresh();
    });
    this.work.outbox.addEventListener("conflict", () => this._drawState());
    bindButtons(this.keys);
    byId("form", HTMLElement).addEventListener("focusout", () => this.work.hurry());
    this.playback.addEventListener("moved", () => this.work.moved());
  }
}

openWork((reply) => new Screen(reply).open());
