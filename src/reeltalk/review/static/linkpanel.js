// @ts-check
/**
 * The shown link: its two turns, relations, skills, the rewriting of the later question, and whether it fits the turns
 * around it.
 *
 *     const panel = new LinkPanel(pair);
 *     panel.show("2-0", value, others);
 *     panel.addEventListener("typed", ({detail}) => put(detail.value, detail.now));
 */

import { Choices } from "./choices.js";
import { problemsOf } from "./coherence.js";
import { button, byId, changes, element, fill, grow } from "./elements.js";
import { endsOf, nameOf } from "./linkvalue.js";

/** @typedef {import("./linkvalue.js").LinkValue} LinkValue */
/** @typedef {import("./linkvalue.js").Pair} Pair */
/** @typedef {import("./linkvalue.js").Draft} Draft */
/** @typedef {{name: string, question: string}} Other The question of another link to the same later turn. */

export class LinkPanel extends EventTarget {
  /** @param {Pair} pair */
  constructor(pair) {
    super();
    this._pair = pair;
    this._place = "";
    /** @type {LinkValue} */
    this._value = { decision: null, relations: [], skills: [], method: null, question: null, references: null, fits: false, note: "" };
    /** @type {Other[]} */
    this._others = [];
    /** Index of the next draft. */
    this._draft = 0;
    this.relations = new Choices(byId("relations", HTMLElement), (relations) => this._change({ relations }));
    this.skills = new Choices(byId("skills", HTMLElement), (skills) => this._change({ skills }));
    this._note = byId("note", HTMLTextAreaElement);
    this._fits = byId("fits", HTMLInputElement);
    this._note.addEventListener("input", () => this._type({ note: this._note.value }));
    this._fits.addEventListener("change", () => this._change({ fits: this._fits.checked }));
    byId("methods", HTMLElement).addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement) this._change({ method: target.value || null });
    });
    byId("wording", HTMLElement).addEventListener("input", () => this._typeWording());
  }

  /** @param {string} place @param {LinkValue} value @param {Other[]} others */
  show(place, value, others) {
    if (place !== this._place) this._draft = 0;
    this._place = place;
    this._value = structuredClone(value);
    this._others = others;
    this._drawTurns();
    this._drawDrafts();
    this._drawWording();
    this._note.value = value.note;
    grow(this._note);
    this._draw();
  }

  // ---- actions ----------------------------------------------------------------------------------------------------

  /** Makes a relation the only one. @param {number} n From 0, in the order of the page. */
  setRelation(n) {
    const box = byId("relations", HTMLElement).querySelectorAll("input[type=checkbox]")[n];
    if (box instanceof HTMLInputElement) this._change({ relations: [box.value] });
  }

  /** Starts from the next draft that a machine wrote; false if there is none. */
  takeDraft() {
    const drafts = this._drafts;
    if (!drafts.length) return false;
    this._take(drafts[this._draft % drafts.length]);
    this._draft++;
    return true;
  }

  /** Restores the original words of the later turn. */
  useOwnWords() {
    this._change({ question: null, references: null, method: null, fits: false });
  }

  toggleFits() {
    if (this._value.question === null) return;
    this._change({ fits: !this._value.fits });
  }

  /** @param {"question" | "answer" | "note" | "fits" | "skills" | "methods"} what */
  focus(what) {
    if (what === "skills") {
      byId("skills-fold", HTMLDetailsElement).open = true;
      this.skills.focus();
    } else if (what === "methods") {
      byId("methods-fold", HTMLDetailsElement).open = true;
      const radios = [...byId("methods", HTMLElement).querySelectorAll("input")];
      (radios.find(({ checked }) => checked) ?? radios[0])?.focus();
    } else {
      const id = { question: "question", answer: "reference-0", note: "note", fits: "fits" }[what];
      const field = document.getElementById(id);
      field?.focus();
      if (field instanceof HTMLTextAreaElement) field.setSelectionRange(field.value.length, field.value.length);
    }
  }

  // ---- values ------------------------------------------------------------------------------------------------------

  get _ends() {
    const [source, target] = endsOf(this._place);
    const { before, after } = this._pair;
    return {
      source: before.turns[source],
      target: after.turns[target],
      before: after.turns[target - 1],
      after: after.turns[target + 1],
      index: target,
    };
  }

  /** Drafts of the link's relations; all drafts if none match. @returns {Draft[]} */
  get _drafts() {
    const all = this._pair.rewrites[this._place] ?? [];
    const fitting = all.filter(({ relation }) => this._value.relations.includes(relation));
    return fitting.length ? fitting : all;
  }

  /** @param {Partial<LinkValue>} changed */
  _change(changed) {
    this._put(changed, true);
  }

  /** @param {Partial<LinkValue>} changed */
  _type(changed) {
    this._put(changed, false);
  }

  /** @param {Partial<LinkValue>} changed @param {boolean} now */
  _put(changed, now) {
    Object.assign(this._value, changed, { decision: null });
    if ("relations" in changed) this._drawDrafts();
    // Not while somebody types: the field would lose its caret.
    if (now && "question" in changed) this._drawWording();
    this._draw();
    this.dispatchEvent(new CustomEvent("typed", { detail: { value: structuredClone(this._value), now } }));
  }

  _typeWording() {
    const question = byId("question", HTMLTextAreaElement);
    const references = [...byId("wording", HTMLElement).querySelectorAll("textarea")].slice(1);
    for (const area of [question, ...references]) grow(area);
    const { target } = this._ends;
    const texts = references.map(({ value }) => value);
    const own = target.references?.length ? target.references : [""];
    const isOwn = question.value === target.question && JSON.stringify(texts) === JSON.stringify(own);
    this._type(isOwn ? { question: null, references: null, fits: false } : { question: question.value, references: texts, fits: false });
  }

  /** @param {Draft} draft */
  _take(draft) {
    const skills = this._value.skills.includes(draft.skill) ? this._value.skills : [...this._value.skills, draft.skill];
    this._change({ question: draft.question, references: [...draft.references], method: draft.method, skills, fits: false });
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  _drawTurns() {
    const { source, target } = this._ends;
    byId("link-title", HTMLElement).textContent = nameOf(this._place);
    const line = (/** @type {string} */ name, /** @type {import("./linkvalue.js").Turn} */ turn) =>
      element(
        "div",
        {},
        element("p", { class: "about" }, name),
        element("p", { class: "asked-text" }, turn.question),
        element("p", { class: "answer-text" }, turn.references?.[0] ?? ""),
      );
    fill(byId("linked", HTMLElement), line("Earlier turn", source), line("Later turn, in its original words", target));
  }

  _drawDrafts() {
    const drafts = this._drafts;
    fill(
      byId("drafts", HTMLElement),
      ...drafts.map((draft, n) =>
        element(
          "div",
          { class: "draft" },
          element("p", {}, element("q", {}, draft.question), " ", element("span", { class: "soft" }, draft.references[0] ?? "")),
          draft.checked === false && element("p", { class: "small soft" }, "Not checked against the video."),
          draft.problems.length > 0 && element("p", { class: "small warn" }, `${draft.problems.join("; ")}.`),
          button("Start from this draft", () => this._take(draft), { class: "second", "data-key": n === 0 ? "draft" : undefined }),
        ),
      ),
    );
    this.dispatchEvent(new CustomEvent("drawn"));
  }

  _drawWording() {
    const { target } = this._ends;
    const { question, references } = this._value;
    const answers = references ?? (target.references?.length ? target.references : [""]);
    const focused = document.activeElement?.id;
    const field = (/** @type {string} */ id, /** @type {string} */ label, /** @type {string} */ text) => {
      const area = element("textarea", { id, rows: 1, spellcheck: "true" });
      area.value = text;
      return element("div", { class: "field" }, element("label", { for: id }, label), area, element("p", { class: "difference", hidden: true }));
    };
    fill(
      byId("wording", HTMLElement),
      field("question", "Later question", question ?? target.question),
      ...answers.map((text, n) => field(`reference-${n}`, n ? `Answer ${n + 1}` : "Answer", text)),
      button("Restore the original words", () => this.useOwnWords(), { id: "own-words", class: "quiet", "data-key": "own-words" }),
    );
    for (const area of byId("wording", HTMLElement).querySelectorAll("textarea")) grow(area);
    if (focused && byId("wording", HTMLElement).querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused)?.focus();
    this.dispatchEvent(new CustomEvent("drawn"));
  }

  /** Draws everything but the text fields. */
  _draw() {
    const { relations, skills, method, question, fits } = this._value;
    this.relations.show(relations);
    this.skills.show(skills);
    byId("skills-told", HTMLElement).textContent = skills.join(", ") || "none given";
    this._drawMethods(relations, method);
    this._drawChanges();
    this._drawAround();
    const isRewritten = question !== null;
    byId("own-words", HTMLButtonElement).hidden = !isRewritten;
    this._fits.checked = fits;
    this._fits.disabled = !isRewritten;
    this._fits.closest(".fits")?.classList.toggle("soft", !isRewritten);
    const found = problemsOf(this._value, { ...this._ends, drafts: this._drafts, others: this._others });
    fill(byId("problems", HTMLElement), ...found.map((text) => element("li", { class: "flagged" }, text)));
    byId("problems", HTMLElement).hidden = !found.length;
  }

  /** @param {string[]} relations @param {string | null} method */
  _drawMethods(relations, method) {
    let shown = 0;
    for (const row of byId("methods", HTMLElement).querySelectorAll(".method")) {
      const radio = row.querySelector("input");
      if (!radio) continue;
      radio.checked = radio.value === (method ?? "");
      const isFitting = relations.includes(row.getAttribute("data-relation") ?? "");
      /** @type {HTMLElement} */ (row).hidden = !isFitting && radio.value !== "" && !radio.checked;
      if (isFitting) shown++;
    }
    const named = [...byId("methods", HTMLElement).querySelectorAll(".method")].find((row) => row.querySelector("input")?.checked);
    const said = method && named ? named.textContent?.trim() : shown ? `${shown} fit ${relations.join(" and ")}` : "none of the catalogue";
    byId("method-told", HTMLElement).textContent = said ?? "";
  }

  _drawChanges() {
    const { target } = this._ends;
    const { question, references } = this._value;
    const own = [target.question, ...(target.references ?? [])];
    const now = [question, ...(references ?? [])];
    byId("wording", HTMLElement)
      .querySelectorAll(".difference")
      .forEach((place, n) => {
        const text = question === null ? undefined : now[n];
        const isSame = text === undefined || text === null || text === (own[n] ?? "");
        /** @type {HTMLElement} */ (place).hidden = isSame;
        if (!isSame) fill(place, changes(own[n] ?? "", /** @type {string} */ (text)));
      });
  }

  _drawAround() {
    const { before, after, target, index } = this._ends;
    const { question, references } = this._value;
    const here = { question: question ?? target.question, references: references ?? target.references ?? [] };
    const row = (/** @type {import("./linkvalue.js").Turn | undefined} */ turn, /** @type {number} */ n, /** @type {string} */ none) =>
      element(
        "li",
        { class: n === index ? "here" : "", "aria-current": n === index ? "step" : undefined },
        turn
          ? element("p", {}, element("span", { class: "soft" }, `${n + 1} `), turn.question, " ", element("span", { class: "soft" }, turn.references?.[0] ?? ""))
          : element("p", { class: "soft" }, none),
      );
    fill(
      byId("around", HTMLElement),
      row(before, index - 1, "It is the first turn of its chain."),
      row(here, index, ""),
      row(after, index + 1, "It is the last turn of its chain."),
    );
  }
}
