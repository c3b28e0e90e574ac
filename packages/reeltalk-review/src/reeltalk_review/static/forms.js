// @ts-check
/** Forms: a double click sends once, serious changes ask for confirmation, and secrets can be copied. */

import { messageOf } from "./elements.js";
import { takeBack, takeHandedIn } from "./session.js";
import { html, render } from "./vendor/preact.js";

const submitted = document.getElementById("work") ? null : takeHandedIn();
if (submitted) {
  const place = document.createElement("div");
  const say = (/** @type {any} */ what) => render(html`<p class="note" role="status">${what}</p>`, place);
  const back = () => takeBack(submitted.id).catch((error) => say(messageOf(error)));
  say(html`Submitted: ${submitted.name}. <button type="button" onClick=${back}>Take it back</button>`);
  document.getElementById("content")?.prepend(place);
}

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent === "yes") {
      event.preventDefault();
      return;
    }
    const question = form.dataset.ask;
    if (question !== undefined && !window.confirm(question)) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
  });
}

// If the browser restores the page from memory, its forms can be sent again.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form")) delete form.dataset.sent;
});

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!(button instanceof HTMLButtonElement)) continue;
  const field = document.getElementById(button.dataset.copy ?? "");
  if (!(field instanceof HTMLInputElement)) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    let copied = false;
    try {
      await navigator.clipboard.writeText(field.value);
      copied = true;
    } catch {
      // Without HTTPS there is no clipboard; the selected text can be copied with the keyboard.
    }
    const said = document.getElementById(`${field.id}-said`);
    if (said !== null) said.textContent = copied ? "Copied." : "Selected. Press Ctrl+C to copy.";
  });
}
