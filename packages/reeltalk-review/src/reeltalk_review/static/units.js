// @ts-check
/** The table of tasks: choose all on the page, and say how many are chosen. */

const every = document.querySelector("input[data-all]");
const single = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('.units input[name="unit"]')]);
const said = document.getElementById("chosen-count");

function count() {
  const chosen = single.filter((box) => box.checked).length;
  if (said !== null) said.textContent = chosen === 0 ? "" : `${chosen} chosen`;
  if (every instanceof HTMLInputElement) {
    every.checked = chosen > 0 && chosen === single.length;
    every.indeterminate = chosen > 0 && chosen < single.length;
  }
}

if (every instanceof HTMLInputElement) {
  every.hidden = false;
  every.addEventListener("change", () => {
    for (const box of single) box.checked = every.checked;
    count();
  });
}
for (const box of single) box.addEventListener("change", count);
window.addEventListener("pageshow", count);
