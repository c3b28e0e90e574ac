// @ts-check
/**
 * Converts between the frames of a video and their times.
 *
 * There are two clocks. On the video's clock the first frame is at 0, as in the benchmark. The browser's `currentTime` may
 * start at another value; names of values on that clock begin with `clock`.
 */

/** Times closer than this are equal: browsers count whole microseconds. */
const HAIR_S = 2e-6;
/** Assumed duration of a frame if there is no next frame. */
const ONE_FRAME_S = 0.04;

export class FrameTimes {
  /** @param {number[]} pts_s Presentation times of all frames on the browser's clock, ascending. */
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

  /** The nearest number of an existing frame. @param {number} n */
  inside(n) {
    return Math.min(Math.max(Math.round(n) || 0, 0), this.count - 1);
  }

  /** The time at which a frame appears, in seconds from the first frame. @param {number} n */
  timeOf(n) {
    return this.count ? this.pts_s[this.inside(n)] - this.clockStart : 0;
  }

  /** The frame on the screen at a time. @param {number} time_s Seconds from the first frame. */
  frameAt(time_s) {
    return this.count ? this.at(time_s + this.clockStart) : 0;
  }

  /** The last frame whose time is not after the moment. @param {number} clock_s */
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

  /** The frame whose time is nearest. @param {number} clock_s A frame's time as the browser reports it, rounded by containers and browsers. */
  nearest(clock_s) {
    const frame = this.at(clock_s);
    if (frame + 1 === this.count) return frame;
    return this.pts_s[frame + 1] - clock_s < clock_s - this.pts_s[frame] ? frame + 1 : frame;
  }

  /** The end of a frame, on the browser's clock. @param {number} n @param {number} duration The browser's duration of the video; may be NaN or infinite. */
  clockEnd(n, duration) {
    if (n + 1 < this.count) return this.pts_s[n + 1];
    if (Number.isFinite(duration) && duration > this.pts_s[n]) return duration;
    return this.pts_s[n] + (n > 0 ? this.pts_s[n] - this.pts_s[n - 1] : ONE_FRAME_S);
  }

  /** First and last frame of an interval; at least the frame on the screen at its start. @param {Interval} interval */
  bounds({ start_s, end_s }) {
    const first = this.frameAt(start_s);
    const after = this.frameAt(end_s);
    const last = this.timeOf(after) >= end_s - HAIR_S ? after - 1 : after;
    return [first, Math.max(first, last)];
  }
}
