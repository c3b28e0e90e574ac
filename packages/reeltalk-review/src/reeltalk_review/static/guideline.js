// @ts-check
/** The guideline of a task, in its dialog. Whoever opens it has read its version. */

import { ask } from "./workapi.js";

const found = document.getElementById("guideline");
/** Null if the page has none. */
export const guideline = found instanceof HTMLDialogElement ? found : null;

guideline?.querySelector("[data-close]")?.addEventListener("click", () => guideline.close());

export function openGuideline() {
  if (!guideline || guideline.open) return;
  guideline.showModal();
  const { queue = "", version, read } = guideline.dataset;
  if (read === "yes") return;
  guideline.dataset.read = "yes";
  ask(`/api/guidelines/${encodeURIComponent(queue)}/read`, { method: "POST", body: { version: Number(version) } }).catch(() => {
    // It is recorded when the dialog is opened next.
    guideline.dataset.read = "no";
  });
}
