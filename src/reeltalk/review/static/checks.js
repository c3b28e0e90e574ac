// @ts-check
/** The results of construction's checks of a turn, the important ones first, and the links of the turn. */

import { button, byId, clock, element, fill, sentence } from "./elements.js";

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

/**
 * @param {Check[]} checks
 * @returns {HTMLElement} A list, flagged checks first; passed ones are folded.
 */
function checkList(checks) {
  if (!checks.length) return element("p", { class: "soft small" }, "This turn was not checked.");
  const sorted = [...checks].sort((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
  const open = sorted.filter(({ outcome }) => outcome !== "passed");
  const passed = sorted.filter(({ outcome }) => outcome === "passed");
  return element(
    "div",
    {},
    open.length > 0 && element("ul", { class: "checks" }, ...open.map(item)),
    passed.length > 0 &&
      element(
        "details",
        {},
        element("summary", {}, passed.length === 1 ? "1 check passed" : `${passed.length} checks passed`),
        element("ul", { class: "checks" }, ...passed.map(item)),
      ),
  );
}

/** @param {Check} check */
function item(check) {
  const measured = check.value !== null && check.value !== undefined;
  return element(
    "li",
    { class: check.outcome },
    element("span", { class: "outcome" }, OUTCOMES[check.outcome] ?? check.outcome),
    ` ${question(check.gate)}`,
    measured && element("span", { class: "measured" }, ` ${valueOf(check)}`),
    check.reason && element("span", { class: "because" }, sentence(check.reason)),
  );
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
 * @param {Link[]} links The links of one turn.
 * @param {(time_s: number) => void} seek
 */
function linkList(links, seek) {
  return element(
    "ul",
    { class: "links" },
    ...links.map(({ direction, relation, other }) => {
      const at_s = other.asked_at_s;
      return element(
        "li",
        {},
        element("span", { class: "outcome" }, relation),
        ` ${direction === "from" ? "comes from" : "leads to"} turn ${other.turn_index + 1} of ${other.unit_id}: `,
        element("q", {}, other.question),
        at_s !== null && at_s !== undefined && button(clock(at_s), () => seek(at_s), { class: "quiet", "aria-label": `Go to ${clock(at_s)}` }),
      );
    }),
  );
}

/**
 * Draws the checks of a turn, the checks of its unit, and its links.
 * @param {import("./workapi.js").Content} content
 * @param {string} place
 * @param {(time_s: number) => void} seek
 */
export function drawAbout(content, place, seek) {
  fill(byId("checks", HTMLElement), checkList([...(content.checks[place] ?? []), ...(content.checks.unit ?? [])]));
  const own = content.links.filter((link) => link.place === place);
  fill(byId("links", HTMLElement), own.length > 0 && element("h3", {}, "Links"), own.length > 0 && linkList(own, seek));
}
