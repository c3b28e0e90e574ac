// @ts-check
/**
 * Labels of the turns of a chain or a dialogue, in closed vocabularies: each label has a key, what a machine proposed is
 * ticked, and the manual is one key away.
 */

import { edit } from "./editor.js";
import { Choices, Note, boundsOf, toggled } from "./fields.js";
import { html } from "./vendor/preact.js";

/** @typedef {Required<Vocabulary> & {name: string, least: number, most: number}} Named */

/** Proposals that are closer are a close call. */
const CLOSE = 0.1;

export class Labels {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "turn";
    /** @type {Named[]} */
    this.vocabularies = Object.entries(editor.content.vocabularies).map(([name, found]) => ({ name, .../** @type {any} */ (found) }));
    this.manualOpen = false;
    this.Fields = Fields;
  }

  /** @param {string} place @returns {Partial<TurnValue>} */
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

  /** @param {string} place */
  stateOf(place) {
    const state = this.editor.decisionAt(place);
    const isClose = !this.editor.session.value(place).decision && Object.values(this.proposals(place)).some(({ needs_review, margin }) => needs_review || margin === null);
    return isClose ? { ...state, kind: "undecided close-call", mark: "?", more: ["a close call"] } : state;
  }

  /** @param {string} place */
  timesOf(place) {
    const { asked_at_s = null, evidence = [] } = this.turn(place);
    return { asked_at_s, evidence };
  }

  /** @param {string} place */
  saidOf(place) {
    const { question, references, options, correct_option } = this.turn(place);
    const { labels } = /** @type {LabelsValue} */ (this.editor.session.value(place));
    return { question, answer: references?.[0] ?? options?.[correct_option ?? -1], about: Object.values(labels).flat().join(", ") };
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** @param {Named} vocabulary @param {string[]} given @param {string} label What was ticked, or whose tick was removed. */
  give({ name }, given, label) {
    const { editor } = this;
    if (!editor.mayChange()) return;
    const { labels, ...value } = /** @type {LabelsValue} */ (editor.value);
    editor.set({ ...value, labels: { ...labels, [name]: given }, decision: null }, { now: true });
    editor.say(`${label}: ${given.includes(label) ? "added" : "removed"}.`);
  }

  /** @param {"accept" | "skip"} decision */
  decide(decision) {
    const { editor } = this;
    const value = /** @type {LabelsValue} */ (editor.value);
    const lack = decision === "accept" ? lackOf(value, this.vocabularies) : "";
    if (lack) editor.refuse(lack, "labels");
    else editor.decide({ ...value, decision }, `${this.nameOf(editor.place)}: ${decision === "skip" ? "skipped" : "labelled"}.`);
  }

  toggleManual() {
    this.manualOpen = !this.manualOpen;
    const to = this.manualOpen ? "manual" : "turn-title";
    this.editor.draw(() => document.getElementById(to)?.scrollIntoView({ block: "start" }));
    this.editor.say(`The manual is ${this.manualOpen ? "open" : "closed"}.`);
  }

  /** The label that a key gives: digits as they are, letters with Shift, so that plain letters mean the same on every screen. @param {string} key */
  giveByKey(key) {
    const vocabulary = this.vocabularies.find(({ keys }) => keys.includes(key.toLowerCase()));
    const label = vocabulary?.labels[vocabulary.keys.indexOf(key.toLowerCase())];
    if (vocabulary && label) this.give(vocabulary, toggled(vocabulary, this.editor.value.labels[vocabulary.name] ?? [], label), label);
    else this.editor.refuse(`No label has the key ${key}.`);
  }

  /** @returns {Offers} */
  offers() {
    const done = { act: () => this.decide("accept") };
    const give = { act: (/** @type {string} */ key) => this.giveByKey(key) };
    return {
      accept: { ...done, button: "Done", first: true },
      done,
      confirm: done,
      skip: { act: () => this.decide("skip"), button: "Skip" },
      manual: { act: () => this.toggleManual() },
      choose: give,
      label: give,
    };
  }
}

/** A title without what it asks. @param {string} title */
function short(title) {
  return title.replace(/:.*/, "");
}

/** The problem with the number of labels, or nothing. @param {LabelsValue} value @param {Named[]} vocabularies */
function lackOf({ labels }, vocabularies) {
  for (const { name, title, least, most } of vocabularies) {
    const { length } = labels[name] ?? [];
    if (length >= least && length <= most) continue;
    const wanted = least === most ? "exactly one" : length < least ? "at least one" : `at most ${most}`;
    return `${short(title)} takes ${wanted}, and has ${length || "none"}.`;
  }
  return "";
}

/** @param {{view: Labels, editor: Editor, place: string, value: LabelsValue}} props */
function Fields({ view, editor, place, value }) {
  const { question, references, options, correct_option } = view.turn(place);
  const answer = references?.[0] ?? options?.[correct_option ?? -1];
  return html`
    <div id="needed"><div id="asked" class="asked-turn">
      <p class="asked-text">${question}</p>
      <p class="answer-text">${answer || html`<span class="soft">The answer is not known.</span>`}</p>
    </div>
    ${view.vocabularies.map((vocabulary) => html`<${Labelled} key=${vocabulary.name} view=${view} vocabulary=${vocabulary} given=${value.labels[vocabulary.name] ?? []} proposal=${view.proposals(place)[vocabulary.name]} />`)}</div>
    <${Note} value=${value} change=${(/** @type {any} */ more) => editor.set({ ...value, ...more })} />
    <${Manual} view=${view} manual=${editor.content.manual} />
  `;
}

/** The labels of a vocabulary, with what a machine proposes. @param {{view: Labels, vocabulary: Named, given: string[], proposal?: Proposal}} props */
function Labelled({ view, vocabulary, given, proposal }) {
  const { name, title, least, most } = vocabulary;
  const isClose = typeof proposal?.margin === "number" && proposal.margin < CLOSE;
  const told = proposal && `· ${proposal.reason ? `nothing was proposed: ${proposal.reason}` : isClose ? "proposed; a close call" : "proposed"}`;
  const lacks = given.length < least || given.length > most;
  const change = (/** @type {string[]} */ next) => view.give(vocabulary, next, [...next, ...given].find((label) => next.includes(label) !== given.includes(label)) ?? next[0]);
  return html`<fieldset class=${`group vocabulary-labels ${lacks ? "lacks" : ""}`} data-vocabulary=${name}>
    <legend><span class="vocabulary-title">${title}</span> <span class="soft">${boundsOf(vocabulary)}</span> <span class="proposed soft" data-proposed>${told}</span></legend>
    <${Choices} name=${name} vocabulary=${vocabulary} given=${given} chances=${proposal?.probabilities ?? {}} change=${change} />
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
