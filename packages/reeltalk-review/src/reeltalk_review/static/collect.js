// @ts-check
/** A live dialogue: one person asks without the video, the other answers with it. Unsent text is kept in this browser. */

import { messageOf } from "./elements.js";
import { Act, Text } from "./fields.js";
import { guideline, openGuideline } from "./guideline.js";
import { Keys } from "./keys.js";
import { Component, html, render } from "./vendor/preact.js";
import { Playback, Watch, videoOffers } from "./watch.js";
import { RefusedError, SignedOutError, ask, makeKey } from "./workapi.js";

/**
 * @typedef {object} Found The dialogue as the server tells it.
 * @property {"live" | "awaiting" | "approved" | "dropped"} state
 * @property {string | null} note Why it was sent back.
 * @property {number} least_turns
 * @property {{position: number, text: string}[]} messages The investigator's have even positions.
 * @property {boolean} your_turn
 * @property {string[]} activities
 * @property {import("./watch.js").Video | null} [video] Only for the correspondent.
 */
/** @typedef {{dialogue: string, name: string, role: "investigator" | "correspondent"}} Props */

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
    /** @type {Found | null} */
    this.found = null;
    /** @type {Playback | null} */
    this.playback = null;
    this.text = "";
    /** Position of the own message that is being corrected, or null. @type {number | null} */
    this.correcting = null;
    /**
     * A message keeps its key in every retry, also after a reload.
     * @type {{key: string, position: number, text: string} | null}
     */
    this._pending = null;
    this._isSending = false;
    this._isLooking = false;
    this._waitUntil_ms = 0;
    this._notice = "";
    /** @type {Promise<void> | null} Until the video can be played. */
    this._opening = null;
    /** @type {"" | "saved" | "signed-out" | "offline"} */
    this._connection = "";
    this._recall();
    /** @type {Keys} */
    this.keys = new Keys(
      () => ({
        done: { act: () => void this.speak() },
        answer: { act: () => this._write() },
        leave: { act: () => document.getElementById("talk-title")?.focus({ preventScroll: true }) },
        ...(guideline && { guideline: { act: openGuideline } }),
        keys: { act: () => this.keys.open() },
        ...(this.playback && videoOffers(this.playback)),
      }),
      () => this.forceUpdate(),
    );
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
  }

  componentDidUpdate() {
    this.keys.label();
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

  _write() {
    this.forceUpdate(() => document.getElementById("text")?.focus());
  }

  /** @param {string} text */
  _type(text) {
    this.text = text;
    this._keep();
    this.forceUpdate();
  }

  // ---- talking to the server ---------------------------------------------------------------------------------------

  /** Keeps the typed text and the unsent message for the page after a reload. */
  _keep() {
    const { text, _pending: pending } = this;
    try {
      if (text || pending) localStorage.setItem(this._store, JSON.stringify({ text, pending }));
      else localStorage.removeItem(this._store);
    } catch {
      // The browser stores nothing; the text is still on the page.
    }
  }

  _recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(this._store) ?? "{}");
      this.text = typeof kept.text === "string" ? kept.text : "";
      this._pending = kept.pending ?? null;
    } catch {
      this.text = "";
    }
  }

  /** @param {unknown} error @returns {boolean} True if a retry cannot help. */
  _tell(error) {
    const isRefused = error instanceof RefusedError && !(error instanceof SignedOutError);
    if (isRefused) this._notice = messageOf(error);
    else this._connection = error instanceof SignedOutError ? "signed-out" : "offline";
    if (error instanceof SignedOutError) this._waitUntil_ms = Date.now() + SIGNED_OUT_MS;
    this.forceUpdate();
    return isRefused;
  }

  /** @param {Found} found */
  _show(found) {
    const isNew = this.found?.messages.length !== found.messages.length;
    this.found = found;
    // A page that was opened offline loads its video as soon as it knows which one.
    if (!this.asks && !this.playback) {
      this.playback = new Playback(found.video ?? null);
      this._opening = this.playback.open();
    }
    this.forceUpdate(() => {
      if (isNew) document.querySelector("#messages > :last-child")?.scrollIntoView({ block: "nearest" });
    });
  }

  /** The server has the message. */
  _landed() {
    if (this.text.trim() === this._pending?.text) this.text = "";
    this._forget();
    this._notice = "";
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
      /** @type {Found} */
      const found = await ask(this._path);
      this._waitUntil_ms = 0;
      this._connection = "saved";
      // Only the server's answer was lost: it has the message.
      if (this._pending && found.messages[this._pending.position]?.text === this._pending.text) this._landed();
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
    if (!text || !this.found || !this._canSend) return;
    const position = this.correcting ?? this.found.messages.length;
    if (this._pending?.position !== position || this._pending.text !== text) this._pending = { key: makeKey(), position, text };
    await this._post();
    this._write();
  }

  async _post() {
    if (!this._pending || this._isSending) return;
    this._isSending = true;
    this._keep();
    this.forceUpdate();
    const { key, position, text } = this._pending;
    let isRefused = false;
    try {
      const found = await ask(`${this._path}/messages`, { method: "POST", body: { position, text }, key });
      this._landed();
      this._show(found);
    } catch (error) {
      isRefused = this._tell(error);
      if (isRefused) this._forget();
    } finally {
      this._isSending = false;
      this.forceUpdate();
    }
    if (isRefused) await this._look();
  }

  _correct() {
    const isOn = this.correcting === null && this._last !== null;
    this.correcting = isOn ? (this._last?.position ?? null) : null;
    this._type(isOn ? (this._last?.text ?? "") : "");
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
    const { name } = this.props;
    const { asks, found } = this;
    const notice = this._notice || (found?.note ? `It was sent back: ${found.note}` : "");
    const guide = asks
      ? html`<${Held} class="guide" label="How it goes" open=${!matchMedia("(max-width: 60rem)").matches}>
          ${found && found.activities.length > 0 && html`<h2>What you know</h2>
            <p>These activities happen in the video, <strong>in an order that you do not know</strong>:</p>
            <ul id="activities" class="activities">${found.activities.map((one) => html`<li>${one}</li>`)}</ul>`}
        <//>`
      : html`<details open=${found?.messages.length === 0}><summary>How to answer</summary><${Held} class="guide" label="How it goes" /></details>`;
    return html`<div class="editor">
      ${asks ? guide : this.playback ? html`<${Watch} playback=${this.playback} />` : html`<div class="watch"></div>`}
      <div class="side">
        <header class="work-head">
          <h1>${name}: you ${asks ? "ask" : "answer"}</h1>
          ${this._drawConnection()}
          <span class="help">
            ${guideline && html`<${Act} editor=${this} name="guideline" id="show-guideline" class="quiet" text="Guideline" />`}
            <${Act} editor=${this} name="keys" id="show-keys" class="quiet" text="Keys" />
          </span>
        </header>
        <div id="fields-scroll" class="fields-scroll" tabindex="0" role="region" aria-labelledby="talk-title">
          <div id="notices" role="alert">${notice && html`<p class="note">${notice}</p>`}</div>
          ${!asks && guide}
          <h2 id="talk-title" class="task-title" tabindex="-1">Dialogue</h2>
          <ol id="messages" class="messages" aria-live="polite">${found?.messages.map((message) => {
            const isOwn = this._isOwn(message);
            return html`<li key=${message.position} class=${isOwn ? "own" : undefined}><span class="who-said">${isOwn ? "You" : asks ? "Correspondent" : "Investigator"}</span>${message.text}</li>`;
          })}</ol>
        </div>
        ${this._drawForm()}
      </div>
    </div>`;
  }

  _drawConnection() {
    const stays = "what you type stays in this browser";
    const texts = {
      "": "Opening…",
      saved: "Connected",
      offline: `Offline: ${stays}${this._pending ? " and is sent as soon as the server is reached" : ""}`,
      "signed-out": `Signed out: ${stays}.`,
    };
    return html`<p id="save-state" class=${`save-state ${this._connection}`} role="status">
      <span class="state-dot" aria-hidden="true"></span>${texts[this._connection]}${" "}
      ${this._connection === "signed-out" && html`<a href="/sign-in" target="_blank" rel="opener">Sign in in a new tab</a>`}
    </p>`;
  }

  _drawForm() {
    const { asks, found, isLive } = this;
    const said = found?.messages.length ?? 0;
    const asked = Math.ceil(said / 2);
    const left = (found?.least_turns ?? 0) - Math.floor(said / 2);
    const turn = !isLive ? "The dialogue is finished." : found?.your_turn ? "It is your turn." : "The other person is writing.";
    return html`<form id="say" class="decisions" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), void this.speak())}>
      <p id="progress" class="soft small" role="status">${found && `${turn} ${asked} ${asked === 1 ? "question" : "questions"} so far${left > 0 ? `, at least ${left} more to go` : ""}.`}</p>
      <fieldset class="bare" disabled=${found !== null && !isLive}>
        <${Text} id="text" label=${`Your ${asks ? "question" : "answer"}`} rows=${2} most=${2000} value=${this.text} change=${(/** @type {string} */ text) => this._type(text)} />
        <div class="actions" id="decide">
          <button id="send" data-key="done" disabled=${!this._canSend}>${asks ? "Ask" : "Answer"} </button>
          ${this._last && html`<button type="button" class="second" id="correct" onClick=${() => this._correct()}>${this.correcting === null ? "Correct my last message" : "Cancel the correction"}</button>`}
          ${asks && html`<button type="button" class="second submit" id="finish" disabled=${!isLive || said % 2 === 1 || left > 0} onClick=${() => void this._finish()}>Finish the dialogue</button>`}
        </div>
      </fieldset>
    </form>`;
  }
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

/** A finished dialogue with its video, for somebody outside the pair. @param {{video: import("./watch.js").Video | null}} props */
function look({ video }) {
  const playback = new Playback(video);
  const keys = new Keys(() => ({ ...videoOffers(playback), keys: { act: () => keys.open() } }));
  void playback.open().then(() => {
    keys.label();
    document.documentElement.dataset.ready = "true";
  });
  return html`<div class="editor"><${Watch} playback=${playback} /><${Held} class="side fields-scroll" label="The dialogue" /></div>`;
}

export function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById("work"));
  const { dialogue, name = "", role, video } = root.dataset;
  root.replaceChildren();
  if (dialogue) render(html`<${Dialogue} dialogue=${dialogue} name=${name} role=${role} />`, root);
  else render(look({ video: JSON.parse(video ?? "null") }), root);
}
