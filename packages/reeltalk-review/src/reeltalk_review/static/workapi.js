// @ts-check
/** Requests to the server, with errors for a refusal, an unreachable server, and an ended session. */

/** The server did not answer or is unavailable. A retry may help. */
export class UnreachedError extends Error {}

/** The server refused; `code`, `field` and `body` say why. */
export class RefusedError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.error?.message ?? `The server refused this (${status}).`);
    this.status = status;
    /** @type {string} */
    this.code = body?.error?.code ?? "";
    /** @type {string | null} */
    this.field = body?.error?.field ?? null;
    this.body = body;
  }
}

/** The session has ended; the person must sign in again. */
export class SignedOutError extends RefusedError {}

const TOKEN = 'meta[name="csrf"]';
const TIMEOUT_MS = 30_000;
/** Browsers send at most 64 KiB with `keepalive` when a page is left. */
const KEPT_ALIVE_CHARACTERS = 15_000;

/**
 * @param {string} path
 * @param {{method?: string, body?: unknown, key?: string}} [request] `key`: the same for every retry of one change.
 * @returns {Promise<any>}
 * @throws {UnreachedError | RefusedError}
 */
export async function ask(path, request = {}) {
  try {
    return await askOnce(path, request);
  } catch (error) {
    // After a new sign-in in another tab, this page's token belongs to a session that has ended.
    if (!(error instanceof RefusedError) || !error.code.startsWith("csrf") || !(await renewToken())) throw error;
    return askOnce(path, request);
  }
}

/** @param {string} path @param {{method?: string, body?: unknown, key?: string}} request */
async function askOnce(path, { method = "GET", body, key }) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET") {
    headers["X-CSRF-Token"] = document.querySelector(TOKEN)?.getAttribute("content") ?? "";
    headers["Idempotency-Key"] = key ?? makeKey();
  }
  const text = body === undefined ? undefined : JSON.stringify(body);
  if (text !== undefined) headers["Content-Type"] = "application/json";
  let response;
  let answer;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: text,
      credentials: "same-origin",
      redirect: "error",
      keepalive: method !== "GET" && (text?.length ?? 0) < KEPT_ALIVE_CHARACTERS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    answer = await response.json().catch(() => null);
  } catch (error) {
    throw new UnreachedError("The server was not reached.", { cause: error });
  }
  if (response.ok) return answer;
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    throw new UnreachedError(`The server cannot answer at the moment (${response.status}).`);
  }
  if (response.status === 401) throw new SignedOutError(response.status, answer);
  throw new RefusedError(response.status, answer);
}

/** Gets the token of the current session. */
async function renewToken() {
  const own = document.querySelector(TOKEN);
  const response = await fetch("/api/session", { credentials: "same-origin" }).catch(() => null);
  if (!own || !response?.ok) return false;
  const { csrf, person } = await response.json();
  const known = document.querySelector('meta[name="person"]')?.getAttribute("content");
  // If somebody else signed in meanwhile, the text typed here must not be saved as theirs.
  if (!csrf || csrf === own.getAttribute("content") || (known && known !== person)) return false;
  own.setAttribute("content", csrf);
  return true;
}

/** A new key for a change. (`crypto.randomUUID` exists on secure pages only; a server in a local network may have none.) */
export function makeKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
