// @ts-check
/** The test: one question after the other. Given answers stay, and the video stops at the time of the question. */

import { clock } from "./elements.js";
import { edit } from "./editor.js";
import { Note, Text } from "./fields.js";
import { html } from "./vendor/preact.js";
import { RefusedError } from "./workapi.js";

/** Wait before the next question is requested again. */
const AGAIN_MS = 3000;

class Test {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "answer";
    this.submitText = "Submit the test";
    // Given answers stay, and the next question comes by itself.
    /** @type {ActionName[]} */
    this.without = ["undo", "redo", "next", "previous", "undecided", "play-parts", "to-evidence"];
    this.count = editor.reply.places.length;
    /** True while the next question is requested. */
    this.isFetching = false;
    this.Fields = Fields;
    editor.playback.until_s = this.questions.at(-1)?.until_s ?? null;
  }

  /** Those so far; the next one comes after the last answer. @returns {TestQuestion[]} */
  get questions() {
    return this.editor.content.turns;
  }

  /** Index of the question to answer; the number of questions once all are answered. */
  get current() {
    const at = this.editor.reply.places.findIndex((place) => !this.editor.session.value(place).given);
    return at < 0 ? this.count : at;
  }

  get isDone() {
    return this.current >= this.count;
  }

  /** True until the server has the last answer and the next question is here. */
  get isWaiting() {
    return this.isDone ? this.editor.session.outbox.waiting > 0 : this.questions[this.current] === undefined;
  }

  /** @param {string} place */
  nameOf(place) {
    return `Answer ${Number(place) + 1}`;
  }

  /** Those that were asked. */
  get places() {
    return this.editor.reply.places.slice(0, Math.max(1, this.questions.length));
  }

  /** @param {string} place */
  saidOf(place) {
    const question = this.questions[Number(place)];
    return { question: question?.question ?? "", answer: words(question, this.editor.session.value(place)) };
  }

  titleOf() {
    return this.isDone ? `All ${this.count} questions are answered` : `Question ${this.current + 1} of ${this.count}`;
  }

  /** @param {string} place */
  stateOf(place) {
    if (place !== this.editor.place) return { kind: "accepted", text: "Answered", mark: "✓" };
    const { until_s } = this.editor.playback;
    const bound = until_s === null ? "You may watch the whole video." : `You may watch up to ${clock(until_s)}.`;
    const isStream = this.editor.content.mode === "streaming";
    return { kind: "", text: this.isDone ? "" : `${isStream ? "The question comes while the video plays. " : ""}${bound}` };
  }

  /** @returns {TestAnswer} */
  draftOf() {
    return { text: "", choice: null, given: false, note: "", unsure: false };
  }

  /** @param {string} _ @param {TestAnswer} value */
  isDecided(_, { given }) {
    return given;
  }

  /** @param {TestAnswer} theirs */
  stands({ given }) {
    return given;
  }

  timesOf() {
    return { asked_at_s: this.editor.playback.until_s, evidence: [] };
  }

  submitting() {
    return { question: "Submit the test?", summary: `All ${this.count} questions are answered.` };
  }

  placed() {
    const { editor } = this;
    editor.place = String(Math.min(this.current, this.places.length - 1));
    // While the next question is requested, the bound of the last one stays.
    editor.playback.until_s = this.isDone ? null : (this.questions[Math.min(this.current, this.questions.length - 1)]?.until_s ?? null);
    void this.goOn();
  }

  saved() {
    void this.goOn();
  }

  /** Requests the next question once the server has the last answer. */
  async goOn() {
    const { editor } = this;
    if (this.isFetching || this.isDone || !this.isWaiting || editor.session.outbox.waiting) return;
    this.isFetching = true;
    try {
      await editor.reload();
      if (editor.reply.unit.video) editor.playback.learn(editor.reply.unit.video);
      editor.show(editor.place);
      editor.say(`${this.titleOf()}.`);
      editor.focus("#answer-text", "#turn-title");
    } catch (error) {
      if (error instanceof RefusedError) editor.refuse(`${error.message} Reload the page.`);
      else editor.refuse("The answer is saved. The next question appears when the server can be reached.");
      window.setTimeout(() => void this.goOn(), AGAIN_MS);
    } finally {
      this.isFetching = false;
    }
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** @param {Partial<TestAnswer>} more @param {boolean} [now] */
  type(more, now = false) {
    this.editor.set({ ...this.editor.value, ...more }, { now });
  }

  /** @param {number} n */
  choose(n) {
    if (n < (this.questions[this.current]?.options?.length ?? 0)) this.type({ choice: n });
    else this.editor.refuse(`There is no option ${n + 1}.`);
  }

  give() {
    const { editor } = this;
    const { text, choice } = /** @type {TestAnswer} */ (editor.value);
    const { options } = this.questions[this.current];
    if (options ? choice === null : !text.trim()) {
      editor.refuse(options ? "Choose one of the options." : "Write an answer. You may write that you do not know.", "answer-text");
      return;
    }
    this.type({ given: true }, true);
    editor.show(editor.place);
    if (this.isDone) editor.draw(() => document.getElementById("submit")?.focus());
  }

  /** @returns {Offers} */
  offers() {
    const give = { act: () => this.give() };
    const mayGive = this.editor.isOpen && !this.isDone && !this.isWaiting;
    return {
      ...(mayGive && { accept: { ...give, button: "Give the answer", first: true }, done: give }),
      choose: { act: (key) => this.choose(Number(key) - 1) },
      answer: { act: () => this.editor.focus("#answer-text") },
    };
  }
}

/** @param {{view: Test, editor: Editor}} props */
function Fields({ view, editor }) {
  const { current, questions, isDone } = view;
  const question = questions[current];
  if (isDone) return html`<p class="asked-text">${questions[current - 1]?.question}</p><p class="answer-text">${words(questions[current - 1], editor.value)}</p>`;
  if (!question) return html`<p id="asking" class="soft">The next question appears when the server has your answer.</p>`;
  const value = /** @type {TestAnswer} */ (editor.value);
  return html`<div id="asking" key=${current}><div id="needed">
    <p id="now" class="now">${question.question}</p>
    ${question.options
      ? html`<div class="options-asked" role="radiogroup" aria-labelledby="now">${question.options.map((option, n) => html`<label>
          <input type="radio" name="choice" value=${n} checked=${value.choice === n} onChange=${() => view.choose(n)} />${option}
        </label>`)}</div>`
      : html`<${Text} id="answer-text" rows=${3} name="Your answer" value=${value.text} change=${(/** @type {string} */ text) => view.type({ text })} />`}</div>
    <${Note} value=${value} change=${(/** @type {Partial<TestAnswer>} */ more) => view.type(more)} />
  </div>`;
}

/** @param {TestQuestion | undefined} question @param {TestAnswer} answer */
function words(question, { choice, text }) {
  return question?.options && choice !== null ? question.options[choice] : text;
}

export function start() {
  edit(Test);
}
