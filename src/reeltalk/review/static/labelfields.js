// @ts-check
/** Labels of a turn by vocabulary. Known labels are suggested; any other label can be typed. */

import { button, element, fill } from "./elements.js";
import { vocabularyName } from "./turnvalue.js";

export class LabelFields {
  /**
   * @param {Record<string, string[]>} known Labels to suggest, by vocabulary.
   * @param {() => void} changed
   */
  constructor(known, changed) {
    this._known = known;
    this._changed = changed;
    /** @type {Record<string, string[]>} */
    this._labels = {};
    this._place = element("fieldset", { class: "group labels" });
  }

  /** @param {Record<string, string[]>} labels Changed in place. */
  draw(labels) {
    this._labels = labels;
    const names = [...new Set([...Object.keys(this._known), ...Object.keys(labels)])].sort();
    fill(
      this._place,
      element("legend", {}, "Labels"),
      ...names.map((name, index) => this._vocabulary(name, index)),
      this._newVocabulary(),
    );
    return this._place;
  }

  /** @param {string} name @param {number} index */
  _vocabulary(name, index) {
    const has = this._labels[name] ?? [];
    const input = element("input", { id: `labels-${index}`, list: `known-${index}`, autocomplete: "off", size: 14 });
    const add = () => {
      const label = input.value.trim();
      if (!label || has.includes(label)) return;
      this._labels[name] = [...has, label];
      this._again(`labels-${index}`);
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter" || event.key === ",") {
        event.preventDefault();
        add();
      } else if (event.key === "Backspace" && !input.value && has.length) {
        this._take(name, has[has.length - 1], `labels-${index}`);
      }
    });
    input.addEventListener("change", add);
    const offered = (this._known[name] ?? []).filter((label) => !has.includes(label));
    return element(
      "div",
      { class: "vocabulary" },
      element("label", { for: `labels-${index}` }, vocabularyName(name)),
      ...has.map((label) =>
        element(
          "span",
          { class: "label" },
          label,
          button("×", () => this._take(name, label, `labels-${index}`), { "aria-label": `Remove ${label}`, class: "quiet" }),
        ),
      ),
      input,
      element("datalist", { id: `known-${index}` }, ...offered.map((label) => element("option", { value: label }))),
    );
  }

  _newVocabulary() {
    const input = element("input", { id: "new-vocabulary", autocomplete: "off", size: 14 });
    const add = () => {
      const name = input.value.trim();
      if (!name || name in this._labels || name in this._known) return;
      this._known[name] = [];
      this.draw(this._labels);
      const fields = this._place.querySelectorAll(".vocabulary input");
      const names = [...Object.keys(this._known), ...Object.keys(this._labels)].sort();
      const at = [...new Set(names)].indexOf(name);
      if (fields[at] instanceof HTMLElement) fields[at].focus();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      add();
    });
    return element("div", { class: "vocabulary new" }, element("label", { for: "new-vocabulary" }, "New vocabulary"), input);
  }

  /** @param {string} name @param {string} label @param {string} focused */
  _take(name, label, focused) {
    this._labels[name] = (this._labels[name] ?? []).filter((each) => each !== label);
    if (!this._labels[name].length) {
      delete this._labels[name];
      this._known[name] ??= [];
    }
    this._again(focused);
  }

  /** @param {string} focused */
  _again(focused) {
    this.draw(this._labels);
    document.getElementById(focused)?.focus();
    this._changed();
  }
}

/** Labels to suggest, by vocabulary. @param {import("./workapi.js").Content} content */
export function knownLabels(content) {
  /** @type {Record<string, string[]>} */
  const known = {};
  for (const [name, { labels }] of Object.entries(content.vocabularies ?? {})) known[name] = [...labels];
  return known;
}
