// @ts-check
/** The review of the turns of a chain or a dialogue: accept, edit, reject or skip each of them. */

import { Flags, Links, isFlagged } from "./checks.js";
import { clock, messageOf, sentence } from "./elements.js";
import { edit } from "./editor.js";
import { Act, Answers, AskedAt, Evidence, Labels, Note, Options, Text, knownVocabularies, withTime } from "./fields.js";
import { DECIDED, countDecided, isSameWork, kindOf, linesOf, startOf } from "./turnvalue.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./editor.js").Editor} Editor */

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
    this.Head = Head;
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

  /** @param {string} place */
  saidOf(place) {
    const { question, references, options, correct_option, asked_at_s } = /** @type {TurnValue} */ (this.editor.session.value(place));
    return { question, answer: references[0] ?? options?.[correct_option ?? -1], about: asked_at_s !== null && clock(asked_at_s) };
  }

  /** @param {string} place @returns {TurnValue} */
  timesOf(place) {
    return this.editor.session.value(place);
  }

  /** @param {string} place @param {{evidence: import("./player.js").Interval[]}} change */
  moveEvidence(place, { evidence }) {
    this.editor.set({ ...this.editor.session.value(place), evidence, decision: null }, { place });
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
      editor.refuse("A turn that is accepted needs a question.", "question");
      return;
    }
    const found = decision === "accept" && editor.session.outbox.stateOf(editor.place) === "saved" ? editor.findings : [];
    const stops = found.find(({ may_go_on }) => !may_go_on) ?? (value.kept_because?.trim() ? undefined : found[0]);
    if (stops) {
      editor.refuse(sentence(stops.text));
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
    editor.decide({ ...editor.value }, "Kept.");
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
      else editor.refuse("There is no other revision. The draft is shown for comparison.");
      editor.draw();
    } catch (error) {
      editor.refuse(messageOf(error));
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
    else editor.refuse("This turn has no evidence.");
    editor.draw();
  }

  toAsked() {
    const { asked_at_s } = this.editor.value;
    if (asked_at_s === null) this.editor.refuse("This turn has no time at which it is asked.");
    else this.editor.seek(asked_at_s);
  }

  /** Opens the labels, and moves the focus to the first field. */
  openLabels() {
    const fold = document.getElementById("labels-fold");
    if (fold instanceof HTMLDetailsElement) fold.open = true;
    this.editor.focus(".labels input");
  }

  /** @returns {import("./keys.js").Offers} */
  offers() {
    const { editor } = this;
    const fields = {
      question: { act: () => editor.focus("#question") },
      answer: { act: () => editor.focus("#reference-0", "#add-reference") },
      labels: { act: () => this.openLabels() },
      "start-here": { act: () => this.setTime("start") },
      "end-here": { act: () => this.setTime("end") },
      add: { act: () => this.setTime("interval") },
      "asked-here": { act: () => this.setTime("asked") },
      compare: { act: () => this.nextComparison() },
      "to-evidence": { act: () => this.toEvidence(), video: "To evidence" },
      "to-asked": { act: () => this.toAsked(), video: "To question" },
    };
    if (this.panelOpen) {
      const confirm = { act: () => this.confirm() };
      return { ...fields, done: confirm, confirm, reject: confirm, choose: { act: (key) => this.tick(this.reasons[Number(key) - 1]?.name) } };
    }
    return {
      ...fields,
      accept: { act: () => this.decide("accept"), button: "Accept", first: true },
      done: { act: () => this.decide("accept") },
      reject: { act: () => this.openPanel(), button: "Reject" },
      skip: { act: () => this.decide("skip"), button: "Skip" },
      ...(editor.session.isStale(editor.place) && { fits: { act: () => this.stillRight() } }),
      choose: { act: (key) => editor.go(editor.places[Number(key) - 1]) },
    };
  }
}

/** @param {{view: Turns, editor: Editor, place: string, value: TurnValue}} props */
function Fields({ view, editor, place, value }) {
  const { against } = view;
  const type = view.type.bind(view);
  const given = Object.values(value.labels).flat();
  const wrong = (/** @type {string} */ name) => editor.findings.some(({ field }) => field.startsWith(name)) || undefined;
  return html`
    <div id="needed">
      ${editor.session.isStale(place) && html`<div id="stale" class="note">
        An earlier turn was changed or rejected after you decided this one. <${Act} editor=${editor} name="fits" text="Still right" /></div>`}
      <${Text} label="Question" id="question" value=${value.question} before=${against && against.question} wrong=${wrong("question")} change=${(/** @type {string} */ question) => type({ question })} />
      <${Answers} key=${place} editor=${editor} value=${value.references} before=${against && against.references} change=${(/** @type {string[]} */ references) => type({ references })} />
      ${value.options && html`<${Options} value=${value.options} right=${value.correct_option} change=${(/** @type {string[]} */ options, /** @type {number | null} */ correct_option) => type({ options, correct_option })} />`}
      <div class="times">
        <${Evidence} editor=${editor} value=${value.evidence} change=${(/** @type {any} */ evidence) => type({ evidence })} />
        <${AskedAt} editor=${editor} value=${value.asked_at_s} change=${(/** @type {number | null} */ asked_at_s) => type({ asked_at_s })} />
      </div>
    </div>
    <details id="labels-fold" class="fold"><summary>Labels <span class="told">${given.join(", ") || "none"}</span></summary>
      <${Labels} known=${view.known} value=${value.labels} change=${(/** @type {any} */ labels) => type({ labels })} />
    </details>
    ${!view.panelOpen && html`<${Note} value=${value} change=${(/** @type {any} */ more) => type({ ...more, decision: value.decision })} />`}
    <${Links} content=${editor.content} place=${place} seek=${editor.seek.bind(editor)} />
  `;
}

/** The flags of checks, and from which version changes are shown. @param {{view: Turns, editor: Editor, place: string}} props */
function Head({ view, editor, place }) {
  const passed = editor.isOpen ? editor.reply.in_bulk.filter((one) => !editor.session.value(one).decision) : [];
  const acceptAll = () => editor.session.acceptInBulk().catch((error) => editor.refuse(messageOf(error)));
  return html`<${Flags} key=${place} content=${editor.content} place=${place} />
    ${passed.length > 0 && html`<button type="button" id="in-bulk" class="second" onClick=${acceptAll}>Accept ${passed.length === 1 ? "the turn" : `the ${passed.length} turns`} without findings</button>`}
    <label class="compare">Changes
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
