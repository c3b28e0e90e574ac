// @ts-check
/**
 * Two chains side by side with lines for their links. On a narrow screen one chain is below the other, and the list of
 * links replaces the lines.
 *
 *     const board = new LinkBoard(place, pair, relations);
 *     board.addEventListener("pick", ({detail}) => …);     // {side, turn}
 *     board.addEventListener("select", ({detail}) => …);   // {place}
 *     board.draw({links: [{place, value}], current: "2-0", picking: null});
 */

import { button, clock, element, fill } from "./elements.js";
import { endsOf } from "./linkvalue.js";

/** @typedef {import("./linkvalue.js").Pair} Pair */
/** @typedef {import("./linkvalue.js").Chain} Chain */
/** @typedef {import("./linkvalue.js").LinkValue} LinkValue */
/** @typedef {"before" | "after"} Side */
/** @typedef {{side: Side, at: number, source: number | null, target: number | null}} Picking The side of the next turn, and the turns that were picked. */
/** @typedef {{place: string, value: LinkValue}} Drawn */

const SVG = "http://www.w3.org/2000/svg";
const SIDES = /** @type {const} */ (["before", "after"]);

export class LinkBoard extends EventTarget {
  /** @param {HTMLElement} place @param {Pair} pair @param {string[]} relations In the order of their colours. */
  constructor(place, pair, relations) {
    super();
    this._place = place;
    this._pair = pair;
    this._relations = relations;
    /** @type {{links: Drawn[], current: string | null, picking: Picking | null}} */
    this._shown = { links: [], current: null, picking: null };
    this._lines = document.createElementNS(SVG, "svg");
    this._lines.setAttribute("class", "lines");
    this._lines.setAttribute("aria-hidden", "true");
    fill(place, this._chain("before"), this._chain("after"), this._lines);
    new ResizeObserver(() => this._drawLines()).observe(place);
  }

  /** @param {{links: Drawn[], current: string | null, picking: Picking | null}} shown */
  draw(shown) {
    this._shown = shown;
    const ends = shown.current ? endsOf(shown.current) : null;
    SIDES.forEach((side, n) => {
      this._turns(side).forEach((turn, index) => {
        const { picking } = shown;
        const picked = picking && (side === "before" ? picking.source : picking.target) === index;
        turn.classList.toggle("current", !picking && ends?.[n] === index);
        turn.classList.toggle("picked", Boolean(picked));
        turn.classList.toggle("at", picking?.side === side && picking.at === index);
        turn.classList.toggle("open", picking?.side === side);
        turn.querySelector(".pick")?.setAttribute("aria-pressed", String(Boolean(picked)));
      });
    });
    this._drawLines();
  }

  /**
   * Scrolls to a turn. If one chain is below the other, the page does not scroll, since people look at the link.
   * @param {Side} side @param {number} index @param {boolean} [always]
   */
  reveal(side, index, always = false) {
    if (!always && this._lines.getBoundingClientRect().width === 0) return;
    this._turns(side)[index]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {Side} side @returns {Element[]} */
  _turns(side) {
    return [...this._place.querySelectorAll(`.chain.${side} > ol > li`)];
  }

  /** @param {Side} side */
  _chain(side) {
    const chain = this._pair[side];
    const [clip] = chain.clips;
    const name = side === "before" ? "Earlier chain" : "Later chain";
    const title = element("h3", { id: `chain-${side}` }, name, " ");
    if (clip) title.append(element("span", { class: "soft small" }, `${clock(clip.start_s)}–${clock(clip.end_s)}`));
    return element(
      "section",
      { class: `chain ${side}`, "aria-labelledby": `chain-${side}` },
      title,
      element("ol", {}, ...chain.turns.map((turn, n) => this._turn(side, turn, n))),
    );
  }

  /** @param {Side} side @param {import("./linkvalue.js").Turn} turn @param {number} n */
  _turn(side, turn, n) {
    const pick = button(`${n + 1}`, () => this._pick(side, n), {
      class: "pick second",
      "aria-pressed": "false",
      "aria-label": `Turn ${n + 1} of the ${side === "before" ? "earlier" : "later"} chain: ${turn.question}`,
    });
    const start_s = turn.evidence?.[0]?.start_s;
    const time =
      start_s !== undefined &&
      button(clock(start_s), () => this.dispatchEvent(new CustomEvent("seek", { detail: { time_s: start_s } })), {
        class: "quiet time",
        "aria-label": `Go to ${clock(start_s)}`,
      });
    const made = element(
      "li",
      {},
      pick,
      element(
        "div",
        { class: "said" },
        element("p", { class: "asked-text" }, turn.question),
        element("p", { class: "answer-text" }, turn.references?.[0] ?? "", " ", time),
      ),
    );
    // The mouse can click the whole turn; the keyboard uses its button.
    made.addEventListener("click", ({ target }) => {
      if (!(target instanceof Element && target.closest("button"))) this._pick(side, n);
    });
    return made;
  }

  /** @param {Side} side @param {number} turn */
  _pick(side, turn) {
    this.dispatchEvent(new CustomEvent("pick", { detail: { side, turn } }));
  }

  _drawLines() {
    const { links, current, picking } = this._shown;
    const box = this._place.getBoundingClientRect();
    this._lines.setAttribute("width", String(box.width));
    this._lines.setAttribute("height", String(box.height));
    // The shown link is drawn last, above all others.
    const order = [...links].sort((one, other) => Number(one.place === current) - Number(other.place === current));
    const drawn = order.flatMap((link) => this._line(link, link.place === current && !picking, box));
    this._lines.replaceChildren(...drawn);
  }

  /** @param {Drawn} link @param {boolean} isCurrent @param {DOMRect} box */
  _line({ place, value }, isCurrent, box) {
    const [source, target] = endsOf(place);
    const from = this._turns("before")[source]?.querySelector(".pick")?.getBoundingClientRect();
    const to = this._turns("after")[target]?.querySelector(".pick")?.getBoundingClientRect();
    if (!from || !to) return [];
    const [x1, x2] = [from.right - box.left, to.left - box.left];
    const [y1, y2] = [(from.top + from.bottom) / 2 - box.top, (to.top + to.bottom) / 2 - box.top];
    const bend = (x2 - x1) / 2;
    const d = `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`;
    const kind = `r${this._relations.indexOf(value.relations[0]) + 1}`;
    const parts = [kind, value.decision ?? "undecided", isCurrent ? "current" : ""];
    const line = path(d, `line ${parts.join(" ")}`);
    const hit = path(d, "hit");
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${source + 1} → ${target + 1}: ${value.relations.join(", ") || "no relation yet"}`;
    hit.append(title);
    hit.addEventListener("click", () => this.dispatchEvent(new CustomEvent("select", { detail: { place } })));
    if (!isCurrent || !value.relations.length) return [line, hit];
    const text = document.createElementNS(SVG, "text");
    text.setAttribute("x", String((x1 + x2) / 2));
    text.setAttribute("y", String((y1 + y2) / 2 - 7));
    text.setAttribute("class", `relation-name ${kind}`);
    text.textContent = value.relations.join(", ");
    return [line, hit, text];
  }
}

/** @param {string} d @param {string} kind */
function path(d, kind) {
  const made = document.createElementNS(SVG, "path");
  made.setAttribute("d", d);
  made.setAttribute("class", kind);
  return made;
}
