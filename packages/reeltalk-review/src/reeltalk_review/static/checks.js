// @ts-check
/** The results of construction's checks of a turn, the important ones first, and the links of the turn. */

import { clock, sentence } from "./elements.js";
import { html } from "./vendor/preact.js";

/** @typedef {import("./workapi.js").Check} Check */
/** @typedef {import("./workapi.js").Link} Link */

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

const OUTCOMES = Object.freeze(
  /** @type {Record<string, string>} */ ({
    flagged: "Look at this",
    dropped: "Was to be dropped",
    unwritten: "Was not written",
    unchecked: "Could not be checked",
    passed: "Passed",
  }),
);
const ORDER = Object.keys(OUTCOMES);

/** True if a person should look at it. @param {Check} check */
export function isFlagged(check) {
  return check.outcome === "flagged" || check.outcome === "dropped";
}

/** @param {{check: Check}} props */
function Item({ check }) {
  const measured = check.value !== null && check.value !== undefined;
  return html`<li class=${check.outcome}>
    <span class="outcome">${OUTCOMES[check.outcome] ?? check.outcome}</span> ${question(check.gate)}
    ${measured && html`<span class="measured"> ${valueOf(check)}</span>`}
    ${check.reason && html`<span class="because">${sentence(check.reason)}</span>`}
  </li>`;
}

/** @param {Check} check */
function valueOf({ gate, value }) {
  const shown = String(Math.round((value ?? 0) * 100) / 100);
  return plainName(gate).startsWith("quality") ? `${shown} of 100` : shown;
}

/** @param {string} gate */
function plainName(gate) {
  return gate.slice(gate.indexOf(":") + 1);
}

/** @param {string} gate As `gates:leak.blind`. */
function question(gate) {
  const name = plainName(gate);
  const known = Object.entries(ASKED)
    .filter(([begin]) => name === begin || name.startsWith(`${begin}.`))
    .sort(([one], [other]) => other.length - one.length)[0];
  if (!known) return name;
  const rest = name.slice(known[0].length + 1).replaceAll("_", " ");
  return rest ? `${known[1]} (${rest})` : known[1];
}

/**
 * The checks of a turn and of its unit, flagged ones first and passed ones folded; and the links of the turn.
 * @param {{content: import("./workapi.js").Content, place: string, seek: (time_s: number) => void}} props
 */
export function About({ content, place, seek }) {
  const checks = [...(content.checks[place] ?? []), ...(content.checks.unit ?? [])];
  checks.sort((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
  const open = checks.filter(({ outcome }) => outcome !== "passed");
  const passed = checks.filter(({ outcome }) => outcome === "passed");
  const links = content.links.filter((link) => link.place === place);
  const list = (/** @type {Check[]} */ shown) => html`<ul class="checks">${shown.map((check) => html`<${Item} check=${check} />`)}</ul>`;
  return html`<div id="checks" class="checks-place">
      ${open.length > 0 && list(open)}
      ${passed.length > 0 && html`<details><summary>${passed.length === 1 ? "1 check passed" : `${passed.length} checks passed`}</summary>${list(passed)}</details>`}
      ${!checks.length && html`<p class="soft small">This turn was not checked.</p>`}
    </div>
    ${links.length > 0 && html`<h3 class="small soft">Links</h3><ul id="links" class="links">${links.map(
      ({ direction, relation, other: { turn_index, unit_id, question: asked, asked_at_s } }) => html`<li>
        <span class="outcome">${relation}</span> ${direction === "from" ? "comes from" : "leads to"} turn ${turn_index + 1} of ${unit_id}: <q>${asked}</q>
        ${asked_at_s !== null && asked_at_s !== undefined && html`<button type="button" class="quiet" aria-label=${`Go to ${clock(asked_at_s)}`} onClick=${() => seek(asked_at_s)}>${clock(asked_at_s)}</button>`}
      </li>`,
    )}</ul>`}`;
}
