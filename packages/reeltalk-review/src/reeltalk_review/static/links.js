// @ts-check
/** Links between two chains: people draw, relabel, rewrite, keep or delete them. */

import { edit } from "./editor.js";
import { Answers, Choices, Note, Text } from "./fields.js";
import { Act } from "./frame.js";
import { Board, reveal } from "./linkboard.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./linkboard.js").Side} Side */

/** The place for the statement that all links are there. */
const BOARD = "board";

export class Links {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.what = "link";
    /** @type {ActionName[]} */
    this.without = ["to-asked"];
    /** @type {Pair} */
    this.pair = editor.content;
    this.relations = this.pair.vocabularies.relations.labels;
    this.drafted = new Set(this.pair.linkages.map(({ place }) => place));
    /** @type {Picking | null} */
    this.picking = null;
    /** Index of the next draft. */
    this.nextDraft = 0;
    this.Top = Board;
    this.Fields = Fields;
  }

  /** The links in the order of their turns, without those that a person drew and deleted. */
  get places() {
    const { session, reply } = this.editor;
    return (session?.places ?? reply.places)
      .filter((place) => this.drafted.has(place) || (place !== BOARD && session?.has(place) && session.value(place).decision !== "delete"))
      .sort((one, other) => this.compare(one, other));
  }

  /** @param {string} one @param {string} other */
  compare(one, other) {
    const [ends, others] = [this.endsOf(one), this.endsOf(other)];
    return ends[0] - others[0] || ends[1] - others[1];
  }

  /** @param {string} place @returns {[number, number]} Indices of the earlier and the later turn. */
  endsOf(place) {
    const [source, target] = place.split("-").map(Number);
    return [source, target];
  }

  /** @param {string} place @returns {[ChainTurn, ChainTurn]} */
  turnsOf(place) {
    const [source, target] = this.endsOf(place);
    return [this.pair.before.turns[source], this.pair.after.turns[target]];
  }

  /** The colour of a link, as a CSS class. @param {string[]} relations */
  colour([first]) {
    return `r${this.relations.indexOf(first) + 1}`;
  }

  /** @param {string} place */
  nameOf(place) {
    if (place === BOARD) return "All links";
    const [source, target] = this.endsOf(place);
    return `Link ${source + 1} → ${target + 1}`;
  }

  /** @param {string} place */
  titleOf(place) {
    return this.nameOf(place);
  }

  /** @param {string} place */
  shortOf(place) {
    const [source, target] = this.endsOf(place);
    return html`${source + 1} → ${target + 1} <span class="relation-told">${this.editor.session.value(place).relations.join(", ") || "?"}</span>`;
  }

  /** @param {string} place */
  draftOf(place) {
    if (place === BOARD) return { decision: null, links: [], note: "", unsure: false };
    const relations = this.pair.linkages.find((link) => link.place === place)?.relations ?? [];
    return { decision: null, relations: [...relations], skills: [], method: null, question: null, references: null, fits: false, note: "", unsure: false };
  }

  /** @param {string} place */
  stateOf(place) {
    const { decision, relations, question } = /** @type {LinkValue} */ (this.editor.session.value(place));
    const { kind, text, mark } = this.editor.decisionAt(place);
    const more = [relations.join(", ") || "no relation yet", ...(question === null ? [] : ["rewritten"])];
    return { kind: `${kind} ${this.colour(relations)}`, text: decision || this.drafted.has(place) ? text : "New, undecided", mark, more };
  }

  /** The evidence of both turns. @param {string} place */
  timesOf(place) {
    return { asked_at_s: null, evidence: this.turnsOf(place).flatMap((turn) => turn?.evidence ?? []) };
  }

  /** @param {string} place */
  saidOf(place) {
    const { relations, question } = /** @type {LinkValue} */ (this.editor.session.value(place));
    const [source, target] = this.turnsOf(place);
    return { question: question ?? target?.question, answer: source?.question, about: relations.join(", ") };
  }

  submitting() {
    const { places } = this;
    const kept = this._kept();
    const board = this.editor.session.value(BOARD);
    const rewritten = kept.filter((place) => this.editor.session.value(place).question !== null).length;
    const links = `${kept.length} ${kept.length === 1 ? "link" : "links"}`;
    return {
      question: "Are all links between the two chains there?",
      summary: `${links} kept, ${rewritten} of them with a rewritten question; ${places.length - kept.length} deleted.`,
      more: html`<${Note} prefix="board-" value=${board} change=${(/** @type {any} */ more) => this.editor.set({ ...board, ...more }, { place: BOARD })} />`,
    };
  }

  beforeSubmit() {
    this.editor.set({ ...this.editor.session.value(BOARD), decision: "complete", links: this._kept() }, { now: true, place: BOARD });
  }

  _kept() {
    return this.places.filter((place) => this.editor.session.value(place).decision === "keep");
  }

  /** @param {string | null} from */
  placed(from) {
    const { editor, places } = this;
    const { place } = editor;
    // What was undone or deleted may be no link any more.
    if (!places.includes(place)) editor.place = from !== null && places.includes(from) ? from : (places.find((each) => this.compare(each, place) > 0) ?? places.at(-1) ?? "");
    this.picking = null;
    this.nextDraft = 0;
    if (!editor.place) return;
    const [source, target] = this.endsOf(editor.place);
    editor.draw(() => {
      reveal("after", target);
      reveal("before", source);
    });
  }

  leave() {
    if (this.picking) this.editor.say("Nothing was drawn.");
    this.picking = null;
  }

  // ---- drawing a link ----------------------------------------------------------------------------------------------

  startPicking() {
    if (!this.editor.mayChange()) return;
    this.editor.session.hurry();
    this._pick({ side: "before", at: 0, source: null, target: null });
    document.getElementById("board-title")?.focus({ preventScroll: true });
  }

  /** @param {Picking} picking */
  _pick(picking) {
    this.picking = picking;
    this.editor.draw(() => reveal(picking.side, picking.at, true));
  }

  /** @param {number} step */
  movePick(step) {
    const { picking } = this;
    if (!picking) return;
    const { length } = this.pair[picking.side].turns;
    this._pick({ ...picking, at: Math.min(Math.max(picking.at + step, 0), length - 1) });
  }

  /** Picks a turn of the next chain: the selected one, or the one with an index. @param {number} [turn] */
  pick(turn) {
    if (this.picking) this.pickTurn(this.picking.side, turn ?? this.picking.at);
  }

  /** @param {Side} side @param {number} turn */
  pickTurn(side, turn) {
    if (!this.editor.mayChange()) return;
    if (turn >= this.pair[side].turns.length) {
      this.editor.refuse(`There is no turn ${turn + 1} in this chain.`);
      return;
    }
    const [source, target] = side === "before" ? [turn, this.picking?.target ?? null] : [this.picking?.source ?? null, turn];
    if (source !== null && target !== null) this._link(`${source}-${target}`);
    else this._pick({ side: side === "before" ? "after" : "before", at: 0, source, target });
  }

  /** @param {string} place */
  _link(place) {
    const { editor } = this;
    const isNew = !this.places.includes(place);
    if (isNew) editor.set(this.draftOf(place), { now: true, place });
    editor.show(place);
    editor.focusTitle();
    editor.say(isNew ? `${this.nameOf(place)} is drawn. Give its relation: 1 to ${this.relations.length}.` : `${this.nameOf(place)} is there already.`);
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  /** @param {Partial<LinkValue>} more @param {boolean} [now] False while somebody types. */
  change(more, now = true) {
    this.editor.set({ ...this.editor.value, decision: null, ...more }, { now });
  }

  /** @param {string | undefined} relation */
  relate(relation) {
    if (relation) this.change({ relations: [relation] });
    else this.editor.refuse(`There are ${this.relations.length} relations.`);
  }

  /** @param {string} question @param {string[]} references */
  reword(question, references) {
    const [, target] = this.turnsOf(this.editor.place);
    const isOwn = question === target.question && JSON.stringify(references) === JSON.stringify(answersOf(target));
    this.change(isOwn ? { question: null, references: null, fits: false } : { question, references, fits: false }, false);
  }

  /** Drafts of the link's relations; all drafts if none match. @returns {Rewriting[]} */
  get drafts() {
    const all = this.pair.rewrites[this.editor.place] ?? [];
    const fitting = all.filter(({ relation }) => this.editor.value.relations.includes(relation));
    return fitting.length ? fitting : all;
  }

  /** @param {Rewriting | undefined} [draft] The next one by default. */
  takeDraft(draft = this.drafts[this.nextDraft++ % this.drafts.length]) {
    if (!draft) {
      this.editor.refuse("Nobody drafted a rewriting of this link.");
      return;
    }
    const { question, references, method, skill } = draft;
    this.change({ question, references: [...references], method, skills: [...new Set([...this.editor.value.skills, skill])], fits: false });
  }

  useOwnWords() {
    this.change({ question: null, references: null, method: null, fits: false });
  }

  toggleFits() {
    if (this.editor.value.question === null) this.editor.refuse("The later question has its original words.");
    else this.change({ fits: !this.editor.value.fits });
  }

  /** @param {"keep" | "delete"} decision @param {boolean} [plain] Keeps it in the original words of the later question. */
  decide(decision, plain = false) {
    const { editor } = this;
    const value = { ...editor.value, ...(plain && { question: null, references: null, method: null, fits: false }) };
    const lack = decision === "keep" ? this._lackOf(value, plain) : "";
    if (lack) editor.refuse(lack, "relations");
    else editor.decide({ ...value, decision }, `${this.nameOf(editor.place)}: ${decision === "keep" ? "kept" : "deleted"}.`);
  }

  /** What to do before a link can be kept, or nothing. @param {LinkValue} link @param {boolean} plain */
  _lackOf({ relations, question, references, fits, method }, plain) {
    if (!relations.length) return "Say how the two turns are related: press the number of a relation.";
    const unknown = relations.find((each) => !this.relations.includes(each));
    if (unknown) return `There is no relation “${unknown}”: choose from the list.`;
    if (plain) return "";
    if (question === null) {
      if (method !== null) return "A way to rewrite the later question is chosen, and the question has its original words.";
      return this.drafts.length ? "There is a draft of a rewriting. Start from it, or keep the link in its original words." : "";
    }
    if (!question.trim()) return "The later question has no words.";
    if (!references?.some((text) => text.trim())) return "A question that is rewritten needs its answer.";
    return fits ? "" : "Look at the turns around the rewritten question, and confirm that it fits them.";
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  /** Opens a fold and moves the focus to its ticked box. @param {"skills" | "methods"} name */
  focusFold(name) {
    const fold = document.getElementById(`${name}-fold`);
    if (fold instanceof HTMLDetailsElement) fold.open = true;
    const boxes = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`#${name} .choice input`));
    ([...boxes].find((box) => box.matches(":checked")) ?? boxes[0])?.focus();
  }

  /** Plays the scene of the earlier chain, then of the later one; the evidence of the turns if there are no scenes. */
  playScenes() {
    const parts = [this.pair.before, this.pair.after].flatMap(({ clips, turns }) => {
      if (clips.length) return clips;
      const shown = turns.flatMap(({ evidence }) => evidence ?? []);
      return shown.length ? [{ start_s: Math.min(...shown.map((each) => each.start_s)), end_s: Math.max(...shown.map((each) => each.end_s)) }] : [];
    });
    if (parts.length) this.editor.playback.playParts(parts);
    else this.editor.refuse("The times of the two scenes are not known.");
  }

  /** @returns {Offers} */
  offers() {
    const { editor } = this;
    const draw = { add: { act: () => this.startPicking() }, "play-parts": { act: () => this.playScenes(), video: "Play both scenes" } };
    if (this.picking) {
      return {
        ...draw,
        choose: { act: (key) => this.pick(Number(key) - 1) },
        up: { act: () => this.movePick(-1) },
        down: { act: () => this.movePick(1) },
        confirm: { act: () => this.pick() },
      };
    }
    if (!editor.place) return draw;
    return {
      ...draw,
      accept: { act: () => this.decide("keep"), button: "Keep", first: true },
      done: { act: () => this.decide("keep") },
      "keep-plain": { act: () => this.decide("keep", true) },
      reject: { act: () => this.decide("delete"), button: "Delete" },
      choose: { act: (key) => this.relate(this.relations[Number(key) - 1]) },
      labels: { act: () => this.focusFold("skills") },
      methods: { act: () => this.focusFold("methods") },
      draft: { act: () => this.takeDraft() },
      question: { act: () => editor.focus("#question") },
      answer: { act: () => editor.focus("#reference-0") },
      "own-words": { act: () => this.useOwnWords() },
      fits: { act: () => this.toggleFits() },
    };
  }
}

/** The answers of a turn; an empty one if it has none. @param {ChainTurn} turn */
function answersOf({ references }) {
  return references?.length ? references : [""];
}

/** @param {{view: Links, editor: Editor, place: string, value: LinkValue}} props */
function Fields({ view, editor, place, value }) {
  const { relations, skills, question, references, fits } = value;
  const [source, target] = view.turnsOf(place);
  const isRewritten = question !== null;
  const own = answersOf(target);
  const answers = references ?? own;
  const change = view.change.bind(view);
  const { vocabularies } = view.pair;
  const turn = (/** @type {string} */ name, /** @type {ChainTurn} */ { question: asked, references: given }) => html`<div>
    <p class="about">${name}</p><p class="asked-text">${asked}</p><p class="answer-text">${given?.[0]}</p></div>`;
  return html`
    <div id="needed"><div class="linked">${turn("Earlier turn", source)}${turn("Later turn, in its original words", target)}</div>
    <fieldset id="relations" class="group choices">
      <legend>Relation of the later turn to the earlier one</legend>
      <${Choices} name="relation" vocabulary=${{ ...vocabularies.relations, keys: view.relations.map((_, n) => String(n + 1)) }} given=${relations} kindOf=${(/** @type {string} */ label) => `relation ${view.colour([label])}`} change=${(/** @type {string[]} */ given) => change({ relations: given })} />
    </fieldset></div>
    <details class="fold" id="skills-fold"><summary>Skills that it needs <span id="skills-told" class="told">${skills.join(", ") || "none given"}</span></summary>
      <fieldset id="skills" class="group choices"><legend class="unseen">Skills</legend>
        <${Choices} name="skill" vocabulary=${vocabularies.skills} given=${skills} change=${(/** @type {string[]} */ given) => change({ skills: given })} />
      </fieldset>
    </details>
    <div class="rewriting">
      <h3>The later question, reworded so that it needs the earlier turn</h3>
      ${view.drafts.length > 0 && html`<div id="drafts">${view.drafts.map((draft, n) => html`<${Drafted} view=${view} draft=${draft} first=${n === 0} />`)}</div>`}
      <${Methods} view=${view} value=${value} change=${change} />
      <div id="wording">
        <${Text} label="Later question" id="question" value=${question ?? target.question} before=${isRewritten ? target.question : null} change=${(/** @type {string} */ text) => view.reword(text, answers)} />
        <${Answers} key=${place} value=${answers} before=${isRewritten ? own : null} change=${(/** @type {string[]} */ texts) => view.reword(question ?? target.question, texts)} />
        ${isRewritten
          ? html`<${Act} editor=${editor} name="own-words" class="quiet" text="Restore the original words" />`
          : html`<${Act} editor=${editor} name="keep-plain" class="second" text="Keep in its original words" />`}
      </div>
    </div>
    <label class=${`choice fits ${isRewritten ? "" : "soft"}`}>
      <input type="checkbox" id="fits" checked=${fits} disabled=${!isRewritten} onChange=${() => view.toggleFits()} />
      <span>It fits the turns around it <kbd aria-hidden="true">${editor.keys.shown("fits")?.text}</kbd></span>
    </label>
    <${Note} value=${value} change=${(/** @type {any} */ more) => editor.set({ ...value, ...more })} />
  `;
}

/** @param {{view: Links, draft: Rewriting, first: boolean}} props */
function Drafted({ view, draft, first }) {
  const { question, references, checked, problems } = draft;
  return html`<div class="draft">
    <p><q>${question}</q> <span class="soft">${references[0]}</span></p>
    ${checked === false && html`<p class="small soft">Unverified: nobody compared it with the video.</p>`}
    ${problems.length > 0 && html`<p class="small warn">${problems.join("; ")}.</p>`}
    <button type="button" class="second" onClick=${() => view.takeDraft(draft)}>Start from this draft${first && html`<kbd aria-hidden="true">${view.editor.keys.shown("draft")?.text}</kbd>`}</button>
  </div>`;
}

/** The ways of the catalogue to rewrite the question that fit the relations. @param {{view: Links, value: LinkValue, change: (more: Partial<LinkValue>) => void}} props */
function Methods({ view, value: { method, relations }, change }) {
  const fitting = view.pair.methods.filter(({ relation }) => relations.includes(relation));
  const shown = view.pair.methods.filter((each) => fitting.includes(each) || each.name === method);
  const named = (/** @type {Method} */ { ask, deeper, case: about, skill, ours }) =>
    html`… ${ask}${deeper && `; going deeper, ${deeper}`} <span class="soft">(${about && `${about}, `}${skill}${ours && ", not in the paper"})</span>`;
  const chosen = shown.find(({ name }) => name === method);
  const radio = (/** @type {string | null} */ name, /** @type {any} */ says) => html`<label class="choice method" key=${name}>
    <input type="radio" name="method" value=${name ?? ""} checked=${name === method} onChange=${() => change({ method: name })} /><span class="says">${says}</span></label>`;
  return html`<details class="fold" id="methods-fold"><summary>Ways to rewrite it <span id="method-told" class="told">${chosen ? named(chosen) : fitting.length ? `${fitting.length} fit ${relations.join(" and ")}` : "none of the catalogue"}</span></summary>
    <fieldset id="methods" class="group"><legend>Rewrite the later question so that it asks …</legend>
      ${radio(null, "… in your own way")}${shown.map((each) => radio(each.name, named(each)))}
    </fieldset>
  </details>`;
}

export function start() {
  edit(Links);
}
