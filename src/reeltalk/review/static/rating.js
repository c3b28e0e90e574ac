// @ts-check
/** Rating: marks for answers on a judge's scale. */

import { byId, element, fill } from "./elements.js";
import { Keys } from "./keys.js";
import { handIn, openWork, say, videoActions } from "./opening.js";

/** @typedef {{name: string, title: string, lowest: number, highest: number, step: number, levels: Record<string, string>, may_not_apply: boolean}} Criterion */
/** @typedef {{marks: Record<string, number | null>, note: string}} Rating */
/** @typedef {{turn_index: number, question: string, references: string[], answer: string, asked_at_s: number | null, options: string[] | null}} Answer */

const { work, path, outbox, playback } = await openWork();
/** @type {Criterion[]} */
const criteria = work.unit.content.scale.criteria;
/** @type {Answer[]} */
const answers = work.unit.content.turns;
/** @type {string[]} */
const places = work.places;
const isOpen = work.assignment.state !== "submitted";
await outbox.open(Object.fromEntries(Object.entries(work.entries).map(([place, entry]) => [place, entry.revision])));
/** @type {Map<string, Rating>} */
const ratings = new Map(
  places.map((place) => {
    const found = outbox.typed(place) ?? work.entries[place]?.value;
    return [place, { marks: { ...found?.marks }, note: found?.note ?? "" }];
  }),
);
let current = Math.max(0, places.findIndex((place) => !isComplete(place)));

/** @param {string} place */
function isComplete(place) {
  const marks = ratings.get(place)?.marks ?? {};
  return criteria.every(({ name }) => name in marks);
}

/** @param {Criterion} criterion */
function marksOf({ lowest, highest, step }) {
  const count = Math.round((highest - lowest) / step);
  return Array.from({ length: count + 1 }, (_, n) => lowest + n * step);
}

/** @param {string} place @param {Criterion} criterion */
function drawCriterion(place, criterion) {
  const name = `${place} ${criterion.name}`;
  /** @type {(number | null)[]} */
  const marks = [...marksOf(criterion), ...(criterion.may_not_apply ? [null] : [])];
  const given = ratings.get(place)?.marks ?? {};
  const choices = marks.map((mark) => {
    const checked = criterion.name in given && given[criterion.name] === mark;
    const input = element("input", { type: "radio", name, value: String(mark), checked, disabled: !isOpen });
    input.addEventListener("change", () => give(place, criterion, mark));
    return element("label", {}, input, mark === null ? "does not apply" : String(mark));
  });
  const levels = Object.entries(criterion.levels).flatMap(([mark, means]) => [
    element("dt", {}, mark),
    element("dd", {}, means),
  ]);
  return element(
    "fieldset",
    { class: "criterion" },
    element("legend", {}, criterion.title),
    element("div", { class: "marks" }, ...choices),
    element("dl", { class: "levels" }, ...levels),
  );
}

/** @param {string} place */
function drawNote(place) {
  const area = element("textarea", { rows: 1, disabled: !isOpen });
  area.value = ratings.get(place)?.note ?? "";
  area.addEventListener("input", () => {
    const rating = ratings.get(place);
    if (!rating) return;
    rating.note = area.value;
    outbox.put(place, { ...rating });
  });
  return element("label", { class: "small soft" }, "Note", area);
}

/** @param {string} place @param {Criterion} criterion @param {number | null} mark */
function give(place, criterion, mark) {
  const rating = ratings.get(place);
  if (!rating) return;
  rating.marks[criterion.name] = mark;
  outbox.put(place, { ...rating }, { now: true });
  current = places.indexOf(place);
  tell();
}

/** The next criterion of the answer one is at gets the mark of a key. @param {string} key */
function giveByKey(key) {
  const place = places[current];
  const criterion = criteria.find(({ name }) => !(name in (ratings.get(place)?.marks ?? {}))) ?? criteria[0];
  const mark = marksOf(criterion).find((one) => String(one) === key);
  if (mark === undefined) return;
  const name = `${place} ${criterion.name}`;
  const input = document.querySelector(`input[name="${CSS.escape(name)}"][value="${mark}"]`);
  if (!(input instanceof HTMLInputElement)) return;
  input.checked = true;
  give(place, criterion, mark);
  say(`${criterion.title}: ${mark}`);
}

function tell() {
  const missing = places.filter((place) => !isComplete(place)).length;
  fill(byId("left", HTMLElement), missing ? `${missing} of ${places.length} to rate` : "Everything is rated");
  byId("submit", HTMLButtonElement).disabled = missing > 0 || !isOpen;
  places.forEach((place) => byId(`place-${place}`, HTMLElement).classList.toggle("done", isComplete(place)));
}

/** @param {number} n */
function go(n) {
  current = Math.min(Math.max(n, 0), places.length - 1);
  const there = byId(`place-${places[current]}`, HTMLElement);
  there.scrollIntoView({ block: "start" });
  there.focus();
}

const isWhole = places.length === 1 && places[0] === "whole";
fill(
  byId("answers", HTMLElement),
  ...answers.map((answer) => {
    const place = String(answer.turn_index);
    const item = element(
      "li",
      isWhole ? {} : { id: `place-${place}`, tabindex: "-1" },
      element("p", { class: "asked-text" }, `${answer.turn_index + 1}. ${answer.question}`),
      ...(answer.options ?? []).map((option) => element("p", { class: "small" }, `– ${option}`)),
      ...answer.references.map((text) => element("p", { class: "reference" }, `Reference: ${text}`)),
      element("p", { class: "answer" }, answer.answer),
    );
    if (!isWhole) item.append(...criteria.map((criterion) => drawCriterion(place, criterion)), drawNote(place));
    return item;
  }),
);
if (isWhole) {
  byId("whole", HTMLElement).append(
    element("section", { id: "place-whole", tabindex: "-1" }, ...criteria.map((one) => drawCriterion("whole", one)), drawNote("whole")),
  );
}
byId("submit", HTMLButtonElement).addEventListener("click", () => void handIn(path, outbox));
const digits = Array.from({ length: 10 }, (_, n) => `${n}`);
const keys = new Keys([
  { name: "mark", label: "Give the next criterion this mark", group: "Rate", keys: digits, range: "0–9", act: giveByKey },
  { name: "next", label: "Next answer", group: "Rate", keys: ["j"], act: () => go(current + 1) },
  { name: "previous", label: "Answer before", group: "Rate", keys: ["k"], act: () => go(current - 1) },
  { name: "submit", label: "Submit", group: "Rate", keys: ["f"], act: () => void handIn(path, outbox) },
  ...videoActions(playback),
  { name: "keys", label: "This page of keys", group: "Video", keys: ["?"], act: () => keys.open() },
]);
byId("show-keys", HTMLButtonElement).addEventListener("click", () => keys.open());
tell();
