// @ts-check
/**
 * Checks of a rewritten later question: does it refer to the earlier turn, and do the turns around it still make sense?
 * The findings are hints for a person. They decide nothing.
 */

/** @typedef {{question: string, references?: string[]}} Turn */
/** @typedef {{question: string | null, references: string[] | null}} Wording */
/**
 * @typedef {object} Around
 * @property {Turn} source The earlier turn.
 * @property {Turn} target The later turn in its original words.
 * @property {Turn | undefined} before The turn before the later one in its chain.
 * @property {Turn | undefined} after The turn after it.
 * @property {{question: string, problems: string[]}[]} drafts Drafts of the rewriting, with the problems that checks found.
 * @property {{name: string, question: string}[]} others The questions of other links to the same later turn.
 */

/** English words that carry no topic. In other languages the checks find less, but nothing wrong. */
const PLAIN = new Set(
  `a an the is are was were be been being do does did done has have had of in on at to for from with by as and or not no
  he she it they him her them his its their this that these those there then here what which who whom whose when where why
  how many much long often person man woman somebody something anything one two first last next before after now again
  same still earlier later scene scenes video question turn you we i happens happen comes come goes go than into out up
  down over under all both each other another if whether would could can will may might about just right`.split(/\s+/),
);
/** Words that refer to something said or shown before. */
const BACK = /\b(earlier|before|previous(ly)?|again|first scene|last scene|both scenes|two scenes|still|same|since|already|other|former|back|compared|change[ds]?|differ(s|ent|ence)?|more|less|fewer|now|then)\b/i;
const POINTS = /\b(it|its|he|she|him|her|they|them|that|this|those|these|there|then|one)\b/i;
const IS_LATIN = /[a-z]/i;

/** @param {Wording} wording @param {Around} around @returns {string[]} Findings as sentences; empty if there are none. */
export function problemsOf(wording, around) {
  if (wording.question === null) return [];
  const { question } = wording;
  const answer = (wording.references ?? []).find((text) => text.trim()) ?? "";
  if (!question.trim()) return ["The later question has no words."];
  const found = [];
  if (!answer) found.push("The rewritten question has no answer.");
  const repeated = /** @type {[string, Turn | undefined][]} */ ([
    ["the turn before it", around.before],
    ["the turn after it", around.after],
    ["the earlier turn of the link", around.source],
  ]);
  for (const [name, turn] of repeated) {
    if (turn && plain(turn.question) === plain(question)) found.push(`It repeats the question of ${name}.`);
  }
  for (const other of around.others) {
    if (plain(other.question) !== plain(question)) found.push(`${other.name} asks the same later turn in other words: “${other.question}”`);
  }
  if (answer && plain(answer).length > 3 && ` ${plain(question)} `.includes(` ${plain(answer)} `)) {
    found.push("The question says its own answer.");
  }
  if (IS_LATIN.test(question)) found.push(...references(question, answer, around));
  const draft = around.drafts.find((each) => plain(each.question) === plain(question));
  return [...found, ...(draft?.problems ?? []).map((problem) => `A check of the draft found: ${problem}.`)];
}

/** @param {string} question @param {string} answer @param {Around} around */
function references(question, answer, { source, target, before, after }) {
  const found = [];
  const said = topics(`${source.question} ${answerOf(source)}`);
  const asked = topics(question);
  const speaks = [...asked].some((word) => said.has(word));
  if (!speaks && !BACK.test(question)) {
    found.push("It does not refer to the earlier turn: it shares no word with it, and has no word such as “before”, “again” or “both scenes”.");
  }
  if (!before && !speaks && POINTS.test(question)) {
    found.push("It says “it”, “he” or the like, and is the first turn of its chain.");
  }
  if (after && POINTS.test(after.question)) {
    const rests = topics(`${target.question} ${answerOf(target)}`);
    const keeps = [...topics(`${question} ${answer}`)].some((word) => rests.has(word));
    if (rests.size && !keeps) {
      found.push(`The next turn, “${after.question}”, may rest on what the question no longer speaks of.`);
    }
  }
  return found;
}

/** @param {Turn} turn */
function answerOf({ references: given }) {
  return given?.[0] ?? "";
}

/** Words that carry a topic, without English endings. @param {string} text */
function topics(text) {
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return new Set(words.filter((word) => !PLAIN.has(word)).map(stem));
}

/** @param {string} word */
function stem(word) {
  return word.length > 4 ? word.replace(/(ing|ed|es|s)$/, "").replace(/(.)\1$/, "$1") : word;
}

/** Letters and digits only, so that a comma makes no difference. @param {string} text */
function plain(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}
