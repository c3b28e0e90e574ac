// @ts-check
/** A person's labels of a turn: the value to start from, and the lines that compare two versions. */

/** @typedef {import("./player.js").Interval} Interval */
/**
 * @typedef {{decision: "accept" | "edit" | "skip" | null, labels: Record<string, string[]>, manual?: string, note: string}} LabelsValue
 * @typedef {{question: string, references?: string[], options?: string[], correct_option?: number,
 *   asked_at_s?: number | null, evidence?: Interval[], labels?: Record<string, string[]>}} Turn
 * @typedef {{tags: string[], probabilities: Record<string, number>, margin: number | null, needs_review: boolean,
 *   tagger: string, reason: string | null}} Proposal
 */
/** @typedef {{name: string, title: string, least: number, most: number, labels: string[]}} Vocabulary */

export const DECIDED = Object.freeze({ accept: "As proposed", edit: "Labelled", skip: "Skipped" });

/**
 * The labels that a turn has, or that were proposed, undecided.
 * @param {Turn} turn
 * @param {Record<string, Proposal>} proposals By vocabulary.
 * @param {Vocabulary[]} vocabularies
 * @returns {LabelsValue}
 */
export function startOf(turn, proposals, vocabularies) {
  const labels = Object.fromEntries(
    vocabularies.map(({ name, labels: known }) => {
      const has = turn.labels?.[name] ?? [];
      const start = has.length ? has : (proposals[name]?.tags ?? []);
      return [name, known.filter((label) => start.includes(label))];
    }),
  );
  return { decision: null, labels, note: "" };
}

/** The problem with the number of labels, or null. @param {LabelsValue} value @param {Vocabulary[]} vocabularies */
export function lackOf({ labels }, vocabularies) {
  for (const { name, title, least, most } of vocabularies) {
    const { length } = labels[name] ?? [];
    if (length >= least && length <= most) continue;
    const wanted = least === most ? "exactly one" : length < least ? "at least one" : `at most ${most}`;
    return `${title.replace(/:.*/, "")} takes ${wanted}, and has ${length || "none"}.`;
  }
  return null;
}

/** @param {LabelsValue} value @param {Vocabulary[]} vocabularies @returns {[string, string][]} */
export function linesOf(value, vocabularies) {
  return [
    ["Decision", value.decision ? DECIDED[value.decision] : "None yet"],
    ...vocabularies.map(({ name, title }) => /** @type {[string, string]} */ ([title.replace(/:.*/, ""), (value.labels[name] ?? []).join(", ")])),
    ["Note", value.note],
  ];
}

/** True if a person should look closely. @param {Record<string, Proposal>} proposals */
export function isDoubtful(proposals) {
  return Object.values(proposals).some(({ needs_review, margin }) => needs_review || margin === null);
}
