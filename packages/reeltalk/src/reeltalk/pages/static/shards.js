// Data that comes as scripts: a page that was opened from disk may not read files beside it, but may run them.
"use strict";

const reeltalk = {
  waiting: new Map(),
  held: new Map(),
  // What the scripts in data/ call.
  put(name, rows) { this.held.set(name, rows); },
  // The rows of one script; loaded once.
  load(name) {
    if (!this.waiting.has(name)) {
      this.waiting.set(name, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => done(this.held.get(name));
        script.onerror = () => failed(new Error(`data/${name}.js is missing`));
        document.body.append(script);
      }));
    }
    return this.waiting.get(name);
  },
  // All rows of a list.
  async all(name, count) {
    const parts = await Promise.all(Array.from({ length: count }, (_, place) => this.load(`${name}-${place}`)));
    return parts.flat();
  },
  // An element with text and attributes; strangers' words only ever become text.
  element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  },
};
