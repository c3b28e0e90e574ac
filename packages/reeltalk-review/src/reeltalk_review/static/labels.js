// @ts-check
/**
 * Labels of the turns of a chain or a dialogue, in closed vocabularies: each label has a key, what a machine proposed is
 * ticked, and the manual is one key away.
 */

import { edit } from "./editor.js";
import { Note } from "./fields.js";
import { countDecided } from "./turnvalue.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./editor.js").Editor} Editor */
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
    this.manualOpen = false;
    this.Fields = Fields;
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

  /** @param {string} place */
  saidOf(place) {
    const { question, references, options, correct_option } = this.turn(place);
    const { labels } = /** @type {LabelsValue} */ (this.editor.session.value(place));
    return { question, answer: references?.[0] ?? options?.[correct_option ?? -1], about: Object.values(labels).flat().join(", ") };
  }

  submitting() {
    const { places, session, content } = this.editor;
    return { question: `Submit this ${content.unit}?`, summary: countDecided(places.map((place) => session.value(place)), DECIDED) };
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
    editor.set({ ...value, labels: { ...labels, [name]: given }, decision: null }, { now: true });
    editor.say(`${label}: ${given.includes(label) ? "added" : "removed"}.`);
  }

  /** @param {"accept" | "skip"} decision */
  decide(decision) {
    const { editor } = this;
    if (!editor.isOpen) return;
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
    for (const vocabulary of this.vocabularies) {
      const at = vocabulary.keys.indexOf(key.toLowerCase());
      if (at >= 0) this.toggle(vocabulary, vocabulary.labels[at]);
    }
  }

  /** @returns {import("./keys.js").Offers} */
  offers() {
    const { editor } = this;
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
      "to-evidence": { act: () => editor.toPart(this.timesOf(editor.place).evidence, "This turn has no evidence."), video: "To evidence" },
    };
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

/** @param {{view: Labels, editor: Editor, place: string, value: LabelsValue}} props */
function Fields({ view, editor, place, value }) {
  const { question, references, options, correct_option } = view.turn(place);
  const answer = references?.[0] ?? options?.[correct_option ?? -1];
  return html`
    <div id="needed"><div id="asked" class="asked-turn">
      <p class="asked-text">${question}</p>
      <p class="answer-text">${answer || html`<span class="soft">The answer is not known.</span>`}</p>
    </div>
    ${view.vocabularies.map((vocabulary) => html`<${Choices} key=${vocabulary.name} view=${view} vocabulary=${vocabulary} given=${value.labels[vocabulary.name] ?? []} proposal=${view.proposals(place)[vocabulary.name]} />`)}</div>
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
      const key = vocabulary.keys[labels.indexOf(label)] ?? "";
      return html`<label class="choice" key=${label}>
        <input type=${isOne ? "radio" : "checkbox"} name=${name} value=${label} data-label=${label} checked=${given.includes(label)} aria-keyshortcuts=${/[a-z]/.test(key) ? `Shift+${key.toUpperCase()}` : key} onChange=${() => view.toggle(vocabulary, label)} />
        <kbd aria-hidden="true">${/[a-z]/.test(key) ? `⇧${key.toUpperCase()}` : key}</kbd><span class="name">${label}</span><span class="says">${says[label]}</span>
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
