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
 *       linesOf(place, value) { return [["Question", value.question]]; }
 *       Fields = ({ view, place, value }) => html`<${Text} label="Question" value=${value.question} … />`;
 *       offers() { return { accept: { act: () => …, button: "Accept" } }; }        // names of actions.js
 *     }
 *     edit(Turns);
 *
 * The template extends `editor.html` and names the module: `{% block start %}turns{% endblock %}`. See `View` below for
 * everything that a view can have. A view changes a value with `editor.set(value)`, decides with `editor.decide(value)`,
 * and says `editor.draw()` after a change of its own. The chosen place is `editor.place`, its value `editor.value`.
 */

import { Act, Changes, Findings, Modal, selectorOf } from "./fields.js";
import { messageOf, sentence } from "./elements.js";
import { guideline, openGuideline } from "./guideline.js";
import { takeBack, takeHandedIn } from "./handed_in.js";
import { Keys } from "./keys.js";
import { SpotKeeper, lastSpot, putCaret } from "./resuming.js";
import { Session } from "./session.js";
import { DECIDED } from "./turnvalue.js";
import { Component, html, render } from "./vendor/preact.js";
import { Splitter } from "./splitter.js";
import { Playback, Watch, videoOffers } from "./watch.js";
import { ask } from "./workapi.js";

/** @typedef {import("./session.js").Reply} Reply */
/** @typedef {import("./session.js").Choice} Choice */
/** @typedef {[string, string][]} Lines A value as labelled lines. */
/**
 * @typedef {object} PlaceState How the strip shows a place.
 * @property {string} kind A CSS class, as `accepted`.
 * @property {string} text As `Accepted`.
 * @property {string} [mark] A sign in the strip.
 * @property {string[]} [more] More that its name says, as `a check flagged it`.
 */
/**
 * @typedef {object} View A task. All but the first six are optional.
 * @property {string} what A place, for people: `turn`.
 * @property {(place: string) => string} nameOf As `Turn 2`.
 * @property {(place: string) => any} draftOf The value that people start from; null if there is none.
 * @property {(place: string, value: any) => Lines} linesOf To compare the versions of two windows.
 * @property {(props: {view: any, editor: Editor, place: string, value: any}) => any} Fields Component with the fields of the open place.
 * @property {() => import("./keys.js").Offers} offers What keys and buttons do at the moment; the editor adds the video, undo and so on.
 * @property {import("./actions.js").ActionName[]} [without] Names of actions of the editor that the task does not have.
 * @property {string[]} [places] The places, in order. By default those that the server names and those that were made.
 * @property {(place: string) => string} [titleOf] The heading. By default `Turn 2 of 8`.
 * @property {(place: string) => PlaceState} [stateOf] By default undecided or the decision.
 * @property {(place: string) => any} [shortOf] What the strip shows of the place. By default its number.
 * @property {(place: string) => {question: any, answer?: any, about?: any}} [saidOf] How a place reads that is not open.
 * @property {(place: string, value: any) => boolean} [isDecided] By default: its `decision` is not null.
 * @property {(place: string) => {asked_at_s: number | null, evidence: Interval[]}} [timesOf] Its times on the bar.
 * @property {(place: string, change: {evidence: Interval[]}) => void} [moveEvidence] Somebody dragged an edge on the bar.
 * @property {(place: string) => string} [questionOf] What full screen shows; by default the `question` of the value.
 * @property {(place: string) => Interval[]} [partsOf] What is played by the key P; by default the evidence, or the clips.
 * @property {(props: {view: any, editor: Editor}) => any} [Top] What is above the places and does not scroll with them, as a board.
 * @property {(props: {view: any, editor: Editor, place: string}) => any} [Head] Beside the heading, as a choice of comparison.
 * @property {(props: {view: any, editor: Editor}) => any} [Panel] In place of the decision bar while `panelOpen`.
 * @property {boolean} [panelOpen]
 * @property {() => {question?: string, summary?: string, more?: any}} [submitting] What is asked before the unit is submitted; `more`: fields.
 * @property {() => void} [beforeSubmit] Saves what submitting says.
 * @property {(from: string | null) => void} [placed] Another place was chosen.
 * @property {(place: string) => void} [saved] The server has another revision of a place.
 * @property {(theirs: any) => void} [editOn] Shows the other version when a person chooses to edit their own.
 * @property {(theirs: any) => boolean} [stands] True: the version of the other window stays, without a question.
 * @property {() => void} [leave] Escape was pressed outside of a field.
 * @property {string} [submitText] Of the button; "Submit" by default.
 * @property {string} [home] The page after the last unit; `/` by default.
 */
/** @typedef {import("./player.js").Interval} Interval */

const KINDS = Object.freeze({ accept: "accepted", edit: "edited", reject: "rejected", skip: "skipped" });
const MARKS = Object.freeze({ accept: "✓", edit: "✎", reject: "✕", skip: "–" });

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
    this.spot = lastSpot(reply.assignment.id);
    const at = this.spot && this.places.includes(this.spot.place) ? this.spot.place : null;
    /** The chosen place. */
    this.place = at ?? this.session.openPlaces[0] ?? this.places[0] ?? "";
    /** True once the video shows the place where this person was. */
    this.isOpened = false;
    this._said = "";
    this._isWarning = false;
    this._notice = "";
    /** @type {{place: string, field: string | null, text: string} | null} What this page refused, until something changes. */
    this._refusal = null;
    this._handed_in = takeHandedIn();
    this._saving = { state: /** @type {import("./outbox.js").State} */ ("saved"), waiting: 0, message: "" };
    /** @type {{place: string, mine: any, theirs: any, choose: (choice: Choice) => void} | null} */
    this._merging = null;
    this._asking = false;
    this.keys = new Keys(() => this._offers(), () => this.draw());
    this._spots = new SpotKeeper(reply.assignment.id, document.body, () => ({ place: this.place, time_s: this.time_s }));
  }

  // ---- what views use ----------------------------------------------------------------------------------------------

  /** True while the work can be changed. */
  get isOpen() {
    return this.session.isOpen;
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
    if (!this.isOpen) return;
    this._notice = "";
    this._refusal = null;
    this.session.put(place, value, { now });
    this._spots.soon();
    this.draw();
  }

  /**
   * Saves a decision at the chosen place, and goes to the next one that needs one. If something was just changed there, this
   * first waits for the server's answer, and stays at a refusal; keys that are pressed meanwhile wait too.
   * @param {any} value @param {string} [told] As `Turn 2: accepted.`
   */
  decide(value, told = "") {
    if (!this.isOpen) return;
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

  /** Goes on by a number of places. @param {number} by */
  goBy(by) {
    this.go(this.places[this.places.indexOf(this.place) + by]);
  }

  /** Shows a place without moving the focus. @param {string} place */
  show(place) {
    const from = this.place;
    if (from !== place) this.session.hurry();
    this.place = place;
    this.chosen = 0;
    this._refusal = null;
    this.view.placed?.(from);
    this._spots.soon();
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

  /** Goes to the first of some parts of the video, or to the one after the one that is shown. @param {Interval[]} parts @param {string} none Said if there are none. */
  toPart(parts, none) {
    const at = parts.findIndex(({ start_s }) => Math.abs(this.time_s - start_s) < 0.1);
    const part = parts[(at + 1) % parts.length];
    if (part) this.seek(part.start_s);
    else this.refuse(none);
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

  /** What makes no sense at the open place, as the server or this page found it. @returns {import("./workapi.js").Finding[]} */
  get findings() {
    const refusal = this.session.outbox.refusal(this.place);
    const told = refusal && !refusal.findings.length ? [{ field: refusal.field ?? "", text: sentence(refusal.message) }] : [];
    const own = this._refusal?.place === this.place && this._refusal.field !== null ? [this._refusal] : [];
    const found = refusal?.findings.length ? refusal.findings : (this.session.findings.get(this.place) ?? []);
    return [...own, ...told, ...found].map((each) => ({ turn: 0, may_go_on: false, ...each, field: each.field ?? "" }));
  }

  /** @param {string} text Shown above the fields until the next change. */
  notify(text) {
    this._notice = text;
    this.draw();
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
    const state = this.view.stateOf?.(place) ?? this._decisionAt(place);
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
  _decisionAt(place) {
    const decision = /** @type {keyof typeof KINDS | null} */ (this.session.value(place)?.decision ?? null);
    if (!decision) return { kind: "undecided", text: "Undecided" };
    return { kind: KINDS[decision] ?? decision, text: DECIDED[decision] ?? decision, mark: MARKS[decision] };
  }

  // ---- what the session uses ---------------------------------------------------------------------------------------

  /** @param {{state: import("./outbox.js").State, waiting: number, message: string}} now */
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
    // Whoever types elsewhere meanwhile goes on: the number shows the refusal, and submitting leads to it.
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
    if (!this.isOpen || this._asking) return;
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
      this.notify(messageOf(error));
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
    const names = places.map((place) => this.view.nameOf(place)).join(", ");
    this.notify(`Still to be decided: ${names}.`);
    this.refuse(`Still to be decided: ${names}.`);
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  /** @returns {import("./keys.js").Offers} */
  _offers() {
    const { view } = this;
    const open = !view.panelOpen;
    /** @type {import("./keys.js").Offers} */
    const common = {
      undo: { act: () => this.session.step("undo") },
      redo: { act: () => this.session.step("redo") },
      ...(open && { submit: { act: () => this.submit() } }),
      "take-back": { act: () => this._takeBack() },
      next: { act: () => this.goBy(1) },
      previous: { act: () => this.goBy(-1) },
      undecided: { act: () => this._goToOpen() },
      note: { act: () => this.focus("#note") },
      unsure: { act: () => document.getElementById("unsure")?.click() },
      leave: { act: () => this._leave() },
      ...(guideline && { guideline: { act: openGuideline } }),
      "play-parts": { act: () => this._play(), video: "Play evidence" },
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
    const parts = this.view.partsOf?.(this.place) ?? (times.length ? times : this.playback.clips);
    this.playback.playParts(parts);
  }

  _takeBack() {
    const back = this.reply.assignment.state === "submitted" ? this.session.reopen() : this._handed_in ? takeBack(this._handed_in.id) : null;
    back?.catch((error) => this.notify(messageOf(error)));
  }

  // ---- life --------------------------------------------------------------------------------------------------------

  async componentDidMount() {
    const { view, spot, playback } = this;
    const start_s = spot?.time_s ?? this._times(this.place).evidence[0]?.start_s ?? playback.clips[0]?.start_s ?? 0;
    playback.addEventListener("moved", () => this._spots.soon());
    this.keys.label();
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
      if (spot && this.places.includes(spot.place)) putCaret(spot);
      document.documentElement.dataset.ready = "true";
    });
  }

  componentDidUpdate() {
    this.keys.label();
  }

  /** @param {string} place */
  _times(place) {
    return this.view.timesOf?.(place) ?? { asked_at_s: null, evidence: [] };
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  render() {
    const { view, place, value } = this;
    const { unit } = this.reply;
    return html`
      <div class="editor">
        <${Watch} playback=${this.playback} turns=${this.places.map((each) => this._times(each))} current=${this.places.indexOf(place)} links=${this.content.links ?? []}
          question=${(place && view.questionOf?.(place)) ?? value?.question} buttons=${this._videoButtons()} onEvidence=${view.moveEvidence && this.isOpen && this._moveEvidence} />
        <${Splitter} />
        <div class="side">
          <header class="work-head">
            <h1>${unit.name}</h1>
            ${this._drawSaveState()}
            <span class="help">
              ${guideline && html`<${Act} editor=${this} name="guideline" id="show-guideline" class="quiet" text="Guideline" />`}
              <${Act} editor=${this} name="keys" id="show-keys" class="quiet" text="Keys" />
            </span>
          </header>
          <nav aria-label=${`${view.what}s`}><ol id="strip" class="strip">${this.places.map((each, n) => this._drawNumber(each, n))}</ol></nav>
          <div id="notices" role="alert">${this._drawNotices()}</div>
          ${view.Top && html`<${view.Top} view=${view} editor=${this} />`}
          <div id="fields-scroll" class="fields-scroll" tabindex="0" role="region" aria-label=${`The ${view.what}s of this task`}>
            <ol id="dialogue" class="places">${this.places.map((each) => (each === place ? this._drawOpen(place, value) : this._drawPlace(each)))}</ol>
          </div>
          <div id="decisions" class="decisions">
            <p id="said" class=${this._isWarning ? "said-line warn" : "said-line"} role="status">${this._said}</p>
            <fieldset class="bare" disabled=${!this.isOpen}>
              <legend class="unseen">Decision</legend>
              ${view.panelOpen && view.Panel ? html`<${view.Panel} view=${view} editor=${this} />` : this._drawButtons()}
            </fieldset>
          </div>
        </div>
      </div>
      ${this._asking && this._drawQuestion()}
      ${this._merging && html`<${Merge} view=${view} ...${this._merging} />`}
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

  _videoButtons() {
    return this.keys.offered.flatMap(({ name, video }) => (video ? [{ name, label: video, act: () => this.keys.run(name) }] : []));
  }

  _moveEvidence = (/** @type {number} */ n, /** @type {Interval} */ interval) => {
    this.chosen = n;
    this.view.moveEvidence?.(this.place, { evidence: this._times(this.place).evidence.map((each, at) => (at === n ? interval : each)) });
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
      ${this._notice && html`<p class="note passing">${this._notice}</p>`}
    `;
  }

  _saveText() {
    const { state, waiting, message } = this._saving;
    const waits = waiting === 1 ? `1 ${this.view.what} waits` : `${waiting} ${this.view.what}s wait`;
    return {
      saved: "All saved",
      saving: "Saving…",
      offline: `Offline: ${waits} in this browser`,
      "signed-out": `Signed out: ${waits} in this browser`,
      conflict: "Saved elsewhere too",
      refused: `Not saved: ${sentence(message)}`,
      closed: `Not saved: ${sentence(message)} What you typed stays in this browser.`,
    }[state];
  }

  _drawSaveState() {
    const { state } = this._saving;
    const lost = !this.session.outbox.kept && state !== "saved";
    // The link opens a new tab, so this page and its text stay.
    return html`<p id="save-state" class=${`save-state ${state}`}>
      <span class="state-dot" aria-hidden="true"></span>${this._saveText()}${" "}
      ${state === "signed-out" && html`<a href="/sign-in" target="_blank" rel="opener">Sign in in a new tab</a>`}
      ${lost && html`<strong> This browser cannot keep your work. Do not close the page.</strong>`}
    </p>`;
  }

  _drawQuestion() {
    const close = () => {
      this._asking = false;
      this.draw();
    };
    const { question = "Submit this task?", summary = "", more } = this.view.submitting?.() ?? {};
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

/** @param {{view: View, place: string, mine: any, theirs: any, choose: (choice: Choice) => void}} props Escape edits, which loses nothing. */
function Merge({ view, place, mine, theirs, choose }) {
  const [inDraft, inTheirs, inMine] = [view.draftOf(place), theirs, mine].map((value) => new Map(value === null ? [] : view.linesOf(place, value)));
  const names = [...new Set([inDraft, inTheirs, inMine].flatMap((lines) => [...lines.keys()]))];
  const cell = (/** @type {string} */ label, /** @type {string} */ before, /** @type {string} */ text) => html`<td data-label=${label}>
    ${!text ? html`<span class="soft">nothing</span>` : label === "Draft" ? text : html`<${Changes} before=${before} after=${text} />`}
  </td>`;
  // The heading gets the focus, so that somebody who is typing presses no button.
  return html`<${Modal} id="merge" class="merge" labelled="merge-title" onClose=${() => choose("edit")}>
    <h2 id="merge-title" tabindex="-1">${view.nameOf(place)} was saved elsewhere too</h2>
    <p>Another window saved it while you typed here. Nothing is lost: choose the version to keep. The other one stays in the history.</p>
    <div class="scroll"><table class="versions">
      <thead><tr>${["", "Draft", "Theirs: saved elsewhere", "Mine: typed here"].map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
      <tbody>${names
        .filter((name) => inTheirs.get(name) !== inMine.get(name))
        .map((name) => {
          const before = inDraft.get(name) ?? "";
          return html`<tr><th scope="row">${name}</th>${cell("Draft", "", before)}${cell("Theirs", before, inTheirs.get(name) ?? "")}${cell("Mine", before, inMine.get(name) ?? "")}</tr>`;
        })}</tbody>
    </table></div>
    <p class="actions">
      <button type="button" onClick=${() => choose("mine")}>Take mine</button>
      <button type="button" onClick=${() => choose("theirs")}>Take theirs</button>
      <button type="button" class="quiet" onClick=${() => choose("edit")}>Edit, starting from mine</button>
    </p>
  <//>`;
}

/**
 * Opens the work that the page is about.
 * @param {new (editor: Editor) => View} View
 * @param {{path?: string, prepare?: (reply: any) => Reply}} [options] `path` of the answer about the work, if the page does not hold it.
 */
export function edit(View, { path = "/api/work/", prepare = (reply) => reply } = {}) {
  const root = /** @type {HTMLElement} */ (document.getElementById("work"));
  const held = document.getElementById("opened");
  const asked = held instanceof HTMLTemplateElement ? Promise.resolve(JSON.parse(held.content.textContent ?? "")) : ask(path + encodeURIComponent(root.dataset.assignment ?? ""));
  asked
    .then((reply) => {
      root.replaceChildren();
      render(html`<${Editor} reply=${prepare(reply)} View=${View} />`, root);
    })
    .catch((error) => {
      root.textContent = `This work cannot be opened. ${messageOf(error)} Reload the page to try again.`;
      console.error(error);
    });
}
