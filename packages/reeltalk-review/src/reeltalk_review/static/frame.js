// @ts-check
/**
 * The frame of every screen on which people work: the film beside the text, with a line between them, and the head with
 * the state of saving; buttons of actions, and dialogs.
 */

import { guideline } from "./guideline.js";
import { keep, recall } from "./stores.js";
import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

const STORE = "reeltalk.split";
const LEAST_PERCENT = 25;
const MOST_PERCENT = 75;
const STEP_PERCENT = 2;

/** A button for an action, with its key; disabled while the page does not offer it. `label`: of a button with a sign for a text, which shows no key. @param {{editor: {keys: Keys}, name: ActionName, id?: string, text: any, class?: string, title?: string, label?: string, pressed?: boolean}} props */
export function Act({ editor, name, id = name, text, class: kind = "", label, title = label, pressed }) {
  const key = editor.keys.shown(name);
  return html`<button type="button" id=${id} class=${kind} title=${title} aria-label=${label} disabled=${!editor.keys.offers(name)} aria-keyshortcuts=${key?.aria}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)} onClick=${() => editor.keys.run(name)}>
    ${text}${key && !label && html`<kbd aria-hidden="true">${key.text}</kbd>`}
  </button>`;
}

/** @param {{editor: {keys: Keys}, film: any, name: string, state: string, text: any, children?: any}} props `state` and `text`: of saving. */
export function Frame({ editor, film, name, state, text, children }) {
  return html`<div class="editor">
    ${film}
    <${Splitter} />
    <div class="side">
      <header class="work-head">
        <h1>${name}</h1>
        <p id="save-state" class=${`save-state ${state}`}>
          <span class="state-dot" aria-hidden="true"></span><span class=${state === "saved" || state === "saving" ? "state-text" : ""}>${text}</span>${" "}
          ${/* The link opens a new tab, so this page and its text stay. */ state === "signed-out" && html`<a href="/sign-in" target="_blank" rel="opener">Sign in in a new tab</a>`}
        </p>
        <span class="help">
          ${guideline && html`<${Act} editor=${editor} name="guideline" id="show-guideline" class="quiet" text="Guideline" />`}
          <${Act} editor=${editor} name="keys" id="show-keys" class="quiet" text="Keys" />
        </span>
      </header>
      ${children}
    </div>
  </div>`;
}

/** The line between the film and the text: dragging it, or its arrow keys, gives one of them more room. It stays there. */
export function Splitter() {
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  const [percent, setPercent] = useState(() => Number(recall(STORE)) || 40);
  useLayoutEffect(() => line.current?.parentElement?.style.setProperty("--text", `${percent}%`), [percent]);
  const put = (/** @type {number} */ wanted) => {
    const next = Math.round(Math.min(Math.max(wanted, LEAST_PERCENT), MOST_PERCENT));
    setPercent(next);
    keep(STORE, next);
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

/** A dialog that is open while it is drawn. The element with `autofocus`, or its heading, gets the focus. @param {{id: string, labelled: string, class?: string, onClose: () => void, children?: any}} props */
export function Modal({ id, labelled, class: kind = "", onClose, children }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current?.showModal();
    const first = place.current?.querySelector("[autofocus], h2");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog id=${id} class=${kind} aria-labelledby=${labelled} ref=${place} onCancel=${cancel}>${children}</dialog>`;
}
