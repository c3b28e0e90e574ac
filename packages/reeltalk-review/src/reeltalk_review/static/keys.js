// @ts-check
/**
 * Keys of a page, from the table of actions: people can change which key does what, and `?` opens the list of keys.
 *
 *     const keys = new Keys(() => ({ accept: { act: () => …, button: "Accept" }, note: { act: () => … } }));
 *
 * The page says what it offers at the moment, by the names of `actions.js`. A key is written `a`, `Shift+A`, `Ctrl+Enter`
 * (also Command), `Alt+ArrowLeft`, `?`. In a field of a form, a check box too, only Escape and keys with Ctrl or Alt work;
 * hold Alt (on a Mac: Control) to use the others there. Keys work wherever the focus is, since the page handles them first.
 */

import { ACTIONS } from "./actions.js";
import { html, render } from "./vendor/preact.js";

/** @typedef {import("./actions.js").Action} Action */
/**
 * @typedef {object} Offer What an action does on a page.
 * @property {(key: string) => void} act Called with the pressed key.
 * @property {string} [button] Its text in the decision bar.
 * @property {boolean} [first] Its button is filled.
 * @property {string} [video] Its text below the video.
 * @typedef {Partial<Record<import("./actions.js").ActionName, Offer>>} Offers
 */

const STORE = "reeltalk.keys";
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Fn", "Dead", "Process"]);
/** @type {Set<import("./actions.js").ActionName>} */
const TO_FIELDS = new Set(["question", "answer", "labels", "methods", "note"]);
/** Elements that handle these keys themselves. */
const OWN_KEYS = "button, a[href], summary, [role=slider], [role=separator]";

export class Keys {
  /**
   * @param {() => Offers} offers What the page offers at the moment, by names of actions.
   * @param {() => void} [changed] A key was changed.
   */
  constructor(offers, changed = () => undefined) {
    this._offers = offers;
    this._changed = changed;
    /** @type {{changed: Record<string, string[]>, off: boolean}} */
    this._own = { changed: {}, off: false, ...readOwn() };
    /** @type {Action | null} The action that waits for a new key. */
    this._asking = null;
    /** @type {[import("./actions.js").ActionName, string][]} Actions that wait until the page has gone on, with their keys. */
    this._waiting = [];
    this._isHeld = false;
    this.dialog = document.createElement("dialog");
    this.dialog.className = "keys-page";
    this.dialog.setAttribute("aria-labelledby", "keys-title");
    document.body.append(this.dialog);
    this.dialog.addEventListener("close", () => {
      this._asking = null;
    });
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
    this.label();
  }

  /** The current keys of an action. @param {Action} action */
  keysOf(action) {
    return this._own.changed[action.name] ?? action.keys;
  }

  /** What the page offers at the moment, in the order of the table. @returns {(Action & Offer)[]} */
  get offered() {
    const offers = this._offers();
    return ACTIONS.flatMap((action) => {
      const offer = offers[action.name];
      return offer ? [{ ...action, ...offer }] : [];
    });
  }

  /** Does an action if the page offers it, after those that wait. @param {import("./actions.js").ActionName} name @param {string} [key] */
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

  /** The first key of an action, for its button; null if it has none. @param {string} name @returns {{text: string, aria: string} | null} */
  shown(name) {
    const action = ACTIONS.find((each) => each.name === name);
    const key = action && !action.range && this.keysOf(action)[0];
    if (!key || this._own.off) return null;
    return { text: spell(key).replace("Shift+", "⇧"), aria: key.replace("Ctrl", IS_MAC ? "Meta" : "Control") };
  }

  /** Writes the key into every element with `data-key`, the name of an action. */
  label() {
    for (const place of document.querySelectorAll("[data-key]")) {
      const key = this.shown(place.getAttribute("data-key") ?? "");
      let shown = place.querySelector("kbd");
      if (!key) shown?.remove();
      else {
        if (!shown && !place.hasAttribute("data-quiet")) {
          shown = place.appendChild(document.createElement("kbd"));
          shown.setAttribute("aria-hidden", "true");
        }
        if (shown) shown.textContent = key.text;
        place.setAttribute("aria-keyshortcuts", key.aria);
      }
    }
  }

  /** Opens the list of keys. */
  open() {
    this._draw();
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {KeyboardEvent} event */
  _hear(event) {
    if (event.isComposing || MODIFIERS.has(event.key)) return;
    if (this._asking) {
      this._take(event);
      return;
    }
    const open = document.querySelector("dialog[open]");
    if (open) return;
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
      return found ?? (held && !this._own.off ? this._bound(pressed.replace(IS_MAC ? "Ctrl+" : "Alt+", "")) : null);
    }
    if (this._own.off && !hasModifier && pressed !== "Escape" && pressed !== "?") return null;
    const own = /^(Enter| |Space|Arrow\w+|Home|End|Page\w+)$/.test(pressed);
    if (own && event.target instanceof Element && event.target.matches(OWN_KEYS)) return null;
    return this._bound(pressed);
  }

  /** @param {string} key @param {(action: Action) => boolean} [also] */
  _bound(key, also = () => true) {
    return this.offered.find((each) => this.keysOf(each).includes(key) && also(each)) ?? null;
  }

  /** Gives the pressed key to the action that waits for one. @param {KeyboardEvent} event */
  _take(event) {
    event.preventDefault();
    event.stopPropagation();
    const asked = /** @type {Action} */ (this._asking);
    const action = /** @type {Action} */ (ACTIONS.find(({ name }) => name === asked.name));
    this._asking = null;
    const key = spelling(event);
    let said = `${action.label}: ${spell(key)}`;
    if (key === "Escape") said = "Nothing was changed.";
    else {
      const other = ACTIONS.find((each) => each !== action && this.keysOf(each).includes(key));
      if (other) said = `${spell(key)} is already the key of “${other.label}”. Change that one first.`;
      else {
        this._own.changed[action.name] = [key];
        this._keep();
      }
    }
    this._draw(said, action.name);
  }

  _keep() {
    try {
      localStorage.setItem(STORE, JSON.stringify(this._own));
    } catch {
      // The keys are kept until the page is closed.
    }
    this.label();
    this._changed();
  }

  /** @param {string} [said] @param {string} [focused] Name of the action whose button gets the focus. */
  _draw(said = "", focused) {
    const { offered } = this;
    const groups = [...new Set(offered.map(({ group }) => group))];
    const ask = (/** @type {Action} */ action) => {
      this._asking = action;
      this._draw();
    };
    const own = (/** @type {Partial<typeof this._own>} */ change, told = "") => {
      Object.assign(this._own, change);
      this._keep();
      this._draw(told);
    };
    const row = (/** @type {Action} */ action) => html`<tr key=${action.name}>
      <th scope="row">${action.label}</th>
      <td>${(action.range ? [action.range] : this.keysOf(action).map(spell)).map((key) => html`<kbd>${key}</kbd>`)}</td>
      <td>${!action.range && html`<button type="button" class="quiet" data-changes=${action.name} aria-label=${`Change the key of: ${action.label}`}
        onClick=${() => ask(action)}>${this._asking?.name === action.name ? "Press a key" : "Change"}</button>`}</td>
    </tr>`;
    render(
      html`<div class="dialog-head"><h2 id="keys-title">Keys</h2><button type="button" class="quiet" onClick=${() => this.dialog.close()}>Close</button></div>
        <p class="small soft">While you type, hold ${IS_MAC ? "Control" : "Alt"} with a key, or press Esc first.</p>
        <p role="status" class="small">${said}</p>
        <div class="key-groups">${groups.map((group) => html`<table key=${group}>
          <caption>${group}</caption>
          <tbody>${offered.filter((action) => action.group === group).map(row)}</tbody>
        </table>`)}</div>
        <p class="key-options">
          <label for="keys-off"><input type="checkbox" id="keys-off" checked=${this._own.off} onChange=${(/** @type {any} */ { target }) => own({ off: target.checked })} /> Only keys with Ctrl or Alt</label>
          <button type="button" class="quiet" onClick=${() => own({ changed: {}, off: false }, "All keys have their default again.")}>Reset all keys</button>
        </p>`,
      this.dialog,
    );
    /** @type {HTMLElement | null} */ (this.dialog.querySelector(`[data-changes="${focused}"]`))?.focus();
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

function readOwn() {
  try {
    const found = JSON.parse(localStorage.getItem(STORE) ?? "{}");
    const changed = Object.entries(found.changed ?? {}).filter(
      ([, keys]) => Array.isArray(keys) && keys.every((key) => typeof key === "string"),
    );
    return { changed: Object.fromEntries(changed), off: found.off === true };
  } catch {
    return {};
  }
}
