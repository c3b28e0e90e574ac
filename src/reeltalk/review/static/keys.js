// @ts-check
/**
 * Keys of a page: a map from keys to actions that people can change, and the page of keys that `?` opens.
 *
 *     const actions = [{name: "accept", label: "Accept and go on", group: "Decide", keys: ["a"], act: () => …}];
 *     const keys = new Keys(actions, () => "deciding");
 *
 * A key is written `a`, `Shift+A`, `Ctrl+Enter` (which Command is too), `Alt+ArrowLeft`, `?`. Keys without Ctrl or Alt do
 * nothing while one types, but Escape; with Alt held (on a Mac: Control) they work there too. They work wherever the focus
 * is, since they are heard before any element.
 */

import { button, element, fill } from "./elements.js";

/**
 * @typedef {object} Action
 * @property {string} name
 * @property {string} label What it does, as people read it.
 * @property {string} group
 * @property {string[]} keys By default.
 * @property {(key: string) => void} act Gets the key that was pressed.
 * @property {string} [mode] Where it is meant for one mode of the page only; in another the key may do something else.
 * @property {() => boolean} [when] False where it does nothing at the moment.
 * @property {boolean} [typing] False where its keys belong to the text while one types, as Ctrl+Z does.
 * @property {string} [range] How its keys are shown together, as `1–9`; they cannot be changed then.
 * @property {boolean} [repeats] True where a key that is held does it again.
 */

const STORE = "reeltalk.keys";
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Fn", "Dead", "Process"]);
/** Elements that do something of their own with these keys. */
const OWN_KEYS = "button, a[href], summary, select, input, [role=slider]";

export class Keys {
  /** @param {Action[]} actions @param {() => string} [mode] The page's mode now. */
  constructor(actions, mode = () => "") {
    this.actions = actions;
    this._mode = mode;
    /** @type {{changed: Record<string, string[]>, off: boolean}} */
    this._own = { changed: {}, off: false, ...readOwn() };
    /** @type {Action | null} The action whose new key is being waited for. */
    this._asking = null;
    this.dialog = element("dialog", { class: "keys-page", "aria-labelledby": "keys-title" });
    document.body.append(this.dialog);
    this.dialog.addEventListener("close", () => {
      this._asking = null;
    });
    window.addEventListener("keydown", (event) => this._hear(event), { capture: true });
    // A button that was clicked with the mouse keeps the focus, and with it Space and Enter: give them back.
    document.addEventListener("click", ({ detail }) => {
      const focused = document.activeElement;
      if (detail === 0 || !(focused instanceof HTMLElement) || focused.closest("dialog")) return;
      if (focused.matches("button, summary")) focused.blur();
    });
    this.label();
  }

  /** The keys of an action now. @param {Action} action */
  keysOf(action) {
    return this._own.changed[action.name] ?? action.keys;
  }

  /** Writes its key into every element that carries `data-key`, the name of an action. */
  label() {
    for (const place of document.querySelectorAll("[data-key]")) {
      const action = this.actions.find(({ name }) => name === place.getAttribute("data-key"));
      const key = action && this.keysOf(action)[0];
      let shown = place.querySelector("kbd");
      if (!key || this._own.off) shown?.remove();
      else {
        if (!shown && !place.hasAttribute("data-quiet")) place.append((shown = element("kbd", { "aria-hidden": "true" })));
        if (shown) shown.textContent = spell(key).replace("Shift+", "⇧");
        place.setAttribute("aria-keyshortcuts", key.replace("Ctrl", IS_MAC ? "Meta" : "Control"));
      }
    }
  }

  /** Opens the page of keys. */
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
    action.act(pressed.slice(pressed.lastIndexOf("+", pressed.length - 2) + 1));
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
    const mode = this._mode();
    return (
      this.actions.find(
        (each) =>
          this.keysOf(each).includes(key) && (each.mode ?? mode) === mode && also(each) && (each.when?.() ?? true),
      ) ?? null
    );
  }

  /** A new key for the action that waits for one. @param {KeyboardEvent} event */
  _take(event) {
    event.preventDefault();
    event.stopPropagation();
    const action = /** @type {Action} */ (this._asking);
    this._asking = null;
    const key = spelling(event);
    let said = `${action.label}: ${spell(key)}`;
    if (key === "Escape") said = "Nothing was changed.";
    else {
      const other = this.actions.find(
        (each) =>
          each !== action &&
          this.keysOf(each).includes(key) &&
          (each.mode === undefined || action.mode === undefined || each.mode === action.mode),
      );
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
      // They are kept until the page is left.
    }
    this.label();
  }

  /** @param {string} [said] @param {string} [focused] Name of the action whose button gets the focus. */
  _draw(said = "", focused) {
    const groups = [...new Set(this.actions.map(({ group }) => group))];
    const status = element("p", { role: "status", class: "small" }, said);
    const off = element("input", { type: "checkbox", id: "keys-off", checked: this._own.off });
    off.addEventListener("change", () => {
      this._own.off = off.checked;
      this._keep();
    });
    fill(
      this.dialog,
      element(
        "div",
        { class: "dialog-head" },
        element("h2", { id: "keys-title" }, "Keys"),
        button("Close", () => this.dialog.close(), { class: "quiet" }),
      ),
      element(
        "p",
        { class: "small soft" },
        `While you type, hold ${IS_MAC ? "Control" : "Alt"} with a key, or press Esc first.`,
      ),
      status,
      element("div", { class: "key-groups" }, ...groups.map((group) => this._table(group))),
      element(
        "p",
        { class: "key-options" },
        element("label", { for: "keys-off" }, off, " Only keys with Ctrl or Alt"),
        button("Set all back", () => this._reset(), { class: "quiet" }),
      ),
    );
    /** @type {HTMLElement | null} */ (this.dialog.querySelector(`[data-changes="${focused}"]`))?.focus();
  }

  /** @param {string} group */
  _table(group) {
    const rows = this.actions.filter((action) => action.group === group);
    return element(
      "table",
      {},
      element("caption", {}, group),
      element(
        "tbody",
        {},
        ...rows.map((action) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, action.label),
            element("td", {}, ...this._shownKeys(action).map((key) => element("kbd", {}, key))),
            element("td", {}, !action.range && this._changer(action)),
          ),
        ),
      ),
    );
  }

  /** @param {Action} action */
  _shownKeys(action) {
    return action.range ? [action.range] : this.keysOf(action).map(spell);
  }

  /** @param {Action} action */
  _changer(action) {
    const change = button("Change", () => {
      this._asking = action;
      change.textContent = "Press a key";
    });
    change.className = "quiet";
    change.dataset.changes = action.name;
    change.setAttribute("aria-label", `Change the key of: ${action.label}`);
    return change;
  }

  _reset() {
    this._own = { changed: {}, off: false };
    this._keep();
    this._draw("All keys are as they were.");
  }
}

/** As `Shift+A`. @param {KeyboardEvent} event */
export function spelling(event) {
  let { key } = event;
  // On keyboards of other scripts the place of the key counts.
  if (key.length === 1 && key.charCodeAt(0) > 126 && /^Key[A-Z]$/.test(event.code)) key = event.code.slice(3).toLowerCase();
  // AltGr writes characters; some systems tell it as Ctrl and Alt.
  const writes = event.getModifierState("AltGraph");
  const parts = [];
  if ((event.ctrlKey || event.metaKey) && !writes) parts.push("Ctrl");
  if (event.altKey && !writes) parts.push("Alt");
  const isSign = key.length === 1 && key.toLowerCase() === key.toUpperCase() && key !== " ";
  if (event.shiftKey && !isSign) parts.push("Shift");
  parts.push(key === " " ? "Space" : key.length === 1 ? (event.shiftKey ? key.toUpperCase() : key.toLowerCase()) : key);
  return parts.join("+");
}

/** As people read it. @param {string} key */
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

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit", "range"].includes(target.type);
  return target instanceof HTMLElement && target.isContentEditable;
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
