// @ts-check
/** The results of checks of construction that flagged a turn, and the links of the turn. */

import { clock, sentence } from "./elements.js";
import { html } from "./vendor/preact.js";

/** The question of a check, by its name without the step. The longest matching beginning of a name counts. */
const ASKED = Object.freeze({
  "leak.blind": "Can it be answered without the video?",
  "leak.history": "Does an earlier turn give the answer away?",
  "leak.habit": "Is the answer what one would guess?",
  "leak.later": "Does a later turn give the answer away?",
  "leak.share": "Does much of the dialogue need no video?",
  "leak.model.blind": "Could a model answer it without the video?",
  "leak.model.history": "Could a model answer it from the dialogue alone?",
  "leak.model": "Could a model answer it without seeing the evidence?",
  "leak": "Does it leak?",
  answerable: "Could a model answer it from the evidence?",
  difficulty: "Is it too easy?",
  quality: "How good is the chain as a whole?",
  "quality.attempt": "How good was an earlier attempt?",
  lint: "Is the wording sound?",
  written: "Was it written?",
});

/** True if a person should look at it. @param {Check} check */
export function isFlagged(check) {
  return check.outcome === "flagged" || check.outcome === "dropped";
}

/** @param {string} gate As `gates:leak.blind`. */
function question(gate) {
  const name = gate.slice(gate.indexOf(":") + 1);
  const known = Object.entries(ASKED)
    .filter(([begin]) => name === begin || name.startsWith(`${begin}.`))
    .sort(([one], [other]) => other.length - one.length)[0];
  if (!known) return name;
  const rest = name.slice(known[0].length + 1).replaceAll("_", " ");
  return rest ? `${known[1]} (${rest})` : known[1];
}

/** The checks that flagged a turn or its unit, as a number; open, why. @param {{content: Content, place: string}} props */
export function Flags({ content, place }) {
  const flagged = [...(content.checks[place] ?? []), ...(content.checks.unit ?? [])].filter(isFlagged);
  if (!flagged.length) return null;
  return html`<details id="checks" class="flags"><summary>${flagged.length === 1 ? "1 flag" : `${flagged.length} flags`}</summary>
    <ul class="checks">${flagged.map(({ gate, reason }) => html`<li class="flagged"><span class="outcome">${question(gate)}</span> ${reason && sentence(reason)}</li>`)}</ul>
  </details>`;
}

/** The links of a turn. @param {{content: Content, place: string, seek: (time_s: number) => void}} props */
export function Links({ content, place, seek }) {
  const links = content.links.filter((link) => link.place === place);
  if (!links.length) return null;
  return html`<h3 class="small soft">Links</h3><ul id="links" class="links">${links.map(
    ({ direction, relation, other: { turn_index, unit_id, question: asked, asked_at_s } }) => html`<li>
      <span class="outcome">${relation}</span> ${direction === "from" ? "comes from" : "leads to"} turn ${turn_index + 1} of ${unit_id}: <q>${asked}</q>
      ${asked_at_s !== null && asked_at_s !== undefined && html`<button type="button" class="quiet" aria-label=${`Go to ${clock(asked_at_s)}`} onClick=${() => seek(asked_at_s)}>${clock(asked_at_s)}</button>`}
    </li>`,
  )}</ul>`;
}
