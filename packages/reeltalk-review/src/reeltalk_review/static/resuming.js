// @ts-check
/** The position of a person in a unit, so that a reload returns to the same turn, second, field and letter. */

/**
 * @typedef {object} Spot
 * @property {string} place
 * @property {number | null} time_s
 * @property {string} [field] Id of the field in which somebody types.
 * @property {number} [from] Start of the selection, or the caret.
 * @property {number} [to]
 */

const PREFIX = "reeltalk.spot.";
const KEEP_MS = 300;

/** Stores the position of a person while they work. */
export class SpotKeeper {
  /**
   * @param {string} assignment
   * @param {Element} within The element with the fields.
   * @param {() => Pick<Spot, "place" | "time_s">} here
   */
  constructor(assignment, within, here) {
    this._assignment = assignment;
    this._within = within;
    this._here = here;
    this._timer = 0;
    document.addEventListener("selectionchange", () => this.soon());
    window.addEventListener("pagehide", () => this.keep());
    // A page from the browser's cache may be out of date.
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) location.reload();
    });
  }

  /** Stores the position after a moment, once for several calls. */
  soon() {
    this._timer ||= window.setTimeout(() => this.keep(), KEEP_MS);
  }

  keep() {
    clearTimeout(this._timer);
    this._timer = 0;
    const text = JSON.stringify({ ...this._here(), ...caretIn(this._within) });
    try {
      // Each tab has its own position; a new tab starts at the last one of any tab.
      sessionStorage.setItem(PREFIX + this._assignment, text);
      localStorage.setItem(PREFIX + this._assignment, text);
    } catch {
      // Only the position is lost.
    }
  }
}

/** @param {string} assignment @returns {Spot | null} */
export function lastSpot(assignment) {
  try {
    const text = sessionStorage.getItem(PREFIX + assignment) ?? localStorage.getItem(PREFIX + assignment);
    const found = JSON.parse(text ?? "null");
    return typeof found?.place === "string" ? found : null;
  } catch {
    return null;
  }
}

/** @param {string} assignment */
export function forgetSpot(assignment) {
  try {
    sessionStorage.removeItem(PREFIX + assignment);
    localStorage.removeItem(PREFIX + assignment);
  } catch {
    // There is no storage, so there is no position.
  }
}

/** The field that has the focus, and its caret. @param {Element} within @returns {Pick<Spot, "field" | "from" | "to">} */
function caretIn(within) {
  const focused = document.activeElement;
  if (!(focused instanceof HTMLTextAreaElement || focused instanceof HTMLInputElement)) return {};
  if (!focused.id || !within.contains(focused)) return {};
  return { field: focused.id, from: focused.selectionStart ?? undefined, to: focused.selectionEnd ?? undefined };
}

/** @param {Spot} spot */
export function putCaret({ field, from, to }) {
  const found = field ? document.getElementById(field) : null;
  if (!(found instanceof HTMLTextAreaElement || found instanceof HTMLInputElement)) return false;
  found.focus();
  // Scripts cannot set the caret of number fields.
  if (from !== undefined && found.selectionStart !== null) found.setSelectionRange(from, to ?? from);
  return true;
}
