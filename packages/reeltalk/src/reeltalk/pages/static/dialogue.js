// Keys on a page of a dialogue, and jumps into its video. The page reads well without them.
"use strict";

(() => {
  const framed = window !== parent;
  const turns = [...document.querySelectorAll("section.turn")];
  const video = document.querySelector("video[data-begins]");
  const jump = (from, to) => {
    const begins = Number(video.dataset.begins);
    const play = () => { video.currentTime = Math.max(0, from - begins); video.play().catch(() => {}); };
    video.dataset.until = to > from ? to - begins : "";
    if (video.readyState) play(); else { video.addEventListener("loadedmetadata", play, { once: true }); video.load(); }
  };
  if (video) {
    video.addEventListener("timeupdate", () => {
      if (video.dataset.until && video.currentTime >= Number(video.dataset.until)) { video.dataset.until = ""; video.pause(); }
    });
    for (const link of document.querySelectorAll("[data-from]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); jump(Number(link.dataset.from), Number(link.dataset.to)); });
    }
  }
  // Which turn the reader is at: the last one whose head is above the upper third of the window.
  const at = () => framed ? turns.findIndex((turn) => `#${turn.id}` === location.hash) : turns.findLastIndex((turn) => turn.getBoundingClientRect().top < innerHeight / 3 - 1);
  const go = (place) => {
    const turn = turns[Math.min(Math.max(place, 0), turns.length - 1)];
    if (!turn) return;
    turn.tabIndex = -1;
    turn.focus({ preventScroll: true });
    turn.scrollIntoView({ block: "start" });
  };
  // The time line marks the turn that is being read.
  const rows = new Map([...document.querySelectorAll(".dialogue-line a")].map((link) => [link.getAttribute("href"), link]));
  let marked = null;
  const mark = () => {
    const row = rows.get(`#${turns[Math.max(at(), 0)]?.id}`);
    if (row === marked) return;
    marked?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    marked = row;
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
  // In the frame of the page that finds turns, only the turn of the address is shown, with its judgements open.
  if (framed) {
    document.documentElement.classList.add("framed");
    const unfold = () => {
      const turn = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      for (const folded of turn?.querySelectorAll(".judged, .answers > li > details") ?? []) folded.open = true;
    };
    unfold();
    addEventListener("hashchange", () => { unfold(); mark(); });
    const tell = () => parent.postMessage({ height: document.body.getBoundingClientRect().height }, "*");
    new ResizeObserver(tell).observe(document.body);
  }
  const follow = (selector) => document.querySelector(selector)?.click();
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, video")) return;
    if (framed) { parent.postMessage({ key: event.key }, "*"); return; }
    const keys = {
      j: () => go(turns.indexOf(document.activeElement) >= 0 ? turns.indexOf(document.activeElement) + 1 : at() + 1),
      k: () => go((turns.indexOf(document.activeElement) >= 0 ? turns.indexOf(document.activeElement) : at()) - 1),
      n: () => follow("a[rel=next]"),
      p: () => follow("a[rel=prev]"),
      "/": () => follow('nav.site a[href$="turns.html"]'),
      u: () => follow("nav.pages span:nth-child(2) a"),
      "?": () => { const list = document.querySelector("details.read"); list.open = !list.open; list.scrollIntoView({ block: "nearest" }); },
    };
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });
})();
