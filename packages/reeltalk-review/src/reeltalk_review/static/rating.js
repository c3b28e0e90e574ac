// @ts-check
/** Rating: marks for answers on a judge's scale. */

import { edit } from "./editor.js";
import { Note } from "./fields.js";
import { html } from "./vendor/preact.js";

/** The place of marks for all answers together. */
const WHOLE = "whole";

class Ratings {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "rating";
    /** @type {ActionName[]} */
    this.without = ["play-parts", "to-evidence"];
    /** @type {Criterion[]} */
    this.criteria = editor.content.scale.criteria;
    /** @type {RatedAnswer[]} */
    this.answers = editor.content.turns;
    /** Index of the criterion that the next key rates. */
    this.criterion = 0;
    this.Fields = Fields;
  }

  /** @param {string} place */
  answerOf(place) {
    return this.answers.find(({ turn_index }) => String(turn_index) === place);
  }

  /** @param {string} place */
  nameOf(place) {
    return place === WHOLE ? "The rating" : `Answer ${Number(place) + 1}`;
  }

  /** @param {string} place */
  stateOf(place) {
    const isRated = this.isDecided(place, this.editor.session.value(place));
    return isRated ? { kind: "accepted", text: "Rated", mark: "✓" } : { kind: "undecided", text: "To rate" };
  }

  /** @param {string} place */
  saidOf(place) {
    const found = this.answerOf(place);
    const { marks } = /** @type {Rating} */ (this.editor.session.value(place));
    return { question: found?.question ?? "", answer: found?.answer, about: Object.values(marks).map(markText).join(" · ") };
  }

  draftOf() {
    return { marks: {}, note: "", unsure: false };
  }

  /** @param {string} _ @param {Rating} value */
  isDecided(_, { marks }) {
    return this.criteria.every(({ name }) => name in marks);
  }

  /** @param {string} place */
  timesOf(place) {
    return { asked_at_s: this.answerOf(place)?.asked_at_s ?? null, evidence: [] };
  }

  submitting() {
    const { length } = this.answers;
    return { question: "Submit these ratings?", summary: `${length} ${length === 1 ? "answer is" : "answers are"} rated.` };
  }

  placed() {
    const { place, session } = this.editor;
    const { marks } = session.value(place);
    this.criterion = Math.max(0, this.criteria.findIndex(({ name }) => !(name in marks)));
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** The server adds to a value whether it is complete; it is not sent. @param {string} place @param {Partial<Rating>} more @param {boolean} [now] */
  put(place, more, now = false) {
    const { marks, note, unsure } = this.editor.session.value(place);
    this.editor.set({ marks, note, unsure, ...more }, { place, now });
  }

  /** @param {string} place @param {Criterion} criterion @param {number | null} mark */
  give(place, criterion, mark) {
    const { editor } = this;
    if (!editor.mayChange()) return;
    this.put(place, { marks: { ...editor.session.value(place).marks, [criterion.name]: mark } }, true);
    this.criterion = (this.criteria.indexOf(criterion) + 1) % this.criteria.length;
    editor.draw();
  }

  /** @param {string} key */
  giveByKey(key) {
    const { editor } = this;
    const { place } = editor;
    const criterion = this.criteria[this.criterion];
    const mark = marksOf(criterion).find((one) => String(one) === key);
    if (mark === undefined) {
      editor.refuse(`${criterion.title} has no mark ${key}.`);
      return;
    }
    const { marks, note, unsure } = editor.value;
    const given = { marks: { ...marks, [criterion.name]: mark }, note, unsure };
    if (editor.session.needs(place) && this.isDecided(place, given)) editor.decide(given, `${criterion.title}: ${mark}.`);
    else {
      this.give(place, criterion, mark);
      editor.say(`${criterion.title}: ${mark}.`);
    }
  }

  /** @returns {Offers} */
  offers() {
    const { editor } = this;
    return {
      choose: { act: (key) => this.giveByKey(key) },
      unsure: { act: () => this.put(editor.place, { unsure: !editor.value.unsure }, true) },
    };
  }
}

/** @param {{view: Ratings, editor: Editor, place: string, value: Rating}} props */
function Fields({ view, editor, place, value }) {
  const isWhole = place === WHOLE;
  const { source, name } = editor.content.scale;
  const shown = view.answers.filter(({ turn_index }) => isWhole || String(turn_index) === place);
  return html`
    <div id="needed"><ol id="answers" class="rated">${shown.map(({ turn_index, question, options, references, answer }) => html`<li key=${turn_index}>
      <p class="asked-text">${turn_index + 1}. ${question}</p>
      ${options?.map((option) => html`<p class="small">– ${option}</p>`)}
      ${references.map((text) => html`<p class="reference">Reference: ${text}</p>`)}
      <p class="answer">${answer}</p>
    </li>`)}</ol>
    ${view.criteria.map((criterion, n) => html`<${Marks} key=${criterion.name} view=${view} place=${place} criterion=${criterion} value=${value} isNext=${n === view.criterion} />`)}</div>
    <${Note} value=${value} change=${(/** @type {Partial<Rating>} */ more) => view.put(place, more)} />
    <p class="soft small">${source || name}. ${isWhole ? "Rate all answers together." : "Rate each answer by itself. The reference is right, but it may not be the only right answer."} Nobody is told whose answers these are.</p>`;
}

/** @param {{view: Ratings, place: string, criterion: Criterion, value: Rating, isNext: boolean}} props */
function Marks({ view, place, criterion, value: { marks }, isNext }) {
  const { name, title, levels, may_not_apply } = criterion;
  const offered = [...marksOf(criterion), ...(may_not_apply ? [null] : [])];
  // As `1–3` between `0` and `10`.
  const means = Object.entries(levels).sort(([one], [other]) => Number.parseFloat(one) - Number.parseFloat(other));
  return html`<fieldset class=${`criterion ${isNext ? "next" : ""}`}>
    <legend>${title}</legend>
    <div class="marks">${offered.map((mark) => html`<label key=${mark}>
      <input type="radio" name=${`${place} ${name}`} value=${String(mark)} checked=${name in marks && marks[name] === mark} onChange=${() => view.give(place, criterion, mark)} />${markText(mark)}
    </label>`)}</div>
    ${means.length > 0 && html`<dl class="levels">${means.map(([mark, text]) => html`<dt>${mark}</dt><dd>${text}</dd>`)}</dl>`}
  </fieldset>`;
}

/** @param {Criterion} criterion */
function marksOf({ lowest, highest, step }) {
  return Array.from({ length: Math.round((highest - lowest) / step) + 1 }, (_, n) => lowest + n * step);
}

/** @param {number | null} mark */
function markText(mark) {
  return mark === null ? "does not apply" : String(mark);
}

export function start() {
  edit(Ratings);
}
