// @ts-check
/** Shows the versions of two windows next to the draft, and lets the person choose. */

import { button, changes, element, fill } from "./elements.js";

/** @typedef {"mine" | "theirs" | "edit"} Choice */
/** @typedef {[string, string][]} Lines A version as labelled lines. */

/**
 * @param {HTMLDialogElement} dialog
 * @param {{name: string, draft: Lines, mine: Lines, theirs: Lines}} versions `name`: name of the place, as `Turn 2`.
 * @returns {Promise<Choice>} Escape gives `edit`, which loses nothing.
 */
export function askWhich(dialog, { name, draft, mine, theirs }) {
  return new Promise((resolve) => {
    /** @type {Choice} */
    let choice = "edit";
    const choose = (/** @type {Choice} */ chosen) => () => {
      choice = chosen;
      dialog.close();
    };
    // The heading gets the focus, so that somebody who is typing presses no button.
    const heading = element("h2", { id: "merge-title", tabindex: "-1" }, `${name} was saved elsewhere too`);
    fill(
      dialog,
      heading,
      element(
        "p",
        {},
        "Another window saved it while you typed here. Nothing is lost: choose the version to keep. The other one stays in the history.",
      ),
      element("div", { class: "scroll" }, table(draft, theirs, mine)),
      element(
        "p",
        { class: "actions" },
        button("Take mine", choose("mine")),
        button("Take theirs", choose("theirs")),
        button("Edit, starting from mine", choose("edit"), { class: "quiet" }),
      ),
    );
    dialog.addEventListener("close", () => resolve(choice), { once: true });
    if (!dialog.open) dialog.showModal();
    heading.focus();
  });
}

/** @param {Lines} draft @param {Lines} theirs @param {Lines} mine */
function table(draft, theirs, mine) {
  const versions = [draft, theirs, mine].map((lines) => new Map(lines));
  const names = [...new Set(versions.flatMap((lines) => [...lines.keys()]))];
  const [inDraft, inTheirs, inMine] = versions;
  const rows = names
    .map((name) => ({ name, draft: inDraft.get(name) ?? "", theirs: inTheirs.get(name) ?? "", mine: inMine.get(name) ?? "" }))
    .filter((row) => row.theirs !== row.mine);
  return element(
    "table",
    { class: "versions" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["", "Draft", "Theirs: saved elsewhere", "Mine: typed here"].map((text) => element("th", { scope: "col" }, text)),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, row.name),
          element("td", { "data-label": "Draft" }, row.draft || nothing()),
          element("td", { "data-label": "Theirs" }, row.theirs ? changes(row.draft, row.theirs) : nothing()),
          element("td", { "data-label": "Mine" }, row.mine ? changes(row.draft, row.mine) : nothing()),
        ),
      ),
    ),
  );
}

function nothing() {
  return element("span", { class: "soft" }, "nothing");
}
