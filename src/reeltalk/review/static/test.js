// @ts-check
/** The test: one question after the other; what was given stands, and nothing after a question's moment is shown. */

import { byId, clock, element, fill } from "./elements.js";
import { Keys } from "./keys.js";
import { handIn, notice, openWork, say, videoActions } from "./opening.js";
import { ask } from "./workapi.js";

/** @typedef {{question: string, options: string[] | null, until_s: number | null}} Question */
/** @typedef {{text: string, choice: number | null, given: boolean}} Answer */

const { work, path, outbox, playback } = await openWork();
/** @type {Question[]} */
let questions = work.unit.content.turns;
/** @type {number} */
const count = work.unit.content.count;
const isOpen = work.assignment.state !== "submitted";
await outbox.open(Object.fromEntries(Object.entries(work.entries).map(([place, entry]) => [place, entry.revision])));
/** @type {Answer[]} */
const answers = [];

/** @param {any} entries */
function take(entries) {
  answers.length = 0;
  questions.forEach((_, n) => {
    const found = outbox.typed(String(n)) ?? entries[n]?.value;
    answers.push({ text: found?.text ?? "", choice: found?.choice ?? null, given: found?.given ?? false });
  });
}

/** The question to be answered; as many as there are once all are. */
function current() {
  const at = answers.findIndex(({ given }) => !given);
  return at < 0 ? count : at;
}

/** @param {Question} question @param {Answer} answer */
function words(question, answer) {
  return question.options && answer.choice !== null ? question.options[answer.choice] : answer.text;
}

function draw() {
  const at = current();
  const before = questions.slice(0, at).map((question, n) =>
    element("li", {}, element("p", { class: "asked-text" }, `${n + 1}. ${question.question}`), element("p", {}, words(question, answers[n]))),
  );
  fill(byId("before", HTMLElement), ...before);
  const done = at >= count;
  byId("give", HTMLButtonElement).hidden = done || !isOpen;
  byId("submit", HTMLButtonElement).hidden = !done || !isOpen;
  fill(byId("left", HTMLElement), done ? `All ${count} questions are answered` : `Question ${at + 1} of ${count}`);
  const question = questions[at];
  const until_s = question?.until_s ?? null;
  const stream = work.unit.content.mode === "streaming";
  const bound = until_s === null ? "You may watch the whole video." : `You may watch up to ${clock(until_s)}.`;
  fill(byId("until", HTMLElement), done ? "" : stream ? `The question comes while the video plays. ${bound}` : bound);
  fill(byId("asking", HTMLElement), !done && element("p", { class: "now", id: "now" }, question.question), !done && drawFields(question, at));
}

/** @param {Question} question @param {number} at */
function drawFields(question, at) {
  const answer = answers[at];
  const keep = () => outbox.put(String(at), { ...answer });
  if (question.options) {
    const choices = question.options.map((option, n) => {
      const input = element("input", { type: "radio", name: "choice", value: n, checked: answer.choice === n });
      input.addEventListener("change", () => {
        answer.choice = n;
        keep();
      });
      return element("label", {}, input, option);
    });
    return element("div", { class: "choices", role: "radiogroup", "aria-labelledby": "now" }, ...choices);
  }
  const area = element("textarea", { rows: 3, "aria-labelledby": "now", id: "answer" });
  area.value = answer.text;
  area.addEventListener("input", () => {
    answer.text = area.value;
    keep();
  });
  return area;
}

async function give() {
  const at = current();
  if (at >= count || !isOpen) return;
  const answer = answers[at];
  if (questions[at].options ? answer.choice === null : !answer.text.trim()) {
    notice(questions[at].options ? "Choose one of the options." : "Write an answer; that you do not know is one too.");
    return;
  }
  notice("");
  outbox.put(String(at), { ...answer, given: true }, { now: true });
  if (!(await outbox.settle())) {
    notice("The answer is kept in this browser and sent as soon as the server can be reached.");
    return;
  }
  const fresh = await ask(path);
  questions = fresh.unit.content.turns;
  take(fresh.entries);
  draw();
  say(current() < count ? `Question ${current() + 1}` : "All questions are answered");
  document.getElementById("answer")?.focus();
}

/** Keeps the video from showing what comes after the question. */
function holdBack() {
  const until_s = questions[current()]?.until_s ?? null;
  if (until_s === null || playback.time_s <= until_s) return;
  playback.player.pause();
  void playback.seek(until_s);
}

take(work.entries);
draw();
playback.addEventListener("moved", holdBack);
byId("give", HTMLButtonElement).addEventListener("click", () => void give());
byId("submit", HTMLButtonElement).addEventListener("click", () => void handIn(path, outbox));
const keys = new Keys([
  { name: "give", label: "Give the answer", group: "Answer", keys: ["Ctrl+Enter"], act: () => void give() },
  { name: "answer", label: "Write", group: "Answer", keys: ["w"], act: () => document.getElementById("answer")?.focus() },
  { name: "leave", label: "Leave the field", group: "Answer", keys: ["Escape"], act: () => /** @type {HTMLElement | null} */ (document.activeElement)?.blur() },
  { name: "submit", label: "Hand the test in", group: "Answer", keys: ["f"], act: () => void (current() >= count && handIn(path, outbox)) },
  ...videoActions(playback),
  { name: "keys", label: "This page of keys", group: "Video", keys: ["?"], act: () => keys.open() },
]);
byId("show-keys", HTMLButtonElement).addEventListener("click", () => keys.open());
