// @ts-check
/** Asks once more before a unit is handed in, with what was decided. */

import { button, byId, element, fill } from "./elements.js";
import { DECIDED } from "./turnvalue.js";

/**
 * @param {string} question
 * @param {string} summary What was decided.
 * @returns {Promise<boolean>} True to submit.
 */
export function confirmSubmit(question, summary) {
  const dialog = byId("confirm-submit", HTMLDialogElement);
  return new Promise((resolve) => {
    let agreed = false;
    const agree = button("Submit", () => {
      agreed = true;
      dialog.close();
    });
    fill(
      dialog,
      element("h2", { id: "submit-title" }, question),
      element("p", {}, summary),
      element("p", { class: "actions" }, agree, button("Not yet", () => dialog.close(), { class: "second" })),
    );
    dialog.addEventListener("close", () => resolve(agreed), { once: true });
    dialog.showModal();
    agree.focus();
  });
}

/**
 * What was decided of how many turns, as people read it.
 * @param {{decision: string | null}[]} values All decided.
 * @param {Record<string, string>} [names] Of the decisions.
 */
export function countDecided(values, names = DECIDED) {
  const counts = Object.entries(names)
    .map(([decision, name]) => ({ name: name.toLowerCase(), count: values.filter((each) => each.decision === decision).length }))
    .filter(({ count }) => count > 0)
    .map(({ name, count }) => `${count} ${name}`);
  return `${values.length} ${values.length === 1 ? "turn" : "turns"}: ${counts.join(", ")}.`;
}
