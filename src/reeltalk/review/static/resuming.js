// @ts-check
/** The position of a person in a unit, so that a reload returns to the same turn, second, field and letter. */

/**
 * @typedef {object} Spot
 * @property {string} place
 * @property {number | null} time_s
 * @property {string} [field] Id of the field in which somebody types.
 * @property {number} [from] Where the caret is, or what is selected.
 * @property {number} [to]
 */

const PREFIX = "reeltalk.spot.";
const KEEP_MS = 300;

/** Keeps, from now on, where somebody is. */
export class SpotKeeper {
  /**
   * @param {string} assignment
   * @param {Element} within Holds the fields.
   * @param {() => Pick<Spot, "place" | "time_s">} here
   */
  constructor(assignment, within, here) {
    this._assignment = assignment;
    this._within = within;
    this._here = here;
    this._timer = 0;
    document.addEventListener("selectionchange", () => this.soon());
    window.addEventListener("pagehide", () => this.keep());
    // What a page that comes back from the browser's cache shows may be long past.
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) location.reload();
    });
  }

  /** Keeps it in a moment, however often it is asked to. */
  soon() {
    this._timer ||= window.setTimeout(() => this.keep(), KEEP_MS);
  }

  keep() {
    clearTimeout(this._timer);
    this._timer = 0;
    const text = JSON.stringify({ ...this._here(), ...caretIn(this._within) });
    try {
      // The tab's own first; another tab, or the next day's, begins where the last one was.
      sessionStorage.setItem(PREFIX + this._assignment, text);
      localStorage.setItem(PREFIX + this._assignment, text);
    } catch {
      // Nothing is lost but the way back.
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
    // There was none.
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
  // Fields for numbers have no caret that a script may set.
  if (from !== undefined && found.selectionStart !== null) found.setSelectionRange(from, to ?? from);
  return true;
}
