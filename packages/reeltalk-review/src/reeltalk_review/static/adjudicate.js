// @ts-check
/**
 * Adjudication in the editor: the versions A and B of each field side by side, with their changes from the draft. The
 * adjudicator takes all of A or of B, chooses field by field, or writes C; or returns the work of one of them.
 */

import { clock, messageOf } from "./elements.js";
import { edit } from "./editor.js";
import { Act, Answers, Changes, Evidence, Labels, Modal, Text, Time, knownVocabularies, withTime } from "./fields.js";
import { DECIDED, startOf, vocabularyName } from "./turnvalue.js";
import { html, useState } from "./vendor/preact.js";
import { ask } from "./workapi.js";

/** @typedef {import("./editor.js").Editor} Editor */
/**
 * @typedef {{value: any}} Shown
 * @typedef {{draft: Shown, sides: Record<string, Shown>, settled: Shown | null, how: string | null}} Place
 * @typedef {{id: string, letter: string, round: number, name: string | null}} Side
 * @typedef {{take?: string, write?: any, from?: Record<string, string>, note?: string}} Decision `from`: the fields that
 *   are somebody's, by the work.
 * @typedef {import("./session.js").Reply & {sides: Side[], disputed: string[], choices: Record<string, string[]>,
 *   fields: string[], shown: Record<string, Place>}} Dispute
 * @typedef {{name: string, keys: string[], differs: boolean}} Row Fields that are chosen together.
 */

/** Fields that mean something only together. */
const TOGETHER = [["decision", "reasons"], ["options", "correct_option"], ["question", "method"]];
/** A place that is a link between two turns. */
const LINK = /^(\d+)-(\d+)$/;
/** Fields that are not compared. */
const LEFT_OUT = ["note", "unsure", "manual"];
const NAMES = /** @type {Record<string, string>} */ ({ references: "Answer", asked_at_s: "Asked at", fits: "Fits the turns around it" });

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
    this.known = knownVocabularies({ ...editor.content, turns: this.turns });
    this.reasons = reply.reasons;
    this.what = "decision";
    this.places = Object.keys(this.shown);
    this.stands = () => true;
    this.home = "/";
    /** True: B is compared with A. False: both are compared with the draft. */
    this.against = false;
    this.withNames = false;
    /** Index of the row whose version the keys 1 and 2 choose. */
    this.at = 0;
    /** @type {string | null} The place at which C is written. */
    this.writing = null;
    /** @type {Side | null} The work that is about to be returned. */
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

  /** @param {string} _ @param {Decision} decision @returns {[string, string][]} */
  linesOf(_, decision) {
    return [["", JSON.stringify(decision)]];
  }

  /** @param {string} place */
  isDisputed(place) {
    return this.disputed.includes(place);
  }

  /** @param {string} place @param {Decision | null} decision */
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
    const decision = /** @type {Decision | null} */ (this.editor.session.value(place));
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
    const decision = /** @type {Decision | null} */ (this.editor.session.value(place));
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

  /** @param {string} _ @param {{evidence: import("./player.js").Interval[]}} change */
  moveEvidence(_, { evidence }) {
    if (this.canDecide && this.written().write.evidence) this.type({ evidence });
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

  /** @returns {Decision | null} */
  get decision() {
    return this.editor.value;
  }

  /** The fields of the chosen place, grouped. @returns {Row[]} */
  get rows() {
    const { draft, sides } = this.shown[this.editor.place];
    const values = this.sides.map(({ id }) => sides[id]?.value).filter(Boolean);
    const all = [...new Set([...this.order, ...[...values, draft.value].flatMap((value) => Object.keys(value ?? {}))])];
    const known = all.filter((key) => !LEFT_OUT.includes(key) && [...values, draft.value].some((value) => value && key in value));
    const rows = known
      .filter((key) => !TOGETHER.some(([first, second]) => key === second && known.includes(first)))
      .map((name) => ({ name, keys: (TOGETHER.find(([first]) => first === name) ?? [name]).filter((key) => known.includes(key)) }));
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

  /** @param {Decision} decision @param {{now?: boolean}} [options] */
  put(decision, options) {
    const note = this.decision?.note;
    this.editor.set(note ? { ...decision, note } : decision, options);
  }

  /** @param {Side} side */
  take(side) {
    if (!this.canDecide) return;
    const note = this.decision?.note;
    this.editor.decide({ take: side.id, ...(note ? { note } : {}) }, `${side.letter} taken.`);
  }

  /** Takes one side's version of the row. @param {Side | undefined} side @param {number} [at] */
  choose(side, at = this.at) {
    const theirs = side && this.shown[this.editor.place].sides[side.id]?.value;
    const row = this.rows[at];
    if (!this.canDecide || !side || !theirs || !row) return;
    const { write, from } = this.written();
    const keys = row.keys.filter((key) => key in theirs);
    const next = { ...write, ...Object.fromEntries(keys.map((key) => [key, structuredClone(theirs[key])])) };
    const whose = { ...from, ...Object.fromEntries(keys.map((key) => [key, side.id])) };
    const differing = this.rows.filter(({ differs }) => differs).flatMap((each) => each.keys);
    const isWhole = JSON.stringify(next) === JSON.stringify(theirs) || differing.every((key) => whose[key] === side.id && key in next);
    this.put(isWhole ? { take: side.id } : { write: next, from: whose }, { now: true });
    this.editor.say(`${this.labelOf(row.name)}: ${side.letter}.`);
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

  /** @param {"start" | "end" | "interval"} what */
  setTime(what) {
    const { write } = this.written();
    if (this.canDecide && write.evidence) this.type({ evidence: withTime(this.editor, write.evidence, what) });
  }

  async showNames() {
    try {
      this.withNames = !this.withNames;
      this.sides = (await ask(`/api/adjudicate/${encodeURIComponent(this.editor.session.id)}?names=${this.withNames}`)).sides;
      this.editor.draw();
    } catch (error) {
      this.editor.notify(messageOf(error));
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
      editor.notify(messageOf(error));
    }
  }

  /** @returns {import("./keys.js").Offers} */
  offers() {
    const [a, b] = this.sides;
    const own = this.canDecide && this.decision?.write;
    return {
      down: { act: () => this.moveRow(1) },
      up: { act: () => this.moveRow(-1) },
      compare: { act: () => this.turn() },
      ...(this.canDecide && {
        accept: { act: () => this.take(a), button: "Take A", first: true },
        ...(b && { "accept-b": { act: () => this.take(b), button: "Take B", first: true } }),
        choose: { act: (/** @type {string} */ key) => this.choose(this.sides[Number(key) - 1]) },
        answer: { act: () => this.write(), button: "Write C" },
        done: { act: () => this.keep() },
      }),
      ...(own && {
        "start-here": { act: () => this.setTime("start") },
        "end-here": { act: () => this.setTime("end") },
        add: { act: () => this.setTime("interval") },
      }),
    };
  }

  /** @param {Side} side */
  askToReturn(side) {
    this.returning = side;
    this.editor.draw();
  }

  turn() {
    this.against = !this.against;
    this.editor.draw();
  }

  /** @param {string} name */
  labelOf(name) {
    return NAMES[name] ?? `${name[0].toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;
  }

  /** A row of a value as text. @param {Row} row @param {any} value */
  textOf({ name, keys }, value) {
    if (!value) return "";
    const [first, second] = keys.map((key) => value[key]);
    if (name === "decision") {
      const reasons = (second ?? []).map((/** @type {string} */ each) => this.reasons.find((reason) => reason.name === each)?.title ?? each);
      const said = decided(first ?? "none yet");
      return reasons.length ? `${said}: ${reasons.join(", ")}` : said;
    }
    if (name === "options") return (first ?? []).map((/** @type {string} */ each, /** @type {number} */ n) => `${n === second ? "✓ " : ""}${each}`).join("\n");
    if (first === null || first === undefined) return "";
    if (typeof first === "boolean") return first ? "Yes" : "No";
    if (typeof first === "number") return name.endsWith("_s") ? `${clock(first)} (${first} s)` : `${first}`;
    if (Array.isArray(first)) return first.map((each) => (each?.start_s === undefined ? `${each}` : `${each.start_s}–${each.end_s} s`)).join(first.some((each) => `${each}`.length > 24) ? "\n" : ", ");
    if (typeof first === "object") return Object.entries(first).filter(([, labels]) => /** @type {any} */ (labels).length).map(([key, labels]) => `${vocabularyName(key)}: ${[labels].flat().join(", ")}`).join("\n");
    return `${first}`;
  }
}

/** A decision for people. @param {string} name */
function decided(name) {
  return /** @type {Record<string, string>} */ (DECIDED)[name] ?? `${name[0].toUpperCase()}${name.slice(1)}`;
}

/** @param {{view: Adjudicate, editor: Editor, place: string}} props */
function Fields({ view, editor, place }) {
  const { draft, sides } = view.shown[place];
  const { decision, against } = view;
  const linked = view.linked(place);
  const writes = view.isDisputed(place) && decision?.write;
  const text = (/** @type {Row} */ row, /** @type {string} */ id) => view.textOf(row, sides[id]?.value);
  const head = (/** @type {Side} */ { id, letter, name, round }) => html`<div class=${`head ${decision?.take === id ? "taken" : ""}`} key=${id}>
    ${letter}${name ? `: ${name}` : ""}${round > 1 ? ` (submitted ${round} times)` : ""}${decision?.take === id ? ", taken" : ""}</div>`;
  const version = (/** @type {Row} */ row, /** @type {number} */ at, /** @type {Side} */ side, /** @type {number} */ n) => {
    const said = text(row, side.id);
    const before = against ? text(row, view.sides[0].id) : view.textOf(row, draft.value);
    const plain = row.name === "decision" || said === before || (against && n === 0) || (!before && !against) || !draft.value;
    const shown = !said ? html`<span class="soft">nothing</span>` : plain ? said : html`<${Changes} before=${before} after=${said} />`;
    const isChosen = decision?.take === side.id || (writes && row.keys.every((key) => decision.from?.[key] === side.id));
    const act = () => view.choose(side, at);
    if (!view.isDisputed(place)) return html`<div class="side-version">${shown}</div>`;
    return html`<button type="button" class="side-version differs" aria-pressed=${isChosen ? "true" : "false"} aria-label=${`${view.labelOf(row.name)} of ${side.letter}: ${said || "nothing"}`}
      disabled=${!view.canDecide} onClick=${act}><span>${shown}</span></button>`;
  };
  return html`
    ${linked.map(({ question, references = [] }, n) => html`<p class="linked-turn"><span class="soft">${n ? "Later" : "Earlier"} turn</span> ${question} <span class="soft">${references[0]}</span></p>`)}
    ${!view.isTurns && !linked.length && view.saidOf(place).question && html`<p class="linked-turn">${view.saidOf(place).question} <span class="soft">${view.saidOf(place).answer}</span></p>`}
    <div class="sides">${view.sides.map(head)}</div>
    ${view.rows.map((row, at) => html`<section key=${row.name} class=${`row-field ${row.differs ? "differs" : ""} ${at === view.at && row.differs ? "current" : ""}`} data-field=${row.name}
        aria-label=${view.labelOf(row.name)} onFocusIn=${() => row.differs && at !== view.at && ((view.at = at), editor.draw())}>
      <h3>${view.labelOf(row.name)}</h3>
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
  const label = `${view.labelOf(name)} of C`;
  const put = (/** @type {any} */ next) => view.type({ [name]: next });
  const choices = view.choices[name] ?? (Array.isArray(mine) ? editor.content.vocabularies?.[name]?.labels : undefined);
  const boxes = (/** @type {string} */ key, /** @type {string[]} */ allowed) => html`<div class="boxes" role="group" aria-label=${`${view.labelOf(key)} of C`}>${allowed.map((each) => {
    const title = view.reasons.find((reason) => reason.name === each)?.title ?? each;
    const toggle = () => view.type({ [key]: value[key].includes(each) ? value[key].filter((/** @type {string} */ one) => one !== each) : [...value[key], each] });
    return html`<label key=${each}><input type="checkbox" checked=${value[key].includes(each)} onChange=${toggle} /> ${title}</label>`;
  })}</div>`;
  let field = null;
  if (name === "decision" && choices) {
    const decide = (/** @type {any} */ { target }) => view.type({ decision: target.value, ...(keys.includes("reasons") && target.value !== "reject" ? { reasons: [] } : {}) });
    field = html`<select id=${id} aria-label=${label} onChange=${decide}>${choices.map((each) => html`<option value=${each} selected=${each === mine}>${decided(each)}</option>`)}</select>
      ${mine === "reject" && keys.includes("reasons") && boxes("reasons", view.reasons.map((reason) => reason.name))}`;
  } else if (choices && Array.isArray(mine)) field = boxes(name, choices);
  else if (typeof mine === "string" || (mine === null && name === "question")) field = html`<${Text} id=${id} name=${label} value=${mine ?? ""} change=${put} />`;
  else if (name.endsWith("_s")) field = html`<${Time} id=${id} name=${label} value=${mine} change=${put} />`;
  else if (typeof mine === "boolean") field = html`<label><input type="checkbox" id=${id} checked=${mine} onChange=${(/** @type {any} */ { target }) => put(target.checked)} /> ${view.labelOf(name)}</label>`;
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

/** @param {{view: Adjudicate, editor: Editor}} props */
function Head({ view, editor }) {
  return html`<span class="head-buttons">
    <${Act} editor=${editor} name="compare" id="against" class="quiet" text=${view.against ? "A against B" : "Against the draft"} />
    <button type="button" class="quiet" id="show-names" aria-pressed=${view.withNames ? "true" : "false"} onClick=${() => void view.showNames()}>Names</button>
    ${view.sides.map((side) => html`<button type="button" class="quiet" id=${`return-${side.letter.toLowerCase()}`} onClick=${() => view.askToReturn(side)}>Return ${side.letter}</button>`)}
  </span>`;
}

export function start() {
  // The session saves at the disputed places; the page shows all of them.
  edit(Adjudicate, { path: "/api/adjudicate/", prepare: (reply) => ({ ...reply, shown: reply.places, places: reply.disputed }) });
}
