// Finds turns among all of a report. What is filtered by lies in data/turns-*.js, words are loaded as they are shown.
"use strict";

(async () => {
  const form = document.getElementById("finder");
  const results = document.getElementById("results");
  const list = document.getElementById("found");
  const count = document.getElementById("count");
  const page = document.getElementById("page");
  const back = document.getElementById("back");
  const on = document.getElementById("on");
  const rows_a_page = 25;
  const classes = 8;
  // Places in a row of data/turns-*.js, as column_row in finder.py writes it.
  const [UNIT, PART, NUMBER, ANCHOR, TASK, LABELS, QUESTION, STATES, CREDITS, UNSCORED, SPREADS] = Array(11).keys();
  const field = (name) => form.elements[name];
  const value = (name) => field(name)?.value ?? "";
  let told, rows, units, players;
  let texts = null;
  let found = [];
  let at = 0;

  const letter = (index) => {
    let letters = "";
    for (let rest = index + 1; rest; rest = Math.floor((rest - 1) / 26)) letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    return letters;
  };
  const key = (index) => reeltalk.element("span", { class: `key m${index % classes}` }, letter(index));
  // The credit above which an answer is right, in thousandths.
  const above = () => Math.round(10 * Number(value("t") || form.dataset.right));
  const folded = (text) => text.toLowerCase();
  const href = (row) => {
    const file = units[row[UNIT]][1];
    const name = row[PART] ? `${file.slice(0, -5)}.part${row[PART]}.html` : file;
    return `dialogues/${name}#turn-${row[NUMBER]}${row[ANCHOR]}`;
  };
  const words = async (place) => {
    const slice = told.words.findLastIndex((first) => first <= place);
    return (await reeltalk.load(`words-${slice}`))[place - told.words[slice]];
  };

  // A test of one row for what is chosen under Show.
  const test_of = (show) => {
    const by = Number(value("by") || 0);
    const from = above();
    const only = value("m");
    const models = only === "" ? told.models.map((_, index) => index) : [Number(only)];
    const given = (row, index) => row[CREDITS][by]?.[index] ?? -1;
    const judged = only === "" ? players : models;
    const of_players = (row) => judged.map((index) => given(row, index)).filter((credit) => credit >= 0);
    const tests = {
      all: () => true,
      "right-wrong": (row) => {
        const [a, b] = [given(row, Number(value("a"))), given(row, Number(value("b")))];
        return a > from && b >= 0 && b <= from;
      },
      right: (row) => { const all = of_players(row); return all.length > 0 && all.every((credit) => credit > from); },
      wrong: (row) => { const all = of_players(row); return all.length > 0 && all.every((credit) => credit <= from); },
      split: (row) => { const all = of_players(row); return all.some((credit) => credit > from) && all.some((credit) => credit <= from); },
      judges: (row) => models.some((index) => {
        const [x, y] = [row[CREDITS][Number(value("x"))]?.[index] ?? -1, row[CREDITS][Number(value("y"))]?.[index] ?? -1];
        return x >= 0 && y >= 0 && (x > from) !== (y > from);
      }),
      spread: (row) => models.some((index) => (row[SPREADS][index] ?? 0) >= Math.max(1, Math.round(10 * Number(value("s"))))),
      unscored: (row) => row[UNSCORED].some(([model]) => models.includes(model)),
      failed: (row) => models.some((index) => "fn".includes(row[STATES][index])),
      empty: (row) => models.some((index) => "e-".includes(row[STATES][index]) && !told.silent.has(index)),
    };
    return tests[show] ?? tests.all;
  };

  const filter = async () => {
    const test = test_of(value("show"));
    const [task, label] = [value("task"), value("label")];
    const wanted = folded(value("q").trim());
    if (wanted && field("answers").checked && !texts) {
      count.textContent = "reading all answers …";
      texts = (await reeltalk.all("words", told.words.length)).map(([reference, answers]) => folded([reference, ...answers].join("\n")));
    }
    const searched = wanted && field("answers").checked ? texts : null;
    found = [];
    rows.forEach((row, place) => {
      if (task !== "" && row[TASK] !== Number(task)) return;
      if (label !== "" && !row[LABELS].includes(Number(label))) return;
      if (!test(row)) return;
      if (wanted) {
        const unit = units[row[UNIT]];
        row.text ??= folded(`${row[QUESTION]}\n${unit[0]}\n${unit[2]}\n${unit[3]}`);
        if (!row.text.includes(wanted) && !searched?.[place].includes(wanted)) return;
      }
      found.push(place);
    });
  };

  // Whose words to show: those compared, or all where there are few.
  const quoted = () => {
    if (value("show") === "right-wrong") return [...new Set([Number(value("a")), Number(value("b"))])];
    if (value("m") !== "" && !field("m").closest("p").hidden) return [Number(value("m"))];
    return told.models.map((_, index) => index).filter((index) => !told.silent.has(index)).slice(0, 8);
  };

  const marks = (row, from) => {
    const line = reeltalk.element("p", { class: "marks" });
    const measures = value("show") === "judges" ? [Number(value("x")), Number(value("y"))] : [Number(value("by") || 0)];
    told.models.forEach((_, index) => {
      const credits = measures.map((measure) => row[CREDITS][measure]?.[index] ?? -1);
      if (credits.every((credit) => credit < 0)) return;
      const mark = reeltalk.element("span", {}, key(index));
      credits.forEach((credit) => {
        mark.append(credit < 0 ? reeltalk.element("span", { class: "soft" }, "– ")
          : reeltalk.element("span", { class: credit > from ? "right" : "wrong" }, `${(credit / 10).toFixed(1)} % `));
      });
      line.append(mark);
    });
    return line;
  };

  const item = (place) => {
    const row = rows[place];
    const unit = units[row[UNIT]];
    const from = above();
    const made = reeltalk.element("li", {},
      reeltalk.element("p", {}, reeltalk.element("a", { href: href(row), class: "asked", dir: "auto" }, row[QUESTION] || "(no question)")),
      reeltalk.element("p", { class: "soft small" }, `${unit[0]}, turn ${row[NUMBER]} · video ${unit[2]}`));
    if (unit[4]) made.prepend(reeltalk.element("img", { src: unit[4], alt: "", loading: "lazy" }));
    made.append(marks(row, from));
    for (const [model, title, why] of row[UNSCORED]) {
      if (value("show") !== "unscored") break;
      made.append(reeltalk.element("p", { class: "small" }, key(model), " ", reeltalk.element("span", { class: "unscored" }, `${title}: ${why}`)));
    }
    const said = reeltalk.element("div", { class: "said-by" });
    made.append(said);
    words(place).then(([reference, answers]) => {
      if (reference) said.append(reeltalk.element("p", { class: "soft" }, "Reference: ", reeltalk.element("span", { dir: "auto" }, reference)));
      for (const index of quoted()) {
        const states = { f: "failed", n: "not asked", h: "not scored", e: "empty answer", "-": "no answer in the run" };
        const state = states[row[STATES][index]];
        said.append(reeltalk.element("p", {}, key(index), state ? reeltalk.element("span", { class: "unscored" }, `${state} `) : "", reeltalk.element("span", { dir: "auto" }, answers[index] ?? "")));
      }
    }).catch((error) => said.append(reeltalk.element("p", { class: "warn" }, error.message)));
    return made;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(found.length / rows_a_page));
    at = Math.min(Math.max(at, 0), pages - 1);
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} turns`;
    page.textContent = pages > 1 ? `page ${at + 1} of ${pages.toLocaleString("en")}` : "";
    back.disabled = at === 0;
    on.disabled = at + 1 >= pages;
    list.start = at * rows_a_page + 1;
    list.replaceChildren(...found.slice(at * rows_a_page, (at + 1) * rows_a_page).map(item));
  };

  const remember = () => {
    const kept = new URLSearchParams();
    for (const each of form.elements) {
      if (!each.name || each.closest("p").hidden) continue;
      const now = each.type === "checkbox" ? (each.checked ? "1" : "") : each.value;
      if (now !== (each.dataset.first ?? "")) kept.set(each.name, now);
    }
    if (at) kept.set("page", at + 1);
    const hash = kept.toString();
    history.replaceState(null, "", hash ? `${location.pathname}#${hash}` : location.pathname);
  };
  // Filters of the address: after # or ?, by name or by place; `model` is another word for `m`.
  const recall = () => {
    const kept = new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search);
    if (kept.has("model")) kept.set("m", kept.get("model"));
    for (const each of form.elements) {
      if (!each.name) continue;
      let now = kept.get(each.name) ?? each.dataset.first ?? "";
      if (each.localName === "select") now = [...each.options].find((option) => option.dataset.name === now)?.value ?? now;
      if (each.type === "checkbox") each.checked = now === "1"; else each.value = now;
      // An address may name what is not there.
      if (each.localName === "select" && each.selectedIndex < 0) each.value = each.dataset.first;
    }
    at = Math.max(0, (Number(kept.get("page")) || 1) - 1);
  };
  const offer = () => {
    for (const each of form.querySelectorAll("[data-for]")) each.hidden = !each.dataset.for.split(" ").includes(value("show"));
  };
  let asked = 0;
  const apply = async (keep) => {
    const mine = ++asked;
    offer();
    if (!keep) at = 0;
    try {
      await filter();
    } catch (error) {
      count.textContent = error.message;
      return;
    }
    if (mine !== asked) return;
    draw();
    remember();
  };
  const step = (by) => { at += by; draw(); remember(); results.scrollIntoView({ block: "start" }); };

  form.hidden = results.hidden = false;
  count.textContent = "reading …";
  try {
    told = await reeltalk.load("finder");
    [rows, units] = await Promise.all([reeltalk.all("turns", told.turns), reeltalk.all("units", told.units)]);
  } catch (error) {
    form.hidden = true;
    count.textContent = error.message;
    return;
  }
  players = told.models.map((_, index) => index).filter((index) => !told.models[index][1]);
  told.silent = new Set(told.models.map((_, index) => index).filter((index) => rows.every((row) => row[STATES][index] === "-")));
  if (field("b")?.options.length > 1) field("b").selectedIndex = 1;
  for (const each of form.elements) if (each.type !== "checkbox") each.dataset.first = each.value;
  recall();
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => apply(false));
  back.addEventListener("click", () => step(-1));
  on.addEventListener("click", () => step(1));
  addEventListener("hashchange", () => { recall(); apply(true); });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const links = [...list.querySelectorAll("a.asked")];
    const place = links.indexOf(document.activeElement);
    const keys = {
      "/": () => field("q").focus(),
      j: () => links[Math.min(place + 1, links.length - 1)]?.focus(),
      k: () => links[Math.max(place - 1, 0)]?.focus(),
      n: () => { if (!on.disabled) step(1); },
      p: () => { if (!back.disabled) step(-1); },
      "?": () => { const help = document.querySelector("details.read"); help.open = !help.open; help.scrollIntoView({ block: "nearest" }); },
    };
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });
  apply(true);
})();
