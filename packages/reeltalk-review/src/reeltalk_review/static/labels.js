// @ts-check
/**
 * Labels of the turns of a chain or a dialogue, in closed vocabularies: each label has a key, what a machine proposed is
 * ticked, and the manual is one key away.
 */

import { edit } from "./editor.js";
import { Note } from "./fields.js";
import { Said } from "./turns.js";
import { countDecided } from "./turnvalue.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Action} Action */
/** @typedef {import("./player.js").Interval} Interval */
/** @typedef {{decision: "accept" | "edit" | "skip" | null, labels: Record<string, string[]>, note: string, unsure: boolean}} LabelsValue */
/** @typedef {{name: string, title: string, labels: string[], least: number, most: number, keys: string[], says: Record<string, string>}} Vocabulary */
/** @typedef {{tags: string[], probabilities: Record<string, number>, margin: number | null, needs_review: boolean, reason: string | null}} Proposal */
/**
 * @typedef {{question: string, references?: string[], options?: string[], correct_option?: number, asked_at_s?: number | null,
 *   evidence?: Interval[], labels?: Record<string, string[]>}} Turn
 */

const DECIDED = Object.freeze({ accept: "As proposed", edit: "Labelled", skip: "Skipped" });
const KINDS = Object.freeze({ accept: "accepted", edit: "edited", skip: "skipped" });
/** Proposals that are closer are a close call. */
const CLOSE = 0.1;

export class Labels {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "turn";
    /** @type {Vocabulary[]} */
    this.vocabularies = Object.entries(editor.content.vocabularies).map(([name, found]) => ({ name, .../** @type {any} */ (found) }));
    // Letters that the editor gives to other actions are keys of labels here.
    this.keys = { "take-back": ["Shift+B"], undecided: ["o"], note: ["n"] };
    this.lack = "";
    this.manualOpen = false;
    this.Fields = Fields;
    this.Before = Before;
  }

  /** @param {string} place @returns {Turn} */
  turn(place) {
    return this.editor.content.turns[Number(place)];
  }

  /** What a machine proposed for a turn, by vocabulary. @param {string} place @returns {Record<string, Proposal>} */
  proposals(place) {
    return this.editor.content.proposals[place] ?? {};
  }

  /** @param {string} place */
  nameOf(place) {
    return `Turn ${Number(place) + 1}`;
  }

  /** The labels that a turn has or that were proposed, undecided. @param {string} place @returns {LabelsValue} */
  draftOf(place) {
    const proposals = this.proposals(place);
    const labels = Object.fromEntries(
      this.vocabularies.map(({ name, labels: known }) => {
        const has = this.turn(place).labels?.[name] ?? [];
        const start = has.length ? has : (proposals[name]?.tags ?? []);
        return [name, known.filter((label) => start.includes(label))];
      }),
    );
    return { decision: null, labels, note: "", unsure: false };
  }

  /** @param {string} _ @param {LabelsValue} value @returns {[string, string][]} */
  linesOf(_, value) {
    return [
      ["Decision", value.decision ? DECIDED[value.decision] : "None yet"],
      ...this.vocabularies.map(({ name, title }) => /** @type {[string, string]} */ ([short(title), (value.labels[name] ?? []).join(", ")])),
      ["Note", value.note],
      ["Unsure", value.unsure ? "Yes" : ""],
    ];
  }

  /** @param {string} place */
  stateOf(place) {
    const { decision } = /** @type {LabelsValue} */ (this.editor.session.value(place));
    if (decision) return { kind: KINDS[decision], text: DECIDED[decision], mark: decision === "skip" ? "–" : "✓" };
    const isClose = Object.values(this.proposals(place)).some(({ needs_review, margin }) => needs_review || margin === null);
    return { kind: isClose ? "undecided close-call" : "undecided", text: "Undecided", mark: isClose ? "?" : "", more: isClose ? ["a close call"] : [] };
  }

  /** @param {string} place */
  timesOf(place) {
    const { asked_at_s = null, evidence = [] } = this.turn(place);
    return { asked_at_s, evidence };
  }

  /** @param {string} place */
  questionOf(place) {
    return this.turn(place).question;
  }

  submitting() {
    const { places, session, content } = this.editor;
    return { question: `Submit this ${content.unit}?`, summary: countDecided(places.map((place) => session.value(place)), DECIDED) };
  }

  placed() {
    this.lack = "";
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** Ticks a label, or removes the tick. In a vocabulary of which exactly one is given, it replaces the other. @param {Vocabulary} vocabulary @param {string} label */
  toggle({ name, labels: known, least, most }, label) {
    const { editor } = this;
    if (!editor.isOpen) return;
    const { labels, ...value } = /** @type {LabelsValue} */ (editor.value);
    const has = labels[name] ?? [];
    const isOne = least === 1 && most === 1;
    const given = isOne ? [label] : known.filter((each) => (each === label) !== has.includes(each));
    this.lack = "";
    editor.set({ ...value, labels: { ...labels, [name]: given }, decision: null }, { now: true });
    editor.say(`${label}: ${given.includes(label) ? "added" : "removed"}.`);
  }

  /** @param {"accept" | "skip"} decision */
  decide(decision) {
    const { editor } = this;
    if (!editor.isOpen) return;
    const value = /** @type {LabelsValue} */ (editor.value);
    this.lack = decision === "accept" ? lackOf(value, this.vocabularies) : "";
    if (this.lack) editor.draw(() => document.getElementById("lack")?.scrollIntoView({ block: "nearest" }));
    else editor.decide({ ...value, decision }, `${this.nameOf(editor.place)}: ${decision === "skip" ? "skipped" : "labelled"}.`);
  }

  toggleManual() {
    this.manualOpen = !this.manualOpen;
    const to = this.manualOpen ? "manual" : "strip";
    this.editor.draw(() => document.getElementById(to)?.scrollIntoView({ block: "start" }));
    this.editor.say(`The manual is ${this.manualOpen ? "open" : "closed"}.`);
  }

  /** @returns {Action[]} */
  actions() {
    const { editor } = this;
    return [
      { name: "accept", label: "Done with the turn, and continue", group: "Decide", keys: ["Enter", "Ctrl+Enter"], act: () => this.decide("accept"), button: "Done", first: true },
      { name: "skip", label: "Cannot be labelled: skip, and continue", group: "Decide", keys: ["x"], act: () => this.decide("skip"), button: "Skip" },
      { name: "submit", label: "Submit", group: "Decide", keys: ["Shift+F"], act: () => editor.submit() },
      { name: "manual", label: "Open or close the manual", group: "Go", keys: ["m"], act: () => this.toggleManual() },
      ...this.vocabularies.flatMap((vocabulary) =>
        vocabulary.labels.map((label, n) => ({ name: `${vocabulary.name}.${label}`, label, group: short(vocabulary.title), keys: [vocabulary.keys[n]], act: () => this.toggle(vocabulary, label) })),
      ),
      { name: "to-evidence", label: "Go to the evidence, then to the next interval", group: "Video", keys: ["v"], act: () => editor.toPart(this.timesOf(editor.place).evidence, "This turn has no evidence."), video: "To evidence" },
    ];
  }
}

/** A title without what it asks. @param {string} title */
function short(title) {
  return title.replace(/:.*/, "");
}

/** The problem with the number of labels, or nothing. @param {LabelsValue} value @param {Vocabulary[]} vocabularies */
function lackOf({ labels }, vocabularies) {
  for (const { name, title, least, most } of vocabularies) {
    const { length } = labels[name] ?? [];
    if (length >= least && length <= most) continue;
    const wanted = least === most ? "exactly one" : length < least ? "at least one" : `at most ${most}`;
    return `${short(title)} takes ${wanted}, and has ${length || "none"}.`;
  }
  return "";
}

/** The turns before. @param {{view: Labels, editor: Editor, place: string}} props */
function Before({ view, editor, place }) {
  const before = editor.places.slice(0, editor.places.indexOf(place));
  const valueOf = (/** @type {string} */ each) => ({ references: [], ...view.turn(each), asked_at_s: view.timesOf(each).asked_at_s, decision: editor.session.value(each).decision });
  return html`<section class="dialogue" aria-labelledby="dialogue-title">
    <details id="dialogue-fold" open=${!matchMedia("(max-width: 60rem)").matches}>
      <summary><h2 id="dialogue-title">Turns before${before.length ? ` (${before.length})` : ""}</h2></summary>
      <${Said} places=${before} valueOf=${valueOf} view=${view} editor=${editor} />
    </details>
  </section>`;
}

/** @param {{view: Labels, editor: Editor, place: string, value: LabelsValue}} props */
function Fields({ view, editor, place, value }) {
  const { question, references, options, correct_option } = view.turn(place);
  const answer = references?.[0] ?? options?.[correct_option ?? -1];
  return html`
    <div id="asked" class="asked-turn">
      <p class="asked-text">${question}</p>
      <p class="answer-text">${answer || html`<span class="soft">The answer is not known.</span>`}</p>
    </div>
    <div id="lack" class="note" role="alert" hidden=${!view.lack}>${view.lack}</div>
    ${view.vocabularies.map((vocabulary) => html`<${Choices} key=${vocabulary.name} view=${view} vocabulary=${vocabulary} given=${value.labels[vocabulary.name] ?? []} proposal=${view.proposals(place)[vocabulary.name]} />`)}
    <${Note} value=${value} change=${(/** @type {any} */ more) => editor.set({ ...value, ...more })} />
    <${Manual} view=${view} manual=${editor.content.manual} />
  `;
}

/** The labels of a vocabulary, with keys, meanings and chances. @param {{view: Labels, vocabulary: Vocabulary, given: string[], proposal?: Proposal}} props */
function Choices({ view, vocabulary, given, proposal }) {
  const { name, title, labels, least, most, says } = vocabulary;
  const isOne = least === 1 && most === 1;
  const bounds = isOne ? "exactly one" : most === labels.length ? "one or more" : `${least} to ${most}`;
  const isClose = typeof proposal?.margin === "number" && proposal.margin < CLOSE;
  const told = proposal && `· ${proposal.reason ? `nothing was proposed: ${proposal.reason}` : isClose ? "proposed; a close call" : "proposed"}`;
  const lacks = given.length < least || given.length > most;
  return html`<fieldset class=${`group vocabulary-labels ${lacks ? "lacks" : ""}`} data-vocabulary=${name}>
    <legend><span class="vocabulary-title">${title}</span> <span class="soft">${bounds}</span> <span class="proposed soft" data-proposed>${told}</span></legend>
    ${labels.map((label) => {
      const chance = proposal?.probabilities[label];
      const key = view.editor.keys.shown(`${name}.${label}`);
      return html`<label class="choice" key=${label} title=${says[label]}>
        <input type=${isOne ? "radio" : "checkbox"} name=${name} value=${label} data-label=${label} checked=${given.includes(label)} aria-keyshortcuts=${key?.aria} onChange=${() => view.toggle(vocabulary, label)} />
        <kbd aria-hidden="true">${key?.text}</kbd><span class="name">${label}</span><span class="says">${says[label]}</span>
        <span class=${`chance ${(chance ?? 0) >= 0.5 ? "likely" : ""}`}>${chance !== undefined && `${Math.round(chance * 100)} %`}</span>
      </label>`;
    })}
  </fieldset>`;
}

/** @param {{view: Labels, manual: {version: string, signature: string, sections: {title: string, blocks: string[][]}[]}}} props */
function Manual({ view, manual }) {
  const block = (/** @type {string[]} */ lines) =>
    lines[0].startsWith("- ") ? html`<ul>${lines.map((line) => html`<li>${line.slice(2)}</li>`)}</ul>` : html`<p>${lines.join("\n")}</p>`;
  const key = view.editor.keys.shown("manual");
  return html`<details id="manual" class="manual" open=${view.manualOpen} onToggle=${(/** @type {any} */ { target }) => (view.manualOpen = target.open)}>
    <summary aria-keyshortcuts=${key?.aria}>Manual, ${manual.version} ${key && html`<kbd aria-hidden="true">${key.text}</kbd>`}</summary>
    ${manual.sections.map(({ title, blocks }) => html`${title && html`<h3>${title}</h3>`}${blocks.map(block)}`)}
    <p class="small soft mono">${manual.signature}</p>
  </details>`;
}

export function start() {
  edit(Labels);
}
