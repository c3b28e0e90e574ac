// @ts-check
/**
 * Two chains side by side with lines for their links; a link is drawn by choosing a turn of each. On a narrow screen one
 * chain is below the other, and the strip of links replaces the lines.
 */

import { clock } from "./elements.js";
import { Act } from "./frame.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

/** @typedef {import("./links.js").Links} Links */
/** @typedef {"before" | "after"} Side */
/** @typedef {{side: Side, at: number, source: number | null, target: number | null}} Picking The side of the next turn, and the turns that were picked. */

const SIDES = /** @type {const} */ (["before", "after"]);
const NAMES = Object.freeze({ before: "earlier", after: "later" });

/** Scrolls to a turn. Where one chain is below the other, only if it is picked. @param {Side} side @param {number} index @param {boolean} [always] */
export function reveal(side, index, always = false) {
  if (!always && !document.querySelector(".lines")?.getBoundingClientRect().width) return;
  document.querySelectorAll(`.chain.${side} > ol > li`)[index]?.scrollIntoView({ block: "nearest" });
}

/** @param {{view: Links, editor: Editor}} props */
export function Board({ view, editor }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const spots = useSpots(place);
  const { picking } = view;
  return html`<section class=${`board ${picking ? "drawing" : ""}`} aria-labelledby="board-title" tabindex="0">
    <div class="board-head">
      <div class="turn-head">
        <h2 id="board-title" tabindex="-1">Two chains</h2>
        <${Act} editor=${editor} name="add" id="draw" class="second" text="Draw a link" />
      </div>
      <p id="picking" class="picking" role="status" hidden=${!picking}>${picking && pickingText(view, picking)}</p>
    </div>
    ${!view.places.length && !picking && html`<p id="no-link" class="soft">There is no link yet. Draw one: pick a turn of the earlier chain, then one of the later chain.</p>`}
    <div id="chains" class="chains" ref=${place}>
      ${SIDES.map((side) => html`<${Chain} view=${view} editor=${editor} side=${side} />`)}
      <${Lines} view=${view} editor=${editor} spots=${spots} />
    </div>
  </section>`;
}

/** @param {Links} view @param {Picking} picking */
function pickingText({ pair }, { side, at }) {
  const { turns } = pair[side];
  return html`Pick a turn of the ${NAMES[side]} chain: 1–${turns.length}, or ↑ ↓ and Enter. Esc stops.
    <span class="unseen"> Now: ${at + 1}, ${turns[at]?.question}</span>`;
}

/** @param {{view: Links, editor: Editor, side: Side}} props */
function Chain({ view, editor, side }) {
  const { clips, turns } = view.pair[side];
  const [clip] = clips;
  const { picking } = view;
  const end = editor.place ? view.endsOf(editor.place)[side === "before" ? 0 : 1] : null;
  const picked = picking && (side === "before" ? picking.source : picking.target);
  return html`<section class=${`chain ${side}`} aria-labelledby=${`chain-${side}`}>
    <h3 id=${`chain-${side}`}>${side === "before" ? "Earlier" : "Later"} chain ${clip && html`<span class="soft small">${clock(clip.start_s)}–${clock(clip.end_s)}</span>`}</h3>
    <ol>${turns.map((drafted, n) => {
      // The later turn of the link reads as it is reworded, among the turns that it must fit.
      const { question, references } = side === "after" && n === end ? editor.value : { question: null, references: null };
      const turn = question === null ? drafted : { ...drafted, question, references: references ?? drafted.references };
      const kinds = [question !== null && "reworded", !picking && end === n && "current", picked === n && "picked", picking?.side === side && "open", picking?.side === side && picking.at === n && "at"];
      const start_s = turn.evidence?.[0]?.start_s;
      // The mouse can click the whole turn; the keyboard uses its button.
      const click = (/** @type {Event} */ { target }) => target instanceof Element && !target.closest(".time") && view.pickTurn(side, n);
      const answer = turn.references?.[0] ?? "";
      return html`<li class=${kinds.filter(Boolean).join(" ")} title=${`${turn.question} ${answer}`} onClick=${click}>
        <button type="button" class="pick second" aria-pressed=${String(picked === n)} aria-label=${`Turn ${n + 1} of the ${NAMES[side]} chain: ${turn.question}`}>${n + 1}</button>
        <div class="said">
          <p class="asked-text">${turn.question}</p>
          <p class="answer-text"><span>${answer}</span> ${start_s !== undefined && html`<button type="button" class="quiet time" aria-label=${`Go to ${clock(start_s)}`} onClick=${() => editor.seek(start_s)}>${clock(start_s)}</button>`}</p>
        </div>
      </li>`;
    })}</ol>
  </section>`;
}

/** The ends of lines at the turns of both chains, in the board's own coordinates. @param {{current: HTMLElement | null}} place @returns {[number, number][][]} */
function useSpots(place) {
  const [spots, setSpots] = useState("[[], []]");
  const measure = () => {
    const board = /** @type {HTMLElement} */ (place.current);
    const { left, top } = board.getBoundingClientRect();
    const found = SIDES.map((side) =>
      [...board.querySelectorAll(`.${side} .pick`)].map((pick) => {
        const box = pick.getBoundingClientRect();
        return [(side === "before" ? box.right : box.left) - left, (box.top + box.bottom) / 2 - top];
      }),
    );
    setSpots(JSON.stringify(found));
  };
  useLayoutEffect(measure);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(/** @type {HTMLElement} */ (place.current));
    return () => observer.disconnect();
  }, []);
  return JSON.parse(spots);
}

/** @param {{view: Links, editor: Editor, spots: [number, number][][]}} props */
function Lines({ view, editor, spots }) {
  const { place: current, session } = editor;
  // The shown link is drawn last, above all others.
  const order = view.places.sort((one, other) => Number(one === current) - Number(other === current));
  return html`<svg class="lines" aria-hidden="true">${order.map((place) => {
    const [source, target] = view.endsOf(place);
    const [from, to] = [spots[0][source], spots[1][target]];
    if (!from || !to) return null;
    const { relations, decision } = session.value(place);
    const bend = (to[0] - from[0]) / 2;
    const d = `M ${from[0]} ${from[1]} C ${from[0] + bend} ${from[1]}, ${to[0] - bend} ${to[1]}, ${to[0]} ${to[1]}`;
    const isCurrent = place === current && !view.picking;
    const kind = view.colour(relations);
    return html`<g key=${place}>
      <path d=${d} class=${`line ${kind} ${decision ?? "undecided"} ${isCurrent ? "current" : ""}`} />
      <path d=${d} class="hit" onClick=${() => editor.go(place)}><title>${view.nameOf(place)}: ${relations.join(", ") || "no relation yet"}</title></path>
      ${isCurrent && html`<text class="relation-name" x=${(from[0] + to[0]) / 2} y=${(from[1] + to[1]) / 2 - 7}>${relations.join(", ")}</text>`}
    </g>`;
  })}</svg>`;
}
