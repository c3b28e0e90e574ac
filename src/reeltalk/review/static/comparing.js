// @ts-check
/** Compares a turn's fields with nothing, with the draft, or with the last revision that differs. */

import { byId, messageOf } from "./elements.js";
import { say } from "./notices.js";
import { isSameWork } from "./turnvalue.js";
import { ask } from "./workapi.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./workapi.js").Version} Version */

const MODES = ["off", "draft", "last"];

export class Comparison {
  /** @param {import("./turnform.js").TurnForm} form */
  constructor(form) {
    this._form = form;
    this._select = byId("compare", HTMLSelectElement);
    /** Counts requests, so that a late answer is not shown. */
    this._asked = 0;
    this._history = "";
    /** @type {TurnValue | null} */
    this._draft = null;
    this._select.addEventListener("change", () => void this._show());
  }

  /** Shows the next kind of difference. */
  next() {
    this._select.value = MODES[(MODES.indexOf(this._select.value) + 1) % MODES.length];
    say(`Changes: ${this._select.selectedOptions[0].text}.`);
    void this._show();
  }

  /** Shows another turn. @param {string} history Address of its versions. @param {TurnValue} draft */
  turn(history, draft) {
    this._history = history;
    this._draft = draft;
    void this._show();
  }

  /** The server has another revision. */
  refresh() {
    if (this._select.value === "last") void this._show();
  }

  /** Shows the differences from a version that was saved elsewhere. @param {TurnValue} value */
  against(value) {
    this._asked++;
    this._form.compare(value);
  }

  async _show() {
    const asked = ++this._asked;
    const mode = this._select.value;
    const draft = this._draft;
    if (mode !== "last" || !draft) {
      this._form.compare(mode === "draft" ? draft : null);
      return;
    }
    try {
      const { versions } = /** @type {{versions: Version[]}} */ (await ask(this._history));
      if (asked !== this._asked) return;
      const here = this._form.read();
      const last = versions.findLast(({ value }) => value?.decision && !isSameWork(value, here));
      this._form.compare(last?.value ?? draft);
      if (!last) say("There is no other revision. The draft is shown for comparison.");
    } catch (error) {
      say(messageOf(error));
    }
  }
}
