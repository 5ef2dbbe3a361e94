/** Pictures that can be made larger, moved and fitted: by buttons, keys, the wheel with Ctrl, and by dragging. */
/// <reference lib="dom" />

/** Smallest scale of a picture's text before it is fitted, which is legible still; larger pictures scroll. */
const SMALLEST = 0.8;
const LARGEST = 4, STEP = 1.25;

/** A place for pictures; its box scrolls. */
class Zoom {
  readonly #place: HTMLElement;
  readonly #bar = document.createElement("div");
  #scale = 1;

  constructor(place: HTMLElement) {
    this.#place = place;
    this.#bar.className = "bar zoom";
    const buttons: readonly (readonly [string, string, () => void])[] = [
      ["−", "Smaller", () => this.#by(1 / STEP)],
      ["+", "Larger", () => this.#by(STEP)],
      ["Fit", "Fit", () => this.#fit()],
    ];
    for (const [text, label, act] of buttons) {
      const button = document.createElement("button");
      button.textContent = text;
      button.ariaLabel = `${label}: ${place.ariaLabel ?? "picture"}`;
      button.onclick = act;
      this.#bar.append(button);
    }
    place.before(this.#bar);
    place.addEventListener("keydown", (event) => {
      const act = { "+": STEP, "=": STEP, "-": 1 / STEP }[event.key];
      if (event.ctrlKey || event.metaKey) return;
      if (act !== undefined) this.#by(act);
      else if (event.key === "0") this.#fit();
      else return;
      event.preventDefault();
    });
    place.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.#by(Math.exp(-event.deltaY / 200), event);
    }, { passive: false });
    place.addEventListener("pointerdown", (event) => {
      // Fingers scroll by themselves.
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      place.setPointerCapture(event.pointerId);
      place.onpointermove = (move) => place.scrollBy(-move.movementX, -move.movementY);
      place.onpointerup = place.onpointercancel = () => place.onpointermove = null;
    });
  }

  get #picture(): SVGSVGElement | null {
    return this.#place.querySelector("svg");
  }

  show(svg: string): void {
    this.#place.innerHTML = svg;
    const picture = this.#picture;
    this.#bar.hidden = picture === null;
    if (picture === null) return;
    picture.dataset.width = String(picture.width.baseVal.value);
    this.#set(Math.max(SMALLEST, this.#whole));
  }

  get #width(): number {
    return Number(this.#picture?.dataset.width);
  }

  #set(scale: number): void {
    this.#scale = Math.min(LARGEST, scale);
    const picture = this.#picture;
    if (picture) picture.style.cssText = `width:${this.#scale * this.#width}px;max-width:none`;
  }

  /** Scales; the point under the pointer, or the middle, stays. */
  #by(factor: number, at?: { readonly clientX: number; readonly clientY: number }): void {
    const place = this.#place, box = place.getBoundingClientRect();
    const x = at ? at.clientX - box.left : box.width / 2;
    const y = at ? at.clientY - box.top : box.height / 2;
    const before = this.#scale, left = place.scrollLeft + x, top = place.scrollTop + y;
    this.#set(before * factor);
    place.scrollTo(left * this.#scale / before - x, top * this.#scale / before - y);
  }

  /** The scale at which all of the picture is in sight, at most 1. */
  get #whole(): number {
    const { clientWidth, clientHeight } = this.#place, box = this.#picture!.viewBox.baseVal;
    const most = parseFloat(getComputedStyle(this.#place).maxHeight) || clientHeight;
    return Math.min(1, clientWidth / box.width, (most - 8) / box.height);
  }

  /** Shows the whole picture. */
  #fit(): void {
    this.#set(this.#whole);
  }
}

const zooms = new WeakMap<HTMLElement, Zoom>();

/** Shows a picture, narrower where the place is. */
export function showPicture(place: HTMLElement, svg: string): void {
  if (!zooms.has(place)) zooms.set(place, new Zoom(place));
  zooms.get(place)!.show(svg);
}
