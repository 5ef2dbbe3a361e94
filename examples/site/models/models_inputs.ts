/** The form of a model's inputs: for each a shape, and a picture, numbers, noise or texts to fill it. */
/// <reference lib="dom" />

import type { Elements, ModelValue } from "./models_messages.ts";

/** Ways to fill an input. */
const PICTURE = "A picture", NUMBERS = "Numbers", NOISE = "Noise", TEXTS = "Texts, one a line";

/** The part of the form for an input. */
export class InputField {
  readonly element: HTMLElement = document.createElement("fieldset");
  readonly #value: ModelValue;
  readonly #shape: HTMLInputElement = document.createElement("input");
  readonly #way: HTMLSelectElement = document.createElement("select");
  readonly #range: HTMLSelectElement = document.createElement("select");
  readonly #file: HTMLInputElement = document.createElement("input");
  readonly #text: HTMLTextAreaElement = document.createElement("textarea");
  /** The picture that was chosen; else the site's own. */
  #picture: ImageBitmap | null = null;

  constructor(value: ModelValue) {
    this.#value = value;
    const { name, dtype } = value, shape = shapeFor(value);
    const legend = document.createElement("legend");
    legend.textContent = `${name}: ${dtype}`;
    this.#shape.value = shape.join(", ");
    const isText = dtype === "string", ways = isText ? [TEXTS] : [PICTURE, NUMBERS, NOISE];
    this.#way.append(...ways.map((way) => new Option(way)));
    this.#way.value = isText ? TEXTS : layoutOf(shape) === null ? NUMBERS : PICTURE;
    const isByte = dtype === "uint8", ranges = ["0 to 1", "−1 to 1", "0 to 255"];
    this.#range.append(...ranges.map((range) => new Option(range)));
    this.#range.value = isByte ? "0 to 255" : "0 to 1";
    this.#file.type = "file";
    this.#file.accept = "image/*";
    this.#text.rows = 2;
    this.#text.value = isText ? "a text" : "";
    this.#text.placeholder = "Numbers with commas or spaces between them; the last is repeated";
    const labelled = (text: string, field: HTMLElement): HTMLLabelElement => {
      const label = document.createElement("label");
      label.append(`${text} `, field);
      return label;
    };
    const picture = document.createElement("div");
    picture.className = "bar";
    picture.append(labelled("File", this.#file), labelled("from", this.#range));
    this.element.className = "stack";
    this.element.append(
      legend,
      labelled("Shape", this.#shape),
      labelled("Filled with", this.#way),
      picture,
      this.#text,
    );
    this.#text.setAttribute("aria-label", `Elements of ${name}`);
    const show = (): void => {
      picture.hidden = this.#way.value !== PICTURE;
      this.#text.hidden = this.#way.value === PICTURE || this.#way.value === NOISE;
    };
    this.#way.onchange = show;
    this.#file.onchange = async () => {
      const [file] = this.#file.files ?? [];
      this.#picture = file === undefined ? null : await createImageBitmap(file);
    };
    show();
  }

  get name(): string {
    return this.#value.name;
  }

  /** Takes a picture that was dropped. */
  take(picture: ImageBitmap): void {
    this.#picture = picture;
    this.#way.value = PICTURE;
  }

  /** Returns the elements. Rejects with `Error` for a shape that is none, or that a picture does not fit. */
  async elements(): Promise<Elements> {
    const shape = this.#shape.value.split(/[\s,×]+/).filter(Boolean).map(Number);
    if (shape.some((d) => !Number.isInteger(d) || d < 0)) {
      throw new Error(`"${this.#shape.value}" is no shape of ${this.name}`);
    }
    const size = shape.reduce((a, b) => a * b, 1);
    switch (this.#way.value) {
      case PICTURE:
        return { shape, values: await this.#pixels(shape) };
      case NOISE:
        return { shape, values: Float32Array.from({ length: size }, () => Math.random()) };
      case TEXTS:
        return { shape, values: repeated(this.#text.value.split("\n"), size, "") };
      default: {
        const numbers = this.#text.value.split(/[\s,;]+/).filter(Boolean).map(Number);
        if (numbers.some(Number.isNaN)) throw new Error(`${this.name} is filled with no numbers`);
        return { shape, values: repeated(numbers, size, 0) };
      }
    }
  }

  async #pixels(shape: readonly number[]): Promise<Float32Array> {
    const layout = layoutOf(shape);
    if (layout === null) {
      throw new Error(`${this.name} is no picture: wanted 1, 3 or 4 channels, first or last`);
    }
    const { height, width, channels, isFirst } = layout;
    const picture = this.#picture ?? await still();
    const context = new OffscreenCanvas(width, height).getContext("2d")!;
    context.drawImage(picture, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    const [scale, from] = { "0 to 1": [1 / 255, 0], "−1 to 1": [2 / 255, -1] }[this.#range.value] ??
      [1, 0];
    const out = new Float32Array(height * width * channels), stride = height * width;
    for (let i = 0; i < stride; i++) {
      const [r, g, b] = data.subarray(4 * i, 4 * i + 3) as unknown as [number, number, number];
      for (let c = 0; c < channels; c++) {
        const value = channels === 1 ? 0.299 * r + 0.587 * g + 0.114 * b : data[4 * i + c]!;
        out[isFirst ? c * stride + i : i * channels + c] = value * scale! + from!;
      }
    }
    return out;
  }
}

/** As many items as wanted: the last is repeated. */
function repeated<T>(items: readonly T[], size: number, otherwise: T): T[] {
  return Array.from({ length: size }, (_, i) => items[Math.min(i, items.length - 1)] ?? otherwise);
}

/** A shape for an input: open extents are 1 before the last two of a picture, and 224 there. */
function shapeFor({ shape }: ModelValue): number[] {
  if (shape === null) return [1];
  const isPicture = shape.length === 4 && [1, 3, 4].some((c) => shape[1] === c || shape[3] === c);
  return shape.map((d, i) => d ?? (isPicture && i > 0 ? 224 : 1));
}

/** The extents of a picture in a shape. */
export interface Layout {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly isFirst: boolean;
}

/** The layout of a shape that is a picture's; null for another. */
export function layoutOf(shape: readonly number[]): Layout | null {
  const [a, b, c] = shape.slice(-3) as [number, number, number];
  if (shape.length < 3 || shape.slice(0, -3).some((d) => d !== 1)) return null;
  const isDepth = (d: number): boolean => d === 1 || d === 3 || d === 4;
  if (isDepth(c) && a > 4 && b > 4) return { height: a, width: b, channels: c, isFirst: false };
  if (isDepth(a) && b > 4 && c > 4) return { height: b, width: c, channels: a, isFirst: true };
  return null;
}

let stillImage: Promise<HTMLImageElement> | null = null;

/** The picture of the site. */
function still(): Promise<HTMLImageElement> {
  const load = async (): Promise<HTMLImageElement> => {
    const image = new Image();
    image.src = new URL("./still.svg", import.meta.url).href;
    await image.decode();
    return image;
  };
  return stillImage ??= load();
}
