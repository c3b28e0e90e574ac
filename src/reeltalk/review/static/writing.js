// @ts-check
/**
 * A form for a value of any kind of work, built from the value: texts, numbers, lists, labels, intervals. Fields that it
 * cannot show stay unchanged. The server checks the value.
 */

import { element, fill } from "./elements.js";

/** @typedef {Record<string, any>} Value */

export class WritingForm {
  /**
   * @param {HTMLFormElement} form
   * @param {Record<string, string[]>} choices The allowed values of fields with a closed list.
   * @param {string[]} order Names of the fields that come first.
   * @param {(value: Value) => void} changed
   */
  constructor(form, choices, order, changed) {
    this._form = form;
    this._choices = choices;
    this._order = order;
    this._changed = changed;
    /** @type {Value} */
    this._value = {};
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => this._changed(this._value));
  }

  /** @param {Value} value */
  show(value) {
    this._value = structuredClone(value);
    const names = new Set([...this._order.filter((name) => name in this._value), ...Object.keys(this._value)]);
    fill(this._form, ...[...names].map((name) => this._field(this._value, name, name)));
  }

  focus() {
    /** @type {HTMLElement | null} */ (this._form.querySelector("textarea, input"))?.focus();
  }

  /**
   * @param {Value} within
   * @param {string} name
   * @param {string} path
   * @returns {HTMLElement | null}
   */
  _field(within, name, path) {
    const value = within[name];
    // Names inside a field, such as vocabularies, are shown as the benchmark has them.
    const label = path === name ? nice(name) : name;
    const choices = this._choices[path];
    if (choices) return this._choice(within, name, label, choices);
    if (typeof value === "string") return this._text(label, value, (text) => (within[name] = text));
    if (typeof value === "number" || (value === null && name.endsWith("_s"))) return this._number(within, name, label);
    if (Array.isArray(value)) return this._list(within, name, label);
    if (value === null || typeof value !== "object") return null;
    const parts = Object.keys(value).map((key) => this._field(value, key, `${path}.${key}`));
    return parts.some(Boolean) ? element("fieldset", {}, element("legend", {}, label), ...parts) : null;
  }

  /** @param {Value} within @param {string} name @param {string} label @param {string[]} choices */
  _choice(within, name, label, choices) {
    const many = Array.isArray(within[name]);
    const boxes = choices.map((choice) => {
      const isOn = many ? within[name].includes(choice) : within[name] === choice;
      const box = element("input", { type: many ? "checkbox" : "radio", name, value: choice, checked: isOn });
      box.addEventListener("change", () => {
        if (!many) within[name] = choice;
        else within[name] = choices.filter((one) => one === choice ? box.checked : within[name].includes(one));
      });
      return element("label", {}, box, nice(choice));
    });
    return element("fieldset", {}, element("legend", {}, label), element("div", { class: "choice" }, ...boxes));
  }

  /** @param {string} label @param {string} value @param {(text: string) => void} put @param {string} [hint] */
  _text(label, value, put, hint = "") {
    const lines = Math.min(6, Math.max(value.split("\n").length, Math.ceil(value.length / 60)));
    const area = element("textarea", { rows: Math.max(1, lines) });
    area.value = value;
    area.addEventListener("input", () => put(area.value));
    return element("label", {}, hint ? `${label} (${hint})` : label, area);
  }

  /** @param {Value} within @param {string} name @param {string} label */
  _number(within, name, label) {
    const field = element("input", { type: "number", step: "any", value: within[name] ?? "" });
    field.addEventListener("input", () => (within[name] = Number.isNaN(field.valueAsNumber) ? null : field.valueAsNumber));
    return element("label", {}, label, field);
  }

  /** @param {Value} within @param {string} name @param {string} label */
  _list(within, name, label) {
    /** @type {any[]} */
    const value = within[name];
    if (value.every((one) => typeof one === "string")) {
      const put = (/** @type {string} */ text) => (within[name] = text.split("\n").filter((line) => line.trim()));
      return this._text(label, value.join("\n"), put, "one a line");
    }
    if (value.every((one) => typeof one?.start_s === "number")) {
      const shown = value.map(({ start_s, end_s }) => `${start_s} – ${end_s}`).join("\n");
      const put = (/** @type {string} */ text) => (within[name] = spans(text) ?? within[name]);
      return this._text(label, shown, put, "seconds, one a line: 3.5 – 8");
    }
    return null;
  }
}

/** Intervals, or null if a line is not an interval. @param {string} text */
function spans(text) {
  const found = text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => /^\s*([\d.]+)\s*[-–]\s*([\d.]+)\s*$/.exec(line));
  if (found.some((match) => match === null)) return null;
  return found.map((match) => ({ start_s: Number(match?.[1]), end_s: Number(match?.[2]) }));
}

/** The name of a field for people. @param {string} name */
export function nice(name) {
  const words = name.replace(/_s$/, " (s)").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}
