// @ts-check
/**
 * Adjudication: A and B side by side, place by place, with their changes from the draft. The adjudicator takes A, takes B,
 * writes C, or returns the work of one of them. Everything works from the keyboard.
 */

import { byId, changes, clock, element, fill, sentence } from "./elements.js";
import { Keys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Player } from "./player.js";
import { SaveState } from "./savestate.js";
import { RefusedError, ask, makeKey } from "./workapi.js";
import { WritingForm } from "./writing.js";

/**
 * @typedef {{value: any, lines: [string, string][]}} Shown
 * @typedef {{draft: Shown, sides: Record<string, Shown>, settled: Shown | null, how: string | null}} Place
 * @typedef {{id: string, letter: string, round: number, name: string | null}} Side
 * @typedef {{take?: string, write?: any, note?: string}} Decision
 * @typedef {object} Dispute
 * @property {{id: string, state: string, queue: string}} assignment
 * @property {{title: string, content: any, video: {playable: string | null, problem: string | null} | null}} unit
 * @property {Side[]} sides
 * @property {string[]} disputed
 * @property {Record<string, string[]>} choices
 * @property {string[]} fields Those of a value that come first where one writes.
 * @property {Record<string, Place>} places
 * @property {Record<string, {revision: number, value: Decision | null, stale: boolean}>} entries
 */

class Adjudication {
  /** @param {string} assignment @param {Dispute} dispute */
  constructor(assignment, dispute) {
    this.assignment = assignment;
    this.dispute = dispute;
    this.names = Object.keys(dispute.places);
    this.current = dispute.disputed[0] ?? this.names[0];
    this.isOpen = dispute.assignment.state === "working";
    /** @type {Record<string, Decision | null>} */
    this.decisions = Object.fromEntries(Object.entries(dispute.entries).map(([place, { value }]) => [place, value]));
    /** Places whose decision must be looked at again. */
    this.stale = new Set(Object.keys(dispute.entries).filter((place) => dispute.entries[place].stale));
    /** True where B is shown against A, false where both are against the draft. */
    this.against = false;
    this.player = new Player(byId("video", HTMLVideoElement));
    this.outbox = new Outbox(assignment, (place, save, key) =>
      ask(`/api/work/${assignment}/entries/${encodeURIComponent(place)}`, { method: "PUT", body: save, key }),
    );
    this.saveState = new SaveState(say);
    this.form = new WritingForm(byId("writing", HTMLFormElement), dispute.choices, dispute.fields, (value) =>
      this.decide({ write: structuredClone(value) }, { now: false }),
    );
    /** @type {Side | null} Whose work is about to be returned. */
    this.returning = null;
  }

  async open() {
    this.outbox.addEventListener("state", (event) => {
      this.saveState.show({ .../** @type {CustomEvent} */ (event).detail, kept: this.outbox.kept });
    });
    this.outbox.addEventListener("conflict", (event) => {
      // One person decides, in two windows: what was saved last in the other is taken, and this says so.
      const { place, current } = /** @type {CustomEvent} */ (event).detail;
      this.outbox.resolve(place, undefined);
      this.decisions[place] = current.value;
      problem("You decided this in another window meanwhile. The page now shows that decision.");
      this.draw();
    });
    this.outbox.addEventListener("saved", (event) => {
      this.stale.delete(/** @type {CustomEvent} */ (event).detail.place);
      this.draw();
    });
    await this.outbox.open(
      Object.fromEntries(Object.entries(this.dispute.entries).map(([place, { revision }]) => [place, revision])),
    );
    for (const place of this.names) this.decisions[place] = this.outbox.typed(place) ?? this.decisions[place] ?? null;
    this.keys = new Keys(this.actions());
    byId("show-keys", HTMLButtonElement).addEventListener("click", () => this.keys?.open());
    this.draw();
    this.keys.label();
    void this.openVideo();
  }

  /** @returns {import("./keys.js").Action[]} */
  actions() {
    const [a, b] = this.dispute.sides;
    const open = () => this.isOpen && this.isDisputed;
    /** @type {[string, string, string, string[], () => void, (() => boolean)?][]} */
    const all = [
      ["take-a", "Take A", "Decide", ["a"], () => this.take(a), open],
      ["take-b", "Take B", "Decide", ["b"], () => this.take(b), () => open() && !!b],
      ["write", "Write C, from what is taken", "Decide", ["c"], () => this.write(), open],
      ["submit", "Hand in", "Decide", ["f", "Ctrl+Enter"], () => void this.submit()],
      ["return-a", "Return A to whoever did it", "Decide", ["Shift+A"], () => this.askReturn(a)],
      ["return-b", "Return B to whoever did it", "Decide", ["Shift+B"], () => this.askReturn(b), () => !!b],
      ["next", "Next place", "Go", ["ArrowDown", "j"], () => this.go(1)],
      ["previous", "Place before", "Go", ["ArrowUp", "k"], () => this.go(-1)],
      ["leave-text", "Leave the text", "Go", ["Escape"], () => byId("place-title", HTMLElement).focus()],
      ["against", "A against B, or both against the draft", "Look", ["d"], () => this.turn()],
      ["play", "Play or stop", "Video", ["Space"], () => void this.player.toggle()],
      ["step-back", "One frame back", "Video", [","], () => void this.player.step(-1)],
      ["step-on", "One frame on", "Video", ["."], () => void this.player.step(1)],
      ["evidence", "Play the evidence", "Video", ["p"], () => this.playEvidence()],
      ["keys", "This page of keys", "Go", ["?"], () => this.keys?.open()],
    ];
    const made = all.map(([name, label, group, keys, act, when]) => ({ name, label, group, keys, act, when }));
    for (const { name, act, when } of made) {
      document.getElementById(name)?.addEventListener("click", () => (when?.() ?? true) && act());
    }
    byId("show-names", HTMLButtonElement).addEventListener("click", () => void this.showNames());
    byId("return-cancel", HTMLButtonElement).addEventListener("click", () => byId("return-dialog", HTMLDialogElement).close());
    byId("return-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.sendBack();
    });
    return made;
  }

  get isDisputed() {
    return this.dispute.disputed.includes(this.current);
  }

  get left() {
    return this.dispute.disputed.filter((place) => !this.decisions[place] || this.stale.has(place));
  }

  // ---- deciding ----------------------------------------------------------------------------------------------------

  /** @param {Decision} decision @param {{now?: boolean}} [options] */
  decide(decision, { now = true } = {}) {
    if (!this.isOpen || !this.isDisputed) return;
    problem("");
    this.decisions[this.current] = decision;
    this.stale.delete(this.current);
    this.outbox.put(this.current, decision, { now });
    this.drawStates();
  }

  /** @param {Side} side */
  take(side) {
    this.decide({ take: side.id });
    say(`${side.letter} taken`);
    this.draw();
    const next = this.left[0];
    if (next !== undefined) this.show(next);
  }

  write() {
    const place = this.dispute.places[this.current];
    const decision = this.decisions[this.current];
    const from = decision?.take ?? this.dispute.sides.find(({ id }) => place.sides[id].value)?.id ?? "";
    const start = decision?.write ?? place.sides[from]?.value ?? place.draft.value;
    if (!start) return;
    this.decide({ write: structuredClone(start) });
    this.draw();
    this.form.focus();
  }

  async submit() {
    if (!this.isOpen) return;
    if (!(await this.outbox.settle())) return problem("Not everything is saved yet.");
    if (this.left.length) {
      this.show(this.left[0]);
      return problem(`${this.left.length} of ${this.dispute.disputed.length} places are undecided.`);
    }
    try {
      await ask(`/api/work/${this.assignment}/submit`, { method: "POST", key: makeKey() });
      location.assign("/adjudicate");
    } catch (error) {
      problem(error);
    }
  }

  /** @param {Side} side */
  askReturn(side) {
    this.returning = side;
    byId("return-title", HTMLElement).textContent = `Return ${side.letter}`;
    byId("return-dialog", HTMLDialogElement).showModal();
    byId("return-note", HTMLTextAreaElement).focus();
  }

  async sendBack() {
    const note = byId("return-note", HTMLTextAreaElement).value;
    if (!this.returning || !note.trim()) return;
    try {
      await this.outbox.settle();
      const body = { assignment: this.returning.id, note };
      const { next } = await ask(`/api/adjudicate/${this.assignment}/return`, { method: "POST", body, key: makeKey() });
      location.assign(next);
    } catch (error) {
      byId("return-dialog", HTMLDialogElement).close();
      problem(error);
    }
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  /** @param {number} by */
  go(by) {
    const index = this.names.indexOf(this.current) + by;
    if (index >= 0 && index < this.names.length) this.show(this.names[index]);
  }

  /** @param {string} place */
  show(place) {
    void this.outbox.hurry();
    this.current = place;
    this.draw();
    byId("place-title", HTMLElement).focus({ preventScroll: true });
    const at_s = this.evidence[0]?.start_s;
    if (at_s !== undefined) void this.player.seek(at_s);
  }

  turn() {
    this.against = !this.against;
    byId("against", HTMLElement).setAttribute("aria-pressed", String(this.against));
    this.draw();
  }

  async showNames() {
    const isOn = byId("show-names", HTMLElement).getAttribute("aria-pressed") !== "true";
    try {
      this.dispute.sides = (await ask(`/api/adjudicate/${this.assignment}?names=${isOn}`)).sides;
      byId("show-names", HTMLElement).setAttribute("aria-pressed", String(isOn));
      this.draw();
    } catch (error) {
      problem(error);
    }
  }

  draw() {
    const place = this.dispute.places[this.current];
    byId("place-title", HTMLElement).textContent = placeName(this.current);
    byId("place-state", HTMLElement).textContent = this.isDisputed
      ? "They differ here."
      : `Settled: ${place.how === "agreed" ? "both agree" : place.how ?? "nothing to decide"}.`;
    fill(byId("sides", HTMLElement), this.table(place));
    const decision = this.decisions[this.current];
    const writes = this.isDisputed && decision?.write;
    const form = byId("writing", HTMLFormElement);
    // The form is not drawn anew under somebody who types in it.
    if (!writes) form.hidden = true;
    else if (form.hidden || form.dataset.place !== this.current || !form.contains(document.activeElement)) {
      form.hidden = false;
      form.dataset.place = this.current;
      this.form.show(decision.write);
    }
    for (const id of ["take-a", "take-b", "write"]) byId(id, HTMLButtonElement).disabled = !this.isOpen || !this.isDisputed;
    for (const id of ["take-b", "return-b"]) byId(id, HTMLButtonElement).hidden = this.dispute.sides.length < 2;
    this.drawStates();
  }

  drawStates() {
    const buttons = this.names.map((name) => {
      const isOpen = this.left.includes(name);
      const state = isOpen ? "open" : this.dispute.disputed.includes(name) ? "decided" : "agreed";
      const made = element(
        "button",
        { type: "button", "data-state": state, "aria-current": name === this.current && "true" },
        String(Number.isInteger(Number(name)) ? Number(name) + 1 : name),
        element("span", { class: "unseen" }, `, ${state === "open" ? "to decide" : state}`),
      );
      made.addEventListener("click", () => this.show(name));
      return made;
    });
    fill(byId("places", HTMLElement), ...buttons);
    const { length } = this.left;
    byId("left", HTMLElement).textContent = length ? `${length} to decide` : "all decided";
    byId("submit", HTMLButtonElement).disabled = !this.isOpen;
  }

  /** @param {Place} place */
  table(place) {
    const { sides } = this.dispute;
    const draft = byLabel(place.draft.lines);
    const shown = sides.map(({ id }) => byLabel(place.sides[id].lines));
    const labels = [...new Set([...draft.keys(), ...shown.flatMap((lines) => [...lines.keys()])])];
    const taken = this.decisions[this.current]?.take;
    const table = element("div", { class: "sides" });
    // A style attribute would be against the page's policy; a property set by a script is not.
    table.style.setProperty("--columns", String(sides.length));
    table.append(element("div", { class: "head what corner" }));
    for (const { id, letter, name, round } of sides) {
      const again = round > 1 ? ` (handed in ${round} times)` : "";
      table.append(element("div", { class: `head side${id === taken ? " taken" : ""}` }, `${letter}${name ? `: ${name}` : ""}${again}${id === taken ? ", taken" : ""}`));
    }
    for (const label of labels) {
      const texts = shown.map((lines) => lines.get(label) ?? "");
      const differs = texts.some((text) => text !== texts[0]);
      table.append(element("div", { class: "what" }, label.replace(/\u0000\d+$/, "")));
      texts.forEach((text, column) => {
        const before = this.against ? texts[0] : draft.get(label) ?? "";
        const isChoice = label.startsWith("Decision");
        const plain = isChoice || text === before || (this.against && column === 0) || (!before && !this.against);
        table.append(element("div", { class: `side${differs ? " differs" : ""}` }, plain ? text : changes(before, text)));
      });
    }
    return table;
  }

  // ---- the video ---------------------------------------------------------------------------------------------------

  /** Where the answer can be seen: as the first side that says so has it. @returns {{start_s: number, end_s: number}[]} */
  get evidence() {
    const { draft, sides } = this.dispute.places[this.current];
    const values = [...this.dispute.sides.map(({ id }) => sides[id].value), draft.value];
    return values.find((value) => value?.evidence?.length)?.evidence ?? this.dispute.unit.content.clips ?? [];
  }

  playEvidence() {
    if (this.evidence.length) void this.player.playIntervals(this.evidence);
  }

  async openVideo() {
    const { video } = this.dispute.unit;
    const told = byId("video-problem", HTMLElement);
    const time = byId("video-time", HTMLElement);
    this.player.addEventListener("frame", () => (time.textContent = clock(this.player.time_s)));
    this.player.addEventListener("state", () => {
      byId("play", HTMLElement).firstChild?.replaceWith(this.player.paused ? "Play" : "Stop");
    });
    if (!video?.playable) {
      told.textContent = sentence(video?.problem ?? "there is no video here");
      return;
    }
    try {
      const { pts_s } = await ask(`${video.playable}/frames`);
      await this.player.load(video.playable, pts_s);
      byId("video-frame", HTMLElement).classList.remove("silent");
      await this.player.seek(this.evidence[0]?.start_s ?? 0);
    } catch (error) {
      told.textContent = sentence(error instanceof Error ? error.message : String(error));
    }
  }
}

/** Lines by label; of several with one label each has its own number. @param {[string, string][]} lines */
function byLabel(lines) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const [label, text] of lines) {
    let key = label;
    for (let n = 1; found.has(key); n++) key = `${label}\u0000${n}`;
    found.set(key, text);
  }
  return found;
}

/** @param {string} place */
function placeName(place) {
  return /^\d+$/.test(place) ? `Turn ${Number(place) + 1}` : place;
}

/** Tells people who do not see the page. @param {string} text */
function say(text) {
  byId("said", HTMLElement).textContent = text;
}

/** @param {unknown} what */
function problem(what) {
  const text = what instanceof RefusedError || what instanceof Error ? what.message : String(what);
  fill(byId("problem", HTMLElement), text ? element("p", { class: "note" }, sentence(text)) : null);
}

const assignment = byId("work", HTMLElement).dataset.assignment ?? "";
try {
  await new Adjudication(assignment, await ask(`/api/adjudicate/${assignment}`)).open();
} catch (error) {
  problem(error);
}
