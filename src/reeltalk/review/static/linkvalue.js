// @ts-check
/** A person's value of a link between two turns: the value to start from, names, and the lines that compare two versions. */

/** @typedef {import("./workapi.js").Scene} Scene */
/** @typedef {import("./player.js").Interval} Interval */
/** @typedef {import("./workapi.js").Check} Check */

/**
 * @typedef {object} LinkValue
 * @property {"keep" | "delete" | null} decision Null without a decision.
 * @property {string[]} relations
 * @property {string[]} skills
 * @property {string | null} method Of the rewriting catalogue.
 * @property {string | null} question The later question in the words of this link; null for its original words.
 * @property {string[] | null} references
 * @property {boolean} fits
 * @property {string} note
 */
/**
 * @typedef {{question: string, references?: string[], asked_at_s?: number | null, evidence?: Interval[]}} Turn
 * @typedef {{id: string, clips: Scene[], turns: Turn[], checks: Record<string, Check[]>}} Chain
 * @typedef {{relation: string, method: string, skill: string, question: string, references: string[], problems: string[], checked?: boolean}} Draft
 */
/**
 * @typedef {object} Pair The content of a unit.
 * @property {Scene[]} clips
 * @property {Scene[]} scenes
 * @property {Chain} before
 * @property {Chain} after
 * @property {{place: string, source: number, target: number, relations: string[]}[]} linkages Drafted links.
 * @property {Record<string, Draft[]>} rewrites
 */

/** The place for the statement that all links are there. */
export const BOARD = "board";

export const DECIDED = Object.freeze({ keep: "Kept", delete: "Deleted" });

/** @param {string} place @returns {[number, number]} Indices of the earlier and the later turn. */
export function endsOf(place) {
  const [source, target] = place.split("-").map(Number);
  return [source, target];
}

/** The name of a place for people. @param {string} place */
export function nameOf(place) {
  if (place === BOARD) return "All links";
  const [source, target] = endsOf(place);
  return `Link ${source + 1} → ${target + 1}`;
}

/** The draft of a link, undecided; fields in the order of the server. @param {Pair} pair @param {string} place */
export function startOf(pair, place) {
  if (place === BOARD) return { decision: null, links: [], note: "" };
  const drafted = pair.linkages.find((link) => link.place === place);
  /** @type {LinkValue} */
  const value = {
    decision: null,
    relations: [...(drafted?.relations ?? [])],
    skills: [],
    method: null,
    question: null,
    references: null,
    fits: false,
    note: "",
  };
  return value;
}

/** @param {string} place @param {any} value @returns {[string, string][]} */
export function linesOf(place, value) {
  if (place === BOARD) {
    return [
      ["Decision", value.decision ? "All links are there" : "None yet"],
      ["Links", value.links.map(nameOf).join(", ")],
      ["Note", value.note],
    ];
  }
  const link = /** @type {LinkValue} */ (value);
  return [
    ["Decision", link.decision ? DECIDED[link.decision] : "None yet"],
    ["Relations", link.relations.join(", ")],
    ["Skills", link.skills.join(", ")],
    ["Method", link.method ?? ""],
    ["Question", link.question ?? "In its original words"],
    ["Answer", (link.references ?? []).join("\n")],
    ["Fits", link.fits ? "Yes" : ""],
    ["Note", link.note],
  ];
}

/** The task to do before a link can be kept, or null. @param {LinkValue} link */
export function lackOf(link) {
  if (!link.relations.length) return "Say how the two turns are related: press the number of a relation.";
  if (link.question === null) return link.method === null ? null : "Write the later question anew, or choose no method.";
  if (!link.question.trim()) return "The later question has no words.";
  if (!(link.references ?? []).some((text) => text.trim())) return "A question that is rewritten needs its answer.";
  if (!link.fits) return "Look at the turns around the rewritten question, and confirm that it fits them.";
  return null;
}
