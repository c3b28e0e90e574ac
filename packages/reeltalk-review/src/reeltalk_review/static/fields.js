// @ts-check
/**
 * Parts of the editor: buttons with keys, dialogs, and fields: texts with their changes, times, evidence, labels, answers
 * and options, a note, and unsure.
 */

import { clock, sentence } from "./elements.js";
import { vocabularyName } from "./turnvalue.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { diffWords } from "./worddiff.js";

/** @typedef {import("./player.js").Interval} Interval */
/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./keys.js").Keys} Keys */
/** @typedef {{target: HTMLInputElement & HTMLTextAreaElement, key: string, isComposing: boolean, preventDefault(): void}} FieldEvent */

/** A button for an action, with its key; disabled while the page does not offer it. @param {{editor: {keys: Keys}, name: import("./actions.js").ActionName, id?: string, text: any, class?: string, title?: string}} props */
export function Act({ editor, name, id = name, text, class: kind = "", title }) {
  const key = editor.keys.shown(name);
  const isOffered = editor.keys.offered.some((each) => each.name === name);
  return html`<button type="button" id=${id} class=${kind} title=${title} disabled=${!isOffered} aria-keyshortcuts=${key?.aria} onClick=${() => editor.keys.run(name)}>
    ${text}${key && html`<kbd aria-hidden="true">${key.text}</kbd>`}
  </button>`;
}

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

/** True if something found is about a field or a part of it. @param {Editor | undefined} editor @param {string} path */
function isWrong(editor, path) {
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

/** A dialog that is open while it is drawn. The element with `autofocus`, or its heading, gets the focus. @param {{id: string, labelled: string, class?: string, onClose: () => void, children?: any}} props */
export function Modal({ id, labelled, class: kind = "", onClose, children }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current?.showModal();
    const first = place.current?.querySelector("[autofocus], h2");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog id=${id} class=${kind} aria-labelledby=${labelled} ref=${place} onCancel=${cancel}>${children}</dialog>`;
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
    <p class="difference" data-difference=${id} hidden=${!differs}>${differs && html`<${Changes} before=${before} after=${value} />`}</p>
  </div>`;
}

/**
 * A time in seconds. What is typed stays as it is while the field has the focus.
 * @param {{id: string, value: number | null, change: (time_s: number | null) => void, name?: string, required?: boolean, invalid?: boolean}} props
 */
export function Time({ id, value, change, name, required = false, invalid = false }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const input = (/** @type {FieldEvent} */ { target }) => {
    setTyped(target.value);
    const time_s = Number.parseFloat(target.value);
    if (Number.isFinite(time_s)) change(Math.max(0, time_s));
    else if (!required) change(null);
  };
  const shown = typed !== null && (typed === "" || Number.parseFloat(typed) === value) ? typed : value === null ? "" : rounded(value);
  return html`<input type="number" id=${id} min="0" step="any" inputmode="decimal" required=${required} aria-label=${name} aria-invalid=${invalid ? "true" : undefined}
    value=${shown} onInput=${input} onBlur=${() => setTyped(null)} />`;
}

/** Rounded to milliseconds. @param {number} time_s */
export function rounded(time_s) {
  return Math.max(0, Math.round(time_s * 1000) / 1000);
}

/**
 * When the question is asked.
 * @param {{editor: Editor, value: number | null, change: (time_s: number | null) => void}} props
 */
export function AskedAt({ editor, value, change }) {
  return html`<div class="field asked-at row">
    <label for="asked-at">Asked at</label>
    <${Time} id="asked-at" value=${value} invalid=${isWrong(editor, "asked_at_s")} change=${change} />
    <${Act} editor=${editor} name="asked-here" class="second" text="Now" />
    ${value !== null && html`<button type="button" class="quiet" aria-label="Go to the time of the question" onClick=${() => editor.seek(value)}>${clock(value)}</button>`}
  </div>`;
}

/**
 * Intervals of evidence. Keys set the times of the chosen one.
 * @param {{editor: Editor, value: Interval[], change: (evidence: Interval[]) => void}} props
 */
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
        <${Time} id=${`start-${n}`} value=${start_s} required invalid=${invalid} name=${`Evidence ${n + 1} starts`} change=${(/** @type {number} */ time_s) => put(n, { start_s: time_s })} />
        <span aria-hidden="true">–</span>
        <${Time} id=${`end-${n}`} value=${end_s} required invalid=${invalid} name=${`Evidence ${n + 1} ends`} change=${(/** @type {number} */ time_s) => put(n, { end_s: time_s })} />
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

/**
 * Evidence with a time taken from the video: of the chosen interval, or of a new one.
 * @param {Editor} editor @param {Interval[]} evidence @param {"start" | "end" | "interval"} what
 * @returns {Interval[]}
 */
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

/**
 * Answers.
 * @param {{editor?: Editor, value: string[], change: (references: string[]) => void, before?: string[] | null}} props
 */
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

/**
 * Options, one of which is right.
 * @param {{value: string[], right: number | null, change: (options: string[], right: number | null) => void}} props
 */
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

/**
 * @typedef {{labels: string[], closed: boolean, least?: number, most?: number | null}} Vocabulary
 * @typedef {Record<string, Vocabulary>} Vocabularies
 */

/**
 * Labels by vocabulary, as chips. In a closed vocabulary only its labels can be chosen; in an open one a new label is asked
 * for first.
 * @param {{known: Vocabularies, value: Record<string, string[]>, change: (labels: Record<string, string[]>) => void}} props
 */
export function Labels({ known, value, change }) {
  const [more, setMore] = useState(/** @type {string[]} */ ([]));
  const names = [...new Set([...Object.keys(known), ...Object.keys(value), ...more])].sort();
  const put = (/** @type {string} */ name, /** @type {string[]} */ labels) => {
    const { [name]: _, ...others } = value;
    change(labels.length ? { ...others, [name]: labels } : others);
  };
  return html`<fieldset class="group labels">
    <legend class="unseen">Labels</legend>
    ${names.map((name, n) => html`<${Chips} key=${name} n=${n} name=${name} vocabulary=${known[name] ?? { labels: [], closed: false }} has=${value[name] ?? []} put=${(/** @type {string[]} */ labels) => put(name, labels)} />`)}
    <div class="vocabulary new">
      <label for="new-vocabulary">New vocabulary</label>
      <input id="new-vocabulary" autocomplete="off" size="14" onKeyDown=${(/** @type {FieldEvent} */ event) => {
        const name = event.target.value.trim();
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();
        if (!name || names.includes(name)) return;
        event.target.value = "";
        setMore([...more, name]);
        const at = [...names, name].sort().indexOf(name);
        requestAnimationFrame(() => document.getElementById(`labels-${at}`)?.focus());
      }} />
    </div>
  </fieldset>`;
}

/** @param {{n: number, name: string, vocabulary: Vocabulary, has: string[], put: (labels: string[]) => void}} props */
function Chips({ n, name, vocabulary, has, put }) {
  const [asked, setAsked] = useState("");
  const { labels, closed, least = 0, most = null } = vocabulary;
  const id = `labels-${n}`;
  const isFull = most !== null && has.length >= most;
  const add = (/** @type {HTMLInputElement} */ field, sure = false) => {
    const label = labels.find((each) => each.toLowerCase() === field.value.trim().toLowerCase()) ?? field.value.trim();
    if (!label || has.includes(label)) return;
    // A new word in an open vocabulary is asked for: most of them are typing errors.
    if (!labels.includes(label) && (closed || (labels.length > 0 && !sure))) {
      setAsked(label);
      return;
    }
    field.value = "";
    setAsked("");
    put(most === 1 ? [label] : [...has, label]);
  };
  const key = (/** @type {FieldEvent} */ event) => {
    const field = event.target;
    if (event.isComposing) return;
    if (event.key === "Enter" || event.key === ",") {
      event.preventDefault();
      add(field, asked !== "" && field.value.trim() === asked);
    } else if (event.key === "Backspace" && !field.value && has.length) put(has.slice(0, -1));
  };
  const bounds = most === 1 && least === 1 ? "exactly one" : most !== null ? `${least} to ${most}` : "";
  return html`<div class="vocabulary">
    <label for=${id}>${vocabularyName(name)} ${bounds && html`<span class="soft">(${bounds})</span>`}</label>
    ${has.map((label) => html`<span class=${`label ${closed && !labels.includes(label) ? "unknown" : ""}`} key=${label}>${label}<button type="button" class="quiet" aria-label=${`Remove ${label}`} onClick=${() => put(has.filter((each) => each !== label))}>×</button></span>`)}
    ${(!isFull || most === 1) && html`<input id=${id} list=${`known-${n}`} autocomplete="off" size="14" aria-describedby=${asked ? `${id}-asked` : undefined} onKeyDown=${key} onChange=${(/** @type {FieldEvent} */ { target }) => add(target)} />`}
    <datalist id=${`known-${n}`}>${labels.filter((label) => !has.includes(label)).map((label) => html`<option value=${label}></option>`)}</datalist>
    ${asked && html`<span class="warn small" id=${`${id}-asked`} role="alert">${closed ? `There is no label “${asked}” here: ${labels.slice(0, 12).join(", ")}${labels.length > 12 ? " …" : ""}.` : `“${asked}” is new here. Press Enter again to add it.`}</span>`}
  </div>`;
}

/**
 * The vocabularies of a unit: those that the server names, and others whose labels its turns have.
 * @param {{vocabularies?: Vocabularies, turns: {labels?: Record<string, string[]>}[]}} content
 * @returns {Vocabularies}
 */
export function knownVocabularies({ vocabularies = {}, turns }) {
  const known = { ...vocabularies };
  for (const { labels } of turns) {
    for (const [name, found] of Object.entries(labels ?? {})) {
      known[name] ??= { labels: [], closed: false };
      if (!known[name].closed) known[name] = { ...known[name], labels: [...new Set([...known[name].labels, ...found])] };
    }
  }
  return known;
}

/** A note, and that the person is unsure. @param {{value: {note: string, unsure?: boolean}, change: (more: {note?: string, unsure?: boolean}) => void, prefix?: string}} props `prefix` of ids. */
export function Note({ value, change, prefix = "" }) {
  return html`<div class="note-field">
    <${Text} label="Note" id=${`${prefix}note`} value=${value.note} change=${(/** @type {string} */ note) => change({ note })} />
    <label class="unsure"><input type="checkbox" id=${`${prefix}unsure`} checked=${value.unsure ?? false} onChange=${(/** @type {FieldEvent} */ { target }) => change({ unsure: target.checked })} /> I am unsure</label>
  </div>`;
}
