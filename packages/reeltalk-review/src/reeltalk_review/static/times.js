// @ts-check
/** Times of a page in the reader's own zone. Without this script they stay in UTC. */

const SHOWN = /** @type {const} */ ({ year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

/** Writes the times in a part of a page in the reader's zone. @param {ParentNode} [part] */
function localTimes(part = document) {
  for (const time of part.querySelectorAll("time[datetime]")) {
    if (!(time instanceof HTMLTimeElement) || time.title || !time.dateTime.includes("T")) continue;
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    time.title = `${time.dateTime.slice(0, 10)} ${time.dateTime.slice(11, 19)} UTC`;
    const seconds = time.dataset.seconds === undefined ? undefined : "2-digit";
    time.textContent = at.toLocaleString(undefined, { ...SHOWN, second: seconds });
  }
}

localTimes();
