// @ts-check
/** A person's version of a turn: its start from the draft, and the comparison of two versions. */

import { clock } from "./elements.js";

/** @typedef {import("./workapi.js").TurnValue} TurnValue */

/** Decisions as text for people. */
export const DECIDED = Object.freeze({
  accept: "Accepted",
  edit: "Edited",
  reject: "Rejected",
  skip: "Skipped",
});

/**
 * A turn's draft, undecided; fields in the order in which the server keeps them.
 * @param {Partial<TurnValue>} turn
 * @returns {TurnValue}
 */
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

/** The CSS class of a decision, or of none. @param {import("./workapi.js").Decision | null} decision */
export function kindOf(decision) {
  return decision ? DECIDED[decision].toLowerCase() : "undecided";
}

/**
 * A value as labelled lines, to compare the versions of two windows.
 * @param {TurnValue} value
 * @param {{name: string, title: string}[]} reasons For rejecting.
 * @returns {[string, string][]}
 */
export function linesOf(value, reasons) {
  /** @type {[string, string][]} */
  const lines = [
    ["Decision", value.decision ? DECIDED[value.decision] : "None yet"],
    ["Question", value.question],
    ["Answer", value.references.join("\n")],
    ["Asked at", value.asked_at_s === null ? "" : `${clock(value.asked_at_s)} (${value.asked_at_s} s)`],
    ["Evidence", value.evidence.map(({ start_s, end_s }) => `${start_s}–${end_s} s`).join(", ")],
  ];
  if (value.options) {
    const right = value.correct_option;
    lines.push(["Options", value.options.map((text, n) => `${n === right ? "✓ " : ""}${text}`).join("\n")]);
  }
  for (const [name, labels] of Object.entries(value.labels)) lines.push([vocabularyName(name), labels.join(", ")]);
  lines.push(["Reasons", value.reasons.map((name) => reasons.find((each) => each.name === name)?.title ?? name).join(", ")], ["Note", value.note], ["Unsure", value.unsure ? "Yes" : ""]);
  return lines;
}

/** The name of a vocabulary for people: `cogme.target` is `CogME target`. @param {string} name */
export function vocabularyName(name) {
  const [system, ...rest] = name.split(".");
  const systems = /** @type {Record<string, string>} */ ({
    cogme: "CogME",
    vdact: "VDAct",
    svbench: "SVBench",
    mt_video_bench: "MT-Video-Bench",
  });
  return [systems[system] ?? system, ...rest].join(" ").replaceAll("_", " ");
}

/** True if at most the decision differs. @param {TurnValue} one @param {TurnValue} other */
export function isSameWork(one, other) {
  return sorted({ ...one, decision: null }) === sorted({ ...other, decision: null });
}

/** @param {TurnValue} value */
function sorted(value) {
  const labels = Object.entries(value.labels).filter(([, names]) => names.length);
  return JSON.stringify({ ...startOf(value), reasons: value.reasons, note: value.note, unsure: value.unsure, labels: labels.sort() });
}

/**
 * The number of turns by decision, as text for people.
 * @param {{decision: string | null}[]} values All decided.
 * @param {Record<string, string>} [names] Names of the decisions.
 */
export function countDecided(values, names = DECIDED) {
  const counts = Object.entries(names)
    .map(([decision, name]) => ({ name: name.toLowerCase(), count: values.filter((each) => each.decision === decision).length }))
    .filter(({ count }) => count > 0)
    .map(({ name, count }) => `${count} ${name}`);
  return `${values.length} ${values.length === 1 ? "turn" : "turns"}: ${counts.join(", ")}.`;
}
