// @ts-check
/** Keys of the video, the same on every screen with a video. */

/** @typedef {import("./keys.js").Action} Action */

/** Seconds that the arrow keys move. */
const STEP_S = 1;
const LEAP_S = 5;

/** @param {import("./playback.js").Playback} playback @returns {Action[]} */
export function videoActions(playback) {
  return [
    { name: "play", label: "Play or pause", group: "Video", keys: ["Space"], act: () => playback.toggle() },
    { name: "step-back", label: "One frame back", group: "Video", keys: [","], act: () => playback.step(-1), repeats: true },
    { name: "step-on", label: "One frame forward", group: "Video", keys: ["."], act: () => playback.step(1), repeats: true },
    { name: "back", label: `${STEP_S} s back`, group: "Video", keys: ["ArrowLeft"], act: () => void playback.jump(-STEP_S), repeats: true },
    { name: "on", label: `${STEP_S} s forward`, group: "Video", keys: ["ArrowRight"], act: () => void playback.jump(STEP_S), repeats: true },
    { name: "far-back", label: `${LEAP_S} s back`, group: "Video", keys: ["Shift+ArrowLeft"], act: () => void playback.jump(-LEAP_S), repeats: true },
    { name: "far-on", label: `${LEAP_S} s forward`, group: "Video", keys: ["Shift+ArrowRight"], act: () => void playback.jump(LEAP_S), repeats: true },
    { name: "loop", label: "Loop the clip, or stop the loop", group: "Video", keys: ["l"], act: () => playback.toggleLoop() },
    { name: "slower", label: "Slower", group: "Video", keys: ["-"], act: () => playback.changeSpeed(-1) },
    { name: "faster", label: "Faster", group: "Video", keys: ["+", "="], act: () => playback.changeSpeed(1) },
    { name: "zoom", label: "Show the whole video or this part in the bar", group: "Video", keys: ["b"], act: () => playback.toggleBar() },
  ];
}
