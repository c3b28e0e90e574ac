// @ts-check
/** The review of the turns of a chain or a dialogue: accept, edit, reject or skip each of them. */

import { About, isFlagged } from "./checks.js";
import { clock, messageOf } from "./elements.js";
import { edit } from "./editor.js";
import { Act, Answers, AskedAt, Evidence, Labels, Note, Options, Text, knownVocabularies, withTime } from "./fields.js";
import { DECIDED, countDecided, isSameWork, kindOf, linesOf, startOf } from "./turnvalue.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Action} Action */

const DECIDING = "deciding";
/** Mode while the panel of reasons is open. */
const REJECTING = "rejecting";
const COMPARED = /** @type {const} */ (["off", "draft", "last"]);
const COMPARISONS = { off: "hidden", draft: "from the draft", last: "from the last revision" };
const MARKS = Object.freeze({ accept: "✓", edit: "✎", reject: "✕", skip: "–" });

export class Turns {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "turn";
    this.panelOpen = false;
    this.problem = "";
    /** @type {"off" | "draft" | "last"} */
    this.compared = "off";
    /** @type {TurnValue | null} The version with which the fields are compared. */
    this.against = null;
    this.known = knownVocabularies(editor.content);
    this.reasons = editor.reply.reasons;
    this.Fields = Fields;
    this.Before = Before;
    this.Head = Compare;
    this.Panel = Rejecting;
  }

  /** @param {string} place */
  nameOf(place) {
    return `Turn ${Number(place) + 1}`;
  }

  /** @param {string} place */
  draftOf(place) {
    return startOf(this.editor.content.turns[Number(place)] ?? {});
  }

  /** @param {string} _ @param {TurnValue} value */
  linesOf(_, value) {
    return linesOf(value, this.reasons);
  }

  /** @param {string} place */
  stateOf(place) {
    const { decision } = /** @type {TurnValue} */ (this.editor.session.value(place));
    const flagged = (this.editor.content.checks[place] ?? []).some(isFlagged);
    return {
      kind: kindOf(decision),
      text: decision ? DECIDED[decision] : "Undecided",
      mark: decision ? MARKS[decision] : flagged ? "⚑" : "",
      more: flagged ? ["a check flagged it"] : [],
    };
  }

  /** @param {string} place @returns {TurnValue} */
  timesOf(place) {
    return this.editor.session.value(place);
  }

  /** @param {string} place @param {{evidence: import("./player.js").Interval[]}} change */
  moveEvidence(place, { evidence }) {
    this.editor.set({ ...this.editor.session.value(place), evidence, decision: null }, { place });
  }

  mode() {
    return this.panelOpen ? REJECTING : DECIDING;
  }

  submitting() {
    const values = this.editor.places.map((place) => this.editor.session.value(place));
    return { question: `Submit this ${this.editor.content.unit}?`, summary: countDecided(values) };
  }

  placed() {
    this.panelOpen = false;
    this.problem = "";
    void this.compare();
  }

  saved() {
    if (this.compared === "last") void this.compare();
  }

  /** @param {TurnValue} theirs */
  editOn(theirs) {
    this.against = theirs;
    this.editor.focus("#question");
  }

  leave() {
    this.panelOpen = false;
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** Something was typed: the turn needs a new decision. @param {Partial<TurnValue>} more */
  type(more) {
    this.editor.set({ ...this.editor.value, decision: null, ...more });
  }

  /** @param {"accept" | "reject" | "skip"} decision */
  decide(decision) {
    const { editor } = this;
    const value = /** @type {TurnValue} */ (editor.value);
    if (!editor.isOpen) return;
    if (decision === "accept" && !value.question.trim()) {
      editor.say("A turn that is accepted needs a question.");
      editor.focus("#question");
      return;
    }
    const reasons = decision === "reject" ? value.reasons : [];
    editor.decide({ ...value, reasons, decision }, `${this.nameOf(editor.place)}: ${DECIDED[decision].toLowerCase()}.`);
  }

  openPanel() {
    if (!this.editor.isOpen) return;
    this.panelOpen = true;
    this.editor.focus("#reject-title");
  }

  confirm() {
    const { reasons, note } = /** @type {TurnValue} */ (this.editor.value);
    if (!reasons.length) this.problem = "Tick at least one reason.";
    else if (reasons.includes("other") && !note.trim()) {
      this.problem = "Write the other reason into the note.";
      this.editor.focus("#note");
    } else {
      this.decide("reject");
      return;
    }
    this.editor.draw();
  }

  /** Ticks a reason, or removes the tick. @param {string | undefined} name */
  tick(name) {
    if (name === undefined) return;
    const { reasons } = /** @type {TurnValue} */ (this.editor.value);
    this.problem = "";
    const ticked = reasons.includes(name) ? reasons.filter((each) => each !== name) : [...reasons, name];
    this.type({ reasons: this.reasons.map((each) => each.name).filter((each) => ticked.includes(each)) });
  }

  /** Keeps a decision after an earlier turn was changed. */
  stillRight() {
    const { editor } = this;
    if (!editor.session.isStale(editor.place)) return;
    editor.set({ ...editor.value }, { now: true });
    editor.say("Kept.");
    editor.go(editor.nextOpen() ?? undefined);
  }

  /** @param {"start" | "end" | "interval" | "asked"} what */
  setTime(what) {
    const { editor } = this;
    if (what === "asked") this.type({ asked_at_s: editor.playback.mark_s });
    else this.type({ evidence: withTime(editor, editor.value.evidence, what) });
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  /** @param {"off" | "draft" | "last"} [to] Shows the changes from another version. */
  async compare(to = this.compared) {
    const { editor } = this;
    const { place } = editor;
    this.compared = to;
    this.against = to === "off" ? null : this.draftOf(place);
    editor.draw();
    if (to !== "last") return;
    try {
      const { versions } = await editor.session.history(place);
      if (place !== editor.place || this.compared !== "last") return;
      const last = versions.findLast(({ value }) => value?.decision && !isSameWork(value, editor.value));
      if (last) this.against = last.value;
      else editor.say("There is no other revision. The draft is shown for comparison.");
      editor.draw();
    } catch (error) {
      editor.say(messageOf(error));
    }
  }

  nextComparison() {
    const next = COMPARED[(COMPARED.indexOf(this.compared) + 1) % COMPARED.length];
    this.editor.say(`Changes: ${COMPARISONS[next]}.`);
    void this.compare(next);
  }

  toEvidence() {
    const { editor } = this;
    const { evidence } = editor.value;
    const at = evidence[editor.chosen];
    if (at && Math.abs(editor.time_s - at.start_s) < 0.1) editor.chosen = (editor.chosen + 1) % evidence.length;
    const to = evidence[editor.chosen];
    if (to) editor.seek(to.start_s);
    else editor.say("This turn has no evidence.");
    editor.draw();
  }

  toAsked() {
    const { asked_at_s } = this.editor.value;
    if (asked_at_s === null) this.editor.say("This turn has no time at which it is asked.");
    else this.editor.seek(asked_at_s);
  }

  /** @returns {Action[]} */
  actions() {
    const { editor } = this;
    const numbers = Array.from({ length: 9 }, (_, n) => `${n + 1}`);
    return [
      { name: "accept", label: "Accept, with your changes if any, and continue", group: "Decide", keys: ["a", "Ctrl+Enter"], act: () => this.decide("accept"), mode: DECIDING, button: "Accept", first: true },
      { name: "reject", label: "Reject: say why", group: "Decide", keys: ["r"], act: () => this.openPanel(), mode: DECIDING, button: "Reject" },
      { name: "skip", label: "Skip, and continue", group: "Decide", keys: ["s"], act: () => this.decide("skip"), mode: DECIDING, button: "Skip" },
      { name: "still-right", label: "Still right, though an earlier turn changed", group: "Decide", keys: ["y"], act: () => this.stillRight(), mode: DECIDING },
      { name: "confirm", label: "Reject, and continue", group: "While rejecting", keys: ["Ctrl+Enter", "Enter", "r"], act: () => this.confirm(), mode: REJECTING },
      { name: "reasons", label: "Tick a reason", group: "While rejecting", keys: numbers, range: "1–9", act: (key) => this.tick(this.reasons[Number(key) - 1]?.name), mode: REJECTING },
      { name: "turns", label: "Go to a turn by its number", group: "Go", keys: numbers, range: "1–9", act: (key) => editor.go(editor.places[Number(key) - 1]), mode: DECIDING },
      { name: "question", label: "Edit the question", group: "Fields", keys: ["q"], act: () => editor.focus("#question") },
      { name: "answer", label: "Edit the answer", group: "Fields", keys: ["w"], act: () => editor.focus("#reference-0, #add-reference") },
      { name: "labels", label: "Edit the labels", group: "Fields", keys: ["g"], act: () => editor.focus(".labels input") },
      { name: "start-here", label: "Evidence starts here", group: "Fields", keys: ["i"], act: () => this.setTime("start") },
      { name: "end-here", label: "Evidence ends here", group: "Fields", keys: ["o"], act: () => this.setTime("end") },
      { name: "add-interval", label: "Add an interval of evidence here", group: "Fields", keys: ["n"], act: () => this.setTime("interval") },
      { name: "asked-here", label: "Asked here", group: "Fields", keys: ["m"], act: () => this.setTime("asked") },
      { name: "compare", label: "Show changes from the draft, from the last revision, or none", group: "Fields", keys: ["d"], act: () => this.nextComparison() },
      { name: "to-evidence", label: "Go to the evidence, then to the next interval", group: "Video", keys: ["v"], act: () => this.toEvidence(), video: "To evidence" },
      { name: "to-asked", label: "Go to the time of the question", group: "Video", keys: ["t"], act: () => this.toAsked(), video: "To question" },
    ];
  }
}

/** @param {{view: Turns, editor: Editor, place: string, value: TurnValue}} props */
function Fields({ view, editor, place, value }) {
  const { against } = view;
  const type = view.type.bind(view);
  return html`
    <${About} content=${editor.content} place=${place} seek=${editor.seek.bind(editor)} />
    <${Text} label="Question" id="question" value=${value.question} before=${against && against.question} change=${(/** @type {string} */ question) => type({ question })} />
    <${Answers} key=${place} value=${value.references} before=${against && against.references} change=${(/** @type {string[]} */ references) => type({ references })} />
    ${value.options && html`<${Options} value=${value.options} right=${value.correct_option} change=${(/** @type {string[]} */ options, /** @type {number | null} */ correct_option) => type({ options, correct_option })} />`}
    <div class="times">
      <${AskedAt} editor=${editor} value=${value.asked_at_s} change=${(/** @type {number | null} */ asked_at_s) => type({ asked_at_s })} />
      <${Evidence} editor=${editor} value=${value.evidence} change=${(/** @type {any} */ evidence) => type({ evidence })} />
    </div>
    <${Labels} known=${view.known} value=${value.labels} change=${(/** @type {any} */ labels) => type({ labels })} />
    ${!view.panelOpen && html`<${Note} value=${value} change=${(/** @type {any} */ more) => type({ ...more, decision: value.decision })} />`}
  `;
}

/** The turns before, as they are decided. @param {{editor: Editor, place: string, view: Turns}} props */
function Before({ view, editor, place }) {
  const { places, session } = editor;
  const before = places.slice(0, places.indexOf(place));
  return html`
    <div id="stale" class="note" hidden=${!session.isStale(place)}>
      <p>An earlier turn was changed or rejected after you decided this one. Check that this turn still fits.</p>
      <${Act} editor=${editor} name="still-right" text="Still right" />
    </div>
    <section class="dialogue" aria-labelledby="dialogue-title">
      <details id="dialogue-fold" open=${!matchMedia("(max-width: 60rem)").matches}>
        <summary><h2 id="dialogue-title">Dialogue so far${before.length ? ` (${before.length})` : ""}</h2></summary>
        <${Said} places=${before} valueOf=${(/** @type {string} */ each) => session.value(each)} view=${view} editor=${editor} />
      </details>
    </section>`;
}

/**
 * Turns as they were said, the last at the end of what is seen.
 * @param {{places: string[], valueOf: (place: string) => TurnValue, view: {nameOf: (place: string) => string}, editor: Editor}} props
 */
export function Said({ places, valueOf, view, editor }) {
  const toEnd = (/** @type {HTMLElement | null} */ shown) => shown?.scrollTo({ top: shown.scrollHeight });
  return html`<div id="dialogue" class="dialogue-text" tabindex="0" role="group" aria-labelledby="dialogue-title" key=${places.length} ref=${toEnd}>
    ${!places.length && html`<p class="soft">This is the first turn. There are no turns before it.</p>`}
    <ol class="said-before">${places.map((place) => {
      const { decision, asked_at_s, question, references } = valueOf(place);
      const stale = editor.session.isStale(place);
      return html`<li key=${place} class=${`${kindOf(decision)} ${stale ? "stale" : ""}`}>
        <p class="about">
          <button type="button" class="quiet" onClick=${() => editor.go(place)}>${view.nameOf(place)}</button>
          ${asked_at_s !== null && html`<span>${clock(asked_at_s)}</span>`}
          <span class="decided">${decision ? DECIDED[decision] : "Undecided"}</span>
          ${stale && html`<span class="warn">look again</span>`}
        </p>
        <p class="asked-text">${question}</p>
        ${references.slice(0, 1).map((text) => html`<p class="answer-text">${text}</p>`)}
      </li>`;
    })}</ol>
  </div>`;
}

/** @param {{view: Turns}} props */
function Compare({ view }) {
  return html`<label class="compare">Changes
    <select id="compare" value=${view.compared} onChange=${(/** @type {any} */ { target }) => void view.compare(target.value)}>
      ${COMPARED.map((name) => html`<option value=${name} selected=${name === view.compared}>${COMPARISONS[name]}</option>`)}
    </select></label>`;
}

/** The panel for rejecting: reasons, by click or by number, and the note. @param {{view: Turns, editor: Editor}} props */
function Rejecting({ view, editor }) {
  const value = /** @type {TurnValue} */ (editor.value);
  return html`<div id="reject-panel" class="reject-panel" role="group" aria-labelledby="reject-title">
    <h3 id="reject-title" tabindex="-1">Why is it rejected?</h3>
    <div id="reasons" class="reasons">${view.reasons.map(
      ({ name, title }, n) => html`<label for=${`reason-${name}`} key=${name}>
        <input type="checkbox" id=${`reason-${name}`} value=${name} checked=${value.reasons.includes(name)} onChange=${() => view.tick(name)} />
        <span>${title}</span>${n < 9 && html`<kbd aria-hidden="true">${n + 1}</kbd>`}
      </label>`,
    )}</div>
    <${Note} value=${value} change=${(/** @type {any} */ more) => view.type(more)} />
    <p id="reject-problem" class="warn" role="alert">${view.problem}</p>
    <p class="actions">
      <${Act} editor=${editor} name="confirm" id="reject-confirm" text="Reject" />
      <${Act} editor=${editor} name="leave" id="reject-cancel" class="second" text="Do not reject" />
    </p>
  </div>`;
}

export function start() {
  edit(Turns);
}
