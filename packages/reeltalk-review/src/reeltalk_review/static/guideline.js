// @ts-check
/** The guideline of a task, in its dialog. */

const found = document.getElementById("guideline");
/** Null if the page has none. */
export const guideline = found instanceof HTMLDialogElement ? found : null;

guideline?.querySelector("[data-close]")?.addEventListener("click", () => guideline.close());

export function openGuideline() {
  if (guideline && !guideline.open) guideline.showModal();
}
