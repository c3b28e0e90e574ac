// @ts-check
/** Small pictures of a video. The server makes them when they are first requested, so they come some seconds later. */

/**
 * @typedef {object} Sheet Pictures in rows, one for every so many seconds.
 * @property {string} address
 * @property {number} start_s
 * @property {number} every_s
 * @property {number} columns
 * @property {number} count
 */

/** Waits before a sheet that is being made is requested again. */
const AGAIN_MS = [1000, 2000, 3000, 5000, 8000, 13000, 21000];

export class Thumbnails extends EventTarget {
  constructor() {
    super();
    /** @type {{sheet: Sheet, picture: ImageBitmap}[]} The finest first. */
    this._loaded = [];
  }

  /** @param {Sheet[]} sheets */
  load(sheets) {
    for (const sheet of sheets) void this._load(sheet);
  }

  /** @param {Sheet} sheet */
  async _load(sheet) {
    for (const wait_ms of AGAIN_MS) {
      try {
        const answer = await fetch(sheet.address);
        if (answer.status === 200) {
          this._loaded.push({ sheet, picture: await createImageBitmap(await answer.blob()) });
          this._loaded.sort((one, other) => one.sheet.every_s - other.sheet.every_s);
          this.dispatchEvent(new CustomEvent("loaded"));
        }
        if (answer.status !== 202) return;
      } catch {
        // The connection was lost: it may be back at the next try.
      }
      await new Promise((resolve) => setTimeout(resolve, wait_ms));
    }
  }

  /** How many sheets are here. */
  get sheets() {
    return this._loaded.length;
  }

  /** Width of a picture divided by its height; 0 while there is none. */
  get ratio() {
    const [first] = this._loaded;
    if (!first) return 0;
    const { sheet, picture } = first;
    return picture.width / sheet.columns / (picture.height / Math.ceil(sheet.count / sheet.columns));
  }

  /**
   * Draws the picture of a time, cut to fill a part of a canvas.
   * @param {HTMLCanvasElement} canvas @param {number} time_s @param {number} left @param {number} width
   */
  draw(canvas, time_s, left, width) {
    const found = this._loaded.find(({ sheet }) => sheet.start_s <= time_s && time_s < sheet.start_s + sheet.count * sheet.every_s);
    if (!found) return;
    const { sheet, picture } = found;
    const at = Math.floor((time_s - sheet.start_s) / sheet.every_s);
    const [w, h] = [picture.width / sheet.columns, picture.height / Math.ceil(sheet.count / sheet.columns)];
    const scale = Math.max(width / w, canvas.height / h);
    const [cutW, cutH] = [width / scale, canvas.height / scale];
    const [x, y] = [(at % sheet.columns) * w + (w - cutW) / 2, Math.floor(at / sheet.columns) * h + (h - cutH) / 2];
    canvas.getContext("2d")?.drawImage(picture, x, y, cutW, cutH, left, 0, width, canvas.height);
  }
}
