// @ts-check
/**
 * The video of a unit with its bar and its controls. If the video cannot be played, the page shows the reason instead. All
 * controls that need no picture still work: the bar then moves a time that fields can take.
 */

import { byId, clock, element, fill, sentence } from "./elements.js";
import { Player } from "./player.js";
import { SceneBar } from "./scenebar.js";
import { ask } from "./workapi.js";

/** @typedef {import("./player.js").Interval} Interval */
/** @typedef {import("./workapi.js").Work} Work */

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];

export class Playback extends EventTarget {
  /** @param {Work} work @param {import("./scenebar.js").Times[]} turns */
  constructor(work, turns) {
    super();
    const { content, video } = work.unit;
    this._frame = byId("video-frame", HTMLElement);
    this._time = byId("video-time", HTMLElement);
    this._doing = byId("video-doing", HTMLElement);
    this._speed = byId("video-speed", HTMLElement);
    this.player = new Player(byId("video", HTMLVideoElement));
    /** The time at which the bar points if the video cannot be played. */
    this._silent_s = 0;
    this.plays = false;
    this._clips = content.clips;
    const last_s = Math.max(0, ...content.scenes.map(({ end_s }) => end_s), ...content.clips.map(({ end_s }) => end_s));
    this._duration_s = video?.duration_s ?? last_s;
    const links = content.links.flatMap(({ place, direction, relation, other }) => {
      const at_s = turns[Number(place)]?.asked_at_s ?? turns[Number(place)]?.evidence[0]?.start_s;
      const label = `turn ${Number(place) + 1}: ${relation}, ${direction === "from" ? "from" : "to"} “${other.question}”`;
      return at_s === undefined || at_s === null ? [] : [{ place, label, at_s }];
    });
    const shown = { duration_s: this._duration_s, scenes: content.scenes, clips: content.clips, turns, links };
    this.bar = new SceneBar(byId("scene-bar", HTMLElement), shown, (time_s) => void this.seek(time_s));
    this._nameZoom();
    byId("zoom", HTMLElement).hidden = !content.clips.length;
    this.player.addEventListener("frame", () => this._moved());
    for (const name of ["state", "intervals", "end"]) this.player.addEventListener(name, () => this._tell());
    this.player.addEventListener("problem", (event) => this._say(/** @type {CustomEvent} */ (event).detail.message));
    this.player.addEventListener("interval", (event) => {
      const { index } = /** @type {CustomEvent} */ (event).detail;
      this._part = index;
      this._tell();
    });
    this._part = 0;
    this.player.video.addEventListener("click", () => this.toggle());
    this._tell();
  }

  /** Opens the video and goes to a time. @param {Work} work @param {number} time_s */
  async open(work, time_s) {
    this._silent_s = time_s;
    const { video } = work.unit;
    if (!video?.playable) {
      this._say(video?.problem ?? "There is no video here.");
      return;
    }
    try {
      const { pts_s } = await ask(`${video.playable}/frames`);
      await this.player.load(video.playable, pts_s);
      this.plays = true;
      this._frame.classList.remove("silent");
      await this.player.seek(this._silent_s);
    } catch (error) {
      this._say(error instanceof Error ? error.message : String(error));
    }
    this._tell();
  }

  /** Current time in seconds from the first frame. */
  get time_s() {
    return this.plays ? this.player.time_s : this._silent_s;
  }

  /** @param {number} time_s */
  async seek(time_s) {
    if (this.plays) await this.player.seek(time_s);
    else {
      this._silent_s = Math.max(0, time_s);
      this._moved();
    }
  }

  /** @param {number} seconds Forward; backward if negative. */
  jump(seconds) {
    return this.seek(Math.min(Math.max(0, this.time_s + seconds), this._duration_s || Infinity));
  }

  /** @param {number} frames */
  step(frames) {
    if (this.plays) void this.player.step(frames);
  }

  toggle() {
    if (this.plays) void this.player.toggle();
  }

  /** The next speed up or down. @param {1 | -1} direction */
  changeSpeed(direction) {
    const at = SPEEDS.findIndex((speed) => speed >= this.player.rate - 0.01);
    this.player.rate = SPEEDS[Math.min(Math.max(at + direction, 0), SPEEDS.length - 1)];
  }

  /** Starts or stops a loop over the current clip. */
  toggleLoop() {
    if (this.player.looping) {
      this.player.clearIntervals();
      return;
    }
    const { time_s } = this;
    const here = this._clips.find(({ start_s, end_s }) => start_s <= time_s && time_s < end_s) ?? this._clips[0];
    void this.player.playIntervals([here ?? { start_s: 0, end_s: this._duration_s }], { loop: true });
  }

  /** Plays parts one after the other. @param {Interval[]} parts */
  playParts(parts) {
    this._part = 0;
    if (this.plays) void this.player.playIntervals(parts);
    else if (parts[0]) void this.seek(parts[0].start_s);
  }

  /** Switches the bar between the whole video and this unit's part of it. */
  toggleBar() {
    this.bar.toggle();
    this._nameZoom();
  }

  _nameZoom() {
    byId("zoom", HTMLElement).firstChild?.replaceWith(this.bar.isClose ? "Whole video" : "This part");
  }

  /** The scenes of a unit, played for a turn without evidence. */
  get clips() {
    return this._clips;
  }

  _moved() {
    this.bar.move(this.time_s);
    this._tell();
    this.dispatchEvent(new CustomEvent("moved"));
  }

  _tell() {
    const { paused, rate, looping, intervals } = this.player;
    fill(this._time, `${clock(this.time_s)} / ${clock(this._duration_s)}`);
    this._speed.textContent = `${rate}×`;
    const parts = intervals.length > 1 ? `, scene ${this._part + 1} of ${intervals.length}` : "";
    this._doing.textContent = !this.plays ? "" : looping ? "looping the clip" : intervals.length ? `playing the evidence${parts}` : "";
    const play = byId("play", HTMLButtonElement);
    play.firstChild?.replaceWith(paused ? "Play" : "Pause");
    for (const name of ["play", "step-back", "step-on", "loop", "slower", "faster"]) {
      byId(name, HTMLButtonElement).disabled = !this.plays;
    }
    byId("loop", HTMLButtonElement).setAttribute("aria-pressed", String(looping));
  }

  /** @param {string} problem */
  _say(problem) {
    this.plays = false;
    this._frame.classList.add("silent");
    fill(
      byId("video-problem", HTMLElement),
      element("strong", {}, "The video cannot be shown."),
      element("span", {}, sentence(problem)),
      element("span", { class: "soft" }, "The dialogue can still be judged."),
    );
    this._moved();
  }
}
