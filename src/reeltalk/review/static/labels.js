// @ts-check
/** The screen to label the turns of a chain or a dialogue, with any vocabularies. */

import { button, byId, clock, element, fill, grow } from "./elements.js";
import { Keys } from "./keys.js";
import { labelActions } from "./labelkeys.js";
import { DECIDED, isDoubtful, lackOf, linesOf, startOf } from "./labelvalue.js";
import { say } from "./notices.js";
import { Playback } from "./playback.js";
import { lastSpot } from "./resuming.js";
import { countDecided } from "./turnvalue.js";
import { EditSession, openWork } from "./edit_session.js";

/** @typedef {import("./labelvalue.js").LabelsValue} LabelsValue */
/** @typedef {import("./labelvalue.js").Turn} Turn */
/** @typedef {import("./labelvalue.js").Vocabulary} Vocabulary */
/** @typedef {import("./labelvalue.js").Proposal} Proposal */

const MARKS = Object.freeze({ accept: "✓", edit: "✓", skip: "–" });
/** Decisions in the form of the strip of turns. */
const KINDS = Object.freeze({ accept: "accepted", edit: "edited", skip: "skipped", none: "undecided" });

export class Labels {
  /** @param {import("./edit_session.js").Reply} reply */
  constructor(reply) {
    this._places = reply.places;
    /** @type {Turn[]} */
    this._turns = reply.unit.content.turns;
    /** @type {Record<string, Record<string, Proposal>>} By turn and vocabulary. */
    this._proposals = reply.unit.content.proposals;
    this._fields = [...document.querySelectorAll("[data-vocabulary]")].map((field) => /** @type {HTMLElement} */ (field));
    this.vocabularies = this._fields.map(vocabularyOf);
    /** Index of the shown turn. */
    this.current = 0;
    /** The last position of this person, until the page is ready. */
    this._was = lastSpot(reply.assignment.id);
    this.work = new EditSession(reply, {
      what: "turn",
      draftOf: (place) => startOf(this._turns[Number(place)], this._proposals[place] ?? {}, this.vocabularies),
      linesOf: (_, value) => linesOf(value, this.vocabularies),
      nameOf: (place) => `Turn ${Number(place) + 1}`,
      spot: () => (this._was ?? { place: this.place, time_s: this.playback.time_s }),
    });
    const view = { ...reply, unit: { ...reply.unit, content: { ...reply.unit.content, links: [] } } };
    this._view = /** @type {import("./workapi.js").Work} */ (/** @type {unknown} */ (view));
    this.playback = new Playback(
      this._view,
      this._turns.map(({ asked_at_s, evidence }) => ({ asked_at_s: asked_at_s ?? null, evidence: evidence ?? [] })),
    );
    this._note = byId("note", HTMLTextAreaElement);
    this.keys = new Keys(labelActions(this, byId("manual", HTMLElement).dataset.keys ?? ""), () => "labels");
  }

  /** The shown place. */
  get place() {
    return this._places[this.current];
  }

  /** Continues at the last position. */
  async open() {
    this._listen();
    const spot = await this.work.open();
    for (const name of ["fields", "decisions"]) byId(name, HTMLFieldSetElement).disabled = !this.work.isOpen;
    byId("dialogue-fold", HTMLDetailsElement).open = !matchMedia("(max-width: 60rem)").matches;
    const at = this._places.indexOf(spot?.place ?? "");
    this.show(at >= 0 ? at : Math.max(0, this._places.findIndex((place) => this.work.needs(place))));
    const first = this._turns[this.current]?.evidence?.[0] ?? this._view.unit.content.clips[0];
    await this.playback.open(this._view, spot?.time_s ?? first?.start_s ?? 0);
    this._was = null;
    this.work.resume(spot);
  }

  // ---- navigation ------------------------------------------------------------------------------------------------

  /** @param {number} n */
  go(n) {
    if (n < 0 || n >= this._places.length || n === this.current) return;
    this.work.hurry();
    this.show(n);
    this._focusTitle();
    say(`Turn ${n + 1} of ${this._places.length}: ${this._turns[n].question}`);
  }

  goToUndecided() {
    const next = this._nextUndecided();
    if (next === null) say("All turns are decided.");
    else this.go(next);
  }

  _nextUndecided() {
    const { length } = this._places;
    for (let step = 1; step <= length; step++) {
      const n = (this.current + step) % length;
      if (this.work.needs(this._places[n])) return n;
    }
    return null;
  }

  /** @param {number} n */
  show(n) {
    this.current = n;
    byId("lack", HTMLElement).hidden = true;
    const turn = this._turns[n];
    const answer = turn.references?.[0] ?? turn.options?.[turn.correct_option ?? -1] ?? "";
    fill(
      byId("asked", HTMLElement),
      element("p", { class: "asked-text" }, turn.question),
      element("p", { class: "answer-text" }, answer || element("span", { class: "soft" }, "The answer is not known.")),
    );
    const value = this.work.value(this.place);
    this._note.value = value.note;
    grow(this._note);
    this._drawProposals();
    this._drawDialogue();
    this.playback.bar.mark(n);
    this._draw();
    this.work.moved();
  }

  _drawDialogue() {
    byId("dialogue-title", HTMLElement).textContent = `Turns before${this.current ? ` (${this.current})` : ""}`;
    const place = byId("dialogue", HTMLElement);
    fill(
      place,
      this.current === 0 && element("p", { class: "soft" }, "This is the first turn. There are no turns before it."),
      element(
        "ol",
        { class: "said-before" },
        ...this._turns.slice(0, this.current).map((turn, n) =>
          element(
            "li",
            {},
            element("p", { class: "about" }, button(`Turn ${n + 1}`, () => this.go(n), { class: "quiet" }), typeof turn.asked_at_s === "number" && element("span", {}, clock(turn.asked_at_s))),
            element("p", { class: "asked-text" }, turn.question),
            element("p", { class: "answer-text" }, turn.references?.[0] ?? ""),
          ),
        ),
      ),
    );
    place.scrollTop = place.scrollHeight;
  }

  /** The tagger's probability of each label, or the reason why there is none. */
  _drawProposals() {
    const proposals = this._proposals[this.place] ?? {};
    for (const field of this._fields) {
      const proposal = proposals[field.dataset.vocabulary ?? ""];
      const said = field.querySelector("[data-proposed]");
      const margin = proposal?.margin;
      let told = "";
      if (proposal?.reason) told = `nothing was proposed: ${proposal.reason}`;
      else if (proposal) told = typeof margin === "number" && margin < 0.1 ? "proposed; a close call" : "proposed";
      if (said) said.textContent = told && `· ${told}`;
      for (const chance of field.querySelectorAll("[data-chance]")) {
        const label = chance.parentElement?.querySelector("input")?.value ?? "";
        const probability = proposal?.probabilities[label];
        chance.textContent = probability === undefined ? "" : `${Math.round(probability * 100)} %`;
        chance.classList.toggle("likely", (probability ?? 0) >= 0.5);
      }
    }
  }

  /** Draws the parts that change with every key: the ticks, the decision, the numbers of the turns. */
  _draw() {
    const value = /** @type {LabelsValue} */ (this.work.value(this.place));
    for (const field of this._fields) {
      const given = value.labels[field.dataset.vocabulary ?? ""] ?? [];
      for (const box of field.querySelectorAll("input")) box.checked = given.includes(box.value);
      const { least, most } = field.dataset;
      field.classList.toggle("lacks", given.length < Number(least) || given.length > Number(most));
    }
    byId("turn-title", HTMLElement).textContent = `Turn ${this.current + 1} of ${this._places.length}`;
    const state = byId("turn-state", HTMLElement);
    state.textContent = value.decision ? DECIDED[value.decision] : "Undecided";
    state.className = `turn-state ${KINDS[value.decision ?? "none"]}`;
    const left = this._places.filter((place) => this.work.needs(place)).length;
    byId("submit", HTMLButtonElement).classList.toggle("second", left > 0);
    byId("submit", HTMLButtonElement).title = left ? `${left} of ${this._places.length} turns need a decision` : "";
    this._drawStrip();
    this.keys?.label();
  }

  _drawStrip() {
    const strip = byId("strip", HTMLElement);
    const hadFocus = strip.contains(document.activeElement);
    fill(
      strip,
      ...this._places.map((place, n) => {
        const { decision } = /** @type {LabelsValue} */ (this.work.value(place));
        const isClose = !decision && isDoubtful(this._proposals[place] ?? {});
        const told = `Turn ${n + 1}: ${decision ? DECIDED[decision].toLowerCase() : "undecided"}${isClose ? ", a close call" : ""}`;
        const made = button(`${n + 1}`, () => this.go(n), {
          class: `turn-number ${KINDS[decision ?? "none"]} ${isClose ? "close-call" : ""}`,
          "aria-current": n === this.current ? "step" : undefined,
          "aria-label": told,
          title: told,
        });
        made.append(element("span", { class: "mark", "aria-hidden": "true" }, decision ? MARKS[decision] : isClose ? "?" : ""));
        return element("li", {}, made);
      }),
    );
    if (hadFocus) strip.querySelector("[aria-current]")?.closest("button")?.focus();
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** Ticks the n-th label of the page, or removes the tick. @param {number} n */
  toggle(n) {
    if (!this.work.isOpen) return;
    const boxes = this._fields.flatMap((field) => [...field.querySelectorAll("input")]);
    const box = boxes[n];
    if (!box) return;
    box.checked = !box.checked;
    this._ticked(box);
    say(`${box.value}: ${box.checked ? "added" : "removed"}.`);
  }

  /** @param {HTMLInputElement} box */
  _ticked(box) {
    const at = this._fields.findIndex((field) => field.contains(box));
    const { name, most } = this.vocabularies[at];
    // If exactly one label is allowed, the new one replaces it.
    if (most === 1 && box.checked) {
      for (const other of this._fields[at].querySelectorAll("input")) other.checked = other === box;
    }
    const value = /** @type {LabelsValue} */ (this.work.value(this.place));
    const given = [...this._fields[at].querySelectorAll("input")].filter(({ checked }) => checked).map((each) => each.value);
    this._put({ ...value, labels: { ...value.labels, [name]: given }, decision: null }, true);
  }

  /** @param {LabelsValue} value @param {boolean} now */
  _put(value, now) {
    byId("lack", HTMLElement).hidden = true;
    this.work.put(this.place, value, { now });
    this._draw();
  }

  /** @param {"accept" | "skip"} decision */
  decide(decision) {
    if (!this.work.isOpen) return;
    const value = /** @type {LabelsValue} */ (this.work.value(this.place));
    const lack = decision === "accept" ? lackOf(value, this.vocabularies) : null;
    if (lack !== null) {
      fill(byId("lack", HTMLElement), element("p", {}, lack));
      byId("lack", HTMLElement).hidden = false;
      say(lack);
      return;
    }
    const turn = this.current;
    this._put({ ...value, decision }, true);
    const told = `Turn ${turn + 1}: ${decision === "skip" ? "skipped" : "labelled"}.`;
    const next = this._nextUndecided();
    this.show(next ?? turn);
    window.scrollTo({ top: 0 });
    if (next === null) byId("submit", HTMLButtonElement).focus({ preventScroll: true });
    else this._focusTitle();
    say(next === null ? `${told} All turns are decided; submit them.` : `${told} Turn ${next + 1}: ${this._turns[next].question}`);
  }

  async submit() {
    const values = this._places.map((place) => this.work.value(place));
    await this.work.submit({
      question: `Submit this ${this._view.unit.content.unit}?`,
      summary: countDecided(values, DECIDED),
      places: this._places.filter((place) => this.work.needs(place)),
    });
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  focusNote() {
    this._note.focus();
    this._note.setSelectionRange(this._note.value.length, this._note.value.length);
  }

  toggleManual() {
    const manual = byId("manual", HTMLDetailsElement);
    manual.open = !manual.open;
    if (manual.open) manual.scrollIntoView({ block: "start" });
    else window.scrollTo({ top: 0 });
    say(manual.open ? "The manual is open." : "The manual is closed.");
  }

  leave() {
    this.work.hurry();
    this._focusTitle();
  }

  _focusTitle() {
    byId("turn-title", HTMLElement).focus({ preventScroll: true });
  }

  get _evidence() {
    return this._turns[this.current].evidence ?? [];
  }

  toEvidence() {
    const parts = this._evidence;
    const at = parts.findIndex(({ start_s }) => Math.abs(this.playback.time_s - start_s) < 0.1);
    const part = parts[(at + 1) % parts.length];
    if (part) void this.playback.seek(part.start_s);
    else say("This turn has no evidence.");
  }

  /** Plays the turn's evidence part by part; without evidence, the scenes of its unit. */
  playScenes() {
    const parts = this._evidence.filter(({ start_s, end_s }) => end_s > start_s);
    this.playback.playParts(parts.length ? parts : this.playback.clips);
  }

  // ---- listening ---------------------------------------------------------------------------------------------------

  _listen() {
    for (const field of this._fields) {
      field.addEventListener("change", ({ target }) => {
        if (target instanceof HTMLInputElement) this._ticked(target);
      });
    }
    // A ticked box has the focus. Enter has its usual meaning there too.
    byId("fields", HTMLElement).addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
      event.preventDefault();
      this.decide("accept");
    });
    this._note.addEventListener("input", () => {
      grow(this._note);
      const value = /** @type {LabelsValue} */ (this.work.value(this.place));
      // A note does not change the labels, so the decision stays.
      this._put({ ...value, note: this._note.value }, false);
    });
    this._note.addEventListener("focusout", () => this.work.hurry());
    this.work.addEventListener("changed", (event) => {
      const at = this._places.indexOf(/** @type {CustomEvent} */ (event).detail.place);
      this.show(at < 0 ? this.current : at);
    });
    this.work.addEventListener("saved", () => this._draw());
    this.playback.addEventListener("moved", () => this.work.moved());
    byId("show-keys", HTMLElement).addEventListener("click", () => this.keys.open());
    for (const act of this.keys.actions) {
      const found = document.getElementById(act.name);
      if (found instanceof HTMLButtonElement) found.addEventListener("click", () => act.act(""));
    }
  }
}

/** @param {HTMLElement} field @returns {Vocabulary} */
function vocabularyOf(field) {
  return {
    name: field.dataset.vocabulary ?? "",
    title: field.querySelector(".vocabulary-title")?.textContent ?? "",
    least: Number(field.dataset.least),
    most: Number(field.dataset.most),
    labels: [...field.querySelectorAll("input")].map(({ value }) => value),
  };
}

openWork((reply) => new Labels(reply).open());
