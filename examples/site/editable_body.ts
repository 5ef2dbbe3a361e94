/** The body of a script op that is changed while it is in use. One that fails gives way to the last one that did not. */

import type { NdArray } from "@weft/weft";
import { errorText } from "./shown.ts";

type Body = (images: NdArray) => unknown;

/** The result that the graph needs: as many numbers as came in, in the same shape. */
export interface Images {
  readonly shape: readonly number[];
  readonly data: Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
}

const asTheyAre: Body = (images) => images;

/** A body from a text. */
export class EditableBody {
  #good: Body = asTheyAre;
  #next: Body | null = null;
  /** Counts texts, since the one that was given first may be ready last. */
  #texts = 0;
  readonly #tell: (error: string | null) => void;

  /** `tell` hears null when a body was used for the first time, else what was wrong with it. */
  constructor(tell: (error: string | null) => void) {
    this.#tell = tell;
  }

  /** Takes a function's text; its body is used from the next call on. */
  async use(text: string): Promise<void> {
    const number = ++this.#texts;
    // A module of its own: no text is evaluated, so a strict content security policy may stand.
    const url = URL.createObjectURL(
      new Blob([`export default (${text}\n);`], { type: "text/javascript" }),
    );
    try {
      const { default: body } = await import(url) as { readonly default: unknown };
      if (number !== this.#texts) return;
      if (typeof body !== "function") throw new TypeError("Wanted the text of a function");
      this.#next = body as Body;
    } catch (error) {
      if (number === this.#texts) this.#tell(errorText(error));
    } finally {
      URL.revokeObjectURL(url);
    }
  }

  /** The function that the graph calls. */
  readonly call = (images: NdArray): Images => {
    const next = this.#next;
    this.#next = null;
    if (next !== null) {
      try {
        const result = checked(next(images), images);
        this.#good = next;
        this.#tell(null);
        return result;
      } catch (error) {
        this.#tell(errorText(error));
      }
    }
    try {
      return checked(this.#good(images), images);
    } catch (error) {
      this.#good = asTheyAre;
      this.#tell(errorText(error));
      return checked(images, images);
    }
  };
}

/** Converts a body's result for the graph. Throws `TypeError` for a value that is no list of as many numbers. */
function checked(result: unknown, { shape, size, dtype }: NdArray): Images {
  const data = (result as { readonly data?: unknown } | null)?.data ?? result;
  if (!ArrayBuffer.isView(data) || (data as Uint8Array).length !== size) {
    throw new TypeError(`Wanted { shape: images.shape, data } with ${size} numbers in data`);
  }
  // A copy: the array that came in is the runtime's.
  const numbers = data as Uint8Array;
  return { shape, data: dtype === "uint8" ? Uint8Array.from(numbers) : Float32Array.from(numbers) };
}
