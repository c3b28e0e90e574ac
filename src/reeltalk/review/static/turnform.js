// @ts-check
/**
 * The fields of the turn under review.
 *
 *     const form = new TurnForm(place, {known: {"cogme.target": ["Object"]}, seek: (time_s) => …});
 *     form.show(value);
 *     form.addEventListener("typed", () => save(form.read()));
 *     form.setStart(12.4);              // of the selected evidence interval
 *
 * Times are seconds of the video, as the benchmark counts them, rounded to milliseconds.
 */

import { button, changes, clock, element, fill } from "./elements.js";
import { LabelFields } from "./labelfields.js";
import { startOf } from "./turnvalue.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */
/** @typedef {import("./player.js").Interval} Interval */

export class TurnForm extends EventTarget {
  /**
   * @param {HTMLElement} place
   * @param {{known: Record<string, string[]>, seek: (time_s: number) => void}} settings `known`: labels to offer.
   */
  constructor(place, settings) {
    super();
    this._place = place;
    this._seek = settings.seek;
    this._value = startOf({});
    /** @type {TurnValue | null} The version with which the fields are compared. */
    this._against = null;
    /** Index of the evidence interval that keys set. */
    this.chosen = 0;
    this._labels = new LabelFields(settings.known, () => this._typed());
    place.addEventListener("input", (event) => this._input(event));
    place.addEventListener("focusin", ({ target }) => {
      const row = target instanceof Element ? target.closest("[data-interval]") : null;
      if (row) this._choose(Number(row.getAttribute("data-interval")));
    });
  }

  /** @param {TurnValue} value */
  show(value) {
    this._value = structuredClone(value);
    this.chosen = Math.min(this.chosen, Math.max(0, value.evidence.length - 1));
    this._draw();
  }

  /** The values of the fields, with the decision, reasons and note of the shown value. @returns {TurnValue} */
  read() {
    return structuredClone(this._value);
  }

  /** The evidence in the fields. */
  get evidence() {
    return this._value.evidence;
  }

  /** Shows the differences from another version; none for null. @param {TurnValue | null} against */
  compare(against) {
    this._against = against;
    this._drawChanges();
  }

  /** @param {"question" | "answer" | "labels"} field */
  focus(field) {
    const found = this._place.querySelector(
      { question: "#question", answer: "#reference-0, #add-reference", labels: ".labels input" }[field],
    );
    if (found instanceof HTMLElement) found.focus();
    if (found instanceof HTMLTextAreaElement) found.setSelectionRange(found.value.length, found.value.length);
  }

  // ---- times -------------------------------------------------------------------------------------------------------

  /** @param {number} time_s */
  setAsked(time_s) {
    this._value.asked_at_s = rounded(time_s);
    this._redraw();
  }

  /** Sets the start of the selected interval; adds one if there is none. @param {number} time_s */
  setStart(time_s) {
    const start_s = rounded(time_s);
    const interval = this._value.evidence[this.chosen];
    if (!interval) this.addInterval(time_s);
    else {
      interval.start_s = start_s;
      interval.end_s = Math.max(interval.end_s, start_s);
      this._redraw();
    }
  }

  /** Sets the end of the selected interval. @param {number} time_s */
  setEnd(time_s) {
    const end_s = rounded(time_s);
    const interval = this._value.evidence[this.chosen];
    if (!interval) this.addInterval(time_s);
    else {
      interval.end_s = end_s;
      interval.start_s = Math.min(interval.start_s, end_s);
      this._redraw();
    }
  }

  /** @param {number} time_s Its start and, until another is set, its end. */
  addInterval(time_s) {
    this._value.evidence.push({ start_s: rounded(time_s), end_s: rounded(time_s) });
    this.chosen = this._value.evidence.length - 1;
    this._redraw();
  }

  /** Selects the next interval and returns it. @returns {Interval | null} */
  chooseNext() {
    const { length } = this._value.evidence;
    if (!length) return null;
    this._choose((this.chosen + 1) % length);
    return this._value.evidence[this.chosen];
  }

  /** @param {number} index */
  _choose(index) {
    this.chosen = index;
    for (const row of this._place.querySelectorAll("[data-interval]")) {
      const isChosen = row.getAttribute("data-interval") === String(index);
      row.classList.toggle("chosen", isChosen);
      if (isChosen) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  // ---- typing ------------------------------------------------------------------------------------------------------

  /** @param {Event} event */
  _input({ target }) {
    if (!(target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement)) return;
    const { field, index } = target.dataset;
    const n = Number(index);
    const value = this._value;
    if (field === "question") value.question = target.value;
    else if (field === "reference") value.references[n] = target.value;
    else if (field === "option" && value.options) value.options[n] = target.value;
    else if (field === "correct") value.correct_option = n;
    else if (field === "asked") value.asked_at_s = target.value === "" ? null : seconds(target);
    else if (field === "start" || field === "end") {
      value.evidence[n] = { ...value.evidence[n], [field === "start" ? "start_s" : "end_s"]: seconds(target) };
      this._sayOrder(n);
    } else return;
    if (target instanceof HTMLTextAreaElement) grow(target);
    this._typed();
  }

  /** Reports an interval that ends before it starts; it cannot be saved. @param {number} n */
  _sayOrder(n) {
    const { start_s, end_s } = this._value.evidence[n];
    const wrong = end_s < start_s;
    for (const field of this._place.querySelectorAll(`[data-interval="${n}"] input`)) {
      if (wrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  _typed() {
    this._drawChanges();
    this.dispatchEvent(new CustomEvent("typed"));
  }

  _redraw() {
    this._draw();
    this._typed();
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  _draw() {
    const focused = this._place.contains(document.activeElement) ? document.activeElement?.id : undefined;
    fill(
      this._place,
      this._text("Question", "question", "question", this._value.question),
      this._answers(),
      this._value.options && this._options(this._value.options),
      element("div", { class: "times" }, this._asked(), this._evidence()),
      this._labels.draw(this._value.labels),
    );
    for (const area of this._place.querySelectorAll("textarea")) grow(area);
    this._value.evidence.forEach((_, n) => this._sayOrder(n));
    this._choose(this.chosen);
    this._drawChanges();
    if (focused) document.getElementById(focused)?.focus();
  }

  /** @param {string} label @param {string} id @param {string} field @param {string} text @param {number} [index] */
  _text(label, id, field, text, index = 0) {
    const area = element("textarea", { id, rows: 1, "data-field": field, "data-index": index, spellcheck: "true" });
    area.value = text;
    return element(
      "div",
      { class: "field" },
      element("label", { for: id }, label),
      area,
      element("p", { class: "difference", "data-difference": id, hidden: true }),
    );
  }

  _answers() {
    const { references } = this._value;
    const one = references.length === 1;
    return element(
      "div",
      { class: "group" },
      ...references.map((text, n) =>
        element(
          "div",
          { class: "row" },
          this._text(one ? "Answer" : `Answer ${n + 1}`, `reference-${n}`, "reference", text, n),
          !one && this._remove(`Remove answer ${n + 1}`, () => references.splice(n, 1)),
        ),
      ),
      this._add(references.length ? "Add another answer" : "Add an answer", "add-reference", () => references.push("")),
    );
  }

  /** @param {string[]} options */
  _options(options) {
    return element(
      "fieldset",
      { class: "group" },
      element("legend", {}, "Options; the right one is marked"),
      ...options.map((text, n) => {
        const right = element("input", {
          type: "radio",
          name: "correct",
          "data-field": "correct",
          "data-index": n,
          checked: n === this._value.correct_option,
          "aria-label": `Option ${n + 1} is right`,
        });
        const input = element("input", {
          id: `option-${n}`,
          "data-field": "option",
          "data-index": n,
          value: text,
          "aria-label": `Option ${n + 1}`,
        });
        const remove = this._remove(`Remove option ${n + 1}`, () => {
          options.splice(n, 1);
          const { correct_option } = this._value;
          if (correct_option === n) this._value.correct_option = null;
          else if (correct_option !== null && correct_option > n) this._value.correct_option = correct_option - 1;
        });
        return element("div", { class: "row option" }, right, input, remove);
      }),
      this._add("Add an option", "add-option", () => options.push("")),
    );
  }

  _asked() {
    const { asked_at_s } = this._value;
    return element(
      "div",
      { class: "field asked-at" },
      element("label", { for: "asked-at" }, "Asked at (seconds)"),
      element(
        "div",
        { class: "row" },
        timeField("asked-at", "asked", 0, asked_at_s),
        keyed(button("Now", () => this._wantNow("asked"), { class: "second", "aria-label": "Asked now: use the time of the video" }), "asked-here"),
        asked_at_s !== null && button(clock(asked_at_s), () => this._seek(asked_at_s), { class: "quiet", "aria-label": "Go to the time of the question" }),
      ),
    );
  }

  _evidence() {
    const { evidence } = this._value;
    return element(
      "fieldset",
      { class: "group evidence-fields" },
      element("legend", {}, "Evidence (seconds)"),
      ...evidence.map(({ start_s, end_s }, n) =>
        element(
          "div",
          { class: "row interval", "data-interval": n },
          button(`${n + 1}`, () => this._goTo(n), { class: "quiet", "aria-label": `Go to evidence ${n + 1}` }),
          timeField(`start-${n}`, "start", n, start_s, `Evidence ${n + 1} starts`),
          element("span", { "aria-hidden": "true" }, "–"),
          timeField(`end-${n}`, "end", n, end_s, `Evidence ${n + 1} ends`),
          this._remove(`Remove evidence ${n + 1}`, () => evidence.splice(n, 1)),
        ),
      ),
      element(
        "div",
        { class: "row" },
        keyed(button("Starts here", () => this._wantNow("start"), { class: "second" }), "start-here"),
        keyed(button("Ends here", () => this._wantNow("end"), { class: "second" }), "end-here"),
        keyed(button("Add", () => this._wantNow("interval"), { class: "second", "aria-label": "Add an interval of evidence" }), "add-interval"),
      ),
    );
  }

  /** @param {number} n */
  _goTo(n) {
    this._choose(n);
    this._seek(this._value.evidence[n].start_s);
  }

  /** Requests the current time of the video for a field. @param {"asked" | "start" | "end" | "interval"} what */
  _wantNow(what) {
    this.dispatchEvent(new CustomEvent("now", { detail: { what } }));
  }

  /** @param {string} label @param {() => void} act */
  _remove(label, act) {
    return button(
      "×",
      () => {
        act();
        this._redraw();
      },
      { class: "quiet remove", "aria-label": label },
    );
  }

  /** @param {string} label @param {string} id @param {() => void} act */
  _add(label, id, act) {
    return button(
      label,
      () => {
        act();
        this._redraw();
        const fields = this._place.querySelectorAll(id === "add-option" ? '[data-field="option"]' : '[data-field="reference"]');
        const last = fields[fields.length - 1];
        if (last instanceof HTMLElement) last.focus();
      },
      { class: "quiet add", id },
    );
  }

  _drawChanges() {
    const against = this._against;
    for (const shown of this._place.querySelectorAll("[data-difference]")) {
      const field = shown.getAttribute("data-difference") ?? "";
      const of = (/** @type {TurnValue} */ value) =>
        field === "question" ? value.question : value.references[Number(field.split("-")[1])] ?? "";
      const differs = against !== null && of(against) !== of(this._value);
      fill(shown, against !== null && differs && changes(of(against), of(this._value)));
      if (shown instanceof HTMLElement) shown.hidden = !differs;
    }
  }
}

/** @param {HTMLButtonElement} made @param {string} action Its key is shown in the button. */
function keyed(made, action) {
  made.dataset.key = action;
  return made;
}

/** @param {string} id @param {string} field @param {number} index @param {number | null} value @param {string} [label] */
function timeField(id, field, index, value, label) {
  return element("input", {
    id,
    type: "number",
    min: 0,
    step: "any",
    inputmode: "decimal",
    required: field !== "asked",
    "data-field": field,
    "data-index": index,
    value: value === null ? "" : rounded(value),
    "aria-label": label,
  });
}

/** @param {HTMLInputElement | HTMLTextAreaElement} field Its time; 0 if the text is no time. */
function seconds(field) {
  const time_s = Number.parseFloat(field.value);
  return Number.isFinite(time_s) ? Math.max(0, time_s) : 0;
}

/** Rounded to milliseconds. @param {number} time_s */
function rounded(time_s) {
  return Math.max(0, Math.round(time_s * 1000) / 1000);
}

/** Fits the height to the text. @param {HTMLTextAreaElement} area */
export function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}
