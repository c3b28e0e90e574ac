// @ts-check
/** Times and messages as text for people. */

/**
 * A time of a video as text: `0:12.34`, `1:02:03.40`.
 * @param {number} time_s
 */
export function clock(time_s) {
  const hundredths = Math.max(0, Math.round(time_s * 100));
  const [hours, minutes] = [Math.floor(hundredths / 360_000), Math.floor(hundredths / 6000) % 60];
  const seconds = ((hundredths % 6000) / 100).toFixed(2).padStart(5, "0");
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
