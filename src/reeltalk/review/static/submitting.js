// @ts-check
/** Asks once more before a unit is handed in, with what was decided. */

import { button, byId, element, fill } from "./elements.js";
import { DECIDED } from "./turnvalue.js";

/**
 * @param {import("./workapi.js").TurnValue[]} values All decided.
 * @returns {Promise<boolean>} True to submit.
 */
export function confirmSubmit(values) {
  const dialog = byId("confirm-submit", HTMLDialogElement);
  const counts = Object.entries(DECIDED)
    .map(([decision, name]) => ({ name: name.toLowerCase(), count: values.filter((each) => each.decision === decision).length }))
    .filter(({ count }) => count > 0)
    .map(({ name, count }) => `${count} ${name}`);
  return new Promise((resolve) => {
    let agreed = false;
    const agree = button("Submit", () => {
      agreed = true;
      dialog.close();
    });
    fill(
      dialog,
      element("h2", { id: "submit-title" }, "Submit this unit?"),
      element("p", {}, `${values.length} ${values.length === 1 ? "turn" : "turns"}: ${counts.join(", ")}.`),
      element("p", { class: "actions" }, agree, button("Not yet", () => dialog.close(), { class: "second" })),
    );
    dialog.addEventListener("close", () => resolve(agreed), { once: true });
    dialog.showModal();
    agree.focus();
  });
}
