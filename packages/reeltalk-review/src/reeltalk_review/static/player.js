// @ts-check
/**
 * Plays a video by its frames: every seek ends on the requested frame, and a step is exactly one frame.
 *
 *     const player = new Player(document.querySelector("video"));
 *     const { pts_s } = await (await fetch("/media/SHA/frames")).json();
 *     await player.load("/media/SHA", pts_s);
 *     await player.seek(12.5);                      // the frame that is on the screen at 12.5 s
 *     await player.step(-1);                        // one frame back, also during an earlier seek
 *     player.playIntervals([{ start_s: 3, end_s: 8 }], { loop: true });
 *
 * Times are seconds of the video as the benchmark counts them: 0 is the first frame. The browser's own clock may start at
 * another value (`pts_s[0]`); no other file needs to know it. Intervals are half-open, `[start_s, end_s)`.
 *
 * Events (CustomEvent):
 *
 *     frame       {frame, time_s}               another frame is shown
 *     state       {paused, rate}                playback started, stopped, or changed its speed
 *     interval    {index, interval}             a part of the list begins
 *     intervals   {intervals, loop}             the list changed; a seek to a time outside of it clears it
 *     end         {}                            the list or the video ended
 *     problem     {message}                     the video failed; the message is for people
 */

import { FrameTimes } from "./frame_times.js";

/** Longest wait for a frame after its seek. A paused video shows the frame; a playing one may skip it. */
const SHOWN_MS = { paused: 3000, playing: 400 };

export class Player extends EventTarget {
  /** @param {HTMLVideoElement} video */
  constructor(video) {
    super();
    /** The video element. The page draws the controls. */
    this.video = video;
    this._times = new FrameTimes([]);
    this._frame = 0;
    /** @type {number | null} Frame of the last event. */
    this._told = null;
    /** @type {Interval[]} */
    this._intervals = [];
    this._loop = false;
    this._index = 0;
    /** @type {number | null} Frame that the last seek requested, until it is shown. */
    this._wanted = null;
    /** @type {number | null} Frame on which a seek ended, until the video plays again. Another seek to it is not needed. */
    this._still = null;
    /** @type {Promise<number> | null} */
    this._chase = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._timer = undefined;
    /** @type {number | null} The browser's time of the frame that it showed last. */
    this._shownClock_s = null;
    /** @type {Set<(clock_s: number) => void>} Called with the time of each shown frame. */
    this._waiting = new Set();
    for (const name of ["play", "pause", "ratechange"]) {
      video.addEventListener(name, () => this._tell("state", { paused: this.paused, rate: this.rate }));
    }
    video.addEventListener("timeupdate", () => this._look(video.currentTime, false));
    video.addEventListener("play", () => (this._still = null));
    video.addEventListener("pause", () => clearTimeout(this._timer));
    video.addEventListener("ended", () => this._ended());
    video.addEventListener("error", () => {
      if (this.frames) this._tell("problem", { message: problemOf(video) });
    });
    this._listen();
  }

  /**
   * Opens a video.
   * @param {string} src
   * @param {number[]} pts_s Presentation times of all frames as the browser counts them, ascending.
   * @returns {Promise<void>} Resolves once the first frame is shown.
   */
  async load(src, pts_s) {
    if (!pts_s.length) throw new Error("The times of this video's frames are not known.");
    const { video } = this;
    video.preload = "auto";
    video.src = src;
    await new Promise((resolve, reject) => {
      video.addEventListener("loadeddata", resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(problemOf(video))), { once: true });
      video.load();
    });
    this._times = new FrameTimes(pts_s);
    await this.seekFrame(0);
  }

  /** Number of frames of the video. */
  get frames() {
    return this._times.count;
  }

  /** Number of the frame on the screen, from 0; during a seek, of the requested frame. */
  get frame() {
    return this._wanted ?? this._frame;
  }

  /** Time of the frame on the screen, in seconds from the first frame. */
  get time_s() {
    return this.timeOf(this.frame);
  }

  /** End of the last frame, in seconds from the first frame. */
  get duration_s() {
    if (!this.frames) return 0;
    return this._times.clockEnd(this.frames - 1, this.video.duration) - this._times.clockStart;
  }

  get paused() {
    return this.video.paused;
  }

  get rate() {
    return this.video.playbackRate;
  }

  set rate(value) {
    this.video.playbackRate = value;
  }

  /** The parts that are played; empty if the whole video is played. */
  get intervals() {
    return this._intervals;
  }

  get looping() {
    return this._loop;
  }

  /** The time at which a frame appears. @param {number} n */
  timeOf(n) {
    return this._times.timeOf(n);
  }

  /** Number of the frame that is on the screen at a time. @param {number} time_s */
  frameAt(time_s) {
    return this._times.frameAt(time_s);
  }

  /**
   * Goes to the frame that is on the screen at a time.
   * @param {number} time_s Seconds from the first frame; a time before or after the video gives its first or last frame.
   * @returns {Promise<number>} The frame that is shown: the one of the latest call, if there were others meanwhile.
   */
  seek(time_s) {
    return this.seekFrame(this.frameAt(time_s));
  }

  /** Goes to a frame. @param {number} n From 0. @returns {Promise<number>} As `seek`. */
  seekFrame(n) {
    if (!this.frames) return Promise.resolve(0);
    const frame = this._times.inside(n);
    this._leave(frame);
    return this._go(frame);
  }

  /** Pauses and moves some frames forward or backward, counted from the frame that was requested last. @param {number} n */
  step(n) {
    this.pause();
    return this.seekFrame(this.frame + n);
  }

  /** Plays; from the start if the end was reached. */
  async play() {
    if (!this.frames) return;
    if (!this._intervals.length) {
      if (this.video.ended || this.frame === this.frames - 1) await this._go(0);
    } else if (!this._holds(this._index, this.frame) || this._isLast(this._index, this.frame)) {
      await this._begin(this._isLast(this._index, this.frame) ? this._next() ?? 0 : this._index);
    }
    await this._start();
  }

  pause() {
    this.video.pause();
  }

  toggle() {
    if (!this.paused) return Promise.resolve(this.pause());
    return this.play();
  }

  /**
   * Plays parts of the video one after the other, and stops on the last frame of the last one.
   * @param {Interval[]} intervals In seconds from the first frame; parts outside the video are cut off.
   * @param {{loop?: boolean, play?: boolean}} [options] `loop`: in a loop; `play`: start now (the default).
   */
  async playIntervals(intervals, { loop = false, play = true } = {}) {
    const end = this.duration_s;
    this._intervals = intervals
      .map(({ start_s, end_s }) => ({ start_s: Math.max(start_s, 0), end_s: Math.min(end_s, end) }))
      .filter(({ start_s, end_s }) => end_s > start_s);
    this._loop = loop && this._intervals.length > 0;
    this._index = 0;
    clearTimeout(this._timer);
    this._tell("intervals", { intervals: this._intervals, loop: this._loop });
    if (!this._intervals.length) return;
    await this._begin(0);
    if (play) await this._start();
  }

  /** Removes the intervals. The video plays on. */
  clearIntervals() {
    clearTimeout(this._timer);
    if (!this._intervals.length) return;
    this._intervals = [];
    this._loop = false;
    this._index = 0;
    this._tell("intervals", { intervals: [], loop: false });
  }

  // ---- seeking -----------------------------------------------------------------------------------------------------

  /** @param {number} frame */
  _go(frame) {
    clearTimeout(this._timer);
    this._wanted = frame;
    this._chase ??= this._pursue().finally(() => {
      this._chase = null;
    });
    return this._chase;
  }

  /** Runs one seek at a time. A new request replaces an earlier one that has not begun. */
  async _pursue() {
    while (this._wanted !== null) {
      const frame = this._wanted;
      if (!(await this._jump(frame))) {
        this._wanted = null;
        break;
      }
      if (this._wanted === frame) this._wanted = null;
      this._show(frame);
    }
    return this._frame;
  }

  /** @param {number} frame @returns {Promise<boolean>} False if the video failed. */
  async _jump(frame) {
    const { video } = this;
    if (this._still === frame) return true;
    /** @type {() => void} */
    let stop = () => {};
    const shown = new Promise((resolve) => {
      /** @param {number} clock_s */
      const see = (clock_s) => {
        if (this._times.nearest(clock_s) === frame) resolve(true);
      };
      if (this._shownClock_s !== null) see(this._shownClock_s);
      this._waiting.add(see);
      stop = () => this._waiting.delete(see);
    });
    await new Promise((resolve) => {
      const done = () => {
        for (const name of ["seeked", "error"]) video.removeEventListener(name, done);
        resolve(undefined);
      };
      for (const name of ["seeked", "error"]) video.addEventListener(name, done);
      // The middle of the frame is inside it, however a browser rounds.
      this._still = null;
      video.currentTime = (this._times.pts_s[frame] + this._times.clockEnd(frame, video.duration)) / 2;
    });
    if (!video.error && !document.hidden) {
      const longest_ms = video.paused ? SHOWN_MS.paused : SHOWN_MS.playing;
      await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, longest_ms))]);
    }
    stop();
    if (!video.error && video.paused) this._still = frame;
    return !video.error;
  }

  // ---- what is on the screen ---------------------------------------------------------------------------------------

  _listen() {
    const { video } = this;
    /** @type {VideoFrameRequestCallback} */
    const hear = (_, { mediaTime }) => {
      video.requestVideoFrameCallback(hear);
      this._shownClock_s = mediaTime;
      for (const see of this._waiting) see(mediaTime);
      this._look(mediaTime, true);
    };
    video.requestVideoFrameCallback(hear);
  }

  /** @param {number} clock_s @param {boolean} own True for a frame's own time, false for any moment. */
  _look(clock_s, own) {
    if (!this.frames || this._wanted !== null || this.video.seeking) return;
    const frame = own ? this._times.nearest(clock_s) : this._times.at(clock_s);
    if (!this.video.paused) this._watch(frame, clock_s);
    // The clock runs ahead of the screen, so it counts only where no frame is told.
    if (this._wanted === null && (own || document.hidden)) this._show(frame);
  }

  /** @param {number} frame */
  _show(frame) {
    if (frame === this._frame && this._told === frame) return;
    this._frame = frame;
    this._told = frame;
    this._tell("frame", { frame, time_s: this.timeOf(frame) });
  }

  // ---- parts -------------------------------------------------------------------------------------------------------

  /** @param {number} index @param {number} frame */
  _holds(index, frame) {
    const [first, last] = this._bounds(index);
    return first <= frame && frame <= last;
  }

  /** @param {number} index @param {number} frame */
  _isLast(index, frame) {
    return frame === this._bounds(index)[1];
  }

  /** @param {number} index First and last frame of a part. */
  _bounds(index) {
    return this._times.bounds(this._intervals[index]);
  }

  _next() {
    if (this._index + 1 < this._intervals.length) return this._index + 1;
    return this._loop ? 0 : null;
  }

  /** @param {number} frame */
  _leave(frame) {
    if (!this._intervals.length) return;
    const index = this._holds(this._index, frame)
      ? this._index
      : this._intervals.findIndex((_, each) => this._holds(each, frame));
    if (index < 0) this.clearIntervals();
    else this._index = index;
  }

  /** @param {number} index */
  async _begin(index) {
    this._index = index;
    this._tell("interval", { index, interval: this._intervals[index] });
    await this._go(this._bounds(index)[0]);
  }

  /** @param {number} frame @param {number} clock_s */
  _watch(frame, clock_s) {
    if (!this._intervals.length) return;
    const [, last] = this._bounds(this._index);
    if (frame > last) this._passed();
    else if (frame === last) {
      clearTimeout(this._timer);
      const left_s = this._times.clockStart + this._intervals[this._index].end_s - clock_s;
      this._timer = setTimeout(() => this._passed(), Math.max(0, (left_s / this.rate) * 1000));
    }
  }

  _passed() {
    clearTimeout(this._timer);
    if (!this._intervals.length || this.video.paused || this._wanted !== null) return;
    const next = this._next();
    if (next !== null) {
      void this._begin(next);
      return;
    }
    this.video.pause();
    void this._go(this._bounds(this._index)[1]);
    this._tell("end", {});
  }

  _ended() {
    const next = this._intervals.length ? this._next() : null;
    if (next === null) {
      this._tell("end", {});
      return;
    }
    void this._begin(next).then(() => this._start());
  }

  async _start() {
    try {
      await this.video.play();
    } catch (error) {
      // A pause before the first frame rejects the promise. That is no problem.
      if (/** @type {DOMException} */ (error).name !== "AbortError") {
        this._tell("problem", { message: "The browser does not let the video play. Press play again." });
      }
    }
  }

  /** @param {string} name @param {object} detail */
  _tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** @param {HTMLVideoElement} video */
function problemOf(video) {
  const words = [
    "The video stopped working.",
    "Loading the video was stopped.",
    "The video could not be loaded: the connection was lost. Reload the page.",
    "The video is damaged from here on and cannot be played.",
    "The browser cannot play this video.",
  ];
  return words[video.error?.code ?? 0] ?? words[0];
}
