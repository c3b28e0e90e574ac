// @ts-check
/** A live dialogue: one person asks without the video, the other answers with it. Unsent text is kept in this browser. */

import { clock, messageOf, sentence } from "./elements.js";
import { Evidence, Text, withTime } from "./fields.js";
import { Act, Frame, Splitter } from "./frame.js";
import { guideline, openGuideline } from "./guideline.js";
import { Keys } from "./keys.js";
import { keep, recall } from "./stores.js";
import { Component, html, render } from "./vendor/preact.js";
import { Playback, Watch, videoOffers } from "./watch.js";
import { RefusedError, SignedOutError, ask, makeKey } from "./workapi.js";

/** @typedef {{dialogue: string, name: string, role: "investigator" | "correspondent"}} Props */
/** @typedef {{key: string, position: number, text: string, evidence: Interval[]}} Pending */

const POLL_MS = 1500;
/** Pause between retries after the session has ended. The person must sign in again. */
const SIGNED_OUT_MS = 15_000;

/** @extends {Component<Props>} */
class Dialogue extends Component {
  /** @param {Props} props */
  constructor(props) {
    super(props);
    this.asks = props.role === "investigator";
    this._path = `/api/dialogues/${props.dialogue}`;
    this._store = `reeltalk.dialogue.${props.dialogue}`;
    /** @type {LiveDialogue | null} */
    this.found = null;
    this.playback = new Playback(null);
    /** @type {Promise<void> | null} Until the video can be played. */
    this._opening = null;
    const kept = recall(this._store) ?? {};
    this.text = typeof kept.text === "string" ? kept.text : "";
    /** @type {Interval[]} Of the answer. */
    this.evidence = kept.evidence ?? [];
    /** Index of the interval of evidence that keys set. */
    this.chosen = 0;
    /** @type {Finding[]} Why the server refused the message. */
    this.findings = [];
    /** Position of the own message that is being corrected, or null. @type {number | null} */
    this.correcting = null;
    /** @type {Pending | null} A message keeps its key in every retry, also after a reload. */
    this._pending = kept.pending ?? null;
    this._isSending = false;
    this._isLooking = false;
    this._waitUntil_ms = 0;
    /** What was refused, in view until the next change. */
    this._refused = "";
    /** @type {"" | "saved" | "signed-out" | "offline"} */
    this._connection = "";
    this.keys = new Keys(() => this._offers(), () => this.draw());
  }

  async componentDidMount() {
    await this._look();
    const poll = () => {
      if (!document.hidden && Date.now() >= this._waitUntil_ms) void this._look();
    };
    const hurry = () => {
      this._waitUntil_ms = 0;
      poll();
    };
    setInterval(poll, POLL_MS);
    window.addEventListener("online", hurry);
    window.addEventListener("focus", hurry);
    document.addEventListener("visibilitychange", hurry);
    this._write();
    await this._opening;
    document.documentElement.dataset.ready = "true";
    this.draw();
  }

  draw() {
    this.forceUpdate();
  }

  /** @param {number} time_s */
  seek(time_s) {
    void this.playback.seek(time_s);
  }

  get isLive() {
    return this.found?.state === "live";
  }

  /** The own message that can be corrected. */
  get _last() {
    const last = this.found?.messages.at(-1);
    return this.isLive && last && this._isOwn(last) ? last : null;
  }

  /** @param {{position: number}} message */
  _isOwn({ position }) {
    return position % 2 === (this.asks ? 0 : 1);
  }

  get _canSend() {
    return !this._isSending && this.isLive && (this.found?.your_turn || this.correcting !== null);
  }

  /** True while the fields of evidence are shown. */
  get _showsEvidence() {
    return !this.asks && this.isLive && (this.found?.your_turn || this.correcting !== null);
  }

  /** The times of each turn; the last has those that are being entered. Questions are asked after the whole video. @returns {Times[]} */
  get _turns() {
    const { messages = [], film } = this.found ?? {};
    const asked_at_s = film?.duration_s ?? null;
    const said = messages.filter((message) => this._isOwn(message) && message.position !== this.correcting).map(({ evidence = [] }) => ({ asked_at_s, evidence }));
    return this._showsEvidence ? [...said, { asked_at_s, evidence: this.evidence }] : said;
  }

  _write() {
    this.forceUpdate(() => document.getElementById("text")?.focus());
  }

  /** @param {{text?: string, evidence?: Interval[]}} more */
  _type({ text = this.text, evidence = this.evidence }) {
    Object.assign(this, { text, evidence, findings: [], _refused: "" });
    this._keep();
    this.draw();
  }

  /** @returns {Offers} */
  _offers() {
    const setTime = (/** @type {"start" | "end" | "interval"} */ what) => ({ act: () => this._type({ evidence: withTime(this, this.evidence, what) }) });
    return {
      ...(this._canSend && { done: { act: () => void this.speak() } }),
      answer: { act: () => this._write() },
      leave: { act: () => document.getElementById("talk-title")?.focus({ preventScroll: true }) },
      ...(guideline && { guideline: { act: openGuideline } }),
      ...(this._showsEvidence && { "start-here": setTime("start"), "end-here": setTime("end"), add: setTime("interval") }),
      keys: { act: () => this.keys.open() },
      ...(!this.asks && videoOffers(this.playback)),
    };
  }

  // ---- talking to the server ---------------------------------------------------------------------------------------

  /** Keeps what was typed and the unsent message for the page after a reload. */
  _keep() {
    const { text, evidence, _pending: pending } = this;
    keep(this._store, text || evidence.length || pending ? { text, evidence, pending } : null);
  }

  /** @param {unknown} error @returns {boolean} True if a retry cannot help. */
  _tell(error) {
    const isRefused = error instanceof RefusedError && !(error instanceof SignedOutError);
    if (isRefused) {
      this._refused = messageOf(error);
      this.findings = error.body?.findings ?? [];
    } else this._connection = error instanceof SignedOutError ? "signed-out" : "offline";
    if (error instanceof SignedOutError) this._waitUntil_ms = Date.now() + SIGNED_OUT_MS;
    this.draw();
    return isRefused;
  }

  /** @param {LiveDialogue} found */
  _show(found) {
    const isNew = this.found?.messages.length !== found.messages.length;
    this.found = found;
    // A page that was opened offline loads its video as soon as it knows which one.
    if (!this.asks && !this._opening) {
      this.playback = new Playback(found.video ?? null);
      this._opening = this.playback.open();
    }
    this.forceUpdate(() => {
      if (isNew) document.querySelector("#messages > :last-child")?.scrollIntoView({ block: "nearest" });
    });
  }

  /** The server has the message. */
  _landed() {
    if (this.text.trim() === this._pending?.text) Object.assign(this, { text: "", evidence: [], chosen: 0 });
    this._forget();
    Object.assign(this, { findings: [], _refused: "" });
  }

  _forget() {
    this._pending = null;
    this.correcting = null;
    this._keep();
  }

  async _look() {
    if (this._isLooking || this._isSending) return;
    this._isLooking = true;
    try {
      /** @type {LiveDialogue} */
      const found = await ask(this._path);
      this._waitUntil_ms = 0;
      this._connection = "saved";
      // Only the server's answer was lost: it has the message.
      const there = this._pending && found.messages[this._pending.position];
      if (this._pending && there && textOf(there) === textOf(this._pending)) this._landed();
      this._show(found);
    } catch (error) {
      this._tell(error);
    } finally {
      this._isLooking = false;
    }
    if (this._pending && this._connection === "saved") await this._post();
  }

  async speak() {
    const text = this.text.trim();
    const evidence = this.asks ? [] : this.evidence;
    if (!this.found || !this._canSend) return;
    if (!text) {
      this._refused = `Write your ${this.asks ? "question" : "answer"} first.`;
      this._write();
      return;
    }
    const position = this.correcting ?? this.found.messages.length;
    const message = { position, text, evidence };
    if (!this._pending || textOf(this._pending) !== textOf(message)) this._pending = { key: makeKey(), ...message };
    await this._post();
    this._write();
  }

  async _post() {
    if (!this._pending || this._isSending) return;
    this._isSending = true;
    this._keep();
    this.draw();
    const { key, ...body } = this._pending;
    let isRefused = false;
    try {
      const found = await ask(`${this._path}/messages`, { method: "POST", body, key });
      this._landed();
      this._show(found);
    } catch (error) {
      isRefused = this._tell(error);
      if (isRefused) this._forget();
    } finally {
      this._isSending = false;
      this.draw();
    }
    if (isRefused) await this._look();
  }

  _correct() {
    const last = this.correcting === null ? this._last : null;
    this.correcting = last?.position ?? null;
    this._type({ text: last?.text ?? "", evidence: last?.evidence ?? [] });
    this._write();
  }

  async _finish() {
    try {
      await ask(`${this._path}/finish`, { method: "POST" });
      location.assign("/");
    } catch (error) {
      this._tell(error);
    }
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  render() {
    const { asks, found } = this;
    const kept = `what you type stays in this browser${this._pending ? " and is sent as soon as the server is reached" : ""}`;
    const text = { "": "Opening…", saved: "Connected", offline: `Offline: ${kept}`, "signed-out": `Signed out: ${kept}.` }[this._connection];
    const turns = this._turns;
    const film = asks
      ? html`<${Held} class="guide" label="How it goes" open=${!matchMedia("(max-width: 60rem)").matches}>
          ${found && found.activities.length > 0 && html`<h2>What you know</h2>
            <p>These activities happen in the video, <strong>in an order that you do not know</strong>:</p>
            <ul id="activities" class="activities">${found.activities.map((one) => html`<li>${one}</li>`)}</ul>`}
        <//>`
      : !found
        ? html`<div class="watch"></div>`
        : html`<${Watch} editor=${this} playback=${this.playback} turns=${turns} current=${turns.length - 1}
          onEvidence=${this._showsEvidence && ((/** @type {number} */ n, /** @type {Interval} */ part) => this._type({ evidence: this.evidence.map((each, at) => (at === n ? part : each)) }))} />`;
    return html`<${Frame} editor=${this} film=${film} name=${`${this.props.name}: you ${asks ? "ask" : "answer"}`} state=${this._connection} text=${text}>
      <div id="fields-scroll" class="fields-scroll" tabindex="0" role="region" aria-labelledby="talk-title">
        <div id="notices" role="alert">${found?.note && html`<p class="note">It was sent back: ${found.note}</p>`}</div>
        ${!asks && html`<details open=${found?.messages.length === 0}><summary>How to answer</summary><${Held} class="guide" label="How it goes" /></details>`}
        <h2 id="talk-title" class="task-title" tabindex="-1">Dialogue</h2>
        <ol id="messages" class="messages" aria-live="polite">${found?.messages.map((message) => this._drawMessage(message))}</ol>
      </div>
      ${this._drawForm()}
    <//>`;
  }

  /** @param {Message} message */
  _drawMessage(message) {
    const isOwn = this._isOwn(message);
    const { position, text, evidence = [] } = message;
    return html`<li key=${position} class=${isOwn ? "own" : undefined}>
      <span class="who-said">${isOwn ? "You" : this.asks ? "Correspondent" : "Investigator"}</span>${text}
      ${evidence.length > 0 && html`<span class="who-said">Evidence: ${evidence.map(({ start_s, end_s }) => html`<button type="button" class="quiet" onClick=${() => this.seek(start_s)}>${clock(start_s)}–${clock(end_s)}</button>`)}</span>`}
    </li>`;
  }

  _drawForm() {
    const { asks, found, isLive, findings } = this;
    const said = found?.messages.length ?? 0;
    const asked = Math.ceil(said / 2);
    const left = (found?.least_turns ?? 0) - Math.floor(said / 2);
    const asked_at = this._showsEvidence && found?.film?.duration_s ? ` The question is asked after the whole video, at ${clock(found.film.duration_s)}.` : "";
    const turn = !isLive ? "The dialogue is finished." : found?.your_turn ? "It is your turn." : "The other person is writing.";
    const progress = found && `${turn} ${asked} ${asked === 1 ? "question" : "questions"} so far${left > 0 ? `, at least ${left} more to go` : ""}.${asked_at}`;
    return html`<form id="say" class="decisions">
      <p id="progress" class=${`said-line ${this._refused ? "warn" : ""}`} role="status">${this._refused || progress}</p>
      ${findings.slice(1).map(({ text }) => html`<p class="finding">${sentence(text)}</p>`)}
      <fieldset class="bare" disabled=${found !== null && !isLive}>
        <${Text} id="text" label=${`Your ${asks ? "question" : "answer"}`} rows=${2} most=${2000} value=${this.text} change=${(/** @type {string} */ text) => this._type({ text })} />
        ${this._showsEvidence && html`<div class="times">
          <${Evidence} editor=${this} value=${this.evidence} change=${(/** @type {Interval[]} */ evidence) => this._type({ evidence })} />
        </div>`}
        <div class="actions" id="decide">
          <${Act} editor=${this} name="done" id="send" text=${asks ? "Ask" : "Answer"} />
          ${this._last && html`<button type="button" class="second" id="correct" onClick=${() => this._correct()}>${this.correcting === null ? "Correct my last message" : "Cancel the correction"}</button>`}
          ${asks && html`<button type="button" class="second submit" id="finish" disabled=${!isLive || said % 2 === 1 || left > 0} onClick=${() => void this._finish()}>Finish the dialogue</button>`}
        </div>
      </fieldset>
    </form>`;
  }
}

/** A message as text, to compare two. @param {Message} message */
function textOf({ position, text, evidence = [] }) {
  return JSON.stringify([position, text, evidence.map(({ start_s, end_s }) => [start_s, end_s])]);
}

/** Text that the page holds in its template. @param {{class: string, label: string, open?: boolean, children?: any}} props `open`: its folded parts are open. */
function Held({ class: kind, label, open = false, children }) {
  const put = (/** @type {HTMLElement | null} */ place) => {
    const held = document.getElementById("held");
    if (!place || place.lastElementChild?.hasAttribute("data-held") || !(held instanceof HTMLTemplateElement)) return;
    const text = document.createElement("div");
    text.dataset.held = "";
    text.append(held.content.cloneNode(true));
    const kinds = text.querySelector("#kinds-fold");
    if (kinds instanceof HTMLDetailsElement) kinds.open = open;
    place.append(text);
  };
  return html`<section class=${kind} aria-label=${label} tabindex="0" ref=${put}>${children}</section>`;
}

/** A finished dialogue with its video, for somebody outside the pair. @param {{video: Video | null}} props */
function look({ video }) {
  const playback = new Playback(video);
  const keys = new Keys(() => ({ ...videoOffers(playback), keys: { act: () => keys.open() } }));
  void playback.open().then(() => (document.documentElement.dataset.ready = "true"));
  return html`<div class="editor"><${Watch} editor=${{ keys }} playback=${playback} /><${Splitter} /><${Held} class="side fields-scroll" label="The dialogue" /></div>`;
}

export function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById("work"));
  const { dialogue, name = "", role, video } = root.dataset;
  root.replaceChildren();
  if (dialogue) render(html`<${Dialogue} dialogue=${dialogue} name=${name} role=${role} />`, root);
  else render(look({ video: JSON.parse(video ?? "null") }), root);
}
