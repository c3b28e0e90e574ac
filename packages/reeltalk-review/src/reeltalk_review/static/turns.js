// @ts-check
/** The review of the turns of a chain or a dialogue: accept, edit, reject or skip each of them. */

import { Flags, Links, isFlagged } from "./checks.js";
import { edit } from "./editor.js";
import { clock, sentence } from "./elements.js";
import { Answers, AskedAt, Choices, Evidence, Labels, Note, Options, Text, isWrong, toggled } from "./fields.js";
import { Act } from "./frame.js";
import { DECISIONS, startOf } from "./values.js";
import { html } from "./vendor/preact.js";

export class Turns {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "turn";
    this.panelOpen = false;
    this.problem = "";
    /** True while the changes from the draft are shown. */
    this.isCompared = false;
    /** @type {TurnValue | null} The version of another window with which the fields are compared. */
    this.theirs = null;
    this.known = editor.content.vocabularies ?? {};
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

  /** @param {string} place */
  stateOf(place) {
    const state = this.editor.decisionAt(place);
    const isFlag = (this.editor.content.checks[place] ?? []).some(isFlagged);
    return { ...state, mark: state.mark || (isFlag ? "⚑" : ""), more: isFlag ? ["a check flagged it"] : [] };
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

  /** @param {string} place @param {Interval[]} evidence */
  moveEvidence(place, evidence) {
    this.editor.set({ ...this.editor.session.value(place), evidence, decision: null }, { place });
  }

  placed() {
    this.panelOpen = false;
    this.problem = "";
    this.theirs = null;
  }

  /** @param {TurnValue} theirs */
  editOn(theirs) {
    this.theirs = theirs;
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
    editor.decide({ ...value, reasons, decision }, `${this.nameOf(editor.place)}: ${DECISIONS[decision].text.toLowerCase()}.`);
  }

  openPanel() {
    if (!this.editor.mayChange()) return;
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
    const labels = this.reasons.map((each) => each.name);
    if (name) this.giveReasons(toggled({ labels }, this.editor.value.reasons, name));
  }

  /** @param {string[]} reasons */
  giveReasons(reasons) {
    this.problem = "";
    this.type({ reasons });
  }

  /** Keeps a decision after an earlier turn was changed. */
  stillRight() {
    const { editor } = this;
    if (!editor.session.isStale(editor.place)) return;
    editor.decide({ ...editor.value }, "Kept.");
  }

  /** Shows the changes from the draft, or hides them. */
  compare() {
    this.isCompared = !this.isCompared;
    this.theirs = null;
    this.editor.say(`Changes from the draft are ${this.isCompared ? "shown" : "hidden"}.`);
  }

  /** Opens the labels, and moves the focus to the first field. */
  openLabels() {
    const fold = document.getElementById("labels-fold");
    if (fold instanceof HTMLDetailsElement) fold.open = true;
    this.editor.focus(".turn-labels input");
  }

  /** @returns {Offers} */
  offers() {
    const { editor } = this;
    const fields = {
      question: { act: () => editor.focus("#question") },
      answer: { act: () => editor.focus("#reference-0", "#add-reference") },
      labels: { act: () => this.openLabels() },
      "asked-here": { act: () => this.type({ asked_at_s: editor.playback.mark_s }) },
      compare: { act: () => this.compare() },
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
      choose: { act: (key) => editor.goTo(Number(key)) },
    };
  }
}

/** @param {{view: Turns, editor: Editor, place: string, value: TurnValue}} props */
function Fields({ view, editor, place, value }) {
  const against = view.theirs ?? (view.isCompared ? view.draftOf(place) : null);
  const type = view.type.bind(view);
  const given = Object.values(value.labels).flat();
  return html`
    <div id="needed">
      ${editor.session.isStale(place) && html`<div id="stale" class="note">
        An earlier turn was changed or rejected after you decided this one. <${Act} editor=${editor} name="fits" text="Still right" /></div>`}
      <${Text} label="Question" id="question" value=${value.question} before=${against && against.question} wrong=${isWrong(editor, "question")} change=${(/** @type {string} */ question) => type({ question })} />
      <${Answers} key=${place} editor=${editor} value=${value.references} before=${against && against.references} change=${(/** @type {string[]} */ references) => type({ references })} />
      ${value.options && html`<${Options} value=${value.options} right=${value.correct_option} change=${(/** @type {string[]} */ options, /** @type {number | null} */ correct_option) => type({ options, correct_option })} />`}
      <div class="times">
        <${Evidence} editor=${editor} value=${value.evidence} change=${(/** @type {any} */ evidence) => type({ evidence })} />
        <${AskedAt} editor=${editor} value=${value.asked_at_s} change=${(/** @type {number | null} */ asked_at_s) => type({ asked_at_s })} />
      </div>
    </div>
    <details id="labels-fold" class="fold" open=${Boolean(editor.reply.labels_asked)}><summary>Labels <span class="told">${given.join(", ") || "none"}</span></summary>
      <${Labels} known=${view.known} value=${value.labels} change=${(/** @type {any} */ labels) => type({ labels })} />
    </details>
    ${!view.panelOpen && html`<${Note} value=${value} change=${(/** @type {any} */ more) => type({ ...more, decision: value.decision })} />`}
    <${Links} content=${editor.content} place=${place} seek=${editor.seek.bind(editor)} />
  `;
}

/** The flags of checks, and whether changes are shown. @param {{view: Turns, editor: Editor, place: string}} props */
function Head({ view, editor, place }) {
  return html`<${Flags} key=${place} content=${editor.content} place=${place} />
    <${Act} editor=${editor} name="compare" class="quiet" text="Changes" pressed=${view.isCompared} />`;
}

/** The panel for rejecting: reasons, by click or by number, and the note. @param {{view: Turns, editor: Editor}} props */
function Rejecting({ view, editor }) {
  const value = /** @type {TurnValue} */ (editor.value);
  const names = view.reasons.map(({ name }) => name);
  const titles = Object.fromEntries(view.reasons.map(({ name, title }) => [name, title]));
  return html`<div id="reject-panel" class="reject-panel" role="group" aria-labelledby="reject-title">
    <h3 id="reject-title" tabindex="-1">Why is it rejected?</h3>
    <div id="reasons" class="reasons">
      <${Choices} name="reason" vocabulary=${{ labels: names, titles, keys: names.slice(0, 9).map((_, n) => String(n + 1)) }} given=${value.reasons} change=${(/** @type {string[]} */ reasons) => view.giveReasons(reasons)} />
    </div>
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
