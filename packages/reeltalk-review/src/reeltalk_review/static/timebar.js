// @ts-check
/**
 * The bar below the video: scenes, a mark for every turn, the evidence, and the playhead. The edges of
 * the current turn's evidence can be dragged, or moved by keys.
 */

import { clock } from "./elements.js";
import { Act } from "./frame.js";
import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

/** @typedef {"start_s" | "end_s"} Side */

const STEP_S = 1;
const LEAP_S = 10;
/** Turns that are closer than this share of the bar share one mark. */
const NEAR_SHARE = 0.022;

/** Draws a component again whenever a target tells one of these events. @param {EventTarget} target @param {...string} names */
export function useTold(target, ...names) {
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    const hear = () => redraw({});
    for (const name of names) target.addEventListener(name, hear);
    return () => names.forEach((name) => target.removeEventListener(name, hear));
  }, [target]);
}

/** @param {{editor: {keys: Keys}, playback: Playback, turns: Times[], current: number, onEvidence?: (index: number, interval: Interval) => void}} props */
export function TimeBar({ editor, playback, turns, current, onEvidence }) {
  const track = useRef(/** @type {any} */ (null));
  /** @type {[{index: number, side: Side, interval: Interval} | null, (next: any) => void]} The edge that is dragged. */
  const [dragged, setDragged] = useState(/** @type {any} */ (null));
  /** @type {[number | null, (next: number | null) => void]} The time below the pointer. */
  const [hover_s, setHover] = useState(/** @type {number | null} */ (null));
  const { start_s, end_s } = playback.view;
  const length = end_s - start_s;
  /** @param {number} time_s */
  const left = (time_s) => `${Math.min(Math.max((time_s - start_s) / length, 0), 1) * 100}%`;
  /** @param {Interval} part */
  const place = (part) => ({ left: left(part.start_s), right: `${100 - parseFloat(left(part.end_s))}%` });
  /** @param {Interval} part */
  const isSeen = (part) => part.end_s >= start_s && part.start_s <= end_s;
  /** @param {{clientX: number}} event */
  const timeAt = ({ clientX }) => {
    const box = track.current.getBoundingClientRect();
    return start_s + Math.min(Math.max((clientX - box.left) / Math.max(box.width, 1), 0), 1) * length;
  };
  const evidence = (turns[current]?.evidence ?? []).map((interval, index) => (dragged?.index === index ? dragged.interval : interval));

  /** The evidence with one edge at another time, at most at the other edge. @param {number} index @param {Side} side @param {number} time_s */
  const moved = (index, side, time_s) => {
    const { start_s: from, end_s: to } = evidence[index];
    const inside = Math.min(Math.max(time_s, 0), playback.length_s);
    return side === "start_s" ? { start_s: Math.min(inside, to), end_s: to } : { start_s: from, end_s: Math.max(inside, from) };
  };
  /** @param {PointerEvent} event */
  const press = (event) => {
    if (event.button > 0) return;
    track.current.setPointerCapture(event.pointerId);
    const edge = event.target instanceof HTMLElement && event.target.closest(".edge");
    if (edge instanceof HTMLElement) {
      const index = Number(edge.dataset.index);
      edge.focus();
      setDragged({ index, side: edge.dataset.side, interval: evidence[index] });
    } else void playback.seek(timeAt(event));
  };
  /** @param {PointerEvent} event */
  const move = (event) => {
    const time_s = timeAt(event);
    setHover(time_s);
    if (!(event.buttons & 1) || !track.current.hasPointerCapture(event.pointerId)) return;
    if (!dragged) {
      void playback.seek(time_s);
      return;
    }
    const { index, side } = dragged;
    const interval = moved(index, side, playback.snap(time_s));
    setDragged({ index, side, interval });
    void playback.seek(interval[side]);
  };
  const drop = () => {
    const before = dragged && turns[current]?.evidence[dragged.index];
    setDragged(null);
    if (dragged && before && before[dragged.side] !== dragged.interval[dragged.side]) onEvidence?.(dragged.index, dragged.interval);
  };
  /** @param {KeyboardEvent} event @param {number} index @param {Side} side */
  const edgeKey = (event, index, side) => {
    const at_s = evidence[index][side];
    const to_s = moveOf(event, { frame: (frames) => playback.snap(at_s, frames), second: (seconds) => playback.snap(at_s + seconds) });
    if (to_s === null) return;
    const interval = moved(index, side, to_s);
    onEvidence?.(index, interval);
    void playback.seek(interval[side]);
  };

  const scenes = playback.scenes;
  const own = new Set(playback.clips.map(({ id }) => id));
  const hovered = hover_s === null ? null : scenes.find((scene) => scene.start_s <= hover_s && hover_s < scene.end_s);
  return html`<div id="scene-bar" class="scene-bar" role="group" aria-label="Scene bar">
    <div class="track" ref=${track} onPointerDown=${press} onPointerMove=${move} onPointerUp=${drop} onPointerCancel=${() => setDragged(null)}
      onPointerLeave=${() => setHover(null)}>
      ${scenes.map(
        (scene, index) => isSeen(scene) && html`<div key=${`scene ${scene.id}`} class=${`scene ${own.has(scene.id) ? "own" : ""}`} style=${place(scene)}
          ><span>${index + 1}</span></div>`,
      )}
      ${turns.flatMap(({ evidence: parts }, turn) =>
        (turn === current ? evidence : parts).map(
          (part, index) => isSeen(part) && html`<div key=${`evidence ${turn} ${index}`} class=${`evidence ${turn === current ? "current" : ""}`}
            style=${place(part)}></div>`,
        ),
      )}
      ${askedMarks(turns, current, length).map(
        ({ at_s, text, kind, told }) => at_s >= start_s && at_s <= end_s && html`<div key=${`asked ${text}`} title=${told}
          class=${`point ${kind} ${(at_s - start_s) / length > 0.94 ? "last" : ""}`} style=${{ left: left(at_s) }}><span>${text}</span></div>`,
      )}
      <${Position} playback=${playback} left=${left} />
      ${onEvidence &&
      evidence.flatMap((part, index) =>
        /** @type {const} */ ([["start_s", "starts"], ["end_s", "ends"]]).map(
          ([side, verb]) => part[side] >= start_s && part[side] <= end_s && html`<div key=${`edge ${index} ${side}`} class=${`edge ${verb}`} role="slider"
            tabindex="0" data-index=${index} data-side=${side} style=${{ left: left(part[side]) }} aria-label=${`Evidence ${index + 1} of turn ${current + 1} ${verb}`}
            aria-valuemin=${side === "start_s" ? 0 : part.start_s} aria-valuemax=${side === "start_s" ? part.end_s : playback.length_s}
            aria-valuenow=${part[side]} aria-valuetext=${clock(part[side])} onKeyDown=${(/** @type {KeyboardEvent} */ event) => edgeKey(event, index, side)}></div>`,
        ),
      )}
      ${hover_s !== null && html`<div class="preview" style=${{ left: `clamp(5rem, ${left(hover_s)}, 100% - 5rem)` }} aria-hidden="true">
        <span>${clock(dragged ? dragged.interval[dragged.side] : hover_s)}</span>
        ${hovered && html`<span class="caption">${`Scene ${scenes.indexOf(hovered) + 1}${hovered.caption ? `: ${hovered.caption}` : ""}`}</span>`}</div>`}
    </div>
    <div class="bounds"><span>${clock(start_s)}</span>
      <${Act} editor=${editor} name="zoom" class="quiet" text=${playback.isWhole ? "This part" : "Whole video"} />
      <span>${clock(end_s)}</span></div>
    <ul class="unseen">${scenes.map((scene, index) => html`<li key=${scene.id}>${`Scene ${index + 1}, ${clock(scene.start_s)} to ${clock(scene.end_s)}${scene.caption ? `: ${scene.caption}` : ""}`}</li>`)}</ul>
  </div>`;
}

/** The playhead, and the slider that keys and screen readers use. @param {{playback: Playback, left: (time_s: number) => string}} props */
function Position({ playback, left }) {
  useTold(playback, "moved");
  const { time_s, view, length_s } = playback;
  const scene = playback.scenes.findIndex((each) => each.start_s <= time_s && time_s < each.end_s);
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const ends = { Home: view.start_s, End: view.end_s };
    const to_s = ends[/** @type {"Home" | "End"} */ (event.key)] ?? moveOf(event, { frame: (n) => time_s + n * STEP_S, second: (s) => time_s + s * LEAP_S });
    if (to_s === null) return;
    event.preventDefault();
    void playback.seek(Math.min(Math.max(to_s, 0), length_s));
  };
  return html`<div class="bar" role="slider" tabindex="0" aria-label="Position in the video" aria-valuemin="0" aria-valuemax=${length_s}
      aria-valuenow=${time_s.toFixed(2)} aria-valuetext=${`${clock(time_s)}${scene < 0 ? "" : `, scene ${scene + 1}`}`} onKeyDown=${key}></div>
    <div class="playhead" style=${{ left: left(time_s) }}></div>`;
}

/** Where a pressed key moves a slider; null if it moves none. @param {KeyboardEvent} event @param {{frame: (count: number) => number, second: (count: number) => number}} by */
function moveOf(event, by) {
  const { key } = event;
  if (event.altKey || event.ctrlKey || event.metaKey || !/^(Arrow|Page)(Up|Down|Left|Right)$/.test(key)) return null;
  event.preventDefault();
  const direction = /Up|Right/.test(key) ? 1 : -1;
  return key.startsWith("Page") ? by.second(direction) : by.frame(direction);
}

/** Times of questions; those that are near to each other in one mark. @param {Times[]} turns @param {number} current @param {number} length */
function askedMarks(turns, current, length) {
  /** @type {{at_s: number, numbers: number[]}[]} */
  const groups = [];
  turns.forEach(({ asked_at_s }, turn) => {
    if (asked_at_s === null || asked_at_s === undefined) return;
    const group = groups.find(({ at_s }) => Math.abs(at_s - asked_at_s) < length * NEAR_SHARE);
    if (group) group.numbers.push(turn);
    else groups.push({ at_s: asked_at_s, numbers: [turn] });
  });
  return groups.map(({ at_s, numbers }) => ({
    at_s,
    text: numbers.length > 2 ? `${numbers[0] + 1}–${numbers[numbers.length - 1] + 1}` : numbers.map((n) => n + 1).join(","),
    kind: numbers.includes(current) ? "asked current" : "asked",
    told: numbers.map((n) => `turn ${n + 1} is asked at ${clock(turns[n].asked_at_s ?? 0)}`).join("; "),
  }));
}
