// @ts-check
/** Rating: marks for answers on a judge's scale. */

import { byId, element, fill, grow } from "./elements.js";
import { Keys } from "./keys.js";
import { say } from "./notices.js";
import { lastSpot } from "./resuming.js";
import { EditSession, openWork } from "./edit_session.js";
import { videoActions } from "./videokeys.js";
import { bindButtons, watch } from "./watching.js";

/** @typedef {{name: string, title: string, lowest: number, highest: number, step: number, levels: Record<string, string>, may_not_apply: boolean}} Criterion */
/** @typedef {{marks: Record<string, number | null>, note: string}} Rating */
/** @typedef {{turn_index: number, question: string, references: string[], answer: string, asked_at_s: number | null, options: string[] | null}} Answer */

/** The place of marks for all answers together. */
const WHOLE = "whole";

class RatingScreen {
  /** @param {import("./edit_session.js").Reply} reply */
  constructor(reply) {
    /** @type {Criterion[]} */
    this._criteria = reply.unit.content.scale.criteria;
    /** @type {Answer[]} */
    this._answers = reply.unit.content.turns;
    this._places = reply.places;
    this.current = 0;
    /** The criterion that the next key rates. */
    this._criterion = 0;
    this._was = lastSpot(reply.assignment.id);
    this.work = new EditSession(reply, {
      what: "rating",
      draftOf: () => ({ marks: {}, note: "" }),
      linesOf: (_, value) => this._linesOf(value),
      nameOf: (place) => (place === WHOLE ? "The rating" : `Answer ${Number(place) + 1}`),
      spot: () => this._was ?? { place: this._places[this.current], time_s: this.playback.time_s },
    });
    const { playback, opened } = watch(reply.unit.video, this._was?.time_s ?? 0);
    this.playback = playback;
    this._opened = opened;
  }

  async open() {
    const spot = await this.work.open();
    this._draw();
    const at = this._places.indexOf(spot?.place ?? "");
    this.current = at >= 0 ? at : Math.max(0, this._places.findIndex((place) => !this._isComplete(place)));
    this._criterion = this._firstUnrated();
    this._tell();
    this.work.addEventListener("changed", () => {
      this._draw();
      this._tell();
    });
    this.playback.addEventListener("moved", () => this.work.moved());
    const digits = Array.from({ length: 10 }, (_, n) => `${n}`);
    const keys = new Keys([
      { name: "mark", label: "Give the next criterion this mark", group: "Rate", keys: digits, range: "0–9", act: (key) => this._giveByKey(key) },
      { name: "next", label: "Next answer", group: "Rate", keys: ["j"], act: () => this.go(this.current + 1) },
      { name: "previous", label: "Previous answer", group: "Rate", keys: ["k"], act: () => this.go(this.current - 1) },
      { name: "undecided", label: "Next answer that is not rated", group: "Rate", keys: ["u"], act: () => this._goToUnrated() },
      { name: "note", label: "Note", group: "Rate", keys: ["n"], act: () => document.getElementById(`note-${this._places[this.current]}`)?.focus() },
      { name: "undo", label: "Undo", group: "Rate", keys: ["z", "Ctrl+z"], act: () => this.work.step("undo"), typing: false },
      { name: "redo", label: "Redo", group: "Rate", keys: ["Shift+Z", "Ctrl+Shift+Z"], act: () => this.work.step("redo"), typing: false },
      { name: "submit", label: "Submit", group: "Rate", keys: ["f"], act: () => this._submit() },
      { name: "leave", label: "Leave a field", group: "Rate", keys: ["Escape"], act: () => this.go(this.current) },
      ...videoActions(this.playback),
      { name: "to-asked", label: "Go to the time of the question", group: "Video", keys: ["t"], act: () => this._toAsked() },
      { name: "keys", label: "Show the keys", group: "Video", keys: ["?"], act: () => keys.open() },
    ]);
    bindButtons(keys);
    await this._opened;
    this._was = null;
    this.work.resume(spot);
  }

  /** @param {string} place @returns {Rating} A copy that can be changed. */
  _rating(place) {
    const { marks, note } = this.work.value(place);
    return { marks: { ...marks }, note };
  }

  /** @param {string} place */
  _isComplete(place) {
    const { marks } = this._rating(place);
    return this._criteria.every(({ name }) => name in marks);
  }

  /** @param {Rating} rating @returns {import("./editor.js").Lines} */
  _linesOf({ marks, note }) {
    const given = this._criteria.filter(({ name }) => name in marks);
    return [
      ...given.map(({ name, title }) => /** @type {[string, string]} */ ([title, markText(marks[name])])),
      ["Note", note],
    ];
  }

  _firstUnrated() {
    const { marks } = this._rating(this._places[this.current]);
    return Math.max(0, this._criteria.findIndex(({ name }) => !(name in marks)));
  }

  /** @param {string} place @param {Criterion} criterion @param {number | null} mark */
  _give(place, criterion, mark) {
    const rating = this._rating(place);
    rating.marks[criterion.name] = mark;
    this.work.put(place, rating, { now: true });
    this.current = this._places.indexOf(place);
    this._criterion = (this._criteria.indexOf(criterion) + 1) % this._criteria.length;
    this._tell();
  }

  /** @param {string} key */
  _giveByKey(key) {
    if (!this.work.isOpen) return;
    const place = this._places[this.current];
    const criterion = this._criteria[this._criterion];
    const mark = marksOf(criterion).find((one) => String(one) === key);
    if (mark === undefined) {
      say(`${criterion.title} has no mark ${key}.`);
      return;
    }
    const wasComplete = this._isComplete(place);
    const input = document.querySelector(`input[name="${CSS.escape(`${place} ${criterion.name}`)}"][value="${mark}"]`);
    if (input instanceof HTMLInputElement) input.checked = true;
    this._give(place, criterion, mark);
    if (!wasComplete && this._isComplete(place)) this._goToUnrated();
    say(`${criterion.title}: ${mark}.`);
  }

  _goToUnrated() {
    const { length } = this._places;
    for (let step = 1; step <= length; step++) {
      const n = (this.current + step) % length;
      if (!this._isComplete(this._places[n])) {
        this.go(n);
        return;
      }
    }
    say("Everything is rated.");
  }

  /** @param {number} n */
  go(n) {
    this.work.hurry();
    this.current = Math.min(Math.max(n, 0), this._places.length - 1);
    this._criterion = this._firstUnrated();
    const there = byId(`place-${this._places[this.current]}`, HTMLElement);
    there.focus({ preventScroll: true });
    there.scrollIntoView({ block: "start" });
    this._tell();
    this.work.moved();
  }

  _toAsked() {
    const at_s = this._answers.find(({ turn_index }) => String(turn_index) === this._places[this.current])?.asked_at_s ?? null;
    if (at_s === null) say("The question of this answer has no time.");
    else void this.playback.seek(at_s);
  }

  _submit() {
    const places = this._places.filter((place) => !this._isComplete(place));
    const count = this._answers.length;
    void this.work.submit({ question: "Submit these ratings?", summary: `${count} ${count === 1 ? "answer is" : "answers are"} rated.`, places });
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  _tell() {
    const left = this._places.filter((place) => !this._isComplete(place)).length;
    fill(byId("left", HTMLElement), left ? `${left} of ${this._places.length} to rate` : "Everything is rated");
    const submit = byId("submit", HTMLButtonElement);
    submit.classList.toggle("second", left > 0);
    for (const name of ["submit", "undo", "redo"]) byId(name, HTMLButtonElement).disabled = !this.work.isOpen;
    this._places.forEach((place, n) => {
      const item = byId(`place-${place}`, HTMLElement);
      item.classList.toggle("done", this._isComplete(place));
      item.classList.toggle("here", n === this.current);
      item.querySelectorAll(".criterion").forEach((field, c) => field.classList.toggle("next", n === this.current && c === this._criterion));
    });
  }

  _draw() {
    const isWhole = this._places.length === 1 && this._places[0] === WHOLE;
    const items = this._answers.map((answer) => {
      const place = String(answer.turn_index);
      const about = [
        element("p", { class: "asked-text" }, `${answer.turn_index + 1}. ${answer.question}`),
        ...(answer.options ?? []).map((option) => element("p", { class: "small" }, `– ${option}`)),
        ...answer.references.map((text) => element("p", { class: "reference" }, `Reference: ${text}`)),
        element("p", { class: "answer" }, answer.answer),
      ];
      return isWhole ? element("li", {}, ...about) : element("li", { id: `place-${place}`, tabindex: "-1" }, ...about, ...this._fields(place));
    });
    fill(byId("answers", HTMLElement), ...items);
    if (isWhole) fill(byId(WHOLE, HTMLElement), element("section", { id: `place-${WHOLE}`, tabindex: "-1", "aria-label": "Rating" }, ...this._fields(WHOLE)));
    for (const area of document.querySelectorAll("textarea")) grow(area);
  }

  /** @param {string} place */
  _fields(place) {
    return [...this._criteria.map((criterion) => this._drawCriterion(place, criterion)), this._drawNote(place)];
  }

  /** @param {string} place @param {Criterion} criterion */
  _drawCriterion(place, criterion) {
    /** @type {(number | null)[]} */
    const marks = [...marksOf(criterion), ...(criterion.may_not_apply ? [null] : [])];
    const given = this._rating(place).marks;
    const choices = marks.map((mark) => {
      const checked = criterion.name in given && given[criterion.name] === mark;
      const input = element("input", { type: "radio", name: `${place} ${criterion.name}`, value: String(mark), checked, disabled: !this.work.isOpen });
      input.addEventListener("change", () => this._give(place, criterion, mark));
      return element("label", {}, input, markText(mark));
    });
    const levels = Object.entries(criterion.levels).flatMap(([mark, means]) => [element("dt", {}, mark), element("dd", {}, means)]);
    return element(
      "fieldset",
      { class: "criterion" },
      element("legend", {}, criterion.title),
      element("div", { class: "marks" }, ...choices),
      levels.length > 0 && element("dl", { class: "levels" }, ...levels),
    );
  }

  /** @param {string} place */
  _drawNote(place) {
    const area = element("textarea", { id: `note-${place}`, rows: 1, disabled: !this.work.isOpen });
    area.value = this._rating(place).note;
    area.addEventListener("input", () => {
      grow(area);
      this.work.put(place, { ...this._rating(place), note: area.value });
    });
    area.addEventListener("focusout", () => this.work.hurry());
    return element("label", { class: "small soft" }, "Note", area);
  }
}

/** @param {Criterion} criterion */
function marksOf({ lowest, highest, step }) {
  const count = Math.round((highest - lowest) / step);
  return Array.from({ length: count + 1 }, (_, n) => lowest + n * step);
}

/** @param {number | null} mark */
function markText(mark) {
  return mark === null ? "does not apply" : String(mark);
}

openWork((reply) => new RatingScreen(reply).open());
