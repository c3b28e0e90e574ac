// @ts-check
/**
 * The differences between two texts, word by word; in scripts without spaces between words, character by character.
 *
 *     diffWords("the red car", "the blue car")
 *     // [{kind: "same", text: "the "}, {kind: "gone", text: "red"}, {kind: "new", text: "blue"}, {kind: "same", text: " car"}]
 *
 * The pieces `same` and `gone` together are the old text; `same` and `new` are the new text.
 */

/** @typedef {{kind: "same" | "gone" | "new", text: string}} Piece */

/** Han, kana, Thai and similar scripts by character; runs of other letters and digits; runs of spaces; other characters one by one. */
const TOKENS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}]+)*|\s+|[^]/gu;

/** Largest table. Beyond it the whole difference is one piece: 4 million cells take about 20 ms and 16 MB. */
const MOST_CELLS = 4e6;

/** @param {string} before @param {string} after @returns {Piece[]} No two neighbours of one kind, and no empty piece. */
export function diffWords(before, after) {
  const old = split(before);
  const now = split(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) {
    end++;
  }
  /** @type {Piece[]} */
  const pieces = [];
  push(pieces, "same", old.slice(0, start).join(""));
  middle(pieces, old.slice(start, old.length - end), now.slice(start, now.length - end));
  push(pieces, "same", old.slice(old.length - end).join(""));
  return pieces;
}

/** @param {string} text @returns {string[]} */
export function split(text) {
  return text.match(TOKENS) ?? [];
}

/** The longest common subsequence, by dynamic programming (Wagner and Fischer, 1974). @param {Piece[]} pieces @param {string[]} old @param {string[]} now */
function middle(pieces, old, now) {
  const rows = old.length + 1;
  const columns = now.length + 1;
  if (rows * columns > MOST_CELLS) {
    push(pieces, "gone", old.join(""));
    push(pieces, "new", now.join(""));
    return;
  }
  // longest[i * columns + j]: length of the longest common subsequence of old[i:] and now[j:].
  const longest = new Uint32Array(rows * columns);
  for (let i = rows - 2; i >= 0; i--) {
    for (let j = columns - 2; j >= 0; j--) {
      const here = i * columns + j;
      longest[here] =
        old[i] === now[j] ? longest[here + columns + 1] + 1 : Math.max(longest[here + columns], longest[here + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      push(pieces, "same", old[i]);
      i++;
      j++;
    } else if (longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) {
      push(pieces, "gone", old[i++]);
    } else {
      push(pieces, "new", now[j++]);
    }
  }
  push(pieces, "gone", old.slice(i).join(""));
  push(pieces, "new", now.slice(j).join(""));
}

/** @param {Piece[]} pieces @param {Piece["kind"]} kind @param {string} text */
function push(pieces, kind, text) {
  if (!text) return;
  const last = pieces.at(-1);
  if (last?.kind === kind) last.text += text;
  else pieces.push({ kind, text });
}
