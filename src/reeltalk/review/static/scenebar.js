// @ts-check
/**
 * The bar below the video: scenes, a mark for every turn and every link, and the playhead. Clicks and keys on the bar seek.
 *
 *     const bar = new SceneBar(place, {duration_s, scenes, clips, turns, links}, (time_s) => player.seek(time_s));
 *     bar.move(12.5);
 *     bar.mark(2);                 // the turn under review
 */

import { clock, element } from "./elements.js";

/** @typedef {import("./player.js").Interval} Interval */
/** @typedef {import("./workapi.js").Scene} Scene */
/** @typedef {{asked_at_s: number | null, evidence: Interval[]}} Times The shown times of a turn. */
/** @typedef {{place: string, label: string, at_s: number}} LinkMark */

/** For a unit shorter than this share of its video, the bar first shows the unit only. */
const SMALL_SHARE = 0.6;
/** The margin on both sides of a unit, as a share of its length. */
const MARGIN = 0.08;
const STEP_S = 1;
const LEAP_S = 10;
/** Turns that are closer than this share of the bar share one mark. */
const NEAR_SHARE = 0.022;

export class SceneBar {
  /**
   * @param {HTMLElement} place
   * @param {{duration_s: number, scenes: Scene[], clips: Scene[], turns: Times[], links: LinkMark[]}} shown
   * @param {(time_s: number) => void} seek
   */
  constructor(place, shown, seek) {
    this._place = place;
    this._shown = shown;
    this._seek = seek;
    this._time_s = 0;
    this._turn = 0;
    const [from, to] = this._span();
    const whole = shown.duration_s;
    /** True while only the unit's part of the video is shown. */
    this.isClose = whole > 0 && to - from < SMALL_SHARE * whole;
    this._head = element("div", { class: "playhead" });
    this._track = element("div", { class: "track" });
    this._slider = element("div", {
      class: "bar",
      role: "slider",
      tabindex: "0",
      "aria-label": "Position in the video",
      "aria-valuemin": 0,
    });
    this._slider.append(this._track);
    place.replaceChildren(this._slider);
    this._slider.addEventListener("pointerdown", (event) => this._drag(event));
    this._slider.addEventListener("pointermove", (event) => {
      if (event.buttons & 1 && this._slider.hasPointerCapture(event.pointerId)) this._drag(event);
    });
    this._slider.addEventListener("keydown", (event) => this._key(event));
    this.draw();
  }

  /** Switches between the unit's part of the video and all of it. */
  toggle() {
    this.isClose = !this.isClose;
    this.draw();
    return this.isClose;
  }

  /** Updates the times of the turns. @param {Times[]} turns */
  update(turns) {
    this._shown.turns = turns;
    this.draw();
  }

  /** Marks the turn under review. @param {number} turn */
  mark(turn) {
    this._turn = turn;
    this.draw();
  }

  /** Moves the playhead. @param {number} time_s */
  move(time_s) {
    this._time_s = time_s;
    const { start_s, end_s } = this._bounds();
    this._head.hidden = time_s < start_s || time_s > end_s;
    this._head.style.left = this._left(time_s);
    const scene = this._shown.scenes.findIndex((each) => each.start_s <= time_s && time_s < each.end_s);
    this._slider.setAttribute("aria-valuenow", time_s.toFixed(2));
    this._slider.setAttribute("aria-valuetext", `${clock(time_s)}${scene < 0 ? "" : `, scene ${scene + 1}`}`);
  }

  draw() {
    const { scenes, clips, turns, links, duration_s } = this._shown;
    const { start_s, end_s } = this._bounds();
    this._slider.setAttribute("aria-valuemax", String(Math.max(duration_s, 0)));
    const parts = scenes.length ? scenes : clips;
    const own = new Set(clips.map(({ id }) => id));
    const drawn = [
      ...parts.map((scene, index) => this._scene(scene, index, own.has(scene.id))),
      ...turns.flatMap(({ evidence }, turn) =>
        evidence.map((interval) => this._block("evidence", interval, turn === this._turn ? "current" : "")),
      ),
      ...links.map(({ at_s, label }) => this._point("link", at_s, "", label)),
      ...this._askedMarks(turns),
      this._head,
    ];
    this._track.replaceChildren(
      ...drawn,
      element("span", { class: "bound from" }, clock(start_s)),
      element("span", { class: "bound to" }, clock(end_s)),
    );
    this.move(this._time_s);
  }

  /** @param {Times[]} turns */
  _askedMarks(turns) {
    const { start_s, end_s } = this._bounds();
    const near = (end_s - start_s) * NEAR_SHARE;
    /** @type {{at_s: number, numbers: number[]}[]} */
    const groups = [];
    turns.forEach(({ asked_at_s }, turn) => {
      if (asked_at_s === null || asked_at_s === undefined) return;
      const group = groups.find(({ at_s }) => Math.abs(at_s - asked_at_s) < near);
      if (group) group.numbers.push(turn);
      else groups.push({ at_s: asked_at_s, numbers: [turn] });
    });
    return groups.map(({ at_s, numbers }) => {
      const text = numbers.length > 2 ? `${numbers[0] + 1}–${numbers[numbers.length - 1] + 1}` : numbers.map((n) => n + 1).join(",");
      const kind = numbers.includes(this._turn) ? "asked current" : "asked";
      const told = numbers.map((n) => `turn ${n + 1} is asked at ${clock(turns[n].asked_at_s ?? 0)}`).join("; ");
      return this._point(kind, at_s, text, told);
    });
  }

  /** @param {Scene} scene @param {number} index @param {boolean} own */
  _scene(scene, index, own) {
    const name = scene.caption ?? scene.id;
    const made = this._block("scene", scene, own ? "own" : "", `${index + 1}`);
    made.title = `Scene ${index + 1}, ${clock(scene.start_s)}–${clock(scene.end_s)}: ${name}`;
    return made;
  }

  /** @param {string} kind @param {Interval} interval @param {string} more @param {string} [text] */
  _block(kind, { start_s, end_s }, more, text = "") {
    const made = element("div", { class: `${kind} ${more}` }, text);
    const bounds = this._bounds();
    made.hidden = end_s < bounds.start_s || start_s > bounds.end_s;
    const left = this._share(Math.max(start_s, bounds.start_s));
    made.style.left = `${left * 100}%`;
    made.style.width = `${(this._share(Math.min(end_s, bounds.end_s)) - left) * 100}%`;
    return made;
  }

  /** @param {string} kind @param {number} at_s @param {string} text @param {string} told */
  _point(kind, at_s, text, told) {
    const { start_s, end_s } = this._bounds();
    const made = element("div", { class: `point ${kind}` }, text && element("span", {}, text));
    made.hidden = at_s < start_s || at_s > end_s;
    made.style.left = this._left(at_s);
    made.title = told;
    if (this._share(at_s) > 0.94) made.classList.add("last");
    return made;
  }

  _span() {
    const { clips, turns } = this._shown;
    const all = [...clips, ...turns.flatMap(({ evidence }) => evidence)];
    const asked = turns.map(({ asked_at_s }) => asked_at_s).filter((at_s) => at_s !== null);
    if (!all.length) return [0, this._shown.duration_s];
    const from = Math.min(...all.map(({ start_s }) => start_s), ...asked);
    const to = Math.max(...all.map(({ end_s }) => end_s), ...asked);
    return [from, to];
  }

  /** The part of the video that the bar shows. @returns {Interval} */
  _bounds() {
    const [from, to] = this._span();
    const whole = Math.max(this._shown.duration_s, to, 0.001);
    if (!this.isClose) return { start_s: 0, end_s: whole };
    const margin = (to - from) * MARGIN;
    return { start_s: Math.max(0, from - margin), end_s: Math.min(whole, Math.max(to + margin, from + 0.001)) };
  }

  /** @param {number} time_s */
  _share(time_s) {
    const { start_s, end_s } = this._bounds();
    return Math.min(Math.max((time_s - start_s) / (end_s - start_s), 0), 1);
  }

  /** @param {number} time_s */
  _left(time_s) {
    return `${this._share(time_s) * 100}%`;
  }

  /** @param {PointerEvent} event */
  _drag(event) {
    if (event.button > 0) return;
    this._slider.setPointerCapture(event.pointerId);
    const { left, width } = this._track.getBoundingClientRect();
    const { start_s, end_s } = this._bounds();
    const share = Math.min(Math.max((event.clientX - left) / Math.max(width, 1), 0), 1);
    this._seek(start_s + share * (end_s - start_s));
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { start_s, end_s } = this._bounds();
    const { key } = event;
    let to = this._time_s;
    if (key === "ArrowRight" || key === "ArrowUp") to += STEP_S;
    else if (key === "ArrowLeft" || key === "ArrowDown") to -= STEP_S;
    else if (key === "PageUp") to += LEAP_S;
    else if (key === "PageDown") to -= LEAP_S;
    else if (key === "Home") to = start_s;
    else if (key === "End") to = end_s;
    else return;
    event.preventDefault();
    this._seek(Math.min(Math.max(to, 0), this._shown.duration_s || end_s));
  }
}
