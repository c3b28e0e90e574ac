// Sorting and filtering. Every page reads well without them.
"use strict";

for (const table of document.querySelectorAll("table[data-sortable]")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") !== "descending";
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const order = (first, second) => {
        const [a, b] = [key(first), key(second)];
        // Cells without a number stay last whichever way one sorts.
        if (a === "" || b === "") return (a === "") - (b === "");
        const difference = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
        return down ? -difference : difference;
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(order));
    });
  });
}

for (const filter of document.querySelectorAll("input[data-filters]")) {
  const list = document.getElementById(filter.dataset.filters);
  const count = document.getElementById(`${filter.dataset.filters}-count`);
  filter.hidden = false;
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const item of list.children) {
      item.hidden = !item.textContent.toLowerCase().includes(wanted);
      shown += item.hidden ? 0 : 1;
    }
    count.textContent = `${shown} shown`;
  });
}
