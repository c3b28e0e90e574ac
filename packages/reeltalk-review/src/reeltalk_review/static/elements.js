// @ts-check
/** Times and messages as text for people. */

/**
 * A time of a video as text: `0:12.3`, `1:02:03.4`.
 * @param {number} time_s
 */
export function clock(time_s) {
  const tenths = Math.max(0, Math.round(time_s * 10));
  const [hours, minutes, rest] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, tenths % 600];
  const seconds = `${String(Math.floor(rest / 10)).padStart(2, "0")}.${rest % 10}`;
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

/** A message as a sentence. The server's messages begin in lower case and have no full stop. @param {string} message */
export function sentence(message) {
  const text = message.trim();
  return text && `${text[0].toUpperCase()}${text.slice(1)}${/[.!?。！？]['"’”)]?$/.test(text) ? "" : "."}`;
}

/** The message of an error as a sentence. @param {unknown} error */
export function messageOf(error) {
  return sentence(error instanceof Error ? error.message : String(error));
}
