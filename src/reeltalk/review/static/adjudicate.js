// @ts-check
/**
 * Adjudication: A and B side by side, place by place, with their changes from the draft. The adjudicator takes A, takes B,
 * writes C, or returns the work of one of them. Everything works from the keyboard.
 */

import { EditSession, openWork } from "./edit_session.js";
import { byId, changes, clock, element, fill, messageOf, sentence } from "./elements.js";
import { Keys } from "./keys.js";
import { notify, say } from "./notices.js";
import { Player } from "./player.js";
import { ask } from "./workapi.js";
import { WritingForm } from "./writing.js";

/**
 * @typedef {{value: any, lines: [string, string][]}} Shown
 * @typedef {{draft: Shown, sides: Record<string, Shown>, settled: Shown | null, how: string | null}} Place
 * @typedef {{id: string, letter: string, round: number, name: string | null}} Side
 * @typedef {{take?: string, write?: any, note?: string}} Decision
 * @typedef {object} Dispute
 * @property {import("./workapi.js").Work["assignment"]} assignment
 * @property {{id: string, title: string, content: any, video: {playable: string | null, problem: string | null} | null}} unit
 * @property {Side[]} sides
 * @property {string[]} disputed
 * @property {Record<string, string[]>} choices
 * @property {string[]} fields The fields of a value that come first in the form.
 * @property {Record<string, Place>} places
 * @property {Record<string, {revision: number, value: Decision | null, stale: boolean}>} entries
 */

class Adjudication {
  /** @param {Dispute} dispute */
  constructor(dispute) {
    this.dispute = dispute;
    this.names = Object.keys(dispute.places);
    this.current = dispute.disputed[0] ?? this.names[0];
    /** True: B is compared with A. False: both are compared with the draft. */
    this.against = false;
    this.player = new Player(byId("video", HTMLVideoElement));
    this.work = new EditSession(
      { ...dispute, places: dispute.disputed },
      {
        what: "decision",
        draftOf: () => null,
        linesOf: (_, decision) => [["", JSON.stringify(decision)]],
        nameOf: placeName,
        // One person decides, in two windows: the decision that was saved last stays.
        stands: () => true,
        home: "/adjudicate",
        spot: () => ({ place: this.current, time_s: null }),
      },
    );
    this.form = new WritingForm(byId("writing", HTMLFormElement), dispute.choices, dispute.fields, (value) =>
      this.decide({ write: structuredClone(value) }, { now: false }),
    );
    /** @type {Side | null} The work that is about to be returned. */
    this.returning = null;
  }

  async open() {
    for (const name of ["changed", "saved"]) this.work.addEventListener(name, () => this.draw());
    const spot = await this.work.open();
    if (spot && this.names.includes(spot.place)) this.current = spot.place;
    this.keys = new Keys(this.actions());
    byId("show-keys", HTMLButtonElement).addEventListener("click", () => this.keys?.open());
    this.draw();
    this.keys.label();
    this.work.resume(null);
    await this.openVideo();
  }

  /** @returns {import("./keys.js").Action[]} */
  actions() {
    const [a, b] = this.dispute.sides;
    const open = () => this.work.isOpen && this.isDisputed;
    /** @type {[string, string, string, string[], () => void, (() => boolean)?][]} */
    const all = [
      ["take-a", "Take A", "Decide", ["a"], () => this.take(a), open],
      ["take-b", "Take B", "Decide", ["b"], () => this.take(b), () => open() && !!b],
      ["write", "Write C, starting from the chosen work", "Decide", ["c"], () => this.write(), open],
      ["submit", "Submit", "Decide", ["f", "Ctrl+Enter"], () => void this.submit()],
      ["return-a", "Return A to its annotator", "Decide", ["Shift+A"], () => this.askReturn(a)],
      ["return-b", "Return B to its annotator", "Decide", ["Shift+B"], () => this.askReturn(b), () => !!b],
      ["next", "Next place", "Go", ["ArrowDown", "j"], () => this.go(1)],
      ["previous", "Previous place", "Go", ["ArrowUp", "k"], () => this.go(-1)],
      ["leave-text", "Leave the text", "Go", ["Escape"], () => byId("place-title", HTMLElement).focus()],
      ["against", "Compare A with B, or both with the draft", "Look", ["d"], () => this.turn()],
      ["play", "Play or stop", "Video", ["Space"], () => void this.player.toggle()],
      ["step-back", "One frame back", "Video", [","], () => void this.player.step(-1)],
      ["step-on", "One frame forward", "Video", ["."], () => void this.player.step(1)],
      ["evidence", "Play the evidence", "Video", ["p"], () => this.playEvidence()],
      ["keys", "Show the keys", "Go", ["?"], () => this.keys?.open()],
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

  /** The disputed places without a decision, or with one that must be checked again. */
  get left() {
    return this.dispute.disputed.filter((place) => !this.work.has(place) || this.work.isStale(place));
  }

  /** The decision at the current place, or null. @returns {Decision | null} */
  get decision() {
    return this.work.value(this.current) ?? null;
  }

  // ---- deciding ----------------------------------------------------------------------------------------------------

  /** @param {Decision} decision @param {{now?: boolean}} [options] */
  decide(decision, { now = true } = {}) {
    if (!this.work.isOpen || !this.isDisputed) return;
    this.work.put(this.current, decision, { now });
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
    const { decision } = this;
    const from = decision?.take ?? this.dispute.sides.find(({ id }) => place.sides[id].value)?.id ?? "";
    const start = decision?.write ?? place.sides[from]?.value ?? place.draft.value;
    if (!start) return;
    this.decide({ write: structuredClone(start) });
    this.draw();
    this.form.focus();
  }

  async submit() {
    const places = this.left;
    if (places.length && this.work.isOpen) this.show(places[0]);
    await this.work.submit({ places });
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
      await this.work.outbox.settle();
      const body = { assignment: this.returning.id, note };
      const { next } = await ask(`/api/adjudicate/${this.work.id}/return`, { method: "POST", body });
      location.assign(next);
    } catch (error) {
      byId("return-dialog", HTMLDialogElement).close();
      notify(messageOf(error));
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
    this.work.hurry();
    this.current = place;
    this.draw();
    this.work.moved();
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
      this.dispute.sides = (await ask(`/api/adjudicate/${this.work.id}?names=${isOn}`)).sides;
      byId("show-names", HTMLElement).setAttribute("aria-pressed", String(isOn));
      this.draw();
    } catch (error) {
      notify(messageOf(error));
    }
  }

  draw() {
    const place = this.dispute.places[this.current];
    byId("place-title", HTMLElement).textContent = placeName(this.current);
    byId("place-state", HTMLElement).textContent = this.isDisputed
      ? "The annotators disagree here."
      : `Settled: ${place.how === "agreed" ? "both agree" : place.how ?? "nothing to decide"}.`;
    fill(byId("sides", HTMLElement), this.table(place));
    const { decision } = this;
    const writes = this.isDisputed && decision?.write;
    const form = byId("writing", HTMLFormElement);
    // A form in which somebody types is not drawn again.
    if (!writes) form.hidden = true;
    else if (form.hidden || form.dataset.place !== this.current || !form.contains(document.activeElement)) {
      form.hidden = false;
      form.dataset.place = this.current;
      this.form.show(decision.write);
    }
    for (const id of ["take-a", "take-b", "write"]) byId(id, HTMLButtonElement).disabled = !this.work.isOpen || !this.isDisputed;
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
    byId("submit", HTMLButtonElement).disabled = !this.work.isOpen;
  }

  /** @param {Place} place */
  table(place) {
    const { sides } = this.dispute;
    const draft = byLabel(place.draft.lines);
    const shown = sides.map(({ id }) => byLabel(place.sides[id].lines));
    const labels = [...new Set([...draft.keys(), ...shown.flatMap((lines) => [...lines.keys()])])];
    const taken = this.decision?.take;
    const table = element("div", { class: "sides" });
    // The page's content policy forbids style attributes, but allows properties that a script sets.
    table.style.setProperty("--columns", String(sides.length));
    table.append(element("div", { class: "head what corner" }));
    for (const { id, letter, name, round } of sides) {
      const again = round > 1 ? ` (submitted ${round} times)` : "";
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

  /** The evidence of the first side that has some, else of the draft, else the clips. @returns {{start_s: number, end_s: number}[]} */
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

/** Lines by label. Lines with the same label get a number. @param {[string, string][]} lines */
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

openWork((reply) => new Adjudication(reply).open(), "/api/adjudicate/");
