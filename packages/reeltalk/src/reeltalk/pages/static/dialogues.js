// Searching and sorting a list of dialogues that has many pages. Without it the pages are read one after the other.
"use strict";

(async () => {
  const table = document.getElementById("dialogues");
  const body = document.getElementById("dialogue-rows");
  const find = document.getElementById("find");
  const count = document.getElementById("dialogue-rows-count");
  const most = 200;
  const pictured = table.classList.contains("pictured");
  const letters = [...table.tHead.rows[0].cells].slice(3).map((header) => header.textContent);
  const written = [...body.rows];
  let rows;
  let order = null;
  const read = async () => {
    if (!rows) {
      count.textContent = "reading …";
      const found = await reeltalk.all("dialogues", Number(table.dataset.shards));
      rows = found.map((row) => ({ row, text: `${row[0]} ${row[2]} ${row[5]}`.toLowerCase() }));
    }
    return rows;
  };
  const cell = (row, column) => (column < 1 ? row[0] : column < 2 ? row[2] : column < 3 ? row[3] : row[4][column - 3][2]);
  const compare = (one, two) => {
    const [a, b] = [cell(one.row, order.column), cell(two.row, order.column)];
    // Cells without a number stay last whichever way one sorts.
    if (a === null || b === null) return (a === null) - (b === null);
    const difference = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return order.down ? -difference : difference;
  };
  const line = ({ row }) => {
    const [title, file, video, turns, means, name, still] = row;
    const head = reeltalk.element("th", { scope: "row" });
    if (pictured) head.append(still ? reeltalk.element("img", { src: still, alt: "", loading: "lazy" }) : reeltalk.element("span", { class: "no-still" }));
    head.append(reeltalk.element("a", { href: `dialogues/${file}`, dir: "auto" }, title), reeltalk.element("span", { class: "id" }, name));
    const made = reeltalk.element("tr", {}, head,
      reeltalk.element("td", {}, video),
      reeltalk.element("td", { class: "number" }, String(turns)));
    means.forEach(([shown, level], place) => made.append(reeltalk.element("td", { class: `h${level}`, "data-label": letters[place] }, shown)));
    return made;
  };
  const show = async () => {
    const wanted = find.value.trim().toLowerCase();
    const steps = document.querySelectorAll("nav.steps");
    if (!wanted && !order) {
      body.replaceChildren(...written);
      steps.forEach((each) => { each.hidden = false; });
      count.textContent = "";
      return;
    }
    let found;
    try {
      found = (await read()).filter((each) => each.text.includes(wanted));
    } catch (error) {
      count.textContent = `${error.message}; the pages of the list can still be read`;
      return;
    }
    if (order) found = [...found].sort(compare);
    body.replaceChildren(...found.slice(0, most).map(line));
    steps.forEach((each) => { each.hidden = true; });
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` + (found.length > most ? `, the first ${most} shown` : "");
  };
  [...table.tHead.rows[0].cells].forEach((header, column, headers) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.prepend(button);
    button.addEventListener("click", () => {
      const number = header.classList.contains("number");
      order = order?.column === column ? { column, down: !order.down } : { column, down: number };
      headers.forEach((each) => each.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      show();
    });
  });
  find.closest("[hidden]").hidden = false;
  find.addEventListener("input", show);
  addEventListener("pageshow", () => { if (find.value) show(); });
})();
