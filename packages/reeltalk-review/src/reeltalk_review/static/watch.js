// @ts-check
/**
 * The video of a unit with its bar and its controls, for every screen.
 *
 *     const playback = new Playback(unit.video, unit.content);   // scenes and clips of the content; both may be left out
 *     html`<${Watch} editor=${editor} playback=${playback} turns=${values} current=${n} onEvidence=${(index, interval) => …} />`
 *     await playback.open(12.5);
 *
 * `turns` are the shown times of all turns, `current` is the index of the one under review. `onEvidence` is called when an
 * edge of its evidence was moved; without it, edges cannot be moved. Buttons run actions of the page's keys, to which
 * `videoOffers(playback)` gives those of the video. The picture takes what the bar and the controls leave.
 *
 * A `Playback` tells `moved` when another time is shown, and `changed` when something else is shown differently. A large
 * film sets the attribute `data-theatre` of the document's root: the page then gives the film all that the buttons leave.
 */

import { clock, sentence } from "./elements.js";
import { Act } from "./frame.js";
import { Player } from "./player.js";
import { keep, recall } from "./stores.js";
import { TimeBar, useTold } from "./timebar.js";
import { html, useEffect, useRef } from "./vendor/preact.js";
import { ask } from "./workapi.js";

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];
const STORE = "reeltalk.sound";
/** For a unit shorter than this share of its video, the bar first shows the unit only. */
const SMALL_SHARE = 0.6;
/** The margin on both sides of a unit, as a share of its length. */
const MARGIN = 0.08;
/** A unit of a shorter part of the video is no part. */
const LEAST_S = 1;
/** Where a playhead that left a zoomed bar comes back, as a share of the bar. */
const RETURN_SHARE = 0.1;
/** Step of times if there are no frames, in seconds. */
const STEP_S = 0.1;

export class Playback extends EventTarget {
  /** @param {Video | null} video @param {{scenes?: Scene[], clips?: Scene[]}} [content] */
  constructor(video, { scenes = [], clips = [] } = {}) {
    super();
    this.video = video;
    this.element = document.createElement("video");
    this.element.id = "video";
    this.element.playsInline = true;
    this.element.tabIndex = -1;
    this.element.setAttribute("aria-label", "The task's video");
    this.player = new Player(this.element);
    this.clips = clips;
    this.scenes = scenes.length ? scenes : clips;
    this.duration_s = video?.duration_s ?? Math.max(0, ...[...scenes, ...clips].map(({ end_s }) => end_s));
    /** @type {Times[]} Set by `Watch`. */
    this.turns = [];
    /** True once the video can be played. */
    this.plays = false;
    /** Why there is no picture; null while the video is being opened. @type {string | null} */
    this.problem = null;
    /** @type {number | null} The time after which nothing may be watched. */
    this.until_s = null;
    /** @type {Interval | null} The shown part of the bar. */
    this._view = null;
    /** The time at which the bar points if the video cannot be played. */
    this._silent_s = 0;
    this._part = 0;
    this.hasCaptions = Boolean(video?.captions);
    this.sound = { muted: false, captions: false, ...recall(STORE) };
    this.player.addEventListener("frame", () => this._moved());
    for (const name of ["state", "intervals", "end"]) this.player.addEventListener(name, () => this._changed());
    this.player.addEventListener("problem", (event) => this._fail(/** @type {CustomEvent} */ (event).detail.message));
    this.player.addEventListener("interval", (event) => {
      this._part = /** @type {CustomEvent} */ (event).detail.index;
      this._changed();
    });
    this.element.addEventListener("click", () => this.toggle());
    this._setSound({});
  }

  /** Opens the video and goes to a time. @param {number} [time_s] */
  async open(time_s = 0) {
    this._silent_s = time_s;
    const { video } = this;
    if (!video?.playable) {
      this._fail(video?.problem ?? "There is no video here.");
      return;
    }
    try {
      const { pts_s } = await ask(`${video.playable}/frames`);
      await this.player.load(video.playable, pts_s);
      this._clockStart_s = pts_s[0];
      this.plays = true;
      this.problem = "";
      this.learn(video);
      this._changed();
      await this.seek(this._silent_s);
    } catch (error) {
      this._fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** Of the shown frame, in seconds from the first frame; without a playable video, where the bar points. */
  get time_s() {
    return this.plays ? this.player.time_s : this._silent_s;
  }

  /** The time in whole milliseconds, never before the frame: for fields. */
  get mark_s() {
    return whole(this.time_s);
  }

  /** The end of the shown frame, so that an interval up to it has the frame; of the last frame the end of the film. */
  get markEnd_s() {
    return this.snap(this.time_s, 1);
  }

  /** @param {number} time_s */
  async seek(time_s) {
    const to_s = Math.min(Math.max(0, time_s), this.until_s ?? Infinity);
    if (this.plays) await this.player.seek(to_s);
    else {
      this._silent_s = to_s;
      this._moved();
    }
  }

  /** @param {number} seconds Forward; backward if negative. */
  jump(seconds) {
    return this.seek(Math.min(this.time_s + seconds, this.duration_s || Infinity));
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
    const here = this.clips.find(({ start_s, end_s }) => start_s <= time_s && time_s < end_s) ?? this.clips[0];
    void this.player.playIntervals([here ?? { start_s: 0, end_s: this.duration_s }], { loop: true });
  }

  /** Plays parts one after the other. @param {Interval[]} parts */
  playParts(parts) {
    this._part = 0;
    if (this.plays) void this.player.playIntervals(parts);
    else if (parts[0]) void this.seek(parts[0].start_s);
  }

  /** The time of the nearest frame in whole milliseconds, or of one so many frames later. @param {number} time_s @param {number} [frames] */
  snap(time_s, frames = 0) {
    if (!this.plays) return Math.max(0, Math.round((time_s + frames * STEP_S) * 1000) / 1000);
    const { player } = this;
    const at = player.frameAt(time_s);
    // Behind the last frame there is no other: its end is that of the video.
    const timeOf = (/** @type {number} */ n) => (n < player.frames ? player.timeOf(n) : player.duration_s);
    const nearest = timeOf(at + 1) - time_s < time_s - timeOf(at) ? at + 1 : at;
    return whole(timeOf(nearest + frames));
  }

  // ---- what the bar shows ------------------------------------------------------------------------------------------

  /** The shown part of the video. @returns {Interval} */
  get view() {
    const part = this.part;
    this._view ??= part.end_s - part.start_s < SMALL_SHARE * this.length_s ? part : { start_s: 0, end_s: this.length_s };
    return this._view;
  }

  /** End of the video, or of the last thing on the bar. */
  get length_s() {
    return Math.max(this.duration_s, ...this._times, 0.001);
  }

  get isWhole() {
    return this.view.end_s - this.view.start_s > this.length_s - 0.001;
  }

  get _times() {
    const asked = this.turns.flatMap(({ asked_at_s }) => (typeof asked_at_s === "number" ? [asked_at_s] : []));
    return [...this.clips, ...this.turns.flatMap(({ evidence }) => evidence)].flatMap(({ start_s, end_s }) => [start_s, end_s]).concat(asked);
  }

  /** The unit's part of the video, with a margin. @returns {Interval} */
  get part() {
    const times = this._times;
    const [from, to] = [Math.min(...times), Math.max(...times)];
    // One time alone is no part.
    if (!(to - from >= LEAST_S)) return { start_s: 0, end_s: this.length_s };
    const margin = Math.max((to - from) * MARGIN, LEAST_S / 2);
    return { start_s: Math.max(0, from - margin), end_s: Math.min(this.length_s, to + margin) };
  }

  /** Switches the bar between the whole video and the unit's part of it. */
  toggleBar() {
    this._show(this.isWhole ? this.part : { start_s: 0, end_s: this.length_s });
  }

  /** @param {Interval} view Moved into the video. */
  _show({ start_s, end_s }) {
    const length = Math.min(end_s - start_s, this.length_s);
    const start = Math.min(Math.max(start_s, 0), this.length_s - length);
    this._view = { start_s: start, end_s: start + length };
    this._changed();
  }

  // ---- sound, captions, size ---------------------------------------------------------------------------------------

  toggleMute() {
    this._setSound({ muted: !this.sound.muted });
  }

  toggleCaptions() {
    this._setSound({ captions: !this.sound.captions });
  }

  /** @param {Partial<{muted: boolean, captions: boolean}>} change */
  _setSound(change) {
    Object.assign(this.sound, change);
    this.element.muted = this.sound.muted;
    this._showCaptions();
    if (Object.keys(change).length) keep(STORE, this.sound);
    this._changed();
  }

  /** Takes over the address of the captions, which in a test grows with its questions. @param {Video} video */
  learn({ captions = null }) {
    this.hasCaptions = captions !== null;
    const shown = this.element.querySelector("track");
    if (shown && captions === shown.getAttribute("src")) return;
    shown?.remove();
    if (captions === null) return;
    const track = document.createElement("track");
    Object.assign(track, { kind: "captions", label: "Captions", srclang: "und" });
    track.setAttribute("src", captions);
    // Captions count from the first frame, the browser's clock may not.
    track.addEventListener("load", () => {
      for (const cue of /** @type {Iterable<TextTrackCue>} */ (/** @type {unknown} */ (track.track.cues ?? []))) {
        cue.startTime += this._clockStart_s ?? 0;
        cue.endTime += this._clockStart_s ?? 0;
      }
    });
    this.element.append(track);
    this._showCaptions();
  }

  _showCaptions() {
    const track = this.element.querySelector("track")?.track;
    // A track that is disabled is not requested.
    if (track) track.mode = this.sound.captions ? "showing" : "disabled";
  }

  get isTheatre() {
    return document.documentElement.hasAttribute("data-theatre");
  }

  toggleTheatre() {
    document.documentElement.toggleAttribute("data-theatre");
    this._changed();
  }

  // ---- telling -----------------------------------------------------------------------------------------------------

  /** What is played, as text for people. */
  get doing() {
    const { looping, intervals } = this.player;
    if (!this.plays || !intervals.length) return "";
    const parts = intervals.length > 1 ? `, scene ${this._part + 1} of ${intervals.length}` : "";
    return looping ? "looping the clip" : `playing the evidence${parts}`;
  }

  _moved() {
    const { time_s, until_s } = this;
    if (until_s !== null && time_s > until_s) {
      this.player.pause();
      void this.seek(until_s);
      return;
    }
    const { start_s, end_s } = this.view;
    const length = end_s - start_s;
    if (time_s < start_s - 0.001) this._show({ start_s: time_s - (1 - RETURN_SHARE) * length, end_s: time_s + RETURN_SHARE * length });
    else if (time_s > end_s + 0.001) this._show({ start_s: time_s - RETURN_SHARE * length, end_s: time_s + (1 - RETURN_SHARE) * length });
    this.dispatchEvent(new CustomEvent("moved"));
  }

  _changed() {
    this.dispatchEvent(new CustomEvent("changed"));
  }

  /** @param {string} problem */
  _fail(problem) {
    this.plays = false;
    this.problem = sentence(problem);
    this._changed();
    this._moved();
  }
}

/** A time in whole milliseconds that is not before it: rounded down, it would name the frame before. @param {number} time_s */
function whole(time_s) {
  return Math.ceil(time_s * 1000 - 0.001) / 1000;
}

/** What the keys of the video do. @param {Playback} playback @returns {Offers} */
export function videoOffers(playback) {
  /** @type {Record<string, () => unknown>} */
  const playing = {
    play: () => playback.toggle(),
    "step-back": () => playback.step(-1),
    "step-on": () => playback.step(1),
    loop: () => playback.toggleLoop(),
    slower: () => playback.changeSpeed(-1),
    faster: () => playback.changeSpeed(1),
  };
  /** @type {Record<string, () => unknown>} */
  const always = {
    back: () => playback.jump(-1),
    on: () => playback.jump(1),
    "far-back": () => playback.jump(-5),
    "far-on": () => playback.jump(5),
    zoom: () => playback.toggleBar(),
    mute: () => playback.toggleMute(),
    captions: () => playback.toggleCaptions(),
    theatre: () => playback.toggleTheatre(),
  };
  return Object.fromEntries(Object.entries({ ...(playback.plays && playing), ...always }).map(([name, act]) => [name, { act }]));
}

/** Shapes of the buttons without words, in a square of 24. */
const SHAPES = {
  sound: "M4 9v6h4l5 4V5L8 9H4zm12-1.5a6 6 0 0 1 0 9M18.5 5a9.5 9.5 0 0 1 0 14",
  muted: "M4 9v6h4l5 4V5L8 9H4zm12 0 5 6m0-6-5 6",
  theatre: "M3 6h18v12H3zM3 15h18",
};

/** @param {{editor: {keys: Keys}, playback: Playback, turns?: Times[], current?: number, onEvidence?: (index: number, interval: Interval) => void}} props */
export function Watch({ editor, playback, turns = [], current = 0, onEvidence }) {
  useTold(playback, "changed");
  const place = useRef(/** @type {any} */ (null));
  playback.turns = turns;
  useEffect(() => place.current.prepend(playback.element), [playback]);
  const { plays, player, sound, problem } = playback;
  /** @param {ActionName} name @param {string} label @param {unknown} text @param {boolean} [pressed] */
  const button = (name, label, text, pressed) => html`<${Act} editor=${editor} name=${name} label=${label} class="second" text=${text} pressed=${pressed} />`;
  const offered = editor.keys.offered.filter(({ video }) => video);
  return html`<section class="watch" aria-label="Video">
    <div id="video-frame" class=${`video-frame${plays ? "" : " silent"}`} ref=${place}>
      <p id="video-problem" class="video-problem">${problem === null ? "Opening the video…" : problem && html`<strong>The video cannot be
        shown.</strong><span>${problem}</span><span class="soft">The dialogue can still be judged.</span>`}</p>
    </div>
    <${TimeBar} editor=${editor} playback=${playback} turns=${turns} current=${current} onEvidence=${onEvidence} />
    <div class="controls">
      <span class="together">
        <${Act} editor=${editor} name="play" text=${player.paused ? "Play" : "Pause"} />
        ${button("step-back", "One frame back", "◂")}
        ${button("step-on", "One frame forward", "▸")}
        <${Shown} playback=${playback} /></span>
      <span class="together">
        ${button("slower", "Slower", "−")}
        <span id="video-speed" class="video-speed">${player.rate}×</span>
        ${button("faster", "Faster", "+")}
        ${button("loop", "Loop the clip", "Loop", player.looping)}</span>
      ${offered.length > 0 && html`<span class="together">${offered.map(({ name, video }) => html`<${Act} editor=${editor} key=${name} name=${name} class="second" text=${video} />`)}</span>`}
      <span class="together">
        ${button("mute", "Sound off", shape(sound.muted ? "muted" : "sound"), sound.muted)}
        ${playback.hasCaptions && button("captions", "Captions", "CC", sound.captions)}
        ${button("theatre", "Large video", shape("theatre"), playback.isTheatre)}</span>
      <span id="video-doing" class="soft small" role="status">${playback.doing}</span>
    </div>
  </section>`;
}

/** @param {keyof typeof SHAPES} name */
function shape(name) {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d=${SHAPES[name]} /></svg>`;
}

/** The shown time. @param {{playback: Playback}} props */
function Shown({ playback }) {
  useTold(playback, "moved", "changed");
  return html`<span id="video-time" class="video-time">${clock(playback.time_s)} / ${clock(playback.duration_s)}</span>`;
}
