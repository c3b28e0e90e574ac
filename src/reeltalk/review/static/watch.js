// @ts-check
/** The video of the editor, until its own component comes: the markup that playback.js draws into. */

import { Playback } from "./playback.js";
import { Component, html } from "./vendor/preact.js";

export { Playback };

const BUTTONS = [
  ["play", "Play", ""], ["step-back", "◂", "One frame back"], ["step-on", "▸", "One frame forward"],
];

export class Watch extends Component {
  // playback.js changes what is drawn here.
  shouldComponentUpdate() {
    return false;
  }

  componentDidMount() {
    const { editor } = this.props;
    for (const { name, act } of editor.keys.actions) {
      if (["play", "step-back", "step-on", "slower", "faster", "loop", "zoom", "to-evidence", "to-asked", "play-scenes"].includes(name)) document.getElementById(name)?.addEventListener("click", () => act(""));
    }
    editor.keys.label();
  }

  render() {
    return html`<section class="watch" aria-label="Video">
      <div id="video-frame" class="video-frame silent">
        <video id="video" playsinline tabindex="-1" aria-label="The task's video"></video>
        <p id="video-problem" class="video-problem">Opening the video…</p>
      </div>
      <div id="scene-bar" class="scene-bar"></div>
      <button type="button" id="zoom" class="quiet zoom" data-key="zoom">Whole video</button>
      <div class="controls">
        <span class="together">${BUTTONS.map(([id, text, label]) => html`<button type="button" id=${id} class=${id === "play" ? "" : "second"} data-key=${id} aria-label=${label || undefined}>${text}</button>`)}
          <span id="video-time" class="video-time"></span></span>
        <span class="together"><button type="button" id="slower" class="second" data-key="slower" data-quiet aria-label="Slower">−</button>
          <span id="video-speed" class="video-speed">1×</span>
          <button type="button" id="faster" class="second" data-key="faster" data-quiet aria-label="Faster">+</button></span>
        <span class="together"><button type="button" id="loop" class="second" data-key="loop" aria-pressed="false">Loop</button></span>
        <span id="video-doing" class="soft small" role="status"></span>
      </div>
    </section>`;
  }
}
