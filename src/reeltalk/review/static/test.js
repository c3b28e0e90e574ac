// @ts-check
/** The test: one question after the other. Given answers stay, and the video stops at the time of the question. */

import { byId, clock, element, fill, grow } from "./elements.js";
import { Keys } from "./keys.js";
import { notify, say } from "./notices.js";
import { lastSpot } from "./resuming.js";
import { EditSession, openWork } from "./edit_session.js";
import { videoActions } from "./videokeys.js";
import { bindButtons, watch } from "./watching.js";
import { RefusedError, ask } from "./workapi.js";

/** @typedef {{question: string, options: string[] | null, until_s: number | null}} Question */
/** @typedef {{text: string, choice: number | null, given: boolean}} Answer */

/** Wait before the next question is requested again. */
const AGAIN_MS = 3000;

class TestScreen {
  /** @param {import("./edit_session.js").Reply} reply */
  constructor(reply) {
    /** @type {Question[]} The questions so far; the next one comes after the last answer. */
    this._questions = reply.unit.content.turns;
    this._isStream = reply.unit.content.mode === "streaming";
    this._was = lastSpot(reply.assignment.id);
    this._count = reply.places.length;
    this._path = `/api/work/${encodeURIComponent(reply.assignment.id)}`;
    /** True while the next question is requested. */
    this._fetching = false;
    this.work = new EditSession(reply, {
      what: "answer",
      draftOf: () => ({ text: "", choice: null, given: false }),
      linesOf: (place, value) => [["Answer", words(this._questions[Number(place)], value)]],
      nameOf: (place) => `Answer ${Number(place) + 1}`,
      stands: ({ given }) => given,
      spot: () => this._was ?? { place: String(this._current), time_s: this.playback.time_s },
    });
    const { playback, opened } = watch(reply.unit.video, this._was?.time_s ?? 0);
    this.playback = playback;
    this._opened = opened;
  }

  async open() {
    const spot = await this.work.open();
    this._draw();
    this.work.addEventListener("changed", () => this._goOn());
    this.work.addEventListener("saved", () => this._goOn());
    this.playback.addEventListener("moved", () => {
      this._holdBack();
      this.work.moved();
    });
    const keys = new Keys([
      { name: "give", label: "Give the answer", group: "Answer", keys: ["a", "Ctrl+Enter"], act: () => this._give() },
      { name: "choose", label: "Choose an option", group: "Answer", keys: Array.from({ length: 9 }, (_, n) => `${n + 1}`), range: "1–9", act: (key) => this._choose(Number(key) - 1) },
      { name: "answer", label: "Write", group: "Answer", keys: ["w"], act: () => document.getElementById("answer-text")?.focus() },
      { name: "leave", label: "Leave the field", group: "Answer", keys: ["Escape"], act: () => byId("test-title", HTMLElement).focus({ preventScroll: true }) },
      { name: "submit", label: "Submit the test", group: "Answer", keys: ["f"], act: () => this._submit() },
      ...videoActions(this.playback),
      { name: "to-asked", label: "Go to the time of the question", group: "Video", keys: ["t"], act: () => this._toAsked() },
      { name: "keys", label: "Show the keys", group: "Video", keys: ["?"], act: () => keys.open() },
    ]);
    bindButtons(keys);
    this._goOn();
    await this._opened;
    this._was = null;
    this._holdBack();
    this.work.resume(spot);
  }

  /** @param {number} n @returns {Answer} */
  _answer(n) {
    const { text, choice, given } = this.work.value(String(n));
    return { text, choice, given };
  }

  /** Index of the question to answer; the number of questions once all are answered. */
  get _current() {
    for (let n = 0; n < this._count; n++) if (!this._answer(n).given) return n;
    return this._count;
  }

  /** True until the server has the last answer and the next question is here. */
  get _isWaiting() {
    const at = this._current;
    return at < this._count ? this._questions[at] === undefined : this.work.outbox.waiting > 0;
  }

  /** @param {number} n */
  _choose(n) {
    const input = document.querySelectorAll("#asking input")[n];
    if (input instanceof HTMLInputElement) input.click();
  }

  _give() {
    const at = this._current;
    const question = this._questions[at];
    if (!question || !this.work.isOpen) return;
    const answer = this._answer(at);
    if (question.options ? answer.choice === null : !answer.text.trim()) {
      notify(question.options ? "Choose one of the options." : "Write an answer. You may write that you do not know.");
      return;
    }
    this.work.put(String(at), { ...answer, given: true }, { now: true });
    this._draw();
  }

  /** Draws the page, and requests the next question once the server has the last answer. */
  async _goOn() {
    const at = this._current;
    if (this._fetching || at >= this._count || this._questions[at] || this.work.outbox.waiting) {
      if (byId("asking", HTMLElement).dataset.at !== `${at} ${this._isWaiting}`) this._draw();
      return;
    }
    this._fetching = true;
    try {
      const fresh = await ask(this._path);
      this._questions = fresh.unit.content.turns;
      this.work.learn(fresh.entries);
      notify("");
      this._draw();
      say(`Question ${this._current + 1} of ${this._count}.`);
      document.getElementById("answer-text")?.focus();
    } catch (error) {
      if (error instanceof RefusedError) notify(`${error.message} Reload the page.`);
      else notify("The answer is saved. The next question appears when the server can be reached.");
      window.setTimeout(() => void this._goOn(), AGAIN_MS);
    } finally {
      this._fetching = false;
    }
  }

  /** Stops the video at the time of the question. */
  _holdBack() {
    const until_s = this._until_s;
    if (until_s === null || this.playback.time_s <= until_s) return;
    this.playback.player.pause();
    void this.playback.seek(until_s);
  }

  /** While the next question is requested, the bound of the last one stays. */
  get _until_s() {
    const at = Math.min(this._current, this._questions.length - 1);
    return this._current >= this._count ? null : (this._questions[at]?.until_s ?? null);
  }

  _toAsked() {
    if (this._until_s === null) say("This question has no time.");
    else void this.playback.seek(this._until_s);
  }

  _submit() {
    if (this._current < this._count) {
      notify(`Question ${this._current + 1} of ${this._count} is still to be answered.`);
      return;
    }
    void this.work.submit({ question: "Submit the test?", summary: `All ${this._count} questions are answered.`, places: [] });
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  _draw() {
    const at = this._current;
    const isDone = at >= this._count;
    const { isOpen } = this.work;
    const before = this._questions.slice(0, at).map((question, n) =>
      element("li", {}, element("p", { class: "asked-text" }, `${n + 1}. ${question.question}`), element("p", { class: "answer-text" }, words(question, this._answer(n)))),
    );
    fill(byId("before", HTMLElement), ...before);
    byId("give", HTMLButtonElement).hidden = isDone || !isOpen;
    byId("give", HTMLButtonElement).disabled = this._isWaiting;
    byId("submit", HTMLButtonElement).hidden = !isDone || !isOpen;
    fill(byId("left", HTMLElement), isDone ? `All ${this._count} questions are answered` : `Question ${at + 1} of ${this._count}`);
    const until_s = this._until_s;
    const bound = until_s === null ? "You may watch the whole video." : `You may watch up to ${clock(until_s)}.`;
    fill(byId("until", HTMLElement), isDone ? "" : this._isStream ? `The question comes while the video plays. ${bound}` : bound);
    const question = this._questions[at];
    const asking = byId("asking", HTMLElement);
    asking.dataset.at = `${at} ${this._isWaiting}`;
    if (isDone) fill(asking);
    else if (!question) fill(asking, element("p", { class: "soft" }, "The next question appears when the server has your answer."));
    else fill(asking, element("p", { class: "now", id: "now" }, question.question), this._drawFields(question, at));
  }

  /** @param {Question} question @param {number} at */
  _drawFields(question, at) {
    const answer = this._answer(at);
    const disabled = !this.work.isOpen;
    if (question.options) {
      const choices = question.options.map((option, n) => {
        const input = element("input", { type: "radio", name: "choice", value: n, checked: answer.choice === n, disabled });
        input.addEventListener("change", () => this.work.put(String(at), { ...this._answer(at), choice: n }));
        return element("label", {}, input, option);
      });
      return element("div", { class: "choices", role: "radiogroup", "aria-labelledby": "now" }, ...choices);
    }
    const area = element("textarea", { rows: 3, "aria-labelledby": "now", id: "answer-text", disabled });
    area.value = answer.text;
    area.addEventListener("input", () => {
      grow(area);
      this.work.put(String(at), { ...this._answer(at), text: area.value });
    });
    return area;
  }
}

/** @param {Question | undefined} question @param {Answer} answer */
function words(question, answer) {
  return question?.options && answer.choice !== null ? question.options[answer.choice] : answer.text;
}

openWork((reply) => new TestScreen(reply).open());
