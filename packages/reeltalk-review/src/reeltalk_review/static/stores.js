// @ts-check
/** What this browser keeps, as JSON. Some private windows keep nothing: then it is lost when the page is closed, and nothing fails. */

/** @typedef {"localStorage" | "sessionStorage"} Where All tabs share the local storage; the session's belongs to one tab. */

/** What is kept under a name, or null. @param {string} name @param {Where} [where] @returns {any} */
export function recall(name, where = "localStorage") {
  try {
    return JSON.parse(window[where].getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** Keeps a value, or removes it if it is null. @param {string} name @param {any} value @param {Where} [where] @returns {boolean} False if the browser keeps nothing. */
export function keep(name, value, where = "localStorage") {
  try {
    if (value === null) window[where].removeItem(name);
    else window[where].setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
