// @ts-check
/**
 * Adjudication in the editor: the versions A and B of each field side by side, with their changes from the draft. The
 * adjudicator takes all of A or of B, chooses field by field, or writes C; or returns the work of one of them.
 */

import { edit } from "./editor.js";
import { messageOf } from "./elements.js";
import { Answers, Changes, Choices, Evidence, Labels, Text, Time } from "./fields.js";
import { Modal } from "./frame.js";
import { DECISIONS, labelOf, rowsOf, startOf, textOf } from "./values.js";
import { html, useState } from "./vendor/preact.js";
import { ask } from "./workapi.js";

/** @typedef {{name: string, keys: string[], differs: boolean}} Row Fields that are chosen together. */

/** A place that is a link between two turns. */
const LINK = /^(\d+)-(\d+)$/;
/** Fields that are not compared. */
const LEFT_OUT = ["note", "unsure", "manual"];

export class Adjudicate {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    const reply = /** @type {Dispute} */ (editor.reply);
    this.sides = reply.sides;
    this.shown = reply.shown;
    this.disputed = reply.disputed;
    this.choices = reply.choices;
    this.order = reply.fields;
    this.isTurns = /** @type {any} */ (reply.unit).task === "turns";
    this.turns = editor.content.turns ?? [];
    this.known = editor.content.vocabularies ?? {};
    this.reasons = reply.reasons;
    this.what = "decision";
    this.places = Object.keys(this.shown);
    this.stands = () => true;
    /** Index of the row whose version the keys 1 and 2 choose. */
    this.at = 0;
    /** @type {string | null} The place at which C is written. */
    this.writing = null;
    /** @type {Version | null} The work that is about to be returned. */
    this.returning = null;
    this.Fields = Fields;
    this.Head = Head;
  }

  /** @param {string} place */
  nameOf(place) {
    const [, from, to] = LINK.exec(place) ?? [];
    if (from) return `Link ${Number(from) + 1} → ${Number(to) + 1}`;
    return /^\d+$/.test(place) ? `Turn ${Number(place) + 1}` : place === "board" ? "All links" : place;
  }

  /** @param {string} place */
  shortOf(place) {
    return this.nameOf(place).replace(/^(Turn|Link|All) /, "");
  }

  draftOf() {
    return null;
  }

  /** @param {string} place */
  isDisputed(place) {
    return this.disputed.includes(place);
  }

  /** @param {string} place @param {Settlement | null} decision */
  isDecided(place, decision) {
    return !this.isDisputed(place) || decision !== null;
  }

  /** @param {string} place */
  stateOf(place) {
    const { how } = this.shown[place];
    if (!this.isDisputed(place)) return { kind: "skipped", text: how === "agreed" ? "Settled: both agree" : `Settled: ${how ?? "nothing to decide"}`, mark: "=" };
    const told = this.tellDecision(place);
    return told ? { kind: "accepted", text: told, mark: told[0] } : { kind: "conflict", text: "They disagree here" };
  }

  /** As `A, taken`; empty if there is no decision. @param {string} place */
  tellDecision(place) {
    const decision = /** @type {Settlement | null} */ (this.editor.session.value(place));
    if (!decision) return "";
    if (decision.take) return `${this.letterOf(decision.take)}, taken`;
    const from = [...new Set(Object.values(decision.from ?? {}))].map((id) => this.letterOf(id)).sort();
    return from.length > 1 ? `C, chosen from ${from.join(" and ")}` : "C, written";
  }

  /** @param {string} id */
  letterOf(id) {
    return this.sides.find((side) => side.id === id)?.letter ?? "?";
  }

  /** The value that a place has by the decision so far, or null. @param {string} place @returns {any} */
  decided(place) {
    const decision = /** @type {Settlement | null} */ (this.editor.session.value(place));
    if (!decision) return this.shown[place].settled?.value ?? null;
    return decision.take ? (this.shown[place].sides[decision.take]?.value ?? null) : decision.write;
  }

  /** The turn of a place as it is now: settled or decided, else drafted. @param {string} place */
  turnOf(place) {
    const turn = startOf(this.turns[Number(place)] ?? {});
    return this.isTurns ? (this.decided(place) ?? { ...turn, decision: null }) : turn;
  }

  /** The two turns of a link; empty if the place is none. @param {string} place @returns {any[]} */
  linked(place) {
    const [, from, to] = LINK.exec(place) ?? [];
    const { before, after } = this.editor.content;
    return from && before && after ? [before.turns[Number(from)], after.turns[Number(to)]].filter(Boolean) : [];
  }

  /** @param {string} place */
  timesOf(place) {
    const parts = this.linked(place).flatMap(({ evidence }) => evidence ?? []);
    if (parts.length) return { asked_at_s: null, evidence: parts };
    const values = [this.decided(place), ...this.sides.map(({ id }) => this.shown[place].sides[id]?.value), this.turns[Number(place)]];
    const found = values.find((value) => value?.evidence?.length);
    return { asked_at_s: found?.asked_at_s ?? null, evidence: found?.evidence ?? [] };
  }

  /** @param {string} _ @param {Interval[]} evidence */
  moveEvidence(_, evidence) {
    if (this.canDecide && this.written().write.evidence) this.type({ evidence });
    else this.editor.refuse("There is no evidence to decide here.");
  }

  placed() {
    const { editor } = this;
    this.at = Math.max(0, this.rows.findIndex(({ differs }) => differs));
    const first = this.timesOf(editor.place).evidence[0];
    if (first && editor.isOpened) editor.seek(first.start_s);
  }

  /** The turn as it is settled or decided; both turns of a link. @param {string} place */
  saidOf(place) {
    const linked = this.linked(place);
    if (linked.length) return { question: linked[1]?.question, answer: linked[0]?.question };
    if (!this.turns.length || !/^\d+$/.test(place)) return { question: "" };
    const { question, references } = this.turnOf(place);
    return { question, answer: references?.[0] };
  }

  submitting() {
    const told = this.disputed.map((place) => `${this.nameOf(place)}: ${this.tellDecision(place)}`);
    return { question: "Submit these decisions?", summary: `${told.join("; ")}.` };
  }

  // ---- deciding ----------------------------------------------------------------------------------------------------

  get canDecide() {
    return this.editor.isOpen && this.isDisputed(this.editor.place);
  }

  /** @returns {Settlement | null} */
  get decision() {
    return this.editor.value;
  }

  /** The fields of the chosen place, grouped. @returns {Row[]} */
  get rows() {
    const { draft, sides } = this.shown[this.editor.place];
    const values = this.sides.map(({ id }) => sides[id]?.value).filter(Boolean);
    const rows = rowsOf([...values, draft.value], this.order).filter(({ name }) => !LEFT_OUT.includes(name));
    const said = (/** @type {any} */ value, /** @type {string[]} */ keys) => JSON.stringify(keys.map((key) => value?.[key] ?? null));
    const found = rows.map((row) => ({ ...row, differs: this.sides.some(({ id }) => said(sides[id]?.value, row.keys) !== said(sides[this.sides[0].id]?.value, row.keys)) }));
    // What is to be decided comes first.
    return [...found.filter(({ differs }) => differs), ...found.filter(({ differs }) => !differs)];
  }

  /** The value that is put together, and whose its fields are; at first the one that was taken, or A's. @returns {{write: any, from: Record<string, string>}} */
  written() {
    const { decision } = this;
    if (decision?.write) return { write: decision.write, from: decision.from ?? {} };
    const { sides, draft } = this.shown[this.editor.place];
    const id = decision?.take ?? this.sides.find((side) => sides[side.id]?.value)?.id ?? "";
    const start = sides[id]?.value ?? draft.value ?? {};
    return { write: structuredClone(start), from: Object.fromEntries(Object.keys(start).map((key) => [key, id])) };
  }

  /** @param {Settlement} decision @param {{now?: boolean}} [options] */
  put(decision, options) {
    const note = this.decision?.note;
    this.editor.set(note ? { ...decision, note } : decision, options);
  }

  /** @param {Version} side */
  take(side) {
    if (!this.canDecide) return;
    const note = this.decision?.note;
    this.editor.decide({ take: side.id, ...(note ? { note } : {}) }, `${side.letter} taken.`);
  }

  /** Takes one side's version of the row. @param {Version | undefined} side @param {number} [at] */
  choose(side, at = this.at) {
    const theirs = side && this.shown[this.editor.place].sides[side.id]?.value;
    const row = this.rows[at];
    if (!this.canDecide || !side || !theirs || !row) {
      this.editor.refuse("There is nothing to choose here.");
      return;
    }
    const { write, from } = this.written();
    const keys = row.keys.filter((key) => key in theirs);
    const next = { ...write, ...Object.fromEntries(keys.map((key) => [key, structuredClone(theirs[key])])) };
    const whose = { ...from, ...Object.fromEntries(keys.map((key) => [key, side.id])) };
    const differing = this.rows.filter(({ differs }) => differs).flatMap((each) => each.keys);
    const isWhole = JSON.stringify(next) === JSON.stringify(theirs) || differing.every((key) => whose[key] === side.id && key in next);
    this.put(isWhole ? { take: side.id } : { write: next, from: whose }, { now: true });
    this.editor.say(`${labelOf(row.name)}: ${side.letter}.`);
    this.moveRow(1);
  }

  /** Something of C was typed. @param {Record<string, any>} more */
  type(more) {
    const { write, from } = this.written();
    const rest = Object.fromEntries(Object.entries(from).filter(([key]) => !(key in more)));
    this.put({ write: { ...write, ...more }, from: rest });
  }

  write() {
    if (!this.canDecide) return;
    this.writing = this.editor.place;
    this.put(this.written());
    this.editor.focus(".row-field.current .own :is(textarea, input, select)", ".own textarea");
  }

  /** Keeps the decision, and goes on. */
  keep() {
    if (this.decision) this.editor.decide(this.decision, `${this.tellDecision(this.editor.place)}.`);
    else this.editor.refuse("Nothing is decided here yet.");
  }

  /** To the next field on which they differ. @param {1 | -1} by */
  moveRow(by) {
    const { rows } = this;
    for (let at = this.at + by; at >= 0 && at < rows.length; at += by) {
      if (!rows[at].differs) continue;
      this.at = at;
      this.editor.draw(() => document.querySelector(".row-field.current")?.scrollIntoView({ block: "nearest" }));
      return;
    }
  }

  /** @param {string} note */
  async sendBack(note) {
    const { returning, editor } = this;
    if (!returning || !note.trim()) return;
    try {
      await editor.session.outbox.settle();
      const path = `/api/adjudicate/${encodeURIComponent(editor.session.id)}/return`;
      const { next } = await ask(path, { method: "POST", body: { assignment: returning.id, note } });
      location.assign(next);
    } catch (error) {
      this.returning = null;
      editor.refuse(messageOf(error));
    }
  }

  /** @returns {Offers} */
  offers() {
    const [a, b] = this.sides;
    return {
      down: { act: () => this.moveRow(1) },
      up: { act: () => this.moveRow(-1) },
      ...(this.canDecide && {
        accept: { act: () => this.take(a), button: "Take A", first: true },
        ...(b && { "accept-b": { act: () => this.take(b), button: "Take B", first: true } }),
        choose: { act: (/** @type {string} */ key) => this.choose(this.sides[Number(key) - 1]) },
        answer: { act: () => this.write(), button: "Write C" },
        done: { act: () => this.keep() },
      }),
    };
  }

  /** @param {Version} side */
  askToReturn(side) {
    this.returning = side;
    this.editor.draw();
  }

  /** A row of a value as text. @param {Row} row @param {any} value */
  textOf(row, value) {
    return textOf(row, value, this.reasons);
  }
}

/** @param {{view: Adjudicate, editor: Editor, place: string}} props */
function Fields({ view, editor, place }) {
  const { draft, sides } = view.shown[place];
  const { decision } = view;
  const linked = view.linked(place);
  const writes = view.isDisputed(place) && decision?.write;
  const text = (/** @type {Row} */ row, /** @type {string} */ id) => view.textOf(row, sides[id]?.value);
  const head = (/** @type {Version} */ { id, letter, round }) => html`<div class=${`head ${decision?.take === id ? "taken" : ""}`} key=${id}>
    ${letter}${round > 1 ? ` (submitted ${round} times)` : ""}${decision?.take === id ? ", taken" : ""}</div>`;
  const version = (/** @type {Row} */ row, /** @type {number} */ at, /** @type {Version} */ side, /** @type {number} */ n) => {
    const said = text(row, side.id);
    // Without a draft, the others are compared with A.
    const before = draft.value ? view.textOf(row, draft.value) : n ? text(row, view.sides[0].id) : said;
    const shown = !said ? html`<span class="soft">nothing</span>` : row.name === "decision" || !before ? said : html`<${Changes} before=${before} after=${said} />`;
    const isChosen = decision?.take === side.id || (writes && row.keys.every((key) => decision.from?.[key] === side.id));
    const act = () => view.choose(side, at);
    if (!view.isDisputed(place)) return html`<div class="side-version">${shown}</div>`;
    return html`<button type="button" class="side-version differs" aria-pressed=${isChosen ? "true" : "false"} aria-label=${`${labelOf(row.name)} of ${side.letter}: ${said || "nothing"}`}
      disabled=${!view.canDecide} onClick=${act}><span>${shown}</span></button>`;
  };
  return html`
    ${linked.map(({ question, references = [] }, n) => html`<p class="linked-turn"><span class="soft">${n ? "Later" : "Earlier"} turn</span> ${question} <span class="soft">${references[0]}</span></p>`)}
    ${!view.isTurns && !linked.length && view.saidOf(place).question && html`<p class="linked-turn">${view.saidOf(place).question} <span class="soft">${view.saidOf(place).answer}</span></p>`}
    <div class="sides">${view.sides.map(head)}</div>
    ${view.rows.map((row, at) => (row.differs || view.writing === place || text(row, view.sides[0].id)) && html`<section key=${row.name} class=${`row-field ${row.differs ? "differs" : ""} ${at === view.at && row.differs ? "current" : ""}`} data-field=${row.name}
        aria-label=${labelOf(row.name)} onFocusIn=${() => row.differs && at !== view.at && ((view.at = at), editor.draw())}>
      <h3>${labelOf(row.name)}</h3>
      ${row.differs
        ? html`<div class="sides">${view.sides.map((side, n) => version(row, at, side, n))}</div>`
        : html`<p class="same">${text(row, view.sides[0].id) || html`<span class="soft">nothing</span>`}</p>`}
      ${writes && (view.writing === place || !row.keys.every((key) => decision.from?.[key])) && html`<${Own} view=${view} editor=${editor} row=${row} value=${writes} />`}
    </section>`)}
    ${view.isDisputed(place) && html`<${Text} label="Note" id="note" value=${decision?.note ?? ""} change=${(/** @type {string} */ note) => decision && editor.set({ ...decision, note })} />`}
    ${view.returning && html`<${Return} view=${view} />`}
  `;
}

/** The field of C. @param {{view: Adjudicate, editor: Editor, row: Row, value: any}} props */
function Own({ view, editor, row, value }) {
  const { name, keys } = row;
  const mine = value[name];
  const id = `own-${name}`;
  const label = `${labelOf(name)} of C`;
  const put = (/** @type {any} */ next) => view.type({ [name]: next });
  const choices = view.choices[name] ?? (Array.isArray(mine) ? editor.content.vocabularies?.[name]?.labels : undefined);
  const titles = Object.fromEntries(view.reasons.map((reason) => [reason.name, reason.title]));
  const boxes = (/** @type {string} */ key, /** @type {string[]} */ labels) => html`<div class="choices" role="group" aria-label=${`${labelOf(key)} of C`}>
    <${Choices} name=${`own-${key}`} vocabulary=${{ labels, titles }} given=${value[key]} change=${(/** @type {string[]} */ given) => view.type({ [key]: given })} /></div>`;
  let field = null;
  if (name === "decision" && choices) {
    const decide = (/** @type {any} */ { target }) => view.type({ decision: target.value, ...(keys.includes("reasons") && target.value !== "reject" ? { reasons: [] } : {}) });
    field = html`<select id=${id} aria-label=${label} onChange=${decide}>${choices.map((each) => html`<option value=${each} selected=${each === mine}>${DECISIONS[each]?.text ?? each}</option>`)}</select>
      ${mine === "reject" && keys.includes("reasons") && boxes("reasons", view.reasons.map((reason) => reason.name))}`;
  } else if (choices && Array.isArray(mine)) field = boxes(name, choices);
  else if (typeof mine === "string" || (mine === null && name === "question")) field = html`<${Text} id=${id} name=${label} value=${mine ?? ""} change=${put} />`;
  else if (name.endsWith("_s")) field = html`<${Time} editor=${editor} id=${id} name=${label} value=${mine} change=${put} />`;
  else if (typeof mine === "boolean") field = html`<label><input type="checkbox" id=${id} checked=${mine} onChange=${(/** @type {any} */ { target }) => put(target.checked)} /> ${labelOf(name)}</label>`;
  else if (name === "evidence") field = html`<${Evidence} editor=${editor} value=${mine} change=${put} />`;
  else if (name === "references") field = html`<${Answers} value=${mine ?? []} change=${put} />`;
  else if (Array.isArray(mine)) field = html`<${Text} id=${id} name=${label} value=${mine.join("\n")} change=${(/** @type {string} */ text) => put(text.split("\n").filter((line) => line.trim()))} />`;
  else if (mine && typeof mine === "object") field = html`<${Labels} known=${view.known} value=${mine} change=${put} />`;
  return field && html`<div class="own"><span class="own-letter" aria-hidden="true">C</span><div>${field}</div></div>`;
}

/** @param {{view: Adjudicate}} props */
function Return({ view }) {
  const [note, setNote] = useState("");
  const close = () => {
    view.returning = null;
    view.editor.draw();
  };
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    void view.sendBack(note);
  };
  return html`<${Modal} id="return-dialog" labelled="return-title" onClose=${close}>
    <form method="dialog" onSubmit=${send}>
      <h2 id="return-title">Return ${view.returning?.letter}</h2>
      <p>What should be done again? The annotator reads this note. Nobody else gets the task meanwhile.</p>
      <label for="return-note">Note</label>
      <textarea id="return-note" rows="4" maxlength="2000" required autofocus value=${note} onInput=${(/** @type {any} */ { target }) => setNote(target.value)}></textarea>
      <p class="actions"><button type="submit">Return it</button><button type="button" class="second" onClick=${close}>Cancel</button></p>
    </form>
  <//>`;
}

/** @param {{view: Adjudicate}} props */
function Head({ view }) {
  return html`<span class="head-buttons">
    ${view.sides.map((side) => html`<button type="button" class="quiet" id=${`return-${side.letter.toLowerCase()}`} onClick=${() => view.askToReturn(side)}>Return ${side.letter}</button>`)}
  </span>`;
}

export function start() {
  // The session saves at the disputed places; the page shows all of them.
  edit(Adjudicate, (held) => ({ ...held, shown: held.places, places: held.disputed }));
}
