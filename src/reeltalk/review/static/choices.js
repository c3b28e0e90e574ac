// @ts-check
/**
 * Check boxes for labels, which are in the page already. In an open vocabulary other labels can be typed.
 *
 *     const relations = new Choices(fieldset, (labels) => …);
 *     relations.show(["Events", "Weather"]);
 */

import { element } from "./elements.js";

export class Choices {
  /** @param {HTMLElement} place Holds check boxes, and a text field if other labels can be typed. @param {(labels: string[]) => void} changed */
  constructor(place, changed) {
    this._place = place;
    this._known = new Set(this._boxes.map(({ value }) => value));
    const typed = place.querySelector("input[data-other]");
    this._typed = typed instanceof HTMLInputElement ? typed : null;
    place.addEventListener("change", ({ target }) => {
      if (target !== this._typed) changed(this.read());
    });
    const add = () => {
      const label = this._typed?.value.trim();
      if (!label) return;
      const labels = this.read();
      if (this._typed) this._typed.value = "";
      if (labels.includes(label)) return;
      this.show([...labels, label]);
      changed(this.read());
    };
    this._typed?.addEventListener("change", add);
    this._typed?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      add();
    });
  }

  /** @returns {HTMLInputElement[]} */
  get _boxes() {
    return [...this._place.querySelectorAll("input")].filter(({ type }) => type === "checkbox");
  }

  /** The ticked labels, in the order of the page. */
  read() {
    return this._boxes.filter(({ checked }) => checked).map(({ value }) => value);
  }

  /** @param {string[]} labels */
  show(labels) {
    for (const box of this._boxes) {
      box.checked = labels.includes(box.value);
      if (!box.checked && !this._known.has(box.value)) box.closest(".choice")?.remove();
    }
    const there = new Set(this._boxes.map(({ value }) => value));
    for (const label of labels) {
      if (there.has(label)) continue;
      const box = element("input", { type: "checkbox", value: label });
      box.checked = true;
      const choice = element("label", { class: "choice" }, box, element("span", { class: "name" }, label));
      (this._typed?.closest(".other") ?? null) ? this._typed?.closest(".other")?.before(choice) : this._place.append(choice);
    }
  }

  /** Ticks the n-th label of the page, or removes the tick. @param {number} n */
  toggle(n) {
    this._boxes[n]?.click();
  }

  focus() {
    (this._boxes.find(({ checked }) => checked) ?? this._boxes[0])?.focus();
  }
}
