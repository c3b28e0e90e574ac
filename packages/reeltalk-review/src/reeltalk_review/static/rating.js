// @ts-check
/** Rating: marks for answers on a judge's scale, all on one page. */

import { edit } from "./editor.js";
import { Note } from "./fields.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {{name: string, title: string, lowest: number, highest: number, step: number, levels: Record<string, string>, may_not_apply: boolean}} Criterion */
/** @typedef {{marks: Record<string, number | null>, note: string, unsure: boolean}} Rating */
/** @typedef {{turn_index: number, question: string, references: string[], answer: string, asked_at_s: number | null, options: string[] | null}} Answer */

/** The place of marks for all answers together. */
const WHOLE = "whole";

class Ratings {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "rating";
    this.strip = false;
    this.without = ["play-scenes"];
    /** @type {Criterion[]} */
    this.criteria = editor.content.scale.criteria;
    /** @type {Answer[]} */
    this.answers = editor.content.turns;
    /** Index of the criterion that the next key rates. */
    this.criterion = 0;
    this.Fields = Fields;
  }

  /** @param {string} place */
  nameOf(place) {
    return place === WHOLE ? "The rating" : `Answer ${Number(place) + 1}`;
  }

  titleOf() {
    const { source, name } = this.editor.content.scale;
    return source || name;
  }

  stateOf() {
    const { places, session } = this.editor;
    const left = session.openPlaces.length;
    return left ? { kind: "undecided", text: `${left} of ${places.length} to rate` } : { kind: "accepted", text: "Everything is rated" };
  }

  draftOf() {
    return { marks: {}, note: "", unsure: false };
  }

  /** @param {string} _ @param {Rating} value */
  isDecided(_, { marks }) {
    return this.criteria.every(({ name }) => name in marks);
  }

  /** @param {string} _ @param {Rating} value @returns {import("./editor.js").Lines} */
  linesOf(_, { marks, note, unsure }) {
    const given = this.criteria.filter(({ name }) => name in marks);
    return [...given.map(({ name, title }) => /** @type {[string, string]} */ ([title, markText(marks[name])])), ["Note", note], ["Unsure", unsure ? "yes" : ""]];
  }

  /** @param {string} place */
  timesOf(place) {
    return { asked_at_s: this.answers.find(({ turn_index }) => String(turn_index) === place)?.asked_at_s ?? null, evidence: [] };
  }

  /** @param {string} place */
  questionOf(place) {
    return this.answers.find(({ turn_index }) => String(turn_index) === place)?.question ?? "";
  }

  submitting() {
    const { length } = this.answers;
    return { question: "Submit these ratings?", summary: `${length} ${length === 1 ? "answer is" : "answers are"} rated.` };
  }

  /** @param {string | null} from */
  placed(from) {
    const { place, session } = this.editor;
    const { marks } = session.value(place);
    this.criterion = Math.max(0, this.criteria.findIndex(({ name }) => !(name in marks)));
    if (from !== place) this.editor.draw(() => document.getElementById(`place-${place}`)?.scrollIntoView({ block: "nearest" }));
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
    if (!editor.isOpen) return;
    if (editor.place !== place) editor.show(place);
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
      editor.say(`${criterion.title} has no mark ${key}.`);
      return;
    }
    const wasOpen = editor.session.needs(place);
    this.give(place, criterion, mark);
    editor.say(`${criterion.title}: ${mark}.`);
    if (wasOpen && !editor.session.needs(place)) this.go(editor.nextOpen() ?? undefined);
  }

  /** @param {string | undefined} place */
  go(place) {
    const { editor } = this;
    if (place === undefined) {
      editor.say(`${editor.session.openPlaces.length ? "There is no other answer" : "Everything is rated"}.`);
      return;
    }
    editor.show(place);
    editor.draw(() => {
      const shown = document.getElementById(`place-${place}`);
      shown?.focus({ preventScroll: true });
      shown?.scrollIntoView({ block: "start" });
    });
  }

  /** @returns {import("./editor.js").Action[]} */
  actions() {
    const { editor } = this;
    const digits = Array.from({ length: 10 }, (_, n) => `${n}`);
    const by = (/** @type {number} */ steps) => this.go(editor.places[editor.places.indexOf(editor.place) + steps]);
    return [
      { name: "mark", label: "Give the next criterion this mark", group: "Decide", keys: digits, range: "0–9", act: (key) => this.giveByKey(key) },
      { name: "next", label: "Next answer", group: "Go", keys: ["j"], act: () => by(1) },
      { name: "previous", label: "Previous answer", group: "Go", keys: ["k"], act: () => by(-1) },
      { name: "undecided", label: "Next answer that is not rated", group: "Go", keys: ["u"], act: () => this.go(editor.nextOpen() ?? undefined) },
      { name: "note", label: "Write a note", group: "Fields", keys: ["e", "n"], act: () => editor.focus(`#place-${editor.place} textarea`) },
      { name: "unsure", label: "Unsure, or sure", group: "Fields", keys: ["Shift+U"], act: () => this.put(editor.place, { unsure: !editor.value.unsure }, true) },
      { name: "to-asked", label: "Go to the time of the question", group: "Video", keys: ["t"], act: () => this.toAsked(), video: "To question" },
    ];
  }

  toAsked() {
    const { asked_at_s } = this.timesOf(this.editor.place);
    if (asked_at_s === null) this.editor.say("The question of this answer has no time.");
    else this.editor.seek(asked_at_s);
  }
}

/** @param {{view: Ratings, editor: Editor}} props */
function Fields({ view, editor }) {
  const isWhole = editor.places[0] === WHOLE;
  return html`
    <p class="soft small">${isWhole ? "Rate all answers together." : "Rate each answer by itself. The reference is right, but it may not be the only right answer."} Nobody is told whose answers these are.</p>
    <ol id="answers" class="rated">${view.answers.map(({ turn_index, question, options, references, answer }) => {
      const about = html`
        <p class="asked-text">${turn_index + 1}. ${question}</p>
        ${options?.map((option) => html`<p class="small">– ${option}</p>`)}
        ${references.map((text) => html`<p class="reference">Reference: ${text}</p>`)}
        <p class="answer">${answer}</p>`;
      return isWhole ? html`<li>${about}</li>` : html`<${Rated} key=${turn_index} view=${view} editor=${editor} place=${String(turn_index)} is="li">${about}<//>`;
    })}</ol>
    ${isWhole && html`<${Rated} view=${view} editor=${editor} place=${WHOLE} is="section" />`}`;
}

/** The fields of a place. @param {{view: Ratings, editor: Editor, place: string, is: "li" | "section", children?: any}} props */
function Rated({ view, editor, place, is, children }) {
  const value = /** @type {Rating} */ (editor.session.value(place));
  const isHere = place === editor.place;
  const kinds = [is === "section" && "rated", isHere && "here", view.isDecided(place, value) && "done"].filter(Boolean).join(" ");
  return html`<${is} id=${`place-${place}`} class=${kinds} tabindex="-1" onFocusIn=${() => isHere || editor.show(place)} aria-label=${is === "section" ? "Rating" : undefined}>
    ${children}
    ${view.criteria.map((criterion, n) => html`<${Marks} view=${view} place=${place} criterion=${criterion} value=${value} isNext=${isHere && n === view.criterion} />`)}
    <${Note} prefix=${`${place}-`} value=${value} change=${(/** @type {Partial<Rating>} */ more) => view.put(place, more)} />
  <//>`;
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
