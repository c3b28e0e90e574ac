// @ts-check
/** The line between the film and the text: dragging it, or its arrow keys, gives one of them more room. It stays there. */

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

const STORE = "reeltalk.split";
const LEAST_PERCENT = 25;
const MOST_PERCENT = 75;
const STEP_PERCENT = 2;

export function Splitter() {
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  const [percent, setPercent] = useState(() => Number(read()) || 40);
  useLayoutEffect(() => line.current?.parentElement?.style.setProperty("--text", `${percent}%`), [percent]);
  const put = (/** @type {number} */ wanted) => {
    const next = Math.round(Math.min(Math.max(wanted, LEAST_PERCENT), MOST_PERCENT));
    setPercent(next);
    try {
      localStorage.setItem(STORE, String(next));
    } catch {
      // It stays until the page is closed.
    }
  };
  const move = (/** @type {PointerEvent} */ { clientX, pointerId }) => {
    const { current } = line;
    const box = current?.parentElement?.getBoundingClientRect();
    if (box && current?.hasPointerCapture(pointerId)) put(((box.right - clientX) / box.width) * 100);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowLeft: STEP_PERCENT, ArrowRight: -STEP_PERCENT })[event.key];
    if (!step) return;
    event.preventDefault();
    put(percent + step);
  };
  return html`<div class="splitter" ref=${line} role="separator" tabindex="0" aria-orientation="vertical" aria-label="Width of the text" aria-valuemin=${LEAST_PERCENT}
    aria-valuemax=${MOST_PERCENT} aria-valuenow=${percent} onPointerDown=${(/** @type {PointerEvent} */ event) => line.current?.setPointerCapture(event.pointerId)} onPointerMove=${move} onKeyDown=${key}></div>`;
}

function read() {
  try {
    return localStorage.getItem(STORE);
  } catch {
    return null;
  }
}
