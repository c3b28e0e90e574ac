// @ts-check
/** Fields of the editor: texts with their changes, times, evidence, labels, answers and options, a note, and what makes no sense. */

import { clock, sentence } from "./elements.js";
import { Act } from "./frame.js";
import { vocabularyName } from "./values.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { diffWords } from "./worddiff.js";

/** The field of a path in a turn's value, as a selector. @param {string} path As `evidence.0.end_s`. */
export function selectorOf(path) {
  const [name, n = "0", side] = path.split(".");
  const ids = /** @type {Record<string, string>} */ ({
    asked_at_s: "asked-at",
    references: `reference-${n}`,
    evidence: `${side === "end_s" ? "end" : "start"}-${n}`,
    options: `option-${n}`,
    correct_option: "option-0",
    kept_because: "kept-because",
  });
  return `#${ids[name] ?? name}`;
}

/** True if something found is about a field or a part of it. @param {Pick<Editor, "findings"> | undefined} editor @param {string} path */
export function isWrong(editor, path) {
  return editor?.findings.some(({ field }) => field === path || field.startsWith(`${path}.`)) || undefined;
}

/** What makes no sense at the open place, as sentences; each leads to its field. @param {{editor: Editor}} props */
export function Findings({ editor }) {
  const { findings, value } = editor;
  const mayGoOn = findings.some(({ may_go_on }) => may_go_on) || value?.kept_because;
  if (!findings.length && !mayGoOn) return null;
  return html`<div id="findings" class="findings">
    ${findings.map(({ field, text, may_go_on }) => html`<p class=${may_go_on ? "finding doubt" : "finding"} data-field=${field} key=${field + text}>
      ${field ? html`<button type="button" class="quiet" onClick=${() => editor.focus(selectorOf(field))}>${sentence(text)}</button>` : sentence(text)}</p>`)}
    ${mayGoOn && html`<${Text} label="It may stay, because" id="kept-because" value=${value?.kept_because ?? ""} most=${2000}
      change=${(/** @type {string} */ kept_because) => editor.set({ ...value, kept_because, decision: null })} />`}
  </div>`;
}

/** The changes from one text to another. @param {{before: string, after: string}} props */
export function Changes({ before, after }) {
  return html`<span class="changes">${diffWords(before, after).map(({ kind, text }) => {
    if (kind === "same") return text;
    // Some screen readers do not announce these elements.
    return kind === "gone" ? html`<del><span class="unseen"> gone: </span>${text}</del>` : html`<ins><span class="unseen"> new: </span>${text}</ins>`;
  })}</span>`;
}

/**
 * A text that grows with its lines, with its changes from another version below.
 * @param {{label: any, id: string, value: string, change: (text: string) => void, before?: string | null, rows?: number, most?: number, name?: string, wrong?: boolean}} props
 *   `before`: the text of the other version; null or undefined if nothing is compared. `most`: characters. `name`: for screen readers.
 */
export function Text({ label, id, value, change, before = null, rows = 1, most, name, wrong }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => {
    const { current } = area;
    if (!current) return;
    current.style.height = "auto";
    current.style.height = `${current.scrollHeight + 2}px`;
  }, [value]);
  const differs = before !== null && before !== value;
  return html`<div class="field">
    ${label && html`<label for=${id}>${label}</label>`}
    <textarea id=${id} ref=${area} rows=${rows} maxlength=${most} aria-label=${name} aria-invalid=${wrong && "true"} value=${value} onInput=${(/** @type {FieldEvent} */ { target }) => change(target.value)}></textarea>
    <p class="difference" data-difference=${id} hidden=${!differs} tabindex="0" role="group" aria-label="Changes">${differs && html`<${Changes} before=${before} after=${value} />`}</p>
  </div>`;
}

/**
 * A time in seconds, shown to a hundredth. What is typed stays as it is while the field has the focus; the arrow keys go
 * to the next frame or the one before, and show it.
 * @param {{editor: Pick<Editor, "playback" | "seek">, id: string, value: number | null, change: (time_s: number | null) => void, name?: string, required?: boolean, invalid?: boolean}} props
 */
export function Time({ editor, id, value, change, name, required = false, invalid = false }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const input = (/** @type {FieldEvent} */ { target }) => {
    setTyped(target.value);
    const time_s = Number.parseFloat(target.value);
    if (Number.isFinite(time_s)) change(Math.max(0, time_s));
    else if (!required) change(null);
  };
  const key = (/** @type {FieldEvent} */ event) => {
    const frames = /** @type {Record<string, number>} */ ({ ArrowUp: 1, ArrowDown: -1 })[event.key];
    if (!frames) return;
    event.preventDefault();
    const time_s = value === null ? editor.playback.mark_s : editor.playback.snap(value, frames);
    setTyped(null);
    change(time_s);
    editor.seek(time_s);
  };
  const shown = typed !== null && (typed === "" || Number.parseFloat(typed) === value) ? typed : value === null ? "" : value.toFixed(2);
  return html`<input type="number" id=${id} min="0" step="any" inputmode="decimal" required=${required} aria-label=${name} aria-invalid=${invalid ? "true" : undefined}
    value=${shown} onInput=${input} onKeyDown=${key} onBlur=${() => setTyped(null)} />`;
}

/** When the question is asked. @param {{editor: Editor, value: number | null, change: (time_s: number | null) => void}} props */
export function AskedAt({ editor, value, change }) {
  return html`<div class="field asked-at row">
    <label for="asked-at">Asked at</label>
    <${Time} editor=${editor} id="asked-at" value=${value} invalid=${isWrong(editor, "asked_at_s")} change=${change} />
    <${Act} editor=${editor} name="asked-here" class="second" text="Now" />
    ${value !== null && html`<button type="button" class="quiet" aria-label="Go to the time of the question" onClick=${() => editor.seek(value)}>${clock(value)}</button>`}
  </div>`;
}

/**
 * Who holds evidence: the editor, or a page like it.
 * @typedef {Pick<Editor, "playback" | "seek" | "draw" | "keys" | "chosen" | "findings">} Holder
 */

/** Intervals of evidence. Keys set the times of the chosen one. @param {{editor: Holder, value: Interval[], change: (evidence: Interval[]) => void}} props */
export function Evidence({ editor, value, change }) {
  const chosen = Math.min(editor.chosen, Math.max(0, value.length - 1));
  const choose = (/** @type {number} */ n) => {
    editor.chosen = n;
    editor.draw();
  };
  const put = (/** @type {number} */ n, /** @type {Partial<Interval>} */ more) => change(value.map((each, at) => (at === n ? { ...each, ...more } : each)));
  return html`<fieldset class="group evidence-fields">
    <legend class="unseen">Evidence (seconds)</legend>
    <div class="intervals">${value.map(({ start_s, end_s }, n) => {
      const invalid = isWrong(editor, `evidence.${n}`);
      return html`<div class=${`row interval ${n === chosen ? "chosen" : ""}`} data-interval=${n} aria-current=${n === chosen ? "true" : undefined} onFocusIn=${() => choose(n)}>
        <button type="button" class="quiet" aria-label=${`Go to evidence ${n + 1}`} onClick=${() => (choose(n), editor.seek(start_s))}>${n + 1}</button>
        <${Time} editor=${editor} id=${`start-${n}`} value=${start_s} required invalid=${invalid} name=${`Evidence ${n + 1} starts`} change=${(/** @type {number} */ time_s) => put(n, { start_s: time_s })} />
        <span aria-hidden="true">–</span>
        <${Time} editor=${editor} id=${`end-${n}`} value=${end_s} required invalid=${invalid} name=${`Evidence ${n + 1} ends`} change=${(/** @type {number} */ time_s) => put(n, { end_s: time_s })} />
        <${Remove} label=${`Remove evidence ${n + 1}`} act=${() => change(value.filter((_, at) => at !== n))} />
      </div>`;
    })}${!value.length && html`<span class="soft">No evidence.</span>`}</div>
    <div class="row">
      <${Act} editor=${editor} name="start-here" class="second" text="Starts here" />
      <${Act} editor=${editor} name="end-here" class="second" text="Ends here" />
      <${Act} editor=${editor} name="add" id="add-interval" class="second" text="Add" />
    </div>
  </fieldset>`;
}

/** Evidence with a time taken from the video: of the chosen interval, or of a new one. @param {Pick<Editor, "playback" | "chosen">} editor @param {Interval[]} evidence @param {"start" | "end" | "interval"} what @returns {Interval[]} */
export function withTime(editor, evidence, what) {
  const { mark_s, markEnd_s } = editor.playback;
  const n = Math.min(editor.chosen, evidence.length - 1);
  const here = evidence[n];
  if (what === "interval" || !here) {
    editor.chosen = evidence.length;
    return [...evidence, { start_s: mark_s, end_s: markEnd_s }];
  }
  const moved =
    what === "start" ? { start_s: mark_s, end_s: Math.max(here.end_s, markEnd_s) } : { start_s: Math.min(here.start_s, mark_s), end_s: markEnd_s };
  return evidence.map((each, at) => (at === n ? moved : each));
}

/** @param {{label: string, act: () => void}} props */
export function Remove({ label, act }) {
  return html`<button type="button" class="quiet remove" aria-label=${label} onClick=${act}>×</button>`;
}

/** @param {{editor?: Editor, value: string[], change: (references: string[]) => void, before?: string[] | null}} props */
export function Answers({ editor, value, change, before = null }) {
  const add = useFocusOnNew(value.length, (n) => `reference-${n}`);
  const one = value.length === 1;
  return html`<div class="group answers" tabindex=${value.length > 1 ? 0 : undefined} role="group" aria-label="Answers">
    ${value.map(
      (text, n) => html`<div class="row">
        <${Text} label=${one ? "Answer" : `Answer ${n + 1}`} id=${`reference-${n}`} value=${text} before=${before && (before[n] ?? "")} wrong=${isWrong(editor, `references.${n}`)}
          change=${(/** @type {string} */ typed) => change(value.map((each, at) => (at === n ? typed : each)))} />
        ${one
          ? html`<button type="button" class="quiet add" id="add-reference" aria-label="Add another answer" title="Add another answer" onClick=${() => add(() => change([...value, ""]))}>+</button>`
          : html`<${Remove} label=${`Remove answer ${n + 1}`} act=${() => change(value.filter((_, at) => at !== n))} />`}
      </div>`,
    )}
    ${!one && html`<button type="button" class="quiet add" id="add-reference" onClick=${() => add(() => change([...value, ""]))}>${value.length ? "Add another answer" : "Add an answer"}</button>`}
  </div>`;
}

/** Options, one of which is right. @param {{value: string[], right: number | null, change: (options: string[], right: number | null) => void}} props */
export function Options({ value, right, change }) {
  const add = useFocusOnNew(value.length, (n) => `option-${n}`);
  const remove = (/** @type {number} */ n) =>
    change(value.filter((_, at) => at !== n), right === n ? null : right !== null && right > n ? right - 1 : right);
  return html`<fieldset class="group options" tabindex="0">
    <legend class="unseen">Options; the right one is marked</legend>
    ${value.map(
      (text, n) => html`<div class="row option">
        <input type="radio" name="correct" checked=${n === right} aria-label=${`Option ${n + 1} is right`} onChange=${() => change(value, n)} />
        <input id=${`option-${n}`} value=${text} aria-label=${`Option ${n + 1}`}
          onInput=${(/** @type {FieldEvent} */ { target }) => change(value.map((each, at) => (at === n ? target.value : each)), right)} />
        <${Remove} label=${`Remove option ${n + 1}`} act=${() => remove(n)} />
      </div>`,
    )}
    <button type="button" class="quiet add" id="add-option" onClick=${() => add(() => change([...value, ""], right))}>Add an option</button>
  </fieldset>`;
}

/** Moves the focus to a field that was added. @param {number} length @param {(n: number) => string} idOf @returns {(act: () => void) => void} */
function useFocusOnNew(length, idOf) {
  const wants = useRef(false);
  useEffect(() => {
    if (wants.current) document.getElementById(idOf(length - 1))?.focus();
    wants.current = false;
  }, [length]);
  return (act) => {
    wants.current = true;
    act();
  };
}

/** Labels by vocabulary: of a closed one as boxes, of an open one as text. @param {{known: Record<string, Vocabulary>, value: Labelling, change: (labels: Labelling) => void}} props */
export function Labels({ known, value, change }) {
  const names = [...new Set([...Object.keys(known), ...Object.keys(value)])].sort();
  return html`<div class="turn-labels">${names.map((name) => {
    const vocabulary = known[name] ?? { labels: [] };
    const put = (/** @type {string[]} */ given) => {
      const { [name]: _, ...others } = value;
      change(given.length ? { ...others, [name]: given } : others);
    };
    const parts = { key: name, name, vocabulary, given: value[name] ?? [], change: put };
    if (!vocabulary.closed) return html`<${OpenLabels} ...${parts} />`;
    return html`<fieldset class="group choices" key=${name} data-vocabulary=${name}><legend>${vocabularyName(name)}: ${boundsOf(vocabulary)}</legend><${Choices} ...${parts} /></fieldset>`;
  })}</div>`;
}

/** How many labels of a vocabulary are given, as text for people. @param {Vocabulary} vocabulary */
export function boundsOf({ labels, least = 0, most = null }) {
  if (least === 1 && most === 1) return "exactly one";
  if (most === null || most >= labels.length) return least ? "one or more" : "";
  return `${least} to ${most}`;
}

/**
 * The labels of a closed vocabulary as boxes, with their keys and meanings. Others that a draft has are shown, and can only
 * be taken away.
 * @param {{name: string, vocabulary: Vocabulary & {titles?: Record<string, string>}, given: string[], change: (given: string[]) => void, kindOf?: (label: string) => string, chances?: Record<string, number>}} props
 *   `kindOf`: the CSS class of a label; `chances`: those that a machine gives them.
 */
export function Choices({ name, vocabulary, given, change, kindOf, chances }) {
  const { labels, least, most, keys = [], says = {}, titles = {} } = vocabulary;
  const isOne = least === 1 && most === 1;
  return html`${[...new Set([...labels, ...given])].map((label, n) => {
    const key = keys[n] && keys[n].toUpperCase() !== keys[n] ? `Shift+${keys[n].toUpperCase()}` : keys[n];
    return html`<label class=${`choice ${kindOf?.(label) ?? ""}`} key=${label}>
      <input type=${isOne ? "radio" : "checkbox"} id=${`${name}-${label}`} name=${name} value=${label} data-label=${label} checked=${given.includes(label)} aria-keyshortcuts=${key} onChange=${() => change(toggled(vocabulary, given, label))} />
      ${key && html`<kbd aria-hidden="true">${key.replace("Shift+", "⇧")}</kbd>`}<span class=${labels.includes(label) ? "name" : "name warn"}>${titles[label] ?? label}</span>
      ${says[label] && html`<span class="says">${says[label]}</span>`}
      ${chances && html`<span class=${`chance ${(chances[label] ?? 0) >= 0.5 ? "likely" : ""}`}>${label in chances && `${Math.round(chances[label] * 100)} %`}</span>`}
    </label>`;
  })}`;
}

/** Labels with one ticked, or its tick removed. Where exactly one is given, it replaces the other. @param {Vocabulary} vocabulary @param {string[]} given @param {string} label */
export function toggled({ labels, least, most }, given, label) {
  if (least === 1 && most === 1) return [label];
  return given.includes(label) ? given.filter((each) => each !== label) : labels.filter((each) => each === label || given.includes(each));
}

/** @param {{name: string, vocabulary: Vocabulary, given: string[], change: (given: string[]) => void}} props */
function OpenLabels({ name, vocabulary: { labels }, given, change }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const fresh = given.filter((label) => !labels.includes(label));
  const type = (/** @type {FieldEvent} */ { target }) => {
    setTyped(target.value);
    change([...new Set(target.value.split(",").map((label) => label.trim()).filter(Boolean))]);
  };
  return html`<div class="field vocabulary" data-vocabulary=${name}>
    <label for=${`labels-${name}`}>${vocabularyName(name)} <span class="soft">separated by commas</span></label>
    <input id=${`labels-${name}`} autocomplete="off" value=${typed ?? given.join(", ")} onInput=${type} onBlur=${() => setTyped(null)} />
    ${fresh.length > 0 && html`<span class="warn small">New here: ${fresh.join(", ")}. Check the spelling.</span>`}
  </div>`;
}

/** A note, and that the person is unsure. @param {{value: {note: string, unsure?: boolean}, change: (more: {note?: string, unsure?: boolean}) => void, prefix?: string}} props `prefix` of ids. */
export function Note({ value, change, prefix = "" }) {
  return html`<div class="note-field">
    <${Text} label="Note" id=${`${prefix}note`} value=${value.note} change=${(/** @type {string} */ note) => change({ note })} />
    <label class="unsure"><input type="checkbox" id=${`${prefix}unsure`} checked=${value.unsure ?? false} onChange=${(/** @type {FieldEvent} */ { target }) => change({ unsure: target.checked })} /> I am unsure</label>
  </div>`;
}
