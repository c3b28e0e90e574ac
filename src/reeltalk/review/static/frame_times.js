// @ts-check
/**
 * Times of a video's frames: from frames to times and back.
 *
 * Two clocks: the video's, on which the first frame is at 0, as in the benchmark; and the browser's `currentTime`, which
 * may start elsewhere. Names of values on the browser's clock begin with `clock`.
 */

/** @typedef {{start_s: number, end_s: number}} Interval */

/** Times closer than this are equal: browsers count whole microseconds. */
const HAIR_S = 2e-6;
/** Assumed duration of a frame if there is no next frame. */
const ONE_FRAME_S = 0.04;

export class FrameTimes {
  /** @param {number[]} pts_s Presentation times of all frames on the browser's clock, rising. */
  constructor(pts_s) {
    this.pts_s = pts_s;
  }

  get count() {
    return this.pts_s.length;
  }

  /** The first frame's time on the browser's clock. */
  get clockStart() {
    return this.pts_s[0] ?? 0;
  }

  /** @param {number} n The nearest number of a frame that there is. */
  inside(n) {
    return Math.min(Math.max(Math.round(n) || 0, 0), this.count - 1);
  }

  /** @param {number} n When a frame appears, in seconds from the first. */
  timeOf(n) {
    return this.count ? this.pts_s[this.inside(n)] - this.clockStart : 0;
  }

  /** @param {number} time_s The frame on the screen at a time, in seconds from the first frame. */
  frameAt(time_s) {
    return this.count ? this.at(time_s + this.clockStart) : 0;
  }

  /** @param {number} clock_s The last frame whose time is not after the moment. */
  at(clock_s) {
    let low = 0;
    let high = this.count;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.pts_s[middle] <= clock_s + HAIR_S) low = middle;
      else high = middle;
    }
    return low;
  }

  /** @param {number} clock_s A frame's own time as the browser tells it, which containers and browsers round. */
  nearest(clock_s) {
    const frame = this.at(clock_s);
    if (frame + 1 === this.count) return frame;
    return this.pts_s[frame + 1] - clock_s < clock_s - this.pts_s[frame] ? frame + 1 : frame;
  }

  /**
   * When a frame ends, on the browser's clock.
   * @param {number} n
   * @param {number} duration The browser's for the whole video; may be NaN or infinite.
   */
  clockEnd(n, duration) {
    if (n + 1 < this.count) return this.pts_s[n + 1];
    if (Number.isFinite(duration) && duration > this.pts_s[n]) return duration;
    return this.pts_s[n] + (n > 0 ? this.pts_s[n] - this.pts_s[n - 1] : ONE_FRAME_S);
  }

  /**
   * First and last frame of an interval; at least the frame on the screen at its start.
   * @param {Interval} interval
   */
  bounds({ start_s, end_s }) {
    const first = this.frameAt(start_s);
    const after = this.frameAt(end_s);
    const last = this.timeOf(after) >= end_s - HAIR_S ? after - 1 : after;
    return [first, Math.max(first, last)];
  }
}
