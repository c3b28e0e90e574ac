// @ts-check
/** The link board: a person draws, relabels, rewrites or deletes links between two chains. */

import { button, byId, element, fill } from "./elements.js";
import { Keys } from "./keys.js";
import { LinkBoard } from "./linkboard.js";
import { EMPTY, LINK, PICKING, linkActions } from "./linkkeys.js";
import { LinkPanel } from "./linkpanel.js";
import { BOARD, DECIDED, endsOf, lackOf, linesOf, nameOf, startOf } from "./linkvalue.js";
import { say } from "./notices.js";
import { Playback } from "./playback.js";
import { lastSpot } from "./resuming.js";
import { EditSession, openWork } from "./edit_session.js";

/** @typedef {import("./linkvalue.js").LinkValue} LinkValue */
/** @typedef {import("./linkvalue.js").Pair} Pair */
/** @typedef {import("./linkboard.js").Picking} Picking */
/** @typedef {import("./linkboard.js").Side} Side */

const MARKS = Object.freeze({ keep: "✓", delete: "✕" });

export class Board {
  /** @param {import("./edit_session.js").Reply} reply */
  constructor(reply) {
    /** @type {Pair} */
    this.pair = reply.unit.content;
    /** @type {string | null} The shown link. */
    this.current = null;
    /** @type {Picking | null} */
    this.picking = null;
    this.work = new EditSession(reply, {
      what: "link",
      draftOf: (place) => startOf(this.pair, place),
      linesOf,
      nameOf,
      spot: () => (this._was ?? { place: this.current ?? BOARD, time_s: this.playback.time_s }),
    });
    /** The last position of this person, until the page is ready. */
    this._was = lastSpot(reply.assignment.id);
    this._drafted = new Set(this.pair.linkages.map(({ place }) => place));
    this._relations = [...byId("relations", HTMLElement).querySelectorAll("input[type=checkbox]")].map(
      (box) => /** @type {HTMLInputElement} */ (box).value,
    );
    const { clips, scenes } = this.pair;
    const view = { ...reply, unit: { ...reply.unit, content: { clips, scenes, links: [], turns: [] } } };
    this._view = /** @type {import("./workapi.js").Work} */ (/** @type {unknown} */ (view));
    this.playback = new Playback(this._view, []);
    this.board = new LinkBoard(byId("chains", HTMLElement), this.pair, this._relations);
    this.panel = new LinkPanel(this.pair);
    this.keys = new Keys(linkActions(this), () => (this.picking ? PICKING : this.current === null ? EMPTY : LINK));
  }

  /** Continues at the last position. */
  async open() {
    this._listen();
    const spot = await this.work.open();
    for (const name of ["fields", "decisions"]) byId(name, HTMLFieldSetElement).disabled = !this.work.isOpen;
    byId("draw", HTMLButtonElement).disabled = !this.work.isOpen;
    const { links } = this;
    const undecided = links.find((place) => this.work.needs(place));
    this.show(spot && links.includes(spot.place) ? spot.place : (undecided ?? links[0] ?? null));
    await this.playback.open(this._view, spot?.time_s ?? this.pair.clips[0]?.start_s ?? 0);
    this._was = null;
    this.work.resume(spot);
  }

  /** The links in the order of their turns, without those that a person drew and deleted. */
  get links() {
    return this.work.places
      .filter((place) => place !== BOARD)
      .filter((place) => this._drafted.has(place) || (this.work.has(place) && this.work.value(place).decision !== "delete"))
      .sort((one, other) => endsOf(one)[0] - endsOf(other)[0] || endsOf(one)[1] - endsOf(other)[1]);
  }

  // ---- navigation ------------------------------------------------------------------------------------------------

  /** @param {number} step */
  go(step) {
    const { links } = this;
    const at = links.indexOf(this.current ?? "");
    const to = links[at + step];
    if (to) this._turnTo(to);
  }

  goToUndecided() {
    const next = this._nextUndecided();
    if (next) this._turnTo(next);
    else say("All links are decided.");
  }

  _nextUndecided() {
    const { links } = this;
    const at = links.indexOf(this.current ?? "");
    return [...links.slice(at + 1), ...links.slice(0, at + 1)].find((place) => this.work.needs(place)) ?? null;
  }

  /** @param {string} place */
  _turnTo(place) {
    this.work.hurry();
    this.show(place);
    byId("link-title", HTMLElement).focus({ preventScroll: true });
    say(`${nameOf(place)}: ${this.work.value(place).relations.join(", ") || "no relation yet"}.`);
  }

  /** @param {string | null} place */
  show(place) {
    this.current = place;
    this.picking = null;
    byId("link", HTMLElement).hidden = place === null;
    byId("no-link", HTMLElement).hidden = place !== null;
    if (place !== null) {
      this.panel.show(place, this.work.value(place), this._others(place));
      const [source, target] = endsOf(place);
      const turns = [this.pair.before.turns[source], this.pair.after.turns[target]];
      this.playback.bar.update(turns.map(({ evidence }) => ({ asked_at_s: null, evidence: evidence ?? [] })));
      this.board.reveal("after", target);
      this.board.reveal("before", source);
    }
    this._draw();
    this.keys.label();
    this.work.moved();
  }

  /** The questions of other links to the same later turn. @param {string} place */
  _others(place) {
    return this.links
      .filter((other) => other !== place && endsOf(other)[1] === endsOf(place)[1])
      .map((other) => ({ name: nameOf(other), value: this.work.value(other) }))
      .filter(({ value }) => value.decision !== "delete" && value.question !== null)
      .map(({ name, value }) => ({ name, question: value.question }));
  }

  /** Draws everything but the fields. */
  _draw() {
    const shown = this.links.map((place) => ({ place, value: /** @type {LinkValue} */ (this.work.value(place)) }));
    this.board.draw({ links: shown, current: this.current, picking: this.picking });
    this._drawStrip(shown);
    this._drawPicking();
    const left = shown.filter(({ place }) => this.work.needs(place)).length;
    const submit = byId("submit", HTMLButtonElement);
    submit.classList.toggle("second", left > 0);
    submit.title = left ? `${left} of ${shown.length} links need a decision` : "";
    for (const name of ["keep", "delete"]) byId(name, HTMLButtonElement).disabled = this.current === null;
    const state = byId("link-state", HTMLElement);
    const decision = this.current ? /** @type {LinkValue} */ (this.work.value(this.current)).decision : null;
    state.textContent = decision ? DECIDED[decision] : this.current && !this._drafted.has(this.current) ? "New, undecided" : "Undecided";
    state.className = `turn-state ${decision === "keep" ? "accepted" : decision === "delete" ? "rejected" : ""}`;
  }

  /** @param {import("./linkboard.js").Drawn[]} links */
  _drawStrip(links) {
    const place = byId("strip", HTMLElement);
    const hadFocus = place.contains(document.activeElement);
    fill(
      place,
      ...links.map(({ place: name, value }) => {
        const decision = value.decision ? DECIDED[value.decision].toLowerCase() : "undecided";
        const [source, target] = endsOf(name);
        const made = button(`${source + 1} → ${target + 1}`, () => this._turnTo(name), {
          class: `link-name r${this._relations.indexOf(value.relations[0]) + 1} ${value.decision ?? "undecided"}`,
          "aria-current": name === this.current ? "step" : undefined,
          "aria-label": `${nameOf(name)}, ${value.relations.join(", ") || "no relation yet"}, ${decision}${value.question === null ? "" : ", rewritten"}`,
        });
        made.append(
          element("span", { class: "relation-told", "aria-hidden": "true" }, value.relations.join(", ") || "?"),
          element("span", { class: "mark", "aria-hidden": "true" }, value.decision ? MARKS[value.decision] : ""),
        );
        return element("li", {}, made);
      }),
    );
    if (hadFocus) place.querySelector("[aria-current]")?.closest("button")?.focus();
  }

  // ---- drawing a link ----------------------------------------------------------------------------------------------

  startPicking() {
    if (!this.work.isOpen) return;
    this.leaveField();
    this.picking = { side: "before", at: 0, source: null, target: null };
    this.board.reveal("before", 0, true);
    this._draw();
  }

  /** @param {number} step */
  movePick(step) {
    if (!this.picking) return;
    const { length } = this.pair[this.picking.side].turns;
    this.picking.at = Math.min(Math.max(this.picking.at + step, 0), length - 1);
    this.board.reveal(this.picking.side, this.picking.at, true);
    this._draw();
  }

  /** Picks a turn of the next chain: the selected one, or the one with an index. @param {number} [turn] */
  pick(turn) {
    if (this.picking) this._picked(this.picking.side, turn ?? this.picking.at);
  }

  /** @param {Side} side @param {number} turn */
  _picked(side, turn) {
    if (!this.work.isOpen || turn >= this.pair[side].turns.length) return;
    /** @type {Picking} */
    const picking = this.picking ?? { side, at: 0, source: null, target: null };
    if (side === "before") picking.source = turn;
    else picking.target = turn;
    if (picking.source !== null && picking.target !== null) {
      this._link(picking.source, picking.target);
      return;
    }
    const next = side === "before" ? "after" : "before";
    this.picking = { ...picking, side: next, at: 0 };
    this.board.reveal(next, 0, true);
    this._draw();
  }

  /** @param {number} source @param {number} target */
  _link(source, target) {
    const place = `${source}-${target}`;
    const isNew = !this.links.includes(place);
    if (isNew) this.work.put(place, startOf(this.pair, place), { now: true });
    this._turnTo(place);
    say(isNew ? `${nameOf(place)} is drawn. Give its relation: 1 to 6.` : `${nameOf(place)} is there already.`);
  }

  _drawPicking() {
    const place = byId("picking", HTMLElement);
    place.hidden = this.picking === null;
    if (!this.picking) {
      place.textContent = "";
      return;
    }
    const { side, at } = this.picking;
    const which = side === "before" ? "earlier" : "later";
    const { turns } = this.pair[side];
    fill(
      place,
      `Pick a turn of the ${which} chain: 1–${turns.length}, or ↑ ↓ and Enter. Esc stops.`,
      element("span", { class: "unseen" }, ` Now: ${at + 1}, ${turns[at]?.question ?? ""}`),
    );
  }

  // ---- changing ----------------------------------------------------------------------------------------------------

  takeDraft() {
    if (!this.panel.takeDraft()) say("Nobody drafted a rewriting of this link.");
  }

  /** @param {"keep" | "delete"} decision */
  decide(decision) {
    const { current } = this;
    if (!this.work.isOpen || current === null) return;
    const value = this.work.value(current);
    const lack = decision === "keep" ? lackOf(value) : null;
    if (lack !== null) {
      say(lack);
      fill(byId("lack", HTMLElement), element("p", {}, lack));
      byId("lack", HTMLElement).hidden = false;
      if (value.relations.length) this.panel.focus(value.question?.trim() ? (value.references?.some((/** @type {string} */ text) => text.trim()) ? "fits" : "answer") : "question");
      return;
    }
    const told = `${nameOf(current)}: ${DECIDED[decision].toLowerCase()}.`;
    const at = this.links.indexOf(current);
    this.work.put(current, { ...value, decision }, { now: true });
    const next = this._nextUndecided() ?? (this.links.includes(current) ? current : (this.links[at] ?? this.links[at - 1] ?? null));
    this.show(next);
    window.scrollTo({ top: 0 });
    const isDone = !this.links.some((place) => this.work.needs(place));
    if (isDone) byId("submit", HTMLButtonElement).focus({ preventScroll: true });
    else byId("link-title", HTMLElement).focus({ preventScroll: true });
    say(isDone ? `${told} All links are decided: draw more, or submit.` : `${told} ${nameOf(next ?? "")}.`);
  }

  async submit() {
    const { links } = this;
    const stands = links.filter((place) => this.work.value(place).decision === "keep");
    const rewritten = stands.filter((place) => this.work.value(place).question !== null).length;
    const summary = `${count(stands.length, "link")} kept, ${rewritten} of them with a rewritten question; ${links.length - stands.length} deleted.`;
    await this.work.submit({
      question: "Are all links between the two chains there?",
      summary,
      places: links.filter((place) => this.work.needs(place)),
      last: () => this.work.put(BOARD, { ...this.work.value(BOARD), decision: "complete", links: stands }, { now: true }),
    });
  }

  leave() {
    if (this.picking) {
      this.picking = null;
      this._draw();
      say("Nothing was drawn.");
    }
    this.leaveField();
  }

  leaveField() {
    this.work.hurry();
    const title = byId(this.current === null ? "board-title" : "link-title", HTMLElement);
    title.focus({ preventScroll: true });
    if (document.activeElement !== title) /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
  }

  // ---- the video ---------------------------------------------------------------------------------------------------

  /** Plays the scene of the earlier chain, then of the later one; the evidence of the turns if there are no scenes. */
  playScenes() {
    const parts = [this.pair.before, this.pair.after].flatMap(({ clips, turns }) => {
      if (clips.length) return clips;
      const shown = turns.flatMap(({ evidence }) => evidence ?? []);
      return shown.length ? [{ start_s: Math.min(...shown.map((each) => each.start_s)), end_s: Math.max(...shown.map((each) => each.end_s)) }] : [];
    });
    if (parts.length) this.playback.playParts(parts);
    else say("The times of the two scenes are not known.");
  }

  toEvidence() {
    if (this.current === null) return;
    const [source, target] = endsOf(this.current);
    const parts = [this.pair.before.turns[source], this.pair.after.turns[target]].flatMap(({ evidence }) => evidence ?? []);
    const at = parts.findIndex(({ start_s }) => Math.abs(this.playback.time_s - start_s) < 0.1);
    const part = parts[(at + 1) % parts.length];
    if (part) void this.playback.seek(part.start_s);
    else say("Neither turn has evidence.");
  }

  // ---- listening ---------------------------------------------------------------------------------------------------

  _listen() {
    this.board.addEventListener("pick", (event) => {
      const { side, turn } = /** @type {CustomEvent} */ (event).detail;
      this._picked(side, turn);
    });
    this.board.addEventListener("select", (event) => this._turnTo(/** @type {CustomEvent} */ (event).detail.place));
    this.board.addEventListener("seek", (event) => void this.playback.seek(/** @type {CustomEvent} */ (event).detail.time_s));
    this.panel.addEventListener("typed", (event) => {
      const { value, now } = /** @type {CustomEvent} */ (event).detail;
      if (this.current === null) return;
      byId("lack", HTMLElement).hidden = true;
      this.work.put(this.current, value, { now });
      this._draw();
      this.keys.label();
    });
    this.panel.addEventListener("drawn", () => this.keys?.label());
    this.work.addEventListener("changed", (event) => {
      const { place } = /** @type {CustomEvent} */ (event).detail;
      const { links } = this;
      byId("lack", HTMLElement).hidden = true;
      this.show(links.includes(place) ? place : links.includes(this.current ?? "") ? this.current : (links[0] ?? null));
    });
    this.work.addEventListener("saved", () => this._draw());
    this.playback.addEventListener("moved", () => this.work.moved());
    byId("link", HTMLElement).addEventListener("focusout", () => this.work.hurry());
    byId("show-keys", HTMLElement).addEventListener("click", () => this.keys.open());
    for (const act of this.keys.actions) {
      if (act.range) continue;
      const found = document.getElementById(act.name);
      if (found instanceof HTMLButtonElement) found.addEventListener("click", () => act.act(""));
    }
  }
}

/** @param {number} n @param {string} what */
function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

openWork((reply) => new Board(reply).open());
