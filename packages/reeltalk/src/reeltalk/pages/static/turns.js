// Filters, sorts and opens the turns of a report. What is filtered by lies in data/turns-*.js; words are loaded as they
// are shown, and a turn that is opened in place is shown by the page of its dialogue, in a frame.
"use strict";

(async () => {
  const form = document.getElementById("finder");
  const results = document.getElementById("results");
  const list = document.getElementById("found");
  const count = document.getElementById("count");
  const page = document.getElementById("page");
  const back = document.getElementById("back");
  const on = document.getElementById("on");
  const copy = document.getElementById("copy");
  const rows_a_page = 25;
  const classes = 8;
  // Places in a row of data/turns-*.js, as column_row in finder.py writes it.
  const [UNIT, PART, NUMBER, ANCHOR, TASK, LABELS, QUESTION, STATES, CREDITS, UNSCORED, SPREADS] = Array(11).keys();
  const field = (name) => form.elements[name];
  const value = (name) => field(name)?.value ?? "";
  let told, rows, units, players, videos;
  let texts = null;
  let found = [];
  let at = 0;
  // Place of the turn that is opened; -1 if none is.
  let opened = -1;
  // True until the page has scrolled to it.
  let landing = false;

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

  // The models, and those of them that compete; one if one is chosen and the choice is shown.
  const chosen = () => {
    const only = field("m").closest("p").hidden ? "" : value("m");
    return only === "" ? [told.models.map((_, index) => index), players] : [[Number(only)], [Number(only)]];
  };
  const credit_of = (row, index, by) => row[CREDITS][by]?.[index] ?? -1;
  const is_given = (credit) => credit >= 0;

  // A test of one row for what is chosen under Show.
  const test_of = (show) => {
    const from = above();
    const by = Number(value("by") || 0);
    const [models, judged] = chosen();
    // Read once: a look into the form for each row would take longer than all else.
    const [a, b, x, y, s] = ["a", "b", "x", "y", "s"].map((name) => Number(value(name)));
    const of_players = (row) => judged.map((index) => credit_of(row, index, by)).filter(is_given);
    const tests = {
      all: () => true,
      "right-wrong": (row) => {
        const [one, other] = [credit_of(row, a, by), credit_of(row, b, by)];
        return one > from && other >= 0 && other <= from;
      },
      right: (row) => { const all = of_players(row); return all.length > 0 && all.every((credit) => credit > from); },
      wrong: (row) => { const all = of_players(row); return all.length > 0 && all.every((credit) => credit <= from); },
      split: (row) => { const all = of_players(row); return all.some((credit) => credit > from) && all.some((credit) => credit <= from); },
      judges: (row) => models.some((index) => {
        const [one, other] = [credit_of(row, index, x), credit_of(row, index, y)];
        return one >= 0 && other >= 0 && (one > from) !== (other > from);
      }),
      spread: (row) => models.some((index) => (row[SPREADS][index] ?? 0) >= Math.max(1, Math.round(10 * s))),
      unread: (row) => models.some((index) => row[STATES][index] === "u"),
      unscored: (row) => row[UNSCORED].some(([model]) => models.includes(model)),
      failed: (row) => models.some((index) => "fn".includes(row[STATES][index])),
      empty: (row) => models.some((index) => "e-".includes(row[STATES][index]) && !told.silent.has(index)),
    };
    return tests[show] ?? tests.all;
  };

  // What rows are sorted by, the highest first; rows without it come last.
  const key_of = (order) => {
    const by = Number(value("by") || 0);
    const [show, [models, judged]] = [value("show"), chosen()];
    const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;
    const credits = (row) => judged.map((index) => credit_of(row, index, by)).filter(is_given);
    // Several models differ from each other; one model's judges do.
    const deviation = (values) => {
      const middle = mean(values);
      return values.length > 1 ? mean(values.map((each) => (each - middle) ** 2)) : -Infinity;
    };
    const judges = show === "judges" ? ["x", "y"].map((name) => Number(value(name))) : Array.from(rows[0]?.[CREDITS] ?? [], (_, judge) => judge);
    const of_judges = (row, index) => judges.map((judge) => credit_of(row, index, judge)).filter(is_given);
    const keys = {
      low: (row) => { const all = credits(row); return all.length ? -mean(all) : -Infinity; },
      high: (row) => { const all = credits(row); return all.length ? mean(all) : -Infinity; },
      apart: (row) => {
        if (show === "spread") return Math.max(...models.map((index) => row[SPREADS][index] ?? 0));
        if (show === "judges" || judged.length === 1) return Math.max(...models.map((index) => deviation(of_judges(row, index))));
        return deviation(credits(row));
      },
    };
    return keys[order];
  };
  const arrange = () => {
    const key = key_of(value("sort"));
    if (!key) return;
    const keys = new Float64Array(rows.length);
    for (const place of found) keys[place] = key(rows[place]);
    found.sort((one, other) => keys[other] - keys[one] || 0);
  };

  const filter = async () => {
    const test = test_of(value("show"));
    const [task, label] = [value("task"), value("label")];
    const video = value("v").trim();
    const exact = videos.has(video);
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
      const unit = units[row[UNIT]];
      if (video && !(exact ? unit[2] === video : unit[2].includes(video))) return;
      if (!test(row)) return;
      if (wanted) {
        row.text ??= folded(`${row[QUESTION]}\n${unit[0]}\n${unit[2]}\n${unit[3]}`);
        if (!row.text.includes(wanted) && !searched?.[place].includes(wanted)) return;
      }
      found.push(place);
    });
    arrange();
  };

  // Whose words to show: those compared, or all where there are few.
  const quoted = () => {
    if (value("show") === "right-wrong") return [...new Set([Number(value("a")), Number(value("b"))])];
    if (value("m") !== "" && !field("m").closest("p").hidden) return [Number(value("m"))];
    return told.models.map((_, index) => index).filter((index) => !told.silent.has(index)).slice(0, 8);
  };

  // How right an answer is: by a sign, and in per cent where it is neither wholly right nor wholly wrong.
  const marks = (row, index, from) => {
    const measures = value("show") === "judges" ? [value("x"), value("y")] : [value("by") || 0];
    const credits = measures.map((measure) => credit_of(row, index, Number(measure)));
    return credits.some(is_given) ? credits.map((credit) => {
      if (credit < 0) return reeltalk.element("span", { class: "soft" }, "– ");
      const right = credit > from;
      const share = credit === 1000 || credit === 0 ? "" : `${(credit / 10).toFixed(1)} % `;
      return reeltalk.element("span", { class: right ? "right" : "wrong" }, reeltalk.element("span", { class: "unseen" }, right ? "right " : "wrong "), share);
    }) : [];
  };
  const states = { f: "failed", n: "not asked", h: "not scored", e: "empty answer", u: "could not be read", "-": "no answer in the run" };

  const item = (place) => {
    const row = rows[place];
    const unit = units[row[UNIT]];
    const from = above();
    const sample = reeltalk.element("details", {}, reeltalk.element("summary", { class: "asked", dir: "auto" }, row[QUESTION] || "(no question)"));
    const made = reeltalk.element("li", { "data-place": place }, sample,
      reeltalk.element("p", { class: "soft small" }, `${unit[0]}, turn ${row[NUMBER]} · video ${unit[2]} · `, reeltalk.element("a", { href: href(row) }, "whole dialogue")));
    if (unit[4]) made.prepend(reeltalk.element("img", { src: unit[4], alt: "", loading: "lazy" }));
    for (const [model, title, why] of row[UNSCORED]) {
      if (value("show") !== "unscored") break;
      made.append(reeltalk.element("p", { class: "small" }, key(model), " ", reeltalk.element("span", { class: "unscored" }, `${title}: ${why}`)));
    }
    const said = reeltalk.element("div", { class: "said-by" });
    made.append(said);
    words(place).then(([reference, answers]) => {
      if (reference) said.append(reeltalk.element("p", { class: "soft" }, "Reference: ", reeltalk.element("span", { dir: "auto" }, reference)));
      for (const index of quoted()) {
        const state = states[row[STATES][index]];
        said.append(reeltalk.element("p", {}, key(index), ...marks(row, index, from), state ? reeltalk.element("span", { class: "unscored" }, `${state} `) : "", reeltalk.element("span", { dir: "auto" }, answers[index] ?? "")));
      }
    }).catch((error) => said.append(reeltalk.element("p", { class: "warn" }, error.message)));
    sample.addEventListener("toggle", () => {
      if (sample.open) {
        for (const other of list.querySelectorAll("details[open]")) if (other !== sample) other.open = false;
        for (const other of list.querySelectorAll("iframe")) other.remove();
        opened = place;
        made.append(reeltalk.element("iframe", { src: href(row), title: `${unit[0]}, turn ${row[NUMBER]}` }));
      } else {
        made.querySelector("iframe")?.remove();
        if (opened === place) opened = -1;
      }
      remember();
    });
    return made;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(found.length / rows_a_page));
    at = Math.min(Math.max(at, 0), pages - 1);
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} turns`;
    page.textContent = pages > 1 ? `page ${at + 1} of ${pages.toLocaleString("en")}` : "";
    back.hidden = on.hidden = pages === 1;
    back.disabled = at === 0;
    on.disabled = at + 1 >= pages;
    list.start = at * rows_a_page + 1;
    list.replaceChildren(...found.slice(at * rows_a_page, (at + 1) * rows_a_page).map(item));
    const again = list.querySelector(`[data-place="${opened}"] > details`);
    if (again) again.open = landing = true; else opened = -1;
  };

  const remember = () => {
    const kept = new URLSearchParams();
    for (const each of form.elements) {
      if (!each.name || each.closest("p").hidden) continue;
      const now = each.type === "checkbox" ? (each.checked ? "1" : "") : each.value;
      if (now !== (each.dataset.first ?? "")) kept.set(each.name, now);
    }
    if (at) kept.set("page", at + 1);
    if (opened >= 0) kept.set("open", opened + 1);
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
    opened = (Number(kept.get("open")) || 0) - 1;
  };
  const offer = () => {
    for (const each of form.querySelectorAll("[data-for]")) each.hidden = !each.dataset.for.split(" ").includes(value("show"));
    field("m").options[0].textContent = ["right", "wrong"].includes(value("show")) ? "every model" : "any model";
  };
  let asked = 0;
  const apply = async (keep) => {
    const mine = ++asked;
    offer();
    if (!keep) [at, opened] = [0, -1];
    try {
      await filter();
    } catch (error) {
      count.textContent = error.message;
      return;
    }
    if (mine !== asked) return;
    if (found.includes(opened)) at = Math.floor(found.indexOf(opened) / rows_a_page);
    draw();
    remember();
  };
  const step = (by) => { at += by; opened = -1; draw(); remember(); results.scrollIntoView({ block: "start" }); };

  // To the next or the previous question, on the next page if need be; opened if the one before was.
  const go = (by) => {
    const asked_now = () => [...list.querySelectorAll("summary")];
    const open = list.querySelector("details[open] > summary");
    const from = asked_now().indexOf(open ?? document.activeElement);
    let to = from < 0 ? 0 : from + by;
    if (to < 0 ? !back.disabled : to >= asked_now().length && !on.disabled) {
      step(by);
      to = by < 0 ? asked_now().length - 1 : 0;
    }
    const next = asked_now()[Math.min(Math.max(to, 0), asked_now().length - 1)];
    if (!next) return;
    next.focus({ preventScroll: Boolean(open) });
    if (!open) return;
    open.parentElement.open = false;
    next.parentElement.open = landing = true;
  };
  const close = () => {
    const open = list.querySelector("details[open]");
    if (open) { open.open = false; open.firstElementChild.focus(); }
  };
  const keys = {
    "/": () => field("q").focus(),
    j: () => go(1),
    k: () => go(-1),
    n: () => { if (!on.disabled) step(1); },
    p: () => { if (!back.disabled) step(-1); },
    Escape: close,
    "?": () => { const help = document.querySelector("details.read"); help.open = !help.open; help.scrollIntoView({ block: "nearest" }); },
  };

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
  players = told.models.map((_, index) => index).filter((index) => told.models[index][1]);
  if (!players.length) players = told.models.map((_, index) => index);
  videos = new Set(units.map((unit) => unit[2]));
  document.getElementById("videos").append(...[...videos].slice(0, 2000).map((each) => reeltalk.element("option", { value: each })));
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
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });
  // What the frame of an opened turn says: how high it is, and keys that were pressed in it.
  addEventListener("message", ({ source, data }) => {
    const frame = list.querySelector("iframe");
    if (!frame || source !== frame.contentWindow) return;
    if (data.height > 0) {
      frame.style.height = `${Math.ceil(data.height)}px`;
      if (landing) frame.parentElement.scrollIntoView({ block: "start" });
      landing = false;
    }
    if (Object.hasOwn(keys, data.key)) keys[data.key]();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy link"; }, 2000);
    } catch {
      // A browser may keep the clipboard from pages of plain http.
      prompt("The address of what you see:", location.href);
    }
  });
  apply(true);
})();
