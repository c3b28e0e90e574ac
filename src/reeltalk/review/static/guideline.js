// @ts-check
/** The guideline of a task in its dialog: a button opens it, and whoever opens it has read its version. */

const dialog = document.getElementById("guideline");
if (dialog instanceof HTMLDialogElement) {
  const button = document.getElementById("show-guideline");
  button?.addEventListener("click", () => dialog.showModal());
  dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
  // The editor opens it too, with its own key.
  new MutationObserver(() => {
    if (dialog.open) void recordReading(dialog);
  }).observe(dialog, { attributeFilter: ["open"] });
}

/** @param {HTMLDialogElement} shown */
async function recordReading(shown) {
  const { queue = "", version = "0" } = shown.dataset;
  if (shown.dataset.read === "yes") return;
  shown.dataset.read = "yes";
  const csrf = document.querySelector('meta[name="csrf"]')?.getAttribute("content") ?? "";
  const headers = { "content-type": "application/json", "x-csrf-token": csrf, "idempotency-key": crypto.getRandomValues(new Uint32Array(4)).join("-") };
  try {
    const answer = await fetch(`/api/guidelines/${encodeURIComponent(queue)}/read`, { method: "POST", headers, body: JSON.stringify({ version: Number(version) }) });
    if (!answer.ok) throw new Error(answer.statusText);
  } catch {
    // It is recorded when the dialog is opened next.
    delete shown.dataset.read;
  }
}
