// Sorting, filtering and opening what a link points into. Every page reads well without them.
"use strict";

for (const table of document.querySelectorAll("table[data-sortable]")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...[...header.childNodes].filter((node) => !(node.classList?.contains("warn") || node.classList?.contains("scale"))));
    header.prepend(button);
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    button.addEventListener("click", () => {
      // Scores are wanted from the highest down, names from the first up.
      const first = header.classList.contains("number") ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      const order = header.getAttribute("aria-sort") === first ? other : first;
      headers.forEach((each) => each.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", order);
      const compare = (one, two) => {
        const [a, b] = [key(one), key(two)].map((text) => (text === "–" ? "" : text.replaceAll(",", "")));
        // Cells without a number stay last whichever way one sorts.
        if (a === "" || b === "") return (a === "") - (b === "");
        const difference = isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b;
        return order === "descending" ? -difference : difference;
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(compare));
    });
  });
}

for (const filter of document.querySelectorAll("input[data-filters]")) {
  const list = document.getElementById(filter.dataset.filters);
  const count = document.getElementById(`${filter.dataset.filters}-count`);
  const items = [...list.children].map((item) => [item, `${item.cells[0].textContent} ${item.cells[1].textContent}`]);
  filter.closest("[hidden]").hidden = false;
  const apply = () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const [item, text] of items) {
      item.hidden = !text.toLowerCase().includes(wanted);
      shown += item.hidden ? 0 : 1;
    }
    count.textContent = wanted ? `${shown} of ${items.length}` : "";
  };
  filter.addEventListener("input", apply);
  // A browser that goes back fills the box in again.
  addEventListener("pageshow", apply);
}

// The menu of other pages closes when the reader goes on elsewhere.
const menu = document.querySelector("nav.site details");
if (menu) {
  addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  addEventListener("keydown", (event) => { if (event.key === "Escape") menu.open = false; });
}

const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded && !folded.open) {
    folded.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", open);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
open();
