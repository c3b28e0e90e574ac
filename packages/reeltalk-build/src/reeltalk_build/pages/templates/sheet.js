"use strict";

// Keeps what is filled in on this machine, and saves it as the table that `reeltalk construct --apply` reads.
const form = document.getElementById("sheet");
const done = document.getElementById("done");
const columns = document.currentScript.dataset.columns.split(" ");
const kept = `reeltalk sheet ${form.dataset.name} ${[...form.querySelectorAll("[data-item]")].map((unit) => unit.dataset.item).join("").slice(0, 200)}`;

function quoted(cell) {
  return `"${String(cell ?? "").replaceAll('"', '""')}"`;
}

function filled() {
  return Object.fromEntries(new FormData(form));
}

function show() {
  const cells = filled();
  const judged = Object.keys(cells).filter((name) => columns.includes(name.split(" ")[1]) && cells[name]).length;
  const all = form.querySelectorAll("[data-item]").length * columns.length;
  done.textContent = `${judged} of ${all} filled in`;
}

for (const [name, value] of Object.entries(JSON.parse(localStorage.getItem(kept) ?? "{}"))) {
  for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
    if (field.type === "radio") field.checked = field.value === value;
    else field.value = value;
  }
}
show();
form.addEventListener("input", () => {
  localStorage.setItem(kept, JSON.stringify(filled()));
  show();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const cells = filled();
  const rows = [["item", ...columns, "reader", "note"]];
  for (const unit of form.querySelectorAll("[data-item]")) {
    const item = unit.dataset.item;
    rows.push([item, ...columns.map((column) => cells[`${item} ${column}`]), cells.reader, cells[`${item} note`]]);
  }
  const text = rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `sheet-${cells.reader.replace(/[^\p{L}\p{N}-]+/gu, "-")}.csv`;
  link.click();
});
