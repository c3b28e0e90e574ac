// @ts-check
/**
 * The editor of every task: a unit's video beside its places, each with fields and a decision. The editor has the head, the
 * video, the strip of places, undo, keys, saving, merging of two windows, the guideline and submitting. A task is
 * a view, an object that says what its places are and draws their fields:
 *
 *     class Turns {
 *       constructor(editor) { this.editor = editor; }      // editor.content: the unit's content; nothing is drawn yet
 *       what = "turn";                                     // a place, for "2 turns wait in this browser"
 *       nameOf(place) { return `Turn ${Number(place) + 1}`; }
 *       draftOf(place) { return startOf(this.editor.content.turns[place]); }
 *       Fields = ({ view, place, value }) => html`<${Text} label="Question" value=${value.question} … />`;
 *       offers() { return { accept: { act: () => …, button: "Accept" } }; }        // names of actions.js
 *     }
 *     edit(Turns);
 *
 * The template extends `editor.html` and names the module: `{% block start %}turns{% endblock %}`. `View` in `types.d.ts` has
 * everything that a view can have. A view changes a value with `editor.set(value)`, decides with `editor.decide(value)`,
 * and says `editor.draw()` after a change of its own. The chosen place is `editor.place`, its value `editor.value`.
 */

import { messageOf, sentence } from "./elements.js";
import { Changes, Findings, selectorOf, withTime } from "./fields.js";
import { Act, Frame, Modal } from "./frame.js";
import { guideline, openGuideline } from "./guideline.js";
import { Keys } from "./keys.js";
import { Session, takeBack, takeHandedIn } from "./session.js";
import { DECISIONS, countDecided, labelOf, rowsOf, textOf } from "./values.js";
import { Component, html, render } from "./vendor/preact.js";
import { Playback, Watch, videoOffers } from "./watch.js";
import { ask } from "./workapi.js";

/** A player this near to the start of some evidence is there. */
const NEAR_S = 0.1;
const KEEP_MS = 300;

/** @extends {Component<{reply: Reply, View: new (editor: Editor) => View}>} */
export class Editor extends Component {
  /** @param {{reply: Reply, View: new (editor: Editor) => View}} props */
  constructor(props) {
    super(props);
    const { reply, View } = props;
    this.reply = reply;
    this.content = reply.unit.content;
    /** Index of the interval of evidence that keys set. */
    this.chosen = 0;
    this.playback = new Playback(reply.unit.video, this.content);
    this.view = new View(this);
    this.session = new Session(reply, this);
    this.spot = this.session.spot;
    const at = this.spot && this.places.includes(this.spot.place) ? this.spot.place : null;
    /** The chosen place. */
    this.place = at ?? this.session.openPlaces[0] ?? this.places[0] ?? "";
    /** True once the video shows the place where this person was. */
    this.isOpened = false;
    this._said = "";
    this._isWarning = false;
    /** @type {{place: string, field: string | null, text: string} | null} What this page refused, until something changes. */
    this._refusal = null;
    this._handed_in = takeHandedIn();
    this._saving = { state: /** @type {SaveState} */ ("saved"), waiting: 0, message: "" };
    /** @type {{place: string, mine: any, theirs: any, choose: (choice: Choice) => void} | null} */
    this._merging = null;
    this._asking = false;
    this.keys = new Keys(() => this._offers(), () => this.draw());
    /** @type {number | undefined} */
    this._spotTimer = undefined;
    document.addEventListener("selectionchange", () => this._keepSpotSoon());
    window.addEventListener("pagehide", () => this._keepSpot());
    // A page from the browser's cache may be out of date.
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) location.reload();
    });
  }

  // ---- what views use ----------------------------------------------------------------------------------------------

  /** True while the work can be changed. */
  get isOpen() {
    return this.session.isOpen;
  }

  /** True if the work can be changed; otherwise says why not. */
  mayChange() {
    if (!this.isOpen) this.refuse(`This work is ${this.reply.assignment.state}: it can be read, not changed.`);
    return this.isOpen;
  }

  /** The places of the strip. */
  get places() {
    return this.view.places ?? this.session?.places ?? this.reply.places;
  }

  /** The value at the chosen place, or its draft. */
  get value() {
    return this.place ? this.session.value(this.place) : null;
  }

  /** The time of the video in seconds. */
  get time_s() {
    return this.isOpened ? this.playback.time_s : (this.spot?.time_s ?? 0);
  }

  /** Draws again. @param {() => void} [done] */
  draw(done) {
    this.forceUpdate(done);
  }

  /** Changes the value at the chosen place. @param {any} value @param {{now?: boolean, place?: string}} [options] */
  set(value, { now = false, place = this.place } = {}) {
    if (!this.mayChange()) return;
    this._refusal = null;
    this.session.put(place, value, { now });
    this._keepSpotSoon();
    this.draw();
  }

  /**
   * Saves a decision at the chosen place, and goes to the next one that needs one. If something was just changed there, this
   * first waits for the server's answer, and stays at a refusal; keys that are pressed meanwhile wait too.
   * @param {any} value @param {string} [told] As `Turn 2: accepted.`
   */
  decide(value, told = "") {
    if (!this.mayChange()) return;
    const from = this.place;
    const { outbox } = this.session;
    const isKnown = outbox.stateOf(from) === "saved";
    this.set(value, { now: true });
    if (isKnown) {
      this._goOn(told);
      return;
    }
    this.focusTitle(false);
    const going = outbox.answered(from).then((state) => {
      const stays = ["refused", "closed", "conflict"].includes(state);
      if (!stays && this.place === from) this._goOn(told);
      return !stays;
    });
    void this.keys.hold(going);
  }

  /** @param {string} told */
  _goOn(told) {
    const next = this.nextOpen();
    if (next === null) {
      this.show(this.place);
      this.draw(() => document.getElementById("submit")?.focus());
      this.say(`${told} All ${this.view.what}s are decided; submit them.`);
    } else {
      this.show(next);
      this.focusTitle();
      this.say(`${told} ${this.titleOf(next)}.`);
    }
  }

  /** The number of the open place, from 1. */
  get _number() {
    return this.places.indexOf(this.place) + 1;
  }

  /** The next place that needs a decision, or null. */
  nextOpen() {
    const { places } = this;
    const at = places.indexOf(this.place);
    const round = [...places.slice(at + 1), ...places.slice(0, at + 1)];
    return round.find((place) => this.session.needs(place)) ?? null;
  }

  /** Goes to a place. @param {string | undefined} place */
  go(place) {
    if (place === undefined || place === this.place || !this.places.includes(place)) return;
    this.show(place);
    this.focusTitle();
    this.say(`${this.titleOf(place)}.`);
  }

  /** Goes to the place with a number, from 1; where there is none, says so. @param {number} number */
  goTo(number) {
    const { what } = this.view;
    if (number < 1) this.refuse(`There is no ${what} before the first.`);
    else if (number > this.places.length) this.refuse(`There is no ${what} ${number}.`);
    else this.go(this.places[number - 1]);
  }

  /** Shows a place without moving the focus. @param {string} place */
  show(place) {
    const from = this.place;
    if (from !== place) this.session.hurry();
    this.place = place;
    this.chosen = 0;
    this._refusal = null;
    this.view.placed?.(from);
    this._keepSpotSoon();
    this.draw(() => this._bringIntoView());
  }

  /** Scrolls so that the open place, with what its decision needs, is in view, and as much as fits of the one before. */
  _bringIntoView() {
    const [scroll, open, needed] = ["fields-scroll", "open", "needed"].map((id) => document.getElementById(id));
    if (!scroll || !open) return;
    const bottom = needed?.getBoundingClientRect().bottom ?? open.getBoundingClientRect().top + 1;
    const top = open.getBoundingClientRect().top;
    const spare = scroll.clientHeight - (bottom - top) - 2;
    const before = open.previousElementSibling?.getBoundingClientRect().height ?? 0;
    scroll.scrollTop += top - scroll.getBoundingClientRect().top - Math.max(0, Math.min(spare, before, scroll.clientHeight / 4));
  }

  /** Asks the server again for all of the work, and draws it. Unsaved text stays. */
  async reload() {
    this.reply = await ask(`/api/work/${encodeURIComponent(this.session.id)}`);
    this.content = this.reply.unit.content;
    this.session.learn(this.reply.entries);
    this.draw();
  }

  /** @param {number} time_s */
  seek(time_s) {
    void this.playback.seek(time_s);
  }

  /** Goes to the evidence, or from there to the next interval. */
  toEvidence() {
    const { evidence } = this._times(this.place);
    const at = evidence[this.chosen];
    if (at && Math.abs(this.time_s - at.start_s) < NEAR_S) this.chosen = (this.chosen + 1) % evidence.length;
    const to = evidence[Math.min(this.chosen, evidence.length - 1)];
    if (to) this.seek(to.start_s);
    else this.refuse(`This ${this.view.what} has no evidence.`);
    this.draw();
  }

  toAsked() {
    const { asked_at_s = null } = this._times(this.place);
    if (asked_at_s === null) this.refuse(`This ${this.view.what} has no time at which it is asked.`);
    else this.seek(asked_at_s);
  }

  /** Sets a time of the evidence from the video. @param {"start" | "end" | "interval"} what */
  _setTime(what) {
    this.view.moveEvidence?.(this.place, withTime(this, this._times(this.place).evidence, what));
  }

  /** @param {string} text Shown above the buttons, and spoken. */
  say(text) {
    this._said = text;
    this._isWarning = false;
    this.draw();
  }

  /** Says why something is not done, in view, and at its field if it has one. @param {string} text @param {string | null} [field] A path in the value. */
  refuse(text, field = null) {
    this._refusal = { place: this.place, field, text };
    this._said = text;
    this._isWarning = true;
    this.draw();
  }

  /** What makes no sense at the open place, as the server or this page found it. @returns {Finding[]} */
  get findings() {
    const refusal = this.session.outbox.refusal(this.place);
    const told = refusal && !refusal.findings.length ? [{ field: refusal.field ?? "", text: sentence(refusal.message) }] : [];
    const own = this._refusal?.place === this.place && this._refusal.field !== null ? [this._refusal] : [];
    const found = refusal?.findings.length ? refusal.findings : (this.session.findings.get(this.place) ?? []);
    return [...own, ...told, ...found].map((each) => ({ turn: 0, may_go_on: false, ...each, field: each.field ?? "" }));
  }

  /** Moves the focus to a field, with the caret at the end of its text. @param {...string} selectors The first that is there. */
  focus(...selectors) {
    if (this.playback.isTheatre) this.playback.toggleTheatre();
    this.draw(() => {
      const found = selectors.map((each) => document.querySelector(each)).find(Boolean);
      if (found instanceof HTMLElement) found.focus();
      if (found instanceof HTMLTextAreaElement) found.setSelectionRange(found.value.length, found.value.length);
    });
  }

  focusTitle(scrolls = true) {
    this.draw(() => {
      document.getElementById("turn-title")?.focus({ preventScroll: true });
      if (scrolls) this._bringIntoView();
    });
  }

  /** @param {string} place */
  titleOf(place) {
    const { length } = this.places;
    return this.view.titleOf?.(place) ?? `${this.view.nameOf(place)}${length > 1 ? ` of ${length}` : ""}`;
  }

  /** The decision at a place, as far as the server has it. @param {string} place @returns {PlaceState} */
  stateOf(place) {
    const state = this.view.stateOf?.(place) ?? this.decisionAt(place);
    const { outbox } = this.session;
    const refusal = outbox.refusal(place);
    if (refusal) return { kind: "refused", text: `Not saved: ${sentence(refusal.message)}`, mark: "!" };
    if (outbox.conflict(place)) return { kind: "conflict", text: "Saved elsewhere too", mark: "!" };
    if (this.session.isStale(place)) return { ...state, kind: `${state.kind} stale`, mark: "!", more: [...(state.more ?? []), "an earlier turn changed since"] };
    const sent = outbox.stateOf(place);
    if (sent === "saved") return state;
    return { ...state, kind: "unsaved", text: `${state.text}, ${sent === "saving" ? "saving" : "not saved yet"}`, mark: "…" };
  }

  /** @param {string} place @returns {PlaceState} */
  decisionAt(place) {
    const decision = this.session.value(place)?.decision;
    return decision ? (DECISIONS[decision] ?? { kind: decision, text: decision }) : { kind: "undecided", text: "Undecided", mark: "" };
  }

  // ---- what the session uses ---------------------------------------------------------------------------------------

  /** @param {{state: SaveState, waiting: number, message: string}} now */
  showSaveState(now) {
    const isTrouble = now.state !== "saved" && now.state !== "saving";
    const was = this._saving.state;
    this._saving = now;
    if (isTrouble && was !== now.state && now.state !== "refused") this._said = this._saveText();
    else if (now.state === "saved" && !["saved", "saving"].includes(was)) this._said = "All saved.";
    this.draw();
  }

  /** @param {string} place */
  saved(place) {
    if (this._isWarning && place === this.place && !this._refusal) this._said = "";
    this.view.saved?.(place);
    this.draw();
  }

  /** The server refused what was entered at a place: it is shown with the reason. @param {string} place */
  refused(place) {
    const refusal = this.session.outbox.refusal(place);
    if (!refusal) return;
    // People who type elsewhere meanwhile go on: the number shows the refusal, and submitting leads to it.
    const types = document.activeElement?.matches("input, textarea, select");
    if (this.place !== place && this.session.value(place)?.decision && !types) this.show(place);
    this._said = `${this.view.nameOf(place)} is not saved. ${sentence(refusal.findings[0]?.text ?? refusal.message)}`;
    this._isWarning = true;
    this.draw();
  }

  /** Asks which version of two windows stays. @param {string} place @param {any} mine @param {any} theirs @returns {Promise<Choice>} */
  askWhich(place, mine, theirs) {
    return new Promise((resolve) => {
      const choose = (/** @type {Choice} */ choice) => {
        this._merging = null;
        this.draw();
        resolve(choice);
      };
      this._merging = { place, mine, theirs, choose };
      this.draw();
    });
  }

  /** @param {string} place @param {Choice} choice @param {any} theirs */
  merged(place, choice, theirs) {
    this.show(place);
    if (choice === "edit") this.view.editOn?.(theirs);
    const hint = this.view.editOn ? "Edit your version. Its changes from the other version are shown." : "Edit your version.";
    this.say({ mine: "Your version is kept.", theirs: "The other version is kept.", edit: hint }[choice]);
  }

  // ---- submitting --------------------------------------------------------------------------------------------------

  /** Asks if the unit is to be submitted; if something is open, says what. */
  submit() {
    if (this._asking || !this.mayChange()) return;
    this.session.hurry();
    const lacking = this.session.openPlaces;
    if (lacking.length) {
      this._sayLacking(lacking);
      return;
    }
    this._asking = true;
    this.draw();
  }

  async _submit() {
    this._asking = false;
    this.view.beforeSubmit?.();
    this.draw();
    try {
      const lacking = await this.session.submit();
      if (lacking) this._sayLacking(lacking);
    } catch (error) {
      this.refuse(messageOf(error));
    }
  }

  /** Goes to the first of the places that are lacking, a refused one before others. @param {string[]} places */
  _sayLacking(places) {
    const { outbox } = this.session;
    const refused = places.find((place) => outbox.refusal(place));
    this.show(refused ?? places[0]);
    if (refused) {
      this.refused(refused);
      const field = outbox.refusal(refused)?.findings[0]?.field ?? outbox.refusal(refused)?.field;
      if (field) this.focus(selectorOf(field));
      return;
    }
    this.refuse(`Still to be decided: ${places.map((place) => this.view.nameOf(place)).join(", ")}.`);
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  /** @returns {Offers} */
  _offers() {
    const { view } = this;
    const bulk = (this.reply.in_bulk ?? []).filter((place) => !this.session.value(place)?.decision);
    /** @type {Offers} */
    const common = {
      undo: { act: () => this.session.step("undo") },
      redo: { act: () => this.session.step("redo") },
      ...(!view.panelOpen && { submit: { act: () => this.submit() } }),
      ...(bulk.length && this.isOpen && { bulk: { act: () => this.session.step("bulk"), button: `Accept ${bulk.length} unflagged` } }),
      "take-back": { act: () => this._takeBack() },
      next: { act: () => this.goTo(this._number + 1) },
      previous: { act: () => this.goTo(this._number - 1) },
      undecided: { act: () => this._goToOpen() },
      note: { act: () => this.focus("#note") },
      unsure: { act: () => document.getElementById("unsure")?.click() },
      leave: { act: () => this._leave() },
      ...(guideline && { guideline: { act: openGuideline } }),
      ...(view.moveEvidence && this.isOpen && {
        "start-here": { act: () => this._setTime("start") },
        "end-here": { act: () => this._setTime("end") },
        add: { act: () => this._setTime("interval") },
      }),
      "play-parts": { act: () => this._play(), video: "Play evidence" },
      "to-evidence": { act: () => this.toEvidence(), video: "To evidence" },
      "to-asked": { act: () => this.toAsked(), video: "To question" },
      keys: { act: () => this.keys.open() },
      ...videoOffers(this.playback),
    };
    for (const name of view.without ?? []) delete common[name];
    return { ...common, ...view.offers() };
  }

  _goToOpen() {
    const next = this.nextOpen();
    if (next === null) this.refuse(`All ${this.view.what}s are decided.`);
    else this.go(next);
  }

  _leave() {
    this.view.leave?.();
    this.session.hurry();
    document.getElementById("turn-title")?.focus({ preventScroll: true });
  }

  _play() {
    const times = this._times(this.place).evidence.filter(({ start_s, end_s }) => end_s > start_s);
    this.playback.playParts(times.length ? times : this.playback.clips);
  }

  _takeBack() {
    const id = this.reply.assignment.state === "submitted" ? this.session.id : this._handed_in?.id;
    if (id) takeBack(id).catch((error) => this.refuse(messageOf(error)));
  }

  // ---- life --------------------------------------------------------------------------------------------------------

  async componentDidMount() {
    const { view, spot, playback } = this;
    const start_s = spot?.time_s ?? this._times(this.place).evidence[0]?.start_s ?? playback.clips[0]?.start_s ?? 0;
    playback.addEventListener("moved", () => this._keepSpotSoon());
    const opening = playback.open(start_s);
    await this.session.open();
    // A place that somebody made is known when the outbox is open.
    if (spot && this.places.includes(spot.place)) this.place = spot.place;
    view.placed?.(null);
    const scroll = document.getElementById("fields-scroll");
    if (scroll) new ResizeObserver(() => this._bringIntoView()).observe(scroll);
    await opening;
    this.isOpened = true;
    this.draw(() => {
      this._bringIntoView();
      if (spot?.field && spot.place === this.place) this.focus(`#${spot.field}`);
      document.documentElement.dataset.ready = "true";
    });
  }

  /** Keeps where this person is, after a moment, once for several calls. */
  _keepSpotSoon() {
    this._spotTimer ??= window.setTimeout(() => this._keepSpot(), KEEP_MS);
  }

  _keepSpot() {
    clearTimeout(this._spotTimer);
    this._spotTimer = undefined;
    const field = document.activeElement?.matches("textarea, input") ? document.activeElement.id : "";
    this.session.keepSpot({ place: this.place, time_s: this.time_s, ...(field && { field }) });
  }

  /** @param {string} place */
  _times(place) {
    return this.view.timesOf?.(place) ?? { asked_at_s: null, evidence: [] };
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  render() {
    const { view, place, value, places } = this;
    const { state } = this._saving;
    const film = html`<${Watch} editor=${this} playback=${this.playback} turns=${places.map((each) => this._times(each))} current=${places.indexOf(place)}
      onEvidence=${view.moveEvidence && this.isOpen && this._moveEdge} />`;
    return html`
      <${Frame} editor=${this} film=${film} name=${this.reply.unit.name} state=${state} text=${this._saveText()}>
        <nav aria-label=${`${view.what}s`}><ol id="strip" class="strip">${places.map((each, n) => this._drawNumber(each, n))}</ol></nav>
        <div id="notices" role="alert">${this._drawNotices()}</div>
        ${view.Top && html`<${view.Top} view=${view} editor=${this} />`}
        <div id="fields-scroll" class="fields-scroll" tabindex="0" role="region" aria-label=${`The ${view.what}s of this task`}>
          <ol id="dialogue" class="places">${places.map((each) => (each === place ? this._drawOpen(place, value) : this._drawPlace(each)))}</ol>
        </div>
        <div id="decisions" class="decisions">
          <p id="said" class=${this._isWarning ? "said-line warn" : "said-line"} role="status">${this._said}</p>
          <fieldset class="bare" disabled=${!this.isOpen}>
            <legend class="unseen">Decision</legend>
            ${view.panelOpen && view.Panel ? html`<${view.Panel} view=${view} editor=${this} />` : this._drawButtons()}
          </fieldset>
        </div>
      <//>
      ${this._asking && this._drawQuestion()}
      ${this._merging && html`<${Merge} view=${view} reasons=${this.reply.reasons} ...${this._merging} />`}
    `;
  }

  /** The open place, with its fields. @param {string} place @param {any} value */
  _drawOpen(place, value) {
    const { view } = this;
    const { kind, text } = this.stateOf(place);
    return html`<li key=${place} id="open" class="open" aria-current="step">
      <div class="turn-head">
        <h2 id="turn-title" tabindex="-1">${this.titleOf(place)}</h2>
        <span id="turn-state" class=${`turn-state ${kind}`}>${text}</span>
        ${view.Head && html`<${view.Head} view=${view} editor=${this} place=${place} />`}
      </div>
      <${Findings} editor=${this} />
      <fieldset id="fields" class="bare" disabled=${!this.isOpen} onFocusOut=${() => this.session.hurry()}>
        <${view.Fields} view=${view} editor=${this} place=${place} value=${value} />
      </fieldset>
    </li>`;
  }

  /** A place that is not open, to read and to choose. @param {string} place */
  _drawPlace(place) {
    const value = this.session.value(place);
    const { question, answer, about } = this.view.saidOf?.(place) ?? { question: value?.question, answer: value?.references?.[0] };
    const { kind, text } = this.stateOf(place);
    return html`<li key=${place} class=${`closed-place ${kind}`} onClick=${() => this.go(place)}>
      <p class="about"><button type="button" class="quiet">${this.view.nameOf(place)}</button> ${about} <span class="decided">${text}</span></p>
      <p class="asked-text">${question}</p>
      ${answer && html`<p class="answer-text">${answer}</p>`}
    </li>`;
  }

  _moveEdge = (/** @type {number} */ n, /** @type {Interval} */ interval) => {
    this.chosen = n;
    this.view.moveEvidence?.(this.place, this._times(this.place).evidence.map((each, at) => (at === n ? interval : each)));
  };

  /** @param {string} place @param {number} n */
  _drawNumber(place, n) {
    const { kind, text, mark, more = [] } = this.stateOf(place);
    const name = `${this.view.nameOf(place)}: ${[text, ...more].join(", ").toLowerCase()}`;
    const isHere = place === this.place;
    const intoView = (/** @type {HTMLElement | null} */ shown) => isHere && shown?.scrollIntoView({ block: "nearest", inline: "nearest" });
    return html`<li key=${place}>
      <button type="button" class=${`turn-number ${kind}`} ref=${intoView} aria-current=${isHere ? "step" : undefined} aria-label=${name} title=${name} onClick=${() => this.go(place)}>
        ${this.view.shortOf?.(place) ?? n + 1}<span class="mark" aria-hidden="true">${mark ?? ""}</span>
      </button>
    </li>`;
  }

  _drawButtons() {
    const shown = this.keys.offered.filter(({ button }) => button);
    const left = this.session.openPlaces.length;
    const told = left ? `${left} of ${this.places.length} ${this.view.what}s need a decision` : "";
    const offers = this._offers();
    return html`<div class="actions" id="decide">
      ${shown.map(({ name, button, first }) => html`<${Act} editor=${this} key=${name} name=${name} class=${first ? "" : "second"} text=${button} />`)}
      ${/** @type {const} */ ([["undo", "Undo"], ["redo", "Redo"]]).map(([name, text]) => offers[name] && html`<${Act} editor=${this} key=${name} name=${name} class="quiet" text=${text} />`)}
      <${Act} editor=${this} name="submit" class=${`submit ${left ? "second" : ""}`} text=${this.view.submitText ?? "Submit"} title=${told} />
    </div>`;
  }

  _drawNotices() {
    const { state, note, round } = this.reply.assignment;
    return html`
      ${this._handed_in && html`<p class="note handed-in">Submitted: ${this._handed_in.name}. <${Act} editor=${this} name="take-back" class="second" text="Take it back" /></p>`}
      ${note && round > 1 && html`<div class="note"><strong>Returned to you: </strong>${note}</div>`}
      ${!this.isOpen && html`<div class="note">This work is ${state}: it can be read, not changed. ${" "}
        ${state === "submitted" && html`<${Act} editor=${this} name="take-back" class="second" text="Take it back" />`}</div>`}
    `;
  }

  _saveText() {
    const { state, waiting, message } = this._saving;
    const waits = waiting === 1 ? `1 ${this.view.what} waits` : `${waiting} ${this.view.what}s wait`;
    const text = {
      saved: "All saved",
      saving: "Saving…",
      offline: `Offline: ${waits} in this browser`,
      "signed-out": `Signed out: ${waits} in this browser`,
      conflict: "Saved elsewhere too",
      refused: `Not saved: ${sentence(message)}`,
      closed: `Not saved: ${sentence(message)} What you typed stays in this browser.`,
    }[state];
    return this.session.outbox.kept || state === "saved" ? text : `${text} This browser cannot keep your work. Do not close the page.`;
  }

  _drawQuestion() {
    const close = () => {
      this._asking = false;
      this.draw();
    };
    const told = countDecided(this.places.map((place) => this.session.value(place)), this.view.what);
    const { question = `Submit this ${this.content.unit ?? "task"}?`, summary = told, more } = this.view.submitting?.() ?? {};
    return html`<${Modal} id="confirm-submit" labelled="submit-title" onClose=${close}>
      <h2 id="submit-title">${question}</h2>
      <p>${summary}</p>
      ${more}
      <p class="actions">
        <button type="button" autofocus onClick=${() => void this._submit()}>Submit</button>
        <button type="button" class="second" onClick=${close}>Not yet</button>
      </p>
    <//>`;
  }
}

/** @param {{view: View, reasons: Reply["reasons"], place: string, mine: any, theirs: any, choose: (choice: Choice) => void}} props Escape edits, which loses nothing. */
function Merge({ view, reasons, place, mine, theirs, choose }) {
  const draft = view.draftOf(place);
  const cell = (/** @type {string} */ label, /** @type {string} */ text, /** @type {string} */ before) => html`<td data-label=${label}>
    ${!text ? html`<span class="soft">nothing</span>` : label === "Draft" ? text : html`<${Changes} before=${before} after=${text} />`}
  </td>`;
  // The heading gets the focus, so that somebody who is typing presses no button.
  return html`<${Modal} id="merge" class="merge" labelled="merge-title" onClose=${() => choose("edit")}>
    <h2 id="merge-title" tabindex="-1">${view.nameOf(place)} was saved elsewhere too</h2>
    <p>Another window saved it while you typed here. Nothing is lost: choose the version to keep. The other one stays in the history.</p>
    <div class="scroll"><table class="versions">
      <thead><tr>${["", "Draft", "Theirs: saved elsewhere", "Mine: typed here"].map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
      <tbody>${rowsOf([draft, theirs, mine]).map((row) => {
        const [before, other, own] = [draft, theirs, mine].map((value) => textOf(row, value, reasons));
        return other !== own && html`<tr><th scope="row">${labelOf(row.name)}</th>${cell("Draft", before, "")}${cell("Theirs", other, before)}${cell("Mine", own, before)}</tr>`;
      })}</tbody>
    </table></div>
    <p class="actions">
      <button type="button" onClick=${() => choose("mine")}>Take mine</button>
      <button type="button" onClick=${() => choose("theirs")}>Take theirs</button>
      <button type="button" class="quiet" onClick=${() => choose("edit")}>Edit, starting from mine</button>
    </p>
  <//>`;
}

/** Opens the work that the page holds. @param {new (editor: Editor) => View} View @param {(held: any) => Reply} [prepare] */
export function edit(View, prepare = (held) => held) {
  const root = /** @type {HTMLElement} */ (document.getElementById("work"));
  const held = /** @type {HTMLTemplateElement} */ (document.getElementById("opened")).content.textContent ?? "";
  root.replaceChildren();
  render(html`<${Editor} reply=${prepare(JSON.parse(held))} View=${View} />`, root);
}
