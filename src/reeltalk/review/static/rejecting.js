// @ts-check
/** The panel for rejecting a turn: reasons from a closed list, by click or by number, and a note. */

import { byId, element, fill } from "./elements.js";
import { REASONS } from "./turnvalue.js";

export class RejectPanel extends EventTarget {
  /** Events: `typed` (a reason or the note changed), `confirm`, `cancel`. */
  constructor() {
    super();
    this._panel = byId("reject-panel", HTMLElement);
    this._note = byId("note", HTMLTextAreaElement);
    this._problem = byId("reject-problem", HTMLElement);
    const names = Object.entries(REASONS);
    this._boxes = names.map(([name]) => element("input", { type: "checkbox", id: `reason-${name}`, value: name }));
    fill(
      byId("reasons", HTMLElement),
      ...names.map(([name, text], n) =>
        element(
          "label",
          { for: `reason-${name}` },
          this._boxes[n],
          element("span", {}, text),
          element("kbd", { "aria-hidden": "true" }, `${n + 1}`),
        ),
      ),
    );
    for (const field of [...this._boxes, this._note]) {
      field.addEventListener("input", () => {
        this._problem.textContent = "";
        this.dispatchEvent(new CustomEvent("typed"));
      });
    }
    for (const box of this._boxes) {
      box.addEventListener("keydown", ({ key }) => {
        if (key === "Enter") this.confirm();
      });
    }
    byId("reject-confirm", HTMLElement).addEventListener("click", () => this.confirm());
    byId("reject-cancel", HTMLElement).addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !this._panel.hidden;
  }

  /** The ticked reasons and the note. */
  read() {
    return { reasons: this._boxes.filter(({ checked }) => checked).map(({ value }) => value), note: this._note.value };
  }

  /** @param {{reasons: string[], note: string}} value */
  show({ reasons, note }) {
    for (const box of this._boxes) box.checked = reasons.includes(box.value);
    this._note.value = note;
    this._problem.textContent = "";
  }

  open() {
    this._panel.hidden = false;
    this._boxes[0].focus();
    this._panel.scrollIntoView({ block: "nearest" });
  }

  /** Closes without a decision; the reasons and the note stay. */
  close() {
    if (!this.isOpen) return;
    this._panel.hidden = true;
    this.dispatchEvent(new CustomEvent("cancel"));
  }

  /** Ticks the n-th reason, or removes the tick. @param {number} n From 0. */
  tick(n) {
    const box = this._boxes[n];
    if (!box) return;
    box.checked = !box.checked;
    box.focus();
    box.dispatchEvent(new Event("input"));
  }

  confirm() {
    const { reasons, note } = this.read();
    if (!reasons.length) this._problem.textContent = "Tick at least one reason.";
    else if (reasons.includes("other") && !note.trim()) {
      this._problem.textContent = "Write the other reason into the note.";
      this._note.focus();
    } else {
      this._panel.hidden = true;
      this.dispatchEvent(new CustomEvent("confirm"));
    }
  }
}
