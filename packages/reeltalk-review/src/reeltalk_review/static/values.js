// @ts-check
/** Values that people enter, as text: decisions, and the fields of every task, to compare versions of two people or windows. */

import { clock } from "./elements.js";

/** Decisions: as text, as a CSS class, and as a sign. */
export const DECISIONS = /** @type {Record<string, {text: string, kind: string, mark: string}>} */ ({
  accept: { text: "Accepted", kind: "accepted", mark: "✓" },
  edit: { text: "Edited", kind: "edited", mark: "✎" },
  reject: { text: "Rejected", kind: "rejected", mark: "✕" },
  skip: { text: "Skipped", kind: "skipped", mark: "–" },
  keep: { text: "Kept", kind: "accepted", mark: "✓" },
  delete: { text: "Deleted", kind: "rejected", mark: "✕" },
  complete: { text: "All links are there", kind: "accepted", mark: "✓" },
});

/** Fields that mean something only together. */
const TOGETHER = [["decision", "reasons"], ["options", "correct_option"], ["question", "method"]];
const NAMES = /** @type {Record<string, string>} */ ({ references: "Answer", asked_at_s: "Asked at", fits: "Fits the turns around it", text: "Answer" });
const SYSTEMS = /** @type {Record<string, string>} */ ({ cogme: "CogME", vdact: "VDAct", svbench: "SVBench", mt_video_bench: "MT-Video-Bench" });
/** Longer items of a list stand below each other. */
const LONG_CHARACTERS = 24;

/** A turn's draft, undecided; fields in the order in which the server keeps them. @param {Partial<TurnValue>} turn @returns {TurnValue} */
export function startOf(turn) {
  return {
    decision: null,
    question: turn.question ?? "",
    references: [...(turn.references ?? [])],
    asked_at_s: turn.asked_at_s ?? null,
    evidence: (turn.evidence ?? []).map(({ start_s, end_s }) => ({ start_s, end_s })),
    options: turn.options ? [...turn.options] : null,
    correct_option: turn.correct_option ?? null,
    labels: Object.fromEntries(Object.entries(turn.labels ?? {}).map(([name, labels]) => [name, [...labels]])),
    reasons: [],
    note: "",
    unsure: turn.unsure ?? false,
  };
}

/** The fields of some values, of which those that belong together are one row. @param {any[]} values @param {string[]} [order] Of the fields. */
export function rowsOf(values, order = []) {
  const known = [...new Set([...order, ...values.flatMap((value) => Object.keys(value ?? {}))])].filter((key) => values.some((value) => value && key in value));
  return known
    .filter((key) => !TOGETHER.some(([first, second]) => key === second && known.includes(first)))
    .map((name) => ({ name, keys: (TOGETHER.find(([first]) => first === name) ?? [name]).filter((key) => known.includes(key)) }));
}

/** True if two values read alike. @param {any} one @param {any} other @param {Reply["reasons"]} reasons */
export function isAlike(one, other, reasons) {
  return rowsOf([one, other]).every((row) => textOf(row, one, reasons) === textOf(row, other, reasons));
}

/** A row of a value as text. @param {{name: string, keys: string[]}} row @param {any} value @param {Reply["reasons"]} reasons @returns {string} */
export function textOf({ name, keys }, value, reasons) {
  if (!value) return "";
  const [first, second] = keys.map((key) => value[key]);
  if (name === "decision") {
    const why = (second ?? []).map((/** @type {string} */ each) => reasons.find((reason) => reason.name === each)?.title ?? each);
    return [first ? (DECISIONS[first]?.text ?? first) : "None yet", ...(why.length ? [why.join(", ")] : [])].join(": ");
  }
  if (name === "options") return (first ?? []).map((/** @type {string} */ each, /** @type {number} */ n) => `${n === second ? "✓ " : ""}${each}`).join("\n");
  if (first === null || first === undefined) return "";
  if (typeof first === "boolean") return first ? "Yes" : "";
  if (name === "choice") return `Option ${first + 1}`;
  if (typeof first === "number") return name.endsWith("_s") ? `${clock(first)} (${first} s)` : `${first}`;
  if (Array.isArray(first)) {
    const items = first.map((each) => (each?.start_s === undefined ? `${each}` : `${each.start_s}–${each.end_s} s`));
    return items.join(items.some(({ length }) => length > LONG_CHARACTERS) ? "\n" : ", ");
  }
  if (typeof first !== "object") return `${first}`;
  const given = Object.entries(first).map(([key, labels]) => [vocabularyName(key), [labels ?? "does not apply"].flat().map(plain).join(", ")]);
  return given.flatMap(([key, text]) => (text ? [`${key}: ${text}`] : [])).join("\n");
}

/** @param {unknown} value */
function plain(value) {
  return value && typeof value === "object" ? JSON.stringify(value) : value;
}

/** The name of a field for people. @param {string} name */
export function labelOf(name) {
  return NAMES[name] ?? `${name[0].toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;
}

/** The name of a vocabulary for people: `cogme.target` is `CogME target`. @param {string} name */
export function vocabularyName(name) {
  const [system, ...rest] = name.split(".");
  return [SYSTEMS[system] ?? system, ...rest].join(" ").replaceAll("_", " ");
}

/** The number of values by decision, as text for people. @param {({decision?: string | null} | null)[]} values All decided. @param {string} what As `turn`. */
export function countDecided(values, what) {
  const counts = Object.entries(DECISIONS).map(([decision, { text }]) => [values.filter((each) => each?.decision === decision).length, text.toLowerCase()]);
  const told = counts.flatMap(([count, text]) => (count ? [`${count} ${text}`] : []));
  return `${values.length} ${what}${values.length === 1 ? "" : "s"}: ${told.join(", ")}.`;
}
