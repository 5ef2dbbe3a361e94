/** Arrays as JSON text, written in slices. */
import { DTYPES } from "../engine/core/dtype.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { sizeOf } from "../engine/core/shape.ts";
import { HttpError } from "./http_error.ts";
import { concatInSlices, type Slices } from "./slices.ts";

/** Elements between two looks at the clock. */
const ELEMENTS = 4096;

const utf8 = new TextDecoder("utf-8", { fatal: true }), encoder = new TextEncoder();

/** Formatting of elements. */
export interface TextOptions {
  /** True for strings in base64, false for those that are no UTF-8 alone. Default false. */
  readonly isBase64?: boolean;
  /** True where `NaN` and infinities are an error: JSON has none. Default false. */
  readonly isStrict?: boolean;
}

function stringText(bytes: Uint8Array, isBase64: boolean): string {
  if (!isBase64) {
    try {
      return JSON.stringify(utf8.decode(bytes));
    } catch { /* It is no text. */ }
  }
  let binary = "";
  for (const b of bytes) binary += String.fromCharCode(b);
  return JSON.stringify({ b64: btoa(binary) });
}

/** Formats an element: integers whole, `NaN` and infinities by name. */
function elementText(
  array: NdArray,
  i: number,
  { isBase64 = false, isStrict }: TextOptions,
): string {
  const value = array.at(i);
  if (value instanceof Uint8Array) return stringText(value, isBase64);
  if (isStrict && typeof value === "number" && !Number.isFinite(value)) {
    throw new HttpError(
      400,
      `Cannot write ${value} in JSON: ask for this output with "parameters": { "binary_data": true }`,
    );
  }
  return Array.isArray(value) ? `[${value[0]},${value[1]}]` : `${value}`;
}

/** Collects the text of an answer. */
export class JsonText {
  readonly #slices: Slices;
  /** Its beginning, in UTF-8. */
  readonly #parts: Uint8Array[] = [];
  #text = "";
  #count = 0;

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Appends a text as it is. */
  add(text: string): this {
    this.#text += text;
    return this;
  }

  /** Appends an array, or its part of a shape from the element at `from` on, as nested lists. */
  async nested(
    array: NdArray,
    { shape = array.shape, from = 0, ...options }: TextOptions & {
      readonly shape?: readonly number[];
      readonly from?: number;
    } = {},
  ): Promise<this> {
    const rank = shape.length, steps = shape.map((_, d) => sizeOf(shape.slice(d)));
    const size = sizeOf(shape);
    if (size === 0) return await this.#empty(shape);
    for (let i = 0; i < size; i++) {
      let opened = rank;
      while (opened > 0 && i % steps[opened - 1] === 0) opened--;
      if (i > 0) this.#text += ",";
      this.#text += "[".repeat(rank - opened) + elementText(array, from + i, options);
      let closed = rank;
      while (closed > 0 && (i + 1) % steps[closed - 1] === 0) closed--;
      this.#text += "]".repeat(rank - closed);
      if (++this.#count % ELEMENTS === 0) await this.#turn();
    }
    return this;
  }

  /** Appends lists without elements. */
  async #empty([length, ...rest]: readonly number[]): Promise<this> {
    this.add("[");
    for (let i = 0; i < length; i++) {
      if (i > 0) this.add(",");
      await this.#empty(rest);
      await this.pause();
    }
    return this.add("]");
  }

  /** Appends the elements as one list. */
  flat(array: NdArray, options: TextOptions): Promise<this> {
    return this.nested(array, { shape: [array.size], ...options });
  }

  /** Counts an element, and gives the event loop a turn where one is due. */
  pause(): Promise<void> | void {
    if (++this.#count % ELEMENTS === 0) return this.#turn();
  }

  async #turn(): Promise<void> {
    this.#parts.push(encoder.encode(this.#text));
    this.#text = "";
    await this.#slices.turn();
  }

  /** The text in UTF-8, and the bytes that follow it. */
  async bytes(...more: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
    const last = encoder.encode(this.#text);
    if (this.#parts.length + more.length === 0) return last;
    return await concatInSlices([...this.#parts, last, ...more], this.#slices);
  }
}

/** True for an output whose strings TensorFlow's servers always write in base64. */
export function isBytesOutput(name: string, { dtype }: NdArray): boolean {
  return DTYPES[dtype].kind === "string" && name.endsWith("_bytes");
}
