// Hides the entries and rows of a search page that do not have all the words that are typed.
const field = document.getElementById("find");
const entries = field ? [...document.querySelectorAll("details.entry")].map((element) => ({
  element,
  head: element.querySelector("summary").textContent.toLowerCase(),
  rows: [...element.querySelectorAll("dl > div, tbody > tr")].map((row) => [row, row.textContent.toLowerCase()]),
  text: element.textContent.toLowerCase(),
})) : [];

function find() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { element, head, rows, text } of entries) {
    const has = (where) => words.every((word) => where.includes(word));
    const matching = rows.filter(([, row]) => has(`${head} ${row}`));
    const isShown = has(text);
    element.hidden = !isShown;
    // With no row of its own that matches, the entry as a whole is what was looked for.
    const all = !matching.length || has(head);
    for (const [row, of] of rows) row.hidden = !all && !has(`${head} ${of}`);
    for (const group of element.querySelectorAll(".group")) group.hidden = !all;
    if (isShown) shown += 1;
    element.open = words.length > 0 && isShown && !has(head);
  }
  const first = entries.filter(({ element }) => !element.hidden);
  if (words.length && first.length === 1) first[0].element.open = true;
  document.getElementById("found").textContent = `${shown} ${shown === 1 ? "entry" : "entries"}`;
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.matches("details.entry")) {
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  }
}

if (field) {
  field.addEventListener("input", find);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      document.querySelector("details.entry:not([hidden]) > summary")?.focus();
    }
  });
  addEventListener("hashchange", openTarget);
  openTarget();
}
