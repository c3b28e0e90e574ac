// @ts-check
/**
 * Keys of a page, from the table of actions; `?` opens the list of keys.
 *
 *     const keys = new Keys(() => ({ accept: { act: () => …, button: "Accept" }, note: { act: () => … } }));
 *
 * The page says what it offers at the moment, by the names of `actions.js`. A key is written `a`, `Shift+A`, `Ctrl+Enter`
 * (also Command), `Alt+ArrowLeft`, `?`. In a field of a form, a check box too, only Escape and keys with Ctrl or Alt work;
 * hold Alt (on a Mac: Control) to use the others there. Keys work wherever the focus is, since the page handles them first.
 */

import { ACTIONS } from "./actions.js";
import { keep, recall } from "./stores.js";
import { html, render } from "./vendor/preact.js";

/** Keeps that somebody uses keys with Ctrl or Alt only. */
const STORE = "reeltalk.keys-off";
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Fn", "Dead", "Process"]);
/** @type {Set<ActionName>} */
const TO_FIELDS = new Set(["question", "answer", "labels", "methods", "note"]);
/** Elements that handle these keys themselves. */
const OWN_KEYS = "button, a[href], summary, [role=slider], [role=separator]";

export class Keys {
  /** @param {() => Offers} offers What the page offers at the moment, by names of actions. @param {() => void} [changed] Other keys work. */
  constructor(offers, changed = () => undefined) {
    this._offers = offers;
    this._changed = changed;
    /** True if only keys with Ctrl or Alt work. */
    this.isOff = recall(STORE) === true;
    /** @type {[ActionName, string][]} Actions that wait until the page has gone on, with their keys. */
    this._waiting = [];
    this._isHeld = false;
    /** @type {Offers | null} */
    this._built = null;
    this.dialog = document.createElement("dialog");
    this.dialog.className = "keys-page";
    this.dialog.setAttribute("aria-labelledby", "keys-title");
    document.body.append(this.dialog);
    window.addEventListener("keydown", (event) => this._hear(event), { capture: true });
    // A button that was clicked keeps the focus and would get Space and Enter, and a box that was ticked would keep the keys
    // from the page, so both are blurred.
    let byPointer = false;
    for (const name of ["pointerdown", "keydown"]) {
      document.addEventListener(name, () => (byPointer = name === "pointerdown"), { capture: true });
    }
    document.addEventListener("click", ({ target }) => {
      const pressed = target instanceof Element ? target.closest("button, summary, [type=checkbox], [type=radio]") : null;
      if (byPointer && pressed instanceof HTMLElement && pressed === document.activeElement && !pressed.closest("dialog")) pressed.blur();
    });
  }

  /** What the page offers, built once for all buttons of a drawing. */
  get _now() {
    if (!this._built) {
      this._built = this._offers();
      queueMicrotask(() => (this._built = null));
    }
    return this._built;
  }

  /** What the page offers at the moment, in the order of the table. @returns {(Action & Offer)[]} */
  get offered() {
    const offers = this._now;
    return ACTIONS.flatMap((action) => {
      const offer = offers[action.name];
      return offer ? [{ ...action, ...offer }] : [];
    });
  }

  /** True if the page offers an action at the moment. @param {ActionName} name */
  offers(name) {
    return this._now[name] !== undefined;
  }

  /** Does an action if the page offers it, after those that wait. @param {ActionName} name @param {string} [key] */
  run(name, key = "") {
    // What follows a key that leads to a field was meant for the field.
    if (this._isHeld && this._waiting.some(([each]) => TO_FIELDS.has(each))) return;
    if (this._isHeld) this._waiting.push([name, key]);
    else this._offers()[name]?.act(key);
  }

  /** Lets actions wait until the page has gone on; false drops those that wait. @param {Promise<boolean>} going */
  async hold(going) {
    this._isHeld = true;
    const isOn = await going;
    this._isHeld = false;
    if (!isOn) this._waiting = [];
    for (let next = this._waiting.shift(); next; next = this._isHeld ? undefined : this._waiting.shift()) this.run(...next);
  }

  /** The first key of an action, for its button; null if it has none. @param {ActionName} name @returns {{text: string, aria: string} | null} */
  shown(name) {
    const action = ACTIONS.find((each) => each.name === name);
    const key = action && !action.range && action.keys[0];
    if (!key || (this.isOff && !/^(Ctrl|Alt)\+/.test(key))) return null;
    return { text: spell(key).replace("Shift+", "⇧"), aria: key.replace("Ctrl", IS_MAC ? "Meta" : "Control") };
  }

  /** Opens the list of keys. */
  open() {
    this._draw();
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {KeyboardEvent} event */
  _hear(event) {
    if (event.isComposing || MODIFIERS.has(event.key)) return;
    if (document.querySelector("dialog[open]")) return;
    const pressed = spelling(event);
    const typing = isTyping(event.target);
    const action = this._actionFor(pressed, typing, event);
    if (!action || (event.repeat && !action.repeats)) return;
    event.preventDefault();
    event.stopPropagation();
    this.run(action.name, pressed.slice(pressed.lastIndexOf("+", pressed.length - 2) + 1));
  }

  /** @param {string} pressed @param {boolean} typing @param {KeyboardEvent} event */
  _actionFor(pressed, typing, event) {
    const hasModifier = /^(Ctrl|Alt)\+/.test(pressed);
    if (typing) {
      const held = IS_MAC ? event.ctrlKey && !event.metaKey : event.altKey && !event.ctrlKey;
      const found = hasModifier || pressed === "Escape" ? this._bound(pressed, (action) => action.typing !== false) : null;
      return found ?? (held && !this.isOff ? this._bound(pressed.replace(IS_MAC ? "Ctrl+" : "Alt+", "")) : null);
    }
    if (this.isOff && !hasModifier && pressed !== "Escape" && pressed !== "?") return null;
    const own = /^(Enter| |Space|Arrow\w+|Home|End|Page\w+)$/.test(pressed);
    if (own && event.target instanceof Element && event.target.matches(OWN_KEYS)) return null;
    return this._bound(pressed);
  }

  /** @param {string} key @param {(action: Action) => boolean} [also] */
  _bound(key, also = () => true) {
    return this.offered.find((each) => each.keys.includes(key) && also(each)) ?? null;
  }

  _draw() {
    const { offered } = this;
    const groups = [...new Set(offered.map(({ group }) => group))];
    const turn = (/** @type {any} */ { target }) => {
      this.isOff = target.checked;
      keep(STORE, this.isOff);
      this._changed();
    };
    const row = (/** @type {Action} */ { name, label, range, keys }) => html`<tr key=${name}>
      <th scope="row">${label}</th>
      <td>${(range ? [range] : keys.map(spell)).map((key) => html`<kbd>${key}</kbd>`)}</td>
    </tr>`;
    render(
      html`<div class="dialog-head"><h2 id="keys-title">Keys</h2><button type="button" class="quiet" onClick=${() => this.dialog.close()}>Close</button></div>
        <p class="small soft">While you type, hold ${IS_MAC ? "Control" : "Alt"} with a key, or press Esc first.</p>
        <div class="key-groups">${groups.map((group) => html`<table key=${group}>
          <caption>${group}</caption>
          <tbody>${offered.filter((action) => action.group === group).map(row)}</tbody>
        </table>`)}</div>
        <label for="keys-off"><input type="checkbox" id="keys-off" checked=${this.isOff} onChange=${turn} /> Only keys with Ctrl or Alt</label>`,
      this.dialog,
    );
  }
}

/** The name of a pressed key, as `Shift+A`. @param {KeyboardEvent} event */
export function spelling(event) {
  let { key } = event;
  // On keyboards of other scripts the position of the key counts.
  if (key.length === 1 && key.charCodeAt(0) > 126 && /^Key[A-Z]$/.test(event.code)) key = event.code.slice(3).toLowerCase();
  // AltGr types characters; some systems report it as Ctrl and Alt.
  const writes = event.getModifierState("AltGraph");
  const parts = [];
  if ((event.ctrlKey || event.metaKey) && !writes) parts.push("Ctrl");
  if (event.altKey && !writes) parts.push("Alt");
  const isSign = key.length === 1 && key.toLowerCase() === key.toUpperCase() && key !== " ";
  if (event.shiftKey && !isSign) parts.push("Shift");
  parts.push(key === " " ? "Space" : key.length === 1 ? (event.shiftKey ? key.toUpperCase() : key.toLowerCase()) : key);
  return parts.join("+");
}

/** A key as text for people. @param {string} key */
function spell(key) {
  const said = key
    .replace("Escape", "Esc")
    .replace("ArrowLeft", "←")
    .replace("ArrowRight", "→")
    .replace("ArrowUp", "↑")
    .replace("ArrowDown", "↓");
  const named = IS_MAC ? said.replace("Ctrl+", "⌘").replace("Alt+", "⌥").replace("Shift+", "⇧") : said;
  return named.replace(/(?<![^+])[a-z]$/, (letter) => letter.toUpperCase());
}

/** True in every field of a form: a letter there may be meant for the field. @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
}
